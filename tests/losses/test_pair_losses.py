"""Losses of pairs and triplets against slow definitions, and their gradients."""

import itertools
import math

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import mutual_info_score

from sklearn_talr.losses import (
    DPSHLoss,
    DSHLoss,
    DTSHLoss,
    HashNetLoss,
    MutualInformationLoss,
    _pairs,
)

N, N_KEPT, N_BITS = 9, 6, 8  # 6 of 8 bits take part
PAIRS = list(itertools.permutations(range(N), 2))

LOSSES = {
    "mutual information": MutualInformationLoss(),
    "squared distance": DSHLoss(margin=2.0),
    "likelihood": DPSHLoss(quantization_weight=0.3),
    "weighted likelihood": HashNetLoss(),
    "triplet": DTSHLoss(margin=1.5, quantization_weight=0.3),
}


def call(name, bits, affinity, **params):
    """The loss of a name, with other parameters, of tensors; 6 of 8 bits take part."""
    loss = clone(LOSSES[name]).set_params(**params)
    if name == "mutual information":  # of the distances that there are
        return loss(bits, affinity)
    return loss(bits, affinity, n_bits=N_BITS)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    bits = rng.uniform(-1, 1, (N, N_KEPT))
    levels = rng.integers(0, 3, (N, N))
    levels = np.triu(levels, 1) + np.triu(levels, 1).T
    np.fill_diagonal(levels, 2)  # every sample is similar to itself
    return bits, levels


def value(name, bits, levels, **params):
    return call(name, torch.from_numpy(bits), torch.from_numpy(levels), **params).item()


def inner(bits, i, j):
    return bits[i] @ bits[j] * N_BITS / N_KEPT


def quantization(bits):
    return np.mean((np.sign(bits) - bits) ** 2)


def test_squared_distance(batch):
    bits, levels = batch
    similar, dissimilar = [], []
    for i, j in PAIRS:
        distance = (N_BITS - inner(bits, i, j)) / 2
        if levels[i, j]:
            similar.append((distance - 2.0) ** 2)
        else:
            dissimilar.append((distance - N_BITS) ** 2)
    expected = np.mean(similar) + np.mean(dissimilar)
    assert value("squared distance", bits, levels) == pytest.approx(expected)


def test_likelihood(batch):
    bits, levels = batch
    terms = []
    for i, j in PAIRS:
        theta = inner(bits, i, j) / 2
        probability = 1 / (1 + math.exp(-theta))
        terms.append(-math.log(probability if levels[i, j] else 1 - probability))
    expected = np.mean(terms) + 0.3 * quantization(bits)
    assert value("likelihood", bits, levels) == pytest.approx(expected)


def test_weighted_likelihood(batch):
    bits, levels = batch
    n_similar = sum(levels[pair] > 0 for pair in PAIRS)
    total = 0.0
    for i, j in PAIRS:
        logit, is_similar = 10 / N_BITS * inner(bits, i, j), levels[i, j] > 0
        weight = len(PAIRS) / (n_similar if is_similar else len(PAIRS) - n_similar)
        total += weight * (math.log(1 + math.exp(logit)) - is_similar * logit)
    expected = total / len(PAIRS)
    assert value("weighted likelihood", bits, levels) == pytest.approx(expected)


def test_triplets(batch):
    bits, levels = batch
    terms = []
    for q, p, n in itertools.permutations(range(N), 3):
        if levels[q, p] > levels[q, n]:
            gap = (inner(bits, q, p) - inner(bits, q, n)) / 2 - 1.5
            terms.append(-(gap - math.log(1 + math.exp(gap))))
    expected = np.mean(terms) + 0.3 * quantization(bits)
    assert value("triplet", bits, levels) == pytest.approx(expected)


def test_part_of_the_triplets(batch, monkeypatch):
    """Every second pair of a query and a positive one, in their order."""
    bits, levels = batch
    positive_pairs = [pair for pair in PAIRS if levels[pair]]
    monkeypatch.setattr(_pairs, "_MOST_TRIPLETS", -(-len(positive_pairs) // 2) * N)
    terms = [
        math.log(1 + math.exp(1.5 - (inner(bits, q, p) - inner(bits, q, n)) / 2))
        for q, p in positive_pairs[::2]
        for n in range(N)
        if n != q and levels[q, p] > levels[q, n]
    ]
    part = value("triplet", bits, levels, quantization_weight=0.0)
    assert part == pytest.approx(np.mean(terms))


def test_mutual_information_of_binary_codes(batch):
    """At integer counts it is that of two discrete variables, as scikit-learn has it."""
    codes, levels = np.sign(batch[0]), batch[1]
    information = []
    for i in range(N):
        others = [j for j in range(N) if j != i]
        distances = [np.sum(codes[i] != codes[j]) for j in others]
        information.append(mutual_info_score(levels[i, others] > 0, distances))
    loss = value("mutual information", codes, levels)
    assert loss == pytest.approx(-np.mean(information), abs=1e-6)
    assert loss < -0.05


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name, batch):
    bits, levels = batch
    bits = torch.from_numpy(bits).requires_grad_()
    index = torch.from_numpy(levels)
    assert torch.autograd.gradcheck(lambda u: call(name, u, index), bits)


def test_gradients_are_finite_at_the_edges(batch):
    """Pairs that are all alike; saturated bits, whose distances meet integers."""
    for name in LOSSES:
        bits, levels = batch
        alike = (np.full((N, N), level, dtype=np.uint8) for level in (0, 1))
        for values, index in (*((bits, index) for index in alike), (np.sign(bits), levels)):
            leaf = torch.from_numpy(values).float().requires_grad_()
            call(name, leaf, torch.from_numpy(index)).backward()
            assert torch.isfinite(leaf.grad).all()
