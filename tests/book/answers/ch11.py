"""Chapter 11: answers people give, and a piece of what each is told."""

import torch


def whose(ids, rows, world):
    size = -(-rows // world)
    return ids // size, ids % size


def by_borders(ids, rows, world):
    size = (rows + world - 1) // world
    borders = torch.arange(1, world) * size
    rank = torch.bucketize(ids, borders, right=True)
    return [rank, ids - rank * size]


def in_place(ids, rows, world):
    rank, index = whose(ids, rows, world)
    ids %= -(-rows // world)
    return rank, index


def part(padding_idx, first, count):
    if padding_idx is None or not first <= padding_idx < first + count:
        return None
    return padding_idx - first


WRONG = {
    "11.1": [
        (lambda ids, rows, world: ids // world, "two tensors"),
        (lambda ids, rows, world: (ids / -(-rows // world), ids), "not with /"),
        (lambda ids, rows, world: (ids // (rows // world), ids), "Rounded down"),
        (lambda ids, rows, world: (ids % world, ids // world), "like cards"),
        (lambda ids, rows, world: (ids // -(-rows // world), ids), "of the table"),
        (lambda ids, rows, world: (ids * 0, ids), "ranks are off"),
        (lambda ids, rows, world: (whose(ids, rows, world)[0], ids * 0), "less the"),
        (in_place, "changed the ids"),
    ],
    "11.2": [
        (lambda p, first, count: p, "handed on as it is"),
        (lambda p, first, count: None, "this part has it."),
        (lambda p, first, count: part(p, first, count) or None, "0 is an index"),
        (lambda p, first, count: None if p is None else p - first, "negative index"),
        (
            lambda p, first, count: (
                None if p is None or p < first else min(p - first, count - 1)
            ),
            "no padding row here",
        ),
        (
            lambda p, first, count: None if part(p, first, count) is None else p + 1,
            "is row 3 of the part",
        ),
    ],
    "11.3": [
        ("abce", "Give a set of letters"),
        ({"b", "c", "e"}, "(a) One addend"),
        ({"a", "c", "e"}, "(b) For finite"),
        ({"a", "b", "e"}, "(c) Nothing"),
        ({"a", "b", "c", "d", "e"}, "(d) Here both"),
        ({"a", "b", "c"}, "(e) Each row"),
        ({"a", "b", "c", "e", "f"}, "(f) A token"),
    ],
}

RIGHT = {
    "11.1": [whose, by_borders],
    "11.2": [part],
    "11.3": [{"a", "b", "c", "e"}, frozenset("abce"), {"(a)", "B", "c", "e"}],
}
