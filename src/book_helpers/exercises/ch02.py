"""Checks for chapter 2."""

import math

import torch
from torch import nn

from book_helpers.exercises import call, exercise, expect


@exercise("2.1")
def check_2_1(lookup_gradient):
    ids = torch.tensor([[1, 3, 1], [0, 1, 4]])  # (2, 3)
    upstream = torch.arange(1.0, 13.0).view(2, 3, 2)  # (2, 3, 2)
    flat_ids, flat = ids.flatten(), upstream.view(-1, 2)  # (6,), (6, 2)
    right = torch.zeros(6, 2).index_add(0, flat_ids, flat)  # (6, 2)
    kept = upstream.clone()
    gradient = call(lookup_gradient, ids, upstream, 6)
    expect(
        isinstance(gradient, torch.Tensor),
        f"Return a tensor, not {type(gradient).__name__}.",
    )
    expect(
        not gradient.is_sparse,
        "That is a sparse tensor; asked was the table's full gradient.",
    )
    expect(torch.equal(upstream, kept), "The upstream gradient was changed.")
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
        f"The shape is {tuple(gradient.shape)}, asked was (6, 2): one row for "
        "each id, used or not.",
    )
    expect(
        gradient.dtype == upstream.dtype,
        f"The gradient is {gradient.dtype}, the upstream {upstream.dtype}.",
    )
    expect(
        not gradient[[2, 5]].any(),
        "Ids 2 and 5 are not in the batch; their rows must be zero.",
    )
    count = torch.bincount(flat_ids, minlength=6).clamp(min=1)  # (6,)
    expect(
        not torch.allclose(gradient, right / count.unsqueeze(-1)),
        "That is the mean over the places of an id. The chain rule adds.",
    )
    expect(
        not torch.equal(gradient, count.unsqueeze(-1) * (right != 0)),
        "Row v counts the places of v. Add the upstream gradients there.",
    )
    one_of_them = any(torch.equal(gradient[1], row) for row in flat[flat_ids == 1])
    expect(
        not one_of_them,
        "Id 1 stands at three places and only one of them counts: indexing "
        "with [ids] writes equal ids over each other, with += as well. Try "
        "index_add.",
    )
    first = torch.zeros(6, 2).index_add(0, ids[0], upstream[0])  # (6, 2)
    expect(
        not torch.equal(gradient, first),
        "Only the first text of the batch counts; flatten both.",
    )
    expect(
        torch.equal(gradient, right),
        f"Row 1 should be {right[1].tolist()}, the sum over its three places; "
        f"it is {gradient[1].tolist()}.",
    )
    again = call(lookup_gradient, ids[:, :2], upstream[:, :2].double(), 9)
    expect(
        again.dtype == torch.float64,
        "For a float64 gradient the result must be float64.",
    )
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


def as_number(answer):
    """A float from an int, float or one-number tensor; None for the rest."""
    if isinstance(answer, (str, bool)):
        return None
    try:
        number = float(answer)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


@exercise("2.2")
def check_2_2(megabytes):
    answer = as_number(megabytes)
    expect(answer is not None, "Give a number, such as 100.")
    one = 50257 * 768 * 4 / 1e6  # MB of one such table
    hints = [
        (one / 4, "That counts numbers, of one table; a float32 has 4 bytes."),
        (one, "That is the table alone. Its gradient is just as large."),
        (
            2 * one,
            "That is two such tables, or all four in 16 bits. There are "
            "the table, its gradient and two averages, 4 bytes a number.",
        ),
        (3 * one, "That is three such tables. Adam keeps two averages."),
        (8 * one, "8 bytes a number would be float64."),
        (
            4 * one * 1e6 / 2**20,
            "That is in MiB, of 2**20 bytes. Here 1 MB is 10**6 bytes.",
        ),
        (4 * one / 1e3, "That is in GB."),
        (4 * one * 1e3, "That is in kB."),
        (4 * one * 1e6, "That is in bytes."),
    ]
    if abs(answer - 4 * one) > 0.6:
        for value, hint in hints:
            expect(abs(answer / value - 1) > 0.03, hint)
        expect(
            answer > 4 * one,
            f"{answer:g} is too few. Vocabulary times d_model numbers, 4 bytes "
            "each: and how many such tables?",
        )
        expect(False, f"{answer:g} is too many. Count the tables again.")
    return "Four tables' worth, for a batch of any size."


@exercise("2.3")
def check_2_3(redraw):
    torch_state = torch.get_rng_state()
    try:
        torch.manual_seed(0)
        _check_redraw(redraw)
    finally:
        torch.set_rng_state(torch_state)
    return "Start again, tie and padding kept."


def _check_redraw(redraw):
    table = nn.Embedding(1000, 16, padding_idx=3)
    head = nn.Linear(16, 1000, bias=False)
    head.weight = table.weight
    old = table.weight.detach().clone()  # (1000, 16)
    result = call(redraw, table, 0.1)
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
    spread, mean = rest.std().item(), rest.mean().item()
    expect(
        abs(mean) < 0.05,
        f"The mean is {mean:.2f}, asked was 0. (normal_(std) would set the "
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
        f"The spread is {spread:.3f}, asked was 0.1.",
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


@exercise("2.4")
def check_2_4(init_std):
    answer = as_number(init_std)
    expect(answer is not None, "Give a number, such as 0.1.")
    expect(answer > 0, "A standard deviation is positive.")
    right = 0.02 * math.sqrt(768 / 4096)
    hints = [
        (0.02, "With 0.02 the spread would grow with the root of d_model, to 1.28."),
        (
            0.02 * 768 / 4096,
            "The spread of a dot product grows with the root "
            "of d_model, not with d_model.",
        ),
        (
            0.02 * math.sqrt(4096 / 768),
            "The wrong way round: longer rows need smaller numbers.",
        ),
        (0.02 * 4096 / 768, "The wrong way round, and without the root."),
        (4096**-0.5, "1/sqrt(d_model) gives the logits spread 1."),
        (right**2, "That is the variance; asked is the standard deviation."),
        (0.02 * math.sqrt(768), "That is the spread of the logits, not of the rows."),
        (0.55 / 4096, "Divide by the root of d_model, not by d_model."),
    ]
    for value, hint in hints:
        expect(abs(answer / value - 1) > 0.03, hint)
    spread = answer * math.sqrt(4096)
    expect(
        abs(answer / right - 1) < 0.02,
        f"The logits would have the spread {spread:.2g}: init_std times the "
        "root of d_model.",
    )
    return "The rows get smaller as they get longer."
