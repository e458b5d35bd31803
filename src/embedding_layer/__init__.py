"""The input layer of a GPT: token rows plus position rows, then dropout."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

from embedding_layer.broadcasting import (
    add_positions,
    check_positions_differ,
    check_sequences_alone,
)
from embedding_layer.dropout import Dropout
from embedding_layer.layer import TransformerEmbeddings, load_gpt2_tables
from embedding_layer.position_embedding import (
    PositionEmbedding,
    check_position_ids,
    positions_from_mask,
    sinusoidal_table,
)
from embedding_layer.token_embedding import TokenEmbedding
from embedding_layer.token_ids import check_id_range, check_token_ids

__version__ = "0.2.0"


def _renamed(old: str, new: Callable[..., Any]) -> Callable[..., Any]:
    """`new` under its old name, for this version only."""

    @functools.wraps(new)
    def call(*args: Any, **kwargs: Any) -> Any:
        message = f"{old} is called {new.__name__} now"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return new(*args, **kwargs)

    return call


check_rows_alone = _renamed("check_rows_alone", check_sequences_alone)
check_places_differ = _renamed("check_places_differ", check_positions_differ)

__all__ = [
    "Dropout",
    "PositionEmbedding",
    "TokenEmbedding",
    "TransformerEmbeddings",
    "add_positions",
    "check_id_range",
    "check_position_ids",
    "check_positions_differ",
    "check_sequences_alone",
    "check_token_ids",
    "load_gpt2_tables",
    "positions_from_mask",
    "sinusoidal_table",
]
