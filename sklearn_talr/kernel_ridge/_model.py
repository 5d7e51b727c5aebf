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

# Widths of the Gaussian kernel that are tried, relative to the median distance of samples
_WIDTHS = np.array([1.4, 1.0, 0.7, 0.5, 0.35])
# The median is over the distances of all samples, if they are at most _N_ALL, or else of
# _N_MEASURED samples.
_N_ALL = 2000
_N_MEASURED = 1000


def center_of(X, kernel):
    """Mean of samples, to be subtracted; None if this would change the kernel.

    Far from the origin kernels would lose digits. The mean is rounded to float32, so that
    it is the same for samples of either type.
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
        # This takes half the time of scikit-learn, which always uses double precision.
        K = X @ components.T
        K *= 2 * gamma
        K -= (gamma * np.einsum("ij,ij->i", X, X))[:, None]
        K -= gamma * np.einsum("ij,ij->i", components, components)
        np.minimum(K, 0, out=K)
        return np.exp(K, out=K)
    options = {} if kernel != "rbf" else {"gamma": gamma}
    return np.asarray(pairwise_kernels(X, components, metric=kernel, **options))


def typical_gammas(X, kernel, rng):
    """Coefficients for which distances of samples are neither small nor large, ascending.

    The Gaussian kernel is exp(-d^2 / (2 w^2)) of the Euclidean distance d. The widths w are
    the median distance, times 0.35 to 1.4. The median is over all of up to 2 000 samples,
    and over 1 000 of a larger set.
    """
    if kernel != "rbf":
        return np.array([0.0])
    n_samples = X.shape[0]
    n_measured = n_samples if n_samples <= _N_ALL else _N_MEASURED
    measured = X[np.sort(rng.choice(n_samples, n_measured, replace=False))]
    distances = pairwise_distances(measured.astype(np.float64))
    distances = distances[np.triu_indices_from(distances, 1)]
    # Copies of a sample in other groups have distance 0.
    distances = distances[distances != 0]
    widths = _WIDTHS * (np.median(distances) if len(distances) else 0)
    if not np.all((widths**2 > 0) & (widths**2 < np.inf)):
        raise ValueError(
            "X has distances between samples that are all 0, or too small or too large for "
            "float64. Pass features that differ, and scale them to about 1."
        )
    return 1 / (2 * widths**2)


# Bounds of slopes, above 0, since leaving samples out reverses the ranking of pure noise.
_SLOPES = (1e-2, 1e4)


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
    best = minimize_scalar(
        _loss_of_temperature,
        bounds=np.log(_SLOPES),
        args=(scores, Y, weights / weights.sum()),
        method="bounded",
    )
    return float(best.fun), float(np.exp(best.x)), 0.0


def _loss_of_temperature(log_slope, scores, Y, shares):
    """Mean negative log-likelihood of classes, for one slope."""
    logs = log_softmax(np.exp(log_slope) * scores, axis=1)
    return -shares @ (Y * logs).sum(axis=1)


def line_of_labels(scores, Y, weights):
    """The line of `temperature_of_classes` for labels that do not exclude each other.

    All labels have one slope and one offset.
    """
    best = minimize(
        _loss_of_line,
        [8.0, -4.0],
        args=(scores, Y, weights[:, None] / weights.sum()),
        jac=True,
        method="L-BFGS-B",
        bounds=(_SLOPES, (None, None)),
    )
    return float(best.fun), *map(float, best.x)


def _loss_of_line(line, scores, Y, shares):
    """Mean negative log-likelihood of labels, and its derivatives by slope and offset."""
    slope, offset = line
    logits = slope * scores + offset
    loss = (shares * (np.logaddexp(0, logits) - Y * logits)).sum()
    errors = shares * (expit(logits) - Y)
    return loss, np.array([(errors * scores).sum(), errors.sum()])


def squared_error(predictions, Y, weights):
    """The mean squared error of predictions of numbers, which need no line."""
    errors = np.square(predictions - Y).sum(axis=1)
    return float(weights @ errors / weights.sum()), 1.0, 0.0


def climb(evaluate, start, sizes):
    """Walk on a grid to a point that has no better neighbor.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(point)``, with a tuple of int, returns an object with a `loss`.

    start : tuple of int
        The first point.

    sizes : tuple of int
        Number of values of each coordinate.

    Returns
    -------
    point : tuple of int
        The last point.

    best : object
        Value of `evaluate` at the last point.
    """
    point = start
    best = evaluate(start)
    seen = {start}
    while True:
        before = point
        for neighbor in _neighbors_on_grid(before, sizes):
            if neighbor in seen:
                continue
            seen.add(neighbor)
            value = evaluate(neighbor)
            if value.loss < best.loss:
                point = neighbor
                best = value
        if point == before:
            return point, best


def _neighbors_on_grid(point, sizes):
    """Points of a grid that differ from a point by one in one coordinate."""
    for axis, size in enumerate(sizes):
        for value in (point[axis] - 1, point[axis] + 1):
            if 0 <= value < size:
                yield (*point[:axis], value, *point[axis + 1 :])


# All samples are components, if there are at most this many.
_N_EXACT = 5000
# Coefficients are compared by at most this many samples.
_N_SEARCHED = 2000
# If fewer samples are components, penalties are compared by at most this many samples.
_N_JUDGED = 5000
_FEWEST_COMPONENTS = 1000
# n_samples * n_components**2 operations that take half a minute of one core
_OPERATIONS = 3e11
# Penalties that are tried, times the typical variance of the kernel
_ALPHAS = 10.0 ** np.arange(-5, 3.5, 0.5)
_FIRST_ALPHA = 9  # place of the penalty that the search starts from
# Coefficients between these two have kernels that single precision can hold.
_SINGLE = 1e-30, 1e30
# The variance of a kernel below this share of its values is rounding.
_ROUNDING = 1e-13
# Numbers of a block of a kernel
_BLOCK = 2**23
# A block of this many numbers of float32 stays in a cache, which saves a sixth of the time.
_BLOCK_OF_PREDICTIONS = 2**20
# Single precision is used if it changes no output by more than this.
_MOST_ERROR = 5e-4


class Calibration(NamedTuple):
    """A line from scores to logits, and the loss of the targets with it."""

    loss: float
    slope: float
    offset: float


@dataclass(frozen=True)
class Candidate:
    """A coefficient of the kernel with a penalty, and their loss of samples left out."""

    gamma: float
    alpha: float
    ridge: object = None  # ExactRidge or ComponentRidge; None without a solution
    calibration: Calibration | None = None

    @property
    def loss(self):
        """Mean loss of the samples left out; infinite without a solution."""
        return np.inf if self.calibration is None else self.calibration.loss


class SearchedKernel(NamedTuple):
    """A kernel of the samples that coefficients are compared with, and its penalties."""

    K: np.ndarray  # (n_searched, n_searched)
    penalties: np.ndarray  # (n_alphas,), ascending


class KernelSearch:
    """Chooses the kernel's coefficient and the penalty by the loss of samples left out.

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
        Reports each pair of parameters that is tried.

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
        # A search with fewer samples is no fit of all, so single precision is enough.
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
        """Choose both parameters with at most 2 000 samples.

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
        judge = partial(
            self._judge_place,
            partial(ComponentRidge, gram),
            gamma,
            penalties,
            K=self.kernel_with(judged.X, components, gamma),
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

    def _judge_place(self, fit_ridge, gamma, penalties, point, *, K, judged, n_fitted):
        """Judge the penalty at a place."""
        alpha = penalties[point[0]]
        return self._judge(fit_ridge, gamma, alpha, K=K, judged=judged, n_fitted=n_fitted)

    def _judge_point(self, point):
        """Judge the coefficient and the penalty at a point of the grid of both."""
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
                f"X has {n_features} feature(s), and kernel={self._kernel!r} is equal for "
                "all samples. Set kernel='rbf', or pass other gammas."
            )
        return variance

    def _judge_exact(self, gamma, alpha, K, samples):
        fit_ridge = partial(ExactRidge, K, samples, in_single=self._in_single)
        return self._judge(
            fit_ridge, gamma, alpha, K=K, judged=samples, n_fitted=len(samples.Y)
        )

    def _judge(self, fit_ridge, gamma, alpha, *, K, judged, n_fitted):
        """Fit a regression, and find the loss of the samples that are left out of it."""
        self._progress.begin()
        candidate = Candidate(gamma, alpha)
        # A candidate without a solution is never chosen.
        with suppress(np.linalg.LinAlgError):
            ridge = fit_ridge(alpha)
            scores = ridge.leave_out(K, judged)
            calibration = self._calibrate(scores, judged.Y, judged.weights)
            candidate = Candidate(gamma, alpha, ridge, Calibration(*calibration))
        parameters = f"gamma = {gamma:.4g}, alpha = {alpha:.4g}"
        self._progress.message = (
            f"{n_fitted} samples, {parameters}, loss = {candidate.loss:.6f}"
        )
        self._progress.end()
        return candidate


@dataclass(frozen=True)
class KernelModel:
    """A fitted regression, which also predicts its own samples as if they were left out."""

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
        """Slope of the line from scores to logits."""
        return self.candidate.calibration.slope

    @property
    def fitted(self):
        """Fitted attributes, from which `sums_of_kernels` predicts."""
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

    Both parameters are chosen by the likelihood of samples that are left out, in
    regressions on at most 2 000 samples. More samples seldom need a larger penalty. So if
    all samples are components, the penalty is compared with the next smaller one only. With
    fewer components the penalty is chosen once more among all penalties.

    Parameters
    ----------
    samples : DistinctSamples
        All samples of weight above 0.

    calibrate : callable
        ``calibrate(scores, Y, weights) -> loss, slope, offset``.

    rng : RandomState
        Draws samples, if there are too many to use all.

    progress : Progress
        Reports each pair of parameters that is tried.

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
        Number of samples that are components. None means as many as a minute allows.

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
            "The kernel is too singular for all alphas. Pass larger alphas, or alphas=None."
        )
    return KernelModel(best, samples, components, kernel=kernel, center=center, units=units)


def _choose_components(X, kernel, rng, n_components):
    """Samples that others are compared with; `X` itself if these are all samples.

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
    """Number of components for which a fit takes about a minute."""
    affordable = int(np.sqrt(_OPERATIONS / n_samples))
    return min(max(affordable, _FEWEST_COMPONENTS), _N_EXACT)


