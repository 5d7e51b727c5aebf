"""BREHasher: codes whose distances reconstruct given ones.

Coordinate descent of binary reconstructive embeddings (Kulis and Darrell, NIPS 2009).

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

from numbers import Integral

import numpy as np

from .._compat import Interval
from .._parameters import KW_ONLY, parameters
from .._types import Count
from ._sampled_pairs import DiscreteHasher, in_units, linear_function, signs


@parameters
class BREHasher(DiscreteHasher):
    r"""Binary reconstructive embeddings: weights of anchors, one after another.

    Kulis and Darrell, "Learning to Hash with Binary Reconstructive Embeddings", NIPS 2009.
    A bit is the sign of a weighted sum of kernels with a few anchors, drawn from the
    samples. Weights minimize the squared error of normalized Hamming distances,

    .. math:: \sum_{ij} \left( d_{ij} - \tfrac{1}{b} d_H(i, j) \right)^2,

    by coordinate descent: each weight in turn is set to its best value, which is found
    exactly (eq. 2 and section 3 there). In supervised form d is 0 for pairs of the highest
    affinity and 1 for those of none.

    What differs from the original: the kernel is linear on centered features, so that the
    hash function is linear, as for the other hashers; the error is that of all pairs of the
    samples drawn; grades between are 1 minus affinity by its highest value.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` goes by the form of `y`: labels of shape
        (n_samples,): :class:`~sklearn_talr.affinity.LabelAffinity`; label indicators:
        :class:`~sklearn_talr.affinity.SharedLabelAffinity`; a
        :class:`~sklearn_talr.affinity.PrecomputedAffinity` or a square matrix: itself;
        None: :class:`~sklearn_talr.affinity.ThresholdAffinity` on the features.

    n_anchors : int, default=50
        Anchors of each bit, at least 1.

    subsample : int or None, default=1000
        Samples to fit at most, at least 2, drawn at random; None for all. Time grows with
        their square.

    max_iter : int, default=1
        Number of passes over all weights; fewer if one changes nothing.

    verbose : bool, default=False
        Print the number of each bit that is set.

    random_state : int, RandomState instance or None, default=None
        Draws samples, anchors, first weights and the order of steps. Global generators
        are never touched; None draws a fresh seed.

    Attributes
    ----------
    coefs_ : list of one ndarray of shape (n_features, n_bits)
        Weighted sums of the anchors, scaled so that the activations of every bit have the
        same mean magnitude on the samples drawn.

    intercepts_ : list of one ndarray of shape (n_bits,)
        Zeros.

    means_ : list of one ndarray of shape (n_features,)
        Mean of the training rows, but for few far from all others, subtracted first.

    affinity_ : affinity oracle
        The fitted oracle.

    loss_curve_ : list of float
        Mean squared error at the start and after each pass, never rising.

    n_iter_ : int
        Number of passes.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    sklearn_talr.losses.DSHLoss : Draws distances to 0 or to the code length by gradients.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.baselines import BREHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = BREHasher(8, n_anchors=10, subsample=200, random_state=0).fit(X, y)
    >>> hasher.loss_curve_[-1] < hasher.loss_curve_[0]
    True
    """

    _parameter_constraints = {
        **DiscreteHasher._parameter_constraints,
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    _: KW_ONLY
    n_anchors: int = 50
    subsample: Count = 1000
    max_iter: int = 1

    def _fit_pairs(self, X, affinities, rng, start):
        X, mean, unit = in_units(X)
        n_anchors = min(self.n_anchors, len(X))
        anchors = [rng.permutation(len(X))[:n_anchors] for _ in range(self.n_bits)]
        anchors = np.stack(anchors, axis=1)
        weights = rng.standard_normal((n_anchors, self.n_bits))
        model = Reconstruction(X @ X.T, 2 * affinities - 1, anchors, weights)
        losses = [model.error()]

        def found():
            coef = np.stack([X[a].T @ w for a, w in zip(anchors.T, weights.T)], axis=1)
            # The error knows signs only. Weighted queries compare activations of all bits.
            magnitudes = np.abs(model.activations).mean(axis=0)
            coef /= np.where(magnitudes > 0, magnitudes, 1)
            history = {"loss_curve_": [*losses], "n_iter_": len(losses) - 1}
            return linear_function(coef, 0.0, mean, unit) | history

        with start(self.max_iter * self.n_bits, "bit", found) as progress:
            for _ in range(self.max_iter):
                model.descend(progress.over(rng.permutation(self.n_bits)), rng)
                losses.append(model.error())
                if progress.is_over or losses[-1] == losses[-2]:
                    break
        return progress.finish()


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
        activations = [kernel[:, a] @ w for a, w in zip(anchors.T, weights.T)]
        self.activations = np.stack(activations, axis=1)
        self.codes = signs(self.activations)

    def error(self):
        """Mean squared error of the distances of all pairs, which lie in [0, 1]."""
        n, n_bits = self.codes.shape
        residual = (self.similarity - self.codes @ self.codes.T / n_bits) / 2
        np.fill_diagonal(residual, 0)
        return float(np.sum(residual**2)) / (n * (n - 1))

    def descend(self, bits, rng):
        """Set every weight of some bits to its best value; anchors in random order."""
        for bit in bits:
            wanted = self._wanted(bit)
            for place in rng.permutation(len(self.anchors)):
                column = self.kernel[:, self.anchors[place, bit]]
                now = self.activations[:, bit], column, self.codes[:, bit]
                step = best_step(*now, wanted)
                if step:
                    self.weights[place, bit] += step
                    self.activations[:, bit] += step * column
                    self.codes[:, bit] = signs(self.activations[:, bit])

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
