"""Checks for chapter 1."""

import struct

import torch

from book_helpers.exercises import (
    Blank,
    Wrong,
    call,
    exercise,
    expect,
    tensor_of,
    unchanged,
)
from book_helpers.tokenizer import gpt2_tokenizer


def best_line(labels):
    """How many labels the best line gets right: it cuts the ids at one point."""
    n = len(labels)
    right = [
        labels[:cut].count(0) + labels[cut:].count(1) for cut in range(n + 1)
    ]  # 0 left of the cut, 1 right of it
    return max(*right, n - min(right))  # or the other way round


def whole(values, wanted):
    """A list of `wanted` ints from a list, a tensor or a string of digits."""
    if isinstance(values, torch.Tensor):
        values = values.flatten().tolist()
    try:
        values = list(values)
        ints = [int(value) for value in values]
        same = all(float(value) == i for value, i in zip(values, ints, strict=True))
    except (TypeError, ValueError, OverflowError):
        return None
    return ints if same and len(ints) == wanted else None


@exercise("1.1")
def check_1_1(answer):
    shape = "Give a pair: eight labels, then two ids, as in ([0, 1, …], (2, 5))."
    try:
        labels, swap = answer
    except (TypeError, ValueError):
        raise Wrong(shape) from None
    if labels is ... or swap is ...:
        raise Blank
    labels, swap = whole(labels, 8), whole(swap, 2)
    expect(
        labels is not None and set(labels) <= {0, 1},
        "The labels are eight numbers, each 0 or 1, in the order of the ids.",
    )
    expect(
        swap is not None and set(swap) <= set(range(8)),
        "The swap is two ids from 0 to 7.",
    )
    a, b = swap
    expect(a != b, f"Swapping {a} with itself renames nothing.")
    expect(len(set(labels)) == 2, "With one label for all, no renaming can do harm.")
    before = best_line(labels)
    expect(
        before == 8,
        f"No line learns these labels even before the swap: the best gets {before} "
        "of 8. Let them change only once along the ids.",
    )
    expect(
        labels[a] != labels[b],
        f"Ids {a} and {b} have the same label, so the swap changes nothing.",
    )
    swapped = list(labels)
    swapped[a], swapped[b] = labels[b], labels[a]
    after = best_line(swapped)
    told = " ".join(map(str, swapped))
    expect(
        after < 8,
        f"Along the new names the labels read {told}: still one change, so a line "
        "learns them.",
    )
    return (
        f"Along the new names the labels read {told}, and the best line gets {after} "
        "of 8. A table would only swap two rows."
    )


@exercise("1.2")
def check_1_2(to_batch):
    texts = ["The dog", "The dog chased the cat."]
    try:
        batch = call(to_batch, texts)
    except ValueError as error:
        expect(
            "expected sequence of length" not in str(error),
            "A tensor has one length for all its rows, and these texts have 2 and 6 "
            "ids. Fill up the short one first.",
        )
        raise
    expect(
        isinstance(batch, torch.Tensor),
        f"Return a tensor, not {type(batch).__name__}.",
    )
    expect(
        not batch.is_floating_point(),
        f"The ids are {batch.dtype}: amounts, not names. torch.Tensor makes floats, "
        "torch.tensor keeps integers.",
    )
    expect(batch.dtype == torch.int64, f"The ids are {batch.dtype}, not int64.")
    expect(
        batch.shape == (2, 6),
        f"The shape is {tuple(batch.shape)}, not (2, 6): one row a text, as long as "
        "the longest.",
    )
    encode = gpt2_tokenizer().encode
    short, long = encode(texts[0]), encode(texts[1])
    expect(
        batch[1].tolist() == long,
        "The longest text must stand there unchanged, with nothing added.",
    )
    expect(
        batch[0, -2:].tolist() != short,
        "The padding stands on the left; put it behind the ids.",
    )
    expect(
        not (batch == -100).any(),
        "-100 marks labels to skip; it is no id and no table has its row.",
    )
    expect(
        batch[0].tolist() == short + [50256] * 4,
        "The short text must be its 2 ids, then 50256 four times.",
    )
    other = tensor_of(call(to_batch, ["a", "a b c"], 0))
    expect(
        other.shape == (2, 3),
        f"With pad=0 the batch of 1 and 3 ids has the shape {tuple(other.shape)}, not "
        "(2, 3).",
    )
    expect(
        other[0].tolist() == encode("a") + [0, 0],
        "With pad=0 the short text must end in zeros; the argument `pad` is not used.",
    )
    one = tensor_of(call(to_batch, ["The dog"]))
    expect(
        one.shape == (1, 2),
        f"One text must still be a batch: (1, 2), not {tuple(one.shape)}.",
    )
    three = tensor_of(call(to_batch, ["The dog chased the cat.", "", "The dog"]))
    expect(
        three.dtype == torch.int64,
        f"With an empty text among them the ids are {three.dtype}: a tensor made of "
        "no numbers is float32.",
    )
    rows = [ids + [50256] * (6 - len(ids)) for ids in (long, [], short)]
    expect(
        three.tolist() == rows,
        "With the longest text first, then an empty one, row i is no longer text i, "
        "filled up to the longest.",
    )
    return "That batch is ready for a lookup."


