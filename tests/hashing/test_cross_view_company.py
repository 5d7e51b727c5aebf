"""CrossViewHasher in an index, in searches, in processes and in threads."""

import threading

import numpy as np
from cross_view_cases import LONE_CLASSES, C, J, Q, X, Y, codes_of, fit, small
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_talr.neighbors import HashedNeighbors, ItemRanker

pytestmark = LONE_CLASSES


def test_an_index_of_items_and_cross_validation_over_queries():
    index = HashedNeighbors(small()).fit(X, J, X_query=Q)
    hasher = fit("judgments")
    codes, codes_query = hasher.transform(X), hasher.transform_query(Q)
    distances, rows = index.kneighbors(Q, 5)
    expected = np.not_equal(codes_query[:, None], codes).sum(axis=2)
    assert_array_equal(distances, np.sort(expected, axis=1)[:, :5])
    assert_array_equal(np.take_along_axis(expected, rows, axis=1), distances)
    assert_allclose(index.score(Q, J.T.tocsr()), hasher.score(X, J, X_query=Q))
    for query in ("bits", "weights"):
        ranker = ItemRanker(small(query=query), X, Y)
        scores = cross_val_score(ranker, Q, C, cv=3)
        assert np.all((scores > 0) & (scores <= 1))


def test_a_search_over_lengths():
    grid = {"n_bits": [2, 8], "teacher": [None, "auto"]}
    search = GridSearchCV(small(), grid, cv=2).fit(X, Y)
    assert search.best_params_["n_bits"] in grid["n_bits"]
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    hasher = search.best_estimator_
    assert search.score(X, Y) == hasher.score(X, Y)


def test_routed_queries():
    """Partners are split like rows of items; queries of another number are whole."""
    with config_context(enable_metadata_routing=True):
        names = {"X_query": True, "y_query": True}
        hasher = small().set_fit_request(**names).set_score_request(**names)
        search = GridSearchCV(hasher, {"n_bits": [4, 8]}, cv=2, error_score="raise")
        search.fit(X[:50], Y[:50], X_query=Q, y_query=C)
        assert search.best_estimator_.has_query_view_
        search.fit(X, Y, X_query=Q, y_query=C)
        assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
        partners = small().set_fit_request(X_query=True).set_score_request(X_query=True)
        scores = cross_val_score(partners, X[:50], cv=2, params={"X_query": Q})
        assert np.all(np.isfinite(scores))


def test_processes():
    searches = [
        GridSearchCV(small(), {"teacher": [None, "auto"]}, cv=2, n_jobs=n_jobs).fit(X, Y)
        for n_jobs in (1, 2)
    ]
    scores = [search.cv_results_["mean_test_score"] for search in searches]
    assert_allclose(*scores, atol=0.02)


def test_threads():
    """Fits beside each other, and calls of one hasher, give what each gives alone."""
    ways = ["labels", "judgments", "partners", "same rows"]
    expected = {way: codes_of(fit(way), way) for way in ways}
    fitted = {way: fit(way) for way in ways}
    wrong = []

    def work(way):
        for hasher in (fit(way), fitted[way], fitted[way]):
            for found, wanted in zip(codes_of(hasher, way), expected[way]):
                if np.mean(found != wanted) > 0.01:
                    wrong.append(way)

    threads = [threading.Thread(target=work, args=(way,)) for way in ways * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_epochs_are_printed(capsys):
    fit("judgments", verbose=True)
    assert "Epoch 2/2, loss = " in capsys.readouterr().out
