"""Statistics of many pairs of systems in samples of queries, and the largest of them."""

import numpy as np

from ._compile import compiled

# A zero of another type would make numba compute in double precision.
_ZERO = np.float32(0)


@compiled
def moderated_statistics(sums, first, second, weights, added, statistic):
    """Divide mean differences of pairs of systems by moderated errors, sample by sample.

    Parameters
    ----------
    sums : ndarray of shape (n_strata, n_systems, n_samples), dtype float32
        Sums of the values of each system over the queries of each stratum in each sample.

    first, second : ndarrays of shape (n_pairs,) of int
        Systems of each pair, whose differences are first minus second.

    weights : ndarray of shape (n_strata,), dtype float32
        ``1 / (n - 1)`` for the n queries of each stratum.

    added : float32
        What moderates an error: it is added to the root of the variance of a sum.

    statistic : ndarray of shape (n_pairs, n_samples), dtype float32
        Before the call: sums of squared differences, each times ``n / (n - 1)`` for the n
        queries of its stratum. After it: absolute values of the statistics.
    """
    total = np.empty(statistic.shape[1], dtype=np.float32)
    for pair in range(len(statistic)):
        variance = statistic[pair]
        total[:] = _ZERO
        for stratum in range(len(sums)):
            weight = weights[stratum]
            first_sums = sums[stratum, first[pair]]
            second_sums = sums[stratum, second[pair]]
            # Squares about 0 less the square of the mean are squares about the mean.
            for s in range(len(total)):
                difference = first_sums[s] - second_sums[s]
                total[s] += difference
                variance[s] -= weight * difference * difference
        for s in range(len(total)):
            variance[s] = abs(total[s]) / (np.sqrt(max(variance[s], _ZERO)) + added)


@compiled
def count_reached(statistic, needed, ends, largest, n_reached):
    """Count the samples in which the largest statistic reaches what each pair needs.

    The largest statistic of a pair is that of itself and of all pairs not above it.

    Parameters
    ----------
    statistic : ndarray of shape (n_pairs, n_samples), dtype float32
        Statistics of pairs, which are in ascending order of what they need.

    needed : ndarray of shape (n_pairs,), dtype float32
        What the largest statistic has to reach.

    ends : ndarray of shape (n_pairs,), dtype int64
        The pairs before this number are not above the pair, itself among them.

    largest : ndarray of shape (n_samples,), dtype float32
        The largest statistic of each sample so far, which grows pair by pair.

    n_reached : ndarray of shape (n_pairs,), dtype int64
        Grows by the number of samples that reach what the pair needs.
    """
    n_seen = 0
    for pair in range(len(statistic)):
        for seen in range(n_seen, ends[pair]):
            values = statistic[seen]
            for s in range(len(largest)):
                largest[s] = max(largest[s], values[s])
        n_seen = ends[pair]
        least = needed[pair]
        n_samples = 0
        for s in range(len(largest)):
            n_samples += largest[s] >= least
        n_reached[pair] += n_samples
