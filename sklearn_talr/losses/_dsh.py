"""DSHLoss: squared errors of pairwise distances."""

from numbers import Real

from .._compat import Interval
from ._bound import PairLoss
from ._pair_terms import inner_products, mean_where, similar_and_not

__all__ = ["DSHLoss"]


class DSHLoss(PairLoss):
    r"""DSH and m-DSH: squared errors of pairwise distances.

    Jiang, Li and Li, "On the Evaluation Metric for Hashing", section 4.2. Distances of
    similar pairs are drawn to `margin`, those of dissimilar ones to the number of bits b:

    .. math::

        \frac{1}{|S^+|} \sum_{S^+} (m - d_{kl})^2
        + \frac{1}{|S^-|} \sum_{S^-} (b - d_{kl})^2.

    A margin m above 0 leaves the order of distances, and so average precision, about as it
    is, but moves what is relevant out of the Hamming balls that hash lookup reaches.

    The loss is at least 0. Trained with all bits in each step. This is not the DSH of Liu
    et al. (CVPR 2016).

    Parameters
    ----------
    margin : float, default=0.0
        Distance m, in bits, that similar samples are drawn to, at least 0.

    See Also
    --------
    sklearn_talr.metrics.radius_aware_map : Tells DSH and m-DSH apart.

    Examples
    --------
    A margin leaves less than half as many items within a radius of 2:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.codes import hamming_distances
    >>> from sklearn_talr.hashing import SupervisedHasher
    >>> from sklearn_talr.losses import DSHLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> near = []
    >>> for margin in (0, 12):
    ...     loss = DSHLoss(margin=margin)
    ...     hasher = SupervisedHasher(48, loss=loss, max_iter=10, random_state=0)
    ...     codes = hasher.fit(X, y).transform(X)
    ...     near.append(np.mean(hamming_distances(codes, codes) <= 2))
    >>> bool(near[1] < near[0] / 2)
    True
    """

    _parameter_constraints: dict = {"margin": [Interval(Real, 0, None, closed="left")]}

    training_defaults = {"bit_dropout": 0.0}

    def __init__(self, margin=0.0):
        self.margin = margin

    def __call__(self, bits, affinity, n_bits=None):
        """Compute the loss of a minibatch.

        Parameters
        ----------
        bits : Tensor of shape (n, k), float
            Relaxed bits.

        affinity : Tensor of shape (n, n)
            Similar pairs are those above 0.

        n_bits : int, default=None
            Bits of a code, of which k take part. None: all do.

        Returns
        -------
        loss : Tensor, scalar
            At least 0.
        """
        n_bits = bits.shape[1] if n_bits is None else n_bits
        distance = (n_bits - inner_products(bits, n_bits)) / 2
        similar, dissimilar = similar_and_not(affinity)
        return mean_where(similar, (distance - self.margin) ** 2) + mean_where(
            dissimilar, (distance - n_bits) ** 2
        )
