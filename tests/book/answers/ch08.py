"""Chapter 8: answers people give, and a piece of what each is told."""

import torch
from torch.nn import functional as F

LINE = "There is nothing either good or bad, but thinking makes it so"


def by_distance(sums, table):
    return torch.cdist(sums, table).argmin(dim=1)


def by_half_square(sums, table):
    return (sums @ table.T - table.square().sum(1) / 2).argmax(1)


def by_loop(sums, table):
    return [int((table - s).square().sum(1).argmin()) for s in sums]


def shifted_in_place(sums, table):
    result = by_half_square(sums, table)
    table -= table.mean(0)
    return result


def share(vocab_size, d_model):
    token = 2 * d_model / (vocab_size + d_model)
    return 0.5 / (token + 0.5)


WRONG = {
    "8.1": [
        ("bcf", "Give a set of letters"),
        ({"a", "b", "c", "f"}, "(a) With 16 columns"),
        ({"b", "c", "d", "f"}, "(d) Thirty times"),
        ({"b", "c", "e", "f"}, "(e) The positions are whispered"),
        ({"c", "f"}, "(b) With 64 columns"),
        ({"b", "f"}, "(c) Twice as large"),
        ({"b", "c"}, "(f) This is a concatenation"),
    ],
    "8.2": [
        (42, "Give the text, not int"),
        ([3, 4], "Give the text, not list"),
        ("  ", "empty text"),
        (
            " so it makes thinking but, bad or good either nothing is There",
            "in another",
        ),
        ("cat dog", "Not one word"),
        (LINE.replace(" thinking makes", "MoscowMoscow"), "not the largest dot"),
        (LINE.replace("bad", "sad"), "12 of the 13 words and commas"),
    ],
    "8.3": [
        (lambda sums, table: None, "Return a tensor"),
        (lambda sums, table: (sums @ table.T).max(), "return 200 indices"),
        (lambda sums, table: (sums @ table.T).argmax(1), "plain dot product"),
        (lambda sums, table: torch.cdist(sums, table).argmax(1), "farthest"),
        (
            lambda sums, table: (sums @ table.T - table.square().sum(1)).argmax(1),
            "take off half",
        ),
        (
            lambda sums, table: (sums @ F.normalize(table).T).argmax(1),
            "direction alone",
        ),
        (
            lambda sums, table: (sums @ table.T - table.norm(dim=1) / 2).argmax(1),
            "not half of its square",
        ),
        (
            lambda sums, table: (sums @ table.T + table.square().sum(1) / 2).argmax(1),
            "must lose",
        ),
        (shifted_in_place, "changed the table"),
        (lambda sums, table: torch.zeros(len(sums)), "are the nearest row"),
    ],
    "8.4": [
        (lambda v, d: 100 * share(v, d), "in percent"),
        (lambda v, d: 1 - share(v, d), "token's share"),
        (lambda v, d: 0.5 / (0.5 + 2 / (v + d)), "is missing"),
        (lambda v, d: 0.5 / (0.5 + 2 * d * d / (v + d)), "once"),
        (lambda v, d: 0.5 / (0.5 + 2 * d**0.5 / (v + d)), "not √d"),
        (lambda v, d: 0.5**0.5 / (0.5**0.5 + (2 * d / (v + d)) ** 0.5), "not of stand"),
        (lambda v, d: 1 / (1 + 2 * d / (v + d)), "not 1"),
        (lambda v, d: 0.5 * (v + d) / (2 * d), "by both together"),
        (lambda v, d: 0.5 / (0.5 + 2 * d / (v + d) / 3), "third is in it"),
        (lambda v, d: 0.5 / (0.5 + 6 * d / (v + d)), "that variance already"),
        (lambda v, d: 0.948, "is too much"),
        (lambda v, d: 0.1, "is too little"),
        (lambda v, d: "much", "number"),
    ],
}

RIGHT = {
    "8.1": [{"b", "c", "f"}, frozenset("bcf"), {"(b)", "C", "f"}],
    "8.2": [" " + LINE, LINE + "\n", [" " + word for word in LINE.split()]],
    "8.3": [by_distance, by_half_square, by_loop],
    "8.4": [
        share,
        lambda v, d: torch.tensor(share(v, d)),
        lambda v, d: round(share(v, d), 4),
    ],
}
