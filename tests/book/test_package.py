"""The package stays small, whole, and of one version."""

import ast
import re
import sys

import pytest
import sync
from chapter import ROOT

import embedding_layer

# Statements, docstrings not counted: what neither a long signature nor the
# formatter changes. A tenth of room; beyond it, growth needs a reason.
BUDGET = {"the layer": 415, "contract.py": 570}
PACKAGE = ROOT / sync.PACKAGE


def statements(text):
    """How many statements a module has, its docstrings left out."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.stmt)]
    return len([n for n in nodes if not is_text(n)])


def is_text(node):
    value = getattr(node, "value", None)
    return isinstance(node, ast.Expr) and isinstance(value, ast.Constant)


def test_the_package_stays_small(capsys):
    counts = {
        file.name: statements(file.read_text(encoding="utf-8"))
        for file in PACKAGE.glob("*.py")
    }
    contract = counts.pop("contract.py")
    layer = sum(n for name, n in counts.items() if not name.startswith("__"))
    with capsys.disabled():
        print(
            f"\nstatements: layer {layer} of {BUDGET['the layer']}, "
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
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [node.module]
        for name in names:
            ours = {"torch", "embedding_layer"}
            assert name.split(".")[0] in ours | sys.stdlib_module_names, name


def test_one_version():
    version = embedding_layer.__version__
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
