"""Compiled loops of search: what is near to queries, by Hamming distance and by weights.

Codes come as *columns*, an array of shape (n_words, n_codes): each word of all codes side
by side. *Terms* are a tuple of five arrays, see `arrays_of_terms`. Codes are compared tile
by tile, so that what is found out about them stays in the cache.
"""

import math

import numpy as np

from ._compile import compiled, copy_to, count_ones
from ._lanes import CODES, QUERIES, codes_near, queries_near, query_near

TILE = 1_024  # codes
_FEW = 4  # queries at most that are asked one by one
_FEWEST = 4_096  # codes from which on planes pay
_HITS = 32  # codes near to a query that are scored together
_MORE = 32  # codes to find at least before the k best are looked for
_SLACK = 2.0**-20  # share by which lines and terms are rounded up, more than float32 rounds
_FAR = 1e18  # so large numbers, and so small ones, tell nothing
_EPS = 2.0**-23  # of float32
_LEAST = 2.0**-149  # the least number in float32


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
    n_queries, n_codes = len(queries), columns.shape[1]
    room = 2 * TILE + 4 * min(k, n_codes)
    rows = np.empty((n_queries, room), dtype=np.int64)
    distances = np.empty((n_queries, room), dtype=tile.dtype)
    # What is known of a query: how many codes it has found; its reach, a distance that
    # holds k of them, or all that are wanted; and how many are within that.
    known = np.zeros((n_queries, 3), dtype=np.int64)
    counts, reach, held = known[:, 0], known[:, 1], known[:, 2]
    for query in range(n_queries):
        reach[query] = radius
    at_distance = np.zeros((n_queries, n_bits + 1), dtype=np.int64)
    for first in range(0, n_codes, TILE):
        part = tile[: min(TILE, n_codes - first)]
        for query in range(n_queries):
            if counts[query] + len(part) > room:
                _drop(rows[query], distances[query], known[query])
                if counts[query] + len(part) > room:
                    rows, distances = _wider(rows), _wider(distances)
                    room = rows.shape[1]
            _write_distances(queries[query], columns, first, part)
            if _least(part) <= reach[query] - (k > 0 and not whole and held[query] >= k):
                found = rows[query], distances[query], at_distance[query], known[query]
                _take_near(part, first, found, k, whole)
    for query in range(n_queries):
        _drop(rows[query], distances[query], known[query])
    return counts, _flat(rows, counts), _flat(distances, counts)


@compiled
def _wider(values):
    """Rows of twice the room, of which the first half holds what there was."""
    wider = np.empty((len(values), 2 * values.shape[1]), dtype=values.dtype)
    for row in range(len(values)):
        for place in range(values.shape[1]):
            wider[row, place] = values[row, place]
    return wider


@compiled
def _write_distances(query, columns, first, distances):
    for place in range(len(query)):
        word, column = query[place], columns[place, first : first + len(distances)]
        if place == 0:
            for code in range(len(distances)):
                distances[code] = count_ones(word ^ column[code])
        else:
            for code in range(len(distances)):
                distances[code] += count_ones(word ^ column[code])


@compiled
def _least(distances):
    least = distances[0]
    for code in range(len(distances)):  # which is compiled to minima of vectors
        least = distances[code] if distances[code] < least else least
    return least


@compiled
def _take_near(part, first, found, k, whole):
    rows, distances, at_distance, known = found
    count, reach, held = known
    limit = reach - (k > 0 and not whole and held >= k)
    for code in range(len(part)):
        distance = np.int64(part[code])
        if distance > limit:
            continue
        rows[count], distances[count] = first + code, distance
        count += 1
        if k > 0:
            at_distance[distance] += 1
            held += 1
            while held - at_distance[reach] >= k:
                held -= at_distance[reach]
                reach -= 1
            limit = reach - (not whole and held >= k)
    known[0], known[1], known[2] = count, reach, held


