"""Chapter 5: answers people give, and a piece of what each is told."""

import math

import torch
from torch.nn import functional as F


def by_noise(x, p):
    return x * F.dropout(torch.ones_like(x[..., :1]), p)


def by_comparison(x, p):
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


def in_place(x, p):
    x *= F.dropout(torch.ones_like(x[..., :1]), p)
    return x


def one_axis_short(x, p):
    return x * F.dropout(torch.ones(x.shape[:2]), p)


def only_the_noise(x, p):
    return F.dropout(torch.ones_like(x[..., :1]), p)


def same_in_each_sequence(x, p):
    return x * F.dropout(torch.ones_like(x[:1, :, :1]), p)


def whole_sequences(x, p):
    return x * F.dropout(torch.ones_like(x[:, :1, :1]), p)


def whole_columns(x, p):
    noise = torch.ones(x.shape[-1])
    noise[0] = 0
    return x * noise / (1 - p)


def not_scaled(x, p):
    return x * (torch.rand(x.shape[:2]) >= p).unsqueeze(-1)


def keeps_p(x, p):
    return x * (torch.rand(x.shape[:2]) < p).unsqueeze(-1) / (1 - p)


def scaled_by_p(x, p):
    return x * (torch.rand(x.shape[:2]) >= p).unsqueeze(-1) / p


def with_a_seed(x, p):
    generator = torch.Generator().manual_seed(0)
    kept = torch.rand(x.shape[:2], generator=generator) >= p
    return x * kept.unsqueeze(-1) / (1 - p)


def always_a_quarter(x, p):
    return by_noise(x, 0.25)


def in_eval_mode(x, p):
    return F.dropout(x, p, training=False)


WRONG = {
    "5.1": [
        ("bcde", "set of letters"),
        ({"b", "g"}, "Only the letters"),
        ({"a", "b", "c", "d", "e"}, "(a) eval()"),
        ({"b", "c", "d", "e", "f"}, "(f) train(False)"),
        ({"c", "d", "e"}, "(b) A new model"),
        ({"b", "d", "e"}, "(c) The function"),
        ({"b", "c", "e"}, "(d) A plain list"),
        ({"b", "c", "d"}, "(e) train()"),
    ],
    "5.2": [
        (lambda r: None, "Return one number"),
        (lambda r: r / (1 + r), "square the ratio first"),
        (lambda r: 1 / (1 + r**2), "share that is kept"),
        (lambda r: r**2, "not p."),
        (lambda r: math.sqrt(r) / (1 + math.sqrt(r)), "You took a root"),
        (lambda r: math.sqrt(r / (1 - r)), "the ratio for a rate"),
        (lambda r: 100 * r**2 / (1 + r**2), "per cent"),
        (lambda r: r, "not 0.500"),
        (lambda r: 0.2, "Right for 0.5, wrong for 0"),
        (lambda r: 1 - r**2 / (1 - r**2), "not 0.667"),
    ],
    "5.3": [
        (lambda p, cut: (p, cut), "Return one number"),
        (lambda p, cut: p - cut, "The second chance meets only"),
        (lambda p, cut: (1 - p) / (1 - cut), "second chance keeps"),
        (lambda p, cut: (p - cut) / p, "not by p"),
        (lambda p, cut: cut / p, "part of the zeros"),
        (lambda p, cut: (p - cut) / (1 - p), "has kept, 1 - cut."),
        (lambda p, cut: math.log((1 - cut) / (1 - p)), "darts for each place"),
        (lambda p, cut: 1 - (1 - p) * (1 - cut), "rate of both"),
        (lambda p, cut: p, "not 0.700"),
        (lambda p, cut: 0.625, "wrong for 0.1 and 0.1"),
    ],
    "5.4": [
        (lambda x, p: (x, p), "Return a tensor, not tuple"),
        (in_place, "The x that was given has changed"),
        (only_the_noise, "asked was (40, 250, 6)"),
        (one_axis_short, "raised RuntimeError"),
        (in_eval_mode, "Nothing was dropped"),
        (lambda x, p: x * 0, "Everything was dropped"),
        (whole_columns, "drops a column"),
        (lambda x, p: F.dropout(x, p), "only a part of their vector"),
        (same_in_each_sequence, "Draw for each sequence"),
        (whole_sequences, "Draw for each token"),
        (not_scaled, "not scaled"),
        (keeps_p, "share to keep"),
        (scaled_by_p, "multiplied by 4.000"),
        (lambda x, p: by_noise(x, p / 2) * (1 - p / 2) / (1 - p), "asked were 25%"),
        (with_a_seed, "dropped the same tokens"),
        (always_a_quarter, "wrong for 0.6"),
    ],
}

RIGHT = {
    "5.1": [{"b", "c", "d", "e"}, frozenset("bcde"), {"(b)", "C", "d)", " e"}],
    "5.2": [
        lambda r: r**2 / (1 + r**2),
        lambda r: 1 - 1 / (1 + r * r),
        lambda r: torch.tensor(r * r / (1 + r * r), dtype=torch.float64),
    ],
    "5.3": [
        lambda p, cut: 1 - (1 - p) / (1 - cut),
        lambda p, cut: (p - cut) / (1 - cut),
        lambda p, cut: -math.expm1(math.log1p(-p) - math.log1p(-cut)),
        lambda p, cut: torch.tensor((p - cut) / (1 - cut), dtype=torch.float64),
    ],
    "5.4": [by_noise, by_comparison, by_bernoulli, by_channels, by_loops],
}
