"""Checks for chapter 2."""

import torch
from torch import nn

from book_helpers.exercises import call, chosen, exercise, expect, unchanged
from embedding_layer.token_embedding import TokenEmbedding


@exercise("2.1")
def check_2_1(lookup_gradient):
    ids = torch.tensor([[1, 3, 1], [0, 1, 4]])  # (2, 3)
    upstream = torch.arange(1.0, 13.0).view(2, 3, 2)  # (2, 3, 2)
    flat_ids, flat = ids.flatten(), upstream.view(-1, 2)  # (6,), (6, 2)
    right = torch.zeros(6, 2).index_add(0, flat_ids, flat)  # (6, 2)
    kept = upstream.clone()
    gradient = call(lookup_gradient, ids, upstream, 6)
    expect(
        not isinstance(gradient, torch.Tensor) or gradient.dtype == upstream.dtype,
        f"The gradient is {getattr(gradient, 'dtype', '')}, the upstream "
        f"{upstream.dtype}.",
    )
    expect(
        isinstance(gradient, torch.Tensor),
        f"Return a tensor, not {type(gradient).__name__}.",
    )
    expect(
        not gradient.is_sparse,
        "That is a sparse tensor; return the table's full gradient.",
    )
    unchanged(kept, upstream, "`upstream`")
    expect(
        gradient.shape != (2, 6),
        "Rows and columns are exchanged: one row for each id, (6, 2) here.",
    )
    expect(
        gradient.shape != (5, 2),
        "Row 5 is missing: the size is vocab_size, not the largest id + 1.",
    )
    expect(
        gradient.shape == (6, 2),
        f"The shape is {tuple(gradient.shape)} and should be (6, 2): one row "
        "for each id, used or not.",
    )
    expect(
        not gradient[[2, 5]].any(),
        "Ids 2 and 5 are not in the batch; their rows must be zero.",
    )
    count = torch.bincount(flat_ids, minlength=6).clamp(min=1)  # (6,)
    expect(
        not torch.allclose(gradient, right / count.unsqueeze(-1)),
        "That is the mean over the positions of an id. The chain rule adds.",
    )
    expect(
        not torch.equal(gradient, count.unsqueeze(-1) * (right != 0)),
        "Row v counts the positions of id v. Add the gradients that arrive there.",
    )
    one_of_them = any(torch.equal(gradient[1], row) for row in flat[flat_ids == 1])
    expect(
        not one_of_them,
        "Id 1 stands at three positions and only one of them counts: indexing "
        "with [ids] writes equal ids over each other, with += as well. Try "
        "index_add.",
    )
    first = torch.zeros(6, 2).index_add(0, ids[0], upstream[0])  # (6, 2)
    expect(
        not torch.equal(gradient, first),
        "Only the first sequence of the batch counts; flatten both.",
    )
    off = (gradient != right).any(dim=1)  # (6,)
    if off.any():
        row = int(off.nonzero()[0])
        expect(
            False,
            f"Row {row} should be {right[row].tolist()}, the sum over its positions; "
            f"it is {gradient[row].tolist()}.",
        )
    wide = "For a float64 gradient the result must be float64, as in `upstream`."
    try:
        again = call(lookup_gradient, ids[:, :2], upstream[:, :2].double(), 9)
    except RuntimeError as error:
        expect("dtype" not in str(error) and "scalar type" not in str(error), wide)
        raise
    expect(again.dtype == torch.float64, wide)
    half = torch.zeros(9, 2, dtype=torch.float64).index_add(
        0, ids[:, :2].flatten(), upstream[:, :2].reshape(-1, 2).double()
    )  # (9, 2)
    expect(
        torch.equal(again, half),
        "Right for the first batch, wrong for another: use `ids`, `upstream` "
        "and `vocab_size` as they are given.",
    )
    empty = call(lookup_gradient, ids[:0], upstream[:0], 6)
    expect(
        empty.shape == (6, 2) and not empty.any(),
        "An empty batch has a gradient too: six rows of zeros.",
    )
    return "That is what backward does in a lookup."


