"""Paired tests: of two systems, of families of pairs, and how many queries they need."""

from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, comb
from numbers import Real

import numpy as np
from scipy import stats
from sklearn.utils import gen_batches

from .._arrays import refuse_unlike_labels
from .._compat import Interval, StrOptions, independent_random_state, validated
from .._types import ArrayLike, Column, Literal, Seed
from ._means import RESAMPLING, ROUNDING, as_floats, bootstrap_deviations, make_strata

TESTS = "randomization", "bootstrap", "t", "wilcoxon"
_MOST_EXACT = 20  # bits of the numbers of signs of each size that are counted
_BITS = 63  # of int64 above 0
_CANDIDATES = 50  # sizes by which sums may clump
_CLUMPED = 0.05  # of the characteristic function; with less the formula errs by a fifth
_MOST_REACHING = 2**14  # patterns of signs that are counted one by one
_FEW_BY_FORMULA = 2**15  # patterns; the formula finds half of them, or more
_MOST_RANKS = 200  # that differ, for which the distribution of signed ranks is exact
_CELLS = 2**18  # of queries times columns at once
_MOST_STEPS = 200  # of Newton's method, which takes 5 to 20
_MOST_ON_STEPS = 50  # finer ones change p-values by a few percent at most
_ROWS = 8  # at once, where few columns pass the first ones
_OFF_STEP = 1e-9  # of a step; what values on steps may be off
_NEAR_0 = 0.01  # normal deviates below it take the series of what cancels there
_MANY = 10_000  # queries, where t differs from a normal value in the next term alone
_MOST_PAIRS = 128  # whose samples are at hand at once
_MODERATION = 5  # times the median over the root of the number of queries, by simulation
_SINGLE = 1e-5  # error of statistics in it, of their size
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
        Number of patterns of signs, or of samples, that the p-value counts; 0 where none
        are counted, or more than int64 holds.

    is_exact : bool, or ndarray of shape (n_columns,)
        Whether the p-value is the share of all patterns of signs, and not close to it.
    """

    difference: np.ndarray
    p_value: np.ndarray
    n_resamples: np.ndarray
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
        Values of a measure for the same queries, in one order. Columns are tested each for
        itself.

    test : {"randomization", "bootstrap", "t", "wilcoxon"}, default="randomization"
        * "randomization" asks how often the mean difference would be as large, either way,
          if the two systems had swapped their values in each query by chance. With up to
          20 queries in which they differ, or more whose differences have few sizes, all
          patterns of swaps are counted, and so are they if few reach the mean difference,
          as where nearly all differences have one sign. With others the share of patterns
          is that of Lugannani and Rice's formula, which draws nothing. Where few
          differences are much larger than the rest, sums clump, which the formula does not
          see: there patterns are drawn, mostly such as reach the sum, and weighted by how
          much more often. No way has a least p-value but that of one pattern and its
          opposite.
        * "bootstrap" asks how often the mean of a sample of queries deviates as much from
          the mean of all. Samples vary less than the mean does, so the deviation that is
          asked for is lessened as Student's quantiles exceed normal ones.
        * "t" is the paired t-test.
        * "wilcoxon" is the signed-rank test, of whether differences are symmetric about 0.
          It ranks differences, so it does not test means. Queries without a difference are
          left out. With up to 200 others it is exact, with ties and without.

    stratify : array-like of shape (n_queries,), default=None
        Label of each query's stratum, for "bootstrap" and "t". Patterns of signs and ranks
        do not depend on it.

    n_resamples : int, default=10_000
        Number of samples of "bootstrap", which find no p-value below
        1 / (n_resamples + 1), and of patterns that are drawn. At least 100.

    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    result : PairedTest
        Difference of the means, p-value, and how many patterns or samples it counts. The
        p-value is 1 where the systems are equal in all queries. Of "t" and "bootstrap" it
        is NaN where there is one query only, and 0 where the systems differ by one amount
        in all queries. Differences up to 1e-12 of the largest value count as none.

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
    for axis in (0, 1):
        refuse_unlike_labels(first, second, ("first", "second"), axis)
    for name, values in (("first", first), ("second", second)):
        refuse_unlike_labels(values, stratify, (name, "stratify"))
    first, second = as_floats(first, "first"), as_floats(second, "second")
    if first.shape != second.shape:
        raise ValueError(
            "first and second must have one shape, (n_queries,) or (n_queries, n_columns), "
            f"got {first.shape} and {second.shape}."
        )
    differences = (first - second).reshape(len(first), -1)
    strata = make_strata(stratify, len(differences))
    samples = n_resamples, independent_random_state(random_state)
    scale = np.maximum(np.abs(first), np.abs(second)).reshape(differences.shape)
    scale = scale.max(axis=0, initial=0)
    p_value, *rest = p_values(test, differences, scale, strata, *samples)
    p_value[np.abs(differences).max(axis=0, initial=0) <= ROUNDING * scale] = 1.0
    result = [differences.mean(axis=0), p_value, *rest]
    if first.ndim == 1:
        result = [column.item() for column in result]
    return PairedTest(*result)


def p_values(test, differences, scale, strata, n_resamples, random_state):
    """Test each column of differences.

    Parameters
    ----------
    test : str

    differences : ndarray of shape (n_queries, n_columns)

    scale : ndarray of shape (n_columns,)
        The largest absolute value whose difference was taken: rounding is relative to it.

    strata : Strata

    n_resamples : int

    random_state : RandomState

    Returns
    -------
    p_value : ndarray of shape (n_columns,)
        NaN where the test says nothing.

    n_patterns, is_exact : ndarray of shape (n_columns,)
        How many patterns or samples the p-value counts, and whether it is exact.
    """
    # Values are brought to at most 1, by a power of two: ROUNDING is of such
    _, exponent = np.frexp(np.where(scale > 0, scale, 1.0))
    differences = np.ldexp(differences, -exponent)
    differences[np.abs(differences) <= ROUNDING] = 0.0
    if test == "randomization":
        return randomization_p_values(differences, n_resamples, random_state)
    n_columns = differences.shape[1]
    p_value, is_exact = np.full(n_columns, np.nan), np.zeros(n_columns, dtype=bool)
    n_patterns = np.full(n_columns, n_resamples if test == "bootstrap" else 0)
    if test == "wilcoxon":
        p_value, is_exact = signed_rank_p_values(differences)
    elif strata.n_free >= 1:
        # Differences that are all the same have no variance: their mean is 0, of which
        # there is nothing to test, or it is known exactly
        mean = differences.mean(axis=0)
        error, of_samples = strata.standard_errors(differences)
        tested = error > ROUNDING
        p_value[(error <= ROUNDING) & (np.abs(mean) > ROUNDING)] = 0.0
        tail = stats.t.sf(np.abs(mean[tested] / error[tested]), strata.n_free)
        if test == "t":
            p_value[tested] = 2 * tail
        elif tested.any():
            samples = strata, n_resamples, random_state
            drawn = bootstrap_deviations(differences[:, tested], *samples)
            needed = stats.norm.isf(tail) * of_samples[tested] - ROUNDING
            n_as_large = (np.abs(drawn) >= needed).sum(axis=0)
            p_value[tested] = (n_as_large + 1) / (n_resamples + 1)
    return p_value, n_patterns, is_exact


def randomization_p_values(differences, n_resamples, random_state):
    """Share of all patterns of signs whose mean is as far from 0, for each column.

    Patterns are counted if there are few, or if their sizes are few, or if few of them
    reach the sum. Of others the share is that of Lugannani and Rice's formula, or of
    patterns that are drawn, if sums clump.

    Returns
    -------
    p_value, n_patterns, is_exact : ndarray of shape (n_columns,)
    """
    n_columns = differences.shape[1]
    p_value, n_patterns = np.full(n_columns, np.nan), np.zeros(n_columns, dtype=np.int64)
    sizes, total = np.abs(differences), np.abs(differences.sum(axis=0))
    n_differing = np.count_nonzero(sizes, axis=0)
    n_all = np.where(n_differing < _BITS, 2 ** np.minimum(n_differing, _BITS - 1), 0)
    rounded = np.sort(sizes.round(12), axis=0)  # so that equal ones are
    n_sizes = (np.diff(rounded, axis=0, prepend=0) > 0).sum(axis=0)
    is_exact = n_sizes == 0
    for column in np.flatnonzero(~is_exact & (n_sizes <= _MOST_EXACT)):
        each = rounded[rounded[:, column] > 0, column]
        counts = np.unique(each, return_counts=True)
        if np.log2(1.0 + counts[1]).sum() <= _MOST_EXACT:
            is_exact[column], n_patterns[column] = True, n_all[column]
            p_value[column] = share_of_patterns(*counts, total[column])
    others = np.flatnonzero(~is_exact)
    p_value[others] = saddlepoint_shares(sizes[:, others], total[others])
    most = np.minimum(_FEW_BY_FORMULA * np.exp2(1.0 - n_differing[others]), 1.0)
    for column in others[p_value[others] <= most]:
        n_reaching = count_reaching(sizes[:, column], total[column])
        if n_reaching is not None:
            is_exact[column], n_patterns[column] = True, n_all[column]
            p_value[column] = min(np.ldexp(2.0 * n_reaching, -n_differing[column]), 1.0)
    others = np.flatnonzero(~is_exact)
    others = others[sums_clump(sizes[:, others])]
    samples = n_resamples, np.random.RandomState(random_state.randint(2**31))
    p_value[others] = drawn_shares(sizes[:, others], total[others], *samples)
    n_patterns[others] = n_resamples
    return p_value, n_patterns, is_exact


def share_of_patterns(sizes, counts, total):
    """Share of all patterns of signs whose sum is as far from 0 as a total above 0.

    Of each size its count of differences has as many patterns as there are numbers of
    minus signs. The sums of one half of the sizes are looked up among those of the other.
    """
    tolerance = ROUNDING * counts.sum()
    if total <= tolerance:
        return 1.0
    halves, order = [], np.argsort(counts)
    for part in (order[::2], order[1::2]):
        sums, share = np.zeros(1), np.ones(1)
        for size, count in zip(sizes[part], counts[part].tolist()):
            n_plus = np.arange(count + 1)
            of_size = stats.binom.pmf(n_plus, count, 0.5)
            if count < _BITS:  # without rounding
                of_size = np.array([comb(count, k) / 2**count for k in n_plus.tolist()])
            sums = np.add.outer(sums, size * (2 * n_plus - count)).ravel()
            share = np.multiply.outer(share, of_size).ravel()
        place = np.argsort(sums)
        halves.append((sums[place], share[place]))
    (sums, share), (others, of_others) = halves
    tails = np.append(of_others[::-1].cumsum()[::-1], 0.0)
    return min(2 * share @ tails[np.searchsorted(others, total - tolerance - sums)], 1.0)


def count_reaching(sizes, total):
    """Number of patterns of signs whose sums reach a total above 0, if these are few.

    A pattern reaches it if its minus signs have sizes that sum to at most half of what the
    total is below the sum of all sizes.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries,)

    total : float

    Returns
    -------
    n_reaching : int or None
        None if there are more than `_MOST_REACHING`.
    """
    sizes = np.sort(sizes[sizes > 0])
    most = (sizes.sum() - total + ROUNDING * len(sizes)) / 2
    sums = np.zeros(1)
    for size in sizes[sizes <= most]:
        sums = np.append(sums, sums[sums <= most - size] + size)
        if len(sums) > _MOST_REACHING:
            return None
    return len(sums)


def sums_clump(sizes):
    """Whether the signed sizes of each column have sums that lie in clumps.

    Their characteristic function tells: it is large where half a turn is one of the sizes,
    if most others are small or near multiples of that one. Steps of which all sizes are
    multiples are no matter.
    """
    least = 1.5 * common_step(sizes) + ROUNDING
    clumps = np.zeros(sizes.shape[1], dtype=bool)
    for some in np.sort(sizes, axis=0)[:: -ceil(len(sizes) / _CANDIDATES)]:
        left = np.flatnonzero((some > least) & ~clumps)
        product = np.ones(len(left))
        for rows in gen_batches(len(sizes), _ROWS):  # few columns are left after the first
            turns = np.cos(sizes[rows][:, left] * (np.pi / some[left]))
            product *= np.abs(turns).prod(axis=0)
            left, product = left[product > _CLUMPED], product[product > _CLUMPED]
        clumps[left] = True
    return clumps


def drawn_shares(sizes, total, n_resamples, random_state):
    """Share of patterns of signs whose sums reach each total above 0, by drawn patterns.

    Signs are drawn with the odds exp(2 t size), by which sums have the total as their mean,
    and patterns are weighted by how much rarer they are in truth (importance sampling).
    """
    sizes = np.sort(sizes, axis=0)
    n, all_plus = len(sizes), sizes.sum(axis=0)
    n_differing = np.count_nonzero(sizes, axis=0)
    tolerance = ROUNDING * n_differing
    t = _tilts(np.minimum(total, all_plus - tolerance), sizes)
    *_, log_mean = _cumulants(t, sizes)
    odds, share = 1 / (1 + np.exp(-2 * t * sizes)), np.zeros(len(total))
    for some in gen_batches(n_resamples, max(1, _CELLS // n)):
        drawn = random_state.random_sample((some.stop - some.start, n))
        for column in range(len(total)):
            sums = 2 * ((drawn < odds[:, column]) @ sizes[:, column]) - all_plus[column]
            sums = sums[sums >= total[column] - tolerance[column]]
            weights = np.exp(log_mean[column] - t[column] * sums)
            share[column] += 2 * weights.sum() / n_resamples
    return np.clip(share, np.exp2(1.0 - n_differing), 1.0)


def saddlepoint_shares(sizes, total):
    """Share of patterns of signs whose sums reach each total, by Lugannani and Rice.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries, n_columns)
        Absolute differences. Each column has one above 0 at least.

    total : ndarray of shape (n_columns,)
        Absolute sum of the differences.

    Returns
    -------
    share : ndarray of shape (n_columns,)
        Among them of sums below minus the total.
    """
    n_blocks = max(ceil(sizes.size / _CELLS), 1)
    blocks = zip(np.array_split(sizes, n_blocks, axis=1), np.array_split(total, n_blocks))
    return np.concatenate([_saddlepoint_of_block(*block) for block in blocks])


def _saddlepoint_of_block(sizes, total):
    n_differing = np.count_nonzero(sizes, axis=0)
    of_one_sign = total >= sizes.sum(axis=0) - ROUNDING * n_differing
    # Sums are two steps apart: half of that is what a continuous one would fall short by
    needed = total - common_step(sizes)
    is_small = needed <= ROUNDING * n_differing
    solved = np.flatnonzero(~(of_one_sign | is_small))

    t = np.zeros(len(total))
    t[solved] = _tilts(needed[solved], sizes[:, solved])
    _, variance, log_mean = _cumulants(t, sizes)
    w = np.sqrt(2 * np.maximum(t * needed - log_mean, 0))
    moments = (sizes**4).sum(axis=0) / (sizes**2).sum(axis=0) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(w > _NEAR_0, 1 / (t * np.sqrt(variance)) - 1 / w, moments * w / 4)
    share = 2 * (stats.norm.sf(w) + stats.norm.pdf(w) * excess)
    # Chernoff's bound, which holds where all but a few patterns fall short
    share = np.minimum(share, 2 * np.exp(-(w**2) / 2))
    share[is_small], share[of_one_sign] = 1.0, 0.0
    return np.clip(share, np.exp2(1.0 - n_differing), 1)


def _tilts(needed, sizes):
    """Solve K'(t) = needed. K' is concave, so Newton's steps from 0 never pass the root."""
    t, solved = np.zeros(len(needed)), np.arange(len(needed))
    for _ in range(_MOST_STEPS):
        if not len(solved):
            break
        mean, variance, _ = _cumulants(t[solved], sizes[:, solved])
        step = (needed[solved] - mean) / variance
        t[solved] += step
        solved = solved[step > ROUNDING * t[solved]]
    return t


