"""The input layer of a GPT: token rows plus position rows, then dropout."""

from embedding_layer.broadcasting import (
    add_positions,
    check_places_differ,
    check_rows_alone,
)
from embedding_layer.dropout import Dropout
from embedding_layer.layer import TransformerEmbeddings, load_gpt2_tables
from embedding_layer.position_embedding import (
    PositionEmbedding,
    positions_from_mask,
    sinusoidal_table,
)
from embedding_layer.token_embedding import TokenEmbedding
from embedding_layer.token_ids import check_id_range, check_token_ids

__version__ = "0.1.0"

__all__ = [
    "Dropout",
    "PositionEmbedding",
    "TokenEmbedding",
    "TransformerEmbeddings",
    "add_positions",
    "check_id_range",
    "check_places_differ",
    "check_rows_alone",
    "check_token_ids",
    "load_gpt2_tables",
    "positions_from_mask",
    "sinusoidal_table",
]
