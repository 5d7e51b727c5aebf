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
Yu, Machine Learning 2009). So each step has a lower bound of the optimum, and with it a
bound of how far the objective is from the optimum.
"""

from itertools import compress
from typing import NamedTuple

import numpy as np

from .._core.threads import one_thread

# The least curvature, relative to the linear terms, is too small to change a digit.
_LEAST_CURVATURE = 1e-16
# A ridge is added to the unit diagonal, because cuts may be linearly dependent.
_RIDGE = 1e-11
# A variable enters if it promises more than this part of the objective.
_TOLERANCE = 1e-10
# Rounding may lead in circles, which end after so many rounds.
_ROUNDS_PER_VARIABLE = 2


class SimplexProgram(NamedTuple):
    """A program: minimize 1/2 z' gram z - linear' z over z >= 0 with scale' z = total."""

    gram: np.ndarray  # (n, n), whose diagonal is at most about 1
    linear: np.ndarray  # (n,)
    scale: np.ndarray  # (n,), greater than 0 and at most 1
    total: float


class SupportMinimum(NamedTuple):
    """Minimum of a program over the variables of a support; all others are 0."""

    support: np.ndarray  # (n_support,), int, variables that may differ from 0
    z: np.ndarray  # (n_support,), their values
    multiplier: float  # Lagrange multiplier of the constraint


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
    least = _LEAST_CURVATURE * np.abs(linear).max()
    norms = np.sqrt(np.maximum(gram.diagonal(), least))
    scale = np.divide(1, norms, out=np.ones_like(norms), where=norms > 0)
    # The variables are z = x / scale, for accuracy.
    unit = gram * scale * scale[:, None]
    unit[np.diag_indices_from(unit)] += _RIDGE
    most = scale.max()
    program = SimplexProgram(unit, linear * scale, scale / most, total / most)
    x = _descend(program, start / scale) * scale
    return x * (total / x.sum())


def _descend(program, z):
    """Solve a program, from a feasible point.

    A variable enters the support even if that lowers the value by no more than rounding,
    because later variables may need it.
    """
    linear = program.linear
    support = np.flatnonzero(z)
    best = z
    lowest = np.inf
    for _ in range(_ROUNDS_PER_VARIABLE * len(linear)):
        minimum = _minimize_on_support(program, support, z[support])
        support = minimum.support
        product = program.gram[:, support] @ minimum.z
        value = minimum.z @ (product[support] / 2 - linear[support])
        if value >= lowest + np.finfo(float).eps * np.abs(minimum.z).sum() ** 2:
            return best
        lowest = min(lowest, value)
        best = np.zeros_like(linear)
        best[support] = minimum.z
        slope = (product - linear) / program.scale - minimum.multiplier
        # These slopes are 0 but for rounding, and none of the variables may enter again.
        slope[support] = 0
        entering = slope.argmin()
        if slope[entering] * program.total >= -_TOLERANCE * abs(value):
            return best
        support = np.append(support, entering)
        z = best
    return best


def _minimize_on_support(program, support, current):
    """Minimize on a support, and remove from it the variables that would become negative.

    Parameters
    ----------
    program : SimplexProgram

    support : ndarray of shape (n_support,) of int
        Variables that may differ from 0.

    current : ndarray of shape (n_support,)
        Values of these variables to start from, feasible.
    """
    while True:
        minimum = _minimize_with_any_sign(program, support)
        z = minimum.z
        shrinking = np.flatnonzero(z < 0)
        if not len(shrinking):
            return minimum
        # Go towards the minimum until the first variable becomes 0.
        ratio = current[shrinking] / (current[shrinking] - z[shrinking])
        current = current + ratio.min() * (z - current)
        current[shrinking[ratio.argmin()]] = 0
        is_positive = current > 0
        support = support[is_positive]
        current = current[is_positive]


def _minimize_with_any_sign(program, support):
    """Minimize on a support, without bounds on signs: a system of linear equations."""
    n = len(support)
    scale = program.scale[support]
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = program.gram[np.ix_(support, support)]
    system[:n, n] = scale
    system[n, :n] = scale
    right_side = np.append(program.linear[support], program.total)
    solution = np.linalg.solve(system, right_side)
    return SupportMinimum(support, solution[:n], multiplier=-solution[n])


# A cut is dropped if it has bounded nothing in so many steps.
_MAX_IDLE_STEPS = 50
# Cuts are made at this share of the way from the best point to the minimum of the bound.
_CUT_SHARE = 0.1
# One search along a line tries at most so many points.
_MAX_TRIALS = 12
# A search ends if a point can be better by this part of the gap at most.
_NEGLIGIBLE_GAIN = 0.1
# Trials keep this share of an interval away from its ends.
_MARGIN = 0.05


