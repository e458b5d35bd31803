"""What every chapter keeps, so that it reads on the site, in Jupyter, in Colab."""

import re

import pytest

from notebooks import CLAIM, ROOT, UNCOMPARED, chapters, claims, read, tags

# Cells whose output is not compared, and why. It grows with a reason only.
IGNORED = {
    "05_dropout": 1,  # times, as shares of nn.Dropout's
    "07_device_placement": 4,  # what is on this machine; 3 need an accelerator
}
WIDEST, LONGEST = 72, 25
SVG = "image/svg+xml"
VIEW = "application/vnd.jupyter.widget-view+json"

every_chapter = pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)


def code(notebook):
    return [c for c in notebook.cells if c.cell_type == "code"]


def markdown(notebook):
    return [c.source for c in notebook.cells if c.cell_type == "markdown"]


def outside_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", text, flags=re.S))


def test_every_notebook_is_a_chapter():
    assert sorted((ROOT / "notebooks").glob("*.ipynb")) == sorted(chapters())


@every_chapter
def test_markdown_is_portable(path):
    for source in markdown(read(path)):
        assert not re.search(r"^\s*(```\{|:::|~~~\{)", source, re.M), source
        text = outside_code(source)
        assert not re.search(r"\{[a-z:-]+\}$|^\([\w-]+\)=\s*$", text, re.M), source
        assert not re.search(r"\{[a-z:-]+\}`", source), source
        assert "![" not in text and "<img" not in text, source
        assert not re.search(r"^\s*(---|\*\*\*|___)\s*$", text, re.M), source


@every_chapter
def test_cells_ran_once_in_order(path):
    counts = [cell.execution_count for cell in code(read(path))]
    assert counts == list(range(1, len(counts) + 1))


