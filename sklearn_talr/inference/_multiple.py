"""Families of tests: adjusted p-values, and tiers of systems that do not differ."""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ._resampling import ROUNDING, Strata

# Statistics of this number of pairs are in memory at once.
_PAIRS_PER_BLOCK = 128
# The median error times 5 over the root of the number of queries is added to each error.
# Simulations chose 5: see benchmarks/bench_tests.py.
_MODERATION = 5
# Statistics in single precision are off by at most this share of their size.
_SINGLE_PRECISION = 1e-5


def adjust_holm(p_value):
    """Holm's step-down adjustment of the p-values of each column.

    Parameters
    ----------
    p_value : ndarray of shape (n_tests, n_columns)
        NaN marks a hypothesis that was not tested. It is not in the family.

    Returns
    -------
    adjusted : ndarray of shape (n_tests, n_columns)
        If all hypotheses with adjusted p-values up to alpha are rejected, the probability
        that any true hypothesis is rejected is at most alpha.
    """
    order = np.argsort(p_value, axis=0)  # NaN comes last.
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

    If all hypotheses with adjusted p-values up to alpha are rejected, at most the share
    alpha of the rejected hypotheses is true, on average. Shapes and NaN are as in
    `adjust_holm`.
    """
    adjusted = np.full_like(p_value, np.nan)
    for column in range(p_value.shape[1]):
        is_tested = np.isfinite(p_value[:, column])
        tested = p_value[is_tested, column]
        adjusted[is_tested, column] = stats.false_discovery_control(tested)
    return adjusted


def max_t(values, pairs, families, *, scale, resampling, alpha):
    """Adjusted p-values by the largest statistic of all pairs in samples of queries.

    All pairs of systems share the same samples, in which every difference is 0 on average,
    so correlations between pairs are taken into account. The statistic is the mean
    difference over its moderated standard error. Without moderation the small errors of
    nearly equal systems would give the largest statistics and mask all other pairs. The
    method is step-down: a statistic is compared with the largest statistic of the pairs
    that are not above it (Romano and Wolf, 2005). Samples come in blocks of bounded memory.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems)
        Values from which the samples are drawn.

    pairs : two ndarrays of shape (n_pairs,) of int
        First and second system of each pair.

    families : list of ndarrays of shape (n_queries, n_pairs)
        Differences to test, family by family. The first family has the differences of
        `values`.

    scale : ndarray of shape (n_pairs,)
        The largest absolute value of each pair: rounding is relative to it.

    resampling : Resampling
        All families share the same samples.

    alpha : float

    Returns
    -------
    p_value : ndarray of shape (n_families, n_pairs)

    reach : ndarray of shape (n_pairs,)
        Half the length of the interval of each difference in the first family. With
        probability 1 - alpha all intervals hold their true differences at once. Infinite
        if there are too few queries.
    """
    strata = resampling.strata
    error, _ = strata.standard_errors(families[0])
    added = _added_to_errors(error, scale, strata.n)
    sampled = _SampledPairs.from_values(values, pairs, strata, added)
    # Copies of the generator draw the same samples for each family.
    random_state = resampling.generator()
    generators = [deepcopy(random_state) for _ in families[1:]]
    generators.append(random_state)
    results = []
    for differences, generator in zip(families, generators):
        observed = _observed_statistics(differences, strata, added, scale)
        result = _step_down(observed, sampled, resampling.n_resamples, generator)
        results.append(result)
    n_above = int(alpha * (resampling.n_resamples + 1)) or 1
    ascending = np.partition(results[0].largest, -n_above)
    needed = ascending[-n_above] * (1 + _SINGLE_PRECISION)
    # With so few queries a system can lead in all of them by chance.
    if np.exp2(1.0 - strata.n) > alpha:
        needed = np.inf
    reach = needed * (error + added)
    return np.stack([result.p_value for result in results]), reach


def _added_to_errors(error, scale, n_queries):
    """Constant added to standard errors: less of their median with more queries."""
    positive = error[error > ROUNDING * scale]
    if not len(positive):
        return ROUNDING * (scale.max() or 1.0)
    return _MODERATION / np.sqrt(n_queries) * np.median(positive)


def _observed_statistics(differences, strata, added, scale):
    """Absolute mean over the moderated standard error, (n_pairs,) of float32."""
    mean = differences.mean(axis=0)
    error, _ = strata.standard_errors(differences)
    # Equal means differ by rounding, which is more if values are larger.
    mean[np.abs(mean) <= ROUNDING * scale] = 0.0
    return (np.abs(mean) / (error + added)).astype(np.float32)


@dataclass(frozen=True)
class _SampledPairs:
    """Values of systems, centered and scaled, whose pairs have statistics in samples.

    Parameters
    ----------
    centered : ndarray of shape (n_queries, n_systems)
        Values less the mean of their stratum, and less the median of the systems. The
        largest absolute value is 1, for single precision.

    by_system : ndarray of shape (n_systems, n_queries) of float32
        The same.

    first, second : ndarray of shape (n_pairs,) of int
        Systems of each pair.

    strata : Strata

    unbiased : ndarray of shape (n_queries, 1)
        Size of the query's stratum over the size less 1.

    weights : ndarray of shape (n_strata,) of float32
        One over the size of each stratum less 1.

    added : float32
        Added to the errors of sums in samples.
    """

    centered: np.ndarray
    by_system: np.ndarray
    first: np.ndarray
    second: np.ndarray
    strata: Strata
    unbiased: np.ndarray
    weights: np.ndarray
    added: np.float32

    @classmethod
    def from_values(cls, values, pairs, strata, added):
        centered = strata.centered(values)
        centered -= np.median(centered, axis=1, keepdims=True)
        largest = np.abs(centered).max(initial=0) or 1.0
        centered /= largest
        # Samples vary less than means do, so less is added to their errors.
        shrinkage = (strata.n_free / strata.n) ** 2
        unbiased = np.empty((strata.n, 1))
        weights = []
        for rows in strata.rows:
            correction = len(rows) / max(len(rows) - 1, 1)
            unbiased[rows] = correction
            weights.append(correction / len(rows))
        first, second = pairs
        return cls(
            centered=centered,
            by_system=centered.T.astype(np.float32),
            first=first,
            second=second,
            strata=strata,
            unbiased=unbiased,
            weights=np.float32(weights),
            added=np.float32(added / largest * strata.n * shrinkage),
        )

    def samples(self, n_resamples, random_state, n_pairs):
        """Yield how often each query is in each sample, (n_queries, n_samples) of float32.

        Blocks are so small that statistics of `n_pairs` pairs fit beside them.
        """
        n_systems = self.centered.shape[1]
        width = len(self.strata.rows) * n_systems + n_pairs
        for counts in self.strata.samples(n_resamples, random_state, width):
            yield counts.T.astype(np.float32, order="C")

    def sums(self, counts):
        """Sums of each system's values over a stratum, (n_strata, n_systems, n_samples)."""
        sums = [self.by_system[:, rows] @ counts[rows] for rows in self.strata.rows]
        return np.stack(sums)

    def statistics(self, pairs, counts, sums):
        """Statistics of some pairs in some samples, (n_pairs, n_samples) of float32."""
        from .._loops._samples import moderated_statistics

        first = self.first[pairs]
        second = self.second[pairs]
        differences = self.centered[:, first] - self.centered[:, second]
        squares = differences**2 * self.unbiased
        statistic = squares.T.astype(np.float32) @ counts  # Overwritten by the loop
        moderated_statistics(sums, first, second, self.weights, self.added, statistic)
        return statistic


