"""Counts of queries against codes: by Hamming distance, and by weighted scores."""

from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn import config_context, get_config
from sklearn.utils import gen_batches

from .._core.compat import validated
from .._core.threads import map_in_threads, one_thread
from .._core.types import Affinity, Any, ArrayLike, Column, Count
from .._core.validation import refuse_masked, refuse_unlike_labels
from ..affinity import BaseAffinity, resolve_affinity
from ..affinity._base import places_of
from ..affinity._excluded import ExcludedPairs, GroupedAffinity, leave_out_groups
from ..codes._packed import as_packed, code_words, refuse_terms
from ..codes._scores import columns_of, fixed, tables_of
from ._histograms import HammingHistogram, RankingHistogram

_QUERIES_PER_BLOCK = 256
# An oracle returns a table of all pairs of the queries and items of a block.
_ITEMS_PER_ORACLE_BLOCK = 8_192
_BYTES_PER_PAIR = 32  # memory of an oracle for the affinity of a pair
# Weighted scores of a block of queries have at most this many cells, queries times items.
_CELLS_PER_BLOCK = 2**21

# Merging equal codes costs about as much as counting the database for this number of
# queries. It pays if at most the share _MOST_DISTINCT of the first rows is distinct.
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

    affinity : "auto" or affinity object
        Definition of similarity, see :mod:`sklearn_talr.affinity`. ``"auto"`` chooses by
        the form of `y_database`.

    y_query : targets of length n_queries
        Targets of the queries: labels, indicators, feature rows or a PrecomputedAffinity,
        as the affinity takes them.

    y_database : targets of length n_database
        Targets of the database, of the same kind.

    exclude_self : bool, default=False
        Queries and database are the same samples in the same order, and no query is
        ranked against itself, even if its groups on the two sides differ.

    groups_query, groups_database : array-like of shape (n,), default=None
        Labels of groups, such as cameras, sessions, videos or near-duplicates. Items of the
        query's own group are ignored, as if they were not in the database for this query.
        None ignores nothing.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context with
        threads, -1 all processors. In a context of processes or of a cluster this process
        counts, in `n_jobs` threads.

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
    Pairs whose affinity is below 0, or NaN, are ignored as well.

    Time is linear in n_queries times n_database. Memory beyond the result and the packed
    codes is tens of MiB per thread, or less with a smaller ``working_memory`` of
    scikit-learn. Learned codes repeat: if pairs of code and label repeat often enough,
    equal ones are counted once, with weights.

    Count a database that is too large for memory in parts, and add them up:
    ``sum(hamming_histogram(queries, part, affinity, y_query, y) for part, y in parts)``.

    Examples
    --------
    >>> from sklearn_talr.histogram import hamming_histogram
    >>> codes = [[0, 0], [0, 1], [0, 0]]
    >>> histogram = hamming_histogram(
    ...     codes, codes, "auto", [0, 0, 1], [0, 0, 1], exclude_self=True
    ... )
    >>> histogram.counts[0]  # an irrelevant item at distance 0, a relevant one at 1
    array([[1, 0, 0],
           [0, 1, 0]])
    """
    refuse_masked(query_codes=query_codes, database_codes=database_codes)
    names = "query_codes", "database_codes"
    refuse_unlike_labels(query_codes, database_codes, names, axis=1)
    _refuse_other_order(query_codes, y_query, groups_query, side="query")
    _refuse_other_order(database_codes, y_database, groups_database, side="database")
    refuse_terms(query_codes, "query_codes")
    refuse_terms(database_codes, "database_codes")
    if y_query is None or y_database is None:
        raise ValueError(
            "y_query and y_database are needed: pass the targets that define relevance, "
            "which are feature rows with a ThresholdAffinity."
        )
    # The targets of few queries may have an ambiguous form, so "auto" looks at the targets
    # of the database.
    affinity, y_database = resolve_affinity(affinity, None, y_database)
    y_query = affinity.check_targets(y_query)
    query_codes = as_packed(query_codes, input_name="query_codes")
    database_codes = as_packed(database_codes, input_name="database_codes")
    _check_lengths(query_codes, y_query, side="query")
    _check_lengths(database_codes, y_database, side="database")
    if exclude_self and len(query_codes) != len(database_codes):
        raise ValueError(
            "exclude_self needs query i to be database item i, but there are "
            f"{len(query_codes)} queries and {len(database_codes)} items."
        )
    affinity, y_query, y_database = leave_out_groups(
        affinity,
        y_query,
        y_database,
        groups_query=groups_query,
        groups_database=groups_database,
        exclude_self=exclude_self,
    )
    query_words, item_words = code_words(query_codes, database_codes)
    counter = PairCounter.from_targets(
        query_words, item_words, affinity, y_query, y_database, n_bits=query_codes.n_bits
    )
    return HammingHistogram(counter.count_all(n_jobs), counter.levels, counter.n_bits)


def _refuse_other_order(codes, y, groups, *, side):
    """Raise ValueError if codes, targets and groups have row labels in another order."""
    codes_name = f"{side}_codes"
    refuse_unlike_labels(codes, y, (codes_name, f"y_{side}"))
    refuse_unlike_labels(codes, groups, (codes_name, f"groups_{side}"))


def _check_lengths(codes, y, *, side):
    """Raise ValueError unless there is a target for each code."""
    if len(codes) != y.shape[0]:
        raise ValueError(
            f"{side}_codes and y_{side} must have equal length, got {len(codes)} and "
            f"{y.shape[0]}."
        )


class TargetClasses(NamedTuple):
    """Classes of items with equal targets, so that a query has one affinity to a class.

    Parameters
    ----------
    targets : targets of length n_classes
        The target of each class.

    of_item : ndarray of shape (n_items,) of int
        The class of each item.
    """

    targets: Any
    of_item: np.ndarray

    @classmethod
    def from_targets(cls, affinity, y_database):
        """The classes of a database, or None if finding them is not cheap."""
        classes = affinity.group_targets(y_database)
        return None if classes is None else cls(*classes)


class ExcludedRuns(NamedTuple):
    """Items that some queries ignore, in runs of one class.

    They are counted like all others, and then subtracted.

    Parameters
    ----------
    words : ndarray of shape (n_items, n_words), unsigned
        Code words of the items, run after run.

    starts : ndarray of shape (n_runs + 1,) of int64
        Run r are the items from ``starts[r]`` up to ``starts[r + 1]``.

    classes : ndarray of shape (n_runs,) of int
        The class of the items of each run.

    first, end : ndarray of shape (n_queries,) of int
        The first run that each query ignores, and the end of these runs.
    """

    words: np.ndarray
    starts: np.ndarray
    classes: np.ndarray
    first: np.ndarray
    end: np.ndarray

    @classmethod
    def from_groups(cls, words, item_classes, excluded):
        """The items of each query's own group: a run for each group and class."""
        order = np.lexsort((item_classes, excluded.groups_database))
        classes = item_classes[order]
        groups = excluded.groups_database[order]
        changes = (classes[1:] != classes[:-1]) | (groups[1:] != groups[:-1])
        # The last entry is the end of the last run. Without items there is no run.
        starts = np.flatnonzero(np.r_[True, changes, True][: len(order) + 1])
        run_groups = groups[starts[:-1]]
        return cls(
            words=words[order],
            starts=starts,
            classes=classes[starts[:-1]],
            first=np.searchsorted(run_groups, excluded.groups_query, side="left"),
            end=np.searchsorted(run_groups, excluded.groups_query, side="right"),
        )

    @classmethod
    def from_samples(cls, words, item_classes, excluded):
        """Each query's own item as a run, unless the query's group already holds it."""
        samples = excluded.samples_query
        in_other_group = excluded.groups_query != excluded.groups_database[samples]
        return cls(
            words=words,
            starts=np.arange(len(words) + 1),
            classes=item_classes,
            first=samples,
            end=samples + in_other_group,
        )


