"""Losses of the pairs of a minibatch.

====================  =======================================================
symbol                meaning
====================  =======================================================
u, h                  activations; relaxed bits tanh(scale u)
b, k                  bits of a code, and those that take part in this step
d = (b - h.h') / 2    relaxed Hamming distance, in (0, b)
theta = u.u' / 2      half the inner product: b / 2 - d when u are signs
s                     whether a pair is similar: its affinity is above 0
====================  =======================================================

With k < b bits, inner products are multiplied by b / k. Affinities of pairs that do not
count are below 0, as those of a sample with itself.
"""

from numbers import Real

from .._core.compat import Interval
from .._core.parameters import parameters
from .._core.types import Count, Tensor
from ._base import BaseLoss

_MOST_TRIPLETS = 2**18
# Smaller counts of pairs have the logarithm of this one.
_LEAST_COUNT = 1e-6
_AT_LEAST_0 = [Interval(Real, 0, None, closed="left")]


class _PairLoss(BaseLoss):
    """A loss of pairs by products of bits."""

    by_order = True

    def between(
        self, query_bits: Tensor, item_bits: Tensor, affinity: Tensor, n_bits: Count = None
    ) -> Tensor:
        """Compute the loss of queries and items, which may be of another kind.

        Parameters
        ----------
        query_bits, item_bits : Tensors of shapes (n, k) and (m, k), float
            Relaxed bits, or activations if the loss is trained without tanh.

        affinity : Tensor of shape (n, m)
            Relevant pairs are those above 0. Those below 0 are left out, as unknown.

        n_bits : int, default=None
            Bits of a code, of which k take part. None: all do.

        Returns
        -------
        loss : Tensor, scalar
            At least 0; 0 if no pair counts.
        """
        n_bits = query_bits.shape[1] if n_bits is None else n_bits
        products = query_bits @ item_bits.T * (n_bits / query_bits.shape[1])
        return self._of_products(products, affinity, n_bits, (query_bits, item_bits))


def _mean_where(mask, values):
    """Mean of the values that a mask selects, 0 if there are none."""
    return (values * mask).sum() / mask.sum().clamp(min=1)


def _quantization_error(activations):
    """Mean of (sign(u) - u)^2."""
    return ((activations.abs() - 1) ** 2).mean()


def _likelihood(theta, affinity):
    """Mean of ln(1 + e^theta) - s theta over the pairs that count."""
    from torch.nn.functional import softplus

    return _mean_where(affinity >= 0, softplus(theta) - (affinity > 0) * theta)


def _error_of_both(query_bits, item_bits):
    """Quantization error of all rows; those of one view are both."""
    error = _quantization_error(query_bits)
    if item_bits is query_bits:
        return error
    return (error + _quantization_error(item_bits)) / 2


