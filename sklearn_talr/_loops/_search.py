"""Compiled loops of search: what is near to queries, by Hamming distance and by weights.

Codes come as *columns*, an array of shape (n_words, n_codes): each word of all codes side
by side. *Terms* are a tuple of five arrays, see `Terms` of `codes`. Codes are compared tile
by tile, so that what is found out about them stays in the cache.
"""

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
        Weights of bits, of whole bytes, or of all values of each byte.

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
    n_bytes, is_strict = len(columns) * columns.itemsize, k > 0 and not whole
    together = QUERIES if n_queries > _FEW else 1
    exact = np.empty((n_queries, n_bytes, 256))
    tables = np.empty((n_bytes, 256, together), dtype=np.uint16)
    planes = np.empty((len(columns), 5), dtype=np.uint64)
    pairs, by_bytes = np.empty((2, TILE), np.float32), np.empty((3, 256), np.float32)
    _write_pairs_of_bytes(terms, by_bytes, pairs)
    lines = np.empty((3, QUERIES), np.float32)
    hits = np.empty(_HITS * together + QUERIES, dtype=np.int64)
    values = np.empty(len(hits))
    rows = np.empty((n_queries, len(hits) + _MORE + 2 * min(k, n_codes)), dtype=np.int64)
    scores = np.empty(rows.shape)
    # Of each query: codes found, and codes to find before it looks for the k best of them;
    # its highest score, in steps, a step, and the least score wanted.
    known = np.empty((n_queries, 2), dtype=np.int64)
    reach = np.empty((n_queries, 3))
    for start in range(0, n_queries, together):
        n_together = min(together, n_queries - start)
        own = start, n_together
        for query in range(start, start + n_together):
            write_table(weights[query], as_costs, exact[query])
            known[query, 0], known[query, 1], reach[query, 2] = 0, k + _MORE, -radius
        by_planes = together == 1 and n_codes >= _FEWEST and columns.itemsize == 8
        by_planes, is_new = by_planes and weights.shape[1] <= 8 * n_bytes, True
        for first in range(0, n_codes, TILE):
            if is_new:
                if by_planes:
                    _write_planes(weights, start, as_costs, planes, reach)
                else:
                    _write_tables(weights, exact, *own, as_costs, tables, reach)
                for lane in range(n_together):
                    _draw_line(reach, start, lane, lines)
            n_own, place, n_near = min(TILE, n_codes - first), np.int64(0), np.int64(0)
            _write_pairs(terms, by_bytes, first, n_own, pairs)
            while place < n_own:
                near = tables, planes, columns, pairs, lines, hits
                n_hits, place = _near(near, by_planes, first, place, n_own, n_together)
                if n_hits == 0:
                    continue
                n_near += n_hits
                for query in range(start, start + n_together):
                    if known[query, 0] + n_hits > rows.shape[1]:
                        rows, scores = _wider(rows), _wider(scores)
                how, found = (exact, columns, terms), (rows, scores, known)
                _score(hits, n_hits, start, how, values)
                _take(hits, values, n_hits, start, (*found, reach, lines), k, is_strict)
            is_new = by_planes and 16 * n_near > n_own and first >= _FEWEST
            by_planes = by_planes and not is_new  # where they tell too little
        for lane in range(n_together):
            found = rows, scores, known, reach, lines
            _keep_best(start, lane, found, k, is_strict)
    return known[:, 0], _flat(rows, known[:, 0]), _flat(scores, known[:, 0])


@compiled
def _near(near, by_planes, first, place, n_own, n_queries):
    """Write pairs of codes and queries that may be near, until there are many.

    Returns how many these are, and the place of the next code. The loop is a function of
    its own, since references to what is bound anew around it would be counted in it.
    """
    tables, planes, columns, pairs, lines, hits = near
    n_hits, are_many = np.int64(0), tables.shape[2] > 1
    while place < n_own and n_hits < len(hits) - QUERIES:
        code, step, n_codes = first + place, 1, 1
        if are_many:
            mask = queries_near(tables, columns, pairs, lines, code, place)
            mask &= np.uint32((np.int64(1) << n_queries) - 1)
        elif by_planes:
            step, n_codes = QUERIES, CODES
            mask = np.uint32((np.int64(1) << (n_own - place)) - 1)
            if n_own - place >= CODES:
                mask = codes_near(planes, columns, pairs, lines, code, place)
        else:
            mask = query_near(tables, columns, pairs, lines, code, place)
        while mask:
            lowest = mask & (~mask + np.uint32(1))
            mask ^= lowest
            lane = np.int64(count_ones(lowest - np.uint32(1)))
            hits[n_hits] = code * QUERIES + step * lane
            n_hits += 1
        place += n_codes
    return n_hits, place


