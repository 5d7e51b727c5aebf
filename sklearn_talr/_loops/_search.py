"""Compiled loops of search: what is near to queries, by Hamming distance and by weights.

Codes come as *columns*, an array of shape (n_words, n_codes): each word of all codes side
by side. *Terms* are a tuple of five arrays, see `arrays_of_terms`. Codes are compared tile
by tile, so that what is found out about them stays in the cache.
"""

import math

import numpy as np

from ._compile import compiled, copy_to, count_ones

TILE = 1_024  # codes
_MANY = 2**16  # codes, from which on bounds of scores pay
_UNBOUNDED = 4 * TILE  # codes that limits are made of before bounds are of use
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
def weighted_scan(weights, columns, terms, largest, as_costs, k, radius):
    """Find codes that may be among those of highest score, and score them in float64.

    Scores in float32 tell which codes these are. They are computed from tables that are
    divided by a power of two, so that no score is too large. Where bits have weights, four
    bits of their magnitudes bound the scores first, by counts of ones. What the bound lets
    through is looked up in the tables.

    Parameters
    ----------
    weights : array of shape (n_queries, n_weights), dtype float32
        Weights of bits, or of all values of each byte.

    columns : array of shape (n_words, n_codes)

    terms : tuple of arrays

    largest : tuple of float
        Largest magnitudes of a factor and of an addend.

    as_costs : bool
        As for `write_table`.

    k : int
        Number of codes wanted; 0 asks for all within the radius.

    radius : float
        Minus the least score wanted. What is beyond it by less than the error in float32
        is perhaps found, too.

    Returns
    -------
    counts, rows
        As of `hamming_scan`.

    scores : array of shape (n_found,), dtype float64
        A score depends on nothing but query and code.
    """
    n_queries, n_codes = len(weights), columns.shape[1]
    n_bytes = len(columns) * columns.itemsize
    exact, table = np.empty((n_bytes, 256)), np.empty((n_bytes, 256), dtype=np.float32)
    rows = np.empty((1, 4 * TILE), dtype=np.int64)
    scores, sums = np.empty(rows.shape), np.empty(TILE, dtype=np.float32)
    costs = np.empty(TILE, dtype=np.uint32)
    signs = np.empty(len(columns), dtype=np.uint64)
    planes = np.empty((4, len(columns)), dtype=np.uint64)
    can_bound = n_codes >= _MANY and weights.shape[1] <= 8 * n_bytes
    can_bound = can_bound and columns.itemsize == 8
    can_bound = can_bound and terms[0].shape[1] == 0  # other factors are not negative
    counts, start = np.zeros(n_queries, dtype=np.int64), 0
    for query in range(n_queries):
        write_table(weights[query], as_costs, exact)
        most = largest_sum(exact)
        exponent = exponent_of(most, largest)
        unit = math.ldexp(1.0, -exponent)
        margin = margin_of(most, unit, n_bytes, largest)
        for byte in range(n_bytes):
            for value in range(256):
                table[byte, value] = exact[byte, value] * unit
        is_bounded, step = can_bound, 0.0
        if can_bound:
            step = _write_planes(weights[query], signs, planes) * unit
        base, step = (0.0, step) if as_costs else (most * unit, 2 * step)
        # A literal 0 would be a type of its own, for which all is compiled once more.
        count, room, limit = counts[query], k, -radius * unit - margin
        for first in range(0, n_codes, TILE):
            part = sums[: min(TILE, n_codes - first)]
            while start + count + len(part) > rows.shape[1]:
                rows, scores = _wider(rows), _wider(scores)
            own_rows, own_scores = rows[0, start:], scores[0, start:]
            if is_bounded and first >= _UNBOUNDED:
                _write_costs(signs, planes, columns, first, costs)
                for code in range(len(part)):
                    part[code] = np.float32(base) - np.float32(step) * costs[code]
                _apply_terms(terms, np.float32(unit), first, part)
                how = table, columns, terms, np.float32(unit)
                is_bounded = 2 * _look_up(how, first, part, limit) < len(part)
            else:
                _write_sums(table, columns, first, part)
                _apply_terms(terms, np.float32(unit), first, part)
            count = _take_high(part, first, own_rows, own_scores, count, limit)
            is_last = first + len(part) == n_codes
            if is_last or (k > 0 and count > room):
                count, limit = _keep_best(own_rows, own_scores, count, k, limit, margin)
                room = 2 * count + TILE // 8
        counts[query], end = count, start + count
        for place in range(start, end):
            scores[0, place] = _score(exact, columns, terms, 1.0, rows[0, place])
        start = end
    return counts, rows[0, :start], scores[0, :start]


