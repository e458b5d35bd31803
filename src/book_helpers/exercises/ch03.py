"""Checks for chapter 3."""

import random
from itertools import combinations, permutations

import torch

from book_helpers.exercises import (
    call,
    chosen,
    exercise,
    expect,
    tensor_of,
    unchanged,
)


@exercise("3.1")
def check_3_1(answer):
    letters = chosen(answer, "abcde")
    expect(
        "a" not in letters,
        "(a) Without a mask the full stop takes the mean of the same words.",
    )
    expect(
        "b" not in letters,
        "(b) Depth does not help without a mask: each block passes the shuffle "
        "on, and the full stop is where it was.",
    )
    expect(
        "c" not in letters,
        "(c) After one block the full stop knows one set, mask or not.",
    )
    expect(
        "d" in letters,
        "(d) In the second block the full stop takes its mean over tokens that "
        "saw different beginnings.",
    )
    expect(
        "e" in letters,
        "(e) Three of the four outputs differ, and with random weights so does "
        "their mean.",
    )
    return "Order enters with the mask, and reaches the last token in block 2."


def _attend(x, causal=False):
    scores = x @ x.mT / x.shape[-1] ** 0.5  # (1, seq_len, seq_len)
    if causal:
        seq_len = x.shape[1]
        ahead = torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(ahead, float("-inf"))
    return scores.softmax(dim=-1) @ x  # (1, seq_len, d_model)


def _neighbours(x):
    zero = torch.zeros_like(x[:, :1])  # (1, 1, d_model)
    before = torch.cat((zero, x[:, :-1]), dim=1)
    after = torch.cat((x[:, 1:], zero), dim=1)
    return before + 2 * x + after  # (1, seq_len, d_model)


def _first_tells(x):
    return x + x[:, :1]  # (1, seq_len, d_model)


def _last_tells(x):
    return x + x[:, -1:]  # (1, seq_len, d_model)


def _middle_tells(x):
    half = x.shape[1] // 2
    return x + x[:, half : half + 1]  # (1, seq_len, d_model)


def _add_positions(x):
    position = torch.arange(x.shape[1], dtype=x.dtype).view(1, -1, 1)
    return x + position  # (1, seq_len, d_model)


BLIND = {
    "attention without a mask": _attend,
    "a function of each token alone": torch.tanh,
    "taking the mean of all tokens off": lambda x: x - x.mean(1, keepdim=True),
    "two layers of attention without a mask": lambda x: _attend(_attend(x)),
}
SEEING = {
    "attention with a causal mask": lambda x: _attend(x, causal=True),
    "adding its position to each token": _add_positions,
    "a running sum along the sequence": lambda x: x.cumsum(dim=1),
}
# Each of these keeps one symmetry, and a test of that one alone is fooled.
NEARLY = {
    "adding both neighbours, which only reversing keeps": _neighbours,
    "moving each token one position on, which only going round keeps": (
        lambda x: x.roll(1, dims=1)
    ),
    "sorting each of the 8 numbers along the sequence, which gives the same "
    "output for every order instead of the shuffled one": (
        lambda x: x.sort(dim=1).values
    ),
    "adding the first token to all, which shuffling the others keeps": _first_tells,
    "adding the last token to all, which shuffling the others keeps": _last_tells,
    "adding the middle token to all, which shuffling the others keeps": _middle_tells,
}


def _shuffles(seen):
    """The shuffles between inputs that hold the same tokens, by length."""
    found = {}
    for x, y in combinations(seen, 2):
        if x.shape == y.shape and x.dim() == 3 and len(x) == 1:
            same = (y[0].unsqueeze(1) == x[0]).all(dim=-1)  # (seq_len, seq_len)
            if (same.sum(dim=1) == 1).all() and (same.sum(dim=0) == 1).all():
                shuffle = tuple(same.int().argmax(dim=1).tolist())
                found.setdefault(len(shuffle), set()).add(shuffle)
    return found


