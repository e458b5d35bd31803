# Made from notebooks/06_embedding_layer.ipynb by `make sync`.
# Edit the notebook, not this file.

import torch
from torch import nn

from embedding_layer.broadcasting import add_positions
from embedding_layer.dropout import Dropout, is_transformed
from embedding_layer.position_embedding import PositionEmbedding, check_position_ids
from embedding_layer.token_embedding import TokenEmbedding
from embedding_layer.token_ids import check_token_ids


def is_plain(module, kind):
    """True if calling `module` does what class `kind` defines and nothing else."""
    everywhere = nn.modules.module
    return type(module) is kind and not (
        module._forward_pre_hooks
        or module._forward_hooks
        or module._backward_pre_hooks
        or module._backward_hooks
        or everywhere._global_forward_pre_hooks
        or everywhere._global_forward_hooks
        or everywhere._global_backward_pre_hooks
        or everywhere._global_backward_hooks
    )


def may_add_in_place(token_rows, position_table):
    """True if rows of `position_table` can be written onto `token_rows`.

    Tensor subclasses and torch.func may refuse to write; and the sum of two
    dtypes has the wider one.
    """
    return (
        type(token_rows) is torch.Tensor
        and token_rows.dtype == position_table.dtype
        and not is_transformed()
    )


class TransformerEmbeddings(nn.Module):
    """GPT-2's input layer: token row + position row, then dropout.

    Position = column, from 0, in every call, unless position_ids say otherwise.

    Shapes:
        input_ids: (batch, seq_len), int64 or int32, values 0..vocab_size-1
        position_ids: (batch, seq_len) or (1, seq_len), values 0..max_seq_len-1
        result: (batch, seq_len, d_model), in the dtype of the tables

    Args:
        vocab_size: how many token ids there are
        d_model: how many numbers stand for one token
        max_seq_len: how many positions there are
        dropout: probability of a zero in training, 0..1
        padding_idx: this token's row is zero and stays so: what comes out
            there is the bare position row
        init_std: standard deviation of both tables at the start
        sparse: gradient of the token table holds only the rows that were used
        device, dtype: of both tables

    Raises:
        ValueError: at construction a size that is not a positive int or a
            dropout outside [0, 1]; in a call ids that are not 2-D or a
            sequence longer than max_seq_len
        TypeError: ids that are not int64 or int32
        IndexError: an id outside its table, on the CPU. CUDA stops with a
            device-side assert; MPS may return zeros without any error

    Source: Radford et al. 2019 (GPT-2); Hugging Face's GPT2Model.
    """

    def __init__(
        self,
        vocab_size,
        d_model,
        max_seq_len,
        dropout=0.1,
        *,
        padding_idx=None,
        init_std=0.02,
        sparse=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        tables = dict(init_std=init_std, device=device, dtype=dtype)
        self.token_embeddings = TokenEmbedding(
            vocab_size, d_model, padding_idx=padding_idx, sparse=sparse, **tables
        )
        self.position_embeddings = PositionEmbedding(max_seq_len, d_model, **tables)
        self.dropout = Dropout(dropout)
        self.d_model = self.token_embeddings.embedding_dim

    def forward(self, input_ids, *, position_ids=None):
        check_token_ids(input_ids)
        seq_len = input_ids.shape[1]
        parts = self._modules  # self.dropout searches here too, but slowly
        tokens, positions = parts["token_embeddings"], parts["position_embeddings"]
        table = positions.weight  # (max_seq_len, d_model)
        if seq_len > table.shape[0]:
            raise ValueError(
                f"sequence length {seq_len} exceeds max_seq_len {table.shape[0]}; "
                f"keep the last tokens: input_ids[:, -{table.shape[0]}:]"
            )
        if position_ids is not None:
            check_position_ids(position_ids, input_ids)

        x = tokens(input_ids)  # (batch, seq_len, d_model)
        if (
            position_ids is None
            and is_plain(positions, PositionEmbedding)
            and is_plain(tokens, TokenEmbedding)  # then nobody else holds x
            and may_add_in_place(x, table)
        ):
            x.add_(table.narrow(0, 0, seq_len))  # (batch, seq_len, d_model)
        else:
            if position_ids is None:
                position_ids = torch.arange(seq_len, device=input_ids.device)
            x = add_positions(x, positions(position_ids))  # (batch, seq_len, d_model)
        return parts["dropout"](x)  # (batch, seq_len, d_model)


def load_gpt2_tables(emb, state_dict):
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

    Source: names of OpenAI's GPT-2 as Hugging Face publishes it.
    """
    ours = {"token_embeddings.weight": "wte.weight"}
    ours["position_embeddings.weight"] = "wpe.weight"
    found = {}
    for name, theirs in ours.items():
        keys = [key for key in state_dict if ("." + key).endswith("." + theirs)]
        if len(keys) != 1:
            raise KeyError(f"expected one {theirs} in the checkpoint, found {keys}")
        found[name] = state_dict[keys[0]]
        have, want = tuple(found[name].shape), tuple(emb.get_parameter(name).shape)
        if have != want:
            raise ValueError(
                f"{keys[0]} has shape {have}, the module's {name} has {want}; "
                "build the module with the checkpoint's sizes"
            )
    emb.load_state_dict(found)