def _cumulants(t, sizes):
    """K'(t), K''(t) and K(t), the logarithm of the mean of exp(t sum) over signs."""
    scaled = t * sizes
    decay = np.exp(-2 * scaled)  # overflows nowhere, as cosh would
    mean = (sizes * (1 - decay) / (1 + decay)).sum(axis=0)
    variance = (4 * sizes**2 * decay / (1 + decay) ** 2).sum(axis=0)
    return mean, variance, (scaled + np.log1p(decay) - np.log(2)).sum(axis=0)


def common_step(sizes):
    """The step of which a column's sizes are multiples, the largest at most 50; or 0."""
    largest, step = sizes.max(axis=0), np.zeros(sizes.shape[1])
    for n_steps in range(_MOST_ON_STEPS, 0, -1):
        left = np.arange(sizes.shape[1])
        for rows in gen_batches(len(sizes), _ROWS):
            steps = sizes[rows][:, left] * (n_steps / largest[left])
            left = left[np.abs(steps - np.rint(steps)).max(axis=0) < _OFF_STEP]
            if not len(left):
                break
        step[left] = largest[left] / n_steps
    return step


def signed_rank_p_values(differences):
    """Two-sided p-values of Wilcoxon's test, and whether each is exact.

    Doubled ranks are integers, of ties as well, so the distribution of their sum is that of
    a walk on integers. For many ranks it is approximated as that of differences.
    """
    sizes = np.abs(differences).round(12)  # so that ties of ranks are
    n_differing = np.count_nonzero(sizes, axis=0)
    doubled = 2 * (stats.rankdata(sizes, axis=0) - len(sizes) + n_differing)
    ranks = np.where(sizes > 0, doubled.round(), 0).astype(int)
    total = np.abs((ranks * np.sign(differences).astype(int)).sum(axis=0))
    p_value = np.full(len(total), np.nan)
    is_exact = n_differing <= _MOST_RANKS
    for column in np.flatnonzero(is_exact & (n_differing > 0)):
        of_column = ranks[:, column]
        tails = _tails_of_ranks(tuple(np.sort(of_column[of_column > 0]).tolist()))
        least = (of_column.sum() + total[column]) // 2
        p_value[column] = min(2 * tails[least], 1.0)
    many = np.asarray(ranks[:, ~is_exact], dtype=float)
    p_value[~is_exact] = saddlepoint_shares(many, total[~is_exact])
    return p_value, is_exact


