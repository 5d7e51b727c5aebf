"""All that a fitted estimator knows, in one piece."""

from dataclasses import dataclass, replace

import numpy as np

from ._columns import Columns, read_codes
from ._index import CodeIndex
from ._store import CodeStore
from ._targets import Targets


@dataclass(frozen=True, eq=False)
class Fitted:
    """A database and its parts, never changed but replaced as a whole.

    A call takes this object once. So codes, items, targets and hasher fit together although
    another thread adds or removes items meanwhile.

    Parameters
    ----------
    index : CodeIndex
        The codes, their items, and the tables that searches have made.

    targets : Targets
        The targets of the items, if any.

    columns : Columns
        Length of the codes and names of their bits.

    hasher : FittedHasher or None
        The hasher of HashedNeighbors.

    features : array, StackedRows or None
        Features of all items given so far, where candidates are rescored.
    """

    index: CodeIndex
    targets: Targets
    columns: Columns
    hasher: object = None
    features: object = None

    @classmethod
    def of(cls, packed, columns, affinity, y, **more):
        """The database of the first items."""
        targets = Targets.of(affinity, y, len(packed))
        return cls.from_parts(CodeStore.from_codes(packed), targets, columns, **more)

    @classmethod
    def from_parts(cls, store, targets, columns, **more):
        """The database of a store and its targets."""
        return cls(CodeIndex(store), targets, columns, **more)

    def add(self, packed, y):
        """The database with more items, whose codes must have terms if the others do."""
        have, given = _n_terms(self.store.terms), _n_terms(packed.terms)
        if have != given:
            raise ValueError(
                f"X has {given} terms per code and the codes of the database have {have}. "
                "Add codes that `encode` of the same hasher returns."
            )
        targets = self.targets.append(y, len(packed))
        return replace(self, index=CodeIndex(self.store.add(packed)), targets=targets)

    def remove(self, indices):
        """The database without the items of these indices."""
        indices = _check_removed(indices, self.store)
        if not indices.size:
            return self
        return replace(self, index=CodeIndex(self.store.remove(indices)))

    @property
    def store(self):
        """The codes and their items."""
        return self.index.store

    @property
    def indices(self):
        """Indices of the items, ascending."""
        return self.store.items()[0]

    @property
    def codes(self):
        """Packed codes of the items, in the order of their indices."""
        return self.store.packed(self.store.items()[1])

    def read(self, X):
        """Packed codes of queries, which must have the columns of the database."""
        return read_codes(X, self.columns)[0]


def _n_terms(terms):
    """Number of terms per code, 0 for None."""
    return 0 if terms is None else terms.shape[1]


def _check_removed(indices, store):
    """Distinct indices of items of the store; some item must have another."""
    indices = np.atleast_1d(np.asarray(indices))
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise ValueError(
            f"indices must be integers of shape (n_removed,), got {indices.dtype} of "
            f"shape {indices.shape}. Turn a mask into indices by np.flatnonzero."
        )
    indices = np.unique(indices).astype(np.int64)
    missing = indices[~store.contains(indices)]
    if missing.size:
        raise ValueError(
            f"indices contains {missing[:5].tolist()}, which are not in the database."
        )
    if indices.size == store.n_items:
        raise ValueError("indices would leave no item; fit another database instead.")
    return indices
