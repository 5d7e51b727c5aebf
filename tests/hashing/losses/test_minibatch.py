"""Levels of the pairs of a batch: always those of the affinity oracle."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.hashing.losses import _levels
from sklearn_talr.hashing.losses._levels import batch_levels

rng = np.random.default_rng(0)
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


@pytest.mark.parametrize("pairs_per_block", [2**20, 13])  # one block, two rows each
@pytest.mark.parametrize("n_queries", [6, 4])
@pytest.mark.parametrize("name", CASES)
def test_levels_are_those_of_the_oracle(name, n_queries, pairs_per_block, monkeypatch):
    monkeypatch.setattr(_levels, "_PAIRS_PER_BLOCK", pairs_per_block)
    affinity, targets = CASES[name]
    if hasattr(affinity, "fit"):
        affinity.fit(targets)
    levels = np.asarray(affinity.levels_between(targets, targets))
    index = batch_levels(affinity, levels, targets, torch.device("cpu"))
    samples = np.array([3, 29, 0, 11, 17, 8])
    found = index(samples, n_queries)
    expected = affinity(targets[samples[:n_queries]], targets[samples])
    assert len(np.unique(expected)) > 1
    np.testing.assert_array_equal(levels[found.numpy()], expected)
    assert not found.is_floating_point()
