"""Nested codes: every number of leading bits is a code."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_talr import TALRHasher
from sklearn_talr.hashing import _ranking_loss
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import tie_aware_average_precision


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)


def held_out(hasher, digits, n_bits=None):
    X_database, X_query, y_database, y_query = digits
    codes = [hasher.transform(X)[:, :n_bits] for X in (X_query, X_database)]
    histogram = hamming_histogram(*codes, "auto", y_query, y_database)
    return np.mean(tie_aware_average_precision(histogram))


def fit(digits, n_bits, max_iter, **params):
    hasher = TALRHasher(n_bits, max_iter=max_iter, random_state=0, **params)
    return hasher.fit(digits[0], digits[2])


def test_leading_bits_are_better_than_those_of_plain_codes(digits):
    nested, plain = fit(digits, 32, 25, nested=True), fit(digits, 32, 25)
    assert held_out(nested, digits, 8) > held_out(plain, digits, 8) + 0.03


def test_every_length_keeps_up_with_a_separate_fit(digits):
    nested = fit(digits, 32, 60, nested=True)
    assert held_out(nested, digits, 8) > held_out(fit(digits, 8, 60), digits) - 0.05
    assert held_out(nested, digits) > held_out(fit(digits, 32, 60), digits) - 0.03


@pytest.mark.parametrize("n_bits", [1, 3, 64])
@pytest.mark.parametrize("bit_dropout", [0.0, 0.5])
def test_steps_rank_by_leading_bits(n_bits, bit_dropout, monkeypatch):
    """Bit i takes part less often than bit i - 1, and every length occurs."""
    used = np.zeros(n_bits, dtype=int)
    drop_bits = _ranking_loss.RankingLoss._drop_bits

    def spy(self, activations):
        kept = drop_bits(self, activations)
        ones = (kept[0][:, None] == activations[0]).any(0)
        used[ones.numpy()] += 1
        return kept

    monkeypatch.setattr(_ranking_loss.RankingLoss, "_drop_bits", spy)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 5)), rng.integers(2, size=100)
    params = {"nested": True, "bit_dropout": bit_dropout, "batch_size": 20}
    TALRHasher(n_bits, max_iter=60, random_state=0, **params).fit(X, y)
    assert used[: n_bits - 8].min(initial=1) > 0
    if n_bits == 64:
        assert used[:4].mean() > 1.5 * used[30:34].mean() > 2 * used[-4:].mean()
