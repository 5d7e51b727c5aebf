"""One fit: choose the kernel coefficient and the penalty, then solve for all samples."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels

from .._threads import slices
from ._ridge import ComponentRidge, ExactRidge, Gram
from ._samples import distinct_samples

KERNELS = ("rbf", "cosine", "linear")
WITHOUT_GAMMA = ("cosine", "linear")

_WIDTHS = np.array([1.4, 1.0, 0.7, 0.5, 0.35])  # of the typical distance of two samples
_N_ALL, _N_MEASURED = 2000, 1000  # samples: so many are all measured, of more a thousand


def center_of(X, kernel):
    """Mean of samples, from which they are measured; None where this changes the kernel.

    Far from the origin kernels would lose digits. The mean is rounded to what float32 can
    hold, so that it is the same for samples of either type.
    """
    if sp.issparse(X) or kernel == "cosine":
        return None
    mean = X.mean(axis=0, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = mean.astype(np.float32).astype(np.float64)
    return np.where(np.isfinite(rounded), rounded, mean)


def measured_from(X, center):
    """Samples minus a center, in their own type."""
    return X if center is None else X - center.astype(X.dtype, copy=False)


def kernel_between(X, components, kernel, gamma):
    """Kernel of all samples and all components, of shape (n_samples, n_components)."""
    if kernel == "rbf" and not (sp.issparse(X) or sp.issparse(components)):
        return _gaussian(X, components, gamma)
    options = {} if kernel in WITHOUT_GAMMA else {"gamma": gamma}
    return np.asarray(pairwise_kernels(X, components, metric=kernel, **options))


def _gaussian(X, components, gamma):
    """Gaussian kernel of dense samples, in half the time that scikit-learn takes.

    scikit-learn computes in double precision always, and this in that of the samples.
    """
    lengths = _squared_lengths(components)
    K = X @ components.T
    K *= 2 * gamma
    K -= (gamma * _squared_lengths(X))[:, None]
    K -= gamma * lengths
    np.minimum(K, 0, out=K)
    return np.exp(K, out=K)


def _squared_lengths(X):
    return np.einsum("ij,ij->i", X, X)


def typical_gammas(X, kernel, rng):
    """Coefficients in ascending order, such that distances are neither near 0 nor far.

    The Gaussian kernel is exp(-d^2 / (2 w^2)) of the Euclidean distance d. The widths w are
    the median of distances among all of up to 2 000 samples, or 1 000 of more, times 1.4 to
    0.35.
    """
    if kernel in WITHOUT_GAMMA:
        return np.array([0.0])
    n_samples = X.shape[0]
    n_measured = n_samples if n_samples <= _N_ALL else _N_MEASURED
    some = X[np.sort(rng.choice(n_samples, n_measured, replace=False))]
    distances = pairwise_distances(some.astype(np.float64))
    distances = distances[np.triu_indices_from(distances, 1)]
    distances = distances[distances != 0]  # of copies in other groups
    widths = _WIDTHS * (np.median(distances) if len(distances) else 0)
    if not np.all((widths**2 > 0) & (widths**2 < np.inf)):
        raise ValueError(
            "X has distances between samples that are all 0, or too small or too large for "
            "numbers. Pass features that differ, and scale them to about 1."
        )
    return 1 / (2 * widths**2)


_SLOPES = (1e-2, 1e4)  # above 0, since leaving out turns the ranking of pure noise round


class ClassCalibration:
    """Probabilities of exclusive classes: softmax of scores times a slope.

    Attributes
    ----------
    slope : float
        Reciprocal of the temperature.
    """

    def __init__(self, slope=1.0):
        self.slope = slope

    @classmethod
    def fit(cls, scores, Y, weights):
        """Choose the slope by likelihood. Return the calibration and the mean log loss."""
        shares = weights / weights.sum()

        def loss(log_slope):
            logs = log_softmax(np.exp(log_slope) * scores, axis=1)
            return -shares @ (Y * logs).sum(axis=1)

        best = minimize_scalar(loss, bounds=np.log(_SLOPES), method="bounded")
        return cls(float(np.exp(best.x))), float(best.fun)

    def logits(self, scores):
        """Scores whose softmax are the probabilities."""
        return self.slope * scores

    @staticmethod
    def probabilities(logits):
        """Softmax of each row."""
        return softmax(logits, axis=1)


class LabelCalibration:
    """Probabilities of labels, each for itself: sigmoids of a line, the same for all.

    Attributes
    ----------
    slope, offset : float
        Of the line.
    """

    def __init__(self, slope=1.0, offset=0.0):
        self.slope, self.offset = slope, offset

    @classmethod
    def fit(cls, scores, Y, weights):
        """Choose the line by likelihood. Return the calibration and the mean log loss."""
        shares = weights[:, None] / weights.sum()

        def loss(parameters):
            slope, offset = parameters
            logits = slope * scores + offset
            errors = shares * (expit(logits) - Y)
            value = (shares * (np.logaddexp(0, logits) - Y * logits)).sum()
            return value, np.array([(errors * scores).sum(), errors.sum()])

        bounds = (_SLOPES, (None, None))
        best = minimize(loss, [8.0, -4.0], jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(*map(float, best.x)), float(best.fun)

    def logits(self, scores):
        """Scores whose sigmoids are the probabilities."""
        return self.slope * scores + self.offset

    @staticmethod
    def probabilities(logits):
        """Sigmoid of each score."""
        return expit(logits)


def climb(evaluate, start, sizes):
    """Walk on a grid to a point that has no better neighbor.

    Parameters
    ----------
    evaluate : callable
        Of a point, a tuple of int: any object whose attribute ``loss`` is to be small.

    start : tuple of int
        Where to begin.

    sizes : tuple of int
        Number of values of each coordinate.

    Returns
    -------
    point : tuple of int
        Where the walk ended.

    best : object
        What `evaluate` returned there.
    """
    point, best, seen = start, evaluate(start), {start}
    while True:
        before = point
        for other in _neighbors(before, sizes):
            if other not in seen:
                seen.add(other)
                found = evaluate(other)
                if found.loss < best.loss:
                    point, best = other, found
        if point == before:
            return point, best


def _neighbors(point, sizes):
    for axis, size in enumerate(sizes):
        for value in (point[axis] - 1, point[axis] + 1):
            if 0 <= value < size:
                yield (*point[:axis], value, *point[axis + 1 :])


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


_KERNEL = "rbf"


class LeftOutRegression:
    """Regression of several numbers by the Gaussian kernel.

    Width and penalty are chosen by the squared error of samples left out, as
    KernelRidgeClassifierCV chooses them by likelihood.

    Attributes
    ----------
    gamma_ : float
        Coefficient of the kernel.

    mean_ : ndarray of shape (n_features,) or None
        Mean of the samples, which is subtracted from all; None if they are sparse.

    components_ : {ndarray, CSR} of shape (n_components, n_features)
        Samples that others are compared with, less the mean.

    dual_coef_ : ndarray of shape (n_components, n_outputs)
        Weight of each component.

    intercept_ : ndarray of shape (n_outputs,)
        Added to the sums.
    """

    def fit_left_out(self, X, Y, rng):
        """Fit, and predict each sample as if it had not been there.

        Parameters
        ----------
        X : {ndarray, CSR} of shape (n_samples, n_features)
            Checked features, not all rows equal.

        Y : ndarray of shape (n_samples, n_outputs)
            Numbers to predict.

        rng : RandomState
            Draws samples, where there are too many to use all.

        Returns
        -------
        predictions : ndarray of shape (n_samples, n_outputs), float64
            Copies of a sample are left out together.
        """
        samples = distinct_samples(X, Y, np.ones(X.shape[0]), None)
        self.mean_ = center_of(samples.X, _KERNEL)
        samples = samples._replace(X=measured_from(samples.X, self.mean_))
        gammas = typical_gammas(samples.X, _KERNEL, rng)
        problem = Problem(samples, _KERNEL, gammas, None, None, SquaredError)
        model = fit_model(problem, rng)
        self.gamma_ = float(model.gamma)
        self.components_ = model.components
        self.dual_coef_ = model.ridge.coef
        self.intercept_ = model.ridge.intercept
        return leave_out(problem, model)[samples.index]

    def transform(self, X):
        """Predict the numbers of samples, shape (n_samples, n_outputs), float64."""
        return sums_of_kernels(X, vars(self), _KERNEL)


class SquaredError:
    """In the place of a calibration: predictions are what they are."""

    @classmethod
    def fit(cls, predictions, Y, weights):
        """Return the calibration and the mean squared error."""
        errors = np.square(predictions - Y).sum(axis=1)
        return cls(), float(weights @ errors / weights.sum())
