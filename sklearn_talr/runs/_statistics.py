"""Statistics of a comparison, measure by measure: intervals, tests, ranks and tiers."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from .._core.progress import warn_caller
from ..inference._intervals import expanded_interval, interval_of_differences
from ..inference._multiple import adjust_bh, adjust_holm, max_t, tiers
from ..inference._paired import p_values, smallest_p_value
from ..inference._resampling import ROUNDING, Resampling


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings of a comparison.

    Parameters
    ----------
    test : {"randomization", "bootstrap", "t", "wilcoxon"}

    adjust : {"max-t", "holm", "bh"}

    alpha : float

    greater_is_better : bool

    resampling : Resampling
        All intervals and tests share the same samples of queries.

    rows : str
        Word for the queries in messages.
    """

    test: str
    adjust: str
    alpha: float
    greater_is_better: bool
    resampling: Resampling
    rows: str


@dataclass(frozen=True)
class RunStatistics:
    """Runs by one measure; `RunComparison` has these fields for all measures.

    Parameters
    ----------
    rank_low, rank_high : ndarray of shape (n_runs,) of int

    means, means_low, means_high : ndarray of shape (n_runs,)

    worst, best : ndarray of shape (n_runs,)
    """

    rank_low: np.ndarray
    rank_high: np.ndarray
    means: np.ndarray
    means_low: np.ndarray
    means_high: np.ndarray
    worst: np.ndarray
    best: np.ndarray


@dataclass(frozen=True)
class PairStatistics:
    """Pairs of runs by one measure; `RunComparison` has these fields for all measures.

    Parameters
    ----------
    difference, low, high : ndarray of shape (n_pairs,)

    lowest, highest, undecided : ndarray of shape (n_pairs,)

    effect_size : ndarray of shape (n_pairs,)

    p_value, adjusted_p_value, worst_case_p_value : ndarray of shape (n_pairs,)

    n_resamples : ndarray of shape (n_pairs,) of int

    is_exact : ndarray of shape (n_pairs,) of bool
    """

    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    undecided: np.ndarray
    effect_size: np.ndarray
    p_value: np.ndarray
    adjusted_p_value: np.ndarray
    worst_case_p_value: np.ndarray
    n_resamples: np.ndarray
    is_exact: np.ndarray


@dataclass(frozen=True)
class MeasureStatistics:
    """A comparison by one measure.

    Parameters
    ----------
    runs : RunStatistics

    pairs : PairStatistics

    tiers : list of lists of int
        Numbers of runs that do not differ significantly, best runs first.
    """

    runs: RunStatistics
    pairs: PairStatistics
    tiers: list


def compare_by_measure(measure, values, pairs, settings):
    """Compare runs by one measure, and warn if no pair could be significant.

    Parameters
    ----------
    measure : str

    values : MeasureValues

    pairs : two ndarrays of shape (n_pairs,) of int
        Numbers of the first and the second run of each pair.

    settings : ComparisonSettings

    Returns
    -------
    statistics : MeasureStatistics
    """
    differences = _Differences.from_values(values, pairs)
    tested = p_values(
        settings.test, differences.expected, differences.scale, settings.resampling
    )
    if settings.adjust == "max-t" and len(differences.mean) > 1:
        family = _adjusted_by_max_t(values, pairs, differences, settings)
    else:
        family = _adjusted_one_by_one(values, pairs, differences, tested.p_value, settings)
    _warn_if_none_can_be_significant(
        measure, settings, len(differences.mean), family.smallest_p_value
    )
    pair_statistics = _pair_statistics(differences, tested, family)
    is_significant = _significant(values.n_runs, pairs, pair_statistics, settings.alpha)
    means = values.expected.mean(axis=0)
    merit = means if settings.greater_is_better else -means
    return MeasureStatistics(
        runs=_run_statistics(values, merit, is_significant, settings),
        pairs=pair_statistics,
        tiers=tiers(merit, is_significant),
    )


@dataclass(frozen=True)
class MeasureValues:
    """Values of one measure.

    Parameters
    ----------
    expected, worst, best : ndarray of shape (n_queries, n_runs)
        Mean, least and greatest value over all orders of tied documents.
    """

    expected: np.ndarray
    worst: np.ndarray
    best: np.ndarray

    @classmethod
    def from_evaluations(cls, evaluations, number):
        """Values of the measure of this number."""
        return cls(
            expected=np.stack([run.expected[:, number] for run in evaluations], axis=1),
            worst=np.stack([run.worst[:, number] for run in evaluations], axis=1),
            best=np.stack([run.best[:, number] for run in evaluations], axis=1),
        )

    @property
    def n_runs(self):
        """Number of runs."""
        return self.expected.shape[1]

    @property
    def has_ties(self):
        """Whether any value depends on the order of tied documents."""
        return (self.worst != self.best).any()


