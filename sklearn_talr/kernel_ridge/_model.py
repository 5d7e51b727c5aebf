"""One fit: choose the kernel coefficient and the penalty, then solve for all samples."""

from contextlib import suppress
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

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


def fit_model(
    samples,
    calibrate,
    rng,
    progress,
    kernel="rbf",
    units=None,
    gammas=None,
    alphas=None,
    n_components=None,
):
    """Choose the parameters and fit all samples.

    Both parameters are chosen by the likelihood of samples that were left out of a
    regression on 2 000 of them at most. More samples seldom need a larger penalty, so
    that one is compared with the next smaller one where all samples are components. With
    fewer components the penalty is chosen once more among all.

    Parameters
    ----------
    samples : DistinctSamples
        All samples of weight above 0.

    calibrate : callable
        ``calibrate(scores, Y, weights) -> loss, slope, offset``.

    rng : RandomState
        Draws samples, where there are too many to use all.

    progress : Progress
        Told of each pair of parameters that is tried.

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
    model : SimpleNamespace
        ``gamma``, ``alpha`` and ``slope``; ``fitted``, attributes by which
        `sums_of_kernels` predicts; and ``leave_out() -> outputs`` of samples that were left
        out.

    Raises
    ------
    ValueError
        If no penalty has a solution.
    """
    center = center_of(samples.X, kernel)
    samples = samples._replace(X=measured_from(samples.X, center, units))
    X, n_samples = samples.X, len(samples.Y)
    gammas = typical_gammas(X, kernel, rng) if gammas is None else gammas

    def kernel_with(X, components, gamma, dtype=np.float64):
        both = (each.astype(dtype, copy=False) for each in (X, components))
        return kernel_between(*both, kernel, gamma)

    def judge(regression, gamma, alpha, K, judged, n_fitted):
        """A regression, and how likely targets are that were left out."""
        progress.begin()
        found = SimpleNamespace(loss=np.inf, gamma=gamma, alpha=alpha)
        with suppress(np.linalg.LinAlgError):  # without a solution it is never chosen
            found.ridge = regression(alpha)
            how = found.ridge.leave_out(K, judged), judged.Y, judged.weights
            found.loss, found.slope, found.offset = calibrate(*how)
        point = f"gamma = {gamma:.4g}, alpha = {alpha:.4g}"
        progress.told = f"{n_fitted} samples, {point}, loss = {found.loss:.6f}"
        progress.end()
        return found

    def judge_exact(gamma, alpha, K, samples):
        how = gamma, alpha, K, samples, len(samples.Y)
        return judge(partial(ExactRidge, K, samples, in_single=in_single), *how)

    # Both parameters, by some samples. Penalties are in units of the mean of the diagonal
    # of the weighted and centered kernel.
    some, kernels = samples.take(_some_rows(samples.groups, _N_SEARCHED, rng)), {}
    in_single = n_samples > _N_SEARCHED  # then these are not the fit
    keeps_single = in_single and kernel == "rbf" and X.dtype == np.float32

    def evaluate(point):
        gamma = gammas[point[0]]
        if gamma not in kernels:
            single = keeps_single and _SINGLE[0] < gamma < _SINGLE[1]
            dtype = np.float32 if single else np.float64
            K = kernel_with(some.X, some.X, gamma, dtype)
            weights, diagonal = some.weights, np.diag(K)
            share = weights / weights.sum()
            means = share @ K
            variance = float(np.mean(weights * (diagonal - 2 * means + share @ means)))
            if variance <= _ROUNDING * np.mean(weights * diagonal):
                raise ValueError(
                    f"X has {X.shape[1]} feature(s), of which kernel={kernel!r} makes no "
                    "difference between samples. Take kernel='rbf', or other gammas."
                )
            kernels[gamma] = K, _ALPHAS * variance if alphas is None else alphas
        K, penalties = kernels[gamma]
        return judge_exact(gamma, penalties[point[1]], K, some)

    sizes = len(gammas), len(_ALPHAS if alphas is None else alphas)
    start = sizes[0] // 2, min(_FIRST_ALPHA, sizes[1] - 1)
    (_, place), best = climb(evaluate, start, sizes)
    gamma, (_, penalties) = best.gamma, kernels[best.gamma]
    kernels.clear()
    # The penalty once more, by all samples.
    n_used, n_features = n_components or affordable_components(n_samples), X.shape[1]
    few_features = kernel != "rbf" and n_features <= min(n_samples, _N_EXACT)
    components = X
    if n_components is None and few_features:
        components = np.eye(n_features)
        if sp.issparse(X):
            components = sp.eye_array(n_features, format="csr")
    elif n_used < n_samples:
        components = X[np.sort(rng.choice(n_samples, n_used, replace=False))]
    if components is not X:
        all_rows = kernel_blocks(n_samples, components.shape[0])
        blocks = ((rows, kernel_with(X[rows], components, gamma)) for rows in all_rows)
        gram = Gram(blocks, samples, kernel_with(components, components, gamma))
        judged = samples.take(_some_groups(samples.groups, _N_JUDGED, rng))
        how = kernel_with(judged.X, components, gamma), judged, n_samples

        def evaluate_all(point):
            return judge(partial(ComponentRidge, gram), gamma, penalties[point[0]], *how)

        _, best = climb(evaluate_all, (place,), (len(penalties),))
    elif n_samples > _N_SEARCHED:
        how = kernel_with(X, X, gamma), samples
        least = max(0, place - 1)
        fits = (judge_exact(gamma, each, *how) for each in penalties[least : place + 1])
        best = min(fits, key=lambda found: found.loss)
        while not np.isfinite(best.loss) and place + 1 < len(penalties):  # too singular
            place += 1
            best = judge_exact(gamma, penalties[place], *how)
    if not np.isfinite(best.loss):
        raise ValueError(
            "The kernel is too singular for all alphas. Pass larger alphas, or leave them "
            "to alphas=None."
        )

    # A function that knew the model would keep it from being freed.
    ridge, slope, offset = best.ridge, best.slope, best.offset

    def leave_out():
        if components is X:
            return slope * ridge.left_out + offset
        scores = np.empty(samples.Y.shape)
        for rows in _whole_groups(samples.groups, len(ridge.coef)):
            part = samples.take(rows)
            scores[rows] = ridge.leave_out(kernel_with(part.X, components, gamma), part)
        return slope * scores + offset

    best.leave_out = leave_out
    best.fitted = {
        "gamma_": float(gamma),
        "mean_": center,
        "units_": units,
        "components_": components,
        "dual_coef_": slope * ridge.coef,
        "intercept_": slope * ridge.intercept + offset,
    }
    return best


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
