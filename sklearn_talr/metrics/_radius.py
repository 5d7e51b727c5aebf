"""Metrics of hash lookup: the items in the Hamming ball of radius 0, 1, ..., R.

A hash table is searched by looking up every bucket (code) within the radius, so its cost
is the number of those buckets, whether anything lies in them or not.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n, p        items in the ball of each radius: all, and relevant ones
cost        buckets of that ball, C(n_bits, 0) + ... + C(n_bits, r)
==========  ==================================================================
"""

import math
from numbers import Integral, Real

import numpy as np

from .._compat import validate_params
from ..histogram._door import check_hamming
from ..measures._evaluation import average_queries, fill_undefined

__all__ = [
    "empty_lookup_fraction",
    "lookup_cost",
    "radius_aware_map",
    "radius_precision",
    "radius_recall",
]

# Functions check histogram and radius themselves, as their errors say what to do.
_RADIUS = {"histogram": "no_validation", "radius": [Integral, None]}
OVER_RADII = _RADIUS | {"zero_division": [Real]}


@validate_params(OVER_RADII, prefer_skip_nested_validation=True)
def radius_precision(histogram, radius=None, *, zero_division=np.nan):
    """Relevant fraction of the items within each Hamming radius, query by query.

    Ties do not matter here: a ball contains all items of a distance or none.

    This is the precision of a lookup, and its mean over queries gives each query the same
    weight. By default that mean leaves out the queries with nothing relevant, and all that
    they find is wrong. Where most rows have no relative, as in deduplication, it says
    little about the pairs that are found: :func:`pair_precision` counts those of all
    queries, and :func:`radius_at_precision` chooses a radius by them.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance, as made by
        :func:`~sklearn_talr.histogram.hamming_histogram`. Every affinity above 0 is
        relevant.

    radius : int or None, default=None
        The largest radius. None means the code length, where the ball holds everything.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out. The
        precision of such a query is 0 at every radius. It gets this value all the same, so
        that all metrics average the same queries.

    Returns
    -------
    precision : ndarray of shape (n_queries, radius + 1)
        Values in [0, 1], one for each radius 0, 1, ..., `radius`. An empty ball has
        precision 0.

    Raises
    ------
    TypeError
        If `histogram` is no HammingHistogram: ties by another score have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    pair_precision : Right fraction of the pairs that all queries find together.
    radius_recall : How much of the relevant the ball holds.
    empty_lookup_fraction : How often the ball is empty.

    Examples
    --------
    Codes of two bits: a relevant item at distance 1, another and a stranger at 2.

    >>> from sklearn_talr.histogram import HammingHistogram
    >>> from sklearn_talr.metrics import radius_precision
    >>> counts = [[[0, 0, 1], [0, 1, 1]]]
    >>> radius_precision(HammingHistogram(counts, levels=[0, 1], n_bits=2)).round(3)
    array([[0.   , 1.   , 0.667]])
    """
    n, p = ball_counts(histogram, radius, "radius_precision")
    undefined = histogram.n_relevant[:, None] == 0
    return fill_undefined(p / np.maximum(n, 1), undefined, zero_division)


@validate_params(OVER_RADII, prefer_skip_nested_validation=True)
def radius_recall(histogram, radius=None, *, zero_division=np.nan):
    """Fraction of the relevant items that lie within each Hamming radius.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance. Every affinity above 0 is relevant.

    radius : int or None, default=None
        The largest radius. None means the code length, where recall is 1.

    zero_division : float, default=np.nan
        Recall of a query with nothing relevant, which is undefined; NaN lets averages leave
        the query out.

    Returns
    -------
    recall : ndarray of shape (n_queries, radius + 1)
        Values in [0, 1], one for each radius 0, 1, ..., `radius`.

    Raises
    ------
    TypeError
        If `histogram` is no HammingHistogram: ties by another score have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    pair_recall : Found fraction of the relevant pairs of all queries together.
    radius_precision : How much of the ball is relevant.

    Examples
    --------
    >>> from sklearn_talr.histogram import HammingHistogram
    >>> from sklearn_talr.metrics import radius_recall
    >>> counts = [[[0, 0, 1], [0, 1, 1]]]
    >>> radius_recall(HammingHistogram(counts, levels=[0, 1], n_bits=2))
    array([[0. , 0.5, 1. ]])
    """
    _, p = ball_counts(histogram, radius, "radius_recall")
    n_relevant = histogram.n_relevant[:, None]
    recall = p / np.maximum(n_relevant, 1)
    return fill_undefined(recall, n_relevant == 0, zero_division)


