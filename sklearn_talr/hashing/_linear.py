"""Linear hashers that need no labels: random hyperplanes and rotated principal axes."""

import math
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from scipy.linalg import svd
from sklearn.decomposition import PCA

from .._core.compat import Interval, fit_method, independent_random_state
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress
from .._core.state import replace_fitted
from .._core.threads import one_thread
from .._core.types import Any, Rows, Seed, Self
from ..features._scaling import centered, mean_and_unit, without_far_rows
from ._base import BaseHasher, check_features
from ._function import feed_forward

# Alternations of the paper of iterative quantization
_ITQ_ITERATIONS = 50
# A sparse matrix of at most this many cells is made dense as a whole.
_MOST_DENSE_CELLS = 2**24
# First weights are made from at most this many rows and this many cells. Principal
# directions of more rows hardly differ, and the rows are copied and made dense.
_MOST_ROWS = 20_000
_MOST_CELLS = 2**25


@parameters
class _ProjectionHasher(BaseHasher):
    """Signs of one linear projection of centered features."""

    _parameter_constraints = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    n_bits: int = 32
    _: KW_ONLY
    random_state: Seed = None

    @fit_method
    def fit(self, X: Rows, y: Any = None) -> Self:
        """Find the projection.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The fitted hasher.

        Warns
        -----
        ConvergenceWarning
            If Ctrl-C has ended the fit early, which keeps the rotation found by then.
        """
        X, seen = check_features(self, X)
        rng = independent_random_state(self.random_state)
        progress = Progress(self, X, y, self._n_iter, "iteration")
        with one_thread():
            mean, _ = mean_and_unit(X)
            projection = centered_projection(
                X, mean, self._projection, self.n_bits, rng, progress
            )
        fitted = seen | {
            "coefs_": [projection],
            "intercepts_": [np.zeros(self.n_bits)],
            "means_": [mean],
        }
        return replace_fitted(self, progress.finish(fitted))


class LSHHasher(_ProjectionHasher):
    """Random hyperplanes through the mean: locality-sensitive hashing of angles.

    Two samples at an angle differ in a bit with probability angle / pi (Charikar, STOC
    2002, after Goemans and Williamson). Only the mean is learned. These codes are the
    baseline that learned codes must beat.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits, at least 1.

    random_state : int, RandomState instance or None, default=None
        Draws the hyperplanes.

    Attributes
    ----------
    coefs_ : list of one ndarray of shape (n_features, n_bits)
        Normals of the hyperplanes.

    intercepts_ : list of one ndarray of shape (n_bits,)
        Zeros: the mean of the training rows lies on every hyperplane.

    means_ : list of one ndarray of shape (n_features,)
        Mean of the training rows, subtracted first. A few rows far from all others do not
        count.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    ITQHasher : Learns the projection without labels.
    TALRHasher : Learns it for a ranking metric.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import LSHHasher
    >>> X, _ = load_digits(return_X_y=True)
    >>> LSHHasher(n_bits=16, random_state=0).fit_transform(X).shape
    (1797, 16)
    """

    _projection = "random"
    _n_iter = 0


@parameters
class ITQHasher(_ProjectionHasher):
    """Iterative quantization: principal axes, rotated for the least quantization error.

    Gong and Lazebnik, "Iterative Quantization: A Procrustean Approach to Learning Binary
    Codes", CVPR 2011. The original needs at least as many features as bits. Here, if there
    are more bits than features, the rotation has orthonormal rows.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits, at least 1.

    verbose : bool, default=False
        Print the number of each iteration.

    random_state : int, RandomState instance or None, default=None
        Draws the first rotation.

    Attributes
    ----------
    coefs_ : list of one ndarray of shape (n_features, n_bits)
        The projection.

    intercepts_ : list of one ndarray of shape (n_bits,)
        Zeros.

    means_ : list of one ndarray of shape (n_features,)
        Mean of the training rows, subtracted first. A few rows far from all others do not
        count.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    LSHHasher : Random projection.
    TALRHasher : Learns the projection for a ranking metric, starting from this one.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import ITQHasher
    >>> X, _ = load_digits(return_X_y=True)
    >>> ITQHasher(n_bits=16, random_state=0).fit_transform(X).shape
    (1797, 16)
    """

    _projection = "itq"
    _n_iter = _ITQ_ITERATIONS
    _parameter_constraints = {
        **_ProjectionHasher._parameter_constraints,
        "verbose": ["verbose"],
    }

    _: KW_ONLY
    verbose: bool = False


# A projection is made from centered features, the number of bits, a RandomState and perhaps
# a Progress, which is told of iterations. It has directions as columns, shape (n_features,
# n_bits).


def random_projection(X, n_bits, rng, progress=None):
    """Directions drawn from a standard normal distribution."""
    return rng.standard_normal((X.shape[1], n_bits))


def pca_projection(X, n_bits, rng, progress=None):
    """Principal directions; bits beyond their number get random mixtures of them."""
    directions = principal_directions(X, n_bits, rng)
    n_directions = directions.shape[1]
    mixtures = rng.standard_normal((n_directions, n_bits - n_directions))
    mixtures /= np.linalg.norm(mixtures, axis=0)
    return np.hstack([directions, directions @ mixtures])


