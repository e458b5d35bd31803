"""Checks for chapter 11."""

import torch

from book_helpers.exercises import (
    call,
    chosen,
    exercise,
    expect,
    number_of,
    tensor_of,
    unchanged,
)


@exercise("11.1")
def check_11_1(whose):
    for rows, world in ((50257, 2), (10, 3), (8, 4), (7, 1)):
        size = -(-rows // world)
        ids = torch.randint(rows, (2, 40))
        ids[0, 0], ids[1, -1] = 0, rows - 1
        before = ids.clone()
        result = call(whose, ids, rows, world)
        expect(
            isinstance(result, (tuple, list)) and len(result) == 2,
            "Return two tensors: the ranks and the indices.",
        )
        rank, index = (tensor_of(part, ids.shape) for part in result)
        unchanged(before, ids, "the ids")
        where = f"with {rows} rows on {world}"
        expect(
            not (rank.is_floating_point() or index.is_floating_point()),
            "A rank is a whole number: divide with //, not with /.",
        )
        down = max(rows // world, 1)
        expect(
            down == size or not torch.equal(rank, ids // down),
            f"Rounded down, {where} the last rows would belong to a process that is "
            "not there. Each has ceil(rows / world).",
        )
        expect(
            world == 1 or size == 1 or not torch.equal(rank, ids % world),
            "That deals rows out like cards. Here each process has one run of rows.",
        )
        expect(
            torch.equal(rank, ids // size), f"{where.capitalize()}: the ranks are off."
        )
        expect(
            world == 1 or not torch.equal(index, ids),
            "The index counts from the first row of the part, not of the table.",
        )
        expect(
            torch.equal(index, ids % size),
            f"The ranks are right {where}; the "
            "indices are ids less the first row of the part.",
        )
    return "Division with a rest: who, and where there."


@exercise("11.2")
def check_11_2(padding_of_part):
    for padding, first, count in (
        (3, 0, 25129),
        (3, 25129, 25128),
        (None, 0, 10),
        (25132, 25129, 25128),
        (0, 0, 5),
        (9, 5, 5),
        (10, 5, 5),
        (4, 5, 5),
    ):
        result = call(padding_of_part, padding, first, count)
        right = None
        if padding is not None and first <= padding < first + count:
            right = padding - first
        where = f"padding_idx {padding}, rows {first} to {first + count - 1}"
        if right is None:
            expect(
                result is None or padding is None or number_of(result) != padding,
                f"For {where}: handed on as it is, it silences another token's row. "
                "This part has no padding row: None.",
            )
            expect(
                result is None or padding is None or number_of(result) >= 0,
                f"For {where}: a negative index counts from the end. This part has no "
                "padding row: None.",
            )
            expect(result is None, f"For {where} there is no padding row here: None.")
        else:
            expect(
                result is not None,
                f"For {where}: this part has it"
                + (" (0 is an index, not nothing)." if right == 0 else "."),
            )
            expect(
                number_of(result) == right,
                f"For {where} it is row {right} of the part, not {result}.",
            )
    return "One part has the padding row, the others have none."


@exercise("11.3")
def check_11_3(answer):
    letters = chosen(answer, "abcdef")
    expect("a" in letters, "(a) One addend is the row, the others are zero.")
    expect(
        "b" in letters,
        "(b) For finite numbers 0 times a number is 0 (or -0, which equals it).",
    )
    expect("c" in letters, "(c) Nothing is added at all: parts are put side by side.")
    expect(
        "d" not in letters,
        "(d) Here both addends count: a product summed in two parts is rounded in "
        "another order.",
    )
    expect(
        "e" in letters,
        "(e) Each row is copied by one process, and nothing is added.",
    )
    expect(
        "f" not in letters,
        "(f) A token in both halves gets two sums that are added: another order, "
        "another rounding.",
    )
    return "Where only one addend is not zero, or none is added, nothing is rounded."
