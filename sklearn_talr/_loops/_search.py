"""Compiled loops of search: nearest codes by Hamming distance, and by weights.

Codes come as *columns*, an array of shape (n_words, n_codes): each word of all codes side
by side. *Terms* are a tuple of five arrays, see `CodeTerms` of `codes`. Codes are compared
tile by tile, so that intermediate results of a tile stay in the cache.
"""

from typing import NamedTuple

import numpy as np

from ._compile import compiled, copy_to, count_ones
from ._lanes import CODES, QUERIES, codes_near, queries_near, query_near

# Number of codes of a tile
TILE = 1_024
# Up to this many queries are searched one by one, since tables of many queries take longer
# to write.
_MAX_SINGLE_QUERIES = 4
# From this many codes on, planes of bits are faster to compare than tables of bytes.
_MIN_CODES_FOR_PLANES = 4_096
# This many codes near to a query are scored together.
_HITS_PER_QUERY = 32
# The k best codes are selected whenever a query has found at least this many more.
_MIN_CODES_TO_SPARE = 32
# Lines and terms are rounded up by this share, which is more than float32 rounds.
_ROUNDING_SHARE = 2.0**-20
# Numbers so large, or so small, could overflow when they are multiplied in float32.
_MAX_MAGNITUDE = 1e18


class NearCodes(NamedTuple):
    """Codes that queries have found by Hamming distance."""

    rows: np.ndarray  # (n_queries, n_places), numbers of the codes
    distances: np.ndarray  # (n_queries, n_places)
    n_found: np.ndarray  # (n_queries,), how many places are taken
    reach: np.ndarray  # (n_queries,), a distance that holds k codes, or all that are wanted
    n_within: np.ndarray  # (n_queries,), codes found within the reach
    at_distance: np.ndarray  # (n_queries, n_bits + 1), codes found by distance


class BestCodes(NamedTuple):
    """Codes that queries have found by score.

    A cost is a whole number of *steps* that a score lacks at least to the highest.
    """

    rows: np.ndarray  # (n_queries, n_places), numbers of the codes
    scores: np.ndarray  # (n_queries, n_places), float64
    n_found: np.ndarray  # (n_queries,), how many places are taken
    n_before_selection: np.ndarray  # (n_queries,), when so many are found the k best stay
    least: np.ndarray  # (n_queries,), the least score wanted
    highest: np.ndarray  # (n_queries,), the highest score, in steps
    step: np.ndarray  # (n_queries,), what a step is worth as a score


class Lines(NamedTuple):
    """The largest costs within reach of queries: a sum of three, see `_lanes`."""

    start: np.ndarray  # (n_lanes,), float32
    by_inverse: np.ndarray  # (n_lanes,), times one over the factor of a code
    by_addend: np.ndarray  # (n_lanes,), times the addend over the factor


class TileTerms(NamedTuple):
    """Terms of the codes of a tile as the instructions of `_lanes` take them."""

    inverse: np.ndarray  # (TILE,), float32, one over the factor
    addend: np.ndarray  # (TILE,), float32, addend over the factor


class ByteTerms(NamedTuple):
    """Terms by the bytes that codes have of factors and of lengths."""

    inverse_of_factor: np.ndarray  # (256,), float32
    inverse_of_length: np.ndarray  # (256,), float32
    addend_of_length: np.ndarray  # (256,), float32


@compiled
def hamming_scan(queries, columns, n_bits, k, radius, whole, tile):
    """Find codes near to queries by Hamming distance.

    Parameters
    ----------
    queries : array of shape (n_queries, n_words), of the type of the columns

    columns : array of shape (n_words, n_codes)

    n_bits : int
        Length of a code.

    k : int
        Number of codes wanted; 0 asks for all within the radius.

    radius : int
        Greatest distance.

    whole : bool
        Whether all codes at the distance of the last are wanted, too. If not, the first k
        are among what is found, and perhaps not all that are tied with the last.

    tile : array of shape (1024,)
        Is written to. Distances have its type, which must hold `n_bits`.

    Returns
    -------
    counts : array of shape (n_queries,)
        How many codes each query has found.

    rows, distances : arrays of shape (n_found,)
        Numbers of the codes, query by query and ascending, and their distances.
    """
    n_queries = len(queries)
    n_codes = columns.shape[1]
    n_places = 2 * TILE + 4 * min(k, n_codes)
    rows = np.empty((n_queries, n_places), dtype=np.int64)
    distances = np.empty((n_queries, n_places), dtype=tile.dtype)
    n_found = np.zeros(n_queries, dtype=np.int64)
    reach = np.full(n_queries, radius, dtype=np.int64)
    n_within = np.zeros(n_queries, dtype=np.int64)
    at_distance = np.zeros((n_queries, n_bits + 1), dtype=np.int64)
    for first in range(0, n_codes, TILE):
        part = tile[: min(TILE, n_codes - first)]
        for query in range(n_queries):
            if n_found[query] + len(part) > rows.shape[1]:
                n_found[query] = _drop(
                    rows[query], distances[query], n_found[query], reach[query]
                )
                if n_found[query] + len(part) > rows.shape[1]:
                    rows = _wider(rows)
                    distances = _wider(distances)
            _write_distances(queries[query], columns, first, part)
            is_full = k > 0 and not whole and n_within[query] >= k
            if _least(part) <= reach[query] - is_full:
                near = NearCodes(rows, distances, n_found, reach, n_within, at_distance)
                _take_near(part, first, near, query, k, whole)
    for query in range(n_queries):
        n_found[query] = _drop(rows[query], distances[query], n_found[query], reach[query])
    return n_found, _flat(rows, n_found), _flat(distances, n_found)


@compiled
def _wider(values):
    """Rows of twice the places, and the values at their old ones."""
    wider = np.empty((len(values), 2 * values.shape[1]), dtype=values.dtype)
    for row in range(len(values)):
        for place in range(values.shape[1]):
            wider[row, place] = values[row, place]
    return wider


@compiled
def _write_distances(query, columns, first, distances):
    for place in range(len(query)):
        word = query[place]
        column = columns[place, first : first + len(distances)]
        if place == 0:
            for code in range(len(distances)):
                distances[code] = count_ones(word ^ column[code])
        else:
            for code in range(len(distances)):
                distances[code] += count_ones(word ^ column[code])


@compiled
def _least(distances):
    least = distances[0]
    # The loop is compiled to minima of vectors.
    for code in range(len(distances)):
        least = distances[code] if distances[code] < least else least
    return least


@compiled
def _take_near(tile_distances, first, near, query, k, whole):
    """Add the codes of a tile that are within the reach of a query, and draw that in."""
    rows = near.rows[query]
    distances = near.distances[query]
    at_distance = near.at_distance[query]
    count = near.n_found[query]
    reach = near.reach[query]
    n_within = near.n_within[query]
    limit = reach - (k > 0 and not whole and n_within >= k)
    for code in range(len(tile_distances)):
        distance = np.int64(tile_distances[code])
        if distance > limit:
            continue
        rows[count] = first + code
        distances[count] = distance
        count += 1
        if k > 0:
            at_distance[distance] += 1
            n_within += 1
            while n_within - at_distance[reach] >= k:
                n_within -= at_distance[reach]
                reach -= 1
            limit = reach - (not whole and n_within >= k)
    near.n_found[query] = count
    near.reach[query] = reach
    near.n_within[query] = n_within


@compiled
def _drop(rows, distances, n_found, reach):
    """Drop codes beyond the reach of a query; return how many stay."""
    n_kept = 0
    for place in range(n_found):
        rows[n_kept] = rows[place]
        distances[n_kept] = distances[place]
        n_kept += distances[place] <= reach
    return n_kept


@compiled
def _flat(values, counts):
    n_found = 0
    for query in range(len(counts)):
        n_found += counts[query]
    flat = np.empty(n_found, dtype=values.dtype)
    start = 0
    for query in range(len(counts)):
        for place in range(counts[query]):
            flat[start + place] = values[query, place]
        start += counts[query]
    return flat


@compiled
def weighted_scan(weights, columns, terms, as_costs, k, radius, whole):
    """Find the codes of highest scores; scores are in float64.

    Costs, in few bits, decide which codes may be among them. Tables of 16 bits hold the
    costs by byte and value, for many queries side by side, or for a single one. If a single
    query has weights of bits, costs of many codes are counts of ones instead, by four bits
    of the magnitudes.

    The function is long because the arrays that all its stages share are made once, and
    would have to be passed to each of them, for each tile.

    Parameters
    ----------
    weights : array of shape (n_queries, n_weights), dtype float32
        Weights of bits, of whole bytes, or of all values of each byte.

    columns : array of shape (n_words, n_codes)

    terms : CodeTerms
        Factors and addends of the codes.

    as_costs : bool
        Whether a bit that the query prefers adds 0, and any other bit minus the magnitude
        of its weight.

    k : int
        Number of codes to find; 0 means all within the radius.

    radius : float
        Minus the least score of a code that is found.

    whole : bool
        See `hamming_scan`.

    Returns
    -------
    counts, rows
        See `hamming_scan`.

    scores : array of shape (n_found,), dtype float64
        A score depends on the query and the code alone.
    """
    n_queries = len(weights)
    n_codes = columns.shape[1]
    n_bytes = len(columns) * columns.itemsize
    is_strict = k > 0 and not whole
    n_lanes = QUERIES if n_queries > _MAX_SINGLE_QUERIES else 1
    exact = np.empty((n_queries, n_bytes, 256))
    tables = np.empty((n_bytes, 256, n_lanes), dtype=np.uint16)
    planes = np.empty((len(columns), 5), dtype=np.uint64)
    # The instructions read whole arrays, whose rows have names, too.
    line_rows = np.empty((3, QUERIES), np.float32)
    lines = Lines(line_rows[0], line_rows[1], line_rows[2])
    term_rows = np.empty((2, TILE), np.float32)
    tile_terms = TileTerms(term_rows[0], term_rows[1])
    byte_rows = np.empty((3, 256), np.float32)
    byte_terms = ByteTerms(byte_rows[0], byte_rows[1], byte_rows[2])
    _invert_terms_of_bytes(terms, byte_terms)
    tile_terms.inverse[:] = 1
    tile_terms.addend[:] = 0
    hits = np.empty(_HITS_PER_QUERY * n_lanes + QUERIES, dtype=np.int64)
    values = np.empty(len(hits))
    n_places = len(hits) + _MIN_CODES_TO_SPARE + 2 * min(k, n_codes)
    rows = np.empty((n_queries, n_places), dtype=np.int64)
    scores = np.empty((n_queries, n_places))
    n_found = np.zeros(n_queries, dtype=np.int64)
    n_before_selection = np.full(n_queries, k + _MIN_CODES_TO_SPARE, dtype=np.int64)
    least = np.full(n_queries, -np.float64(radius))
    highest = np.empty(n_queries)
    step = np.empty(n_queries)
    for start in range(0, n_queries, n_lanes):
        n_together = min(n_lanes, n_queries - start)
        for query in range(start, start + n_together):
            write_table(weights[query], as_costs, exact[query])
        by_planes = n_lanes == 1 and n_codes >= _MIN_CODES_FOR_PLANES
        by_planes = by_planes and columns.itemsize == 8 and weights.shape[1] <= 8 * n_bytes
        is_new = True
        for first in range(0, n_codes, TILE):
            if is_new:
                if by_planes:
                    _write_planes(weights[start], as_costs, planes, highest, step, start)
                else:
                    end = start + n_together
                    _write_tables(
                        weights[start:end],
                        exact[start:end],
                        as_costs,
                        tables,
                        highest[start:end],
                        step[start:end],
                    )
                for lane in range(n_together):
                    query = start + lane
                    _draw_line(lines, lane, highest[query], step[query], least[query])
            n_in_tile = min(TILE, n_codes - first)
            place = np.int64(0)
            n_near = np.int64(0)
            _write_terms(terms, byte_terms, first, n_in_tile, tile_terms)
            while place < n_in_tile:
                near = tables, planes, columns, term_rows, line_rows
                n_hits, place = _find_hits(
                    near, by_planes, first, place, n_in_tile, n_together, hits
                )
                if n_hits == 0:
                    continue
                n_near += n_hits
                for query in range(start, start + n_together):
                    if n_found[query] + n_hits > rows.shape[1]:
                        rows = _wider(rows)
                        scores = _wider(scores)
                best = BestCodes(
                    rows, scores, n_found, n_before_selection, least, highest, step
                )
                _score(hits, n_hits, start, exact, columns, terms, values)
                _take(hits, values, n_hits, start, best, lines, k, is_strict)
            # Planes are left when they let too many codes through.
            is_new = (
                by_planes and 16 * n_near > n_in_tile and first >= _MIN_CODES_FOR_PLANES
            )
            by_planes = by_planes and not is_new
        best = BestCodes(rows, scores, n_found, n_before_selection, least, highest, step)
        for lane in range(n_together):
            _keep_best(start, lane, best, lines, k, is_strict)
    return n_found, _flat(rows, n_found), _flat(scores, n_found)


