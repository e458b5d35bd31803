"""Checks for chapter 4."""

import torch
from torch import nn

from book_helpers.exercises import (
    Wrong,
    call,
    chosen,
    exercise,
    expect,
    tensor_of,
    unchanged,
)


def shaped(result, shape, hint):
    """The reader's tensor, or a word about its shape with a hint."""
    expect(
        isinstance(result, torch.Tensor),
        f"Return a tensor, not {type(result).__name__}.",
    )
    expect(
        result.shape == shape,
        f"The shape is {tuple(result.shape)}, wanted is {tuple(shape)}. {hint}",
    )
    return tensor_of(result).detach().double()


@exercise("4.1")
def check_4_1(answer):
    letters = chosen(answer, "abcdef")
    expect(
        "c" not in letters,
        "(c) has the shape (4, 1, 8): the 1 is stretched over the words, so all "
        "words of sequence b get row b. The batch is as long as a sequence here, "
        "so nothing is refused.",
    )
    expect(
        "e" not in letters,
        "(e) is one row, (8,). Every word gets position 3: the lost colon.",
    )
    expect(
        "f" not in letters,
        "(f) is (4, 1): aligned at the right, its 4 stands below the words, but only "
        "the first number of each row is left, stretched over all 8.",
    )
    expect("a" in letters, "(a) Rows 0 to 3 stand below the words: as meant.")
    expect(
        "b" in letters,
        "(b) only writes down the 1 that step 1 of the rule would put in front.",
    )
    expect(
        "d" in letters,
        "(d) is (4, 1, 8) with its first two axes swapped, so (1, 4, 8): the rows "
        "stand below the words again.",
    )
    return "All six fit. Fitting is not the same as being meant."


@exercise("4.2")
def check_4_2(add_sequence_first):
    pe = torch.randn(9, 1, 2, dtype=torch.float64)  # (max_seq_len, 1, d_model)
    x = torch.randn(3, 5, 2, dtype=torch.float64)  # (batch, seq_len, d_model)
    before, table = x.clone(), pe.clone()

    def told(x, table=pe):
        try:
            return call(add_sequence_first, x, table)
        except (RuntimeError, IndexError) as error:
            raise Wrong(
                f"For x of shape {tuple(x.shape)} torch says: {error}. The rows "
                "of pe lie along its first axis, x wants them along its second, "
                "and only as many as it has tokens."
            ) from None

    result = told(x)
    unchanged(before, x, "x (+ makes a new tensor, += does not)")
    unchanged(table, pe, "the table")
    hint = "The result has the shape of x."
    if isinstance(result, torch.Tensor) and result.shape == (5, 3, 2):
        hint = "You swapped the axes of x; swap them back, or those of the table."
    result = shaped(result, x.shape, hint)
    given = result - x
    expect(
        not torch.allclose(given, pe[:3].expand(3, 5, 2)),
        "That is still line 1: each word of a sequence got the same row. "
        "x.shape[0] is the batch.",
    )
    expect(not torch.allclose(given, torch.zeros_like(x)), "Nothing was added to x.")
    expect(
        not torch.allclose(result, pe[:5, 0].expand(3, 5, 2)),
        "Those are the position rows alone; x is missing.",
    )
    expect(
        not torch.allclose(given, pe[1:6, 0].expand(3, 5, 2)),
        "The positions are counted from 1. The first token takes row 0.",
    )
    expect(
        not torch.allclose(given, pe[5].expand(3, 5, 2)),
        "All words got row 5, the lost colon. They take rows 0 to 4.",
    )
    expect(
        torch.allclose(given[0], pe[:5, 0]),
        "The first sequence must get the rows 0, 1, 2, 3, 4 of the table.",
    )
    expect(
        torch.allclose(given, pe[:5, 0].expand(3, 5, 2)),
        "The sequences got different positions; all take the same rows.",
    )
    for shape in ((4, 4, 2), (1, 4, 2), (4, 1, 2)):
        x = torch.randn(shape, dtype=torch.float64)
        result = shaped(told(x), shape, "For x of (3, 5, 2) it was right.")
        expect(
            torch.allclose(result - x, pe[: shape[1], 0].expand(shape)),
            f"Right for (3, 5, 2), wrong for {shape}: which axis is which must "
            "not depend on the lengths.",
        )
    x = torch.zeros(3, 5, 1, dtype=torch.float64)
    narrow = told(x, pe[..., :1])
    expect(
        isinstance(narrow, torch.Tensor) and narrow.shape == x.shape,
        "With one column the shape goes wrong: squeeze() without an axis takes "
        "d_model off too.",
    )
    return "Swapping the axes of the table is enough."


