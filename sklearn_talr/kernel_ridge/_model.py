"""One fit: choose the kernel coefficient and the penalty, then solve for all samples."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._threads import slices
from ._kernel_functions import WITHOUT_GAMMA, kernel_between, measured_from
from ._likelihood import ClassCalibration, LabelCalibration
from ._ridge import ComponentRidge, ExactRidge, Gram
from ._search import climb

__all__ = ["FittedKernelRidge", "Problem", "fit_model", "leave_out", "sums_of_kernels"]

_N_EXACT = 5000  # samples up to which all are components
_N_SEARCHED = 2000  # samples among which coefficients are compared
_N_JUDGED = 5000  # samples by which penalties are compared where components are fewer
_FEWEST_COMPONENTS = 1000
_OPERATIONS = 3e11  # n_samples * n_components**2 that take half a minute of one core
_ALPHAS = 10.0 ** np.arange(-5, 3.5, 0.5)  # times the typical variance of the kernel
_FIRST_ALPHA = 9
_ROUNDING = 1e-13  # of a kernel, in relation to its values
_BLOCK = 2**23  # numbers of a block of a kernel
_MOST_ERROR = 5e-4  # of an output


class Problem(NamedTuple):
    """What is to be fitted, and from which values the parameters are chosen.

    Attributes
    ----------
    samples : DistinctSamples
        All samples of weight above 0.

    kernel : str
        Name of the kernel.

    gammas : ndarray of shape (n_gammas,)
        Coefficients of the kernel to choose from, in ascending order.

    alphas : ndarray of shape (n_alphas,) or None
        Penalties to choose from, in ascending order. None means multiples of the typical
        variance of the kernel.

    n_components : int or None
        How many samples are components. None means as many as seconds allow.

    calibration : {ClassCalibration, LabelCalibration}
        How scores become probabilities.

    verbose : bool, default=False
        Whether to print how likely each pair of parameters is.
    """

    samples: object
    kernel: str
    gammas: np.ndarray
    alphas: np.ndarray | None
    n_components: int | None
    calibration: type
    verbose: bool = False

    def penalties(self, variance):
        """Penalties to choose from."""
        return _ALPHAS * variance if self.alphas is None else self.alphas

    def kernel_with(self, X, components, gamma):
        """Kernel in double precision, computed in it."""
        exact = (each.astype(np.float64, copy=False) for each in (X, components))
        return kernel_between(*exact, self.kernel, gamma)


class Candidate(NamedTuple):
    """A regression, its penalty, and how likely targets are that were left out."""

    loss: float
    alpha: float
    ridge: object
    calibration: ClassCalibration | LabelCalibration


class FittedKernelRidge(NamedTuple):
    """A fitted regression and its calibration.

    Attributes
    ----------
    components : {ndarray, CSR matrix} of shape (n_components, n_features)
        Samples that others are compared with; unit vectors for linear functions.

    gamma, alpha : float
        Coefficient of the kernel, and penalty.

    ridge : {ExactRidge, ComponentRidge}
        The regression.

    calibration : {ClassCalibration, LabelCalibration}
        From its scores to probabilities.
    """

    components: np.ndarray
    gamma: float
    alpha: float
    ridge: object
    calibration: ClassCalibration | LabelCalibration


def fit_model(problem, rng):
    """Choose the parameters and fit all samples.

    Both parameters are chosen by the likelihood of samples that were left out of a
    regression on 2 000 of them at most. More samples seldom need a larger penalty, so
    that one is compared with the next smaller one where all samples are components. With
    fewer components the penalty is chosen once more among all.
    """
    gamma, alphas, place, best = _choose(problem, rng)
    components = _components(problem, rng)
    if components is not None:
        fit = _component_fits(problem, components, gamma, rng)

        def evaluate(point):
            return _told(problem, gamma, fit(alphas[point[0]]), problem.samples)

        _, best = climb(evaluate, (place,), (len(alphas),))
    elif len(problem.samples.Y) > _N_SEARCHED:
        X = problem.samples.X
        K = problem.kernel_with(X, X, gamma)

        def fit(alpha):
            candidate = _exact_candidate(problem, K, problem.samples, alpha)
            return _told(problem, gamma, candidate, problem.samples)

        fits = (fit(alpha) for alpha in alphas[max(0, place - 1) : place + 1])
        best = min(fits, key=lambda candidate: candidate.loss)
        while not np.isfinite(best.loss) and place + 1 < len(alphas):  # K is too singular
            place += 1
            best = fit(alphas[place])
    if not np.isfinite(best.loss):
        raise np.linalg.LinAlgError("No penalty has a solution.")
    components = problem.samples.X if components is None else components
    return FittedKernelRidge(components, gamma, best.alpha, best.ridge, best.calibration)


def leave_out(problem, model):
    """Scores of all samples by regressions without their groups."""
    if isinstance(model.ridge, ExactRidge):
        return model.ridge.left_out
    scores = np.empty(problem.samples.Y.shape)
    for rows in _whole_groups(problem.samples.groups, len(model.ridge.coef)):
        samples = problem.samples.take(rows)
        K = problem.kernel_with(samples.X, model.components, model.gamma)
        scores[rows] = model.ridge.leave_out(K, samples)
    return scores


def sums_of_kernels(X, fitted, kernel):
    """Outputs of a fitted regression for some samples, float64.

    Single precision serves where it gives three digits after the point. Squared distances
    are differences of products, so a Gaussian kernel is off by the rounding of the largest
    product, and a sum of kernels by that times the coefficients. Samples farther from the
    center than all components have distances as large, and lose no more.
    """
    components, coef = fitted["components_"], fitted["dual_coef_"]
    dtype = X.dtype
    if dtype == np.float32 and kernel in WITHOUT_GAMMA:
        dtype = np.float64  # features may be large, and cancel
    elif dtype == np.float32 and kernel == "rbf" and not sp.issparse(components):
        lengths = np.einsum("ij,ij->i", components, components)
        rounding = np.finfo(dtype).eps * (1 + fitted["gamma_"] * lengths.max())
        if rounding * np.linalg.norm(coef, axis=0).max() > _MOST_ERROR:
            dtype = np.float64
    components, coef = components.astype(dtype, copy=False), coef.astype(dtype, copy=False)
    outputs = np.empty((X.shape[0], coef.shape[1]))
    for rows in kernel_blocks(X.shape[0], len(coef)):
        block = measured_from(X[rows], fitted["mean_"]).astype(dtype, copy=False)
        outputs[rows] = kernel_between(block, components, kernel, fitted["gamma_"]) @ coef
    return outputs + fitted["intercept_"]


def kernel_blocks(n_samples, n_components):
    """Slices of rows whose kernel with all components takes little memory."""
    return slices(n_samples, max(1, _BLOCK // n_components))


def _choose(problem, rng):
    """Most likely coefficient, its penalties, the place of the best, and that fit."""
    some = problem.samples.take(_some_rows(problem.samples.groups, _N_SEARCHED, rng))
    kernels = {}

    def kernel_and_penalties(gamma):
        if gamma not in kernels:
            K = problem.kernel_with(some.X, some.X, gamma)
            variance = _typical_variance(K, some.weights)
            if variance <= _ROUNDING * np.mean(some.weights * np.diag(K)):
                raise ValueError(
                    f"X has {some.X.shape[1]} feature(s), of which kernel="
                    f"{problem.kernel!r} makes no difference between samples. Take "
                    "kernel='rbf', or other gammas."
                )
            kernels[gamma] = K, problem.penalties(variance)
        return kernels[gamma]

    def evaluate(point):
        gamma = problem.gammas[point[0]]
        K, alphas = kernel_and_penalties(gamma)
        candidate = _exact_candidate(problem, K, some, alphas[point[1]])
        return _told(problem, gamma, candidate, some)

    sizes = len(problem.gammas), len(problem.penalties(1.0))
    start = sizes[0] // 2, min(_FIRST_ALPHA, sizes[1] - 1)
    (place_of_gamma, place), best = climb(evaluate, start, sizes)
    gamma = problem.gammas[place_of_gamma]
    return gamma, kernel_and_penalties(gamma)[1], place, best


def _told(problem, gamma, candidate, samples):
    """The candidate, which is printed if that is wanted."""
    if problem.verbose:
        point = f"gamma = {gamma:.4g}, alpha = {candidate.alpha:.4g}"
        print(f"{len(samples.Y)} samples, {point}, loss = {candidate.loss:.6f}")
    return candidate


def _components(problem, rng):
    """Samples that all are compared with, or None for all of them."""
    X = problem.samples.X
    n_samples, n_features = X.shape
    affordable = int(np.sqrt(_OPERATIONS / n_samples))
    affordable = min(max(affordable, _FEWEST_COMPONENTS), _N_EXACT)
    is_linear = problem.kernel in WITHOUT_GAMMA
    if (
        problem.n_components is None
        and is_linear
        and n_features <= min(n_samples, _N_EXACT)
    ):
        return (
            sp.eye_array(n_features, format="csr") if sp.issparse(X) else np.eye(n_features)
        )
    n_components = problem.n_components or affordable
    if n_components >= n_samples:
        return None
    return X[np.sort(rng.choice(n_samples, n_components, replace=False))]


def _component_fits(problem, components, gamma, rng):
    """A function of the penalty that fits all samples with these components."""
    samples, n_components = problem.samples, components.shape[0]
    blocks = (
        (rows, problem.kernel_with(samples.X[rows], components, gamma))
        for rows in kernel_blocks(len(samples.Y), n_components)
    )
    gram = Gram(blocks, samples, problem.kernel_with(components, components, gamma))
    judged = samples.take(_some_groups(samples.groups, _N_JUDGED, rng))
    K = problem.kernel_with(judged.X, components, gamma)

    def fit_and_judge(alpha):
        ridge = ComponentRidge(gram, alpha)
        return ridge, ridge.leave_out(K, judged)

    return lambda alpha: _candidate(problem, alpha, fit_and_judge, judged)


def _exact_candidate(problem, K, samples, alpha):
    def fit_and_judge(alpha):
        ridge = ExactRidge(K, samples, alpha)
        return ridge, ridge.left_out

    return _candidate(problem, alpha, fit_and_judge, samples)


def _candidate(problem, alpha, fit_and_judge, samples):
    """A regression, or a candidate that is never chosen where it has no solution."""
    try:
        ridge, left_out = fit_and_judge(alpha)
    except np.linalg.LinAlgError:
        return Candidate(np.inf, alpha, None, None)
    calibration, loss = problem.calibration.fit(left_out, samples.Y, samples.weights)
    return Candidate(loss, alpha, ridge, calibration)


def _typical_variance(K, weights):
    """Mean of the diagonal of a weighted and centered kernel, the unit of penalties."""
    share = weights / weights.sum()
    means = share @ K
    return float(np.mean(weights * (np.diag(K) - 2 * means + share @ means)))


def _some_rows(groups, n_wanted, rng):
    """Rows of two groups at least: of whole ones, unless one is as large as all wanted."""
    rows = _some_groups(groups, n_wanted, rng)
    is_in_first = groups == groups[rows[0]]
    if not is_in_first[rows].all():
        return rows
    halves = [
        rng.permutation(np.flatnonzero(part))[: n_wanted // 2]
        for part in (is_in_first, ~is_in_first)
    ]
    return np.sort(np.concatenate(halves))


def _some_groups(groups, n_wanted, rng):
    """Rows of whole groups drawn at random, as many as wanted or one group at least."""
    if len(groups) <= n_wanted:
        return np.arange(len(groups))
    numbers, sizes = np.unique(groups, return_counts=True)
    order = rng.permutation(len(numbers))
    fitting = np.cumsum(sizes[order]) <= n_wanted
    fitting[0] = True
    return np.flatnonzero(np.isin(groups, numbers[order[fitting]]))


def _whole_groups(groups, n_components):
    """Rows of consecutive blocks that divide no group."""
    size = max(1, _BLOCK // n_components)
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    blocks = np.unique(starts // size, return_index=True)[1]
    edges = np.r_[starts[blocks], len(groups)]
    return [np.arange(start, end) for start, end in pairwise(edges)]
