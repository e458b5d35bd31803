"""Chapter 5: answers people give, and a piece of what each is told."""

import copy
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as F

from embedding_layer.dropout import Dropout

# 5.1


def by_function(x, p, training):
    return F.dropout(x, p, training)


def by_comparison(x, p, training):
    if not training:
        return x
    return torch.where(torch.rand(x.shape) < p, 0.0, x / (1 - p))


def by_module(x, p, training):
    return Dropout(p).train(training)(x)


def by_bernoulli_noise(x, p, training):
    noise = torch.empty_like(x).bernoulli_(1 - p) / (1 - p)
    return x * noise if training else x.clone()


def unscaled(x, p, training):
    return x * (torch.rand_like(x) >= p) if training else x


def scaled_in_eval(x, p, training):
    keep = torch.rand_like(x) >= p if training else torch.ones_like(x)
    return x * keep / (1 - p)


def as_in_2014(x, p, training):
    """No scaling while training; the values shrink at evaluation."""
    return x * (torch.rand_like(x) >= p) if training else x * (1 - p)


def ignores_training(x, p, training):
    return F.dropout(x, p)


def never(x, p, training):
    return x


def everything(x, p, training):
    return x * 0


def keeps_p(x, p, training):
    return x * (torch.rand_like(x) < p) / p if training else x


def divides_by_p(x, p, training):
    return x * (torch.rand_like(x) >= p) / p if training else x


