"""Bad input: one clear line, an exit code that is not 0, nothing half done."""

import os
import shutil
import socket
import subprocess
import sys

import execute
import nbformat
import pytest
from chapter import ROOT, BookError, read


def run(*command, cwd=ROOT, **env):
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def copy(tmp_path):
    """The book's sources, to be damaged."""
    for name in ("tools", "notebooks", "src", "book"):
        shutil.copytree(
            ROOT / name,
            tmp_path / name,
            ignore=shutil.ignore_patterns("vendor", "__pycache__"),
        )
    for name in (
        "_config.yml",
        "_toc.yml",
        "requirements.txt",
        "constraints.txt",
        "pyproject.toml",
        "Makefile",
    ):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def one_line(done, *words):
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    for word in words:
        assert word in last


def test_sync_on_a_notebook_that_is_not_json(copy):
    (copy / "notebooks/01_token_ids.ipynb").write_text("{ half a notebook")
    before = (copy / "src/embedding_layer/token_ids.py").read_bytes()
    done = run(sys.executable, "tools/sync.py", cwd=copy)
    one_line(done, "01_token_ids.ipynb", "not a notebook")
    assert (copy / "src/embedding_layer/token_ids.py").read_bytes() == before


def test_execute_on_a_notebook_that_is_not_there():
    done = run(sys.executable, "tools/execute.py", "notebooks/none.ipynb")
    one_line(done, "none.ipynb")


def test_execute_leaves_a_failing_chapter_as_it_was(tmp_path):
    path = tmp_path / "fails.ipynb"
    cells = [nbformat.v4.new_code_cell("print(1)\n1 / 0")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    before = path.read_bytes()
    with pytest.raises(BookError, match="fails.ipynb: ZeroDivisionError"):
        execute.run(path)
    assert path.read_bytes() == before


def test_execute_refuses_stderr(tmp_path):
    path = tmp_path / "warns.ipynb"
    cells = [nbformat.v4.new_code_cell("import warnings\nwarnings.warn('old')")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    with pytest.raises(BookError, match="cell 1 wrote to stderr"):
        execute.run(path)


def test_executing_twice_changes_nothing_with_a_widget(tmp_path):
    path = tmp_path / "widget.ipynb"
    source = (
        "from book_helpers import Slides, figure\n"
        "fig, ax = figure()\nax.plot([0, 1])\n"
        "Slides('n', [('a', fig, 'one'), ('b', fig, 'two')])"
    )
    cells = [nbformat.v4.new_code_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    execute.run(path)
    first = path.read_bytes()
    assert b"SelectionSliderModel" in first
    execute.run(path)
    assert path.read_bytes() == first
    assert set(read(path).cells[0].metadata) == set()


def test_executing_keeps_the_outputs_that_are_not_compared(tmp_path):
    path = tmp_path / "times.ipynb"
    sources = ["import time", "print(time.perf_counter_ns())"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[1].metadata["tags"] = ["nbval-ignore-output"]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    execute.run(path)
    first = path.read_bytes()
    execute.run(path)
    assert path.read_bytes() == first


def test_serve_on_a_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run(sys.executable, "tools/pages.py", "serve", port)
    one_line(done, f"port {port} is in use", "make serve PORT=")


def test_a_python_that_is_too_old_is_told_so():
    code = (
        "import sys; sys.version_info = (3, 9, 2); sys.path.insert(0, 'tools');"
        "import env; env.main()"
    )
    one_line(run(sys.executable, "-c", code), "needs Python 3.11", "this is 3.9")


def test_no_network_at_install_keeps_nothing(copy):
    done = run(
        sys.executable,
        "tools/env.py",
        cwd=copy,
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS="",
        PIP_CONFIG_FILE=os.devnull,
    )
    one_line(done, "could not be made", "network", "Nothing was kept")
    assert not (copy / ".venv").exists()


def test_a_moved_folder_gets_a_new_environment(copy):
    """Programs in .venv name the folder they were made in."""
    old = copy / ".venv/bin"
    old.mkdir(parents=True)
    (old / "python").write_text("#!/no/such/python")
    (copy / ".venv/made-from").write_text("0123 /another/folder")
    done = run(
        sys.executable,
        "tools/env.py",
        cwd=copy,
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS="",
        PIP_CONFIG_FILE=os.devnull,
    )
    assert "the folder has moved" in done.stdout
    assert not (copy / ".venv").exists(), "nothing half made is kept"


def test_the_layer_needs_torch_alone():
    """What `pip install .` asks for."""
    from importlib.metadata import requires

    assert requires("embedding-layer") == ["torch>=2.6"]


def test_importing_the_layer_imports_nothing_of_the_book():
    code = (
        "import sys, embedding_layer;"
        "print(sorted({m.split('.')[0] for m in sys.modules} &"
        " {'book_helpers', 'matplotlib', 'ipywidgets', 'tiktoken'}))"
    )
    assert run(sys.executable, "-c", code).stdout.strip() == "[]"