@dataclass(frozen=True)
class _Differences:
    """Values of the first run of each pair minus values of the second.

    Parameters
    ----------
    expected : ndarray of shape (n_queries, n_pairs)

    lowest, highest : ndarray of shape (n_queries, n_pairs)
        The least and the greatest difference over orders of tied documents.

    worst_case : ndarray of shape (n_queries, n_pairs)
        The difference with the order of ties that is least favorable to the better run.

    mean : ndarray of shape (n_pairs,)
        Mean expected difference; 0 if it is not 0 only because of rounding.

    scale : ndarray of shape (n_pairs,)
        The largest absolute value of each pair: rounding is relative to it.

    has_ties : bool
        Without ties the first four arrays are one.
    """

    expected: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    worst_case: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    has_ties: bool

    @classmethod
    def from_values(cls, values, pairs):
        first, second = pairs
        expected = values.expected[:, first] - values.expected[:, second]
        largest = np.maximum(np.abs(values.worst), np.abs(values.best)).max(axis=0)
        scale = np.maximum(largest[first], largest[second])
        mean = expected.mean(axis=0)
        mean[np.abs(mean) <= ROUNDING * scale] = 0.0
        lowest = highest = worst_case = expected
        if values.has_ties:
            lowest = values.worst[:, first] - values.best[:, second]
            highest = values.best[:, first] - values.worst[:, second]
            worst_case = np.where(mean > 0, lowest, highest)
        return cls(expected, lowest, highest, worst_case, mean, scale, values.has_ties)

    @property
    def families(self):
        """Differences that are tested: expected ones, and with ties worst cases."""
        return [self.expected, self.worst_case] if self.has_ties else [self.expected]

    @property
    def is_turned(self):
        """Whether the better run is no longer better in the worst case, (n_pairs,)."""
        lead = self.worst_case.mean(axis=0) * np.sign(self.mean)
        return lead <= ROUNDING * self.scale

    @property
    def depends_on_ties(self):
        """Whether the order of ties changes a difference of the pair, (n_pairs,)."""
        widths = (self.highest - self.lowest).max(axis=0)
        return widths > ROUNDING * self.scale

    @property
    def is_equal(self):
        """Whether the runs of a pair are equal in all queries, (n_pairs,)."""
        return np.abs(self.expected).max(axis=0) <= ROUNDING * self.scale


@dataclass(frozen=True)
class _AdjustedFamily:
    """p-values of all pairs of a measure, adjusted for the number of pairs.

    Parameters
    ----------
    p_value, worst_case_p_value : ndarray of shape (n_pairs,)
        By expected differences, and by differences in the worst case.

    low, high : ndarray of shape (n_pairs,)
        Interval of the mean difference.

    smallest_p_value : float
        The smallest p-value that the test can find, before an adjustment by a factor.
    """

    p_value: np.ndarray
    worst_case_p_value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    smallest_p_value: float


def _adjusted_by_max_t(values, pairs, differences, settings):
    """Adjust by the largest statistic of all pairs in samples of queries."""
    resampling = settings.resampling
    p_value, reach = max_t(
        values.expected,
        pairs,
        differences.families,
        scale=differences.scale,
        resampling=resampling,
        alpha=settings.alpha,
    )
    by_samples = 1 / (resampling.n_resamples + 1)
    by_equal_signs = 2.0 ** (1 - resampling.strata.n)
    return _AdjustedFamily(
        p_value=p_value[0],
        worst_case_p_value=p_value[-1],  # Without ties there is one family.
        low=differences.mean - reach,
        high=differences.mean + reach,
        smallest_p_value=max(by_samples, by_equal_signs),
    )


