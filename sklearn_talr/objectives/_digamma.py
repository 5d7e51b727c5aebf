"""Divided differences of the digamma function, smooth where their quotient is 0 / 0.

The exact continuation of tie-aware AP needs two functions of x >= 1 and c >= 0, where
psi is the digamma function:

    slope(x, c) = [psi(x + c) - psi(x)] / c       = sum_m 1/((x+m)(x+m+c))
    curve(x, c) = [1 / x - slope(x, c)] / (c - 1) = sum_m 1/((x+m)(x+m+1)(x+m+c))

over m = 0, 1, 2, .... The sums show that both are positive and smooth in c >= 0, also at
c = 0 and c = 1 where the quotients are 0 / 0. There derivatives of psi stand in.

The recurrences psi(x + 1) = psi(x) + 1/x and psi'(x + 1) = psi'(x) - 1/x**2 reduce all
that is needed, derivatives included, to psi and psi' at the two ends of the interval.
"""

from typing import NamedTuple

import torch

_NEAR = 1e-3  # closer to 0 / 0, quotients lose more digits than the expansion below


class Differences(NamedTuple):
    """Slope and curve with their derivatives by x and by c, tensors of one shape."""

    slope: torch.Tensor
    slope_by_x: torch.Tensor
    slope_by_c: torch.Tensor
    curve: torch.Tensor
    curve_by_x: torch.Tensor
    curve_by_c: torch.Tensor


def differences(x, c):
    """Evaluate slope and curve at float64 tensors x >= 1 and c >= 0."""
    inverse = 1 / x
    square = inverse * inverse
    psi = torch.digamma(x), torch.digamma(x + c)
    trigamma = torch.polygamma(1, x), torch.polygamma(1, x + c)
    tetragamma = _tetragamma(x)
    slope, slope_by_x, slope_by_c = _quotient(psi, trigamma, tetragamma, c)
    # The same from x + 1 to x + c, an interval that vanishes at c = 1.
    psi = psi[0] + inverse, psi[1]
    trigamma = trigamma[0] - square, trigamma[1]
    tetragamma = tetragamma + 2 * inverse * square
    upper, upper_by_x, upper_by_c = _quotient(psi, trigamma, tetragamma, c - 1)
    # Two forms of the curve, each with its denominator kept away from 0.
    below = c < 0.5
    share = 1 / torch.where(below, 1 - c, c)
    curve = torch.where(below, slope - inverse, inverse - upper) * share
    curve_by_x = torch.where(below, slope_by_x + square, -square - upper_by_x) * share
    curve_by_c = torch.where(below, slope_by_c + curve, -upper_by_c - curve) * share
    return Differences(slope, slope_by_x, slope_by_c, curve, curve_by_x, curve_by_c)


def _quotient(psi, trigamma, tetragamma, length):
    """Difference quotient of psi over an interval, and its derivatives.

    Arguments are values at the two ends (tetragamma: at the start) and the length. The
    derivatives are by the start with the end moving along, and by the length. On a tiny
    interval the quotient is the mean of psi' at the ends, up to length**2 / 2.
    """
    near = length.abs() < _NEAR
    share = 1 / torch.where(near, 1.0, length)
    quotient = torch.where(near, (trigamma[0] + trigamma[1]) / 2, (psi[1] - psi[0]) * share)
    by_start = torch.where(near, tetragamma, (trigamma[1] - trigamma[0]) * share)
    by_length = torch.where(near, tetragamma / 2, (trigamma[1] - quotient) * share)
    return quotient, by_start, by_length


def _tetragamma(x):
    """Second derivative of digamma for x >= 1, to about 1e-5: only tiny intervals use it.

    Three steps of the recurrence and the asymptotic series; torch.polygamma(2, x) takes
    twenty times as long.
    """
    total = torch.zeros_like(x)
    for _ in range(3):
        total -= 2 / (x * x * x)
        x = x + 1
    inverse = 1 / x
    square = inverse * inverse
    return total - square * (1 + inverse + square * (0.5 - square / 6))
