# Made from notebooks/06_embedding_layer.ipynb by `make sync`.
# Edit the notebook, not this file.

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from embedding_layer.broadcasting import add_positions
from embedding_layer.dropout import Dropout
from embedding_layer.position_embedding import PositionEmbedding, check_position_ids
from embedding_layer.short_cut import look_up, may_add_in_place
from embedding_layer.token_embedding import INIT_STD, TokenEmbedding
from embedding_layer.token_ids import check_token_ids
from embedding_layer.torch_internals import has_hooks, parts_of, weight_of


def count_rows(table: nn.Module) -> int | None:
    """How many rows a table has; None if it does not tell.

    The weight may have been exchanged for a longer one; packed or sharded, its
    shape is another one than the table's.
    """
    weight = weight_of(table)
    if weight is not None and type(weight) in (nn.Parameter, Tensor):
        if weight.dim() == 2:
            return int(weight.size(0))
    rows = getattr(table, "num_embeddings", None)
    return rows if isinstance(rows, int) else None


def number_columns(input_ids: Tensor, positions: nn.Module) -> Tensor:
    """Positions 0, 1, 2, ... for the columns of `input_ids`, on its device.

    Tools that take per-sample gradients by hooks read the batch off the first
    axis: where there are hooks, every sequence gets numbers of its own.

    Shapes:
        input_ids: (batch, seq_len)
        result: (seq_len,), or (batch, seq_len) where there are hooks

    Raises:
        ValueError: more columns than the table has positions
    """
    batch, seq_len = input_ids.shape
    max_seq_len = count_rows(positions)
    if max_seq_len is not None and seq_len > max_seq_len:
        raise ValueError(
            f"sequence length {seq_len} exceeds max_seq_len {max_seq_len}; "
            f"keep the last tokens: input_ids[:, -{max_seq_len}:]"
        )
    numbers = torch.arange(seq_len, device=input_ids.device)  # (seq_len,)
    if has_hooks(positions):
        return numbers.expand(batch, seq_len)  # (batch, seq_len)
    return numbers


