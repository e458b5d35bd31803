# Made from notebooks/04_broadcasting.ipynb by `make sync`.
# Edit the notebook, not this file.

from collections.abc import Callable

import torch
from torch import Tensor


def add_positions(token_rows: Tensor, position_rows: Tensor) -> Tensor:
    """Add position rows to every sequence of a batch, by broadcasting.

    Shapes:
        token_rows: (batch, seq_len, d_model)
        position_rows: (seq_len, d_model), (1, seq_len, d_model) or
            (batch, seq_len, d_model)
        result: (batch, seq_len, d_model)

    Raises:
        ValueError: token rows that are not 3-D; position rows of any other
            shape, also of one that would broadcast to the right one

    Source: Vaswani et al. 2017, section 3.5: the two "can be summed".
    """
    if token_rows.dim() != 3:
        raise ValueError(
            "token rows must have shape (batch, seq_len, d_model), got "
            f"{tuple(token_rows.shape)}"
        )
    batch, seq_len, d_model = token_rows.shape
    fitting = ((seq_len, d_model), (1, seq_len, d_model), (batch, seq_len, d_model))
    if position_rows.shape not in fitting:
        raise ValueError(
            f"position rows of shape {tuple(position_rows.shape)} do not fit "
            f"token rows of shape {tuple(token_rows.shape)}; they must be "
            "(seq_len, d_model), (1, seq_len, d_model) or (batch, seq_len, d_model)"
        )
    return token_rows + position_rows  # (batch, seq_len, d_model)


def check_finite(output: Tensor) -> None:
    """Raise AssertionError at the first position that gives NaN or infinity.

    Shapes:
        output: (batch, seq_len, d_model)
    """
    broken = ~output.isfinite().all(dim=-1)  # (batch, seq_len)
    if broken.any():
        i, position = broken.nonzero()[0].tolist()
        raise AssertionError(
            f"in sequence {i} position {position} gives NaN or infinity"
        )


def check_sequences_alone(
    layer: Callable[[Tensor], Tensor], input_ids: Tensor, tolerance: float = 1e-5
) -> None:
    """Check that a sequence alone gives what it gives inside a batch.

    Works on any layer or function without dropout (call layer.eval() first).

    Shapes:
        input_ids: (batch, seq_len), at least 2 sequences

    Args:
        layer: called with input_ids, gives (batch, seq_len, d_model)
        tolerance: differences up to this share of the largest output pass

    Raises:
        AssertionError: names the first sequence that comes out differently,
            or the first position whose result holds NaN or infinity
        ValueError: fewer than 2 sequences, or empty ones
    """
    batch, seq_len = input_ids.shape
    if batch < 2 or seq_len < 1:
        raise ValueError(f"give at least 2 sequences, got shape {(batch, seq_len)}")
    with torch.no_grad():
        together = layer(input_ids)  # (batch, seq_len, d_model)
        check_finite(together)
        limit = tolerance * together.abs().max()
        for i in range(batch):
            inside = together[i : i + 1]  # (1, seq_len, d_model)
            alone = layer(input_ids[i : i + 1])  # (1, seq_len, d_model)
            if alone.shape != inside.shape or not (
                (alone - inside).abs().max() <= limit
            ):
                raise AssertionError(
                    f"sequence {i} alone gives something else than in this batch "
                    f"of {batch}: is the batch axis taken for the sequence axis, "
                    "or dropout on?"
                )


def check_positions_differ(
    layer: Callable[[Tensor], Tensor], input_ids: Tensor, tolerance: float = 1e-5
) -> None:
    """Check that one token gives different results at different positions.

    Repeats the first token of each sequence over its whole length. Works on
    any layer or function without dropout (call layer.eval() first).

    Shapes:
        input_ids: (batch, seq_len), at least 1 sequence of 2 tokens

    Args:
        layer: called with input_ids, gives (batch, seq_len, d_model)
        tolerance: differences up to this share of the largest output count
            as none

    Raises:
        AssertionError: names the first two positions that come out the same,
            or the first whose result holds NaN or infinity
        ValueError: no sequence, or fewer than 2 tokens
    """
    batch, seq_len = input_ids.shape
    if batch < 1 or seq_len < 2:
        raise ValueError(f"give sequences of 2 tokens or more, got {(batch, seq_len)}")
    with torch.no_grad():
        output = layer(input_ids[:, :1].repeat(1, seq_len))
        # output: (batch, seq_len, d_model)
        check_finite(output)
        limit = tolerance * output.abs().max()
        # One position at a time: all pairs at once would need seq_len times
        # the memory of the output.
        for first in range(seq_len - 1):
            gaps = output[:, first + 1 :] - output[:, first : first + 1]
            # gaps: (batch, seq_len - 1 - first, d_model)
            same = gaps.abs().amax(dim=-1) <= limit  # (batch, seq_len - 1 - first)
            if same.any():
                i, later = same.nonzero()[0].tolist()
                raise AssertionError(
                    f"in sequence {i} positions {first} and {first + 1 + later} "
                    "give the same for equal tokens: no position tells them apart"
                )
