"""Codes of classes, and losses that draw samples to them, against slow definitions."""

import math

import numpy as np
import pytest
import torch

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.baselines._class_codes import (
    class_memberships,
    draw_class_codes,
    majority_codes,
)
from sklearn_talr.hashing.losses._classes import central_similarity_loss, orthogonal_loss

N, N_CLASSES, N_BITS = 7, 4, 6
MARGIN, SCALE = 0.2, 8.0


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    memberships = (rng.random((N, N_CLASSES)) < 0.4).astype(float)
    memberships[:2] = [[0, 0, 0, 0], [1, 1, 0, 0]]
    codes = rng.choice([-1.0, 1.0], (N_CLASSES, N_BITS))
    return rng.standard_normal((N, N_BITS)), codes, memberships


class TestClassCodes:
    @pytest.mark.parametrize(("n_bits", "n_classes"), [(8, 8), (32, 10), (16, 2)])
    def test_hadamard_rows_differ_in_half_of_the_bits(self, n_bits, n_classes):
        codes = draw_class_codes(n_classes, n_bits, np.random.RandomState(0))
        np.testing.assert_array_equal(codes @ codes.T, n_bits * np.eye(n_classes))

    def test_negatives_follow_when_rows_are_used_up(self):
        codes = draw_class_codes(8, 4, np.random.RandomState(0))
        np.testing.assert_array_equal(codes[4:], -codes[:4])

    @pytest.mark.parametrize(("n_bits", "n_classes"), [(12, 10), (48, 20), (8, 40)])
    def test_random_codes_are_balanced_and_apart(self, n_bits, n_classes):
        codes = draw_class_codes(n_classes, n_bits, np.random.RandomState(0))
        assert codes.shape == (n_classes, n_bits)
        np.testing.assert_array_equal(codes.sum(axis=1), 0)
        if n_bits > 8:
            assert len(np.unique(codes, axis=0)) == n_classes

    def test_odd_lengths(self):
        codes = draw_class_codes(3, 7, np.random.RandomState(0))
        np.testing.assert_array_equal(np.abs(codes.sum(axis=1)), 1)

    def test_memberships(self):
        classes, memberships = class_memberships(LabelAffinity(), np.array(["b", "a", "b"]))
        np.testing.assert_array_equal(classes, ["a", "b"])
        np.testing.assert_array_equal(memberships, [[0, 1], [1, 0], [0, 1]])
        indicator = np.array([[1, 0, 1], [0, 0, 0]])
        classes, memberships = class_memberships(SharedLabelAffinity(), indicator)
        np.testing.assert_array_equal(classes, [0, 1, 2])
        np.testing.assert_array_equal(memberships, indicator)

    def test_majority(self, batch):
        _, codes, memberships = batch
        drawn = majority_codes(memberships, codes, np.random.RandomState(0))
        for row, belongs in zip(drawn, memberships):
            for bit in range(N_BITS):
                votes = [codes[k, bit] for k in range(N_CLASSES) if belongs[k]]
                if not votes:
                    assert row[bit] == 0
                elif sum(votes):
                    assert row[bit] == np.sign(sum(votes))
                else:
                    assert abs(row[bit]) == 1


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
            h, centre = math.tanh(x), (c + 1) / 2
            entropy = -math.log((1 + h) / 2 if centre else (1 - h) / 2)
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
