"""Checks for chapter 9."""

import math

import torch

from book_helpers.exercises import (
    call,
    chosen,
    exercise,
    expect,
    number_of,
    tensor_of,
    unchanged,
)


@exercise("9.1")
def check_9_1(init_std):
    std = number_of(init_std)
    right = 0.02 * math.sqrt(768 / 4096)

    def close(value):
        return abs(std - value) < 0.02 * value

    expect(std > 0, "A standard deviation is larger than 0.")
    expect(not close(0.02), "With 0.02 the spread grows with the root of the width.")
    expect(
        not close(0.02 * 768 / 4096),
        "The spread goes with the root of the width, not with the width.",
    )
    expect(
        not close(0.02 * math.sqrt(4096 / 768)),
        "That is the wrong way round: more columns add more to each logit.",
    )
    expect(
        not close(1 / math.sqrt(4096)),
        "1/√d_model gives the logits a spread of 1, not of 0.55.",
    )
    expect(not close(right**2), "That is the variance; give its root.")
    expect(
        not close(0.55),
        "0.55 is the spread of the logits. Each is a sum of 4096 products.",
    )
    expect(
        close(right),
        f"Your rows give the logits a spread of {std * 64:.2f}.",
    )
    return "0.02 · √(768 / 4096), about 0.0087."


@exercise("9.2")
def check_9_2(answer):
    letters = chosen(answer, "abcde")
    expect("a" not in letters, "(a) is ln V + σ²/2: as it should be.")
    expect(
        "d" not in letters,
        "(d) Without blocks the echo is what you would expect, and 11.6 is its loss.",
    )
    expect("b" in letters, "(b) has the echo's loss although there are blocks.")
    expect("c" in letters, "(c) The rows are too loud for twelve blocks to cover.")
    expect(
        "e" in letters,
        "(e) is below ln V = 10.82. Before training no model can know that much: do "
        "the labels leak, or are tokens missing from the loss?",
    )
    return "Too high, far too high, and too good to be true."


@exercise("9.3")
def check_9_3(first_loss):
    for size in ((50257, 768, 0.02), (50257, 768, 0.05), (1000, 64, 0.01)):
        vocab_size, d_model, std = size
        variance = std**2 * d_model
        right = math.log(vocab_size) + variance / 2
        loss = number_of(call(first_loss, *size))
        even = math.log(vocab_size)
        slips = {
            "": right,
            "ln V is the loss of equal logits. These are drawn at random, and "
            "the mean of e^logit is larger than 1.": even,
            "e^logit has the mean e^(σ²/2): half of the variance.": even + variance,
            "The variance enters, not the standard deviation.": even
            + math.sqrt(variance) / 2,
            "std² is the variance of a row's numbers. A logit adds up d_model of "
            "them.": even + std**2 / 2,
            "The loss is in nats: the natural logarithm, math.log, not log2.": (
                math.log2(vocab_size) + variance / 2
            ),
            "The loss is in nats: the natural logarithm, math.log, not log10.": (
                math.log10(vocab_size) + variance / 2
            ),
            "The mean of e^logit is e^(σ²/2), and σ² is the variance.": (
                even + math.sqrt(variance)
            ),
        }
        hint = min(slips, key=lambda hint: abs(loss - slips[hint]))
        near = abs(loss - slips[hint])
        if not hint and near < 0.01 * variance:
            continue
        expect(not hint or near > 1e-4, hint)
        expect(
            False,
            f"For V = {vocab_size}, {d_model} columns and {std} the loss is "
            f"{right:.3f}, yours {loss:.3f}.",
        )
    return "Compare it with the first line of your next training run."


@exercise("9.4")
def check_9_4(log_probabilities):
    for n, rows, vocab_size in ((3, 16, 11), (2, 8, 8), (1, 128, 97)):
        x = torch.randn(n, 6, dtype=torch.float64)
        table = torch.randn(rows, 6, dtype=torch.float64)
        before = x.clone(), table.clone()
        result = tensor_of(call(log_probabilities, x, table, vocab_size))
        unchanged(before[0], x, "x")
        unchanged(before[1], table, "the table")
        expect(
            result.shape != (n, vocab_size) or rows == vocab_size,
            "Keep a column for each row of the table; the padding gets -inf.",
        )
        expect(
            result.shape == (n, rows),
            f"The shape is {tuple(result.shape)}, wanted is {(n, rows)}.",
        )
        logits = x @ table.T
        real = logits[:, :vocab_size].log_softmax(-1)
        result = result.double()
        expect(not result.isnan().any(), "There is a NaN in it.")
        sums = result.exp().sum(-1)
        expect(
            not torch.allclose(result[:, :vocab_size], real.exp()),
            "Those are probabilities; their logarithm is wanted.",
        )
        whole = logits.log_softmax(-1)
        expect(
            rows == vocab_size
            or not torch.allclose(result[:, :vocab_size], whole[:, :vocab_size]),
            "The padding rows still have their share of the sum: mask the logits "
            "before the softmax.",
        )
        zeros = logits.clone()
        zeros[:, vocab_size:] = 0
        expect(
            rows == vocab_size
            or not torch.allclose(
                result[:, :vocab_size], zeros.log_softmax(-1)[:, :vocab_size]
            ),
            "A logit of 0 is e^0 = 1 in the sum. What has no share in it is -inf.",
        )
        expect(
            bool((result[:, vocab_size:] == -torch.inf).all()),
            "The log-probability of a padding row is -inf: the probability is 0.",
        )
        expect(
            torch.allclose(sums, torch.ones_like(sums)),
            f"The real ones make {sums[0]:.3f} together, not 1.",
        )
        expect(
            torch.allclose(result[:, :vocab_size], real),
            "The sum is 1, but the real tokens' shares are off.",
        )
    return "And no sampler can draw them."
