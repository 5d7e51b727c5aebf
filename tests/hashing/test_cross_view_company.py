"""CrossViewHasher in an index, in searches, in processes and in threads."""

import threading

import numpy as np
from cross_view_cases import LONE_CLASSES, C, J, Q, X, Y, codes_of, fit, small
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score

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
