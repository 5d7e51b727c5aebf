"""Centring of features, and the units in which they are trained on."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._core.validation import as_numpy
from ._similar_rows import in_units, most_rows, units_of_features

# Numbers of rows that are centered at a time: 32 MiB in float64.
_CELLS_PER_BLOCK = 2**22
# Rows are far from all others beyond so many times the median distance to the mean.
_FAR_DISTANCE = 10
# More rows than this share are a group of their own, and move the mean rightly.
_MAX_SHARE_OF_FAR_ROWS = 0.01
# Below this variance, and above its inverse, float32 loses digits.
_LEAST_VARIANCE = 1e-30


@dataclass(frozen=True)
class Scaling:
    """How features are centered, and in which units they are trained on.

    Rows become ``(row - mean) / unit``, or ``(row - mean) @ unit`` if the unit is a matrix.
    """

    mean: np.ndarray | float  # (n_features,), or one number for all features
    unit: np.ndarray | float  # one for all; (n_features,); (n_features, n_features)

    @classmethod
    def from_rows(cls, X, samples, similar):
        """Center rows, and choose units in which their mean square length is about 1.

        Parameters
        ----------
        X : {ndarray, CSR, tensor} of shape (n_samples, n_features)
            Features; their mean is that of all rows.

        samples : ndarray of int
            Rows that may be looked at for the units.

        similar : SimilarRows or None
            Who is similar to whom, by which units are chosen; None: all columns have one
            unit.
        """
        mean, unit = mean_and_unit(X)
        units = None if similar is None else units_of_features(X, samples, similar)
        if units is None:
            return cls(mean, unit)
        rows = as_numpy(X[samples[: most_rows(X)]])
        _, length = mean_and_unit(in_units(rows, units))
        return cls(mean, units * length if units.ndim == 1 else units / length)

    def apply(self, rows):
        """Rows, (n_rows, n_features), centered and in units."""
        return in_units(rows - np.float64(self.mean), self.unit)

    def fold(self, coef):
        """Weights of the features that give what weights of centered, scaled rows give."""
        if np.ndim(self.unit) == 2:
            return self.unit @ coef
        return coef / np.asarray(self.unit)[..., None]

    def unfold(self, coef):
        """Weights of centered, scaled rows that give what weights of the features give."""
        if np.ndim(self.unit) == 2:
            return np.linalg.solve(self.unit, coef)
        return coef * np.asarray(self.unit)[..., None]


def mean_and_unit(X):
    """Mean of the rows, and the root mean square norm of the rows minus their mean.

    Few rows that are far from all others do not count, if they are dense and in NumPy.
    """
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        if not _LEAST_VARIANCE < variance.max() < 1 / _LEAST_VARIANCE:
            mean, variance = mean_variance_axis(X.astype(np.float64), axis=0)
        return mean.astype(np.float64), float(np.sqrt(variance.sum(dtype=np.float64)))
    if not isinstance(X, np.ndarray):
        # A torch tensor stays on its device.
        mean = sum(X[rows].double().sum(0) for rows in row_blocks(X)) / len(X)
        squares = sum((X[rows] - mean).square().sum() for rows in row_blocks(X))
        return mean.cpu().numpy(), float((squares / len(X)).sqrt())
    X = without_far_rows(X)
    mean = X.mean(axis=0, dtype=np.float64)
    blocks = (X[rows] - mean for rows in row_blocks(X))
    total = sum(np.einsum("ij,ij->", block, block) for block in blocks)
    return mean, float(np.sqrt(total / len(X)))


def without_far_rows(X):
    """Dense rows, but for few so far away that they move the mean, such as one of -9999."""
    mean = X.mean(axis=0, dtype=np.float64)
    distances = np.concatenate(
        [np.linalg.norm(X[rows] - mean, axis=1) for rows in row_blocks(X)]
    )
    typical = np.median(distances)
    is_far = distances > _FAR_DISTANCE * typical
    moves = distances[is_far].sum() > typical * len(X) / 2
    are_few = is_far.sum() <= max(1, _MAX_SHARE_OF_FAR_ROWS * len(X))
    return X[~is_far] if moves and are_few else X


def all_rows_equal(X):
    """Whether no two rows differ."""
    if sp.issparse(X):
        return (X.max(axis=0) != X.min(axis=0)).nnz == 0
    return all(bool((X[rows] == X[0]).all()) for rows in row_blocks(X))


def centered(X):
    """Return the rows minus their mean in float64, and the mean."""
    mean = X.mean(axis=0, dtype=np.float64)
    return X - mean, mean


def row_blocks(X):
    """Slices of consecutive rows that bound the memory of a float64 copy."""
    return gen_batches(X.shape[0], max(1, _CELLS_PER_BLOCK // X.shape[1]))
