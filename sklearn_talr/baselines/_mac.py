"""MACHasher: codes and hash functions fitted to each other."""

from functools import partial
from itertools import count
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

from .._core.compat import Interval
from .._core.parameters import KW_ONLY, parameters
from ..hashing._linear import PROJECTIONS
from ._graph_cuts import PairwiseBits
from ._sampled_pairs import DiscreteHasher, ScaledRows, signs

# The penalty is multiplied by it after each round.
_PENALTY_GROWTH = 2.0
# One pass over the bits without penalty leaves much to improve.
_FIRST_PASSES = 2


@parameters
class MACHasher(DiscreteHasher):
    r"""Auxiliary coordinates: codes and linear SVMs in turn, until they agree.

    Raziperchikolaei and Carreira-Perpinan, "Optimizing affinity-based binary hashing using
    auxiliary coordinates", NIPS 2016. Codes z of -1 and +1 are variables of their own,
    which a growing penalty draws to the outputs of the hash function h:

    .. math::

        \frac{1}{n^2} \sum_{ij} \left( \tfrac{1}{b} z_i \cdot z_j - y_{ij} \right)^2
        + \frac{\mu}{n b} \sum_i \| z_i - h(x_i) \|^2,

    y being 1 for similar samples and -1 for others. Codes are improved bit by bit, each bit
    by graph cuts over blocks of mutually similar samples, at first without penalty; then
    each bit of h is a linear SVM that learns the bit of z. The penalty is raised in each
    round, until all codes are the outputs of h.

    What differs from the original: of the hash functions of all rounds, that of the
    smallest loss is kept; an SVM is not taken over if it makes more mistakes than the last
    one; all pairs of the samples drawn count; codes start with those of ITQ. Of the
    losses, ways to improve codes and kinds of functions in the paper, one of each is here:
    the loss of KSH, cuts and linear SVMs. Affinities of several levels are similar or not.

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

    C : float, default=1.0
        Inverse strength of the SVMs' regularization, above 0. Features are centered, with a
        mean squared norm of 1.

    first_penalty : float, default=0.1
        Where :math:`\mu` starts, above 0; it doubles from round to round. Beyond 4 it
        outweighs the loss, and training ends.

    subsample : int or None, default=5000
        Samples to fit at most, at least 2, drawn at random; None for all. Memory grows with
        their square.

    verbose : bool, default=False
        Print the loss of each round.

    random_state : int, RandomState instance or None, default=None
        Draws samples, first codes, blocks and the order of steps. Global generators are
        never touched; None draws a fresh seed.

    Attributes
    ----------
    coefs_ : list of one ndarray of shape (n_features, n_bits)
        Weights of the SVMs.

    intercepts_ : list of one ndarray of shape (n_bits,)
        Their intercepts.

    means_ : list of one ndarray of shape (n_features,)
        Mean of the training rows, but for few far from all others, subtracted first.

    affinity_ : affinity oracle
        The fitted oracle.

    loss_curve_ : list of float
        Loss of the outputs of h after each round, the first without penalty.

    n_iter_ : int
        Number of rounds.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    BREHasher : Fits distances too, but descends on the weights of the hash functions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.baselines import MACHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = MACHasher(8, subsample=500, random_state=0).fit(X[:900], y[:900])
    >>> print(f"{hasher.score(X[900:], y[900:]):.1f}")
    0.7
    """

    _parameter_constraints = {
        **DiscreteHasher._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "first_penalty": [Interval(Real, 0, None, closed="neither")],
    }

    _: KW_ONLY
    C: float = 1.0
    first_penalty: float = 0.1

    def _fit_pairs(self, X, affinities, rng, start):
        pairs = PairwiseBits(affinities > 0, rng)
        scaled = ScaledRows.from_rows(X[pairs.order])
        svms = BitwiseSVMs(scaled.rows, self.n_bits, self.C, rng)
        projection = PROJECTIONS["itq"](scaled.rows, self.n_bits, rng)
        codes = signs(scaled.rows @ projection)
        history = RoundHistory()
        fitted_so_far = partial(history.fitted_attributes, scaled)
        with start(None, "round", fitted_so_far) as progress:
            for number in progress.over(count()):
                if number == 0:
                    n_passes = _FIRST_PASSES
                    penalty = 0.0
                else:
                    n_passes = 1
                    penalty = self.first_penalty * _PENALTY_GROWTH ** (number - 1)
                for _ in range(n_passes):
                    improve_codes(codes, svms.outputs, pairs, penalty, rng)
                svms.fit(codes)
                loss = pairs.loss(svms.outputs)
                history.add(loss, svms)
                progress.message = f"loss = {loss:.6f}"
                if not np.any(svms.outputs != codes):
                    break
        return progress.finish()


