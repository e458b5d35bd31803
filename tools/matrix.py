"""The layer's tests with other versions of Python and PyTorch.

    python tools/matrix.py                    each pair below whose Python is here
    python tools/matrix.py 3.10/2.6.0 ...     these pairs
    python tools/matrix.py --add transformers 3.13/2.11.0

Each pair gets an environment of its own in a temporary folder: PyTorch, NumPy
and pytest, and what --add names. It is deleted afterwards. A test that needs
more, or an accelerator, is skipped in sight; where there is an accelerator
the same tests run on it too.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
# The oldest that is promised, the one that Colab has, and the newest ("" is that).
PAIRS = ["3.10/2.6.0", "3.12/2.11.0", "3.13/2.11.0", "3.11/", "3.13/"]


def find_python(version):
    """The command of a Python of this version, or None."""
    if found := shutil.which(f"python{version}"):
        done = subprocess.run([found, "-c", ""], capture_output=True)
        if done.returncode == 0:  # a shim may be there and have nothing behind it
            return found
    versions = pathlib.Path.home() / ".pyenv/versions"
    found = sorted(versions.glob(f"{version}.*/bin/python"))
    return str(found[-1]) if found else None


def run_pair(python, torch, add):
    """Make an environment, run the tests; return the line that sums them up."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        inside = place / ("Scripts" if os.name == "nt" else "bin") / "python"
        wanted = [f"torch=={torch}" if torch else "torch", "numpy", "pytest", *add]
        install = [inside, "-m", "pip", "install", "-q", *wanted]
        for command in ([python, "-m", "venv", place], install):
            if subprocess.run(command).returncode:
                return "could not be installed"
        tests = subprocess.Popen(
            [inside, "-m", "pytest", "-q", "-rfEs", "tests/layer"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        last = ""
        for line in tests.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
        code = tests.wait()
        return last if code == 0 else f"FAILED: {last}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", nargs="*", default=PAIRS, help="PYTHON/TORCH")
    parser.add_argument("--add", action="append", default=[], help="another package")
    options = parser.parse_args()
    results = {}
    for pair in options.pairs:
        if not re.fullmatch(r"3\.\d+/(\d[\w.]*)?", pair):
            sys.exit(f"matrix: {pair} is no pair such as {PAIRS[0]}")
        version, torch = pair.split("/")
        python = find_python(version)
        name = f"Python {version}, PyTorch {torch or 'newest'}"
        print(f"matrix: {name}", flush=True)
        results[name] = run_pair(python, torch, options.add) if python else "not here"
    print()
    for name, result in results.items():
        print(f"{name}: {result}")
    if any(not re.match(r"\d+ passed|not here", r) for r in results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
