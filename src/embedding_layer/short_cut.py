"""The layer's one short cut: rows of the position table added in place.

Written by hand. In doubt the answer is no, and the layer calls both tables.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embedding_layer.position_embedding import PositionEmbedding
from embedding_layer.token_embedding import EmbeddingTable, TokenEmbedding
from embedding_layer.torch_internals import (
    has_hooks,
    has_own_call,
    is_watched,
    weight_of,
)

# What a lookup runs, before anybody can have replaced it.
CALL, FORWARD = nn.Module.__call__, EmbeddingTable.forward
BASE_FORWARD, EMBEDDING = nn.Embedding.forward, F.embedding
LOOK_UP = torch.embedding


def may_add_in_place(
    tokens: nn.Module, positions: nn.Module, input_ids: Tensor
) -> bool:
    """True if two lookups and an addition in place give just what calling both
    tables and adding gives: the layer's one short cut.

    False where it finds anybody between the layer and a table's rows, and where
    it cannot tell.
    """
    if is_watched():
        return False  # somebody rewrites the code or sees each operation
    if not (
        # neither exchanged nor wrapped, and no subclass
        type(tokens) is TokenEmbedding
        and type(positions) is PositionEmbedding
        # neither hooked, nor given a forward of its own
        and not has_hooks(tokens, positions)
        and not has_own_call(tokens, positions)
        # what they run was not replaced
        and TokenEmbedding.forward is PositionEmbedding.forward is FORWARD
        and nn.Embedding.forward is BASE_FORWARD
        and F.embedding is EMBEDDING
        and torch.embedding is LOOK_UP
        and TokenEmbedding.__call__ is PositionEmbedding.__call__ is CALL
    ):
        return False
    here, there = weight_of(tokens), weight_of(positions)
    return (
        # subclasses (sharded, quantized, fake) have rules of their own
        type(here) is type(there) is nn.Parameter
        and type(input_ids) is Tensor
        # more columns than rows is an error; narrower rows would be stretched
        and here.dim() == there.dim() == 2
        and input_ids.size(1) <= there.size(0)
        and here.size(1) == there.size(1)
        # the sum of two dtypes has the wider one
        and here.dtype == there.dtype
        # a table on meta has no numbers, one elsewhere needs a move
        and input_ids.device == here.device == there.device
        # options of nn.Embedding that change rows or gradients
        and positions.max_norm is None
        and positions.padding_idx is None
        and not positions.sparse
        and not positions.scale_grad_by_freq
    )


def look_up(tokens: TokenEmbedding, input_ids: Tensor) -> Tensor:
    """`tokens(input_ids)` for a table that `may_add_in_place`, only faster."""
    try:
        return F.embedding(
            input_ids,
            weight_of(tokens),
            tokens.padding_idx,
            tokens.max_norm,
            tokens.norm_type,
            tokens.scale_grad_by_freq,
            tokens.sparse,
        )  # (batch, seq_len, d_model)
    except IndexError:
        return tokens.forward(input_ids)  # raises too, and names the id
