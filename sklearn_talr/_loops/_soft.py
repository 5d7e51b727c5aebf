"""Loops of training: soft counts, ranking measures of them with gradients, and steps.

=============  ===============================================================
symbol         meaning
=============  ===============================================================
c, p           soft counts of one distance: all items, and relevant ones
C, P           how many items lie before that distance: all, and relevant ones
x = C + 1      the first rank of the distance
M              mean of psi' from x + 1 to x + c, psi being the digamma function
g, G           gain of an item, and sum of the gains at one distance
D(t)           discount 1 / log2(t + 1) of rank t
S(n)           D(1) + ... + D(n), interpolated linearly between integers
=============  ===============================================================

**AP.** The harmonic sum of the ranks x, x + 1, ..., x + c - 1 of a tie continues to real c
as psi(x + c) - psi(x). The first rank aside, it is

    psi(x + c) - psi(x + 1) = (c - 1) M(x, c).

M is positive and smooth for all x >= 1 and c >= 0. So are its derivatives by the ends of
the interval,

    by the end x + c     [psi'(x + c) - M] / (c - 1)
    by the start x + 1   [M - psi'(x + 1)] / (c - 1),

both of which tend to psi''(x + 1) / 2 as c tends to 1. The recurrences psi(x + 1) = psi(x)
+ 1/x and psi'(x + 1) = psi'(x) - 1/x**2 reduce everything to psi and psi' at the points
that separate the ties, each shared by two of them.
"""

from math import log, log2
from typing import NamedTuple

import numpy as np

from ._compile import compiled

_NEAR = 1e-6  # emptier distances are to have the limit of the quotient at 0
_SHORT = 1e-3  # shorter intervals lose more digits to rounding than to an expansion
# With u = x + 7/2 and t = u**-2, psi(x + 4) = log u + t (s0 + s1 t + s2 t**2 + s3 t**3):
# the asymptotic series 1/24, -7/960, ..., economized to 2e-11 for x >= 1.
_S0, _S1 = 0.041666666392109219, -0.0072914880566011625
_S2, _S3 = 0.0038257782879866375, -0.0035031332693827145
_LOG_2 = log(2)
_THREE_QUARTERS = 0x3FE8000000000000  # bits of 0.75


@compiled
def count_softly(products, levels, scale, half, top, counts, cells):
    """Count the pairs of a block of queries by affinity level and relaxed distance.

    A pair at position z, in bins, has the share z - lo in bin lo + 1 and the rest in lo.
    For each cell, a level and lo, its pairs and their upper shares are added up. The cell
    is all that the gradient of a pair needs.

    Parameters
    ----------
    products : ndarray of shape (n_queries, n_items), float
        Inner products of relaxed bits.

    levels : ndarray of shape (n_queries, n_items), integer
        Places of affinity levels; negative for pairs that are not to be counted.

    scale, half, top : float of the type of the products
        Bins by which a product of 1 is nearer than one of 0; half the number of bins, which
        is where a product of 0 is; and the number of bins.

    counts : ndarray of shape (n_queries, n_levels * (n_bins + 1)), float
        Receives the counts.

    cells : ndarray of shape (n_queries, n_items), dtype int32
        Receives the cells; ``n_levels * (n_bins + 1)`` for pairs that are not counted.
    """
    n_cells = counts.shape[1]
    numbers, shares = np.empty(n_cells + 1), np.empty(n_cells + 1)
    upper, spare = np.empty_like(products[0]), np.int32(n_cells)
    zero, last, width = half - half, np.int32(top - 1), np.int32(top + 1)
    for q in range(len(products)):
        # The cell of each pair, and its share in the next; vectorized.
        row, of_pairs, cell_of = products[q], levels[q], cells[q]
        for i in range(len(row)):
            position = half - scale * row[i]
            position = position if position > zero else zero  # also where it is NaN
            position = position if position < top else top
            lo = min(np.int32(position), last)
            # The difference of a product from itself makes the share NaN where it is.
            upper[i] = position - np.float32(lo) + (row[i] - row[i])
            level = np.int32(of_pairs[i])
            cell_of[i] = level * width + lo if level >= 0 else spare
        for cell in range(n_cells + 1):
            numbers[cell] = shares[cell] = 0
        for i in range(len(row)):
            cell = np.uint32(cell_of[i])
            numbers[cell] += 1
            shares[cell] += upper[i]
        counts[q, 0] = numbers[0] - shares[0]
        for cell in range(1, n_cells):
            counts[q, cell] = numbers[cell] - shares[cell] + shares[cell - 1]


