"""Tables of counts: of a ranking by any score, and of one by Hamming distance."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import validate_params

__all__ = ["HammingHistogram", "RankingHistogram"]

_AFFINITIES = "y_true must hold affinities: non-negative integers, 0 for not similar"
_LEVELS = "levels must be integers that ascend from 0, below 2**63, got {}."
_MOST_ITEMS = 3_000_000_000  # whose square fits int64


@dataclass(frozen=True, eq=False)
class RankingHistogram:
    """How many database items each query finds in each tie, by affinity level.

    Items that a ranking cannot tell apart are tied. A column is a tie, and columns are in
    ranking order, best first. This is all that a ranking metric needs to know. Where
    columns are Hamming distances, use :class:`HammingHistogram`: metrics of hash lookup
    need it, and only such tables add up.

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
        Number of ranked items of each query, and of those of affinity above 0.

    Raises
    ------
    ValueError
        If `counts` is not three-dimensional, holds anything but non-negative integers or
        has not one row per level, or if `levels` are not integers that ascend from 0.

    See Also
    --------
    RankingHistogram.from_scores : The table of a ranking by real scores.
    hamming_histogram : The table of a ranking by Hamming distance.

    Examples
    --------
    One query; a relevant and an irrelevant item are tied for the first place:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_average_precision
    >>> histogram = RankingHistogram([[[1, 0], [1, 0]]], levels=[0, 1])
    >>> tie_aware_average_precision(histogram)
    array([0.75])
    """

    counts: np.ndarray
    levels: np.ndarray

    def __post_init__(self):
        # The dataclass is frozen for its users; this is how it sets its own fields.
        object.__setattr__(self, "counts", np.asarray(self.counts))
        object.__setattr__(self, "levels", _checked_levels(self.levels))
        _check_counts(self.counts, len(self.levels))

    def __len__(self):
        return len(self.counts)

    def __add__(self, other):
        raise TypeError(
            f"{type(self).__name__} and {type(other).__name__} do not add up: only two "
            "HammingHistogram do, whose columns are the same distances. The columns of a "
            "RankingHistogram are ties, which depend on all ranked items. Rank the whole "
            "database by RankingHistogram.from_scores, or count parts of it by "
            "hamming_histogram."
        )

    __radd__ = __add__

    @staticmethod
    @validate_params(
        {"y_true": ["array-like"], "y_score": ["array-like"]},
        prefer_skip_nested_validation=True,
    )
    def from_scores(y_true, y_score):
        """Tabulate rankings by real scores; items of equal score are tied.

        Parameters
        ----------
        y_true : array-like of shape (n_queries, n_database)
            Affinity of each database item to each query: non-negative integers.

        y_score : array-like of shape (n_queries, n_database)
            Ranking scores, higher is better.

        Returns
        -------
        histogram : RankingHistogram
            As many columns as the query with the most different scores needs. Scores that
            hardly tie make a large table; the ``*_score`` functions of
            :mod:`sklearn_talr.metrics` need none.

        Raises
        ------
        ValueError
            If `y_true` and `y_score` are not two tables of one shape, `y_true` holds
            anything but non-negative integers, or `y_score` is not finite.

        Examples
        --------
        >>> from sklearn_talr.histogram import RankingHistogram
        >>> from sklearn_talr.metrics import tie_breaking_range
        >>> histogram = RankingHistogram.from_scores([[1, 0, 0]], [[0.9, 0.9, 0.1]])
        >>> tie_breaking_range(histogram, "reciprocal_rank")
        TieBreakingRange(worst=array([0.5]), expected=array([0.75]), best=array([1.]))
        """
        y_true, y_score = check_ranking(y_true, y_score)
        levels = np.union1d([0], y_true)
        index = np.searchsorted(levels, y_true)
        ties = [np.unique(descending(score), return_inverse=True)[1] for score in y_score]
        n_ties = 1 + max(tie.max() for tie in ties)
        cells = len(levels) * n_ties
        counts = [
            np.bincount(level * n_ties + tie, minlength=cells)
            for level, tie in zip(index, ties)
        ]
        shape = len(y_true), len(levels), n_ties
        return RankingHistogram(np.reshape(counts, shape), levels)

    @property
    def n_items(self):
        """Number of ranked items of each query, shape (n_queries,)."""
        return self.counts.sum(axis=(1, 2))

    @property
    def n_relevant(self):
        """Number of items of affinity above 0 of each query, shape (n_queries,)."""
        return self.counts[:, 1:].sum(axis=(1, 2))


@dataclass(frozen=True, eq=False)
class HammingHistogram(RankingHistogram):
    """How many database items each query finds at each Hamming distance, by affinity level.

    Items of one query that share a distance are tied, so this is a
    :class:`RankingHistogram` whose columns are the distances 0, 1, ..., `n_bits`.

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
        Number of database items of each query, and of those of affinity above 0.

    Raises
    ------
    ValueError
        If `counts` is not three-dimensional, holds anything but non-negative integers or
        has not one row per level and one column per distance, or if `levels` are not
        integers that ascend from 0.

    See Also
    --------
    hamming_histogram : The table of two sets of codes.

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

    def __post_init__(self):
        super().__post_init__()
        n_bits, n_columns = self.n_bits, self.counts.shape[2]
        if not isinstance(n_bits, Integral) or isinstance(n_bits, bool) or n_bits < 1:
            raise ValueError(f"n_bits must be a positive integer, got {n_bits!r}.")
        if n_columns != n_bits + 1:
            raise ValueError(
                f"codes of n_bits={n_bits} have {n_bits + 1} distances, 0 to {n_bits}, "
                f"but counts has {n_columns} columns. If the columns are ties of another "
                "score, use RankingHistogram."
            )
        object.__setattr__(self, "n_bits", int(n_bits))

    def __add__(self, other):
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
            counts[:, np.searchsorted(levels, part.levels)] += part.counts
        return HammingHistogram(counts, levels, self.n_bits)

    def __radd__(self, other):
        if isinstance(other, int) and other == 0:  # from which sum() starts
            return self
        return super().__add__(other)


