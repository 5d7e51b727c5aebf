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
    def of(cls, affinity, y, n_items):
        """Settle oracle and targets of the first items.

        An oracle that is fitted already keeps its levels. Any other is cloned and fitted
        on `y`.
        """
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
        return cls(affinity, values)

    def append(self, y, n_new):
        """Targets of old and new items. Both must have some, or neither."""
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