class DatabaseBlock(NamedTuple):
    """Items of a database whose affinities are evaluated at once, class by class.

    Parameters
    ----------
    words : ndarray of shape (n_items, n_words), unsigned
        Code words of the items, class after class.

    targets : targets of length n_classes
        The target of each class.

    class_starts : ndarray of shape (n_classes + 1,) of int64
        Class c are the items from ``class_starts[c]`` up to ``class_starts[c + 1]``.

    weights : ndarray of shape (n_items,) of int64, default=None
        How often each item counts. None means once.

    excluded : tuple of ExcludedRuns, default=()
        Ignored items, to subtract.
    """

    words: np.ndarray
    targets: Any
    class_starts: np.ndarray
    weights: np.ndarray | None = None
    excluded: tuple[ExcludedRuns, ...] = ()


def item_blocks(words, y_database):
    """Cut a database into blocks, in which every item is a class of its own."""
    blocks = []
    for rows in gen_batches(len(words), _ITEMS_PER_ORACLE_BLOCK):
        class_starts = np.arange(rows.stop - rows.start + 1)
        blocks.append(DatabaseBlock(words[rows], y_database[rows], class_starts))
    return blocks


def class_block(words, classes, *, merge, excluded=None):
    """Sort a whole database by class, as one block.

    Parameters
    ----------
    words : ndarray of shape (n_items, n_words), unsigned
        Code words of the items.

    classes : TargetClasses
        The classes of the items.

    merge : bool
        Whether equal codes of a class become one item with a weight.

    excluded : ExcludedPairs, default=None
        Ignored pairs. None: no pair is ignored.
    """
    weights = None
    if merge:
        sorted_words, sorted_classes, weights = _distinct_codes(words, classes.of_item)
    else:
        order = np.argsort(classes.of_item, kind="stable")
        sorted_words = words[order]
        sorted_classes = classes.of_item[order]
    runs = []
    if excluded is not None:
        runs.append(ExcludedRuns.from_groups(words, classes.of_item, excluded))
        if excluded.samples_query is not None:
            runs.append(ExcludedRuns.from_samples(words, classes.of_item, excluded))
    n_classes = classes.targets.shape[0]
    return DatabaseBlock(
        words=sorted_words,
        targets=classes.targets,
        class_starts=np.searchsorted(sorted_classes, np.arange(n_classes + 1)),
        weights=weights,
        excluded=tuple(runs),
    )


