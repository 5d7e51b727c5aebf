"""Metrics of hash lookup: the items in the Hamming ball of radius 0, 1, ..., R.

A hash table is searched by looking up every bucket (code) within the radius. The cost is
the number of these buckets, empty or not.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n, p        items in the ball of each radius: all, and relevant ones. For pairs:
            items in the balls of all queries together
==========  ==================================================================
"""

import math
import sys
from numbers import Integral, Real

import numpy as np
from scipy.special import betaincinv

from .._core.compat import Interval, validated
from .._core.types import Count, Floats
from ..histogram import HammingHistogram
from ..histogram._histograms import check_hamming
from ..measures._evaluation import average_queries, fill_undefined

_RADIUS = [Integral, None]


@validated(radius=_RADIUS, zero_division=[Real])
def radius_precision(
    histogram: HammingHistogram, radius: Count = None, *, zero_division: float = np.nan
) -> Floats:
    """Precision of hash lookup within each Hamming radius, per query.

    It is the relevant fraction of the items within the radius. Ties do not matter: a ball
    contains all items of a distance or none.

    The mean over queries gives each query the same weight. By default it leaves out the
    queries without relevant items, although everything they find is wrong. If most rows
    have no duplicate, as in deduplication, use :func:`pair_precision`, which counts the
    pairs of all queries, and :func:`radius_at_precision`, which chooses a radius.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance, as made by
        :func:`~sklearn_talr.histogram.hamming_histogram`. Every affinity above 0 is
        relevant.

    radius : int or None, default=None
        The largest radius. None means the code length, at which the ball holds all items.

    zero_division : float, default=np.nan
        Value of a query without relevant items; NaN lets averages leave the query out. The
        precision of such a query would be 0 at every radius. It gets this value instead,
        so that all metrics average the same queries.

    Returns
    -------
    precision : ndarray of shape (n_queries, radius + 1)
        Values in [0, 1], one for each radius 0, 1, ..., `radius`. An empty ball has
        precision 0.

    Raises
    ------
    TypeError
        If `histogram` is not a HammingHistogram: ties of other scores have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    pair_precision : Precision over the pairs of all queries together.
    radius_recall : Fraction of the relevant items that the ball holds.
    empty_lookup_fraction : Fraction of the queries whose ball is empty.

    Examples
    --------
    Codes of two bits: a relevant item at distance 1, and a relevant and an irrelevant item
    at distance 2.

    >>> from sklearn_talr.histogram import HammingHistogram
    >>> from sklearn_talr.metrics import radius_precision
    >>> counts = [[[0, 0, 1], [0, 1, 1]]]
    >>> radius_precision(HammingHistogram(counts, levels=[0, 1], n_bits=2)).round(3)
    array([[0.   , 1.   , 0.667]])
    """
    n, p = ball_counts(histogram, radius, "radius_precision")
    undefined = histogram.n_relevant[:, None] == 0
    return fill_undefined(p / np.maximum(n, 1), undefined, zero_division)


@validated(radius=_RADIUS, zero_division=[Real])
def radius_recall(
    histogram: HammingHistogram, radius: Count = None, *, zero_division: float = np.nan
) -> Floats:
    """Fraction of the relevant items that lie within each Hamming radius.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance. Every affinity above 0 is relevant.

    radius : int or None, default=None
        The largest radius. None means the code length, at which recall is 1.

    zero_division : float, default=np.nan
        Recall of a query without relevant items, which is undefined; NaN lets averages
        leave the query out.

    Returns
    -------
    recall : ndarray of shape (n_queries, radius + 1)
        Values in [0, 1], one for each radius 0, 1, ..., `radius`.

    Raises
    ------
    TypeError
        If `histogram` is not a HammingHistogram: ties of other scores have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    pair_recall : Recall over the pairs of all queries together.
    radius_precision : Relevant fraction of the ball.

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


@validated(radius=_RADIUS, zero_division=[Real])
def radius_aware_map(
    histogram: HammingHistogram, radius: Count = None, *, zero_division: float = np.nan
) -> Floats:
    r"""Radius-aware mean average precision (RAMAP) of hash lookup.

    Mean average precision depends only on the order of the distances. RAMAP also rewards
    relevant items at small radii, which need few bucket lookups: the precision within each
    radius is divided by the number of buckets within it, and averaged over radii (Jiang,
    Li and Li, eq. 1). RAMAP@R is the mean over queries of

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
        RAAP of a query without relevant items. NaN leaves the query out of the mean; 0.0
        follows the definition to the letter.

    Returns
    -------
    ramap : ndarray of shape (radius + 1,)
        RAMAP@0, ..., RAMAP@radius, values in [0, 1]. NaN, with a warning, if no query has
        a value.

    Raises
    ------
    TypeError
        If `histogram` is not a HammingHistogram: ties of other scores have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    radius_precision, lookup_cost : The two ingredients.

    Notes
    -----
    The cost grows so fast that RAMAP@R is close to the precision at radius 0 divided by
    R + 1. If the codes are so long that most balls of radius 0 are empty, report
    :func:`empty_lookup_fraction` as well.

    References
    ----------
    Jiang, Li and Li, "On the Evaluation Metric for Hashing", section 3.2.

    Examples
    --------
    The relevant item is in the query's own bucket or in a neighboring one. The two rankings
    have the same average precision, but radius 1 takes 1 + 2 bucket lookups:

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
    return average_queries(raap)