WHY = {
    "a": "(a) Row 3 was used, so a gradient arrives, and SGD follows it.",
    "b": "(b) The batch does not use row 5, and the head has rows of its own: "
    "no gradient, and plain SGD makes nothing of that.",
    "c": "(c) A tied head scores all six tokens at every position. That is a "
    "use of row 5.",
    "d": "(d) Weight decay shrinks every row, used or not. A zero gradient "
    "does not stop it.",
    "e": "(e) The lookup sends the padding row no gradient, and no other use is left.",
    "f": "(f) `padding_idx` holds for the lookup only. The tied head scores "
    "the padding token too.",
}


@exercise("2.2")
def check_2_2(changed):
    letters = chosen(changed, "abcdef")
    right = {"a", "c", "d", "f"}
    for letter in sorted(letters ^ right):
        expect(False, WHY[letter])
    return "A tied head uses all rows, and weight decay asks for no use."


@exercise("2.3")
def check_2_3(neighbours):
    rows = torch.tensor(
        [[4, 8], [1.5, 2], [1, 3], [1, 2], [2.2, 3.2], [9, 9], [-1, 2]]
    )  # (7, 2)
    ids = _neighbours(neighbours, rows, 3, 3)
    expect(
        ids[:1] != [3] and ids[-1:] != [3],
        "Id 3 itself is in your list, at distance 0; leave it out.",
    )
    expect(len(ids) == 3, f"With count=3 your list holds {len(ids)} ids.")
    expect(
        ids != [5, 0, 6],
        "Those are the farthest, the farthest first: sort the other way.",
    )
    expect(ids[:2] != [5, 0], "A dot product favours long rows; take the distance.")
    expect(
        ids[:1] != [0],
        "That goes by angle: row 0 points the same way and lies far off.",
    )
    expect(
        ids != [1, 2, 6],
        "That adds up absolute differences. The distance is the root of the "
        "sum of their squares.",
    )
    expect(ids != [4, 2, 1], "The right ids; but the nearest comes first.")
    expect(ids == [1, 2, 4], f"For id 3 the answer is [1, 2, 4], not {ids}.")
    ids = _neighbours(neighbours, rows, 5, 1)
    expect(ids == [0], f"For id 5 and count=1 the answer is [0], not {ids}.")
    rows[1] = rows[3]
    for one, twin in (3, 1), (1, 3):
        ids = _neighbours(neighbours, rows, one, 2)
        expect(
            one not in ids,
            f"Rows 1 and 3 are equal now, and asked about {one} you name {one} "
            "itself. Whatever sorts first need not be the id: leave out the id, "
            "not the first of the list.",
        )
        expect(
            ids[:1] == [twin],
            f"Rows 1 and 3 are equal now: for id {one} the nearest is {twin}, at "
            f"distance 0. Your list is {ids}.",
        )
    return "Now ask Whisper's table something."


def _neighbours(neighbours, rows, token_id, count):
    table = TokenEmbedding(*rows.shape)
    with torch.no_grad():
        table.weight.copy_(rows)
    found = call(neighbours, table, token_id, count)
    unchanged(rows, table.weight.detach(), "the table")
    if hasattr(found, "tolist"):
        found = found.tolist()
    expect(
        isinstance(found, (list, tuple)),
        f"Return a list of ids, not {type(found).__name__}.",
    )
    ids = [i.item() if hasattr(i, "numel") and i.numel() == 1 else i for i in found]
    expect(
        all(isinstance(i, int) and not isinstance(i, bool) for i in ids),
        "The list must hold ids, whole numbers: not rows and not distances.",
    )
    return ids


