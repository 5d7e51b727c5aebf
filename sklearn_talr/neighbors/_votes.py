"""Votes of the neighbors, shared fairly among those that are tied.

When the last of k places falls into a tie, each of the tied items has the same share of
the places that are left: with t items nearer and n items tied, (k - t) / n of a vote.
Votes are counted in units of 1 / n, so they are integers, and equal votes are equal.
"""

import numpy as np
from scipy.sparse import csr_array


class Vote:
    """A vote of the nearest items of a database.

    Parameters
    ----------
    store : CodeStore
        The codes and their items.

    targets : Targets
        What the items vote for.

    n_places : int
        Number of neighbors that vote.
    """

    def __init__(self, store, targets, n_places):
        by_item, self._classes = targets.ballots()
        self._store = store
        self._by_code = store.members_as_matrix() @ by_item
        self._n_places = n_places

    def elect(self, answers):
        """Decide for all queries.

        Parameters
        ----------
        answers : iterable of Found
            Block by block, the codes within the smallest radius that holds `n_places`
            items.

        Returns
        -------
        elected : ndarray of shape (n_queries,) or (n_queries, n_labels)
            The class with most votes, the first of several. Where items carry several
            labels: 1 for each label that more than half of the places vote for, else 0.
        """
        if self._classes is None:
            parts = [_majority(*self._count(found)) for found in answers]
            return np.concatenate(parts)
        parts = [self._count(found)[0].argmax(axis=1) for found in answers]
        return self._classes[np.concatenate(parts)]

    def _count(self, found):
        """Votes for each class, and all votes, in units of one over the size of a tie.

        Returns arrays of shape (n_queries, n_classes) and (n_queries,), int64.
        """
        n_queries, sizes = len(found.n_buckets), self._store.sizes(found.code)
        last = found.distance == found.radius()[found.query]
        nearer, tied = (
            np.bincount(found.query[part], sizes[part], minlength=n_queries).astype(
                np.int64
            )
            for part in (~last, last)
        )
        left = self._n_places - nearer
        weight = np.where(last, left[found.query], tied[found.query])
        shape = n_queries, len(self._store)
        votes = csr_array((weight, (found.query, found.code)), shape=shape) @ self._by_code
        return votes.toarray(), self._n_places * tied


def _majority(votes, n_votes):
    return (2 * votes > n_votes[:, None]).astype(np.int64)
