r"""Ridge regression with a kernel, and its residuals when samples are left out.

=========== ============================================================================
symbol      meaning
=========== ============================================================================
Y           targets, a row for each sample; y their weighted mean
s           square roots of the weights of samples; u = s / \|s\|
K           kernel between samples and components, weighted column means subtracted
P           kernel between components, the penalty of coefficients
a           `alpha`, the weight of the penalty
H           hat matrix: fitted values times s = H (Y times s)
=========== ============================================================================

Fitted values minimize the sum of weighted squared errors, plus the penalty. Weighting rows
by s makes H symmetric and the intercept the projection on u. For any such smoother, the
residuals of samples g that have been left out are the residuals of the fit of all samples,
multiplied by the inverse of the rows and columns g of I - H.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, get_lapack_funcs, solve_triangular

from .._core.threads import slices

_ROWS_AT_A_TIME = 256
# With a smaller alpha, relative to the diagonal of the kernel, predictions of samples left
# out lose digits in single precision.
_LEAST_IN_SINGLE = 0.01
# Refinement has converged if its step is at most this large, relative to the solution.
_SMALL_STEP = 1e-6
# This share of the mean diagonal is added to it, since components may be nearly dependent.
_JITTER = 1e-10


class ExactRidge:
    """A regression whose components are the samples themselves.

    Here :math:`I - H = a (K + a I)^{-1} - u u'`, K weighted by s on both sides and
    centered, and weighted residuals are a times the solution.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples), float64
        Kernel of the samples. It is not changed.

    samples : DistinctSamples
        Targets, weights and groups.

    alpha : float
        Weight of the penalty.

    in_single : bool, default=False
        Whether equations are solved in single precision, in half the time, unless `alpha`
        is small. The weights are then refined to double precision, and `left_out` has three
        right digits. If single precision finds no solution, double precision is used.

    Attributes
    ----------
    coef : ndarray of shape (n_samples, n_outputs)
        Weights of the kernel with each sample.

    intercept : ndarray of shape (n_outputs,)
        Added to the sum of weighted kernels.

    left_out : ndarray of shape (n_samples, n_outputs)
        Predictions for each sample by a regression without its group.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the kernel is too singular for `alpha`.
    """

    def __init__(self, K, samples, alpha, in_single=False):
        kernel = _CenteredKernel.from_kernel(K, samples.weights)
        target_mean = kernel.shares @ samples.Y
        targets = kernel.s[:, None] * (samples.Y - target_mean)
        size = float(np.mean(samples.weights * np.diag(K)))
        in_single &= alpha > _LEAST_IN_SINGLE * size
        # Single precision holds the kernel, whatever its size, divided by this unit.
        unit = alpha + size if in_single else 1.0
        solution = None
        if in_single:
            solution = _solve_in_single(kernel, targets, alpha, unit)
        if solution is None:
            factor = _InverseFactor.from_kernel(kernel, alpha, unit, np.float64)
            solution = _Solution(factor, factor.solve(targets))
        half = solution.factor.half
        half *= half.dtype.type(np.sqrt(alpha / unit))
        u = kernel.s / np.sqrt(samples.weights.sum())
        residuals = alpha * solution.beta
        residuals = _without_groups(residuals, samples.groups, half, u, sign=1)
        self.left_out = samples.Y - residuals / kernel.s[:, None]
        self.coef = kernel.s[:, None] * solution.beta
        self.intercept = target_mean - kernel.column_means @ self.coef

    def leave_out(self, K, samples):
        """Predict the samples of the fit by regressions without their groups."""
        return self.left_out


class _CenteredKernel(NamedTuple):
    """A kernel of samples, to be centered and weighted by s on both sides."""

    K: np.ndarray  # (n_samples, n_samples), as it was passed
    s: np.ndarray  # (n_samples,), square roots of the weights
    shares: np.ndarray  # (n_samples,), weights whose sum is 1
    column_means: np.ndarray  # (n_samples,), weighted means
    mean: float  # weighted mean of the column means

    @classmethod
    def from_kernel(cls, K, weights):
        """Find the means of a kernel."""
        shares = weights / weights.sum()
        column_means = shares @ K
        return cls(K, np.sqrt(weights), shares, column_means, shares @ column_means)

    def rows(self, rows):
        """Rows of the weighted and centered kernel."""
        A = self.K[rows] - self.column_means
        A -= self.column_means[rows, None]
        A += self.mean
        A *= self.s[rows, None]
        A *= self.s
        return A

    def times(self, beta):
        """The product of the weighted and centered kernel with some vectors."""
        weights = self.s[:, None] * beta
        sums = weights.sum(axis=0)
        product = self.K @ weights - self.column_means @ weights
        product -= self.column_means[:, None] * sums - self.mean * sums
        return self.s[:, None] * product


class _InverseFactor(NamedTuple):
    """The inverse of L, where L L' is the kernel plus alpha, divided by a unit."""

    half: np.ndarray  # (n_samples, n_samples)
    unit: float

    @classmethod
    def from_kernel(cls, kernel, alpha, unit, dtype):
        """Factor a weighted and centered kernel, in the memory of one matrix."""
        A = np.empty(kernel.K.shape, dtype)
        for rows in slices(len(A), _ROWS_AT_A_TIME):
            A[rows] = kernel.rows(rows) / unit
        A[np.diag_indices_from(A)] += dtype(alpha / unit)
        L = cholesky(A.T, lower=True, overwrite_a=True, check_finite=False)
        invert = get_lapack_funcs("trtri", (L,))
        return cls(invert(L, lower=1, overwrite_c=1)[0], unit)

    def solve(self, right):
        """Solve the equations with some right sides, to double precision at most."""
        right = right.astype(self.half.dtype)
        return (self.half.T @ (self.half @ right)).astype(np.float64) / self.unit


