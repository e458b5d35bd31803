"""Chapter 3: answers people give, and a piece of what each is told."""

from itertools import permutations

import torch


def agrees(f, x, shuffle, **tolerance):
    return torch.allclose(f(x[:, shuffle]), f(x)[:, shuffle], **tolerance)


def random(seq_len=6):
    return torch.randn(1, seq_len, 8, dtype=torch.float64)


def by_two_shuffles(f):
    x = random()
    return agrees(f, x, [1, 0, 2, 3, 4, 5]) and agrees(f, x, [1, 2, 3, 4, 5, 0])


def by_all_shuffles(f):
    x = random(4)
    return all(agrees(f, x, list(p)) for p in permutations(range(4)))


def as_a_tensor(f):
    x, gaps = random(), []
    for shuffle in permutations(range(6)):
        shuffle = torch.tensor(shuffle)
        gaps.append((f(x[:, shuffle]) - f(x)[:, shuffle]).abs().max())
    return max(gaps) < 1e-9


def by_one_shuffle(f):
    return agrees(f, random(), [3, 1, 4, 0, 5, 2])


def by_one_drawn(f):
    return agrees(f, random(), torch.randperm(6))


def by_many_drawn(f):
    x = random(7)
    return all(agrees(f, x, torch.randperm(7)) for _ in range(20))


def by_swaps_of_neighbours(f):
    x = random()
    swaps = (
        [i + 1 if j == i else i if j == i + 1 else j for j in range(6)]
        for i in range(5)
    )
    return all(agrees(f, x, swap) for swap in swaps)


def by_a_matrix(f):
    x, drawn = (
        random(),
        [torch.eye(6, dtype=torch.float64)[torch.randperm(6)] for _ in range(9)],
    )
    return all(torch.allclose(f(m @ x), m @ f(x)) for m in drawn)


def by_reversing(f):
    return agrees(f, random(), [5, 4, 3, 2, 1, 0])


def by_rolling(f):
    return agrees(f, random(), [5, 0, 1, 2, 3, 4])


def by_keeping_the_last(f):
    return agrees(f, random(), [2, 0, 4, 1, 3, 5])


def by_keeping_the_first(f):
    return agrees(f, random(), [0, 3, 1, 5, 2, 4])


def by_keeping_the_middle(f):
    x = random()
    return agrees(f, x, [1, 0, 2, 3, 4, 5]) and agrees(f, x, [2, 5, 0, 3, 1, 4])


def same_output(f):
    x = random()
    return torch.allclose(f(x[:, [2, 5, 0, 3, 1, 4]]), f(x))


def exactly(f):
    x, shuffle = random(), [2, 5, 0, 3, 1, 4]
    return torch.equal(f(x[:, shuffle]), f(x)[:, shuffle])


def sums(f):
    x, shuffle = random(), [2, 5, 0, 3, 1, 4]
    return torch.allclose(f(x[:, shuffle]).sum(1), f(x).sum(1))


def forgotten(f):
    by_two_shuffles(f)


def speeds(row, power=1.0):
    steps = torch.arange(0, len(row), 2, dtype=row.dtype)
    return 10000 ** (-power * steps / len(row))


def turned(row, angles):
    sin, cos = row[0::2], row[1::2]
    new_sin = sin * angles.cos() + cos * angles.sin()
    new_cos = cos * angles.cos() - sin * angles.sin()
    return torch.stack((new_sin, new_cos), 1)


def turn(row, k):
    return turned(row, k * speeds(row)).flatten()


def by_complex_numbers(row, k):
    angles = k * speeds(row)
    hands = torch.complex(row[1::2], row[0::2])
    hands = hands * torch.polar(torch.ones_like(angles), angles)
    return torch.stack((hands.imag, hands.real), 1).flatten()


def by_angles(row, k):
    angles = torch.atan2(row[0::2], row[1::2]) + k * speeds(row)
    return torch.stack((angles.sin(), angles.cos()), 1).flatten()


def in_float32(row, k):
    return turn(row.float(), k)


