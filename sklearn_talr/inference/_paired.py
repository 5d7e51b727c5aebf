"""Paired tests of two systems, and how many queries they need."""

from dataclasses import dataclass
from math import ceil
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import stats

from .._core.compat import Interval, StrOptions, independent_random_state, validated
from .._core.types import ArrayLike, Column, Literal, Seed
from .._core.validation import refuse_unlike_labels
from ._resampling import (
    RESAMPLING,
    ROUNDING,
    Resampling,
    as_floats,
    bootstrap_deviations,
    make_strata,
)
from ._sign_patterns import (
    drawn_shares,
    has_few_sizes,
    n_patterns_of,
    saddlepoint_shares,
    share_of_few_reaching,
    share_of_few_sizes,
    sums_clump,
    tails_of_ranks,
)

TESTS = "randomization", "bootstrap", "t", "wilcoxon"
# Sizes are rounded to this number of decimals, so that rounding makes no two of one.
_DECIMALS_OF_SIZES = 12
# With up to this number of differing queries the distribution of signed ranks is exact.
_MAX_EXACT_RANKS = 200
# With more queries the first correction of the normal approximation is enough.
_MIN_QUERIES_BY_NORMAL = 10_000
_BETWEEN_0_AND_1 = Interval(Real, 0, 1, closed="neither")


@dataclass(frozen=True, eq=False)
class PairedTest:
    """Result of a paired test.

    :func:`paired_test` makes them.

    Parameters
    ----------
    difference : float, or ndarray of shape (n_columns,)
        Mean of the first system minus mean of the second.

    p_value : float, or ndarray of shape (n_columns,)
        Two-sided p-value.

    n_resamples : int, or ndarray of shape (n_columns,)
        Number of sign patterns, or of bootstrap samples, that the p-value counts. 0 if it
        counts none, or more than int64 holds.

    is_exact : bool, or ndarray of shape (n_columns,)
        Whether the p-value is the exact share of all sign patterns, not an approximation.
    """

    difference: np.ndarray
    p_value: np.ndarray
    n_resamples: np.ndarray
    is_exact: np.ndarray


class TestedColumns(NamedTuple):
    """p-values of the columns of a table of differences.

    Parameters
    ----------
    p_value : ndarray of shape (n_columns,)
        NaN if there are too few queries to test.

    n_patterns : ndarray of shape (n_columns,) of int
        Number of sign patterns or samples that the p-value counts; 0 if it counts none, or
        more than int64 holds.

    is_exact : ndarray of shape (n_columns,) of bool
    """

    p_value: np.ndarray
    n_patterns: np.ndarray
    is_exact: np.ndarray


