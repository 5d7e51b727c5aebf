"""Patterns of signs: how many sums of signed sizes are as far from 0 as the observed one.

In a randomization test each difference of a query has either sign with equal probability.
The p-value is the share of all 2**n patterns of signs whose sum is as far from 0 as the
observed sum, the *total*; *sizes* are the absolute differences. The share is counted, or it
comes from Lugannani and Rice's formula, or patterns are drawn.
"""

from functools import lru_cache
from math import ceil, comb
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn.utils import gen_batches

from ._resampling import ROUNDING

# Patterns are counted by size if there are at most 2**20 ways to choose how many of the
# differences of each size are negative.
_MAX_BITS_COUNTED = 20
# Powers of two below this one fit int64.
_BITS_OF_INT64 = 63
# Patterns that reach the total are counted one by one up to this number.
_MAX_REACHING_COUNTED = 2**14
# If the formula finds more patterns on both sides, they are not counted one by one. The
# formula finds at least half of the true number.
_MAX_REACHING_BY_FORMULA = 2**15
# Number of sizes that are tried as distances between clumps of sums
_N_STEPS_TRIED = 50
# If the characteristic function is smaller, the formula errs by at most a fifth.
_MIN_CLUMPED = 0.05
# Newton's method takes 5 to 20 steps.
_MAX_NEWTON_STEPS = 200
# Steps finer than a 50th of the largest size change p-values by a few percent at most.
_MAX_STEPS_OF_LARGEST = 50
# Values on steps may be off by this share of a step.
_STEP_TOLERANCE = 1e-9
# Normal deviates below this one take the series of the formula, whose terms cancel there.
_SMALL_DEVIATE = 0.01
# Few columns pass the first rows, so later rows are looked at for these alone.
_ROWS_PER_BLOCK = 8
# A block has at most this number of queries times columns, or times patterns: 2 MiB.
_CELLS_PER_BLOCK = 2**18


def share_of_few_sizes(sizes, total):
    """Share of all patterns whose sum reaches the total, if the sizes have few values.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries,)
        Rounded, so that sizes that differ by rounding are equal.

    total : float

    Returns
    -------
    share : float or None
        None if there are too many ways to choose the numbers of minus signs.
    """
    values, counts = np.unique(sizes[sizes > 0], return_counts=True)
    n_bits = np.log2(1.0 + counts).sum()
    if n_bits > _MAX_BITS_COUNTED:
        return None
    return share_of_patterns(values, counts, total)


def has_few_sizes(sizes):
    """Quick check: whether `share_of_few_sizes` may count the patterns of a column."""
    ascending = np.sort(sizes, axis=0)
    is_new = np.diff(ascending, axis=0, prepend=0) > 0
    return is_new.sum(axis=0) <= _MAX_BITS_COUNTED


def share_of_patterns(sizes, counts, total):
    """Share of all patterns of signs whose sum is as far from 0 as a total above 0.

    The differences of one size have a sum for each number of minus signs. Sums of one half
    of the sizes are looked up among sums of the other half.

    Parameters
    ----------
    sizes, counts : ndarray of shape (n_sizes,)
        Different sizes, and how many differences have each.

    total : float
    """
    tolerance = ROUNDING * counts.sum()
    if total <= tolerance:
        return 1.0
    order = np.argsort(counts)
    half = order[::2]
    other_half = order[1::2]
    sums, share = _sums_of_signs(sizes[half], counts[half])
    other_sums, other_share = _sums_of_signs(sizes[other_half], counts[other_half])
    needed = total - tolerance - sums
    places = np.searchsorted(other_sums, needed)
    tails = np.append(_tails(other_share), 0.0)
    return min(2 * share @ tails[places], 1.0)


def _sums_of_signs(sizes, counts):
    """All sums of signed sizes, ascending, and the probability of each."""
    sums = np.zeros(1)
    share = np.ones(1)
    for size, count in zip(sizes, counts.tolist()):
        n_plus = np.arange(count + 1)
        signed_sums = size * (2 * n_plus - count)
        sums = np.add.outer(sums, signed_sums).ravel()
        share = np.multiply.outer(share, _binomial(count)).ravel()
    order = np.argsort(sums)
    return sums[order], share[order]


def _binomial(count):
    """Probability of each number of plus signs among so many."""
    n_plus = np.arange(count + 1)
    if count >= _BITS_OF_INT64:
        return stats.binom.pmf(n_plus, count, 0.5)
    # Quotients of integers, which have no rounding before the division
    return np.array([comb(count, k) / 2**count for k in n_plus.tolist()])


def _tails(share):
    """Probability of each sum or more, by the probability of each ascending sum."""
    return share[::-1].cumsum()[::-1]


