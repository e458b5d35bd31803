"""The built site: whole, linked, light, and for every reader."""

import functools
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote, urldefrag, urljoin, urlparse
from xml.etree import ElementTree

import pytest
import yaml
from browsing import CHAPTERS, OLD, PAGES, axe, by_http, by_http_and_from_a_file, wake
from chapter import ROOT, chapters
from pages import HTML, Host

from book_helpers.figures import COLOURS

# What a page may send before a widget is near, and with its widgets alive.
STILL, ALIVE = 300_000, 800_000
OTHERS = ["search.html", "genindex.html"]


@by_http(PAGES, PAGES[0], CHAPTERS[0])
def test_a_page_is_whole_and_fits_a_phone(visit, page_name, base):
    page = visit(page_name, width=360, scheme="dark", base=base)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide == 360
    levels = page.locator("article :is(h1, h2, h3, h4, h5, h6)").evaluate_all(
        "found => found.map(e => Number(e.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels)), levels
    bare = page.locator("article img:not([alt]), article img[alt='']").count()
    assert bare == 0
    assert page.locator("main .katex-error").count() == 0
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    # A wide formula is scrolled; what begins left of its box cannot be reached.
    cut = page.locator("div.math").evaluate_all(
        """found => found.filter(box => [...box.querySelectorAll('.base')].some(part =>
        part.getBoundingClientRect().left < box.getBoundingClientRect().left
        )).map(box => box.querySelector('annotation')?.textContent)"""
    )
    assert cut == []


@pytest.mark.parametrize("page_name", PAGES + OTHERS)
def test_axe_finds_nothing(visit, page_name):
    """WCAG 2.1, level A and AA, wide and light, narrow and dark, widgets alive."""
    page = visit(page_name)
    wake(page)
    assert axe(page) == [], "light"
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_timeout(600)  # the theme makes what now scrolls focusable
    assert axe(page) == [], "dark"


@pytest.mark.parametrize("page_name", PAGES)
def test_a_page_is_light(visit, address, page_name):
    """What goes over the wire, packed as any host packs it."""
    page = visit(None)
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sent = []
    network.on("Network.loadingFinished", lambda e: sent.append(e["encodedDataLength"]))
    page.goto(urljoin(address, page_name), wait_until="networkidle")
    assert page_name not in CHAPTERS or sum(sent) > 100_000, "nothing was counted"
    assert sum(sent) <= STILL
    if wake(page):
        page.wait_for_load_state("networkidle")
        assert STILL < sum(sent) <= ALIVE


@pytest.mark.parametrize("page_name", [PAGES[0], CHAPTERS[0]])
def test_every_icon_is_drawn(visit, page_name):
    """The icon fonts are cut: an icon that was cut away has no width."""
    page = visit(page_name)
    wake(page)
    names = page.evaluate(
        """async () => {
          await document.fonts.ready;
          const draw = document.createElement('canvas')
            .getContext('2d', {willReadFrequently: true});
          const found = [];
          for (const e of document.querySelectorAll('[class*="fa-"], .fa, .fab')) {
            const style = getComputedStyle(e, '::before');
            const char = style.content.replaceAll('"', '');
            if (char === 'none' || !e.checkVisibility()) continue;
            const pixels = (font) => {
              draw.font = `${style.fontWeight} 40px ${font}`;
              draw.clearRect(0, 0, 99, 99);
              draw.fillText(char, 10, 60);
              return draw.getImageData(0, 0, 99, 99).data.join();
            };
            found.push([e.className, pixels(style.fontFamily) !== pixels('serif')]);
          }
          return found; }"""
    )
    assert len(names) >= 6
    assert [name for name, drawn in names if not drawn] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_figures_are_legible(visit, scheme):
    """WCAG: 4.5:1 for text, 3:1 for lines, on the page's own ground."""
    page = visit(CHAPTERS[0], scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    names = {"ink": 4.5, "muted": 4.5, "blue": 3, "orange": 3, "green": 3, "purple": 3}
    for name, wanted in names.items():
        colour = page.evaluate(
            """used => {
              const e = document.createElement('span');
              e.style.color = used;
              document.querySelector('main').append(e);
              return getComputedStyle(e).color; }""",
            f"var(--fig-{name}, {COLOURS[name]})",
        )
        assert contrast(colour, ground) >= wanted, (name, colour, ground)


def contrast(one, two):
    def luminance(colour):
        parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
        r, g, b = (
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
        )
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.meta = [], set(), {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "meta":
            self.meta[found.get("property") or found.get("name")] = found.get("content")
        if tag == "link" and found.get("rel") == "canonical":
            self.meta["canonical"] = found["href"]
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


@pytest.mark.parametrize("chapter", chapters(), ids=str)
def test_the_launch_link_names_this_file_and_branch(chapter):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))[
        "repository"
    ]
    place = urlparse(config["url"]).path
    wanted = (
        f"https://colab.research.google.com/github{place}/blob/"
        f"{config['branch']}/{chapter.page}.ipynb"
    )
    links = parsed(HTML / f"{chapter.page}.html").links
    assert wanted in links
    assert f"../_sources/{chapter.page}.ipynb" in links, "no download link"


def test_the_claims_page_lists_every_claim_and_what_it_printed():
    text = (HTML / "book/claims.html").read_text(encoding="utf-8")
    links = parsed(HTML / "book/claims.html").links
    found = [(c.page, claim.anchor) for c in chapters() for claim in c.claims]
    for page, anchor in found:
        assert links.count(f"../{page}.html#{anchor}") == 1, anchor
    assert text.count('class="claim-item docutils container"') == len(found)


def test_the_table_of_models_is_sorted_by_a_heading(visit):
    page = visit("notebooks/12_where_the_layer_went.html", width=390)
    rows = page.locator("table.sortable td:nth-child(2)")

    def shown():
        return [int(text.replace(",", "")) for text in rows.all_inner_texts()]

    before = shown()
    button = page.get_by_role("button", name="rows")
    button.focus()
    page.keyboard.press("Enter")
    assert shown() == sorted(before) != before
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("rows")
    button.click()
    assert shown() == sorted(before, reverse=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@by_http_and_from_a_file
@pytest.mark.parametrize("old", OLD)
def test_an_old_address_leads_to_the_page_that_moved(visit, old, base):
    page = visit(f"{old}.html#exercises", base=base)
    page.wait_for_url(f"**/{OLD[old]}#exercises")
    assert page.locator("#exercises").is_visible()


def test_shared_links_have_a_title_a_sentence_and_a_card():
    """Preview, canonical address and sitemap agree, page by page."""
    root = Host.config["html"]["baseurl"]
    places = ElementTree.parse(HTML / "sitemap.xml").getroot()
    assert {place[0].text for place in places} == {root + name for name in PAGES}
    seen = set()
    for name in PAGES:
        meta = parsed(HTML / name).meta
        assert meta["canonical"] == meta["og:url"] == root + name
        card = HTML / meta["og:image"].removeprefix(root)
        assert card.read_bytes().startswith(b"\x89PNG")
        for what in ("og:title", "description"):
            assert len(meta[what]) > 5 and (what, meta[what]) not in seen
            seen.add((what, meta[what]))


@pytest.mark.parametrize("page_name", CHAPTERS)
def test_chapters_lead_to_the_glossary_and_the_sources(page_name):
    links = parsed(HTML / page_name).links
    terms = [link for link in links if "glossary.html#term-" in link]
    assert len(terms) >= 2 and len(set(terms)) == len(terms)
    text = (HTML / page_name).read_text(encoding="utf-8")
    papers = re.findall(
        r"et al\., (?:<[^>]+>)*<em>|et al\., (<a [^>]*bibliography)", text
    )
    assert all(papers), "a paper of the Sources is not in references.bib"


def test_the_landing_page_says_how_long_a_chapter_takes():
    """The minutes of the main lane, counted here in another way than shown."""
    text = (HTML / "book/index.html").read_text(encoding="utf-8")
    for chapter in chapters():
        row = next(r for r in text.split("<tr")[1:] if f"{chapter.page}.html" in r)
        code = chapter.lines() * 4 + chapter.file_lines() * 2
        minutes = round(chapter.words() / 200 + code / 60)
        assert f"<p>{minutes}\N{NO-BREAK SPACE}min</p>" in row
        page = (HTML / f"{chapter.page}.html").read_text(encoding="utf-8")
        assert f'<p class="reading">{minutes} minutes to read' in page
    short = re.search(r"<strong>(\d+) minutes\.</strong> Read the opening", text)
    assert int(short[1]) <= 20


def test_the_landing_page_lists_every_chapter_and_the_whole_book():
    links = parsed(HTML / "book/index.html").links
    assert {f"../{name}" for name in CHAPTERS} <= set(links)
    assert "../embedding-layer.epub" in links


def test_the_moving_picture_is_the_layers_own():
    """Drawn anew, it is the one on the page."""
    import picture

    assert picture.TARGET.read_text(encoding="utf-8") == picture.draw()


@pytest.mark.parametrize("chapter", chapters(), ids=str)
def test_the_status_page_counts_what_the_tests_do(chapter):
    """Claims, compared cells, uncompared ones: counted here in another way."""
    text = (HTML / "book/status.html").read_text(encoding="utf-8")
    row = next(r for r in text.split("<tr")[1:] if f"{chapter.page}.html" in r)
    cells = [int(n) for n in re.findall(r">(\d+)<", row)]
    source = json.loads(chapter.path.read_text(encoding="utf-8"))["cells"]
    code = [c for c in source if c["cell_type"] == "code"]
    tagged = [set(c["metadata"].get("tags", [])) for c in code]
    assert cells == [
        text_of(source).count("**Claim "),
        sum(not t & {"nbval-ignore-output", "gpu"} for t in tagged),
        sum("nbval-ignore-output" in t and "gpu" not in t for t in tagged),
        sum("gpu" in t for t in tagged),
    ]
    assert re.search(r">\d+ s<", row)


def text_of(cells):
    return "\n".join(
        "".join(c["source"]) for c in cells if c["cell_type"] == "markdown"
    )
