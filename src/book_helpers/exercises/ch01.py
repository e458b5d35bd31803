"""Checks for chapter 1."""

import torch

from book_helpers.exercises import call, chosen, exercise, expect
from book_helpers.tokenizer import gpt2_tokenizer


@exercise("1.1")
def check_1_1(answer):
    letters = chosen(answer, "abcdef")
    expect(
        "b" not in letters,
        "(b) Brightness 200 is twice 100; renumber it and that is lost.",
    )
    expect(
        "d" not in letters,
        "(d) Years have an order and distances: 1990 lies between 1980 and 2000.",
    )
    expect(
        "f" not in letters,
        "(f) Places have an order: renumber them, and the text is shuffled.",
    )
    expect("a" in letters, "(a) Token ids are this chapter's example.")
    expect(
        "c" in letters,
        "(c) Used only to tell places apart, a postcode is a name in digits.",
    )
    expect(
        "e" in letters,
        "(e) User 7 is not less than user 8: a user id names an account.",
    )
    return "Names stay names when they are written in digits."


@exercise("1.2")
def check_1_2(to_batch):
    texts = ["The dog", "The dog chased the cat."]
    batch = call(to_batch, texts)
    expect(
        isinstance(batch, torch.Tensor),
        f"Return a tensor, not {type(batch).__name__}.",
    )
    expect(
        not batch.is_floating_point(),
        f"The ids are {batch.dtype}: an amount, not a name. torch.Tensor "
        "makes floats, torch.tensor keeps ints.",
    )
    expect(batch.dtype == torch.int64, f"The ids are {batch.dtype}, asked was int64.")
    expect(
        batch.shape == (2, 6),
        f"The shape is {tuple(batch.shape)}, asked was (2, 6): one row a text, "
        "as long as the longest.",
    )
    encode = gpt2_tokenizer().encode
    expect(
        batch[1].tolist() == encode(texts[1]),
        "The longest text must stand there unchanged, with nothing added.",
    )
    expect(
        batch[0, -2:].tolist() != encode(texts[0]),
        "The padding stands on the left; put it behind the ids.",
    )
    expect(
        not (batch == -100).any(),
        "-100 marks labels to skip; it is no id and no table has its row.",
    )
    expect(
        batch[0].tolist() == encode(texts[0]) + [50256] * 4,
        "The short text must be its 2 ids, then 50256 four times.",
    )
    other = call(to_batch, ["a", "a b c"], 0)
    expect(other[0, -1] == 0, "The argument `pad` is not used.")
    one = call(to_batch, ["The dog"])
    expect(
        one.shape == (1, 2),
        f"One text must still be a batch: (1, 2), not {tuple(one.shape)}.",
    )
    return "That batch is ready for a lookup."


@exercise("1.3")
def check_1_3(move_back):
    table = torch.arange(10.0).view(5, 2)  # (5, 2)
    new_id = torch.tensor([2, 0, 4, 1, 3])  # (5,)
    moved = torch.empty_like(table)  # (5, 2)
    moved[new_id] = table
    before = moved.clone()
    back = call(move_back, moved, new_id)
    expect(
        isinstance(back, torch.Tensor) and back.shape == (5, 2),
        "Return a table of the same shape as the one given.",
    )
    expect(torch.equal(moved, before), "The table that was given has changed.")
    expect(not torch.equal(back, moved), "The rows stand where they stood before.")
    again = torch.empty_like(table)  # (5, 2)
    again[new_id] = moved
    expect(
        not torch.equal(back, again),
        "That moves them a second time: out[new_id] = moved puts row i at "
        "new_id[i]. Now the row that stands at new_id[i] is wanted at i.",
    )
    expect(
        torch.equal(back, table),
        "Place i must hold the row that stands at new_id[i].",
    )
    return "Each row is under its old name again."


@exercise("1.4")
def check_1_4(first_bad_id):
    def told(rows, vocab_size=10):
        return call(first_bad_id, torch.tensor(rows), vocab_size)

    expect(
        told([[0, 9], [5, 3]]) is None,
        "Ids 0 and 9 are fine in a vocabulary of 10; return None.",
    )
    found = told([[0, 9], [10, 3]])
    expect(found is not None, "Id 10 is one too large for a vocabulary of 10.")
    found_low = told([[0, -100], [5, 3]])
    expect(found_low is not None, "A negative id is outside as well.")
    found_four = told([[0, 9]], 4)
    expect(found_four is not None, "The argument `vocab_size` is not used.")
    expect(
        isinstance(found, tuple) and len(found) == 3,
        "Return a tuple (id, row, column).",
    )
    expect(
        all(type(part) is int for part in found),
        "Return plain ints, not tensors or floats: .item() or .tolist().",
    )
    expect(found == (10, 1, 0), f"Expected (10, 1, 0), got {found}.")
    expect(found_low == (-100, 0, 1), f"Expected (-100, 0, 1), got {found_low}.")
    both = told([[0, 1], [5, -1], [10, 3]])
    expect(
        both == (-1, 1, 1),
        "With several bad ids, the first in reading order counts.",
    )
    empty = call(first_bad_id, torch.empty(0, 4, dtype=torch.long), 10)
    expect(empty is None, "An empty batch holds no bad id; return None.")
    return "That is what check_id_range does before it speaks."
