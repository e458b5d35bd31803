"""Checks for chapter 12."""

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


@exercise("12.1")
def check_12_1(row_of):
    for rows in (251_519, 1000, 7):
        previous, current = torch.randint(50257, (2, 300))
        before = previous.clone(), current.clone()
        result = tensor_of(call(row_of, previous, current, rows), previous.shape)
        unchanged(before[0], previous, "the ids")
        unchanged(before[1], current, "the ids")
        expect(not result.is_floating_point(), "A row number is a whole number.")
        mixed = (36313 * current) ^ (27191 * previous)
        right = mixed % (rows - 1)
        as_logged = (36313 * current) ^ (27191 * previous) % (rows - 1)
        outside = ((result < 0) | (result >= rows)).double().mean().item()
        expect(
            not torch.equal(result, as_logged),
            f"As in the log: with {rows} rows, {outside:.0%} of the numbers are past "
            "the end. What is done first, ^ or %?",
        )
        expect(
            not torch.equal(result, mixed),
            "Without any % the numbers are as large as the products.",
        )
        expect(
            not torch.equal(result, mixed % rows),
            "The last row is kept for the first token: take % (rows - 1).",
        )
        alone = (36313 * current) % (rows - 1) ^ (27191 * previous) % (rows - 1)
        expect(
            not torch.equal(result, alone),
            "Each part is inside the table, but ^ of two such numbers can be past "
            "its end again. First ^, then %.",
        )
        expect(outside == 0, f"With {rows} rows {outside:.0%} of them are outside.")
        expect(
            torch.equal(result, right),
            "All inside the table, but other rows than the line meant.",
        )
    return "Two brackets, and 99 % of a table."


def primes(base, count):
    """The first `count` primes from `base` on."""
    found, n = [], max(base, 2)
    while len(found) < count:
        if all(n % k for k in range(2, int(n**0.5) + 1)):
            found.append(n)
        n += 1
    return found


@exercise("12.2")
def check_12_2(total_rows):
    plans = (1000, 3, 128), (20_000, 16, 128), (11, 2, 1), (20_000_000, 16, 128)
    for base, heads, divisor in plans:
        found = primes(base, heads + 1)
        total = sum(found[:heads])
        right = -(-total // divisor) * divisor
        result = number_of(call(total_rows, base, heads, divisor))
        where = f"base {base}, {heads} heads, divisor {divisor}"
        if result == right:
            continue
        expect(
            result != total,
            f"For {where}: {total} is the sum of the primes; round it up.",
        )
        expect(
            result != total // divisor * divisor,
            f"For {where} you rounded down: rows would be missing.",
        )
        expect(
            result != (total // divisor + 1) * divisor,
            f"For {where}: a sum that is a multiple already stays as it is.",
        )
        each = sum(-(-p // divisor) * divisor for p in found[:heads])
        expect(
            result != each,
            "You rounded each prime. Then it is one no longer; round the sum.",
        )
        same = -(-heads * found[0] // divisor) * divisor
        expect(
            result != same,
            "The primes are distinct: each hash has another number of rows.",
        )
        after = -(-sum(found[1:]) // divisor) * divisor
        expect(
            found[0] != base or result != after,
            f"For {where}: {base} itself is a prime and counts.",
        )
        expect(False, f"For {where} the total is {right}, not {result:.0f}.")
    return "With 20,000,000, 16 and 128 it gives the number of this chapter."


@exercise("12.3")
def check_12_3(answer):
    letters = chosen(answer, "abcdef")
    expect("a" in letters, "(a) The lookup is in all of them.")
    expect(
        "b" not in letters,
        "(b) The product gives the same rows at V times the work (chapter 2).",
    )
    expect("c" in letters, "(c) That is what rotary positions do, in all nine.")
    expect(
        "d" not in letters,
        "(d) None of the nine has a setting for it behind the lookup.",
    )
    expect(
        "e" in letters,
        "(e) nanochat does it: behind a norm the first pass hardly sees their size.",
    )
    expect(
        "f" not in letters,
        "(f) None of them does. A million rows would have to be learned, the last "
        "ones from very few texts.",
    )
    return "The lookup stayed; what stood around it moved."