@compiled
def look_up(steps, cells, out):
    """Look the gradient of each pair of a block of queries up by its cell.

    Parameters
    ----------
    steps : ndarray of shape (n_queries, n_cells + 1)
        What moving a pair of each cell up by one bin adds; 0 for pairs not counted.

    cells : ndarray of shape (n_queries, n_items), dtype int32
        As of `count_softly`.

    out : ndarray of shape (n_queries, n_items)
        Receives them.
    """
    for q in range(len(cells)):
        of_query, row = steps[q], out[q]
        for i in range(cells.shape[1]):
            row[i] = of_query[np.uint32(cells[q, i])]


class TieTable(NamedTuple):
    """Quantities of ties, one query after the other; an empty tie ends each query.

    All arrays have shape (n_queries * (n_distances + 1),) and dtype float64. Average
    precision is three loops over this table. Calls of loops by loops would be compiled once
    more for each level.
    """

    size: np.ndarray  # c, items of the tie
    relevant: np.ndarray  # p, relevant items of the tie
    first_rank: np.ndarray  # x, the first rank of the tie
    relevant_before: np.ndarray  # P, relevant items before the tie
    gain: np.ndarray  # gain of a relevant item of the tie
    by_size: np.ndarray  # derivative of p times the gain by c
    by_relevant: np.ndarray  # ... by p
    by_rank: np.ndarray  # ... by C, the number of items before the tie
    by_relevant_before: np.ndarray  # ... by P
    digamma: np.ndarray  # psi at x
    trigamma: np.ndarray  # psi' at x


@compiled
def lay_out_ties(counts, n_distances, ties):
    """Write counts of ties, and what lies before them, one query after the other.

    An empty tie ends each query; what becomes of it is not used.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels * n_distances), dtype float64
        Counts, level by level. All levels but the first are relevant.

    n_distances : int
        How many distances there are.

    ties : TieTable
        Receives `size`, `relevant`, `first_rank` and `relevant_before`.
    """
    c = ties.size
    p = ties.relevant
    x = ties.first_rank
    relevant = ties.relevant_before
    for q in range(len(counts)):
        end = (q + 1) * (n_distances + 1) - 1
        rank = 1.0
        before = 0.0
        for d in range(n_distances):
            t = end - n_distances + d
            n_relevant = 0.0
            for cell in range(n_distances + d, counts.shape[1], n_distances):
                n_relevant += counts[q, cell]
            n_items = counts[q, d] + n_relevant
            c[t] = n_items
            p[t] = n_relevant
            x[t] = rank
            relevant[t] = before
            rank += n_items
            before += n_relevant
        c[end] = 0
        p[end] = 0
        x[end] = rank
        relevant[end] = before


@compiled
def gather_ties(ties, n_distances, values, gradients):
    """Average precision of queries, and its gradients by their counts, from gains of ties.

    Parameters
    ----------
    ties : TieTable
        With gains and their derivatives, see `simplified_gains` and `precision_gains`.

    n_distances : int
        How many distances there are.

    values : ndarray of shape (n_queries,)
        Receives the values, 0 where nothing is relevant.

    gradients : ndarray of shape (n_queries, n_levels * n_distances)
        Receives the gradients.
    """
    p = ties.relevant
    relevant = ties.relevant_before
    gain = ties.gain
    by_c = ties.by_size
    by_p = ties.by_relevant
    by_x = ties.by_rank
    by_before = ties.by_relevant_before
    for q in range(len(gradients)):
        end = (q + 1) * (n_distances + 1) - 1
        weight, value = 1 / relevant[end] if relevant[end] > 0 else 0.0, 0.0
        for t in range(end - n_distances, end):
            value += p[t] * gain[t]
        values[q] = value = value * weight
        behind_c = behind_p = 0.0  # gained where the ties behind a distance move up
        for behind in range(1, n_distances + 1):
            t = end - behind
            of_all = (by_c[t] + behind_c) * weight
            of_relevant = of_all + (by_p[t] + behind_p - value) * weight
            for cell in range(n_distances - behind, gradients.shape[1], n_distances):
                gradients[q, cell] = of_all if cell < n_distances else of_relevant
            behind_c += by_x[t]
            behind_p += by_before[t]


@compiled
def simplified_gains(ties):
    """Gains (2 P + p + 1) / (2 C + c + 1) of ties, and derivatives as below."""
    c = ties.size
    p = ties.relevant
    x = ties.first_rank
    relevant = ties.relevant_before
    gain = ties.gain
    by_c = ties.by_size
    by_p = ties.by_relevant
    by_x = ties.by_rank
    by_before = ties.by_relevant_before
    for t in range(len(c)):
        length = 1 / (2 * x[t] + c[t] - 1)
        gain[t] = (2 * relevant[t] + p[t] + 1) * length
        by_p[t] = gain[t] + p[t] * length
        by_c[t] = -p[t] * gain[t] * length
        by_x[t], by_before[t] = 2 * by_c[t], 2 * p[t] * length


