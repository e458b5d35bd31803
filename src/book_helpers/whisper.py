"""Two trained tables to look at, from a file of this package: no network."""

from importlib.resources import files
from typing import NamedTuple

import numpy as np
import torch

# Rows vary here ten times as much as in the usual coordinate: the file keeps
# it apart from the bytes.
WIDE = 192


class WhisperTables(NamedTuple):
    """What `load_whisper_tables` returns.

    token_ids: (rows,) int64, GPT-2's ids in rising order
    token_rows: (rows, 384) float32, row i belongs to token_ids[i]
    positions: (448, 384) float32, row i belongs to position i
    """

    token_ids: torch.Tensor
    token_rows: torch.Tensor
    positions: torch.Tensor


def dequantised(data):
    """The rows as float32, (rows, 384), from bytes, scales, mean and WIDE."""
    rows = data["token_rows"].astype(np.float32)  # (rows, 384)
    rows *= data["token_scale"][:, None]
    rows += data["token_mean"]
    rows[:, WIDE] = data["token_wide"]
    return rows


def load_whisper_tables():
    """Rows of the token table and the position table of Whisper tiny.en.

    Whisper turns speech into text. Its decoder starts like GPT-2: GPT-2's
    ids, a token table (51864, 384) that is also the output layer, a learned
    position table (448, 384), and their sum. It learned from transcripts, so
    some neighbours sound alike rather than mean alike.

    Here are 2560 of the token rows, rounded to one byte a coordinate: no
    cosine between two of them is off by more than 0.003. The position table
    is whole and exact.

    Returns: a `WhisperTables`.
    Source: Radford et al. 2022, Robust Speech Recognition via Large-Scale
    Weak Supervision; weights by OpenAI (MIT), see data/LICENSES.md.
    """
    path = files("book_helpers") / "data" / "whisper_tiny_en.npz"
    with path.open("rb") as file, np.load(file) as data:
        return WhisperTables(
            torch.from_numpy(data["token_ids"].astype(np.int64)),
            torch.from_numpy(dequantised(data)),
            torch.from_numpy(data["positions"].astype(np.float32)),
        )
