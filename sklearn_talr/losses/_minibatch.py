"""A loss bound to the training data of one fit, and minibatches of the data (torch)."""

from typing import NamedTuple

import numpy as np
import torch

from ._memory import keep_freed_memory

_PAIRS_PER_BLOCK = 2**20  # of one call of an oracle, which may need many bytes a pair


class Training(NamedTuple):
    """Training data of one fit, to which a loss is bound.

    Parameters
    ----------
    affinity : BaseAffinity
        Who is similar to whom, fitted.

    targets : sequence of length n_samples
        Checked targets of the affinity.

    levels : ndarray
        Values that the affinity takes, in ascending order, first 0.

    n_bits : int
        Bits of a code.

    is_relaxed : bool
        Whether bits are relaxed by tanh.

    device : torch.device
        Where minibatches are.

    rng : RandomState
        Generator of the fit, from which a loss may draw.

    earlier : dict
        Fitted attributes that a warm start goes on from; empty without.
    """

    affinity: object
    targets: object
    levels: np.ndarray
    n_bits: int
    is_relaxed: bool
    device: torch.device
    rng: np.random.RandomState
    earlier: dict

    def pair_levels(self):
        """Make a function of samples that gives the index of each pair's level."""
        return batch_levels(self.affinity, self.levels, self.targets, self.device)

    def tensor(self, array):
        """Bring an array to the device, floats as float32."""
        if array.dtype.kind == "f":
            array = array.astype(np.float32, copy=False)
        return to_device(array, self.device)


class Batch(NamedTuple):
    """A minibatch, of which a step may keep some of the bits.

    Parameters
    ----------
    activations : Tensor of shape (n, n_kept), float
        Activations of the bits that are kept.

    samples : ndarray of int
        Rows of the training data.

    kept : Tensor of int or None
        Which bits are kept; None means all.

    scale : float or None
        Scale of tanh at this stage of training; None where there is no tanh.
    """

    activations: torch.Tensor
    samples: np.ndarray
    kept: torch.Tensor | None
    scale: float | None

    @property
    def scaled(self):
        """Activations times the scale of tanh."""
        return self.activations if self.scale is None else self.scale * self.activations

    @property
    def bits(self):
        """Relaxed bits: tanh of the scaled activations, or activations without tanh."""
        return self.activations if self.scale is None else torch.tanh(self.scaled)

    def keep(self, bits):
        """Select the bits, which are columns, that the step keeps."""
        return bits if self.kept is None else bits.index_select(1, self.kept)


def bind(loss, training):
    """Bind a loss to training data by its own method, or as a function of affinities.

    Parameters
    ----------
    loss : callable
        See :mod:`sklearn_talr.losses`.

    training : Training
        Training data of the fit.

    Returns
    -------
    step : callable
        ``step(batch) -> scalar tensor``.

    fitted : dict
        Attributes that the fitted hasher keeps.
    """
    keep_freed_memory()
    if hasattr(loss, "bind"):
        step, fitted = loss.bind(training)
        return checked(step, loss), fitted
    levels_of = training.pair_levels()
    values = torch.as_tensor(training.levels, device=training.device)

    def step(batch):
        affinity = values[levels_of(batch.samples).long()]
        return loss(batch.bits, affinity.to(batch.activations.dtype))

    return checked(step, loss), {}


def checked(step, loss):
    """The same step, or ValueError where the value of a loss cannot be minimized."""

    def checked_step(first, *rest):
        value, bits = step(first, *rest), getattr(first, "activations", first)
        is_tensor = isinstance(value, torch.Tensor)
        if not is_tensor or value.shape != () or not value.is_floating_point():
            found = type(value).__name__
            if is_tensor:
                found = f"a tensor of shape {tuple(value.shape)} and {value.dtype}"
        elif bits.requires_grad and not value.requires_grad:
            found = "a tensor that depends on no bit: a constant, or detached"
        else:
            return value
        raise ValueError(
            f"loss {getattr(loss, '__name__', loss)!r} must return a number that depends "
            "on the bits, as a float tensor of shape (), as .mean() or .sum() of a tensor "
            f"gives it without .item(), .detach() and NumPy. Got {found}."
        )

    return checked_step


def to_device(array, device):
    """Make a tensor of an array on a device, without waiting for the copy."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def batch_levels(affinity, levels, targets, device):
    """Make a function of samples that gives the index of each pair's level.

    Labels and dense label indicators are checked and brought to the device once. Any other
    oracle is evaluated on the host, for each batch.

    Parameters
    ----------
    affinity : affinity oracle
        Who is similar to whom.

    levels : ndarray
        Values that the affinity takes, in ascending order.

    targets : sequence
        Checked targets of all samples.

    device : torch.device
        Where levels are wanted.

    Returns
    -------
    index : callable
        ``index(samples)`` takes row indices, and returns an integer tensor of shape
        (n, n) of places in `levels`.
    """
    table = affinity.batch_table(targets)
    if table is None:
        return _LevelsByHost(affinity, levels, targets, device)
    return _LevelsByTable(affinity, to_device(table, device))


class _LevelsByTable:
    """Levels of pairs by rows of the table of an affinity, which is on the device."""

    def __init__(self, affinity, table):
        self._affinity = affinity
        self._table = table

    def __call__(self, samples):
        rows = self._table[to_device(samples, self._table.device)]
        index = self._affinity.compare_batch(rows)
        return index.view(torch.uint8) if index.dtype == torch.bool else index


class _LevelsByHost:
    """Levels of pairs by an affinity that is asked on the host, some rows at a time."""

    def __init__(self, affinity, levels, targets, device):
        self._affinity = affinity
        self._levels = levels
        self._targets = targets
        self._device = device

    def __call__(self, samples):
        targets = self._targets[samples]
        dtype = np.uint8 if len(self._levels) <= 256 else np.int32
        index = np.empty((len(samples), len(samples)), dtype)
        n_rows = max(1, _PAIRS_PER_BLOCK // len(samples))
        for rows, block in self._affinity.level_blocks(
            targets, targets, self._levels, n_rows
        ):
            index[rows] = block
        return to_device(index, self._device)
