"""Two lanes and the guesses, done as a reader does them, on the specimen."""

import re
from urllib.parse import urljoin

import pytest
import specimen
from browsing import axe
from pages import chromium

PAGE = "notebooks/01_days.html"
KEY = "embedding-layer:01_days.html"  # what the browser keeps it under
COVERED = "never busy"  # in Claim 1.1, behind the first question
SEEN = "e => e.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})"


@pytest.fixture
def read(visit, specimen_site):
    """Open the specimen: its page, at an address within it."""

    def read(address="", **options):
        return visit(PAGE + address, base=specimen_site, **options)

    return read


def is_seen(page, selector):
    return page.locator(selector).first.evaluate(SEEN)


def box(page, number):
    return page.locator(f"#predict-1-{number}")


def answer(page, number):
    return box(page, number).locator("xpath=following-sibling::div[1]")


def note(page, number):
    return box(page, number).locator("xpath=following-sibling::p[1]")


def is_covered(page, number):
    return not answer(page, number).locator(".cell").first.evaluate(SEEN)


def progress(page):
    return page.locator(".progress-line").inner_text().split("\n")[0]


def test_what_answers_a_question_is_marked_and_nothing_more(read):
    page = read()
    first = answer(page, 1)
    assert "The sum is 8" in first.text_content()
    assert first.locator("p.claim").count() == 1
    assert first.locator(".cell").count() == 2, "the run of code cells"
    assert "quiet day" in first.text_content(), "what is said of the result"
    assert "no order" not in first.text_content(), "the next claim"
    assert answer(page, 2).locator(".cell").count() == 1
    assert "as counted" in answer(page, 2).text_content()
    assert answer(page, 2).locator("div.math").count() == 1
    assert answer(page, 3).locator(".cell").count() == 1
    assert page.locator(".answer").count() == 3


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
def test_a_choice_by_mouse(read, scheme, width):
    page = read(scheme=scheme, width=width)
    assert is_covered(page, 1) and not is_seen(page, "text=Thursday >> nth=-1")
    assert COVERED not in page.locator("article").inner_text()
    assert progress(page).startswith("0 of 3 guesses made, 0 of 3 exercises done")
    assert not box(page, 1).locator("ul").is_visible(), "the choices stand once"
    box(page, 1).get_by_label("4, a Thursday").check()
    assert box(page, 1).locator("form code").is_visible(), "a choice keeps its look"
    box(page, 1).get_by_role("button", name="Show what happens").click()
    assert not is_covered(page, 1) and is_covered(page, 2)
    assert note(page, 1).inner_text() == "You guessed: 4, a Thursday"
    assert not box(page, 1).locator("form").is_visible()
    assert box(page, 1).locator("li").count() == 3
    assert box(page, 1).locator("li").first.is_visible()
    assert progress(page).startswith("1 of 3")
    above, below = note(page, 1).bounding_box(), answer(page, 1).bounding_box()
    assert above["y"] < below["y"]
    assert page.evaluate("document.documentElement.scrollWidth") == width


def focus(page):
    return page.evaluate(
        """() => { const e = document.activeElement;
        return [e.closest('form') && e.type, e.closest('.answer') !== null]; }"""
    )


def test_a_choice_by_keys(read):
    """Nothing covered is reached; the guess is announced and has the focus."""
    page = read()
    page.locator(".progress-line input").focus()
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(focus(page))
        if reached[-1][0] == "radio":
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowUp")
            page.keyboard.press("ArrowDown")
        if reached[-1][0] == "text":
            break
    assert not any(covered for _, covered in reached)
    assert [kind for kind, _ in reached if kind] == ["radio", "submit", "text"]
    page.keyboard.type("30")
    page.keyboard.press("Enter")
    assert note(page, 2).inner_text() == "You guessed: 30"
    assert note(page, 2).evaluate("e => e === document.activeElement")
    assert note(page, 2).get_attribute("role") == "status"
    page.keyboard.press("Tab")
    assert focus(page)[1], "the next stop is in what was shown"
    box(page, 1).get_by_role("radio", checked=True).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert note(page, 1).inner_text() == "You guessed: 4, a Thursday"


