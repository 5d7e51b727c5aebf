"""One fit: choose the kernel coefficient and the penalty, then solve for all samples."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels

from .._core.compat import CallbackSupportMixin, with_callbacks
from .._core.progress import Progress
from .._core.threads import slices
from ..features._similar_rows import in_units
from ._ridge import ComponentRidge, ExactRidge, Gram
from ._samples import distinct_samples

KERNELS = ("rbf", "cosine", "linear")

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


def measured_from(X, center, units=None):
    """Samples minus a center and in units, in their own type."""
    X = X if center is None else X - center.astype(X.dtype, copy=False)
    return X if units is None else in_units(X, units).astype(X.dtype, copy=False)


def kernel_between(X, components, kernel, gamma):
    """Kernel of all samples and all components, of shape (n_samples, n_components)."""
    if kernel == "rbf" and not (sp.issparse(X) or sp.issparse(components)):
        # In half the time of scikit-learn, which computes in double precision always.
        K = X @ components.T
        K *= 2 * gamma
        K -= (gamma * np.einsum("ij,ij->i", X, X))[:, None]
        K -= gamma * np.einsum("ij,ij->i", components, components)
        np.minimum(K, 0, out=K)
        return np.exp(K, out=K)
    options = {} if kernel != "rbf" else {"gamma": gamma}
    return np.asarray(pairwise_kernels(X, components, metric=kernel, **options))


def typical_gammas(X, kernel, rng):
    """Coefficients in ascending order, such that distances are neither near 0 nor far.

    The Gaussian kernel is exp(-d^2 / (2 w^2)) of the Euclidean distance d. The widths w are
    the median of distances among all of up to 2 000 samples, or 1 000 of more, times 1.4 to
    0.35.
    """
    if kernel != "rbf":
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


def temperature_of_classes(scores, Y, weights):
    """Line from scores to logits of classes that makes the targets most likely.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_outputs)
        Scores of samples that were left out.

    Y : ndarray of shape (n_samples, n_outputs)
        Shares of classes among copies of each sample.

    weights : ndarray of shape (n_samples,)
        Weights of the samples.

    Returns
    -------
    loss : float
        Mean negative logarithm of the likelihood.

    slope, offset : float
        Logits are slope times scores plus offset, which is 0 here.
    """
    shares = weights / weights.sum()

    def loss(log_slope):
        logs = log_softmax(np.exp(log_slope) * scores, axis=1)
        return -shares @ (Y * logs).sum(axis=1)

    best = minimize_scalar(loss, bounds=np.log(_SLOPES), method="bounded")
    return float(best.fun), float(np.exp(best.x)), 0.0


def line_of_labels(scores, Y, weights):
    """The same for logits of labels that do not exclude each other, with one offset."""
    shares = weights[:, None] / weights.sum()

    def loss(parameters):
        slope, offset = parameters
        logits = slope * scores + offset
        errors = shares * (expit(logits) - Y)
        value = (shares * (np.logaddexp(0, logits) - Y * logits)).sum()
        return value, np.array([(errors * scores).sum(), errors.sum()])

    bounds = (_SLOPES, (None, None))
    best = minimize(loss, [8.0, -4.0], jac=True, method="L-BFGS-B", bounds=bounds)
    return float(best.fun), *map(float, best.x)


def squared_error(predictions, Y, weights):
    """The same for numbers, whose predictions are what they are: their mean error."""
    errors = np.square(predictions - Y).sum(axis=1)
    return float(weights @ errors / weights.sum()), 1.0, 0.0


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
        for axis, size in enumerate(sizes):
            for value in (before[axis] - 1, before[axis] + 1):
                other = (*before[:axis], value, *before[axis + 1 :])
                if other in seen or not 0 <= value < size:
                    continue
                seen.add(other)
                found = evaluate(other)
                if found.loss < best.loss:
                    point, best = other, found
        if point == before:
            return point, best


_N_EXACT = 5000  # samples up to which all are components
_N_SEARCHED = 2000  # samples among which coefficients are compared
_N_JUDGED = 5000  # samples by which penalties are compared where components are fewer
_FEWEST_COMPONENTS = 1000
_OPERATIONS = 3e11  # n_samples * n_components**2 that take half a minute of one core
_ALPHAS = 10.0 ** np.arange(-5, 3.5, 0.5)  # times the typical variance of the kernel
_FIRST_ALPHA = 9
_SINGLE = 1e-30, 1e30  # coefficients whose kernels single precision can hold
_ROUNDING = 1e-13  # of a kernel, in relation to its values
_BLOCK = 2**23  # numbers of a block of a kernel
_BLOCK_OF_PREDICTIONS = 2**20  # of which float32 stays in a cache, a sixth faster
_MOST_ERROR = 5e-4  # of an output


class Calibration(NamedTuple):
    """A line from scores to logits, and how likely it makes the targets."""

    loss: float
    slope: float
    offset: float


@dataclass(frozen=True)
class Candidate:
    """A coefficient of the kernel with a penalty, judged by samples that were left out."""

    gamma: float
    alpha: float
    ridge: object = None  # ExactRidge or ComponentRidge; None without a solution
    calibration: Calibration | None = None

    @property
    def loss(self):
        """Mean loss of the samples left out; infinite without a solution."""
        return np.inf if self.calibration is None else self.calibration.loss


class SearchedKernel(NamedTuple):
    """The kernel of the samples that coefficients are compared by, and its penalties."""

    K: np.ndarray  # (n_searched, n_searched)
    penalties: np.ndarray  # (n_alphas,), ascending


class KernelSearch:
    """Chooses the coefficient of the kernel and the penalty by samples that are left out.

    Penalties are in units of the mean of the diagonal of the weighted and centered kernel.

    Parameters
    ----------
    samples : DistinctSamples
        All samples, less their center and in units.

    calibrate : callable
        ``calibrate(scores, Y, weights) -> loss, slope, offset``.

    rng : RandomState
        Draws samples, if there are too many to use all.

    progress : Progress
        Is told of each pair of parameters that is tried.

    kernel : str
        Name of the kernel.

    gammas : ndarray of shape (n_gammas,)
        Coefficients of the kernel to choose from, in ascending order.

    alphas : ndarray of shape (n_alphas,) or None
        Penalties to choose from, in ascending order; None means typical ones.
    """

    def __init__(self, samples, calibrate, rng, progress, *, kernel, gammas, alphas):
        self._samples = samples
        self._calibrate = calibrate
        self._rng = rng
        self._progress = progress
        self._kernel = kernel
        self._gammas = gammas
        self._alphas = alphas
        rows = _some_rows(samples.groups, _N_SEARCHED, rng)
        self._searched = samples.take(rows)
        # The samples that are searched by are not the fit, if there are more.
        self._in_single = len(samples.Y) > _N_SEARCHED
        is_float32 = samples.X.dtype == np.float32
        self._keeps_single = self._in_single and kernel == "rbf" and is_float32
        self._kernels = {}

    def kernel_with(self, X, components, gamma, dtype=np.float64):
        """Kernel of samples and components, of shape (n_samples, n_components)."""
        X = X.astype(dtype, copy=False)
        components = components.astype(dtype, copy=False)
        return kernel_between(X, components, self._kernel, gamma)

    def choose_both(self):
        """Choose both parameters by some samples.

        Returns
        -------
        best : Candidate
            The best pair.

        place : int
            Place of its penalty.

        penalties : ndarray of shape (n_alphas,)
            Penalties of its coefficient.
        """
        n_alphas = len(_ALPHAS if self._alphas is None else self._alphas)
        sizes = len(self._gammas), n_alphas
        start = sizes[0] // 2, min(_FIRST_ALPHA, n_alphas - 1)
        (_, place), best = climb(self._judge_point, start, sizes)
        penalties = self._kernels[best.gamma].penalties
        self._kernels.clear()
        return best, place, penalties

    def choose_penalty_of_components(self, components, gamma, *, place, penalties):
        """Choose the penalty once more, of a fit of all samples to some components."""
        samples = self._samples
        n_samples = len(samples.Y)
        blocks = (
            (rows, self.kernel_with(samples.X[rows], components, gamma))
            for rows in kernel_blocks(n_samples, components.shape[0])
        )
        gram = Gram(blocks, samples, self.kernel_with(components, components, gamma))
        judged = samples.take(_some_groups(samples.groups, _N_JUDGED, self._rng))
        K = self.kernel_with(judged.X, components, gamma)

        def judge(point):
            fit_ridge = partial(ComponentRidge, gram)
            return self._judge(
                fit_ridge,
                gamma,
                penalties[point[0]],
                K=K,
                judged=judged,
                n_fitted=n_samples,
            )

        _, best = climb(judge, (place,), (len(penalties),))
        return best

    def choose_penalty_of_all(self, gamma, *, place, penalties):
        """Choose between the penalty and the next smaller one, of a fit to all samples."""
        samples = self._samples
        K = self.kernel_with(samples.X, samples.X, gamma)
        candidates = [
            self._judge_exact(gamma, alpha, K, samples)
            for alpha in penalties[max(0, place - 1) : place + 1]
        ]
        best = min(candidates, key=lambda candidate: candidate.loss)
        # Larger penalties help if the kernel is too singular.
        while not np.isfinite(best.loss) and place + 1 < len(penalties):
            place += 1
            best = self._judge_exact(gamma, penalties[place], K, samples)
        return best

    def _judge_point(self, point):
        gamma = self._gammas[point[0]]
        if gamma not in self._kernels:
            self._kernels[gamma] = self._searched_kernel(gamma)
        K, penalties = self._kernels[gamma]
        return self._judge_exact(gamma, penalties[point[1]], K, self._searched)

    def _searched_kernel(self, gamma):
        X = self._searched.X
        in_single = self._keeps_single and _SINGLE[0] < gamma < _SINGLE[1]
        K = self.kernel_with(X, X, gamma, np.float32 if in_single else np.float64)
        variance = self._kernel_variance(K)
        alphas = _ALPHAS * variance if self._alphas is None else self._alphas
        return SearchedKernel(K, alphas)

    def _kernel_variance(self, K):
        """Mean of the diagonal of the weighted and centered kernel."""
        weights = self._searched.weights
        diagonal = np.diag(K)
        share = weights / weights.sum()
        means = share @ K
        variance = float(np.mean(weights * (diagonal - 2 * means + share @ means)))
        if variance <= _ROUNDING * np.mean(weights * diagonal):
            n_features = self._searched.X.shape[1]
            raise ValueError(
                f"X has {n_features} feature(s), of which kernel={self._kernel!r} makes no "
                "difference between samples. Take kernel='rbf', or other gammas."
            )
        return variance

    def _judge_exact(self, gamma, alpha, K, samples):
        fit_ridge = partial(ExactRidge, K, samples, in_single=self._in_single)
        return self._judge(
            fit_ridge, gamma, alpha, K=K, judged=samples, n_fitted=len(samples.Y)
        )

    def _judge(self, fit_ridge, gamma, alpha, *, K, judged, n_fitted):
        """Judge a regression by how likely the targets are that were left out."""
        self._progress.begin()
        candidate = Candidate(gamma, alpha)
        # A candidate without a solution is never chosen.
        with suppress(np.linalg.LinAlgError):
            ridge = fit_ridge(alpha)
            scores = ridge.leave_out(K, judged)
            calibration = self._calibrate(scores, judged.Y, judged.weights)
            candidate = Candidate(gamma, alpha, ridge, Calibration(*calibration))
        parameters = f"gamma = {gamma:.4g}, alpha = {alpha:.4g}"
        self._progress.told = (
            f"{n_fitted} samples, {parameters}, loss = {candidate.loss:.6f}"
        )
        self._progress.end()
        return candidate


@dataclass(frozen=True)
class KernelModel:
    """A fitted regression, which also predicts its own samples as if left out."""

    candidate: Candidate
    samples: object  # DistinctSamples, less their center and in units
    components: object  # (n_components, n_features), the samples' own X, or others
    kernel: str
    center: np.ndarray | None  # (n_features,)
    units: np.ndarray | None

    @property
    def gamma(self):
        """Coefficient of the kernel."""
        return self.candidate.gamma

    @property
    def alpha(self):
        """Penalty."""
        return self.candidate.alpha

    @property
    def slope(self):
        """What scores are multiplied by."""
        return self.candidate.calibration.slope

    @property
    def fitted(self):
        """Attributes by which `sums_of_kernels` predicts."""
        ridge = self.candidate.ridge
        _, slope, offset = self.candidate.calibration
        return {
            "gamma_": float(self.gamma),
            "mean_": self.center,
            "units_": self.units,
            "components_": self.components,
            "dual_coef_": slope * ridge.coef,
            "intercept_": slope * ridge.intercept + offset,
        }

    def leave_out(self):
        """Outputs of all samples, each of which was left out, (n_samples, n_outputs)."""
        ridge = self.candidate.ridge
        samples = self.samples
        _, slope, offset = self.candidate.calibration
        if self.components is samples.X:
            return slope * ridge.left_out + offset
        components = self.components.astype(np.float64, copy=False)
        scores = np.empty(samples.Y.shape)
        for rows in _whole_groups(samples.groups, len(ridge.coef)):
            part = samples.take(rows)
            X = part.X.astype(np.float64, copy=False)
            K = kernel_between(X, components, self.kernel, self.gamma)
            scores[rows] = ridge.leave_out(K, part)
        return slope * scores + offset


def fit_model(
    samples,
    calibrate,
    rng,
    progress,
    *,
    kernel="rbf",
    units=None,
    gammas=None,
    alphas=None,
    n_components=None,
):
    """Choose the parameters and fit all samples.

    Both parameters are chosen by the likelihood of samples that were left out of a
    regression on 2 000 of them at most. More samples seldom need a larger penalty, so
    that one is compared with the next smaller one if all samples are components. With
    fewer components the penalty is chosen once more among all.

    Parameters
    ----------
    samples : DistinctSamples
        All samples of weight above 0.

    calibrate : callable
        ``calibrate(scores, Y, weights) -> loss, slope, offset``.

    rng : RandomState
        Draws samples, if there are too many to use all.

    progress : Progress
        Is told of each pair of parameters that is tried.

    kernel : str, default="rbf"
        Name of the kernel.

    units : ndarray, default=None
        Units of the features, see `in_units`; None: features are taken as they are.

    gammas : ndarray of shape (n_gammas,), default=None
        Coefficients of the kernel to choose from, in ascending order. None means typical
        ones.

    alphas : ndarray of shape (n_alphas,), default=None
        Penalties to choose from, in ascending order. None means multiples of the typical
        variance of the kernel.

    n_components : int, default=None
        How many samples are components. None means as many as seconds allow.

    Returns
    -------
    model : KernelModel
        The fitted regression.

    Raises
    ------
    ValueError
        If no penalty has a solution.
    """
    center = center_of(samples.X, kernel)
    samples = samples._replace(X=measured_from(samples.X, center, units))
    if gammas is None:
        gammas = typical_gammas(samples.X, kernel, rng)
    search = KernelSearch(
        samples, calibrate, rng, progress, kernel=kernel, gammas=gammas, alphas=alphas
    )
    best, place, penalties = search.choose_both()
    components = _choose_components(samples.X, kernel, rng, n_components)
    if components is not samples.X:
        best = search.choose_penalty_of_components(
            components, best.gamma, place=place, penalties=penalties
        )
    elif len(samples.Y) > _N_SEARCHED:
        best = search.choose_penalty_of_all(best.gamma, place=place, penalties=penalties)
    if not np.isfinite(best.loss):
        raise ValueError(
            "The kernel is too singular for all alphas. Pass larger alphas, or leave them "
            "to alphas=None."
        )
    return KernelModel(best, samples, components, kernel=kernel, center=center, units=units)


def _choose_components(X, kernel, rng, n_components):
    """Samples that others are compared with; `X` itself if these are all.

    Kernels that are products of few features need one component for each feature.
    """
    n_samples, n_features = X.shape
    n_used = n_components or affordable_components(n_samples)
    has_few_features = kernel != "rbf" and n_features <= min(n_samples, _N_EXACT)
    if n_components is None and has_few_features:
        if sp.issparse(X):
            return sp.eye_array(n_features, format="csr")
        return np.eye(n_features)
    if n_used < n_samples:
        return X[np.sort(rng.choice(n_samples, n_used, replace=False))]
    return X


def affordable_components(n_samples):
    """How many samples others are compared with, such that a fit takes about a minute."""
    affordable = int(np.sqrt(_OPERATIONS / n_samples))
    return min(max(affordable, _FEWEST_COMPONENTS), _N_EXACT)


def sums_of_kernels(X, fitted, kernel="rbf", out_dtype=np.float64):
    """Outputs of a fitted regression for some samples.

    Single precision serves where it gives three digits after the point. Squared distances
    are differences of products, so a Gaussian kernel is off by the rounding of the largest
    product, and a sum of kernels by that times the coefficients. Samples farther from the
    center than all components have distances as large, and lose no more.
    """
    components, coef = fitted["components_"], fitted["dual_coef_"]
    dtype, gamma = X.dtype, fitted["gamma_"]
    if dtype == np.float32 and (kernel != "rbf" or not _SINGLE[0] < gamma < _SINGLE[1]):
        dtype = np.float64  # features may cancel, or their squares leave single precision
    elif dtype == np.float32 and not sp.issparse(components):
        lengths = np.einsum("ij,ij->i", components, components)
        rounding = np.finfo(dtype).eps * (1 + gamma * lengths.max())
        if rounding * np.linalg.norm(coef, axis=0).max() > _MOST_ERROR:
            dtype = np.float64
    components, coef = components.astype(dtype, copy=False), coef.astype(dtype, copy=False)
    outputs = np.empty((X.shape[0], coef.shape[1]), dtype=out_dtype)
    for rows in slices(X.shape[0], max(1, _BLOCK_OF_PREDICTIONS // len(coef))):
        block = measured_from(X[rows], fitted["mean_"], fitted["units_"])
        block = block.astype(dtype, copy=False)
        sums = kernel_between(block, components, kernel, gamma) @ coef
        outputs[rows] = sums + fitted["intercept_"]
    return outputs


def kernel_blocks(n_samples, n_components):
    """Slices of rows whose kernel with all components takes little memory."""
    return slices(n_samples, max(1, _BLOCK // n_components))


def _some_rows(groups, n_wanted, rng):
    """Rows of two groups at least: of whole ones, unless one is as large as all wanted."""
    rows = _some_groups(groups, n_wanted, rng)
    is_in_first = groups == groups[rows[0]]
    if not is_in_first[rows].all():
        return rows
    parts = np.flatnonzero(is_in_first), np.flatnonzero(~is_in_first)
    halves = [rng.permutation(part)[: n_wanted // 2] for part in parts]
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


class LeftOutRegression(CallbackSupportMixin):
    """Regression of several numbers by the Gaussian kernel.

    Width and penalty are chosen by the squared error of samples left out, as
    KernelRidgeClassifierCV chooses them by likelihood.

    Attributes
    ----------
    gamma_ : float
        Coefficient of the kernel.

    mean_ : ndarray of shape (n_features,) or None
        Mean of the samples, which is subtracted from all; None if they are sparse.

    units_ : ndarray or None
        Units of the features.

    components_ : {ndarray, CSR} of shape (n_components, n_features)
        Samples that others are compared with, less the mean and in units.

    dual_coef_ : ndarray of shape (n_components, n_outputs)
        Weight of each component.

    intercept_ : ndarray of shape (n_outputs,)
        Added to the sums.
    """

    @with_callbacks
    def fit_left_out(self, X, Y, rng, units=None):
        """Fit, and predict each sample as if it had not been there.

        Parameters
        ----------
        X : {ndarray, CSR} of shape (n_samples, n_features)
            Checked features, not all rows equal.

        Y : ndarray of shape (n_samples, n_outputs)
            Numbers to predict.

        rng : RandomState
            Draws samples, where there are too many to use all.

        units : ndarray, default=None
            Units of the features, see `in_units`; None: features are taken as they are.

        Returns
        -------
        predictions : ndarray of shape (n_samples, n_outputs), float64
            Copies of a sample are left out together.
        """
        progress = Progress(self, X, Y, None, "candidate")
        samples = distinct_samples(X, Y, np.ones(X.shape[0]), None)
        model = fit_model(samples, squared_error, rng, progress, units=units)
        progress.finish({})
        vars(self).update(model.fitted)
        return model.leave_out()[samples.index]

    def transform(self, X):
        """Predict the numbers of samples, shape (n_samples, n_outputs), float64."""
        return sums_of_kernels(X, vars(self))
