"""Which words a code gets: their size, and whether the last one holds a factor.

What words of several bits, a factor and single bits are worth is tried on rows held out.
"""

from typing import NamedTuple

import numpy as np

from ...codes._door import decode_words
from ._word_fit import alternate_words, best_codebooks, compiles
from ._word_model import cosines_of, encode_rows

# The largest words whose codebooks are found from n rows, if n is at least the square of
# the number of bits times these. Measured on six sets of 64 to 512 features.
_ROWS_PER_SQUARE, _MOST_BITS = 1 / 2, 128
_LEAST_ROWS = 1_000  # from which on some can be held out
_MOST_ROWS, _MOST_HELD_OUT, _SHARE_HELD_OUT = 10_000, 4_000, 0.2
_MOST_QUERIES = 2_000
_ITERATIONS = 4
_N_NEIGHBORS = 3  # few, since rows held out are fewer than those to be searched
_POWERS = 0.5, 1.0
_LEAST_GAIN = 0.01  # in recall; less may be chance
_NO_LEVELS = np.empty(0)
_EXTREMES = 0.005, 0.995  # quantiles of the cosines between which the levels are


class WordChoice(NamedTuple):
    """The words of a code.

    Parameters
    ----------
    size : {1, 8}
        Bits of a word.

    levels : ndarray of shape (n_values,) or (0,)
        Cosines of row and decoding that the last word tells; empty if it tells none.

    power : float
        Power of the cosine that multiplies a score, 0 for none.
    """

    size: int
    levels: np.ndarray = _NO_LEVELS
    power: float = 0.0


def largest_words(n_bits, n_rows):
    """The largest size of words that improve codes when fitted to so many rows.

    A word of eight bits has 256 vectors. The more words, the more vectors there are, and
    the less is left for each to explain. Codes of more than 128 bits
    would take minutes to fit with words of eight bits.
    """
    fits = n_bits % 8 == 0 and n_bits <= _MOST_BITS
    return 8 if fits and n_rows >= max(_LEAST_ROWS, _ROWS_PER_SQUARE * n_bits**2) else 1


def choose_words(rows, start, n_bits, size, alpha, metric):
    """Whether the last word tells a factor, and which, and whether single bits do better.

    Words with and without a factor are fitted to some rows in few steps, and code others. A
    factor is taken if clearly more neighbors are found by it among these.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows in random order.

    start : dict of callables
        By size: ``start[size](rows)``, words to start from. With size 1 among them, single
        bits are a candidate, too.

    n_bits, size : int
        Bits of a code and of a word.

    alpha : float
        Strength of the penalty.

    metric : {"cosine", "inner_product", "euclidean"}
        How rows are compared. Only cosines need factors.

    Returns
    -------
    choice : WordChoice
    """
    if len(rows) < _LEAST_ROWS:
        return WordChoice(size)
    trial = _Trial.of(rows, alpha, metric)
    words, codebooks = trial.fit(start[size], 2**size)
    recalls, _ = trial.recalls(codebooks, (0.0,))
    best, choice = recalls[0.0], WordChoice(size)
    if metric == "cosine" and n_bits > size:
        codebooks = trial.codebooks(words[:, :-1], 2**size)
        recalls, cosines = trial.recalls(codebooks, _POWERS)
        power = max(recalls, key=recalls.get)
        if recalls[power] > best + _LEAST_GAIN:
            levels = np.linspace(*np.quantile(cosines, _EXTREMES), 2**size)
            best, choice = recalls[power], WordChoice(size, levels, power)
    if 1 in start:
        recalls, _ = trial.recalls(trial.fit(start[1], 2)[1], (0.0,))
        choice = WordChoice(1) if recalls[0.0] > best else choice
    return choice


class _Trial(NamedTuple):
    """Rows that candidates are fitted to in few steps, and others that they code."""

    rows: np.ndarray
    held_out: np.ndarray
    alpha: float
    metric: str

    @classmethod
    def of(cls, rows, alpha, metric):
        n_held = min(_MOST_HELD_OUT, int(_SHARE_HELD_OUT * len(rows)))
        return cls(rows[n_held:_MOST_ROWS], rows[:n_held], alpha, metric)

    def each_row(self, function):
        yield function(slice(None), self.rows)

    def fit(self, start, n_values):
        """Words of the rows, and their codebooks."""
        words, free = start(self.rows), self.metric == "cosine"
        how = n_values, self.alpha, _ITERATIONS, free
        return words, alternate_words(self.each_row, words, *how)

    def codebooks(self, words, n_values):
        """Codebooks for some of the words."""
        return best_codebooks(self.each_row, words, n_values, self.alpha)

    def recalls(self, codebooks, powers):
        """Recall of the nearest rows held out, by power of the factor; their cosines."""
        rows, free = self.held_out, self.metric == "cosine"
        compiled = compiles(len(self.rows), codebooks.shape[0] * codebooks.shape[1])
        words = encode_rows(rows, codebooks, free=free, compiled=compiled)
        cosines = np.maximum(cosines_of(rows, words, codebooks), 0)
        decoded = decode_words(words, codebooks)
        if free:
            norms = np.linalg.norm(decoded, axis=1, keepdims=True)
            decoded /= np.maximum(norms, np.finfo(np.float32).tiny)
        addends = 0
        if self.metric == "euclidean":
            addends = np.einsum("ij,ij->i", rows, rows) / -2
        queries = rows[:_MOST_QUERIES]
        true = _are_nearest(queries @ rows.T + addends)
        scores = queries @ decoded.T + addends
        found = {power: _are_nearest(scores * cosines**power) for power in powers}
        return {power: (true & f).sum() / true.sum() for power, f in found.items()}, cosines


def _are_nearest(scores):
    """Mask of the highest scores of each query, which is not its own neighbor."""
    np.fill_diagonal(scores, -np.inf)
    place = scores.shape[1] - _N_NEIGHBORS
    return scores >= np.partition(scores, place, axis=1)[:, [place]]
