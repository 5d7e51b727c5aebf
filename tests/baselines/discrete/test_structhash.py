"""StructHasher: bits that a structured SVM of rankings adds, one after another."""

import numpy as np
import pytest
from hashers import held_out_histogram, mean_ap

from sklearn_talr.baselines import StructHasher
from sklearn_talr.hashing import LSHHasher


@pytest.mark.parametrize("loss", ["average_precision", "ndcg"])
def test_learns(loss, digits):
    X, y = digits[0][:900], digits[1][:900]
    hasher = StructHasher(16, loss=loss, n_queries=60, random_state=0)
    aps = [
        mean_ap(held_out_histogram(h, X, y, 600))
        for h in (LSHHasher(16, random_state=0), hasher)
    ]
    assert aps[1] > aps[0] + 0.2
    assert len(hasher.loss_curve_) == 16
    assert hasher.loss_curve_[-1] < hasher.loss_curve_[0]


def test_samples_drawn_that_cannot_rank():
    X = np.arange(12.0)[:, None]
    y = np.repeat([0, 1], [11, 1])
    with pytest.raises(ValueError, match="Raise subsample"):
        StructHasher(4, subsample=2, random_state=1).fit(X, y)
