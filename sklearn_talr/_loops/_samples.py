"""Statistics of samples of queries, of which the largest of many pairs is asked for."""

import numpy as np

from ._compile import compiled

# Single precision throughout: other constants would make all of it double
_ZERO, _ONE, _TWO, _THREE = (np.float32(number) for number in range(4))
_SIXTH = np.float32(1 / 6)


@compiled
def hall_statistics(moments, sizes, shift, least, statistic):
    """Hall's t of samples, without its sign; -1 where a sample has no spread.

    With t the mean over its standard error and a = sum of cubes / (sum of squares)^(3/2),
    of deviations from the mean of the sample, it is
    t + a (t^2 / 3 + 1 / 6) + a^2 t^3 / 27 (Hall, 1992).

    Parameters
    ----------
    moments : ndarray of shape (n_strata, 3, n_pairs, n_samples), dtype float32
        Sums of differences, of their squares and of their cubes over the queries of a
        stratum that a sample has.

    sizes : ndarray of shape (n_strata,), dtype float32
        Queries of each stratum.

    shift : ndarray of shape (n_pairs,), dtype float32
        Added to the sum of the differences of all queries.

    least : float of single precision
        Sum of squares above which there is spread.

    statistic : ndarray of shape (n_pairs, n_samples), dtype float32
        Receives the statistics.
    """
    sums = np.empty((4, statistic.shape[1]), dtype=np.float32)
    for pair in range(len(statistic)):
        sums[:] = _ZERO
        sums[0] += shift[pair]
        for stratum in range(len(sizes)):
            _add_stratum(moments[stratum, :, pair], sizes[stratum], sums)
        _hall(sums, least, statistic[pair])


@compiled
def _add_stratum(moments, size, sums):
    """Add the queries of a stratum: their sum, variance, and centered squares and cubes."""
    first, second, third = moments[0], moments[1], moments[2]
    total, variance, squares, cubes = sums[0], sums[1], sums[2], sums[3]
    unbiased = size / max(size - _ONE, _ONE)
    for s in range(len(first)):
        mean = first[s] / size
        product = first[s] * mean
        total[s] += first[s]
        variance[s] += (second[s] - product) * unbiased
        squares[s] += second[s] - product
        cubes[s] += third[s] - (_THREE * second[s] - _TWO * product) * mean


@compiled
def _hall(sums, least, statistic):
    total, variance, squares, cubes = sums[0], sums[1], sums[2], sums[3]
    for s in range(len(statistic)):
        has_spread = squares[s] > least
        square = squares[s] if has_spread else _ONE
        t = total[s] / np.sqrt(variance[s] if has_spread else _ONE)
        skewness = cubes[s] / (square * np.sqrt(square))
        tilt = skewness * t / _THREE
        found = abs(t * (_ONE + tilt + tilt * tilt / _THREE) + skewness * _SIXTH)
        statistic[s] = found if has_spread else -_ONE


@compiled
def count_reached(statistic, needed, ends, largest, n_reached):
    """Count the samples whose largest statistic so far reaches what each pair needs.

    Samples without the few queries in which two systems differ have no spread: they may
    count against that pair, and tell nothing of others.

    Parameters
    ----------
    statistic : ndarray of shape (n_pairs, n_samples), dtype float32
        As `hall_statistics` makes it, of pairs in ascending order of what they need.

    needed : ndarray of shape (n_pairs,), dtype float32
        What the largest statistic has to reach.

    ends : ndarray of shape (n_pairs,), dtype int64
        Pairs before this one are not above the pair, and all have a part in its largest.

    largest : ndarray of shape (n_samples,), dtype float32
        The largest statistic of each sample, which grows pair by pair.

    n_reached : ndarray of shape (n_pairs, 3), dtype int64
        To which the numbers of samples are added that reach it, that have no spread, and
        that have none and do not reach it.
    """
    n_seen = 0
    for pair in range(len(statistic)):
        for seen in range(n_seen, ends[pair]):
            of_seen = statistic[seen]
            for s in range(len(largest)):
                largest[s] = max(largest[s], of_seen[s])
        n_seen = ends[pair]
        of_pair, least = statistic[pair], needed[pair]
        n_reaching = n_lost = n_lost_below = 0
        for s in range(len(largest)):
            is_lost, is_reached = of_pair[s] < _ZERO, largest[s] >= least
            n_reaching += is_reached
            n_lost += is_lost
            n_lost_below += is_lost and not is_reached
        n_reached[pair, 0] += n_reaching
        n_reached[pair, 1] += n_lost
        n_reached[pair, 2] += n_lost_below
