"""Tests of whether two systems differ in their mean over queries."""

from dataclasses import dataclass
from functools import wraps

import numpy as np
from scipy import stats

from .._compat import StrOptions, validate_params
from .._random import independent_random_state
from ._mean_interval import RESAMPLING
from ._replicates import (
    ROUNDING,
    all_sign_sums,
    as_floats,
    bootstrap_deviations,
    sign_sums,
)
from ._strata import make_strata

__all__ = ["PairedTest", "paired_test"]

_MOST_EXACT = 14  # queries that differ, for which all patterns of signs are tried


@dataclass(frozen=True, eq=False)
class PairedTest:
    """What a paired test has found.

    :func:`paired_test` makes them.

    Parameters
    ----------
    difference : float, or ndarray of shape (n_columns,)
        Mean of the first system less that of the second.

    p_value : float, or ndarray of shape (n_columns,)
        Two-sided p-value.

    n_resamples : int, or ndarray of shape (n_columns,)
        Number of patterns of signs, or of samples, that the p-value counts; 0 for tests
        that need none.

    is_exact : bool, or ndarray of shape (n_columns,)
        Whether these are all that there are.
    """

    difference: np.ndarray
    p_value: np.ndarray
    n_resamples: np.ndarray
    is_exact: np.ndarray


@validate_params(
    {
        "first": ["array-like"],
        "second": ["array-like"],
        "test": [StrOptions({"randomization", "bootstrap", "t", "wilcoxon"})],
        **RESAMPLING,
    },
    prefer_skip_nested_validation=True,
)
def paired_test(
    first,
    second,
    *,
    test="randomization",
    stratify=None,
    n_resamples=10_000,
    random_state=0,
):
    """Test whether two systems differ in their mean over the same queries.

    Parameters
    ----------
    first, second : array-like of shape (n_queries,) or (n_queries, n_columns)
        Values of a measure for the same queries, in one order. Columns are tested each for
        itself.

    test : {"randomization", "bootstrap", "t", "wilcoxon"}, default="randomization"
        * "randomization" asks how often the mean difference would be as large, either way,
          if the two systems had swapped their values in each query by chance. With up to
          14 queries in which they differ all patterns are tried, and the test is exact.
        * "bootstrap" asks how often the mean of a sample of queries deviates as much from
          the mean of all. Samples vary less than the mean does, so the deviation that is
          asked for is lessened as Student's quantiles exceed normal ones.
        * "t" is the paired t-test.
        * "wilcoxon" is the signed-rank test, of whether differences are symmetric about 0.
          It ranks differences, so it does not test means. Queries without a difference are
          left out.

    stratify : array-like of shape (n_queries,), default=None
        Label of each query's stratum, for "bootstrap" and "t". Patterns of signs and ranks
        do not depend on it.

    n_resamples : int, default=10_000
        Number of random patterns or samples, at least 100. They find no p-value below
        1 / (n_resamples + 1).

    random_state : int, RandomState instance or None, default=0
        Seed of the patterns or samples.

    Returns
    -------
    result : PairedTest
        Difference of the means, p-value, and how many patterns or samples it counts. The
        p-value is 1 where the systems are equal in all queries. Of "t" and "bootstrap" it
        is NaN where there is one query only, and 0 where the systems differ by one amount
        in all queries. Differences up to 1e-12 count as none.

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

    T. C. Hesterberg, "What Teachers Should Know About the Bootstrap", The American
    Statistician 69, 2015, on samples that vary less than the mean.

    Examples
    --------
    The third query has the relevant item among two that are tied, RR = 3/4:

    >>> from sklearn_talr.inference import paired_test
    >>> first = [1.0, 0.5, 0.75, 1.0, 0.5]
    >>> second = [0.5, 0.25, 0.5, 0.5, 0.25]
    >>> result = paired_test(first, second)
    >>> result.p_value, result.n_resamples, result.is_exact
    (0.0625, 32, True)
    """
    first, second = as_floats(first, "first"), as_floats(second, "second")
    if first.shape != second.shape or first.ndim not in (1, 2):
        raise ValueError(
            "first and second must have one shape, (n_queries,) or (n_queries, n_columns), "
            f"got {first.shape} and {second.shape}."
        )
    differences = (first - second).reshape(len(first), -1)
    found = TESTS[test](
        differences,
        make_strata(stratify, len(differences)),
        n_resamples,
        independent_random_state(random_state),
    )
    p_value, *rest = found
    p_value[np.abs(differences).max(axis=0, initial=0) <= ROUNDING] = 1.0
    result = [differences.mean(axis=0), p_value, *rest]
    if first.ndim == 1:
        result = [column.item() for column in result]
    return PairedTest(*result)


