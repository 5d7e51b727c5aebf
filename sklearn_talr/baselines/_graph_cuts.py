"""Graph cuts that improve one bit of all samples, block by block.

====================  =======================================================
symbol                meaning
====================  =======================================================
v                     the bit at hand, -1 and +1, (n,)
R                     the other bits, (n, any number)
Y                     +1 for similar pairs, -1 for others, (n, n)
t                     what the inner product of similar codes should be
A                     R R' - t Y: a pair that wants equal bits is below 0
p                     pull on the bit from outside, (n,)
====================  =======================================================

For the loss of Liu et al. (CVPR 2012), the sum of (R_i.R_j + v_i v_j - t Y_ij)^2 over pairs
i != j, a bit matters by 2 v'Av only. Lin et al. (CVPR 2014) minimize v'Av - p'v over one
block of samples after the other, all similar to each other. As long as t exceeds the number
of other bits, no pair within a block wants different bits. That is submodular, and a
minimal cut of a graph finds the best bits of the block.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

# The time of a cut of more samples grows faster than what larger blocks gain.
_MAX_SAMPLES_PER_BLOCK = 250


class PairwiseBits:
    """Pairs of samples, and the bits that fit their similarity.

    Samples are rearranged such that those of a block are neighbors.

    Parameters
    ----------
    similar : ndarray of bool, shape (n, n)
        Who is similar to whom, symmetric.

    rng : RandomState
        Draws the blocks and the order in which they are taken.

    Attributes
    ----------
    order : ndarray of int, shape (n,)
        The arrangement of samples; codes are in this order.
    """

    def __init__(self, similar, rng):
        blocks = mutual_blocks(similar, rng)
        self.order = np.concatenate(blocks)
        self._blocks = []
        start = 0
        for block in blocks:
            self._blocks.append(slice(start, start + len(block)))
            start += len(block)
        # Integers of this size are exact in float32, which takes half the memory.
        similar = similar[np.ix_(self.order, self.order)]
        self.signs = np.where(similar, np.float32(1), np.float32(-1))
        self._rng = rng

    def loss(self, codes):
        """Mean of (z_i.z_j / b - Y_ij)^2 over pairs of different samples."""
        n, n_bits = codes.shape
        residual = codes @ codes.T / n_bits - self.signs
        np.fill_diagonal(residual, 0)
        return float(np.sum(residual**2, dtype=np.float64)) / (n * (n - 1))

    def improve(self, bit, other_bits, target, pull=None):
        """Set each block of a bit to the best that it can be, in place.

        Parameters
        ----------
        bit : ndarray of shape (n,)
            v.

        other_bits : ndarray of shape (n, n_others)
            R.

        target : int, above n_others
            t.

        pull : ndarray of shape (n,), optional
            p, integers.
        """
        for place in self._rng.permutation(len(self._blocks)):
            block = self._blocks[place]
            rows = other_bits[block]
            block_bit = bit[block]
            # A of the pairs within the block, and A v of its samples with all others
            inner = rows @ rows.T - target * self.signs[block, block]
            np.fill_diagonal(inner, 0)
            total = rows @ (other_bits.T @ bit) - target * (self.signs[block] @ bit)
            itself = (other_bits.shape[1] - target) * block_bit
            unary = 2 * (total - itself - inner @ block_bit)
            if pull is not None:
                unary -= pull[block]
            cut = best_cut(-inner, unary)
            # The present bits stay if the cut is no better.
            if _energy(cut, inner, unary) < _energy(block_bit, inner, unary):
                block_bit[:] = cut


def mutual_blocks(similar, rng):
    """Part samples into blocks within which all are similar to each other, greedily."""
    free = np.ones(len(similar), dtype=bool)
    blocks = []
    for first in rng.permutation(len(similar)):
        if not free[first]:
            continue
        block = [first]
        free[first] = False
        candidates = free & similar[first]
        while candidates.any() and len(block) < _MAX_SAMPLES_PER_BLOCK:
            sample = np.argmax(candidates)
            block.append(sample)
            free[sample] = False
            candidates[sample] = False
            candidates &= similar[sample]
        blocks.append(np.array(block))
    return blocks


def best_cut(weights, unary):
    """Minimize -w'Ww + u'w over w of -1 and +1, W at least 0: one minimal cut.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        W: symmetric integers, 0 on the diagonal.

    unary : ndarray of shape (n,)
        u, integers.
    """
    n = len(unary)
    # A stronger u decides a bit alone.
    reach = 2 * weights.sum(axis=1)
    if np.all(np.abs(unary) >= reach):
        return np.where(unary < 0, 1, -1)
    # No sum overflows if no u is much stronger.
    unary = np.clip(unary, -reach - 1, reach + 1)
    # The last two nodes are the source, whose side has bits of 1, and the sink.
    source = n
    sink = n + 1
    capacity = np.zeros((n + 2, n + 2), dtype=np.int32)
    capacity[:n, :n] = 2 * weights
    capacity[source, :n] = np.maximum(-unary, 0)
    capacity[:n, sink] = np.maximum(unary, 0)
    capacity = sp.csr_array(capacity)
    residual = capacity - maximum_flow(capacity, source, sink).flow
    residual.eliminate_zeros()
    side = breadth_first_order(residual, source, return_predecessors=False)
    best = np.full(n, -1)
    best[side[side < n]] = 1
    return best


def _energy(bit, inner, unary):
    """What a cut minimizes."""
    return bit @ inner @ bit + unary @ bit
