"""Every text file is read and written as UTF-8, whatever the machine's own is.

AllenDowney/ElementsOfDataScience#6: a chapter that ran in Colab and on Linux
stopped on Windows with a character-map error.
"""

import ast
import re
import subprocess

import nbformat
import pytest
from chapter import ROOT

TEXT = {"open", "read_text", "write_text"}
MAGIC = re.compile(r"^(?P<indent>\s*)[%!].*$", re.MULTILINE)
OTHERS = {"Image", "webbrowser", "tarfile"}  # their open() opens no text


def sources():
    """Name and Python code of every file and every notebook cell in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    if listed.returncode:
        pytest.skip("not a git repository")
    for name in listed.stdout.splitlines():
        if name.endswith(".py") and (ROOT / name).exists():
            yield name, (ROOT / name).read_text(encoding="utf-8")
        if name.endswith(".ipynb") and (ROOT / name).exists():
            for i, cell in enumerate(nbformat.read(ROOT / name, as_version=4).cells):
                if cell.cell_type == "code":
                    yield f"{name} cell {i}", MAGIC.sub(r"\g<indent>pass", cell.source)


def unnamed(code):
    """Calls that read or write text in an encoding that they do not name."""
    for call in ast.walk(ast.parse(code)):
        if not isinstance(call, ast.Call):
            continue
        name, owner = getattr(call.func, "id", ""), ""
        if isinstance(call.func, ast.Attribute):
            name, owner = call.func.attr, getattr(call.func.value, "id", "")
        given = {k.arg: k.value for k in call.keywords}
        modes = [*call.args, given.get("mode")] if name == "open" else []
        binary = any(isinstance(m, ast.Constant) and "b" in str(m.value) for m in modes)
        text = name in TEXT and owner not in OTHERS and not binary
        if text and "encoding" not in given:
            yield call.lineno, ast.unparse(call)


def test_every_text_file_access_names_its_encoding():
    found = [
        f"{name}:{line}  {call}"
        for name, code in sources()
        for line, call in unnamed(code)
    ]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("open('a')", 1),
        ("open('a', 'w')", 1),
        ("path.open('w')", 1),
        ("open('a', encoding='utf-8')", 0),
        ("open('a', 'rb')", 0),
        ("path.open(mode='wb')", 0),
        ("path.read_text()", 1),
        ("path.write_text('é')", 1),
        ("path.write_text('é', encoding='utf-8')", 0),
        ("path.read_bytes()", 0),
        ("Image.open(file)", 0),
    ],
)
def test_the_scan_sees_what_it_should(code, count):
    assert len(list(unnamed(code))) == count
