# Made from notebooks/02_lookup_tables.ipynb by `make sync`.
# Edit the notebook, not this file.

import math
import numbers
import operator
from typing import Any

import torch
from torch import Tensor, nn

from embedding_layer.token_ids import TOKEN_CAUSES, check_id_range

INIT_STD = 0.02  # GPT-2's start


def check_size(name: str, value: Any) -> int:
    """Return `value` as an int, or raise ValueError if it is not a positive one."""
    try:
        size = operator.index(value)
    except TypeError:
        size = 0
    if size < 1 or isinstance(value, bool):
        raise ValueError(f"{name} must be a positive int, got {value!r}")
    return size


def check_std(init_std: Any) -> float:
    """Return `init_std` as a float.

    Raises:
        TypeError: not a number
        ValueError: not a finite number from 0 up
    """
    if isinstance(init_std, bool) or not isinstance(init_std, numbers.Real):
        raise TypeError(f"init_std must be a number, got {init_std!r}")
    std = float(init_std)
    if not 0 <= std < math.inf:
        raise ValueError(f"init_std must be finite and >= 0, got {init_std!r}")
    return std


def check_padding_idx(padding_idx: Any, num_rows: int) -> int | None:
    """Return `padding_idx` counted from 0; -1 means the last row, as in Python.

    Raises:
        TypeError: neither None nor an int
        ValueError: not one of -num_rows..num_rows-1
    """
    if padding_idx is None:
        return None
    try:
        index = operator.index(padding_idx)
    except TypeError:
        index = None
    if index is None or isinstance(padding_idx, bool):
        raise TypeError(f"padding_idx must be None or an int, got {padding_idx!r}")
    if not -num_rows <= index < num_rows:
        raise ValueError(
            f"padding_idx must be in -{num_rows}..{num_rows - 1}, got {index}"
        )
    return index % num_rows


def check_factory(device: Any, dtype: Any, sparse: Any = False) -> None:
    """Check what else a table is made with.

    Raises:
        TypeError: a dtype that is not floating point, a sparse that is no
            bool, a device that is no name, int or torch.device
        ValueError: a device that PyTorch does not know
    """
    if dtype is not None and not (
        isinstance(dtype, torch.dtype) and dtype.is_floating_point
    ):
        raise TypeError(f"dtype must be a floating-point torch.dtype, got {dtype!r}")
    if not isinstance(sparse, bool):
        raise TypeError(f"sparse must be True or False, got {sparse!r}")
    if device is not None:
        try:
            torch.device(device)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"device {device!r} is not known: {reason}") from None
        except TypeError:
            raise TypeError(
                f"device must be a torch.device or its name, got {device!r}"
            ) from None


class EmbeddingTable(nn.Embedding):
    """nn.Embedding that starts small and names the id that has no row."""

    id_name = "id"
    causes = ""

    def __init__(
        self,
        num_rows: int,
        d_model: int,
        *,
        padding_idx: int | None = None,
        init_std: float = INIT_STD,
        sparse: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        num_rows = check_size("num_rows", num_rows)
        d_model = check_size("d_model", d_model)
        padding_idx = check_padding_idx(padding_idx, num_rows)
        check_factory(device, dtype, sparse)
        self.init_std = check_std(init_std)  # super() calls reset_parameters
        super().__init__(
            num_rows,
            d_model,
            padding_idx=padding_idx,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )

    def reset_parameters(self) -> None:
        """Draw all rows anew; the padding row is zero again.

        A table that is already sharded has no single row to write: with a
        padding_idx, draw first and shard then.
        """
        nn.init.normal_(self.weight, std=self.init_std)  # (num_rows, d_model)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx] = 0  # (d_model,)

    def forward(self, input: Tensor) -> Tensor:
        if input.is_meta and not self.weight.is_meta:
            # F.embedding would return whatever the memory held.
            raise RuntimeError(
                f"{self.id_name}s are on the meta device and have no values, the "
                f"table is on {self.weight.device}; move both to one device"
            )
        # Asking about the values first would cost time on every good batch
        # and stop torch.compile and vmap. So: look up, explain if it failed.
        try:
            return super().forward(input)  # input.shape + (d_model,)
        except IndexError:
            check_id_range(input, self.weight.shape[0], self.id_name, self.causes)
            raise

    def extra_repr(self) -> str:
        options = super().extra_repr()
        if self.init_std != INIT_STD:
            options += f", init_std={self.init_std}"
        return options

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> "EmbeddingTable":
        """A table around rows that are there already, as nn.Embedding's.

        Shapes:
            embeddings: (num_rows, d_model); the table shares its memory

        Args:
            freeze: the rows get no gradient
            padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse: as
                in nn.Embedding

        Raises:
            TypeError: no tensor
            ValueError: not two axes, an empty one, or no row padding_idx
        """
        if not isinstance(embeddings, Tensor):
            kind = type(embeddings).__name__
            raise TypeError(f"embeddings must be a torch.Tensor, got {kind}")
        if embeddings.dim() != 2:
            shape = tuple(embeddings.shape)
            raise ValueError(f"embeddings must be (num_rows, d_model), got {shape}")
        table = cls(*embeddings.shape, device="meta")
        table.weight = nn.Parameter(embeddings, requires_grad=not freeze)
        table.padding_idx = check_padding_idx(padding_idx, len(embeddings))
        table.max_norm, table.norm_type = max_norm, norm_type
        table.scale_grad_by_freq, table.sparse = scale_grad_by_freq, sparse
        return table


class TokenEmbedding(EmbeddingTable):
    """A table with one learned row per token id.

    Rows start as N(0, init_std**2): GPT-2's 0.02 instead of nn.Embedding's 1,
    so that a head that shares the table starts with small logits.

    Shapes:
        weight: (vocab_size, d_model)
        input: token ids of any shape, int64 or int32, values 0..vocab_size-1
        result: the same shape + (d_model,)

    Args:
        vocab_size: how many rows
        d_model: how many numbers in a row
        padding_idx: this row starts at zero, and a lookup gives it no
            gradient; -1 means the last row. A head that shares the table
            (a tied head) gives it one all the same and moves it
        init_std: standard deviation of the start, in the rows' own unit
        sparse: the gradient holds only the rows that were used; SGD and
            Adagrad without weight decay and SparseAdam take it, Adam, AdamW
            and `clip_grad_norm_` do not
        device, dtype: of the table; a floating-point dtype

    Raises:
        ValueError: a size that is not a positive int, an init_std below 0 or
            not finite, a padding_idx outside the table, an unknown device
        TypeError: another argument of the wrong kind
        IndexError: in a call, an id outside the table, on the CPU. CUDA stops
            with a device-side assert; MPS may return zeros without any error

    Source: torch.nn.Embedding; the scale is that of OpenAI's GPT-2 code.
    """

    id_name = "token id"
    causes = TOKEN_CAUSES

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        padding_idx: int | None = None,
        init_std: float = INIT_STD,
        sparse: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            check_size("vocab_size", vocab_size),
            d_model,
            padding_idx=padding_idx,
            init_std=init_std,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )
