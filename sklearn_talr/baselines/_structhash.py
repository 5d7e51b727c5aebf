"""StructHasher: bits added one after another to a structured SVM of rankings.

Column generation for a structured SVM on Hamming rankings (Lin et al., ECCV 2014).

====================  =======================================================
symbol                meaning
====================  =======================================================
S                     scores of samples for queries, (n_queries, n)
R(S)                  mean over queries of the structured hinge of a ranking loss
w                     weight of a bit: one number, shared by all bits
K                     half the inner products of codes: -d_H but for a constant
====================  =======================================================

R is convex, and known by its tangents: constant + <slope, S>. The weight minimizes
r w + C R(w K) for r bits. At the minimum the multipliers of the tangents add up to a slope
of C R by S; the bit whose products agree best with its negative is the one to add.
"""

from functools import partial
from itertools import compress
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize

from .._core.compat import Interval
from .._core.parameters import KW_ONLY, parameters
from .._core.types import Count
from ..measures import Measure
from ..measures._base import measure_name
from ..svm._risks import RankingRisk
from ._sampled_pairs import DiscreteHasher, ScaledRows, signs

# At most so many tangents are added for one bit.
_MAX_CUTS_PER_BIT = 8
# The solver that finds a bit makes at most so many steps.
_MAX_STEPS_PER_BIT = 30


