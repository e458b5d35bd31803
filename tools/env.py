"""Make `.venv` from requirements.txt, or say in one line what is missing.

Written so that any Python can read it, since it is what tells a reader that
theirs is too old.
"""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "made-from")
LOG = os.path.join("_build", "env.log")
SOURCES = ("requirements.txt", "constraints.txt", "pyproject.toml")
PYTHONS = ((3, 11), (3, 12), (3, 13))
# PyTorch's own index: a folder for each build. The ordinary one is "pypi".
TORCH_INDEX = "https://download.pytorch.org/whl/"
DRIVER = ("/proc/driver/nvidia", "/dev/nvidia0", "/usr/lib/wsl/lib/libcuda.so.1")
UNFINISHED = "unfinished"


class Failed(Exception):
    """Its text is the line that the reader sees."""


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def check_python():
    this = "{}.{}.{}".format(*sys.version_info)
    if sys.version_info[:2] not in PYTHONS:
        raise Failed(
            "the book needs Python 3.11, 3.12 or 3.13, this is "
            + this
            + "; name another one: make PYTHON=python3.12 book"
        )
    from importlib.util import find_spec

    # Debian keeps ensurepip in a package of its own.
    if not (find_spec("venv") and find_spec("ensurepip")):
        raise Failed(
            "Python " + this + " is here without its venv; on Debian and Ubuntu: "
            "sudo apt install python3-venv"
        )


