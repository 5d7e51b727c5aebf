"""Hashers trained by losses of pairs and triplets, which TALR is compared with."""

from functools import partial
from numbers import Real

from sklearn.utils._param_validation import Interval

from ..hashing._inherited_params import inherits_parameters
from ..hashing._talr import TALRHasher
from ..hashing.gradient._trained import TrainedHasher
from ..hashing.losses._pairs import (
    PairLoss,
    likelihood_loss,
    mutual_information_loss,
    squared_distance_loss,
    triplet_loss,
    weighted_likelihood_loss,
)

__all__ = ["DPSHHasher", "DSHHasher", "DTSHHasher", "HashNetHasher", "MIHasher"]

FUNCTION_PARAMS = ("hidden_layer_sizes", "dropout", "module", "affinity", "init")
TRAINING_PARAMS = (
    "bit_dropout",
    "solver",
    "learning_rate",
    "learning_rate_init",
    "momentum",
    "weight_decay",
    "batch_size",
    "max_iter",
    "early_stopping",
    "validation_fraction",
    "n_iter_no_change",
    "tol",
    "warm_start",
    "device",
    "verbose",
    "random_state",
)
_RELAXED = (*FUNCTION_PARAMS, "tanh_scale", *TRAINING_PARAMS)
_UNBOUNDED = (*FUNCTION_PARAMS, *TRAINING_PARAMS)


class _PairHasher(TrainedHasher):
    """Minimises a function of the bits of a minibatch and of the levels of its pairs."""

    _parameter_constraints: dict = {"n_bits": TALRHasher._parameter_constraints["n_bits"]}

    def __init__(self, n_bits=32):
        self.n_bits = n_bits

    def _make_loss(self, levels, targets, scales, rng):
        return PairLoss(self._pair_loss(), self, levels, targets, scales, rng)


class _UnboundedPairHasher(_PairHasher):
    """The same on activations, which a penalty draws to +1 and -1 in place of tanh."""

    _parameter_constraints: dict = {
        **_PairHasher._parameter_constraints,
        "quantization_weight": [Interval(Real, 0, None, closed="left")],
    }

    def _scales(self, continues):
        return None


@inherits_parameters(TALRHasher, _RELAXED, tanh_scale=(1.0, 8.0))
class MIHasher(_PairHasher):
    r"""MIHash: codes whose distances tell most about who is similar.

    Cakir, He, Bargal and Sclaroff, "MIHash: Online Hashing with Mutual Information", ICCV
    2017. For each sample, the distance D to another one and whether the two are similar,
    C, are random variables; training maximises the mean of their mutual information,

    .. math:: I(D; C) = H(D) - P(C{=}1) H(D | C{=}1) - P(C{=}0) H(D | C{=}0),

    on soft counts per distance (eq. 2 to 6 there), the same ones that
    :class:`TALRHasher` counts.

    What differs from the original: minibatches of a fixed training set, rather than a
    stream of pairs, and the defaults of training.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    {inherited parameters}

    Attributes
    ----------
    {inherited attributes}

    See Also
    --------
    TALRHasher : Weighs the top of the ranking, as the metric does.

    Examples
    --------
    {example}
    """

    def _pair_loss(self):
        return mutual_information_loss


@inherits_parameters(TALRHasher, _RELAXED, bit_dropout=0.0)
class DSHHasher(_PairHasher):
    r"""DSH and m-DSH: squared errors of pairwise distances.

    Jiang, Li and Li, "On the Evaluation Metric for Hashing", section 4.2. Distances of
    similar pairs are drawn to `margin`, those of dissimilar ones to `n_bits`:

    .. math::

        \frac{1}{|S^+|} \sum_{S^+} (m - d_{kl})^2
        + \frac{1}{|S^-|} \sum_{S^-} (b - d_{kl})^2.

    A margin m above 0 leaves the order of distances, and so average precision, about as it
    is, but moves what is relevant out of the Hamming balls that hash lookup reaches.

    What differs from the original: a linear or shallow function of given features rather
    than a convolutional network, and the defaults of training. This is not the DSH of
    Liu et al. (CVPR 2016).

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    margin : float, default=0.0
        Distance m, in bits, that similar samples are drawn to, at least 0.

    {inherited parameters}

    Attributes
    ----------
    {inherited attributes}

    See Also
    --------
    sklearn_talr.metrics.radius_aware_map : Tells DSH and m-DSH apart.

    Examples
    --------
    A margin leaves less than half as many items within a radius of 2:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.codes import hamming_distances
    >>> from sklearn_talr.baselines import DSHHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> near = []
    >>> for margin in (0, 12):
    ...     hasher = DSHHasher(48, margin=margin, max_iter=10, random_state=0)
    ...     codes = hasher.fit(X, y).transform(X)
    ...     near.append(np.mean(hamming_distances(codes, codes) <= 2))
    >>> bool(near[1] < near[0] / 2)
    True
    """

    _parameter_constraints: dict = {
        **_PairHasher._parameter_constraints,
        "margin": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_bits=32, *, margin=0.0):
        self.n_bits = n_bits
        self.margin = margin

    def _pair_loss(self):
        return partial(squared_distance_loss, margin=self.margin)