def _of_small_values(test):
    """Bring large differences to at most 1, by a power of two: ROUNDING is of such."""

    @wraps(test)
    def tested(differences, strata, n_resamples, random_state):
        largest = np.abs(differences).max(axis=0).clip(min=1)
        unit = np.exp2(np.ceil(np.log2(largest)))
        return test(differences / unit, strata, n_resamples, random_state)

    return tested


@_of_small_values
def _randomization(differences, strata, n_resamples, random_state):
    n_patterns = np.full(differences.shape[1], n_resamples)
    differs = np.abs(differences) > ROUNDING
    n_differing = differs.sum(axis=0)
    is_exact = (n_differing <= _MOST_EXACT) | (2.0**n_differing <= n_resamples)
    total = np.abs(differences.sum(axis=0)) - ROUNDING * len(differences)
    p_value = np.full(len(n_patterns), np.nan)
    if not is_exact.all():
        sums = sign_sums(differences[:, ~is_exact], n_resamples, random_state)
        n_as_large = (np.abs(sums) >= total[~is_exact]).sum(axis=0)
        p_value[~is_exact] = (n_as_large + 1) / (n_resamples + 1)
    for column in np.flatnonzero(is_exact):
        sums = all_sign_sums(differences[differs[:, column], column])
        n_patterns[column] = 2 * len(sums)
        if len(sums):
            p_value[column] = (np.abs(sums) >= total[column]).mean()
    return p_value, n_patterns, is_exact


@_of_small_values
def _bootstrap(differences, strata, n_resamples, random_state):
    p_value, tested, t = _student(differences, strata)
    if tested.any():
        kept = differences[:, tested]
        drawn = bootstrap_deviations(kept, strata, n_resamples, random_state)
        deviate = stats.norm.isf(stats.t.sf(np.abs(t[tested]), strata.n_free))
        needed = deviate * strata.error_of_samples(kept) - ROUNDING
        n_as_large = (np.abs(drawn) >= needed).sum(axis=0)
        p_value[tested] = (n_as_large + 1) / (n_resamples + 1)
    return p_value, np.full(len(p_value), n_resamples), np.zeros(len(p_value), dtype=bool)


@_of_small_values
def _t(differences, strata, n_resamples, random_state):
    p_value, tested, t = _student(differences, strata)
    p_value[tested] = 2 * stats.t.sf(np.abs(t[tested]), strata.n_free)
    return p_value, *_without_resamples(len(p_value))


def _student(differences, strata):
    """Student's t of each column, and the p-values of columns that need no test.

    Differences that are all the same have no variance: their mean is 0, of which there is
    nothing to test, or it is known exactly.
    """
    mean, t = differences.mean(axis=0), np.zeros(differences.shape[1])
    p_value = np.full(len(t), np.nan)
    if strata.n_free < 1:
        return p_value, np.zeros(len(t), dtype=bool), t
    error = strata.standard_error(differences)
    tested = error > ROUNDING
    t[tested] = mean[tested] / error[tested]
    p_value[(error <= ROUNDING) & (np.abs(mean) > ROUNDING)] = 0.0
    return p_value, tested, t


@_of_small_values
def _wilcoxon(differences, strata, n_resamples, random_state):
    p_value = np.full(differences.shape[1], np.nan)
    for column, values in enumerate(differences.T):
        differing = values[np.abs(values) > ROUNDING].round(12)  # so that ties of ranks are
        if len(differing) and np.isfinite(differing).all():
            p_value[column] = _signed_rank_p_value(differing)
    return p_value, *_without_resamples(len(p_value))


def _signed_rank_p_value(differences):
    """Of all patterns of signs if they are few: scipy is exact without ties, or slow."""
    if len(differences) > _MOST_EXACT:
        return stats.wilcoxon(differences).pvalue
    ranks = stats.rankdata(np.abs(differences)) * np.sign(differences)
    return (np.abs(all_sign_sums(ranks)) >= np.abs(ranks.sum()) - 0.25).mean()


def _without_resamples(n_columns):
    return np.zeros(n_columns, dtype=int), np.zeros(n_columns, dtype=bool)


TESTS = {
    "randomization": _randomization,
    "bootstrap": _bootstrap,
    "t": _t,
    "wilcoxon": _wilcoxon,
}
