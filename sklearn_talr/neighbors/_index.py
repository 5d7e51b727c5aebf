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
    """The items of a database: codes, ids, targets and features.

    An index never changes: `add` and `remove` return another one. A search takes the index
    of its database once, so its codes, targets and hasher belong together, even if another
    thread adds or removes items meanwhile.

    An item has two numbers. Its *row* is its place among the items that are present. Its
    *index* is its place among all items added so far, and stays the same when other items
    are removed.

    Parameters
    ----------
    words : ndarray of shape (n_words, n_items), unsigned
        Codes as `columns_of` lays them out.

    terms : CodeTerms
        Factors and addends of the codes.

    columns : Columns
        Length of the codes and names of their bits.

    n_indices : int
        Number of items added so far, with those removed since: no index is used again.

    numbers : ndarray of shape (n_items,) or None
        Index of each row, ascending. None while nothing has been removed: the index of an
        item is then its row.

    targets : Targets
        Targets of all items added so far, if any.

    ids : Ids or None
        Ids of the rows, if the items have any.

    hasher : FittedHasher or None
        Hasher that encoded the items, if `HashedNeighbors` holds them.

    features : StackedRows or None
        Features of all items added so far, if candidates are rescored.

    lookup : RadiusLookup
        Tables for searches within a radius, a cache that each new index fills itself.
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
        """The index with more items.

        If the items of this index have ids, or terms of their codes, new items must have
        them, too; otherwise they must have none. The same is true of targets `y`, unless
        targets are the numbers of the items.

        Parameters
        ----------
        packed : PackedCodes
            Codes of the new items.

        y : targets of length n_new, or None

        ids : array-like of shape (n_new,), or None

        X : array-like of shape (n_new, n_features), or None
            Features of the new items, kept if this index keeps features.

        Raises
        ------
        ValueError
            If new items lack what the others have, or have what the others lack.
        """
        self._refuse_other_terms(packed)
        self._refuse_mixture_of_ids(ids)
        if ids is not None:
            ids = read_ids(ids, len(packed))
            self._refuse_other_type(ids, "ids")
        return replace(
            self,
            words=fixed(np.hstack((self.words, columns_of(packed.data)))),
            terms=CodeTerms.join([self.terms, packed.terms]),
            n_indices=self.n_indices + len(packed),
            numbers=self._numbers_with(len(packed)),
            targets=self.targets.append(y, len(packed)),
            ids=None if ids is None else self.ids.add(ids),
            features=None if self.features is None else self.features.append(X),
        )

    def _numbers_with(self, n_new):
        """The field `numbers` of the index with so many more items."""
        if self.numbers is None:
            return None
        n_indices = self.n_indices + n_new
        new_indices = np.arange(self.n_indices, n_indices)
        return _as_small_integers(np.concatenate((self.numbers, new_indices)), n_indices)

    def _refuse_other_terms(self, packed):
        """Raise ValueError if new codes have more or fewer terms than the others."""
        n_terms = self.terms.n_terms
        n_added = packed.terms.n_terms
        if n_added != n_terms:
            raise ValueError(
                f"X has {n_added} terms per code and the codes of the database have "
                f"{n_terms}. Add codes that `encode` of the same hasher returns."
            )

    def _refuse_mixture_of_ids(self, ids):
        """Raise ValueError if only the new items have ids, or only the others."""
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
        """The index without some items, named by their ids, or by indices if none have ids.

        Targets and features of removed items stay, since indices count removed items, too.
        """
        items = read_items(indices, "indices")
        refuse_numbers_of_all_items(items, self, "indices")
        rows = np.unique(self.rows_of(items, "indices"))
        if not rows.size:
            return self
        if rows.size == self.n_items:
            raise ValueError("indices would leave no item; fit another database instead.")
        is_kept = np.ones(self.n_items, dtype=bool)
        is_kept[rows] = False
        return replace(
            self,
            words=fixed(np.ascontiguousarray(self.words[:, is_kept])),
            terms=self.terms.rows(is_kept),
            numbers=_as_small_integers(self.indices[is_kept], self.n_indices),
            ids=None if self.ids is None else self.ids.keep(is_kept),
        )

    def rows_of(self, items, name):
        """Row of each item.

        Parameters
        ----------
        items : list of str, or ndarray of shape (n_items,) of int64
            Ids if the items of the index have some, else indices, as `read_ids` returns
            them.

        name : str
            Name of the argument in errors.

        Returns
        -------
        rows : ndarray of shape (n_items,), dtype int64
            Rows in the order of `items`.

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
            self._refuse_missing_items(items, missing, name)
        return rows

    def _refuse_missing_items(self, items, missing, name):
        """Raise ValueError that shows the first five missing items, each once.

        Parameters
        ----------
        items : list of str, or ndarray of shape (n_items,) of int64

        missing : ndarray of shape (n_missing,) of int
            Places of the missing ones among the items.

        name : str
            Name of the argument.
        """
        different = list(dict.fromkeys(items[place] for place in missing.tolist()))
        examples = np.array(different[:5]).tolist()
        attribute = "indices_" if self.ids is None else "ids_"
        raise ValueError(
            f"{name} contains {examples}, which are not in the database; of "
            f"{len(items)} items {missing.size} are not. Pass entries of "
            f"`{attribute}`. A mask of `include` or `exclude` may name removed items, "
            "too."
        )

    def find(self, items):
        """Row of each item, by its id, or by its index if none have ids; -1 if absent."""
        if self.ids is not None:
            return self.ids.find(items)
        return self.find_indices(np.asarray(items, dtype=np.int64))

    def find_indices(self, indices):
        """Row of each index, and -1 if no item of the database has it."""
        if self.numbers is None:
            is_present = (indices >= 0) & (indices < self.n_indices)
            return np.where(is_present, indices, -1)
        rows = np.searchsorted(self.numbers, indices)
        # The row of an index above all others would be n_items.
        rows = np.minimum(rows, self.n_items - 1)
        return np.where(self.numbers[rows] == indices, rows, -1)

    def _refuse_other_type(self, ids, name):
        """Raise ValueError if ids are strings and the index has integers, or vice versa."""
        # `read_ids` returns strings as a list, and integers as an array.
        noun = "strings" if isinstance(ids, list) else "integers"
        if not len(ids) or noun == self.ids.noun:
            return
        example = np.array(ids[:1]).tolist()[0]
        id_of_item = self.ids.of_rows(np.zeros(1, dtype=np.int64)).item()
        wanted_type = "int" if self.ids.noun == "integers" else "str"
        raise ValueError(
            f"{name} holds {noun}, such as {example!r}, and the ids of the database are "
            f"{self.ids.noun}, such as {id_of_item!r}: none can be equal. Make them of one "
            f"type, as by [{wanted_type}(i) for i in {name}]."
        )

    @property
    def n_bits(self):
        """Length of a code."""
        return self.columns.n_bits

    def has_distances(self, weights):
        """Whether queries of these weights have distances to codes, and not only scores.

        They have if codes have neither factors nor addends, and if each bit has a weight.
        """
        if self.terms.n_terms:
            return False
        return word_size(self.n_bits, weights.shape[1]) == 1

    @property
    def n_items(self):
        """Number of items that are present."""
        return self.words.shape[1]

    @property
    def nbytes(self):
        """Bytes of memory for the items, without targets and features."""
        parts = [self.words, self.terms, self.numbers, self.ids, self.lookup]
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def indices(self):
        """Index of each row, ascending, shape (n_items,) of int64."""
        if self.numbers is None:
            return np.arange(self.n_items, dtype=np.int64)
        return self.numbers.astype(np.int64, copy=False)

    def indices_of(self, rows):
        """Index of each of these rows."""
        return rows if self.numbers is None else self.numbers[rows].astype(np.int64)

    def named(self, rows):
        """Name of each of these rows: its id, or its index if items have no ids."""
        return self.indices_of(rows) if self.ids is None else self.ids.of_rows(rows)

    def bits_of(self, rows):
        """Packed codes of these rows, shape (n_rows, n_bytes) of uint8."""
        return np.ascontiguousarray(self.words[:, rows].T).view(np.uint8)

    @property
    def codes(self):
        """Codes of all rows as `PackedCodes`, in the order of their indices."""
        return wrap_bytes(self.bits_of(slice(None)), self.n_bits, terms=self.terms)

    def __getstate__(self):
        # Tables take memory, and the index that is loaded can make them again.
        return vars(self) | {"lookup": RadiusLookup()}

    def __str__(self):
        n_bytes_per_item = self.nbytes / self.n_items
        return f"{self.n_items} items, {n_bytes_per_item:.4g} bytes each"


def _as_small_integers(numbers, n_indices):
    """Indices below `n_indices` in 4 bytes each, or in 8 bytes if 4 are too few."""
    return numbers.astype(np.int64 if n_indices >> 31 else np.int32, copy=False)
