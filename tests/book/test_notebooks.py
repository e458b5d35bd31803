"""What every chapter keeps, so that it reads on the site, in Jupyter, in Colab."""

import re

import form
import pytest
import specimen
from chapter import (
    CLAIM,
    HIDE_CELL,
    INSTALL,
    KEPT,
    KERNEL,
    LANGUAGE,
    ROOT,
    SOLUTION,
    SVG,
    UNCOMPARED,
    VIEW,
    chapters,
    has,
    tags,
)

# Chapters of the first edition, and what holds for them still. It shrinks.
OLD_FORM = set()
# Cells whose output is not compared, and why. It grows with a reason only.
LEFT = {
    "05_dropout": 1,  # times, as shares of nn.Dropout's
    "07_device_placement": 2,  # the machine; what needs an accelerator
}

every_chapter = pytest.mark.parametrize("chapter", chapters(), ids=str)


def is_old(chapter):
    return chapter.stem in OLD_FORM


def test_every_notebook_is_a_chapter():
    there = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert there == sorted(chapter.path for chapter in chapters())


@every_chapter
def test_markdown_is_portable(chapter):
    for source in chapter.markdown:
        assert not re.search(r"^\s*(```\{|:::|~~~\{)", source, re.M), source
        text = form.outside_code(source)
        assert not re.search(r"\{[a-z:-]+\}$|^\([\w-]+\)=\s*$", text, re.M), source
        assert not re.search(r"\{[a-z:-]+\}`", source), source
        assert "![" not in text and "<img" not in text, source
        assert not re.search(r"^\s*(---|\*\*\*|___)\s*$", text, re.M), source


@every_chapter
def test_cells_ran_once_in_order(chapter):
    counts = [cell.execution_count for cell in chapter.code]
    assert counts == list(range(1, len(counts) + 1))


@every_chapter
def test_kernel_is_one_that_everybody_has(chapter):
    metadata = chapter.notebook.metadata
    assert metadata.kernelspec == KERNEL
    assert metadata.language_info == LANGUAGE
    assert set(metadata) <= {"kernelspec", "language_info", *KEPT}


@every_chapter
def test_first_code_cell_installs_in_colab_only(chapter):
    first, *others = chapter.code
    assert INSTALL in tags(first) and HIDE_CELL in tags(first)
    installs = [line for line in first.source.splitlines() if "pip" in line]
    assert installs and all("--no-deps" in line for line in installs)
    assert not any("pip" in c.source and "%" in c.source for c in others)


@every_chapter
def test_form(chapter):
    """CONTRIBUTING says it in words, form.py in rules."""
    faults = list(old_faults(chapter)) if is_old(chapter) else form.faults(chapter)
    assert faults == [], "\n".join(faults)


def old_faults(chapter):
    for lead in (
        "**Question.**",
        "**Answer in short.**",
        "**You will build**",
        "| Before you start |",
    ):
        if lead not in chapter.opening:
            yield f"the opening has no {lead}"
    yield from form.ending(chapter)
    yield from form.cells(chapter, shown=form.HIDDEN)
    yield from form.measured(chapter)


@every_chapter
def test_figures_have_alternative_text_and_print_a_number(chapter):
    for number, cell in enumerate(chapter.code, 1):
        for output in cell.outputs:
            data = output.get("data", {})
            assert not {"image/png", "image/jpeg"} & set(data), (
                f"code cell {number}: a figure goes through show(fig, alt)"
            )
            if SVG in data:
                alt = data["text/plain"]
                assert len(alt) > 40 and " " in alt, f"code cell {number}: {alt}"
                assert 'role="img" aria-label="' in data[SVG]
            if SVG in data or VIEW in data:
                kinds = [o.output_type for o in cell.outputs]
                assert "stream" in kinds, f"code cell {number} prints nothing"


@every_chapter
def test_a_sliders_frames_have_alternative_text(chapter):
    if not any(has(cell, VIEW) for cell in chapter.code):
        assert not is_old(chapter) and "widgets" not in chapter.notebook.metadata
        return
    (state,) = chapter.notebook.metadata.widgets.values()
    pages = [
        m["state"]["value"]
        for m in state["state"].values()
        if m["model_name"] == "HTMLModel"
    ]
    alts = [re.search(r'aria-label="([^"]+)"', page)[1] for page in pages]
    assert len(set(alts)) == len(pages) >= (5 if is_old(chapter) else 3)


