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

from functools import partial
from numbers import Integral

import numpy as np

from .._core.compat import Interval
from .._core.parameters import KW_ONLY, parameters
from .._core.types import Count
from ._sampled_pairs import DiscreteHasher, ScaledRows, signs


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
        scaled = ScaledRows.from_rows(X)
        kernel = scaled.rows @ scaled.rows.T
        n_anchors = min(self.n_anchors, len(kernel))
        anchors = [rng.permutation(len(kernel))[:n_anchors] for _ in range(self.n_bits)]
        anchors = np.stack(anchors, axis=1)
        weights = rng.standard_normal((n_anchors, self.n_bits))
        model = Reconstruction(kernel, 2 * affinities - 1, anchors, weights)
        losses = [model.error()]
        fitted_so_far = partial(_fitted_attributes, scaled, model, losses)
        with start(self.max_iter * self.n_bits, "bit", fitted_so_far) as progress:
            for _ in range(self.max_iter):
                model.descend(progress.over(rng.permutation(self.n_bits)), rng)
                losses.append(model.error())
                if progress.is_over or losses[-1] == losses[-2]:
                    break
        return progress.finish()


def _fitted_attributes(scaled, model, losses):
    """Fitted attributes, after as many passes as there are losses behind the first."""
    function = scaled.linear_function(model.normalized_coef(scaled.rows), 0.0)
    return function | {"loss_curve_": [*losses], "n_iter_": len(losses) - 1}


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
        # Every step passes through all pairs, which are half as much memory in float32.
        self.similarity = similarity.astype(np.float32)
        np.fill_diagonal(self.similarity, 0)
        self.anchors = anchors
        self.weights = weights
        activations = [
            kernel[:, bit_anchors] @ bit_weights
            for bit_anchors, bit_weights in zip(anchors.T, weights.T)
        ]
        self.activations = np.stack(activations, axis=1)
        self.codes = signs(self.activations)

    def normalized_coef(self, X):
        """Weights of the features of these samples, for activations of one magnitude.

        The error knows signs only, but weighted queries compare activations of all bits.
        """
        coef = [
            X[bit_anchors].T @ bit_weights
            for bit_anchors, bit_weights in zip(self.anchors.T, self.weights.T)
        ]
        magnitudes = np.abs(self.activations).mean(axis=0)
        return np.stack(coef, axis=1) / np.where(magnitudes > 0, magnitudes, 1)

    def error(self):
        """Mean squared error of the distances of all pairs, which lie in [0, 1]."""
        n, n_bits = self.codes.shape
        agreement = self.codes @ self.codes.T / n_bits
        residual = (self.similarity - agreement) / 2
        np.fill_diagonal(residual, 0)
        return float(np.sum(residual**2)) / (n * (n - 1))

    def descend(self, bits, rng):
        """Set every weight of some bits to its best value; anchors in random order."""
        for bit in bits:
            target = self.target_of(bit)
            activations = self.activations[:, bit]
            code = self.codes[:, bit]
            for place in rng.permutation(len(self.anchors)):
                column = self.kernel[:, self.anchors[place, bit]]
                step = best_step(activations, column, code, target)
                if step:
                    self.weights[place, bit] += step
                    activations += step * column
                    code[:] = signs(activations)

    def target_of(self, bit):
        """Q of a bit."""
        n_bits = self.codes.shape[1]
        other_codes = np.delete(self.codes, bit, axis=1)
        target = n_bits * self.similarity - other_codes @ other_codes.T
        np.fill_diagonal(target, 0)
        return target


def best_step(activations, column, code, target):
    """Find the step t for which v'Qv is largest, where v = sign(activations + t column).

    Parameters
    ----------
    activations, column : ndarrays of shape (n,)
        Activations of the bit, and kernels with the anchor whose weight moves.

    code : ndarray of shape (n,)
        The bit, v at t = 0.

    target : ndarray of shape (n, n)
        Q.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        flips_at = -activations / column
    moving = np.flatnonzero(np.isfinite(flips_at) & (flips_at != 0))
    # The agreement of each sample with all others
    agreement = code * (target @ code)
    best_gain = 1e-6 * np.abs(agreement).sum()
    best_t = 0.0
    for side in (1, -1):
        order = moving[side * flips_at[moving] > 0]
        order = order[np.argsort(side * flips_at[order])]
        if not len(order):
            continue
        # Samples that flip at the same step, rounding aside, flip together.
        stops = flips_at[order]
        next_stops = np.append(stops[1:], 2 * stops[-1])
        flips_with_next = np.isclose(stops, next_stops, rtol=1e-9, atol=0)
        pairs = target[np.ix_(order, order)]
        gains = _gains_of_flips(pairs, code[order], agreement[order])
        gains[flips_with_next] = -np.inf
        last = np.argmax(gains)
        if gains[last] > best_gain:
            best_gain = gains[last]
            best_t = (stops[last] + next_stops[last]) / 2
    return best_t


def _gains_of_flips(target, code, agreement):
    """By how much v'Qv rises if the first samples flip, for each number of them."""
    among_flipped = np.tril(target) @ code * code
    return np.cumsum(8.0 * among_flipped - 4.0 * agreement, dtype=np.float64)
