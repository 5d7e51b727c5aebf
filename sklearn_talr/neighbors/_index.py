"""What is searched: the codes of the items, and all else that a fitted estimator knows."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._arrays import check_ids
from ..affinity import resolve_affinity
from ..codes import PackedCodes
from ..codes._factors import Terms
from ..codes._scores import columns_of, fixed, word_size
from ._read import Columns, is_mask

_CODEC = "utf-8", "surrogatepass"
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
            raise ValueError(f"The first items were added {known}, so must the others be.")
        if self.affinity is None:
            return self
        _, new = Targets.of(self.affinity, y, n_new, self.values.shape[0])
        if self.affinity.comes_with_targets:
            raise ValueError(
                "y is a PrecomputedAffinity, to which nothing can be added. Call fit with "
                "all codes and the whole matrix."
            )
        return self._replace(values=_concatenate(self.values, new))

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
            What `answers` generates, of whole ties.

        n_places : int
            Number of neighbors that vote.

        Returns
        -------
        elected : ndarray of shape (n_queries,) or (n_queries, n_labels)
            The class with most votes, the first of several. Where items carry several
            labels: 1 for each label that more than half of the places vote for, else 0.
        """
        found = None if self.affinity is None else self.affinity.memberships(self.values)
        if found is None:
            given = "none" if self.affinity is None else type(self.affinity.given).__name__
            raise ValueError(
                f"predict needs y of labels or label indicators in fit, got {given}."
            )
        # A 1 for the class of an item, or for each of its labels: then there are no classes
        classes, memberships = found
        by_row, elected = memberships.astype(np.int64)[indices], []
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


class Ids(NamedTuple):
    """The id of each row, a string or an integer of 64 bits, and what finds the row.

    Parameters
    ----------
    values : ndarray of shape (n_items,), dtype int64 or bytes
        Ids of the rows. Strings are in UTF-8, where most take a quarter of NumPy's own
        form.

    order : ndarray of shape (n_items,), dtype int64
        Rows in the ascending order of their ids. NumPy would copy all of another type for
        each id that is looked up.
    """

    values: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, ids, n_items):
        """Ids of the first items; None where none are given."""
        if ids is None:
            return None
        ids = check_ids(ids, n_items)
        return cls(_plain(ids[:0]), np.arange(0)).add(ids)

    def add(self, ids):
        """The ids, and those of more items, which `check_ids` has read."""
        n_old = len(self.values)
        values = np.concatenate((self.values, self._like_these(ids)))
        old, new = np.split(values, [n_old])  # both as wide as the widest
        order = np.argsort(new, kind="stable")
        places = np.searchsorted(old, new[order], sorter=self.order)
        order = np.insert(self.order, places, n_old + order)
        is_again = values[order[1:]] == values[order[:-1]]
        if is_again.any():
            first = np.maximum(order[1:], order[:-1])[is_again].min()
            raise ValueError(
                f"ids must differ from each other and from those in the database, and "
                f"{ids[first - n_old].item()!r} does not. Remove an item before you add "
                "another by its id."
            )
        return Ids(values, order)

    def keep(self, stays):
        """The ids of some of the rows, by a mask, as these are counted then."""
        rows = np.cumsum(stays) - 1
        return Ids(self.values[stays], rows[self.order[stays[self.order]]])

    def find(self, ids):
        """Rows of ids, in no order, and those ids that are of no item."""
        asked = np.sort(self._like_these(check_ids(ids)))  # sorted ones are found sooner
        cut = asked.astype(self.values.dtype)  # else NumPy would widen a copy of all
        places = np.searchsorted(self.values, cut, sorter=self.order)
        rows = self.order[np.minimum(places, len(self.order) - 1)]
        return rows, _as_given(asked[self.values[rows] != asked])

    def of_rows(self, rows):
        """Ids of rows."""
        return _as_given(self.values[rows])

    def is_sound(self, n_items):
        """Whether files may have held it. A wrong order finds no ids, but no wrong ones."""
        values, order = self
        return (
            values.shape == order.shape == (n_items,)
            and (values.dtype == np.int64 or values.dtype.kind == "S")
            and order.dtype == np.int64
            and 0 <= order.min() <= order.max() < n_items
        )

    @property
    def nbytes(self):
        """Bytes of all that is kept."""
        return self.values.nbytes + self.order.nbytes

    def _like_these(self, ids):
        """Ids in the form of the values, whose type they must have."""
        plain = _plain(ids)
        if plain.size and plain.dtype.kind != self.values.dtype.kind:
            raise ValueError(
                "ids must be of the type of those in the database, "
                f"{'integers' if plain.dtype.kind == 'S' else 'strings'}."
            )
        return plain