class _Solution(NamedTuple):
    """The equations of a regression, solved."""

    factor: _InverseFactor
    beta: np.ndarray  # (n_samples, n_outputs)


def _solve_in_single(kernel, targets, alpha, unit):
    """Solve in single precision and refine the solution; None if that does not converge."""
    try:
        factor = _InverseFactor.from_kernel(kernel, alpha, unit, np.float32)
    except np.linalg.LinAlgError:
        return None
    beta = factor.solve(targets)
    for _ in range(2):
        # The residual is computed in double precision, and the step to it in single.
        step = factor.solve(targets - kernel.times(beta) - alpha * beta)
        beta += step
    has_converged = np.abs(step).max() <= _SMALL_STEP * np.abs(beta).max()
    return _Solution(factor, beta) if has_converged else None


class Gram:
    """Sums over all samples that a regression on fewer components follows from.

    Parameters
    ----------
    blocks : iterable of (slice, ndarray of shape (n_rows, n_components), float64)
        Rows of samples, and their kernel with the components.

    samples : DistinctSamples
        Targets and weights.

    penalty : ndarray of shape (n_components, n_components)
        Kernel of the components.
    """

    def __init__(self, blocks, samples, penalty):
        self.penalty = penalty
        self.total_weight = samples.weights.sum()
        self.target_mean = samples.weights @ samples.Y / self.total_weight
        self.products = np.zeros(penalty.shape)
        self.targets = np.zeros((len(penalty), samples.Y.shape[1]))
        sums = np.zeros(len(penalty))
        for rows, K in blocks:
            s = np.sqrt(samples.weights[rows])
            K = K * s[:, None]
            self.products += K.T @ K
            self.targets += K.T @ (s[:, None] * (samples.Y[rows] - self.target_mean))
            sums += s @ K
        self.kernel_mean = sums / self.total_weight
        self.products -= self.total_weight * np.outer(self.kernel_mean, self.kernel_mean)


class ComponentRidge:
    """A regression on the kernel with some components.

    With :math:`K'K + a P = R R'`, products of the rows of :math:`K R'^{-1}` are H, without
    the part of the intercept.

    Parameters
    ----------
    gram : Gram
        Sums over all samples.

    alpha : float
        Weight of the penalty.

    Attributes
    ----------
    coef : ndarray of shape (n_components, n_outputs)
        Weights of the kernel with each component.

    intercept : ndarray of shape (n_outputs,)
        Added to the sum of weighted kernels.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the kernel is too singular for `alpha`.
    """

    def __init__(self, gram, alpha):
        M = gram.products + alpha * gram.penalty
        M[np.diag_indices_from(M)] += _JITTER * np.trace(M) / len(M)
        self._factor = cholesky(M, lower=True, overwrite_a=True, check_finite=False)
        self._gram = gram
        self.coef = cho_solve((self._factor, True), gram.targets, check_finite=False)
        self.intercept = gram.target_mean - gram.kernel_mean @ self.coef

    def leave_out(self, K, samples):
        """Predict samples by regressions without their groups.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_components), float64
            Kernel of some of the samples, of groups that are whole, with the components.

        samples : DistinctSamples
            These samples.

        Returns
        -------
        left_out : ndarray of shape (n_samples, n_outputs)
            The predictions.
        """
        s = np.sqrt(samples.weights)[:, None]
        half = (s * (K - self._gram.kernel_mean)).T
        half = solve_triangular(
            self._factor, half, lower=True, overwrite_b=True, check_finite=False
        )
        residuals = s * (samples.Y - self.intercept - K @ self.coef)
        u = s[:, 0] / np.sqrt(self._gram.total_weight)
        residuals = _without_groups(residuals, samples.groups, half, u, sign=-1)
        return samples.Y - residuals / s


def _without_groups(residuals, groups, half, u, sign):
    """Weighted residuals of regressions without the group of each sample.

    I - H is ``half' half - u u'`` if `sign` is 1, and ``I - half' half - u u'`` if it is
    -1. The residual of a group of one is divided by the diagonal. Larger groups solve
    equations of their size.
    """
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    sizes = np.diff(np.r_[starts, len(groups)])
    squares = np.einsum("ij,ij->j", half, half, dtype=np.float64, casting="same_kind")
    diagonal = sign * squares - u * u + (sign < 0)
    left_out = residuals / diagonal[:, None]
    for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
        rows = slice(start, start + size)
        block = sign * half[:, rows].T @ half[:, rows] - np.outer(u[rows], u[rows])
        block[np.diag_indices_from(block)] += sign < 0
        left_out[rows] = np.linalg.solve(block, residuals[rows])
    return left_out
