"""The inner loops of search compiled by numba, when this module is imported.

They are compiled for words of eight bytes, and for arrays that may not be written to, as
those of files. Others need no second compilation: they are compared by NumPy, or converted.
"""

import numpy as np
from numba import float32, int64, njit, types, uint8, uint16, uint64, void
from numba.extending import intrinsic

_WORDS = types.Array(uint64, 2, "C", readonly=True)
_TABLES = types.Array(float32, 3, "C", readonly=True)
_OCTETS = types.Array(uint8, 2, "C", readonly=True)
_TERMS = types.Array(float32, 2, "C", readonly=True)
_STARTS = types.Array(int64, 1, "C", readonly=True)


@intrinsic
def _count_ones(typing_context, word):
    """Instruction that counts the ones of a word."""
    return word(word), lambda _, builder, __, words: builder.ctpop(words[0])


@njit([void(_WORDS, _WORDS, int64, d[:, :]) for d in (uint8, uint16)], nogil=True)
def compiled_distances(queries, columns, first, distances):
    """Hamming distances of queries to the codes from the first on."""
    for query, row in zip(queries, distances):
        row[:] = 0
        for place in range(len(columns)):
            word, column = query[place], columns[place, first : first + len(row)]
            for code in range(len(row)):
                row[code] += _count_ones(word ^ column[code])


@njit(nogil=True)
def _look_up(tables, word):
    """Sum of the entries of the eight bytes of a word."""
    first = tables[0, word & 255] + tables[1, (word >> 8) & 255]
    second = tables[2, (word >> 16) & 255] + tables[3, (word >> 24) & 255]
    first += tables[4, (word >> 32) & 255] + tables[5, (word >> 40) & 255]
    second += tables[6, (word >> 48) & 255] + tables[7, word >> 56]
    return first + second


@njit([void(_TABLES, _WORDS, int64, float32[:, :])], nogil=True)
def compiled_sums(tables, columns, first, sums):
    """Weighted sums of the codes from the first on, by the tables of each query."""
    for of_query, row in zip(tables, sums):
        row[:] = 0
        for place in range(len(columns)):
            table = of_query[8 * place : 8 * place + 8]
            column = columns[place, first : first + len(row)]
            for code in range(len(row)):
                row[code] += _look_up(table, column[code])


@njit([void(_TABLES, _OCTETS, _TERMS, float32, _STARTS, float32[:, ::1])], nogil=True)
def compiled_maxima(by_entry, data, terms, unit, starts, maxima):
    """Highest score of each token of queries in each document, see `write_maxima`."""
    n_bytes, n_terms, n_queries = data.shape[1], terms.shape[1], maxima.shape[1]
    whole = n_bytes - n_bytes % 4
    sums = np.empty(n_queries, dtype=np.float32)
    for document in range(len(maxima)):
        best = maxima[document]
        best[:] = -np.inf
        for code in range(starts[document], starts[document + 1]):
            octets = data[code]
            sums[:] = 0
            for place in range(0, whole, 4):
                first = by_entry[place, octets[place]]
                second = by_entry[place + 1, octets[place + 1]]
                third = by_entry[place + 2, octets[place + 2]]
                fourth = by_entry[place + 3, octets[place + 3]]
                for query in range(n_queries):  # which is compiled to sums of vectors
                    left, right = first[query] + second[query], third[query] + fourth[query]
                    sums[query] += left + right
            for place in range(whole, n_bytes):
                entries = by_entry[place, octets[place]]
                for query in range(n_queries):
                    sums[query] += entries[query]
            factor = terms[code, 0] if n_terms else float32(1)
            addend = terms[code, 1] * unit if n_terms > 1 else float32(0)
            for query in range(n_queries):
                score = sums[query] * factor + addend
                best[query] = score if score > best[query] else best[query]