def test_what_a_screen_reader_is_told(read):
    page = read()
    tree = page.locator("article").aria_snapshot()
    assert COVERED not in tree and "Ten days" not in tree
    assert re.search(
        r'group "Your guess":\n +- text: Your guess\n +- radio "1"\n', tree
    ), tree
    assert 'textbox "Your guess"' in tree
    assert 'checkbox "Show everything"' in tree
    assert 'checkbox "Exercise 1.2 done"' in tree
    assert "Toggle hidden content" not in tree
    page.get_by_label("Show everything").check()
    tree = page.locator("article").aria_snapshot()
    assert COVERED in tree


MARKUP = "<img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script>"


@pytest.mark.parametrize(
    "typed, told, counted",
    [
        ("29", "You guessed: 29", 1),
        ("", "You looked without a guess.", 0),
        ("   ", "You looked without a guess.", 0),
        (MARKUP, f"You guessed: {MARKUP}", 1),
        ("x" * 5000, f"You guessed: {'x' * 200}", 1),
        ("__proto__", "You guessed: __proto__", 1),
    ],
)
def test_a_typed_guess_is_text_and_is_kept(read, typed, told, counted):
    page = read(width=390)
    line = box(page, 2).get_by_label("Your guess")
    assert line.get_attribute("maxlength") == "200"
    line.evaluate("(e, text) => { e.value = text; }", typed)
    box(page, 2).get_by_role("button").click()
    for _ in range(2):
        assert note(page, 2).text_content() == told
        assert note(page, 2).locator("*").count() == 0
        assert not is_covered(page, 2) and is_covered(page, 1)
        assert progress(page).startswith(f"{counted} of 3 guesses made")
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.reload()


def test_everything_is_shown_by_one_switch_and_started_over(read):
    page = read()
    assert not page.get_by_role("button", name="Start over").is_visible()
    box(page, 3).evaluate("e => e.closest('details').open = true")
    page.get_by_label("Show everything").check()
    for _ in range(2):
        assert not any(is_covered(page, n) for n in (1, 2))
        assert box(page, 1).locator("li").first.is_visible()
        assert page.locator("form.guess:visible").count() == 0
        page.reload()
    page.get_by_label("Show everything").uncheck()
    assert is_covered(page, 1) and is_covered(page, 2)
    box(page, 1).get_by_label("7").check()
    box(page, 1).get_by_role("button").click()
    page.get_by_label("Exercise 1.3 done").check()
    page.reload()
    assert page.get_by_label("Exercise 1.3 done").is_checked()
    assert progress(page).startswith("1 of 3 guesses made, 1 of 3 exercises done")
    page.get_by_role("button", name="Start over").click()
    for _ in range(2):
        assert progress(page).startswith("0 of 3 guesses made, 0 of 3 exercises done")
        assert is_covered(page, 1) and note(page, 1).text_content() == ""
        assert not page.get_by_label("Exercise 1.3 done").is_checked()
        page.reload()


@pytest.mark.parametrize(
    "damaged",
    [
        "{ half",
        "null",
        "7",
        '"text"',
        "[]",
        '{"guesses": 5, "done": 5, "all": "yes"}',
        '{"guesses": {"Predict. x": 5}, "done": [1, null]}',
        '{"guesses": [["a"]], "done": {"1.1": true}}',
        '{"guesses": {"another question?": "<b>x</b>"}, "done": ["9.9"]}',
    ],
)
def test_damaged_memory_is_no_memory(read, damaged):
    page = read()
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, damaged])
    page.reload()
    assert progress(page).startswith("0 of 3 guesses made, 0 of 3 exercises done")
    assert is_covered(page, 1) and is_covered(page, 2)
    box(page, 1).get_by_role("button").click()
    page.get_by_label("Exercise 1.1 done").check()
    page.reload()
    assert not is_covered(page, 1)
    assert page.get_by_label("Exercise 1.1 done").is_checked()