@compiled
def _find_hits(near, by_planes, first, place, n_in_tile, n_queries, hits):
    """Write pairs of codes and queries that may be near, until there are many.

    Returns how many these are, and the place of the next code. The loop is a function of
    its own, since references to what is bound anew around it would be counted in it.
    """
    tables, planes, columns, terms, lines = near
    n_hits = np.int64(0)
    are_many = tables.shape[2] > 1
    while place < n_in_tile and n_hits < len(hits) - QUERIES:
        code = first + place
        step = 1
        n_codes = 1
        if are_many:
            mask = queries_near(tables, columns, terms, lines, code, place)
            mask &= np.uint32((np.int64(1) << n_queries) - 1)
        elif by_planes:
            step = QUERIES
            n_codes = CODES
            mask = np.uint32((np.int64(1) << (n_in_tile - place)) - 1)
            if n_in_tile - place >= CODES:
                mask = codes_near(planes, columns, terms, lines, code, place)
        else:
            mask = query_near(tables, columns, terms, lines, code, place)
        while mask:
            lowest = mask & (~mask + np.uint32(1))
            mask ^= lowest
            lane = np.int64(count_ones(lowest - np.uint32(1)))
            hits[n_hits] = code * QUERIES + step * lane
            n_hits += 1
        place += n_codes
    return n_hits, place


@compiled
def _take(hits, values, n_hits, start, best, lines, k, is_strict):
    """Add to what queries have found the codes whose scores are high enough."""
    for place in range(n_hits):
        lane = hits[place] % QUERIES
        query = start + lane
        score = values[place]
        limit = best.least[query]
        # Of codes that tie with the last those that come first are taken.
        if score > limit or (score == limit and not (is_strict and limit > -np.inf)):
            count = best.n_found[query]
            best.rows[query, count] = hits[place] // QUERIES
            best.scores[query, count] = score
            best.n_found[query] += 1
            if k > 0 and count + 1 == best.n_before_selection[query]:
                _keep_best(start, lane, best, lines, k, is_strict)


@compiled
def _keep_best(start, lane, best, lines, k, is_strict):
    """Drop what is not among the k best, and draw the line anew."""
    query = start + lane
    rows = best.rows[query]
    scores = best.scores[query]
    count = best.n_found[query]
    n_tied = count
    if k > 0 and count >= k:
        limit = _nth(scores, count, count - k)
        best.least[query] = limit
        if is_strict:
            n_tied = k
            for place in range(count):
                n_tied -= scores[place] > limit
        n_kept = np.int64(0)
        for place in range(count):
            score = scores[place]
            rows[n_kept] = rows[place]
            scores[n_kept] = score
            n_kept += score > limit or (score == limit and n_tied > 0)
            n_tied -= score == limit
        best.n_found[query] = n_kept
        best.n_before_selection[query] = n_kept + n_kept // 2 + _MIN_CODES_TO_SPARE
        _draw_line(lines, lane, best.highest[query], best.step[query], limit)