def itq_projection(X, n_bits, rng, progress=None, *, n_iterations=_ITQ_ITERATIONS):
    """Principal directions, rotated so that rounding to signs has the least error.

    Iterative quantization (Gong and Lazebnik, CVPR 2011) alternates between the codes
    B = sign(V R) and the orthogonal R nearest to them. With more bits than directions R
    has orthonormal rows.
    """
    directions = principal_directions(X, n_bits, rng)
    projected = X @ directions
    rotation = nearest_orthogonal(rng.standard_normal((directions.shape[1], n_bits)))
    with progress or Progress() as progress:
        for _ in progress.over(range(n_iterations)):
            codes = np.where(projected @ rotation > 0, 1.0, -1.0)
            rotation = nearest_orthogonal(projected.T @ codes)
    return directions @ rotation


def centered_projection(X, mean, kind, n_bits, rng, progress=None):
    """Find a projection of the rows minus their mean.

    A sparse matrix is made dense as a whole only if it is small.
    """
    is_sparse = sp.issparse(X)
    if not is_sparse or X.shape[0] * X.shape[1] <= _MOST_DENSE_CELLS:
        X = without_far_rows(X.toarray() if is_sparse else X) - mean
        return PROJECTIONS[kind](X, n_bits, rng, progress)
    if kind == "random":
        return random_projection(X, n_bits, rng)
    n_directions = min(n_bits, min(X.shape) - 1)
    pca = PCA(n_directions, svd_solver="arpack", random_state=rng)
    directions = pca.fit(X).components_.T.astype(np.float64)
    # The reduced rows are dense, and have the same projections as the rows.
    reduced = X @ directions - mean @ directions
    return directions @ PROJECTIONS[kind](reduced, n_bits, rng, progress)


def principal_directions(X, n_most, rng):
    """Leading principal directions of centered rows as columns, `n_most` at most."""
    n_directions = min(n_most, *X.shape)
    return PCA(n_directions, random_state=rng).fit(X).components_.T


def nearest_orthogonal(matrix):
    """The matrix with orthonormal rows, or columns, nearest to a matrix."""
    left, _, right = svd(matrix, full_matrices=False)
    return left @ right


PROJECTIONS = {"itq": itq_projection, "pca": pca_projection, "random": random_projection}


# First weights of layers


def start_weights(features, samples, layer_sizes, n_bits, init, rng):
    """First weights, in units of `features`: random hidden layers, then a projection."""
    n_features = features.X.shape[1]
    samples = drawn_rows(samples, _MOST_ROWS, rng)
    is_large = len(samples) * n_features > _MOST_CELLS
    if is_large and sp.issparse(features.X) and not layer_sizes:
        # Sparse rows stay sparse.
        X = features.X[samples]
        mean = features.scaling.mean
        projection = centered_projection(X, mean, init, n_bits, rng)
        projected = X @ projection - mean @ projection
        scale = np.sqrt(np.mean(projected**2)) or 1.0
        coef = features.scaling.unfold(projection) / scale
        return [coef], [-projected.mean(axis=0) / scale]
    samples = drawn_rows(samples, max(2, _MOST_CELLS // n_features), rng)
    layers = random_layers(n_features, layer_sizes, rng)
    hidden, mean = centered(hidden_units(features.block(samples), *layers))
    projection = PROJECTIONS[init](hidden, n_bits, rng)
    return with_last_layer(hidden, mean, *layers, projection)


def drawn_rows(samples, n_most, rng):
    """The rows if they are few, else `n_most` of them drawn at random; ascending."""
    if len(samples) <= n_most:
        return samples
    return np.sort(rng.choice(samples, n_most, replace=False))


def random_layers(n_inputs, sizes, rng):
    """Draw hidden layers as He et al. (ICCV 2015) do.

    Rows have a mean square length of 1. Each input of a later layer has a mean square of 1.
    """
    coefs = []
    scale = 1.0
    for size in sizes:
        coefs.append(rng.standard_normal((n_inputs, size)) * scale)
        n_inputs = size
        scale = hidden_scale(size)
    return coefs, [np.zeros(size) for size in sizes]


def hidden_units(X, coefs, intercepts):
    """Rows as the last layer takes them, after all hidden layers."""
    return np.maximum(feed_forward(X, coefs, intercepts), 0) if coefs else X


def with_last_layer(X, mean, coefs, intercepts, projection):
    """All layers; activations of centered rows have a mean square of 1."""
    projection = projection / (np.sqrt(np.mean((X @ projection) ** 2)) or 1.0)
    return [*coefs, projection], [*intercepts, -mean @ projection]


def hidden_scale(n_inputs):
    """Standard deviation of first weights that keeps the mean square of hidden units."""
    return math.sqrt(2 / n_inputs)


def steps_of_layers(n_inputs, weight_decay):
    """Factors of the learning rate, and weight decay, for each parameter of layers.

    A layer between hidden ones starts from smaller weights than the first layer does, and
    takes steps that are smaller by the same factor. Intercepts do not decay.
    """
    inner = [hidden_scale(n) for n in n_inputs[1:-1]]
    by_layer = [1.0, *inner, 1.0][: len(n_inputs)]
    return [(rate, decay) for rate in by_layer for decay in (weight_decay, 0.0)]
