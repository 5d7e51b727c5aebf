"""FastHasher: trees that learn inferred bits."""

import numpy as np
import pytest
from discrete_cases import pairwise_loss
from hashers import held_out_histogram, mean_ap
from sklearn.dummy import DummyRegressor

from sklearn_talr.baselines import FastHasher
from sklearn_talr.baselines._graph_cuts import PairwiseBits
from sklearn_talr.hashing import LSHHasher


@pytest.fixture(scope="module")
def hasher(few_digits):
    return FastHasher(4, n_trees=3, random_state=0).fit(*few_digits)


def test_later_bits_build_on_what_trees_give(hasher, few_digits):
    X, y = few_digits
    codes = np.where(hasher.transform(X), 1.0, -1.0)
    signs = np.where(y[:, None] == y, 1.0, -1.0)
    for n_bits, loss in enumerate(hasher.loss_curve_, start=1):
        expected = pairwise_loss(codes[:, :n_bits], signs)
        assert loss == pytest.approx(expected, rel=1e-4)
    assert len(hasher.estimators_) == 4


def test_each_bit_is_inferred_in_two_passes_given_those_before(few_digits, monkeypatch):
    """Inner products of r bits are to be r."""
    steps = []
    improve = PairwiseBits.improve

    def recorded(self, bit, others, wanted):
        steps.append((others.shape[1], wanted))
        improve(self, bit, others, wanted)

    monkeypatch.setattr(PairwiseBits, "improve", recorded)
    FastHasher(3, n_trees=1, random_state=0).fit(*few_digits)
    assert steps == [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)]


def test_bits_that_all_samples_share():
    """Trees need two classes, but the samples drawn may be all similar."""
    X = np.arange(12.0)[:, None]
    y = np.repeat([0, 1], [11, 1])
    hasher = FastHasher(4, subsample=3, random_state=1).fit(X, y)
    assert all(isinstance(trees, DummyRegressor) for trees in hasher.estimators_)
    codes = hasher.transform(X)
    np.testing.assert_array_equal(codes, np.repeat(codes[:1], 12, axis=0))


def test_learns(digits, learned):
    X, y = digits[0][:900], digits[1][:900]
    aps = [
        mean_ap(held_out_histogram(hasher.set_params(random_state=learned.seed), X, y, 500))
        for hasher in (LSHHasher(16), FastHasher(16, n_trees=10))
    ]
    learned.gain(aps[1] - aps[0])
