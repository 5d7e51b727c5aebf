"""DTSHLoss: likelihood of triplets."""

from numbers import Real

from .._compat import Interval
from ._bound import PairLoss
from ._pair_terms import inner_products, mean_where, quantization_error, similar_and_not

__all__ = ["DTSHLoss"]

_MOST_TRIPLETS = 2**18


class DTSHLoss(PairLoss):
    r"""DTSH: likelihood of triplets.

    Wang, Shi and Kitani, "Deep Supervised Hashing with Triplet Labels", ACCV 2016, eq. 4
    to 6. A query q should be closer, by a margin, to p than to n, which is less similar:

    .. math::

        \sum_{qpn} \ln(1 + e^{m - \Theta_{qp} + \Theta_{qn}}) + \lambda \sum_i
        \| \mathrm{sign}(u_i) - u_i \|^2, \quad \Theta_{ij} = u_i^T u_j / 2.

    Graded affinities are used: p is similar to q, and n has a lower affinity than p.

    The loss is at least 0. What differs from the original: both terms are means, over
    triplets and over samples and bits; of more than about 260 000 triplets in a minibatch
    a part is taken. Trained without tanh, with a `weight_decay` of 0.1.

    Parameters
    ----------
    margin : float, default=2.0
        Margin m in bits, at least 0.

    quantization_weight : float, default=0.1
        Weight of the penalty, at least 0.

    See Also
    --------
    DPSHLoss : The likelihood of pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import SupervisedHasher
    >>> from sklearn_talr.losses import DTSHLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SupervisedHasher(16, loss=DTSHLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.7
    """

    _parameter_constraints: dict = {
        "margin": [Interval(Real, 0, None, closed="left")],
        "quantization_weight": [Interval(Real, 0, None, closed="left")],
    }

    training_defaults = {"tanh_scale": None, "weight_decay": 0.1}

    def __init__(self, margin=2.0, quantization_weight=0.1):
        self.margin = margin
        self.quantization_weight = quantization_weight

    def __call__(self, bits, affinity, n_bits=None):
        """Compute the loss of a minibatch.

        Samples of a minibatch are in random order, so that of too many pairs q, p every
        k-th is as good as any other.

        Parameters
        ----------
        bits : Tensor of shape (n, k), float
            Activations.

        affinity : Tensor of shape (n, n)
            Similar pairs are those above 0.

        n_bits : int, default=None
            Bits of a code, of which k take part. None: all do.

        Returns
        -------
        loss : Tensor, scalar
            At least 0.
        """
        import torch

        theta = inner_products(bits, n_bits) / 2
        similar, dissimilar = similar_and_not(affinity)
        query, positive = torch.nonzero(similar, as_tuple=True)
        stride = max(1, -(-len(query) * len(bits) // _MOST_TRIPLETS))
        query, positive = query[::stride], positive[::stride]
        less = affinity[query] < affinity[query, positive][:, None]
        less &= (similar | dissimilar)[query]  # n is not q
        gap = theta[query, positive][:, None] - theta[query]
        loss = mean_where(less, torch.nn.functional.softplus(self.margin - gap))
        return loss + self.quantization_weight * quantization_error(bits)