def digest():
    """A hash of what the environment is made from."""
    found = hashlib.sha256(sys.version.encode())
    for name in SOURCES:
        with open(os.path.join(ROOT, name), "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def recorded():
    """The hash, the build of PyTorch and the folder that `.venv` was made for."""
    try:
        with open(STAMP, encoding="utf-8") as file:
            return (file.read().split(" ", 2) + ["", ""])[:3]
    except OSError:
        return ["", "", ""]


def record(*parts):
    with open(STAMP, "w", encoding="utf-8") as file:
        file.write(" ".join(parts))


def torch_build():
    """The folder of PyTorch's index that suits this machine, or "pypi"."""
    if not sys.platform.startswith("linux"):
        return "pypi"
    driver = shutil.which("nvidia-smi") or any(map(os.path.exists, DRIVER))
    return "pypi" if driver else "cpu"


def chatter(*command):
    """Run the command; whether it failed, and what it said, which the log keeps."""
    with open(os.path.join(ROOT, LOG), "a+", errors="replace", encoding="utf-8") as log:
        log.write("\n$ {}\n".format(" ".join(command)))
        log.flush()
        start = log.tell()
        failed = subprocess.call(command, cwd=ROOT, stdout=log, stderr=log)
        log.seek(start)
        return failed, log.read()


@contextlib.contextmanager
def progress(message):
    """One line for the work inside, with its seconds."""
    say(message + " ... ")
    start, end = time.time(), ""
    try:
        yield
    except BaseException as error:
        stopped = isinstance(error, KeyboardInterrupt)
        end = "stopped after " if stopped else "failed after "
        raise
    finally:
        say(end + str(round(time.time() - start)) + " s\n")


def step(message, *command):
    with progress("env: " + message):
        failed, text = chatter(*command)
        if failed:
            raise Failed(why(text))


def pip(*words):
    # Python compiles what it imports when it does so; most is never imported.
    options = ("--no-input", "--disable-pip-version-check", "--progress-bar", "off")
    return (PYTHON, "-m", "pip", "install", "--no-compile") + options + words


def why(text):
    """The line that says why, out of pip's many."""
    # What makes .venv hides what its own helpers said.
    full = shutil.disk_usage(ROOT).free < 2**24
    if full or re.search("No space left on device|Disk quota exceeded", text):
        return "the disk is full"
    clash = re.search(r"The conflict is caused by:\n((?: +\S.*\n)+)", text)
    if clash:
        lines = [line.strip() for line in clash.group(1).splitlines()]
        # A pin that clashes with all may just not be there for this Python.
        for pin in re.findall(r"\(constraint\) (\S+==\S+)", clash.group(1)):
            failed, more = chatter(*pip("--dry-run", "--no-deps", pin))
            if failed:
                lines.append(why(more))
        return "; ".join(lines)
    pin = re.search(r"requirement (\S+)==(\S+).* \(from versions: (?!none)", text)
    if pin:
        name, version = pin.groups()
        needs = re.search(
            r"[ ;]" + re.escape(version) + r" Requires-Python ([^;\n]+)", text
        )
        found = "needs Python " + needs.group(1) if needs else "is not to be had here"
        return name + "==" + version + " " + found
    none = re.search(r"requirement (\S+) .*\(from versions: none\)", text)
    if none:
        if "ProxyError" in text:
            return "the proxy refuses (HTTPS_PROXY or pip's settings name it)"
        return "the index does not give " + none.group(1) + " (is there a network?)"
    told = re.findall(r"^(?:ERROR|error|Error|\w+Error): (.*)", text, re.M)
    return told[-1] if told else "the environment could not be made"


def install(build, asked):
    pinned = open(os.path.join(ROOT, "requirements.txt"), encoding="utf-8").read()
    torch = re.search(r"^torch==(\S+)", pinned, re.M)
    if build != "pypi" and torch:
        wanted = "torch==" + torch.group(1) + "+" + build
        quick = ("--timeout", "5", "--retries", "1", "--no-deps")
        index = ("--index-url", TORCH_INDEX + build)
        try:
            step("installing " + wanted, *pip(*quick + index + (wanted,)))
        except Failed:
            if asked:
                raise
            say("env: not to be had there; the usual build instead, some gigabytes\n")
            build = "pypi"
    step("installing the packages, minutes at first", *pip("-r", "requirements.txt"))
    own = ("--no-deps", "--no-build-isolation", "-e", ".")
    step("installing the book's own package", *pip(*own))
    return build


def make():
    check_python()
    asked = os.environ.get("TORCH")
    made, build, root = recorded()
    if (made, root) == (digest(), ROOT) and asked in (None, "", build):
        return
    os.makedirs(os.path.join(ROOT, "_build"), exist_ok=True)
    open(os.path.join(ROOT, LOG), "w", encoding="utf-8").close()
    if made and (root != ROOT or asked not in (None, "", build)):
        cause = (
            "the last installation was cut short"
            if made == UNFINISHED
            else "the folder has moved"
            if root != ROOT
            else "another PyTorch is asked for"
        )
        say("env: " + cause + "; making .venv anew\n")
        shutil.rmtree(VENV)
        build = ""
    fresh = not os.path.exists(PYTHON)
    build = asked or build or torch_build()
    machine = (platform.python_version(), sys.platform, platform.machine(), build)
    say("env: Python {}, {} {}; PyTorch: {}\n".format(*machine))
    try:
        if fresh:
            shutil.rmtree(VENV, ignore_errors=True)
            os.mkdir(VENV)
            record(UNFINISHED)
            step("making .venv", sys.executable, "-m", "venv", VENV)
        build = install(build, asked)
        record(digest(), build, ROOT)
    except BaseException:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if fresh:
            shutil.rmtree(VENV, ignore_errors=True)
        raise
    say("env: ready\n")


def main():
    # However it is told to stop, it leaves nothing half done.
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.default_int_handler)
    try:
        make()
    except KeyboardInterrupt:
        sys.exit("env: stopped; the next call begins where this one began")
    except Failed as error:
        reason = str(error)
    except OSError as error:
        reason = "the disk is full" if error.errno == 28 else str(error)
    else:
        return
    kept = " Nothing was kept." if not os.path.exists(VENV) else ""
    log = os.path.join(ROOT, LOG)
    kept += " All of it: " + LOG if os.path.exists(log) else ""
    sys.exit("env: " + reason + "." + kept)


if __name__ == "__main__":
    main()
