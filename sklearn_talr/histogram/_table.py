"""The table of counts of a ranking."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_array

__all__ = ["RankingHistogram"]


@dataclass(frozen=True, eq=False)
class RankingHistogram:
    """How many database items each query finds at each distance, by affinity level.

    Items of one query that share a distance are tied. This table is all that a ranking
    metric needs to know of them. Tables of the same queries against different parts of a
    database add up: ``first + second``, or ``sum(tables)`` for a database that arrives in
    chunks.

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

    The same query against twice as large a database:

    >>> (histogram + histogram).counts
    array([[[2, 0],
            [2, 0]]])
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

    def __add__(self, other):
        if not isinstance(other, RankingHistogram):
            return NotImplemented
        if self.counts.shape[::2] != other.counts.shape[::2]:
            raise ValueError(
                "histograms add up over parts of a database: they must have the same "
                "queries and distances, got counts of shapes "
                f"{self.counts.shape} and {other.counts.shape}."
            )
        levels = np.union1d(self.levels, other.levels)
        n_queries, _, n_distances = self.counts.shape
        counts = np.zeros((n_queries, len(levels), n_distances), dtype=np.int64)
        for part in (self, other):
            counts[:, np.searchsorted(levels, part.levels)] += part.counts
        return RankingHistogram(counts, levels)

    def __radd__(self, other):
        # sum() starts from 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @classmethod
    def from_scores(cls, y_true, y_score):
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
        ties = [np.unique(-score, return_inverse=True)[1] for score in y_score]
        n_ties = 1 + max(tie.max() for tie in ties)
        cells = len(levels) * n_ties
        counts = [
            np.bincount(level * n_ties + tie, minlength=cells)
            for level, tie in zip(index, ties)
        ]
        return cls(np.reshape(counts, (len(y_true), len(levels), n_ties)), levels)

    @property
    def n_items(self):
        """Number of ranked items of each query, shape (n_queries,)."""
        return self.counts.sum(axis=(1, 2))

    @property
    def n_relevant(self):
        """Number of items of affinity above 0 of each query, shape (n_queries,)."""
        return self.counts[:, 1:].sum(axis=(1, 2))


def check_ranking(y_true, y_score):
    """Return affinities as int64 and scores as float64, or raise ValueError."""
    y_true = _check_table(y_true, None, "y_true")
    y_score = _check_table(y_score, np.float64, "y_score")
    if y_true.shape != y_score.shape:
        raise ValueError(
            "y_true and y_score must have the same shape (n_queries, n_database), got "
            f"{y_true.shape} and {y_score.shape}."
        )
    if y_true.dtype.kind not in "biuf" or np.any(y_true < 0) or np.any(y_true % 1):
        raise ValueError(
            "y_true must hold affinities: non-negative integers, 0 for not similar."
        )
    return y_true.astype(np.int64, copy=False), y_score


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