@compiled
def precision_gains(ties):
    """Gains of ties, and derivatives of p times the gain by c, p, C and P of each tie.

    With a = P + 1 and b = p - 1 the gain of a tie is

        [b (1 - x M) + a (1/x + (c - 1) M)] / c.

    At c = 0 the quotient is the derivative of its numerator. psi and psi' have been
    evaluated at x. The loop is vectorized.
    """
    c = ties.size
    p = ties.relevant
    x = ties.first_rank
    relevant = ties.relevant_before
    gain = ties.gain
    by_c = ties.by_size
    by_p = ties.by_relevant
    by_x = ties.by_rank
    by_before = ties.by_relevant_before
    psi = ties.digamma
    trigamma = ties.trigamma
    for t in range(len(c) - 1):
        inverse, length = 1 / x[t], c[t] - 1
        # M and its derivatives. On a tiny interval the quotients fade into half the second
        # derivative of psi.
        start, rise = trigamma[t] - inverse * inverse, psi[t + 1] - psi[t] - inverse
        square = length * length
        part = length / (square if square > _SHORT * _SHORT else _SHORT * _SHORT)
        square = start * start
        half = (square / 24 - 0.5) * square
        half -= half * length * part
        mean = start + (rise - length * start) * part + half * length
        by_start = half - (start - mean) * part
        by_end = half + (trigamma[t + 1] - mean) * part
        # The gain and its derivatives
        a, b = relevant[t] + 1, p[t] - 1
        slant = a * length - b * x[t]  # M enters the numerator times this
        limit = mean * a + slant * by_end
        share = 1 / (c[t] if c[t] > _NEAR else _NEAR)
        first = a * inverse
        gain[t] = limit + (b + first + slant * mean - c[t] * limit) * share
        share *= p[t]
        by_c[t] = (limit - gain[t]) * share
        by_p[t] = gain[t] + share * (1 - mean * x[t])
        by_x[t] = ((by_start + by_end) * slant - b * mean - first * inverse) * share
        by_before[t] = (inverse + length * mean) * share


@compiled
def digamma_and_trigamma(x, psi, trigamma, spare):
    """Evaluate psi and psi' at all x >= 1, to 2e-11 and 1e-8.

    The argument is moved up by 4: with m = x + 3/2 the sum 1/x + ... + 1/(x + 3) is 2 m
    both, where both = 1 / (m**2 - 9/4) + 1 / (m**2 - 1/4), and that of the squares is its
    derivative. The logarithm of y = x + 7/2 is that of a power of two and of a number in
    [3/4, 3/2), which is twice the inverse hyperbolic tangent of (y - 1) / (y + 1).
    """
    bits = spare.view(np.int64)
    for i in range(len(x)):
        spare[i] = x[i] + 3.5
    for i in range(len(x)):
        power = (bits[i] - _THREE_QUARTERS) >> 52
        psi[i] = power
        bits[i] -= power << 52
    for i in range(len(x)):
        middle, y = x[i] + 1.5, spare[i]
        square, inverse, s = middle * middle, 1 / (x[i] + 3.5), (y - 1) / (y + 1)
        first, second = 1 / (square - 2.25), 1 / (square - 0.25)
        both, squares = first + second, first * first + second * second
        t, z = inverse * inverse, s * s
        series = 1 / 9 + z * (1 / 11 + z * (1 / 13 + z * (1 / 15 + z / 17)))
        series = 1 + z * (1 / 3 + z * (1 / 5 + z * (1 / 7 + z * series)))
        tail = t * (_S0 + t * (_S1 + t * (_S2 + t * _S3)))
        psi[i] = 2 * s * series + psi[i] * _LOG_2 + tail - 2 * middle * both
        slope = 1 - 2 * t * (_S0 + t * (2 * _S1 + t * (3 * _S2 + t * 4 * _S3)))
        trigamma[i] = slope * inverse - 2 * (both - 2 * squares * square)


