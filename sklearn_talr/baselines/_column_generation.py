"""Column generation for a structured SVM on Hamming rankings (Lin et al., ECCV 2014).

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

import numpy as np
from scipy.optimize import linprog, minimize

from ..svm._risks import RankingRisk

_MOST_CUTS = 8  # to be added for one bit
_MOST_STEPS = 30  # of the solver that finds a bit


class HammingRankingSVM:
    """Structured SVM whose only weight is that of a bit, solved by cutting planes.

    The first samples are the queries, each of which ranks all others.

    Parameters
    ----------
    similar : ndarray of bool, shape (n_queries, n)
        Each query needs both kinds among the others.

    loss : {"average_precision", "ndcg"}
        Loss of a ranking.

    C : float
        Weight of the loss.

    tol : float
        How much the risk may exceed that by the tangents.
    """

    def __init__(self, similar, loss, C, tol):
        self._pairs = np.nonzero(~np.eye(*similar.shape, dtype=bool))
        self._risk = RankingRisk(similar[self._pairs], self._pairs[0], loss)
        self._shape, self._C, self._tol = similar.shape, C, tol
        self._tangents = [self._tangent(np.zeros(similar.shape))]
        self._multipliers = np.ones(1)
        self.weight = 0.0

    def risk(self, scores):
        """R(S)."""
        return self._risk(scores[self._pairs])[0]

    def wanted(self):
        """Weight of each pair's agreement in the next bit, by the multipliers."""
        slope = sum(m * slope for m, (_, slope) in zip(self._multipliers, self._tangents))
        if not slope.any():  # no ranking violates a margin: take the first tangent
            slope = self._tangents[0][1]
        return -slope

    def fit(self, codes):
        """Find the weight for these bits, and the multipliers; return the risk.

        Parameters
        ----------
        codes : ndarray of shape (n, n_bits)
            -1 and +1.
        """
        agreement = codes[: self._shape[0]] @ codes.T / 2
        for _ in range(_MOST_CUTS):
            self.weight, estimate = self._solve(agreement, codes.shape[1])
            scores = self.weight * agreement
            constant, slope = self._tangent(scores)
            if constant + np.sum(slope * scores) - estimate <= self._tol:
                break
            self._tangents.append((constant, slope))
        else:  # the last tangent is not in the weight yet
            self.weight, _ = self._solve(agreement, codes.shape[1])
        # Tangents that do not touch are found again where they do; the first one stays.
        kept = [0, *np.flatnonzero(self._multipliers[1:] > 0) + 1]
        self._tangents = [self._tangents[place] for place in kept]
        self._multipliers = self._multipliers[kept]
        return self.risk(self.weight * agreement)

    def _tangent(self, scores):
        constant, weights = self._risk.linear(scores[self._pairs])
        slope = np.zeros(self._shape)
        slope[self._pairs] = weights
        return constant, slope

    def _solve(self, agreement, n_bits):
        """Weight and risk by the tangents: a linear program."""
        constants = np.array([constant for constant, _ in self._tangents])
        slopes = np.array([np.sum(slope * agreement) for _, slope in self._tangents])
        result = linprog(
            [n_bits, self._C],
            A_ub=np.column_stack([slopes, np.full(len(slopes), -1.0)]),
            b_ub=-constants,
        )
        self._multipliers = -result.ineqlin.marginals
        return result.x


def agreeing_direction(X, wanted, alpha, rng):
    """Direction whose signs agree where they should, relaxed to tanh.

    It maximizes <wanted, t_q t'> over t = tanh(X w), t_q those of the queries, with a
    penalty alpha |w|^2 / 2.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Features, those of the queries first.

    wanted : ndarray of shape (n_queries, n)
        How much a query and a sample should agree; only proportions matter.

    alpha : float
        Weight of the penalty.

    rng : RandomState
        Draws the start.
    """
    wanted = wanted / np.sum(np.abs(wanted))
    start = rng.standard_normal(X.shape[1])
    start /= np.std(X @ start) or 1.0
    result = minimize(
        relaxed_agreement,
        start,
        args=(X, wanted, alpha),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MOST_STEPS},
    )
    return result.x


def relaxed_agreement(w, X, wanted, alpha):
    """Negative of the relaxed agreement, to be minimized, and its gradient."""
    relaxed = np.tanh(X @ w)
    n_queries = len(wanted)
    by_query = wanted @ relaxed
    by_sample = relaxed[:n_queries] @ wanted
    by_sample[:n_queries] += by_query
    value = alpha * (w @ w) / 2 - relaxed[:n_queries] @ by_query
    return value, alpha * w - X.T @ (by_sample * (1 - relaxed**2))
