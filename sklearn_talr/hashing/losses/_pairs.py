"""Losses of pairs and triplets of a minibatch, which TALR is compared with.

====================  =======================================================
symbol                meaning
====================  =======================================================
u, h                  activations; relaxed bits tanh(scale u)
b, k                  bits of a code, and those that take part in this step
d = (b - h.h') / 2    relaxed Hamming distance, in (0, b)
theta = u.u' / 2      half the inner product: b / 2 - d when u are signs
s                     whether a pair is similar: its level is above 0
====================  =======================================================

With k < b bits, inner products are multiplied by b / k. No sample is paired with itself.
All functions take `bits` of shape (n, k), a float tensor, and `level_index` of shape
(n, n), an integer tensor, and return a scalar.
"""

import torch
from torch.nn.functional import softplus

from ...objectives import soft_counts

_LEAST_COUNT = 1e-6  # of pairs: the logarithm of less is cut off
_MOST_TRIPLETS = 2**18


def mutual_information_loss(bits, level_index):
    """Minus the mutual information of distance and similarity, mean over the samples.

    From soft counts c[s, d] of one sample's N pairs, with C[d] their sum over s and N[s]
    their sum over d: sum of c[s, d] / N ln(c[s, d] N / (C[d] N[s])).
    """
    similar = (level_index > 0).view(torch.uint8)
    counts = soft_counts(bits, bits, similar, 2, exclude_self=True)
    n_pairs = len(bits) - 1
    expected = counts.sum(1, keepdim=True) * counts.sum(2, keepdim=True) / n_pairs
    logs = counts.clamp(min=_LEAST_COUNT).log() - expected.clamp(min=_LEAST_COUNT).log()
    return -(counts * logs).sum((1, 2)).mean() / n_pairs


def squared_distance_loss(bits, level_index, n_bits, margin):
    """Mean of (d - margin)^2 of similar pairs, plus mean of (d - b)^2 of the others."""
    distance = (n_bits - _inner_products(bits, n_bits)) / 2
    similar, dissimilar = _similar_and_not(level_index)
    return _mean((distance - margin) ** 2, similar) + _mean(
        (distance - n_bits) ** 2, dissimilar
    )


def likelihood_loss(bits, level_index, n_bits, quantization_weight):
    """Mean of ln(1 + exp(theta)) - s theta over all pairs, plus the quantization error."""
    theta = _inner_products(bits, n_bits) / 2
    similar, dissimilar = _similar_and_not(level_index)
    loss = _mean(softplus(theta) - similar * theta, similar | dissimilar)
    return loss + quantization_weight * quantization_error(bits)


def weighted_likelihood_loss(bits, level_index, n_bits):
    """Mean of ln(1 + exp(alpha h.h')) - s alpha h.h', alpha = 10 / b, in equal shares.

    Similar pairs count as much in all as dissimilar ones.
    """
    scaled = _inner_products(bits, n_bits) * (10 / n_bits)
    similar, dissimilar = _similar_and_not(level_index)
    return _mean(softplus(-scaled), similar) + _mean(softplus(scaled), dissimilar)


def triplet_loss(bits, level_index, n_bits, margin, quantization_weight):
    """Mean of ln(1 + exp(margin - theta_qp + theta_qn)), plus the quantization error.

    Over triplets of a sample q, one similar to it, p, and one less similar, n. Samples of
    a batch are in random order, so of too many pairs q, p every k-th is as good as any.
    """
    theta = _inner_products(bits, n_bits) / 2
    similar, dissimilar = _similar_and_not(level_index)
    query, positive = torch.nonzero(similar, as_tuple=True)
    stride = max(1, -(-len(query) * len(bits) // _MOST_TRIPLETS))
    query, positive = query[::stride], positive[::stride]
    less = level_index[query] < level_index[query, positive][:, None]
    less &= (similar | dissimilar)[query]  # n is not q
    gap = theta[query, positive][:, None] - theta[query]
    loss = _mean(softplus(margin - gap), less)
    return loss + quantization_weight * quantization_error(bits)


def quantization_error(bits):
    """Mean of (sign(u) - u)^2."""
    return ((bits.abs() - 1) ** 2).mean()


def _inner_products(bits, n_bits):
    return bits @ bits.T * (n_bits / bits.shape[1])


def _similar_and_not(level_index):
    similar = level_index > 0
    dissimilar = ~similar
    similar.fill_diagonal_(False)
    dissimilar.fill_diagonal_(False)
    return similar, dissimilar


def _mean(values, mask):
    """Mean of some values, 0 if there are none."""
    return (values * mask).sum() / mask.sum().clamp(min=1)