@compiled
def _draw_line(lines, lane, highest, step, least):
    """Write the largest cost within reach of a query, rounded up, as a sum of three.

    A code of a factor above 0 is if ``cost * step <= highest - (least - addend) / factor``.
    """
    # Every cost is, if the numbers are too large or too small.
    lines.start[lane] = np.inf
    lines.by_inverse[lane] = 0
    lines.by_addend[lane] = 0
    is_finite = abs(least) < _MAX_MAGNITUDE * step and abs(highest) < _MAX_MAGNITUDE
    if step > 1 / _MAX_MAGNITUDE and is_finite:
        slope = -least / step
        lines.start[lane] = highest + abs(highest) * _ROUNDING_SHARE + 1
        lines.by_inverse[lane] = slope + abs(slope) * _ROUNDING_SHARE
        lines.by_addend[lane] = 1 / step


@compiled
def _invert_terms_of_bytes(terms, byte_terms):
    """Write the terms of bytes: one over factors, and addends over factors."""
    for value in range(256 if len(terms.factors) else 0):
        inverse, _ = _invert(terms.factor_table[value], np.float32(0))
        byte_terms.inverse_of_factor[value] = inverse
    for value in range(256 if len(terms.lengths) else 0):
        factor = terms.length_table[value, 0]
        inverse, addend = _invert(factor, terms.length_table[value, 1])
        byte_terms.inverse_of_length[value] = inverse
        byte_terms.addend_of_length[value] = addend


@compiled
def _invert(factor, addend):
    """One over a factor, and an addend over it, rounded up; NaN if every cost is near.

    Codes without a factor above 0 come last.
    """
    inverse = np.float32(np.inf)
    term = np.float32(0)
    if factor > 0:
        inverse = np.float32(np.nan)
        is_small = factor < _MAX_MAGNITUDE and abs(addend) < _MAX_MAGNITUDE * factor
        if factor > 1 / _MAX_MAGNITUDE and is_small:
            inverse = np.float32(1) / factor
            term = addend / factor
    return inverse, term + abs(term) * np.float32(_ROUNDING_SHARE)


@compiled
def _write_terms(terms, byte_terms, first, n_codes, tile_terms):
    """Write one over the factors of the codes of a tile, and addends over factors."""
    inverse = tile_terms.inverse
    addend = tile_terms.addend
    numbers = terms.given
    if numbers.shape[1] > 0:
        for place in range(n_codes):
            added = numbers[first + place, 1] if numbers.shape[1] > 1 else np.float32(0)
            factor = numbers[first + place, 0]
            inverse[place], addend[place] = _invert(factor, added)
            # Codes without a factor above 0 are scored, whatever they cost.
            if factor <= 0:
                addend[place] = np.inf
    if len(terms.lengths):
        for place in range(n_codes):
            length = terms.lengths[first + place]
            inverse[place] = byte_terms.inverse_of_length[length]
            addend[place] = byte_terms.addend_of_length[length]
            if len(terms.factors):
                by_factor = byte_terms.inverse_of_factor[terms.factors[first + place]]
                inverse[place] *= by_factor
                addend[place] *= by_factor
    elif len(terms.factors):
        for place in range(n_codes):
            inverse[place] = byte_terms.inverse_of_factor[terms.factors[first + place]]