def _unnoticed(shuffles, seq_len):
    """A shuffle, not the identity, that commutes with each of `shuffles`."""
    here = [s for s in shuffles if s != tuple(range(seq_len))]
    every = permutations(range(seq_len)) if seq_len <= 6 else here
    for q in every:
        if q != tuple(range(seq_len)) and all(
            all(q[s[i]] == s[q[i]] for i in range(seq_len)) for s in here
        ):
            return q
    return None


def _made_to_measure(order_blind):
    """A shuffle that this test takes for equivariant, or None.

    The test is run once to see which shuffles it tries. A function that
    shuffles in a way that commutes with all of them is no different to it.
    """
    seen = []

    def look(x):
        seen.append(x.detach().clone())
        return x.clone()

    before = torch.get_rng_state(), random.getstate()
    call(order_blind, look)
    for seq_len, shuffles in _shuffles(seen[:60]).items():
        if seq_len < 3:  # a swap of two commutes with every order of two
            continue
        q = _unnoticed(shuffles, seq_len)
        if q is not None:
            torch.set_rng_state(before[0])
            random.setstate(before[1])
            if call(
                order_blind,
                lambda x, q=q: x[:, list(q)] if x.shape[1] == len(q) else x,
            ):
                return list(q)
    return None


@exercise("3.2")
def check_3_2(order_blind):
    def says(function):
        verdict = call(order_blind, function)
        expect(
            verdict is not None,
            "order_blind returned None; is a `return` missing?",
        )
        if hasattr(verdict, "item"):  # a tensor or NumPy bool of one element
            verdict = verdict.item()
        expect(
            isinstance(verdict, bool),
            f"Return True or False, not {type(verdict).__name__}.",
        )
        return verdict

    blind = {name: says(f) for name, f in BLIND.items()}
    seeing = {name: says(f) for name, f in {**SEEING, **NEARLY}.items()}
    expect(
        not all([*blind.values(), *seeing.values()]),
        "Your test says True to every function. Shuffle the tokens, axis 1, "
        "and compare f of the shuffled ones with the shuffled f.",
    )
    sort = next(name for name in NEARLY if name.startswith("sorting"))
    expect(
        any(blind.values()) or not seeing[sort],
        "You compare f(shuffled) with f(x): that asks for the same output. "
        "Asked is the shuffled one, f(x)[:, shuffle].",
    )
    expect(
        any(blind.values()),
        "Your test says False to every equivariant function. Is the output "
        "shuffled in the same way as the input?",
    )
    for name, verdict in blind.items():
        expect(
            verdict,
            f"False for {name}. It is equivariant; rounding leaves a "
            "difference of about 1e-16, so compare with a tolerance.",
        )
    for name, verdict in seeing.items():
        expect(not verdict, f"True for {name}. It is not equivariant.")
    q = _made_to_measure(order_blind)
    expect(
        q is None,
        f"True for f(x) = x[:, {q}], made to measure: with the shuffles that "
        "your test tries it makes no difference which comes first. Try more "
        "of them, such as a swap of two and a move of all by one.",
    )
    return (
        "It is not fooled by any function here, nor by a shuffle made to "
        "measure from the shuffles that it tries."
    )


