"""Batches whose samples rank a larger database."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sklearn_talr import PrecomputedAffinity, TALRHasher
from sklearn_talr.hashing.losses import _ranking


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:200], y[:200]


def hasher(**params):
    defaults = {"n_bits": 8, "max_iter": 2, "batch_size": 50, "random_state": 0}
    return TALRHasher(**(defaults | params))


@pytest.mark.parametrize(
    ("size", "ranked"), [(120, 120), (1000, 200), (None, 50), (30, 50)]
)
def test_queries_rank_so_many_different_samples(digits, size, ranked, monkeypatch):
    steps = []
    loss = _ranking.RankingLoss.__call__

    def spy(self, activations, samples, n_queries, progress):
        steps.append((samples, n_queries))
        return loss(self, activations, samples, n_queries, progress)

    monkeypatch.setattr(_ranking.RankingLoss, "__call__", spy)
    hasher(database_batch_size=size).fit(*digits)
    assert len(steps) == 8
    assert {n_queries for _, n_queries in steps} == {50}
    assert {len(np.unique(samples)) for samples, _ in steps} == {ranked}
    assert {len(samples) for samples, _ in steps} == {ranked}
    queries = np.concatenate([samples[:50] for samples, _ in steps[:4]])
    np.testing.assert_array_equal(np.sort(queries), np.arange(200))


def test_loss_is_a_mean_over_queries(digits):
    X, y = digits
    values = []
    for size in (None, 200):
        fitted = hasher(batch_size=200, database_batch_size=size, max_iter=1).fit(X, y)
        values += fitted.loss_curve_
    assert values[0] == pytest.approx(values[1], abs=1e-6)
    # Queries in four batches over the same database of all samples: the mean is the same.
    params = {"batch_size": 50, "database_batch_size": 200, "learning_rate_init": 1e-12}
    params |= {"max_iter": 1, "bit_dropout": 0}
    split = hasher(**params).fit(X, y)
    whole = hasher(**(params | {"batch_size": 200})).fit(X, y)
    assert split.loss_curve_[0] == pytest.approx(whole.loss_curve_[0], abs=1e-5)
    alone = hasher(**(params | {"database_batch_size": None})).fit(X, y)
    assert abs(alone.loss_curve_[0] - whole.loss_curve_[0]) > 1e-3


def test_every_form_of_targets(digits):
    X, y = digits
    affinity = PrecomputedAffinity((y[:, None] == y).astype(int))
    of_labels = hasher(database_batch_size=90).fit(X, y)
    of_pairs = hasher(database_batch_size=90).fit(X, affinity)
    np.testing.assert_array_equal(of_labels.transform(X), of_pairs.transform(X))
    by_distance = hasher(database_batch_size=90, objective="ndcg").fit(X)
    assert by_distance.transform(X).any()


def test_held_out_samples_are_never_ranked(digits, monkeypatch):
    seen = []
    loss = _ranking.RankingLoss.__call__

    def spy(self, activations, samples, n_queries, progress):
        seen.append(samples)
        return loss(self, activations, samples, n_queries, progress)

    monkeypatch.setattr(_ranking.RankingLoss, "__call__", spy)
    params = {"early_stopping": True, "validation_fraction": 0.2, "max_iter": 8}
    hasher(database_batch_size=150, **params).fit(*digits)
    assert len(np.unique(np.concatenate(seen))) == 160


@pytest.mark.parametrize("size", [1, 0, 12.5, "all"])
def test_refuses_other_sizes(digits, size):
    with pytest.raises(ValueError, match="database_batch_size"):
        hasher(database_batch_size=size).fit(*digits)
