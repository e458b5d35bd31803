"""Bad input to the installation: one clear line, nothing half made, go on next."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import zipfile

import env
import pytest
from chapter import ROOT

# A call of the tool that asks nobody outside, whatever the machine's settings.
ALONE = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_FIND_LINKS": "",
    "PIP_RETRIES": "0",
    "TORCH": "pypi",
}


def wheel(folder, name, version, needs=""):
    """A package that holds nothing, listed as an index lists it."""
    file = f"{name}-{version}-py3-none-any.whl"
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(place / file, "w") as made:
        made.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}\n",
        )
        made.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        made.writestr(f"{info}/RECORD", "")
    python = re.search("Requires-Python: (.*)", needs)
    asks = f' data-requires-python="{python[1]}"' if python else ""
    with open(place / "index.html", "a", encoding="utf-8") as page:
        page.write(f'<a href="{file}"{asks.replace(">", "&gt;")}>{file}</a>\n')


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder


@pytest.fixture
def book(tmp_path, made):
    """A book of one package, to be installed from an index on the disk."""
    fast = tmp_path / "venv"
    fast.write_text(f'#!/bin/sh\nexec cp -Rp "{made}/." "$3"\n', encoding="utf-8")
    fast.chmod(0o755)
    book = tmp_path / "book"
    (book / "tools").mkdir(parents=True)
    shutil.copy(env.__file__, book / "tools")
    (book / "requirements.txt").write_text(
        "-c constraints.txt\ntiny==2.0\n", encoding="utf-8"
    )
    (book / "constraints.txt").write_text("", encoding="utf-8")
    (book / "pyproject.toml").write_text("", encoding="utf-8")
    return book


def command(before="pass"):
    """The tool, with an environment at hand: making one takes seconds."""
    code = (
        "import sys; sys.path.insert(0, 'tools'); import env;"
        f"sys.executable = '../venv'; {before}; env.main()"
    )
    return [sys.executable, "-c", code]


def install(book, index=None, before="pass", **more):
    index = index or book.parent / "index"
    index.mkdir(exist_ok=True)
    settings = {**ALONE, "PIP_INDEX_URL": index.as_uri(), **more}
    return subprocess.run(
        command(before),
        cwd=book,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=120,
    )


def one_line(done, *words):
    assert done.returncode != 0
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def nothing_kept(book):
    assert not (book / ".venv").exists()
    assert (book / env.LOG).stat().st_size


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13), (3, 14, 0)])
def test_another_python_is_told_so(book, version):
    done = install(book, before=f"sys.version_info = {version}")
    this = ".".join(map(str, version))
    one_line(done, "needs Python 3.11, 3.12 or 3.13", f"this is {this}", "PYTHON=")
    assert not (book / ".venv").exists()


def test_a_python_without_venv_is_told_what_to_install(book):
    done = install(book, before="sys.modules['ensurepip'] = None")
    one_line(done, "without its venv", "apt install python3-venv")
    assert not (book / ".venv").exists()


def test_a_pin_that_vanished(book):
    wheel(book.parent / "index", "tiny", "1.0")
    done = install(book)
    one_line(done, "tiny==2.0 is not to be had", "Nothing was kept", env.LOG)
    assert re.search(r"env: making .venv \.\.\. \d+ s\n", done.stdout)
    assert "minutes at first ... failed after " in done.stdout
    nothing_kept(book)


def test_a_pin_for_a_newer_python(book):
    wheel(book.parent / "index", "tiny", "1.0")
    wheel(book.parent / "index", "tiny", "2.0", "Requires-Python: >=3.99")
    one_line(install(book), "tiny==2.0 needs Python >=3.99", env.LOG)
    nothing_kept(book)


def test_a_pin_that_clashes_is_shown_with_its_cause(book):
    """Debian 12 met soupsieve 4.1.3 so: pip spoke of a conflict alone."""
    index = book.parent / "index"
    wheel(index, "tiny", "2.0", "Requires-Dist: soup>=1")
    wheel(index, "soup", "1.0")
    wheel(index, "soup", "4.1.3", "Requires-Python: >=3.99")
    (book / "constraints.txt").write_text("soup==4.1.3\n", encoding="utf-8")
    one_line(install(book), "tiny 2.0 depends on soup>=1", "soup==4.1.3 needs Python")
    nothing_kept(book)


def test_no_network(book):
    one_line(install(book), "is there a network?", "Nothing was kept", env.LOG)
    nothing_kept(book)


@pytest.fixture
def listener():
    """A port that answers each call with `answer`, or never."""

    def listen(answer=b""):
        def serve():
            while True:
                try:
                    call, _ = server.accept()
                except OSError:
                    return
                calls.append(call)
                if answer:
                    call.recv(1000)
                    call.sendall(answer)
                    call.close()

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{server.getsockname()[1]}"

    calls = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield listen, calls
    for call in calls:
        call.close()


def test_a_proxy_that_refuses(book, listener):
    proxy = listener[0](b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    index = "https://index.invalid/simple"
    done = install(book, PIP_INDEX_URL=index, HTTPS_PROXY=proxy, PIP_RETRIES="1")
    one_line(done, "the proxy refuses", "Nothing was kept", env.LOG)
    nothing_kept(book)


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="mounting needs root"
)
def test_a_full_disk(book):
    full = book.parent / "full"
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=20m", "none", str(full)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        small = shutil.copytree(book, full / "book")
        slow = f"sys.executable = {sys.executable!r}"
        done = install(small, book.parent / "index", slow)
        one_line(done, "the disk is full")
        assert not (small / ".venv").exists()
    finally:
        subprocess.run(["umount", str(full)], check=True)


@pytest.fixture
def hanging(book, listener):
    """The installation, waiting for an index that never answers."""
    index, calls = listener[0](), listener[1]
    process = subprocess.Popen(
        command(),
        cwd=book,
        env={**os.environ, **ALONE, "PIP_INDEX_URL": index},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(600):
        if calls or process.poll() is not None:
            break
        threading.Event().wait(0.1)
    assert calls, "pip asked nobody"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_installation_leaves_nothing(book, hanging, how):
    os.killpg(hanging.pid, how)
    out, told = hanging.communicate(timeout=60)
    assert hanging.returncode != 0
    assert told.splitlines()[-1].startswith("env: stopped"), told
    assert "minutes at first ... stopped after " in out
    nothing_kept(book)


def test_after_a_killed_installation_the_next_one_goes_on(book, hanging):
    os.killpg(hanging.pid, signal.SIGKILL)
    hanging.communicate(timeout=60)
    assert (book / ".venv").exists(), "nobody could clean up"
    done = install(book)
    assert "cut short; making .venv anew" in done.stdout
    nothing_kept(book)


def test_a_moved_folder_gets_a_new_environment(book):
    """Programs in .venv name the folder they were made in."""
    old = book / ".venv/bin"
    old.mkdir(parents=True)
    (old / "python").write_text("#!/no/such/python", encoding="utf-8")
    (book / ".venv/made-from").write_text("0123 pypi /another/folder", encoding="utf-8")
    done = install(book)
    assert "the folder has moved; making .venv anew" in done.stdout
    nothing_kept(book)


def test_a_failed_update_keeps_what_works(book, made):
    made = shutil.copytree(made, book / ".venv", symlinks=True)
    before = f"0123 pypi {book}"
    (made / "made-from").write_text(before, encoding="utf-8")
    done = install(book)
    one_line(done, "is there a network?")
    assert "Nothing was kept" not in done.stderr
    assert (made / "made-from").read_text(encoding="utf-8") == before
    assert (made / "bin/python").exists()


# ---- which build of PyTorch ----


@pytest.mark.parametrize(
    "platform, driver, program, build",
    [
        ("linux", "none", None, "cpu"),
        ("linux", "", None, "pypi"),
        ("linux", "none", "nvidia-smi", "pypi"),
        ("darwin", "none", None, "pypi"),
    ],
)
def test_the_build_of_torch(monkeypatch, tmp_path, platform, driver, program, build):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(env, "DRIVER", (str(tmp_path / driver),))
    monkeypatch.setattr(shutil, "which", lambda name: program)
    assert env.torch_build() == build


@pytest.fixture
def torch(book, tmp_path):
    """PyTorch's own index with its small build, and the ordinary one."""
    (book / "requirements.txt").write_text(
        "-c constraints.txt\ntorch==2.0\n", encoding="utf-8"
    )
    wheel(tmp_path / "own/cpu", "torch", "2.0+cpu")
    wheel(tmp_path / "index", "torch", "2.0")
    return f"env.TORCH_INDEX = {(tmp_path / 'own').as_uri() + '/'!r}"


