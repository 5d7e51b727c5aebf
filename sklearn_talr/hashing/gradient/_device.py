"""The device of training, and what goes to it from NumPy."""

import torch


def choose_device(device):
    """Return the torch device meant by `device`, or raise ValueError."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.split(":")[0] not in ("cpu", "cuda"):  # objectives need float64
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda[:index]', got {device!r}.")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(
            f"device={device!r} was asked for, but torch finds no CUDA device. Use "
            "device='auto' or 'cpu'."
        )
    return torch.device(device)


def to_device(array, device):
    """A tensor of the array on the device, for which the host does not wait."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)
