"""What a reader does on the site, done in a real browser."""

import functools
import posixpath
import re
from urllib.parse import urljoin

import pytest
from browsing import CHAPTERS, SLIDERS, by_http, uncover, wake
from bs4 import BeautifulSoup
from pages import HTML, Host
from playwright.sync_api import expect


@by_http(SLIDERS, SLIDERS[0], SLIDERS[-1])
def test_the_slider_moves_without_a_kernel(visit, page_name, base):
    page = visit(page_name, base=base, scheme="dark")
    still = page.locator(".widget-still")
    uncover(page)
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
    last = handle.get_attribute("aria-valuenow") == handle.get_attribute(
        "aria-valuemax"
    )
    page.keyboard.press("ArrowLeft" if last else "ArrowRight")
    picture = page.locator(".widget-subarea .widget-html-content svg:visible")
    shown = picture.get_attribute("aria-label")
    assert shown != before
    readout = page.locator(".widget-subarea .widget-readout").inner_text()
    assert readout in shown
    assert handle.get_attribute("aria-valuetext") == readout

    # The mouse: drag the handle to the right end of its track.
    track = page.locator(".widget-subarea .noUi-target").bounding_box()
    at = handle.bounding_box()
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"], at["y"] + 2, steps=5)
    page.mouse.up()
    dragged = page.locator(".widget-subarea .widget-readout").inner_text()
    assert handle.get_attribute("aria-valuenow") == handle.get_attribute(
        "aria-valuemax"
    )
    picture = page.locator(".widget-subarea .widget-html-content svg:visible")
    assert dragged in picture.get_attribute("aria-label")
    caption = page.locator(".widget-subarea .widget-html-content p:visible")
    assert caption.inner_text() in picture.get_attribute("aria-label")
    handle.focus()
    page.keyboard.press("Home")
    shown = page.locator(
        ".widget-subarea .widget-html-content svg:visible"
    ).get_attribute("aria-label")

    play = page.locator(".widget-subarea .widget-play")
    play.get_by_role("button", name="Play").click()
    page.wait_for_function(
        "label => [...document.querySelectorAll('.widget-html-content svg')]"
        ".find(s => s.checkVisibility()).getAttribute('aria-label') !== label",
        arg=shown,
    )


@pytest.mark.parametrize("page_name", SLIDERS[:1])
def test_the_buttons_of_a_slider_have_names(visit, page_name):
    page = visit(page_name)
    wake(page)
    play = page.locator(".widget-subarea .widget-play")
    for name in ("Play", "Stop", "Repeat"):
        play.get_by_role("button", name=name, exact=True).wait_for()
    play.get_by_role("button", name="Play").click()
    play.get_by_role("button", name="Pause").click()
    repeat = play.get_by_role("button", name="Repeat")
    assert repeat.get_attribute("aria-pressed") == "false"
    # What has changed is said, politely, once it stands still.
    area = page.locator(".widget-subarea")
    area.get_by_role("slider").press("Home")
    said = area.get_by_role("status")
    caption = area.locator(".widget-html-content p:visible")
    expect(said).to_have_text(caption.inner_text())
    area.get_by_role("slider").press("ArrowRight")
    expect(said).to_have_text(caption.inner_text())
    repeat.click()
    play.get_by_role("button", name="Repeat", pressed=True).wait_for()


@pytest.mark.parametrize("page_name", CHAPTERS)
def test_pictures_are_legible_on_a_phone(visit, page_name):
    """Text of 10 px or more, and the page keeps its width: a wide picture scrolls."""
    page = visit(page_name, width=390)
    wake(page)
    uncover(page)
    page.locator("details").evaluate_all("all => all.forEach(e => e.open = true)")
    small = page.evaluate(
        """() => {
        const all = [...document.querySelectorAll('article svg')];
        const seen = all.filter(svg => svg.checkVisibility() && svg.viewBox.baseVal);
        return seen.flatMap(svg => [...svg.querySelectorAll('text')].map(text => [
          text.textContent, parseFloat(getComputedStyle(text).fontSize)
            * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width]));
        }"""
    )
    # The map of chapter 10 still has words of 8 points.
    least = 8.8 if "10_what_a_table_learns" in page_name else 9.9
    assert len(small) > 10
    assert [(words, size) for words, size in small if size < least] == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_without_javascript_the_widget_is_its_first_picture(browser, address):
    for name in SLIDERS:
        text = (HTML / name).read_text(encoding="utf-8")
        assert re.search('class="widget-still">[^<]*<svg', text), name
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(urljoin(address, SLIDERS[0]))
    assert page.locator(".widget-still svg").is_visible()
    context.close()


