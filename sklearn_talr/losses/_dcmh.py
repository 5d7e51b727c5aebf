"""DCMHLoss: likelihood of relevant and irrelevant pairs of two views."""

from numbers import Real

from .._compat import Interval
from ._bound import PairLoss
from ._pair_terms import (
    inner_products_between,
    mean_where,
    quantization_error,
    without_self,
)

__all__ = ["DCMHLoss"]


class DCMHLoss(PairLoss):
    r"""DCMH: likelihood of relevant and irrelevant pairs, of bits that are balanced.

    Jiang and Li, "Deep Cross-Modal Hashing", CVPR 2017, eq. 1. Of activations f of a query
    and g of an item, half the inner product is the logit of relevance s. Penalties draw
    activations to their signs, and the mean of each bit to 0:

    .. math::

        & \sum_{ij} \left[ \ln(1 + e^{\Theta_{ij}}) - s_{ij} \Theta_{ij} \right],
        \quad \Theta_{ij} = f_i' g_j / 2, \\
        & + \gamma \left( \|F - \mathrm{sign} F\|^2 + \|G - \mathrm{sign} G\|^2 \right)
        + \eta \left( \|F' 1\|^2 + \|G' 1\|^2 \right).

    The loss is at least 0. What differs from the original: pairs are those of a minibatch,
    each view has codes of its own, since its rows need no partner in the other one, and all
    terms are means: over pairs, over rows and bits, and over bits. Trained without tanh,
    with a `weight_decay` of 0.1.

    Parameters
    ----------
    quantization_weight : float, default=0.1
        Weight of the distance to signs, at least 0.

    balance_weight : float, default=0.1
        Weight of the squared means of the bits, at least 0.

    See Also
    --------
    DPSHLoss : The likelihood within one view.
    sklearn_talr.hashing.CrossViewHasher : Trains two views by this loss.

    Examples
    --------
    The second item is relevant to the query but differs from it in one of two bits:

    >>> import torch
    >>> from sklearn_talr.losses import DCMHLoss
    >>> query, items = torch.tensor([[1.0, 1]]), torch.tensor([[1.0, 1], [1, -1]])
    >>> loss = DCMHLoss(balance_weight=0)
    >>> loss.between(query, items, torch.tensor([[1, 1]]))
    tensor(0.5032)
    """

    _parameter_constraints: dict = {
        "quantization_weight": [Interval(Real, 0, None, closed="left")],
        "balance_weight": [Interval(Real, 0, None, closed="left")],
    }

    training_defaults = {"tanh_scale": None, "weight_decay": 0.1}

    def __init__(self, quantization_weight=0.1, balance_weight=0.1):
        self.quantization_weight = quantization_weight
        self.balance_weight = balance_weight

    def __call__(self, bits, affinity, n_bits=None):
        """Compute the loss of a minibatch of one view.

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
        return self.between(bits, bits, without_self(affinity), n_bits=n_bits)

    def between(self, query_bits, item_bits, affinity, levels=None, n_bits=None):
        """Compute the loss of queries and items of another kind.

        Parameters
        ----------
        query_bits, item_bits : Tensors of shapes (n, k) and (m, k), float
            Activations.

        affinity : Tensor of shape (n, m)
            Relevant pairs are those above 0. Those below 0 are left out, as unknown.

        levels : Tensor, default=None
            Ignored, since all that is relevant is equally so.

        n_bits : int, default=None
            Bits of a code, of which k take part. None: all do.

        Returns
        -------
        loss : Tensor, scalar
            At least 0.
        """
        from torch.nn.functional import softplus

        theta = inner_products_between(query_bits, item_bits, n_bits) / 2
        loss = mean_where(affinity >= 0, softplus(theta) - (affinity > 0) * theta)
        for bits in (query_bits, item_bits):
            balance = bits.mean(dim=0).square().mean()
            loss = loss + self.quantization_weight * quantization_error(bits)
            loss = loss + self.balance_weight * balance
        return loss