@validated(
    first=["array-like"], second=["array-like"], test=[StrOptions(set(TESTS))], **RESAMPLING
)
def paired_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    test: Literal["randomization", "bootstrap", "t", "wilcoxon"] = "randomization",
    stratify: Column = None,
    n_resamples: int = 10_000,
    random_state: Seed = 0,
) -> PairedTest:
    """Test whether two systems differ in their mean over the same queries.

    Parameters
    ----------
    first, second : array-like of shape (n_queries,) or (n_queries, n_columns)
        Values of a measure for the same queries, in the same order. Each column is tested
        by itself.

    test : {"randomization", "bootstrap", "t", "wilcoxon"}, default="randomization"
        * "randomization" is the two-sided Fisher-Pitman test. The p-value is the share of
          sign patterns whose mean difference is at least as large as the observed one: in
          each query the two systems may have swapped their values. The test counts all
          patterns if at most 20 queries differ, if the differences have few sizes, or if
          few patterns reach the observed mean, as when nearly all differences have one
          sign. Otherwise it uses Lugannani and Rice's saddlepoint approximation, which
          draws no random numbers. The approximation is poor if a few differences dominate.
          The test then draws sign patterns by importance sampling. The smallest possible
          p-value is always that of one pattern and its mirror image.
        * "bootstrap" resamples queries. The p-value is the share of samples whose mean
          deviates from the mean of all queries by as much as that deviates from 0.
          Bootstrap means vary less than the true mean, so the deviation to reach is
          smaller, by the ratio of normal quantiles to Student's.
        * "t" is the paired t-test.
        * "wilcoxon" is the signed-rank test of whether differences are symmetric about 0.
          It ranks differences, so it does not test means. Queries without a difference are
          left out. With up to 200 other queries it is exact, with ties and without.

    stratify : array-like of shape (n_queries,), default=None
        Label of each query's stratum, for "bootstrap" and "t". The other tests do not
        depend on it.

    n_resamples : int, default=10_000
        Number of samples of "bootstrap", whose smallest p-value is 1 / (n_resamples + 1),
        and of drawn sign patterns. At least 100.

    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    result : PairedTest
        Difference of the means, p-value, and the number of patterns or samples that it
        counts. The p-value is 1 if the systems are equal in all queries. With "t" and
        "bootstrap" it is NaN if there is only one query, and 0 if the difference is the
        same in all queries. Differences up to 1e-12 of the largest value count as 0.

    Raises
    ------
    ValueError
        If the two have different shapes, a value is not finite, or a stratum has one query.

    See Also
    --------
    scipy.stats.permutation_test : Randomization of any statistic.
    scipy.stats.ttest_rel : The paired t-test alone.

    References
    ----------
    M. D. Smucker, J. Allan and B. Carterette, "A Comparison of Statistical Significance
    Tests for Information Retrieval Evaluation", CIKM 2007.

    R. Lugannani and S. O. Rice, "Saddle Point Approximation for the Distribution of the
    Sum of Independent Random Variables", Advances in Applied Probability 12, 1980.

    T. C. Hesterberg, "What Teachers Should Know About the Bootstrap", The American
    Statistician 69, 2015, on bootstrap means that vary less than the true mean.

    Examples
    --------
    In the third query the first system ties the relevant item with another, so that its
    reciprocal rank is 3/4:

    >>> from sklearn_talr.inference import paired_test
    >>> first = [1.0, 0.5, 0.75, 1.0, 0.5]
    >>> second = [0.5, 0.25, 0.5, 0.5, 0.25]
    >>> result = paired_test(first, second)
    >>> result.p_value, result.n_resamples, result.is_exact
    (0.0625, 32, True)
    """
    for axis in (0, 1):
        refuse_unlike_labels(first, second, ("first", "second"), axis)
    refuse_unlike_labels(first, stratify, ("first", "stratify"))
    refuse_unlike_labels(second, stratify, ("second", "stratify"))
    first = as_floats(first, "first")
    second = as_floats(second, "second")
    if first.shape != second.shape:
        raise ValueError(
            "first and second must have one shape, (n_queries,) or (n_queries, n_columns), "
            f"got {first.shape} and {second.shape}."
        )
    differences = (first - second).reshape(len(first), -1)
    strata = make_strata(stratify, len(differences))
    resampling = Resampling(strata, n_resamples, independent_random_state(random_state))
    larger = np.maximum(np.abs(first), np.abs(second))
    scale = larger.reshape(differences.shape).max(axis=0, initial=0)
    tested = p_values(test, differences, scale, resampling)
    are_equal = np.abs(differences).max(axis=0, initial=0) <= ROUNDING * scale
    tested.p_value[are_equal] = 1.0
    columns = [differences.mean(axis=0), *tested]
    if first.ndim == 1:
        columns = [column.item() for column in columns]
    return PairedTest(*columns)


def p_values(test, differences, scale, resampling):
    """Test each column of differences.

    Parameters
    ----------
    test : {"randomization", "bootstrap", "t", "wilcoxon"}

    differences : ndarray of shape (n_queries, n_columns)

    scale : ndarray of shape (n_columns,)
        The largest absolute value whose difference was taken: rounding is relative to it.

    resampling : Resampling
        Samples of the bootstrap test; the t-test takes the strata.
    """
    # A power of two brings all values to at most 1, so that ROUNDING is absolute.
    _, exponent = np.frexp(np.where(scale > 0, scale, 1.0))
    differences = np.ldexp(differences, -exponent)
    differences[np.abs(differences) <= ROUNDING] = 0.0
    if test == "randomization":
        return randomization_p_values(differences, resampling)
    n_columns = differences.shape[1]
    if test == "wilcoxon":
        p_value, is_exact = signed_rank_p_values(differences)
    else:
        p_value = _p_values_of_means(test, differences, resampling)
        is_exact = np.zeros(n_columns, dtype=bool)
    n_samples = resampling.n_resamples if test == "bootstrap" else 0
    return TestedColumns(p_value, np.full(n_columns, n_samples), is_exact)