def test_the_small_build_comes_by_itself(book, torch):
    before = torch + "; env.torch_build = lambda: 'cpu'"
    done = install(book, before=before, TORCH="")
    assert "; PyTorch: cpu\n" in done.stdout
    assert re.search(r"installing torch==2.0\+cpu \.\.\. \d+ s\n", done.stdout)
    assert "torch-2.0+cpu" in (book / env.LOG).read_text(encoding="utf-8")


def test_where_the_small_build_is_not_to_be_had_the_usual_one_comes(book, torch):
    before = "env.TORCH_INDEX = 'file:///none/'; env.torch_build = lambda: 'cpu'"
    done = install(book, before=before, TORCH="")
    assert "the usual build instead, some gigabytes\n" in done.stdout
    assert "Successfully installed torch-2.0\n" in (book / env.LOG).read_text(
        encoding="utf-8"
    )


def test_the_usual_build_on_demand(book, torch):
    done = install(book, before=torch, TORCH="pypi")
    assert "; PyTorch: pypi\n" in done.stdout
    assert "+cpu" not in (book / env.LOG).read_text(encoding="utf-8")


def test_a_build_that_was_asked_for_is_not_replaced(book, torch):
    done = install(book, before=torch, TORCH="cu999")
    one_line(done, "torch==2.0+cu999", "Nothing was kept")
    assert "the usual build" not in done.stdout
    nothing_kept(book)


# ---- what README and workflow promise ----


def test_readme_and_workflow_promise_the_same_pythons():
    names = [f"{major}.{minor}" for major, minor in env.PYTHONS]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {names[0]} to {names[-1]}" in readme
    workflow = (ROOT / ".github/workflows/book.yml").read_text(encoding="utf-8")
    for name in names:
        assert f"python:{name}-slim" in workflow
