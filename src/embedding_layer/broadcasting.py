# Made from notebooks/04_broadcasting.ipynb by `make sync`.
# Edit the notebook, not this file.

import torch


def add_positions(token_rows, position_rows):
    """Add position rows to every sequence of a batch, by broadcasting.

    Shapes:
        token_rows: (batch, seq_len, d_model)
        position_rows: (seq_len, d_model), (1, seq_len, d_model) or
            (batch, seq_len, d_model)
        result: (batch, seq_len, d_model)

    Raises:
        ValueError: shapes that would broadcast to something else, or not at all

    Source: Vaswani et al. 2017, section 3.5: the two "can be summed".
    """
    batch, seq_len, d_model = token_rows.shape
    fitting = ((seq_len, d_model), (1, seq_len, d_model), (batch, seq_len, d_model))
    if position_rows.shape not in fitting:
        raise ValueError(
            f"position rows of shape {tuple(position_rows.shape)} do not fit "
            f"token rows of shape {tuple(token_rows.shape)}; they must be "
            "(seq_len, d_model), (1, seq_len, d_model) or (batch, seq_len, d_model)"
        )
    return token_rows + position_rows  # (batch, seq_len, d_model)


def check_rows_alone(layer, input_ids, tolerance=1e-5):
    """Check that a sequence alone gives what it gives inside a batch.

    Works on any layer or function without dropout (call layer.eval() first).

    Shapes:
        input_ids: (batch, seq_len), at least 2 sequences

    Args:
        layer: called with input_ids, gives (batch, seq_len, d_model)
        tolerance: differences up to this share of the largest output pass

    Raises:
        AssertionError: names the first sequence that comes out differently
        ValueError: fewer than 2 sequences, or empty ones
    """
    batch, seq_len = input_ids.shape
    if batch < 2 or seq_len < 1:
        raise ValueError(f"give at least 2 sequences, got shape {(batch, seq_len)}")
    with torch.no_grad():
        together = layer(input_ids)  # (batch, seq_len, d_model)
        limit = tolerance * together.abs().max()
        for row in range(batch):
            inside = together[row : row + 1]  # (1, seq_len, d_model)
            alone = layer(input_ids[row : row + 1])  # (1, seq_len, d_model)
            if alone.shape != inside.shape or not (
                (alone - inside).abs().max() <= limit
            ):
                raise AssertionError(
                    f"sequence {row} alone gives something else than in this batch "
                    f"of {batch}: is the batch axis taken for the sequence axis, "
                    "or dropout on?"
                )


def check_places_differ(layer, input_ids, tolerance=1e-5):
    """Check that one token gives different results at different places.

    Repeats the first token of each sequence over its whole length. Works on
    any layer or function without dropout (call layer.eval() first).

    Shapes:
        input_ids: (batch, seq_len), at least 1 sequence of 2 tokens

    Args:
        layer: called with input_ids, gives (batch, seq_len, d_model)
        tolerance: differences up to this share of the largest output count
            as none

    Raises:
        AssertionError: names the first two places that come out the same
        ValueError: no sequence, or fewer than 2 tokens
    """
    batch, seq_len = input_ids.shape
    if batch < 1 or seq_len < 2:
        raise ValueError(f"give sequences of 2 tokens or more, got {(batch, seq_len)}")
    with torch.no_grad():
        output = layer(input_ids[:, :1].repeat(1, seq_len))
        # output: (batch, seq_len, d_model)
        limit = tolerance * output.abs().max()
        gaps = output.unsqueeze(2) - output.unsqueeze(1)
        # gaps: (batch, seq_len, seq_len, d_model)
        same = (gaps.abs().amax(dim=-1) <= limit).triu(diagonal=1)
        # same: (batch, seq_len, seq_len), each pair of places once
    if same.any():
        row, first, second = same.nonzero()[0].tolist()
        raise AssertionError(
            f"in sequence {row} places {first} and {second} give the same for "
            "equal tokens: no position tells them apart"
        )