class Bundle:
    """The cuts found so far, and the best weights.

    A later minimization may start from a bundle. All methods replace the attributes and
    write to none in place, so that a shallow copy keeps what the bundle was.
    """

    def __init__(self, n_weights):
        # The first cut says that no risk is below 0.
        self._slopes = [np.zeros(n_weights)]
        self._offsets = np.zeros(1)
        self._dual = np.ones(1)  # dual variables, divided by total
        self._n_idle = np.zeros(1)  # steps since a cut has bounded anything
        self._gram = np.zeros((1, 1))
        self.best = np.zeros(n_weights)  # w of the least objective so far

    def add(self, slope, offset):
        """Add a cut, and drop the cuts that have long been idle."""
        stays = self._n_idle < _MAX_IDLE_STEPS
        stays[0] = True
        # Slopes stand in a list, so that no long arrays are copied.
        self._slopes = [*compress(self._slopes, stays), slope]
        border = np.array([cut_slope @ slope for cut_slope in self._slopes])
        gram = np.pad(self._gram[np.ix_(stays, stays)], (0, 1))
        gram[-1] = border
        gram[:, -1] = border
        self._gram = gram
        self._offsets = np.append(self._offsets[stays], offset)
        self._dual = np.append(self._dual[stays], 0.0)
        self._n_idle = np.append(self._n_idle[stays], 0.0)

    def minimize(self, total):
        """Return the w that minimizes |w|^2/2 + total * bound, and that minimum or less."""
        gram = self._gram * total
        self._dual = minimize_on_simplex(gram, self._offsets, 1.0, start=self._dual)
        self._n_idle = np.where(self._dual > 0, 0.0, self._n_idle + 1)
        w = np.zeros_like(self.best)
        for i in np.flatnonzero(self._dual):
            w -= (total * self._dual[i]) * self._slopes[i]
        return w, total * (self._dual @ self._offsets) - w @ w / 2


class Point(NamedTuple):
    """A point w, with the scores of the samples and the objective there."""

    w: np.ndarray
    scores: np.ndarray
    risk: float
    subgradient: np.ndarray  # subgradient of the risk by the scores
    objective: float


class Solution(NamedTuple):
    """The best point of a minimization."""

    w: np.ndarray
    objective: float
    bound: float  # lower bound of the optimum
    n_iter: int  # number of steps

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
        Is told of each step, with the solution so far as its state, and may ask to stop.

    Returns
    -------
    solution : Solution
        The best point. Its gap is within `tol`, unless `max_iter` was too small, or
        `progress` asked to stop, or the steps were interrupted.
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
                cut = _between(best, target, _CUT_SHARE, risk, total)
            elif target.objective < best.objective:
                best = target
            solution = Solution(best.w, best.objective, bound, n_iter)
            progress.message = f"duality gap = {solution.gap:.2g}"
            if solution.gap <= tol:
                break
            slope = features.gradient(cut.subgradient)
            offset = cut.risk - cut.subgradient @ cut.scores
            bundle.add(slope, offset)
    bundle.best = best.w
    return solution


def _point(w, scores, risk, total):
    """The point of these weights, which have these scores."""
    value, subgradient = risk(scores)
    objective = w @ w / 2 + total * value
    return Point(w, scores, value, subgradient, objective)


def _between(start, end, share, risk, total):
    """The point at this share of the way between two."""
    w = start.w + share * (end.w - start.w)
    scores = start.scores + share * (end.scores - start.scores)
    return _point(w, scores, risk, total)


def _better(point, other):
    """The point of the lower objective, the first one if they are equal."""
    return other if other.objective < point.objective else point


class NormOnLine(NamedTuple):
    """|w|^2/2 at the points of a line, by the share of the way from its start."""

    constant: float
    linear: float
    square: float

    @classmethod
    def from_ends(cls, start, end):
        """The norm between two points."""
        step = end.w - start.w
        return cls(start.w @ start.w / 2, start.w @ step, step @ step)

    def value(self, share):
        """Half the squared norm."""
        return self.constant + share * (self.linear + share * self.square / 2)

    def slope(self, share):
        """Its derivative by the share."""
        return self.linear + share * self.square


class TangentOnLine(NamedTuple):
    """Tangent of total R at a point of a line, by the share of the way from its start."""

    share: float  # place of the point
    slope: float
    constant: float

    @classmethod
    def from_point(cls, point, share, step_of_scores, total):
        """The tangent at a point whose scores move by so much on the whole way."""
        slope = total * (point.subgradient @ step_of_scores)
        return cls(share, slope, total * point.risk - slope * share)

    def value(self, share):
        """Value of the tangent."""
        return self.constant + self.slope * share


def _search_line(start, end, risk, total, bound):
    """Return the best of some points tried between two.

    The search ends if no point of the line can be better by more than a tenth of the gap
    between objective and bound. Each trial minimizes the exact quadratic plus the higher of
    the two tangents of the risk at the ends of the interval.
    """
    norm = NormOnLine.from_ends(start, end)
    step_of_scores = end.scores - start.scores
    best = _better(start, end)
    high = TangentOnLine.from_point(end, 1.0, step_of_scores, total)
    if norm.slope(1.0) + high.slope <= 0:
        return best
    low = TangentOnLine.from_point(start, 0.0, step_of_scores, total)
    for _ in range(_MAX_TRIALS):
        share = _lowest_share(norm, low, high)
        lowest = norm.value(share) + max(low.value(share), high.value(share))
        if best.objective - lowest <= _NEGLIGIBLE_GAIN * (best.objective - bound):
            break
        margin = _MARGIN * (high.share - low.share)
        share = min(max(share, low.share + margin), high.share - margin)
        trial = _between(start, end, share, risk, total)
        best = _better(best, trial)
        tangent = TangentOnLine.from_point(trial, share, step_of_scores, total)
        if norm.slope(share) + tangent.slope > 0:
            high = tangent
        else:
            low = tangent
    return best


def _lowest_share(norm, low, high):
    """Where the norm plus the higher of two tangents is least, between their points.

    It is the minimum of the parabola of a side if that lies on this side, and else where
    the tangents cross.
    """
    bend = high.slope - low.slope
    crossing = (low.constant - high.constant) / bend if bend > 0 else low.share
    lowest_of_low = -(norm.linear + low.slope) / norm.square
    lowest_of_high = -(norm.linear + high.slope) / norm.square
    share = max(min(crossing, lowest_of_low), lowest_of_high)
    return min(max(share, low.share), high.share)
