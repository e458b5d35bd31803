"""Chapter 1: answers people give, and a piece of what each is told."""

import struct
from itertools import zip_longest

import numpy as np
import torch

from book_helpers import gpt2_tokenizer
from embedding_layer import check_id_range, check_token_ids

encode = gpt2_tokenizer().encode
HALVES = [0, 0, 0, 0, 1, 1, 1, 1]


def ids_of(texts):
    return [encode(text) for text in texts]


def padded(texts, pad=50256, dtype=torch.long, left=False):
    rows, longest = ids_of(texts), max(map(len, ids_of(texts)))
    fill = [[pad] * (longest - len(row)) for row in rows]
    whole = [f + r if left else r + f for r, f in zip(rows, fill, strict=True)]
    return torch.tensor(whole, dtype=dtype)


def back(texts, pad=50256):
    rows = [torch.tensor(row) for row in ids_of(texts)]
    return torch.nn.utils.rnn.pad_sequence(rows, padding_value=pad)


def by_full(texts, pad=50256):
    rows = ids_of(texts)
    batch = torch.full((len(rows), max(map(len, rows))), pad)
    for line, row in zip(batch, rows, strict=True):
        line[: len(row)] = torch.tensor(row)
    return batch


def by_zip_longest(texts, pad=50256):
    return torch.tensor([*zip_longest(*ids_of(texts), fillvalue=pad)]).T


def always_six(texts, pad=50256):
    return torch.tensor([(row + [pad] * 6)[:6] for row in ids_of(texts)])


def moved(rows, old, new, start=None):
    """Right with `start` left out; else the row of an added token."""
    start = rows.mean(0) if start is None else start
    return torch.stack(
        [rows[old.index(token)] if token in old else start for token in new]
    )


def moved_by_product(rows, old, new):
    known = [[float(a == b) for b in old] for a in new]
    mean = [1 / len(old)] * len(old)
    return torch.tensor([row if any(row) else mean for row in known]) @ rows


def by_dictionary(rows, old, new):
    index = {token: i for i, token in enumerate(old)}
    return rows[[index[token] for token in new]]


def the_other_way(rows, old, new):
    out = torch.zeros(len(new), rows.shape[1])
    for i, token in enumerate(new):
        if token in old and old.index(token) < len(new):
            out[old.index(token)] = rows[min(i, len(rows) - 1)]
    return out


def in_place(rows, old, new):
    rows.copy_(moved(rows, old, new)[: len(rows)])
    return rows


def mean_of_the_kept(rows, old, new):
    kept = torch.stack([rows[old.index(token)] for token in new if token in old])
    return moved(rows, old, new, kept.mean(0))


def by_position(rows, old, new):
    """Keeps known rows, but an added token gets the row that stood there."""
    first = moved(rows, old, new)
    for i, token in enumerate(new):
        if token not in old:
            first[i] = rows[i % len(rows)]
    return first


def read_as(dtype, kind=np.int64):
    def read_ids(raw, seq_len, vocab_size):
        numbers = np.frombuffer(raw, dtype=dtype).astype(kind)
        whole = len(numbers) // seq_len * seq_len
        ids = torch.from_numpy(numbers[:whole]).view(-1, seq_len)
        check_id_range(ids.long(), vocab_size)
        return ids

    return read_ids


def unchecked(raw, seq_len, vocab_size):
    numbers = np.frombuffer(raw, dtype="<u2").astype(np.int64)
    whole = len(numbers) // seq_len * seq_len
    return torch.from_numpy(numbers[:whole]).view(-1, seq_len)


def signed(raw, seq_len, vocab_size):
    numbers = np.frombuffer(raw, dtype="<i2").astype(np.int64)
    whole = len(numbers) // seq_len * seq_len
    return torch.from_numpy(numbers[:whole]).view(-1, seq_len)


def still_16_bits(raw, seq_len, vocab_size):
    ids = torch.frombuffer(bytearray(raw[:24]), dtype=torch.uint16)
    check_id_range(ids, vocab_size)
    return ids.view(-1, seq_len)


def swapped_bytes(raw, seq_len, vocab_size):
    return unchecked(raw, seq_len, vocab_size).apply_(lambda i: i >> 8 | i % 256 << 8)


def nothing_left_out(raw, seq_len, vocab_size):
    numbers = np.frombuffer(raw, dtype="<u2").astype(np.int64)
    return torch.from_numpy(numbers).view(-1, seq_len)


def down_the_columns(raw, seq_len, vocab_size):
    ids = unchecked(raw, seq_len, vocab_size)
    return ids.flatten().view(seq_len, -1).T


def other_axis(raw, seq_len, vocab_size):
    return unchecked(raw, seq_len, vocab_size).T


def always_gpt2(raw, seq_len, vocab_size):
    ids = unchecked(raw, seq_len, vocab_size)
    check_id_range(ids, 50257)
    return ids


def refused_without_a_word(raw, seq_len, vocab_size):
    ids = unchecked(raw, seq_len, vocab_size)
    if (ids >= vocab_size).any():
        raise ValueError("bad file")
    return ids


