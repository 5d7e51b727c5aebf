"""Named tuples that queries return, and ragged arrays."""

from typing import NamedTuple

import numpy as np


class Lookup(NamedTuple):
    """What a hash lookup found, and what it cost.

    Parameters
    ----------
    distances : ndarray of shape (n_queries,) of arrays
        Hamming distances of the items of each query, ascending.

    indices : ndarray of shape (n_queries,) of arrays
        Indices of these items, ascending within a distance.

    radius : ndarray of shape (n_queries,) of int64
        Radius up to which each query has found everything.

    n_buckets : ndarray of shape (n_queries,) of int64
        Buckets looked up, empty or not; 0 where all codes were compared instead.

    n_candidates : ndarray of shape (n_queries,) of int64
        Codes compared with the query.
    """

    distances: np.ndarray
    indices: np.ndarray
    radius: np.ndarray
    n_buckets: np.ndarray
    n_candidates: np.ndarray


class Ranking(NamedTuple):
    """All items in the order of their distance to each query.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_items) of int64
        Hamming distances, ascending.

    indices : ndarray of shape (n_queries, n_items) of int64
        Indices of the items; tied ones ascend.

    ties : ndarray of shape (n_queries, n_items) of int64
        Number of the tie that each place belongs to, 0 for the nearest.
    """

    distances: np.ndarray
    indices: np.ndarray
    ties: np.ndarray


def ragged(arrays):
    """Arrays of various lengths as an array of arrays, as scikit-learn returns them."""
    result = np.empty(len(arrays), dtype=object)
    for place, array in enumerate(arrays):
        result[place] = array
    return result