def _p_values_of_means(test, differences, resampling):
    """p-values of the t-test, or of the bootstrap test, (n_columns,)."""
    p_value = np.full(differences.shape[1], np.nan)
    strata = resampling.strata
    if strata.n_free < 1:
        return p_value
    # Differences that are all the same have no variance: their mean is 0, and there is
    # nothing to test, or it is known exactly.
    mean = differences.mean(axis=0)
    error, bootstrap_error = strata.standard_errors(differences)
    varies = error > ROUNDING
    p_value[~varies & (np.abs(mean) > ROUNDING)] = 0.0
    t = mean[varies] / error[varies]
    tail = stats.t.sf(np.abs(t), strata.n_free)
    if test == "t":
        p_value[varies] = 2 * tail
    elif varies.any():
        drawn = bootstrap_deviations(differences[:, varies], resampling)
        needed = stats.norm.isf(tail) * bootstrap_error[varies] - ROUNDING
        n_as_large = (np.abs(drawn) >= needed).sum(axis=0)
        p_value[varies] = (n_as_large + 1) / (resampling.n_resamples + 1)
    return p_value


def randomization_p_values(differences, resampling):
    """Share of all sign patterns whose mean is at least as far from 0, for each column.

    All patterns are counted if there are few, if the differences have few sizes, or if few
    patterns reach the observed sum. Otherwise the share comes from Lugannani and Rice's
    formula, or from drawn patterns if the sums clump.
    """
    sizes = np.abs(differences)
    total = np.abs(differences.sum(axis=0))
    rounded = sizes.round(_DECIMALS_OF_SIZES)
    p_value = np.full(len(total), np.nan)
    is_equal = ~rounded.any(axis=0)  # The systems are equal in all queries.
    is_exact = is_equal.copy()
    for column in np.flatnonzero(~is_exact & has_few_sizes(rounded)):
        share = share_of_few_sizes(rounded[:, column], total[column])
        if share is not None:
            p_value[column] = share
            is_exact[column] = True

    columns = np.flatnonzero(~is_exact)
    p_value[columns] = saddlepoint_shares(sizes[:, columns], total[columns])
    for column in columns:
        share = share_of_few_reaching(sizes[:, column], total[column], p_value[column])
        if share is not None:
            p_value[column] = share
            is_exact[column] = True

    columns = np.flatnonzero(~is_exact)
    columns = columns[sums_clump(sizes[:, columns])]
    # The seed of these patterns is drawn, so that no other draw depends on their number.
    random_state = np.random.RandomState(resampling.generator().randint(2**31))
    p_value[columns] = drawn_shares(
        sizes[:, columns], total[columns], resampling.n_resamples, random_state
    )
    n_patterns = np.zeros(len(total), dtype=np.int64)
    is_counted = is_exact & ~is_equal
    n_differing = np.count_nonzero(sizes, axis=0)
    n_patterns[is_counted] = n_patterns_of(n_differing[is_counted])
    n_patterns[columns] = resampling.n_resamples
    return TestedColumns(p_value, n_patterns, is_exact)


