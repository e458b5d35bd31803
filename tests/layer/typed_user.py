"""What a reader might write with the package; `mypy --strict` passes it."""

import torch
from torch import Tensor

from embedding_layer import TokenEmbedding, TransformerEmbeddings, positions_from_mask
from embedding_layer.contract import check_contract

emb = TransformerEmbeddings(50, 8, 16, dropout=0.0, padding_idx=None).eval()
ids = torch.randint(0, 50, (2, 8))
rows: Tensor = emb(ids, position_ids=positions_from_mask(ids > 0))
table = TokenEmbedding.from_pretrained(torch.randn(10, 4), freeze=False)
rows = table(torch.tensor([1, 2]))
size: int = emb.d_model
report = check_contract(TransformerEmbeddings, only=["values"])
broken: list[str] = report.broken
