"""Dropout with cut bits has nn.Dropout's law; only the seed's mask differs.

Shares are compared within five standard deviations, with a fixed seed.
"""

import math

import pytest
import torch
from helpers import refuses
from torch import nn
from torch.utils.checkpoint import checkpoint

from embedding_layer import Dropout, TransformerEmbeddings, dropout
from embedding_layer.dropout import dropout_noise

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
RATES = [1e-6, 1e-4, 0.001, 0.1, 0.25, 0.5, 0.9, 0.985]


@pytest.fixture
def cut(monkeypatch):
    """Fails a test that should use cut bits and does not, and counts its draws."""
    calls = []

    def counting(x, rate):
        calls.append(tuple(x.shape))
        return dropout_noise(x, rate)

    monkeypatch.setattr(dropout, "dropout_noise", counting)
    return calls


def near(share, rate, count):
    return abs(share - rate) <= 5 * math.sqrt(rate * (1 - rate) / count) + 1e-12


@pytest.mark.parametrize("rate", RATES)
def test_rate(rate, cut):
    count = 4_000_000
    out = Dropout(rate)(torch.ones(count))
    assert cut
    zeros = (out == 0).sum().item()
    assert near(zeros / count, rate, count), (zeros, rate * count)
    assert torch.equal(out[out != 0].unique(), torch.ones(1).div(1 - rate))


def test_tiny_rates_drop_as_often_as_they_say():
    """16 bits cannot say 1e-6: the darts do. 99 draws of a million values."""
    x = torch.ones(10**6)
    zeros = [(dropout_noise(x, 1e-6) == 0).sum().item() for _ in range(99)]
    assert 99 - 5 * 10 < sum(zeros) < 99 + 5 * 10
    assert 0.6 < torch.tensor(zeros).double().var() < 1.5  # Poisson: variance = mean


def test_rates_between_two_steps_of_16_bits():
    """floor(rate * 2**16) alone would give 1/65536 here, half of what is asked."""
    rate = 1.999 / 2**16
    count = 30_000_000
    zeros = (dropout_noise(torch.ones(count), rate) == 0).sum().item()
    assert near(zeros / count, rate, count)
    assert not near(1 / 2**16, rate, count)  # the test would see the difference


@pytest.mark.parametrize("rate", [*RATES, 0.3, 0.7, 0.95])
def test_bits_and_darts_make_up_the_rate_exactly(rate, monkeypatch):
    """What no count of zeros could see: the two parts are the rate to 12 digits."""
    means = []

    def poisson(mean):
        means.append(mean.item())
        return torch.zeros(())

    monkeypatch.setattr(torch, "poisson", poisson)
    count = 2**16 * 50
    dropout_noise(torch.ones(count), rate)
    by_bits = math.floor(rate * 2**16) / 2**16
    by_darts = (1 - by_bits) * (1 - math.exp(-means[0] / count))
    assert by_bits + by_darts == pytest.approx(rate, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 64, 1000])
def test_neighbours_are_independent(rate, step):
    """Also four and more apart: cuts of one word, of the next, of the next row."""
    zero = dropout_noise(torch.ones(4000, 1000), rate).flatten() == 0
    both = (zero[step:] & zero[:-step]).sum().item() / (zero.numel() - step)
    assert near(both, rate**2, zero.numel() - step)


@pytest.mark.parametrize("lane", range(4))
def test_each_quarter_of_a_word_has_the_rate(lane):
    zero = dropout_noise(torch.ones(10**6, 4), 0.3)[:, lane] == 0
    assert near(zero.float().mean().item(), 0.3, 10**6)


def test_rows_and_columns_have_the_rate():
    zero = (dropout_noise(torch.ones(1000, 1000), 0.2) == 0).double()
    for dim in (0, 1):
        spread = zero.mean(dim).std().item()
        assert 0.9 < spread / math.sqrt(0.2 * 0.8 / 1000) < 1.1


def test_mean_is_kept_and_variance_grows():
    out = Dropout(0.25)(torch.full((10**6,), 3.0)).double()
    assert abs(out.mean() - 3) < 5 * math.sqrt(9 * (0.25 / 0.75) / 10**6)
    assert abs(out.var() / (9 * 0.25 / 0.75) - 1) < 0.01


