"""Rows of features for training: centered and scaled block by block, never as a whole."""

import numpy as np
import scipy.sparse as sp
import torch

from ...losses._door import to_device
from .._rows import row_blocks

_MOST_COPIED = 2**24  # numbers, on the host: 64 MiB


def make_features(X, mean, unit, device, as_they_are=False):
    """Make `Features` of an array, or `DeviceFeatures` of a tensor."""
    of_tensor = isinstance(X, torch.Tensor)
    cls, X = (DeviceFeatures, X.to(device)) if of_tensor else (Features, X)
    return cls(X, mean, unit, device, as_they_are)


class Features:
    """The rows ``(X - mean) / unit`` as float32 tensors on a device.

    Parameters
    ----------
    X : ndarray (also memory-mapped) or CSR of shape (n_samples, n_features)
        Checked features. A centered float32 copy of dense ones is kept where it is small,
        or a CUDA device has room. Others are neither copied nor made dense as a whole.

    mean : ndarray of shape (n_features,) or float
        Subtracted from the rows.

    unit : float
        Divides them.

    device : torch.device
        Where batches go.

    as_they_are : bool, default=False
        Whether rows are ``X`` itself, and mean and unit are only stored.
    """

    def __init__(self, X, mean, unit, device, as_they_are=False):
        self.X = X
        self.as_they_are = as_they_are
        self.mean = mean
        self.unit = unit
        self.device = device
        self._resident = self._copy() if _may_copy(X, device) else None

    def of_rows(self, X):
        """Features of another array, in the same units."""
        return make_features(X, self.mean, self.unit, self.device, self.as_they_are)

    def block(self, rows):
        """Rows, by slice or index array, as a dense float64 array."""
        block = self.X[rows]
        block = block.toarray() if sp.issparse(block) else block
        if self.as_they_are:
            return np.asarray(block, dtype=np.float64)
        block = block - np.float64(self.mean)
        block /= self.unit
        return block

    def batch(self, rows):
        """Rows, by index array, as a float32 tensor on the device."""
        if self._resident is not None:
            return self._resident[to_device(rows, self.device)]
        return to_device(self.block(rows).astype(np.float32), self.device)

    def _copy(self):
        copy = torch.empty(self.X.shape, dtype=torch.float32, device=self.device)
        for rows in row_blocks(self.X):
            copy[rows] = torch.from_numpy(self.block(rows).astype(np.float32))
        return copy


class DeviceFeatures(Features):
    """Features of a tensor that is on the device already, and is not copied."""

    def __init__(self, X, mean, unit, device, as_they_are=False):
        super().__init__(X, mean, unit, device, as_they_are)
        self._mean = torch.as_tensor(mean, dtype=torch.float64, device=device)

    def block(self, rows):
        """Rows, by index array, as a dense float64 array on the host."""
        return self._block(to_device(rows, self.device)).cpu().numpy()

    def batch(self, rows):
        """Rows, by index array, as a float32 tensor on the device."""
        return self._block(to_device(rows, self.device)).float()

    def _block(self, rows):
        block = self.X[rows].double()
        return block if self.as_they_are else (block - self._mean) / self.unit


def _may_copy(X, device):
    if not isinstance(X, np.ndarray):
        return False
    if device.type != "cuda":
        return X.size <= _MOST_COPIED
    return 4 * X.size <= torch.cuda.mem_get_info(device)[0] // 4
