"""The fitted state of an index: codes, ids and targets of its items."""

from dataclasses import dataclass, field, replace

import numpy as np

from .._core.validation import read_ids
from ..codes import CodeTerms
from ..codes._packed import wrap_bytes
from ..codes._scores import columns_of, fixed, word_size
from ._filters import read_items, refuse_numbers_of_all_items
from ._ids import Ids
from ._lookup import RadiusLookup
from ._read import Columns
from ._targets import NO_TARGETS, Targets


@dataclass(frozen=True, eq=False)
class Index:
    """Codes, items and targets, never changed but replaced as a whole.

    A call takes this object once. So codes, targets and hasher fit together although
    another thread adds or removes items meanwhile. Items are known by two numbers: the
    *row* of an item is its place among the codes that are there, its *index* the place
    among all items given so far, which stays when others are removed.

    Parameters
    ----------
    words : ndarray of shape (n_words, n_items), unsigned
        Codes as `columns_of` lays them out.

    terms : CodeTerms
        Factors and addends of the codes.

    columns : Columns
        Length of the codes and names of their bits.

    n_indices : int
        Number of indices given so far. The index of a removed item is not given again.

    numbers : ndarray of shape (n_items,) or None
        Index of each row, ascending; None while nothing has been removed.

    targets : Targets
        Targets of all items given so far, if any.

    ids : Ids or None
        Ids of the rows, if the items have any.

    hasher : FittedHasher or None
        The hasher of HashedNeighbors.

    features : StackedRows or None
        Features of all items given so far, if candidates are rescored.

    lookup : RadiusLookup
        Tables for searches within a radius.
    """

    words: np.ndarray
    terms: CodeTerms
    columns: Columns
    n_indices: int
    numbers: np.ndarray | None = None
    targets: Targets = NO_TARGETS
    ids: Ids | None = None
    hasher: object = None
    features: object = None
    lookup: RadiusLookup = field(default_factory=RadiusLookup, init=False)

    @classmethod
    def from_codes(cls, packed, columns, *, targets, ids, hasher=None, features=None):
        """The index of the first items, by their packed codes."""
        return cls(
            words=columns_of(packed.data),
            terms=packed.terms,
            columns=columns,
            n_indices=len(packed),
            targets=targets,
            ids=ids,
            hasher=hasher,
            features=features,
        )

    def add(self, packed, y, ids, X):
        """The index with more items, which must have terms and ids if the others do.

        Features X are kept if features of the others are.
        """
        self._refuse_other_terms(packed)
        self._refuse_mixture_of_ids(ids)
        if ids is not None:
            ids = read_ids(ids, len(packed))
            self._refuse_other_type(ids, "ids")
        n_indices = self.n_indices + len(packed)
        numbers = self.numbers
        if numbers is not None:
            numbers = np.concatenate((numbers, np.arange(self.n_indices, n_indices)))
            numbers = _as_small_integers(numbers, n_indices)
        return replace(
            self,
            words=fixed(np.hstack((self.words, columns_of(packed.data)))),
            terms=CodeTerms.join([self.terms, packed.terms]),
            n_indices=n_indices,
            numbers=numbers,
            targets=self.targets.append(y, len(packed)),
            ids=None if ids is None else self.ids.add(ids),
            features=None if self.features is None else self.features.append(X),
        )

    def _refuse_other_terms(self, packed):
        n_terms = self.terms.n_terms
        n_added = packed.terms.n_terms
        if n_added != n_terms:
            raise ValueError(
                f"X has {n_added} terms per code and the codes of the database have "
                f"{n_terms}. Add codes that `encode` of the same hasher returns."
            )

    def _refuse_mixture_of_ids(self, ids):
        if (ids is None) == (self.ids is None):
            return
        if self.ids is None:
            first = "without ids"
            remedy = "ids=None"
        else:
            first = "with ids"
            remedy = "ids of the new items"
        raise ValueError(
            f"The first items were added {first}, and new items must be, too. Pass "
            f"{remedy}, or call fit with all items."
        )

    def remove(self, indices):
        """The index without the items of these indices or ids."""
        items = read_items(indices, "indices")
        refuse_numbers_of_all_items(items, self, "indices")
        rows = np.unique(self.rows_of(items, "indices"))
        if not rows.size:
            return self
        if rows.size == self.n_items:
            raise ValueError("indices would leave no item; fit another database instead.")
        stays = np.ones(self.n_items, dtype=bool)
        stays[rows] = False
        return replace(
            self,
            words=fixed(np.ascontiguousarray(self.words[:, stays])),
            terms=self.terms.rows(stays),
            numbers=_as_small_integers(self.indices[stays], self.n_indices),
            ids=None if self.ids is None else self.ids.keep(stays),
        )

    def rows_of(self, items, name):
        """Rows of items, in their order.

        Parameters
        ----------
        items : list of str, or ndarray of shape (n_items,) of int64
            Ids if the items have some, else indices, as `read_ids` returns them.

        name : str
            Name of the argument in errors.

        Returns
        -------
        rows : ndarray of shape (n_items,), dtype int64
            The rows.

        Raises
        ------
        ValueError
            If an item is not in the database, or ids are of another type.
        """
        if self.ids is not None:
            self._refuse_other_type(items, name)
        elif isinstance(items, list) and items:
            raise ValueError(
                f"{name} names ids, such as {items[0]}, but the index has none. "
                "Give it some, as fit(X, ids=ids), or pass indices as in `indices_`."
            )
        rows = self.find(items)
        missing = np.flatnonzero(rows < 0)
        if missing.size:
            unknown = dict.fromkeys(items[place] for place in missing.tolist())
            examples = np.array(list(unknown)[:5]).tolist()
            attribute = "indices_" if self.ids is None else "ids_"
            raise ValueError(
                f"{name} contains {examples}, which are not in the database; of "
                f"{len(items)} items {missing.size} are not. Pass entries of "
                f"`{attribute}`. A mask of `include` or `exclude` may name removed items, "
                "too."
            )
        return rows

    def find(self, items):
        """Row of each item, known by its id or index, and -1 if it is not there."""
        if self.ids is not None:
            return self.ids.find(items)
        return self.find_indices(np.asarray(items, dtype=np.int64))

    def find_indices(self, indices):
        """Row of each index, and -1 if no item of the database has it."""
        is_here = (indices >= 0) & (indices < self.n_indices)
        if self.numbers is None:
            return np.where(is_here, indices, -1)
        rows = np.minimum(np.searchsorted(self.numbers, indices), self.n_items - 1)
        is_here &= self.numbers[rows] == indices
        return np.where(is_here, rows, -1)

    def _refuse_other_type(self, ids, name):
        """Raise ValueError if ids are of another type than the ids of the items."""
        noun = "strings" if isinstance(ids, list) else "integers"
        if not len(ids) or noun == self.ids.noun:
            return
        example = np.array(ids[:1]).tolist()[0]
        id_of_item = self.ids.of_rows(np.zeros(1, dtype=np.int64)).item()
        maker = "int" if self.ids.noun == "integers" else "str"
        raise ValueError(
            f"{name} holds {noun}, such as {example!r}, and the ids of the database are "
            f"{self.ids.noun}, such as {id_of_item!r}: none can be equal. Make them of one "
            f"type, as by [{maker}(i) for i in {name}]."
        )

    @property
    def n_bits(self):
        """Length of a code."""
        return self.columns.n_bits

    def has_distances(self, weights):
        """Whether queries of weights have distances to the codes, and not scores alone."""
        has_no_terms = self.terms.n_terms == 0
        return has_no_terms and word_size(self.n_bits, weights.shape[1]) == 1

    @property
    def n_items(self):
        """Number of items."""
        return self.words.shape[1]

    @property
    def nbytes(self):
        """Bytes of memory for the items, without targets and features."""
        parts = self.words, self.terms, self.numbers, self.ids, self.lookup
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def indices(self):
        """Indices of the items, ascending."""
        numbers = np.arange(self.n_items) if self.numbers is None else self.numbers
        return numbers.astype(np.int64, copy=False)

    def indices_of(self, rows):
        """Indices of rows."""
        return rows if self.numbers is None else self.numbers[rows].astype(np.int64)

    def named(self, rows):
        """Ids of rows; their indices if items have no ids."""
        return self.indices_of(rows) if self.ids is None else self.ids.of_rows(rows)

    def bits_of(self, rows):
        """Packed bytes of the codes of rows."""
        return np.ascontiguousarray(self.words[:, rows].T).view(np.uint8)

    @property
    def codes(self):
        """Packed codes of the items, in the order of their indices."""
        return wrap_bytes(self.bits_of(slice(None)), self.n_bits, terms=self.terms)

    def __getstate__(self):
        return vars(self) | {"lookup": RadiusLookup()}

    def __str__(self):
        n_bytes_per_item = self.nbytes / self.n_items
        return f"{self.n_items} items, {n_bytes_per_item:.4g} bytes each"


def _as_small_integers(numbers, n_indices):
    return numbers.astype(np.int64 if n_indices >> 31 else np.int32, copy=False)