@compiled
def _take(hits, values, n_hits, start, found, k, is_strict):
    """Add to what queries have found the codes whose scores are high enough."""
    rows, scores, known, reach, _ = found
    for place in range(n_hits):
        lane, code = hits[place] % QUERIES, hits[place] // QUERIES
        query = start + lane
        score, limit, count = values[place], reach[query, 2], known[query, 0]
        # Of codes that tie with the last those that come first are taken.
        if score > limit or (score == limit and not (is_strict and limit > -np.inf)):
            rows[query, count], scores[query, count] = code, score
            known[query, 0] += 1
            if k > 0 and count + 1 == known[query, 1]:
                _keep_best(start, lane, found, k, is_strict)


@compiled
def _keep_best(start, lane, found, k, is_strict):
    """Drop what is not among the k best, and draw the line anew."""
    rows, scores, known, reach, lines = found
    query = start + lane
    count = n_tied = known[query, 0]
    if k > 0 and count >= k:
        limit = reach[query, 2] = _nth(scores, query, count, count - k)
        if is_strict:
            n_tied = k
            for place in range(count):
                n_tied -= scores[query, place] > limit
        n_kept = np.int64(0)
        for place in range(count):
            score = scores[query, place]
            rows[query, n_kept], scores[query, n_kept] = rows[query, place], score
            n_kept += score > limit or (score == limit and n_tied > 0)
            n_tied -= score == limit
        known[query, 0], known[query, 1] = n_kept, n_kept + n_kept // 2 + _MORE
        _draw_line(reach, start, lane, lines)


@compiled
def _draw_line(reach, start, lane, lines):
    """Write what tells whether a cost is within reach of a query, rounded up.

    A code of a factor above 0 is if ``cost * step <= highest - (least - addend) / factor``.
    """
    query = start + lane
    highest, step, least = reach[query, 0], reach[query, 1], reach[query, 2]
    lines[0, lane], lines[1, lane], lines[2, lane] = np.inf, 0, 0  # all are
    if step > 1 / _FAR and abs(least) < _FAR * step and abs(highest) < _FAR:
        slope = -least / step
        lines[0, lane] = highest + abs(highest) * _SLACK + 1
        lines[1, lane] = slope + abs(slope) * _SLACK
        lines[2, lane] = 1 / step


@compiled
def _write_pairs_of_bytes(terms, by_bytes, pairs):
    """Write one over factors by bytes; one over those of lengths, and addends over these.

    `pairs` receives those of codes without terms.
    """
    _, factors, lengths, factor_table, length_table = terms
    for place in range(pairs.shape[1]):
        pairs[0, place], pairs[1, place] = 1, 0
    for value in range(256 if len(factors) else 0):
        by_bytes[0, value], _ = _pair(factor_table[value], np.float32(0))
    for value in range(256 if len(lengths) else 0):
        factor, added = length_table[value, 0], length_table[value, 1]
        by_bytes[1, value], by_bytes[2, value] = _pair(factor, added)


@compiled
def _pair(factor, added):
    """One over a factor, and an addend over it, rounded up; NaN where all is near.

    Codes without a factor above 0 come last.
    """
    one, term = np.float32(np.inf), np.float32(0)
    if factor > 0:
        one = np.float32(np.nan)
        if 1 / _FAR < factor < _FAR and abs(added) < _FAR * factor:
            one, term = np.float32(1) / factor, added / factor
    return one, term + abs(term) * np.float32(_SLACK)


