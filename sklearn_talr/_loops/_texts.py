"""Compiled lookup of texts: a hash table of the rows of texts that lie in one buffer.

Texts lie side by side, as Arrow keeps them: text i has
``octets[offsets[i]:offsets[i + 1]]``. A *slot* of the table has the row of a text, or -1. A
text lies in the slot that its hash names, or in the next free one after it (linear
probing).
"""

from typing import NamedTuple

import numpy as np

from ._compile import compiled


class Texts(NamedTuple):
    """Texts side by side in one buffer."""

    octets: np.ndarray  # (n_octets,), uint8
    offsets: np.ndarray  # (n_texts + 1,), int, first octet of each text


@compiled
def _first_slot(texts, number, n_slots):
    """The slot that the hash of a text names: FNV-1a, whose bits are then mixed."""
    value = np.uint64(14695981039346656037)
    for place in range(texts.offsets[number], texts.offsets[number + 1]):
        value = (value ^ np.uint64(texts.octets[place])) * np.uint64(1099511628211)
    # The last bytes of a text have hardly reached the upper half, which names the slot.
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64(((value >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32))


@compiled
def _are_equal(texts, number, others, other_number):
    """Whether two texts have the same octets."""
    start = texts.offsets[number]
    other_start = others.offsets[other_number]
    length = texts.offsets[number + 1] - start
    if length != others.offsets[other_number + 1] - other_start:
        return False
    for place in range(length):
        if texts.octets[start + place] != others.octets[other_start + place]:
            return False
    return True


@compiled
def _slot_of(sought, number, texts, slots):
    """The slot of a text, or the one where it would be put; -1 if all others are taken."""
    slot = _first_slot(sought, number, len(slots))
    for _ in range(len(slots)):
        row = slots[slot]
        if row < 0 or _are_equal(sought, number, texts, row):
            return slot
        slot += 1
        if slot == len(slots):
            slot = 0
    return -1


@compiled
def put_texts(texts, first, slots):
    """Write the rows of texts to a table, from row `first` on.

    Parameters
    ----------
    texts : Texts

    first : int
        Rows before it are in the table already.

    slots : ndarray of shape (n_slots,) of int
        Is written to. There are more slots than texts.

    Returns
    -------
    row : int
        First row whose text is in the table already, at which the loop ends; -1 if none is.
    """
    for row in range(first, len(texts.offsets) - 1):
        slot = _slot_of(texts, row, texts, slots)
        if slots[slot] >= 0:
            return row
        slots[slot] = row
    return -1


@compiled
def find_texts(sought, texts, slots):
    """Look texts up.

    Parameters
    ----------
    sought : Texts
        Texts that are looked up.

    texts : Texts
        Texts of the table.

    slots : ndarray of shape (n_slots,) of int
        The table of their rows, see `put_texts`.

    Returns
    -------
    rows : ndarray of shape (n_sought,), dtype int64
        The row of each text, -1 if there is none.
    """
    rows = np.empty(len(sought.offsets) - 1, dtype=np.int64)
    for number in range(len(rows)):
        slot = _slot_of(sought, number, texts, slots)
        rows[number] = slots[slot] if slot >= 0 else -1
    return rows
