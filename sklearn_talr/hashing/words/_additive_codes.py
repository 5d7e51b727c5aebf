"""Bits of rows by coordinate descent against a linear decoder.

=========  =========================================================
symbol     meaning
=========  =========================================================
z          a row: centered features, or their direction
b          its signs, -1 or 1, one for each bit
W          decoder, shape (n_bits, n_features); W'b is the decoding
G          Gram matrix W W' of the decoder
c          correlations W z of a row with the bits
=========  =========================================================

The signs of a row minimize ``|z / a - W'b|**2 = a constant - 2 b.c / a + b.G b``. The scale
a is 1, or free: then it follows b, and the decoding only points where the row points. One
bit at a time is set to what is best while the others stay, as in iterated conditional modes
for additive quantization (Babenko and Lempitsky, CVPR 2014; Martinez et al., ECCV 2018).
"""

import numpy as np

_PANEL = 32  # bits that are set in turn before `decoded` is updated for all bits
_LEAST_SCALE, _MOST_SCALE = 0.5, 2.0
_SWEEPS_AFTER_FLIPS = 2
_TINY = np.finfo(np.float32).tiny


def descend(signs, correlations, gram, n_sweeps, flips=(), *, free):
    """Improve signs of rows until no single bit does, or for so many sweeps.

    Parameters
    ----------
    signs : ndarray of shape (n_rows, n_bits), dtype float32
        Signs to start from.

    correlations : ndarray of shape (n_rows, n_bits), dtype float32
        Correlations of the rows with the bits.

    gram : ndarray of shape (n_bits, n_bits), dtype float32
        Gram matrix of the decoder.

    n_sweeps : int
        Most times that every bit is looked at.

    flips : sequence of index arrays, default=()
        Sets of bits. Each set is flipped in all rows, and the rows are improved once more.
        A row keeps the flipped code where that has become the better one.

    free : bool
        Whether the scale is free.

    Returns
    -------
    signs : ndarray of shape (n_rows, n_bits), dtype float32
        The improved signs.
    """
    state = _State.of(signs.T.copy(), correlations.T, gram, free)
    state.improve(n_sweeps)
    for bits in flips:
        other = state.flipped(bits)
        other.improve(_SWEEPS_AFTER_FLIPS)
        better = other.merits() > state.merits()
        state.take(other, better)
    return np.ascontiguousarray(state.signs.T)


class _State:
    """Signs of rows, one column for each row, and the products that tell a flip's gain."""

    def __init__(self, signs, decoded, correlations, gram, free):
        self.signs = signs
        self.decoded = decoded  # G b of each row
        self.correlations = correlations
        self.gram = gram
        self.free = free

    @classmethod
    def of(cls, signs, correlations, gram, free):
        correlations = np.ascontiguousarray(correlations)
        return cls(signs, gram @ signs, correlations, gram, free)

    def columns(self, chosen):
        """The state of the chosen rows, which are columns of its arrays."""
        arrays = self.signs, self.decoded, self.correlations
        return _State(*(array[:, chosen] for array in arrays), self.gram, self.free)

    def take(self, other, columns):
        """Copy rows from another state, which holds just these rows, or all rows."""
        same_rows = other.signs.shape[1] == self.signs.shape[1]
        taken = other.columns(columns) if same_rows else other
        self.signs[:, columns] = taken.signs
        self.decoded[:, columns] = taken.decoded

    def flipped(self, bits):
        """The state with some bits of all rows flipped."""
        signs, decoded = self.signs.copy(), self.decoded.copy()
        decoded -= 2 * self.gram[:, bits] @ signs[bits]
        signs[bits] *= -1
        return _State(signs, decoded, self.correlations, self.gram, self.free)

    def improve(self, n_sweeps):
        """Sweep over the bits; leave rows alone in which nothing has changed."""
        active, rows = self, np.arange(self.signs.shape[1])
        for _ in range(n_sweeps):
            changed = np.flatnonzero(active._sweep())
            if active is not self:
                self.take(active, rows)
            if not len(changed):
                break
            if len(changed) < len(rows):
                active, rows = active.columns(changed), rows[changed]

    def _sweep(self):
        """Set every bit to its best value in turn; return which rows changed, a mask."""
        changed = np.zeros(self.signs.shape[1], dtype=bool)
        targets = self.correlations / self._scales() if self.free else self.correlations
        for start in range(0, len(self.signs), _PANEL):
            panel = slice(start, start + _PANEL)
            before = self.signs[panel].copy()
            self._set_bits(panel, targets[panel])
            difference = self.signs[panel] - before
            self.decoded += self.gram[:, panel] @ difference
            changed |= difference.any(axis=0)
        return changed

    def _set_bits(self, panel, targets):
        """Set the bits of a panel in turn; `_sweep` updates `decoded` afterwards."""
        signs, gram = self.signs[panel], self.gram[panel, panel]
        gains = targets - self.decoded[panel]
        for bit, row in enumerate(gram):
            best = np.where(gains[bit] + row[bit] * signs[bit] > 0, 1, -1)
            flipped = np.flatnonzero(best != signs[bit])
            if len(flipped):
                gains[:, flipped] += 2 * row[:, None] * signs[bit, flipped]
                signs[bit, flipped] *= -1

    def _scales(self):
        """Multiple of the decoding that is nearest to each row."""
        scales = self._along() / np.maximum(self._squares(), _TINY)
        return np.clip(scales, _LEAST_SCALE, _MOST_SCALE)

    def merits(self):
        """Quality of signs: length of the row along its decoding, or minus the error."""
        if self.free:
            return self._along() / np.sqrt(np.maximum(self._squares(), _TINY))
        return 2 * self._along() - self._squares()

    def _along(self):
        """Inner products of rows and their decodings."""
        return np.einsum("ij,ij->j", self.signs, self.correlations)

    def _squares(self):
        """Squared lengths of the decodings."""
        return np.einsum("ij,ij->j", self.signs, self.decoded)


class Moments:
    """Sums over rows from which the best decoder follows: a ridge regression on signs.

    Parameters
    ----------
    of_signs : ndarray of shape (n_bits, n_bits)
        Sum of b b'.

    with_rows : ndarray of shape (n_bits, n_features)
        Sum of b z'.

    n_rows : int
        Number of rows summed over.
    """

    def __init__(self, of_signs, with_rows, n_rows):
        self.of_signs = of_signs
        self.with_rows = with_rows
        self.n_rows = n_rows

    @classmethod
    def none(cls, n_bits, n_features):
        return cls(np.zeros((n_bits, n_bits)), np.zeros((n_bits, n_features)), 0)

    @classmethod
    def of(cls, signs, rows):
        return cls(signs.T @ signs, signs.T @ rows, len(signs))

    def __add__(self, other):
        return Moments(
            self.of_signs + other.of_signs,
            self.with_rows + other.with_rows,
            self.n_rows + other.n_rows,
        )

    def decoder(self, alpha):
        """Decoder of least squared error plus `alpha` per row times its own square."""
        penalized = self.of_signs + alpha * self.n_rows * np.eye(len(self.of_signs))
        return np.linalg.solve(penalized, self.with_rows).astype(np.float32)