class TransformerEmbeddings(nn.Module):
    """GPT-2's input layer: token row + position row, then dropout.

    Position = column, from 0, in every call, unless position_ids say otherwise.
    Both tables may be hooked, offloaded, wrapped or exchanged: the result is
    that of the two tables, called and summed.

    Shapes:
        input_ids: (batch, seq_len), int64 or int32, values 0..vocab_size-1;
            without position_ids seq_len <= max_seq_len
        position_ids: (batch, seq_len) or (1, seq_len), values 0..max_seq_len-1
        result: (batch, seq_len, d_model), in the dtype of the tables

    Args:
        vocab_size: how many token ids there are
        d_model: how many numbers stand for one token
        max_seq_len: how many positions there are
        dropout: probability of a zero in training, 0..1
        padding_idx: this token's row starts at zero, and a lookup gives it no
            gradient: what comes out there is the bare position row. -1 means
            the last row. A tied head moves the row all the same
        init_std: standard deviation of both tables at the start
        sparse: gradient of the token table holds only the rows that were used
        device, dtype: of both tables; a floating-point dtype

    Raises:
        ValueError: at construction a size that is not a positive int, a
            dropout outside [0, 1], an init_std below 0 or not finite, a
            padding_idx outside the table, an unknown device; in a call ids
            that are not 2-D, position_ids of another shape, or without
            position_ids a sequence longer than max_seq_len (if the position
            table tells its length: by weight or num_embeddings)
        TypeError: another argument of the wrong kind; ids or position_ids
            that are no tensor, or not int64 or int32
        IndexError: an id or position outside its table, on the CPU. CUDA
            stops with a device-side assert; MPS may return zeros without any
            error

    Per-sample gradients: torch.func works as it is. Tools that hook the
    modules need position_ids of shape (batch, seq_len); without position_ids
    the layer gives a hooked table just these.

    Source: Radford et al. 2019 (GPT-2); Hugging Face's GPT2Model.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        max_seq_len: int,
        dropout: float = 0.1,
        *,
        padding_idx: int | None = None,
        init_std: float = INIT_STD,
        sparse: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        tokens = TokenEmbedding(
            vocab_size,
            d_model,
            padding_idx=padding_idx,
            init_std=init_std,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )
        positions = PositionEmbedding(
            max_seq_len, d_model, init_std=init_std, device=device, dtype=dtype
        )
        self.d_model = tokens.embedding_dim
        self.token_embeddings: nn.Embedding = tokens
        self.position_embeddings: nn.Embedding = positions
        self.dropout: nn.Dropout = Dropout(dropout)

    def forward(
        self, input_ids: Tensor, *, position_ids: Tensor | None = None
    ) -> Tensor:
        check_token_ids(input_ids)
        parts = parts_of(self)  # self.token_embeddings is slower
        tokens, positions = parts["token_embeddings"], parts["position_embeddings"]
        if position_ids is None and may_add_in_place(tokens, positions, input_ids):
            x = look_up(tokens, input_ids)  # (batch, seq_len, d_model)
            x.add_(weight_of(positions)[: x.size(1)])  # (batch, seq_len, d_model)
        else:
            if position_ids is None:
                position_ids = number_columns(input_ids, positions)
            else:
                check_position_ids(position_ids, input_ids)
            x = add_positions(tokens(input_ids), positions(position_ids))
            # x: (batch, seq_len, d_model)
        output: Tensor = parts["dropout"](x)  # (batch, seq_len, d_model)
        return output


def load_gpt2_tables(
    emb: TransformerEmbeddings, state_dict: Mapping[str, Tensor]
) -> None:
    """Copy GPT-2's two tables out of a checkpoint. All or nothing.

    The names may carry any prefix: `transformer.wte.weight` is found as well
    as `wte.weight`.

    Shapes:
        wte.weight: (vocab_size, d_model)
        wpe.weight: (max_seq_len, d_model)

    Args:
        emb: a TransformerEmbeddings of the checkpoint's sizes
        state_dict: the checkpoint's tensors by name

    Raises:
        KeyError: a table is missing, or there are two of one name
        ValueError: a table has another shape than the module's
        RuntimeError: a table is on the meta device, here or there: it has no
            numbers; or nobody may write into the module's (made in
            inference mode, expanded)
        TypeError: a table of the checkpoint is no floating-point tensor
        AttributeError: a table of the module was exchanged for one that has no
            weight

    Source: names of OpenAI's GPT-2 as Hugging Face publishes it.
    """
    names = {
        "token_embeddings.weight": "wte.weight",
        "position_embeddings.weight": "wpe.weight",
    }
    ready = {}
    for ours, theirs in names.items():
        keys = [key for key in state_dict if ("." + key).endswith("." + theirs)]
        if len(keys) != 1:
            raise KeyError(f"expected one {theirs} in the checkpoint, found {keys}")
        key, table = keys[0], emb.get_parameter(ours)
        rows = state_dict[key]
        if not isinstance(rows, Tensor) or not rows.is_floating_point():
            kind = getattr(rows, "dtype", type(rows).__name__)
            raise TypeError(f"{key} must be a floating-point tensor, got {kind}")
        have, want = tuple(rows.shape), tuple(table.shape)
        if have != want:
            raise ValueError(
                f"{key} has shape {have}, the module's {ours} has {want}; "
                "build the module with the checkpoint's sizes"
            )
        for name, tensor in ((key, rows), (ours, table)):
            if tensor.is_meta:
                raise RuntimeError(
                    f"{name} is on the meta device and has no numbers; give the "
                    "module memory first: emb.to_empty(device='cpu')"
                )
        # A copy of the right dtype and device: most that can fail fails here.
        ready[ours] = torch.empty_like(table).copy_(rows)  # table.shape
    tables = {ours: emb.get_parameter(ours) for ours in ready}
    before = {ours: table.detach().clone() for ours, table in tables.items()}
    with torch.no_grad():
        try:
            for ours, rows in ready.items():
                tables[ours].copy_(rows)  # the table's shape
        except BaseException:  # a table that nobody may write into
            for ours, rows in before.items():
                with suppress(RuntimeError):  # it may have been written all the same
                    tables[ours].copy_(rows)  # the table's shape
            raise