def pays_to_merge(n_queries, words, item_classes):
    """Whether codes of a class repeat so often that merging them saves time.

    The first rows are a sample of the database.
    """
    if n_queries < _QUERIES_TO_MERGE:
        return False
    first_words = words[:_FIRST_ROWS]
    distinct_words, _, _ = _distinct_codes(first_words, item_classes[:_FIRST_ROWS])
    return len(distinct_words) < _MOST_DISTINCT * len(first_words)


def _distinct_codes(words, item_classes):
    """The distinct codes of each class, their classes, and their numbers of occurrences."""
    order = np.lexsort((*words.T, item_classes))
    words = words[order]
    item_classes = item_classes[order]
    is_new = np.any(words[1:] != words[:-1], axis=1)
    is_new |= item_classes[1:] != item_classes[:-1]
    starts = np.r_[0, 1 + np.flatnonzero(is_new)]
    return words[starts], item_classes[starts], np.diff(starts, append=len(words))


@dataclass(frozen=True, eq=False)
class PairCounter:
    """Counts the pairs of queries and items by affinity level and Hamming distance.

    Parameters
    ----------
    query_words : ndarray of shape (n_queries, n_words), unsigned
        Code words of the queries.

    y_query : targets of length n_queries
        Targets of the queries, which the affinity takes.

    affinity : BaseAffinity
        Definition of similarity.

    levels : ndarray of shape (n_levels,)
        Values that the affinity can take, sorted.

    blocks : list of DatabaseBlock
        The items.

    n_bits : int
        Length of the codes.
    """

    query_words: np.ndarray
    y_query: Any
    affinity: BaseAffinity
    levels: np.ndarray
    blocks: list[DatabaseBlock]
    n_bits: int

    @classmethod
    def from_targets(
        cls, query_words, item_words, affinity, y_query, y_database, *, n_bits
    ):
        """Sort the items into classes if that is cheap.

        Ignored pairs are then counted with all others, and subtracted. Otherwise the
        affinity of every pair is evaluated.
        """
        levels = affinity.levels_between(y_query, y_database)
        excluded = None
        if isinstance(affinity, GroupedAffinity):
            classes = TargetClasses.from_targets(affinity.ungrouped, y_database.values)
            if classes is not None:
                excluded = ExcludedPairs.between(y_query, y_database)
                affinity = affinity.ungrouped
                y_query = y_query.values
        else:
            classes = TargetClasses.from_targets(affinity, y_database)
        if classes is None:
            blocks = item_blocks(item_words, y_database)
        else:
            merge = pays_to_merge(len(query_words), item_words, classes.of_item)
            block = class_block(item_words, classes, merge=merge, excluded=excluded)
            blocks = [block]
        return cls(query_words, y_query, affinity, levels, blocks, n_bits)

    def count_all(self, n_jobs):
        """Counts of all queries, shape (n_queries, n_levels, n_bits + 1), in threads."""
        # A block has few enough queries that tables of affinities fit into working memory.
        budget = get_config()["working_memory"] * 2**20
        n_rows = int(budget / (_BYTES_PER_PAIR * _ITEMS_PER_ORACLE_BLOCK))
        n_rows = max(1, min(_QUERIES_PER_BLOCK, n_rows))
        n_queries = len(self.query_words)
        counts = np.empty((n_queries, len(self.levels), self.n_bits + 1), dtype=np.int64)
        row_blocks = list(gen_batches(n_queries, n_rows))
        with one_thread():
            counted = map_in_threads(self.count, row_blocks, n_jobs)
            for rows, row_counts in zip(row_blocks, counted):
                counts[rows] = row_counts
        return counts

    def count(self, rows):
        """Counts of a slice of the queries, shape (n_rows, n_levels, n_bits + 1)."""
        from .._loops._counts import ItemRuns, count_levels, take_away_runs

        queries = fixed(self.query_words[rows])
        counts = np.zeros((len(queries), len(self.levels), self.n_bits + 1), dtype=np.int64)
        for block in self.blocks:
            level_index = self._level_index(rows, block)
            words = fixed(block.words)
            count_levels(
                queries, words, block.class_starts, level_index, block.weights, counts
            )
            for runs in block.excluded:
                items = ItemRuns(fixed(runs.words), runs.starts, runs.classes)
                take_away_runs(
                    queries, level_index, items, runs.first[rows], runs.end[rows], counts
                )
        return counts

    def _level_index(self, rows, block):
        """Place of the level of each query and class, shape (n_rows, n_classes)."""
        with config_context(assume_finite=True):
            index = places_of(self.affinity, self.y_query[rows], block.targets, self.levels)
        place_type = np.int16 if len(self.levels) < 2**15 else np.int32
        return index.astype(place_type, order="C")


