"""Strict comparison skips the number behind `≈`, and nothing else."""

import re
import subprocess
import sys

import nbformat
import pytest
from chapter import ROOT
from nbval.plugin import get_sanitize_patterns

MEASURED = ROOT / "tests/book/measured.txt"
((PATTERN, SIGN),) = get_sanitize_patterns(MEASURED.read_text(encoding="utf-8"))


def kept(text):
    return re.sub(PATTERN, SIGN, text)


@pytest.mark.parametrize(
    "stored, printed",
    [
        ("right: ≈ 58%", "right: ≈ 61%"),
        ("right: ≈ 58 %", "right: ≈ 9 %"),
        ("loss ≈ 3.14, then ≈ 2", "loss ≈ 3.2, then ≈ 1.999"),
        ("rows: ≈ 38,346 ids", "rows: ≈ 1,038,346 ids"),
        ("shift: ≈ -0.03", "shift: ≈ +0.011"),
        ("shift: ≈ −0.03", "shift: ≈ 0.011"),
        ("gap: ≈ 1.5e-05", "gap: ≈ 2e+3"),
        ("share ≈  9.5 of", "share ≈ 10.5 of"),
        ("in all ≈ 3.", "in all ≈ 4."),
        ("(≈ 3, ≈ 4)", "(≈ 5, ≈ 6)"),
    ],
)
def test_a_measured_number_may_differ(stored, printed):
    assert stored != printed and kept(stored) == kept(printed)


@pytest.mark.parametrize(
    "stored, printed",
    [
        ("right: ≈ 58%", "wrong: ≈ 58%"),
        ("right: ≈ 58%", "right: ≈ 58"),
        ("took ≈ 3 kB", "took ≈ 3 MB"),
        ("right: 58%", "right: 61%"),
        ("right: ≈ 58%", "right: 58%"),
        ("right: ≈ 58%", "right: = 58%"),
        ("≈ 58 of 64", "≈ 58 of 65"),
        ("64 ≈ 58", "65 ≈ 58"),
        ("≈ 58", "≈ nan"),
        ("≈ 58", "≈ about 58"),
        ("≈58", "≈59"),
        ("≈ 1, 2", "≈ 1, 3"),
        ("≈ (1, 2)", "≈ (1, 3)"),
        ("≈ 12,34", "≈ 12,35"),
        ("≈ 1.2.3", "≈ 1.2.4"),
        ("≈\n58", "≈\n59"),
        ("v2.5", "v2.6"),
    ],
)
def test_nothing_else_may_differ(stored, printed):
    assert kept(stored) != kept(printed)


def test_nbval_itself_skips_the_number_alone(tmp_path):
    """With the option that the Makefile gives it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    options = re.search(r"^NBVAL = (.*)$", makefile, re.M)[1].split()
    cells = []
    for source, stored in (
        ("print('right: ≈ 58%')", "right: ≈ 61%\n"),
        ("print('right: 58%')", "right: 61%\n"),
        ("'≈ 58 kB'", "'≈ 61 MB'"),
    ):
        cell = nbformat.v4.new_code_cell(source, execution_count=len(cells) + 1)
        if source.startswith("print"):
            output = nbformat.v4.new_output("stream", text=stored)
        else:
            data = {"text/plain": stored}
            output = nbformat.v4.new_output(
                "execute_result", data, execution_count=len(cells) + 1
            )
        cell.outputs = [output]
        cells.append(cell)
    path = tmp_path / "measured.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rf"]
    done = subprocess.run(
        [*command, *options, path], cwd=ROOT, capture_output=True, text=True
    )
    assert re.findall(r"^FAILED .*Cell (\d)", done.stdout, re.M) == ["1", "2"]
    assert "1 passed" in done.stdout, done.stdout