def test_a_long_guess_that_was_kept_by_another_hand_is_cut(read):
    page = read()
    box(page, 1).get_by_role("button").click()
    page.evaluate(
        """key => {
        const found = JSON.parse(localStorage[key]);
        for (const q in found.guesses) found.guesses[q] = '<b>'.repeat(9999);
        localStorage[key] = JSON.stringify(found); }""",
        KEY,
    )
    page.reload()
    assert note(page, 1).text_content() == "You guessed: " + ("<b>" * 100)[:200]


@pytest.mark.parametrize("fails", ["getItem", "setItem", "both", "localStorage"])
def test_without_a_memory_the_page_works_for_this_visit(browser, specimen_site, fails):
    page = browser.new_page()
    throws = "{ throw new DOMException('no', 'SecurityError'); }"
    page.add_init_script(
        f"Object.defineProperty(window, 'localStorage', {{ get() {throws} }});"
        if fails == "localStorage"
        else "".join(
            f"Storage.prototype.{name} = () => {throws};"
            for name in ("getItem", "setItem")
            if fails in (name, "both")
        )
    )
    page.goto(urljoin(specimen_site, PAGE))
    assert is_covered(page, 1)
    box(page, 2).get_by_label("Your guess").fill("29")
    box(page, 2).get_by_role("button").click()
    page.get_by_label("Exercise 1.1 done").check()
    assert note(page, 2).inner_text() == "You guessed: 29"
    assert progress(page).startswith("1 of 3 guesses made, 1 of 3 exercises done")
    page.get_by_label("Show everything").check()
    assert not is_covered(page, 1)
    page.reload()
    assert is_covered(page, 1) and progress(page).startswith("0 of 3")
    page.close()


def is_at(page, selector):
    """Whether the window has been brought there."""
    page.wait_for_function(
        "s => { const y = document.querySelector(s).getBoundingClientRect().y;"
        " return y > -10 && y < innerHeight; }",
        arg=selector,
    )
    return is_seen(page, selector)


def test_a_link_into_what_is_covered_uncovers_it(read):
    page = read("#claim-1-1")
    assert is_at(page, "#claim-1-1")
    assert not is_covered(page, 1) and is_covered(page, 2)
    assert note(page, 1).text_content() == ""
    page.reload()
    page.evaluate("history.replaceState(null, '', location.pathname)")
    page.reload()
    assert is_covered(page, 1), "a look by a link is not kept"
    page.evaluate("location.hash = 'claim-1-1'")
    assert is_at(page, "#claim-1-1")


def test_a_link_into_deeper_opens_it(read):
    page = read()
    assert not is_seen(page, "#claim-1-3")
    assert not is_seen(page, "#predict-1-3")
    for number, address in enumerate(("#claim-1-3", "#predict-1-3")):
        page = read(address)
        assert is_at(page, address), number
    page = read()
    link = page.locator(".bd-sidebar-secondary a", has_text="Deeper")
    link.click()
    assert is_at(page, "#claim-1-3")
    # Folded by hand, and opened once more by the same link.
    for _ in range(2):
        page.locator("details.deeper > summary").click(position={"x": 5, "y": 20})
        assert not is_seen(page, "#claim-1-3")
        link.click()
        assert is_at(page, "#claim-1-3")


@pytest.mark.parametrize("address", ["#no-such", "#%E0%A4%A", "#", "#constructor"])
def test_an_address_that_leads_nowhere_changes_nothing(read, address):
    page = read(address)
    assert is_covered(page, 1) and not is_seen(page, "#claim-1-3")


def test_the_search_opens_what_it_leads_to(read):
    page = read("?highlight=thursday")
    page.wait_for_function("document.querySelector('.highlighted')")
    page.wait_for_timeout(100)
    assert not is_covered(page, 1) and is_covered(page, 2)
    assert not is_seen(page, "#claim-1-3")
    page = read("?highlight=french")
    page.wait_for_function("document.querySelector('.highlighted')")
    page.wait_for_timeout(100)
    assert is_covered(page, 1) and is_seen(page, "#claim-1-3")


