"""Chapter 10: answers people give, and a piece of what each is told."""

import torch
from torch.nn import functional as F


def cosine(table, i):
    rows = F.normalize(table - table.mean(dim=0), dim=1)
    return rows @ rows[i]


def neighbours(table, i, k):
    near = cosine(table, i)
    near[i] = -2
    return near.topk(k).indices


def by_sorting(table, i, k):
    near = cosine(table, i).tolist()
    order = sorted(range(len(near)), key=lambda j: -near[j])
    return [j for j in order if j != i][:k]


def by_function(table, i, k):
    rows = table - table.mean(dim=0)
    near = F.cosine_similarity(rows, rows[i : i + 1])
    return near.argsort(descending=True)[1 : k + 1]


def with_itself(table, i, k):
    return cosine(table, i).topk(k).indices


def mean_left_in(table, i, k):
    rows = F.normalize(table, dim=1)
    return (rows @ rows[i]).topk(k + 1).indices[1:]


def mean_of_each_row(table, i, k):
    rows = F.normalize(table - table.mean(dim=1, keepdim=True), dim=1)
    return (rows @ rows[i]).topk(k + 1).indices[1:]


def products(table, i, k):
    rows = table - table.mean(dim=0)
    near = rows @ rows[i]
    near[i] = -torch.inf
    return near.topk(k).indices


def farthest(table, i, k):
    return cosine(table, i).topk(k, largest=False).indices


def by_distance(table, i, k):
    return (table - table[i]).norm(dim=1).topk(k + 1, largest=False).indices[1:]


def reversed_order(table, i, k):
    return neighbours(table, i, k).flip(0)


def values(table, i, k):
    return cosine(table, i).topk(k + 1).values[1:]


def unit_first(table, i, k):
    rows = F.normalize(table, dim=1)
    rows = F.normalize(rows - rows.mean(dim=0), dim=1)
    return (rows @ rows[i]).topk(k + 1).indices[1:]


def in_numpy(table, i, k):
    return neighbours(table, i, k).numpy()


def in_place(table, i, k):
    table -= table.mean(dim=0)
    return neighbours(table, i, k)


def always_five(table, i, k):
    return neighbours(table, 11, 5)[:k] if k <= 5 else neighbours(table, 11, k)


def parts(head, streams, targets, v):
    p = (streams @ head.T).softmax(dim=1)[:, v]
    return p, (targets == v).to(p.dtype)


def pull_on(head, streams, targets, v):
    p, y = parts(head, streams, targets, v)
    return (p - y) @ streams / len(streams)


def by_whole_matrix(head, streams, targets, v):
    p = (streams @ head.T).softmax(dim=1)
    p[torch.arange(len(targets)), targets] -= 1
    return (p.T @ streams / len(targets))[v]


def by_loop(head, streams, targets, v):
    total = torch.zeros_like(streams[0])
    for h, target in zip(streams, targets, strict=True):
        p = (head @ h).softmax(dim=0)[v]
        total = total + (p - (target == v).to(p.dtype)) * h
    return total / len(targets)


def only_where_right(head, streams, targets, v):
    p, y = parts(head, streams, targets, v)
    return ((p - y) * y) @ streams / len(streams)


def mean_where_right(head, streams, targets, v):
    p, y = parts(head, streams, targets, v)
    return ((p - y) * y) @ streams / y.sum()


def by_vocabulary(head, streams, targets, v):
    p, y = parts(head, streams, targets, v)
    return (p - y) @ streams / len(head)


def with_bools(head, streams, targets, v):
    p, _ = parts(head, streams, targets, v)
    return (p - (targets == v)) @ streams / len(streams)


def with_logits(head, streams, targets, v):
    _, y = parts(head, streams, targets, v)
    return ((streams @ head.T)[:, v] - y) @ streams / len(streams)


def over_places(head, streams, targets, v):
    _, y = parts(head, streams, targets, v)
    return ((streams @ head.T).softmax(dim=0)[:, v] - y) @ streams / len(streams)


def not_summed(head, streams, targets, v):
    p, y = parts(head, streams, targets, v)
    return (p - y)[:, None] * streams / len(streams)


def no_target(head, streams, targets, v):
    p, _ = parts(head, streams, targets, v)
    return p @ streams / len(streams)


def no_push(head, streams, targets, v):
    _, y = parts(head, streams, targets, v)
    return -y @ streams / len(streams)


def row_three(head, streams, targets, v):
    return pull_on(head, streams, targets, 3)


def zero_for_itself(table, i, k):
    rows = F.normalize(table - table.mean(dim=0))
    cosine = rows @ rows[i]
    cosine[i] = 0
    return cosine.topk(k).indices


def in_float32(head, streams, targets, v):
    return pull_on(head, streams, targets, v).float()


WRONG = {
    "10.1": [
        ("bcef", "set of letters"),
        ({"b", "h"}, "Only the letters"),
        ({"a", "b", "c", "e", "f"}, "(a) The gradient"),
        ({"c", "e", "f"}, "(b) A tied row"),
        ({"b", "e", "f"}, "(c) Adam's running means"),
        ({"b", "c", "d", "e", "f"}, "(d) Adam's means"),
        ({"b", "c", "f"}, "(e) AdamW"),
        ({"b", "c", "e"}, "(f) Momentum"),
        ({"b", "c", "e", "f", "g"}, "(g) SparseAdam"),
    ],
    "10.2": [
        (values, "not their cosines"),
        (lambda table, i, k: None, "Return a tensor"),
        (lambda table, i, k: 3, "of 0 axes"),
        (unit_first, "before the mean"),
        (zero_for_itself, "0 is no last"),
        (lambda table, i, k: neighbours(table, i, k + 1), "there are 6"),
        (in_place, "The table has changed"),
        (with_itself, "among its neighbours"),
        (mean_left_in, "mean row left in"),
        (mean_of_each_row, "mean of each row"),
        (products, "largest products"),
        (farthest, "farthest rows"),
        (by_distance, "nearest by distance"),
        (reversed_order, "in another order"),
        (lambda table, i, k: list(range(k)), "has the neighbours"),
        (always_five, "wrong for row 0"),
    ],
    "10.3": [
        (lambda *a: 0.5, "Return a tensor, not float"),
        (not_summed, "Sum over the positions"),
        (lambda *a: -pull_on(*a), "The sign"),
        (lambda *a: 12 * pull_on(*a), "divide by the number"),
        (no_target, "there it is p - 1"),
        (no_push, "also pushes"),
        (only_where_right, "At all others"),
        (mean_where_right, "All n count"),
        (by_vocabulary, "number of tokens"),
        (with_bools, "True and False"),
        (with_logits, "no probability"),
        (over_places, "not over the positions"),
        (lambda *a: pull_on(*a) + 1, "another gradient"),
        (row_three, "wrong for row 4"),
    ],
}

RIGHT = {
    "10.1": [{"b", "c", "e", "f"}, frozenset("bcef"), {"(b)", "C", "e)", " f"}],
    "10.2": [neighbours, by_sorting, by_function, in_numpy],
    "10.3": [pull_on, by_whole_matrix, by_loop, in_float32],
}
