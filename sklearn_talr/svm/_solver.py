"""The bundle method that minimizes a risk, and its quadratic program on the simplex.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
w           weights of the features
R(w)        convex risk, at least 0
total       factor of R in the objective
a_i, b_i    cut: R(w) >= a_i.w + b_i for all w
x_i         dual variable of a cut, at least 0; their sum is `total`
==========  ==================================================================

Replace R by the highest of the cuts. Then the minimum of |w|^2/2 + total R(w) can only
become less, and it is at least b.x - |sum_i x_i a_i|^2 / 2 for any x (Joachims, Finley and
Yu, Machine Learning 2009). So each step has a lower bound of the optimum, and knows how far
from it the objective is at most.
"""

from itertools import compress
from typing import NamedTuple

import numpy as np

from .._threads import one_thread

_FLAT = 1e-16  # least curvature, relative to the linear terms: too small to change a digit
_RIDGE = 1e-11  # added to the unit diagonal, because cuts may be linearly dependent
_TOLERANCE = 1e-10  # relative to the objective
_ROUNDS_PER_VARIABLE = 2


def minimize_on_simplex(gram, linear, total, start):
    """Minimize 1/2 x' gram x - linear' x over x >= 0, sum(x) = total, by active sets.

    The method is that of Lawson and Hanson for non-negative least squares: variables become
    positive one by one, and those that would become negative are set to 0 on the way.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Positive semi-definite matrix.

    linear : ndarray of shape (n,)
        Coefficients of the linear term.

    total : float
        Sum of the variables, greater than 0.

    start : ndarray of shape (n,)
        A feasible point. The solution of a problem with few variables less is a good one.

    Returns
    -------
    x : ndarray of shape (n,)
        Feasible point that is optimal up to rounding.
    """
    norms = np.sqrt(np.maximum(gram.diagonal(), _FLAT * np.abs(linear).max()))
    scale = np.divide(1, norms, out=np.ones_like(norms), where=norms > 0)
    unit = gram * scale * scale[:, None]  # in z = x / scale, for accuracy
    unit[np.diag_indices_from(unit)] += _RIDGE
    most = scale.max()
    z = _descend(unit, linear * scale, scale / most, total / most, start / scale)
    x = z * scale
    return x * (total / x.sum())


def _descend(gram, linear, share, total, z):
    """Minimize 1/2 z' gram z - linear' z over z >= 0, share' z = total.

    The diagonal of `gram` is at most about 1. A variable enters the support even if that
    lowers the value by no more than rounding, because later variables may need it.
    """
    support, best, lowest = np.flatnonzero(z), z, np.inf
    for _ in range(_ROUNDS_PER_VARIABLE * len(linear)):  # rounding may lead in circles
        support, solution, multiplier = _minimize_on(
            gram, linear, share, total, support, z[support]
        )
        product = gram[:, support] @ solution
        value = solution @ (product[support] / 2 - linear[support])
        if value >= lowest + np.finfo(float).eps * np.abs(solution).sum() ** 2:
            return best
        lowest, best = min(lowest, value), np.zeros_like(linear)
        best[support] = solution
        slope = (product - linear) / share - multiplier
        slope[support] = 0  # as it is but for rounding: none of these may enter again
        entering = slope.argmin()
        if slope[entering] * total >= -_TOLERANCE * abs(value):
            return best
        support, z = np.append(support, entering), best
    return best


def _minimize_on(gram, linear, share, total, support, current):
    """Minimize on the support, and remove from it what would become negative."""
    while True:
        # The minimum without bounds on signs, and the multiplier of the constraint
        n = len(support)
        system = np.zeros((n + 1, n + 1))
        system[:n, :n] = gram[np.ix_(support, support)]
        system[:n, n] = system[n, :n] = share[support]
        solution = np.linalg.solve(system, np.append(linear[support], total))
        solution, multiplier = solution[:n], -solution[n]
        shrinking = np.flatnonzero(solution < 0)
        if not len(shrinking):
            return support, solution, multiplier
        ratio = current[shrinking] / (current[shrinking] - solution[shrinking])
        current = current + ratio.min() * (solution - current)
        current[shrinking[ratio.argmin()]] = 0
        kept = current > 0
        support, current = support[kept], current[kept]


_MAX_IDLE = 50  # steps after which a cut that bounds nothing is dropped
_CUT_AT = 0.1  # share of the way from the best point to the minimum of the bound
_MAX_TRIALS = 12  # of one search along a line


class Bundle:
    """The cuts found so far, and the best weights.

    A later minimization may start from a bundle. All methods replace the attributes and
    write to none in place, so that a shallow copy keeps what the bundle was.
    """

    def __init__(self, n_weights):
        self._slopes = [np.zeros(n_weights)]  # the first cut says that no risk is below 0
        self._offsets, self._dual, self._idle = np.zeros((3, 1))
        self._gram = np.zeros((1, 1))
        self._dual[0] = 1.0  # divided by total
        self.best = np.zeros(n_weights)  # the w with the least objective known

    def add(self, slope, offset):
        """Add a cut, and drop those that have long been idle."""
        kept = self._idle < _MAX_IDLE
        kept[0] = True
        # A list, to copy no long arrays
        self._slopes = [*compress(self._slopes, kept), slope]
        border = np.array([other @ slope for other in self._slopes])
        self._gram = np.pad(self._gram[np.ix_(kept, kept)], (0, 1))
        self._gram[-1] = self._gram[:, -1] = border
        self._offsets = np.append(self._offsets[kept], offset)
        self._dual = np.append(self._dual[kept], 0.0)
        self._idle = np.append(self._idle[kept], 0.0)

    def minimize(self, total):
        """Return the w that minimizes |w|^2/2 + total * bound, and that minimum or less."""
        gram = self._gram * total
        self._dual = minimize_on_simplex(gram, self._offsets, 1.0, start=self._dual)
        self._idle = np.where(self._dual > 0, 0.0, self._idle + 1)
        w = np.zeros_like(self.best)
        for i in np.flatnonzero(self._dual):
            w -= (total * self._dual[i]) * self._slopes[i]
        return w, total * (self._dual @ self._offsets) - w @ w / 2


