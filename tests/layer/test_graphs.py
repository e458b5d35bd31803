"""Compile, export and torch.func: the layer as a graph.

torch.compile runs with the backend that executes the graph as it is: what is
tested is that there is one graph, not the code made from it.
"""

import copy

import pytest
import torch
from torch import nn
from torch.export import Dim, export

from embedding_layer import TransformerEmbeddings, positions_from_mask


@pytest.fixture
def emb():
    torch.manual_seed(0)
    torch._dynamo.reset()
    return TransformerEmbeddings(50, 8, 16).eval()


class Counter:
    """A compiler that counts the graphs that it is given."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return graph.forward


def test_lengths_share_a_graph(emb):
    counter = Counter()
    compiled = torch.compile(emb, fullgraph=True, backend=counter)
    for seq_len in (5, 7, 2, 3, 11, 16, 9):
        ids = torch.randint(0, 50, (2, seq_len))
        assert torch.equal(compiled(ids), emb(ids))
    assert counter.graphs <= 2  # one for the first length, one for all others
    for batch in (3, 5):
        ids = torch.randint(0, 50, (batch, 7))
        assert torch.equal(compiled(ids), emb(ids))
    assert counter.graphs <= 3
    with pytest.raises(ValueError, match="17.*16"):
        torch.compile(emb, backend=counter)(torch.zeros(2, 17, dtype=torch.long))


def test_position_ids_and_training(emb):
    counter = Counter()
    compiled = torch.compile(emb, fullgraph=True, backend=counter)
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    ids, where = torch.randint(0, 50, (2, 3)), positions_from_mask(mask)
    assert torch.equal(compiled(ids, position_ids=where), emb(ids, position_ids=where))
    out = compiled.train()(torch.randint(0, 50, (8, 16)))
    assert 0.03 < (out == 0).float().mean() < 0.2
    out.sum().backward()
    assert all(p.grad is not None for p in emb.parameters())
    assert counter.graphs == 2


def test_export_with_position_ids(emb):
    b, t = Dim("b"), Dim("t", max=16)
    ids = torch.randint(0, 50, (2, 4))
    shapes = {"input_ids": {0: b, 1: t}, "position_ids": {0: b, 1: t}}
    args = dict(input_ids=ids, position_ids=ids % 16)
    run = export(emb, (), args, dynamic_shapes=shapes).module()
    ids = torch.randint(0, 16, (3, 9))
    got = run(input_ids=ids, position_ids=ids)
    assert torch.equal(got, emb(ids, position_ids=ids))


@pytest.mark.parametrize("train", [True, False])
def test_per_sample_gradients(emb, train):
    emb.train(train)
    params = {k: v.detach() for k, v in emb.named_parameters()}
    ids = torch.randint(0, 50, (4, 5))

    def loss(params, row):
        out = torch.func.functional_call(emb, params, (row.unsqueeze(0),))
        return out.pow(2).sum()

    grads = torch.func.vmap(
        torch.func.grad(loss), in_dims=(None, 0), randomness="different"
    )(params, ids)
    for name, p in params.items():
        assert grads[name].shape == (4, *p.shape)
    rows = grads["token_embeddings.weight"].abs().sum(-1) > 0  # (4, vocab_size)
    assert [set(r.nonzero().flatten().tolist()) for r in rows] == [
        set(row.tolist()) for row in ids
    ]


# torch warns of its own torch.jit here
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", ["token_embeddings", "position_embeddings"])
def test_a_batch_of_tables(emb, name):
    """vmap over one table only: the sum cannot be written into unbatched rows."""
    ids = torch.randint(0, 50, (2, 3))
    table = getattr(emb, name).weight.detach()
    many = torch.stack([table, 2 * table, 3 * table])

    def run(table):
        return torch.func.functional_call(emb, {f"{name}.weight": table}, (ids,))

    with torch.no_grad():
        got = torch.func.vmap(run)(many)
        assert torch.equal(got, torch.stack([run(table) for table in many]))
        forward = torch.func.jacfwd(run)(table)
        assert torch.equal(forward, torch.func.jacrev(run)(table))


def test_ensemble(emb):
    layers = [TransformerEmbeddings(50, 8, 16).eval() for _ in range(3)]
    params, buffers = torch.func.stack_module_state(layers)
    ids = torch.randint(0, 50, (2, 3))

    def run(params):
        return torch.func.functional_call(emb, params, (ids,))

    want = torch.stack([layer(ids) for layer in layers])
    assert torch.equal(torch.func.vmap(run)(params), want)
    assert buffers == {}


def test_tied_copy(emb):
    head = nn.Linear(8, 50, bias=False)
    head.weight = emb.token_embeddings.weight
    pair = copy.deepcopy(nn.ModuleList([emb, head]))
    assert pair[1].weight is pair[0].token_embeddings.weight
    assert pair[1].weight is not head.weight
