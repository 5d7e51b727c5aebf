"""Codes that classes are given before training, as far apart as can be."""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import hadamard

from ..affinity import LabelAffinity

_N_DRAWS = 100  # of sets of random codes, of which the best is taken


def draw_class_codes(n_classes, n_bits, rng):
    """Draw a code for each class, of -1 and +1, shape (n_classes, n_bits).

    Rows of a Hadamard matrix and their negatives, which differ in half of the bits or in
    all, if `n_bits` is a power of two and they suffice. Otherwise random codes of as many
    -1 as +1: of some sets the one whose nearest two codes are farthest apart.
    """
    if n_bits & (n_bits - 1) == 0 and n_classes <= 2 * n_bits:
        rows = hadamard(n_bits)[rng.permutation(n_bits)]
        return np.vstack([rows, -rows])[:n_classes].astype(np.float64)
    half = np.resize([1.0, -1.0], n_bits)
    draws = (
        np.array([rng.permutation(half) for _ in range(n_classes)]) for _ in range(_N_DRAWS)
    )
    return min(draws, key=_largest_inner_product)


def _largest_inner_product(codes):
    products = codes @ codes.T
    np.fill_diagonal(products, -np.inf)
    return products.max()


def class_memberships(affinity, targets):
    """Classes, and which of them each sample belongs to, (n_samples, n_classes) of 0/1."""
    if isinstance(affinity, LabelAffinity):
        classes, index = affinity.group_targets(targets)
        return classes, (index[:, None] == np.arange(len(classes))).astype(np.float32)
    dense = targets.toarray() if sp.issparse(targets) else np.asarray(targets)
    return np.arange(dense.shape[1]), (dense > 0).astype(np.float32)


def majority_codes(memberships, class_codes, rng):
    """For each sample, of each bit what most of its classes have; ties are drawn.

    A sample of no class has 0 everywhere.
    """
    votes = memberships @ class_codes
    drawn = rng.choice([-1.0, 1.0], size=votes.shape)
    codes = np.where(votes == 0, drawn, np.sign(votes))
    return codes * (memberships.sum(axis=1, keepdims=True) > 0)
