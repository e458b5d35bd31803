"""Checks for chapter 5. Random answers are judged within six sigmas."""

import math

import torch
from torch import nn

from book_helpers.exercises import (
    call,
    chosen,
    exercise,
    expect,
    tensor_of,
    unchanged,
)

SIGMAS = 6


def is_near(share, p, n):
    return abs(share - p) <= SIGMAS * math.sqrt(p * (1 - p) / n)


def check_scale(kept, p):
    """`kept` holds what is left of values, each divided by its value."""
    expect(
        not torch.allclose(kept, torch.ones(1)),
        "The kept values are not scaled; multiply them by 1 / (1 - p).",
    )
    expect(
        torch.allclose(kept, torch.tensor(1 / (1 - p))),
        f"The kept values are multiplied by {kept.mean():.3f}, not by 1 / (1 - p) "
        f"= {1 / (1 - p):.3f}.",
    )


def check_share(share, p, n, what):
    expect(
        not is_near(share, 1 - p, n),
        f"{share:.0%} of the {what} were dropped: p is the share to drop, not the "
        "share to keep.",
    )
    expect(
        is_near(share, p, n),
        f"{share:.1%} of the {what} were dropped, not {p:.0%}.",
    )


def check_neighbours(zero, p, what):
    """Neighbours along each axis are dropped without regard to each other."""
    for axis in range(zero.dim()):
        count = zero.shape[axis] - 1
        off = zero.double() - p
        pairs = off.narrow(axis, 0, count) * off.narrow(axis, 1, count)
        correlation = (pairs.mean() / (p * (1 - p))).item()
        expect(
            abs(correlation) <= SIGMAS / math.sqrt(pairs.numel()),
            f"{what} beside each other share their luck (correlation "
            f"{correlation:.2f}). Draw a number for each.",
        )


@exercise("5.1")
def check_5_1(my_dropout):
    x, p = 1 + torch.rand(100, 400), 0.25
    before = x.clone()
    out = tensor_of(call(my_dropout, x, p, True), x.shape)
    unchanged(before, x, "x")
    zero = out == 0  # (100, 400)
    expect(zero.any(), "With training=True nothing was dropped.")
    expect(not zero.all(), "With training=True everything was dropped.")
    expect(
        not torch.equal(zero, zero[:1].expand_as(zero))
        and not torch.equal(zero, zero[:, :1].expand_as(zero)),
        "Whole columns or whole rows are gone. Draw a number for each value: a "
        "mask of the shape of x.",
    )
    check_share(zero.double().mean().item(), p, x.numel(), "values")
    check_neighbours(zero, p, "Values")
    kept = (out / x)[~zero].float()
    still = tensor_of(call(my_dropout, x, p, False), x.shape)
    expect(
        not torch.allclose(kept, torch.ones(1))
        or not torch.allclose(still, x * (1 - p)),
        "You shrink at evaluation what you did not scale in training: dropout as "
        "it was in 2014. Inverted, it multiplies by 1 / (1 - p) in training and "
        "leaves evaluation alone.",
    )
    check_scale(kept, p)
    again = [tensor_of(call(my_dropout, x, p, True), x.shape) == 0 for _ in range(4)]
    expect(
        not any(torch.equal(one, zero) for one in again),
        "A second call dropped the same values. Draw anew in each call.",
    )
    expect(
        not torch.equal(zero[:50], zero[50:]),
        "The second half of x lost the same values as the first. Draw for each value.",
    )
    expect(
        any(one.sum() != zero.sum() for one in again),
        f"Each call drops exactly {int(zero.sum())} values. If each is decided on its "
        "own, their number varies from call to call.",
    )
    wide = tensor_of(call(my_dropout, x.double(), p, True), x.shape)
    expect(
        wide.dtype == torch.float64,
        f"For float64 the result is {wide.dtype}. Make the mask in the dtype of x.",
    )
    expect(
        not (still == 0).any(),
        "With training=False values are still dropped.",
    )
    expect(
        torch.allclose(still, x),
        "With training=False the values must stay as they are: nothing is dropped, "
        f"so nothing is scaled. You multiply them by {(still / x).mean():.3f}.",
    )
    other = tensor_of(call(my_dropout, x, 0.6, True), x.shape)
    expect(
        is_near((other == 0).double().mean().item(), 0.6, x.numel())
        and torch.allclose(other[other != 0], (x / 0.4)[other != 0]),
        "Right for p = 0.25, wrong for 0.6: use the argument.",
    )
    small = torch.ones(5)
    expect(
        torch.allclose(tensor_of(call(my_dropout, small, 0.0, True)), small),
        "At p = 0 nothing must change.",
    )
    x.requires_grad_()
    out = call(my_dropout, x, p, True)
    expect(
        isinstance(out, torch.Tensor) and out.requires_grad,
        "No gradient gets back to x: compute with the tensor x itself.",
    )
    out.sum().backward()
    expect(
        torch.allclose(x.grad, (out != 0) / (1 - p)),
        "The gradient does not meet the mask of the forward pass.",
    )
    return "Zero at random, scale the rest, only in training."