def _plain(ids):
    """Integers as they are, and strings in UTF-8."""
    return np.char.encode(ids, *_CODEC) if ids.dtype.kind == "U" else ids


def _as_given(plain):
    """Integers as they are, and strings of UTF-8."""
    return np.char.decode(plain, *_CODEC) if plain.dtype.kind == "S" else plain


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

    terms : Terms
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
    terms: Terms
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
        return cls(words, packed._terms, columns, len(packed), targets=targets, **more)

    def add(self, packed, y, ids, X):
        """The index with more items, which must have terms and ids if the others do.

        Features X are kept where those of the others are.
        """
        have, given = self.terms.n_terms, packed._terms.n_terms
        if have != given:
            raise ValueError(
                f"X has {given} terms per code and the codes of the database have {have}. "
                "Add codes that `encode` of the same hasher returns."
            )
        if (ids is None) != (self.ids is None):
            known = "without ids" if self.ids is None else "with ids"
            raise ValueError(f"The first items were added {known}, so must the others be.")
        n_indices, numbers = self.n_indices + len(packed), self.numbers
        if numbers is not None:
            numbers = np.concatenate((numbers, np.arange(self.n_indices, n_indices)))
        return replace(
            self,
            words=fixed(np.hstack((self.words, columns_of(packed.data)))),
            terms=Terms.join([self.terms, packed._terms]),
            n_indices=n_indices,
            numbers=None if numbers is None else _small(numbers, n_indices),
            targets=self.targets.append(y, len(packed)),
            ids=None if ids is None else self.ids.add(check_ids(ids, len(packed))),
            features=None if self.features is None else self.features.append(X),
        )

    def remove(self, indices):
        """The index without the items of these indices or ids."""
        rows = self.rows_of(indices, "indices")
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

    def rows_of(self, indices, name):
        """Rows of items, ascending, each once; errors call what is given `name`.

        Items are given by their ids where they have some, else by their indices.
        """
        given = np.atleast_1d(indices)
        if is_mask(given, self.n_indices):  # which `among` reads before
            raise ValueError(
                f"{name} must be indices or ids, got a mask. Those of a mask are "
                "np.flatnonzero(mask), or ids_[mask]."
            )
        if self.ids is not None:
            known, (rows, missing) = "ids_", self.ids.find(indices)
        else:
            if given.size and isinstance(given.flat[0], str):
                raise ValueError(
                    f"{name} names ids, such as {given.flat[0]}, but the index has none. "
                    "Give it some, as fit(X, ids=ids), or pass indices as in `indices_`."
                )
            if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
                raise ValueError(
                    f"{name} must be integers of one dimension, or for `among` a mask of "
                    f"bool, got {given.dtype} of shape {given.shape}. Pass indices as in "
                    "`indices_`. Those of a mask are np.flatnonzero(mask)."
                )
            known = "indices_"
            rows = given = given.astype(np.int64)
            is_here = (given >= 0) & (given < self.n_indices)
            if self.numbers is not None:
                rows = np.searchsorted(self.numbers, given)
                is_here &= self.numbers[np.minimum(rows, self.n_items - 1)] == given
            missing = given[~is_here]
        if missing.size:
            raise ValueError(
                f"{name} contains {missing[:5].tolist()}, which are not in the database. "
                f"Pass what is in `{known}`. A mask of `among` may name removed items, too."
            )
        return np.unique(rows)

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

            buckets = Buckets.of(self.words, self.n_bits, n_tables, width)
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

    @property
    def codes(self):
        """Packed codes of the items, in the order of their indices."""
        data = np.ascontiguousarray(self.words.T).view(np.uint8)
        return PackedCodes._of(data, self.columns.n_bits, "little", self.terms)

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
