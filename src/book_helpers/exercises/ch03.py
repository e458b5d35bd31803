"""Checks for chapter 3."""

import torch

from book_helpers.exercises import call, chosen, exercise, expect


@exercise("3.1")
def check_3_1(answer):
    letters = chosen(answer, "abcde")
    expect(
        "a" not in letters,
        "(a) Without a mask the last token takes the mean of the same set.",
    )
    expect(
        "b" not in letters,
        "(b) Depth does not help without a mask: claim 3.3 holds for each depth.",
    )
    expect(
        "c" not in letters,
        "(c) After one layer the last token knows one set, mask or not.",
    )
    expect(
        "d" in letters,
        "(d) The second layer adds up places that saw different beginnings.",
    )
    expect(
        "e" in letters,
        "(e) ` bites` has seen ` dog` in one sentence and ` man` in the other: "
        "its output differs, and so does the mean.",
    )
    return "Order enters with the mask, and reaches the last token in layer 2."


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


def _add_places(x):
    place = torch.arange(x.shape[1], dtype=x.dtype).view(1, -1, 1)
    return x + place  # (1, seq_len, d_model)


BLIND = {
    "attention without a mask": _attend,
    "a function of each token alone": torch.tanh,
    "taking the mean of all tokens off": lambda x: x - x.mean(1, keepdim=True),
    "two layers of attention without a mask": lambda x: _attend(_attend(x)),
}
SEEING = {
    "attention with a causal mask": lambda x: _attend(x, causal=True),
    "adding the place to each token": _add_places,
    "a running sum along the sequence": lambda x: x.cumsum(dim=1),
}
# Each of these keeps one symmetry, and a test of that one alone is fooled.
NEARLY = {
    "adding both neighbours, which only reversing keeps": _neighbours,
    "moving each token one place on, which only going round keeps": (
        lambda x: x.roll(1, dims=1)
    ),
    "sorting each column, which gives the same output for every order "
    "instead of the shuffled one": lambda x: x.sort(dim=1).values,
    "adding the first token to all, which shuffling the others keeps": _first_tells,
    "adding the last token to all, which shuffling the others keeps": _last_tells,
    "adding the middle token to all, which shuffling the others keeps": _middle_tells,
}


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
    return "It is not fooled by functions that keep only some shuffles."


@exercise("3.3")
def check_3_3(turn):
    d_model = 16

    def rows_of(angles):
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)

    steps = torch.arange(0, d_model, 2, dtype=torch.float64)  # (8,)
    speeds = 10000 ** (-steps / d_model)  # (8,)

    def row_at(position):
        return rows_of(position * speeds)  # (16,)

    start = row_at(5)
    before = start.clone()
    turned = call(turn, start, 3)
    expect(torch.equal(start, before), "The row that was given has changed.")
    expect(
        isinstance(turned, torch.Tensor),
        f"Return a tensor, not {type(turned).__name__}.",
    )
    expect(
        turned.shape == (d_model,),
        f"The shape is {tuple(turned.shape)}, asked was ({d_model},): "
        "flatten the pairs, sine before cosine.",
    )

    def same(other):
        return torch.allclose(turned.double(), other, rtol=0, atol=1e-5)

    expect(not same(start), "The row came back as it was.")
    expect(
        not same(row_at(2)),
        "That is 3 places back: sin(a - b). Mind the sign in both formulas.",
    )
    expect(
        not same(row_at(3)),
        "That is row 3, which ignores the row given. Turn the given row.",
    )
    expect(
        not same(row_at(6)),
        "That is one place on, whatever k is. The angle is k times the speed.",
    )
    sin, cos = start[0::2], start[1::2]
    slow = torch.atan2(sin, cos) + 3 * 10000 ** (-steps / (2 * d_model))
    expect(
        not same(rows_of(slow)),
        "The speeds are off: the exponent of pair i is 2i / d_model.",
    )
    one_speed = torch.atan2(sin, cos) + 3.0
    expect(
        not same(rows_of(one_speed)),
        "All pairs turn by the same angle. Each has a speed of its own.",
    )
    expect(
        not same(torch.cat((row_at(8)[0::2], row_at(8)[1::2]))),
        "All sines stand before all cosines. Here they alternate.",
    )
    expect(
        not same(rows_of(8 * speeds).view(-1, 2).flip(1).flatten()),
        "Sines and cosines have changed places.",
    )
    expect(
        not same(start + row_at(3)),
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
    expect(same(row_at(8)), "Row 5, turned 3 places on, must be row 8.")
    for position, k in ((0, 1), (40, 100), (9, 0)):
        again = call(turn, row_at(position), k)
        expect(
            torch.allclose(again.double(), row_at(position + k), atol=1e-4),
            f"Row {position}, turned with k = {k}, must be row {position + k}.",
        )
    wide = torch.randn(6, dtype=torch.float64)  # (6,)
    expect(
        call(turn, wide, 1).shape == (6,),
        "The width is fixed in your code; take it from the row.",
    )
    return "One turn serves every place."


@exercise("3.4")
def check_3_4(packed_positions):
    documents = torch.tensor([[7, 7, 7, 3, 3, 9], [9, 9, 4, 4, 4, 4]])
    right = torch.tensor([[0, 1, 2, 0, 1, 0], [0, 1, 0, 1, 2, 3]])
    before = documents.clone()
    got = call(packed_positions, documents)
    expect(torch.equal(documents, before), "The tensor that was given has changed.")
    expect(isinstance(got, torch.Tensor), f"Return a tensor, not {type(got).__name__}.")
    expect(
        got.shape == (2, 6),
        f"The shape is {tuple(got.shape)}, asked was (2, 6): each row has "
        "places of its own.",
    )
    columns = torch.arange(6).expand(2, 6)
    expect(
        not torch.equal(got, columns),
        "Those are the columns. A new text must start at 0 again.",
    )
    expect(not torch.equal(got, right + 1), "Places are counted from 0, not from 1.")
    expect(
        not torch.equal(got, documents)
        and not torch.equal(got, documents - documents.min()),
        "Those are the texts' numbers, not places in them.",
    )
    kinds = (documents[:, 1:] != documents[:, :-1]).cumsum(dim=1)
    kinds = torch.cat((torch.zeros_like(kinds[:, :1]), kinds), dim=1)
    expect(
        not torch.equal(got, kinds),
        "You count texts. Count the tokens since the text began.",
    )
    across = right.clone()
    across[1, :2] += 1
    expect(
        not torch.equal(got, across),
        "The second row goes on where the first one ended. Rows are separate.",
    )
    expect(
        not torch.equal(got[0], right[0]) or torch.equal(got, right),
        "The first row is right, the second is not. Rows are separate.",
    )
    expect(
        torch.equal(got, right),
        f"For [7, 7, 7, 3, 3, 9] expected {right[0].tolist()}, got {got[0].tolist()}.",
    )
    expect(
        got.dtype in (torch.int64, torch.int32),
        f"Places are names too: int64, not {got.dtype}.",
    )
    again = call(packed_positions, torch.tensor([[5, 5, 2, 5, 5]]))
    expect(
        again.tolist() == [[0, 1, 0, 0, 1]],
        "A number may come back later for another text: [5, 5, 2, 5, 5] is "
        "three texts.",
    )
    one = call(packed_positions, torch.tensor([[1]]))
    expect(one.tolist() == [[0]], "A single token stands at place 0.")
    return "Packed texts do not know of each other's length."
