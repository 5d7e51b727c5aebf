"""Which words a code gets: their size, and whether the last one holds a factor.

Candidates are fitted to some rows in few steps, and code others. The one is taken by whose
codes most neighbors are found among these.
"""

from typing import NamedTuple

import numpy as np

from ._word_codes import decode_words
from ._word_fit import alternate_words, best_codebooks, first_words
from ._word_model import cosines_of, encode_rows

_LEAST_ROWS = 1_000  # from which on some can be held out
_MOST_HELD_OUT, _SHARE_HELD_OUT = 2_000, 0.1
_ITERATIONS = 4
_N_NEIGHBORS = 10
_POWERS = 0.5, 1.0
_EXTREMES = 0.005, 0.995  # quantiles of the cosines between which the levels are


class WordChoice(NamedTuple):
    """The words of a code.

    Parameters
    ----------
    size : int
        Bits of a word.

    levels : ndarray of shape (2 ** size,) or (0,)
        Cosines that the last word tells, if it tells one.

    power : float
        Power of the cosine in the factor of a score, 0 if no word tells one.
    """

    size: int
    levels: np.ndarray
    power: float

    def n_coded(self, n_bits):
        """Number of words that stand for vectors."""
        return n_bits // self.size - bool(self.power)


def possible_sizes(n_bits, n_rows):
    """Sizes of words of which codebooks can be found from so many rows.

    A codebook of 256 entries has sixteen times as many as one of four bits, for twice the
    bits. There is a row for each entry of the larger, and there are two of the smaller.
    """
    sizes = []
    if n_bits % 8 == 0 and n_bits <= 128 and n_rows >= 32 * n_bits:
        sizes.append(8)
    if n_bits % 4 == 0 and n_rows >= 8 * n_bits:
        sizes.append(4)
    return sizes


def choose_words(rows, n_bits, sizes, alpha, metric, rng):
    """The best of the possible words for rows, see the module.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows in random order.

    n_bits : int
        Bits of a code.

    sizes : list of int
        Sizes of words to choose from.

    alpha : float
        Strength of the penalty.

    metric : {"cosine", "inner_product", "euclidean"}
        How rows are compared.

    rng : RandomState

    Returns
    -------
    choice : WordChoice
    """
    n_held = min(_MOST_HELD_OUT, int(_SHARE_HELD_OUT * len(rows)))
    if len(rows) < _LEAST_ROWS:
        return WordChoice(sizes[0], np.empty(0), 0.0)
    trial = _Trial(rows[n_held:], rows[:n_held], metric)
    found = [option for size in sizes for option in trial.options(n_bits, size, alpha, rng)]
    return max(found, key=lambda option: option[0])[1]


class _Trial:
    """Rows that candidates are fitted to, and others that they are compared by."""

    def __init__(self, rows, held_out, metric):
        self._rows, self._held_out, self._metric = rows, held_out, metric
        self._halves = np.einsum("ij,ij->i", held_out, held_out) / 2
        self._n_neighbors = min(_N_NEIGHBORS, len(held_out) - 1)
        self._true = self._nearest(self._scores(held_out))

    def options(self, n_bits, size, alpha, rng):
        """Pairs of recall and WordChoice: no word for a factor, or one, by each power."""
        free, n_values = self._metric == "cosine", 2**size
        words = first_words(self._each_row, len(self._rows), n_bits, size, self._rows, rng)
        codebooks, _ = alternate_words(
            self._each_row, words, n_values, alpha, _ITERATIONS, free
        )
        recall, _ = self._compare(codebooks, free)
        yield recall[0], WordChoice(size, np.empty(0), 0.0)
        if not free or len(codebooks) == 1:
            return
        codebooks = best_codebooks(self._each_row, words[:, :-1], n_values, alpha)
        recall, cosines = self._compare(codebooks, free)
        levels = np.linspace(*np.quantile(cosines, _EXTREMES), n_values)
        for power in _POWERS:
            yield recall[power], WordChoice(size, levels, power)

    def _compare(self, codebooks, free):
        """Recall by power, and cosines of the held out rows and their decodings."""
        words = encode_rows(self._held_out, codebooks, free=free)
        cosines = np.maximum(cosines_of(self._held_out, words, codebooks), 0)
        decoded = decode_words(words, codebooks)
        if free:
            norms = np.linalg.norm(decoded, axis=1, keepdims=True)
            decoded = decoded / np.maximum(norms, np.finfo(np.float32).tiny)
        scores = self._scores(decoded)
        powers = (0.0, *_POWERS) if free else (0.0,)
        recalls = {power: self._recall(scores * cosines**power) for power in powers}
        return recalls, cosines

    def _each_row(self, function):
        yield function(slice(None), self._rows)

    def _scores(self, decoded):
        """Scores of decodings by the held out rows, none of itself."""
        scores = self._held_out @ decoded.T
        if self._metric == "euclidean":
            scores -= self._halves
        np.fill_diagonal(scores, -np.inf)
        return scores

    def _nearest(self, scores):
        place = scores.shape[1] - self._n_neighbors
        return scores >= np.partition(scores, place, axis=1)[:, [place]]

    def _recall(self, scores):
        """Share of the true neighbors among as many found."""
        return (self._true & self._nearest(scores)).sum() / self._true.sum()