@every_chapter
def test_nothing_on_stderr_and_no_error(chapter):
    for number, cell in enumerate(chapter.code, 1):
        for output in cell.outputs:
            assert output.get("name") != "stderr", f"code cell {number}"
            assert output.output_type != "error", f"code cell {number}"


@every_chapter
def test_ignored_cells_stay_in_budget(chapter):
    ignored = [
        c for c in chapter.code if UNCOMPARED & set(tags(c)) or "NBVAL_" in c.source
    ]
    assert len(ignored) <= LEFT.get(chapter.stem, 0)


@every_chapter
def test_claims_are_numbered_and_followed_by_their_check(chapter):
    found = chapter.claims
    written = re.findall(r"\*\*Claim ", "\n".join(chapter.markdown))
    assert len(found) == len(written)
    numbers = [f"{chapter.number}.{n}" for n in range(1, len(found) + 1)]
    assert [claim.number for claim in found] == numbers
    for claim in found:
        assert claim.check, f"claim {claim.number}: no code cell right after it"
        assert re.search(r"^\s*assert ", claim.check.source, re.M), claim.number


def test_a_claim_without_a_check_is_seen():
    assert CLAIM.match("**Claim 1.1.** Water is wet.")
    assert not CLAIM.match("As claim 1.1 says, water is wet.")


@every_chapter
def test_exercises_are_numbered_checked_and_solved(chapter):
    numbers = chapter.exercises
    assert numbers == [f"{chapter.number}.{n}" for n in range(1, len(numbers) + 1)]
    assert form.EXERCISES[0] <= len(numbers) <= form.EXERCISES[1]
    verdicts = [
        output.data["text/plain"]
        for cell in chapter.code
        for output in cell.outputs
        if output.get("data", {}).get("text/plain", "").startswith("Exercise")
    ]
    for number in numbers:
        asked, solved = [v for v in verdicts if v.startswith(f"Exercise {number}:")]
        assert asked.endswith("not answered yet.")
        assert solved.startswith(f"Exercise {number}: right.")


@every_chapter
def test_no_fact_of_one_machine_in_the_outputs(chapter):
    for cell in chapter.code:
        for output in cell.outputs:
            text = output.get("text", "") + str(
                output.get("data", {}).get("text/plain", "")
            )
            assert not re.search(
                r"/(home|root|tmp|work|usr)/|0x[0-9a-f]{6}|cuda:", text
            )
            assert not re.search(r"\d\.\d{5,}", text), text


@every_chapter
def test_a_solution_gives_nothing_away_before_it_is_opened(chapter):
    """Folded with its output, on the site and in Jupyter; a form in Colab."""
    solutions = [c for c in chapter.code if SOLUTION in tags(c)]
    for cell, number in zip(solutions, chapter.exercises, strict=True):
        assert cell.source.startswith(f"# @title Solution {number}")
        assert HIDE_CELL in tags(cell)
        assert cell.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
        assert cell.metadata.cellView == "form"
        assert cell.metadata.mystnb.code_prompt_show.endswith(f"exercise {number}")


@pytest.fixture
def altered(tmp_path):
    """A chapter in the form with something changed, and its faults."""

    def altered(change=None):
        cells = specimen.cells()
        if change:
            change(cells)
        return form.faults(specimen.chapter(tmp_path, cells))

    return altered


def swap(old, new):
    """Change a piece of the one cell that has it."""

    def change(cells):
        (cell,) = [cell for cell in cells if old in cell.source]
        cell.source = cell.source.replace(old, new)

    return change


def tagged(piece, *new):
    def change(cells):
        (cell,) = [cell for cell in cells if piece in cell.source]
        cell.metadata["tags"] = list(new)

    return change


def moved(piece, place):
    def change(cells):
        (cell,) = [cell for cell in cells if piece in cell.source]
        cells.remove(cell)
        cells.insert(place, cell)

    return change


def printed(old, new):
    def change(cells):
        (cell,) = [c for c in cells if old in str(c.get("outputs", ""))]
        cell.outputs[0].text = new

    return change


def test_the_specimen_keeps_the_form(altered):
    assert altered() == []


LONG = "\n".join("print(1)" for _ in range(16))


