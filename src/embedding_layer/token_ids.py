# Made from notebooks/01_token_ids.ipynb by `make sync`.
# Edit the notebook, not this file.

import torch

ID_DTYPES = (torch.int64, torch.int32)


def check_token_ids(input_ids):
    """Check that `input_ids` can be a batch of token ids.

    Looks at type and shape only, never at the values, so it costs nothing
    on a GPU and works while a graph is traced.

    Shapes:
        input_ids: (batch, seq_len), int64 or int32

    Raises:
        TypeError: not a tensor, or another dtype
        ValueError: another number of dimensions
    """
    if not isinstance(input_ids, torch.Tensor):
        raise TypeError(
            f"token ids must be a torch.Tensor, got {type(input_ids).__name__}; "
            "wrap them: torch.tensor([[1, 2, 3]])"
        )
    if input_ids.dtype not in ID_DTYPES:
        raise TypeError(
            f"token ids must be int64 or int32, got {input_ids.dtype}; an id "
            "is the name of a token, not an amount. If the values are ids, "
            "convert them with .long()"
        )
    if input_ids.dim() != 2:
        raise ValueError(
            f"token ids must have shape (batch, seq_len), got "
            f"{tuple(input_ids.shape)}; one sequence needs a batch axis: "
            "ids.unsqueeze(0), and the last token of a batch is ids[:, -1:]"
        )


def check_id_range(ids, num_rows, name="token id"):
    """Check that every id names a row of a table. Reads the values.

    Shapes:
        ids: any shape, integer
        num_rows: int, how many rows the table has

    Args:
        name: what the message calls an id

    Raises:
        IndexError: names the first id outside 0..num_rows-1 and its place
    """
    outside = (ids < 0) | (ids >= num_rows)  # same shape as ids
    if not outside.any():
        return
    place = outside.nonzero()[0]  # (ids.dim(),)
    bad = ids[tuple(place)].item()
    message = (
        f"{name} {bad} at {tuple(place.tolist())} is outside the table: "
        f"valid are 0..{num_rows - 1} ({num_rows} rows)"
    )
    if name == "token id":
        message += (
            ". Usual causes: tokens were added to the tokenizer and the table "
            "did not grow (compare len(tokenizer) with vocab_size), or -100 "
            "label markers were fed as ids"
        )
    raise IndexError(message)
