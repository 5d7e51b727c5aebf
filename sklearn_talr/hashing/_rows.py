"""Facts about rows of features, found a block at a time."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis

_CELLS_PER_BLOCK = 2**22


def mean_and_unit(X):
    """Mean of the rows, and the root mean square norm of the rows minus their mean."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        return mean.astype(np.float64), float(np.sqrt(variance.sum(dtype=np.float64)))
    if not isinstance(X, np.ndarray):
        return _mean_and_unit_of_tensor(X)
    mean = X.mean(axis=0, dtype=np.float64)
    total = 0.0
    for rows in row_blocks(X):
        block = X[rows] - mean
        total += np.einsum("ij,ij->", block, block)
    return mean, float(np.sqrt(total / len(X)))


def _mean_and_unit_of_tensor(X):
    """Mean and unit of a torch tensor, as `mean_and_unit`, computed on its device."""
    total = sum(X[rows].double().sum(0) for rows in row_blocks(X))
    mean = total / len(X)
    squares = sum((X[rows] - mean).square().sum() for rows in row_blocks(X))
    return mean.cpu().numpy(), float((squares / len(X)).sqrt())


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
