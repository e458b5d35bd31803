"""The package stays small, whole, and of one version."""

import ast
import re
import tokenize
from io import StringIO

import pytest
import sync
from chapter import ROOT

import embedding_layer

# Code lines without docstrings, comments and blanks. It grows with a reason.
BUDGET = {"the layer": 380, "contract.py": 450}
PACKAGE = ROOT / sync.PACKAGE


def code_lines(text):
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.update(range(value.lineno, value.end_lineno + 1))
    skipped = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines = set()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def test_the_line_budget(record_property, capsys):
    counts = {file.name: code_lines(file.read_text()) for file in PACKAGE.glob("*.py")}
    contract = counts.pop("contract.py")
    layer = sum(counts[name] for name in sync.modules())
    with capsys.disabled():
        print(
            f"\ncode lines: layer {layer} of {BUDGET['the layer']}, "
            f"contract {contract} of {BUDGET['contract.py']}"
        )
    assert layer <= BUDGET["the layer"]
    assert contract <= BUDGET["contract.py"]


def test_every_public_docstring_gives_shapes_errors_or_source():
    for name in embedding_layer.__all__:
        text = getattr(embedding_layer, name).__doc__
        assert re.search(r"^\s*(Shapes|Raises|Source|Args):?", text, re.M), name


@pytest.mark.parametrize("module", sorted(sync.modules()))
def test_a_module_imports_torch_and_itself_alone(module):
    tree = ast.parse((PACKAGE / module).read_text())
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [node.module]
        for name in names:
            root = name.split(".")[0]
            assert root in {
                "torch",
                "embedding_layer",
                "math",
                "numbers",
                "operator",
            }, name


def test_one_version():
    version = embedding_layer.__version__
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
