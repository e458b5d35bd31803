# Made from notebooks/01_token_ids.ipynb by `make sync`.
# Edit the notebook, not this file.

import torch
from torch import Tensor, fx

ID_DTYPES = (torch.int64, torch.int32)
EXACT_UP_TO = {torch.float16: 2048, torch.bfloat16: 256}
TOKEN_CAUSES = (
    "Usual causes: tokens were added to the tokenizer and the table did not "
    "grow (compare len(tokenizer) with vocab_size), or -100 label markers were "
    "fed as ids"
)


def check_token_ids(input_ids: Tensor) -> None:
    """Check that `input_ids` can be a batch of token ids.

    Looks at type and shape only, never at the values: it does not wait for a
    GPU, and it works while a graph is captured.

    Shapes:
        input_ids: (batch, seq_len), int64 or int32

    Raises:
        TypeError: not a tensor, or another dtype
        ValueError: another number of dimensions
    """
    if isinstance(input_ids, fx.Proxy):
        raise TypeError(
            "token ids must be a torch.Tensor, got Proxy: torch.fx.symbolic_trace "
            "cannot follow the checks of this layer; capture it with torch.export"
        )
    if not isinstance(input_ids, Tensor):
        raise TypeError(
            f"token ids must be a torch.Tensor, got {type(input_ids).__name__}; "
            "wrap them: torch.tensor([[1, 2, 3]])"
        )
    if input_ids.dtype not in ID_DTYPES:
        message = (
            f"token ids must be int64 or int32, got {input_ids.dtype}; an id "
            "is the name of a token, not an amount. If the values are ids, "
            "convert them with .long()"
        )
        if input_ids.dtype in EXACT_UP_TO:
            largest = EXACT_UP_TO[input_ids.dtype]
            message += f", but above {largest} this dtype may have rounded them"
        raise TypeError(message)
    if input_ids.dim() != 2:
        hints = {
            0: "one id alone is ids.view(1, 1)",
            1: "one sequence needs a batch axis, ids.unsqueeze(0), and the last "
            "token of a batch is ids[:, -1:]",
            3: "rows of a one-hot code become ids with .argmax(-1), and an axis "
            "of length 1 goes with .squeeze(-1)",
        }
        hint = hints.get(input_ids.dim(), "fold the other axes into the batch")
        shape = tuple(input_ids.shape)
        raise ValueError(
            f"token ids must have shape (batch, seq_len), got {shape}; {hint}"
        )


def check_id_range(
    ids: Tensor, num_rows: int, name: str = "token id", causes: str = ""
) -> None:
    """Check that every id names a row of a table. Reads the values.

    Shapes:
        ids: any shape, integer

    Args:
        num_rows: how many rows the table has
        name: what the message calls an id
        causes: the last sentence of the message

    Raises:
        IndexError: names the first id outside 0..num_rows-1 and its index
    """
    outside = (ids < 0) | (ids >= num_rows)  # same shape as ids
    if not outside.any():
        return
    index = tuple(outside.nonzero()[0].tolist())  # ids.dim() integers
    message = (
        f"{name} {ids[index].item()} at {index} is outside the table: "
        f"valid are 0..{num_rows - 1} ({num_rows} rows)"
    )
    raise IndexError(f"{message}. {causes}" if causes else message)
