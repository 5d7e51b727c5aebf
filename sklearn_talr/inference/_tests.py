"""Paired tests: of two systems, of families of pairs, and how many queries they need."""

from dataclasses import dataclass
from math import ceil
from numbers import Real

import numpy as np
from scipy import stats

from .._compat import Interval, StrOptions, validate_params
from .._random import independent_random_state
from ._means import (
    RESAMPLING,
    ROUNDING,
    as_floats,
    bootstrap_deviations,
    chunks,
    make_strata,
)

TESTS = "randomization", "bootstrap", "t", "wilcoxon"
_MOST_EXACT = 14  # queries that differ, for which all patterns of signs are tried
_MANY = 10_000  # queries, where t differs from a normal value in the next term alone
_BETWEEN = Interval(Real, 0, 1, closed="neither")


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
        "test": [StrOptions(set(TESTS))],
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
    strata = make_strata(stratify, len(differences))
    samples = n_resamples, independent_random_state(random_state)
    p_value, *rest = p_values(test, differences, strata, *samples)
    p_value[np.abs(differences).max(axis=0, initial=0) <= ROUNDING] = 1.0
    result = [differences.mean(axis=0), p_value, *rest]
    if first.ndim == 1:
        result = [column.item() for column in result]
    return PairedTest(*result)


def p_values(test, differences, strata, n_resamples, random_state):
    """Test each column of differences, of shape (n_queries, n_columns).

    Returns
    -------
    p_value : ndarray of shape (n_columns,)
        NaN where the test says nothing.

    n_patterns, is_exact : ndarray of shape (n_columns,)
        How many patterns or samples the p-value counts, and whether these are all.
    """
    # Large differences are brought to at most 1, by a power of two: ROUNDING is of such
    largest = np.abs(differences).max(axis=0).clip(min=1)
    differences = differences / np.exp2(np.ceil(np.log2(largest)))
    n_queries, n_columns = differences.shape
    p_value, is_exact = np.full(n_columns, np.nan), np.zeros(n_columns, dtype=bool)
    is_resampled = test in ("randomization", "bootstrap")
    n_patterns = np.full(n_columns, n_resamples if is_resampled else 0)
    differs = np.abs(differences) > ROUNDING
    if test == "randomization":
        n_differing = differs.sum(axis=0)
        is_exact = (n_differing <= _MOST_EXACT) | (2.0**n_differing <= n_resamples)
        total = np.abs(differences.sum(axis=0)) - ROUNDING * n_queries
        if not is_exact.all():
            sums = sign_sums(differences[:, ~is_exact], n_resamples, random_state)
            n_as_large = (np.abs(sums) >= total[~is_exact]).sum(axis=0)
            p_value[~is_exact] = (n_as_large + 1) / (n_resamples + 1)
        for column in np.flatnonzero(is_exact):
            sums = all_sign_sums(differences[differs[:, column], column])
            n_patterns[column] = 2 * len(sums)
            if len(sums):
                p_value[column] = (np.abs(sums) >= total[column]).mean()
    elif test == "wilcoxon":
        for column in range(n_columns):
            values = differences[differs[:, column], column]
            values = values.round(12)  # so that ties of ranks are
            if len(values) > _MOST_EXACT and np.isfinite(values).all():
                p_value[column] = stats.wilcoxon(values).pvalue
            elif len(values) and np.isfinite(values).all():
                # All patterns of signs: scipy is exact without ties, or slow
                ranks = stats.rankdata(np.abs(values)) * np.sign(values)
                sums = np.abs(all_sign_sums(ranks))
                p_value[column] = (sums >= np.abs(ranks.sum()) - 0.25).mean()
    elif strata.n_free >= 1:
        # Differences that are all the same have no variance: their mean is 0, of which
        # there is nothing to test, or it is known exactly
        mean, error = differences.mean(axis=0), strata.standard_error(differences)
        tested = error > ROUNDING
        p_value[(error <= ROUNDING) & (np.abs(mean) > ROUNDING)] = 0.0
        tail = stats.t.sf(np.abs(mean[tested] / error[tested]), strata.n_free)
        if test == "t":
            p_value[tested] = 2 * tail
        elif tested.any():
            kept = differences[:, tested]
            drawn = bootstrap_deviations(kept, strata, n_resamples, random_state)
            needed = stats.norm.isf(tail) * strata.error_of_samples(kept) - ROUNDING
            n_as_large = (np.abs(drawn) >= needed).sum(axis=0)
            p_value[tested] = (n_as_large + 1) / (n_resamples + 1)
    return p_value, n_patterns, is_exact


def sign_sums(differences, n_resamples, random_state):
    """Sums of differences with random signs, (n_resamples, n_columns).

    Columns share the signs: a query changes its sign in all of them or in none.
    """
    n = len(differences)
    return np.concatenate(
        [
            random_state.randint(2, size=(n_samples, n), dtype=np.int8) @ (2 * differences)
            - differences.sum(axis=0)
            for n_samples in chunks(n_resamples, n)
        ]
    )


