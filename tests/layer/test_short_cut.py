"""The layer's one short cut: taken where nobody can notice, and only there.

test_obedience.py asks what comes out. Here each hindrance stands alone.
"""

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from embedding_layer import PositionEmbedding, TokenEmbedding, layer
from embedding_layer.short_cut import may_add_in_place
from embedding_layer.token_embedding import EmbeddingTable
from embedding_layer.torch_internals import (
    has_hooks,
    has_own_call,
    is_transformed,
    is_watched,
)

IDS = torch.zeros(2, 16, dtype=torch.long)
EACH = pytest.mark.parametrize("name", ["token_embeddings", "position_embeddings"])


def taken(emb, ids=IDS):
    return may_add_in_place(emb.token_embeddings, emb.position_embeddings, ids)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("grad", [True, False])
def test_it_is_taken_in_a_plain_call(emb, train, grad):
    with torch.set_grad_enabled(grad):
        assert taken(emb.train(train)) is True
        assert taken(emb, IDS[:0]) is taken(emb, IDS[:, :0]) is True
        assert taken(emb.double(), IDS.int()) is True
    emb.token_embeddings.sparse = True  # its options are kept
    emb.token_embeddings.max_norm = 1.0
    assert taken(emb) is True


def test_the_layer_takes_it(emb, monkeypatch):
    calls = []
    old = layer.look_up
    monkeypatch.setattr(
        layer, "look_up", lambda *args: calls.append(args) or old(*args)
    )
    where = torch.arange(16).unsqueeze(0)
    assert torch.equal(emb(IDS), emb(IDS, position_ids=where)) and len(calls) == 1
    emb.position_embeddings.register_forward_hook(lambda *args: None)
    emb(IDS)
    assert len(calls) == 1


class Subclass(torch.Tensor):
    pass


def swap(table, rows):
    table.weight = nn.Parameter(rows)


@EACH
@pytest.mark.parametrize(
    "hinder",
    [
        lambda t: setattr(t, "__class__", type("Own", (type(t),), {})),
        lambda t: t.register_forward_hook(print),
        lambda t: t.register_forward_pre_hook(print),
        lambda t: t.register_full_backward_hook(print),
        lambda t: t.register_full_backward_pre_hook(print),
        lambda t: setattr(t, "forward", t.forward),
        lambda t: setattr(t, "_call_impl", t.forward),
        lambda t: setattr(t, "_compiled_call_impl", t.forward),
        lambda t: swap(t, t.weight.detach().as_subclass(Subclass)),
        lambda t: swap(t, t.weight.detach().to("meta")),
        lambda t: swap(t, t.weight.detach().bfloat16()),
        lambda t: swap(t, t.weight.detach()[:, :1]),
        lambda t: swap(t, t.weight.detach().unsqueeze(-1)),
    ],
    ids=range(13),
)
def test_a_table_that_is_not_plain(emb, name, hinder):
    hinder(getattr(emb, name))
    assert taken(emb) is False


@EACH
def test_a_weight_beside_the_registered_one(emb, name):
    table = getattr(emb, name)
    table.__dict__["weight"] = table.weight
    assert taken(emb) is False


@EACH
def test_a_weight_that_is_no_parameter(emb, name):
    table = getattr(emb, name)
    rows = table.weight.detach()
    del table.weight
    table.register_buffer("weight", rows)
    assert taken(emb) is False
    ids = IDS[:, :5]
    want = emb.token_embeddings(ids) + emb.position_embeddings(torch.arange(5))
    assert torch.equal(emb(ids), want)


@pytest.mark.parametrize(
    "options",
    [{"max_norm": 1.0}, {"padding_idx": 0}, {"sparse": True}]
    + [{"scale_grad_by_freq": True}],
    ids=str,
)
def test_an_option_of_the_position_table(emb, options):
    vars(emb.position_embeddings).update(options)
    assert taken(emb) is False


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (TokenEmbedding, "forward"),
        (PositionEmbedding, "forward"),
        (EmbeddingTable, "forward"),
        (nn.Embedding, "forward"),
        (nn.functional, "embedding"),
        (torch, "embedding"),
        (nn.Module, "__call__"),
        (nn.Module, "_call_impl"),
        (TokenEmbedding, "__call__"),
        (PositionEmbedding, "__call__"),
        (PositionEmbedding, "_call_impl"),
    ],
)
def test_what_a_lookup_runs_was_replaced(emb, owner, name, monkeypatch):
    old = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **kwargs: old(*args, **kwargs))
    assert taken(emb) is False
    monkeypatch.undo()
    assert taken(emb) is True


@pytest.mark.parametrize(
    "kind",
    ["forward_hook", "forward_pre_hook", "full_backward_hook"]
    + ["full_backward_pre_hook"],
)
def test_a_hook_on_every_module(emb, kind):
    with getattr(nn.modules.module, f"register_module_{kind}")(print):
        assert taken(emb) is False
    assert taken(emb) is True


class Watch(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class WatchBelow(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Watch, WatchBelow])
def test_a_mode_that_sees_each_operation(emb, mode):
    with mode():
        assert taken(emb) is False
    assert taken(emb) is True


@pytest.mark.parametrize("capture", ["vmap", "grad", "trace", "compile", "export"])
def test_code_that_is_captured(emb, capture):
    told = []

    class Asks(nn.Module):
        def forward(self, x):
            told.append(taken(emb))
            return 2 * x.sum()

    x, asks = torch.ones(3, 2), Asks()
    if capture == "trace":
        torch.jit.trace(asks, (x,), check_trace=False)
    elif capture == "compile":
        torch.compiler.reset()
        torch.compile(asks, backend="eager")(x)
    elif capture == "export":
        torch.export.export(asks, (x,))
    else:
        getattr(torch.func, capture)(asks)(x)
    assert told and not any(told)
    assert taken(emb) is True


def test_ids_that_are_not_plain(emb):
    assert taken(emb, IDS.as_subclass(Subclass)) is False
    assert taken(emb, IDS.to("meta")) is False
    assert taken(emb, torch.zeros(2, 17, dtype=torch.long)) is False  # too many


def test_what_it_asks_is_answered_by_yes_or_no(emb):
    """Of a plain table no, and False rather than nothing."""
    tables = emb.token_embeddings, emb.position_embeddings
    assert has_hooks(*tables) is has_own_call(*tables) is False
    assert is_transformed() is is_watched() is False
