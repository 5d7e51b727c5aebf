"""Several systems at once: tests that hold for a whole family of pairs, and tiers."""

import numpy as np

from ._replicates import ROUNDING


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
                tier = _grown([first, second], alike)
                in_one[np.ix_(tier, tier)] = True
                found.append(tier)
    alone = [[place] for place in range(len(order)) if alike[place].sum() == 1]
    return [[order[place] for place in tier] for tier in sorted(found + alone)]


def _grown(tier, alike):
    """Add, from the best on, all that is alike to each member of a tier."""
    for system in range(len(alike)):
        if system not in tier and alike[system, tier].all():
            tier = [*tier, system]
    return sorted(tier)