@compiled
def _drop(rows, distances, known):
    """Drop what is beyond the reach."""
    n_kept, reach = 0, known[1]
    for place in range(known[0]):
        rows[n_kept], distances[n_kept] = rows[place], distances[place]
        n_kept += distances[place] <= reach
    known[0] = n_kept


@compiled
def _flat(values, counts):
    n_found, start = 0, 0
    for query in range(len(counts)):
        n_found += counts[query]
    flat = np.empty(n_found, dtype=values.dtype)
    for query in range(len(counts)):
        for place in range(counts[query]):
            flat[start + place] = values[query, place]
        start += counts[query]
    return flat


@compiled
def weighted_scan(weights, columns, terms, as_costs, k, radius, whole):
    """Find codes of highest score, which are scored in float64.

    Costs tell what may be among them: whole numbers of *steps* that a score lacks at least
    to the highest. Many queries have tables of 16 bits side by side, by byte and value. A
    single one has such a table, too. Where its weights are of bits, costs of many codes are
    counts of ones instead, by four bits of the magnitudes.

    Parameters
    ----------
    weights : array of shape (n_queries, n_weights), dtype float32
        Weights of bits, or of all values of each byte.

    columns : array of shape (n_words, n_codes)

    terms : tuple of arrays

    as_costs : bool
        Whether a bit that is as the query wants it adds 0, and any other minus the
        magnitude of its weight.

    k : int
        Number of codes wanted; 0 asks for all within the radius.

    radius : float
        Minus the least score wanted.

    whole : bool
        As for `hamming_scan`.

    Returns
    -------
    counts, rows
        As of `hamming_scan`.

    scores : array of shape (n_found,), dtype float64
        A score depends on nothing but query and code.
    """
    n_queries, n_codes = len(weights), columns.shape[1]
    n_bytes = len(columns) * columns.itemsize
    together = QUERIES if n_queries > _FEW else 1
    tables = np.empty((n_bytes, 256, together), dtype=np.uint16)
    table = np.empty((n_bytes, 256, 1), dtype=np.uint32)  # of one query
    planes = np.empty((len(columns), 5), dtype=np.uint64)
    entries = np.empty((n_queries, 8 * n_bytes, 2))
    by_bytes, pairs = _pairs_by_bytes(terms), np.empty((2, TILE), dtype=np.float32)
    for place in range(TILE):  # of codes without terms
        pairs[0, place], pairs[1, place] = 1, 0
    lines = np.empty((3, QUERIES), dtype=np.float32)
    hits = np.empty(_HITS * together + QUERIES, dtype=np.int64)
    values = np.empty(len(hits))
    rows = np.empty((n_queries, len(hits) + _MORE + 2 * min(k, n_codes)), dtype=np.int64)
    scores = np.empty(rows.shape)
    # Of each query: codes found, codes to find before it looks for the k best of them; its
    # highest score, in steps, a step, and the least score wanted.
    counts, rooms = np.zeros(n_queries, dtype=np.int64), np.empty(n_queries, np.int64)
    reach = np.empty((n_queries, 3))
    how = weights, entries, columns, terms, k, whole
    for start in range(0, n_queries, together):
        end = min(start + together, n_queries)
        by_planes = together == 1 and n_codes >= _FEWEST and columns.itemsize == 8
        by_planes = by_planes and weights.shape[1] <= 8 * n_bytes
        for lane in range(QUERIES):
            lines[0, lane], lines[1, lane], lines[2, lane] = -1, 0, 0  # nothing is near
        for query in range(start, end):
            if weights.shape[1] <= 8 * n_bytes:
                _write_entries(weights[query], as_costs, entries[query])
            reach[query, 2], rooms[query] = -radius, k + _MORE
        if by_planes:
            _write_planes(weights[start], as_costs, planes, reach[start])
        else:
            _write_tables(weights[start:end], as_costs, tables, reach[start:end])
            _copy_table(tables, table)
        for query in range(start, end):
            _draw_line(reach[query], lines[:, query - start])
        for first in range(0, n_codes, TILE):
            n_own, place = min(TILE, n_codes - first), np.int64(0)
            _write_pairs(terms, by_bytes, first, n_own, pairs)
            near, n_near = (n_own, pairs, lines, hits), np.int64(0)
            while place < n_own:
                if by_planes:
                    n_hits, place = _near_by_planes(planes, columns, first, place, near)
                elif together == 1:
                    n_hits, place = _near_one(table, columns, first, place, near)
                else:
                    n_hits, place = _near_many(tables, columns, first, place, near)
                if n_hits:
                    rows, scores = _with_room(rows, scores, counts, n_hits)
                    found = rows, scores, counts, rooms, reach, lines
                    _take(hits[:n_hits], start, values, found, how)
                    n_near += n_hits
            if by_planes and 16 * n_near > n_own and first >= _FEWEST:
                by_planes = False  # which tell too little
                _write_tables(weights[start:end], as_costs, tables, reach[start:end])
                _copy_table(tables, table)
                _draw_line(reach[start], lines[:, 0])
        found = rows, scores, counts, rooms, reach, lines
        for query in range(start, end):
            _keep_best(query, query - start, found, k, whole)
    return counts, _flat(rows, counts), _flat(scores, counts)


