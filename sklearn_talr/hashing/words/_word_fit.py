"""How codebooks are found: from residuals, then by least squares and better words in turn.

The start is residual quantization (Chen et al., "Approximate Nearest Neighbor Search by
Residual Vector Quantization", Sensors 2010): the entries of each codebook are the means of
clusters of what the codebooks before have left. Then codebooks of least squared error are
found for all words at once, and words anew, as in additive quantization (Babenko and
Lempitsky, CVPR 2014; Martinez et al., "LSQ++", ECCV 2018).
"""

from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .._projections import itq_projection
from ._word_codes import greedy_words, improve_words, nearest_entries, words_of
from ._word_model import products_of_values

_ROWS_TO_START_FROM, _ROWS_TO_PROJECT = 20_000, 5_000
_LLOYD_STEPS = 4
_SWEEPS_PER_ITERATION = 1
_PRODUCTS_TO_COMPILE = 4_000_000  # of rows and entries in a fit
_SHARE_OF_LAST_CHANGES = 0.01  # of all words; changes halve from one step to the next
_PENALTY_OF_PRODUCTS = 10  # of two or more bits, in multiples of that of single bits


def first_codebooks(rows, n_words, n_values, rng):
    """Codebooks of a residual quantizer, shape (n_words, n_values, n_features), float32."""
    residuals = rows.copy()
    codebooks = np.empty((n_words, n_values, rows.shape[1]), dtype=np.float32)
    for codebook in codebooks:
        codebook[:] = _cluster_means(residuals, n_values, rng)
        residuals -= codebook[nearest_entries(residuals, codebook)]
    return codebooks


def _cluster_means(rows, n_clusters, rng):
    """Means of clusters of rows by a few steps of Lloyd's algorithm."""
    chosen = rng.choice(len(rows), n_clusters, replace=len(rows) < n_clusters)
    means = rows[chosen]
    for _ in range(_LLOYD_STEPS):
        members = _memberships(nearest_entries(rows, means)[:, None], n_clusters)
        sizes = members.sum(axis=0)
        sums = members.T @ rows
        means = np.where(sizes[:, None], sums / np.maximum(sizes, 1)[:, None], means)
    return means


def rows_of_sample(frame, X, rng):
    """Rows to start from, in random order: all, or some that are drawn."""
    n_rows = X.shape[0]
    return frame.rows(X[rng.permutation(n_rows)[:_ROWS_TO_START_FROM]])


def start_of_words(rows, n_bits, size, rng):
    """A function from rows to words to start from.

    Words of eight bits are those of a residual quantizer. Single bits are signs of the
    projection of iterative quantization.
    """
    if size == 8:
        codebooks = first_codebooks(rows, n_bits // size, 2**size, rng)
        return partial(greedy_words, codebooks=codebooks)
    projection = itq_projection(rows[:_ROWS_TO_PROJECT], n_bits, rng).astype(np.float32)
    return lambda rows: words_of(rows @ projection, size)


def first_words(each_row, n_rows, n_words, start):
    """The first of the words that ``start(rows)`` gives, shape (n_rows, n_words), uint8."""
    words = np.empty((n_rows, n_words), dtype=np.uint8)

    def fill(part, rows):
        words[part] = start(rows)[:, :n_words]

    for _ in each_row(fill):
        pass
    return words


def compiles(n_rows, n_entries):
    """Whether a fit of so many entries to so many rows is to use numba.

    What has been loaded before decides nothing: equal seeds give equal words.
    """
    return n_rows * n_entries >= _PRODUCTS_TO_COMPILE


def alternate_words(each_row, words, n_values, alpha, max_iter, free, watch=None):
    """Find codebooks for the words, words for the codebooks, and so on.

    ``each_row(function)`` yields ``function(part, rows)`` for slices of all rows. `words`
    are improved in place. Each alternation is told to `watch`, if there is one, with the
    share of words that it has changed and the codebooks, and that may stop. Returns the
    codebooks of the last words.
    """
    how = {"free": free, "compiled": compiles(len(words), words.shape[1] * n_values)}

    def improve(part, rows):
        return improve_words(rows, codebooks, words[part], _SWEEPS_PER_ITERATION, **how)

    codebooks = best_codebooks(each_row, words, n_values, alpha)
    for _ in range(max_iter):
        if watch is not None:
            watch.begin()
        share = sum(each_row(improve)) / words.size
        codebooks = best_codebooks(each_row, words, n_values, alpha)
        wants_to_stop = watch is not None and watch.end(share, codebooks)
        if wants_to_stop or share <= _SHARE_OF_LAST_CHANGES:
            break
    return codebooks


def best_codebooks(each_row, words, n_values, alpha):
    """Codebooks of least squared error plus a penalty on the vectors of products.

    The penalty is `alpha` per row times the square of the vectors of single bits, and ten
    times as much for those of products of several bits. What all values of a word have in
    common has no vector.
    """
    n_rows, n_words = words.shape
    counts = _pair_counts(words, n_values)
    sums = sum(each_row(lambda part, rows: _memberships(words[part], n_values).T @ rows))
    penalty = n_rows * _penalty(n_values, alpha)
    for first in range(0, len(counts), n_values):
        own = slice(first, first + n_values)
        counts[own, own] += penalty
    solved = scipy.linalg.solve(counts, sums, assume_a="pos", overwrite_a=True)
    codebooks = solved.reshape(n_words, n_values, -1)
    return (codebooks - codebooks.mean(axis=1, keepdims=True)).astype(np.float32)


def _pair_counts(words, n_values):
    """How many rows have each pair of entries, shape (n_entries, n_entries), float32."""
    n_words = words.shape[1]
    counts = np.empty((n_words, n_values, n_words, n_values), dtype=np.float32)
    columns = words.T.astype(np.intp)
    for first, column in enumerate(columns):
        places = n_values * column
        for second in range(first, n_words):
            of_pair = np.bincount(places + columns[second], minlength=n_values**2)
            of_pair = of_pair.reshape(n_values, n_values)
            counts[first, :, second] = of_pair
            counts[second, :, first] = of_pair.T
    return counts.reshape(n_words * n_values, -1)


def _memberships(words, n_values):
    """A CSR matrix with a one for the entry that each word names."""
    n_rows, n_words = words.shape
    places = words + n_values * np.arange(n_words)
    ends = np.arange(0, places.size + 1, n_words)
    ones = np.ones(places.size, dtype=np.float32)
    return sp.csr_array((ones, places.ravel(), ends), shape=(n_rows, n_words * n_values))


def _penalty(n_values, alpha):
    """Matrix of the penalty per row, on the entries of a codebook."""
    size = n_values.bit_length() - 1
    products = products_of_values(size)
    strengths = np.full(n_values - 1, _PENALTY_OF_PRODUCTS * alpha)
    strengths[:size] = alpha
    constant = 100.0  # keeps the sums of entries at zero, and the matrix regular
    return ((products * strengths) @ products.T + constant) / n_values**2
