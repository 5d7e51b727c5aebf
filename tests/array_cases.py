"""Libraries of arrays that results in NumPy are held against."""

from importlib import import_module

import numpy as np
import pytest
import torch


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


CUDA_ONLY = (
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
)
LIBRARIES = [
    pytest.param(Library("array_api_strict", "device1"), id="strict"),
    pytest.param(Library("torch", "cpu"), id="torch"),
    pytest.param(Library("torch", "cuda"), id="cuda", marks=CUDA_ONLY),
]
every_library = pytest.mark.parametrize("library", LIBRARIES)
