"""Hard counts[query, level, distance]: the table that every metric reads.

Counts are exact integers. They are made block by block, so that memory stays bounded
whatever the number of queries times the number of database items is.
"""

from dataclasses import dataclass

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from .affinity._resolve import (
    checked_targets,
    len_targets,
    level_index,
    level_values,
    resolve_affinity,
)
from .codes import code_words, pack_codes, word_distances

__all__ = ["RankingHistogram", "hamming_histogram"]

# Blocks of this shape keep the distances and keys of a block in the processor's cache.
_QUERIES_PER_BLOCK = 32
_ITEMS_PER_BLOCK = 16_384
_BYTES_PER_PAIR = 32  # words, distances, affinities, levels and keys of one pair


@dataclass(frozen=True, eq=False)
class RankingHistogram:
    """How many database items each query finds at each distance, by affinity level.

    Items of one query that share a distance are tied. This table is all that a ranking
    metric needs to know of them.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels, n_distances) of int
        Number of items; ``counts[q, v, d]`` have affinity ``levels[v]`` to query q and lie
        in its d-th tie, nearest first.

    levels : ndarray of shape (n_levels,) of int
        Affinity values in ascending order, first 0 ("not similar").

    Examples
    --------
    One query; a relevant and an irrelevant item are tied at distance 0:

    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_average_precision
    >>> counts = np.array([[[1, 0], [1, 0]]])
    >>> histogram = RankingHistogram(counts, levels=np.array([0, 1]))
    >>> tie_aware_average_precision(histogram)
    array([0.75])
    """

    counts: np.ndarray
    levels: np.ndarray

    def __post_init__(self):
        if self.counts.ndim != 3 or self.counts.shape[1] != len(self.levels):
            raise ValueError(
                "counts must have shape (n_queries, n_levels, n_distances) with "
                f"{len(self.levels)} levels, got {self.counts.shape}."
            )
        if self.levels[0] != 0 or np.any(np.diff(self.levels) <= 0):
            raise ValueError(f"levels must ascend from 0, got {self.levels}.")

    def __len__(self):
        return len(self.counts)

    @property
    def n_items(self):
        """Number of ranked items of each query, shape (n_queries,)."""
        return self.counts.sum(axis=(1, 2))

    @property
    def n_relevant(self):
        """Number of items of affinity above 0 of each query, shape (n_queries,)."""
        return self.counts[:, 1:].sum(axis=(1, 2))


def hamming_histogram(
    query_codes,
    database_codes,
    affinity,
    y_query,
    y_database,
    *,
    leave_one_out=False,
):
    """Count database items by affinity level and Hamming distance to each query.

    Parameters
    ----------
    query_codes : array-like of shape (n_queries, n_bits) of 0/1, or PackedCodes
        Codes of the queries.

    database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
        Codes of the database.

    affinity : "auto" or affinity oracle
        Who is similar to whom, see :mod:`sklearn_talr.affinity`. ``"auto"`` chooses by the
        form of `y_query`.

    y_query : targets of length n_queries
        Labels, indicators, feature rows or a PrecomputedAffinity, as the oracle takes
        them.

    y_database : targets of length n_database
        The same for the database.

    leave_one_out : bool, default=False
        Queries and database are the same samples in the same order, and no query is
        ranked against itself.

    Returns
    -------
    histogram : RankingHistogram
        Counts of shape (n_queries, n_levels, n_bins), ``n_bins = n_bits + 1``, int64.

    Raises
    ------
    ValueError
        If codes and targets differ in length, or code lengths differ.

    Notes
    -----
    Memory beyond the result is bounded by scikit-learn's ``working_memory``.

    Examples
    --------
    >>> from sklearn_talr.histogram import hamming_histogram
    >>> codes = [[0, 0], [0, 1], [0, 0]]
    >>> histogram = hamming_histogram(
    ...     codes, codes, "auto", [0, 0, 1], [0, 0, 1], leave_one_out=True
    ... )
    >>> histogram.counts[0]  # a stranger at distance 0, a relative at distance 1
    array([[1, 0, 0],
           [0, 1, 0]])
    """
    affinity, y_query, y_database = _paired_targets(affinity, y_query, y_database)
    query_codes, database_codes = pack_codes(query_codes), pack_codes(database_codes)
    _check_lengths("query", query_codes, y_query)
    _check_lengths("database", database_codes, y_database)
    if leave_one_out and len(query_codes) != len(database_codes):
        raise ValueError(
            "leave_one_out needs query i to be database item i, but there are "
            f"{len(query_codes)} queries and {len(database_codes)} items."
        )
    levels = level_values(affinity, y_query, y_database)
    queries, database = code_words(query_codes, database_codes)
    shape = len(queries), len(levels), query_codes.n_bits + 1
    counts = np.zeros(shape, dtype=np.int64)
    for rows in gen_batches(len(queries), _queries_per_block()):
        for items in gen_batches(len(database), _ITEMS_PER_BLOCK):
            index = level_index(affinity, levels, y_query[rows], y_database[items])
            block = counts[rows]
            block += _count_block(queries[rows], database[items], index, shape[1:])
            if leave_one_out:
                _uncount_self(block, index, queries, database, rows, items)
    return RankingHistogram(counts, levels)


def _count_block(queries, database, index, shape):
    n_levels, n_bins = shape
    cells = n_levels * n_bins
    keys = word_distances(queries, database, dtype=np.intp)
    keys += np.multiply(index, n_bins, dtype=np.intp)
    keys += cells * np.arange(len(queries))[:, None]
    counts = np.bincount(keys.ravel(), minlength=len(queries) * cells)
    return counts.reshape(len(queries), n_levels, n_bins)


def _uncount_self(block, index, queries, database, rows, items):
    """Take the pairs (i, i) out again, wherever their two codes put them."""
    both = np.arange(max(rows.start, items.start), min(rows.stop, items.stop))
    distance = np.bitwise_count(queries[both] ^ database[both]).sum(axis=1, dtype=np.intp)
    query = both - rows.start
    block[query, index[query, both - items.start], distance] -= 1


def _queries_per_block():
    budget = get_config()["working_memory"] * 2**20
    most = int(budget / (_BYTES_PER_PAIR * _ITEMS_PER_BLOCK))
    return max(1, min(_QUERIES_PER_BLOCK, most))


def _paired_targets(affinity, y_query, y_database):
    if y_query is None or y_database is None:
        raise ValueError(
            "y_query and y_database are needed to know what is relevant. Under a "
            "ThresholdAffinity they are feature rows."
        )
    affinity, y_query = resolve_affinity(affinity, None, y_query)
    return affinity, y_query, checked_targets(affinity, y_database)


def _check_lengths(side, codes, y):
    if len(codes) != len_targets(y):
        raise ValueError(
            f"{side}_codes and y_{side} must have equal length, got {len(codes)} and "
            f"{len_targets(y)}."
        )