def share_of_few_reaching(sizes, total, share):
    """Share of all patterns whose sum reaches the total, if few patterns do.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries,)

    total : float

    share : float
        By the formula; if it is large, nothing is counted.

    Returns
    -------
    share : float or None
        None if too many patterns reach the total.
    """
    n_differing = np.count_nonzero(sizes)
    largest_share = _MAX_REACHING_BY_FORMULA * np.exp2(1.0 - n_differing)
    if share > min(largest_share, 1.0):
        return None
    n_reaching = count_reaching(sizes, total)
    if n_reaching is None:
        return None
    return min(np.ldexp(2.0 * n_reaching, -n_differing), 1.0)


def n_patterns_of(n_differing):
    """Number of patterns of signs of so many differences; 0 for more than int64 holds."""
    n_bits = np.minimum(n_differing, _BITS_OF_INT64 - 1)
    fits = n_differing < _BITS_OF_INT64
    return np.where(fits, 2**n_bits, 0)


def count_reaching(sizes, total):
    """Number of patterns of signs whose sums reach a total above 0, if these are few.

    A pattern reaches it if the sizes with minus signs sum to at most half the difference
    between the sum of all sizes and the total.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries,)

    total : float

    Returns
    -------
    n_reaching : int or None
        None if there are more than `_MAX_REACHING_COUNTED`.
    """
    sizes = np.sort(sizes[sizes > 0])
    tolerance = ROUNDING * len(sizes)
    max_negative = (sizes.sum() - total + tolerance) / 2
    # All sums of sizes with minus signs, as far as they are small enough
    sums = np.zeros(1)
    for size in sizes[sizes <= max_negative]:
        small_sums = sums[sums <= max_negative - size]
        sums = np.append(sums, small_sums + size)
        if len(sums) > _MAX_REACHING_COUNTED:
            return None
    return len(sums)


def sums_clump(sizes):
    """Whether the signed sizes of each column have sums that lie in clumps.

    The characteristic function shows it: it is large at half a turn per size, for one of
    the sizes, if most other sizes are small or near multiples of that one. A step that
    divides all sizes does not count.
    """
    min_step = 1.5 * common_step(sizes) + ROUNDING
    clumps = np.zeros(sizes.shape[1], dtype=bool)
    stride = ceil(len(sizes) / _N_STEPS_TRIED)
    # The largest sizes come first.
    for step in np.sort(sizes, axis=0)[::-stride]:
        columns = np.flatnonzero((step > min_step) & ~clumps)
        product = np.ones(len(columns))
        for rows in gen_batches(len(sizes), _ROWS_PER_BLOCK):
            angle_of_size = np.pi / step[columns]
            cosines = np.cos(sizes[rows][:, columns] * angle_of_size)
            product *= np.abs(cosines).prod(axis=0)
            is_large = product > _MIN_CLUMPED
            columns = columns[is_large]
            product = product[is_large]
        clumps[columns] = True
    return clumps