@exercise("3.3")
def check_3_3(turn):
    d_model = 16
    steps = torch.arange(0, d_model, 2, dtype=torch.float64)  # (8,)
    speeds = 10000 ** (-steps / d_model)  # (8,)

    def rows_of(angles):
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)

    def row_at(position):
        return rows_of(position * speeds)  # (16,)

    # Row 9 and k = 4: each mistake named below ends in a row of its own.
    start = row_at(9)
    lent = start.clone()
    turned = tensor_of(call(turn, lent, 4), (d_model,)).double()
    unchanged(start, lent, "the row")

    def same(other):
        return torch.allclose(turned, other, rtol=0, atol=1e-5)

    expect(not same(start), "The row came back as it was.")
    expect(
        not same(row_at(5)),
        "That is 4 positions back: sin(a - b). Mind the sign in both formulas.",
    )
    expect(
        not same(row_at(4)),
        "That is row 4, which ignores the row given. Turn the given row.",
    )
    expect(
        not same(row_at(10)),
        "That is one position on, whatever k is. The angle is k times the speed.",
    )
    sin, cos = start[0::2], start[1::2]
    first = torch.atan2(sin[0], cos[0])  # () 9 rad, less a full turn
    for position in (first, first.round(), first.trunc()):
        expect(
            not same(row_at(position + 4)),
            f"You read position {position:.3g} off the first hand. It is round "
            "after 6.28 steps and starts again: turn each hand from where it "
            "stands.",
        )
    slow = torch.atan2(sin, cos) + 4 * 10000 ** (-steps / (2 * d_model))
    expect(
        not same(rows_of(slow)),
        "The speeds are off: the exponent of pair i is 2i / d_model.",
    )
    one_speed = torch.atan2(sin, cos) + 4.0
    expect(
        not same(rows_of(one_speed)),
        "All pairs turn by the same angle. Each has a speed of its own.",
    )
    a, b = start.chunk(2)  # each (8,)
    for way in (1, -1):
        s, c = (way * 4 * speeds).sin(), (4 * speeds).cos()
        new = a * c + b * s, b * c - a * s  # each (8,)
        expect(
            not same(torch.cat(new)) and not same(torch.stack(new, 1).flatten()),
            "You read the first half of the row as sines and the second as "
            "cosines. Here they alternate: row[0::2] and row[1::2].",
        )
    expect(
        not same(torch.cat((row_at(13)[0::2], row_at(13)[1::2]))),
        "All sines stand before all cosines. Here they alternate.",
    )
    expect(
        not same(rows_of(13 * speeds).view(-1, 2).flip(1).flatten()),
        "Sines and cosines have changed places.",
    )
    expect(
        not same(start + row_at(4)),
        "Adding two rows does not turn one. Use the formulas for a sum.",
    )
    expect(
        torch.allclose(
            turned.view(-1, 2).norm(dim=1),
            torch.ones(8, dtype=turned.dtype),
            atol=1e-5,
        ),
        "A turned hand keeps its length 1: sin**2 + cos**2 of each pair.",
    )
    expect(same(row_at(13)), "Row 9, turned 4 positions on, must be row 13.")
    for position, k in ((0, 1), (40, 100), (9, 0)):
        again = tensor_of(call(turn, row_at(position), k), (d_model,)).double()
        expect(
            torch.allclose(again, row_at(position + k), atol=1e-4),
            f"Row {position}, turned with k = {k}, must be row {position + k}.",
        )
    # By row 20,000 the slowest hand has been round once.
    far = tensor_of(call(turn, row_at(20_000), 2), (d_model,)).double()
    once_less = row_at(20_002 - 2 * torch.pi / speeds[-1])
    expect(
        not torch.allclose(far, once_less, atol=1e-4),
        "You read the position off the slowest hand. By row 20,000 that has been "
        "round, too: turn each hand from where it stands.",
    )
    expect(
        torch.allclose(far, row_at(20_002), atol=1e-4),
        "Row 40 comes out right, row 20,000 does not. Do not look for the row's "
        "position: turn each hand from where it stands.",
    )
    wide = torch.randn(6, dtype=torch.float64)  # (6,)
    try:
        fits = tensor_of(call(turn, wide, 1)).shape == (6,)
    except RuntimeError:
        fits = False
    expect(fits, "The width is fixed in your code; take it from the row.")
    return "One turn serves every position."