@pytest.mark.parametrize("dtype", FLOATS)
def test_kept_values_are_torch_s(dtype, cut):
    """Bit for bit what nn.Dropout makes of the values that it keeps."""
    x = torch.randn(64, 64).to(dtype)
    ours, theirs = Dropout(0.1)(x), nn.Dropout(0.1)(x)
    keep = (ours != 0) & (theirs != 0)
    assert cut and ours.dtype == dtype and keep.any()
    assert torch.equal(ours[keep], theirs[keep])


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (5,), (7, 3), (0,), (0, 4)])
def test_odd_sizes(shape, cut):
    out = Dropout(0.5)(torch.ones(shape))
    assert out.shape == shape and cut == [shape]
    assert ((out == 0) | (out == 2)).all()


@pytest.mark.parametrize(("count", "words"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2)])
def test_no_more_random_words_than_are_needed(count, words):
    """64 bits decide over four values; the generator moves on by what was drawn."""
    dropout_noise(torch.ones(count), 0.5)  # a half needs no darts
    after = torch.get_rng_state()
    torch.manual_seed(0)
    torch.empty(words, dtype=torch.int64).random_(-(2**63), None)
    torch.poisson(torch.zeros((), dtype=torch.float64))
    assert torch.equal(after, torch.get_rng_state())


@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_which_of_16_bits_are_dropped(rate, monkeypatch):
    """Of all 2**16 values the lowest, exactly rate * 2**16 of them."""
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16)

    def random_(words, *limits):
        return words.copy_(every.view(torch.int64))

    monkeypatch.setattr(torch.Tensor, "random_", random_)
    zero = dropout_noise(torch.ones(2**16), rate) == 0
    assert zero.sum() == rate * 2**16 and zero[: zero.sum()].all()


def test_every_value_of_an_odd_size_can_go_and_stay():
    zeros = sum((dropout_noise(torch.ones(7), 0.5) == 0).int() for _ in range(200))
    assert ((60 < zeros) & (zeros < 140)).all()


@pytest.mark.parametrize("view", ["t", "slice", "expand", "strided"])
def test_non_contiguous(view, cut):
    x = {
        "t": torch.randn(300, 400).t(),
        "slice": torch.randn(400, 600)[:, 100:400],
        "expand": torch.randn(400, 1).expand(400, 300),
        "strided": torch.randn(400, 600)[:, ::2],
    }[view]
    before = x.clone()
    out = Dropout(0.5)(x)
    assert cut and torch.equal(x, before)
    zero = out == 0
    assert near(zero.float().mean().item(), 0.5, zero.numel())
    assert torch.equal(out[~zero], 2 * x[~zero])
    assert zero.any(0).all() and not zero.all(0).any()  # no column as a whole


# ---- gradients ----


def test_gradient_has_the_mask():
    x = torch.randn(50, 50, requires_grad=True)
    out = Dropout(0.5)(x)
    out.sum().backward()
    assert torch.equal(x.grad == 0, out == 0)
    assert torch.equal(x.grad[out != 0].unique(), torch.tensor([2.0]))


def test_second_derivatives():
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)

    def drop(x):
        torch.manual_seed(3)
        return Dropout(0.5)(x.sin())

    assert torch.autograd.gradcheck(drop, x)
    assert torch.autograd.gradgradcheck(drop, x)


def test_forward_mode():
    x, tangent = torch.randn(10), torch.randn(10)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, tangent)
        out = torch.autograd.forward_ad.unpack_dual(Dropout(0.5)(dual))
    assert torch.allclose(out.tangent * x, out.primal * tangent)


def test_checkpointing_draws_the_same_mask_again():
    x = torch.randn(100, requires_grad=True)
    out = checkpoint(lambda x: Dropout(0.5)(x).sin(), x, use_reentrant=False)
    out.sum().backward()
    assert torch.equal(x.grad == 0, out == 0)


# ---- switches and edges ----


def test_seed():
    drop, x = Dropout(0.5), torch.randn(1000)
    torch.manual_seed(1)
    first, second = drop(x), drop(x)
    torch.manual_seed(1)
    assert torch.equal(drop(x), first) and not torch.equal(first, second)


