"""What losses of minibatches share: relaxed bits, and those left out."""

from functools import partial

from ..gradient._device import choose_device, to_device
from ..gradient._settings import kept_bits


class BatchLoss:
    """Base of losses of a minibatch, as a `Trainer` calls them.

    Parameters
    ----------
    hasher : TrainedHasher
        Its parameters and `affinity_` are read.

    scales : (float, float) or None
        Scales of tanh in the first and the last epoch; None leaves activations as they are.

    rng : RandomState
        Draws the bits to keep.
    """

    def __init__(self, hasher, scales, rng):
        self.device = choose_device(hasher.device)
        self.n_kept = partial(kept_bits, hasher)
        self.scales = scales
        self.rng = rng

    def scale(self, progress):
        """Scale of tanh at this stage of training."""
        first, last = self.scales
        return first * (last / first) ** progress

    def draw_bits(self, n_bits, n_leading=None):
        """Indices of the (leading) bits to keep in this step, or None for all."""
        n_leading = n_bits if n_leading is None else n_leading
        n_kept = self.n_kept(n_leading)
        if n_kept == n_bits:
            return None
        return to_device(self.rng.permutation(n_leading)[:n_kept], self.device)


def keep_bits(bits, kept):
    """The columns that `draw_bits` has drawn."""
    return bits if kept is None else bits.index_select(1, kept)
