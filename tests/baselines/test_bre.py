"""BREHasher: the hash function is the sum of anchors that coordinate descent finds."""

import numpy as np
import pytest
from hashers import held_out_histogram, mean_ap

from sklearn_talr.baselines import BREHasher
from sklearn_talr.hashing import LSHHasher


def test_learns(digits, learned):
    X, y = digits[0][:1400], digits[1][:1400]
    params = {"subsample": 300, "n_anchors": 20, "max_iter": 2}
    hasher = BREHasher(16, random_state=learned.seed, **params)
    aps = [
        mean_ap(held_out_histogram(h, X, y, 900))
        for h in (LSHHasher(16, random_state=learned.seed), hasher)
    ]
    learned.gain(aps[1] - aps[0])
    assert len(hasher.loss_curve_) == hasher.n_iter_ + 1 == 3
    assert np.all(np.diff(hasher.loss_curve_) <= 0)


@pytest.mark.parametrize("binary", [True, False])
def test_loss_is_that_of_the_codes(few_digits, binary):
    """Of distances 0 for the highest affinity, 1 for none, and between by its share."""
    X, y = few_digits
    affinities = (y[:, None] == y) * (1 if binary else np.minimum(y + 1, 3))
    targets = np.minimum(affinities, affinities.T)
    hasher = BREHasher(8, n_anchors=9, subsample=None, random_state=0).fit(X, targets)
    codes = hasher.transform(X).astype(int)
    distances = np.mean(codes[:, None] != codes, axis=2)
    errors = (1 - targets / targets.max() - distances) ** 2
    expected = errors[~np.eye(300, dtype=bool)].mean()
    assert hasher.loss_curve_[-1] == pytest.approx(expected, rel=1e-3)


def test_descent_ends_where_a_pass_changes_nothing():
    X, y = np.arange(6.0)[:, None], np.arange(6) > 2
    hasher = BREHasher(2, max_iter=50, random_state=0).fit(X, y)
    assert hasher.n_iter_ < 50
    assert hasher.loss_curve_[-1] == hasher.loss_curve_[-2]
