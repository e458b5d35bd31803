"""Chapter 1: answers people give, and a piece of what each is told."""

import torch

from book_helpers import gpt2_tokenizer

encode = gpt2_tokenizer().encode


def ids_of(texts):
    return [encode(text) for text in texts]


def padded(texts, pad=50256, dtype=torch.long, left=False):
    rows, longest = ids_of(texts), max(map(len, ids_of(texts)))
    fill = [[pad] * (longest - len(row)) for row in rows]
    whole = [f + r if left else r + f for r, f in zip(rows, fill, strict=True)]
    return torch.tensor(whole, dtype=dtype)


def one_less(ids, vocab_size):
    """Right but for the order: goes through the columns first."""
    for column in range(ids.shape[1]):
        for row in range(ids.shape[0]):
            if not 0 <= ids[row, column] < vocab_size:
                return ids[row, column].item(), row, column
    return None


def by_loops(ids, vocab_size):
    for row, line in enumerate(ids.tolist()):
        for column, value in enumerate(line):
            if value < 0 or value >= vocab_size:
                return value, row, column
    return None


def only_too_large(ids, vocab_size):
    places = (ids >= vocab_size).nonzero()
    if not len(places):
        return None
    row, column = places[0].tolist()
    return ids[row, column].item(), row, column


def off_by_one(ids, vocab_size):
    places = ((ids < 0) | (ids > vocab_size)).nonzero()
    if not len(places):
        return None
    row, column = places[0].tolist()
    return ids[row, column].item(), row, column


def as_tensors(ids, vocab_size):
    places = ((ids < 0) | (ids >= vocab_size)).nonzero()
    if not len(places):
        return None
    row, column = places[0]
    return ids[row, column], row, column


def with_min_and_max(ids, vocab_size):
    if ids.min() < 0 or ids.max() >= vocab_size:
        return by_loops(ids, vocab_size)
    return None


def only_the_id(ids, vocab_size):
    found = by_loops(ids, vocab_size)
    return found and found[0]


def again(moved, new_id):
    out = torch.empty_like(moved)
    out[new_id] = moved
    return out


def in_place(moved, new_id):
    moved[:] = moved[new_id]
    return moved


def always_ten(ids, vocab_size):
    return by_loops(ids, 10)


def back(texts, pad=50256):
    rows = [torch.tensor(row) for row in ids_of(texts)]
    return torch.nn.utils.rnn.pad_sequence(rows, padding_value=pad)


WRONG = {
    "1.1": [
        ("ace", "set of letters"),
        ({"a", "b", "c", "e"}, "(b) Brightness"),
        ({"a", "c", "d", "e"}, "(d) Years"),
        ({"c", "e"}, "(a) Token ids"),
        ({"a", "e"}, "(c) Used only"),
        ({"a", "c"}, "(e) User 7"),
        ({"a", "c", "e", "f"}, "(f) Places"),
        ({"a", "g"}, "Only the letters"),
    ],
    "1.2": [
        (lambda texts, pad=0: ids_of(texts), "Return a tensor, not list"),
        (lambda t, pad=50256: padded(t, pad, torch.float32), "an amount"),
        (lambda t, pad=50256: padded(t, pad, torch.int32), "asked was int64"),
        (lambda t, pad=50256: padded(t, pad, left=True), "stands on the left"),
        (lambda t, pad=50256: padded(t, -100), "-100 marks labels"),
        (lambda t, pad=50256: padded(t, 0), "50256 four times"),
        (lambda t, pad=0: padded(t, 50256), "`pad` is not used"),
        (back, "asked was (2, 6)"),
        (lambda t, pad=50256: torch.tensor(ids_of(t)), "raised ValueError"),
    ],
    "1.3": [
        (again, "a second time"),
        (lambda moved, new_id: moved, "where they stood"),
        (in_place, "The table that was given has changed"),
        (lambda moved, new_id: new_id, "same shape"),
        (lambda moved, new_id: moved.flip(0), "must hold the row"),
    ],
    "1.4": [
        (only_too_large, "negative"),
        (off_by_one, "one too large"),
        (as_tensors, "ints, not tensors"),
        (always_ten, "`vocab_size` is not used"),
        (with_min_and_max, "raised RuntimeError"),
        (only_the_id, "Return a tuple"),
        (one_less, "first in reading order"),
        (lambda ids, vocab_size: (0, 0, 0), "return None"),
    ],
}

RIGHT = {
    "1.1": [{"a", "c", "e"}, frozenset("ace"), {"(a)", "(c)", "(e)"}],
    "1.2": [padded],
    "1.3": [
        lambda moved, new_id: moved[new_id],
        lambda moved, new_id: moved.index_select(0, new_id),
        lambda moved, new_id: torch.stack([moved[i] for i in new_id.tolist()]),
    ],
    "1.4": [by_loops],
}
