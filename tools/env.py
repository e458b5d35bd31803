"""Make `.venv` from requirements.txt, or say in one line what is missing.

Runs under any Python 3, since it is what tells a reader that theirs is old.
"""

import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
STAMP = os.path.join(VENV, "made-from")
SOURCES = ("requirements.txt", "constraints.txt", "pyproject.toml")
OLDEST = (3, 11)


def state():
    """A hash of what the environment is made from, and the folder it names."""
    digest = hashlib.sha256(sys.version.encode())
    for name in SOURCES:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest() + " " + ROOT


def recorded():
    try:
        with open(STAMP) as file:
            return file.read()
    except OSError:
        return None


def step(message, *command):
    print("env: " + message, flush=True)
    return subprocess.call(command, cwd=ROOT) == 0


def main():
    if sys.version_info < OLDEST:
        sys.exit(
            "env: the book needs Python %d.%d or newer, this is %d.%d; name "
            "another one: make PYTHON=python3.11 book" % (OLDEST + sys.version_info[:2])
        )
    made = recorded()
    if made == state():
        return
    if made and not made.endswith(" " + ROOT):
        print("env: the folder has moved, and .venv with it; making it anew")
        shutil.rmtree(VENV)
    python = os.path.join(BIN, "python")
    fresh = not os.path.exists(python)
    try:
        done = (
            (not fresh or step("making .venv", sys.executable, "-m", "venv", VENV))
            and step(
                "installing requirements.txt (some minutes the first time)",
                python,
                "-m",
                "pip",
                "install",
                "--disable-pip-version-check",
                "--quiet",
                "--progress-bar",
                "on",
                "-r",
                "requirements.txt",
            )
            and step(
                "installing this package",
                python,
                "-m",
                "pip",
                "install",
                "--disable-pip-version-check",
                "--quiet",
                "--no-deps",
                "-e",
                ".",
            )
        )
    except KeyboardInterrupt:
        done = False
    if not done:
        if fresh:
            shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(
            "env: the environment could not be made (the lines above say "
            "why; is there a network?)" + (" Nothing was kept." if fresh else "")
        )
    with open(STAMP, "w") as file:
        file.write(state())
    print("env: ready")


if __name__ == "__main__":
    main()