class Point(NamedTuple):
    """A point w, with the scores of the samples and the objective there."""

    w: np.ndarray
    scores: np.ndarray
    risk: float
    sample_weights: np.ndarray  # subgradient of the risk by the scores
    objective: float


class Solution(NamedTuple):
    """What `minimize` found: w, its objective, a lower bound of the optimum, and steps."""

    w: np.ndarray
    objective: float
    bound: float
    n_iter: int

    @property
    def gap(self):
        """Difference of objective and bound, relative to the objective."""
        return (self.objective - self.bound) / self.objective


@one_thread()
def minimize(features, risk, total, bundle, *, tol, max_iter, line_search, progress):
    """Minimize |w|^2/2 + total R(w) until objective and bound are within `tol`.

    Parameters
    ----------
    features : FeatureMatrix
        Gives the scores of w, and gradients by w.

    risk : callable
        Takes scores, and returns the risk R and its subgradient.

    total : float
        Factor of R.

    bundle : Bundle
        Cuts to start from. New cuts are added to it.

    tol : float
        Greatest gap relative to the objective.

    max_iter : int
        Greatest number of steps.

    line_search : bool
        Whether to search the line from the last best point to the minimum of the bound, and
        to cut near the best point on it (Franc and Sonnenburg, JMLR 2009). This needs fewer
        steps than to cut at the minimum of the bound.

    progress : Progress
        Told of each step, whose state is the solution so far. It may ask to stop.

    Returns
    -------
    solution : Solution
        The best point that was found, within `tol` unless `max_iter` was too small,
        or it was asked to stop, or interrupted.
    """
    best = _point(bundle.best, features.scores(bundle.best), risk, total)
    progress.state = lambda: solution
    with progress:
        for n_iter in progress.over(range(1, max_iter + 1)):
            w, bound = bundle.minimize(total)
            target = _point(w, features.scores(w), risk, total)
            cut = target
            if line_search:
                best = _search_line(best, target, risk, total, bound)
                cut = _between(best, target, _CUT_AT, risk, total)
            elif target.objective < best.objective:
                best = target
            solution = Solution(best.w, best.objective, bound, n_iter)
            progress.told = f"duality gap = {solution.gap:.2g}"
            if solution.gap <= tol:
                break
            slope = features.gradient(cut.sample_weights)
            bundle.add(slope, cut.risk - cut.sample_weights @ cut.scores)
    bundle.best = best.w
    return solution


def _point(w, scores, risk, total):
    value, sample_weights = risk(scores)
    return Point(w, scores, value, sample_weights, w @ w / 2 + total * value)


def _between(start, end, share, risk, total):
    w = start.w + share * (end.w - start.w)
    return _point(w, start.scores + share * (end.scores - start.scores), risk, total)


def _search_line(start, end, risk, total, bound):
    """Return the best of some points tried between two.

    The search ends where no point of the line can be better by more than a tenth of the gap
    between objective and bound. Each trial minimizes the exact quadratic plus the higher of
    the two tangents of the risk at the ends of the interval.
    """
    step, step_of_scores = end.w - start.w, end.scores - start.scores
    constant, linear, square = start.w @ start.w / 2, start.w @ step, step @ step

    def slope_of_risk(point):
        return total * (point.sample_weights @ step_of_scores)

    low, high = (0.0, start), (1.0, end)
    best = min(start, end, key=lambda point: point.objective)
    if linear + square + slope_of_risk(end) <= 0:
        return best
    for _ in range(_MAX_TRIALS):
        # The minimum of the quadratic plus the higher of the two tangents: that of the
        # parabola of a side if it lies on that side, else where the tangents cross
        (at_low, point_low), (at_high, point_high) = low, high
        by_low, by_high = slope_of_risk(point_low), slope_of_risk(point_high)
        constant_low = total * point_low.risk - by_low * at_low
        constant_high = total * point_high.risk - by_high * at_high
        bend = by_high - by_low
        crossing = (constant_low - constant_high) / bend if bend > 0 else at_low
        by_side = [-(linear + slope) / square for slope in (by_low, by_high)]
        share = max(min(crossing, by_side[0]), by_side[1])
        share = min(max(share, at_low), at_high)
        tangent = max(constant_low + by_low * share, constant_high + by_high * share)
        lowest = constant + share * (linear + share * square / 2) + tangent
        if best.objective - lowest <= 0.1 * (best.objective - bound):
            break
        margin = 0.05 * (at_high - at_low)
        share = min(max(share, at_low + margin), at_high - margin)
        trial = _between(start, end, share, risk, total)
        best = min(best, trial, key=lambda point: point.objective)
        if linear + share * square + slope_of_risk(trial) > 0:
            high = share, trial
        else:
            low = share, trial
    return best
