"""Losses that draw samples to codes of classes, against slow definitions."""

import math

import numpy as np
import pytest
import torch
from numpy.random import RandomState

from sklearn_talr.affinity import SharedLabelAffinity
from sklearn_talr.baselines import CSQHasher
from sklearn_talr.baselines._class_codes import ClassCodes, majority_codes
from sklearn_talr.hashing.gradient._data import TrainingData
from sklearn_talr.hashing.gradient._settings import Settings
from sklearn_talr.hashing.losses._classes import (
    CentralLoss,
    OrthogonalLoss,
    central_similarity_loss,
    orthogonal_loss,
)

N, N_CLASSES, N_BITS = 7, 4, 6
MARGIN, SCALE = 0.2, 8.0


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    memberships = (rng.random((N, N_CLASSES)) < 0.4).astype(float)
    memberships[:2] = [[0, 0, 0, 0], [1, 1, 0, 0]]
    codes = rng.choice([-1.0, 1.0], (N_CLASSES, N_BITS))
    return rng.standard_normal((N, N_BITS)), codes, memberships


def orthogonal_by_definition(activations, codes, memberships):
    losses = []
    for u, belongs in zip(activations, memberships):
        if not belongs.any():
            continue
        logits = [
            SCALE * (u @ c / (np.linalg.norm(u) * np.linalg.norm(c)) - MARGIN * own)
            for c, own in zip(codes, belongs)
        ]
        total = sum(map(math.exp, logits))
        own = [-math.log(math.exp(x) / total) for x, own in zip(logits, belongs) if own]
        losses.append(np.mean(own))
    return np.mean(losses)


def central_by_definition(scaled, codes, weight):
    losses = []
    for x, c in zip(scaled.ravel(), codes.ravel()):
        if c:
            h, center = math.tanh(x), (c + 1) / 2
            entropy = -math.log((1 + h) / 2 if center else (1 - h) / 2)
            losses.append(entropy + weight * math.log(math.cosh(abs(h) - 1)))
    return np.mean(losses)


def tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


def test_orthogonal_loss(batch):
    loss = orthogonal_loss(*tensors(*batch), MARGIN, SCALE).item()
    assert loss == pytest.approx(orthogonal_by_definition(*batch))


def test_central_similarity_loss(batch):
    activations, codes, memberships = batch
    aims = majority_codes(memberships, codes, np.random.RandomState(0))
    assert np.any(aims == 0)
    loss = central_similarity_loss(*tensors(activations, aims), 0.3).item()
    assert loss == pytest.approx(central_by_definition(activations, aims, 0.3))


def test_gradients(batch):
    activations, codes, memberships = tensors(*batch)
    activations.requires_grad_()

    def orthogonal(u):
        return orthogonal_loss(u, codes, memberships, MARGIN, SCALE)

    def central(u):
        return central_similarity_loss(u, codes[[0, 1, 2, 3, 0, 1, 2]], 0.3)

    assert torch.autograd.gradcheck(orthogonal, activations)
    assert torch.autograd.gradcheck(central, activations)


def test_samples_of_no_class_have_no_say(batch):
    activations, codes, memberships = tensors(*batch)
    activations.requires_grad_()
    orthogonal_loss(activations, codes, memberships, MARGIN, SCALE).backward()
    assert not activations.grad[0].any()
    assert activations.grad[1].any()
    nobody = torch.zeros(N, N_CLASSES, dtype=torch.float64)
    assert orthogonal_loss(activations, codes, nobody, MARGIN, SCALE).item() == 0
    no_target = torch.zeros(N, N_BITS, dtype=torch.float64)
    assert central_similarity_loss(activations, no_target, 0.3).item() == 0


@pytest.mark.parametrize("n_kept", [6, 4])
def test_a_step_sees_the_bits_that_it_keeps(batch, n_kept):
    """Of the activations and of the codes, and of the scale of tanh at its progress."""
    _, codes, memberships = batch
    rng = np.random.default_rng(1)
    X, targets = np.empty((N, 3)), memberships.astype(int)
    data = TrainingData(X, targets, SharedLabelAffinity(), None, None, {})
    classes = ClassCodes(data, N_BITS)
    classes.codes = codes
    hasher = CSQHasher(N_BITS, bit_dropout=1 - n_kept / N_BITS, tanh_scale=3.0)
    settings = Settings.of(hasher, data)
    activations = torch.from_numpy(rng.standard_normal((4, N_BITS))).float()
    samples = np.array([5, 2, 1, 6])
    kept, aims = np.arange(N_BITS), majority_codes(memberships, codes, RandomState(0))
    for loss, expected in (
        (
            OrthogonalLoss(classes, MARGIN, SCALE, settings),
            lambda u, k: orthogonal_by_definition(
                u[:, k], codes[:, k], memberships[samples]
            ),
        ),
        (
            CentralLoss(classes, 0.3, settings),
            lambda u, k: central_by_definition(3 * u[:, k], aims[samples][:, k], 0.3),
        ),
    ):
        loss.begin(RandomState(0))
        loss.rng = RandomState(2)
        if n_kept < N_BITS:
            kept = RandomState(2).permutation(N_BITS)[:n_kept]
        found = loss(activations, samples, 0.0).item()
        assert found == pytest.approx(expected(activations.numpy(), kept), rel=1e-5)
