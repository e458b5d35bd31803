"""The built site in a real browser, as a reader without a network has it."""

import functools
import http.server
import os
import re
import shutil
import threading
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlparse

import pytest
import yaml
from notebooks import ROOT, chapters, claims
from playwright.sync_api import sync_playwright

HTML = ROOT / "_build/html"
PAGES = sorted(
    str(p.relative_to(HTML)) for p in HTML.glob("*/*.html")
    if not p.parent.name.startswith("_")
)
CHAPTERS = [f"notebooks/{path.stem}.html" for path in chapters()]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# embed.js checks the saved state with a schema that its checker finds odd.
KNOWN = ("strict mode: use allowUnionTypes",)


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(Silent, directory=str(HTML))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium on this machine")
        pytest.skip("no Chromium found; install it to run the browser tests")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--disable-sync",
                  "--disable-background-networking",
                  "--disable-component-update", "--no-first-run"],
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    """Open a page; afterwards nothing outside was asked, no error was told."""
    told, contexts = [], []

    def ours(url):
        return url.startswith((address, "file:", "data:", "blob:"))

    def visit(page_name, width=1280, scheme="light", base=None):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("request", lambda r: ours(r.url) or told.append(f"asked {r.url}"))
        page.on("pageerror", lambda e: told.append(f"error {e}"))
        page.on("response", lambda r: r.ok or told.append(f"{r.status} {r.url}"))
        page.on(
            "console",
            lambda m: m.type in ("error", "warning")
            and not m.text.startswith(KNOWN)
            and told.append(f"console: {m.text}"),
        )
        page.goto(urljoin(base or address, page_name))
        return page

    yield visit
    for context in contexts:
        context.close()
    assert told == []


@pytest.mark.parametrize("page_name", PAGES)
def test_a_page_is_whole_and_fits_a_phone(visit, page_name):
    page = visit(page_name, width=360, scheme="dark")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide == 360
    assert page.locator("article h1").count() == 1
    bare = page.locator("article img:not([alt]), article img[alt='']").count()
    assert bare == 0
    assert page.locator("main .katex-error").count() == 0


@pytest.mark.parametrize("base", ["http", "file"])
@pytest.mark.parametrize("page_name", CHAPTERS)
def test_the_slider_moves_without_a_kernel(visit, page_name, base):
    base = f"{HTML.as_uri()}/" if base == "file" else None
    page = visit(page_name, base=base, scheme="dark")
    still = page.locator(".widget-still")
    before = still.locator("svg").get_attribute("aria-label")
    still.scroll_into_view_if_needed()
    handle = page.locator(".widget-subarea .noUi-handle")
    handle.wait_for()
    picture = page.locator(".widget-subarea .widget-html-content svg:visible")
    picture.wait_for()
    assert still.count() == 0, "the still picture stays beside the live one"
    assert picture.get_attribute("aria-label") == before
    assert handle.get_attribute("aria-label")
    area = page.locator(".widget-subarea").element_handle()
    ground = page.evaluate("e => getComputedStyle(e).backgroundColor", area)
    assert ground == "rgba(0, 0, 0, 0)", "the page's own ground must show"

    handle.focus()
    page.keyboard.press("ArrowRight")
    picture = page.locator(".widget-subarea .widget-html-content svg:visible")
    shown = picture.get_attribute("aria-label")
    assert shown != before
    readout = page.locator(".widget-subarea .widget-readout").inner_text()
    assert readout in shown
    assert handle.get_attribute("aria-valuetext") == readout

    page.locator(".widget-subarea .widget-play button").first.click()
    page.wait_for_function(
        "label => [...document.querySelectorAll('.widget-html-content svg')]"
        ".find(s => s.checkVisibility()).getAttribute('aria-label') !== label",
        arg=shown,
    )


@pytest.mark.parametrize("page_name", CHAPTERS)
def test_without_javascript_the_widget_is_its_first_picture(
    browser, address, page_name
):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(urljoin(address, page_name))
    assert page.locator(".widget-still svg").is_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page_name", CHAPTERS)
def test_figures_are_legible(visit, page_name, scheme):
    """WCAG: 4.5:1 for text, 3:1 for lines, on the page's own ground."""
    page = visit(page_name, scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    names = {"ink": 4.5, "muted": 4.5, "blue": 3, "orange": 3, "green": 3,
             "purple": 3}
    for name, wanted in names.items():
        colour = page.evaluate(
            """name => {
              const e = document.createElement('span');
              const own = document.querySelector('.book-figure svg').outerHTML;
              const found = own.match(new RegExp(`--fig-${name}, (#......)`));
              e.style.color = `var(--fig-${name}, ${found ? found[1] : '#000'})`;
              document.querySelector('main').append(e);
              return found ? getComputedStyle(e).color : null; }""",
            name,
        )
        if colour:
            assert contrast(colour, ground) >= wanted, (name, colour, ground)


def contrast(one, two):
    def luminance(colour):
        parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
        r, g, b = (
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in parts
        )
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(found["id"])
        for name in ("href", "src"):
            if found.get(name) is not None:
                self.links.append(found[name])


@functools.cache
def parsed(path):
    return Page(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page_name", PAGES)
def test_every_inner_link_leads_somewhere(page_name):
    for link in parsed(HTML / page_name).links:
        if urlparse(link).scheme or link.startswith("//"):
            continue
        path, fragment = urldefrag(link)
        target = (HTML / page_name).parent / unquote(urlparse(path).path)
        target = target if path else HTML / page_name
        assert target.resolve().exists(), link
        if fragment and target.suffix == ".html":
            assert unquote(fragment) in parsed(target.resolve()).ids, link


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_the_launch_link_names_this_file_and_branch(path):
    config = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]
    place = urlparse(config["url"]).path
    wanted = (
        f"https://colab.research.google.com/github{place}/blob/"
        f"{config['branch']}/notebooks/{path.name}"
    )
    assert wanted in parsed(HTML / f"notebooks/{path.stem}.html").links


def test_the_claims_page_lists_every_claim_and_what_it_printed():
    text = (HTML / "book/claims.html").read_text(encoding="utf-8")
    links = parsed(HTML / "book/claims.html").links
    found = [claim for path in chapters() for claim in claims(path)]
    for claim in found:
        link = f"../notebooks/{claim.notebook}.html#{claim.anchor}"
        assert links.count(link) == 1, claim.number
    assert text.count('class="claim-item docutils container"') == len(found)
