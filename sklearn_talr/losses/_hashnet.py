"""HashNetLoss: weighted likelihood of pairs, under tanh that grows steeper."""

from ._bound import PairLoss
from ._pair_terms import inner_products, mean_where, similar_and_not

__all__ = ["HashNetLoss"]


class HashNetLoss(PairLoss):
    r"""HashNet: weighted likelihood of pairs, under tanh that grows steeper.

    Cao, Long, Wang and Yu, "HashNet: Deep Learning to Hash by Continuation", ICCV 2017,
    eq. 4 and 5. Of relaxed bits h, inner products are the logits of similarity s:

    .. math::

        \sum_{ij} w_{ij} \left[ \ln(1 + e^{\alpha h_i^T h_j}) - \alpha s_{ij} h_i^T h_j
        \right], \quad \alpha = 10 / b,

    with weights that give similar pairs as much say in all as dissimilar ones. The scale
    of tanh grows during training, from 1 to 8: continuation.

    The loss is at least 0. What differs from the original: the scale grows smoothly rather
    than in stages; pairs of samples with several labels have no weight by the number of
    labels they share.

    See Also
    --------
    DPSHLoss : The likelihood without weights and without tanh.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import SupervisedHasher
    >>> from sklearn_talr.losses import HashNetLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SupervisedHasher(16, loss=HashNetLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.8
    """

    training_defaults = {"tanh_scale": (1.0, 8.0)}

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
        from torch.nn.functional import softplus

        n_bits = bits.shape[1] if n_bits is None else n_bits
        scaled = inner_products(bits, n_bits) * (10 / n_bits)
        similar, dissimilar = similar_and_not(affinity)
        return mean_where(similar, softplus(-scaled)) + mean_where(
            dissimilar, softplus(scaled)
        )
