"""Checks for chapter 4."""

import torch

from book_helpers.exercises import Wrong, call, chosen, exercise, expect


def tensor(result, shape):
    """Tell the reader unless `result` is a tensor of that shape."""
    expect(
        isinstance(result, torch.Tensor),
        f"Return a tensor, not {type(result).__name__}.",
    )
    expect(
        result.shape == shape,
        f"The shape is {tuple(result.shape)}, asked was {tuple(shape)}.",
    )


@exercise("4.1")
def check_4_1(answer):
    letters = chosen(answer, "abcdef")
    expect(
        "c" not in letters,
        "(c) Aligned at the right, the 4 stands under the 6. A person sees the "
        "batch axis; the rule does not.",
    )
    expect("e" not in letters, "(e) Aligned at the right, the 6 stands under the 8.")
    expect("a" in letters, "(a) A 1 is put in front, and stretched to 4.")
    expect(
        "b" in letters,
        "(b) The 1 in the middle is stretched to 6: it fits, and if these are "
        "positions it is line 1.",
    )
    expect(
        "d" in letters,
        "(d) Two axes may be stretched at once: 1 to 4 and 1 to 8.",
    )
    expect("f" in letters, "(f) Two 1s are put in front: (1, 1, 8).")
    return "Fitting is not the same as being meant: (b) and (d) fit too."


@exercise("4.2")
def check_4_2(shrink_grad):
    torch.manual_seed(0)
    grad = torch.randn(3, 4, 2, dtype=torch.float64)  # (batch, seq_len, d_model)
    before = grad.clone()

    def told(shape):
        try:
            return call(shrink_grad, grad, shape)
        except RuntimeError as error:
            hint = (
                "Nothing was stretched here, and sum(dim=[]) sums over all axes."
                if shape == grad.shape
                else "Align the shapes at the right, then sum over what was stretched."
            )
            raise Wrong(f"For shape {shape} torch says: {error}. {hint}") from None

    result = told((4, 2))
    tensor(result, (4, 2))
    expect(torch.equal(grad, before), "The gradient that was given has changed.")
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
        result = told(shape)
        tensor(result, shape)
        expected = grad.sum(dim=axes).reshape(shape) if axes else grad
        names = [("batch", "seq_len", "d_model")[axis] for axis in axes]
        expect(
            torch.allclose(result, expected),
            f"For shape {shape} the stretched axes are {names or 'none'}: sum "
            "over these and no others.",
        )
    alike = torch.randn(2, 2, 2)  # lengths alone cannot tell the axes apart
    result = call(shrink_grad, alike, (2, 2))
    tensor(result, (2, 2))
    expect(
        torch.allclose(result, alike.sum(dim=0)),
        "With three axes of length 2, shape (2, 2) still lacks the first one: "
        "shapes are aligned at the right.",
    )
    return "That is what autograd does after every broadcast."


@exercise("4.3")
def check_4_3(add_sequence_first):
    torch.manual_seed(0)
    pe = torch.randn(9, 1, 2, dtype=torch.float64)  # (max_seq_len, 1, d_model)
    x = torch.randn(3, 5, 2, dtype=torch.float64)  # (batch, seq_len, d_model)
    before, table = x.clone(), pe.clone()

    def told(x):
        try:
            return call(add_sequence_first, x, pe)
        except RuntimeError as error:
            raise Wrong(
                f"For x of shape {tuple(x.shape)} torch says: {error}. The rows "
                "of pe lie along its first axis, x wants them along its second, "
                "and only as many as it has tokens."
            ) from None

    result = told(x)
    expect(
        torch.equal(x, before),
        "The x that was given has changed: + makes a new tensor, += does not.",
    )
    expect(torch.equal(pe, table), "The table that was given has changed.")
    tensor(result, x.shape)
    given = result - x
    expect(
        not torch.allclose(given, pe[:3].expand(3, 5, 2)),
        "That is still line 2: each token of a sequence got the same row. "
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
        torch.allclose(given[0], pe[:5, 0]),
        "The first sequence must get the rows 0, 1, 2, 3, 4 of the table.",
    )
    expect(
        torch.allclose(given, pe[:5, 0].expand(3, 5, 2)),
        "The sequences got different positions; all take the same rows.",
    )
    for shape in ((4, 4, 2), (1, 4, 2), (4, 1, 2)):
        x = torch.randn(shape, dtype=torch.float64)
        result = told(x)
        tensor(result, shape)
        expect(
            torch.allclose(result - x, pe[: shape[1], 0].expand(shape)),
            f"Right for (3, 5, 2), wrong for {shape}: which axis is which must "
            "not depend on the lengths.",
        )
    x = torch.zeros(3, 5, 1, dtype=torch.float64)
    narrow = call(add_sequence_first, x, pe[..., :1])
    expect(
        isinstance(narrow, torch.Tensor) and narrow.shape == x.shape,
        "With one column the shape goes wrong: squeeze() without an axis takes "
        "d_model off too.",
    )
    return "Swap the axes of the table, not those of the data."


@exercise("4.4")
def check_4_4(position_share):
    share = call(position_share, 8000, 512)
    try:
        share = float(share)
    except (TypeError, ValueError):
        share = None
    expect(share is not None, "Return one number.")

    def near(value):
        return abs(share - value) < 1e-6

    var = 2 / 8512  # of Xavier's uniform numbers
    token = var * 512
    right = 0.5 / (0.5 + token)
    expect(not near(100 * right), "That is the share in per cent; asked is 0 to 1.")
    expect(not near(1 - right), "That is the share of the token.")
    expect(
        not near(0.5 / (0.5 + var)),
        "The rows are multiplied by the root of d_model, so their variance is "
        "multiplied by d_model.",
    )
    expect(
        not near(0.5 / (0.5 + var * 512**0.5)),
        "Multiplying by the root of d_model multiplies the variance by d_model, "
        "not by its root.",
    )
    expect(
        not near(0.5**0.5 / (0.5**0.5 + token**0.5)),
        "Those are the roots. The share is made of mean squares.",
    )
    expect(
        not near(1 / (1 + token)),
        "The mean square of sine and cosine is 1/2, not 1.",
    )
    expect(
        not near(0.5 / token) and not near((0.5 / token) ** 0.5),
        "That is the ratio of the two. The share divides by their sum.",
    )
    expect(
        near(right),
        f"For 8000 tokens and 512 columns the share is not {share:.3f}. Token: "
        "variance times d_model. Position: 1/2. Share: position / both.",
    )
    other = float(call(position_share, 37000, 256))
    expect(
        abs(other - 0.5 / (0.5 + 512 / 37256)) < 1e-6,
        "Right for 8000 and 512, wrong for 37000 and 256: use the arguments.",
    )
    return "The more tokens, the louder the position: 81 % at 8000, 95 % at 37000."
