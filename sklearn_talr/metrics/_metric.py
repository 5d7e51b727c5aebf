"""What a metric is, and all that is alike in every one of them.

A metric is described once, by its kernel: a function of :class:`~._ties.Ties` that returns
values of shape (n_queries, n_cutoffs), whatever they are for queries with nothing relevant.
From it follow the metric of a histogram, the metric of affinities and scores, and the range
over the orders of tied items.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from .._arrays import NUMPY, space_of
from .._compat import Interval, validate_params
from ..histogram import RankingHistogram
from ..histogram._rankings import check_rankings
from ._queries import average_queries, check_weights, fill_undefined
from ._ragged_ties import RaggedTies, rank_items
from ._ties import CELLS_PER_BLOCK, HistogramTies, check_cutoffs

CUTOFFS = [Interval(Integral, 1, None, closed="left"), "array-like", None]
OF_HISTOGRAM = {"histogram": [RankingHistogram], "k": CUTOFFS, "zero_division": [Real]}
_OF_SCORES = {
    "y_true": ["array-like"],
    "y_score": ["array-like"],
    "groups": ["array-like", None],
    "k": CUTOFFS,
    "sample_weight": ["array-like", None],
    "average": ["boolean"],
    "zero_division": [Real],
}


class TieBreakingRange(NamedTuple):
    """Least, mean and greatest value of a metric over all orders of tied items.

    Parameters
    ----------
    worst, expected, best : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        The least value over all orders, the mean, and the greatest, per query.
    """

    worst: np.ndarray
    expected: np.ndarray
    best: np.ndarray


@dataclass(frozen=True)
class Metric:
    """One tie-aware metric; calling it evaluates a histogram.

    Parameters
    ----------
    name : str
        What users call it.

    kernel : callable
        ``kernel(ties, **params)``, values of shape (n_queries, n_cutoffs) in the order
        that ``ties.order`` names.

    label : str
        What the axis of a picture calls it.

    params : dict
        Constraints of the keyword parameters of the kernel, as scikit-learn's
        `validate_params` takes them.
    """

    name: str
    kernel: Callable
    label: str
    params: dict = field(default_factory=dict)

    def __call__(self, histogram, k=None, zero_division=np.nan, order="expected", **params):
        """Values of the queries: (n_queries,), or (n_queries, n_cutoffs) for several k."""
        cutoffs, single = check_cutoffs(k)
        kernel = partial(self.kernel, **params)
        values = evaluate([kernel], histogram, cutoffs, zero_division, order)[0]
        return values[:, 0] if single else values

    def range(self, histogram, k=None, zero_division=np.nan, **params):
        """Worst, expected and best values, each of the shape that a call returns."""
        return TieBreakingRange(
            *(
                self(histogram, k, zero_division, order, **params)
                for order in TieBreakingRange._fields
            )
        )

    def of_scores(
        self, y_true, y_score, groups, k, sample_weight, average, zero_division, **params
    ):
        """Values of rankings by score, averaged over queries unless `average` is False.

        Arrays of other libraries are ranked in NumPy, and values live where scores do.
        Public functions alone call it, so that a warning points at their callers.
        """
        cutoffs, single = check_cutoffs(k)
        real_grades = params.get("gain") == "linear"
        rankings = check_rankings(y_true, y_score, groups, real_grades=real_grades)
        weights = check_weights(sample_weight, len(rankings))
        kernel = partial(self.kernel, **params)
        values = np.empty((len(rankings), len(cutoffs)))
        for queries, *block in rankings.blocks(CELLS_PER_BLOCK, len(cutoffs)):
            ties = RaggedTies(rank_items(*block)).cut_at(cutoffs)
            undefined = ties.n_relevant == 0
            values[queries] = fill_undefined(kernel(ties), undefined, zero_division)
        values = values[:, 0] if single else values
        if average:
            values = average_queries(values, weights, stacklevel=5)
        space = space_of(y_score)
        return values if space is NUMPY or np.isscalar(values) else space.take(values)

    def checks_histogram(self, function):
        """Decorate the public function of a histogram, so that it checks its parameters."""
        return _validated(function, OF_HISTOGRAM | self.params)

    def checks_scores(self, function):
        """Decorate the public function of scores, so that it checks its parameters."""
        return _validated(function, _OF_SCORES | self.params)


def evaluate(kernels, histogram, cutoffs, zero_division, order="expected"):
    """Values of several kernels, shape (n_kernels, n_queries, n_cutoffs).

    All of them read the same tables, made for a block of queries at a time.
    """
    counts, levels = histogram.counts, histogram.levels
    n_kinds = 2 if order == "expected" else counts.shape[1]
    cells = n_kinds * counts.shape[2] + len(cutoffs)
    values = []
    for rows in _query_blocks(len(counts), cells):
        ties = HistogramTies(counts[rows], levels, cutoffs, order)
        of_block = np.stack([kernel(ties) for kernel in kernels])
        values.append(fill_undefined(of_block, ties.n_relevant == 0, zero_division))
    return np.concatenate(values, axis=1)


def _query_blocks(n_queries, cells_per_query):
    """Slices of queries; one empty slice when there is no query."""
    if not n_queries:
        return [slice(0, 0)]
    return gen_batches(n_queries, max(1, CELLS_PER_BLOCK // cells_per_query))


def _validated(function, constraints):
    return validate_params(constraints, prefer_skip_nested_validation=True)(function)
