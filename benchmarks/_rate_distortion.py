"""What the theory of rate and distortion says of rows with known principal variances.

`water_level` and `test_channel` are those of independent normal components: no code of so
many bits has a lower mean squared error when rows are normal and coded many at a time. Real
rows are no such rows: they have clusters, and codes may find more than the reference says.
"""

import numpy as np
from _scalar_codes import lloyd_max_error

MOST_BITS = 8  # of a component


def principal_axes(X):
    """Variances and axes of the principal components, the largest first.

    Rows are centered already: the second moments are their covariance.
    """
    variances, axes = np.linalg.eigh(np.asarray(X.T @ X, np.float64) / len(X))
    return np.maximum(variances[::-1], 0), np.ascontiguousarray(axes[:, ::-1], X.dtype)


def water_level(variances, n_bits):
    """Level with sum of max(0, log2(variance / level) / 2) = n_bits; variances descend."""
    positive = variances[variances > 0]
    counts = np.arange(1, len(positive) + 1)
    levels = np.exp2((np.cumsum(np.log2(positive)) - 2 * n_bits) / counts)
    # With k components over water the level is below the k-th, not below the next
    n_over = np.flatnonzero(levels < positive)[-1]
    return levels[n_over]


def test_channel(Z, variances, n_bits, rng):
    """Components as the best code would return them: shrunk, and with noise."""
    kept = 1 - np.minimum(water_level(variances, n_bits) / np.maximum(variances, 1e-30), 1)
    noise = rng.standard_normal(Z.shape, dtype=np.float32)
    return Z * kept + noise * np.sqrt(kept * (1 - kept) * variances)


def allocated_bits(variances, n_bits):
    """Whole bits of each component: each bit goes where it removes most squared error."""
    errors = np.array([lloyd_max_error(b) for b in range(MOST_BITS + 1)])
    gains = np.append(errors[:-1] - errors[1:], 0)
    widths = np.zeros(len(variances), int)
    for _ in range(min(n_bits, MOST_BITS * len(widths))):
        widths[np.argmax(variances * gains[widths])] += 1
    return widths
