"""Means of the trigamma function over intervals, smooth where their quotient is 0 / 0.

The harmonic sum of the ranks x, x + 1, ..., x + c - 1 of a tie continues to real c as
psi(x + c) - psi(x), where psi is the digamma function. The first rank aside, it is

    psi(x + c) - psi(x + 1) = (c - 1) S(x, c),   S the mean of psi' from x + 1 to x + c.

S is positive and smooth for all x >= 1 and c >= 0. So are its derivatives by the ends of
the interval,

    by the end x + c     [psi'(x + c) - S] / (c - 1)
    by the start x + 1   [S - psi'(x + 1)] / (c - 1),

both of which tend to psi''(x + 1) / 2 as c tends to 1. The recurrences psi(x + 1) = psi(x)
+ 1/x and psi'(x + 1) = psi'(x) - 1/x**2 reduce everything to psi and psi' at the points
that separate the ties, each shared by two of them.
"""

from typing import NamedTuple

import torch

_NEAR = 1e-3  # shorter intervals lose more digits to rounding than to an expansion
# With u = x + 7/2 and t = u**-2, psi(x + 4) = log u + t (s0 + s1 t + s2 t**2 + s3 t**3):
# the asymptotic series 1/24, -7/960, ..., economised to 2e-11 for x >= 1.
_SERIES = (
    0.041666666392109219,
    -0.0072914880566011625,
    0.0038257782879866375,
    -0.0035031332693827145,
)


class MeanTrigamma(NamedTuple):
    """The mean with its derivatives by the ends of the interval, tensors of one shape."""

    mean: torch.Tensor
    by_start: torch.Tensor
    by_end: torch.Tensor


def mean_trigamma(points, inverse, length):
    """Average psi' from x + 1 to x + c for consecutive ties.

    Parameters
    ----------
    points : Tensor of shape (n, n_ties + 1), float64
        Ends of the ties, at least 1. Each x is a point, and x + c is the next one.

    inverse : Tensor of shape (n, n_ties), float64
        1 / x.

    length : Tensor of shape (n, n_ties), float64
        c - 1: given too, because differences of points would be rounded.
    """
    psi, trigamma = digamma_and_trigamma(points)
    start = torch.addcmul(trigamma[:, :-1], inverse, inverse, value=-1)
    end = trigamma[:, 1:]
    rise = psi.diff(dim=1).sub_(inverse)
    share = length / (length * length).clamp_(min=_NEAR**2)
    # On a tiny interval the quotients fade into half the second derivative of psi.
    square = start * start
    half = (square * (1 / 24)).sub_(0.5).mul_(square)
    half.addcmul_(half * length, share, value=-1)
    mean = torch.addcmul(start, rise.addcmul_(length, start, value=-1), share)
    mean.addcmul_(half, length)
    by_start = torch.addcmul(half, start.sub_(mean), share, value=-1)
    return MeanTrigamma(mean, by_start, half.addcmul_(end - mean, share))


def digamma_and_trigamma(x):
    """Evaluate psi and psi' at x >= 1, float64, to 2e-11 and 1e-8.

    In one go, several times faster than torch.digamma and torch.polygamma. The arguments
    are moved up by 4: with m = x + 3/2 the sum 1/x + ... + 1/(x + 3) is 2 m both, where
    both = 1 / (m**2 - 9/4) + 1 / (m**2 - 1/4), and that of the squares is its derivative.
    """
    middle = x + 1.5
    square = middle * middle
    first, second = (square - 2.25).reciprocal_(), (square - 0.25).reciprocal_()
    both = first + second
    squares = first.mul_(first).addcmul_(second, second)
    moved = x + 3.5
    inverse = moved.reciprocal()
    t = inverse * inverse
    series = _polynomial(t, _SERIES).mul_(t)
    psi = moved.log_().add_(series).addcmul_(middle, both, value=-2)
    slopes = [-2 * (k + 1) * value for k, value in enumerate(_SERIES)]
    factor = _polynomial(t, slopes, out=series).mul_(t).add_(1)
    both.addcmul_(squares, square, value=-2)
    return psi, factor.mul_(inverse).sub_(both, alpha=2)


def _polynomial(t, coefficients, out=None):
    """Sum coefficients[k] t**k by Horner's rule."""
    *rest, last = coefficients
    value = torch.mul(t, last, out=out)
    for coefficient in reversed(rest[1:]):
        value.add_(coefficient).mul_(t)
    return value.add_(rest[0])
