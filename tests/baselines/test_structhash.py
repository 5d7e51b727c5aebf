"""StructHasher: bits that a structured SVM of rankings adds, one after another."""

import numpy as np
import pytest
from hashers import held_out_histogram, mean_ap

from sklearn_talr.baselines import StructHasher, _structhash
from sklearn_talr.baselines._structhash import HammingRankingSVM
from sklearn_talr.hashing import LSHHasher


@pytest.mark.parametrize("loss", ["AP", "nDCG"])
def test_learns(loss, digits, learned):
    X, y = digits[0][:900], digits[1][:900]
    hasher = StructHasher(16, loss=loss, n_queries=60, random_state=learned.seed)
    aps = [
        mean_ap(held_out_histogram(h, X, y, 600))
        for h in (LSHHasher(16, random_state=learned.seed), hasher)
    ]
    learned.gain(aps[1] - aps[0])
    assert len(hasher.loss_curve_) == 16
    assert hasher.loss_curve_[-1] < hasher.loss_curve_[0]


@pytest.mark.parametrize(("n_queries", "n_found"), [(7, 7), (300, 20)])
def test_so_many_of_the_samples_that_can_rank_are_queries(n_queries, n_found, monkeypatch):
    """Twenty of thirty have a similar one; each query ranks all thirty."""
    shapes = []

    class Recorded(HammingRankingSVM):
        def __init__(self, similar, *args, **options):
            shapes.append(similar.shape)
            off = ~np.eye(*similar.shape, dtype=bool)
            assert (similar & off).any(axis=1).all()
            super().__init__(similar, *args, **options)

    monkeypatch.setattr(_structhash, "HammingRankingSVM", Recorded)
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = np.where(np.arange(30) < 20, np.arange(30) % 4, np.arange(30))
    StructHasher(2, n_queries=n_queries, random_state=0).fit(X, y)
    assert shapes == [(n_found, 30)]