def drawn_shares(sizes, total, n_resamples, random_state):
    """Share of patterns of signs whose sums reach each total above 0, by drawn patterns.

    Importance sampling: signs are drawn with the odds exp(2 t size), so that the mean of
    the sums is the total, and each pattern is weighted by its true probability over the
    probability with which it is drawn.
    """
    sizes = np.sort(sizes, axis=0)
    n_queries = len(sizes)
    sum_of_sizes = sizes.sum(axis=0)
    n_differing = np.count_nonzero(sizes, axis=0)
    tolerance = ROUNDING * n_differing
    t = _tilts(np.minimum(total, sum_of_sizes - tolerance), sizes)
    log_mean = _cumulants(t, sizes).log_mean
    odds_of_minus = np.exp(-2 * t * sizes)
    p_plus = 1 / (1 + odds_of_minus)
    share = np.zeros(len(total))
    n_per_block = max(1, _CELLS_PER_BLOCK // n_queries)
    for block in gen_batches(n_resamples, n_per_block):
        n_patterns = block.stop - block.start
        drawn = random_state.random_sample((n_patterns, n_queries))
        for column in range(len(total)):
            sum_of_plus = (drawn < p_plus[:, column]) @ sizes[:, column]
            sums = 2 * sum_of_plus - sum_of_sizes[column]
            sums = sums[sums >= total[column] - tolerance[column]]
            weights = np.exp(log_mean[column] - t[column] * sums)
            share[column] += 2 * weights.sum() / n_resamples
    return np.clip(share, np.exp2(1.0 - n_differing), 1.0)


def saddlepoint_shares(sizes, total):
    """Share of patterns of signs whose sums reach each total, by Lugannani and Rice.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries, n_columns)
        Absolute differences. Each column has at least one above 0.

    total : ndarray of shape (n_columns,)
        Absolute sum of the differences.

    Returns
    -------
    share : ndarray of shape (n_columns,)
        Two-sided: patterns whose sums are at most minus the total are included.
    """
    n_blocks = max(ceil(sizes.size / _CELLS_PER_BLOCK), 1)
    size_blocks = np.array_split(sizes, n_blocks, axis=1)
    total_blocks = np.array_split(total, n_blocks)
    return np.concatenate(list(map(_saddlepoint_of_block, size_blocks, total_blocks)))


def _saddlepoint_of_block(sizes, total):
    n_differing = np.count_nonzero(sizes, axis=0)
    tolerance = ROUNDING * n_differing
    is_one_sign = total >= sizes.sum(axis=0) - tolerance
    # Sums are two steps apart: a continuous sum would fall short by half of that.
    needed = total - common_step(sizes)
    is_small = needed <= tolerance
    solved = np.flatnonzero(~(is_one_sign | is_small))

    t = np.zeros(len(total))
    t[solved] = _tilts(needed[solved], sizes[:, solved])
    cumulants = _cumulants(t, sizes)
    exponent = np.maximum(t * needed - cumulants.log_mean, 0)
    w = np.sqrt(2 * exponent)
    second_moment = (sizes**2).sum(axis=0)
    fourth_moment = (sizes**4).sum(axis=0)
    by_series = fourth_moment / second_moment**2 * w / 4
    with np.errstate(divide="ignore", invalid="ignore"):
        u = t * np.sqrt(cumulants.variance)
        by_formula = 1 / u - 1 / w
        excess = np.where(w > _SMALL_DEVIATE, by_formula, by_series)
    tail = stats.norm.sf(w) + stats.norm.pdf(w) * excess
    # Chernoff's bound is smaller if very few patterns reach the total.
    chernoff = np.exp(-(w**2) / 2)
    share = np.minimum(2 * tail, 2 * chernoff)
    share[is_small] = 1.0
    share[is_one_sign] = 0.0
    return np.clip(share, np.exp2(1.0 - n_differing), 1)


def _tilts(needed, sizes):
    """Solve K'(t) = needed. K' is concave, so Newton's steps from 0 never pass the root."""
    t = np.zeros(len(needed))
    unsolved = np.arange(len(needed))
    for _ in range(_MAX_NEWTON_STEPS):
        if not len(unsolved):
            break
        cumulants = _cumulants(t[unsolved], sizes[:, unsolved])
        step = (needed[unsolved] - cumulants.mean) / cumulants.variance
        t[unsolved] += step
        is_large = step > ROUNDING * t[unsolved]
        unsolved = unsolved[is_large]
    return t


class _Cumulants(NamedTuple):
    """K'(t), K''(t) and K(t), the logarithm of the mean of exp(t sum) over signs."""

    mean: np.ndarray  # (n_columns,)
    variance: np.ndarray  # (n_columns,)
    log_mean: np.ndarray  # (n_columns,)


def _cumulants(t, sizes):
    scaled = t * sizes
    decay = np.exp(-2 * scaled)  # Unlike cosh it never overflows.
    grown = 1 + decay
    # Cumulants of a sum are sums of cumulants: these are the terms.
    mean = sizes * (1 - decay) / grown
    variance = 4 * sizes**2 * decay / grown**2
    log_mean = scaled + np.log1p(decay) - np.log(2)
    return _Cumulants(
        mean=mean.sum(axis=0),
        variance=variance.sum(axis=0),
        log_mean=log_mean.sum(axis=0),
    )


def common_step(sizes):
    """The step that divides all sizes of a column, the largest at most 50 times; or 0."""
    largest = sizes.max(axis=0)
    step = np.zeros(sizes.shape[1])
    for n_steps in range(_MAX_STEPS_OF_LARGEST, 0, -1):
        columns = np.arange(sizes.shape[1])
        for rows in gen_batches(len(sizes), _ROWS_PER_BLOCK):
            steps_of_size = n_steps / largest[columns]
            in_steps = sizes[rows][:, columns] * steps_of_size
            distance = np.abs(in_steps - np.rint(in_steps))
            columns = columns[distance.max(axis=0) < _STEP_TOLERANCE]
            if not len(columns):
                break
        step[columns] = largest[columns] / n_steps
    return step


@lru_cache(maxsize=16)
def tails_of_ranks(ranks):
    """Probability that the ranks of positive sign sum to each number or more."""
    share = np.ones(1)
    for rank in ranks:
        longer = np.zeros(len(share) + rank)
        longer[: len(share)] = share / 2
        longer[rank:] += share / 2
        share = longer
    return _tails(share)