@inherits_parameters(TALRHasher, _RELAXED, tanh_scale=(1.0, 8.0))
class HashNetHasher(_PairHasher):
    r"""HashNet: weighted likelihood of pairs, under tanh that grows steeper.

    Cao, Long, Wang and Yu, "HashNet: Deep Learning to Hash by Continuation", ICCV 2017,
    eq. 4 and 5. Of relaxed bits h, inner products are the logits of similarity s:

    .. math::

        \sum_{ij} w_{ij} \left[ \ln(1 + e^{\alpha h_i^T h_j}) - \alpha s_{ij} h_i^T h_j
        \right], \quad \alpha = 10 / b,

    with weights that give similar pairs as much say in all as dissimilar ones. The scale
    of tanh grows during training: continuation.

    What differs from the original: the scale grows smoothly rather than in stages; pairs
    of samples with several labels have no weight by the number of labels they share; a
    linear or shallow function of given features, and the defaults of training.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    {inherited parameters}

    Attributes
    ----------
    {inherited attributes}

    See Also
    --------
    DPSHHasher : The likelihood without weights and without tanh.

    Examples
    --------
    {example}
    """

    def _pair_loss(self):
        return weighted_likelihood_loss


@inherits_parameters(TALRHasher, _UNBOUNDED, weight_decay=0.1)
class DPSHHasher(_UnboundedPairHasher):
    r"""DPSH: likelihood of similar and dissimilar pairs.

    Li, Wang and Kang, "Feature Learning Based Deep Supervised Hashing with Pairwise
    Labels", IJCAI 2016, eq. 3 and 4. Of activations u, half the inner product is the logit
    of similarity s, and a penalty draws activations to their signs:

    .. math::

        \sum_{ij} \left[ \ln(1 + e^{\Theta_{ij}}) - s_{ij} \Theta_{ij} \right] + \eta
        \sum_i \| \mathrm{sign}(u_i) - u_i \|^2, \quad \Theta_{ij} = u_i^T u_j / 2.

    What differs from the original: pairs are those of a minibatch, rather than of a
    minibatch and all other samples as last seen; both terms are means, over pairs and over
    samples and bits; a linear or shallow function of given features, and the defaults of
    training.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    quantization_weight : float, default=0.1
        Weight of the penalty, at least 0.

    {inherited parameters}

    Attributes
    ----------
    {inherited attributes}

    See Also
    --------
    DTSHHasher : The likelihood of triplets.
    HashNetHasher : Weighs pairs, and has tanh in place of the penalty.

    Examples
    --------
    {example}
    """

    def __init__(self, n_bits=32, *, quantization_weight=0.1):
        self.n_bits = n_bits
        self.quantization_weight = quantization_weight

    def _pair_loss(self):
        return partial(likelihood_loss, quantization_weight=self.quantization_weight)


@inherits_parameters(TALRHasher, _UNBOUNDED, weight_decay=0.1)
class DTSHHasher(_UnboundedPairHasher):
    r"""DTSH: likelihood of triplets.

    Wang, Shi and Kitani, "Deep Supervised Hashing with Triplet Labels", ACCV 2016, eq. 4
    to 6. A query q should be closer, by a margin, to p than to n, which is less similar:

    .. math::

        \sum_{qpn} \ln(1 + e^{m - \Theta_{qp} + \Theta_{qn}}) + \lambda \sum_i
        \| \mathrm{sign}(u_i) - u_i \|^2, \quad \Theta_{ij} = u_i^T u_j / 2.

    Graded affinities are used: p is similar to q, and n has a lower level than p.

    What differs from the original: both terms are means, over triplets and over samples
    and bits; of more than about 260 000 triplets in a minibatch a part is taken; a linear
    or shallow function of given features, and the defaults of training.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    margin : float, default=2.0
        Margin m in bits, at least 0.

    quantization_weight : float, default=0.1
        Weight of the penalty, at least 0.

    {inherited parameters}

    Attributes
    ----------
    {inherited attributes}

    See Also
    --------
    DPSHHasher : The likelihood of pairs.

    Examples
    --------
    {example}
    """

    _parameter_constraints: dict = {
        **_UnboundedPairHasher._parameter_constraints,
        "margin": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_bits=32, *, margin=2.0, quantization_weight=0.1):
        self.n_bits = n_bits
        self.margin = margin
        self.quantization_weight = quantization_weight

    def _pair_loss(self):
        return partial(
            triplet_loss, margin=self.margin, quantization_weight=self.quantization_weight
        )