def _adjusted_one_by_one(values, pairs, differences, p_value, settings):
    """Adjust p-values of single tests by Holm's or by Benjamini and Hochberg's method."""
    test = settings.test
    resampling = settings.resampling
    low, high = interval_of_differences(
        values.expected, pairs, resampling, 1 - settings.alpha
    )
    worst_case_p_value = p_value.copy()
    if differences.has_ties:
        worst_case = p_values(test, differences.worst_case, differences.scale, resampling)
        worst_case_p_value = worst_case.p_value
    # A run that falls behind has 1 before the adjustment: else it would help the others.
    worst_case_p_value[differences.is_turned] = 1.0
    # Runs with equal expected values that some order of ties tells apart are a test in that
    # order, so they count as one in the worst case.
    is_untested = np.isnan(p_value) & ~(differences.is_equal & differences.depends_on_ties)
    worst_case_p_value[is_untested] = np.nan
    adjust = adjust_bh if settings.adjust == "bh" else adjust_holm
    adjusted = adjust(np.stack([p_value, worst_case_p_value], axis=1))
    return _AdjustedFamily(
        p_value=adjusted[:, 0],
        worst_case_p_value=adjusted[:, 1],
        low=low,
        high=high,
        smallest_p_value=smallest_p_value(
            test, differences.expected, differences.scale, resampling
        ),
    )


def _warn_if_none_can_be_significant(measure, settings, n_pairs, smallest):
    """Warn if even the least p-value, after its adjustment, would be above alpha."""
    factor = n_pairs if settings.adjust == "holm" else 1
    if smallest * factor <= settings.alpha:
        return
    rows = settings.rows
    advice = f"Take more {rows}, or test='t', which has no smallest p-value"
    if smallest == 1 / (settings.resampling.n_resamples + 1):
        advice = f"Take n_resamples={ceil(factor / settings.alpha)} or more"
    times = f", which Holm's method multiplies by {n_pairs} pairs" if factor > 1 else ""
    warn_caller(
        f"by {measure} no pair can be significant at alpha={settings.alpha:g}: the "
        f"smallest possible p-value with these {rows} and settings is "
        f"{smallest:.2g}{times}. "
        f"{advice}.",
    )


def _pair_statistics(differences, tested, family):
    """Statistics of all pairs of a measure."""
    is_untested = np.isnan(tested.p_value)
    is_equal = differences.is_equal
    # A run that falls behind in the worst case is not significantly better.
    worst_case = np.where(differences.is_turned, 1.0, family.worst_case_p_value)
    worst_case = np.where(is_untested, np.nan, worst_case)
    adjusted = np.where(is_untested, np.nan, family.p_value)
    is_undecided = (differences.lowest < -ROUNDING) & (differences.highest > ROUNDING)
    return PairStatistics(
        difference=differences.mean,
        low=family.low,
        high=family.high,
        lowest=differences.lowest.mean(axis=0),
        highest=differences.highest.mean(axis=0),
        undecided=is_undecided.mean(axis=0),
        effect_size=_effect_size(differences),
        # Runs that are equal in all queries are not tested, so they are in no family.
        p_value=np.where(is_equal, 1.0, tested.p_value),
        adjusted_p_value=np.where(is_equal, 1.0, adjusted),
        worst_case_p_value=np.where(is_equal, 1.0, worst_case),
        n_resamples=tested.n_patterns,
        is_exact=tested.is_exact,
    )


def _effect_size(differences):
    """Mean over standard deviation, infinite if the runs differ by one amount."""
    mean = differences.mean
    if len(differences.expected) < 2:
        return np.full_like(mean, np.nan)
    deviation = differences.expected.std(axis=0, ddof=1)
    is_constant = deviation <= ROUNDING * differences.scale
    effect_size = mean / np.where(is_constant, 1.0, deviation)
    is_infinite = is_constant & (mean != 0)
    effect_size[is_infinite] = np.copysign(np.inf, mean[is_infinite])
    return effect_size


def _significant(n_runs, pairs, pair_statistics, alpha):
    """Whether each run differs significantly from each other, (n_runs, n_runs) of bool."""
    first, second = pairs
    is_significant = np.zeros((n_runs, n_runs), dtype=bool)
    is_significant[first, second] = pair_statistics.adjusted_p_value <= alpha
    return is_significant | is_significant.T


def _run_statistics(values, merit, is_significant, settings):
    """Statistics of all runs of a measure; `merit` is the greater, the better a run is."""
    # Whether the first run is significantly better than the second
    is_better = is_significant & (merit[:, None] > merit)
    means_low, means_high = expanded_interval(
        values.expected, settings.resampling, 1 - settings.alpha
    )
    return RunStatistics(
        rank_low=1 + is_better.sum(axis=0),
        rank_high=len(merit) - is_better.sum(axis=1),
        means=values.expected.mean(axis=0),
        means_low=means_low,
        means_high=means_high,
        worst=values.worst.mean(axis=0),
        best=values.best.mean(axis=0),
    )
