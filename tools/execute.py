"""Run chapters and store what they print, so that a second run changes nothing.

python tools/execute.py [notebook ...]     all chapters if none is named
"""

import os
import re
import sys
import time
from pathlib import Path

import nbformat
from chapter import (
    IGNORED,
    KEPT,
    KEPT_IN_A_CELL,
    KERNEL,
    LANGUAGE,
    BookError,
    chapters,
    read,
    tags,
    write,
)
from nbclient import NotebookClient
from nbclient.exceptions import (
    CellExecutionError,
    CellTimeoutError,
    DeadKernelError,
)


def execute(notebook, folder):
    """Run all cells in a fresh kernel; the outputs go into `notebook`."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata.kernelspec = KERNEL
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    # A progress bar is for who waits, not for the page.
    client.execute(env={**os.environ, "TQDM_DISABLE": "1"})


def normalise(notebook):
    """Drop what differs from run to run and from machine to machine."""
    kept = {k: notebook.metadata[k] for k in KEPT if k in notebook.metadata}
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": LANGUAGE, **kept}
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number:03d}"
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in cell.metadata.items() if k in KEPT_IN_A_CELL}
        )
    text = nbformat.writes(notebook)
    # Widget ids are random: number them in the order of creation.
    states = notebook.metadata.get("widgets", {}).values()
    ids = [key for models in states for key in models["state"]]
    numbers = {key: f"{place:032x}" for place, key in enumerate(ids, 1)}
    text = re.sub(
        r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])",
        lambda match: numbers.get(match[0], match[0]),
        text,
    )
    # Once more, since nbformat has sorted the random ids.
    return nbformat.writes(nbformat.reads(text, as_version=4)) + "\n"


def stderr_of(notebook):
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                return f"cell {number} wrote to stderr: {output.text.strip()}"
    return None


def keep_ignored(notebook, before):
    """Leave the outputs that nbval does not compare as they were.

    They hold times: a new run would change them each time. To measure anew,
    clear the cell's output first.
    """
    pairs = zip(notebook.cells, before.cells, strict=True)
    for cell, old in pairs:
        if IGNORED in tags(cell) and cell.source == old.source and old.outputs:
            cell.outputs = old.outputs


def run(path):
    """Execute one chapter and store it whole, or leave it as it was."""
    notebook, before = read(path), read(path)
    try:
        execute(notebook, path.parent)
    except CellExecutionError as error:
        reason = f"{error.ename}: {error.evalue}"
        raise BookError(f"{path.name}: {reason}\n{error}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise BookError(f"{path.name}: {str(error).splitlines()[0]}") from None
    told = stderr_of(notebook)
    if told:
        raise BookError(f"{path.name}: {told}")
    keep_ignored(notebook, before)
    write(path, normalise(notebook))


def main():
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for path in named or [chapter.path for chapter in chapters()]:
        began = time.perf_counter()
        try:
            run(path)
        except BookError as error:
            sys.exit(f"execute: {error}")
        print(f"{path.name}: {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
