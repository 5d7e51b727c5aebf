"""Targets of the items: who is similar to whom, and what each item votes for."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..affinity import resolve_affinity


class Targets(NamedTuple):
    """Targets of all items given so far, and the oracle that compares them.

    Parameters
    ----------
    affinity : BaseAffinity or None
        The oracle; None if the items came without targets.

    values : targets of length n_samples, or None
        Target i is that of index i, whether or not the item has been removed.
    """

    affinity: object = None
    values: object = None

    @classmethod
    def of(cls, affinity, y, n_items, n_before=0):
        """Settle oracle and targets of items, before which others have been given.

        An oracle that is fitted already keeps its levels. Any other is cloned and fitted
        on `y`. Where items are known by number, it is the number that is kept.
        """
        if y is None and getattr(affinity, "by_number", False):
            y = np.arange(n_before, n_before + n_items)
        if y is None:
            return cls()
        affinity, values = resolve_affinity(affinity, None, y)
        if values.shape[0] != n_items:
            raise ValueError(
                "codes and y must have the same number of samples, got "
                f"{n_items} and {values.shape[0]}."
            )
        if not affinity.is_fitted:
            affinity = affinity.fit_clone(values)
        if affinity.by_number:
            values = _numbered(values, n_before)
        return cls(affinity, values)

    def append(self, y, n_new):
        """Targets of old and new items: both have some, or neither, or all are numbered."""
        if self.affinity is not None and self.affinity.by_number:
            new = Targets.of(self.affinity, y, n_new, len(self.values))
            return self._replace(values=np.concatenate((self.values, new.values)))
        if (y is None) != (self.values is None):
            known = "without y" if self.values is None else "with y"
            raise ValueError(f"The first items were added {known}, so must the others be.")
        if y is None:
            return self
        _, new = Targets.of(self.affinity, y, n_new)
        if self.affinity.comes_with_targets:
            raise ValueError(
                "y is a PrecomputedAffinity, to which nothing can be added. Call fit with "
                "all codes and the whole matrix."
            )
        return self._replace(values=_concatenate(self.values, new))

    def ballots(self):
        """What each item votes for, as a CSR array of shape (n_samples, n_classes).

        Returns
        -------
        votes : csr_array of int64
            A single 1 for the class of an item, or a 1 for each of its labels.

        classes : ndarray of shape (n_classes,) or None
            Labels of the classes; None where the items carry several labels.
        """
        found = None if self.affinity is None else self.affinity.memberships(self.values)
        if found is None:
            given = "none" if self.affinity is None else type(self.affinity.given).__name__
            raise ValueError(
                f"predict needs y of labels or label indicators in fit, got {given}."
            )
        classes, memberships = found
        return memberships.astype(np.int64), classes

    def vote(self, indices, answers, n_places):
        """Let the nearest items decide, those that are tied for the last places fairly.

        When the last of k places falls into a tie, each of the tied items has the same
        share of the places that are left: with t items nearer and n items tied, (k - t) / n
        of a vote. Votes are counted in units of 1 / n, so they are integers, and equal
        votes are equal.

        Parameters
        ----------
        indices : ndarray of shape (n_items,)
            Indices of the rows.

        answers : iterable
            What `answers` of :mod:`~._scan` generates, of whole ties.

        n_places : int
            Number of neighbors that vote.

        Returns
        -------
        elected : ndarray of shape (n_queries,) or (n_queries, n_labels)
            The class with most votes, the first of several. Where items carry several
            labels: 1 for each label that more than half of the places vote for, else 0.
        """
        by_item, classes = self.ballots()
        by_row, elected = by_item[indices], []
        for counts, rows, distances in answers:
            query = np.repeat(np.arange(len(counts)), counts)
            is_last = distances == distances[np.cumsum(counts) - 1][query]
            tied = np.bincount(query[is_last], minlength=len(counts))
            weights = np.where(is_last, (n_places - counts + tied)[query], tied[query])
            shape = len(counts), by_row.shape[0]
            votes = (sp.csr_array((weights, (query, rows)), shape=shape) @ by_row).toarray()
            if classes is None:
                elected.append((2 * votes > n_places * tied[:, None]).astype(np.int64))
            else:
                elected.append(classes[votes.argmax(axis=1)])
        return np.concatenate(elected)


NO_TARGETS = Targets()


def _numbered(values, first):
    """Numbers of items from the first on; their own numbers must be the same."""
    numbers = np.arange(first, first + values.shape[0])
    if values.ndim == 1 and np.any(values != numbers):
        raise ValueError(
            f"y numbers the items otherwise than the index, where they are {first}, "
            f"{first + 1}, ... in their order. Pass y=None, or judgments with a row for "
            "each item."
        )
    return numbers


def _concatenate(first, second):
    if first.ndim > 1 and first.shape[1] != second.shape[1]:
        raise ValueError(
            f"y has {second.shape[1]} columns, but that of the first items "
            f"{first.shape[1]}."
        )
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([sp.csr_array(first), sp.csr_array(second)], format="csr")
    if (first.dtype.kind in "US") != (second.dtype.kind in "US"):
        raise ValueError(
            f"y has dtype {second.dtype}, but that of the first items has {first.dtype}."
        )
    return np.concatenate((first, second))
