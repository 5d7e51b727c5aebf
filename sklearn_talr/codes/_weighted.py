"""Scores of codes by weighted queries: bits that count as much as the query says.

A weighted query is not rounded to bits. It has one weight w_j for each bit, which is
negative where the query would rather see a 0. A code with the signs s_j, 1 for a one and -1
for a zero, scores

    factor * sum_j w_j s_j + addend.

Factor and addend belong to the code. They are 1 and 0 unless the hasher of the code says
otherwise. With 1 and 0 the order of the scores is that of weighted Hamming distances (Zhang
et al., "Binary Code Ranking with Weighted Hamming Distance", CVPR 2013), in which a
differing bit costs \\|w_j\\|:

    sum of \\|w_j\\| over differing bits = (sum_j \\|w_j\\| - sum_j w_j s_j) / 2.

A query may also weigh words of four or eight bits, see :mod:`~._words`. Its weights are
then those of the products of the signs of each word.

Gordo et al., "Asymmetric Distances for Binary Embeddings" (CVPR 2011), compare codes with
queries that are not binarized.
"""

from numbers import Integral

import numpy as np
from sklearn.utils import check_array

from .._arrays import as_numpy
from .._compat import validate_params
from .._threads import map_in_threads, one_thread, slices
from ._byte_tables import add_entries, tables_of
from ._packed import PackedCodes, as_packed
from ._words import Words, signs_of, size_of_words

__all__ = ["weighted_scores"]

_CODES_PER_BLOCK = 8_192  # codes whose signs are unpacked at once
_QUERIES_PER_BLOCK = 64  # queries whose tables are held at once


@validate_params(
    {
        "query_weights": ["array-like"],
        "database_codes": ["array-like"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def weighted_scores(query_weights, database_codes, *, n_jobs=None):
    """Score every code by every weighted query.

    Parameters
    ----------
    query_weights : array-like of shape (n_queries, n_weights)
        How much each bit counts, as `query_weights` of a hasher returns it. A query that
        weighs words of several bits has more weights than codes have bits, see Notes.

    database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
        Codes of the database. Factors and addends of packed codes are applied.

    n_jobs : int, default=None
        Number of threads that share the codes. None means 1 unless in a
        `joblib.parallel_config` context, -1 all processors.

    Returns
    -------
    scores : ndarray of shape (n_queries, n_database), dtype float32
        The higher, the nearer.

    Raises
    ------
    ValueError
        If codes of this length are not asked by so many weights, or the queries are codes
        in place of weights.

    Notes
    -----
    Words are runs of four or eight bits. A query that weighs words has a weight for each
    product of the signs of some bits of a word, 1 for a one and -1 for a zero, so that each
    value of the word may have any score. The weights of single bits come first, then those
    of two or more bits, word by word. The products of a word have the order of the binary
    numbers whose ones they are: bits 0 and 1; 0 and 2; 1 and 2; 0, 1 and 2; 0 and 3; and so
    on to all bits. Codes of 8 bits have 8 weights for bits, or 30 for words of four bits,
    or 255 for a word of eight. If bits are left over, they are a shorter word.

    Examples
    --------
    Both codes differ from the signs of the query in one bit, so that they are tied by
    Hamming distance. The first differs where the query is surer:

    >>> from sklearn_talr.codes import weighted_scores
    >>> weighted_scores([[2.0, 0.5, 1.0]], [[0, 1, 1], [1, 0, 1]])
    array([[-0.5,  2.5]], dtype=float32)

    A query of one word of two bits, which would rather see equal bits than others:

    >>> weighted_scores([[0.5, 0.0, 2.0]], [[0, 0], [0, 1], [1, 0], [1, 1]])
    array([[ 1.5, -2.5, -1.5,  2.5]], dtype=float32)
    """
    weights = as_weights(query_weights)
    packed = as_packed(database_codes, input_name="database_codes")
    words = Words.of_weights(packed.n_bits, weights.shape[1])
    spread = words.spread(weights, packed.data.shape[1])
    scores = np.empty((len(weights), len(packed)), dtype=np.float32)

    @one_thread()
    def score(codes):
        terms = None if packed.terms is None else packed.terms[codes]
        scores[:, codes] = score_codes(spread, packed.data[codes], terms)

    for _ in map_in_threads(score, slices(len(packed), _CODES_PER_BLOCK), n_jobs):
        pass
    return scores


def as_weights(queries, input_name="query_weights"):
    """Weights of queries, checked, as an array of shape (n_queries, n_weights), float32."""
    weights = refuse_codes(queries, input_name)
    return check_array(weights, dtype=np.float32, input_name=input_name)


def refuse_codes(queries, input_name):
    """Return weights of queries in NumPy; raise ValueError where they are codes."""
    queries = as_numpy(queries)
    if _are_bits(queries):
        raise ValueError(
            f"{input_name} are codes, and weights are needed: what `query_weights` of the "
            "hasher returns. HashedNeighbors asks its index as the hasher wants it."
        )
    return queries


def saturate(activations, xp=np):
    """Weights of queries for codes that were fitted to labels.

    An activation far from 0 says that a bit is sure, and not that it matters as much more.
    `xp` is the library of the activations.
    """
    scale = xp.mean(xp.abs(activations), axis=1, keepdims=True)
    tiny = float(np.finfo(np.float32).tiny)
    return xp.tanh(activations * (2 / xp.clip(scale, tiny, None)))


def score_codes(spread, data, terms=None):
    """Scores of codes, shape (n_queries, n_codes), of the type of the weights.

    The weights of the queries are spread, see `Words.spread`.
    """
    n_bytes = data.shape[1]
    if size_of_words(spread, n_bytes) == 1:
        return apply_terms(spread @ signs_of(data).T, terms)
    # Words of several bits have so many products that tables cost less.
    sums = np.empty((len(spread), len(data)), dtype=spread.dtype)
    for queries in slices(len(spread), _QUERIES_PER_BLOCK):
        tables = tables_of(spread[queries], n_bytes)
        add_entries(tables, len(data), data.__getitem__, sums[queries])
    return apply_terms(sums, terms)


def apply_terms(sums, terms):
    """Multiply weighted sums by the factors of their codes, and add the addends."""
    if terms is None:
        return sums
    sums = sums * terms[:, 0]
    return sums + terms[:, 1] if terms.shape[1] > 1 else sums


def _are_bits(queries):
    """Whether queries are codes: packed, of a type for bits, or both zeros and ones only.

    An array of zeros alone holds the weights of queries that know nothing.
    """
    if isinstance(queries, PackedCodes):
        return True
    queries = np.asarray(queries)
    if queries.dtype.kind in "bu":
        return True
    ones = queries == 1
    return bool(ones.any()) and not ones.all() and bool((ones | (queries == 0)).all())
