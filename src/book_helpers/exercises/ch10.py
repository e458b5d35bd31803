"""Checks for chapter 10."""

import torch
from torch.nn import functional as F

from book_helpers.exercises import Wrong, call, chosen, exercise, expect, tensor_of


@exercise("10.1")
def check_10_1(answer):
    letters = chosen(answer, "abcdefg")
    expect(
        "a" not in letters,
        "(a) The gradient of an absent row is zero, and SGD remembers nothing.",
    )
    expect(
        "b" in letters,
        "(b) A tied row is a candidate at every position: the softmax pushes it.",
    )
    expect(
        "c" in letters,
        "(c) Adam's running means still hold the last batch.",
    )
    expect(
        "d" not in letters,
        "(d) Adam's means are zero as long as no gradient ever came.",
    )
    expect(
        "e" in letters,
        "(e) AdamW shrinks every row in every step, used or not.",
    )
    expect("f" in letters, "(f) Momentum is a memory too: it goes on moving the row.")
    expect(
        "g" not in letters,
        "(g) SparseAdam touches the rows that the gradient holds, and no other.",
    )
    return "A memory, a decay or a tie: one of the three must be there."


def ids(result, k):
    """The result as a list of k ids, or tell the reader."""
    result = tensor_of(result)
    expect(
        not result.is_floating_point(),
        "Return the ids of the neighbours, not their cosines.",
    )
    expect(result.dim() == 1, f"Return k ids, not a tensor of {result.dim()} axes.")
    result = result.tolist()
    expect(len(result) == k, f"Asked for were {k} ids, there are {len(result)}.")
    return result


def ranked(rows, i, *, unit=True):
    """All ids but `i` by their product with row `i`, largest first."""
    if unit:
        rows = F.normalize(rows, dim=1)
    order = (rows @ rows[i]).argsort(descending=True).tolist()
    order.remove(i)
    return order


@exercise("10.2")
def check_10_2(neighbours):
    rng = torch.Generator().manual_seed(19)
    length = torch.rand(40, 1, generator=rng, dtype=torch.float64) * 3 + 0.2
    table = torch.randn(40, 6, generator=rng, dtype=torch.float64) * length
    table += torch.randn(6, generator=rng, dtype=torch.float64)
    before, i, k = table.clone(), 11, 5
    found = ids(call(neighbours, table, i, k), k)
    expect(
        torch.equal(table, before),
        "The table has changed. Subtract the mean into a new tensor.",
    )
    expect(i not in found, "The row itself is among its neighbours. Leave it out.")
    centred = table - table.mean(dim=0)
    right = ranked(centred, i)
    expect(
        found != ranked(table, i)[:k],
        "Those are the neighbours with the mean row left in. Take it off first.",
    )
    units = F.normalize(table, dim=1)
    expect(
        found != ranked(units - units.mean(dim=0), i)[:k],
        "You brought the rows to one length before the mean was taken off. Take it "
        "off first: it is the mean of the table's rows as they are.",
    )
    expect(
        found != ranked(table - table.mean(dim=1, keepdim=True), i)[:k],
        "You took the mean of each row. The mean row is the mean over the rows: dim=0.",
    )
    expect(
        found != ranked(centred, i, unit=False)[:k],
        "Those are the largest products. For a cosine both rows must have length 1.",
    )
    expect(
        found != right[::-1][:k],
        "Those are the farthest rows. The nearest have the largest cosine.",
    )
    distance = (centred - centred[i]).norm(dim=1).argsort().tolist()
    expect(
        found != distance[1 : k + 1],
        "Those are the nearest by distance. The cosine was asked for.",
    )
    expect(
        found == right[:k] or set(found) != set(right[:k]),
        "The right ids in another order: the nearest comes first.",
    )
    expect(found == right[:k], f"Row {i} has the neighbours {right[:k]}, not {found}.")
    for i, k in ((0, 1), (39, 7), (11, 39)):
        found = ids(call(neighbours, table, i, k), k)
        expect(
            found == ranked(centred, i)[:k],
            f"Right for row 11 and its five nearest, wrong for row {i} with k = {k}."
            + (" Put -inf where the row meets itself: 0 is no last." if k > 7 else ""),
        )
    return "Off with the mean, then the angle."


@exercise("10.3")
def check_10_3(pull_on):
    rng = torch.Generator().manual_seed(5)
    head = torch.randn(9, 4, generator=rng, dtype=torch.float64)
    streams = torch.randn(12, 4, generator=rng, dtype=torch.float64)
    targets = torch.tensor([3, 1, 3, 0, 8, 7, 3, 2, 2, 5, 1, 6])
    v = 3
    try:
        result = call(pull_on, head, streams, targets, v)
    except RuntimeError as error:
        if "bool" not in str(error):
            raise
        raise Wrong(
            "A tensor of True and False cannot be subtracted. Turn `targets == v` "
            "into numbers first: .to(p.dtype) or .double()."
        ) from None
    expect(
        isinstance(result, torch.Tensor),
        f"Return a tensor, not {type(result).__name__}.",
    )
    expect(
        result.shape == (4,),
        f"The shape is {tuple(result.shape)}, wanted is (d,) = (4,)."
        + (" Sum over the positions." if len(result.flatten()) > 4 else ""),
    )
    logits = streams @ head.T
    p, hit = logits.softmax(dim=1)[:, v], (targets == v).double()

    def near(value):
        return torch.allclose(result.double(), value)

    right = (p - hit) @ streams / 12
    expect(
        not near(-right),
        "The sign: that is the way the row goes, the gradient points against it.",
    )
    expect(
        not near(12 * right),
        "The loss is a mean: divide by the number of positions.",
    )
    expect(
        not near(p @ streams / 12),
        "The positions where v is the right answer are missing: there it is p - 1.",
    )
    expect(
        not near(-hit @ streams / 12),
        "That is the pull of the right answers. The softmax also pushes, at every "
        "position.",
    )
    expect(
        not near((p - hit)[hit.bool()] @ streams[hit.bool()] / 12),
        "Those are the positions where v is right. At all others the gradient is p h.",
    )
    expect(
        not near((p - hit)[hit.bool()] @ streams[hit.bool()] / hit.sum()),
        "That is a mean over the positions where v is right. All n count.",
    )
    expect(
        not near((p - hit) @ streams / len(head)),
        "Divided by the number of tokens. The loss is a mean over the n positions.",
    )
    expect(
        not near((logits[:, v] - hit) @ streams / 12),
        "A logit is no probability: softmax over the vocabulary first.",
    )
    expect(
        not near((logits.softmax(dim=0)[:, v] - hit) @ streams / 12),
        "The softmax runs over the vocabulary, dim=1, not over the positions.",
    )
    expect(near(right), "Autograd gives another gradient. At each position: (p - y) h.")
    for v in (4, 8):
        leaf = head.clone().requires_grad_()
        F.cross_entropy(streams @ leaf.T, targets).backward()
        expect(
            torch.allclose(
                call(pull_on, head, streams, targets, v).double(), leaf.grad[v]
            ),
            f"Right for row 3, wrong for row {v}.",
        )
    return "Row 4 was never the answer, and is pushed all the same."
