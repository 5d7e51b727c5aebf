"""Votes of the neighbors, shared fairly among those that are tied.

When the last of k places falls into a tie, each of the tied items has the same share of
the places that are left: with t items nearer and n items tied, (k - t) / n of a vote.
Votes are counted in units of 1 / n, so they are integers, and equal votes are equal.
"""

import numpy as np
from scipy.sparse import csr_array


def shared_votes(found, store, n_neighbors, ballots):
    """Count the votes that each query receives for each class.

    Parameters
    ----------
    found : Found
        Codes within the smallest radius that holds `n_neighbors` items.

    store : CodeStore

    n_neighbors : int
        Number of places.

    ballots : csr_array of shape (n_codes, n_classes) of int64
        How many items of each code vote for each class.

    Returns
    -------
    votes : ndarray of shape (n_queries, n_classes) of int64
        Votes in units of one over the size of the last tie.

    n_places : ndarray of shape (n_queries,) of int64
        All places in these units.
    """
    n_queries, sizes = len(found.n_buckets), store.sizes(found.code)
    last = found.distance == found.radius()[found.query]
    nearer, tied = (
        np.bincount(found.query[part], sizes[part], minlength=n_queries).astype(np.int64)
        for part in (~last, last)
    )
    weight = np.where(last, (n_neighbors - nearer)[found.query], tied[found.query])
    shape = n_queries, len(store)
    votes = csr_array((weight, (found.query, found.code)), shape=shape) @ ballots
    return votes.toarray(), n_neighbors * tied


def elect_class(votes, n_places):
    """Number of the class with most votes, the first of several."""
    return votes.argmax(axis=1)


def elect_labels(votes, n_places):
    """Labels that more than half of the places vote for, as 0/1."""
    return (2 * votes > n_places[:, None]).astype(np.int64)
