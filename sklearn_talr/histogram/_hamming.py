"""Counts of Hamming distances by affinity level."""

from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn import config_context, get_config
from sklearn.utils import gen_batches

from .._compat import StrOptions, validate_params
from .._threads import map_in_threads, one_thread
from ..affinity import resolve_affinity
from ..codes._door import as_packed, code_words, refuse_terms
from ._histograms import HammingHistogram
from ._kernels import KERNELS, check_device, count_block

__all__ = ["hamming_histogram"]

# Blocks of queries and items, whose intermediate arrays stay in the processor's cache. An
# oracle is asked about fewer items at a time, because it returns a table of all pairs.
_QUERIES_PER_BLOCK = 256
_ITEMS_PER_BLOCK = 16_384
_ITEMS_PER_ORACLE_BLOCK = 8_192
_BYTES_PER_PAIR = 32  # memory of an oracle for the affinity of a pair

# Counting items by group of equal targets takes a cell for each group and distance. More
# cells than this leave the cache, and asking the oracle about every pair is faster. Where
# codes repeat, equal codes are counted once, and so more cells are still worth it.
_GROUP_CELLS = 2_048
_GROUP_CELLS_OF_REPEATS = 8_192

# Equal codes are sought for this many queries or more: finding them costs about as much as
# counting the database for so many queries.
_QUERIES_TO_SEEK_REPEATS = 256
_SAMPLE_OF_REPEATS = 2_048
_MOST_DISTINCT = 0.4  # beyond this fraction of pairs, weighing repeats costs more