@parameters
class StructHasher(DiscreteHasher):
    r"""StructHash: column generation for a structured SVM on a ranking loss.

    Lin, Shen and Wu, "Optimizing Ranking Measures for Compact Binary Code Learning",
    ECCV 2014. Samples q rank the others by Hamming distance. With r bits of weight w,

    .. math::

        \min_{w \ge 0} \; r w + C \, \operatorname{mean}_q \max_R \left[ \Delta_q(R)
        + w \left( \psi_q(R) - \psi_q(R^*) \right) \right],

    R being a ranking, R* one with all similar samples first, :math:`\Delta` 1 minus its
    NDCG or AP, and :math:`\psi_q(R)` the mean over pairs of another sample and a similar
    one of the difference of their distances, its sign reversed where R has the similar one
    behind. Cutting planes, the rankings that violate most, give w and multipliers. By
    these, each pair of samples counts for or against being alike in the next bit, which is
    added as the linear function that maximizes their agreement, with tanh for signs.

    What differs from the original: there each bit has a weight of its own and distances are
    weighted; here all bits have the same weight, at any time, so that the distance is that
    of plain codes. Hence a new bit may also raise the objective. The search for a bit
    starts at random and has a penalty. Affinities of several levels are similar or not.

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

    loss : {"nDCG", "AP"}, default="nDCG"
        Loss of a ranking.

    C : float, default=1000.0
        Weight of the loss, above 0.

    alpha : float, default=0.003
        Penalty on the squared norm of the weights of each bit's function, at least 0.
        Features are centered, with a mean squared norm of 1.

    n_queries : int, default=300
        Samples that rank the others, at most and at least 1.

    subsample : int or None, default=3000
        Samples to fit at most, at least 2, drawn at random; None for all.

    tol : float, default=0.01
        How far the mean loss may be from that of the cutting planes, above 0.

    verbose : bool, default=False
        Print the loss after each bit.

    random_state : int, RandomState instance or None, default=None
        Draws samples, queries and first directions. Global generators are never touched;
        None draws a fresh seed.

    Attributes
    ----------
    coefs_ : list of one ndarray of shape (n_features, n_bits)
        Weights of the functions of the bits.

    intercepts_ : list of one ndarray of shape (n_bits,)
        Zeros.

    means_ : list of one ndarray of shape (n_features,)
        Mean of the training rows, but for few far from all others, subtracted first.

    affinity_ : affinity oracle
        The fitted oracle.

    loss_curve_ : list of float
        Mean structured hinge loss with the first bits, for each number of them.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    sklearn_talr.hashing.TALRHasher : Maximizes AP or NDCG, ties included, by gradients.
    sklearn_talr.svm.RankingSVC : The structured SVM of linear scores.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.baselines import StructHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = StructHasher(8, n_queries=100, random_state=0).fit(X[:900], y[:900])
    >>> print(f"{hasher.score(X[900:], y[900:]):.1f}")
    0.7
    """

    _parameter_constraints = {
        **DiscreteHasher._parameter_constraints,
        "loss": [str, Measure],
        "C": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_queries": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    _: KW_ONLY
    loss: str | Measure = "nDCG"
    C: float = 1000.0
    alpha: float = 0.003
    n_queries: int = 300
    subsample: Count = 3000
    tol: float = 0.01

    def _fit_pairs(self, X, affinities, rng, start):
        similar = affinities > 0
        queries, order = self._order_queries_first(similar)
        scaled = ScaledRows.from_rows(X[order])
        X = scaled.rows
        loss_name = measure_name(self.loss, "loss")
        similar = similar[np.ix_(queries, order)]
        svm = HammingRankingSVM(similar, loss_name, C=self.C, tol=self.tol)
        coef = np.empty((X.shape[1], self.n_bits))
        codes = np.empty((len(X), self.n_bits), dtype=np.float32)
        losses = []
        fitted_so_far = partial(_fitted_attributes, scaled, coef, losses)
        with start(self.n_bits, "bit", fitted_so_far) as progress:
            for bit in progress.over(range(self.n_bits)):
                weights = svm.agreement_weights()
                direction = agreeing_direction(X, weights, self.alpha, rng)
                coef[:, bit] = direction
                codes[:, bit] = signs(X @ direction)
                loss = svm.fit(codes[:, : bit + 1])
                losses.append(loss)
                progress.message = f"loss = {loss:.6f}"
        return progress.finish()

    def _order_queries_first(self, similar):
        """Return the queries, and an order of all samples in which they come first."""
        is_other = ~np.eye(len(similar), dtype=bool)
        has_similar = (similar & is_other).any(axis=1)
        has_dissimilar = (~similar & is_other).any(axis=1)
        ranks = has_similar & has_dissimilar
        if not ranks.any():
            raise ValueError(
                f"None of the {len(similar)} samples drawn has both a similar one and "
                "another among them. Raise subsample."
            )
        order = np.concatenate([np.flatnonzero(ranks), np.flatnonzero(~ranks)])
        n_queries = min(self.n_queries, np.count_nonzero(ranks))
        return order[:n_queries], order


def _fitted_attributes(scaled, coef, losses):
    """Fitted attributes: the bits that have a loss."""
    function = scaled.linear_function(coef[:, : len(losses)], 0.0)
    return function | {"loss_curve_": [*losses]}


class Tangent(NamedTuple):
    """A linear function of scores that is nowhere above the risk."""

    constant: float
    slope: np.ndarray  # (n_queries, n), derivative by the scores

    def value(self, scores):
        """Value at these scores."""
        return self.constant + np.sum(self.slope * scores)


class HammingRankingSVM:
    """Structured SVM whose only weight is that of a bit, solved by cutting planes.

    The first samples are the queries, each of which ranks all others.

    Parameters
    ----------
    similar : ndarray of bool, shape (n_queries, n)
        Each query needs both kinds among the others.

    loss : {"AP", "nDCG"}
        Loss of a ranking.

    C : float
        Weight of the loss.

    tol : float
        How much the risk may be above the highest tangent.
    """

    def __init__(self, similar, loss, C, tol):
        self._shape = similar.shape
        # The pairs of different samples, and their queries
        self._pairs = np.nonzero(~np.eye(*self._shape, dtype=bool))
        query = self._pairs[0]
        self._risk = RankingRisk(similar[self._pairs], query, loss)
        self._C = C
        self._tol = tol
        self._tangents = [self._tangent(np.zeros(similar.shape))]
        self._multipliers = np.ones(1)
        self.weight = 0.0

    def risk(self, scores):
        """Mean structured hinge R(S) at these scores S."""
        return self._risk(scores[self._pairs])[0]

    def agreement_weights(self):
        """Weight of each pair's agreement in the next bit, by the multipliers."""
        pairs = zip(self._multipliers, self._tangents)
        slope = sum(multiplier * tangent.slope for multiplier, tangent in pairs)
        # If no ranking violates a margin, the first tangent has to do.
        if not slope.any():
            slope = self._tangents[0].slope
        return -slope

    def fit(self, codes):
        """Find the weight for these bits, and the multipliers; return the risk.

        Parameters
        ----------
        codes : ndarray of shape (n, n_bits)
            -1 and +1.
        """
        n_bits = codes.shape[1]
        n_queries = self._shape[0]
        agreement = codes[:n_queries] @ codes.T / 2
        for _ in range(_MAX_CUTS_PER_BIT):
            self.weight, estimate = self._solve(agreement, n_bits)
            scores = self.weight * agreement
            tangent = self._tangent(scores)
            if tangent.value(scores) - estimate <= self._tol:
                break
            self._tangents.append(tangent)
        else:
            # The last tangent has not been reckoned with yet.
            self.weight, _ = self._solve(agreement, n_bits)
        # Tangents that do not touch are found again if they do; the first one stays.
        stays = self._multipliers > 0
        stays[0] = True
        self._tangents = list(compress(self._tangents, stays))
        self._multipliers = self._multipliers[stays]
        return self.risk(self.weight * agreement)

    def _tangent(self, scores):
        """Tangent of the risk at these scores."""
        constant, weights = self._risk.linear(scores[self._pairs])
        slope = np.zeros(self._shape)
        slope[self._pairs] = weights
        return Tangent(constant, slope)

    def _solve(self, agreement, n_bits):
        """Weight and risk by the tangents: a linear program."""
        constants = np.array([tangent.constant for tangent in self._tangents])
        slopes = [np.sum(tangent.slope * agreement) for tangent in self._tangents]
        # The variables are the weight and the risk, which is above all tangents.
        factors = np.column_stack([slopes, np.full(len(slopes), -1.0)])
        result = linprog([n_bits, self._C], A_ub=factors, b_ub=-constants)
        self._multipliers = -result.ineqlin.marginals
        return result.x


def agreeing_direction(X, weights, alpha, rng):
    """Direction whose signs agree where they should, relaxed to tanh.

    It maximizes <weights, t_q t'> over t = tanh(X w), t_q those of the queries, with a
    penalty alpha |w|^2 / 2.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Features, those of the queries first.

    weights : ndarray of shape (n_queries, n)
        How much a query and a sample should agree; only proportions matter.

    alpha : float
        Weight of the penalty.

    rng : RandomState
        Draws the start.
    """
    weights = weights / np.sum(np.abs(weights))
    start = rng.standard_normal(X.shape[1])
    start /= np.std(X @ start) or 1.0
    result = minimize(
        relaxed_agreement,
        start,
        args=(X, weights, alpha),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS_PER_BIT},
    )
    return result.x


def relaxed_agreement(w, X, weights, alpha):
    """Negative of the relaxed agreement, to be minimized, and its gradient."""
    relaxed = np.tanh(X @ w)
    n_queries = len(weights)
    by_query = weights @ relaxed
    by_sample = relaxed[:n_queries] @ weights
    by_sample[:n_queries] += by_query
    penalty = alpha * (w @ w) / 2
    value = penalty - relaxed[:n_queries] @ by_query
    gradient = alpha * w - X.T @ (by_sample * (1 - relaxed**2))
    return value, gradient
