"""Checks for chapter 5. Random answers are judged within six sigmas."""

import math

import torch

from book_helpers.exercises import call, chosen, exercise, expect


def number(result):
    """The result as a float, or tell the reader."""
    try:
        value = float(result)
    except (TypeError, ValueError, RuntimeError):
        value = None
    expect(value is not None, f"Return one number, not {type(result).__name__}.")
    return value


@exercise("5.1")
def check_5_1(answer):
    letters = chosen(answer, "abcdef")
    expect(
        "a" not in letters,
        "(a) eval() is the switch that counts; gradients are another one.",
    )
    expect("f" not in letters, "(f) train(False) is what eval() does.")
    expect(
        "b" in letters,
        "(b) A new model is in train mode, and inference_mode does not change that.",
    )
    expect(
        "c" in letters,
        "(c) The function does not know the model's mode: its argument "
        "`training` is True unless you pass it.",
    )
    expect(
        "d" in letters,
        "(d) A plain list hides its modules: eval() does not reach them. Use "
        "nn.ModuleList.",
    )
    expect(
        "e" in letters,
        "(e) train() switched dropout on again, and no_grad does not switch it off.",
    )
    return "Only eval(), or train(False), that reaches every module helps."


@exercise("5.2")
def check_5_2(rate_for):
    r = 0.5
    rate = number(call(rate_for, r))

    def near(value):
        return abs(rate - value) < 1e-9

    expect(
        not near(r / (1 + r)),
        "p / (1 - p) is a variance. The standard deviation is its root, so "
        "square the ratio first.",
    )
    expect(
        not near(1 / (1 + r**2)),
        "That is the share that is kept. Asked is the share that is dropped.",
    )
    expect(
        not near(r**2),
        "The square of the ratio is p / (1 - p), not p.",
    )
    expect(
        not near(math.sqrt(r) / (1 + math.sqrt(r))),
        "You took a root where a square is needed: ratio squared is p / (1 - p).",
    )
    expect(
        not near(math.sqrt(r / (1 - r))),
        "That is the ratio for a rate; asked is the rate for a ratio.",
    )
    expect(not near(100 * r**2 / (1 + r**2)), "That is the rate in per cent.")
    expect(
        near(r**2 / (1 + r**2)),
        f"For the ratio 0.5 the rate is not {rate:.3f}. Solve ratio² = p / (1 - p) "
        "for p.",
    )
    for r, right in ((0, 0), (1, 0.5), (3, 0.9)):
        rate = number(call(rate_for, r))
        expect(
            abs(rate - right) < 1e-9,
            f"Right for 0.5, wrong for {r}: {right} is right, not {rate:.3f}.",
        )
    return "Noise as large as the value itself takes rate 0.5; three times, 0.9."


@exercise("5.3")
def check_5_3(rest_rate):
    p, cut = 0.7, 0.2
    rest = number(call(rest_rate, p, cut))

    def near(value):
        return abs(rest - value) < 1e-9

    expect(
        not near(p - cut),
        "The second chance meets only what the first has left: half of "
        "the 0.8 that are left would drop too few.",
    )
    expect(not near((1 - p) / (1 - cut)), "That is what the second chance keeps.")
    expect(
        not near((p - cut) / p),
        "Divide by the share that the first chance has kept, 1 - cut, not by p.",
    )
    expect(not near(cut / p), "That is the part of the zeros that the cut has made.")
    expect(
        not near((p - cut) / (1 - p)),
        "Divide by the share that the first chance has kept, 1 - cut.",
    )
    expect(
        not near(math.log((1 - cut) / (1 - p))),
        "Those are the darts for each place. The chance to be hit by one or more "
        "is 1 - exp of minus that.",
    )
    expect(
        not near(1 - (1 - p) * (1 - cut)),
        "That is the rate of both if the second were p. Asked is the second.",
    )
    expect(
        near(1 - (1 - p) / (1 - cut)),
        f"For p = 0.7 and cut = 0.2 the rest is not {rest:.3f}. What is kept by "
        "both, (1 - cut) (1 - rest), must be 1 - p.",
    )
    for p, cut, right in ((0.1, 0.1, 0), (1e-6, 0, 1e-6), (0.9, 0.5, 0.8)):
        rest = number(call(rest_rate, p, cut))
        expect(
            abs(rest - right) < 1e-12,
            f"Right for 0.7 and 0.2, wrong for {p:g} and {cut:g}: {right:g} is "
            f"right, not {rest:.3g}.",
        )
    return "So keeping multiplies: (1 - cut) (1 - rest) = 1 - p."


@exercise("5.4")
def check_5_4(drop_tokens):
    x, p = 1 + torch.rand(40, 250, 6), 0.25  # (batch, seq_len, d_model)
    before = x.clone()
    out = call(drop_tokens, x, p)
    expect(
        isinstance(out, torch.Tensor),
        f"Return a tensor, not {type(out).__name__}.",
    )
    expect(
        torch.equal(x, before), "The x that was given has changed; make a new tensor."
    )
    expect(
        out.shape == x.shape,
        f"The shape is {tuple(out.shape)}, asked was {tuple(x.shape)}. A mask of "
        "shape (batch, seq_len) needs one more axis.",
    )
    zero = out == 0  # (40, 250, 6)
    expect(zero.any(), "Nothing was dropped.")
    expect(not zero.all(), "Everything was dropped.")
    token = zero.all(dim=-1)  # (40, 250)
    columns = zero.flatten(0, 1)  # (10000, 6)
    expect(
        not torch.equal(columns, columns[:1].expand_as(columns)),
        "That drops a column for all tokens. The mask must be stretched along "
        "d_model, so its shape is (batch, seq_len, 1).",
    )
    expect(
        torch.equal(zero, token.unsqueeze(-1).expand_as(zero)),
        "Some tokens lost only a part of their vector. The mask needs one number "
        "for each token: (batch, seq_len, 1).",
    )
    expect(
        not torch.equal(token, token[:1].expand_as(token)),
        "All sequences lost the tokens at the same places. Draw for each sequence.",
    )
    expect(
        not torch.equal(token, token[:, :1].expand_as(token)),
        "A sequence lost all its tokens or none. Draw for each token.",
    )
    kept = (out / x)[~zero].float()
    expect(
        not torch.allclose(kept, torch.ones(1)),
        "The kept tokens are not scaled; multiply them by 1 / (1 - p).",
    )
    share, sigma = token.double().mean().item(), math.sqrt(p * (1 - p) / 10_000)
    expect(
        abs(share - (1 - p)) > 6 * sigma,
        f"{share:.0%} of the tokens were dropped: p is the share to drop, not the "
        "share to keep.",
    )
    expect(
        torch.allclose(kept, torch.tensor(1 / (1 - p))),
        f"The kept tokens are multiplied by {kept.mean():.3f}, not by 1 / (1 - p) "
        f"= {1 / (1 - p):.3f}.",
    )
    expect(
        abs(share - p) <= 6 * sigma,
        f"{share:.1%} of the tokens were dropped, asked were {p:.0%}.",
    )
    again = call(drop_tokens, x, p)
    expect(
        not torch.equal(again == 0, zero),
        "A second call dropped the same tokens. Draw anew in each call.",
    )
    other = (call(drop_tokens, x, 0.6) == 0).all(dim=-1).double().mean().item()
    expect(
        abs(other - 0.6) <= 6 * math.sqrt(0.24 / 10_000),
        "Right for p = 0.25, wrong for 0.6: use the argument.",
    )
    return "One random number for each token, stretched over its columns."
