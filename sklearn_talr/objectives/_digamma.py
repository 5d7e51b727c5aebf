"""Divided differences of the digamma function, smooth where their quotient is 0 / 0.

The exact continuation of tie-aware AP needs two functions of x >= 1 and c >= 0, where
psi is the digamma function:

    slope(x, c) = [psi(x + c) - psi(x)] / c       = sum_m 1/((x+m)(x+m+c))
    curve(x, c) = [1 / x - slope(x, c)] / (c - 1) = sum_m 1/((x+m)(x+m+1)(x+m+c))

over m = 0, 1, 2, .... The sums show that both are positive and smooth in c >= 0, also at
c = 0 and c = 1 where the quotients are 0 / 0. There derivatives of psi stand in: on a tiny
interval a difference quotient is the mean of psi' at its ends, up to length**2 / 2.

The recurrences psi(x + 1) = psi(x) + 1/x and psi'(x + 1) = psi'(x) - 1/x**2 reduce all
that is needed, derivatives included, to psi and psi' at the two ends of the interval; and
the end of one interval is the start of the next.
"""

from typing import NamedTuple

import torch

_NEAR = 1e-3  # closer to 0 / 0, quotients lose more digits than the expansion
# Of -psi''(x) / psi'(x)**2 - 1 in powers 2 to 5 of 1 / x, for x >= 1, within 2e-5.
_TETRAGAMMA = -0.07915074, -0.12085665, 0.11820204, -0.02967711


class Differences(NamedTuple):
    """Slope and curve with their derivatives by x and by c, tensors of one shape."""

    slope: torch.Tensor
    slope_by_x: torch.Tensor
    slope_by_c: torch.Tensor
    curve: torch.Tensor
    curve_by_x: torch.Tensor
    curve_by_c: torch.Tensor


def differences(points, c):
    """Evaluate slope and curve on consecutive intervals.

    Parameters
    ----------
    points : Tensor of shape (n, n_intervals + 1), float64
        Ends of the intervals, at least 1. Each x is a point, and x + c is the next one.

    c : Tensor of shape (n, n_intervals), float64
        Their lengths: given too, because differences of points would be rounded.
    """
    psi_step = torch.digamma(points).diff(dim=1)
    trigamma = torch.polygamma(1, points)
    # Contiguous, which makes the operations below twice as fast.
    start, end = trigamma[:, :-1].contiguous(), trigamma[:, 1:].contiguous()
    inverse = points[:, :-1].reciprocal().contiguous()
    square = inverse * inverse
    tetragamma = _tetragamma(inverse, start)
    half_tetragamma = tetragamma / 2
    mean = (start + end).mul_(0.5)

    near = c < _NEAR
    share = 1 / c.clamp(min=_NEAR)
    slope = torch.where(near, mean, psi_step.mul_(share))
    by_x = torch.where(near, tetragamma, (end - start).mul_(share))
    by_c = torch.where(near, half_tetragamma, end.sub_(slope).mul_(share))

    # Near c = 1 the curve is [1 / x - upper] / c, where upper is the difference quotient
    # on what the interval has beyond x + 1: a tiny interval there.
    beyond = c - 1
    near = beyond.abs() < _NEAR
    cube = square * inverse
    upper = torch.where(near, mean.sub_(square, alpha=0.5), slope)
    upper_by_x = torch.where(near, tetragamma.add_(cube, alpha=2), by_x)
    upper_by_c = torch.where(near, half_tetragamma.add_(cube), by_c)
    share = 1 / torch.where(near, c, beyond)
    curve = (inverse - upper).mul_(share)
    curve_by_x = square.add_(upper_by_x).mul_(share).neg_()
    curve_by_c = upper_by_c.add_(curve).mul_(share).neg_()
    return Differences(slope, by_x, by_c, curve, curve_by_x, curve_by_c)


def _tetragamma(inverse, trigamma):
    """Second derivative of digamma at x >= 1, from 1 / x and psi', to about 2e-5.

    Only tiny intervals use it; torch.polygamma(2, x) takes twenty times as long.
    """
    *rest, last = _TETRAGAMMA
    ratio = inverse * last
    for coefficient in reversed(rest):
        ratio.add_(coefficient).mul_(inverse)
    return ratio.mul_(inverse).add_(1).mul_(trigamma).mul_(trigamma).neg_()
