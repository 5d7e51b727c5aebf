"""Distinct samples with weights, so that copies of a sample are left out together."""

from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

_ROWS_PER_BLOCK = 1024
# Bytes of a digest; with this many, different rows never agree by chance.
_DIGEST_SIZE = 16


class DistinctSamples(NamedTuple):
    """Samples without copies, sorted by their groups.

    Attributes
    ----------
    X : {ndarray, CSR matrix} of shape (n_distinct, n_features)
        Features.

    Y : ndarray of shape (n_distinct, n_outputs), float64
        Weighted means of the targets of all copies, from 0 to 1.

    weights : ndarray of shape (n_distinct,), float64
        Sums of the weights of all copies, above 0.

    groups : ndarray of shape (n_distinct,), int
        Number of the group of each distinct sample, in ascending order.

    index : ndarray of shape (n_samples,), int
        Place of each original sample among the distinct ones; -1 for one of weight 0.
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    index: np.ndarray

    def take(self, rows):
        """Some of the samples, in ascending order, without their index."""
        return DistinctSamples(
            X=self.X[rows],
            Y=self.Y[rows],
            weights=self.weights[rows],
            groups=self.groups[rows],
            index=np.arange(len(rows)),
        )


def distinct_samples(X, Y, weights, groups):
    """Merge copies of a sample that are in the same group.

    The sum of squared errors of copies is, up to a constant, the error of one sample with
    their mean target and the sum of their weights. So the ridge regression stays the same,
    and leaving out the merged sample leaves out all its copies. The order of the samples
    follows from their features alone.
    """
    index = np.full(len(weights), -1)
    counted = np.flatnonzero(weights)
    X = X[counted]
    Y = Y[counted]
    weights = weights[counted]
    keys = _row_keys(X)
    if groups is not None:
        # Keys ascend by group first, so samples are sorted by their groups.
        numbers = np.unique(groups[counted], return_inverse=True)[1]
        keys += len(keys) * numbers
    _, first, positions = np.unique(keys, return_index=True, return_inverse=True)
    index[counted] = positions
    total = np.bincount(positions, weights)
    members = sp.csr_matrix((weights, (positions, np.arange(len(keys)))))
    Y = (members @ Y) / total[:, None]
    groups = np.arange(len(first)) if groups is None else numbers[first]
    return DistinctSamples(X[first], Y, total, groups, index)


def _row_keys(X):
    """Numbers of rows, which are equal if the values are, however these are stored."""
    digests = []
    for rows in gen_batches(X.shape[0], _ROWS_PER_BLOCK):
        part = sp.csr_array(X[rows], copy=True)
        part.sum_duplicates()
        part.eliminate_zeros()
        columns = part.indices.astype(np.int64)
        values = part.data.astype(np.float64)
        for start, end in pairwise(part.indptr):
            row = columns[start:end].tobytes() + values[start:end].tobytes()
            digests.append(blake2b(row, digest_size=_DIGEST_SIZE).digest())
    digests = np.array(digests, dtype=(np.void, _DIGEST_SIZE))
    return np.unique(digests, return_inverse=True)[1]
