"""Real-valued queries in units in which nothing overflows or vanishes in float32.

Weights are multiplied by powers of two, which rounds nothing, so that the largest of a
query is between 1/2 and 1, or less where addends are larger. The factors of codes are
brought near 1 in the same way. So a score is at most thrice the number of bits.
"""

from typing import NamedTuple

import numpy as np

_UNIT = 2.0**-23  # twice what rounding to float32 changes a number by, relatively
_MOST = 100  # by so many powers of two factors are brought nearer to 1


class Scaled(NamedTuple):
    """Queries by their weights, in units of their own.

    Parameters
    ----------
    weights : ndarray of shape (n_queries, n_bits), dtype float32
        Scaled weights of the bits.

    exponents : ndarray of shape (n_queries,) of int
        They are the weights divided by two to the power of these.

    factor_unit : float
        What factors of codes are multiplied by.

    addend_units : ndarray of shape (n_queries,) of float64
        What addends of codes are multiplied by.

    largest : ndarray of shape (n_queries,) of float64
        The most that a weighted sum of signs can be.

    margins : ndarray of shape (n_queries,) of float64
        What two scores may differ by in float32 that are the same in fact.
    """

    weights: np.ndarray
    exponents: np.ndarray
    factor_unit: float
    addend_units: np.ndarray
    largest: np.ndarray
    margins: np.ndarray

    def units(self, query):
        """What factors and addends are multiplied by, for one query or a column of all."""
        of_addends = self.addend_units[query]
        return self.factor_unit, of_addends[:, None] if of_addends.ndim else float(
            of_addends
        )

    def at(self, radius):
        """The score at a weighted Hamming distance from each query, less the margin."""
        whole = np.ldexp(self.largest, self.exponents)
        inside = np.ldexp(np.minimum(radius, whole), -self.exponents)
        return self.largest - 2 * inside - self.margins


def scale(weights, store):
    """Scale queries for the search of a :class:`~._store.CodeStore`."""
    factor, addend = store.largest_terms
    factor_exponent = max(-_MOST, min(_MOST, int(np.frexp(factor)[1]) - 1))
    magnitudes = np.abs(weights)
    exponents = np.frexp(magnitudes.max(axis=1))[1]
    if addend:
        least = int(np.frexp(addend)[1]) - factor_exponent
        exponents = np.maximum(exponents, least)
    largest = np.ldexp(magnitudes.sum(axis=1, dtype=np.float64), -exponents)
    addend_units = np.ldexp(1.0, -exponents - factor_exponent)
    factor_unit = 2.0**-factor_exponent
    most = largest * (factor * factor_unit) + (addend * addend_units if addend else 0)
    # A sum of n numbers is rounded n times at most, and so is what it is compared with.
    margins = 2 * _UNIT * (weights.shape[1] + 8) * most
    weights = np.ldexp(weights, -exponents[:, None])
    return Scaled(weights, exponents, factor_unit, addend_units, largest, margins)