@pytest.mark.skipif(
    str(chromium()).endswith("browser/start"),
    reason="the headless browser that make test brings finds no text fragments",
)
@pytest.mark.parametrize(
    "text, seen", [(COVERED, "#claim-1-1"), ("French week", "#claim-1-3")]
)
def test_the_browsers_own_search_opens_too(read, text, seen):
    """A text fragment finds as Ctrl+F does."""
    page = read("#:~:text=" + text.replace(" ", "%20"))
    page.wait_for_function(f"({SEEN})(document.querySelector('{seen}'))")
    assert box(page, 1).locator("form").is_visible() == (seen != "#claim-1-1")


def test_deeper_by_mouse_and_keys(read):
    page = read(width=390, scheme="dark")
    summary = page.locator("details.deeper > summary")
    assert summary.locator("h2").inner_text().startswith("Deeper: other weeks")
    summary.click(position={"x": 5, "y": 20})
    assert is_seen(page, "#claim-1-3")
    summary.focus()
    page.keyboard.press("Enter")
    assert not is_seen(page, "#claim-1-3")
    page.keyboard.press(" ")
    assert is_seen(page, "#claim-1-3")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_without_scripts_all_is_there(browser, specimen_site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(urljoin(specimen_site, PAGE))
    assert page.locator("#claim-1-1").is_visible()
    assert page.locator("#predict-1-1 li").first.is_visible()
    assert page.locator("article form, article input, .progress-line").count() == 0
    assert not page.locator("#claim-1-3").is_visible()
    page.locator("details.deeper > summary").click(position={"x": 5, "y": 20})
    assert page.locator("#claim-1-3").is_visible()
    context.close()


def test_on_paper_nothing_is_covered_or_folded(read):
    page = read(scheme="dark")
    page.emulate_media(media="print", color_scheme="light")
    for selector in ("#claim-1-1", "#claim-1-3", "#predict-1-1 li", "#predict-1-3"):
        assert is_seen(page, selector), selector
        assert page.locator(selector).first.bounding_box()["height"] > 5
    text = page.locator("article").inner_text()
    assert "DAYS = 7" in text and "Solution 1.1" in text
    for gone in ("Show what happens", "Your guess", "Show everything", "show(week())"):
        assert gone not in text, gone
    assert page.locator("article input:visible").count() == 0
    pages = page.pdf()
    assert pages.startswith(b"%PDF")


def test_folded_code_says_what_it_is_and_stands_below_its_picture(read):
    page = read()
    names = page.locator("article details.hide > summary").all_inner_texts()
    assert [name.strip() for name in names] == [
        "Show the set-up for Colab",
        "Show the imports",
        "Show the code that draws this",
        "Show the file days.py, 1 line",
        *(f"A solution of exercise 1.{n}" for n in (1, 2, 3)),
    ]
    cell = page.locator(".cell", has=page.locator(".book-figure"))
    drawn = cell.locator(".book-figure").bounding_box()
    assert drawn["y"] < 700, "the picture of the idea is in the first screen"
    assert cell.locator("summary").bounding_box()["y"] > drawn["y"]
    cell.locator("summary").click()
    assert cell.locator("pre").first.is_visible()
    assert (
        cell.locator("summary").inner_text().strip() == "Hide the code that draws this"
    )


def test_a_word_in_another_sense_does_not_lead_to_the_glossary(read):
    links = read().locator("article a[href*='glossary.html#term-']").all()
    assert [link.text_content() for link in links] == ["embedding"]


def test_the_head_says_how_long_it_takes(read, tmp_path):
    chapter = specimen.chapter(tmp_path, specimen.cells())
    page = read()
    told = page.locator("h1 + p.reading").inner_text()
    assert told == f"{chapter.minutes()} minutes to read"


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("all_shown", [False, True])
def test_axe_finds_nothing(read, scheme, width, all_shown):
    page = read(scheme=scheme, width=width)
    if all_shown:
        page.locator("details").evaluate_all("all => all.forEach(e => e.open = true)")
        box(page, 1).get_by_role("button").click()
        page.get_by_label("Show everything").check()
    assert axe(page) == []