# What readers would type, and the page that must be among the first three.
SEARCHES = {
    "one-hot": "notebooks/02_lookup_tables.html",
    "padding_idx": "notebooks/02_lookup_tables.html",
    "positional embedding": "notebooks/03_positional_embeddings.html",
    "sinusoidal": "notebooks/03_positional_embeddings.html",
    "broadcasting": "notebooks/04_broadcasting.html",
    "dropout": "notebooks/05_dropout.html",
    "weight tying": "notebooks/06_embedding_layer.html",
    "byte-pair": "notebooks/01_token_ids.html",
    "meta device": "notebooks/07_device_placement.html",
    "colab": "book/setup.html",
}


@pytest.mark.parametrize("words", SEARCHES)
def test_the_search_answers(visit, words):
    page = visit("search.html?q=" + words.replace(" ", "+"))
    first = page.locator("#search-results ul.search li > a").first
    first.wait_for()
    page.wait_for_function(
        "!document.querySelector('#search-results .search-summary')"
        "?.textContent.includes('Searching')"
    )
    links = page.locator("#search-results ul.search li > a").evaluate_all(
        "found => found.slice(0, 3).map(e => new URL(e.href).pathname.slice(1))"
    )
    assert SEARCHES[words] in links


def test_the_search_field_opens_by_key(visit):
    page = visit(CHAPTERS[0])
    page.keyboard.press("Control+k")
    page.keyboard.type("dropout")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=dropout**")


def test_code_is_copied_as_it_stands(visit):
    page = visit(CHAPTERS[3])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cell = page.locator("div.cell_input div.highlight:visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()
    assert len(copied) > 20


@pytest.mark.parametrize("wrong", ["no_such_page.html", "notebooks/no/such.html"])
def test_a_wrong_address_leads_back(browser, address, wrong):
    page = browser.new_page()
    asked = []
    page.on("response", lambda r: asked.append((r.status, r.url)))
    page.goto(urljoin(address, Host.prefix + wrong))
    assert page.locator("article h1").inner_text() == "Page not found"
    assert [s for s, url in asked if not url.endswith(wrong)].count(404) == 0
    with page.expect_navigation():
        page.locator("article a", has_text="first page").click()
    assert page.locator("article h1").inner_text().startswith("Building")
    page.close()


def test_previous_and_next_are_named():
    """Back from the first chapter, then on, page by page, to behind the last."""

    @functools.cache
    def soup(name):
        return BeautifulSoup((HTML / name).read_text(encoding="utf-8"), "html.parser")

    at, walked = CHAPTERS[0], []
    for side in ("left-prev", *["right-next"] * (len(CHAPTERS) + 1)):
        (link,) = soup(at).select(f".prev-next-footer a.{side}")
        at = posixpath.normpath(posixpath.join(posixpath.dirname(at), link["href"]))
        heading = soup(at).select_one("article h1")
        heading.select_one(".headerlink").extract()
        assert link.select_one(".prev-next-title").text.strip() == heading.text.strip()
        walked.append(at)
    assert walked[1:-1] == CHAPTERS


def test_paper_is_white_and_its_ink_dark_whichever_theme_is_chosen(visit):
    page = visit(CHAPTERS[4])
    page.evaluate("localStorage.setItem('mode', 'dark')")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.reload()
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    inks = """() => ['article p', 'article h1', 'article p a', '.highlight pre',
      '.cell_output pre', '.book-figure text'].map(part => {
        const style = getComputedStyle(document.querySelector(part));
        const ink = part.endsWith('text') ? style.fill : style.color;
        const [r, g, b] = ink.match(/[0-9.]+/g).map(Number);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; })"""
    assert max(page.evaluate(inks)) > 150
    page.emulate_media(media="print")
    page.wait_for_function(f"{theme} === 'light'")
    page.wait_for_timeout(300)  # colours fade
    assert max(page.evaluate(inks)) < 120
    assert page.locator("h1:visible").count() == 1
    page.emulate_media(media="screen")
    page.wait_for_function(f"{theme} === 'dark'")


def test_the_logo_stands_in_a_landmark_and_a_page_has_one_title(visit):
    for name in (CHAPTERS[0], "404.html"):
        page = visit(name)
        assert page.locator("h1").count() == 1
        home = page.get_by_role("navigation", name="Home")
        assert home.get_by_role("link").count() == 1


@pytest.mark.parametrize("page_name", CHAPTERS[::4])
def test_paper_gets_the_text_alone(visit, page_name):
    page = visit(page_name, scheme="dark")
    page.emulate_media(media="print")
    for part in (
        ".bd-sidebar-primary",
        ".bd-sidebar-secondary",
        ".bd-header-article",
        ".prev-next-footer",
        ".copybtn",
    ):
        assert page.locator(f"{part}:visible").count() == 0, part
    assert page.locator("p.claim:visible").count() > 0
    assert (
        page.locator("p.claim:visible").first.evaluate(
            "e => getComputedStyle(e).breakAfter"
        )
        == "avoid"
    )
