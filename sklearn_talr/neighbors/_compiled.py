"""What :mod:`~._by_tables` does, compiled by numba, which is loaded with this module."""

import numpy as np
from numba import njit

_CODES_PER_PASS = 4_096  # whose scores stay in the processor's nearest cache
_ROOM = 256  # for codes found, besides those wanted


@njit(nogil=True)
def find(tables, columns, terms, units, lowest, n_wanted, margin, start, stop):
    """Find codes whose scores reach a limit; see `find_by_scipy`.

    Words have eight bytes. There are as many terms as codes, or none.
    """
    scores = np.empty(min(_CODES_PER_PASS, stop - start), dtype=np.float32)
    best = np.full(n_wanted, -np.inf, dtype=np.float32)  # a heap, the least first
    codes = np.empty(2 * n_wanted + _ROOM, dtype=np.int64)
    reached = np.empty(len(codes), dtype=np.float32)
    n_found = 0
    for first in range(start, stop, _CODES_PER_PASS):
        part = scores[: min(_CODES_PER_PASS, stop - first)]
        _add_up(tables, columns, first, part)
        if len(terms):
            _apply(terms, units, first, part)
        for place in range(len(part)):
            score = part[place]
            if score < lowest:
                continue
            if n_found == len(codes):
                codes, reached, n_found = _make_room(codes, reached, lowest)
            codes[n_found], reached[n_found] = first + place, score
            n_found += 1
            if n_wanted and score > best[0]:
                _replace_least(best, score)
                lowest = max(lowest, best[0] - margin)
    return codes[:n_found][reached[:n_found] >= lowest]


@njit(nogil=True)
def _add_up(tables, columns, first, sums):
    """Weighted sums of codes from the first on, as many as there is room for."""
    sums[:] = 0
    for word in range(len(columns)):
        of_word = tables[8 * word : 8 * word + 8]
        column = columns[word, first : first + len(sums)]
        for place in range(len(sums)):
            sums[place] += _look_up(of_word, column[place])


@njit(nogil=True)
def _look_up(tables, word):
    """What the eight bytes of a word add up to."""
    first = tables[0, word & 255] + tables[1, (word >> 8) & 255]
    second = tables[2, (word >> 16) & 255] + tables[3, (word >> 24) & 255]
    first += tables[4, (word >> 32) & 255] + tables[5, (word >> 40) & 255]
    second += tables[6, (word >> 48) & 255] + tables[7, word >> 56]
    return first + second


@njit(nogil=True)
def _apply(terms, units, first, scores):
    """Multiply by factors, and add addends, in their units."""
    factor_unit, addend_unit = units
    for place in range(len(scores)):
        scores[place] *= np.float32(terms[first + place, 0] * factor_unit)
    if terms.shape[1] > 1:
        for place in range(len(scores)):
            scores[place] += np.float32(terms[first + place, 1] * addend_unit)


@njit(nogil=True)
def _make_room(codes, reached, lowest):
    """Keep what reaches the limit of now, in arrays twice as long if that is much."""
    kept = reached >= lowest
    n_found = kept.sum()
    size = len(codes) * (2 if 2 * n_found > len(codes) else 1)
    more_codes, more_reached = np.empty(size, np.int64), np.empty(size, np.float32)
    more_codes[:n_found], more_reached[:n_found] = codes[kept], reached[kept]
    return more_codes, more_reached, n_found


@njit(nogil=True)
def _replace_least(heap, score):
    """Put a score in place of the least."""
    place = 0
    while 2 * place + 1 < len(heap):
        child = 2 * place + 1
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= score:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = score
