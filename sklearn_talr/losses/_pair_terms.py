"""Terms that losses of pairs share.

====================  =======================================================
symbol                meaning
====================  =======================================================
u, h                  activations; relaxed bits tanh(scale u)
b, k                  bits of a code, and those that take part in this step
d = (b - h.h') / 2    relaxed Hamming distance, in (0, b)
theta = u.u' / 2      half the inner product: b / 2 - d when u are signs
s                     whether a pair is similar: its affinity is above 0
====================  =======================================================

With k < b bits, inner products are multiplied by b / k. No sample is paired with itself.
"""


def inner_products(bits, n_bits):
    """Inner products of all pairs of rows, scaled to `n_bits` bits; None: as they are."""
    return inner_products_between(bits, bits, n_bits)


def inner_products_between(query_bits, item_bits, n_bits):
    """Inner products of rows of two kinds, scaled as by `inner_products`."""
    n_bits = query_bits.shape[1] if n_bits is None else n_bits
    return query_bits @ item_bits.T * (n_bits / query_bits.shape[1])


def without_self(affinity):
    """Affinities of the pairs of a minibatch, -1 between a sample and itself."""
    signed = affinity if affinity.is_floating_point() else affinity.long()
    return signed.clone().fill_diagonal_(-1)


def similar_and_not(affinity):
    """Masks of the similar and of the dissimilar pairs of two different samples."""
    similar = affinity > 0
    dissimilar = ~similar
    similar.fill_diagonal_(False)
    dissimilar.fill_diagonal_(False)
    return similar, dissimilar


def mean_where(mask, values):
    """Mean of the values that a mask selects, 0 if there are none."""
    return (values * mask).sum() / mask.sum().clamp(min=1)


def quantization_error(activations):
    """Mean of (sign(u) - u)^2."""
    return ((activations.abs() - 1) ** 2).mean()