@exercise("5.2")
def check_5_2(answer):
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
    return "Only eval(), or train(False), that reaches the module helps."


class Half(nn.Module):
    """A model with dropout and a part frozen in eval mode."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5))
        self.frozen = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5)).eval()

    def forward(self, x):
        return self.frozen(self.first(x))  # (batch, 6)


def modes_of(model):
    return {name: module.training for name, module in model.named_modules()}


@exercise("5.3")
def check_5_3(evaluated):
    model, x = Half(), torch.rand(50, 6)
    before, rates = modes_of(model), [model.first[1].p, model.frozen[1].p]
    weights = {name: w.clone() for name, w in model.state_dict().items()}
    with torch.no_grad():
        right = model.frozen[0](model.first[0](x))  # (50, 6)
    out = tensor_of(call(evaluated, model, x), right.shape)
    again = tensor_of(call(evaluated, model, x), right.shape)
    expect(
        torch.equal(out, again),
        "Two calls gave different results: something was still dropped. Only "
        "eval() switches dropout off; no_grad does not.",
    )
    expect(
        torch.allclose(out, right), "That is not the model's output without dropout."
    )
    for name, w in model.state_dict().items():
        expect(torch.equal(w, weights[name]), f"The weight {name} has changed.")
    parts = [model.first[1], model.frozen[1]]
    expect(
        all(isinstance(part, nn.Dropout) for part in parts)
        and [part.p for part in parts] == rates,
        "The model has lost its dropout: its rate or its module has changed. Use "
        "the modes.",
    )
    after = modes_of(model)
    expect(
        after[""] or not before[""],
        "The model is left in eval mode. The training that goes on would be "
        "without dropout.",
    )
    expect(
        not after["frozen"] and not after["frozen.1"],
        "train() woke the frozen part: it puts every module into train mode. Note "
        "each module's mode first, and give it back.",
    )
    expect(after == before, "Some part of the model is left in another mode.")
    model.eval()
    call(evaluated, model, x)
    expect(
        not any(modes_of(model).values()),
        "A model that came in eval mode goes away in train mode.",
    )
    return "The modes are state of the model, one for each module."


@exercise("5.4")
def check_5_4(drop_tokens):
    x, p = 1 + torch.rand(40, 250, 6), 0.25  # (batch, seq_len, d_model)
    before = x.clone()
    try:
        out = call(drop_tokens, x, p)
    except RuntimeError as error:
        expect(
            "must match the size" not in str(error),
            "A mask of shape (batch, seq_len) does not stretch along d_model: axes "
            "are matched from the right. Give it one more: (batch, seq_len, 1).",
        )
        raise
    out = tensor_of(out)
    unchanged(before, x, "x")
    expect(
        out.shape == x.shape,
        f"The shape is {tuple(out.shape)}, not {tuple(x.shape)}. Multiply x "
        "by the noise.",
    )
    zero = out == 0  # (40, 250, 6)
    expect(zero.any(), "Nothing was dropped. A new module is in train mode.")
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
        "All sequences lost the tokens at the same positions. Draw for each sequence.",
    )
    expect(
        not torch.equal(token, token[:, :1].expand_as(token)),
        "A sequence lost all its tokens or none. Draw for each token.",
    )
    check_share(token.double().mean().item(), p, token.numel(), "tokens")
    check_neighbours(token, p, "Tokens")
    check_scale((out / x)[~zero].float(), p)
    again = call(drop_tokens, x, p)
    expect(
        not torch.equal(again == 0, zero),
        "A second call dropped the same tokens. Draw anew in each call.",
    )
    other = (call(drop_tokens, x, 0.6) == 0).all(dim=-1).double().mean().item()
    expect(
        is_near(other, 0.6, token.numel()),
        "Right for p = 0.25, wrong for 0.6: use the argument.",
    )
    x[..., 0] = 0
    x.requires_grad_()
    out = tensor_of(call(drop_tokens, x, p), x.shape)
    expect(
        out.isfinite().all(),
        "Where x holds a 0, the result is not finite. Draw for a tensor of ones and "
        "multiply x by that.",
    )
    expect(
        out.requires_grad,
        "No gradient gets back to x: compute with the tensor x itself.",
    )
    return "One random number for each token, stretched over its columns."
