"""Checks for chapter 8."""

import re

import torch
from torch.nn import functional as F

from book_helpers.exercises import (
    call,
    chosen,
    exercise,
    expect,
    number_of,
    tensor_of,
    unchanged,
)
from book_helpers.tokenizer import gpt2_tokenizer
from book_helpers.whisper import load_whisper_tables

LINE = " There is nothing either good or bad, but thinking makes it so"


@exercise("8.1")
def check_8_1(answer):
    letters = chosen(answer, "abcdef")
    expect(
        "a" not in letters,
        "(a) With 16 columns the best of 999 rivals still scores higher than the own "
        "row in about two of three sums.",
    )
    expect(
        "d" not in letters,
        "(d) Thirty times as large, the position drowns the token. Four times the "
        "columns make up for twice the size, no more.",
    )
    expect(
        "e" not in letters,
        "(e) The positions are whispered, and 256 columns are not enough to hear them.",
    )
    expect("b" in letters, "(b) With 64 columns both were read in the chapter.")
    expect(
        "c" in letters,
        "(c) Twice as large was safe with 256 columns; 768 only make it safer.",
    )
    expect(
        "f" in letters,
        "(f) This is a concatenation: each part has 64 columns to itself, and the "
        "other adds nothing to its scores.",
    )
    return "Enough columns, and about equally loud. Side by side counts as a sum."


def message():
    """The shuffled sums of exercise 8.2: (seq_len, 384) float32."""
    token_ids, token_rows, position_rows = load_whisper_tables()
    ids = torch.tensor(gpt2_tokenizer().encode(LINE))  # (seq_len,)
    sums = token_rows[torch.searchsorted(token_ids, ids)]  # (seq_len, 384)
    sums = sums + position_rows[: len(ids)]
    rng = torch.Generator().manual_seed(1)
    return sums[torch.randperm(len(ids), generator=rng)]


@exercise("8.2")
def check_8_2(answer):
    if isinstance(answer, (list, tuple)) and all(isinstance(w, str) for w in answer):
        answer = "".join(answer)
    expect(
        isinstance(answer, str),
        f"Give the text, not {type(answer).__name__}: tokenizer.decode() makes it of "
        "a list of GPT-2's ids.",
    )
    said, wanted = (re.findall(r"\w+|[^\w\s]", text) for text in (answer, LINE))
    expect(said, "That is an empty text.")
    if said != wanted and sorted(said) == sorted(wanted):
        expect(
            False,
            "These are the right words in another order. The position rows say which "
            "sum comes first: argsort() of the positions gives the order.",
        )
    common = len(set(said) & set(wanted))
    expect(
        common > 0,
        "Not one word of the line is in it. A row of token_rows belongs to the id in "
        "token_ids at the same index; the index itself is no id of GPT-2.",
    )
    expect(
        "Moscow" not in answer,
        "Moscow is far from Elsinore. Take the nearest row, not the largest dot "
        "product.",
    )
    expect(
        said == wanted,
        f"{common} of the {len(set(wanted))} words and commas are right.",
    )
    return "Hamlet, to Rosencrantz and Guildenstern, in the second act."


@exercise("8.3")
def check_8_3(nearest_row):
    for n, rows, columns in ((200, 900, 8), (7, 50, 16), (1, 3, 2)):
        lengths = torch.rand(rows, 1, dtype=torch.float64) * 3 + 0.2
        table = torch.randn(rows, columns, dtype=torch.float64) * lengths
        sums = torch.randn(n, columns, dtype=torch.float64) * 2
        before = sums.clone(), table.clone()
        result = tensor_of(call(nearest_row, sums, table))
        unchanged(before[0], sums, "the sums")
        unchanged(before[1], table, "the table")
        expect(
            result.shape == (n,),
            f"For {n} sums return {n} indices, not a tensor of shape "
            f"{tuple(result.shape)}.",
        )
        right = torch.cdist(sums, table).argmin(dim=1)
        far = torch.cdist(sums, table).argmax(dim=1)
        dots = sums @ table.T
        squares = table.square().sum(dim=1)
        slips = {
            "That is the plain dot product: long rows win. The squared distance is "
            "s·s - 2 s·r + r·r.": dots.argmax(dim=1),
            "That is the *farthest* row: a distance wants argmin.": far,
            "You took off the whole r·r. In s·s - 2 s·r + r·r the product counts "
            "twice, so take off half.": (dots - squares).argmax(dim=1),
            "The rows' lengths are taken out, so this asks for the direction alone. "
            "The nearest row depends on its length too.": (
                sums @ F.normalize(table).T
            ).argmax(dim=1),
            "Half of the length is taken off, not half of its square.": (
                dots - squares.sqrt() / 2
            ).argmax(dim=1),
            "The sign of the correction is turned: a longer row must lose.": (
                dots + squares / 2
            ).argmax(dim=1),
        }
        for hint, slip in slips.items():
            if not torch.equal(slip, right):
                expect(not torch.equal(result, slip), hint)
        expect(
            torch.equal(result, right),
            f"{int((result == right).sum())} of {n} are the nearest row. What is left "
            "of s·s - 2 s·r + r·r when only r may change?",
        )
    return "Long rows no longer win."


@exercise("8.4")
def check_8_4(position_share):
    for vocab_size, d_model in ((37000, 512), (8000, 512), (50257, 768), (11, 512)):
        token = 2 / (vocab_size + d_model) * d_model
        right = 0.5 / (token + 0.5)
        share = number_of(call(position_share, vocab_size, d_model))
        where = f"for {vocab_size} tokens and {d_model} columns"

        def close(value, share=share):
            return abs(share - value) < 2e-3 * abs(value)

        if close(right):
            continue
        expect(not close(100 * right), "That is in percent; give it between 0 and 1.")
        expect(not close(1 - right), f"That is the token's share {where}.")
        expect(
            not close(0.5 / (0.5 + token / d_model)),
            "The factor √d is missing: it multiplies the variance by d.",
        )
        expect(
            not close(0.5 / (0.5 + token * d_model)),
            "The rows are multiplied by √d, so their mean square by d, once.",
        )
        expect(
            not close(0.5 / (0.5 + token / d_model**0.5)),
            "A factor on the rows enters their mean square as its square: d, not √d.",
        )
        expect(
            not close(0.5**0.5 / (0.5**0.5 + token**0.5)),
            "The share is one of mean squares, not of standard deviations.",
        )
        expect(
            not close(1 / (1 + token)),
            "The mean square of a sine is 1/2, not 1.",
        )
        expect(
            not close(0.5 / token),
            "That is position by token. The share is position by both together.",
        )
        expect(
            not close(0.5 / (0.5 + token / 3)),
            "2 / (rows + columns) is the variance; the uniform's third is in it.",
        )
        expect(
            not close(0.5 / (0.5 + 3 * token)),
            "A uniform's variance is a third of its bound squared; 2 / (rows + "
            "columns) is that variance already.",
        )
        expect(
            False,
            f"{share:.3f} {where} is too {'much' if share > right else 'little'}. "
            "Write down the mean squares of both parts first.",
        )
    return "The smaller the vocabulary, the louder Xavier makes its tokens."