@every_chapter
def test_kernel_is_one_that_everybody_has(path):
    metadata = read(path).metadata
    assert metadata.kernelspec == {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    assert metadata.language_info == {"name": "python"}
    assert set(metadata) <= {
        "kernelspec",
        "language_info",
        "widgets",
        "accelerator",
        "colab",
        "keywords",
    }


@every_chapter
def test_first_code_cell_installs_in_colab_only(path):
    first, *others = code(read(path))
    assert "colab-install" in tags(first) and "hide-cell" in tags(first)
    installs = [line for line in first.source.splitlines() if "pip" in line]
    assert installs and all("--no-deps" in line for line in installs)
    assert not any("pip" in c.source and "%" in c.source for c in others)


@every_chapter
def test_form(path):
    texts = markdown(read(path))
    assert texts[0].startswith("# ")
    opening = "\n".join(texts[:2])
    for lead in (
        "**Question.**",
        "**Answer in short.**",
        "**You will build**",
        "| Before you start |",
        "**Time.**",
    ):
        assert lead in opening, lead
    headings = re.findall(r"^## (.+)$", "\n".join(texts), re.M)
    assert headings[-2:] == ["Exercises", "Summary"]
    for lead in ("**Next.**", "**Sources.**"):
        assert lead in texts[-1], lead


@every_chapter
def test_cells_fit_the_page(path):
    for number, cell in enumerate(read(path).cells, 1):
        special = any(t.startswith("src:") or t == "colab-install" for t in tags(cell))
        if cell.cell_type == "code" and not special:
            lines = cell.source.splitlines()
            assert len(lines) <= LONGEST, f"cell {number}: {len(lines)} lines"
            wide = [line for line in lines if len(line) > WIDEST]
            assert not wide, f"cell {number}: {wide[0]}"


@every_chapter
def test_figures_have_alternative_text_and_print_a_number(path):
    seen = 0
    for number, cell in enumerate(code(read(path)), 1):
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
                seen += 1
                kinds = [o.output_type for o in cell.outputs]
                assert "stream" in kinds, f"code cell {number} prints nothing"
    assert seen >= 2


@every_chapter
def test_one_widget_and_its_frames_have_alternative_text(path):
    notebook = read(path)
    views = [o for c in code(notebook) for o in c.outputs if VIEW in o.get("data", {})]
    assert len(views) == 1
    (state,) = notebook.metadata.widgets.values()
    pages = [
        m["state"]["value"]
        for m in state["state"].values()
        if m["model_name"] == "HTMLModel"
    ]
    alts = [re.search(r'aria-label="([^"]+)"', page)[1] for page in pages]
    assert len(set(alts)) == len(pages) >= 5


@every_chapter
def test_nothing_on_stderr_and_no_error(path):
    for number, cell in enumerate(code(read(path)), 1):
        for output in cell.outputs:
            assert output.get("name") != "stderr", f"code cell {number}"
            assert output.output_type != "error", f"code cell {number}"


@every_chapter
def test_ignored_cells_stay_in_budget(path):
    ignored = [
        c for c in code(read(path)) if UNCOMPARED & set(tags(c)) or "NBVAL_" in c.source
    ]
    assert len(ignored) == IGNORED.get(path.stem, 0)


@every_chapter
def test_claims_are_numbered_and_followed_by_their_check(path):
    chapter = int(path.stem.split("_")[0])
    found = claims(path)
    written = re.findall(r"\*\*Claim ", "\n".join(markdown(read(path))))
    assert len(found) == len(written) >= 5
    numbers = [f"{chapter}.{n}" for n in range(1, len(found) + 1)]
    assert [claim.number for claim in found] == numbers
    for claim in found:
        assert claim.check, f"claim {claim.number}: no code cell right after it"
        assert re.search(r"^\s*assert ", claim.check.source, re.M), claim.number


def test_a_claim_without_a_check_is_seen():
    assert CLAIM.match("**Claim 1.1.** Water is wet.")
    assert not CLAIM.match("As claim 1.1 says, water is wet.")


@every_chapter
def test_exercises_are_numbered_checked_and_solved(path):
    chapter = int(path.stem.split("_")[0])
    notebook = read(path)
    text = "\n".join(markdown(notebook))
    numbers = re.findall(r"^\*\*Exercise (\d+\.\d+)\.\*\*", text, re.M)
    assert numbers == [f"{chapter}.{n}" for n in range(1, len(numbers) + 1)]
    assert 3 <= len(numbers) <= 5
    verdicts = [
        output.data["text/plain"]
        for cell in code(notebook)
        for output in cell.outputs
        if output.get("data", {}).get("text/plain", "").startswith("Exercise")
    ]
    for number in numbers:
        asked, solved = [v for v in verdicts if v.startswith(f"Exercise {number}:")]
        assert asked.endswith("not answered yet.")
        assert solved.startswith(f"Exercise {number}: right.")
    solutions = [c for c in code(notebook) if "solution" in tags(c)]
    assert len(solutions) == len(numbers)
    for cell, number in zip(solutions, numbers, strict=True):
        assert cell.source.startswith(f"# @title Solution {number}")
        assert cell.metadata.jupyter.source_hidden and cell.metadata.cellView == "form"


@every_chapter
def test_no_fact_of_one_machine_in_the_outputs(path):
    for cell in code(read(path)):
        for output in cell.outputs:
            text = output.get("text", "") + str(
                output.get("data", {}).get("text/plain", "")
            )
            assert not re.search(
                r"/(home|root|tmp|work|usr)/|0x[0-9a-f]{6}|cuda:", text
            )
            assert not re.search(r"\d\.\d{5,}", text), text


@every_chapter
def test_a_solution_gives_nothing_away_before_it_is_opened(path):
    """Folded with its output, on the site and in Jupyter; a form in Colab."""
    solutions = [c for c in code(read(path)) if "solution" in tags(c)]
    assert len(solutions) >= 3
    for cell in solutions:
        assert "hide-cell" in tags(cell)
        assert cell.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
        assert cell.metadata.cellView == "form"
        number = cell.source.split("\n")[0].removeprefix("# @title Solution ")
        assert cell.metadata.mystnb.code_prompt_show.endswith(f"exercise {number}")