@exercise("1.3")
def check_1_3(move_table):
    rows = torch.tensor([[1.0, 10], [2, 20], [3, 30], [6, 60]])  # (4, 2)
    old = ["the", " cat", " dog", " sat"]

    def moved(new):
        lent = rows.clone()
        try:
            found = call(move_table, lent, list(old), list(new))
        except KeyError as error:
            raise Wrong(
                f"Your code looks up {error} where that token is not known; an added "
                "token has no old row."
            ) from None
        except ValueError as error:
            if "is not in list" not in str(error):
                raise
            raise Wrong(
                f"Your code asks for a token where it does not occur ({error}); some "
                "tokens are added and some are gone."
            ) from None
        except IndexError as error:
            raise Wrong(
                f"Your code asks for a row that is not there ({error}): the new table "
                "has a row for each token of `new`, more or fewer than the old one."
            ) from None
        except RuntimeError as error:
            if "equal size" not in str(error):
                raise
            raise Wrong(
                "Your rows differ in length. The mean has one number for each column: "
                "rows.mean(0)."
            ) from None
        expect(
            not isinstance(found, (list, tuple)),
            "Return one tensor; torch.stack makes one of a list of rows.",
        )
        found = tensor_of(found)
        unchanged(rows, lent, "`rows`")
        expect(
            found.shape == (len(new), 2),
            f"The shape is {tuple(found.shape)}, not {(len(new), 2)}: one row for each "
            "token of `new`.",
        )
        return found

    new = [" dog", "the", " cat", " sat"]
    want = rows[[2, 0, 1, 3]]
    found = moved(new)
    expect(
        not torch.equal(found, rows),
        "The rows have not moved: row 0 must be that of new[0].",
    )
    expect(
        not torch.equal(found, rows[[1, 2, 0, 3]]),
        "The rows went the other way: row 0 of the result must be that of new[0], "
        "wherever it was in `old`.",
    )
    expect(
        torch.allclose(found, want),
        f"For new = {new} the rows should be {want.tolist()}.",
    )

    new = [" bird", " dog", "the", " ran", " cat"]
    found = moved(new)
    expect(
        torch.allclose(found[[1, 2, 4]], rows[[2, 0, 1]]),
        "With tokens added and gone, a known token must still keep its row.",
    )
    mean, kept = rows.mean(0), rows[:3].mean(0)
    added = found[[0, 3]]  # (2, 2)
    expect(added.any(), "An added token starts at the mean of the rows, not at zeros.")
    expect(
        not torch.allclose(added, kept.expand(2, 2)),
        "The mean is over all old rows, also those of tokens that are gone.",
    )
    expect(
        not torch.allclose(added, rows.mean().expand(2, 2)),
        "The mean has one number for each column: rows.mean(0).",
    )
    expect(
        torch.allclose(added, mean.expand(2, 2)),
        f"An added token must get the mean row {mean.tolist()}, not "
        f"{added[0].tolist()}.",
    )
    return "The names are new, and each token that was known is still itself."


@exercise("1.4")
def check_1_4(read_ids):
    ids = gpt2_tokenizer().encode("The kitten chased the cat. The cat ran, and hid.")
    ids = ids[:13]  # three rows of 4, and one left over

    def written(values):
        return struct.pack(f"<{len(values)}H", *values)

    def read(values, seq_len, vocab_size=50257):
        try:
            return call(read_ids, written(values), seq_len, vocab_size)
        except NotImplementedError as error:  # a RuntimeError, too
            expect("UInt16" not in str(error), "Convert to int64 before the checks.")
            raise
        except RuntimeError as error:
            if "is invalid for input of size" not in str(error):
                raise
        except ValueError as error:
            expect(
                "multiple of element size" not in str(error),
                "An id is two bytes in the file, and your numbers are longer.",
            )
            if "cannot reshape array" not in str(error):
                raise
        raise Wrong(
            f"{len(values)} ids do not fill rows of {seq_len}: leave out what remains."
        )

    try:
        found = read(ids, 4)
    except IndexError as error:
        raise Wrong(
            f"A good file was refused: {str(error).partition('. ')[0]}. Each id is two "
            'bytes, lowest first, unsigned: dtype "<u2".'
        ) from None
    expect(
        isinstance(found, torch.Tensor),
        f"Return a tensor, not {type(found).__name__}.",
    )
    expect(
        found.dtype in (torch.int64, torch.int32),
        f"The ids are {found.dtype}; the check and the lookup take int64 or int32.",
    )
    expect(
        not (found < 0).any(),
        "Id 42143 came back as -23393: the file holds unsigned integers.",
    )
    flat = found.flatten().tolist()
    swapped = [(i >> 8) + (i % 256 << 8) for i in ids]
    expect(
        flat[:4] != swapped[:4],
        'The two bytes of each id are swapped: the lowest comes first, dtype "<u2".',
    )
    expect(
        flat[:8] != list(written(ids))[:8],
        "Those are single bytes; an id is two of them.",
    )
    expect(found.shape != (4, 3), "The shape is (4, 3): `seq_len` is the second axis.")
    expect(
        found.shape == (3, 4),
        f"The shape is {tuple(found.shape)}; 13 ids in rows of 4 make (3, 4), with one "
        "id left out.",
    )
    expect(
        flat != torch.tensor(ids[:12]).view(4, 3).T.flatten().tolist(),
        "The text runs down the columns; each row is 4 ids that follow each other.",
    )
    expect(flat == ids[:12], "The ids must stand in the order of the file, row by row.")
    even = read(ids[:12], 6)
    expect(
        even.shape == (2, 6),
        f"12 ids in rows of 6 make (2, 6), not {tuple(even.shape)}.",
    )
    for bad, size in ((50300, 50257), (3797, 3000)):
        try:
            read([13, bad, 262, 13], 2, size)
        except (IndexError, ValueError, AssertionError) as error:
            expect(
                str(bad) in str(error),
                f"Id {bad} is refused, but the message does not name it: {error}",
            )
            continue
        raise Wrong(
            f"Id {bad} is outside a vocabulary of {size} and nothing refused it: call "
            "check_id_range."
        )
    return "Names in, names out, and a stranger is stopped at the door."
