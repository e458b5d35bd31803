"""Compile, export and torch.func: the layer as a graph.

torch.compile runs with the backend that executes the graph as it is: what is
tested is that there is one graph, not the code made from it.
"""

import pathlib
import shutil
import sysconfig
from functools import partial

import pytest
import torch
from helpers import IN_2_6, TORCH, refuses
from torch.export import Dim, export

from embedding_layer import TransformerEmbeddings, positions_from_mask


@pytest.fixture(autouse=True)
def fresh_compiler(seed):
    torch.compiler.reset()


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
    for seq_len in (5, 7, 2, 3, 11, 15, 9):
        ids = torch.randint(0, 50, (2, seq_len))
        assert torch.equal(compiled(ids), emb(ids))
    # one for the first length, one for all others; 2.6 makes one more
    assert counter.graphs <= (3 if IN_2_6 else 2)
    made = counter.graphs
    for batch in (3, 5):
        ids = torch.randint(0, 50, (batch, 7))
        assert torch.equal(compiled(ids), emb(ids))
    assert counter.graphs <= made + 1
    with pytest.raises(ValueError, match="40.*16"):  # in the default mode
        torch.compile(emb, backend=counter)(torch.zeros(2, 40, dtype=torch.long))


def test_position_ids_and_training(emb):
    counter = Counter()
    compiled = torch.compile(emb, fullgraph=True, backend=counter)
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    ids, where = torch.randint(0, 50, (2, 3)), positions_from_mask(mask)
    assert torch.equal(compiled(ids, position_ids=where), emb(ids, position_ids=where))
    out = compiled.train()(torch.randint(0, 50, (8, 15)))
    assert 0.03 < (out == 0).float().mean() < 0.2
    out.sum().backward()
    assert all(p.grad is not None for p in emb.parameters())
    assert counter.graphs == 2


def test_export_with_position_ids(emb):
    b, t = Dim("b"), Dim("t")
    ids = torch.randint(0, 50, (2, 4))
    shapes = {"input_ids": {0: b, 1: t}, "position_ids": {0: b, 1: t}}
    args = dict(input_ids=ids, position_ids=ids % 16)
    run = export(emb, (), args, dynamic_shapes=shapes).module()
    for shape in ((3, 9), (1, 20)):  # the positions decide, not their number
        ids = torch.randint(0, 16, shape)
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


# ---- other ways to capture a graph ----


def inductor_can_build():
    """The default backend builds C++ against Python's headers."""
    headers = pathlib.Path(sysconfig.get_path("include"), "Python.h")
    return headers.exists() and any(map(shutil.which, ("g++", "clang++")))


NO_BUILD = pytest.mark.skipif(not inductor_can_build(), reason="no C++ compiler")
COUNTS_FROM_THE_END = pytest.mark.xfail(
    TORCH <= (2, 11),
    reason="PyTorch up to 2.11 compiles a lookup that takes -2 for the last but one",
    strict=True,
)


# 2.6 warns of a cache that it leaves out
@pytest.mark.filterwarnings("ignore:Skipping serialization:UserWarning")
@pytest.mark.parametrize(
    "backend, bad",
    [
        ("aot_eager", -2),
        ("aot_eager", -100),
        ("aot_eager", 50),
        pytest.param("inductor", -2, marks=[NO_BUILD, COUNTS_FROM_THE_END]),
        pytest.param("inductor", -100, marks=NO_BUILD),
        pytest.param("inductor", 50, marks=NO_BUILD),
    ],
)
def test_bad_ids_of_a_compiled_layer(emb, backend, bad):
    """pytorch/pytorch#183608: an error of some kind, never a value."""
    compiled = torch.compile(emb, fullgraph=True, dynamic=True, backend=backend)
    ids = torch.randint(0, 50, (2, 5))
    assert torch.allclose(compiled(ids), emb(ids), atol=1e-6)
    with pytest.raises(Exception):  # noqa: B017  its type is the compiler's
        compiled(torch.tensor([[1, bad], [1, 2]]))


def test_symbolic_trace_is_told_of_export(emb):
    """pytorch/pytorch#51803: "wrap them" was no advice for a Proxy."""
    call = partial(torch.fx.symbolic_trace, emb)
    message = refuses(TypeError, call, "Proxy", "torch.export")
    assert "wrap them" not in message


def test_script_gets_no_advice_of_ours(emb):
    """pytorch/pytorch#51803: TorchScript's own error, about its own limit."""
    with pytest.raises(Exception) as caught:
        torch.jit.script(emb)
    assert type(caught.value).__module__.startswith("torch")
    assert "wrap them" not in str(caught.value)


# torch warns of what tracing cannot see
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_traced_positions_are_not_the_example_s(emb):
    """pytorch/pytorch#31141: a trace remembered what the example had. Use export."""
    traced = torch.jit.trace(emb, (torch.randint(0, 50, (2, 4)),))
    for shape in ((2, 4), (3, 9), (1, 1)):
        ids = torch.randint(0, 50, shape)
        assert torch.equal(traced(ids), emb(ids))
    with pytest.raises(RuntimeError, match="out of range"):
        traced(torch.zeros(1, 17, dtype=torch.long))


def test_export_for_training_drops(emb):
    """In train mode the exported layer keeps nn.Dropout's own operation."""
    program = export(emb.train(), (torch.randint(0, 50, (8, 15)),))
    out = program.module()(torch.randint(0, 50, (8, 15)))
    assert 0.03 < (out == 0).float().mean() < 0.2
