"""Harmonic and discount sums over a run of consecutive ranks."""

import numpy as np
from scipy.special import digamma

_ASYMPTOTIC = 32  # from here on the series below is good to the last digit


def harmonic_sum(start, length):
    """1/(start+1) + ... + 1/(start+length) for arrays of non-negative integers.

    The plain difference of two harmonic numbers loses the digits that they share: about
    log10(start) of them when few ranks are summed far down the list, which the formula of
    average precision then multiplies by `start`. Beyond a short head the difference is
    therefore expanded term by term.
    """
    a = start + 1.0
    b = a + length
    far = np.maximum(a, _ASYMPTOTIC), np.maximum(b, _ASYMPTOTIC)
    near = digamma(b) - digamma(a)
    return np.where(a < _ASYMPTOTIC, near, _digamma_difference(*far))


def _digamma_difference(a, b):
    """digamma(b) - digamma(a) from the asymptotic series, differences in closed form."""
    u, v = 1 / a**2, 1 / b**2
    reciprocals = (b - a) / (a * b)
    squares = reciprocals * (a + b) / (a * b)
    tail = 1 / 12 - (u + v) / 120 + (u * u + u * v + v * v) / 252
    tail -= (u + v) * (u * u + v * v) / 240
    return np.log1p((b - a) / a) + reciprocals / 2 + squares * tail


def cumulative_discount(n_ranks):
    """Sums of the logarithmic discounts 1/log2(rank + 1) of the first 0..n_ranks ranks."""
    ranks = np.arange(1, n_ranks + 1)
    return np.concatenate(([0.0], np.cumsum(1 / np.log2(ranks + 1))))
