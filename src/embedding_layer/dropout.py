# Made from notebooks/05_dropout.ipynb by `make sync`.
# Edit the notebook, not this file.

import math
import numbers

import torch
from torch import nn
from torch.nn import functional as F


def is_transformed():
    """True while torch.compile, torch.export or torch.func runs the code.

    They rewrite the code themselves: give them its plainest form.
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._functorch.peek_interpreter_stack() is not None
    )


def check_rate(rate):
    """Raise unless `rate` is a number in [0, 1]. NaN is not."""
    if isinstance(rate, bool) or not isinstance(rate, numbers.Real):
        raise TypeError(f"dropout must be a number, got {rate!r}")
    if not 0 <= rate <= 1:
        raise ValueError(f"dropout must be between 0 and 1, got {rate!r}")


def dropout_noise(x, rate):
    """Draw what dropout multiplies `x` by: 0 or 1 / (1 - rate), independently.

    The CPU's generator makes 64 random bits at a time. Cut into four, they
    decide over four values where nn.Dropout would use one draw for each.

    Shapes:
        x: any shape, floating point; only shape, dtype and device count
        rate: float, 0 <= rate < 1, the probability of a zero
        result: the shape, dtype and device of x
    """
    count, device = x.numel(), x.device
    words = torch.empty((count + 3) // 4, dtype=torch.int64, device=device)
    words.random_(-(2**63), None)  # (count / 4,), all 64 bits are random
    cuts = words.view(torch.int16)[:count]  # (count,), -2**15..2**15-1

    # Of the 2**16 values that a cut can have, the lowest `dropped` mean zero.
    dropped = math.floor(rate * 2**16)
    noise = torch.empty(count, dtype=x.dtype, device=device)  # (count,)
    torch.ge(cuts, dropped - 2**15, out=noise)  # (count,), 1 = keep

    # What rounding down left out, darts make up. A Poisson number of darts at
    # random places hits each place with probability 1 - exp(-darts_per_place),
    # independently of the others.
    kept = 1 - dropped / 2**16
    darts_per_place = math.log(kept / (1 - rate))
    mean = torch.tensor(count * darts_per_place, dtype=torch.float64, device=device)
    darts = int(torch.poisson(mean))
    if darts:
        noise[torch.randint(count, (darts,), device=device)] = 0  # (count,)
    return noise.div_(1 - rate).view(x.shape)  # x.shape


class Dropout(nn.Dropout):
    """nn.Dropout with the same law and, on the CPU, cheaper random numbers.

    The seed gives another mask than nn.Dropout's, drawn from the same law.
    On other devices, for tensor subclasses, while compiling and under
    torch.func it is nn.Dropout.

    Shapes:
        x: any shape, floating point
        result: the shape of x; in eval mode x itself

    Args:
        p: probability of a zero, 0..1
        inplace: write the result onto x

    Raises:
        TypeError: p is not a number
        ValueError: p outside [0, 1], or NaN

    Source: Srivastava et al. 2014; torch.nn.Dropout.
    """

    def __init__(self, p=0.5, inplace=False):
        check_rate(p)
        super().__init__(p, inplace)

    def forward(self, x):
        if not self.training:
            return x
        cuttable = (
            0 < self.p < 0.99  # rates near 1 would need many darts
            and x.device.type == "cpu"
            and x.is_floating_point()
            and type(x) is torch.Tensor
            and not is_transformed()
        )
        if not cuttable:
            return F.dropout(x, self.p, True, self.inplace)  # x.shape
        noise = dropout_noise(x, self.p)  # x.shape
        return x.mul_(noise) if self.inplace else x * noise  # x.shape
