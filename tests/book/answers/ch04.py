"""Chapter 4: answers people give, and a piece of what each is told."""

import torch


def stretched(grad, shape):
    filled = (1,) * (grad.dim() - len(shape)) + tuple(shape)
    return [axis for axis, size in enumerate(filled) if size == 1]


def shrink(grad, shape):
    axes = stretched(grad, shape)
    return (grad.sum(dim=axes, keepdim=True) if axes else grad).reshape(shape)


def forgets_the_empty_list(grad, shape):
    return grad.sum(dim=stretched(grad, shape), keepdim=True).reshape(shape)


def by_unequal_lengths(grad, shape):
    """Aligned at the left, where the lengths allow it."""
    left = list(shape)
    axes = []
    for axis, size in enumerate(grad.shape):
        if left and left[0] in (size, 1):
            if left.pop(0) == 1:
                axes.append(axis)
        else:
            axes.append(axis)
    return (grad.sum(dim=axes) if axes else grad).reshape(shape)


def only_leading(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(dim=0)
    return grad.expand(shape) if 1 not in shape else grad[:1].reshape(shape)


def shrink_in_place(grad, shape):
    result = shrink(grad, shape)
    grad.zero_()
    return result


def by_autograd(grad, shape):
    part = torch.zeros(shape, dtype=grad.dtype, requires_grad=True)
    (part.expand(grad.shape) * grad).sum().backward()
    return part.grad


def by_loops(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for axis, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(axis, keepdim=True)
    return grad


def add_in_place(x, pe):
    x += pe[: x.shape[1]].transpose(0, 1)
    return x


def mends_the_table_too(x, pe):
    result = x + pe[: x.shape[1]].transpose(0, 1)
    pe.squeeze_(1)
    return result


def by_the_longer_axis(x, pe):
    if x.shape[0] < x.shape[1]:
        return x + pe[: x.shape[1], 0]
    return x + pe[: x.shape[0]]


def one_by_one(x, pe):
    result = x.clone()
    for position in range(x.shape[1]):
        result[:, position] += pe[position, 0]
    return result


def runs_on(ids, E, P):
    return E[ids] + P[torch.arange(ids.numel()).view(ids.shape)]


def with_dropout(ids, E, P):
    return torch.dropout(E[ids] + P[: ids.shape[1]], 0.5, True)


def halved(ids, E, P):
    return E[ids] + P[torch.arange(ids.shape[1]) // 2]


def into_the_table(ids, E, P):
    E += 1
    return E[ids] + P[2 : 2 + ids.shape[1]]


def other_tokens(ids, E, P):
    return E[(ids + 1) % 10] + P[: ids.shape[1]]


def two_positions(ids, E, P):
    return (2 * P[1 : ids.shape[1] + 1]).expand(*ids.shape, -1)


def no_tokens(ids, E, P):
    return P[: ids.shape[1]].expand(*ids.shape, -1)


def first_word_last(ids, E, P):
    return E[ids] + P[: ids.shape[1]].roll(1, 0)


WRONG = {
    "4.1": [
        ("abd", "Give a set of letters"),
        ({"a", "b", "c", "d"}, "(c) has the shape (4, 1, 8)"),
        ({"a", "b", "d", "e"}, "(e) is one row"),
        ({"a", "b", "d", "f"}, "(f) is (4, 1)"),
        ({"b", "d"}, "(a) Rows 0 to 3"),
        ({"a", "d"}, "(b) only writes down"),
        ({"a", "b"}, "(d) is (4, 1, 8) with"),
        ({"a", "g"}, "Only the letters"),
    ],
    "4.2": [
        (lambda x, pe: None, "not NoneType"),
        (lambda x, pe: x + pe[: x.shape[0]], "still line 1"),
        (lambda x, pe: x + pe[: x.shape[1]], "torch says"),
        (lambda x, pe: x + pe[: x.shape[1]].squeeze(), "without an axis"),
        (lambda x, pe: x + pe[: x.shape[0], 0], "torch says"),
        (lambda x, pe: x + pe[1 : x.shape[1] + 1, 0], "counted from 1"),
        (lambda x, pe: x + pe[x.shape[1]], "the lost colon"),
        (lambda x, pe: x + pe[8], "rows 0, 1, 2, 3, 4"),
        (lambda x, pe: x + pe[9], "torch says: index 9"),
        (lambda x, pe: x, "Nothing was added"),
        (lambda x, pe: pe[: x.shape[1], 0].expand_as(x), "x is missing"),
        (lambda x, pe: x.transpose(0, 1) + pe[: x.shape[1]], "swap them back"),
        (add_in_place, "changed x"),
        (mends_the_table_too, "changed the table"),
        (by_the_longer_axis, "wrong for (4, 4, 2)"),
    ],
    "4.3": [
        ("acef", "Give a set of letters"),
        (set("abcef"), "(b) has dropout"),
        (set("acdef"), "(d) passes both"),
        (set("ace"), "(f) throws its sum away"),
        (set("acf"), "(e) goes on counting"),
        (set("cef"), "(a) subtracts the mean"),
        (set("aef"), "(c) starts over after six"),
        ({"z"}, "Only the letters"),
    ],
    "4.4": [
        (lambda ids, E, P: None, "not NoneType"),
        (lambda ids, E, P: E[ids] + P[: ids.shape[1]], "That is the right line"),
        (lambda ids, E, P: E[ids] + P[1 : ids.shape[1] + 1], "counts from 1"),
        (lambda ids, E, P: E[ids] + P[: ids.shape[1]].flip(0), "counts backwards"),
        (lambda ids, E, P: E[ids] + P[: ids.shape[0]], "as many position rows as"),
        (lambda ids, E, P: E[ids] + P[ids.shape[1]], "positions [0, 1] give"),
        (lambda ids, E, P: E[ids] + P[torch.arange(ids.shape[1]) % 2], "[0, 2] give"),
        (lambda ids, E, P: P[: ids.shape[1]], "The shape is (4, 3)"),
        (runs_on, "sequence 1 alone"),
        (with_dropout, "sequence 0 alone"),
        (into_the_table, "changed the token table"),
        (other_tokens, "of other words"),
        (two_positions, "not rows of P"),
        (no_tokens, "token rows are missing"),
    ],
    "4.5": [
        (lambda grad, shape: None, "not NoneType"),
        (lambda grad, shape: grad, "The shape is (3, 4, 2)"),
        (lambda grad, shape: grad[0], "first sequence only"),
        (lambda grad, shape: grad.mean(dim=0), "mean over the batch"),
        (lambda grad, shape: grad.sum(dim=0) / 2, "so sum over it"),
        (lambda grad, shape: grad.sum(dim=0), "must come back as a 1"),
        (lambda grad, shape: grad.sum(dim=0).reshape(shape), "torch says"),
        (lambda grad, shape: grad.sum(dim=1), "The shape is (3, 2)"),
        (forgets_the_empty_list, "sums over all axes"),
        (only_leading, "the stretched axes are ['batch']"),
        (shrink_in_place, "changed the gradient"),
        (by_unequal_lengths, "aligned at the right"),
    ],
}

RIGHT = {
    "4.1": [{"a", "b", "d"}, frozenset("abd"), {"(a)", "B", "d"}],
    "4.2": [
        lambda x, pe: x + pe[: x.shape[1]].transpose(0, 1),
        lambda x, pe: x + pe[: x.shape[1], 0],
        lambda x, pe: (x.transpose(0, 1) + pe[: x.shape[1]]).transpose(0, 1),
        one_by_one,
        lambda x, pe: (x + pe[: x.shape[1], 0]).float(),
    ],
    "4.3": [set("acef"), frozenset({"(a)", "C", "e", "f"})],
    "4.4": [
        lambda ids, E, P: E[ids] + P[: 2 * ids.shape[1] : 2],
        lambda ids, E, P: E[ids] + P[3 : 3 + ids.shape[1]],
        lambda ids, E, P: E[ids] + P[ids.shape[1] : 2 * ids.shape[1]],
        first_word_last,
    ],
    "4.5": [
        shrink,
        by_loops,
        by_autograd,
        lambda grad, shape: grad.sum_to_size(shape),
    ],
}