def half_twice(x, p, training):
    if not training:
        return x
    keep = torch.rand_like(x[: (len(x) + 1) // 2]) >= p
    return x * torch.cat([keep, keep])[: len(x)] / (1 - p)


def an_exact_share(x, p, training):
    if not training:
        return x
    order = torch.randperm(x.numel()).view(x.shape)
    return x * (order >= round(p * x.numel())) / (1 - p)


def in_float32(x, p, training):
    return by_module(x.float(), p, training)


def whole_columns(x, p, training):
    return x * F.dropout(torch.ones_like(x[:1]), p, training)


def in_place(x, p, training):
    if training:
        x *= F.dropout(torch.ones_like(x), p)
    return x


def with_a_seed(x, p, training):
    generator = torch.Generator().manual_seed(0)
    keep = torch.rand(x.shape, generator=generator) >= p
    return x * keep / (1 - p) if training else x


def always_a_quarter(x, p, training):
    return F.dropout(x, 0.25, training)


def detached(x, p, training):
    return F.dropout(x.detach(), p, training)


def only_the_mask(x, p, training):
    return (torch.rand(len(x)) >= p) / (1 - p)


def in_pairs(x, p, training):
    noise = F.dropout(torch.ones_like(x[..., ::2]), p, training)
    return x * noise.repeat_interleave(2, dim=-1)[..., : x.shape[-1]]


# 5.3


def modes_kept(model, x):
    modes = [(module, module.training) for module in model.modules()]
    out = model.eval()(x)
    for module, mode in modes:
        module.training = mode
    return out


def on_a_copy(model, x):
    return copy.deepcopy(model).eval()(x)


def only_dropout(model, x):
    active = [m for m in model.modules() if isinstance(m, nn.Dropout) and m.training]
    for module in active:
        module.eval()
    out = model(x).detach()
    for module in active:
        module.train()
    return out


def patched(model, x):
    with mock.patch.object(nn.Dropout, "forward", lambda self, value: value):
        return model(x)


def no_grad_only(model, x):
    with torch.no_grad():
        return model(x)


def left_in_eval(model, x):
    return model.eval()(x)


def trains_all(model, x):
    out = model.eval()(x)
    model.train()
    return out


def top_mode_only(model, x):
    mode = model.training
    out = model.eval()(x)
    model.training = mode
    return out


def parts_then_model(model, x):
    """train(mode) on each module: the last call decides for its parts."""
    modes = [(module, module.training) for module in model.modules()]
    out = model.eval()(x)
    for module, mode in reversed(modes):
        module.train(mode)
    return out


def rate_zero(model, x):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model(x)


def wakes_after_eval(model, x):
    out = modes_kept(model, x)
    model.training = model.first.training = model.first[0].training = True
    model.first[1].training = True
    return out


def averaged(model, x):
    torch.manual_seed(0)
    return torch.stack([model(x) for _ in range(9)]).mean(dim=0)


# 5.4


def by_noise(x, p):
    return x * Dropout(p)(torch.ones_like(x[..., :1]))


def by_uniform(x, p):
    kept = torch.rand(x.shape[:2]) >= p  # (batch, seq_len)
    return x * kept.unsqueeze(-1) / (1 - p)


def by_bernoulli(x, p):
    kept = torch.full(x.shape[:2], 1 - p).bernoulli()[..., None]
    return torch.where(kept.bool(), x / (1 - p), 0.0)


def by_channels(x, p):
    """Dropout1d drops whole rows of (batch, channels, length)."""
    return F.dropout1d(x, p)


def by_loops(x, p):
    rows = [F.dropout(torch.ones(1), p) * row for row in x.flatten(0, 1)]
    return torch.stack(rows).view_as(x)


def tokens_in_place(x, p):
    x *= F.dropout(torch.ones_like(x[..., :1]), p)
    return x


def one_axis_short(x, p):
    return x * Dropout(p)(torch.ones(x.shape[:2]))


def only_the_noise(x, p):
    return F.dropout(torch.ones_like(x[..., :1]), p)


def same_in_each_sequence(x, p):
    return x * F.dropout(torch.ones_like(x[:1, :, :1]), p)


def whole_sequences(x, p):
    return x * F.dropout(torch.ones_like(x[:, :1, :1]), p)


def one_column(x, p):
    noise = torch.ones(x.shape[-1])
    noise[0] = 0
    return x * noise / (1 - p)


def tokens_not_scaled(x, p):
    return x * (torch.rand(x.shape[:2]) >= p).unsqueeze(-1)


def tokens_keep_p(x, p):
    return x * (torch.rand(x.shape[:2]) < p).unsqueeze(-1) / (1 - p)


def tokens_scaled_by_p(x, p):
    return x * (torch.rand(x.shape[:2]) >= p).unsqueeze(-1) / p


def tokens_with_a_seed(x, p):
    generator = torch.Generator().manual_seed(0)
    kept = torch.rand(x.shape[:2], generator=generator) >= p
    return x * kept.unsqueeze(-1) / (1 - p)


def tokens_always_a_quarter(x, p):
    return by_noise(x, 0.25)


def in_eval_mode(x, p):
    return x * Dropout(p).eval()(torch.ones_like(x[..., :1]))


def noise_from_x(x, p):
    return x * (Dropout(p)(x[..., :1]) / x[..., :1])


def tokens_in_pairs(x, p):
    noise = Dropout(p)(torch.ones_like(x[:, ::2, :1]))
    return x * noise.repeat_interleave(2, dim=1)


WRONG = {
    "5.1": [
        (lambda x, p, training: None, "your NoneType is none"),
        (in_place, "changed x"),
        (only_the_mask, "not (100, 400)"),
        (never, "nothing was dropped"),
        (everything, "everything was dropped"),
        (whole_columns, "Draw a number for each value"),
        (keeps_p, "share to keep"),
        (in_pairs, "Values beside each other share their luck"),
        (unscaled, "not scaled"),
        (as_in_2014, "as it was in 2014"),
        (divides_by_p, "multiplied by 4.000"),
        (with_a_seed, "dropped the same values"),
        (ignores_training, "still dropped"),
        (scaled_in_eval, "You multiply them by 1.333"),
        (half_twice, "second half of x lost the same values"),
        (an_exact_share, "Each call drops exactly 10000 values"),
        (in_float32, "For float64 the result is torch.float32"),
        (always_a_quarter, "wrong for 0.6"),
        (detached, "No gradient gets back"),
    ],
    "5.2": [
        ("bcde", "set of letters"),
        ({"b", "g"}, "Only the letters"),
        ({"a", "b", "c", "d", "e"}, "(a) eval()"),
        ({"b", "c", "d", "e", "f"}, "(f) train(False)"),
        ({"c", "d", "e"}, "(b) A new model"),
        ({"b", "d", "e"}, "(c) The function"),
        ({"b", "c", "e"}, "(d) A plain list"),
        ({"b", "c", "d"}, "(e) train()"),
    ],
    "5.3": [
        (lambda model, x: None, "your NoneType is none"),
        (no_grad_only, "no_grad does not"),
        (averaged, "not the model's output"),
        (left_in_eval, "left in eval mode"),
        (trains_all, "woke the frozen part"),
        (top_mode_only, "left in another mode"),
        (rate_zero, "lost its dropout"),
        (wakes_after_eval, "goes away in train mode"),
    ],
    "5.4": [
        (lambda x, p: (x, p), "your tuple is none"),
        (tokens_in_place, "changed x"),
        (only_the_noise, "Multiply x by the noise"),
        (one_axis_short, "Give it one more"),
        (in_eval_mode, "A new module is in train mode"),
        (lambda x, p: x * 0, "Everything was dropped"),
        (one_column, "drops a column"),
        (lambda x, p: F.dropout(x, p), "only a part of their vector"),
        (same_in_each_sequence, "Draw for each sequence"),
        (whole_sequences, "Draw for each token"),
        (tokens_in_pairs, "Tokens beside each other share their luck"),
        (tokens_not_scaled, "not scaled"),
        (tokens_keep_p, "share to keep"),
        (tokens_scaled_by_p, "multiplied by 4.000"),
        (lambda x, p: by_noise(x, p / 2) * (1 - p / 2) / (1 - p), "not 25%"),
        (tokens_with_a_seed, "dropped the same tokens"),
        (tokens_always_a_quarter, "wrong for 0.6"),
        (noise_from_x, "the result is not finite"),
        (lambda x, p: by_noise(x.detach(), p), "No gradient gets back"),
    ],
}

RIGHT = {
    "5.1": [by_function, by_comparison, by_module, by_bernoulli_noise],
    "5.2": [{"b", "c", "d", "e"}, frozenset("bcde"), {"(b)", "C", "d)", " e"}],
    "5.3": [modes_kept, on_a_copy, only_dropout, patched],
    "5.4": [by_noise, by_uniform, by_bernoulli, by_channels, by_loops],
}