def all_sign_sums(differences):
    """Sums of one column with all patterns of signs, of which one of two opposites."""
    sums = differences[:1]
    for difference in differences[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


@validate_params(
    {
        "differences": ["array-like"],
        "difference": [Interval(Real, 0, None, closed="neither")],
        "alpha": [_BETWEEN],
        "power": [_BETWEEN],
    },
    prefer_skip_nested_validation=True,
)
def n_queries_to_separate(differences, difference, *, alpha=0.05, power=0.8):
    """Number of queries with which a paired test would see a difference of means.

    The number is that of the paired t-test, by the noncentral t distribution, if the new
    queries differ from one another as much as the given ones.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Values of one system less those of another, query by query.

    difference : float
        Difference of means that shall be seen. Above 0.

    alpha : float, default=0.05
        Level of the two-sided test. Above 0 and below 1.

    power : float, default=0.8
        Probability that the test sees it. Above 0 and below 1.

    Returns
    -------
    n_queries : int
        The least number of queries, at least 2. It may be off by two above 10 000.

    Raises
    ------
    ValueError
        If there are fewer than two queries, or a difference is not finite.

    Examples
    --------
    Two systems differ by .25 in one query of four, where one of them ties two items. To see
    a difference of .05:

    >>> from sklearn_talr.inference import n_queries_to_separate
    >>> n_queries_to_separate([0.0, 0.25, 0.0, 0.0], 0.05)
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
    n_queries = max(2, ceil((max(level + surplus, 0) / effect) ** 2))
    if n_queries > _MANY:
        return n_queries + ceil(level**2 / 2)
    while _power(n_queries, effect, alpha) < power:
        n_queries += 1
    while n_queries > 2 and _power(n_queries - 1, effect, alpha) >= power:
        n_queries -= 1
    return n_queries


def _power(n_queries, effect, alpha):
    """Probability that the t-test of so many queries rejects."""
    n_free, shift = n_queries - 1, effect * np.sqrt(n_queries)
    limit = stats.t.isf(alpha / 2, n_free)
    with np.errstate(all="ignore"):  # older scipy divides by zero
        tails = stats.nct.sf(limit, n_free, shift), stats.nct.cdf(-limit, n_free, shift)
    return np.nansum(tails)  # scipy has NaN for what is next to nothing


def adjust_holm(p_value):
    """Holm's step-down adjustment of the p-values of each column.

    Parameters
    ----------
    p_value : ndarray of shape (n_tests, n_columns)
        NaN marks what was not tested; it is in no family.

    Returns
    -------
    adjusted : ndarray of shape (n_tests, n_columns)
        If adjusted p-values up to alpha count as rejected, the probability that a true
        hypothesis is among them is at most alpha.
    """
    order = np.argsort(p_value, axis=0)  # with NaN last
    n_tests = np.isfinite(p_value).sum(axis=0)
    ranks = np.arange(len(p_value))[:, None]
    factors = np.maximum(n_tests - ranks, 1)
    stepped = np.take_along_axis(p_value, order, axis=0) * factors
    stepped = np.maximum.accumulate(stepped, axis=0).clip(max=1)
    adjusted = np.empty_like(p_value)
    np.put_along_axis(adjusted, order, stepped, axis=0)
    return adjusted


def null_ranges(values, n_resamples, random_state):
    """Ranges of the systems' means if they had swapped their values by chance.

    Each query's values are permuted among the systems, in one way for all measures.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems, n_measures)

    n_resamples : int

    random_state : RandomState

    Returns
    -------
    ranges : ndarray of shape (n_resamples, n_measures)
        The greatest mean less the least one.
    """
    n_queries, n_systems, n_measures = values.shape
    generator = np.random.default_rng(random_state.randint(2**31))
    order = np.tile(np.arange(n_systems), (n_resamples, 1))
    sums = np.zeros((n_resamples, n_systems, n_measures))
    for of_query in values:
        generator.permuted(order, axis=1, out=order)
        sums += of_query.take(order, axis=0)
    return np.ptp(sums, axis=1) / n_queries


def joint_p_values(difference, ranges):
    """Share of the null ranges that reach each difference: Tukey's HSD by randomization.

    Parameters
    ----------
    difference : ndarray of shape (n_pairs, n_measures)

    ranges : ndarray of shape (n_resamples, n_measures)
    """
    p_value = np.empty_like(difference)
    for measure, drawn in enumerate(np.sort(ranges, axis=0).T):
        needed = np.abs(difference[:, measure]) - ROUNDING * max(1, drawn[-1])
        n_as_large = len(drawn) - np.searchsorted(drawn, needed)
        p_value[:, measure] = (n_as_large + 1) / (len(drawn) + 1)
    return p_value


def tiers(mean, separated):
    """Sets of systems that the data cannot separate.

    Two systems share a tier if and only if they are not separated. A system may be in
    several tiers: A may be separated from C while neither is from B.

    Parameters
    ----------
    mean : ndarray of shape (n_systems,)

    separated : ndarray of shape (n_systems, n_systems) of bool
        Symmetric.

    Returns
    -------
    tiers : list of lists of int
        Systems by descending mean, tiers by their best systems. None is within another.
    """
    order = np.argsort(-mean, kind="stable").tolist()
    alike = ~separated[np.ix_(order, order)]
    found, in_one = [], np.eye(len(order), dtype=bool)
    for first in range(len(order)):
        # The worst that is alike to the best comes first: its tier holds most.
        for second in reversed(range(first + 1, len(order))):
            if alike[first, second] and not in_one[first, second]:
                # With, from the best on, all that is alike to each member
                tier = [first, second]
                for system in range(len(order)):
                    if system not in tier and alike[system, tier].all():
                        tier.append(system)
                in_one[np.ix_(tier, tier)] = True
                found.append(sorted(tier))
    alone = [[place] for place in range(len(order)) if alike[place].sum() == 1]
    return [[order[place] for place in tier] for tier in sorted(found + alone)]
