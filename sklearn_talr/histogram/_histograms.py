"""Histograms: counts of items by tie, and counts of items by Hamming distance."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils import check_consistent_length

from .._core.compat import validated
from .._core.types import Any, ArrayLike, Column, NDArray, Self
from .._core.validation import refuse_masked, refuse_unlike_labels
from ..codes._packed import as_packed, code_words
from ._rankings import check_affinities, check_rankings, fits_int64, sort_rows

_CELLS_PER_BLOCK = 2**16  # scores that are sorted at a time
# A query has at most this many items, so that the product of two counts fits int64.
_MOST_ITEMS = 3_000_000_000


@dataclass(frozen=True, eq=False)
class RankingHistogram:
    """Number of database items in each tie of each query's ranking, by affinity level.

    Items with equal scores are tied. A column is a tie, and columns are in ranking order,
    best first. Every ranking metric can be computed from this table. If columns are Hamming
    distances, use :class:`HammingHistogram`: metrics of hash lookup need it, and only such
    tables add up.

    Parameters
    ----------
    counts : array-like of shape (n_queries, n_levels, n_ties) of int
        Number of items; ``counts[q, v, t]`` have affinity ``levels[v]`` to query q and lie
        in its tie t, best tie first. A query may have empty ties.

    levels : array-like of shape (n_levels,) of int
        Affinity values in ascending order, first 0 ("not similar").

    Attributes
    ----------
    counts, levels : ndarray
        The parameters as arrays.

    n_items, n_relevant : ndarray of shape (n_queries,) of int
        Number of ranked items of each query, and how many have an affinity above 0.

    Raises
    ------
    ValueError
        If `counts` is not three-dimensional, holds anything but non-negative integers,
        more than 3 000 000 000 items of a query, or has not one row per level, or if
        `levels` are not integers below 2**63 that ascend from 0.

    See Also
    --------
    RankingHistogram.from_scores : The table of a ranking by real scores.
    hamming_histogram : The table of a ranking by Hamming distance.

    Examples
    --------
    One query; a relevant and an irrelevant item are tied for the first place:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.measures import AP
    >>> histogram = RankingHistogram([[[1, 0], [1, 0]]], levels=[0, 1])
    >>> AP.of(histogram)
    array([0.75])
    """

    counts: np.ndarray
    levels: np.ndarray

    def __post_init__(self) -> None:
        refuse_masked(counts=self.counts, levels=self.levels)
        counts = np.asarray(self.counts)
        levels = np.asarray(self.levels)
        is_vector = levels.ndim == 1 and levels.size and levels.dtype.kind in "biuf"
        is_whole = is_vector and fits_int64(levels) and not np.any(levels % 1)
        if not is_whole or levels[0] != 0 or np.any(levels[1:] <= levels[:-1]):
            raise ValueError(
                f"levels must be integers that ascend from 0, below 2**63, got {levels}."
            )
        if counts.ndim != 3 or counts.shape[1] != len(levels):
            raise ValueError(
                f"counts must have shape (n_queries, {len(levels)}, n_columns), a row for "
                f"each of the levels, got {counts.shape}."
            )
        if counts.dtype.kind not in "iu":
            raise ValueError(
                f"counts must be integers, got {counts.dtype}. Soft counts belong to "
                "sklearn_talr.losses."
            )
        if counts.size and counts.min() < 0:
            raise ValueError(f"counts must not be negative, got {counts.min()}.")
        n_items = counts.sum(axis=(1, 2), dtype=np.float64).max(initial=0)
        if n_items > _MOST_ITEMS:
            raise ValueError(
                f"a query may have {_MOST_ITEMS} items at most, got {n_items:.3g}: the "
                "metrics multiply two counts as int64."
            )
        # The dataclass is frozen for its users; this is how it sets its own fields.
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "levels", levels.astype(np.int64, copy=False))

    def __len__(self) -> int:
        return len(self.counts)

    def __add__(self, other: Self) -> Self:
        raise TypeError(
            f"{type(self).__name__} and {type(other).__name__} do not add up: only two "
            "HammingHistogram do, whose columns are the same distances. The columns of a "
            "RankingHistogram are ties, which depend on all ranked items. Rank the whole "
            "database with RankingHistogram.from_scores, or count parts of it with "
            "hamming_histogram."
        )

    __radd__ = __add__

    @staticmethod
    @validated(y_true=["array-like"], y_score=["array-like"], groups=["array-like", None])
    def from_scores(
        y_true: ArrayLike, y_score: ArrayLike, *, groups: Column = None
    ) -> "RankingHistogram":
        """Tabulate rankings by real scores; items of equal score are tied.

        Parameters
        ----------
        y_true : array-like of shape (n_queries, n_database) or (n_items,)
            Affinity of each database item to each query: non-negative integers, or NaN
            for ignored items. With `groups` a flat array, one per item.

        y_score : array-like of shape (n_queries, n_database) or (n_items,)
            Ranking scores, higher is better. In a table -inf marks cells that hold no
            item, so that queries of different lengths fit.

        groups : array-like of shape (n_items,), default=None
            Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries of
            the table are in the order of ``np.unique(groups)``.

        Returns
        -------
        histogram : RankingHistogram
            It has one column per different score of the query with the most of them. Scores
            with few ties make a large table, which :meth:`Measure.score
            <sklearn_talr.measures.Measure.score>` avoids.

        Raises
        ------
        ValueError
            If `y_true` and `y_score` are not two tables of one shape (or, with `groups`,
            flat arrays of its length), `y_true` holds anything but non-negative integers,
            or `y_score` is NaN or infinite.

        Examples
        --------
        >>> from sklearn_talr.histogram import RankingHistogram
        >>> from sklearn_talr.metrics import tie_breaking_range
        >>> histogram = RankingHistogram.from_scores([[1, 0, 0]], [[0.9, 0.9, 0.1]])
        >>> tie_breaking_range(histogram, "RR")
        TieBreakingRange(worst=array([0.5]), expected=array([0.75]), best=array([1.]))

        One query with three items, two of them tied, and one query with two items:

        >>> histogram = RankingHistogram.from_scores(
        ...     [1, 0, 0, 1, 0], [0.9, 0.9, 0.1, 0.2, 0.3], groups=["a", "a", "a", "b", "b"]
        ... )
        >>> histogram.n_items
        array([3, 2])
        """
        rankings = check_rankings(y_true, y_score, groups)
        levels = np.union1d([0], rankings.affinity)
        query_numbers = np.arange(len(rankings))
        blocks = []
        for queries, affinity, score in rankings.blocks(_CELLS_PER_BLOCK):
            order, begins, n_items = sort_rows(score)
            is_item = np.arange(score.shape[1]) < n_items[:, None]
            ranked_affinity = np.take_along_axis(affinity, order, axis=1)
            query = np.repeat(query_numbers[queries], n_items)
            level = np.searchsorted(levels, ranked_affinity[is_item])
            tie = np.cumsum(begins, axis=1) - 1
            blocks.append((query, level, tie[is_item]))
        query, level, tie = np.concatenate(blocks, axis=1)
        shape = len(rankings), len(levels), 1 + int(tie.max(initial=0))
        return RankingHistogram(_count_cells((query, level, tie), shape), levels)

    @property
    def n_items(self) -> NDArray[np.int64]:
        """Number of ranked items of each query, shape (n_queries,)."""
        return self.counts.sum(axis=(1, 2))

    @property
    def n_relevant(self) -> NDArray[np.int64]:
        """Number of items of affinity above 0 of each query, shape (n_queries,)."""
        return self.counts[:, 1:].sum(axis=(1, 2))


@dataclass(frozen=True, eq=False)
class HammingHistogram(RankingHistogram):
    """Number of database items at each Hamming distance of each query, by affinity level.

    Items at the same distance are tied, so this is a :class:`RankingHistogram` whose
    columns are the distances 0, 1, ..., `n_bits`.

    Tables of the same queries against different parts of a database add up: ``first +
    second``, or ``sum(tables)`` for a database that arrives in chunks.

    Parameters
    ----------
    counts : array-like of shape (n_queries, n_levels, n_bits + 1) of int
        Number of items; ``counts[q, v, d]`` have affinity ``levels[v]`` to query q and lie
        at Hamming distance d from it.

    levels : array-like of shape (n_levels,) of int
        Affinity values in ascending order, first 0 ("not similar").

    n_bits : int
        Length of the codes, at least 1.

    Attributes
    ----------
    counts, levels : ndarray
        The parameters as arrays.

    n_items, n_relevant : ndarray of shape (n_queries,) of int
        Number of database items of each query, and how many have an affinity above 0.

    Raises
    ------
    ValueError
        If `counts` is not three-dimensional, holds anything but non-negative integers,
        more than 3 000 000 000 items of a query, or has not one row per level and one
        column per distance, or if `levels` are not integers below 2**63 that ascend from 0.

    See Also
    --------
    hamming_histogram : The table of two sets of codes.
    HammingHistogram.from_pairs : The table of labeled pairs.

    Examples
    --------
    Codes of two bits. One query has a relevant and an irrelevant item at distance 0:

    >>> from sklearn_talr.histogram import HammingHistogram
    >>> from sklearn_talr.metrics import radius_precision
    >>> histogram = HammingHistogram([[[1, 0, 0], [1, 0, 0]]], levels=[0, 1], n_bits=2)
    >>> radius_precision(histogram)
    array([[0.5, 0.5, 0.5]])

    The same query against twice as large a database:

    >>> (histogram + histogram).counts
    array([[[2, 0, 0],
            [2, 0, 0]]])
    """

    n_bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        n_bits = self.n_bits
        n_columns = self.counts.shape[2]
        if not isinstance(n_bits, Integral) or isinstance(n_bits, bool) or n_bits < 1:
            raise ValueError(f"n_bits must be a positive integer, got {n_bits!r}.")
        if n_columns != n_bits + 1:
            raise ValueError(
                f"codes of n_bits={n_bits} have {n_bits + 1} distances, 0 to {n_bits}, "
                f"but counts has {n_columns} columns. If the columns are ties of another "
                "score, use RankingHistogram."
            )
        object.__setattr__(self, "n_bits", int(n_bits))

    @staticmethod
    @validated(
        first_codes=["array-like"], second_codes=["array-like"], y_true=["array-like"]
    )
    def from_pairs(
        first_codes: ArrayLike, second_codes: ArrayLike, y_true: ArrayLike
    ) -> "HammingHistogram":
        """Tabulate labeled pairs of codes, row by row, as if one query had them all.

        It is the table for :func:`~sklearn_talr.metrics.pair_precision` and
        :func:`~sklearn_talr.metrics.radius_at_precision` if pairs were labeled one by one,
        for example by a person who decides whether two rows are duplicates.

        Parameters
        ----------
        first_codes, second_codes : array-like of shape (n_pairs, n_bits) of 0/1, or \
                PackedCodes
            Codes of both sides; pair i is row i of the first and row i of the second.

        y_true : array-like of shape (n_pairs,)
            Affinity of each pair: non-negative integers or booleans, 0 for not similar,
            or NaN for an ignored pair.

        Returns
        -------
        histogram : HammingHistogram
            Counts of shape (1, n_levels, n_bits + 1): the number of pairs of each affinity
            at each Hamming distance.

        Raises
        ------
        ValueError
            If the three differ in length, the codes in their number of bits, or `y_true`
            holds anything but non-negative integers.

        Examples
        --------
        Three pairs of codes; two pairs have the same distance, and one of them is right:

        >>> from sklearn_talr.histogram import HammingHistogram
        >>> first, second = [[0, 0], [0, 1], [1, 1]], [[0, 1], [1, 1], [1, 1]]
        >>> HammingHistogram.from_pairs(first, second, [1, 0, 1]).counts
        array([[[0, 1, 0],
                [1, 1, 0]]])
        """
        refuse_masked(first_codes=first_codes, second_codes=second_codes)
        names = "first_codes", "second_codes"
        refuse_unlike_labels(first_codes, second_codes, names, axis=1)
        first_codes = as_packed(first_codes, input_name="first_codes")
        second_codes = as_packed(second_codes, input_name="second_codes")
        affinity = check_affinities(y_true)
        check_consistent_length(first_codes, second_codes, affinity)
        if first_codes.n_bits != second_codes.n_bits:
            raise ValueError(
                f"first_codes have {first_codes.n_bits} bits and second_codes "
                f"{second_codes.n_bits}; both must come from the same hash function."
            )
        differing = np.bitwise_xor(*code_words(first_codes, second_codes))
        distance = np.bitwise_count(differing).sum(axis=1, dtype=np.intp)
        is_counted = affinity >= 0
        levels = np.union1d([0], affinity[is_counted])
        level = np.searchsorted(levels, affinity[is_counted])
        shape = len(levels), first_codes.n_bits + 1
        counts = _count_cells((level, distance[is_counted]), shape)
        return HammingHistogram(counts[None], levels, first_codes.n_bits)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, HammingHistogram):
            return super().__add__(other)
        if (self.n_bits, len(self)) != (other.n_bits, len(other)):
            raise ValueError(
                "histograms add up over parts of a database: they must be of the same "
                f"queries and the same n_bits, got {len(self)} queries of {self.n_bits} "
                f"bits and {len(other)} of {other.n_bits} bits."
            )
        levels = np.union1d(self.levels, other.levels)
        counts = np.zeros((len(self), len(levels), self.n_bits + 1), dtype=np.int64)
        for part in (self, other):
            place = np.searchsorted(levels, part.levels)
            counts[:, place] += part.counts.astype(np.int64, copy=False)
        return HammingHistogram(counts, levels, self.n_bits)

    def __radd__(self, other: Any) -> Self:
        # The built-in sum() starts from 0.
        if isinstance(other, int) and other == 0:
            return self
        return super().__add__(other)


def _count_cells(indices, shape):
    """Number of occurrences of each cell of a table of this shape among index arrays."""
    cells = np.ravel_multi_index(indices, shape)
    return np.bincount(cells, minlength=np.prod(shape)).reshape(shape)


def check_hamming(histogram, caller):
    """Raise TypeError unless the columns of a histogram are Hamming distances."""
    if not isinstance(histogram, HammingHistogram):
        raise TypeError(
            f"{caller} needs a HammingHistogram, whose columns are Hamming distances, got "
            f"{type(histogram).__name__}. Make one from two sets of codes with "
            "hamming_histogram, or, if column d counts the items at distance d, with "
            "HammingHistogram(counts, levels, n_bits)."
        )
