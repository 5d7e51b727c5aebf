"""Small problems of discrete hashers, and what they minimize, by definition."""

import numpy as np


def draw_similar(rng, n, share=0.6):
    """Symmetric, and not transitive, so that blocks are not all there is."""
    similar = np.triu(rng.random_sample((n, n)) < share, 1)
    return similar | similar.T | np.eye(n, dtype=bool)


def draw_codes(rng, n, n_bits):
    """Random codes of -1 and +1."""
    return rng.choice(np.float32([-1, 1]), (n, n_bits))


def pairwise_loss(codes, signs):
    """Mean over pairs of (z_i.z_j / b - Y_ij)^2."""
    n, n_bits = codes.shape
    terms = [
        (codes[i] @ codes[j] / n_bits - signs[i, j]) ** 2
        for i in range(n)
        for j in range(n)
        if i != j
    ]
    return np.mean(terms)


def penalized_loss(codes, outputs, signs, penalty):
    """The loss, with a share of n - 1 of n, and the penalty."""
    n, n_bits = codes.shape
    differences = np.sum((codes - outputs) ** 2)
    loss = pairwise_loss(codes, signs) * (n - 1) / n
    return loss + penalty * differences / (n * n_bits)
