"""Soft counts, and ranking measures of them with their gradients.

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

import numpy as np

from ._compile import compiled

_NEAR = 1e-6  # emptier distances are to have the limit of the quotient at 0
_SHORT = 1e-3  # shorter intervals lose more digits to rounding than to an expansion
# With u = x + 7/2 and t = u**-2, psi(x + 4) = log u + t (s0 + s1 t + s2 t**2 + s3 t**3):
# the asymptotic series 1/24, -7/960, ..., economized to 2e-11 for x >= 1.
_S0, _S1 = 0.041666666392109219, -0.0072914880566011625
_S2, _S3 = 0.0038257782879866375, -0.0035031332693827145


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
    sums, upper = np.empty((2, n_cells + 1)), np.empty_like(products[0])
    for q in range(len(products)):
        _place(products[q], levels[q], scale, half, top, n_cells, cells[q], upper)
        _add(cells[q], upper, sums, counts[q])


@compiled
def _place(products, levels, scale, half, top, n_cells, cells, upper):
    """The cell of each pair of a query, and its share in the next; vectorized."""
    spare = np.int32(n_cells)
    zero, last, width = half - half, np.int32(top - 1), np.int32(top + 1)
    for i in range(len(products)):
        position = half - scale * products[i]
        position = position if position > zero else zero  # also where it is NaN
        lo = min(np.int32(min(position, top)), last)
        # The difference of a product from itself makes the share NaN where the product is.
        upper[i] = min(position, top) - np.float32(lo) + (products[i] - products[i])
        level = np.int32(levels[i])
        cells[i] = level * width + lo if level >= 0 else spare


@compiled
def _add(cells, upper, sums, counts):
    """Counts of a query from the cells of its pairs and their shares in the next."""
    sums[:] = 0
    numbers, shares = sums[0], sums[1]
    for i in range(len(cells)):
        cell = np.uint32(cells[i])
        numbers[cell] += 1
        shares[cell] += upper[i]
    counts[0] = numbers[0] - shares[0]
    for cell in range(1, len(counts)):
        counts[cell] = numbers[cell] - shares[cell] + shares[cell - 1]


@compiled
def _look_up(steps, cells, out):
    """Look the gradient of each pair up by its cell, and write it to `out`."""
    for i in range(len(cells)):
        out[i] = steps[np.uint32(cells[i])]


@compiled
def rank_softly(products, levels, scale, half, top, how):
    """Measure the rankings of a block of queries, and differentiate by all pairs.

    Each query is counted, measured and differentiated while its numbers are in the cache.

    Parameters
    ----------
    products : ndarray of shape (n_queries, n_items), float
        Inner products of relaxed bits. Receives the gradient of the sum of the values by
        the positions of the pairs, in bins.

    levels, scale, half, top
        As of `count_softly`.

    how : tuple
        As of `measure_counts`. Gains have one entry for each level also for AP.

    Returns
    -------
    total, n_queries : float
        Sum of the values of the queries that have something relevant, and their number.
    """
    n_levels, n_distances = len(how[0]), int(top) + 1
    n_cells = n_levels * n_distances
    upper, cells = np.empty_like(products[0]), np.empty(products.shape[1], dtype=np.int32)
    sums, steps = np.empty((2, n_cells + 1)), np.zeros(n_cells + 1, dtype=products.dtype)
    counts = np.empty((n_levels, n_distances))
    gradients, of_cells = np.empty_like(counts), counts.reshape(n_cells)
    tables = np.empty((6, n_distances))
    total = n_valued = 0.0
    for q in range(len(products)):
        _place(products[q], levels[q], scale, half, top, n_cells, cells, upper)
        _add(cells, upper, sums, of_cells)
        # Every pair has mass 1: a query with less than a half has nothing relevant.
        n_relevant = n_items = 0.0
        for level in range(n_levels):
            for d in range(n_distances):
                n_items += counts[level, d]
                n_relevant += counts[level, d] if level else 0.0
        if n_relevant <= 0.5:
            for i in range(len(cells)):
                products[q, i] = 0
            continue
        if np.isfinite(n_items):
            total += _measure(counts, *how, tables, gradients)
        else:
            total += np.nan
            gradients[:] = np.nan
        n_valued += 1
        for level in range(n_levels):
            for d in range(n_distances - 1):
                step = gradients[level, d + 1] - gradients[level, d]
                steps[level * n_distances + d] = step
        _look_up(steps, cells, products[q])
    return total, n_valued


@compiled
def measure_counts(counts, how, values, gradients):
    """Ranking measures of tables of counts, and their gradients.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels, n_distances), dtype float64
        Counts.

    how : tuple of gains, simplified, discounts and sums
        Gain of an item of each level, ascending, float64; whether each tie counts by its
        middle rank; D(1), D(2), ... and S(0), S(1), ..., two more than any query has
        items, float64, for NDCG. The latter are empty for AP, to which all levels but the
        first are relevant.

    values : ndarray of shape (n_queries,)
        Receives the values, 0 where nothing is relevant.

    gradients : ndarray of the shape of `counts`
        Receives the gradients.
    """
    tables = np.empty((6, counts.shape[2]))
    for q in range(len(counts)):
        values[q] = _measure(counts[q], *how, tables, gradients[q])


@compiled
def _measure(counts, gains, simplified, discounts, sums, tables, gradients):
    if len(discounts):
        return _ndcg(counts, gains, simplified, discounts, sums, tables, gradients)
    return _average_precision(counts, simplified, tables, gradients)


@compiled
def _average_precision(counts, simplified, tables, gradients):
    n_levels, n_distances = counts.shape
    c, p = tables[0], tables[1]
    n_relevant = 0.0
    for d in range(n_distances):
        p[d] = 0
        for level in range(1, n_levels):
            p[d] += counts[level, d]
        c[d] = counts[0, d] + p[d]
        n_relevant += p[d]
    weight = 1 / n_relevant if n_relevant > 0 else 0.0
    if simplified:
        value = weight * _simplified_sum(c, p, tables[2:])
    else:
        value = weight * _precision_sum(c, p, tables[2:])
    behind_c = behind_p = 0.0  # what is gained where the ties behind a distance move up
    for d in range(n_distances - 1, -1, -1):
        by_c = (tables[2, d] + behind_c) * weight
        by_p = (tables[3, d] + behind_p - value) * weight
        gradients[0, d] = by_c
        for level in range(1, n_levels):
            gradients[level, d] = by_c + by_p
        behind_c += tables[4, d]
        behind_p += tables[5, d]
    return value


@compiled
def _simplified_sum(c, p, tables):
    """Sum over ties of p (2 P + p + 1) / (2 C + c + 1), and derivatives as below."""
    by_c, by_p, by_x, by_before = tables[0], tables[1], tables[2], tables[3]
    total = items = relevant = 0.0
    for d in range(len(c)):
        length = 1 / (2 * items + c[d] + 1)
        precision = (2 * relevant + p[d] + 1) * length
        total += p[d] * precision
        by_p[d] = precision + p[d] * length
        by_c[d] = -p[d] * precision * length
        by_x[d], by_before[d] = 2 * by_c[d], 2 * p[d] * length
        items += c[d]
        relevant += p[d]
    return total


@compiled
def _precision_sum(c, p, tables):
    """Sum over ties of p times a gain, and its derivatives by c, p, C and P of each tie.

    With a = P + 1 and b = p - 1 the gain of a tie is

        [b (1 - x M) + a (1/x + (c - 1) M)] / c.

    At c = 0 the quotient is the derivative of its numerator.
    """
    by_c, by_p, by_x, by_before = tables[0], tables[1], tables[2], tables[3]
    total = relevant = 0.0
    x = 1.0
    psi, trigamma = _digamma_and_trigamma(x)
    for d in range(len(c)):
        inverse, length = 1 / x, c[d] - 1
        # M and its derivatives. On a tiny interval the quotients fade into half the second
        # derivative of psi.
        start = trigamma - inverse * inverse
        rise = -psi - inverse
        ahead = x + c[d]
        if ahead != x:
            psi, trigamma = _digamma_and_trigamma(ahead)
        rise += psi
        part = length / max(length * length, _SHORT * _SHORT)
        square = start * start
        half = (square / 24 - 0.5) * square
        half -= half * length * part
        mean = start + (rise - length * start) * part + half * length
        by_start = half - (start - mean) * part
        by_end = half + (trigamma - mean) * part
        # The gain and its derivatives
        a, b = relevant + 1, p[d] - 1
        slant = a * length - b * x  # M enters the numerator times this
        limit = mean * a + slant * by_end
        share = 1 / max(c[d], _NEAR)
        first = a * inverse
        gain = limit + (b + first + slant * mean - c[d] * limit) * share
        total += p[d] * gain
        share *= p[d]
        by_c[d] = (limit - gain) * share
        by_p[d] = gain + share * (1 - mean * x)
        by_x[d] = ((by_start + by_end) * slant - b * mean - first * inverse) * share
        by_before[d] = (inverse + length * mean) * share
        relevant += p[d]
        x = ahead
    return total


@compiled
def _digamma_and_trigamma(x):
    """Evaluate psi and psi' at x >= 1, to 2e-11 and 1e-8.

    The argument is moved up by 4: with m = x + 3/2 the sum 1/x + ... + 1/(x + 3) is 2 m
    both, where both = 1 / (m**2 - 9/4) + 1 / (m**2 - 1/4), and that of the squares is its
    derivative.
    """
    middle = x + 1.5
    square = middle * middle
    first, second = 1 / (square - 2.25), 1 / (square - 0.25)
    both = first + second
    inverse = 1 / (x + 3.5)
    t = inverse * inverse
    psi = log(x + 3.5) + t * (_S0 + t * (_S1 + t * (_S2 + t * _S3))) - 2 * middle * both
    slope = 1 - 2 * t * (_S0 + t * (2 * _S1 + t * (3 * _S2 + t * 4 * _S3)))
    squares = first * first + second * second
    return psi, slope * inverse - 2 * (both - 2 * squares * square)


@compiled
def _ndcg(counts, gains, simplified, discounts, sums, tables, gradients):
    n_levels, n_distances = counts.shape
    c, gain, mean, by_c = tables[0], tables[1], tables[2], tables[3]
    # The ideal ranking: a tie for each level, the best first.
    ideals = np.empty((4, n_levels))
    totals, best, ideal_mean, by_total = ideals[0], ideals[1], ideals[2], ideals[3]
    c[:] = 0
    gain[:] = 0
    for level in range(n_levels):
        total = 0.0
        for d in range(n_distances):
            c[d] += counts[level, d]
            gain[d] += gains[level] * counts[level, d]
            total += counts[level, d]
        totals[n_levels - 1 - level] = total
        best[n_levels - 1 - level] = gains[level] * total
    ideal = _gain_of_ties(best, totals, False, discounts, sums, ideal_mean, by_total)
    value = _gain_of_ties(gain, c, simplified, discounts, sums, mean, by_c)
    weight = 1 / ideal if ideal > 0 else 0.0
    value *= weight
    for level in range(n_levels):
        turned, g = n_levels - 1 - level, gains[level]
        of_ideal = value * (by_total[turned] + g * ideal_mean[turned])
        for d in range(n_distances):
            gradients[level, d] = (by_c[d] + g * mean[d] - of_ideal) * weight
    return value


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
