"""Nested codes: every number of leading bits is a code."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_talr import TALRHasher
from sklearn_talr.hashing.losses import _ranking
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import tie_aware_average_precision


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)


def held_out(hasher, digits, bits=slice(None)):
    X_database, X_query, y_database, y_query = digits
    codes = [hasher.transform(X)[:, bits] for X in (X_query, X_database)]
    histogram = hamming_histogram(*codes, "auto", y_query, y_database)
    return np.mean(tie_aware_average_precision(histogram))


def fit(digits, n_bits, max_iter, **params):
    hasher = TALRHasher(n_bits, max_iter=max_iter, random_state=0, **params)
    return hasher.fit(digits[0], digits[2])


def test_leading_bits_are_better_than_others(digits):
    """Than as many of plain codes, whichever these are, and than the last of their own."""
    nested, plain = (fit(digits, 64, 10, init="random", nested=n) for n in (True, False))
    rng = np.random.default_rng(0)
    parts = [held_out(plain, digits, rng.permutation(64)[:8]) for _ in range(12)]
    leading = held_out(nested, digits, slice(8))
    assert leading > np.mean(parts) + 0.05
    assert leading > held_out(nested, digits, slice(-8, None)) + 0.2


def test_every_length_keeps_up_with_a_separate_fit(digits):
    nested, plain, short = (
        fit(digits, n_bits, 30, batch_size=128, nested=n)
        for n_bits, n in ((24, True), (24, False), (12, False))
    )
    assert held_out(nested, digits, slice(12)) > held_out(short, digits) - 0.05
    assert held_out(nested, digits) > held_out(plain, digits) - 0.03


@pytest.mark.parametrize("n_bits", [1, 3, 64])
@pytest.mark.parametrize("bit_dropout", [0.0, 0.5])
def test_steps_rank_by_leading_bits(n_bits, bit_dropout, monkeypatch):
    """Bit i takes part less often than bit i - 1, and every length occurs."""
    used = np.zeros(n_bits, dtype=int)
    drop_bits = _ranking.RankingLoss._drop_bits

    def spy(self, activations):
        kept = drop_bits(self, activations)
        ones = (kept[0][:, None] == activations[0]).any(0)
        used[ones.numpy()] += 1
        return kept

    monkeypatch.setattr(_ranking.RankingLoss, "_drop_bits", spy)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 5)), rng.integers(2, size=100)
    params = {"nested": True, "bit_dropout": bit_dropout, "batch_size": 20}
    max_iter = 60 if n_bits == 64 else 10
    TALRHasher(n_bits, max_iter=max_iter, random_state=0, **params).fit(X, y)
    assert used[: max(n_bits - 8, 3)].min() > 0
    if n_bits == 64:
        assert used[:4].mean() > 1.5 * used[30:34].mean() > 2 * used[-4:].mean()