@lru_cache(maxsize=16)
def _tails_of_ranks(ranks):
    """Probability that the ranks of positive sign sum to each number or more."""
    share = np.ones(1)
    for rank in ranks:
        longer = np.zeros(len(share) + rank)
        longer[: len(share)] = share / 2
        longer[rank:] += share / 2
        share = longer
    return share[::-1].cumsum()[::-1]


@validated(
    differences=["array-like"],
    difference=[Interval(Real, 0, None, closed="neither")],
    alpha=[_BETWEEN],
    power=[_BETWEEN],
)
def n_queries_to_separate(
    differences: ArrayLike, difference: float, *, alpha: float = 0.05, power: float = 0.8
) -> int:
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
    factors = n_tests - ranks
    stepped = np.take_along_axis(p_value, order, axis=0) * factors
    stepped = np.maximum.accumulate(stepped, axis=0).clip(max=1)
    adjusted = np.empty_like(p_value)
    np.put_along_axis(adjusted, order, stepped, axis=0)
    return adjusted


def adjust_bh(p_value):
    """Benjamini and Hochberg's adjustment of the p-values of each column.

    If adjusted p-values up to alpha count as rejected, true hypotheses are at most the
    share alpha of them, on average. Shapes and NaN are as in `adjust_holm`.
    """
    adjusted = np.full_like(p_value, np.nan)
    for column, of_column in zip(adjusted.T, p_value.T):
        is_tested = np.isfinite(of_column)
        column[is_tested] = stats.false_discovery_control(of_column[is_tested])
    return adjusted


