"""What is searched: the codes of the items, and all else that a fitted estimator knows."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.validation import read_ids
from ..affinity import resolve_affinity
from ..codes import CodeTerms
from ..codes._packed import wrap_bytes
from ..codes._scores import columns_of, fixed, word_size
from ._filters import read_items, refuse_numbers_of_all_items
from ._ids import Ids
from ._read import Columns

_LEAST_ITEMS = 2**18  # from which on lookup pays
_LEAST_QUERIES = 100  # within a radius that have been asked, before tables are made
_CODES_PER_LOOK = 64  # that are scanned while one code is looked up


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
                    f"y numbers the items otherwise than the index, where they are "
                    f"{n_before}, {n_before + 1}, ... in their order. Pass y=None, or "
                    "judgments with a row for each item."
                )
            values = numbers
        return cls(affinity, values)

    def append(self, y, n_new):
        """Targets of old and new items: both have some, or neither, or all are numbered."""
        is_numbered = self.affinity is not None and self.affinity.by_number
        if (y is None) != (self.values is None) and not is_numbered:
            known = "without y" if self.values is None else "with y"
            remedy = "y=None" if self.values is None else "y, targets of the new items"
            raise ValueError(
                f"The first items were added {known}, so must the others be. Pass "
                f"{remedy}, or call fit with all items."
            )
        if self.affinity is None:
            return self
        _, new = Targets.of(self.affinity, y, n_new, self.values.shape[0])
        if self.affinity.comes_with_targets:
            raise ValueError(
                "y is a PrecomputedAffinity, to which nothing can be added. Call fit with "
                "all codes and the whole matrix."
            )
        return self._replace(values=_concatenate(self.values, new))

    def ballots(self, indices):
        """What the items of these indices vote for.

        Parameters
        ----------
        indices : ndarray of shape (n_items,)
            Indices of the rows.

        Returns
        -------
        ballots : Ballots
            Of the rows.

        Raises
        ------
        ValueError
            If targets name no classes, or no item has one.
        """
        found = None if self.affinity is None else self.affinity.memberships(self.values)
        if found is None:
            given = "none" if self.affinity is None else type(self.affinity.given).__name__
            raise ValueError(
                f"predict needs y of labels or label indicators in fit, got {given}. Pass "
                "what neighbors are to vote for: fit(X, y)."
            )
        classes, memberships = found
        by_row, voters = memberships.astype(np.int64)[indices], None
        if classes is not None and by_row.nnz < by_row.shape[0]:
            voters = np.flatnonzero(np.diff(by_row.indptr))
            if not len(voters):
                raise ValueError(
                    "predict needs items that count, and all that are in the database have "
                    "the label that the affinity ignores. Add items with other labels."
                )
        return Ballots(classes, by_row, voters)


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
        any case if items carry several labels. None: all do.
    """

    classes: np.ndarray | None
    memberships: sp.csr_array
    voters: np.ndarray | None

    def count(self, blocks, n_places):
        """Let the nearest items decide, those that are tied for the last places fairly.

        When the last of k places falls into a tie, each of the tied items has the same
        share of the places that are left: with t items nearer and n items tied, (k - t) / n
        of a vote. Votes are counted in units of 1 / n, so they are integers, and equal
        votes are equal.

        Parameters
        ----------
        blocks : iterable of Answers
            What is nearest to blocks of queries, in whole ties.

        n_places : int
            Number of neighbors that vote.

        Returns
        -------
        elected : ndarray of shape (n_queries,) or (n_queries, n_labels)
            The class with most votes, the first of several. If items carry several labels:
            1 for each label that more than half of the places vote for, else 0.
        """
        elected = []
        for counts, rows, distances in blocks:
            query = np.repeat(np.arange(len(counts)), counts)
            is_last = distances == distances[np.cumsum(counts) - 1][query]
            tied = np.bincount(query[is_last], minlength=len(counts))
            weights = np.where(is_last, (n_places - counts + tied)[query], tied[query])
            shape = len(counts), self.memberships.shape[0]
            votes = sp.csr_array((weights, (query, rows)), shape=shape) @ self.memberships
            votes = votes.toarray()
            if self.classes is None:
                elected.append((2 * votes > n_places * tied[:, None]).astype(np.int64))
            else:
                elected.append(self.classes[votes.argmax(axis=1)])
        return np.concatenate(elected)


NO_TARGETS = Targets()


