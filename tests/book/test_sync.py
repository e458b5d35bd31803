"""The tie: the package is what the tagged cells say, and nothing else."""

import shutil

import nbformat
import pytest
import sync
from chapter import ROOT, BookError

CELL = "import math\n\nLIMIT = 3\n\n\ndef double(x):\n    return 2 * x"


@pytest.fixture
def book(tmp_path):
    """A book of one chapter, in line with its package."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / sync.PACKAGE).mkdir(parents=True)
    for name in ("_config.yml", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copy(ROOT / sync.PACKAGE / "__init__.py", tmp_path / sync.PACKAGE)
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nparts:\n"
        "  - chapters:\n      - file: notebooks/01_a\n",
        encoding="utf-8",
    )
    save(tmp_path, CELL)
    sync.run(tmp_path)
    return tmp_path


def save(root, *sources, tag="src:piece.py"):
    cells = [nbformat.v4.new_markdown_cell("# A")]
    for source in sources:
        cell = nbformat.v4.new_code_cell(source)
        cell.metadata["tags"] = [tag]
        cells.append(cell)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), root / "notebooks/01_a.ipynb")


def piece(root):
    return root / sync.PACKAGE / "piece.py"


def test_the_book_and_its_package_agree():
    assert sync.run(check=True) == []


def test_the_module_is_the_cell_verbatim_under_one_header(book):
    head, _, body = piece(book).read_text(encoding="utf-8").partition("\n\n")
    assert "notebooks/01_a.ipynb" in head
    assert body == CELL + "\n"
    assert sync.run(book, check=True) == []


def test_a_changed_module_is_named_with_notebook_cell_and_line(book):
    text = (
        piece(book).read_text(encoding="utf-8").replace("return 2 * x", "return 3 * x")
    )
    piece(book).write_text(text, encoding="utf-8")
    (told,) = sync.run(book, check=True)
    assert "01_a.ipynb cell 2 line 7" in told
    assert "piece.py line 10" in told
    assert "2 * x" in told and "3 * x" in told


def test_a_line_added_at_the_end_of_the_module_is_found(book):
    piece(book).write_text(
        piece(book).read_text(encoding="utf-8") + "extra = 1\n", encoding="utf-8"
    )
    (told,) = sync.run(book, check=True)
    assert "'extra = 1'" in told


def test_a_changed_cell_is_named_and_check_writes_nothing(book):
    before = piece(book).read_text(encoding="utf-8")
    save(book, CELL.replace("LIMIT = 3", "LIMIT = 4"))
    (told,) = sync.run(book, check=True)
    assert "01_a.ipynb cell 2 line 3" in told
    assert piece(book).read_text(encoding="utf-8") == before
    sync.run(book)
    assert "LIMIT = 4" in piece(book).read_text(encoding="utf-8")


def test_a_name_defined_twice_is_refused(book):
    save(book, CELL, "def double(x):\n    return x + x")
    with pytest.raises(BookError, match="cell 3, line 1.*`double`.*cell 2"):
        sync.run(book, check=True)


@pytest.mark.parametrize(
    "statement",
    [
        "print(double(2))",
        "for i in range(3):\n    pass",
        "double(2)",
        "if LIMIT:\n    pass",
        "LIMIT += 1",
        "del LIMIT",
    ],
)
def test_a_tagged_cell_that_does_more_than_define_is_refused(book, statement):
    before = piece(book).read_text(encoding="utf-8")
    save(book, CELL + "\n\n\n" + statement)
    with pytest.raises(BookError, match="cell 2, line 10: a tagged cell"):
        sync.run(book)
    assert piece(book).read_text(encoding="utf-8") == before


def test_a_tagged_cell_that_is_no_python_is_refused(book):
    save(book, "def broken(:\n    pass")
    with pytest.raises(BookError, match="01_a.ipynb cell 2, line 1"):
        sync.run(book)


@pytest.mark.parametrize("tag", ["src:", "src:piece", "src:../piece.py"])
def test_a_tag_without_a_target_is_refused(book, tag):
    save(book, CELL, tag=tag)
    with pytest.raises(BookError, match=r"cell 2: tag .* src:<file>.py"):
        sync.run(book)


def test_a_module_that_no_cell_makes_is_refused(book):
    (book / sync.PACKAGE / "stray.py").write_text("x = 1\n", encoding="utf-8")
    (told,) = sync.run(book, check=True)
    assert "stray.py" in told and "no cell is tagged" in told


def test_the_install_cell_follows_the_config(book):
    save(book, "old text", tag=sync.INSTALL)
    piece(book).unlink()
    (told,) = sync.run(book, check=True)
    assert "install cell" in told
    sync.run(book)
    saved = (book / "notebooks/01_a.ipynb").read_text(encoding="utf-8")
    assert "--no-deps git+https://" in saved