@compiled
def _near_many(tables, columns, first, place, near):
    """Write pairs of codes and queries that may be near, until there are many.

    Returns how many these are, and the place of the next code. Loops are functions of their
    own since references to what is bound anew around them would be counted within.
    """
    n_own, pairs, lines, hits = near
    n_hits = np.int64(0)
    while place < n_own and n_hits < len(hits) - QUERIES:
        mask = queries_near(tables, columns, first + place, pairs, place, lines)
        n_hits = _write_hits(mask, (first + place) * QUERIES, 1, hits, n_hits)
        place += 1
    return n_hits, place


@compiled
def _near_one(table, columns, first, place, near):
    n_own, pairs, lines, hits = near
    n_hits = np.int64(0)
    while place < n_own and n_hits < len(hits) - QUERIES:
        if query_near(table, columns, first + place, pairs, place, lines):
            hits[n_hits] = (first + place) * QUERIES
            n_hits += 1
        place += 1
    return n_hits, place


@compiled
def _near_by_planes(planes, columns, first, place, near):
    n_own, pairs, lines, hits = near
    n_hits = np.int64(0)
    while place < n_own and n_hits < len(hits) - QUERIES:
        mask, left = np.uint32(2**CODES - 1), n_own - place
        if left < CODES:
            mask >>= np.uint32(CODES - left)
        else:
            mask = codes_near(planes, columns, first + place, pairs, place, lines)
        n_hits = _write_hits(mask, (first + place) * QUERIES, QUERIES, hits, n_hits)
        place += CODES
    return n_hits, place


@compiled
def _write_hits(mask, hit, step, hits, n_hits):
    while mask:
        lowest = mask & (~mask + np.uint32(1))
        mask ^= lowest
        hits[n_hits] = hit + step * np.int64(count_ones(lowest - np.uint32(1)))
        n_hits += 1
    return n_hits


@compiled
def _take(hits, start, values, found, how):
    """Add to what queries have found the codes whose scores are high enough."""
    rows, scores, counts, rooms, reach, lines = found
    weights, entries, columns, terms, k, whole = how
    _score(hits, start, weights, entries, columns, values)
    _add_terms(hits, terms, values)
    for place in range(len(hits)):
        query, code = start + hits[place] % QUERIES, hits[place] // QUERIES
        score, limit = values[place], reach[query, 2]
        # Of codes that tie with the last those that come first are taken.
        is_full = k > 0 and not whole and limit > -np.inf
        if score > limit or (score == limit and not is_full):
            rows[query, counts[query]], scores[query, counts[query]] = code, score
            counts[query] += 1
            if k > 0 and counts[query] == rooms[query]:
                _keep_best(query, query - start, found, k, whole)


