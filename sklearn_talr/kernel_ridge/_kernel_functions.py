"""Kernels by name, and coefficients that suit the distances of the samples at hand."""

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels

__all__ = [
    "KERNELS",
    "WITHOUT_GAMMA",
    "center_of",
    "kernel_between",
    "measured_from",
    "typical_gammas",
]

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
