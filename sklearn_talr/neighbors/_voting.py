"""Votes of neighbors for their classes, in which tied items have equal shares."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Ballots(NamedTuple):
    """Classes that items vote for.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,) or None
        Labels of the classes; None if items carry several labels.

    memberships : CSR of shape (n_items, n_classes) of int64
        A 1 for the class of an item, or for each of its labels.

    voters : ndarray of shape (n_voters,), dtype int64, or None
        Rows of the items that count, ascending. An item counts if it has a class, and in
        any case if items carry several labels. None: all items count.
    """

    classes: np.ndarray | None
    memberships: sp.csr_array
    voters: np.ndarray | None

    def count(self, blocks, n_places):
        """Let the nearest items decide; tied items share the last places equally.

        If the last of k places falls into a tie, each of the tied items has the same share
        of the places that are left: with t nearer items and n tied items, (k - t) / n of a
        vote. Votes are counted in units of 1 / n, so they are integers, and equal votes are
        equal.

        Parameters
        ----------
        blocks : iterable of Found
            Nearest items of blocks of queries, in whole ties.

        n_places : int
            Number of neighbors that vote.

        Returns
        -------
        elected : ndarray of shape (n_queries,) or (n_queries, n_labels)
            The class with most votes, the first of several. If items carry several labels:
            1 for each label that more than half of the places vote for, else 0.
        """
        return np.concatenate([self._elect(found, n_places) for found in blocks])

    def _elect(self, found, n_places):
        """The classes that the queries of one block elect."""
        counts = found.counts
        query = np.repeat(np.arange(len(counts)), counts)
        last_distances = found.distances[np.cumsum(counts) - 1]
        is_last = found.distances == last_distances[query]
        n_tied = np.bincount(query[is_last], minlength=len(counts))
        places_left = n_places - (counts - n_tied)
        weights = np.where(is_last, places_left[query], n_tied[query])
        shape = len(counts), self.memberships.shape[0]
        weights = sp.csr_array((weights, (query, found.rows)), shape=shape)
        votes = (weights @ self.memberships).toarray()
        if self.classes is None:
            return (2 * votes > n_places * n_tied[:, None]).astype(np.int64)
        return self.classes[votes.argmax(axis=1)]
