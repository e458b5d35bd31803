"""The layer beside others: the same job, done by other people's code."""

import torch
from torch import nn


class PlainTables(nn.Module):
    """Two nn.Embeddings and nn.Dropout: what one writes without thinking."""

    def __init__(
        self, vocab_size, d_model, max_seq_len, dropout=0.1, sparse=False, **factory
    ):
        super().__init__()
        self.token_embeddings = nn.Embedding(
            vocab_size, d_model, sparse=sparse, **factory
        )
        self.position_embeddings = nn.Embedding(max_seq_len, d_model, **factory)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids):
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.token_embeddings(input_ids) + self.position_embeddings(positions)
        return self.dropout(x)  # (batch, seq_len, d_model)


class HuggingFaceInputPath(nn.Module):
    """The lines of transformers' GPT2Model.forward before its first block."""

    def __init__(self, vocab_size, d_model, max_seq_len, dropout=0.1):
        super().__init__()
        from transformers import GPT2Config, GPT2Model

        model = GPT2Model(
            GPT2Config(
                vocab_size=vocab_size,
                n_embd=d_model,
                n_positions=max_seq_len,
                embd_pdrop=dropout,
                n_layer=0,
                n_head=1,
                bos_token_id=None,
                eos_token_id=None,
            )
        )
        self.wte, self.wpe, self.drop = model.wte, model.wpe, model.drop

    def forward(self, input_ids, position_ids=None):
        input_shape = input_ids.size()
        input_ids = input_ids.view(-1, input_shape[-1])
        inputs_embeds = self.wte(input_ids)
        if position_ids is None:
            position_ids = torch.arange(
                inputs_embeds.shape[1], device=inputs_embeds.device
            )
            position_ids = position_ids.unsqueeze(0)
        position_embeds = self.wpe(position_ids)
        hidden_states = inputs_embeds + position_embeds.to(inputs_embeds.device)
        return self.drop(hidden_states)  # (batch, seq_len, d_model)


class XTransformersInputPath(nn.Module):
    """The lines of x-transformers' TransformerWrapper.forward before its blocks."""

    def __init__(self, vocab_size, d_model, max_seq_len, dropout=0.1):
        super().__init__()
        from x_transformers import x_transformers as xt

        self.token_emb = xt.TokenEmbedding(d_model, vocab_size)
        self.pos_emb = xt.AbsolutePositionalEmbedding(d_model, max_seq_len)
        self.emb_dropout = nn.Dropout(dropout)

    def forward(self, input_ids):
        x = self.token_emb(input_ids)
        x = x + self.pos_emb(input_ids)
        return self.emb_dropout(x)  # (batch, seq_len, d_model)
