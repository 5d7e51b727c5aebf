"""Levels of the pairs of a batch, the bits that take part, and their loss."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hashers import small

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.hashing.gradient._data import TrainingData, check_data
from sklearn_talr.hashing.gradient._settings import Settings
from sklearn_talr.hashing.losses import _minibatch
from sklearn_talr.hashing.losses._minibatch import BatchLoss, PairwiseLoss, batch_levels
from sklearn_talr.objectives import TieAwareLoss
from sklearn_talr.objectives._loss import OBJECTIVES

rng = np.random.default_rng(0)
CPU = torch.device("cpu")
INDICATOR = (rng.random((30, 9)) < 0.3).astype(int)
GRADES = np.array([0, 1, 3, 7])[rng.integers(4, size=(30, 30))]
CASES = {
    "numbers": (LabelAffinity(), rng.integers(4, size=30)),
    "names": (
        LabelAffinity(),
        np.array(["a", "b", "c"], dtype=object)[rng.integers(3, size=30)],
    ),
    "shared": (SharedLabelAffinity(), INDICATOR),
    "shared, bool": (SharedLabelAffinity(), INDICATOR.astype(bool)),
    "shared, any": (SharedLabelAffinity(binary=True), INDICATOR),
    "shared, CSR": (SharedLabelAffinity(), sp.csr_matrix(INDICATOR)),
    "precomputed": (PrecomputedAffinity(GRADES), PrecomputedAffinity(GRADES)),
    "distances": (ThresholdAffinity((0.5, 0.1), levels=(1, 4)), rng.normal(size=(30, 3))),
}
SAMPLES = np.array([3, 29, 0, 11, 17, 8])


def settings_of(**params):
    hasher = small(**params)
    data = TrainingData(np.empty((30, 3)), None, LabelAffinity(), None, None, {})
    return Settings.of(hasher, data)


@pytest.mark.parametrize("name", CASES)
def test_levels_are_those_of_the_oracle(name, monkeypatch):
    affinity, targets = CASES[name]
    if hasattr(affinity, "fit"):
        affinity.fit(targets)
    levels = np.asarray(affinity.levels_between(targets, targets))
    expected = affinity(targets[SAMPLES], targets[SAMPLES])
    assert len(np.unique(expected)) > 1
    for pairs_per_block in (2**20, 13):  # one block; two rows each
        monkeypatch.setattr(_minibatch, "_PAIRS_PER_BLOCK", pairs_per_block)
        found = batch_levels(affinity, levels, targets, CPU)(SAMPLES)
        np.testing.assert_array_equal(levels[found.numpy()], expected)
        assert not found.is_floating_point()


class TestBits:
    def drawn(self, n_bits, nested=False, n_steps=400, **params):
        loss = BatchLoss(settings_of(n_bits=n_bits, **params), nested=nested)
        loss.begin(np.random.RandomState(0))
        draws = [loss.draw_bits(n_bits) for _ in range(n_steps)]
        return [np.arange(n_bits) if kept is None else kept.numpy() for kept in draws]

    def test_as_many_as_are_kept_and_all_alike(self):
        draws = self.drawn(32, bit_dropout=0.75)
        assert {len(np.unique(kept)) for kept in draws} == {8}
        counts = np.bincount(np.concatenate(draws), minlength=32)
        assert 60 < counts.min() < 100 < counts.max() < 140

    def test_none_is_left_out_without_dropout(self):
        loss = BatchLoss(settings_of(bit_dropout=0.0))
        loss.begin(None)  # nothing is drawn
        assert loss.draw_bits(8) is None

    @pytest.mark.parametrize("bit_dropout", [0.0, 0.5])
    def test_nested_codes_keep_some_of_the_leading_ones(self, bit_dropout):
        """A length is drawn from 4 to all; bit i takes part less often than bit i - 1."""
        draws = self.drawn(16, nested=True, n_steps=4000, bit_dropout=bit_dropout)
        lengths = np.array([len(kept) for kept in draws])
        expected = np.arange(4, 17)
        if bit_dropout:
            expected = [round(n / 2) for n in expected]
        assert set(lengths) == set(expected)
        counts = np.bincount(np.concatenate(draws), minlength=16) / 4000
        # Bit i is among the leading n of 4, ..., 16 with probability (16 - max(i, 3)) / 13.
        probability = (16 - np.maximum(np.arange(16), 3)) / 13
        if not bit_dropout:
            np.testing.assert_allclose(counts, probability, atol=0.03)
            assert all(
                np.array_equal(np.sort(kept), np.arange(len(kept))) for kept in draws
            )
        assert counts[:4].mean() > 1.5 * counts[8:10].mean() > 2 * counts[14:].mean() > 0

    def test_codes_too_short_to_be_nested_keep_all(self):
        for n_bits in [1, 3]:
            for kept in self.drawn(n_bits, nested=True, n_steps=20, bit_dropout=0.0):
                np.testing.assert_array_equal(np.sort(kept), np.arange(n_bits))


def test_scale_of_tanh_grows_geometrically():
    loss = BatchLoss(settings_of(), tanh_scale=(1.0, 16.0))
    ones = torch.ones(1, 1)
    scales = [loss.scale(ones, progress).item() for progress in (0, 0.25, 0.5, 1)]
    assert scales == pytest.approx([1, 2, 4, 16])


@pytest.mark.parametrize("binary", [False, True])
def test_a_function_of_relaxed_bits_and_levels(binary):
    seen = []
    affinity, targets = CASES["precomputed"]
    levels = np.array([0, 1, 3, 7])
    data = TrainingData(None, targets, affinity, levels, None, {})
    loss = PairwiseLoss(
        lambda *args: seen.append(args),
        data,
        settings_of(bit_dropout=0.0),
        tanh_scale=(2.0, 8.0),
        binary=binary,
    )
    loss.begin(np.random.RandomState(0))
    activations = torch.from_numpy(rng.standard_normal((6, 8)))
    loss(activations, SAMPLES, 0.5)
    bits, index = seen[0]
    torch.testing.assert_close(bits, torch.tanh(4.0 * activations))
    expected = affinity(targets[SAMPLES], targets[SAMPLES])
    np.testing.assert_array_equal(expected > 0 if binary else expected, levels[index])


@pytest.mark.parametrize("name", ["shared", "distances"])
def test_that_of_talr_is_the_tie_aware_loss(name):
    """Of the bits kept, at the oracle's levels, of which AP sees but whether any."""
    for objective in OBJECTIVES:
        affinity, y = CASES[name]
        hasher = small(n_bits=32, objective=objective, tanh_scale=3.0, affinity=affinity)
        X = rng.standard_normal((30, 5))
        data = check_data(hasher, X, y, affinity)
        settings = Settings.of(hasher, data)
        loss = hasher._loss(data, settings)
        loss.begin(np.random.RandomState(0))
        activations = torch.from_numpy(rng.standard_normal((6, 32)))
        n_kept = 32 if name == "distances" else 16
        kept = (
            np.random.RandomState(0).permutation(32)[:n_kept]
            if n_kept < 32
            else np.arange(32)
        )
        levels = list(data.levels)
        affinities = data.affinity(data.targets[SAMPLES], data.targets[SAMPLES])
        index = torch.tensor([[levels.index(value) for value in row] for row in affinities])
        if objective.startswith("average_precision"):
            index, levels = (index > 0).long(), [0, 1]
        expected = TieAwareLoss(objective, levels=levels, tanh_scale=3.0)
        found = loss(activations, SAMPLES, 0.3)
        torch.testing.assert_close(found, expected(activations[:, kept], index))