@validate_params(
    {
        "query_codes": ["array-like"],
        "database_codes": ["array-like"],
        "affinity": "no_validation",
        "y_query": "no_validation",
        "y_database": "no_validation",
        "exclude_self": ["boolean"],
        "n_jobs": [Integral, None],
        "device": [StrOptions(set(KERNELS))],
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
    device="cpu",
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

    device : {"cpu", "cuda"}, default="cpu"
        Where to count. ``"cuda"`` needs a PyTorch that finds a CUDA device; the oracle
        runs on the CPU all the same.

    Returns
    -------
    histogram : HammingHistogram
        Counts of shape (n_queries, n_levels, n_bits + 1), int64.

    Raises
    ------
    ValueError
        If codes and targets differ in length, or code lengths differ, or codes have factors
        or addends, or there is no such `device`.

    Notes
    -----
    Time is linear in n_queries times n_database. Memory beyond the result and the packed
    codes is some tens of MiB per thread, less if scikit-learn's ``working_memory`` is less.
    Learned codes repeat: where codes and labels do so often enough, equal ones are counted
    once, with weights. With numba installed large tasks run about twice as fast.

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
    check_device(device)
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
    n_bits = query_codes.n_bits
    task = _Task(
        queries,
        database,
        affinity,
        levels,
        y_query,
        y_database,
        n_bits + 1,
        exclude_self,
        device,
    )
    counts = np.zeros((len(queries), len(levels), n_bits + 1), dtype=np.int64)
    repeats = len(queries) >= _QUERIES_TO_SEEK_REPEATS and _has_repeats(database)
    n_cells = _GROUP_CELLS_OF_REPEATS if repeats else _GROUP_CELLS
    groups = _target_groups(affinity, y_database, n_cells // task.n_distances)
    with one_thread():
        if groups is None:
            blocks = _count_by_oracle(task, n_jobs)
        else:
            blocks = _count_by_group(task, *groups, repeats, n_jobs)
        for rows, block in blocks:
            counts[rows] = block
    return HammingHistogram(counts, levels, n_bits)


class _Task(NamedTuple):
    """Checked arguments of :func:`hamming_histogram`, codes as words."""

    queries: np.ndarray
    database: np.ndarray
    affinity: object
    levels: np.ndarray
    y_query: object
    y_database: object
    n_distances: int
    exclude_self: bool
    device: str


def _count_by_oracle(task, n_jobs):
    """Ask the oracle about every pair; yield query rows and their counts by block."""
    blocks = gen_batches(len(task.queries), _queries_per_block())
    return map_in_threads(partial(_oracle_block, task), blocks, n_jobs)


def _oracle_block(task, rows):
    queries, n_levels = task.queries[rows], len(task.levels)
    y_query = task.y_query[rows]
    counts = np.zeros((len(queries), n_levels * task.n_distances), dtype=np.int64)
    with config_context(assume_finite=True):
        for items in gen_batches(len(task.database), _ITEMS_PER_ORACLE_BLOCK):
            index = task.affinity.level_index(y_query, task.y_database[items], task.levels)
            offsets = np.multiply(
                index, task.n_distances, dtype=_offset_type(counts), casting="unsafe"
            )
            counts += count_block(
                queries,
                task.database[items],
                offsets,
                counts.shape[1],
                device=task.device,
            )
            if task.exclude_self:
                _uncount_self(counts, offsets, task, rows, items)
    return rows, counts.reshape(len(queries), n_levels, task.n_distances)


def _uncount_self(counts, offsets, task, rows, items):
    """Subtract the pairs of a sample with itself from the counts of a block."""
    both = np.arange(max(rows.start, items.start), min(rows.stop, items.stop))
    query = both - rows.start
    cells = offsets[query, both - items.start] + _self_distances(task, both)
    counts[query, cells] -= 1


def _count_by_group(task, group, representatives, repeats, n_jobs):
    """Count items by group of equal targets, and ask the oracle about each group once.

    Equal codes of one group are counted once with their number as weight, if that is
    faster. Yields query rows and their counts by block.
    """
    items = _Items(task.database, group, None)
    queries, which = task.queries, np.arange(len(task.queries))
    if repeats:
        merged, (distinct, inverse) = _merge_repeats(items), _distinct_rows(queries)
        pairs = len(merged.words) * len(distinct)
        if pairs <= _MOST_DISTINCT * len(items.words) * len(queries):
            items, queries, which = merged, distinct, inverse
    members = _members(which, len(queries))
    count = partial(_group_block, task, items, group, representatives, queries, members)
    return map_in_threads(count, gen_batches(len(queries), _QUERIES_PER_BLOCK), n_jobs)


class _Items(NamedTuple):
    """Code words of database items, their groups, and weights; None means a weight of 1."""

    words: np.ndarray
    group: np.ndarray
    weights: np.ndarray | None


def _group_block(task, items, group, representatives, queries, members, rows):
    """Return the queries that have the codes ``queries[rows]``, and their counts."""
    n_groups = representatives.shape[0]
    n_cells = n_groups * task.n_distances
    by_group = np.zeros((rows.stop - rows.start, n_cells), dtype=np.int64)
    for block in gen_batches(len(items.words), _ITEMS_PER_BLOCK):
        weights = None if items.weights is None else items.weights[block]
        offsets = items.group[None, block] * np.uint32(task.n_distances)
        by_group += count_block(
            queries[rows],
            items.words[block],
            offsets,
            n_cells,
            weights,
            task.device,
        )
    by_group = by_group.reshape(-1, n_groups, task.n_distances)
    code, asking = members(rows)
    level = task.affinity.level_index(task.y_query[asking], representatives, task.levels)
    counts = np.zeros((len(asking), len(task.levels), task.n_distances), dtype=np.int64)
    counts[:, 0] = by_group.sum(axis=1)[code]
    for g in range(n_groups):
        similar = np.flatnonzero(level[:, g])  # few queries to each group
        found = by_group[code[similar], g]
        counts[similar, 0] -= found
        counts[similar, level[similar, g]] += found
    if task.exclude_self:
        each = np.arange(len(asking))
        counts[each, level[each, group[asking]], _self_distances(task, asking)] -= 1
    return asking, counts


def _members(which, n_codes):
    """Return a function that finds the queries of a slice of distinct codes.

    The function returns two arrays: the place in the slice of the code of each query, and
    the numbers of the queries.
    """
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(n_codes + 1))

    def members(rows):
        asking = order[bounds[rows.start] : bounds[rows.stop]]
        return which[asking] - rows.start, asking

    return members


def _target_groups(affinity, y_database, most):
    """Return groups of items and a target of each, or None if there are more than `most`.

    None is also returned if the oracle cannot group targets.
    """
    groups = affinity.group_targets(y_database)
    if groups is None or groups[0].shape[0] > max(most, 1):
        return None
    representatives, group = groups
    return group.astype(np.uint32), representatives


def _has_repeats(words):
    """Whether a sample of two thousand items has many equal codes."""
    step = max(1, len(words) // _SAMPLE_OF_REPEATS)
    sample = np.ascontiguousarray(words[::step])
    return len(_distinct_rows(sample)[0]) < 0.95 * len(sample)


def _merge_repeats(items):
    """Return the distinct codes of each group, with their numbers of items as weights."""
    order = np.argsort(items.group.astype(np.uint16), kind="stable")  # radix sort
    rows = _row_values(items.words[order])
    group = items.group[order]
    bounds = np.r_[0, np.flatnonzero(np.diff(group)) + 1, len(group)]
    parts = [
        np.unique(rows[start:stop], return_counts=True) for start, stop in pairwise(bounds)
    ]
    distinct = np.concatenate([values for values, _ in parts])
    weights = np.concatenate([counts for _, counts in parts])
    group = np.repeat(group[bounds[:-1]], [len(values) for values, _ in parts])
    words = distinct.view(items.words.dtype).reshape(-1, items.words.shape[1])
    return _Items(words, group, weights)


def _distinct_rows(words):
    """Return the distinct rows of words, and the place of each row among them."""
    distinct, inverse = np.unique(_row_values(words), return_inverse=True)
    return distinct.view(words.dtype).reshape(-1, words.shape[1]), inverse


def _row_values(words):
    """Return a value for each row of words, such that equal rows have equal values."""
    if words.shape[1] == 1:
        return words[:, 0]
    row_bytes = words.dtype.itemsize * words.shape[1]
    return np.ascontiguousarray(words).view(f"V{row_bytes}")[:, 0]


def _self_distances(task, samples):
    differing = task.queries[samples] ^ task.database[samples]
    return np.bitwise_count(differing).sum(axis=1, dtype=np.intp)


def _offset_type(counts):
    """Return the smallest type that holds the number of a cell, to save memory traffic."""
    return np.min_scalar_type(counts.shape[1])


def _queries_per_block():
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
