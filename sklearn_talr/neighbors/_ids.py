"""Names by which items are known outside: strings, or integers of 64 bits."""

from typing import NamedTuple

import numpy as np

from .._arrays import check_ids

_CODEC = "utf-8", "surrogatepass"


class Ids(NamedTuple):
    """The id of each row, and what finds the row of an id.

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
