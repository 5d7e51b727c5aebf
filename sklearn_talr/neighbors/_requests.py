"""Requests: the queries of a call, and which items each of them may find."""

from typing import NamedTuple

import numpy as np

from ._filters import ALL_ROWS, Eligible


class Queries(NamedTuple):
    """The queries of a call.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_bytes) of uint8, or (n_queries, n_weights)
        Packed codes, or weights in float32. The distance to weights is minus the score,
        or the sum of the weights of the bits that differ if the codes have no factors and
        each bit has one weight.

    own_rows : ndarray of shape (n_queries,) of int64, default=None
        Row of each query if the queries are items. No item finds itself.

    features : object, default=None
        The queries as the user gave them, or the features of the items. None if the queries
        are items without features.
    """

    values: np.ndarray
    own_rows: np.ndarray | None = None
    features: object = None

    @property
    def n_queries(self):
        """Number of queries."""
        return len(self.values)

    @property
    def are_bits(self):
        """Whether the queries are codes, and not weights."""
        return self.values.dtype.kind == "u"


class SearchRequest(NamedTuple):
    """A search, checked: either for the nearest items or for all items within a radius.

    Parameters
    ----------
    queries : Queries
        The queries.

    n_neighbors : int, default=None
        Number of items to find for each query; all eligible items if there are fewer. None
        if there is a radius.

    radius : int or float, default=None
        Largest distance. None if there is a number of neighbors.

    eligible : Eligible, default=ALL_ROWS
        Rows that the queries may find.

    with_ties : bool, default=False
        Whether to find all items at the distance of the last neighbor, too.

    n_candidates : int, default=None
        Number of items, nearest by Hamming distance, that weights are compared with. None
        compares weights with all items.

    n_jobs : int, default=None
        Number of threads.
    """

    queries: Queries
    n_neighbors: int | None = None
    radius: float | None = None
    eligible: Eligible = ALL_ROWS
    with_ties: bool = False
    n_candidates: int | None = None
    n_jobs: int | None = None

    @property
    def is_within_radius(self):
        """Whether all items within a radius are wanted, and not a number of neighbors."""
        return self.radius is not None
