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
residuals of samples g that have been left out are those of all samples, multiplied by the
inverse of the rows and columns g of I - H.
"""

import numpy as np
from scipy.linalg import cho_solve, cholesky, get_lapack_funcs, solve_triangular

from .._core.threads import slices

_ROWS_AT_A_TIME = 256
_LEAST_IN_SINGLE = 0.01  # of alpha, in relation to the diagonal of the kernel
_SMALL_STEP = 1e-6  # of refinement, in relation to what it refines
_JITTER = 1e-10  # of the mean diagonal, where components are nearly dependent


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
        is small. The weights are then refined to double precision, and `left_out` is good
        to three digits. What single precision cannot solve, double precision does.

    Attributes
    ----------
    coef : ndarray of shape (n_samples, n_outputs)
        Weights of the kernel with each sample.

    intercept : ndarray of shape (n_outputs,)
        Added to their sum.

    left_out : ndarray of shape (n_samples, n_outputs)
        Predictions for each sample by a regression without its group.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the kernel is too singular for `alpha`.
    """

    def __init__(self, K, samples, alpha, in_single=False):
        total = samples.weights.sum()
        s, share = np.sqrt(samples.weights), samples.weights / total
        column_means, mean = share @ K, share @ samples.Y
        middle, targets = share @ column_means, s[:, None] * (samples.Y - mean)

        def weighted(rows):
            """Rows of the weighted and centered kernel."""
            A = K[rows] - column_means
            A -= column_means[rows, None]
            A += middle
            A *= s[rows, None]
            A *= s
            return A

        size = float(np.mean(samples.weights * np.diag(K)))
        in_single &= alpha > _LEAST_IN_SINGLE * size  # or left_out would lose digits
        for dtype in (np.float32, np.float64)[not in_single :]:
            A = np.empty(K.shape, dtype)
            unit = alpha + size if in_single else 1.0  # whatever the size of the kernel
            for rows in slices(len(K), _ROWS_AT_A_TIME):
                A[rows] = weighted(rows) / unit
            A[np.diag_indices_from(A)] += dtype(alpha / unit)
            # Inverse of L, where A = L L'; other memory than that of A is not needed.
            try:
                L = cholesky(A.T, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                if dtype == np.float64:
                    raise
                continue
            half = get_lapack_funcs("trtri", (L,))(L, lower=1, overwrite_c=1)[0]

            def solve(right, half=half, unit=unit):
                right = right.astype(half.dtype)
                return (half.T @ (half @ right)).astype(np.float64) / unit

            beta = solve(targets)
            if dtype == np.float64:
                break
            for _ in range(2):  # in double precision again
                weights = s[:, None] * beta
                total_weights = weights.sum(axis=0)
                product = K @ weights - column_means @ weights
                product -= column_means[:, None] * total_weights - middle * total_weights
                step = solve(targets - s[:, None] * product - alpha * beta)
                beta += step
            if np.abs(step).max() <= _SMALL_STEP * np.abs(beta).max():
                break
        half *= dtype(np.sqrt(alpha / unit))
        u = s / np.sqrt(total)
        residuals = _without_groups(alpha * beta, samples.groups, half, u, sign=1)
        self.left_out = samples.Y - residuals / s[:, None]
        self.coef = s[:, None] * beta
        self.intercept = mean - column_means @ self.coef

    def leave_out(self, K, samples):
        """Predict the samples of the fit by regressions without their groups."""
        return self.left_out


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

    With :math:`K'K + a P = R R'`, rows of :math:`K R'^{-1}` have the products of H, but for
    that of the intercept.

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
        Added to their sum.

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
    -1. A group of one divides by its diagonal, others solve equations of their size.
    """
    start_of = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    sizes = np.diff(np.r_[start_of, len(groups)])
    squares = np.einsum("ij,ij->j", half, half, dtype=np.float64, casting="same_kind")
    diagonal = sign * squares - u * u + (sign < 0)
    left_out = residuals / diagonal[:, None]
    for start, size in zip(start_of[sizes > 1], sizes[sizes > 1], strict=True):
        rows = slice(start, start + size)
        block = sign * half[:, rows].T @ half[:, rows] - np.outer(u[rows], u[rows])
        block[np.diag_indices_from(block)] += sign < 0
        left_out[rows] = np.linalg.solve(block, residuals[rows])
    return left_out
