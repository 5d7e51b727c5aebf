"""Linear projections whose signs are codes: random, principal, and rotated (ITQ).

Each function takes centered features, the number of bits and a RandomState. It returns
directions as columns, shape (n_features, n_bits).
"""

import numpy as np
from scipy.linalg import svd
from sklearn.decomposition import PCA

_ITQ_ITERATIONS = 50  # as in the paper
_MOST_DENSE_CELLS = 2**24  # of a sparse matrix that is made dense as a whole


def random_projection(X, n_bits, rng):
    """Directions drawn from a standard normal distribution."""
    return rng.standard_normal((X.shape[1], n_bits))


def pca_projection(X, n_bits, rng):
    """Principal directions; bits beyond their number get random mixtures of them."""
    directions = _principal_directions(X, n_bits, rng)
    n_directions = directions.shape[1]
    mixtures = rng.standard_normal((n_directions, n_bits - n_directions))
    mixtures /= np.linalg.norm(mixtures, axis=0)
    return np.hstack([directions, directions @ mixtures])


def itq_projection(X, n_bits, rng):
    """Principal directions, rotated so that rounding to signs loses least.

    Iterative quantization (Gong and Lazebnik, CVPR 2011) alternates between the codes
    B = sign(V R) and the orthogonal R nearest to them. With more bits than directions R
    has orthonormal rows.
    """
    directions = _principal_directions(X, n_bits, rng)
    projected = X @ directions
    rotation = _nearest_orthogonal(rng.standard_normal((directions.shape[1], n_bits)))
    for _ in range(_ITQ_ITERATIONS):
        codes = np.where(projected @ rotation > 0, 1.0, -1.0)
        rotation = _nearest_orthogonal(projected.T @ codes)
    return directions @ rotation


def sparse_projection(X, mean, kind, n_bits, rng):
    """Find a projection of the rows of a CSR matrix minus their mean.

    The matrix is made dense as a whole only if it is small.
    """
    if X.shape[0] * X.shape[1] <= _MOST_DENSE_CELLS:
        return PROJECTIONS[kind](X.toarray() - mean, n_bits, rng)
    if kind == "random":
        return random_projection(X, n_bits, rng)
    n_directions = min(n_bits, min(X.shape) - 1)
    pca = PCA(n_directions, svd_solver="arpack", random_state=rng)
    directions = pca.fit(X).components_.T.astype(np.float64)
    reduced = X @ directions - mean @ directions  # dense, and has the same projections
    return directions @ PROJECTIONS[kind](reduced, n_bits, rng)


def _principal_directions(X, n_bits, rng):
    n_directions = min(n_bits, *X.shape)
    return PCA(n_directions, random_state=rng).fit(X).components_.T


def _nearest_orthogonal(matrix):
    left, _, right = svd(matrix, full_matrices=False)
    return left @ right


PROJECTIONS = {
    "itq": itq_projection,
    "pca": pca_projection,
    "random": random_projection,
}
