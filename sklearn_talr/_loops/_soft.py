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

# Emptier distances have the limit of the quotient at 0.
_NEAR = 1e-6
# Shorter intervals lose more digits to rounding than to an expansion.
_SHORT = 1e-3
# With u = x + 7/2 and t = u**-2, psi(x + 4) = log u + t (s0 + s1 t + s2 t**2 + s3 t**3):
# the asymptotic series 1/24, -7/960, ..., economized to 2e-11 for x >= 1.
_S0, _S1 = 0.041666666392109219, -0.0072914880566011625
_S2, _S3 = 0.0038257782879866375, -0.0035031332693827145
_LOG_2 = log(2)
_THREE_QUARTERS = 0x3FE8000000000000  # bits of 0.75


class Bins(NamedTuple):
    """Bins of distances; all three numbers are of the type of the products."""

    scale: np.floating  # bins by which a product of 1 is nearer than one of 0
    half: np.floating  # half the number of bins, the position of a product of 0
    top: np.floating  # number of bins

    @classmethod
    def from_scale(cls, scale, n_bins, dtype):
        """Bins for products of this type."""
        number = np.dtype(dtype).type
        return cls(number(scale), number(0.5 * n_bins), number(n_bins))


@compiled
def count_softly(products, levels, bins, counts, cells):
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

    bins : Bins

    counts : ndarray of shape (n_queries, n_levels * (n_bins + 1)), float
        Receives the counts.

    cells : ndarray of shape (n_queries, n_items), dtype int32
        Receives the cells; ``n_levels * (n_bins + 1)`` for pairs that are not counted.
    """
    n_cells = counts.shape[1]
    n_pairs = np.empty(n_cells + 1)
    shares = np.empty(n_cells + 1)
    upper = np.empty_like(products[0])
    scale = bins.scale
    half = bins.half
    top = bins.top
    zero = half - half
    last_lo = np.int32(top - 1)
    n_distances = np.int32(top + 1)
    uncounted = np.int32(n_cells)
    for q in range(len(products)):
        row = products[q]
        row_levels = levels[q]
        row_cells = cells[q]
        # This loop is vectorized: the cell of each pair, and its share in the next.
        for i in range(len(row)):
            position = half - scale * row[i]
            # A position that is NaN becomes 0, too.
            position = position if position > zero else zero
            position = position if position < top else top
            lo = min(np.int32(position), last_lo)
            # The difference of a product from itself makes the share NaN where it is.
            upper[i] = position - np.float32(lo) + (row[i] - row[i])
            level = np.int32(row_levels[i])
            row_cells[i] = level * n_distances + lo if level >= 0 else uncounted
        for cell in range(n_cells + 1):
            n_pairs[cell] = 0
            shares[cell] = 0
        for i in range(len(row)):
            cell = np.uint32(row_cells[i])
            n_pairs[cell] += 1
            shares[cell] += upper[i]
        counts[q, 0] = n_pairs[0] - shares[0]
        for cell in range(1, n_cells):
            counts[q, cell] = n_pairs[cell] - shares[cell] + shares[cell - 1]


@compiled
def look_up(steps, cells, out):
    """Look the gradient of each pair of a block of queries up by its cell.

    Parameters
    ----------
    steps : ndarray of shape (n_queries, n_cells + 1)
        What moving a pair of each cell up by one bin adds; 0 for pairs not counted.

    cells : ndarray of shape (n_queries, n_items), dtype int32
        Cells, as `count_softly` writes them.

    out : ndarray of shape (n_queries, n_items)
        Receives the gradients.
    """
    for q in range(len(cells)):
        row_steps = steps[q]
        row_out = out[q]
        for i in range(cells.shape[1]):
            row_out[i] = row_steps[np.uint32(cells[q, i])]


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
        weight = 1 / relevant[end] if relevant[end] > 0 else 0.0
        value = 0.0
        for t in range(end - n_distances, end):
            value += p[t] * gain[t]
        value *= weight
        values[q] = value
        # What is gained if all ties behind a distance move up by an item.
        behind_c = 0.0
        behind_p = 0.0
        for behind in range(1, n_distances + 1):
            t = end - behind
            by_items = (by_c[t] + behind_c) * weight
            by_relevant_items = by_items + (by_p[t] + behind_p - value) * weight
            for cell in range(n_distances - behind, gradients.shape[1], n_distances):
                gradients[q, cell] = by_items if cell < n_distances else by_relevant_items
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
        by_x[t] = 2 * by_c[t]
        by_before[t] = 2 * p[t] * length


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
        inverse = 1 / x[t]
        length = c[t] - 1
        # M and its derivatives. On a tiny interval the quotients fade into half the second
        # derivative of psi.
        start = trigamma[t] - inverse * inverse
        rise = psi[t + 1] - psi[t] - inverse
        square = length * length
        part = length / (square if square > _SHORT * _SHORT else _SHORT * _SHORT)
        start_square = start * start
        half = (start_square / 24 - 0.5) * start_square
        half -= half * length * part
        mean = start + (rise - length * start) * part + half * length
        by_start = half - (start - mean) * part
        by_end = half + (trigamma[t + 1] - mean) * part
        # The gain and its derivatives
        a = relevant[t] + 1
        b = p[t] - 1
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
    pairs, where pairs = 1 / (m**2 - 9/4) + 1 / (m**2 - 1/4), and that of the squares is its
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
        # The sums of 1/x and of 1/x**2 over the four steps
        middle = x[i] + 1.5
        square = middle * middle
        outer = 1 / (square - 2.25)
        inner = 1 / (square - 0.25)
        pairs = outer + inner
        squares = outer * outer + inner * inner
        # The logarithm of y, by its series
        y = spare[i]
        s = (y - 1) / (y + 1)
        z = s * s
        series = 1 / 9 + z * (1 / 11 + z * (1 / 13 + z * (1 / 15 + z / 17)))
        series = 1 + z * (1 / 3 + z * (1 / 5 + z * (1 / 7 + z * series)))
        # The asymptotic series
        inverse = 1 / (x[i] + 3.5)
        t = inverse * inverse
        tail = t * (_S0 + t * (_S1 + t * (_S2 + t * _S3)))
        psi[i] = 2 * s * series + psi[i] * _LOG_2 + tail - 2 * middle * pairs
        slope = 1 - 2 * t * (_S0 + t * (2 * _S1 + t * (3 * _S2 + t * 4 * _S3)))
        trigamma[i] = slope * inverse - 2 * (pairs - 2 * squares * square)


class RankDiscounts(NamedTuple):
    """Discounts of ranks, two more than any query has items."""

    values: np.ndarray  # float64, D(1), D(2), ...
    sums: np.ndarray  # float64, S(0), S(1), ...


class DiscountedTies(NamedTuple):
    """Ties of one ranking, with their discounts; all of shape (n_ties,), float64."""

    size: np.ndarray  # c, items of the tie
    gain: np.ndarray  # G, sum of their gains
    mean: np.ndarray  # mean discount, which is the derivative by the gain
    by_size: np.ndarray  # derivative by c


@compiled
def ndcg(counts, gains, simplified, discounts, values, gradients):
    """NDCG of tables of counts, and its gradients.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels * n_distances), dtype float64
        Counts, level by level.

    gains : ndarray of shape (n_levels,), dtype float64
        Gain of an item of each level, ascending.

    simplified : bool
        Whether each tie counts by its middle rank.

    discounts : RankDiscounts

    values : ndarray of shape (n_queries,)
        Receives the values, 0 where nothing is relevant.

    gradients : ndarray of the shape of `counts`
        Receives the gradients.
    """
    n_levels = len(gains)
    n_distances = counts.shape[1] // n_levels
    ties = _empty_ties(n_distances)
    # The ideal ranking has a tie for each level, the best first.
    ideal_ties = _empty_ties(n_levels)
    for q in range(len(counts)):
        for d in range(n_distances):
            ties.size[d] = 0
            ties.gain[d] = 0
        for level in range(n_levels):
            n_items = 0.0
            for d in range(n_distances):
                count = counts[q, level * n_distances + d]
                ties.size[d] += count
                ties.gain[d] += gains[level] * count
                n_items += count
            ideal_place = n_levels - 1 - level
            ideal_ties.size[ideal_place] = n_items
            ideal_ties.gain[ideal_place] = gains[level] * n_items
        ideal = _discounted_gain(ideal_ties, False, discounts)
        value = _discounted_gain(ties, simplified, discounts)
        weight = 1 / ideal if ideal > 0 else 0.0
        value *= weight
        values[q] = value
        for level in range(n_levels):
            gain = gains[level]
            ideal_place = n_levels - 1 - level
            by_ideal = ideal_ties.by_size[ideal_place] + gain * ideal_ties.mean[ideal_place]
            lost = value * by_ideal
            for d in range(n_distances):
                gained = ties.by_size[d] + gain * ties.mean[d]
                gradients[q, level * n_distances + d] = (gained - lost) * weight


@compiled
def _empty_ties(n_ties):
    rows = np.empty((4, n_ties))
    return DiscountedTies(rows[0], rows[1], rows[2], rows[3])


@compiled
def _discounted_gain(ties, simplified, discounts):
    """Sum the gains of consecutive ties times their mean discounts.

    The mean discounts and the derivatives by the sizes are written.
    """
    c = ties.size
    gain = ties.gain
    mean = ties.mean
    by_c = ties.by_size
    sums = discounts.sums
    total = 0.0
    before = 0.0
    behind = 0.0
    for d in range(len(c)):
        after = before + c[d]
        if simplified:
            middle = before + c[d] / 2 + 1.5
            mean[d] = 1 / log2(middle)
            by_before = -gain[d] * mean[d] / (middle * log(middle))
            by_c[d] = by_before / 2
        else:
            start = discounts.values[int(before)]
            end = discounts.values[int(after)]
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
    """Leave random numbers out, and multiply the others by a factor.

    Parameters
    ----------
    values : ndarray of shape (n,), float
        Changed in place.

    words : ndarray of at least n words, dtype uint16
        Random words, one for each number.

    least : uint16
        A number becomes 0 if its word is below this one.

    factor : float of the type of the values
        Factor of the numbers that stay.
    """
    zero = factor - factor
    for i in range(len(values)):
        values[i] *= factor if words[i] >= least else zero


class Descent(NamedTuple):
    """A step of gradient descent with momentum; all of the type of the weights."""

    rates: np.ndarray  # (n_units,), lengths of the steps along the mean gradient
    share: np.floating  # share of the new gradient in the mean
    factor: np.floating  # weights are multiplied by it at last


class EntryGradient(NamedTuple):
    """A gradient by weights of units, as a product with entries of rows less a mean.

    The gradient by the weight of input i of the unit ``units[place]`` is ``by_entries[i,
    place] - centers[i] * sums[place]``. The gradients of other units are 0.
    """

    by_entries: np.ndarray  # (n_inputs, n_kept)
    centers: np.ndarray  # (n_inputs,), mean of the rows
    sums: np.ndarray  # (n_kept,), sums of the gradients of each unit over the rows
    units: np.ndarray  # (n_kept,), int, the units that are kept


@compiled
def descend(weights, gradient, mean, descent):
    """Move weights down the mean of their gradients, unit by unit, and shrink them.

    Parameters
    ----------
    weights, gradient, mean : ndarrays of shape (n_units, n_inputs), float
        The first and the last are changed in place.

    descent : Descent
    """
    share = descent.share
    factor = descent.factor
    for unit in range(len(weights)):
        rate = descent.rates[unit]
        for i in range(weights.shape[1]):
            mean[unit, i] += share * (gradient[unit, i] - mean[unit, i])
            weights[unit, i] = (weights[unit, i] - rate * mean[unit, i]) * factor


@compiled
def descend_by_inputs(weights, mean, gradient, descent):
    """Do what `descend` does, for a gradient that is not written out.

    Parameters
    ----------
    weights, mean : ndarrays of shape (n_inputs, n_units), float
        Changed in place.

    gradient : EntryGradient

    descent : Descent
    """
    by_entries = gradient.by_entries
    sums = gradient.sums
    units = gradient.units
    rates = descent.rates
    share = descent.share
    for i in range(len(weights)):
        center = gradient.centers[i]
        for unit in range(len(rates)):
            mean[i, unit] -= share * mean[i, unit]
        for place in range(len(units)):
            slope = by_entries[i, place] - center * sums[place]
            mean[i, units[place]] += share * slope
        for unit in range(len(rates)):
            step = rates[unit] * mean[i, unit]
            weights[i, unit] = (weights[i, unit] - step) * descent.factor
