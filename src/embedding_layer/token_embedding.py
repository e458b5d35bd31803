# Made from notebooks/02_lookup_tables.ipynb by `make sync`.
# Edit the notebook, not this file.

import operator

import torch
from torch import nn
from torch.nn import functional as F

from embedding_layer.token_ids import check_id_range


def check_size(name, value):
    """Return `value` as an int, or raise ValueError if it is not a positive one."""
    try:
        size = operator.index(value)
    except TypeError:
        size = 0
    if size < 1 or isinstance(value, bool):
        raise ValueError(f"{name} must be a positive int, got {value!r}")
    return size


def check_std(init_std):
    """Raise ValueError unless `init_std` is a finite number from 0 up."""
    if not 0 <= init_std < float("inf"):
        raise ValueError(f"init_std must be finite and >= 0, got {init_std!r}")


class TokenEmbedding(nn.Embedding):
    """A table with one learned row per token id.

    Rows start as N(0, init_std**2): GPT-2's 0.02 instead of nn.Embedding's 1,
    so that a head that shares the table starts with small logits.

    Shapes:
        weight: (vocab_size, d_model)
        input_ids: any shape, int64 or int32, values 0..vocab_size-1
        result: the same shape + (d_model,)

    Args:
        vocab_size: how many rows
        d_model: how many numbers in a row
        padding_idx: this row starts at zero and its gradient is zero
        init_std: standard deviation of the start, in the rows' own unit
        sparse: the gradient holds only the rows that were used; SGD, Adagrad
            and SparseAdam take it, Adam, AdamW and `clip_grad_norm_` do not
        device, dtype: of the table

    Raises:
        ValueError: a size that is not a positive int, a bad init_std
        IndexError: an id outside the table, on the CPU. CUDA stops with a
            device-side assert; MPS may return zeros without any error

    Source: torch.nn.Embedding; the scale is from Radford et al. 2019 (GPT-2).
    """

    def __init__(
        self,
        vocab_size,
        d_model,
        *,
        padding_idx=None,
        init_std=0.02,
        sparse=False,
        device=None,
        dtype=None,
    ):
        check_std(init_std)
        self.init_std = init_std  # nn.Embedding calls reset_parameters itself
        super().__init__(
            check_size("vocab_size", vocab_size),
            check_size("d_model", d_model),
            padding_idx=padding_idx,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )

    def reset_parameters(self):
        """Draw all rows anew; the padding row is zero again.

        A table that is already sharded has no single row to write: with a
        padding_idx, draw first and shard then.
        """
        nn.init.normal_(self.weight, std=self.init_std)  # (vocab_size, d_model)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx] = 0  # (d_model,)

    def forward(self, input_ids):
        # Asking about the values first would cost time on every good batch
        # and stop torch.compile and vmap. So: look up, explain if it failed.
        try:
            return F.embedding(
                input_ids, self.weight, self.padding_idx, sparse=self.sparse
            )  # input_ids.shape + (d_model,)
        except IndexError:
            check_id_range(input_ids, self.weight.shape[0])
            raise