@dataclass(frozen=True)
class _Ladder:
    """Pairs by ascending statistic; statistics of one step differ only by rounding.

    Parameters
    ----------
    order : ndarray of shape (n_pairs,) of int
        Pair at each place.

    starts, sizes : ndarray of shape (n_steps,) of int
        First place of each step, and its number of places.

    needed : ndarray of shape (n_pairs,) of float32
        The threshold that the largest statistic of a sample has to reach, at each place.
    """

    order: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    needed: np.ndarray

    @classmethod
    def from_statistics(cls, observed):
        order = np.argsort(observed)
        ranked = observed[order]
        tolerated = ranked[:-1] * np.float32(1 + _SINGLE_PRECISION)
        rises = ranked[1:] > tolerated
        starts = np.flatnonzero(np.append(True, rises))
        sizes = np.diff(starts, append=len(observed))
        least = ranked[starts] * np.float32(1 - _SINGLE_PRECISION)
        return cls(order, starts, sizes, np.repeat(least, sizes))

    @property
    def ends(self):
        """First place above the step of each place, (n_pairs,)."""
        return np.repeat(self.starts + self.sizes, self.sizes)

    def blocks(self):
        """Places of whole steps, few enough to have all their statistics in memory."""
        begins = np.diff(self.starts // _PAIRS_PER_BLOCK) > 0
        starts = self.starts[np.append(True, begins)].tolist()
        ends = [*starts[1:], len(self.order)]
        return list(map(slice, starts, ends))

    def p_values(self, share):
        """p-values of the pairs by the share of samples that reach each place, (n_pairs,).

        A pair has at least the p-value of each pair above it.
        """
        by_step = np.maximum.reduceat(share, self.starts)
        by_step = np.maximum.accumulate(by_step[::-1])[::-1]
        p_value = np.empty(len(self.order))
        p_value[self.order] = np.repeat(by_step, self.sizes)
        return p_value


@dataclass(frozen=True)
class _StepDown:
    """Adjusted p-values of a family, and the largest statistic of each sample.

    Parameters
    ----------
    p_value : ndarray of shape (n_pairs,)

    largest : ndarray of shape (n_resamples,) of float32
    """

    p_value: np.ndarray
    largest: np.ndarray


def _step_down(observed, sampled, n_resamples, random_state):
    """Compare the observed statistics with the largest ones of samples of queries."""
    from .._loops._samples import count_reached

    ladder = _Ladder.from_statistics(observed)
    blocks = ladder.blocks()
    ends = ladder.ends
    n_reached = np.zeros(len(observed), dtype=np.int64)
    all_largest = []
    n_pairs_at_once = max(block.stop - block.start for block in blocks)
    for counts in sampled.samples(n_resamples, random_state, n_pairs_at_once):
        sums = sampled.sums(counts)
        # The largest of the blocks so far, in each sample
        largest = np.zeros(counts.shape[1], dtype=np.float32)
        for block in blocks:
            count_reached(
                sampled.statistics(ladder.order[block], counts, sums),
                ladder.needed[block],
                ends[block] - block.start,
                largest,
                n_reached[block],
            )
        all_largest.append(largest)
    p_value = ladder.p_values((n_reached + 1) / (n_resamples + 1))
    # All queries have differences of one sign with at least this probability.
    least = np.exp2(1.0 - sampled.strata.n)
    return _StepDown(np.maximum(p_value, least), np.concatenate(all_largest))


def tiers(mean, is_significant):
    """Sets of systems that do not differ significantly: a compact letter display.

    Two systems share a tier if and only if they do not differ significantly. A system may
    be in several tiers: A may differ from C while neither differs from B.

    Parameters
    ----------
    mean : ndarray of shape (n_systems,)

    is_significant : ndarray of shape (n_systems, n_systems) of bool
        Whether two systems differ significantly. Symmetric.

    Returns
    -------
    tiers : list of lists of int
        Systems by descending mean, tiers by their best systems. None is within another.
    """
    order = np.argsort(-mean, kind="stable").tolist()
    n_systems = len(order)
    alike = ~is_significant[np.ix_(order, order)]
    in_one_tier = np.zeros_like(alike)
    tiers_by_place = []
    for first in range(n_systems):
        # The worst system that does not differ from `first` spans the largest tier.
        for last in reversed(range(first, n_systems)):
            if alike[first, last] and not in_one_tier[first, last]:
                tier = _tier_with(alike, first, last)
                in_one_tier[np.ix_(tier, tier)] = True
                tiers_by_place.append(np.flatnonzero(tier).tolist())
    return [[order[place] for place in tier] for tier in sorted(tiers_by_place)]


def _tier_with(alike, first, last):
    """A tier of two systems and, best first, each system that differs from none in it."""
    tier = np.isin(np.arange(len(alike)), [first, last])
    for system in range(len(alike)):
        tier[system] |= alike[system, tier].all()
    return tier