def sums_of_kernels(X, fitted, kernel="rbf", out_dtype=np.float64):
    """Outputs of a fitted regression for some samples.

    Samples in single precision are computed in it if three digits after the point are then
    right.
    """
    gamma = fitted["gamma_"]
    dtype = X.dtype
    if dtype == np.float32 and not _is_single_enough(fitted, kernel):
        dtype = np.float64
    components = fitted["components_"].astype(dtype, copy=False)
    coef = fitted["dual_coef_"].astype(dtype, copy=False)
    outputs = np.empty((X.shape[0], coef.shape[1]), dtype=out_dtype)
    for rows in slices(X.shape[0], max(1, _BLOCK_OF_PREDICTIONS // len(coef))):
        block = measured_from(X[rows], fitted["mean_"], fitted["units_"])
        block = block.astype(dtype, copy=False)
        sums = kernel_between(block, components, kernel, gamma) @ coef
        outputs[rows] = sums + fitted["intercept_"]
    return outputs


def _is_single_enough(fitted, kernel):
    """Whether single precision changes no output by more than _MOST_ERROR.

    Squared distances are differences of products. So a Gaussian kernel is off by the
    rounding of the largest product, and a sum of kernels is off by this rounding times the
    coefficients. Samples farther from the center than all components have distances as
    large, and lose no more digits.
    """
    components = fitted["components_"]
    gamma = fitted["gamma_"]
    if kernel != "rbf" or not _SINGLE[0] < gamma < _SINGLE[1]:
        # Features may cancel, or their squares may leave single precision.
        return False
    if sp.issparse(components):
        return True
    lengths = np.einsum("ij,ij->i", components, components)
    rounding = np.finfo(np.float32).eps * (1 + gamma * lengths.max())
    error = rounding * np.linalg.norm(fitted["dual_coef_"], axis=0).max()
    return not error > _MOST_ERROR


def kernel_blocks(n_samples, n_components):
    """Slices of rows whose kernel with all components takes little memory."""
    return slices(n_samples, max(1, _BLOCK // n_components))


def _some_rows(groups, n_wanted, rng):
    """Rows of at least two groups, whole ones unless one has `n_wanted` rows or more."""
    rows = _some_groups(groups, n_wanted, rng)
    is_in_first = groups == groups[rows[0]]
    if not is_in_first[rows].all():
        return rows
    parts = np.flatnonzero(is_in_first), np.flatnonzero(~is_in_first)
    halves = [rng.permutation(part)[: n_wanted // 2] for part in parts]
    return np.sort(np.concatenate(halves))


def _some_groups(groups, n_wanted, rng):
    """Rows of whole groups drawn at random, at most `n_wanted` rows, or of one group."""
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

    Width and penalty are chosen by the squared error of samples left out, in place of the
    likelihood by which KernelRidgeClassifierCV chooses them.

    Attributes
    ----------
    gamma_ : float
        Coefficient of the kernel.

    mean_ : ndarray of shape (n_features,) or None
        Mean of the samples, which is subtracted from all; None if samples are sparse.

    units_ : ndarray or None
        Units of the features.

    components_ : {ndarray, CSR} of shape (n_components, n_features)
        Samples that others are compared with, less the mean and in units.

    dual_coef_ : ndarray of shape (n_components, n_outputs)
        Weight of each component.

    intercept_ : ndarray of shape (n_outputs,)
        Added to the weighted sums of kernels.
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
            Draws samples, if there are too many to use all.

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
