"""Losses that draw samples to codes of classes, against slow definitions."""

import math

import numpy as np
import pytest
import torch
from numpy.random import RandomState

from sklearn_talr.affinity import SharedLabelAffinity
from sklearn_talr.losses import Batch, CSQLoss, LossContext, OrthoHashLoss
from sklearn_talr.losses._classes import majority_codes

N, N_CLASSES, N_BITS = 7, 4, 6
MARGIN, SCALE = 0.2, 8.0
ORTHO = OrthoHashLoss(margin=MARGIN, cosine_scale=SCALE)
CSQ = CSQLoss(quantization_weight=0.3)


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
    loss = ORTHO(*tensors(*batch)).item()
    assert loss == pytest.approx(orthogonal_by_definition(*batch))


def test_central_similarity_loss(batch):
    activations, codes, memberships = batch
    aims = majority_codes(memberships, codes, np.random.RandomState(0))
    assert np.any(aims == 0)
    loss = CSQ(*tensors(activations, aims)).item()
    assert loss == pytest.approx(central_by_definition(activations, aims, 0.3))


def test_gradients(batch):
    activations, codes, memberships = tensors(*batch)
    activations.requires_grad_()

    def orthogonal(u):
        return ORTHO(u, codes, memberships)

    def central(u):
        return CSQ(u, codes[[0, 1, 2, 3, 0, 1, 2]])

    assert torch.autograd.gradcheck(orthogonal, activations)
    assert torch.autograd.gradcheck(central, activations)


def test_samples_of_no_class_have_no_say(batch):
    activations, codes, memberships = tensors(*batch)
    activations.requires_grad_()
    ORTHO(activations, codes, memberships).backward()
    assert not activations.grad[0].any()
    assert activations.grad[1].any()
    nobody = torch.zeros(N, N_CLASSES, dtype=torch.float64)
    assert ORTHO(activations, codes, nobody).item() == 0
    no_target = torch.zeros(N, N_BITS, dtype=torch.float64)
    assert CSQ(activations, no_target).item() == 0


@pytest.mark.parametrize("n_kept", [6, 4])
def test_a_step_sees_the_bits_that_it_keeps(batch, n_kept):
    """Of the activations and of the codes, and of the scale of tanh."""
    _, codes, memberships = batch
    earlier = {"classes_": np.arange(N_CLASSES), "class_codes_": codes}
    context = LossContext(
        affinity=SharedLabelAffinity(),
        targets=memberships.astype(int),
        levels=None,
        gain_levels=None,
        n_bits=N_BITS,
        is_relaxed=True,
        device=torch.device("cpu"),
        rng=RandomState(0),
        fitted_before=earlier,
    )
    bits = np.random.default_rng(1).choice(N_BITS, n_kept, replace=False)
    kept = None if n_kept == N_BITS else torch.from_numpy(bits)
    bits = np.arange(N_BITS) if kept is None else bits
    activations = torch.randn(4, n_kept, generator=torch.Generator().manual_seed(0))
    samples, u = np.array([5, 2, 1, 6]), activations.numpy()
    step, fitted = ORTHO.bind(context)
    assert fitted["class_codes_"] is codes
    found = step(Batch(activations, None, samples, kept, None)).item()
    expected = orthogonal_by_definition(u, codes[:, bits], memberships[samples])
    assert found == pytest.approx(expected, rel=1e-5)
    step, _ = CSQ.bind(context._replace(rng=RandomState(0)))
    found = step(Batch(activations, None, samples, kept, 3.0)).item()
    aims = majority_codes(memberships, codes, RandomState(0))[samples][:, bits]
    assert found == pytest.approx(central_by_definition(3 * u, aims, 0.3), rel=1e-5)