@exercise("3.4")
def check_3_4(newest_positions):
    mask = torch.tensor(
        [
            [1, 1, 1, 1, 1, 1],  # no padding
            [0, 0, 0, 1, 1, 1],  # on the left
            [1, 1, 0, 0, 0, 1],  # on the right of the prompt
        ]
    )
    right = torch.tensor([[5], [2], [2]])
    lent = mask.clone()
    got = tensor_of(call(newest_positions, lent))
    unchanged(mask, lent, "the mask")
    expect(
        got.shape != (3,),
        "The shape is (3,), asked was (3, 1): the ids fed are (batch, 1), too.",
    )
    expect(
        got.shape != (3, 6),
        "Those are the positions of all columns. Only the newest token is fed.",
    )
    expect(
        got.shape not in ((), (1,), (1, 1)),
        "That is one position for all texts. They differ in length.",
    )
    got = tensor_of(got, (3, 1))
    expect(
        not (got == 5).all(),
        "That is the last column for all. Padding has no position of its own.",
    )
    expect(
        not torch.equal(got, right + 1),
        "That is how many tokens there are. The first one has position 0.",
    )
    expect(
        not (got == 0).all(),
        "The newest token is alone in its batch and last in its text.",
    )
    expect(
        got.tolist() != [[5], [2], [5]],
        "You took off the padding on the left only. In the third text it "
        "stands in the middle, and has no position either.",
    )
    expect(
        torch.equal(got, right),
        f"For {mask.tolist()} expected {right.tolist()}, got {got.tolist()}.",
    )
    expect(
        got.dtype in (torch.int64, torch.int32),
        f"Positions pick rows: int64, not {got.dtype}.",
    )
    again = tensor_of(call(newest_positions, torch.tensor([[False, True]])))
    expect(again.tolist() == [[0]], "A text of one token has its newest at 0.")
    alone = tensor_of(call(newest_positions, torch.tensor([[1]])))
    expect(
        alone.tolist() == [[0]],
        f"For [[1]], one column, expected [[0]], got {alone.tolist()}.",
    )
    return "A cache does not change where a token stands."


@exercise("3.5")
def check_3_5(packed_positions):
    documents = torch.tensor([[7, 7, 7, 3, 3, 9], [9, 9, 4, 4, 4, 4]])
    right = torch.tensor([[0, 1, 2, 0, 1, 0], [0, 1, 0, 1, 2, 3]])
    lent = documents.clone()
    got = tensor_of(call(packed_positions, lent))
    unchanged(documents, lent, "`documents`")
    expect(
        got.shape == (2, 6),
        f"The shape is {tuple(got.shape)}, asked was (2, 6): each sequence has "
        "positions of its own.",
    )
    columns = torch.arange(6).expand(2, 6)
    expect(
        not torch.equal(got, columns),
        "Those are the columns. A new text must start at 0 again.",
    )
    expect(not torch.equal(got, right + 1), "Positions are counted from 0, not from 1.")
    expect(
        not torch.equal(got, documents)
        and not torch.equal(got, documents - documents.min()),
        "Those are the texts' numbers, not positions in them.",
    )
    starts = documents[:, 1:] != documents[:, :-1]
    starts = torch.cat((torch.ones_like(starts[:, :1]), starts), dim=1)  # (2, 6)
    expect(
        not torch.equal(got, starts.cumsum(dim=1) - 1),
        "You count texts. Count the tokens since the text began.",
    )
    expect(
        not torch.equal(got, starts.cumsum(dim=1))
        and not torch.equal(got, (~starts).cumsum(dim=1)),
        "A running sum goes on where the text before ended. Take off what it "
        "had reached when the text began.",
    )
    across = right.clone()
    across[1, :2] += 1
    expect(
        not torch.equal(got, across),
        "The second sequence goes on where the first one ended. They are separate.",
    )
    expect(
        not torch.equal(got[0], right[0]) or torch.equal(got, right),
        "The first sequence is right, the second is not. They are separate.",
    )
    expect(
        torch.equal(got, right),
        f"For [7, 7, 7, 3, 3, 9] expected {right[0].tolist()}, got {got[0].tolist()}.",
    )
    expect(
        got.dtype in (torch.int64, torch.int32),
        f"Positions pick rows: int64, not {got.dtype}.",
    )
    again = tensor_of(call(packed_positions, torch.tensor([[5, 5, 2, 5, 5]])))
    expect(
        again.tolist() == [[0, 1, 0, 0, 1]],
        "A number can come back for another text: [5, 5, 2, 5, 5] is three texts.",
    )
    one = tensor_of(call(packed_positions, torch.tensor([[1]])))
    expect(one.tolist() == [[0]], "A single token stands at position 0.")
    return "Packed texts do not know of each other's length."
