"""How an index fits its hasher: by `fit_database` if it stores the rows of the fit."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    ITQHasher,
    _additive,
)
from sklearn_talr.neighbors import HashedNeighbors

X = np.random.default_rng(0).normal(size=(60, 6))


class Noted(ITQHasher):
    """Notes which of its methods an index has called."""

    def fit(self, X, y=None):
        super().fit(X, y)
        self.method_called_ = "fit"
        return self

    def fit_database(self, X, y=None):
        super().fit(X, y)
        self.method_called_ = "fit_database"
        return self


class OtherPipeline(Pipeline):
    """A Pipeline of another package."""


def pipeline_of(*steps):
    return OtherPipeline([(str(place), step) for place, step in enumerate(steps)])


HASHER = Noted(4, random_state=0)
CASES = {
    "alone": (HASHER, "fit_database"),
    "Pipeline": (make_pipeline(StandardScaler(), HASHER), "fit_database"),
    "of another package": (pipeline_of(StandardScaler(), HASHER), "fit_database"),
    "nested": (make_pipeline(StandardScaler(), pipeline_of(HASHER)), "fit_database"),
    "ends in no step": (make_pipeline(HASHER, "passthrough"), "fit_database"),
    "cross-fits": (make_pipeline(ClassProbabilities(), HASHER), "fit_database"),
    "in both": (
        pipeline_of(ClassProbabilities(), make_pipeline(StandardScaler(), HASHER)),
        "fit_database",
    ),
    "search": (GridSearchCV(HASHER, {"n_bits": [4]}, cv=2), "fit"),
    "frozen": (FrozenEstimator(Noted(4, random_state=0).fit(X)), "fit"),
}


def inner(estimator):
    """The hasher at the end of an estimator."""
    while not isinstance(estimator, Noted):
        if isinstance(estimator, Pipeline):
            estimator = [step for _, step in estimator.steps if step != "passthrough"][-1]
        else:
            estimator = getattr(estimator, "best_estimator_", None) or estimator.estimator
    return estimator


@pytest.mark.parametrize("name", CASES)
def test_the_rows_of_the_fit_are_the_database(name):
    estimator, method = CASES[name]
    y = np.arange(60) % 3
    index = HashedNeighbors(estimator).fit(X, y)
    hasher = inner(index.hasher_)
    assert hasher.method_called_ == method
    if isinstance(estimator, Pipeline):
        assert [step for step, _ in index.hasher_.steps] == [s for s, _ in estimator.steps]
    # A sample of the rows is no database.
    if name != "frozen":
        index = HashedNeighbors(estimator, max_samples=40, random_state=0).fit(X, y)
        assert inner(index.hasher_).method_called_ == "fit"


def test_an_additive_hasher_prefers_codebooks_for_a_database(monkeypatch):
    """Nothing else differs from `fit`, and nothing is left on the hasher."""
    asked = []

    def noted(*arguments, are_items, **options):
        asked.append(are_items)
        return fit_best(*arguments, are_items=are_items, **options)

    fit_best = _additive.fit_best
    monkeypatch.setattr(_additive, "fit_best", noted)
    hasher = AdditiveHasher(8, method="bits", max_iter=1, random_state=0)
    attributes = list(vars(hasher.fit(X)))
    codes = hasher.encode(X)
    assert list(vars(hasher.fit_database(X))) == attributes
    np.testing.assert_array_equal(hasher.encode(X), codes)
    HashedNeighbors(hasher).fit(X)
    HashedNeighbors(hasher, max_samples=40).fit(X)
    assert asked == [False, True, True, False]
    # Rows that the hasher itself leaves out are not all items.
    hasher.set_params(max_samples=30).fit_database(X)
    assert asked[-1] is False


class Broken(ITQHasher):
    """Weights of queries that no index can compare."""

    weights = None

    def query_weights(self, X):
        return self.weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full((2, 4), np.nan), r"finite float32 weights.*shape \(2, 4\) with 8 entries"),
        (np.full((2, 4), 1e39), "finite float32 weights.*If features of X are far larger"),
        (np.ones(4), r"of shape \(n_queries, n_weights\).*shape \(4,\)"),
        (np.ones((2, 5)), "query_weights has 5 columns. Codes of 4 bits"),
    ],
)
def test_weights_of_a_broken_hasher_are_refused(weights, message, monkeypatch):
    index = HashedNeighbors(Broken(4, random_state=0), query="weights").fit(X)
    monkeypatch.setattr(Broken, "weights", weights)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        index.kneighbors(X[:2], 3)
    monkeypatch.undo()
    monkeypatch.setattr(Broken, "weights", np.ones((2, 4)).tolist())
    assert index.kneighbors(X[:2], 3)[1].shape == (2, 3)


class Doubling(AdditiveHasher):
    """A subclass that changes rows in `fit`, which `fit_database` does not do."""

    def fit(self, X, y=None):
        super().fit(2 * X, y)
        self.method_called_ = "fit"
        return self


def test_a_subclass_with_a_fit_of_its_own_is_fitted_by_it():
    index = HashedNeighbors(Doubling(8, method="axes", metric="euclidean")).fit(X)
    assert index.hasher_.method_called_ == "fit"
    np.testing.assert_allclose(index.hasher_.mean_, 2 * X.mean(axis=0))
