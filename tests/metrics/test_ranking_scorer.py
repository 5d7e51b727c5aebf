"""The scorer of grouped queries, in searches of scikit-learn with metadata routing."""

from functools import partial

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_talr.hashing import LSHHasher
from sklearn_talr.measures import nDCG
from sklearn_talr.metrics import (
    make_ranking_scorer,
    make_retrieval_scorer,
    tie_aware_average_precision_score,
    tie_aware_ndcg_score,
)
from sklearn_talr.svm import RankingSVC


class Ranker(BaseEstimator):
    """What LightGBM's ranker looks like to a search: neither classifier nor regressor."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, self.column]


@pytest.fixture
def queries():
    """Features of which the second is rounded grades with noise, grades and groups."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), rng.integers(5, 20, 30))
    y = rng.integers(0, 4, len(groups))
    X = rng.normal(size=(len(y), 3))
    X[:, 1] = np.round(X[:, 1] + y)
    return X, y, groups


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_a_search_optimizes_the_metric_of_queries(queries):
    X, y, groups = queries
    scorer = make_ranking_scorer(nDCG(dcg="log2") @ 5)
    folds = GroupKFold(3)
    search = GridSearchCV(Ranker(), {"column": [0, 1, 2]}, scoring=scorer, cv=folds)
    search.fit(X, y, groups=groups)
    assert search.best_params_ == {"column": 1}
    expected = [
        tie_aware_ndcg_score(y[i], X[i, 1], groups=groups[i], k=5, dcg="log2")
        for _, i in folds.split(X, y, groups)
    ]
    results = [search.cv_results_[f"split{i}_test_score"][1] for i in range(3)]
    assert_allclose(results, expected)
    actual = search.score(X, y, groups=groups)
    assert_allclose(actual, scorer(search, X, y, groups=groups))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("name", ["regressor", "classifier", "svm", "pipeline"])
def test_scores_of_any_estimator(name, queries):
    X, y, groups = queries
    binary = (y > 1) * 1
    estimator = {
        "regressor": Ridge(),
        "classifier": LogisticRegression(),
        "svm": RankingSVC("nDCG").set_fit_request(groups=True),
        "pipeline": make_pipeline(StandardScaler(), Ridge()),
    }[name]
    result = cross_validate(
        estimator,
        X,
        binary,
        cv=GroupKFold(2),
        scoring={"ndcg": make_ranking_scorer(), "hit": make_ranking_scorer("Success")},
        params={"groups": groups},
    )
    for (train, test), value in zip(
        GroupKFold(2).split(X, y, groups), result["test_ndcg"], strict=True
    ):
        params = {"groups": groups[train]} if name == "svm" else {}
        estimator.fit(X[train], binary[train], **params)
        score = getattr(estimator, "decision_function", None) or estimator.predict
        expected = tie_aware_ndcg_score(binary[test], score(X[test]), groups=groups[test])
        assert_allclose(value, expected)
    assert_allclose(result["test_hit"], 1)


@pytest.mark.parametrize("model", [GaussianNB(), DecisionTreeClassifier(max_depth=4)])
def test_classifiers_rank_by_the_probability_of_the_positive_class(model, queries):
    """Classes 0 and 1, by which they would rank otherwise, tie most of the items."""
    X, y, groups = queries
    model = make_pipeline(StandardScaler(), model).fit(X, 3 * (y > 1))
    found = make_ranking_scorer("AP")(model, X, 3 * (y > 1), groups=groups)
    probability = model.predict_proba(X)[:, 1]
    ranked = tie_aware_average_precision_score(y > 1, probability, groups=groups)
    assert (
        found
        == ranked
        > 0.05 + tie_aware_average_precision_score(y > 1, model.predict(X), groups=groups)
    )
    one_class = DecisionTreeClassifier().fit(X, np.zeros(len(X)))
    assert make_ranking_scorer("P@3")(one_class, X, y, groups=groups) < 1
    with pytest.raises(ValueError, match=r"has 4 classes\. Fit it to y > 0, or fit a"):
        make_ranking_scorer()(model.fit(X, y), X, y, groups=groups)


def test_without_groups_the_scorer_says_how_to_get_them(queries):
    X, y, groups = queries
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        make_ranking_scorer()(Ranker(), X, y)
    search = GridSearchCV(
        Ranker(), {}, scoring=make_ranking_scorer(), cv=GroupKFold(2), error_score="raise"
    )
    with pytest.raises(ValueError, match="make_ranking_scorer needs groups"):
        search.fit(X, y, groups=groups)


def test_what_is_no_measure_of_arrays_is_refused():
    for measure, message in {
        "P(gain='linear')": "P takes no parameter gain; it takes rel",
        "hits": "'hits' is not a known measure",
        "AP@0": "the cutoff of AP must be a positive integer",
        "Judged": "Judged is a measure of runs: arrays and tables have",
    }.items():
        with pytest.raises(ValueError, match=message):
            make_ranking_scorer(measure)


@pytest.mark.parametrize("routing", [False, True])
def test_tools_that_hand_on_no_metadata(routing):
    rng = np.random.default_rng(0)
    groups, X = np.repeat(np.arange(10), 8), rng.normal(size=(80, 3))
    y = np.clip(np.round(1.5 * X[:, 0] + rng.normal(size=80)), 0, 3).astype(int)
    scorer, ranker = make_ranking_scorer("nDCG@5"), Ridge().fit(X, y)
    how = {"n_repeats": 2, "random_state": 0}
    with config_context(enable_metadata_routing=routing):
        with pytest.raises(
            ValueError, match=r"functools\.partial\(scorer, groups=groups\)"
        ):
            permutation_importance(ranker, X, y, scoring=scorer, **how)
        scoring = partial(scorer, groups=groups)
        found = permutation_importance(ranker, X, y, scoring=scoring, **how)
    expected = scorer(ranker, X, y, groups=groups)
    assert scoring(ranker, X, y) == expected
    assert found.importances_mean.argmax() == 0
    with pytest.raises(ValueError, match="needs y, the affinities"):
        scorer(ranker, X, groups=groups)


def test_groups_of_a_database_alone():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 4
    hasher = LSHHasher(4, random_state=0).fit(X)
    scorer = make_retrieval_scorer(database=(X, y), groups_database=y, affinity="auto")
    with pytest.raises(ValueError, match=r"functools\.partial\(scorer, groups=groups\)"):
        permutation_importance(hasher, X, y, scoring=scorer, n_repeats=1)