@compiled
def _with_room(rows, scores, counts, n_more):
    """The arrays, wider where a query could find so many codes more than there is room."""
    most = 0
    for query in range(len(counts)):
        most = max(most, counts[query])
    while most + n_more > rows.shape[1]:
        rows, scores = _wider(rows), _wider(scores)
    return rows, scores


@compiled
def _copy_table(tables, table):
    """Copy the table of the first query; a processor adds 32 bits in one step."""
    for byte in range(len(table)):
        for value in range(256):
            table[byte, value, 0] = tables[byte, value, 0]


@compiled
def _keep_best(query, lane, found, k, whole):
    """Drop what is not among the k best, and draw the line anew."""
    rows, scores, counts, rooms, reach, lines = found
    count, n_tied = counts[query], counts[query]
    if k > 0 and count >= k:
        limit = reach[query, 2] = _nth(scores[query], count, count - k)
        if not whole:
            n_tied = k
            for place in range(count):
                n_tied -= scores[query, place] > limit
        n_kept = 0
        for place in range(count):
            score = scores[query, place]
            rows[query, n_kept], scores[query, n_kept] = rows[query, place], score
            n_kept += score > limit or (score == limit and n_tied > 0)
            n_tied -= score == limit
        counts[query], rooms[query] = n_kept, n_kept + n_kept // 2 + _MORE
        _draw_line(reach[query], lines[:, lane])


@compiled
def _draw_line(reach, line):
    """Write what tells whether a cost is within reach of a query, rounded up.

    A code of a factor above 0 is if ``cost * step <= highest - (least - addend) / factor``.
    """
    highest, step, least = reach
    line[0], line[1], line[2] = np.inf, 0, 0  # all are
    if step > 1 / _FAR and abs(least) < _FAR * step and abs(highest) < _FAR:
        slope = -least / step
        line[0] = highest + abs(highest) * _SLACK + 1
        line[1] = slope + abs(slope) * _SLACK
        line[2] = 1 / step


@compiled
def _pair(factor, added):
    """One over a factor, and an addend over it, rounded up; NaN where all is near.

    Codes without a factor above 0 come last.
    """
    if factor <= 0:
        return np.float32(np.inf), np.float32(0)
    if not (1 / _FAR < factor < _FAR and abs(added) < _FAR * factor):
        return np.float32(np.nan), np.float32(0)
    term = added / factor
    return np.float32(1 / factor), np.float32(term + abs(term) * _SLACK)


@compiled
def _pairs_by_bytes(terms):
    """One over factors by bytes; and one over those of lengths, and addends over these."""
    _, factors, lengths, factor_table, length_table = terms
    pairs = np.ones((3, 256), dtype=np.float32)
    for value in range(256):
        pairs[2, value] = 0
        if len(factors):
            pairs[0, value], _ = _pair(factor_table[value], np.float32(0))
        if len(lengths):
            pairs[1, value], pairs[2, value] = _pair(
                length_table[value, 0], length_table[value, 1]
            )
    return pairs


@compiled
def _write_pairs(terms, by_bytes, first, n_codes, pairs):
    """Write one over the factors of codes, and addends over factors, rounded up."""
    given, factors, lengths, _, _ = terms
    if given.shape[1] > 0:
        for place in range(n_codes):
            added = given[first + place, 1] if given.shape[1] > 1 else np.float32(0)
            factor = given[first + place, 0]
            pairs[0, place], term = _pair(factor, added)
            pairs[1, place] = term if factor > 0 else np.float32(np.inf)
    if len(lengths):
        for place in range(n_codes):
            pairs[0, place] = by_bytes[1, lengths[first + place]]
            pairs[1, place] = by_bytes[2, lengths[first + place]]
            if len(factors):
                pairs[0, place] *= by_bytes[0, factors[first + place]]
                pairs[1, place] *= by_bytes[0, factors[first + place]]
    elif len(factors):
        for place in range(n_codes):
            pairs[0, place] = by_bytes[0, factors[first + place]]