def signed_rank_p_values(differences):
    """Two-sided p-values of Wilcoxon's test, and whether each is exact.

    Doubled ranks are integers, with ties as well, so their sum is a random walk on
    integers. For many ranks its distribution is approximated as for differences.
    """
    sizes = np.abs(differences).round(_DECIMALS_OF_SIZES)  # Ties of ranks are of these.
    n_differing = np.count_nonzero(sizes, axis=0)
    doubled = 2 * (stats.rankdata(sizes, axis=0) - len(sizes) + n_differing)
    ranks = np.where(sizes > 0, doubled.round(), 0).astype(int)
    signs = np.sign(differences).astype(int)
    total = np.abs((ranks * signs).sum(axis=0))
    p_value = np.full(len(total), np.nan)
    is_exact = n_differing <= _MAX_EXACT_RANKS
    for column in np.flatnonzero(is_exact & (n_differing > 0)):
        column_ranks = ranks[:, column]
        column_ranks = np.sort(column_ranks[column_ranks > 0])
        tails = tails_of_ranks(tuple(column_ranks.tolist()))
        needed = (column_ranks.sum() + total[column]) // 2
        p_value[column] = min(2 * tails[needed], 1.0)
    many_ranks = np.asarray(ranks[:, ~is_exact], dtype=float)
    p_value[~is_exact] = saddlepoint_shares(many_ranks, total[~is_exact])
    return p_value, is_exact


def smallest_p_value(test, differences, scale, resampling):
    """The least p-value that a test can find with this number of queries that differ.

    Arguments are the same as for `p_values`.
    """
    if test == "t":
        return 0.0
    if test == "bootstrap":
        return 1 / (resampling.n_resamples + 1)
    differs = np.abs(differences) > ROUNDING * scale
    n_differing = differs.sum(axis=0).max()
    return 2.0 ** (1 - n_differing) if n_differing else 0.0


@validated(
    differences=["array-like"],
    difference=[Interval(Real, 0, None, closed="neither")],
    alpha=[_BETWEEN_0_AND_1],
    power=[_BETWEEN_0_AND_1],
)
def n_queries_needed(
    differences: ArrayLike, difference: float, *, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Number of queries with which a paired test detects a difference of means.

    It is the sample size of the paired t-test, from the noncentral t distribution, if the
    variance of new queries equals the variance of the given ones.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Values of one system minus values of another, query by query.

    difference : float
        Difference of means to detect. Above 0.

    alpha : float, default=0.05
        Level of the two-sided test. Above 0 and below 1.

    power : float, default=0.8
        Probability that the test detects it. Above 0 and below 1.

    Returns
    -------
    n_queries : int
        The smallest number of queries, at least 2. Above 10 000 it may be off by two.

    Raises
    ------
    ValueError
        If there are fewer than two queries, or a difference is not finite.

    Examples
    --------
    Two systems differ by 0.25 in one of four queries. To detect a mean difference of 0.05
    takes 52 queries:

    >>> from sklearn_talr.inference import n_queries_needed
    >>> n_queries_needed([0.0, 0.25, 0.0, 0.0], 0.05)
    52
    """
    differences = as_floats(differences, "differences", ensure_min_samples=2)
    if differences.ndim != 1:
        raise ValueError(
            f"differences must have shape (n_queries,), got {differences.shape}."
        )
    spread = np.std(differences, ddof=1)
    if power <= alpha or spread <= ROUNDING * difference:
        return 2
    effect = difference / spread
    level, surplus = stats.norm.isf([alpha / 2, 1 - power])
    by_normal = (max(level + surplus, 0) / effect) ** 2
    n_queries = max(2, ceil(by_normal))
    if n_queries > _MIN_QUERIES_BY_NORMAL:
        return n_queries + ceil(level**2 / 2)
    while _power(n_queries, effect, alpha) < power:
        n_queries += 1
    while n_queries > 2 and _power(n_queries - 1, effect, alpha) >= power:
        n_queries -= 1
    return n_queries


def _power(n_queries, effect, alpha):
    """Probability that the t-test of this number of queries rejects."""
    n_free = n_queries - 1
    shift = effect * np.sqrt(n_queries)
    limit = stats.t.isf(alpha / 2, n_free)
    with np.errstate(all="ignore"):  # older scipy divides by zero
        upper_tail = stats.nct.sf(limit, n_free, shift)
        lower_tail = stats.nct.cdf(-limit, n_free, shift)
    # scipy returns NaN for a tail that is nearly 0.
    return np.nansum([upper_tail, lower_tail])
