"""Counts of queries against codes: by Hamming distance, and by weighted scores."""

from numbers import Integral

import numpy as np
from sklearn import config_context, get_config
from sklearn.utils import gen_batches

from .._arrays import refuse_masked, refuse_unlike_labels
from .._compat import validated
from .._threads import map_in_threads, one_thread
from .._types import Affinity, Any, ArrayLike, Column, Count
from ..affinity import resolve_affinity
from ..affinity._base import places_of
from ..affinity._groups import GroupedAffinity, leave_out_groups
from ..codes._packed import as_packed, code_words, refuse_terms
from ..codes._scores import columns_of, fixed, tables_of
from ._histograms import HammingHistogram, RankingHistogram

_QUERIES_PER_BLOCK = 256
_ITEMS_PER_ORACLE_BLOCK = 8_192  # an oracle returns a table of all pairs
_CELLS_PER_BLOCK = 2**21  # of queries times items, by weighted scores
_BYTES_PER_PAIR = 32  # memory of an oracle for the affinity of a pair

# Merging equal codes costs about as much as counting the database for so many queries, and
# pays if at most this share of the first rows is left.
_QUERIES_TO_MERGE = 64
_FIRST_ROWS = 4_096
_MOST_DISTINCT = 0.7


@validated(
    query_codes=["array-like"],
    database_codes=["array-like"],
    exclude_self=["boolean"],
    n_jobs=[Integral, None],
)
def hamming_histogram(
    query_codes: ArrayLike,
    database_codes: ArrayLike,
    affinity: Affinity,
    y_query: Any,
    y_database: Any,
    *,
    exclude_self: bool = False,
    groups_query: Column = None,
    groups_database: Column = None,
    n_jobs: Count = None,
) -> HammingHistogram:
    """Count database items by affinity level and Hamming distance to each query.

    Parameters
    ----------
    query_codes : array-like of shape (n_queries, n_bits) of 0/1, or PackedCodes
        Codes of the queries.

    database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
        Codes of the database.

    affinity : "auto" or affinity oracle
        Who is similar to whom, see :mod:`sklearn_talr.affinity`. ``"auto"`` chooses by the
        form of `y_database`.

    y_query : targets of length n_queries
        Targets of the queries: labels, indicators, feature rows or a PrecomputedAffinity,
        as the oracle takes them.

    y_database : targets of length n_database
        Targets of the database, of the same kind.

    exclude_self : bool, default=False
        Queries and database are the same samples in the same order, and no query is
        ranked against itself, whatever the groups of both sides are.

    groups_query, groups_database : array-like of shape (n,), default=None
        Labels of groups, such as cameras, sessions, videos or near-duplicates. Items of the
        query's own group do not count, as if they were not in the database for it. None
        leaves nothing out.

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
        If codes, targets and groups differ in length, or code lengths differ, or codes have
        factors or addends.

    Notes
    -----
    Pairs whose affinity is below 0, or NaN, are not counted either.

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
    refuse_masked(query_codes=query_codes, database_codes=database_codes)
    names = "query_codes", "database_codes"
    refuse_unlike_labels(query_codes, database_codes, names, axis=1)
    refuse_unlike_labels(query_codes, y_query, ("query_codes", "y_query"))
    refuse_unlike_labels(query_codes, groups_query, ("query_codes", "groups_query"))
    refuse_unlike_labels(database_codes, y_database, ("database_codes", "y_database"))
    names = "database_codes", "groups_database"
    refuse_unlike_labels(database_codes, groups_database, names)
    refuse_terms(query_codes, "query_codes")
    refuse_terms(database_codes, "database_codes")
    if y_query is None or y_database is None:
        raise ValueError(
            "y_query and y_database are needed to know what is relevant. Under a "
            "ThresholdAffinity they are feature rows."
        )
    # Of few queries, indicators have a form that may mean anything.
    affinity, y_database = resolve_affinity(affinity, None, y_database)
    y_query = affinity.check_targets(y_query)
    query_codes = as_packed(query_codes, input_name="query_codes")
    database_codes = as_packed(database_codes, input_name="database_codes")
    sides = ("query", query_codes, y_query), ("database", database_codes, y_database)
    for side, codes, y in sides:
        if len(codes) != y.shape[0]:
            raise ValueError(
                f"{side}_codes and y_{side} must have equal length, got {len(codes)} and "
                f"{y.shape[0]}."
            )
    groups = groups_query, groups_database
    if exclude_self and len(query_codes) != len(database_codes):
        raise ValueError(
            "exclude_self needs query i to be database item i, but there are "
            f"{len(query_codes)} queries and {len(database_codes)} items."
        )
    affinity, y_query, y_database = leave_out_groups(
        affinity, (y_query, y_database), groups, exclude_self=exclude_self
    )
    levels = affinity.levels_between(y_query, y_database)
    queries, database = code_words(query_codes, database_codes)
    n_bits = query_codes.n_bits

    # Parts of the database that an oracle is asked about at once: rows of the items, their
    # targets, and where each group of equal targets starts. Where the affinity can tell
    # groups they are one part, and equal codes of a group may be there once, with weights;
    # elsewhere every item is a group of its own.
    own, samples, items, weights = None, None, database, None
    if isinstance(affinity, GroupedAffinity):
        groups = affinity.ungrouped.group_targets(y_database.values)
        if groups is not None:  # pairs are counted, and those of the own groups taken away
            own, affinity = (y_query.groups, y_database.groups), affinity.ungrouped
            samples = y_query.samples
            y_query, y_database = y_query.values, y_database.values
    else:
        groups = affinity.group_targets(y_database)
    if groups is None:
        targets = y_database
        starts = np.arange(_ITEMS_PER_ORACLE_BLOCK + 1)
        blocks = gen_batches(len(database), _ITEMS_PER_ORACLE_BLOCK)
        parts = [(b, b, starts[: b.stop - b.start + 1]) for b in blocks]
    else:
        targets, group = groups
        merge, some = len(queries) >= _QUERIES_TO_MERGE, slice(_FIRST_ROWS)
        if merge:  # the first rows tell whether a database repeats itself
            distinct, *_ = _merged(database[some], group[some])
            merge = len(distinct) < _MOST_DISTINCT * len(database[some])
        if merge:
            items, sorted_group, weights = _merged(database, group)
        else:
            order = np.argsort(group, kind="stable")
            items, sorted_group = database[order], group[order]
        starts = np.searchsorted(sorted_group, np.arange(targets.shape[0] + 1))
        parts = [(slice(None), slice(None), starts)]
    if own is not None:
        order = np.lexsort((group, own[1]))
        own_items, own_group, own_label = database[order], group[order], own[1][order]
        changes = (own_group[1:] != own_group[:-1]) | (own_label[1:] != own_label[:-1])
        runs = np.flatnonzero(np.r_[True, changes, True][: len(order) + 1])
        own_group, own_label = own_group[runs[:-1]], own_label[runs[:-1]]
        firsts, lasts = (np.searchsorted(own_label, own[0], s) for s in ("left", "right"))
    if samples is not None:  # each a run of its own, unless it is in its own group
        after = samples + (own[0] != own[1])
        single = np.arange(len(database) + 1)

    def count(rows):
        """Counts of some of the queries."""
        from .._loops._counts import ItemRuns, count_levels, take_away_runs

        counts = np.zeros((rows.stop - rows.start, len(levels), n_bits + 1), dtype=np.int64)
        for part, of_part, starts in parts:
            with config_context(assume_finite=True):
                level = places_of(affinity, y_query[rows], targets[of_part], levels)
            level = level.astype(np.int16 if len(levels) < 2**15 else np.int32)
            weight = None if weights is None else weights[part]
            count_levels(queries[rows], items[part], starts, level, weight, counts)
        if own is not None:
            own_runs = ItemRuns(own_items, runs, own_group)
            take_away_runs(
                queries[rows], level, own_runs, firsts[rows], lasts[rows], counts
            )
        if samples is not None:
            single_runs = ItemRuns(database, single, group)
            take_away_runs(
                queries[rows], level, single_runs, samples[rows], after[rows], counts
            )
        return counts

    counts = np.empty((len(queries), len(levels), n_bits + 1), dtype=np.int64)
    # So many queries that what an oracle makes of a block fits into working memory
    budget = get_config()["working_memory"] * 2**20
    most = int(budget / (_BYTES_PER_PAIR * _ITEMS_PER_ORACLE_BLOCK))
    blocks = list(gen_batches(len(queries), max(1, min(_QUERIES_PER_BLOCK, most))))
    with one_thread():
        for rows, block in zip(blocks, map_in_threads(count, blocks, n_jobs)):
            counts[rows] = block
    return HammingHistogram(counts, levels, n_bits)


def _merged(words, group):
    """The distinct codes of each group, their groups, and how often each is there."""
    order = np.lexsort((*words.T, group))
    words, group = words[order], group[order]
    starts = np.any(words[1:] != words[:-1], axis=1) | (group[1:] != group[:-1])
    starts = np.r_[0, 1 + np.flatnonzero(starts)]
    return words[starts], group[starts], np.diff(starts, append=len(words))


def weighted_histograms(weights, packed, affinity, y_query, y_database, *, n_jobs=None):
    """Rank a database by weighted scores, and yield a histogram for each block of queries.

    Weighted scores hardly ever tie, so a histogram has a column for almost every item. One
    histogram of all queries would need too much memory.

    Parameters
    ----------
    weights : ndarray of shape (n_queries, n_weights), dtype float32
        Weights of the bits, or of the values of words.

    packed : PackedCodes
        Little-endian codes of the database; items of one code and terms are tied.

    affinity : BaseAffinity or None
        Who is similar to whom. None means that `y_query` holds the affinities.

    y_query, y_database : checked targets
        Targets of both sides, as many as there are weights and codes. Without an oracle
        `y_query` holds the affinities, shape (n_queries, n_database).

    n_jobs : int, default=None
        Number of threads that share the blocks, as for `map_in_threads`.

    Yields
    ------
    histogram : RankingHistogram
        Histogram of the next block of queries.
    """
    from .._loops._search import write_scores

    if affinity is not None:
        levels = affinity.levels_between(y_query, y_database)
    n_items, columns = len(packed), columns_of(packed.data)
    pairs = fixed(packed._terms.pairs(n_items))

    @one_thread()
    def rank(rows):
        # In float64, as a search compares, so that both find the same ties.
        tables = tables_of(weights[rows].astype(np.float64), packed.n_bits)
        scores = np.empty((len(tables), n_items))
        write_scores(fixed(tables), columns, pairs, scores)
        scores = np.maximum(scores, np.finfo(np.float64).min)  # of items without direction
        true = y_query[rows]
        if affinity is not None:
            index = places_of(affinity, true, y_database, levels)
            true, left_out = levels[index], index < 0
            scores[left_out], true[left_out] = -np.inf, 0  # cells that hold no item
        return RankingHistogram.from_scores(true, scores)

    blocks = gen_batches(len(weights), max(1, _CELLS_PER_BLOCK // n_items))
    yield from map_in_threads(rank, blocks, n_jobs)
