"""Losses bound to training data: levels of pairs, functions of affinities, tie-aware."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hashers import MEASURES

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.losses import (
    AveragePrecisionLoss,
    MutualInformationLoss,
    NDCGLoss,
    TieAwareLoss,
    _minibatch,
)
from sklearn_talr.losses._minibatch import Batch, Training, batch_levels, bind

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


def training_of(name, is_relaxed=True):
    """Training data of a case, and the affinities of some of its samples."""
    affinity, targets = CASES[name]
    if hasattr(affinity, "fit"):
        affinity.fit(targets)
    levels = np.asarray(affinity.levels_between(targets, targets))
    training = Training(affinity, targets, levels, 8, is_relaxed, CPU, None, {})
    return training, affinity(targets[SAMPLES], targets[SAMPLES])


@pytest.mark.parametrize("name", CASES)
def test_a_function_gets_relaxed_bits_and_affinities(name):
    """As floats, so that a researcher may compute with them."""
    seen = []
    training, affinities = training_of(name)
    step, fitted = bind(lambda *args: seen.append(args), training)
    activations = torch.from_numpy(rng.standard_normal((6, 8)))
    step(Batch(activations, SAMPLES, None, 4.0))
    bits, affinity = seen[0]
    torch.testing.assert_close(bits, torch.tanh(4.0 * activations))
    assert affinity.dtype == bits.dtype
    np.testing.assert_array_equal(affinity, affinities)
    step(Batch(activations, SAMPLES, None, None))
    assert seen[1][0] is activations
    assert fitted == {}


@pytest.mark.parametrize("name", CASES)
def test_tie_aware_losses_are_the_tie_aware_module(name):
    """At the levels of the oracle, of which AP knows only 0 and above."""
    training, affinities = training_of(name)
    batch = Batch(torch.randn(6, 8, dtype=torch.float64), SAMPLES, None, 3.0)
    levels = list(training.levels)
    index = torch.tensor([[levels.index(value) for value in row] for row in affinities])
    for measure in MEASURES:
        loss = {"AP": AveragePrecisionLoss, "nDCG": NDCGLoss}[measure["measure"]]
        loss = loss(simplified=measure["simplified"])
        gains = levels
        if measure["measure"] == "nDCG" and name.startswith("shared"):
            gains = np.log2(1.0 + training.levels)
        expected = TieAwareLoss(**measure, levels=gains, tanh_scale=3.0)
        expected = expected(batch.activations, index)
        torch.testing.assert_close(bind(loss, training)[0](batch), expected)
        if not name.startswith("shared"):
            values = torch.from_numpy(np.asarray(affinities, dtype=float))
            torch.testing.assert_close(loss(batch.bits, values), expected)


def test_what_counts_distances_needs_relaxed_bits():
    training, _ = training_of("numbers", is_relaxed=False)
    for loss in (AveragePrecisionLoss(), NDCGLoss(), MutualInformationLoss()):
        with pytest.raises(ValueError, match="tanh_scale=None leaves unbounded"):
            bind(loss, training)
