"""A loss bound to the training data of two views, and minibatches of these (torch)."""

from typing import NamedTuple

import numpy as np
import torch

from ._memory import keep_freed_memory
from ._minibatch import checked


class ViewsTraining(NamedTuple):
    """What a loss of two views is bound to.

    Parameters
    ----------
    n_bits : int
        Bits of a code.

    levels : ndarray of shape (n_levels,)
        Values of the affinity, in ascending order, first 0.

    gain_levels : ndarray of shape (n_levels,)
        Levels whose gains NDCG is trained on.

    is_relaxed : bool
        Whether bits are relaxed by tanh.

    device : torch.device
        Where minibatches are.
    """

    n_bits: int
    levels: np.ndarray
    gain_levels: np.ndarray
    is_relaxed: bool
    device: torch.device


def bind_between(loss, training):
    """Bind a loss of two views to training data.

    Parameters
    ----------
    loss : callable
        See :mod:`sklearn_talr.losses`.

    training : ViewsTraining
        Training data of the fit.

    Returns
    -------
    step : callable
        ``step(query_bits, item_bits, level_index) -> scalar tensor``, where the index of a
        level is -1 for pairs that do not count.
    """
    keep_freed_memory()
    if hasattr(loss, "bind_between"):
        return checked(loss.bind_between(training), loss)
    between = getattr(loss, "between", loss)
    values = torch.as_tensor(np.append(training.levels, -1), device=training.device)

    def step(query_bits, item_bits, level_index):
        affinity = values[level_index.long()]  # -1 is the last place
        return between(query_bits, item_bits, affinity.to(query_bits.dtype))

    return checked(step, loss)