class LinearBits(NamedTuple):
    """Linear functions whose signs are bits."""

    coef: np.ndarray  # (n_features, n_bits)
    intercept: np.ndarray  # (n_bits,)


class RoundHistory:
    """Losses of all rounds, and the hash function of the least one.

    Attributes
    ----------
    losses : list of float
        Loss of each round.

    best : LinearBits or None
        The last hash function of the least loss; None before the first round.
    """

    def __init__(self):
        self.losses = []
        self.best = None

    def add(self, loss, svms):
        """Note the loss of a round, and its hash function if no loss is less."""
        if loss <= min(self.losses, default=loss):
            # An interrupt must not leave one half of it: it is bound at once.
            self.best = LinearBits(svms.coef.copy(), svms.intercept.copy())
        self.losses.append(loss)

    def fitted_attributes(self, scaled):
        """Fitted attributes after these rounds, on scaled rows."""
        function = scaled.linear_function(self.best.coef, self.best.intercept)
        return function | {"loss_curve_": [*self.losses], "n_iter_": len(self.losses)}


def improve_codes(codes, outputs, pairs, penalty, rng):
    """Set each bit once to better values, in random order and in place."""
    n, n_bits = codes.shape
    # Graph cuts minimize b^2 / 2 times the objective, and take integers.
    strength = round(penalty * n * n_bits)
    for bit in rng.permutation(n_bits):
        other_bits = np.delete(codes, bit, axis=1)
        pairs.improve(codes[:, bit], other_bits, n_bits, strength * outputs[:, bit])


class BitwiseSVMs:
    """One linear SVM for each bit.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Features.

    n_bits : int
        Number of bits.

    C : float
        As of LinearSVC.

    rng : RandomState
        Draws the order of the solver's steps.

    Attributes
    ----------
    outputs : ndarray of shape (n, n_bits)
        -1 and +1, in float32.
    """

    def __init__(self, X, n_bits, C, rng):
        self.X = X
        self.coef = np.zeros((X.shape[1], n_bits))
        self.intercept = np.zeros(n_bits)
        self.outputs = np.full((len(X), n_bits), np.float32(-1))
        self._C = C
        self._rng = rng

    def fit(self, codes):
        """Learn these codes; bits whose outputs are right already are left alone."""
        is_wrong = np.any(codes != self.outputs, axis=0)
        for bit in np.flatnonzero(is_wrong):
            target = codes[:, bit]
            coef, intercept = self._fit_bit(target)
            outputs = signs(self.X @ coef + intercept)
            n_mistakes = np.sum(outputs != target)
            if n_mistakes <= np.sum(self.outputs[:, bit] != target):
                self.coef[:, bit] = coef
                self.intercept[bit] = intercept
                self.outputs[:, bit] = outputs

    def _fit_bit(self, target):
        """Coefficients and intercept of a bit, which may be constant."""
        if np.all(target == target[0]):
            return np.zeros(self.X.shape[1]), float(target[0])
        seed = self._rng.randint(2**31)
        # A coarse tolerance: more precise ones cost time and make no other bits.
        svm = LinearSVC(C=self._C, dual=True, tol=0.1, random_state=seed)
        svm.fit(self.X, target)
        return svm.coef_[0], svm.intercept_[0]
