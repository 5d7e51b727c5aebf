"""Divided differences of the digamma function, smooth where their quotient is 0 / 0.

The exact continuation of tie-aware AP needs two functions of x >= 1 and c >= 0, where
psi is the digamma function:

    slope(x, c) = [psi(x + c) - psi(x)] / c       = sum_m 1/((x+m)(x+m+c))
    curve(x, c) = [1 / x - slope(x, c)] / (c - 1) = sum_m 1/((x+m)(x+m+1)(x+m+c))

over m = 0, 1, 2, .... The sums show that both are positive and smooth in c >= 0, also at
c = 0 and c = 1 where the quotients are 0 / 0. Near those points derivatives of psi stand
in for the quotient.
"""

import torch

_NEAR = 1e-4  # below this the quotient would lose more digits than the expansion does


def slope(x, c):
    """First divided difference of digamma on [x, x + c], float64 tensors."""
    return _Slope.apply(x, c)


def curve(x, c):
    """Minus the second divided difference of digamma on {x, x + 1, x + c}."""
    # Two forms of one number, each with its denominator away from zero: the first is
    # taken below c = 1/2, the second above. Clamping keeps the unused one finite.
    below = (slope(x, c) - 1 / x) / (1 - c.clamp(max=0.5))
    above = (1 / x - slope(x + 1, c - 1)) / c.clamp(min=0.5)
    return torch.where(c < 0.5, below, above)


class _Slope(torch.autograd.Function):
    """The quotient, or the value at the midpoint when the interval is tiny.

    The midpoint is right to second order in c, so its error is below 3e-9; errors in the
    derivative by c are of order c, and no exact value depends on them.
    """

    @staticmethod
    def forward(ctx, x, c):
        near = c.abs() < _NEAR
        safe = torch.where(near, torch.ones_like(c), c)
        quotient = (torch.digamma(x + safe) - torch.digamma(x)) / safe
        value = torch.where(near, torch.polygamma(1, x + c / 2), quotient)
        ctx.save_for_backward(x, c, near, safe, value)
        return value

    @staticmethod
    def backward(ctx, grad):
        x, c, near, safe, value = ctx.saved_tensors
        start, end = torch.polygamma(1, x), torch.polygamma(1, x + safe)
        middle = _tetragamma(x + c / 2)
        by_x = torch.where(near, middle, (end - start) / safe)
        by_c = torch.where(near, middle / 2, (end - value) / safe)
        return grad * by_x, grad * by_c


def _tetragamma(x):
    """Second derivative of digamma for x >= 1, by recurrence and asymptotic series.

    torch.polygamma(2, x) agrees but takes 20 times as long.
    """
    total = torch.zeros_like(x)
    for _ in range(6):
        total -= 2 / (x * x * x)
        x = x + 1
    inverse = 1 / x
    square = inverse * inverse
    series = 1 + inverse + square * (0.5 - square * (1 / 6 - square * (1 / 6)))
    return total - square * series