def by_struct(raw, seq_len, vocab_size):
    """Right, without numpy, in 32 bits and with an error of its own."""
    numbers = struct.unpack(f"<{len(raw) // 2}H", raw)
    for number in numbers:
        if number >= vocab_size:
            raise ValueError(f"no token has the id {number}")
    rows = len(numbers) // seq_len
    ids = torch.tensor(numbers[: rows * seq_len], dtype=torch.int32)
    return ids.view(rows, seq_len)


def by_frombuffer(raw, seq_len, vocab_size):
    ids = torch.frombuffer(bytearray(raw), dtype=torch.uint16).long()
    ids = torch.stack(list(ids.split(seq_len))[: len(ids) // seq_len])
    check_token_ids(ids)
    check_id_range(ids, vocab_size)
    return ids


def shortest_first(texts, pad=50256):
    return padded(sorted(texts, key=len), pad)


def float_if_empty(texts, pad=50256):
    return padded(texts, pad, torch.int64 if all(texts) else torch.float32)


def into_a_copy(rows, old, new):
    table = rows.clone()
    for i, token in enumerate(new):
        table[i] = rows[old.index(token)] if token in old else rows.mean(0)
    return table


WRONG = {
    "1.1": [
        (HALVES, "Give a pair"),
        (([0, 1] * 4, (0, 1)), "even before the swap: the best gets 5"),
        (([0, 0, 0, 1], (0, 3)), "eight numbers"),
        ((HALVES, (0, 8)), "two ids from 0 to 7"),
        ((HALVES, (2, 2)), "itself"),
        (([0] * 8, (0, 7)), "With one label"),
        ((HALVES, (0, 3)), "Ids 0 and 3 have the same label"),
        (([0] * 7 + [1], (0, 7)), "1 0 0 0 0 0 0 0: still one change"),
    ],
    "1.2": [
        (lambda texts, pad=0: ids_of(texts), "Return a tensor, not list"),
        (lambda t, pad=50256: padded(t, pad, torch.float32), "amounts"),
        (lambda t, pad=50256: padded(t, pad, torch.int32), "not int64"),
        (lambda t, pad=50256: padded(t, pad, left=True), "stands on the left"),
        (lambda t, pad=50256: padded(t, -100), "-100 marks labels"),
        (lambda t, pad=50256: padded(t, 0), "50256 four times"),
        (lambda t, pad=0: padded(t, 50256), "`pad` is not used"),
        (back, "not (2, 6)"),
        (lambda t, pad=50256: torch.tensor(ids_of(t)), "Fill up the short one"),
        (shortest_first, "row i is no longer"),
        (float_if_empty, "made of no numbers"),
        (always_six, "With pad=0 the batch of 1 and 3 ids has the shape (2, 6)"),
    ],
    "1.3": [
        (lambda rows, old, new: rows, "have not moved"),
        (the_other_way, "went the other way"),
        (in_place, "changed `rows`"),
        (lambda rows, old, new: rows[[old.index(t) for t in new]], "not in list"),
        (by_dictionary, "where that token is not known"),
        (lambda r, old, new: moved(r, old, new, torch.zeros(2)), "not at zeros"),
        (mean_of_the_kept, "also those of tokens that are gone"),
        (
            lambda r, old, new: moved(r, old, new, r.mean().expand(2)),
            "one number for each column",
        ),
        (
            lambda r, old, new: moved(r, old, new, r.mean()),
            "Your rows differ in length",
        ),
        (into_a_copy, "a row that is not there"),
        (by_position, "must get the mean row"),
        (
            lambda r, old, new: moved(r, old, [t for t in new if t in old]),
            "one row for each token of `new`",
        ),
        (lambda rows, old, new: torch.nn.Embedding(len(new), 2), "Return a tensor"),
        (lambda rows, old, new: [*moved(rows, old, new)], "torch.stack"),
    ],
    "1.4": [
        (lambda raw, seq_len, vocab_size: list(raw), "Return a tensor, not list"),
        (read_as("<u2", np.uint16), "torch.uint16"),
        (read_as("<u2", np.float32), "torch.float32"),
        (signed, "-23393"),
        (read_as("<i2"), "A good file was refused: token id -23393"),
        (read_as(">u2"), "dtype"),
        (swapped_bytes, "two bytes of each id are swapped"),
        (still_16_bits, "before the checks"),
        (read_as("<i8"), "your numbers are longer"),
        (nothing_left_out, "leave out what remains"),
        (read_as("u1"), "single bytes"),
        (other_axis, "second axis"),
        (down_the_columns, "runs down the columns"),
        (unchecked, "nothing refused it"),
        (always_gpt2, "Id 3797 is outside a vocabulary of 3000"),
        (refused_without_a_word, "does not name it"),
    ],
}

RIGHT = {
    "1.1": [
        (HALVES, (0, 7)),
        ([[1, 1, 1, 0, 0, 0, 0, 0], [3, 2]]),
        (torch.tensor([0.0, 0, 1, 1, 1, 1, 1, 1]), torch.tensor([0, 4])),
        ("00000111", {0, 7}),
    ],
    "1.2": [padded, by_full, by_zip_longest],
    "1.3": [moved, moved_by_product],
    "1.4": [by_struct, by_frombuffer, read_as("<u2"), read_as("<u2", np.int32)],
}
