# Made from notebooks/05_dropout.ipynb by `make sync`.
# Edit the notebook, not this file.

import math
import numbers
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embedding_layer.torch_internals import is_transformed


def check_rate(rate: Any) -> float:
    """Return `rate` as a float.

    Raises:
        TypeError: not a number, or a bool
        ValueError: outside [0, 1]; NaN is
    """
    if isinstance(rate, bool) or not isinstance(rate, numbers.Real):
        raise TypeError(f"dropout must be a number, got {rate!r}")
    value = float(rate)
    if not 0 <= value <= 1:
        raise ValueError(f"dropout must be between 0 and 1, got {rate!r}")
    return value


def dropout_noise(x: Tensor, rate: float) -> Tensor:
    """Draw what dropout multiplies `x` by: 0 or 1 / (1 - rate), independently.

    A random 64-bit number, cut into four, decides over four values where
    nn.Dropout would use one draw for each.

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
    # random indices hits each index with probability 1 - exp(-mean_darts),
    # independently of the others.
    kept = 1 - dropped / 2**16
    mean_darts = math.log(kept / (1 - rate))
    all_darts = torch.tensor(count * mean_darts, dtype=torch.float64, device=device)
    darts = int(torch.poisson(all_darts))
    if darts:
        noise[torch.randint(count, (darts,), device=device)] = 0  # (count,)
    return noise.div_(1 - rate).view(x.shape)  # x.shape


class Dropout(nn.Dropout):
    """nn.Dropout with the same law and, on the CPU, cheaper random numbers.

    The seed gives another mask than nn.Dropout's, drawn from the same law.
    On other devices, at rates of 0 and from 0.99 on, for tensors that are not
    floating point, for subclasses, while compiling and under torch.func it is
    nn.Dropout.

    Shapes:
        input: any shape, floating point
        result: the shape of input; in eval mode input itself

    Args:
        p: probability of a zero, 0..1
        inplace: write the result onto input

    Raises:
        TypeError: p is not a number, or a bool
        ValueError: p outside [0, 1], or NaN

    Source: Srivastava et al. 2014; torch.nn.Dropout.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(check_rate(p), inplace)

    def forward(self, input: Tensor) -> Tensor:
        if not self.training:
            return input
        cuttable = (
            0 < self.p < 0.99  # rates near 1 would need many darts
            and input.device.type == "cpu"
            and input.is_floating_point()
            and type(input) is Tensor  # subclasses have rules of their own
            and not is_transformed()
        )
        if not cuttable:
            return F.dropout(input, self.p, True, self.inplace)  # input.shape
        noise = dropout_noise(input, self.p)  # input.shape
        if self.inplace:
            return input.mul_(noise)  # input.shape
        return input * noise  # input.shape
