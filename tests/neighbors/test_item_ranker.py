"""Items ranked for queries that are the samples: cross-validation holds out queries."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from two_views import TwoViews, halves_of_digits, judged

from sklearn_talr import LSHHasher
from sklearn_talr.affinity import query_groups
from sklearn_talr.measures import nDCG
from sklearn_talr.neighbors import HashedNeighbors, ItemRanker

X, Y, Q, C = halves_of_digits()
J = judged(C, Y)
TRAIN, TEST = slice(40), slice(40, None)


def by_hand(**params):
    return HashedNeighbors(TwoViews(), **params).fit(
        X, J[TRAIN].T.tocsr(), X_query=Q[TRAIN]
    )


@pytest.mark.parametrize(
    "convert",
    [
        sp.csr_array,
        sp.csc_matrix,
        sp.coo_array,
        lambda y: y.toarray(),
        lambda y: y.toarray().tolist(),
    ],
)
def test_it_is_an_index_of_all_items_fitted_to_queries(convert):
    ranker = ItemRanker(TwoViews(), X, scoring=nDCG @ 10)
    assert ranker.fit(Q[TRAIN], convert(J[TRAIN])) is ranker
    index = by_hand(scoring=nDCG @ 10)
    assert ranker.score(Q[TEST], convert(J[TEST])) == index.score(Q[TEST], J[TEST])
    weights = np.arange(20)
    expected = index.score(Q[TEST], J[TEST], weights)
    assert ranker.score(Q[TEST], J[TEST], sample_weight=weights) == expected
    for found, wanted in zip(ranker.kneighbors(Q, 7), index.kneighbors(Q, 7), strict=True):
        assert_array_equal(found, wanted)
    only = ranker.kneighbors(Q, return_distance=False)
    assert_array_equal(only, index.kneighbors(Q)[1])


def test_folds_hold_out_queries_in_groups():
    groups = query_groups(J.T)
    assert 5 < len(np.unique(groups)) < 20  # the classes, and queries of nothing
    cv = GroupKFold(3)
    ranker = ItemRanker(TwoViews(), X)
    expected = [
        clone(ranker).fit(Q[train], J[train]).score(Q[test], J[test])
        for train, test in cv.split(Q, groups=groups)
    ]
    how = {"groups": groups, "cv": cv}
    assert_array_equal(cross_val_score(ranker, Q, J.toarray(), **how), expected)
    for judgments in (J.T, J.T.toarray()):
        by_number = ItemRanker(TwoViews(), X, judgments)
        assert_array_equal(cross_val_score(by_number, Q, np.arange(60), **how), expected)


def test_numbers_of_queries_stand_for_their_judgments():
    rows = np.array([7, 3, 40, 12, 3, 50, 21, 33])
    by_number = ItemRanker(TwoViews(), X, J.T).fit(Q[rows], rows.tolist())
    by_row = ItemRanker(TwoViews(), X).fit(Q[rows], J[rows])
    assert by_number.score(Q[rows], rows) == by_row.score(Q[rows], J[rows])
    for numbers, message in (
        ([0, 60], "number 60, but the judgments have 60 columns"),
        ([0, -1], "y of one dimension must be numbers of columns"),
        (["a", "b"], "y of one dimension must be numbers of columns"),
    ):
        for ask in (by_number.fit, by_number.score):
            with pytest.raises(ValueError, match=message):
                ask(Q[:2], numbers)
    with pytest.raises(ValueError, match=r"shape \(n_queries, 300\), a column for each"):
        ItemRanker(TwoViews(), X, J).fit(Q[:2], [0, 1])
    ItemRanker(TwoViews(), X, Y[:, None]).fit(Q, C)  # a column of labels


def test_clones_have_the_same_items_and_nothing_fitted():
    ranker = ItemRanker(TwoViews(), X, Y, query="weights").fit(Q, C)
    twin = clone(ranker)
    assert twin.X_items is X
    assert twin.y_items is Y
    assert twin.hasher is not ranker.hasher
    assert (twin.query, twin.scoring) == ("weights", "AP")
    assert not hasattr(twin, "index_")
    assert hasattr(ranker, "index_")
    assert ranker.X_items is X
    with pytest.raises(NotFittedError):
        twin.score(Q, C)
    with pytest.raises(NotFittedError):
        twin.kneighbors(Q)
    again = pickle.loads(pickle.dumps(ranker))
    assert again.score(Q, C) == ranker.score(Q, C)
    assert clone(again).fit(Q, C).score(Q, C) == ranker.score(Q, C)


def test_queries_and_weights_are_routed():
    class Weighted(TwoViews):
        def fit(self, X, y, X_query=None, y_query=None, weights=None):
            self.weights_ = weights
            return super().fit(X, y, X_query, y_query)

    weights = np.arange(40)
    plain = ItemRanker(Weighted(), X).fit(Q[TRAIN], J[TRAIN], weights=weights)
    assert plain.index_.hasher_.weights_ is weights
    with config_context(enable_metadata_routing=True):
        hasher = Weighted().set_fit_request(weights=True)
        for estimator in (hasher, make_pipeline(StandardScaler(), hasher)):
            ranker = ItemRanker(estimator, X)
            ranker.fit(Q[TRAIN], J[TRAIN], weights=weights)
            last = ranker.index_.hasher_
            last = last if estimator is hasher else last[-1]
            assert last.weights_ is weights
            ItemRanker(estimator, X, Y).fit(Q, C)
        params = {"weights": np.arange(60), "groups": query_groups(J.T)}
        scores = cross_val_score(
            ItemRanker(hasher, X, J.T), Q, np.arange(60), params=params, cv=GroupKFold(3)
        )
    assert np.all(np.isfinite(scores))


@pytest.mark.parametrize(
    ("params", "fit", "error", "message"),
    [
        ({"hasher": LSHHasher(4)}, (Q, J), TypeError, "hasher must be one of two views"),
        ({"hasher": 3}, (Q, J), ValueError, "'hasher' parameter of ItemRanker"),
        ({"query": "codes"}, (Q, J), ValueError, "'query' parameter of ItemRanker"),
        ({"X_items": None}, (Q, J), ValueError, "'X_items' parameter of ItemRanker"),
        ({}, (Q, C), ValueError, "pass y_items, the labels of the items"),
        ({}, (Q, None), ValueError, "requires y to be passed.*judgments of the items"),
        ({}, (Q, J.T), ValueError, r"shape \(n_queries, 300\), a column for each item"),
        ({}, (Q, J / 2), ValueError, "y must hold integers"),
        ({"scoring": "hits"}, (Q, J), ValueError, "hits"),
    ],
)
def test_what_it_cannot_take_changes_nothing(params, fit, error, message):
    ranker = ItemRanker(TwoViews(), X).fit(Q, J)
    index = ranker.index_
    ranker.set_params(**params)
    with pytest.raises(error, match=message):
        ranker.fit(*fit).score(*fit)
    if "scoring" not in params:
        assert ranker.index_ is index