@parameters
class DSHLoss(_PairLoss):
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
    >>> from sklearn_talr.hashing import TALRHasher
    >>> from sklearn_talr.losses import DSHLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> near = []
    >>> for margin in (0, 12):
    ...     loss = DSHLoss(margin=margin)
    ...     hasher = TALRHasher(48, loss=loss, max_iter=10, random_state=0)
    ...     codes = hasher.fit(X, y).transform(X)
    ...     near.append(np.mean(hamming_distances(codes, codes) <= 2))
    >>> bool(near[1] < near[0] / 2)
    True
    """

    _parameter_constraints = {"margin": _AT_LEAST_0}

    training_defaults = {"bit_dropout": 0.0}

    margin: float = 0.0

    def _of_products(self, products, affinity, n_bits, bits):
        distance = (n_bits - products) / 2
        near = _mean_where(affinity > 0, (distance - self.margin) ** 2)
        return near + _mean_where(affinity == 0, (distance - n_bits) ** 2)


@parameters
class DPSHLoss(_PairLoss):
    r"""DPSH: likelihood of similar and dissimilar pairs.

    Li, Wang and Kang, "Feature Learning Based Deep Supervised Hashing with Pairwise
    Labels", IJCAI 2016, eq. 3 and 4. Of activations u, half the inner product is the logit
    of similarity s, and a penalty draws activations to their signs:

    .. math::

        \sum_{ij} \left[ \ln(1 + e^{\Theta_{ij}}) - s_{ij} \Theta_{ij} \right] + \eta
        \sum_i \| \mathrm{sign}(u_i) - u_i \|^2, \quad \Theta_{ij} = u_i^T u_j / 2.

    The loss is at least 0. What differs from the original: pairs are those of a minibatch,
    rather than of a minibatch and all other samples as last seen; both terms are means,
    over pairs and over samples and bits. Trained without tanh, with a `weight_decay` of
    0.1.

    Parameters
    ----------
    quantization_weight : float, default=0.1
        Weight of the penalty, at least 0.

    See Also
    --------
    DTSHLoss : The likelihood of triplets.
    HashNetLoss : Weighs pairs, and has tanh in place of the penalty.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import TALRHasher
    >>> from sklearn_talr.losses import DPSHLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = TALRHasher(16, loss=DPSHLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.7
    """

    _parameter_constraints = {"quantization_weight": _AT_LEAST_0}

    training_defaults = {"tanh_scale": None, "weight_decay": 0.1}

    quantization_weight: float = 0.1

    def _of_products(self, products, affinity, n_bits, bits):
        error = _error_of_both(*bits)
        return _likelihood(products / 2, affinity) + self.quantization_weight * error


@parameters
class DTSHLoss(_PairLoss):
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
    >>> from sklearn_talr.hashing import TALRHasher
    >>> from sklearn_talr.losses import DTSHLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = TALRHasher(16, loss=DTSHLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.7
    """

    _parameter_constraints = {"margin": _AT_LEAST_0, "quantization_weight": _AT_LEAST_0}

    training_defaults = {"tanh_scale": None, "weight_decay": 0.1}

    margin: float = 2.0
    quantization_weight: float = 0.1

    def _of_products(self, products, affinity, n_bits, bits):
        import torch

        theta = products / 2
        query, positive = torch.nonzero(affinity > 0, as_tuple=True)
        # Samples of a minibatch are in random order, so that of too many pairs q, p every
        # k-th is as good as any other.
        stride = max(1, -(-len(query) * affinity.shape[1] // _MOST_TRIPLETS))
        query = query[::stride]
        positive = positive[::stride]
        less = affinity[query] < affinity[query, positive][:, None]
        less &= (affinity >= 0)[query]
        gap = theta[query, positive][:, None] - theta[query]
        loss = _mean_where(less, torch.nn.functional.softplus(self.margin - gap))
        return loss + self.quantization_weight * _error_of_both(*bits)


class HashNetLoss(_PairLoss):
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
    >>> from sklearn_talr.hashing import TALRHasher
    >>> from sklearn_talr.losses import HashNetLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = TALRHasher(16, loss=HashNetLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.8
    """

    training_defaults = {"tanh_scale": (1.0, 8.0)}

    def _of_products(self, products, affinity, n_bits, bits):
        from torch.nn.functional import softplus

        scaled = products * (10 / n_bits)
        similar = _mean_where(affinity > 0, softplus(-scaled))
        return similar + _mean_where(affinity == 0, softplus(scaled))


@parameters
class DCMHLoss(_PairLoss):
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

    _parameter_constraints = {
        "quantization_weight": _AT_LEAST_0,
        "balance_weight": _AT_LEAST_0,
    }

    training_defaults = {"tanh_scale": None, "weight_decay": 0.1}

    quantization_weight: float = 0.1
    balance_weight: float = 0.1

    def _of_products(self, products, affinity, n_bits, bits):
        loss = _likelihood(products / 2, affinity)
        for view_bits in bits:
            balance = view_bits.mean(dim=0).square().mean()
            loss = loss + self.quantization_weight * _quantization_error(view_bits)
            loss = loss + self.balance_weight * balance
        return loss


@parameters
class ContrastiveLoss(_PairLoss):
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

    _parameter_constraints = {"temperature": [Interval(Real, 0, None, closed="neither")]}

    temperature: float = 0.1

    def between(
        self, query_bits: Tensor, item_bits: Tensor, affinity: Tensor, n_bits: Count = None
    ) -> Tensor:
        """Compute the loss of queries and items, which may be of another kind.

        Parameters
        ----------
        query_bits, item_bits : Tensors of shapes (n, k) and (m, k), float
            Relaxed bits.

        affinity : Tensor of shape (n, m)
            Relevant pairs are those above 0. Those below 0 are left out, as unknown.

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
    row_losses = -(log_shares * relevant).sum(dim=1) / n_relevant.clamp(min=1)
    return _mean_where(n_relevant > 0, row_losses)


class MutualInformationLoss(BaseLoss):
    r"""MIHash: minus the mutual information of distance and similarity.

    Cakir, He, Bargal and Sclaroff, "MIHash: Online Hashing with Mutual Information", ICCV
    2017. For each sample, the distance D to another one and whether the two are similar,
    C, are random variables; training maximizes the mean of their mutual information,

    .. math:: I(D; C) = H(D) - P(C{=}1) H(D | C{=}1) - P(C{=}0) H(D | C{=}0),

    on soft counts per distance (eq. 2 to 6 there), the same ones that
    :class:`AveragePrecisionLoss` takes. From counts c[s, d] of one sample's N pairs, with
    C[d] their sum over s and N[s] their sum over d, it is the sum of c[s, d] / N
    ln(c[s, d] N / (C[d] N[s])).

    The loss is in [-ln 2, 0], up to rounding. What differs from the original: minibatches
    of a fixed training set, rather than a stream of pairs. Trained under tanh whose scale
    grows from 1 to 8.

    See Also
    --------
    AveragePrecisionLoss : Weighs the top of the ranking, as the measure does.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import TALRHasher
    >>> from sklearn_talr.losses import MutualInformationLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> loss = MutualInformationLoss()
    >>> hasher = TALRHasher(16, loss=loss, max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.8
    """

    training_defaults = {"tanh_scale": (1.0, 8.0)}
    needs_tanh = by_order = True

    def __call__(self, bits: Tensor, affinity: Tensor, n_bits: Count = None) -> Tensor:
        """Compute the loss of a minibatch.

        Parameters
        ----------
        bits : Tensor of shape (n, k), float
            Relaxed bits in [-1, 1].

        affinity : Tensor of shape (n, n)
            Similar pairs are those above 0. Those below 0 are left out.

        n_bits : int, default=None
            Ignored, since items are counted by the bits that take part.

        Returns
        -------
        loss : Tensor, scalar
            At most 0.
        """
        import torch

        from ._soft_counts import soft_counts

        similar = affinity.to(torch.int16).sign().fill_diagonal_(-1)
        counts = soft_counts(bits, bits, similar, 2)
        are_pairs = similar >= 0
        n_pairs = are_pairs.sum(1).clamp(min=1)[:, None, None]
        expected = counts.sum(1, keepdim=True) * counts.sum(2, keepdim=True) / n_pairs
        expected = expected.clamp(min=_LEAST_COUNT)
        logs = counts.clamp(min=_LEAST_COUNT).log() - expected.log()
        return -(counts * logs / n_pairs).sum() / are_pairs.any(1).sum().clamp(min=1)