@pytest.mark.parametrize("inplace", [False, True])
def test_inplace(inplace, cut):
    x = torch.ones(1000)
    out = Dropout(0.5, inplace=inplace)(x)
    assert cut and (out is x) == inplace
    assert torch.equal(x, torch.ones(1000)) == (not inplace)
    w = torch.ones(10, requires_grad=True)
    if inplace:
        with pytest.raises(RuntimeError, match="in-place"):
            Dropout(0.5, inplace=True)(w)
    y = w * 1
    out = Dropout(0.5, inplace=inplace)(y)
    out.sum().backward()
    assert torch.equal(w.grad, out)


def test_eval_is_the_identity_and_draws_nothing():
    x, state = torch.randn(10), torch.get_rng_state()
    assert Dropout(0.5).eval()(x) is x
    assert torch.equal(state, torch.get_rng_state())


def test_rates_zero_and_one():
    x = torch.randn(10, requires_grad=True)
    assert torch.equal(Dropout(0)(x), x)
    out = Dropout(1)(x)
    out.sum().backward()
    assert not out.any() and not x.grad.any()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_is_not_hidden(bad, cut):
    """As in nn.Dropout: 0 * NaN is NaN, dropped or not. A fault stays visible."""
    x = torch.full((1000,), bad)
    for drop in (Dropout(0.5), nn.Dropout(0.5)):
        out = drop(x)
        assert not out.isfinite().any() and (bad == float("inf") or out.isnan().all())


def test_rate_changed_later():
    drop = Dropout(0.1)
    drop.p = 0.5
    out = drop(torch.ones(10000))
    assert near((out == 0).float().mean().item(), 0.5, 10000)
    drop.p = 1.5
    with pytest.raises(ValueError):
        drop(torch.ones(10))


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan"), True, None, "0.1"])
def test_bad_rates(bad):
    """tracel-ai/burn#2694: at construction, with the value."""
    kind = ValueError if isinstance(bad, float) else TypeError
    refuses(kind, lambda: Dropout(bad), "dropout", repr(bad))


def test_default_rates():
    assert Dropout().p == nn.Dropout().p == 0.5 and not Dropout().inplace
    assert TransformerEmbeddings(5, 4, 3).dropout.p == 0.1


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_no_grad_is_not_eval(off, cut):
    """ipolharvard/ethos-ares#20: two switches."""
    with off():
        assert (Dropout(0.5)(torch.ones(1000)) == 0).any()


def test_the_keyword_is_nn_dropout_s():
    x = torch.ones(10)
    assert Dropout(0.5).eval()(input=x) is x
    assert Dropout(0.5)(input=x).shape == x.shape


# ---- where bits cannot be cut, it is nn.Dropout ----


@pytest.mark.parametrize("rate", [0.0, 1.0, 0.99, 0.99999])
def test_torch_takes_the_edges(rate, cut):
    Dropout(rate)(torch.ones(10))
    assert not cut


def test_torch_takes_what_is_not_a_plain_float_tensor(cut):
    assert Dropout(0.5)(torch.ones(4, device="meta")).device.type == "meta"
    Dropout(0.5)(nn.Parameter(torch.ones(4)))
    for drop in (Dropout(0.5), nn.Dropout(0.5)):
        with pytest.raises(RuntimeError):
            drop(torch.ones(4, dtype=torch.long))
    assert not cut


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_torch_takes_vmap(randomness, cut):
    x = torch.ones(50, 100)
    out = torch.func.vmap(Dropout(0.5), randomness=randomness)(x)
    zero = out == 0
    assert 0.4 < zero.float().mean() < 0.6 and not cut
    assert torch.equal(zero, zero[:1].expand_as(zero)) == (randomness == "same")


def test_torch_takes_grad_and_jacobians(cut):
    x = torch.ones(6)
    grad = torch.func.grad(lambda x: Dropout(0.5)(x).sum())(x)
    assert set(grad.tolist()) <= {0.0, 2.0}
    forward = torch.func.jacfwd(Dropout(0.5), randomness="same")(x)
    assert set(forward.diagonal().tolist()) <= {0.0, 2.0}
    assert not cut
