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
_LOG_2 = log(2)
_THREE_QUARTERS = 0x3FE8000000000000  # bits of 0.75
_DISTANCES_AT_A_TIME = 256  # of some queries, so that loops over them are long
_N_TABLES = 11


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

    Some queries at a time are counted, measured and differentiated while their numbers are
    in the cache.

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
    n_cells, n_queries = n_levels * n_distances, len(products)
    size = max(1, _DISTANCES_AT_A_TIME // n_distances)
    upper = np.empty_like(products[0])
    cells = np.empty((size, products.shape[1]), dtype=np.int32)
    sums, steps = np.empty((2, n_cells + 1)), np.zeros(n_cells + 1, dtype=products.dtype)
    counts = np.zeros((size, n_levels, n_distances))
    gradients = np.empty_like(counts)
    values, tables = np.empty(size), np.empty((_N_TABLES, size, n_distances + 1))
    of_cells, by_cells = counts.reshape(size, n_cells), gradients.reshape(size, n_cells)
    total = n_valued = 0.0
    for start in range(0, n_queries, size):
        n_now = min(size, n_queries - start)
        for k in range(n_now):
            q = start + k
            _place(products[q], levels[q], scale, half, top, n_cells, cells[k], upper)
            _add(cells[k], upper, sums, of_cells[k])
        _measure(counts, *how, tables, values, gradients)
        for k in range(n_now):
            # Every pair has mass 1: a query with less than a half has nothing relevant.
            n_relevant = n_items = 0.0
            for cell in range(n_cells):
                n_items += of_cells[k, cell]
                n_relevant += of_cells[k, cell] if cell >= n_distances else 0.0
            if n_relevant <= 0.5:
                for i in range(products.shape[1]):
                    products[start + k, i] = 0
                continue
            is_lost = not np.isfinite(n_items)
            total += np.nan if is_lost else values[k]
            n_valued += 1
            for cell in range(n_cells - 1):
                step = by_cells[k, cell + 1] - by_cells[k, cell]
                steps[cell] = np.nan if is_lost else step
            _look_up(steps, cells[k], products[start + k])
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
        items, float64, for NDCG. The latter are None for AP, to which all levels but the
        first are relevant.

    values : ndarray of shape (n_queries,)
        Receives the values, 0 where nothing is relevant.

    gradients : ndarray of the shape of `counts`
        Receives the gradients.
    """
    tables = np.empty((_N_TABLES, 1, counts.shape[2] + 1))
    for q in range(len(counts)):
        one = slice(q, q + 1)
        _measure(counts[one], *how, tables, values[one], gradients[one])


@compiled
def _measure(counts, gains, simplified, discounts, sums, tables, values, gradients):
    """Write values and gradients of some queries; the branch not taken is not compiled."""
    if discounts is None:
        _average_precision(counts, simplified, tables, values, gradients)
    else:
        for q in range(len(counts)):
            of_one = tables[:4, 0, : counts.shape[2]], gradients[q]
            values[q] = _ndcg(counts[q], gains, simplified, discounts, sums, *of_one)


@compiled
def _average_precision(counts, simplified, tables, values, gradients):
    """Values and gradients of some queries, whose ties stand in one row for the loops.

    An empty tie ends each query; what it receives is not used.
    """
    n_queries, n_levels, n_distances = counts.shape
    c, p, x, relevant = tables[0], tables[1], tables[2], tables[3]
    for q in range(n_queries):
        length = 1.0  # the first rank of a distance
        before = 0.0
        for d in range(n_distances + 1):
            c[q, d] = p[q, d] = 0
            if d < n_distances:
                for level in range(1, n_levels):
                    p[q, d] += counts[q, level, d]
                c[q, d] = counts[q, 0, d] + p[q, d]
            x[q, d], relevant[q, d] = length, before
            length += c[q, d]
            before += p[q, d]
    ties = tables.reshape(len(tables), -1)
    if simplified:
        _simplified_gains(ties)
    else:
        _precision_gains(ties)
    gain, by_c, by_p, by_x, by_before = (
        tables[4],
        tables[5],
        tables[6],
        tables[7],
        tables[8],
    )
    for q in range(n_queries):
        n_relevant, value = relevant[q, n_distances], 0.0
        weight = 1 / n_relevant if n_relevant > 0 else 0.0
        for d in range(n_distances):
            value += p[q, d] * gain[q, d]
        value *= weight
        behind_c = behind_p = 0.0  # gained where the ties behind a distance move up
        for d in range(n_distances - 1, -1, -1):
            of_all = (by_c[q, d] + behind_c) * weight
            of_relevant = (by_p[q, d] + behind_p - value) * weight
            gradients[q, 0, d] = of_all
            for level in range(1, n_levels):
                gradients[q, level, d] = of_all + of_relevant
            behind_c += by_x[q, d]
            behind_p += by_before[q, d]
        values[q] = value


@compiled
def _simplified_gains(ties):
    """Gains (2 P + p + 1) / (2 C + c + 1) of ties, and derivatives as below."""
    c, p, x, relevant = ties[0], ties[1], ties[2], ties[3]
    gain, by_c, by_p, by_x, by_before = ties[4], ties[5], ties[6], ties[7], ties[8]
    for t in range(len(c)):
        length = 1 / (2 * x[t] + c[t] - 1)
        gain[t] = (2 * relevant[t] + p[t] + 1) * length
        by_p[t] = gain[t] + p[t] * length
        by_c[t] = -p[t] * gain[t] * length
        by_x[t], by_before[t] = 2 * by_c[t], 2 * p[t] * length


@compiled
def _precision_gains(ties):
    """Gains of ties, and derivatives of p times the gain by c, p, C and P of each tie.

    With a = P + 1 and b = p - 1 the gain of a tie is

        [b (1 - x M) + a (1/x + (c - 1) M)] / c.

    At c = 0 the quotient is the derivative of its numerator. Each loop is vectorized.
    """
    c, p, x, relevant = ties[0], ties[1], ties[2], ties[3]
    gain, by_c, by_p, by_x, by_before = ties[4], ties[5], ties[6], ties[7], ties[8]
    psi, trigamma = ties[9], ties[10]
    _digamma_and_trigamma(x, psi, trigamma, gain)
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
def _digamma_and_trigamma(x, psi, trigamma, spare):
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