def weighted_histograms(weights, packed, affinity, y_query, y_database, *, n_jobs=None):
    """Rank a database by weighted scores, and yield a histogram for each block of queries.

    Weighted scores rarely tie, so a histogram has a column for almost every item. One
    histogram of all queries would need too much memory.

    Parameters
    ----------
    weights : ndarray of shape (n_queries, n_weights), dtype float32
        Weights of the bits, or of the values of words.

    packed : PackedCodes
        Little-endian codes of the database; items of one code and terms are tied.

    affinity : BaseAffinity or None
        Definition of similarity. None means that `y_query` holds the affinities.

    y_query, y_database : checked targets
        Targets of both sides, one per row of weights and per code. Without an affinity
        `y_query` holds the values, shape (n_queries, n_database).

    n_jobs : int, default=None
        Number of threads that share the blocks, as for `map_in_threads`.

    Yields
    ------
    histogram : RankingHistogram
        Histogram of the next block of queries.
    """
    levels = None
    if affinity is not None:
        levels = affinity.levels_between(y_query, y_database)
    ranker = WeightedRanker(
        weights=weights,
        columns=columns_of(packed.data),
        pairs=fixed(packed.terms.pairs(len(packed))),
        n_bits=packed.n_bits,
        affinity=affinity,
        y_query=y_query,
        y_database=y_database,
        levels=levels,
    )
    n_rows = max(1, _CELLS_PER_BLOCK // len(packed))
    yield from map_in_threads(ranker.rank, gen_batches(len(weights), n_rows), n_jobs)


@dataclass(frozen=True, eq=False)
class WeightedRanker:
    """Ranks a database by weighted scores, some queries at a time.

    Parameters
    ----------
    weights : ndarray of shape (n_queries, n_weights), dtype float32
        Weights of the queries.

    columns, pairs : ndarray
        The codes and terms of the items, as the loop of scores takes them.

    n_bits : int
        Length of the codes.

    affinity, y_query, y_database
        As for `weighted_histograms`.

    levels : ndarray of shape (n_levels,) or None
        Values that the affinity can take, sorted. None without an affinity.
    """

    weights: np.ndarray
    columns: np.ndarray
    pairs: np.ndarray
    n_bits: int
    affinity: BaseAffinity | None
    y_query: Any
    y_database: Any
    levels: np.ndarray | None

    @one_thread()
    def rank(self, rows):
        """The histogram of a slice of the queries."""
        scores = self._scores(rows)
        if self.affinity is None:
            return RankingHistogram.from_scores(self.y_query[rows], scores)
        targets = self.y_query[rows]
        index = places_of(self.affinity, targets, self.y_database, self.levels)
        grades = self.levels[index]
        # Cells whose score is -inf hold no item.
        scores[index < 0] = -np.inf
        grades[index < 0] = 0
        return RankingHistogram.from_scores(grades, scores)

    def _scores(self, rows):
        """Scores of all items, shape (n_rows, n_items), with the same ties as a search."""
        from .._loops._search import write_scores

        # A search also compares scores in float64.
        tables = tables_of(self.weights[rows].astype(np.float64), self.n_bits)
        scores = np.empty((len(tables), self.columns.shape[-1]))
        write_scores(fixed(tables), self.columns, self.pairs, scores)
        # Items without a direction score -inf, which must not mean that there is no item.
        return np.maximum(scores, np.finfo(np.float64).min)