@compiled
def _write_planes(weights, signs, planes):
    """Write signs of weights and four bits of their magnitudes, as words of bits.

    Returns what the lowest bit is worth. All four are worth no more than the weight.
    """
    largest = weights[0] - weights[0]
    for bit in range(len(weights)):
        magnitude = abs(weights[bit])
        largest = magnitude if magnitude > largest else largest
    for word in range(len(signs)):
        signs[word] = 0
        for plane in range(4):
            planes[plane, word] = 0
    step = largest / 15
    for bit in range(len(weights)):
        word, mask = bit // 64, np.uint64(1) << np.uint64(bit % 64)
        if weights[bit] > 0:
            signs[word] |= mask
        level = int(abs(weights[bit]) / step) if step > 0 else 0
        for plane in range(4):
            if (level >> plane) & 1:
                planes[plane, word] |= mask
    return step


@compiled
def _write_costs(signs, planes, columns, first, costs):
    """Write what differing bits of codes cost, by the four bits of their weights."""
    n_codes = columns.shape[1] - first
    n_codes = n_codes if n_codes < len(costs) else len(costs)
    for code in range(n_codes):
        costs[code] = 0
    for place in range(len(columns)):
        sign, column = signs[place], columns[place, first : first + n_codes]
        ones, twos, fours, eights = planes[:, place]
        for code in range(len(column)):
            differ = sign ^ np.uint64(column[code])
            cost = count_ones(differ & ones) + (count_ones(differ & twos) << np.uint64(1))
            cost += count_ones(differ & fours) << np.uint64(2)
            costs[code] += cost + (count_ones(differ & eights) << np.uint64(3))


@compiled
def _look_up(how, first, scores, limit):
    """Make scores of bounds that reach a limit; return how many these are."""
    table, columns, terms, unit = how
    n_reached = 0
    for code in range(len(scores)):
        if scores[code] >= limit:
            scores[code] = _score(table, columns, terms, unit, first + code)
            n_reached += 1
    return n_reached


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
def largest_sum(table):
    """Sum of the largest magnitudes of the entries of each byte."""
    total = 0.0
    for byte in range(len(table)):
        largest = 0.0
        for value in range(256):
            magnitude = abs(table[byte, value])
            largest = magnitude if magnitude > largest else largest
        total += largest
    return total


@compiled
def _take_high(part, first, rows, scores, count, limit):
    found, least = np.uint8(0), np.float32(limit)
    for code in range(len(part)):  # which is compiled to comparisons of vectors
        found |= np.uint8(part[code] >= least)
    if found:
        for code in range(len(part)):
            if part[code] >= limit:
                rows[count], scores[count] = first + code, part[code]
                count += 1
    return count


@compiled
def _keep_best(rows, scores, count, k, limit, margin):
    """Drop what cannot be among the k best; return how many are left, and the limit."""
    if k > 0 and count >= k:
        least = _nth(scores, count, count - k) - margin
        limit = least if least > limit else limit
    n_kept = 0
    for place in range(count):
        rows[n_kept], scores[n_kept] = rows[place], scores[place]
        n_kept += scores[place] >= limit
    return n_kept, limit


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
def _score(tables, columns, terms, unit, code):
    """The score of one code, as `_write_sums` and `_apply_terms` write it, to the bit."""
    size, score = columns.itemsize, tables[0, 0] - tables[0, 0]
    for place in range(len(columns)):
        word = np.uint64(columns[place, code])
        if size == 8:
            table = tables[8 * place : 8 * place + 8]
            left = table[0, word & 255] + table[1, (word >> 8) & 255]
            right = table[2, (word >> 16) & 255] + table[3, (word >> 24) & 255]
            left += table[4, (word >> 32) & 255] + table[5, (word >> 40) & 255]
            right += table[6, (word >> 48) & 255] + table[7, word >> 56]
            score += left + right
        else:
            for byte in range(size):
                score += tables[size * place + byte, (word >> np.uint64(8 * byte)) & 255]
    given, factors, lengths, factor_table, length_table = terms
    if given.shape[1] > 0:
        score *= given[code, 0]
        return score + given[code, 1] * unit if given.shape[1] > 1 else score
    if len(lengths) == 0 and len(factors) == 0:
        return score
    added = tables[0, 0] - tables[0, 0]
    if len(lengths):
        factor = length_table[lengths[code], 0]
        added += length_table[lengths[code], 1] * unit
        if len(factors):
            factor *= factor_table[factors[code]]
    else:
        factor = factor_table[factors[code]]
    return score * factor + added if factor > 0 else -np.inf


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
