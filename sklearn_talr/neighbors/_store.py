"""What is searched: every distinct code once, with the items that have it.

Learned codes repeat, and many items of one code are found by one comparison. Codes are
sorted, so that equal ones are neighbors; items of one code are sorted by index.
"""

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from ..codes import PackedCodes
from ..codes._door import as_words, terms_of


class CodeStore:
    """Distinct codes and their members. Never changed: `add` and `remove` make new ones.

    Parameters
    ----------
    words : ndarray of shape (n_codes, n_words), unsigned
        Distinct codes as `as_words` lays them out, sorted.

    starts : ndarray of shape (n_codes + 1,) of int64
        Items of code c are ``members[starts[c]:starts[c + 1]]``.

    members : ndarray of shape (n_items,) of int32 or int64
        Indices of the items, ascending within a code.

    n_bits : int
        Length of the codes.

    n_indices : int
        Indices given so far; those of removed items are not given again.

    terms : ndarray of shape (n_codes, 1) or (n_codes, 2), dtype float32, default=None
        Factors, and addends, of the scores of codes. Codes that differ in them only are
        different codes.

    factors : CodeFactors, WordFactors or OneFactors, default=None
        What the factors follow from, if they do.
    """

    def __init__(self, words, starts, members, n_bits, n_indices, terms=None, factors=None):
        # Each word of all codes side by side is what a scan reads.
        self.columns = np.ascontiguousarray(words.T)
        self.words = self.columns.T
        self.starts = starts
        self.members = members
        self.n_bits = n_bits
        self.n_indices = n_indices
        self.terms = terms
        self.factors = factors
        self.all_differ = len(members) == len(words)

    @property
    def distance_type(self):
        """The smallest type that holds every distance: a byte ends at 255."""
        return np.uint8 if self.n_bits < 256 else np.uint16

    @cached_property
    def largest_terms(self):
        """The largest magnitudes of a factor and of an addend."""
        if self.terms is None:
            return 1.0, 0.0
        factor, *addend = np.abs(self.terms).max(axis=0).tolist()
        return factor, sum(addend)

    @classmethod
    def from_codes(cls, packed, first_index=0):
        """Store little-endian packed codes; item i gets index ``first_index + i``."""
        words = as_words(packed.data)
        n_indices, factors = first_index + len(words), packed._factors
        own = packed._own  # what tells equal codes apart
        order = _sorting_order(words, own)
        words, own = words[order], _rows_or_none(own, order)
        starts = _group_starts(words, own)
        members = (order + first_index).astype(np.int64 if n_indices >> 31 else np.int32)
        words, own = words[starts[:-1]], _rows_or_none(own, starts[:-1])
        terms = terms_of(factors, bytes_of(words, packed.n_bits), own)
        return cls(words, starts, members, packed.n_bits, n_indices, terms, factors)

    def __getstate__(self):
        state = self.__dict__ | {"words": None}
        state.pop("code_of_index", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.words = self.columns.T

    def __len__(self):
        return len(self.words)

    @property
    def nbytes(self):
        """Bytes of all that is kept for the items."""
        kept = self.columns, self.starts, self.members, self.terms
        return sum(array.nbytes for array in kept if array is not None)

    @property
    def n_items(self):
        return len(self.members)

    def sizes(self, codes=slice(None)):
        """Number of items of codes, by their numbers."""
        return self.starts[1:][codes] - self.starts[:-1][codes]

    def items_of(self, codes, sizes=None):
        """Indices of items, code by code: the first `sizes` of each; None means 1."""
        if sizes is None:
            return self.members[self.starts[codes]]
        return self.members[ranges(self.starts[codes], sizes)]

    def add(self, packed):
        """A store with more items, which get the next indices."""
        new = CodeStore.from_codes(packed, first_index=self.n_indices)
        words = np.concatenate((self.words, new.words))
        terms = None if self.terms is None else np.concatenate((self.terms, new.terms))
        factors = None
        if self.factors is not None and self.factors.same_as(new.factors):
            factors = self.factors
        order = _sorting_order(words, _own(terms, factors))
        starts = np.concatenate((self.starts[:-1], self.n_items + new.starts[:-1]))
        sizes = np.concatenate((self.sizes(), new.sizes()))[order]
        members = np.concatenate((self.members, new.members))
        members = members[ranges(starts[order], sizes)]
        words, terms = words[order], _rows_or_none(terms, order)
        groups = _group_starts(words, _own(terms, factors))
        ends = np.concatenate(([0], np.cumsum(sizes)))
        return CodeStore(
            words[groups[:-1]],
            ends[groups],
            members,
            self.n_bits,
            new.n_indices,
            _rows_or_none(terms, groups[:-1]),
            factors,
        )

    def remove(self, indices):
        """A store without these items; indices of the others stay what they are."""
        stays = np.ones(self.n_indices, dtype=bool)
        stays[indices] = False
        return self.only(stays)

    def only(self, mask):
        """A store of the items in a mask of all indices, which they keep."""
        kept = mask[self.members]
        ends = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        left = np.flatnonzero(np.diff(ends))
        starts = np.concatenate((ends[left], ends[-1:]))
        return self._with(left, starts, self.members[kept])

    @cached_property
    def code_of_index(self):
        """Number of the code of each index given so far, -1 for removed items."""
        codes = np.full(self.n_indices, -1, dtype=self.members.dtype)
        codes[self.members] = np.repeat(np.arange(len(self)), self.sizes())
        return codes

    def contains(self, indices):
        """Whether indices are those of items in the store."""
        within = (indices >= 0) & (indices < self.n_indices)
        if self.n_items == self.n_indices:
            return within
        return within & (self.code_of_index[np.where(within, indices, 0)] >= 0)

    def items(self):
        """Indices of all items, ascending, and the number of the code of each."""
        indices = np.flatnonzero(self.code_of_index >= 0)
        return indices, self.code_of_index[indices]

    def spread(self, indices):
        """A store that has a code for each of the indices, which may come repeatedly."""
        codes = self.code_of_index[indices]
        return self._with(codes, np.arange(len(indices) + 1), indices)

    def _with(self, codes, starts, members):
        """A store of some of the codes with other members."""
        words, terms = self.words[codes], _rows_or_none(self.terms, codes)
        rest = self.n_bits, self.n_indices, terms, self.factors
        return CodeStore(words, starts, members, *rest)

    def packed(self, codes):
        """Packed codes by their numbers."""
        own = _rows_or_none(_own(self.terms, self.factors), codes)
        data = bytes_of(self.words[codes], self.n_bits)
        return PackedCodes._of(data, self.n_bits, "little", own, self.factors)

    def distances(self, queries, query, code):
        """Hamming distances of pairs of a query and a code, in the smallest type."""
        distances = np.zeros(len(query), dtype=self.distance_type)
        for query_word, codes in zip(queries.T, self.columns):
            distances += np.bitwise_count(query_word[query] ^ codes[code])
        return distances

    def members_as_matrix(self):
        """Ones where an item (column, its index) has a code (row)."""
        ones = np.ones(self.n_items, dtype=np.int64)
        shape = len(self), self.n_indices
        return csr_array((ones, self.members, self.starts), shape=shape)


def ranges(starts, sizes):
    """Concatenate ``arange(start, start + size)`` for all of them."""
    ends = np.cumsum(sizes)
    if not len(ends):
        return np.zeros(0, dtype=np.int64)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - sizes), sizes)


def bytes_of(words, n_bits):
    """Packed bytes of codes of so many bits."""
    return np.ascontiguousarray(words).view(np.uint8)[:, : -(-n_bits // 8)]


def _own(terms, factors):
    """Terms without the factors, if these follow from the codes."""
    if terms is None or factors is None:
        return terms
    return terms[:, 1:] if terms.shape[1] > 1 else None


def _rows_or_none(terms, rows):
    return None if terms is None else terms[rows]


def _sorting_order(words, terms):
    """Stable order by code: what is in order already is merged, not sorted."""
    if terms is not None:
        return np.lexsort((*terms.T, *words.T))
    if words.shape[1] == 1:
        return np.argsort(words[:, 0], kind="stable")
    return np.lexsort(words.T)


def _group_starts(words, terms):
    """Where each run of equal rows starts, and the end of the last."""
    changes = np.any(words[1:] != words[:-1], axis=1)
    if terms is not None:
        changes |= np.any(terms[1:] != terms[:-1], axis=1)
    return np.concatenate(([0], np.flatnonzero(changes) + 1, [len(words)]))
