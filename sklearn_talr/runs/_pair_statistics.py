"""Means of runs, differences of pairs, their intervals and tests, measure by measure."""

from dataclasses import dataclass

import numpy as np

from ..inference._door import (
    ROUNDING,
    TESTS,
    Strata,
    adjust_holm,
    expanded_interval,
    joint_p_values,
    null_ranges,
)


@dataclass(frozen=True)
class Inference:
    """How runs are tested: the arguments of `compare_runs`, and strata."""

    test: str
    adjust: str
    alpha: float
    strata: Strata
    n_resamples: int
    seed: int

    def columns(self, first, second, evaluations):
        """Fields of `RunComparison` that have a column for each measure.

        Parameters
        ----------
        first, second : ndarray of shape (n_pairs,)
            Numbers of the runs of each pair.

        evaluations : sequence of RunEvaluation

        Returns
        -------
        columns : dict of str to ndarray of shape (n_runs or n_pairs, n_measures)
        """
        parts, ranges = [], self._null_ranges(evaluations)
        for number in range(len(evaluations[0].measures)):
            expected, worst, best = (
                np.stack([getattr(each, column)[:, number] for each in evaluations], axis=1)
                for column in ("expected", "worst", "best")
            )
            differences = PairDifferences(
                expected[:, first] - expected[:, second],
                worst[:, first] - best[:, second],
                best[:, first] - worst[:, second],
            )
            parts.append(
                {
                    "means": expected.mean(axis=0),
                    "worst": worst.mean(axis=0),
                    "best": best.mean(axis=0),
                    **self._interval("means_low", "means_high", expected),
                    **self._interval("low", "high", differences.expected, symmetric=True),
                    **differences.described(),
                    **self._tested(differences, ranges[:, [number]]),
                }
            )
        return {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}

    def _random_state(self):
        """All measures, and both intervals, see the same samples."""
        return np.random.RandomState(self.seed)

    def _interval(self, low, high, values, symmetric=False):
        ends = expanded_interval(
            values,
            self.strata,
            1 - self.alpha,
            self.n_resamples,
            self._random_state(),
            symmetric=symmetric,
        )
        return dict(zip((low, high), ends))

    def _null_ranges(self, evaluations):
        """Ranges of the means by chance, (n_resamples, n_measures), for Tukey's method."""
        if self.adjust != "tukey" or len(evaluations) < 3:
            return np.empty((0, len(evaluations[0].measures)))
        values = np.stack([each.expected for each in evaluations], axis=1)
        return null_ranges(values, self.n_resamples, self._random_state())

    def _tested(self, differences, ranges):
        """p-values, alone, among all pairs, and in the most adverse order of ties."""
        difference, adverse = differences.expected.mean(axis=0), differences.adverse
        p_value, n_resamples, is_exact = self._p_values(differences.expected)
        turns = adverse.mean(axis=0) * np.sign(difference) <= ROUNDING
        if len(ranges):
            means = np.stack([difference, adverse.mean(axis=0)], axis=1)
            adjusted = joint_p_values(means, np.repeat(ranges, 2, axis=1))
        else:
            adverse_p_value, *_ = self._p_values(adverse)
            # Before Holm: else a run that falls behind would help the others.
            adverse_p_value[turns] = 1.0
            adverse_p_value[np.isnan(p_value)] = np.nan
            adjusted = adjust_holm(np.stack([p_value, adverse_p_value], axis=1))
        adjusted[turns, 1] = 1.0
        adjusted[np.isnan(p_value)] = np.nan
        # Runs that are equal in all queries are in no family; nothing separates them.
        are_equal = np.abs(differences.expected).max(axis=0) <= ROUNDING
        p_value[are_equal] = adjusted[are_equal] = 1.0
        return {
            "p_value": p_value,
            "adjusted_p_value": adjusted[:, 0],
            "adverse_p_value": adjusted[:, 1],
            "n_resamples": n_resamples,
            "is_exact": is_exact,
        }

    def _p_values(self, differences):
        test = TESTS[self.test]
        return test(differences, self.strata, self.n_resamples, self._random_state())


@dataclass(frozen=True)
class PairDifferences:
    """Differences of the pairs in each query: expected, and by orders of ties.

    Parameters
    ----------
    expected, lowest, highest : ndarray of shape (n_queries, n_pairs)
    """

    expected: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @property
    def adverse(self):
        """Differences in the orders that speak most against the better run of each pair."""
        return np.where(self.expected.mean(axis=0) > 0, self.lowest, self.highest)

    def described(self):
        """What needs no test."""
        crosses = (self.lowest < -ROUNDING) & (self.highest > ROUNDING)
        return {
            "difference": self.expected.mean(axis=0),
            "lowest": self.lowest.mean(axis=0),
            "highest": self.highest.mean(axis=0),
            "undecided": crosses.mean(axis=0),
            "effect_size": self._effect_size(),
        }

    def _effect_size(self):
        mean = self.expected.mean(axis=0)
        if len(self.expected) < 2:
            return np.full_like(mean, np.nan)
        spread = self.expected.std(axis=0, ddof=1)
        is_same = spread <= ROUNDING
        effect = mean / np.where(is_same, 1.0, spread)
        return np.where(
            is_same & (np.abs(mean) > ROUNDING), np.copysign(np.inf, mean), effect
        )
