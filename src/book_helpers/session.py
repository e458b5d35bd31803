"""One place that fixes what could differ between two runs of a chapter."""

import os
import textwrap

import matplotlib
import torch
from tqdm.auto import tqdm

from book_helpers.figures import STYLE


def setup(seed=0):
    """Fix the seed, the threads, the print format and the plot style.

    One thread, since on small tensors a second one mostly waits; the
    environment variable BOOK_THREADS overrides it, and no stored output
    depends on it.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(int(os.environ.get("BOOK_THREADS", "1")))
    torch.set_printoptions(precision=3, sci_mode=False, linewidth=72)
    matplotlib.rcParams.update(STYLE)


def progress(items, name):
    """Go through `items` with a bar, or without one under TQDM_DISABLE.

    tqdm itself heeds that variable in a terminal and not in a notebook.
    """
    disable = bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(items, desc=name, disable=disable)


def show_error(function, *args, **kwargs):
    """Call a function that must fail; print its error, wrapped, and return it."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        print(textwrap.fill(f"{type(error).__name__}: {error}", 72))
        return error
    raise AssertionError("no error was raised, and one was expected")
