"""Chapter 9: answers people give, and a piece of what each is told."""

import math

import torch


def masked(x, table, vocab_size):
    logits = x @ table.T
    padding = torch.arange(len(table)) >= vocab_size
    return logits.masked_fill(padding, -torch.inf).log_softmax(-1)


def in_two_parts(x, table, vocab_size):
    real = (x @ table[:vocab_size].T).log_softmax(-1)
    rest = torch.full((len(x), len(table) - vocab_size), -torch.inf)
    return torch.cat([real, rest.to(real)], dim=1)


def zero_logits(x, table, vocab_size):
    logits = x @ table.T
    logits[:, vocab_size:] = 0
    return logits.log_softmax(-1)


def masked_after(x, table, vocab_size):
    result = (x @ table.T).log_softmax(-1)
    result[:, vocab_size:] = -torch.inf
    return result


def large_negative(x, table, vocab_size):
    logits = x @ table.T
    logits[:, vocab_size:] = -1e4
    return logits.log_softmax(-1)


def wipes_the_table(x, table, vocab_size):
    table[vocab_size:] = 0
    return masked(x, table, vocab_size)


def loss(v, d, s):
    return math.log(v) + s * s * d / 2


WRONG = {
    "9.1": [
        ("small", "Return a number"),
        (-0.01, "larger than 0"),
        (0.02, "grows with the root"),
        (0.02 * 768 / 4096, "not with the width"),
        (0.02 * (4096 / 768) ** 0.5, "wrong way round"),
        (1 / 64, "a spread of 1"),
        (0.0087**2, "the variance"),
        (0.55, "4096 products"),
        (0.012, "a spread of 0.77"),
    ],
    "9.2": [
        ("bce", "Give a set of letters"),
        ({"a", "b", "c", "e"}, "(a) is ln V"),
        ({"b", "c", "d", "e"}, "(d) Without blocks"),
        ({"c", "e"}, "(b) has the echo"),
        ({"b", "e"}, "(c) The rows"),
        ({"b", "c"}, "(e) is below"),
    ],
    "9.3": [
        (lambda v, d, s: math.log(v), "equal logits"),
        (lambda v, d, s: math.log(v) + s * s * d, "half of the variance"),
        (lambda v, d, s: math.log(v) + s * d**0.5 / 2, "not the standard"),
        (lambda v, d, s: math.log(v) + s * s / 2, "adds up d_model"),
        (lambda v, d, s: math.log2(v) + s * s * d / 2, "not log2"),
        (lambda v, d, s: math.log10(v) + s * s * d / 2, "not log10"),
        (lambda v, d, s: math.log(v) + s * d**0.5, "σ² is the variance"),
        (lambda v, d, s: 11.0, "yours 11.000"),
        (lambda v, d, s: None, "Return a number"),
    ],
    "9.4": [
        (lambda x, table, v: None, "Return a tensor"),
        (lambda x, table, v: (x @ table[:v].T).log_softmax(-1), "Keep a column"),
        (lambda x, table, v: (x @ table.T).log_softmax(-1), "before the softmax"),
        (lambda x, table, v: masked(x, table, v).exp(), "logarithm is wanted"),
        (lambda x, table, v: masked(x, table, v).T, "wanted is (3, 16)"),
        (zero_logits, "e^0 = 1"),
        (large_negative, "is -inf"),
        (wipes_the_table, "changed the table"),
        (lambda x, table, v: masked(x, table, v) * torch.nan, "NaN"),
    ],
}

RIGHT = {
    "9.1": [0.02 * (768 / 4096) ** 0.5, 0.0087, torch.tensor(0.5543 / 64)],
    "9.2": [{"b", "c", "e"}, frozenset("bce"), {"(b)", "C", "e"}],
    "9.3": [
        loss,
        lambda v, d, s: torch.tensor(loss(v, d, s)),
        lambda v, d, s: math.log(v * math.exp(s * s * d / 2)),
    ],
    "9.4": [masked, in_two_parts],
}
