"""Compiled lookup of texts: a hash table of the rows of texts that lie in one buffer.

Texts lie side by side, as Arrow keeps them: text i has
``octets[offsets[i]:offsets[i + 1]]``. A *slot* of the table has the row of a text, or -1. A
text lies in the slot that its hash names, or in the next free one after it (linear
probing).
"""

import numpy as np

from ._compile import compiled


@compiled
def _first_slot(octets, start, end, n_slots):
    """The slot that the hash of a text names: FNV-1a, whose bits are then mixed."""
    value = np.uint64(14695981039346656037)
    for place in range(start, end):
        value = (value ^ np.uint64(octets[place])) * np.uint64(1099511628211)
    # The last bytes of a text have hardly reached the upper half, which names the slot.
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64(((value >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32))


@compiled
def _are_equal(octets, start, end, others, other_start, other_end):
    if end - start != other_end - other_start:
        return False
    for place in range(end - start):
        if octets[start + place] != others[other_start + place]:
            return False
    return True


@compiled
def _slot_of(sought, start, end, octets, offsets, slots):
    """The slot of a text, or the one where it would be put; -1 if all others are taken."""
    slot = _first_slot(sought, start, end, len(slots))
    for _ in range(len(slots)):
        row = slots[slot]
        if row < 0 or _are_equal(
            sought, start, end, octets, offsets[row], offsets[row + 1]
        ):
            return slot
        slot += 1
        if slot == len(slots):
            slot = 0
    return -1


@compiled
def put_texts(octets, offsets, first, slots):
    """Write the rows of texts to a table, from row `first` on.

    Parameters
    ----------
    octets : array of shape (n_octets,), dtype uint8

    offsets : array of shape (n_texts + 1,) of int

    first : int
        Rows before it are in the table already.

    slots : array of shape (n_slots,) of int
        Is written to. There are more slots than texts.

    Returns
    -------
    row : int
        First row whose text is in the table already, at which the loop ends; -1 if none is.
    """
    for row in range(first, len(offsets) - 1):
        slot = _slot_of(octets, offsets[row], offsets[row + 1], octets, offsets, slots)
        if slots[slot] >= 0:
            return row
        slots[slot] = row
    return -1


@compiled
def find_texts(sought, sought_offsets, octets, offsets, slots):
    """Look texts up.

    Parameters
    ----------
    sought, sought_offsets : arrays
        Texts that are looked up, in the layout of the others.

    octets, offsets, slots : arrays
        Texts and the table of their rows, see `put_texts`.

    Returns
    -------
    rows : array of shape (n_sought,), dtype int64
        The row of each text, -1 if there is none.
    """
    rows = np.empty(len(sought_offsets) - 1, dtype=np.int64)
    for text in range(len(rows)):
        start, end = sought_offsets[text], sought_offsets[text + 1]
        slot = _slot_of(sought, start, end, octets, offsets, slots)
        rows[text] = slots[slot] if slot >= 0 else -1
    return rows