def check_hamming(histogram, caller):
    """Raise TypeError unless the columns of a histogram are Hamming distances."""
    if not isinstance(histogram, HammingHistogram):
        raise TypeError(
            f"{caller} needs a HammingHistogram, whose columns are Hamming distances, got "
            f"{type(histogram).__name__}. Make one of two sets of codes by "
            "hamming_histogram, or, if column d counts the items at distance d, by "
            "HammingHistogram(counts, levels, n_bits)."
        )


def check_ranking(y_true, y_score, *, real_grades=False):
    """Return affinities, and scores of a type that ranks them, or raise ValueError.

    Affinities are int64; with `real_grades` they are float64 where that is too narrow.
    """
    y_true = _check_table(y_true, None, "y_true")
    y_score = _check_scores(y_score)
    if y_true.shape != y_score.shape:
        raise ValueError(
            "y_true and y_score must have the same shape (n_queries, n_database), got "
            f"{y_true.shape} and {y_score.shape}."
        )
    return _check_affinities(y_true, real_grades), y_score


def descending(score):
    """Numbers of the opposite order, without the overflow of a negative integer."""
    return -score if score.dtype.kind == "f" else ~score


def _check_affinities(y_true, real_grades):
    if y_true.dtype.kind not in "biuf":
        raise ValueError(f"{_AFFINITIES}, got {y_true.dtype}.")
    if np.any(y_true < 0):
        raise ValueError(
            f"{_AFFINITIES}, got {y_true.min()}. If negative judgments mean that an item "
            "is not relevant, as -2 for spam does in TREC, pass np.maximum(y_true, 0)."
        )
    if not np.any(y_true % 1) and _fits_int64(y_true):
        return y_true.astype(np.int64, copy=False)
    if real_grades:
        return y_true.astype(np.float64, copy=False)
    if not _fits_int64(y_true):
        raise ValueError(f"{_AFFINITIES}, below 2**63, got {y_true.max()}.")
    raise ValueError(
        f"{_AFFINITIES}, got {y_true[y_true % 1 > 0][0]}. DCG and NDCG take real grades "
        "with gain='linear'. Metrics of relevance take y_true > 0, or above what grade is "
        "relevant."
    )


def _check_scores(y_score):
    """Scores as NumPy stores them: float64 would tie integers beyond 2**53."""
    scores = _check_table(y_score, None, "y_score")
    given = np.asarray(y_score) if hasattr(y_score, "__array__") else scores
    if given.dtype.kind in "biuf":
        return scores
    scores = _check_table(y_score, np.float64, "y_score")
    if given.dtype.kind == "O" and any(
        isinstance(score, Integral) and score != int(stored)
        for score, stored in zip(given.flat, scores.flat)
    ):
        raise ValueError(
            "y_score holds Python integers that float64 cannot tell apart. Pass an array "
            "of integers that NumPy can store, or ranks: higher is better."
        )
    return scores


def _fits_int64(numbers):
    return numbers.dtype.kind not in "uf" or not np.any(numbers >= 2**63)


def _check_table(values, dtype, name):
    values = check_array(
        values, dtype=dtype, ensure_2d=False, allow_nd=True, input_name=name
    )
    if values.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, (n_queries, n_database), got shape {values.shape}. A "
            "single query is one row."
        )
    return values


def _checked_levels(levels):
    """Levels as integers; an oracle of the user may state them as floats."""
    levels = np.asarray(levels)
    is_vector = levels.ndim == 1 and levels.size and levels.dtype.kind in "biuf"
    is_whole = is_vector and _fits_int64(levels) and not np.any(levels % 1)
    if not is_whole or levels[0] != 0:
        raise ValueError(_LEVELS.format(levels))
    levels = levels.astype(np.int64, copy=False)
    if np.any(levels[1:] <= levels[:-1]):
        raise ValueError(_LEVELS.format(levels))
    return levels


def _check_counts(counts, n_levels):
    if counts.ndim != 3 or counts.shape[1] != n_levels:
        raise ValueError(
            f"counts must have shape (n_queries, {n_levels}, n_columns), a row for each "
            f"of the levels, got {counts.shape}."
        )
    if counts.dtype.kind not in "iu":
        raise ValueError(
            f"counts must be integers, got {counts.dtype}. Soft counts belong to "
            "sklearn_talr.objectives."
        )
    if counts.size and counts.min() < 0:
        raise ValueError(f"counts must not be negative, got {counts.min()}.")
    n_items = counts.sum(axis=(1, 2), dtype=np.float64).max(initial=0)
    if n_items > _MOST_ITEMS:
        raise ValueError(
            f"a query may have {_MOST_ITEMS} items at most, got {n_items:.3g}: the metrics "
            "multiply two counts as int64."
        )
