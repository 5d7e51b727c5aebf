"""The loss of a minibatch: the bits that take part, and the scale of their tanh."""

import torch

from ...losses._door import Batch, to_device

_SHORTEST_NESTED = 4  # leading bits; fewer rank nothing


class MinibatchLoss:
    """A loss of activations, of which each step keeps some of the bits.

    Parameters
    ----------
    step : callable
        ``step(batch) -> scalar tensor``: a loss that is bound to training data.

    settings : Settings
        Number of bits that a step keeps, scales of tanh, and the device.

    nested : bool
        Whether each step has a random number of leading bits.

    rng : RandomState
        Draws the bits.
    """

    def __init__(self, step, settings, nested, rng):
        self._step = step
        self._settings = settings
        self._nested = nested
        self._rng = rng

    def __call__(self, activations, samples, progress):
        """Compute the loss of some samples.

        Parameters
        ----------
        activations : Tensor of shape (n, n_bits), float
            Activations of the samples.

        samples : ndarray of int
            Their rows in the training data.

        progress : float
            Runs from 0 in the first epoch to 1 in the last.
        """
        kept = self.draw_bits(activations.shape[1])
        if kept is not None:
            activations = activations.index_select(1, kept)
        dtype = torch.promote_types(activations.dtype, torch.float32)
        return self._step(Batch(activations.to(dtype), samples, kept, self.scale(progress)))

    def draw_bits(self, n_bits):
        """Draw the indices of the bits to keep in this step, or None for all."""
        n_leading = n_bits
        if self._nested:
            n_leading = self._rng.randint(min(n_bits, _SHORTEST_NESTED), n_bits + 1)
        n_kept = self._settings.n_kept_bits[n_leading]
        if n_kept == n_bits:
            return None
        return to_device(self._rng.permutation(n_leading)[:n_kept], self._settings.device)

    def scale(self, progress):
        """Scale of tanh at this stage of training, None where there is no tanh."""
        if self._settings.tanh_scale is None:
            return None
        first, last = self._settings.tanh_scale
        return first * (last / first) ** progress