@validated(radius=_RADIUS)
def empty_lookup_fraction(histogram: HammingHistogram, radius: Count = None) -> Floats:
    """Fraction of the queries that find no item within each Hamming radius.

    Queries whose items are all ignored are left out.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance. Affinities do not matter.

    radius : int or None, default=None
        The largest radius. None means the code length.

    Returns
    -------
    fraction : ndarray of shape (radius + 1,)
        Values in [0, 1], one for each radius 0, 1, ..., `radius`. They never rise with the
        radius.

    Raises
    ------
    TypeError
        If `histogram` is not a HammingHistogram: ties of other scores have no radius.

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
    return average_queries(np.where(histogram.n_items[:, None], n == 0, np.nan))


@validated(n_bits=[Integral], radius=_RADIUS)
def lookup_cost(n_bits: int, radius: Count = None) -> Floats:
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
        `radius`, float64. Sums are exact integers, rounded once; from :math:`2^{1024}` on
        they are ``inf``.

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
    n_bits = int(n_bits)
    costs = []
    n_at_radius = 1  # buckets at distance r
    n_within = 0  # buckets at distance r or less
    for r in range(_check_radius(radius, n_bits) + 1):
        n_within += n_at_radius
        costs.append(float(n_within) if n_within <= sys.float_info.max else math.inf)
        # C(n, r + 1) follows from C(n, r) without a remainder.
        n_at_radius = n_at_radius * (n_bits - r) // (r + 1)
    return np.array(costs)


def radius_aware_precision(histogram, radius, zero_division):
    """RAAP of each query, whose mean is RAMAP, shape (n_queries, radius + 1)."""
    precision = radius_precision(histogram, radius)
    n_radii = precision.shape[1]
    cost = lookup_cost(histogram.n_bits, n_radii - 1)
    raap = np.cumsum(precision / cost, axis=1) / np.arange(1, n_radii + 1)
    return fill_undefined(raap, np.isnan(raap), zero_division)


def ball_counts(histogram, radius, caller):
    """All and relevant items within each radius, each of shape (n_queries, radius + 1)."""
    check_hamming(histogram, caller)
    radius = _check_radius(radius, histogram.n_bits)
    counts = histogram.counts[:, :, : radius + 1]
    n = counts.sum(axis=1)
    p = counts[:, 1:].sum(axis=1)
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


@validated(radius=_RADIUS, zero_division=[Real])
def pair_precision(
    histogram: HammingHistogram, radius: Count = None, *, zero_division: float = np.nan
) -> Floats:
    r"""Fraction of true pairs among the pairs found within each Hamming radius.

    A query and an item within the radius are a found pair. The pair is right if the item is
    relevant to the query. Pairs of all queries are counted together (the *micro average*),
    also the pairs of queries without relevant items, which are all wrong:

    .. math::

        \mathrm{precision}(r) = \frac{\text{right pairs within } r}{\text{pairs within } r}.

    In deduplication it is the fraction of the reported pairs that are duplicates.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance. Every affinity above 0 is right. For the pairs within
        one set use :func:`~sklearn_talr.histogram.hamming_histogram` with
        ``exclude_self=True``; it counts every pair twice, which changes no fraction. For
        pairs that were labeled one by one use :meth:`HammingHistogram.from_pairs
        <sklearn_talr.histogram.HammingHistogram.from_pairs>`.

    radius : int or None, default=None
        The largest radius. None means the code length, at which all pairs are found.

    zero_division : float, default=np.nan
        Precision at radii within which there are no pairs.

    Returns
    -------
    precision : ndarray of shape (radius + 1,)
        Values in [0, 1], one for each radius 0, 1, ..., `radius`.

    Raises
    ------
    TypeError
        If `histogram` is not a HammingHistogram: ties of other scores have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    pair_recall : Fraction of the right pairs that are found.
    radius_at_precision : The largest radius with a required precision.
    radius_precision : The precision of each query, whose mean weights all queries equally.

    Notes
    -----
    Precision depends on the number of rows. In a set of twice the size each row has twice
    as many wrong pairs within a radius, but the same number of duplicates. So the precision
    measured on a sample of rows is too high. Rank labeled queries against the whole set, or
    label a random sample of the pairs of the whole set.

    Examples
    --------
    Four rows, the first two of which are duplicates. The third row has the same code as the
    first two, so that a right pair and wrong pairs are tied at distance 0:

    >>> from sklearn_talr.histogram import hamming_histogram
    >>> from sklearn_talr.metrics import pair_precision, radius_precision
    >>> codes, y = [[0, 0], [0, 0], [0, 0], [0, 1]], [0, 0, 1, 2]
    >>> histogram = hamming_histogram(codes, codes, "auto", y, y, exclude_self=True)
    >>> pair_precision(histogram).round(2)
    array([0.33, 0.17, 0.17])

    The mean precision of the rows with a duplicate differs. It leaves out the pairs of the
    third and the fourth row, which are all wrong:

    >>> radius_precision(histogram)[:2].mean(axis=0).round(2)
    array([0.5 , 0.33, 0.33])
    """
    n, p = _pairs_found(histogram, radius, "pair_precision")
    return fill_undefined(p / np.maximum(n, 1), n == 0, zero_division)


@validated(radius=_RADIUS, zero_division=[Real])
def pair_recall(
    histogram: HammingHistogram, radius: Count = None, *, zero_division: float = np.nan
) -> Floats:
    r"""Fraction of the right pairs that are found within each Hamming radius.

    Pairs of all queries are counted together (the *micro average*):

    .. math::

        \mathrm{recall}(r) = \frac{\text{right pairs within } r}{\text{right pairs}}.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance, made as for :func:`pair_precision`. Every affinity above
        0 is right.

    radius : int or None, default=None
        The largest radius. None means the code length, at which recall is 1.

    zero_division : float, default=np.nan
        Recall if there are no right pairs.

    Returns
    -------
    recall : ndarray of shape (radius + 1,)
        Values in [0, 1], one for each radius 0, 1, ..., `radius`. They never fall with the
        radius.

    Raises
    ------
    TypeError
        If `histogram` is not a HammingHistogram: ties of other scores have no radius.

    ValueError
        If `radius` is not from 0 to the code length.

    See Also
    --------
    pair_precision : Fraction of the found pairs that are right.
    radius_recall : The recall of each query, whose mean weights all queries equally.

    Examples
    --------
    Two pairs of duplicates. The codes of the first pair are equal, the codes of the second
    differ in one bit:

    >>> from sklearn_talr.histogram import hamming_histogram
    >>> from sklearn_talr.metrics import pair_recall
    >>> codes, y = [[0, 0], [0, 0], [0, 1], [1, 1]], [0, 0, 1, 1]
    >>> pair_recall(hamming_histogram(codes, codes, "auto", y, y, exclude_self=True))
    array([0.5, 1. , 1. ])
    """
    _, p = _pairs_found(histogram, radius, "pair_recall")
    n_right = histogram.n_relevant.sum()
    recall = p / np.maximum(n_right, 1)
    return fill_undefined(recall, n_right == 0, zero_division)


@validated(
    precision=[Interval(Real, 0, 1, closed="right")],
    confidence=[Interval(Real, 0, 1, closed="neither"), None],
)
def radius_at_precision(
    histogram: HammingHistogram, precision: float, *, confidence: float | None = None
) -> int:
    r"""Return the largest Hamming radius with a required precision of the found pairs.

    Recall never falls with the radius, so the largest radius with this precision has the
    highest recall:

    .. math:: \max\, \{r : \mathrm{precision}(r) \ge \text{required precision}\}.

    Parameters
    ----------
    histogram : HammingHistogram
        Counts by Hamming distance of labeled pairs, made as for :func:`pair_precision`.

    precision : float
        The required precision of the found pairs, above 0 and at most 1.

    confidence : float, default=None
        With None the labeled pairs themselves must have the precision. With a number
        between 0 and 1, such as 0.95, a lower confidence bound of the precision of all
        pairs must reach it, if the labeled pairs are a random sample. It needs pairs that
        were drawn one by one, from :meth:`HammingHistogram.from_pairs
        <sklearn_talr.histogram.HammingHistogram.from_pairs>`.

    Returns
    -------
    radius : int
        From 0 to the code length.

    Raises
    ------
    TypeError
        If `histogram` is not a HammingHistogram: ties of other scores have no radius.

    ValueError
        If no radius has the precision, no pairs were labeled, or `confidence` is set and
        the table has several queries.

    See Also
    --------
    pair_precision, pair_recall : Precision and recall within each radius.
    sklearn_talr.neighbors.HammingNeighbors.radius_neighbors : Finds the pairs.

    Notes
    -----
    A radius that was chosen with few pairs is uncertain. Even if all n labeled pairs within
    a radius are right, the precision can be as low as about :math:`1 - 3/n` (with
    confidence 0.95): a precision of 99 % takes 300 pairs. With `confidence`, each radius
    has the exact one-sided bound of Clopper and Pearson: the precision with which p or more
    of n pairs are right with probability ``1 - confidence``. It holds for each radius by
    itself, and the best of several radii is returned. So check it on other pairs if much
    depends on it.

    Draw the labeled pairs at random from the pairs within the largest radius of interest,
    in the set that is searched. A hand-picked sample with as many duplicates as other pairs
    does not estimate precision. Neither does a smaller set, see :func:`pair_precision`.

    References
    ----------
    C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated
    in the case of the binomial", Biometrika 26 (1934), 404-413.

    Examples
    --------
    Pairs at the distances 0, 0, 1, 1 and 2. The two pairs at distance 1 are tied, so that a
    radius finds both or none, and one of them is wrong:

    >>> from sklearn_talr.histogram import HammingHistogram
    >>> from sklearn_talr.metrics import radius_at_precision
    >>> first = [[0, 0]] * 5
    >>> second = [[0, 0], [0, 0], [0, 1], [1, 0], [1, 1]]
    >>> histogram = HammingHistogram.from_pairs(first, second, [1, 1, 1, 0, 1])
    >>> radius_at_precision(histogram, 0.9), radius_at_precision(histogram, 0.8)
    (0, 2)

    With only five pairs the lower bound is far below the precision of the sample:

    >>> radius_at_precision(histogram, 0.3, confidence=0.95)
    2
    """
    n, p = _pairs_found(histogram, None, "radius_at_precision")
    if not n[-1]:
        raise ValueError(
            "histogram has no pairs: pass the table of labeled pairs, as "
            "HammingHistogram.from_pairs makes it."
        )
    if confidence is None:
        reached = p / np.maximum(n, 1)
        reached_name = "precision is"
        remedy = "Pass a lower precision"
    else:
        if len(histogram) != 1:
            raise ValueError(
                "confidence needs pairs that were drawn one by one, as tabulated by "
                f"HammingHistogram.from_pairs, got a table of {len(histogram)} queries, "
                "whose pairs are not independent. Pass confidence=None, or label a random "
                "sample of the pairs."
            )
        # The bound is the precision with which p or more of n pairs are right with
        # probability 1 - confidence.
        bound = betaincinv(np.maximum(p, 1), n - p + 1, 1 - confidence)
        reached = np.where(p > 0, bound, 0)
        reached_name = "lower bound of the precision is"
        remedy = "Pass a lower precision, or label more pairs"
    radii = np.flatnonzero((reached >= precision) & (n > 0))
    if not len(radii):
        best = int(np.argmax(np.where(n > 0, reached, -1)))
        raise ValueError(
            f"no radius has a precision of {precision}: the largest {reached_name} "
            f"{reached[best]:.3g}, within radius {best}, of {n[best]} pairs. {remedy}."
        )
    return int(radii[-1])


def _pairs_found(histogram, radius, caller):
    """All and right pairs within each radius, each of shape (radius + 1,)."""
    n, p = ball_counts(histogram, radius, caller)
    return n.sum(axis=0), p.sum(axis=0)