def max_t(values, pairs, kinds, scale, strata, n_resamples, random_state, alpha):
    """Adjusted p-values by the largest statistic of all pairs in samples of queries.

    All pairs of systems see the same samples, in which every difference is 0 on average, so
    what the pairs share needs no adjustment. The statistic is the mean over its moderated
    standard error: alone, small errors of nearly equal systems would make the largest
    statistics, and hide all others. Step-down: a statistic is compared with the largest of
    those that are not above it (Romano and Wolf, 2005). Samples come in blocks, in bounded
    memory.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems)
        Samples are drawn of these.

    pairs : two ndarrays of shape (n_pairs,) of int
        First and second system of each pair.

    kinds : list of ndarrays of shape (n_queries, n_pairs)
        Differences that are judged; each kind is a family of its own. The first is that of
        the values.

    scale : ndarray of shape (n_pairs,)
        The largest absolute value of each pair: rounding is relative to it.

    strata : Strata

    n_resamples : int

    random_state : RandomState

    alpha : float

    Returns
    -------
    p_value : ndarray of shape (n_kinds, n_pairs)

    reach : ndarray of shape (n_pairs,)
        Half the lengths of intervals of the differences of the first kind, which hold all
        of them at once with probability 1 - alpha. Infinite where queries are too few.
    """
    error, _ = strata.standard_errors(kinds[0])
    some = error[error > ROUNDING * scale]
    added = ROUNDING * (scale.max() or 1.0)
    if len(some):  # more of their median where queries are few
        added = _MODERATION / np.sqrt(strata.n) * np.median(some)
    states = [*(deepcopy(random_state) for _ in kinds[1:]), random_state]
    samples = values, pairs, scale, added, strata, n_resamples
    found = [_max_t(each, *samples, own) for each, own in zip(kinds, states)]
    largest, n_above = found[0][1], int(alpha * (n_resamples + 1)) or 1
    needed = np.partition(largest, -n_above)[-n_above] * (1 + _SINGLE)
    if np.exp2(1.0 - strata.n) > alpha:  # equal signs in all queries would be no surprise
        needed = np.inf
    reach = needed * (error + added)
    return np.stack([p_value for p_value, _ in found]), reach


