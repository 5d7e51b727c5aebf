"""BREHasher: codes whose distances reconstruct given ones."""

from numbers import Integral

import numpy as np

from .._compat import Interval
from ._coordinate_descent import Reconstruction
from ._sampled_pairs import DiscreteHasher, in_units, linear_function


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
        Mean of the training rows, subtracted from features first.

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

    _parameter_constraints: dict = {
        **DiscreteHasher._parameter_constraints,
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_bits=32,
        *,
        affinity="auto",
        n_anchors=50,
        subsample=1000,
        max_iter=1,
        random_state=None,
    ):
        self.n_bits = n_bits
        self.affinity = affinity
        self.n_anchors = n_anchors
        self.subsample = subsample
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit_pairs(self, X, affinities, rng):
        X, mean, unit = in_units(X)
        n_anchors = min(self.n_anchors, len(X))
        anchors = np.stack(
            [rng.permutation(len(X))[:n_anchors] for _ in range(self.n_bits)], axis=1
        )
        weights = rng.standard_normal((n_anchors, self.n_bits))
        model = Reconstruction(X @ X.T, 2 * affinities - 1, anchors, weights)
        losses = [model.error()]
        for _ in range(self.max_iter):
            model.descend(rng)
            losses.append(model.error())
            if losses[-1] == losses[-2]:
                break
        coef = np.stack([X[a].T @ w for a, w in zip(anchors.T, weights.T)], axis=1)
        # The error knows signs only. Weighted queries compare activations of all bits.
        magnitudes = np.abs(model.activations).mean(axis=0)
        coef /= np.where(magnitudes > 0, magnitudes, 1)
        history = {"loss_curve_": losses, "n_iter_": len(losses) - 1}
        return linear_function(coef, 0.0, mean, unit) | history
