"""Libraries of arrays that results in NumPy are held against."""

from importlib import import_module

import numpy as np
import pytest
import torch
from sklearn import __version__ as sk_version
from sklearn.utils.fixes import parse_version


class Library:
    """A library of arrays on one of its devices.

    Parameters
    ----------
    name : str
        Of the module.

    device : str
        Name of the device.
    """

    def __init__(self, name, device):
        self.name, self._device = name, device

    def array(self, values, dtype=None):
        """An array of these values, of the dtype of NumPy that they get first."""
        values = np.asarray(values, dtype=dtype)
        if self.name == "torch":
            return torch.tensor(values, device=self._device)
        strict = pytest.importorskip(self.name, reason=f"{self.name} is not installed")
        return strict.asarray(values, device=strict.Device(self._device))

    def numpy(self, array, like):
        """Values of an array, which must live where another one does."""
        assert type(array) is type(like)
        assert array.device == like.device
        if self.name == "torch":
            assert not array.requires_grad
            return array.cpu().numpy()
        strict = import_module(self.name)
        return np.asarray(strict.asarray(array, device=strict.Device("CPU_DEVICE")))


NEEDS_CUDA = (
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
)
# scikit-learn 1.6 cannot convert arrays of any other device.
STRICT_DEVICE = (
    "CPU_DEVICE" if parse_version(sk_version) < parse_version("1.7") else "device1"
)
LIBRARIES = [
    pytest.param(Library("array_api_strict", STRICT_DEVICE), id="strict"),
    pytest.param(Library("torch", "cpu"), id="torch"),
    pytest.param(Library("torch", "cuda"), id="cuda", marks=NEEDS_CUDA),
]
every_library = pytest.mark.parametrize("library", LIBRARIES)


def cuda_only(function):
    """Mark a test that needs a CUDA device."""
    for mark in NEEDS_CUDA:
        function = mark(function)
    return function