@compiled
def ndcg(counts, gains, simplified, discounts, sums, values, gradients):
    """NDCG of tables of counts, and its gradients.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels * n_distances), dtype float64
        Counts, level by level.

    gains : ndarray of shape (n_levels,), dtype float64
        Gain of an item of each level, ascending.

    simplified : bool
        Whether each tie counts by its middle rank.

    discounts, sums : ndarrays, dtype float64
        D(1), D(2), ... and S(0), S(1), ..., two more than any query has items.

    values : ndarray of shape (n_queries,)
        Receives the values, 0 where nothing is relevant.

    gradients : ndarray of the shape of `counts`
        Receives the gradients.
    """
    n_levels = len(gains)
    n = counts.shape[1] // n_levels
    of_ties = np.empty((4, n))
    c, gain, mean, by_c = of_ties[0], of_ties[1], of_ties[2], of_ties[3]
    # The ideal ranking: a tie for each level, the best first.
    of_ideal = np.empty((4, n_levels))
    totals, best, ideal_mean, by_total = of_ideal[0], of_ideal[1], of_ideal[2], of_ideal[3]
    for q in range(len(counts)):
        for d in range(n):
            c[d] = gain[d] = 0
        for level in range(n_levels):
            total, turned = 0.0, n_levels - 1 - level
            for d in range(n):
                count = counts[q, level * n + d]
                c[d] += count
                gain[d] += gains[level] * count
                total += count
            totals[turned], best[turned] = total, gains[level] * total
        ideal = _gain_of_ties(best, totals, False, discounts, sums, ideal_mean, by_total)
        value = _gain_of_ties(gain, c, simplified, discounts, sums, mean, by_c)
        weight = 1 / ideal if ideal > 0 else 0.0
        values[q] = value = value * weight
        for level in range(n_levels):
            turned, g = n_levels - 1 - level, gains[level]
            lost = value * (by_total[turned] + g * ideal_mean[turned])
            for d in range(n):
                gradients[q, level * n + d] = (by_c[d] + g * mean[d] - lost) * weight


@compiled
def _gain_of_ties(gain, c, simplified, discounts, sums, mean, by_c):
    """Sum over consecutive ties of their gain times their mean discount.

    The mean discounts, which are the gradient by the gains, and that by the counts are
    written to the last two arguments.
    """
    total = before = behind = 0.0
    for d in range(len(c)):
        after = before + c[d]
        if simplified:
            middle = before + c[d] / 2 + 1.5
            mean[d] = 1 / log2(middle)
            by_before = -gain[d] * mean[d] / (middle * log(middle))
            by_c[d] = by_before / 2
        else:
            start, end = discounts[int(before)], discounts[int(after)]
            if c[d] < _NEAR:
                mean[d] = start
            else:
                rise = sums[int(after)] - sums[int(before)]
                rise += end * (after - int(after)) - start * (before - int(before))
                mean[d] = rise / c[d]
            share = gain[d] / max(c[d], _NEAR)
            by_before = (end - start) * share
            by_c[d] = (end - mean[d]) * share
        total += gain[d] * mean[d]
        # What moves a tie up or down is gained by all counts before it.
        by_c[d] -= behind + by_before
        behind += by_before
        before = after
    for d in range(len(c)):
        by_c[d] += behind
    return total


# Steps of layers


@compiled
def drop_out(values, words, least, factor):
    """Multiply numbers by a factor where a random word reaches a least one, else by 0.

    Parameters
    ----------
    values : ndarray of shape (n,), float
        Changed in place.

    words : ndarray of at least n words, dtype uint16
        Random.

    least : uint16
        Words below it leave a number out.

    factor : float of the type of the values
        Of the others.
    """
    zero = factor - factor
    for i in range(len(values)):
        values[i] *= factor if words[i] >= least else zero


@compiled
def descend(weights, gradient, mean, rates, slow, kept):
    """Move weights down the mean of their gradients, unit by unit, and shrink them.

    Parameters
    ----------
    weights, gradient, mean : ndarrays of shape (n_units, n_inputs), float
        The first and the last are changed in place.

    rates : ndarray of shape (n_units,)
        Steps along the mean.

    slow : float
        Share of the gradient in the mean.

    kept : float
        What weights are multiplied by at last. All are of the type of the weights.
    """
    for unit in range(len(weights)):
        rate = rates[unit]
        for i in range(weights.shape[1]):
            mean[unit, i] += slow * (gradient[unit, i] - mean[unit, i])
            weights[unit, i] = (weights[unit, i] - rate * mean[unit, i]) * kept


@compiled
def descend_by_inputs(weights, mean, by_entries, centers, sums, kept, rates, slow, shrunk):
    """What `descend` does, where a gradient is one by entries, less means times sums.

    Parameters
    ----------
    weights, mean : ndarrays of shape (n_inputs, n_units), float
        Changed in place.

    by_entries : ndarray of shape (n_inputs, n_kept)
        Gradients by the entries of rows, of units that are kept.

    centers, sums : ndarrays of shapes (n_inputs,) and (n_kept,)
        Mean of the rows, and sums of the gradients by units.

    kept : ndarray of shape (n_kept,) of int
        The units that are kept; gradients of others are 0.

    rates, slow, shrunk
        As `rates`, `slow` and `kept` of `descend`.
    """
    for i in range(len(weights)):
        for unit in range(len(rates)):
            mean[i, unit] -= slow * mean[i, unit]
        for place in range(len(kept)):
            gradient = by_entries[i, place] - centers[i] * sums[place]
            mean[i, kept[place]] += slow * gradient
        for unit in range(len(rates)):
            weights[i, unit] = (weights[i, unit] - rates[unit] * mean[i, unit]) * shrunk