@exercise("2.4")
def check_2_4(redraw):
    table = nn.Embedding(1000, 16, padding_idx=3)
    head = nn.Linear(16, 1000, bias=False)
    head.weight = table.weight
    old = table.weight.detach().clone()  # (1000, 16)
    try:
        result = call(redraw, table, 0.1)
    except RuntimeError as error:
        expect(
            "leaf" not in str(error),
            "Autograd refuses to have its parameter written over: write inside "
            "`with torch.no_grad():`.",
        )
        raise
    weight = table.weight
    expect(
        isinstance(weight, nn.Parameter) and weight is head.weight,
        "The table has a new weight: a tied head would keep the old one. "
        "Write into table.weight instead."
        + (" (And nothing is to be returned.)" if result is not None else ""),
    )
    expect(
        not torch.equal(weight, old),
        "The rows have not changed: redraw in place, on `table` itself.",
    )
    expect(weight.requires_grad, "The weight no longer asks for a gradient.")
    expect(weight.shape == (1000, 16), "The table has another shape now.")
    rest = weight.detach()[torch.arange(1000) != 3]  # (999, 16)
    fresh = (rest != old[torch.arange(1000) != 3]).any(-1)  # (999,)
    expect(bool(fresh.all()), "Some rows other than the padding row are old.")
    both = torch.stack([rest.flatten(), old[torch.arange(1000) != 3].flatten()])
    expect(
        both.corrcoef()[0, 1].abs().item() < 0.1,
        "Those are the old rows, scaled or shifted. Draw new ones.",
    )
    spread, mean = rest.std().item(), rest.mean().item()
    expect(
        abs(mean) < 0.05,
        f"The mean is {mean:.2f}, it should be 0. (normal_(std) would set the "
        "mean; write normal_(std=std).)",
    )
    expect(
        abs(spread - 0.1**0.5) > 0.01,
        "The spread is the root of std: std**2 is the variance, std itself "
        "the standard deviation.",
    )
    expect(
        abs(spread - 0.01) > 0.001,
        "The spread is std**2: normal_ wants the standard deviation.",
    )
    expect(
        abs(spread - 0.02) > 0.002,
        "The spread is 0.02 whatever `std` says; use the argument.",
    )
    expect(
        abs(spread - 1) > 0.05,
        "The spread is 1, PyTorch's own start; use the argument `std`.",
    )
    expect(
        abs(spread - 0.1) < 0.01,
        f"The spread is {spread:.3f}, it should be 0.1.",
    )
    expect(
        rest.abs().max() > 0.25,
        "The numbers are not normal: among 16000 some lie beyond 2.5 std.",
    )
    if weight[3].any():
        expect(
            weight[0].any(),
            "Row 0 is zero, but the padding row is table.padding_idx.",
        )
        expect(
            weight[-1].any(),
            "The last row is zero, but the padding row is table.padding_idx.",
        )
        expect(False, "The padding row has lost its zeros.")
    expect(
        not (rest == 0).all(-1).any(),
        "A row other than the padding row is zero.",
    )
    first = nn.Embedding(50, 4, padding_idx=0)
    call(redraw, first, 0.1)
    expect(
        not first.weight[0].any(),
        "With padding_idx=0 the row keeps its draw: 0 counts as False, so ask "
        "`is not None`.",
    )
    plain = nn.Embedding(50, 4)
    try:
        call(redraw, plain, 0.1)
    except (TypeError, IndexError) as error:
        expect(False, f"Without a padding row it fails: {error}.")
    expect(
        bool(plain.weight.any(-1).all()),
        "Without a padding row no row may be zero. (weight[None] = 0 zeroes "
        "the whole table.)",
    )
    expect(
        0.05 < plain.weight.std().item() < 0.2,
        "Without a padding row the table was not redrawn.",
    )
    filled = nn.Embedding(50, 4, padding_idx=2)
    nn.init.ones_(filled.weight)
    call(redraw, filled, 0.1)
    expect(
        not filled.weight[2].any(),
        "You put the old padding row back, and it was not zero. Write zeros.",
    )
    other = TokenEmbedding(1000, 16)
    call(redraw, other, 0.1)
    expect(
        0.09 < other.weight.std().item() < 0.11,
        f"For a TokenEmbedding the spread is {other.weight.std().item():.3f}: its "
        "reset_parameters draws with a spread of its own. Draw yourself.",
    )
    return "Start again, tie and padding kept."