@compiled
def _write_tables(weights, as_costs, tables, reach):
    """Write what values of bytes cost, of 65 535 steps that no code has more than."""
    n_queries, n_bytes, n_bits = len(weights), len(tables), weights.shape[1]
    of_words, scale = n_bits > 8 * n_bytes, 1 if as_costs else 2
    largest, steps = np.zeros((n_bytes, n_queries)), np.zeros(n_queries)
    own = np.empty((n_queries, 256), dtype=np.uint16)
    for query in range(n_queries):
        highest = total = 0.0
        for byte in range(n_bytes if of_words else 0):
            least = most = weights[query, 256 * byte]
            for value in range(256):
                weight = weights[query, 256 * byte + value]
                least, most = min(least, weight), max(most, weight)
            largest[byte, query] = most
            highest += most
            total += np.float64(most) - least
        for bit in range(0 if of_words else n_bits):
            total += scale * np.float64(abs(weights[query, bit]))
        highest += 0.0 if of_words or as_costs else total / 2
        steps[query] = 65_535 / total if total > 0 else 0.0
        reach[query, 0], reach[query, 1] = highest * steps[query], total / 65_535
    for byte in range(n_bytes):
        for query in range(n_queries):
            if of_words:
                for value in range(256):
                    less = largest[byte, query] - weights[query, 256 * byte + value]
                    own[query, value] = less * steps[query]
                continue
            own[query, 0], n_values = 0, 1
            for bit in range(8 * byte, 8 * byte + 8):
                weight = weights[query, bit] if bit < n_bits else np.float32(0)
                cost = np.uint16(scale * abs(weight) * steps[query])
                of_zero, of_one = (cost, cost * 0) if weight > 0 else (cost * 0, cost)
                for value in range(n_values):
                    own[query, n_values + value] = own[query, value] + of_one
                    own[query, value] += of_zero
                n_values *= 2
        for value in range(256):  # whose row is in the cache once
            for query in range(n_queries):
                tables[byte, value, query] = own[query, value]


@compiled
def _write_planes(weights, as_costs, planes, reach):
    """Write signs of weights, and four bits of their magnitudes.

    Magnitudes are rounded to the nearest of sixteen steps. What this may add is taken off.
    """
    scale, largest, highest = 1.0 if as_costs else 2.0, 0.0, 0.0
    for bit in range(len(weights)):
        largest = max(largest, scale * abs(weights[bit]))
        highest += abs(weights[bit])
    step, least, added = largest / 15, np.inf, 0.0
    for trial in range(4):  # of smaller steps those beyond the last are rounded, too
        one, error, above = largest / 15 * (1 - 0.15 * trial), 0.0, 0.0
        for bit in range(len(weights)):
            magnitude = scale * abs(weights[bit])
            off = min(15.0, np.rint(magnitude / one)) * one - magnitude if one > 0 else 0.0
            error += abs(off)
            above += max(off, 0.0)
        if error < least:
            step, least, added = one, error, above
    for word in range(len(planes)):
        for place in range(5):
            planes[word, place] = 0
    for bit in range(len(weights)):
        word, mask = bit // 64, np.uint64(1) << np.uint64(bit % 64)
        if weights[bit] > 0:
            planes[word, 0] |= mask
        level = int(min(15.0, np.rint(scale * abs(weights[bit]) / step))) if step > 0 else 0
        for place in range(4):
            if (level >> place) & 1:
                planes[word, 1 + place] |= mask
    highest = added if as_costs else highest + added
    reach[0], reach[1] = highest / step if step > 0 else 0.0, step


@compiled
def _write_entries(weights, as_costs, entries):
    """Write what a bit adds that is 0, and one that is 1."""
    for bit in range(len(entries)):
        weight = np.float64(weights[bit]) if bit < len(weights) else 0.0
        entries[bit, 0], entries[bit, 1] = -weight, weight
        if as_costs:
            entries[bit, 0], entries[bit, 1] = min(-weight, 0.0), min(weight, 0.0)


