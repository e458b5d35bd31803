"""Chapter 4: answers people give, and a piece of what each is told."""

import torch


def stretched(grad, shape):
    filled = (1,) * (grad.dim() - len(shape)) + tuple(shape)
    return [axis for axis, size in enumerate(filled) if size == 1]


def shrink(grad, shape):
    axes = stretched(grad, shape)
    return (grad.sum(dim=axes, keepdim=True) if axes else grad).reshape(shape)


def mean(grad, shape):
    axes = stretched(grad, shape)
    return grad.mean(dim=axes, keepdim=True).reshape(shape)


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
    for place in range(x.shape[1]):
        result[:, place] += pe[place, 0]
    return result


def share(token, position=0.5):
    return position / (position + token)


WRONG = {
    "4.1": [
        ("abdf", "Give a set of letters"),
        ({"a", "b", "c", "d", "f"}, "(c) Aligned at the right"),
        ({"a", "b", "d", "e", "f"}, "(e) Aligned at the right"),
        ({"b", "d", "f"}, "(a) A 1 is put in front"),
        ({"a", "d", "f"}, "(b) The 1 in the middle"),
        ({"a", "b", "f"}, "(d) Two axes"),
        ({"a", "b", "d"}, "(f) Two 1s"),
        ({"a", "g"}, "Only the letters"),
    ],
    "4.2": [
        (lambda grad, shape: None, "not NoneType"),
        (lambda grad, shape: grad, "The shape is (3, 4, 2)"),
        (lambda grad, shape: grad[0], "first sequence only"),
        (lambda grad, shape: grad.mean(dim=0), "mean over the batch"),
        (lambda grad, shape: grad.sum(dim=0) / 2, "so sum over it"),
        (lambda grad, shape: grad.sum(dim=0), "The shape is (4, 2)"),
        (lambda grad, shape: grad.sum(dim=0).reshape(shape), "torch says"),
        (lambda grad, shape: grad.sum(dim=1), "The shape is (3, 2)"),
        (forgets_the_empty_list, "sums over all axes"),
        (only_leading, "the stretched axes are ['batch']"),
        (shrink_in_place, "has changed"),
        (by_unequal_lengths, "aligned at the right"),
    ],
    "4.3": [
        (lambda x, pe: None, "not NoneType"),
        (lambda x, pe: x + pe[: x.shape[0]], "still line 2"),
        (lambda x, pe: x + pe[: x.shape[1]], "torch says"),
        (lambda x, pe: x + pe[: x.shape[1]].squeeze(), "without an axis"),
        (lambda x, pe: x + pe[: x.shape[0], 0], "torch says"),
        (lambda x, pe: x + pe[1 : x.shape[1] + 1, 0], "counted from 1"),
        (lambda x, pe: x + pe[x.shape[1]], "rows 0, 1, 2, 3, 4"),
        (lambda x, pe: x, "Nothing was added"),
        (lambda x, pe: pe[: x.shape[1], 0].expand_as(x), "x is missing"),
        (lambda x, pe: x.transpose(0, 1) + pe[: x.shape[1]], "(5, 3, 2)"),
        (add_in_place, "The x that was given has changed"),
        (mends_the_table_too, "The table that was given has changed"),
        (by_the_longer_axis, "wrong for (4, 4, 2)"),
    ],
    "4.4": [
        (lambda v, d: None, "Return one number"),
        (lambda v, d: 100 * share(2 * d / (v + d)), "in per cent"),
        (lambda v, d: 1 - share(2 * d / (v + d)), "share of the token"),
        (lambda v, d: share(2 / (v + d)), "multiplied by the root of d_model"),
        (lambda v, d: share(2 * d**0.5 / (v + d)), "not by its root"),
        (lambda v, d: share(2 * d / (v + d), 1), "is 1/2, not 1"),
        (lambda v, d: 0.5 / (2 * d / (v + d)), "ratio of the two"),
        (lambda v, d: share((2 * d / (v + d)) ** 0.5, 0.5**0.5), "the roots"),
        (lambda v, d: share(6 * d / (v + d)), "the share is not 0.581"),
        (lambda v, d: share(2 * 512 / 8512), "use the arguments"),
    ],
}

RIGHT = {
    "4.1": [{"a", "b", "d", "f"}, frozenset("abdf"), {"(a)", "B", "d", "f"}],
    "4.2": [
        shrink,
        by_loops,
        by_autograd,
        lambda grad, shape: grad.sum_to_size(shape),
    ],
    "4.3": [
        lambda x, pe: x + pe[: x.shape[1]].transpose(0, 1),
        lambda x, pe: x + pe[: x.shape[1], 0],
        lambda x, pe: (x.transpose(0, 1) + pe[: x.shape[1]]).transpose(0, 1),
        one_by_one,
    ],
    "4.4": [
        lambda v, d: share(2 * d / (v + d)),
        lambda v, d: torch.tensor(share(2 * d / (v + d)), dtype=torch.float64),
        lambda v, d: torch.tensor(share(2 * d / (v + d))),
        lambda v, d: (v + d) / (v + 5 * d),
    ],
}
