"""Counts of Hamming distances by affinity level."""

from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn import config_context, get_config
from sklearn.utils import gen_batches

from .._compat import validate_params
from .._threads import map_in_threads, one_thread
from ..affinity import resolve_affinity
from ..codes._packed import as_packed, code_words, refuse_terms
from ._histograms import HammingHistogram

_QUERIES_PER_BLOCK = 256
_ITEMS_PER_ORACLE_BLOCK = 8_192  # an oracle returns a table of all pairs
_BYTES_PER_PAIR = 32  # memory of an oracle for the affinity of a pair

# Merging equal codes costs about as much as counting the database for so many queries, and
# pays if at most this share of the first rows is left.
_QUERIES_TO_MERGE = 64
_FIRST_ROWS = 4_096
_MOST_DISTINCT = 0.7


@validate_params(
    {
        "query_codes": ["array-like"],
        "database_codes": ["array-like"],
        "affinity": "no_validation",
        "y_query": "no_validation",
        "y_database": "no_validation",
        "exclude_self": ["boolean"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def hamming_histogram(
    query_codes,
    database_codes,
    affinity,
    y_query,
    y_database,
    *,
    exclude_self=False,
    n_jobs=None,
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
        Targets of the queries: labels, indicators, feature rows or a PrecomputedAffinity,
        as the oracle takes them.

    y_database : targets of length n_database
        Targets of the database, of the same kind.

    exclude_self : bool, default=False
        Queries and database are the same samples in the same order, and no query is
        ranked against itself.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context with
        threads, -1 all processors. In a context of processes or of a cluster the counting
        stays in this process, in as many threads as are given here.

    Returns
    -------
    histogram : HammingHistogram
        Counts of shape (n_queries, n_levels, n_bits + 1), int64.

    Raises
    ------
    ValueError
        If codes and targets differ in length, or code lengths differ, or codes have factors
        or addends.

    Notes
    -----
    Time is linear in n_queries times n_database. Memory beyond the result and the packed
    codes is some tens of MiB per thread, less if scikit-learn's ``working_memory`` is less.
    Learned codes repeat: where codes and labels do so often enough, equal ones are counted
    once, with weights.

    A database too large for memory is counted in parts, which add up:
    ``sum(hamming_histogram(queries, part, affinity, y_query, y) for part, y in parts)``.

    Examples
    --------
    >>> from sklearn_talr.histogram import hamming_histogram
    >>> codes = [[0, 0], [0, 1], [0, 0]]
    >>> histogram = hamming_histogram(
    ...     codes, codes, "auto", [0, 0, 1], [0, 0, 1], exclude_self=True
    ... )
    >>> histogram.counts[0]  # a stranger at distance 0, a relative at distance 1
    array([[1, 0, 0],
           [0, 1, 0]])
    """
    refuse_terms(query_codes, "query_codes")
    refuse_terms(database_codes, "database_codes")
    affinity, y_query, y_database = _paired_targets(affinity, y_query, y_database)
    query_codes = as_packed(query_codes, input_name="query_codes")
    database_codes = as_packed(database_codes, input_name="database_codes")
    _check_one_target_each("query", query_codes, y_query)
    _check_one_target_each("database", database_codes, y_database)
    if exclude_self and len(query_codes) != len(database_codes):
        raise ValueError(
            "exclude_self needs query i to be database item i, but there are "
            f"{len(query_codes)} queries and {len(database_codes)} items."
        )
    levels = affinity.levels_between(y_query, y_database)
    queries, database = code_words(query_codes, database_codes)
    count = partial(
        _count_block,
        _Items.of(database, affinity, y_database, merge=len(queries) >= _QUERIES_TO_MERGE),
        *(affinity, levels, queries, y_query, query_codes.n_bits + 1),
        database if exclude_self else None,
    )
    counts = np.empty((len(queries), len(levels), query_codes.n_bits + 1), dtype=np.int64)
    blocks = list(gen_batches(len(queries), _queries_per_block()))
    with one_thread():
        for rows, block in zip(blocks, map_in_threads(count, blocks, n_jobs)):
            counts[rows] = block
    return HammingHistogram(counts, levels, query_codes.n_bits)


class _Items(NamedTuple):
    """Database items as they are counted.

    Parameters
    ----------
    words : ndarray of shape (n_items, n_words), unsigned
        Code words, sorted by group. Equal codes of a group may be there once.

    starts : ndarray of shape (n_groups + 1,), dtype int64, or None
        Where each group of equal targets starts, and the last ends. None: every item is a
        group of its own.

    weights : ndarray of shape (n_items,) of int64, or None
        How often each item counts; None means once.

    targets : targets of length n_groups
        One of each group.

    group_of : ndarray, or None
        Group of each item of the database as it was given; None: its number.
    """

    words: np.ndarray
    starts: np.ndarray | None
    weights: np.ndarray | None
    targets: object
    group_of: np.ndarray | None

    @classmethod
    def of(cls, words, affinity, y_database, merge):
        """Sort items into groups, where their affinity can, and merge equal ones if asked.

        The first rows tell whether a database repeats itself before all are sorted.
        """
        groups = affinity.group_targets(y_database)
        if groups is None:
            return cls(words, None, None, y_database, None)
        targets, group = groups
        weights, some = None, slice(_FIRST_ROWS)
        if merge and len(_merged(words[some], group[some])[0]) < _MOST_DISTINCT * len(
            words[some]
        ):
            words, sorted_group, weights = _merged(words, group)
        else:
            order = np.argsort(group, kind="stable")
            words, sorted_group = words[order], group[order]
        starts = np.searchsorted(sorted_group, np.arange(targets.shape[0] + 1))
        return cls(words, starts, weights, targets, group)


def _merged(words, group):
    """The distinct codes of each group, their groups, and how often each is there."""
    order = np.lexsort((*words.T, group))
    words, group = words[order], group[order]
    starts = np.any(words[1:] != words[:-1], axis=1) | (group[1:] != group[:-1])
    starts = np.r_[0, 1 + np.flatnonzero(starts)]
    return words[starts], group[starts], np.diff(starts, append=len(words))


def _count_block(items, affinity, levels, queries, y_query, n_distances, itself, rows):
    """Counts of some of the queries; `itself` is the database whose row q is query q."""
    from .._loops._counts import count_levels

    own = np.arange(rows.start, rows.stop)
    query, own_level = own - rows.start, np.zeros(len(own), dtype=np.intp)
    counts = np.zeros((len(own), len(levels), n_distances), dtype=np.int64)

    def levels_of(targets):
        with config_context(assume_finite=True):
            level = affinity.level_index(y_query[rows], targets, levels)
        return level.astype(np.uint16 if len(levels) < 2**16 else np.uint32)

    if items.starts is not None:
        level = levels_of(items.targets)
        count_levels(queries[rows], items.words, items.starts, level, items.weights, counts)
        if itself is not None:
            own_level = level[query, items.group_of[own]]
    else:
        for block in gen_batches(len(items.words), _ITEMS_PER_ORACLE_BLOCK):
            level, each = levels_of(items.targets[block]), items.words[block]
            count_levels(queries[rows], each, np.arange(len(each) + 1), level, None, counts)
            inside = (own >= block.start) & (own < block.stop)
            own_level[inside] = level[query[inside], own[inside] - block.start]
    if itself is not None:
        differing = np.bitwise_count(queries[rows] ^ itself[rows])
        counts[query, own_level, differing.sum(axis=1, dtype=np.intp)] -= 1
    return counts


def _queries_per_block():
    """So many queries that what an oracle makes of a block fits into working memory."""
    budget = get_config()["working_memory"] * 2**20
    most = int(budget / (_BYTES_PER_PAIR * _ITEMS_PER_ORACLE_BLOCK))
    return max(1, min(_QUERIES_PER_BLOCK, most))


def _paired_targets(affinity, y_query, y_database):
    if y_query is None or y_database is None:
        raise ValueError(
            "y_query and y_database are needed to know what is relevant. Under a "
            "ThresholdAffinity they are feature rows."
        )
    affinity, y_query = resolve_affinity(affinity, None, y_query)
    return affinity, y_query, affinity.check_targets(y_database)


def _check_one_target_each(side, codes, y):
    if len(codes) != y.shape[0]:
        raise ValueError(
            f"{side}_codes and y_{side} must have equal length, got {len(codes)} and "
            f"{y.shape[0]}."
        )