@compiled
def _write_tables(weights, exact, as_costs, tables, highest, step):
    """Write what values of bytes cost, in 65 535 steps that no code has more than."""
    n_queries = len(weights)
    n_bits = weights.shape[1]
    n_bytes = len(tables)
    are_of_values = n_bits > 8 * n_bytes
    scale = 1.0 if as_costs else 2.0
    largest = np.zeros((n_queries, n_bytes))  # scores by byte
    steps_per_score = np.empty(n_queries)
    for query in range(n_queries):
        best = 0.0
        span = 0.0
        for byte in range(n_bytes if are_of_values else 0):
            least = most = weights[query, 256 * byte]
            for value in range(256 * byte, 256 * byte + 256):
                weight = weights[query, value]
                least = weight if weight < least else least
                most = weight if weight > most else most
            largest[query, byte] = most
            best += most
            span += np.float64(most) - least
        for bit in range(0 if are_of_values else n_bits):
            magnitude = np.float64(abs(weights[query, bit]))
            largest[query, bit // 8] += 0.0 if as_costs else magnitude
            best += 0.0 if as_costs else magnitude
            span += scale * magnitude
        steps_per_score[query] = 65_535 / span if span > 0 else 0.0
        highest[query] = best * steps_per_score[query]
        step[query] = span / 65_535
    costs = np.empty((n_queries, 256), dtype=np.uint16)
    for byte in range(n_bytes):
        for query in range(n_queries):
            most = largest[query, byte]
            steps = steps_per_score[query]
            for value in range(256):
                costs[query, value] = (most - exact[query, byte, value]) * steps
        # Rows of the table are in the cache once.
        for value in range(256):
            for query in range(n_queries):
                tables[byte, value, query] = costs[query, value]


@compiled
def _write_planes(weights, as_costs, planes, highest, step, query):
    """Write signs of weights, and four bits of their magnitudes.

    Magnitudes are rounded to the nearest of sixteen steps. What this may add is taken off.
    """
    scale = 1.0 if as_costs else 2.0
    largest = 0.0
    best_score = 0.0
    for bit in range(len(weights)):
        magnitude = scale * abs(weights[bit])
        largest = magnitude if magnitude > largest else largest
        best_score += 0.0 if as_costs else magnitude / 2
    for word in range(len(planes)):
        for place in range(5):
            planes[word, place] = 0
    least_error = np.inf
    best_width = largest / 15
    added = 0.0
    for trial in range(5 if largest > 0 else 0):
        # Steps may be smaller, so that those beyond the last are rounded, too. At last the
        # best are written.
        width = largest / 15 * (1 - 0.15 * trial) if trial < 4 else best_width
        error = 0.0
        above = 0.0
        for bit in range(len(weights)):
            magnitude = scale * abs(weights[bit])
            level = np.int64(magnitude / width + 0.5)
            level = level if level < 15 else 15
            excess = level * width - magnitude
            error += abs(excess)
            above += excess if excess > 0 else 0.0
            if trial == 4:
                word = bit // 64
                mask = np.uint64(1) << np.uint64(bit % 64)
                planes[word, 0] |= mask if weights[bit] > 0 else np.uint64(0)
                for place in range(4):
                    if (level >> place) & 1:
                        planes[word, 1 + place] |= mask
        if error < least_error:
            best_width = width
            least_error = error
            added = above
    highest[query] = (best_score + added) / best_width if best_width > 0 else 0.0
    step[query] = best_width


@compiled
def _score(hits, n_hits, start, exact, columns, terms, scores):
    """Write the scores of codes by queries, in one order of sums for all."""
    numbers = terms.given
    factors = terms.factors
    lengths = terms.lengths
    size = columns.itemsize
    sums = np.empty(8)
    for hit in range(n_hits):
        query = start + hits[hit] % QUERIES
        code = hits[hit] // QUERIES
        score = 0.0
        for place in range(len(columns)):
            word = np.uint64(columns[place, code])
            for byte in range(size):
                value = np.int64(word & np.uint64(255))
                sums[byte] = exact[query, size * place + byte, value]
                word >>= np.uint64(8)
            if size == 8:
                left = sums[0] + sums[1]
                right = sums[2] + sums[3]
                left += sums[4] + sums[5]
                right += sums[6] + sums[7]
                score += left + right
            else:
                for byte in range(size):
                    score += sums[byte]
        factor = np.float32(1)
        addend = np.float32(0)
        if numbers.shape[1]:
            factor = numbers[code, 0]
            addend = numbers[code, 1] if numbers.shape[1] > 1 else addend
        elif len(lengths):
            factor = terms.length_table[lengths[code], 0]
            addend = terms.length_table[lengths[code], 1]
        if len(factors):
            factor *= terms.factor_table[factors[code]]
        score = score * factor + addend
        scores[hit] = score if factor > 0 or numbers.shape[1] else -np.inf


@compiled
def _nth(values, count, place):
    """The value that has a place among the first values in ascending order.

    Hoare's selection on a copy; NumPy's takes ten seconds to compile.
    """
    copies = np.empty(count, dtype=values.dtype)
    for i in range(count):
        copies[i] = values[i]
    low = 0
    high = count - 1
    while low < high:
        pivot = copies[(low + high) // 2]
        left = low
        right = high
        while left <= right:
            while copies[left] < pivot:
                left += 1
            while copies[right] > pivot:
                right -= 1
            if left <= right:
                copies[left], copies[right] = copies[right], copies[left]
                left += 1
                right -= 1
        if place > right and place < left:
            break
        low, high = (low, right) if place <= right else (left, high)
    return copies[place]


@compiled
def write_table(weights, as_costs, table):
    """Write the contribution of each value of each byte, by weights of bits or of values.

    With `as_costs`, a bit that the query prefers contributes 0, and any other bit minus the
    magnitude of its weight. The table has shape (n_bytes, 256).
    """
    if len(weights) == table.size:
        for byte in range(len(table)):
            copy_to(table[byte], weights[256 * byte : 256 * byte + 256])
        return
    for byte in range(len(table)):
        entries = table[byte]
        entries[0] = 0
        n_values = 1
        for bit in range(8 * byte, 8 * byte + 8):
            weight = weights[bit] if bit < len(weights) else weights[0] * 0
            by_one = table.dtype.type(weight)
            by_zero = -table.dtype.type(weight)
            if as_costs:
                zero = 0 * by_one
                by_zero = min(by_zero, zero)
                by_one = min(by_one, zero)
            for value in range(n_values):
                entries[n_values + value] = entries[value] + by_one
                entries[value] += by_zero
            n_values *= 2


@compiled
def write_scores(tables, columns, pairs, scores):
    """Write the scores of all codes by all queries, in the precision of the tables.

    `pairs` are the factors and addends of the codes, shape (n_codes, 2).
    """
    for first in range(0, columns.shape[1], TILE):
        for query in range(len(tables)):
            part = scores[query, first : first + TILE]
            _write_sums(tables[query], columns, first, part)
            for code in range(len(part)):
                part[code] = part[code] * pairs[first + code, 0] + pairs[first + code, 1]


@compiled
def _write_sums(tables, columns, first, sums):
    """Sums of what the bytes of codes add, from the first code on."""
    size = columns.itemsize
    for code in range(len(sums)):
        sums[code] = 0
    for place in range(len(columns)):
        column = columns[place, first : first + len(sums)]
        if size == 8:
            table = tables[8 * place : 8 * place + 8]
            for code in range(len(sums)):
                word = np.uint64(column[code])
                left = table[0, word & 255] + table[1, (word >> 8) & 255]
                right = table[2, (word >> 16) & 255] + table[3, (word >> 24) & 255]
                left += table[4, (word >> 32) & 255] + table[5, (word >> 40) & 255]
                right += table[6, (word >> 48) & 255] + table[7, word >> 56]
                sums[code] += left + right
        else:
            for byte in range(size):
                entries = tables[size * place + byte]
                for code in range(len(sums)):
                    sums[code] += entries[(column[code] >> (8 * byte)) & 255]


@compiled
def maxsim_scan(by_entry, data, terms, unit, starts, maxima):
    """Write the highest score of each token of queries in each document.

    Parameters
    ----------
    by_entry : array of shape (n_bytes, 256, n_tokens), float32 or float64
        Contribution of each value of each byte of a code to the score with a token.

    data : array of shape (n_codes, n_bytes), dtype uint8
        The codes of the tokens of all documents.

    terms : array of shape (n_codes, 2), dtype float32
        Factor and addend of each code.

    unit : float
        Addends are multiplied by it.

    starts : array of shape (n_documents + 1,)
        The codes of document d are ``data[starts[d]:starts[d + 1]]``.

    maxima : array of shape (n_documents, n_tokens)
        The maxima are written to it.
    """
    n_bytes = data.shape[1]
    n_tokens = maxima.shape[1]
    sums = np.empty(n_tokens, dtype=maxima.dtype)
    for document in range(len(maxima)):
        best = maxima[document]
        best[:] = -np.inf
        for code in range(starts[document], starts[document + 1]):
            octets = data[code]
            sums[:] = 0
            for place in range(n_bytes):
                entries = by_entry[place, octets[place]]
                # This loop is compiled to sums of vectors.
                for token in range(n_tokens):
                    sums[token] += entries[token]
            factor = terms[code, 0]
            added = maxima.dtype.type(terms[code, 1] * unit)
            for token in range(n_tokens):
                score = sums[token] * factor + added
                best[token] = score if score > best[token] else best[token]