class Sealed(nn.Module):
    """A layer with two tables; `kind` says what its forward does."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.tokens, self.rows = nn.Embedding(10, 4), nn.Embedding(1024, 4)
        self.dropout = nn.Dropout(0.5 if kind == "dropout" else 0)

    def __repr__(self):
        return "Sealed()"

    def forward(self, ids):
        x = self.tokens(ids)  # (batch, seq_len, d_model)
        positions = torch.arange(ids.shape[1]).expand(ids.shape)
        if self.kind == "starts over":
            positions = positions % 6
        elif self.kind == "runs on":
            positions = torch.arange(ids.numel()).view(ids.shape)
        if self.kind != "thrown away":
            x = x + self.rows(positions)
        if self.kind == "centred":
            x = x - x.mean(dim=0)
        return self.dropout(x)


def sealed_layers():
    """The six layers of exercise 4.3, in training mode."""
    kinds = "centred", "dropout", "starts over", "right", "runs on", "thrown away"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return {
            letter: Sealed(kind) for letter, kind in zip("abcdef", kinds, strict=True)
        }


@exercise("4.3")
def check_4_3(answer):
    letters = chosen(answer, "abcdef")
    expect(
        "b" not in letters,
        "(b) has dropout, so two runs differ while it is in training mode. Call "
        "eval() on each layer first.",
    )
    expect(
        "d" not in letters,
        "(d) passes both tests. Did a position get beyond 8 words, or the verdict "
        "of another letter slip in?",
    )
    expect(
        "f" in letters,
        "(f) throws its sum away: repeat one word, and all its rows are equal.",
    )
    expect(
        "e" in letters,
        "(e) goes on counting into the next sequence. The company test sees it in "
        "any batch of two or more.",
    )
    expect(
        "a" in letters,
        "(a) subtracts the mean over the batch. What a sequence gets depends on its "
        "company; and the positions, the same in every sequence, cancel.",
    )
    expect(
        "c" in letters,
        "(c) starts over after six rows. Sequences of six words or fewer cannot "
        "show it; the layers take eight.",
    )
    return (
        "Four of six. Not one returned a wrong shape, and (a) lost its positions "
        "again: the mean over the batch contains them."
    )


@exercise("4.4")
def check_4_4(fool):
    E = torch.randn(10, 3, dtype=torch.float64)  # (vocab_size, d_model)
    P = torch.randn(64, 3, dtype=torch.float64)  # (max_seq_len, d_model)
    tables = E.clone(), P.clone()

    def run(ids):
        try:
            result = call(fool, ids, E, P)
        except RuntimeError as error:
            if "must match the size" not in str(error):
                raise
            raise Wrong(
                f"With {len(ids)} sequences of {ids.shape[1]} words the shapes do not "
                "fit: take as many position rows as there are words in a sequence."
            ) from None
        hint = "Wanted is (batch, seq_len, d_model)."
        return shaped(result, (*ids.shape, 3), hint)

    for batch, seq_len in ((3, 4), (4, 4), (2, 7)):
        ids = torch.randint(10, (batch, seq_len))  # (batch, seq_len)
        together = run(ids)
        unchanged(tables[0], E, "the token table")
        unchanged(tables[1], P, "the position table")
        right = E[ids] + P[:seq_len]
        expect(
            not torch.allclose(together, right),
            "That is the right line. Give the words wrong positions.",
        )
        backwards = P[:seq_len].flip(0)
        for rows, name in ((P[1 : seq_len + 1], "from 1"), (backwards, "backwards")):
            expect(
                not torch.allclose(together, E[ids] + rows),
                f"It counts {name}. We had that; find another.",
            )
        for b in range(batch):
            expect(
                torch.allclose(run(ids[b : b + 1])[0], together[b]),
                f"The company test catches it: of {batch} sequences of {seq_len} "
                f"words, sequence {b} alone gives something else than in the batch.",
            )
        rows = run(ids[:, :1].expand(ids.shape))
        gaps = (rows.unsqueeze(2) - rows.unsqueeze(1)).abs().amax(-1)
        same = (gaps < 1e-5 * rows.abs().max()).triu(diagonal=1)
        where = same.nonzero()[:1].flatten().tolist()
        expect(
            not where,
            f"The position test catches it: with one word repeated {seq_len} times, "
            f"positions {where[1:]} give the same.",
        )
        # Which token rows is a row of P added to? (batch, seq_len, vocab_size)
        sums = (E.unsqueeze(1) + P).flatten(0, 1)  # (vocab_size * max_seq_len, 3)
        gaps = (together.unsqueeze(2) - sums).abs().amax(-1)
        fits = gaps.unflatten(2, (len(E), len(P))).amin(-1) < 1e-5
        bare = (together.unsqueeze(2) - P).abs().amax(-1).amin(-1) < 1e-5
        expect(not bare.all(), "The token rows are missing.")
        own = fits.gather(2, ids.unsqueeze(2))  # (batch, seq_len, 1)
        expect(
            own.all() or not fits.any(-1).all(),
            "These are rows of P added to the token rows of other words.",
        )
        expect(own.all(), "Take E[ids] off, and what is left are not rows of P.")
    return "Both tests pass, and it is wrong: compare once with rows that you know."


@exercise("4.5")
def check_4_5(shrink_grad):
    grad = torch.randn(3, 4, 2, dtype=torch.float64)  # (batch, seq_len, d_model)
    before = grad.clone()

    def told(shape):
        try:
            return call(shrink_grad, grad, shape)
        except (RuntimeError, IndexError) as error:
            hint = (
                "Nothing was stretched here, and sum(dim=[]) sums over all axes."
                if shape == grad.shape
                else "Align the shapes at the right, then sum over what was stretched."
            )
            raise Wrong(f"For shape {shape} torch says: {error}. {hint}") from None

    hint = "The gradient of an addend has the addend's shape."
    result = told((4, 2))
    unchanged(before, grad, "the gradient it was lent")
    result = shaped(result, (4, 2), hint)
    expect(
        not torch.allclose(result, grad[0]),
        "That is the gradient from the first sequence only.",
    )
    expect(
        not torch.allclose(result, grad.mean(dim=0)),
        "That is the mean over the batch. Each sequence adds its full part.",
    )
    expect(
        torch.allclose(result, grad.sum(dim=0)),
        "For (4, 2) the batch axis was stretched, so sum over it.",
    )
    for shape, axes in (
        ((1, 4, 2), (0,)),
        ((3, 1, 2), (1,)),
        ((2,), (0, 1)),
        ((3, 4, 2), ()),
        ((1, 1, 1), (0, 1, 2)),
    ):
        names = [("batch", "seq_len", "d_model")[axis] for axis in axes]
        hint = "Right for (4, 2); an axis of length 1 must come back as a 1."
        result = shaped(told(shape), shape, hint)
        expected = grad.sum(dim=axes).reshape(shape) if axes else grad
        expect(
            torch.allclose(result, expected),
            f"For shape {shape} the stretched axes are {names or 'none'}: sum "
            "over these and no others.",
        )
    alike = torch.randn(
        2, 2, 2, dtype=torch.float64
    )  # lengths alone cannot tell the axes apart
    result = shaped(call(shrink_grad, alike, (2, 2)), (2, 2), "")
    expect(
        torch.allclose(result, alike.sum(dim=0)),
        "With three axes of length 2, shape (2, 2) still lacks the first one: "
        "shapes are aligned at the right.",
    )
    return "That is what autograd does after every broadcast."