@dataclass(frozen=True, eq=False)
class Index:
    """Codes, items and targets, never changed but replaced as a whole.

    A call takes this object once. So codes, targets and hasher fit together although
    another thread adds or removes items meanwhile. Items are known by two numbers: its
    *row* is the place of an item among the codes that are there, its *index* the place
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
        Indices given so far; those of removed items are not given again.

    numbers : ndarray of shape (n_items,) or None
        Index of each row, ascending; None while nothing has been removed.

    targets : Targets
        Targets of all items given so far, if any.

    ids : Ids or None
        Ids of the rows, if the items have any.

    hasher : FittedHasher or None
        The hasher of HashedNeighbors.

    features : StackedRows or None
        Features of all items given so far, where candidates are rescored.

    lookup : dict
        How many queries within a radius have been "asked", and "buckets" that they led to.
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
    lookup: dict = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, packed, columns, affinity, y, **more):
        """The index of the first items."""
        targets = Targets.of(affinity, y, len(packed))
        words = columns_of(packed.data)
        return cls(words, packed.terms, columns, len(packed), targets=targets, **more)

    def add(self, packed, y, ids, X):
        """The index with more items, which must have terms and ids if the others do.

        Features X are kept where those of the others are.
        """
        have, given = self.terms.n_terms, packed.terms.n_terms
        if have != given:
            raise ValueError(
                f"X has {given} terms per code and the codes of the database have {have}. "
                "Add codes that `encode` of the same hasher returns."
            )
        if (ids is None) != (self.ids is None):
            known = "without ids" if self.ids is None else "with ids"
            remedy = "ids=None" if self.ids is None else "ids of the new items"
            raise ValueError(
                f"The first items were added {known}, so must the others be. Pass "
                f"{remedy}, or call fit with all items."
            )
        if ids is not None:
            ids = read_ids(ids, len(packed))
            self._refuse_other_type(ids, "ids")
        n_indices, numbers = self.n_indices + len(packed), self.numbers
        if numbers is not None:
            numbers = np.concatenate((numbers, np.arange(self.n_indices, n_indices)))
        return replace(
            self,
            words=fixed(np.hstack((self.words, columns_of(packed.data)))),
            terms=CodeTerms.join([self.terms, packed.terms]),
            n_indices=n_indices,
            numbers=None if numbers is None else _small(numbers, n_indices),
            targets=self.targets.append(y, len(packed)),
            ids=None if ids is None else self.ids.add(ids),
            features=None if self.features is None else self.features.append(X),
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
            numbers=_small(self.indices[stays], self.n_indices),
            ids=None if self.ids is None else self.ids.keep(stays),
        )

    def rows_of(self, items, name):
        """Rows of items, in their order; errors call the items `name`.

        Parameters
        ----------
        items : list of str, or ndarray of shape (n_items,) of int64
            Ids where the items have some, else indices, as `read_ids` returns them.

        name : str
            Name of the argument.

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
            first = np.array(list(unknown)[:5]).tolist()
            known = "indices_" if self.ids is None else "ids_"
            raise ValueError(
                f"{name} contains {first}, which are not in the database; of {len(items)} "
                f"items {missing.size} are not. Pass what is in `{known}`. A mask of "
                "`include` or `exclude` may name removed items, too."
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
        rows = indices
        if self.numbers is not None:
            rows = np.minimum(np.searchsorted(self.numbers, indices), self.n_items - 1)
            is_here &= self.numbers[rows] == indices
        return np.where(is_here, rows, -1)

    def _refuse_other_type(self, ids, name):
        """Raise ValueError if ids are not of the type of those of the items."""
        noun = "strings" if isinstance(ids, list) else "integers"
        if not len(ids) or noun == self.ids.noun:
            return
        first = np.array(ids[:1]).tolist()[0]
        of_item = self.ids.of_rows(np.zeros(1, dtype=np.int64)).item()
        maker = "int" if self.ids.noun == "integers" else "str"
        raise ValueError(
            f"{name} holds {noun}, such as {first!r}, and the ids of the database are "
            f"{self.ids.noun}, such as {of_item!r}: none can be equal. Make them of one "
            f"type, as by [{maker}(i) for i in {name}]."
        )

    def buckets_within(self, radius, n_queries):
        """Buckets that hold what is within a radius, or None where a scan takes less time.

        They are made once as many queries have been asked as take that long.
        """
        n_tables = radius + 1
        width = min(self.n_bits // n_tables, self.n_items.bit_length() - 1)
        is_sized = _LEAST_ITEMS <= self.n_items < 2**31
        if not is_sized or n_tables * _CODES_PER_LOOK > 2**width:
            return None
        asked = self.lookup["asked"] = self.lookup.get("asked", 0) + n_queries
        buckets = self.lookup.get("buckets")
        if buckets is None or len(buckets.firsts) < n_tables:
            if asked < _LEAST_QUERIES:
                return None
            from .._loops._buckets import Buckets

            buckets = Buckets.from_codes(
                self.words, n_bits=self.n_bits, n_tables=n_tables, width=width
            )
            self.lookup["buckets"] = buckets
        pays = buckets.n_candidates * _CODES_PER_LOOK <= self.n_items
        return buckets if pays else None

    def __getstate__(self):
        return vars(self) | {"lookup": {}}

    @property
    def n_bits(self):
        """Length of a code."""
        return self.columns.n_bits

    def has_distances(self, weights):
        """Whether queries of weights have distances to the codes, and not scores alone."""
        is_plain = self.terms.n_terms == 0
        return is_plain and word_size(self.n_bits, weights.shape[1]) == 1

    @property
    def n_items(self):
        """Number of items."""
        return self.words.shape[1]

    @property
    def nbytes(self):
        """Bytes of all that is kept for the items, without targets and features."""
        kept = self.words, self.terms, self.numbers, self.ids, self.lookup.get("buckets")
        return sum(each.nbytes for each in kept if each is not None)

    @property
    def indices(self):
        """Indices of the items, ascending."""
        numbers = np.arange(self.n_items) if self.numbers is None else self.numbers
        return numbers.astype(np.int64, copy=False)

    def indices_of(self, rows):
        """Indices of rows."""
        return rows if self.numbers is None else self.numbers[rows].astype(np.int64)

    def named(self, rows):
        """Ids of rows; their indices where items have no ids."""
        return self.indices_of(rows) if self.ids is None else self.ids.of_rows(rows)

    def bits_of(self, rows):
        """Packed bytes of the codes of rows."""
        return np.ascontiguousarray(self.words[:, rows].T).view(np.uint8)

    @property
    def codes(self):
        """Packed codes of the items, in the order of their indices."""
        octets = self.bits_of(slice(None))
        return wrap_bytes(octets, self.columns.n_bits, terms=self.terms)

    def __str__(self):
        each = self.nbytes / self.n_items
        return f"{self.n_items} items, {each:.4g} bytes each"


def _small(numbers, n_indices):
    return numbers.astype(np.int64 if n_indices >> 31 else np.int32, copy=False)


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