@pytest.mark.parametrize(
    "change, told",
    [
        (swap("# Names of the days", "Names of the days"), "no `# Title`"),
        (swap("Nothing crashed.", "word " * 120), "words of story"),
        (swap("Nothing crashed.", "It is $4$."), "a formula stands before"),
        (swap("go wrong?", "go wrong."), "asks no question"),
        (swap("**You need**", "You need"), "no **You need**"),
        (swap("**You will build**", "You build"), "no **You will build**"),
        (swap("**You need**", "**Time.** 5 minutes.\n\n**You need**"), "a time"),
        (tagged("nothing to install"), "cell 2 is not the install cell"),
        (tagged("from days import setup"), "cell 3: imports"),
        (tagged("from days import setup"), "code is shown before the picture"),
        (moved("show(week())", 8), "no picture before the first section"),
        (tagged("show(week())"), "draws, and is not folded"),
        (swap("## Deeper: other", "### Deeper: other"), "write `## Deeper: …`"),
        (swap("## Deeper: other", "## Deeper other"), "write `## Deeper: …`"),
        (swap("## Exercises", "## Tasks"), "not Exercises and Summary"),
        (swap("**Next.**", "Next."), "no **Next.**"),
        (swap("The calendar.", "It.\n\nMore."), "sources are not the last"),
        (swap("So we add.", "word " * 1500), "words: 16"),
        (swap("The old French", "word " * 900), "deeper: 9"),
        (swap("print('Thursday')", LONG), "16 lines, at most 15"),
        (swap("print('Thursday')", f"#{' ' * 72}"), "wider than 72"),
        (swap("show(week())", "\n" * 26), "26 lines, at most 25"),
        (swap("# @title Solution 1.1", "\n" * 26), "at most 25"),
        (tagged("DAYS = 7", "src:days.py"), "tagged src:… but not hide-input"),
        (swap("1 and 7?\n", "1 and 7?\n\nFour.\n"), "not last in the cell"),
        (swap("in percent?", "in percent."), "no question"),
        (swap("- yes\n- no", "- yes"), "1 choices"),
        (swap("- yes", "- a\n- b\n- c\n- d"), "5 choices"),
        (swap("- yes", f"- {'y' * 90}"), "a long choice"),
        (swap("**Predict.** Is", "Is"), "2 predictions, not 3"),
        (moved("print('no')", 0), "no code answers it"),
        (swap("**Claim 1.1.** The", "The"), "3 claims, at least 4"),
        (swap("assert 0.2 < share < 0.3", "assert 0.2 < share"), "1 numbers behind"),
        (swap("assert 0.2 < share < 0.3", "assert 2 == 2 == 2"), "0 assertions with"),
        (swap("assert 0.2 < share < 0.3", "ok = 0.2 < share < 0.3"), "0 assertions"),
        (swap("share:.0%}'", "share:.0%} ≈ {share}'"), "2 numbers behind"),
        (printed("share: ≈ 29%", "share: ≈ some"), "no number behind"),
    ],
)
def test_a_chapter_out_of_form_is_told_what_is_wrong(altered, change, told):
    assert any(told in line for line in altered(change)), altered(change)


def test_a_slider_more_is_seen(altered):
    def two_sliders(cells):
        for cell in [c for c in cells if c.cell_type == "code"][-2:]:
            cell.outputs.append(
                specimen.new_output("display_data", {VIEW: {"model_id": "0"}})
            )

    assert "2 sliders, at most one" in altered(two_sliders)


def test_claims_in_deeper_are_counted_apart(tmp_path):
    chapter = specimen.chapter(tmp_path, specimen.cells())
    assert [claim.lane for claim in chapter.claims] == ["main"] * 2 + ["deeper", "main"]
    assert chapter.spent["claims"] == 3


def test_a_chapter_is_read_as_it_stands(tmp_path):
    chapter = specimen.chapter(tmp_path, specimen.cells())
    assert (chapter.number, chapter.title) == (1, "Names of the days")
    assert chapter.exercises == ["1.1", "1.2", "1.3"]
    assert [len(asked.choices) for asked in chapter.predictions] == [3, 0, 2]
    assert chapter.predictions[0].choices[1] == "4, a `Thursday`"
    # Cells 8, 9, 12, 14: shown, and in the main lane. The file is one line.
    assert (chapter.lines(), chapter.file_lines()) == (3 + 1 + 2 + 3, 1)
    more = swap("The old French", "word " * 400)
    cells = specimen.cells()
    more(cells)
    longer = specimen.chapter(tmp_path, cells)
    assert longer.minutes("deeper") == chapter.minutes("deeper") + 2
    assert longer.minutes() == chapter.minutes()
