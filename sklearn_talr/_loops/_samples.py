"""Statistics of samples of queries, of which the largest of many pairs is asked for."""

import numpy as np

from ._compile import compiled

_ZERO = np.float32(0)  # another constant would make all of it double


@compiled
def moderated_statistics(sums, first, second, weights, added, statistic):
    """Mean differences of pairs of systems over moderated standard errors, in samples.

    Parameters
    ----------
    sums : ndarray of shape (n_strata, n_systems, n_samples), dtype float32
        Sums of the values of a system over the queries of a stratum that a sample has.

    first, second : ndarrays of shape (n_pairs,) of int
        Systems of each pair.

    weights : ndarray of shape (n_strata,), dtype float32
        One over the number of queries of each stratum less 1.

    added : float of single precision
        Added to the root of the variance of a sum.

    statistic : ndarray of shape (n_pairs, n_samples), dtype float32
        Sums of squared differences, each times the number of queries of its stratum over
        that less 1. The statistics, without their signs, take their place.
    """
    total = np.empty(statistic.shape[1], dtype=np.float32)
    for pair in range(len(statistic)):
        variance = statistic[pair]
        total[:] = _ZERO
        for stratum in range(len(sums)):
            of_stratum, weight = sums[stratum], weights[stratum]
            one, other = of_stratum[first[pair]], of_stratum[second[pair]]
            # Take the square of the difference off that about 0.
            for s in range(len(total)):
                difference = one[s] - other[s]
                total[s] += difference
                variance[s] -= weight * difference * difference
        for s in range(len(total)):
            variance[s] = abs(total[s]) / (np.sqrt(max(variance[s], _ZERO)) + added)


@compiled
def count_reached(statistic, needed, ends, largest, n_reached):
    """Count the samples whose largest statistic so far reaches what each pair needs.

    Parameters
    ----------
    statistic : ndarray of shape (n_pairs, n_samples), dtype float32
        Of pairs in ascending order of what they need.

    needed : ndarray of shape (n_pairs,), dtype float32
        What the largest statistic has to reach.

    ends : ndarray of shape (n_pairs,), dtype int64
        Pairs before this one are not above the pair, and all have a part in its largest.

    largest : ndarray of shape (n_samples,), dtype float32
        The largest statistic of each sample, which grows pair by pair.

    n_reached : ndarray of shape (n_pairs,), dtype int64
        To which the number of samples is added that reach it.
    """
    n_seen = 0
    for pair in range(len(statistic)):
        for seen in range(n_seen, ends[pair]):
            values = statistic[seen]
            for s in range(len(largest)):
                largest[s] = max(largest[s], values[s])
        n_seen, n, least = ends[pair], 0, needed[pair]
        for s in range(len(largest)):
            n += largest[s] >= least
        n_reached[pair] += n
