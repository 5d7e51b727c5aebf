"""ContrastiveLoss: softmax over the rows that something relevant is chosen from."""

from numbers import Real

from .._compat import Interval
from ._bound import PairLoss
from ._pair_terms import mean_where, without_self

__all__ = ["ContrastiveLoss"]


class ContrastiveLoss(PairLoss):
    r"""Softmax loss: the relevant items of a query stand out among those of a minibatch.

    Khosla et al., "Supervised Contrastive Learning", NeurIPS 2020, eq. 2, in both
    directions as Radford et al. (ICML 2021) train views of images and texts. With the mean
    product s of the bits of a query i and an item j, and the relevant items P of i,

    .. math::

        -\frac{1}{|P|} \sum_{p \in P}
        \ln \frac{e^{s_{ip} / \tau}}{\sum_j e^{s_{ij} / \tau}},

    averaged over the queries that have something relevant; and the same with queries in
    the place of items, as half of the loss. It is at least 0. Its bits are relaxed by tanh.

    Parameters
    ----------
    temperature : float, default=0.1
        The smaller, the more the nearest items count that are not relevant. Above 0.

    See Also
    --------
    AveragePrecisionLoss : Ranks items in place of choosing among them.
    sklearn_talr.hashing.CrossViewHasher : Trains two views by this loss.

    Examples
    --------
    Two queries, each with an item of its own, which has the same bits:

    >>> import torch
    >>> from sklearn_talr.losses import ContrastiveLoss
    >>> bits = torch.tensor([[1.0, 1], [1, -1]])
    >>> ContrastiveLoss(temperature=1.0).between(bits, bits, torch.eye(2))
    tensor(0.3133)
    """

    _parameter_constraints: dict = {
        "temperature": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, temperature=0.1):
        self.temperature = temperature

    def __call__(self, bits, affinity, n_bits=None):
        """Compute the loss of a minibatch of one view, whose samples choose among others.

        Parameters
        ----------
        bits : Tensor of shape (n, k), float
            Relaxed bits.

        affinity : Tensor of shape (n, n)
            Similar pairs are those above 0.

        n_bits : int, default=None
            Ignored, since products are means over the bits that take part.

        Returns
        -------
        loss : Tensor, scalar
            At least 0; 0 if no sample has something similar.
        """
        return self.between(bits, bits, without_self(affinity))

    def between(self, query_bits, item_bits, affinity, levels=None, n_bits=None):
        """Compute the loss of queries and items of another kind.

        Parameters
        ----------
        query_bits, item_bits : Tensors of shapes (n, k) and (m, k), float
            Relaxed bits.

        affinity : Tensor of shape (n, m)
            Relevant pairs are those above 0. Those below 0 are left out, as unknown.

        levels : Tensor, default=None
            Ignored, since all that is relevant is equally so.

        n_bits : int, default=None
            Ignored, since products are means over the bits that take part.

        Returns
        -------
        loss : Tensor, scalar
            At least 0; 0 if no query has something relevant.
        """
        scores = query_bits @ item_bits.T / (query_bits.shape[1] * self.temperature)
        scores = scores.masked_fill(affinity < 0, -1e9)  # infinity would have no gradient
        relevant = affinity > 0
        return (_choice(scores, relevant) + _choice(scores.T, relevant.T)) / 2


def _choice(scores, relevant):
    """Mean loss over the rows of which something is relevant."""
    log_shares = scores.log_softmax(dim=1)
    n_relevant = relevant.sum(dim=1)
    of_rows = -(log_shares * relevant).sum(dim=1) / n_relevant.clamp(min=1)
    return mean_where(n_relevant > 0, of_rows)