@compiled
def _write_pairs(terms, by_bytes, first, n_codes, pairs):
    """Write one over the factors of codes, and addends over factors, rounded up."""
    given, factors, lengths, _, _ = terms
    if given.shape[1] > 0:
        for place in range(n_codes):
            added = given[first + place, 1] if given.shape[1] > 1 else np.float32(0)
            factor = given[first + place, 0]
            pairs[0, place], pairs[1, place] = _pair(factor, added)
            if factor <= 0:  # which are looked at
                pairs[1, place] = np.inf
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
def _write_tables(weights, exact, start, n_queries, as_costs, tables, reach):
    """Write what values of bytes cost, of 65 535 steps that no code has more than."""
    n_bytes, n_bits = len(tables), weights.shape[1]
    of_words, scale = n_bits > 8 * n_bytes, 1.0 if as_costs else 2.0
    largest = np.zeros((n_queries, n_bytes + 1))  # and what turns scores to steps
    own = np.empty((n_queries, 256), dtype=np.uint16)
    for lane in range(n_queries):
        query, highest, total = start + lane, 0.0, 0.0
        for byte in range(n_bytes if of_words else 0):
            least = most = weights[query, 256 * byte]
            for value in range(256 * byte, 256 * byte + 256):
                weight = weights[query, value]
                least = weight if weight < least else least
                most = weight if weight > most else most
            largest[lane, byte] = most
            highest += most
            total += np.float64(most) - least
        for bit in range(0 if of_words else n_bits):
            magnitude = np.float64(abs(weights[query, bit]))
            largest[lane, bit // 8] += 0.0 if as_costs else magnitude
            highest += 0.0 if as_costs else magnitude
            total += scale * magnitude
        steps = largest[lane, n_bytes] = 65_535 / total if total > 0 else 0.0
        reach[query, 0], reach[query, 1] = highest * steps, total / 65_535
    for byte in range(n_bytes):
        for lane in range(n_queries):
            most, steps = largest[lane, byte], largest[lane, n_bytes]
            for value in range(256):
                own[lane, value] = (most - exact[start + lane, byte, value]) * steps
        for value in range(256):  # whose row is in the cache once
            for lane in range(n_queries):
                tables[byte, value, lane] = own[lane, value]


@compiled
def _write_planes(weights, query, as_costs, planes, reach):
    """Write signs of weights, and four bits of their magnitudes.

    Magnitudes are rounded to the nearest of sixteen steps. What this may add is taken off.
    """
    scale, largest, highest = 1.0 if as_costs else 2.0, 0.0, 0.0
    for bit in range(weights.shape[1]):
        magnitude = scale * abs(weights[query, bit])
        largest = magnitude if magnitude > largest else largest
        highest += 0.0 if as_costs else magnitude / 2
    for word in range(len(planes)):
        for place in range(5):
            planes[word, place] = 0
    least, step, added = np.inf, largest / 15, 0.0
    for trial in range(5 if largest > 0 else 0):
        # Steps may be smaller, so that those beyond the last are rounded, too. At last the
        # best are written.
        one = largest / 15 * (1 - 0.15 * trial) if trial < 4 else step
        error = above = 0.0
        for bit in range(weights.shape[1]):
            magnitude = scale * abs(weights[query, bit])
            level = np.int64(magnitude / one + 0.5)
            level = level if level < 15 else 15
            off = level * one - magnitude
            error += abs(off)
            above += off if off > 0 else 0.0
            if trial == 4:
                word, mask = bit // 64, np.uint64(1) << np.uint64(bit % 64)
                planes[word, 0] |= mask if weights[query, bit] > 0 else np.uint64(0)
                for place in range(4):
                    if (level >> place) & 1:
                        planes[word, 1 + place] |= mask
        if error < least:
            step, least, added = one, error, above
    reach[query, 0] = (highest + added) / step if step > 0 else 0.0
    reach[query, 1] = step


@compiled
def _score(hits, n_hits, start, how, scores):
    """Write the scores of codes by queries, in one order of sums for all."""
    exact, columns, terms = how
    given, factors, lengths, factor_table, length_table = terms
    size, sums = columns.itemsize, np.empty(8)
    for hit in range(n_hits):
        query, code, score = start + hits[hit] % QUERIES, hits[hit] // QUERIES, 0.0
        for place in range(len(columns)):
            word = np.uint64(columns[place, code])
            for byte in range(size):
                value = np.int64(word & np.uint64(255))
                sums[byte] = exact[query, size * place + byte, value]
                word >>= np.uint64(8)
            if size == 8:
                left, right = sums[0] + sums[1], sums[2] + sums[3]
                left += sums[4] + sums[5]
                right += sums[6] + sums[7]
                score += left + right
            else:
                for byte in range(size):
                    score += sums[byte]
        factor, added = np.float32(1), np.float32(0)
        if given.shape[1]:
            factor, added = given[code, 0], given[code, 1] if given.shape[1] > 1 else added
        elif len(lengths):
            factor, added = length_table[lengths[code], 0], length_table[lengths[code], 1]
        if len(factors):
            factor *= factor_table[factors[code]]
        score = score * factor + added
        scores[hit] = score if factor > 0 or given.shape[1] else -np.inf


@compiled
def _nth(values, row, count, place):
    """The value of a row that has a place among its first in ascending order.

    Hoare's selection on a copy; NumPy's takes ten seconds to compile.
    """
    some = np.empty(count, dtype=values.dtype)
    for i in range(count):
        some[i] = values[row, i]
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
