"""Targets of the items of an index, and the affinity oracle that compares them."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..affinity import resolve_affinity
from ._voting import Ballots


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
    def from_y(cls, affinity, y, n_items, n_before=0):
        """Settle the oracle and the targets of items.

        An oracle that is fitted already keeps its levels. Any other oracle is cloned and
        fitted to `y`. If items are known by number, their numbers are the targets.

        Parameters
        ----------
        affinity : "auto" or affinity oracle
            The parameter of the estimator.

        y : targets of length n_items, or None
            What the user has passed.

        n_items : int
            Number of items.

        n_before : int, default=0
            Number of items that were given before.
        """
        numbers = np.arange(n_before, n_before + n_items)
        if y is None and getattr(affinity, "by_number", False):
            y = numbers
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
            if values.ndim == 1 and np.any(values != numbers):
                raise ValueError(
                    f"y has other numbers of the items than the index, which numbers them "
                    f"{n_before}, {n_before + 1}, ... in their order. Pass y=None, or "
                    "judgments with a row for each item."
                )
            values = numbers
        return cls(affinity, values)

    def append(self, y, n_new):
        """Targets of old and new items: both have some, or neither, or all are numbered."""
        is_numbered = self.affinity is not None and self.affinity.by_number
        if (y is None) != (self.values is None) and not is_numbered:
            self._refuse_mixture()
        if self.affinity is None:
            return self
        added = Targets.from_y(self.affinity, y, n_new, self.values.shape[0])
        if self.affinity.comes_with_targets:
            raise ValueError(
                "y is a PrecomputedAffinity, to which nothing can be added. Call fit with "
                "all codes and the whole matrix."
            )
        return self._replace(values=_concatenate(self.values, added.values))

    def _refuse_mixture(self):
        if self.values is None:
            first = "without y"
            remedy = "y=None"
        else:
            first = "with y"
            remedy = "y, targets of the new items"
        raise ValueError(
            f"The first items were added {first}, and new items must be, too. Pass "
            f"{remedy}, or call fit with all items."
        )

    def ballots(self, indices):
        """Classes that the items of these indices vote for.

        Parameters
        ----------
        indices : ndarray of shape (n_items,)
            Indices of the rows.

        Returns
        -------
        ballots : Ballots
            Ballots of the rows.

        Raises
        ------
        ValueError
            If targets name no classes, or no item has a class.
        """
        memberships = None
        if self.affinity is not None:
            memberships = self.affinity.memberships(self.values)
        if memberships is None:
            y = "none" if self.affinity is None else type(self.affinity.given).__name__
            raise ValueError(
                f"predict needs y of labels or label indicators in fit, got {y}. Pass the "
                "labels that neighbors vote for: fit(X, y)."
            )
        classes, members = memberships
        members_by_row = members.astype(np.int64)[indices]
        voters = None
        if classes is not None and members_by_row.nnz < members_by_row.shape[0]:
            voters = np.flatnonzero(np.diff(members_by_row.indptr))
            if not len(voters):
                raise ValueError(
                    "predict needs items that count, and all items in the database have "
                    "the label that the affinity ignores. Add items with other labels."
                )
        return Ballots(classes, members_by_row, voters)


NO_TARGETS = Targets()


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
