"""The index of a hasher of two views: items by one function, queries by another."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from two_views import TwoViews, halves_of_digits, judged

from sklearn_talr.affinity import JudgmentAffinity
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP
from sklearn_talr.neighbors import (
    HammingNeighbors,
    HashedNeighbors,
    WeightedHammingNeighbors,
)

X, Y, Q, C = halves_of_digits()
J = judged(C, Y)  # a row for each query
ITEMS = J.T.tocsr()  # a row for each item
TRAIN, TEST = slice(40), slice(40, None)
FIT = {"y": ITEMS[:, TRAIN], "X_query": Q[TRAIN]}
BY = {"bits": HammingNeighbors, "weights": WeightedHammingNeighbors}


@pytest.fixture(params=["bits", "weights"])
def query(request):
    return request.param


def fitted(query="bits", **params):
    return HashedNeighbors(TwoViews(default_query=query), **params).fit(X, **FIT)


def test_queries_are_hashed_by_the_function_of_their_own(query):
    hasher, index = TwoViews().fit(X, **FIT), fitted(query)
    ask = {"bits": hasher.encode_query, "weights": hasher.query_weights}[query]
    by_hand = BY[query](affinity=JudgmentAffinity()).fit(hasher.encode(X), ITEMS)
    for found, expected in (
        (index.kneighbors(Q), by_hand.kneighbors(ask(Q))),
        (index.rank(Q), by_hand.rank(ask(Q))),
    ):
        for one, other in zip(found, expected, strict=True):
            assert_array_equal(one, other)
    assert index.score(Q[TEST], J[TEST]) == by_hand.score(ask(Q[TEST]), J[TEST])


def test_score_is_the_measure_of_the_judgments_given():
    index = fitted()
    codes = index.hasher_.encode_query(Q[TEST]), index.codes_
    table = hamming_histogram(*codes, JudgmentAffinity(), J[TEST], np.arange(len(X)))
    assert_allclose(index.score(Q[TEST], J[TEST]), np.nanmean(AP.of(table)))
    assert_allclose(index.score(Q[TEST], J[TEST].toarray()), np.nanmean(AP.of(table)))
    weights = np.arange(20)
    assert 0 < index.score(Q[TEST], J[TEST], sample_weight=weights) < 1
    for wrong in (J[TEST][:, :-1], ITEMS[:, TEST], np.arange(20)):
        with pytest.raises(ValueError, match=r"shape \(n_queries, 300\), a column for"):
            index.score(Q[TEST], wrong)


def test_items_come_and_go_by_number(query):
    whole = fitted(query)
    hasher = FrozenEstimator(whole.hasher_)
    for y in (ITEMS[:200], np.arange(200), None):
        index = HashedNeighbors(hasher).fit(X[:200], y)
        assert index.score(Q[TEST], J[TEST][:, :200]) > 0
        index.add(X[200:250], ITEMS[200:250]).add(X[250:])
        assert index.score(Q[TEST], J[TEST]) == whole.score(Q[TEST], J[TEST])
    index.remove(np.arange(10, 290))
    kept = np.r_[:10, 290:300]
    rest = HashedNeighbors(hasher).fit(X[kept])
    assert_allclose(index.score(Q[TEST], J[TEST]), rest.score(Q[TEST], J[TEST][:, kept]))
    with pytest.raises(ValueError, match="a column for each item"):
        index.score(Q[TEST], J[TEST][:, kept])


@pytest.mark.parametrize("y", [np.arange(1, 301), np.zeros(300, dtype=int)])
def test_items_have_the_numbers_of_the_index(y):
    codes = np.zeros((300, 4), dtype=np.uint8)
    codes[0] = 1
    with pytest.raises(ValueError, match="y has other numbers of the items than the index"):
        HammingNeighbors(affinity=JudgmentAffinity()).fit(codes, y)
    index = HammingNeighbors(affinity=JudgmentAffinity()).fit(codes)
    with pytest.raises(ValueError, match="which numbers them 300, 301"):
        index.add(codes, np.arange(300))
    assert index.n_samples_fit_ == 300
    index.add(codes, np.arange(300, 600)).add(codes)
    assert_array_equal(index._fitted.targets.values, np.arange(900))
    for wrong in (np.arange(299), ITEMS[:299]):
        with pytest.raises(ValueError, match="same number of samples, got 300 and 299"):
            index.fit(codes, wrong)


def test_without_queries_in_fit_queries_are_rows_of_items(query):
    steps = make_pipeline(StandardScaler(), TwoViews(default_query=query))
    index = HashedNeighbors(steps).fit(X, Y)
    hasher = steps.fit(X, Y)[-1]
    scaled = steps[0].transform(X[:9])
    by_hand = BY[query]().fit(index.codes_)
    asked = hasher.encode_query(scaled) if query == "bits" else hasher.query_weights(scaled)
    assert_array_equal(index.kneighbors(X[:9])[1], by_hand.kneighbors(asked)[1])
    ranked = HashedNeighbors(TwoViews(), n_rescored=300).fit(X, Y)
    assert_array_equal(ranked.kneighbors(X[:9], 1)[1].ravel(), np.arange(9))


def test_queries_are_routed():
    with config_context(enable_metadata_routing=True):
        hasher = TwoViews().set_fit_request(X_query=True, y_query=True)
        for estimator in (hasher, make_pipeline(StandardScaler(), hasher)):
            index = HashedNeighbors(estimator).fit(X, Y, X_query=Q, y_query=C)
            assert index.hasher_ is not estimator
            assert index.score(Q, C) > 0.2
        index = HashedNeighbors(hasher).fit(X, **FIT)
    assert index.score(Q, J) == fitted().score(Q, J)


def test_features_of_two_kinds_are_not_compared():
    message = "n_rescored compares features.*TwoViews.*Set n_rescored=None"
    index = fitted()
    with pytest.raises(ValueError, match=message):
        clone(index).set_params(n_rescored=20).fit(X, **FIT)
    with pytest.raises(ValueError, match=message):
        index.set_params(n_rescored=20).kneighbors(Q)
    with pytest.raises(ValueError, match=message):
        index.fit(X, **FIT)
    index.set_params(n_rescored=None).kneighbors(Q)


@pytest.mark.parametrize("y", [ITEMS[:, TRAIN], None])
def test_one_file_holds_both_functions(query, y, tmp_path):
    pytest.importorskip("skops")
    hasher = FrozenEstimator(TwoViews(default_query=query).fit(X, **FIT))
    path = tmp_path / "index"
    index = HashedNeighbors(hasher).fit(X, y)
    index.save(path)
    again = HashedNeighbors.load(path, trusted=["two_views.TwoViews"])
    for twin in (again, pickle.loads(pickle.dumps(index))):
        assert_array_equal(twin.kneighbors(Q)[1], index.kneighbors(Q)[1])
        assert twin.score(Q[TEST], J[TEST]) == index.score(Q[TEST], J[TEST])
        assert twin.hasher_.estimator.has_query_view_
        twin.add(X[:5])
        assert twin.score(Q, sp.hstack([J, J[:, :5]])) > 0
