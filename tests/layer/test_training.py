"""What a training run sees: the first loss, ties, gradients, optimizers."""

import copy

import pytest
import torch
from torch import nn

from embedding_layer import TransformerEmbeddings


def first_loss(emb):
    """Of a head that shares the token table, on random ids."""
    vocab_size = emb.token_embeddings.num_embeddings
    x, y = torch.randint(0, vocab_size, (2, 2, 32))
    with torch.no_grad():
        logits = emb(x) @ emb.token_embeddings.weight.T  # (2, 32, vocab_size)
        return nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()).item()


def test_the_first_loss_with_a_tied_head():
    """pytorch/pytorch#3121: ln(50257) = 10.82 from our start, hundreds from N(0, 1)."""
    emb = TransformerEmbeddings(50257, 256, 64, dropout=0.0)
    assert first_loss(emb) == pytest.approx(10.82, abs=0.1)
    for table in (emb.token_embeddings, emb.position_embeddings):
        nn.init.normal_(table.weight)
    assert first_loss(emb) > 100


# ---- ties ----


def tied_pair(device=None):
    emb = TransformerEmbeddings(50, 8, 16, dropout=0.0, device=device)
    head = nn.Linear(8, 50, bias=False, device=device)
    head.weight = emb.token_embeddings.weight
    return nn.ModuleList([emb, head])


@pytest.mark.parametrize(
    "move",
    [
        lambda m: m.to(torch.bfloat16),
        lambda m: m.half(),
        lambda m: copy.deepcopy(m).requires_grad_(False),
    ],
)
def test_a_tie_survives(move):
    """Modalities/modalities#357. The contract asks deepcopy, .double() and loading."""
    pair = move(tied_pair())
    assert pair[1].weight is pair[0].token_embeddings.weight


def test_to_empty_loses_a_tie():
    """Modalities/modalities#357: after meta, tie again."""
    pair = tied_pair(device="meta").to_empty(device="cpu")
    assert pair[1].weight is not pair[0].token_embeddings.weight
    pair[1].weight = pair[0].token_embeddings.weight
    assert len(list(pair.parameters())) == 2


def test_a_tied_head_in_the_same_graph(emb):
    """pytorch/pytorch#26596: lookup and head write into one gradient."""
    table = emb.token_embeddings.weight
    before = [p.detach().clone() for p in emb.parameters()]
    (table.sum() + (emb(torch.tensor([[1, 2]])) @ table.T).sum()).backward()
    assert table.grad.abs().sum(dim=1).count_nonzero() == 50
    assert all(map(torch.equal, before, emb.parameters()))


# ---- gradients ----


def test_every_table_gets_a_gradient_from_one_token(emb):
    """huggingface/transformers#21118: DDP waits for parameters that get none."""
    emb(torch.zeros(1, 1, dtype=torch.long)).sum().backward()
    assert [p.grad.count_nonzero().item() for p in emb.parameters()] == [8, 8]


def test_gradients_are_the_same_every_time(device):
    """pytorch/pytorch#187682: on the CPU, and wherever torch is told to be exact."""
    emb = TransformerEmbeddings(10, 16, 512, dropout=0.0).to(device)
    ids = torch.randint(0, 10, (32, 500), device=device)
    grads = []
    torch.use_deterministic_algorithms(True)
    try:
        for _ in range(3):
            emb.zero_grad()
            emb(ids).pow(2).sum().backward()
            grads.append(emb.token_embeddings.weight.grad.clone())
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(grads[0], g) for g in grads)


def test_a_few_ids_make_a_full_gradient():
    """pytorch/pytorch#109282: at GPT-2's size, 147.2 MiB for one token."""
    emb = TransformerEmbeddings(50257, 768, 1024)
    assert sum(p.numel() for p in emb.parameters()) == 39_383_808
    emb(torch.zeros(1, 1, dtype=torch.long)).sum().backward()
    assert round(emb.token_embeddings.weight.grad.nbytes / 2**20, 1) == 147.2


def test_dense_gradients_suit_adam_and_clipping(emb):
    """huggingface/transformers#30276: sparse ones do not."""
    opt = torch.optim.AdamW(emb.parameters())
    emb(torch.zeros(2, 3, dtype=torch.long)).sum().backward()
    torch.nn.utils.clip_grad_norm_(emb.parameters(), 1.0)
    opt.step()
    assert not any(p.grad.is_sparse for p in emb.parameters())


def test_sparse_gradients():
    """huggingface/transformers#30276: of the token table alone, and when asked for."""
    emb = TransformerEmbeddings(100, 8, 16, dropout=0.0, sparse=True)
    twin = TransformerEmbeddings(100, 8, 16, dropout=0.0)
    twin.load_state_dict(emb.state_dict())
    ids = torch.tensor([[1, 1, 2]])
    for m in (emb, twin):
        m(ids).pow(2).sum().backward()
    token, position = emb.parameters()
    assert token.grad.is_sparse and not position.grad.is_sparse
    assert token.grad.coalesce().indices().tolist() == [[1, 2]]
    for ours, dense in zip(emb.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours.grad.to_dense(), dense.grad)
    torch.optim.SparseAdam([token]).step()
    with pytest.raises(RuntimeError, match="sparse"):
        torch.optim.Adam([token]).step()


# ---- optimizers and rows that are not used ----


def step(opt, emb, token):
    """One step on one id; the token table's rows that moved."""
    before = emb.token_embeddings.weight.detach().clone()
    opt.zero_grad()
    emb(torch.tensor([[token]])).sum().backward()
    opt.step()
    moved = (emb.token_embeddings.weight != before).any(dim=1)
    return moved.nonzero().flatten().tolist()


def test_which_rows_an_optimizer_moves():
    """pytorch/pytorch#18404: words that are not in the batch moved all the same."""
    emb = TransformerEmbeddings(5, 4, 8, dropout=0.0)
    sgd = torch.optim.SGD(emb.parameters(), lr=0.1)
    assert [step(sgd, emb, 1), step(sgd, emb, 2)] == [[1], [2]]
    adam = torch.optim.Adam(emb.parameters())
    assert [step(adam, emb, 1), step(adam, emb, 2)] == [[1], [1, 2]]  # its averages
    decaying = torch.optim.AdamW(emb.parameters(), weight_decay=0.1)
    assert step(decaying, emb, 1) == [0, 1, 2, 3, 4]  # the decay, every row


def test_a_group_without_decay_leaves_unseen_rows_alone():
    """pytorch/pytorch#18404: the usual answer."""
    emb = TransformerEmbeddings(5, 4, 8, dropout=0.0)
    head = nn.Linear(4, 2)
    groups = [
        {"params": emb.parameters(), "weight_decay": 0.0},
        {"params": head.parameters()},
    ]
    opt = torch.optim.AdamW(groups, weight_decay=0.1)
    assert step(opt, emb, 1) == [1]
    unseen = emb.token_embeddings.weight[3].detach().clone()
    for _ in range(3):
        step(opt, emb, 1)
    assert torch.equal(emb.token_embeddings.weight[3], unseen)