@validate_params(OVER_RADII, prefer_skip_nested_validation=True)
def radius_aware_map(histogram, radius=None, *, zero_division=np.nan):
    r"""Radius-aware mean average precision (RAMAP) of hash lookup.

    Mean average precision knows only the order of the distances. This metric asks for
    relevant items *near* the query, where few buckets have to be looked up: the precision
    within each radius is divided by the number of buckets up to there, and averaged
    (Jiang, Li and Li, eq. 1). RAMAP@R is the mean over queries of

    .. math::

        \mathrm{RAAP}@R = \frac{1}{R + 1} \sum_{r=0}^{R}
        \frac{\mathrm{precision}(r)}{\mathrm{cost}(r)}.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance. Every affinity above 0 is relevant.

    radius : int or None, default=None
        The largest radius R. None means the code length.

    zero_division : float, default=np.nan
        RAAP of a query with nothing relevant. NaN leaves the query out of the mean; 0.0 is
        the letter of the definition.

    Returns
    -------
    ramap : ndarray of shape (radius + 1,)
        RAMAP@0, ..., RAMAP@radius, values in [0, 1]. NaN, with a warning, if no query has
        a value.

    Raises
    ------
    TypeError
        If `histogram` is no HammingHistogram: ties by another score have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    radius_precision, lookup_cost : The two ingredients.

    Notes
    -----
    The cost grows so fast that RAMAP@R is little more than the precision at radius 0
    over R + 1. With codes so long that most balls of radius 0 are empty, look at
    :func:`empty_lookup_fraction` too.

    References
    ----------
    Jiang, Li and Li, "On the Evaluation Metric for Hashing", section 3.2.

    Examples
    --------
    The same item, found in the query's own bucket or next to it. The two rankings have
    the same average precision, but at radius 1 there are 1 + 2 buckets to look up.

    >>> from sklearn_talr.histogram import HammingHistogram
    >>> from sklearn_talr.metrics import radius_aware_map
    >>> at_home = HammingHistogram([[[0, 0, 1], [1, 0, 0]]], levels=[0, 1], n_bits=2)
    >>> radius_aware_map(at_home, radius=1).round(3)
    array([1.   , 0.667])
    >>> next_door = HammingHistogram([[[0, 0, 1], [0, 1, 0]]], levels=[0, 1], n_bits=2)
    >>> radius_aware_map(next_door, radius=1).round(3)
    array([0.   , 0.167])
    """
    check_hamming(histogram, "radius_aware_map")
    raap = radius_aware_precision(histogram, radius, zero_division)
    return average_queries(raap, stacklevel=4)


@validate_params(_RADIUS, prefer_skip_nested_validation=True)
def empty_lookup_fraction(histogram, radius=None):
    """Fraction of the queries that find nothing at all within each Hamming radius.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance. Affinities do not matter.

    radius : int or None, default=None
        The largest radius. None means the code length.

    Returns
    -------
    fraction : ndarray of shape (radius + 1,)
        Values in [0, 1], never rising with the radius, one for each radius 0, 1, ...,
        `radius`.

    Raises
    ------
    TypeError
        If `histogram` is no HammingHistogram: ties by another score have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    radius_precision : Counts an empty ball as 0.

    Examples
    --------
    One query finds an item at distance 0, the other needs radius 2:

    >>> from sklearn_talr.histogram import HammingHistogram
    >>> from sklearn_talr.metrics import empty_lookup_fraction
    >>> counts = [[[0, 0, 1], [1, 0, 0]], [[0, 0, 1], [0, 0, 1]]]
    >>> empty_lookup_fraction(HammingHistogram(counts, levels=[0, 1], n_bits=2))
    array([0.5, 0.5, 0. ])
    """
    n, _ = ball_counts(histogram, radius, "empty_lookup_fraction")
    return average_queries((n == 0).astype(float), stacklevel=4)


@validate_params(
    {"n_bits": [Integral], "radius": [Integral, None]}, prefer_skip_nested_validation=True
)
def lookup_cost(n_bits, radius=None):
    r"""Number of buckets to look up within each Hamming radius.

    Parameters
    ----------
    n_bits : int
        Length of the codes, at least 1.

    radius : int or None, default=None
        The largest radius. None means `n_bits`.

    Returns
    -------
    cost : ndarray of shape (radius + 1,)
        :math:`\binom b0 + \dots + \binom br` for codes of b bits and r = 0, 1, ...,
        `radius`, float64. Sums are made in exact integers and rounded once; beyond the
        range of float64, :math:`2^{1024}`, they are ``inf``.

    See Also
    --------
    radius_aware_map : Divides precision by this cost.

    Examples
    --------
    >>> from sklearn_talr.metrics import lookup_cost
    >>> lookup_cost(32, radius=3)
    array([1.000e+00, 3.300e+01, 5.290e+02, 5.489e+03])
    """
    if isinstance(n_bits, bool) or n_bits < 1:
        raise ValueError(f"n_bits must be a positive integer, got {n_bits!r}.")
    n_bits, radius = int(n_bits), _check_radius(radius, n_bits)
    costs, shell, ball = [], 1, 0
    for r in range(radius + 1):
        ball += shell
        costs.append(_as_float(ball))
        shell = shell * (n_bits - r) // (r + 1)  # exact: C(n, r + 1) from C(n, r)
    return np.array(costs)


def radius_aware_precision(histogram, radius, zero_division):
    """RAAP of each query, whose mean is RAMAP, shape (n_queries, radius + 1)."""
    precision = radius_precision(histogram, radius)
    n_radii = precision.shape[1]
    cost = lookup_cost(histogram.n_bits, n_radii - 1)
    raap = np.cumsum(precision / cost, axis=1) / np.arange(1, n_radii + 1)
    return fill_undefined(raap, np.isnan(raap), zero_division)


def _as_float(integer):
    try:
        return float(integer)
    except OverflowError:
        return math.inf


def ball_counts(histogram, radius, caller):
    """All and relevant items within each radius, each of shape (n_queries, radius + 1)."""
    check_hamming(histogram, caller)
    radius = _check_radius(radius, histogram.n_bits)
    counts = histogram.counts[:, :, : radius + 1]
    n, p = counts.sum(axis=1), counts[:, 1:].sum(axis=1)
    return n.cumsum(axis=1), p.cumsum(axis=1)


def _check_radius(radius, n_bits):
    if radius is None:
        return n_bits
    if isinstance(radius, bool) or not 0 <= radius <= n_bits:
        raise ValueError(
            f"radius must be None or an integer from 0 to the code length, {n_bits} bits, "
            f"got {radius!r}."
        )
    return int(radius)