def _max_t(judged, values, pairs, scale, added, strata, n_resamples, random_state):
    """Adjusted p-values of differences, and the largest statistic of each sample."""
    from .._loops._samples import count_reached, moderated_statistics

    mean, (error, _) = judged.mean(axis=0), strata.standard_errors(judged)
    # Equal means differ by rounding, which is more where values are larger
    mean[np.abs(mean) <= ROUNDING * scale] = 0.0
    observed = (np.abs(mean) / (error + added)).astype(np.float32)

    # Values are centered, also to the middle of the systems, and have one size, for single
    # precision; what is added is less in samples, as they vary less than means do
    centered = strata.centered(values)
    centered -= np.median(centered, axis=1, keepdims=True)
    size = np.abs(centered).max(initial=0) or 1.0
    centered /= size
    unit = np.float32(added / size * strata.n * (strata.n_free / strata.n) ** 2)
    unbiased = np.empty((strata.n, 1))
    for rows in strata.rows:
        unbiased[rows] = len(rows) / max(len(rows) - 1, 1)
    weights = [unbiased[rows[0], 0] / len(rows) for rows in strata.rows]

    # From the least pair up, and those at once that are equal but for rounding
    n_pairs, order = len(mean), np.argsort(observed)
    ranked = observed[order]
    rises = ranked[1:] > ranked[:-1] * np.float32(1 + _SINGLE)
    starts = np.flatnonzero(np.append(True, rises))
    sizes = np.diff(starts, append=n_pairs)
    needed = np.repeat(ranked[starts] * np.float32(1 - _SINGLE), sizes)
    ends = np.repeat(starts + sizes, sizes)
    cuts = starts[np.append(True, np.diff(starts // _MOST_PAIRS) > 0)].tolist()
    blocks = list(map(slice, cuts, [*cuts[1:], n_pairs]))
    width = len(strata.rows) * values.shape[1]
    width += max(block.stop - block.start for block in blocks)
    n_reached, all_largest = np.zeros(n_pairs, dtype=np.int64), []
    for some in strata.samples(n_resamples, random_state, width):
        counts = some.T.astype(np.float32, order="C")
        of_systems = centered.T.astype(np.float32)
        sums = np.stack([of_systems[:, rows] @ counts[rows] for rows in strata.rows])
        largest = np.zeros(counts.shape[1], dtype=np.float32)  # so far, in each sample
        for block in blocks:
            first, second = (side[order[block]] for side in pairs)
            squares = (centered[:, first] - centered[:, second]) ** 2 * unbiased
            statistic = squares.T.astype(np.float32) @ counts
            moderated_statistics(sums, first, second, np.float32(weights), unit, statistic)
            tied = needed[block], ends[block] - block.start
            count_reached(statistic, *tied, largest, n_reached[block])
        all_largest.append(largest)

    # At least the p-value of each pair above, and that of equal signs in all queries
    found = np.maximum.reduceat((n_reached + 1) / (n_resamples + 1), starts)
    found = np.maximum.accumulate(found[::-1])[::-1]
    p_value = np.empty(n_pairs)
    p_value[order] = np.maximum(np.repeat(found, sizes), np.exp2(1.0 - strata.n))
    return p_value, np.concatenate(all_largest)


def smallest_p_value(test, differences, scale, n_resamples):
    """The least p-value that a test could find with so many queries that differ.

    Arguments are those of `p_values`.
    """
    if test == "t":
        return 0.0
    if test == "bootstrap":
        return 1 / (n_resamples + 1)
    n_differing = (np.abs(differences) > ROUNDING * scale).sum(axis=0).max()
    return 2.0 ** (1 - n_differing) if n_differing else 0.0


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
    found, in_one = [], np.zeros_like(alike)
    for first in range(len(order)):
        # The worst that is alike to the best comes first: its tier holds most.
        for second in reversed(range(first, len(order))):
            if alike[first, second] and not in_one[first, second]:
                # With, from the best on, all that is alike to each member
                tier = np.isin(np.arange(len(order)), [first, second])
                for system in range(len(order)):
                    tier[system] |= alike[system, tier].all()
                in_one[np.ix_(tier, tier)] = True
                found.append(np.flatnonzero(tier).tolist())
    return [[order[place] for place in tier] for tier in sorted(found)]
