"""Hamming distances between codes."""

import numpy as np

from .._compat import validate_params
from ._packed import as_packed, as_words

__all__ = ["hamming_distances"]


@validate_params(
    {"query_codes": ["array-like"], "database_codes": ["array-like"]},
    prefer_skip_nested_validation=True,
)
def hamming_distances(query_codes, database_codes):
    """Count the differing bits of every pair of codes.

    Parameters
    ----------
    query_codes : array-like of shape (n_queries, n_bits) of 0/1, or PackedCodes
        Codes of the queries.

    database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
        Codes of the database.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_database), dtype int32
        Distances in [0, n_bits]. Signed, so that ``-distances`` is a ranking score.

    Raises
    ------
    ValueError
        If the two sides differ in length, or one holds no codes.

    Examples
    --------
    >>> from sklearn_talr.codes import hamming_distances
    >>> hamming_distances([[0, 0, 0]], [[0, 0, 1], [1, 1, 1]])
    array([[1, 3]], dtype=int32)
    """
    queries, database = code_words(query_codes, database_codes)
    return word_distances(queries, database, dtype=np.int32)


def code_words(query_codes, database_codes):
    """Lay both sets of codes out as unsigned words, the widest that fit.

    Returns two arrays of shape (n, n_words) and one dtype, uint8 to uint64, zero padded:
    XOR and popcount run on whole words. Raises ValueError when the lengths differ.
    """
    queries = as_packed(query_codes, input_name="query_codes")
    database = as_packed(database_codes, input_name="database_codes")
    if queries.n_bits != database.n_bits:
        raise ValueError(
            f"query_codes have {queries.n_bits} bits and database_codes "
            f"{database.n_bits}; both must come from the same hash function."
        )
    return as_words(queries.data), as_words(database.data)


def word_distances(queries, database, dtype):
    """Hamming distances between two arrays of words as made by :func:`code_words`."""
    distances = np.zeros((len(queries), len(database)), dtype=dtype)
    for query_word, database_word in zip(queries.T, database.T):
        distances += np.bitwise_count(query_word[:, None] ^ database_word)
    return distances
