"""Ids of items: integers, or texts that lie side by side in one buffer."""

from typing import NamedTuple

import numpy as np

from .._core.validation import read_ids
from ..codes._scores import fixed

_CODEC = "utf-8", "surrogatepass"

# Slots of a new hash table. A lookup then compares two texts in the mean.
_SLOTS_PER_TEXT = 1.5

# With fewer slots lookups get slow, and the table is made anew.
_MIN_SLOTS_PER_TEXT = 1.25


class IntegerIds(NamedTuple):
    """Ids that are integers, and their order, in which their rows are found.

    Parameters
    ----------
    values : ndarray of shape (n_items,), dtype int64
        Id of each row.

    order : ndarray of shape (n_items,), dtype int64
        Rows in the ascending order of their ids.
    """

    values: np.ndarray = np.empty(0, np.int64)
    order: np.ndarray = np.empty(0, np.int64)

    noun = "integers"

    def __len__(self):
        return len(self.values)

    def add(self, ids):
        """These ids and the ids of more items."""
        n_old = len(self.values)
        ids = np.asarray(ids, dtype=np.int64)
        values = np.concatenate((self.values, ids))
        new_order = np.argsort(ids, kind="stable")
        places = np.searchsorted(self.values, ids[new_order], sorter=self.order)
        order = np.insert(self.order, places, n_old + new_order)
        is_again = values[order[1:]] == values[order[:-1]]
        if is_again.any():
            row = np.maximum(order[1:], order[:-1])[is_again].min()
            _refuse_repeat(values[row].item())
        return IntegerIds(values, order)

    def keep(self, stays):
        """The ids of the rows of a mask, for an index of these rows alone."""
        rows = np.cumsum(stays) - 1
        return IntegerIds(self.values[stays], rows[self.order[stays[self.order]]])

    def find(self, ids):
        """Row of each id, -1 if no item has it."""
        ids = np.asarray(ids, dtype=np.int64)
        ascending = np.argsort(ids, kind="stable")  # Sorted ids are found faster.
        places = np.searchsorted(self.values, ids[ascending], sorter=self.order)
        rows = np.empty(len(ids), dtype=np.int64)
        rows[ascending] = self.order[np.minimum(places, len(self.order) - 1)]
        return np.where(self.values[rows] == ids, rows, -1)

    def of_rows(self, rows):
        """Ids of rows, as an array of the shape of `rows`."""
        return self.values[rows]

    def is_sound(self, n_items):
        """Whether arrays of files are ids. A wrong order finds too few, never wrong ids."""
        return (
            self.values.shape == self.order.shape == (n_items,)
            and self.values.dtype == self.order.dtype == np.int64
            and 0 <= self.order.min() <= self.order.max() < n_items
        )

    @property
    def nbytes(self):
        """Bytes of memory."""
        return self.values.nbytes + self.order.nbytes


