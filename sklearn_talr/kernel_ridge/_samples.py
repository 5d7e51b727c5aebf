"""Distinct samples with weights, so that copies of a sample are left out together."""

from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

_ROWS_PER_BLOCK = 1024
_DIGEST_SIZE = 16  # bytes, with which different rows never agree by chance


class DistinctSamples(NamedTuple):
    """Samples without copies, those of one group beside each other.

    Attributes
    ----------
    X : {ndarray, CSR matrix} of shape (n_distinct, n_features)
        Features.

    Y : ndarray of shape (n_distinct, n_outputs), float64
        Weighted means of the targets of all copies, from 0 to 1.

    weights : ndarray of shape (n_distinct,), float64
        Sums of the weights of all copies, above 0.

    groups : ndarray of shape (n_distinct,), int
        Number of the group of each, in ascending order.

    index : ndarray of shape (n_samples,), int
        Which of them each original sample is; -1 for a sample of weight 0.
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    index: np.ndarray

    def take(self, rows):
        """Some of the samples, in ascending order, without their index."""
        parts = (of_all[rows] for of_all in (self.X, self.Y, self.weights, self.groups))
        return DistinctSamples(*parts, np.arange(len(rows)))


def distinct_samples(X, Y, weights, groups):
    """Merge copies of a sample that are in the same group.

    The sum of squared errors of copies is that of one sample with their mean target and
    the sum of their weights, up to a constant. So the ridge regression stays the same, and
    to leave the merged sample out is to leave out all its copies. Samples come in an order
    that follows from their features alone.
    """
    index = np.full(len(weights), -1)
    counted = np.flatnonzero(weights)
    X, Y, weights = X[counted], Y[counted], weights[counted]
    keys = _row_keys(X)
    if groups is not None:
        numbers = np.unique(groups[counted], return_inverse=True)[1]
        keys += len(keys) * numbers  # samples of one group beside each other
    _, first, positions = np.unique(keys, return_index=True, return_inverse=True)
    index[counted] = positions
    total = np.bincount(positions, weights)
    members = sp.csr_matrix((weights, (positions, np.arange(len(keys)))))
    Y = (members @ Y) / total[:, None]
    groups = np.arange(len(first)) if groups is None else numbers[first]
    return DistinctSamples(X[first], Y, total, groups, index)


def _row_keys(X):
    """Numbers of rows, equal where values are, however these are stored."""
    digests = []
    for rows in gen_batches(X.shape[0], _ROWS_PER_BLOCK):
        part = sp.csr_array(X[rows], copy=True)
        part.sum_duplicates()
        part.eliminate_zeros()
        places, values = part.indices.astype(np.int64), part.data.astype(np.float64)
        for start, end in pairwise(part.indptr):
            row = places[start:end].tobytes() + values[start:end].tobytes()
            digests.append(blake2b(row, digest_size=_DIGEST_SIZE).digest())
    digests = np.array(digests, dtype=(np.void, _DIGEST_SIZE))
    return np.unique(digests, return_inverse=True)[1]