def by_a_loop(row, k):
    out = row.clone()
    for i in range(0, len(row), 2):
        angle = torch.tensor(k / 10000 ** (i / len(row)))
        out[i] = row[i] * angle.cos() + row[i + 1] * angle.sin()
        out[i + 1] = row[i + 1] * angle.cos() - row[i] * angle.sin()
    return out


def in_place(row, k):
    row[:] = turn(row, k)
    return row


def slower(row, k):
    return turned(row, k * speeds(row, 0.5)).flatten()


def cosines_first(row, k):
    return turned(row, k * speeds(row)).flip(1).flatten()


def row_k(row, k):
    return turned(turn(row, -9), k * speeds(row)).flatten()


def fixed_width(row, k):
    return turned(row, k * 10000 ** (-torch.arange(0, 16, 2) / 16)).flatten()


def by_halves(row, k):
    sin, cos = row.chunk(2)
    angles = k * speeds(row)
    new_sin = sin * angles.cos() + cos * angles.sin()
    return torch.cat((new_sin, cos * angles.cos() - sin * angles.sin()))


def row_at(position, row):
    return turned(
        torch.tensor([0.0, 1] * (len(row) // 2)), position * speeds(row)
    ).flatten()


def by_the_first_hand(row, k):
    return row_at(torch.atan2(row[0], row[1]) + k, row)


def by_the_first_hand_rounded(row, k):
    return row_at(torch.atan2(row[0], row[1]).round() + k, row)


def by_the_first_hand_cut(row, k):
    return row_at(int(torch.atan2(row[0], row[1])) + k, row)


def by_the_slowest_hand(row, k):
    position = torch.atan2(row[-2], row[-1]) / speeds(row)[-1]
    return row_at(position + k, row)


def by_search(row, k):
    positions = torch.arange(2000).unsqueeze(1)
    angles = positions * speeds(row)
    rows = torch.stack((angles.sin(), angles.cos()), 2).flatten(1)
    return row_at((rows - row).norm(dim=1).argmin() + k, row)


def sums_only(row, k):
    angles = k * speeds(row)
    return row + torch.stack((angles.sin(), angles.cos()), 1).flatten()


def newest(mask):
    return (mask != 0).sum(dim=1, keepdim=True) - 1


def newest_by_loops(mask):
    return [[sum(row) - 1] for row in mask.tolist()]


def newest_from_the_left(mask):
    return mask.shape[1] - 1 - mask.int().argmax(dim=1, keepdim=True)


def newest_mask_changed(mask):
    return mask.cumsum_(1)[:, -1:] - 1


def packed(documents):
    columns = torch.arange(documents.shape[1])
    starts = torch.ones_like(documents, dtype=torch.bool)
    starts[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return columns - (columns * starts).cummax(dim=1).values


def packed_by_loops(documents):
    rows = []
    for line in documents.tolist():
        row = [0]
        for before, now in zip(line, line[1:], strict=False):
            row.append(row[-1] + 1 if now == before else 0)
        rows.append(row)
    return torch.tensor(rows)


def by_number(documents):
    """Takes a number that comes back for the same text."""
    same = documents.unsqueeze(2) == documents.unsqueeze(1)
    return same.tril().sum(dim=2) - 1


def across_rows(documents):
    return packed(documents.reshape(1, -1)).view(documents.shape)


def first_row(documents):
    return packed(documents[:1]).expand(documents.shape)


def texts(documents):
    return (documents.diff(dim=1, prepend=documents[:, :1]) != 0).cumsum(dim=1)


def running_sum(documents):
    return 1 + texts(documents)


def documents_changed(documents):
    return documents.copy_(packed(documents))


WRONG = {
    "3.1": [
        ("de", "set of letters"),
        ({"d", "e", "f"}, "Only the letters"),
        ({"a", "d", "e"}, "(a) Without a mask"),
        ({"b", "d", "e"}, "(b) Depth"),
        ({"c", "d", "e"}, "(c) After one block"),
        ({"e"}, "(d) In the second block"),
        ({"d"}, "(e) Three of the four"),
    ],
    "3.2": [
        (lambda f: True, "True to every function"),
        (lambda f: False, "False to every equivariant"),
        (same_output, "You compare f(shuffled) with f(x)"),
        (exactly, "compare with a tolerance"),
        (by_reversing, "True for adding both neighbours"),
        (by_rolling, "True for moving each token"),
        (by_keeping_the_first, "True for adding the first"),
        (by_keeping_the_last, "True for adding the last"),
        (by_keeping_the_middle, "True for adding the middle"),
        (sums, "True for adding its position"),
        (by_one_shuffle, "True for f(x) = x[:, ["),
        (by_one_drawn, "made to measure"),
        (forgotten, "is a `return` missing"),
        (lambda f: "yes", "not str"),
    ],
    "3.3": [
        (lambda row, k: row, "came back as it was"),
        (lambda row, k: turn(row, -k), "4 positions back"),
        (row_k, "That is row 4"),
        (lambda row, k: turn(row, 1), "one position on"),
        (slower, "speeds are off"),
        (lambda row, k: turned(row, k + 0 * speeds(row)).flatten(), "same angle"),
        (lambda row, k: turned(row, k * speeds(row)).T.flatten(), "All sines stand"),
        (cosines_first, "changed places"),
        (lambda row, k: turned(row, k * speeds(row)), "The shape is (8, 2)"),
        (sums_only, "Adding two rows"),
        (in_place, "changed the row"),
        (by_halves, "first half of the row as sines"),
        (by_the_first_hand, "position 2.72 off the first hand"),
        (by_the_first_hand_rounded, "position 3 off the first hand"),
        (by_the_first_hand_cut, "position 2 off the first hand"),
        (by_the_slowest_hand, "off the slowest hand"),
        (by_search, "row 20,000 does not"),
        (lambda row, k: None, "your NoneType is none"),
        (lambda row, k: turn(row, 4), "turned with k = 1"),
        (fixed_width, "width is fixed"),
    ],
    "3.4": [
        (lambda m: newest(m) * 0 + m.shape[1] - 1, "the last column for all"),
        (lambda m: newest(m) + 1, "how many tokens there are"),
        (lambda m: newest(m) * 0, "alone in its batch"),
        (newest_from_the_left, "padding on the left only"),
        (lambda m: newest(m).squeeze(1), "The shape is (3,)"),
        (lambda m: (m.cumsum(1) - 1).clamp(min=0), "positions of all columns"),
        (lambda m: torch.tensor([[5]]), "one position for all"),
        (lambda m: newest(m).float(), "not torch.float32"),
        (newest_mask_changed, "changed the mask"),
        (lambda m: newest(m) - 1, "expected [[5], [2], [2]]"),
        (lambda m: m.cumsum(1)[:, -2:-1], "For [[1]], one column"),
    ],
    "3.5": [
        (lambda d: torch.arange(d.shape[1]).expand(d.shape), "Those are the columns"),
        (lambda d: packed(d) + 1, "counted from 0"),
        (lambda d: d, "the texts' numbers"),
        (texts, "You count texts"),
        (across_rows, "goes on where the first"),
        (first_row, "The first sequence is right"),
        (lambda d: packed(d)[0], "The shape is (6,)"),
        (lambda d: packed(d).float(), "not torch.float32"),
        (running_sum, "A running sum"),
        (by_number, "come back for another"),
        (documents_changed, "changed `documents`"),
        (lambda d: packed(d) * 2, "expected [0, 1, 2, 0, 1, 0]"),
    ],
}

RIGHT = {
    "3.1": [{"d", "e"}, frozenset("de"), {"(d)", "(e)"}, {"D", "E"}],
    "3.2": [
        by_two_shuffles,
        by_all_shuffles,
        as_a_tensor,
        by_many_drawn,
        by_swaps_of_neighbours,
        by_a_matrix,
    ],
    "3.3": [
        turn,
        by_complex_numbers,
        by_angles,
        by_a_loop,
        in_float32,
        lambda row, k: turn(row, k).tolist(),
    ],
    "3.4": [newest, newest_by_loops, lambda m: newest(m).int().numpy()],
    "3.5": [packed, packed_by_loops, lambda d: packed(d).int()],
}
