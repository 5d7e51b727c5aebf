"""Coordinate descent of binary reconstructive embeddings (Kulis and Darrell, NIPS 2009).

====================  =======================================================
symbol                meaning
====================  =======================================================
B                     codes of -1 and +1, (n, b)
S                     1 - 2 distances to be reconstructed, in [-1, 1], (n, n)
K                     kernel of the samples, (n, n)
W                     weights of the anchors of each bit, (n_anchors, b)
Q                     b S - B B' without the bit at hand: the target of that bit
====================  =======================================================

The squared error of a bit v, given the others, is a constant minus 2 v'Qv: with one weight
on its way from -inf to inf the bits of the samples flip one after another, and the best
stop is found exactly.
"""

import numpy as np


class Reconstruction:
    """Weights of anchors whose signs reconstruct distances best.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        K.

    similarity : ndarray of shape (n, n)
        S; the diagonal does not matter.

    anchors : ndarray of int, shape (n_anchors, n_bits)
        Which samples the anchors of each bit are.

    weights : ndarray of shape (n_anchors, n_bits)
        Where to start; changed in place.
    """

    def __init__(self, kernel, similarity, anchors, weights):
        self.kernel = kernel
        self.similarity = similarity.astype(np.float32)  # half the memory to pass through
        np.fill_diagonal(self.similarity, 0)
        self.anchors = anchors
        self.weights = weights
        self.activations = np.stack(
            [kernel[:, a] @ w for a, w in zip(anchors.T, weights.T)], axis=1
        )
        self.codes = _signs(self.activations)

    def error(self):
        """Mean squared error of the distances of all pairs, which lie in [0, 1]."""
        n, n_bits = self.codes.shape
        residual = (self.similarity - self.codes @ self.codes.T / n_bits) / 2
        np.fill_diagonal(residual, 0)
        return float(np.sum(residual**2)) / (n * (n - 1))

    def descend(self, rng):
        """Set every weight once to its best value; bits and anchors in random order."""
        for bit in rng.permutation(self.codes.shape[1]):
            wanted = self._wanted(bit)
            for place in rng.permutation(len(self.anchors)):
                column = self.kernel[:, self.anchors[place, bit]]
                step = best_step(
                    self.activations[:, bit], column, self.codes[:, bit], wanted
                )
                if step:
                    self.weights[place, bit] += step
                    self.activations[:, bit] += step * column
                    self.codes[:, bit] = _signs(self.activations[:, bit])

    def _wanted(self, bit):
        others = np.delete(self.codes, bit, axis=1)
        wanted = self.codes.shape[1] * self.similarity - others @ others.T
        np.fill_diagonal(wanted, 0)
        return wanted


def best_step(activations, column, code, wanted):
    """Find the step t for which v'Qv is largest, where v = sign(activations + t column)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        flips_at = -activations / column
    moving = np.flatnonzero(np.isfinite(flips_at) & (flips_at != 0))
    agreement = code * (wanted @ code)  # with all others
    best_gain, best = 1e-6 * np.abs(agreement).sum(), 0.0
    for side in (1, -1):
        order = moving[side * flips_at[moving] > 0]
        order = order[np.argsort(side * flips_at[order])]
        if len(order):
            among = np.tril(wanted[np.ix_(order, order)]) @ code[order] * code[order]
            gains = np.cumsum(8.0 * among - 4.0 * agreement[order], dtype=np.float64)
            # Samples that flip at the same step, rounding aside, flip together.
            stops = flips_at[order]
            beyond = np.append(stops[1:], 2 * stops[-1])
            gains[np.isclose(stops, beyond, rtol=1e-9, atol=0)] = -np.inf
            last = np.argmax(gains)
            if gains[last] > best_gain:
                best_gain, best = gains[last], (stops[last] + beyond[last]) / 2
    return best


def _signs(activations):
    return np.where(activations > 0, np.float32(1), np.float32(-1))
