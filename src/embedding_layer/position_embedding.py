# Made from notebooks/03_positional_embeddings.ipynb by `make sync`.
# Edit the notebook, not this file.

from typing import Any

import torch
from torch import Tensor

from embedding_layer.token_embedding import (
    INIT_STD,
    EmbeddingTable,
    check_factory,
    check_size,
)
from embedding_layer.token_ids import ID_DTYPES


class PositionEmbedding(EmbeddingTable):
    """A table with one learned row per position.

    Shapes:
        weight: (max_seq_len, d_model)
        input: position ids of any shape, int64 or int32, values
            0..max_seq_len-1
        result: the same shape + (d_model,)

    Args:
        max_seq_len: how many rows
        d_model: how many numbers in a row
        init_std: standard deviation of the start, in the rows' own unit
        device, dtype: of the table; a floating-point dtype

    Raises:
        ValueError: a size that is not a positive int, an init_std below 0 or
            not finite, an unknown device
        TypeError: another argument of the wrong kind
        IndexError: in a call, a position outside the table, on the CPU

    Source: Gehring et al. 2017; Radford et al. 2018 (GPT).
    """

    id_name = "position id"

    def __init__(
        self,
        max_seq_len: int,
        d_model: int,
        *,
        init_std: float = INIT_STD,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            check_size("max_seq_len", max_seq_len),
            d_model,
            init_std=init_std,
            device=device,
            dtype=dtype,
        )


def check_position_ids(position_ids: Tensor, input_ids: Tensor) -> None:
    """Check that `position_ids` can say where the tokens of `input_ids` stand.

    Shapes:
        input_ids: (batch, seq_len)
        position_ids: (batch, seq_len) or (1, seq_len), int64 or int32

    Raises:
        TypeError: not a tensor, or another dtype
        ValueError: another shape
    """
    if not isinstance(position_ids, Tensor):
        kind = type(position_ids).__name__
        raise TypeError(f"position ids must be a torch.Tensor, got {kind}")
    if position_ids.dtype not in ID_DTYPES:
        raise TypeError(
            f"position ids must be int64 or int32, got {position_ids.dtype}"
        )
    batch, seq_len = input_ids.shape
    if position_ids.shape not in ((batch, seq_len), (1, seq_len)):
        raise ValueError(
            f"position ids must have shape {(batch, seq_len)} or "
            f"{(1, seq_len)}, got {tuple(position_ids.shape)}"
        )


def positions_from_mask(mask: Tensor) -> Tensor:
    """Number the real tokens of each sequence 0, 1, 2, ...

    Padding before the first real token gets 0, padding after one the number
    of the last real token before it: attention has to mask both. Make the
    mask from the lengths: one made by comparing ids hides real tokens where
    padding is the end-of-text token.

    Shapes:
        mask: (batch, seq_len), true or non-zero where a real token stands
        result: (batch, seq_len), int64

    Raises:
        ValueError: another number of dimensions

    Source: generate() in Hugging Face's transformers, which gives all padding
    0 (version 4 gave 1).
    """
    if mask.dim() != 2:
        raise ValueError(
            f"mask must have shape (batch, seq_len), got {tuple(mask.shape)}"
        )
    seen = (mask != 0).cumsum(dim=1)  # (batch, seq_len)
    return (seen - 1).clamp(min=0)  # (batch, seq_len)


def sinusoidal_table(
    max_seq_len: int,
    d_model: int,
    *,
    device: Any = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Rows of sines and cosines: positions that need no training.

    Columns 2i and 2i+1 are sin and cos of position / 10000**(2i / d_model),
    computed in float32 or wider: at 1,024 rows of 64 columns of float32 off by
    less than 1e-4.

    Shapes:
        result: (max_seq_len, d_model)

    Args:
        max_seq_len: how many rows
        d_model: how many numbers in a row, an even number
        device, dtype: of the table; a floating-point dtype

    Raises:
        ValueError: a size that is not a positive int, an odd d_model, an
            unknown device
        TypeError: another dtype, a device of the wrong kind

    Source: Vaswani et al. 2017, section 3.5 (their published code orders the
    columns otherwise).
    """
    check_size("max_seq_len", max_seq_len)
    if check_size("d_model", d_model) % 2:
        raise ValueError(f"d_model must be even (sin, cos pairs), got {d_model}")
    check_factory(device, dtype)
    # bfloat16 cannot count to 257: work in float32 at least, round at the end
    wide = torch.promote_types(dtype, torch.float32)
    positions = torch.arange(max_seq_len, device=device, dtype=wide)
    # positions: (max_seq_len,)
    columns = torch.arange(0, d_model, 2, device=device, dtype=wide)
    # columns: (d_model / 2,)
    angles = positions.unsqueeze(1) / 10000 ** (columns / d_model)
    # angles: (max_seq_len, d_model / 2)
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
    # pairs: (max_seq_len, d_model / 2, 2)
    return pairs.flatten(1).to(dtype)  # (max_seq_len, d_model)
