"""The layer as a whole: values, results, saving. Contract promises stand there."""

import copy
import io
import pickle
from functools import partial

import pytest
import torch
from helpers import refuses
from peers import PlainTables
from torch import nn

from embedding_layer import Dropout, TransformerEmbeddings


def twin_of(emb):
    """Two plain nn.Embeddings with the same tables."""
    plain = PlainTables(*emb.token_embeddings.weight.shape, 16)
    plain.load_state_dict(emb.state_dict())
    return plain.to(emb.token_embeddings.weight.device).train(emb.training)


# ---- the public surface ----


def test_parts(emb):
    assert emb.d_model == 8 and type(emb.d_model) is int
    for table, shape in (
        (emb.token_embeddings, (50, 8)),
        (emb.position_embeddings, (16, 8)),
    ):
        assert isinstance(table, nn.Embedding) and table.weight.shape == shape
    assert isinstance(emb.dropout, nn.Dropout) and emb.dropout.p == 0.1
    names = ["token_embeddings.weight", "position_embeddings.weight"]
    assert list(emb.state_dict()) == names
    assert TransformerEmbeddings(50, 8, 16, 0.3).dropout.p == 0.3


def test_extras_are_keyword_only(emb):
    ids = torch.zeros(1, 2, dtype=torch.long)
    for call in (partial(TransformerEmbeddings, 50, 8, 16, 0.1, 0), partial(emb, ids)):
        refuses(TypeError, partial(call, ids), "positional")
    emb = TransformerEmbeddings(50, 8, 16, padding_idx=3, init_std=0.5, sparse=True)
    assert emb.token_embeddings.padding_idx == 3 and emb.token_embeddings.sparse
    assert 0.4 < emb.token_embeddings.weight.std() < 0.6
    assert 0.4 < emb.position_embeddings.weight.std() < 0.6
    assert not emb.position_embeddings.sparse
    meta = TransformerEmbeddings(50, 8, 16, device="meta", dtype=torch.float64)
    kinds = {(p.device.type, p.dtype) for p in meta.parameters()}
    assert kinds == {("meta", torch.float64)}


# ---- values ----


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (2, 5), (5, 5), (2, 15)])
def test_bit_for_bit_the_plain_module(emb, device, shape, grad):
    emb, ids = emb.to(device), torch.randint(0, 50, shape, device=device)
    with torch.set_grad_enabled(grad):
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
            emb.to(dtype)
            out = emb(ids)
            assert torch.equal(out, twin_of(emb).to(dtype)(ids))
            assert out.is_contiguous() and out.requires_grad == grad


def test_gradients_are_the_plain_module_s(emb, device):
    emb = emb.to(device)
    plain = twin_of(emb)
    ids = torch.randint(0, 50, (3, 7), device=device)
    scale = torch.randn(3, 7, 8, device=device)
    for m in (emb, plain):
        (m(ids).sin() * scale).sum().backward()
    for a, b in zip(emb.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, atol=1e-6)
        assert device.type != "cpu" or torch.equal(a.grad, b.grad)


@pytest.mark.parametrize("wide", ["token_embeddings", "position_embeddings"])
def test_tables_of_two_dtypes_sum_in_the_wider_one(emb, wide):
    getattr(emb, wide).double()
    ids = torch.randint(0, 50, (2, 3))
    out = emb(ids)
    want = emb.token_embeddings(ids) + emb.position_embeddings.weight[:3]
    assert out.dtype == torch.float64 and torch.equal(out, want)


@pytest.mark.parametrize("wide", ["token_embeddings", "position_embeddings"])
def test_tables_of_two_widths_do_not_fit(emb, wide):
    """A table of one column would be stretched by broadcasting."""
    rows = getattr(emb, wide).weight.shape[0]
    getattr(emb, wide).weight = nn.Parameter(torch.randn(rows, 1))
    ids = torch.randint(0, 50, (2, 3))
    refuses(ValueError, lambda: emb(ids), "do not fit")


def test_a_result_belongs_to_the_caller(emb, device):
    emb, ids = emb.to(device), torch.randint(0, 50, (1, 1), device=device)
    state = copy.deepcopy(emb.state_dict())
    with torch.no_grad():
        emb(ids).zero_()
        assert emb(ids).any()
    assert all(torch.equal(v, state[k]) for k, v in emb.state_dict().items())


def test_a_layer_that_raised_still_works(emb):
    ids = torch.randint(0, 50, (2, 3))
    before = emb(ids)
    for bad in (torch.tensor([[99]]), torch.zeros(1, 17, dtype=torch.long)):
        with pytest.raises((IndexError, ValueError)):
            emb(bad)
    assert torch.equal(emb(ids), before)


def test_monte_carlo_dropout(emb):
    """Only the dropout in train mode: it drops."""
    emb.dropout.train()
    assert (emb(torch.zeros(8, 15, dtype=torch.long)) == 0).any()


# ---- saving ----


def test_saved_and_loaded(emb):
    """pytorch/pytorch#54580: after a forward pass nothing stays on the module."""
    ids = torch.randint(0, 50, (2, 5))
    emb.train()(ids)
    for thing, safe in ((emb.state_dict(), True), (emb, False)):
        file = io.BytesIO()
        torch.save(thing, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=safe)
        again = loaded if not safe else TransformerEmbeddings(50, 8, 16)
        if safe:
            again.load_state_dict(loaded)
        assert torch.equal(again.eval()(ids), emb.eval()(ids))


def test_pickled_dropout():
    again = pickle.loads(pickle.dumps(Dropout(0.3)))
    assert type(again) is Dropout and repr(again) == repr(Dropout(0.3))


def test_safetensors(emb, tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    file = str(tmp_path / "emb.safetensors")
    ids = torch.randint(0, 50, (2, 3))
    safetensors.save_file(emb.state_dict(), file)
    fresh = TransformerEmbeddings(50, 8, 16).eval()
    fresh.load_state_dict(safetensors.load_file(file))
    assert torch.equal(fresh(ids), emb(ids))
    safetensors.save_model(emb, file)
    fresh = TransformerEmbeddings(50, 8, 16).eval()
    safetensors.load_model(fresh, file)
    assert torch.equal(fresh(ids), emb(ids))