class TextIds(NamedTuple):
    """Ids that are strings, in Arrow's layout, and a hash table that finds their rows.

    Parameters
    ----------
    octets : ndarray of shape (n_octets,), dtype uint8
        The strings in UTF-8, one after the other.

    offsets : ndarray of shape (n_items + 1,), dtype int32 or int64
        Row i has ``octets[offsets[i]:offsets[i + 1]]``. They are int32 below 2 GiB.

    slots : ndarray of shape (n_slots,), dtype int32 or int64
        Rows by the hashes of their ids, -1 if there is none, see `put_texts`.
    """

    octets: np.ndarray = np.empty(0, np.uint8)
    offsets: np.ndarray = np.zeros(1, np.int32)
    slots: np.ndarray = np.empty(0, np.int32)

    noun = "strings"

    def __len__(self):
        return len(self.offsets) - 1

    def add(self, ids):
        """These ids and the ids of more items."""
        octets, ends = _pack(ids)
        offsets = np.concatenate((self.offsets, len(self.octets) + ends[1:]))
        octets = np.concatenate((self.octets, octets))
        return _with_slots(octets, offsets, len(self), self.slots)

    def keep(self, stays):
        """The ids of the rows of a mask, for an index of these rows alone."""
        lengths = np.diff(self.offsets)
        octets = self.octets[np.repeat(stays, lengths)]
        offsets = np.concatenate(([0], np.cumsum(lengths[stays], dtype=np.int64)))
        return _with_slots(octets, offsets, 0, self.slots[:0])

    def find(self, ids):
        """Row of each id, -1 if no item has it."""
        from .._loops._texts import Texts, find_texts

        octets, offsets = _pack(ids)
        sought = Texts(fixed(octets), fixed(offsets))
        texts = Texts(fixed(self.octets), fixed(self.offsets))
        return find_texts(sought, texts, fixed(self.slots))

    def of_rows(self, rows):
        """Ids of rows, as an array of the shape of `rows`. No other id is decoded."""
        starts = self.offsets[:-1][rows]
        ends = self.offsets[1:][rows]
        octets = memoryview(self.octets)
        bounds = zip(starts.ravel().tolist(), ends.ravel().tolist())
        texts = [str(octets[start:end], *_CODEC) for start, end in bounds]
        return np.array(texts, dtype=str).reshape(starts.shape)

    def is_sound(self, n_items):
        """Whether arrays of files are ids. A wrong table finds too few, never wrong ids."""
        integers = np.dtype(np.int32), np.dtype(np.int64)
        return (
            self.offsets.shape == (n_items + 1,)
            and self.octets.dtype == np.uint8
            and self.octets.ndim == self.slots.ndim == 1
            and self.offsets.dtype in integers
            and self.slots.dtype in integers
            and len(self.slots) > 0
            and self.offsets[0] == 0
            and self.offsets[-1] == len(self.octets)
            and not np.any(self.offsets[1:] < self.offsets[:-1])
            and -1 <= self.slots.min() <= self.slots.max() < n_items
        )

    @property
    def nbytes(self):
        """Bytes of memory."""
        return self.octets.nbytes + self.offsets.nbytes + self.slots.nbytes


Ids = IntegerIds | TextIds


def make_ids(ids, n_items):
    """Ids of the first items from the argument `ids`; None if it is None."""
    if ids is None:
        return None
    ids = read_ids(ids, n_items)
    return (TextIds() if isinstance(ids, list) else IntegerIds()).add(ids)


def ids_from_arrays(arrays):
    """Ids from the arrays of files, by name; None if there are no arrays."""
    if not arrays:
        return None
    if arrays.keys() == set(IntegerIds._fields):
        return IntegerIds(**arrays)
    return TextIds(**arrays)


def _pack(texts):
    """Octets of strings, and offsets from the first of them."""
    encoded = [text.encode(*_CODEC) for text in texts]
    octets = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    return octets, np.concatenate(([0], np.cumsum(lengths)))


def _with_slots(octets, offsets, n_before, slots):
    """Ids with a table of all rows; `slots` has the rows before `n_before` already."""
    from .._loops._texts import Texts, put_texts

    n_texts = len(offsets) - 1
    offsets = _narrow(offsets, len(octets))
    if len(slots) < _MIN_SLOTS_PER_TEXT * n_texts:
        n_before = 0
        slots = np.full(int(_SLOTS_PER_TEXT * n_texts) + 1, -1)
    slots = _narrow(slots, n_texts).copy()
    row = put_texts(Texts(fixed(octets), fixed(offsets)), n_before, slots)
    ids = TextIds(octets, offsets, slots)
    if row >= 0:
        _refuse_repeat(ids.of_rows(np.array([row])).item())
    return ids


def _narrow(numbers, most):
    """Integers from 0 to `most` in 4 bytes, or in 8 bytes if 4 are too few."""
    return numbers.astype(np.int64 if most >> 31 else np.int32, copy=False)


def _refuse_repeat(repeated):
    raise ValueError(
        f"ids must differ from each other and from those in the database, and "
        f"{repeated!r} does not. Remove an item before you add another by its id."
    )