@compiled
def _score(hits, start, weights, entries, columns, scores):
    """Write the sums of what the bytes of codes add, in one order for all."""
    size = columns.itemsize
    for hit in range(len(hits)):
        query, score = start + hits[hit] % QUERIES, 0.0
        for place in range(len(columns)):
            word, byte = np.uint64(columns[place, hits[hit] // QUERIES]), size * place
            how = weights, entries, query
            if size == 8:
                left = _entry(how, byte, word) + _entry(how, byte + 1, word >> 8)
                right = _entry(how, byte + 2, word >> 16)
                right += _entry(how, byte + 3, word >> 24)
                more = _entry(how, byte + 4, word >> 32)
                left += more + _entry(how, byte + 5, word >> 40)
                more = _entry(how, byte + 6, word >> 48)
                right += more + _entry(how, byte + 7, word >> 56)
                score += left + right
            else:
                for i in range(size):
                    score += _entry(how, byte + i, word >> np.uint64(8 * i))
        scores[hit] = score


@compiled
def _entry(how, byte, word):
    """What the value of a byte adds, the lowest of a word."""
    weights, entries, query = how
    value, total = np.int64(word & np.uint64(255)), 0.0
    if weights.shape[1] > entries.shape[1]:
        return np.float64(weights[query, 256 * byte + value])
    for bit in range(8):
        total += entries[query, 8 * byte + bit, (value >> bit) & 1]
    return total


@compiled
def _add_terms(hits, terms, scores):
    """Multiply the scores of some codes by their factors, and add the addends."""
    given, factors, lengths, factor_table, length_table = terms
    for hit in range(len(hits) if given.shape[1] or len(lengths) or len(factors) else 0):
        code, factor, added = hits[hit] // QUERIES, np.float32(1), 0.0
        if given.shape[1]:
            factor = given[code, 0]
            added += given[code, 1] if given.shape[1] > 1 else np.float32(0)
        elif len(lengths):
            factor, added = length_table[lengths[code], 0], 0.0 + length_table[lengths[code], 1]
        if len(factors):
            factor *= factor_table[factors[code]]
        scores[hit] = scores[hit] * factor + added
        if factor <= 0 and not given.shape[1]:
            scores[hit] = -np.inf


@compiled
def exponent_of(most, largest):
    """Power of two that tables are to be divided by, which rounds nothing.

    `most` is the largest sum of entries of tables, and `largest` has the largest magnitudes
    of a factor and of an addend. No score that is divided so is too large for float32.
    """
    factor, addend = largest
    exponent = math.frexp(most * max(factor, 1.0) + addend)[1]
    return max(exponent, -120)  # so that what addends are multiplied by is finite


@compiled
def margin_of(most, unit, n_bytes, largest):
    """Twice the largest error of a score in float32, if tables are multiplied by a unit."""
    factor, addend = largest
    # A sum is rounded once for each byte, and its entries and terms are rounded.
    error = _EPS * unit * (most * factor + addend) + max(factor, 1.0) * _LEAST
    return 2 * (n_bytes + 8) * error


@compiled
def _nth(values, count, place):
    """The value that has a place among the first of some values in ascending order.

    Hoare's selection on a copy; NumPy's takes ten seconds to compile.
    """
    some = np.empty(count, dtype=values.dtype)
    for i in range(count):
        some[i] = values[i]
    low, high = 0, count - 1
    while low < high:
        pivot, left, right = some[(low + high) // 2], low, high
        while left <= right:
            while some[left] < pivot:
                left += 1
            while some[right] > pivot:
                right -= 1
            if left <= right:
                some[left], some[right] = some[right], some[left]
                left += 1
                right -= 1
        if place > right and place < left:
            break
        low, high = (low, right) if place <= right else (left, high)
    return some[place]


@compiled
def write_table(weights, as_costs, table):
    """Write what each value of each byte adds, by the weights of bits or of all values.

    `as_costs`: a bit that is as the query wants it adds 0, and any other minus the
    magnitude of its weight. The table has shape (n_bytes, 256).
    """
    if len(weights) == table.size:
        for byte in range(len(table)):
            copy_to(table[byte], weights[256 * byte : 256 * byte + 256])
        return
    for byte in range(len(table)):
        entries, n_values = table[byte], 1
        entries[0] = 0
        for bit in range(8 * byte, 8 * byte + 8):
            weight = weights[bit] if bit < len(weights) else weights[0] * 0
            of_zero, of_one = -table.dtype.type(weight), table.dtype.type(weight)
            if as_costs:
                of_zero, of_one = min(of_zero, 0 * of_one), min(of_one, 0 * of_one)
            for value in range(n_values):
                entries[n_values + value] = entries[value] + of_one
                entries[value] += of_zero
            n_values *= 2


@compiled
def write_scores(tables, columns, terms, scores):
    """Write the scores of all codes by all queries, in the precision of the tables."""
    unit = scores.dtype.type(1)
    for first in range(0, columns.shape[1], TILE):
        for query in range(len(tables)):
            part = scores[query, first : first + TILE]
            _write_sums(tables[query], columns, first, part)
            _apply_terms(terms, unit, first, part)


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
def _apply_terms(terms, unit, first, scores):
    """Multiply sums by the factors of their codes, and add the addends.

    Codes of rows without a direction, whose bytes stand for a factor of 0, come last.
    """
    given, factors, lengths, factor_table, length_table = terms
    if given.shape[1] > 0:
        for code in range(len(scores)):
            scores[code] *= given[first + code, 0]
        if given.shape[1] > 1:
            for code in range(len(scores)):
                scores[code] += given[first + code, 1] * unit
        return
    if len(lengths):
        for code in range(len(scores)):
            of_length = length_table[lengths[first + code]]
            factor = of_length[0]
            if len(factors):
                factor *= factor_table[factors[first + code]]
            score = scores[code] * factor + of_length[1] * unit
            scores[code] = score if factor > 0 else -np.inf
    elif len(factors):
        for code in range(len(scores)):
            factor = factor_table[factors[first + code]]
            scores[code] = scores[code] * factor if factor > 0 else -np.inf


@compiled
def maxsim_scan(by_entry, data, terms, unit, starts, maxima):
    """Write the highest score of each token of queries in each document.

    Parameters
    ----------
    by_entry : array of shape (n_bytes, 256, n_tokens), float32 or float64
        What each value of each byte of a code adds to the score by a token.

    data : array of shape (n_codes, n_bytes), dtype uint8
        The codes of the tokens of all documents.

    terms : array of shape (n_codes, 2), dtype float32
        Factor and addend of each code.

    unit : float
        What addends are multiplied by.

    starts : array of shape (n_documents + 1,)
        Codes of document d are those from ``starts[d]`` to ``starts[d + 1]``.

    maxima : array of shape (n_documents, n_tokens)
        Where the maxima are written.
    """
    n_bytes, n_tokens = data.shape[1], maxima.shape[1]
    sums = np.empty(n_tokens, dtype=maxima.dtype)
    for document in range(len(maxima)):
        best = maxima[document]
        best[:] = -np.inf
        for code in range(starts[document], starts[document + 1]):
            octets = data[code]
            sums[:] = 0
            for place in range(n_bytes):
                entries = by_entry[place, octets[place]]
                for token in range(n_tokens):  # which is compiled to sums of vectors
                    sums[token] += entries[token]
            factor, added = terms[code, 0], maxima.dtype.type(terms[code, 1] * unit)
            for token in range(n_tokens):
                score = sums[token] * factor + added
                best[token] = score if score > best[token] else best[token]
