"""Which words a code gets: their size, and whether the last one holds a factor."""

from typing import NamedTuple

import numpy as np

from ._word_codes import decode_words
from ._word_fit import alternate_words, best_codebooks, compiles
from ._word_model import cosines_of, encode_rows

# The largest words whose codebooks are found from n rows, if n is at least the square of
# the number of bits times these. Measured on six sets of 64 to 512 features.
_ROWS_PER_SQUARE = {8: 1 / 2, 4: 1 / 16}
_MOST_BITS = {8: 128, 4: np.inf}
_LEAST_ROWS = 1_000  # from which on some can be held out
_MOST_ROWS, _MOST_HELD_OUT, _SHARE_HELD_OUT = 10_000, 4_000, 0.2
_MOST_QUERIES = 500
_ITERATIONS = 4
_N_NEIGHBORS = 10
_POWERS = 0.5, 1.0
_LEAST_GAIN = 0.005  # in recall; less may be chance
_EXTREMES = 0.005, 0.995  # quantiles of the cosines between which the levels are


class Factor(NamedTuple):
    """What the last word of a code tells of its score.

    Parameters
    ----------
    levels : ndarray of shape (n_values,) or (0,)
        Cosines of row and decoding that the word tells; empty if it tells none.

    power : float
        Power of the cosine that multiplies a score, 0 for none.
    """

    levels: np.ndarray
    power: float


NO_FACTOR = Factor(np.empty(0), 0.0)


def largest_words(n_bits, n_rows):
    """The largest size of words that improve codes when fitted to so many rows.

    A word of eight bits has 256 vectors, one of four bits 16. The more words, the more
    vectors there are, and the less is left for each to explain. Codes of more than 128 bits
    would take minutes to fit with words of eight bits.
    """
    for size, rows_per_square in _ROWS_PER_SQUARE.items():
        fits = n_bits % size == 0 and n_bits <= _MOST_BITS[size]
        if fits and n_rows >= max(_LEAST_ROWS, rows_per_square * n_bits**2):
            return size
    return 1


def choose_factor(rows, start, n_bits, size, alpha, metric):
    """Whether the last word tells a factor, and which.

    Words with and without one are fitted to some rows in few steps, and code others. A
    factor is taken if clearly more neighbors are found by it among these.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows in random order.

    start : callable
        ``start(rows)``: words to start from.

    n_bits, size : int
        Bits of a code and of a word.

    alpha : float
        Strength of the penalty.

    metric : {"cosine", "inner_product", "euclidean"}
        How rows are compared. Only cosines need factors.

    Returns
    -------
    factor : Factor
    """
    if metric != "cosine" or n_bits == size or len(rows) < _LEAST_ROWS:
        return NO_FACTOR
    n_held = min(_MOST_HELD_OUT, int(_SHARE_HELD_OUT * len(rows)))
    held_out, rows = rows[:n_held], rows[n_held:_MOST_ROWS]

    def each_row(function):
        yield function(slice(None), rows)

    words = start(rows)
    codebooks, _ = alternate_words(each_row, words, 2**size, alpha, _ITERATIONS, True)
    compiled = compiles(len(rows), words.shape[1] * 2**size)
    plain, _ = _recalls(held_out, codebooks, (0.0,), compiled)
    codebooks = best_codebooks(each_row, words[:, :-1], 2**size, alpha)
    recalls, cosines = _recalls(held_out, codebooks, _POWERS, compiled)
    power = max(recalls, key=recalls.get)
    if recalls[power] <= plain[0.0] + _LEAST_GAIN:
        return NO_FACTOR
    return Factor(np.linspace(*np.quantile(cosines, _EXTREMES), 2**size), power)


def _recalls(rows, codebooks, powers, compiled):
    """Recall of the nearest rows by power of the factor, and the cosines of all rows."""
    words = encode_rows(rows, codebooks, free=True, compiled=compiled)
    cosines = np.maximum(cosines_of(rows, words, codebooks), 0)
    decoded = decode_words(words, codebooks)
    norms = np.linalg.norm(decoded, axis=1, keepdims=True)
    decoded /= np.maximum(norms, np.finfo(np.float32).tiny)
    queries = rows[:_MOST_QUERIES]
    true, scores = _are_nearest(queries @ rows.T), queries @ decoded.T
    found = {power: _are_nearest(scores * cosines**power) for power in powers}
    return {power: (true & f).sum() / true.sum() for power, f in found.items()}, cosines


def _are_nearest(scores):
    """Mask of the highest scores of each query, which is not its own neighbor."""
    np.fill_diagonal(scores, -np.inf)
    place = scores.shape[1] - _N_NEIGHBORS
    return scores >= np.partition(scores, place, axis=1)[:, [place]]
