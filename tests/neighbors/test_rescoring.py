"""Rescoring orders candidates by their features, and reads no others."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.neighbors import rescore

METRICS = ["euclidean", "inner_product"]
each_metric = pytest.mark.parametrize("metric", METRICS)


def by_definition(query, X, row, metric):
    """(value, index) of each candidate, best first."""
    if metric == "euclidean":
        pairs = [(sum((a - b) ** 2 for a, b in zip(X[i], query)) ** 0.5, i) for i in row]
        return sorted(pairs)
    pairs = [(sum(a * b for a, b in zip(X[i], query)), i) for i in row]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1]))


@settings(deadline=None, max_examples=60)
@given(
    metric=st.sampled_from(METRICS),
    lengths=st.lists(st.integers(0, 8), min_size=1, max_size=5),
    seed=st.integers(0, 999),
    n_neighbors=st.none() | st.integers(1, 9),
)
def test_equals_its_definition(metric, lengths, seed, n_neighbors):
    """Integer features, so that ties are exact and go by index."""
    rng = np.random.default_rng(seed)
    X, queries = rng.integers(-2, 3, (12, 3)), rng.integers(-2, 3, (len(lengths), 3))
    candidates = [rng.choice(12, length, replace=False) for length in lengths]
    values, indices = rescore(
        queries, X, candidates, metric=metric, n_neighbors=n_neighbors
    )
    for query, row, value, index in zip(queries, candidates, values, indices, strict=True):
        expected = by_definition(query, X, row, metric)[:n_neighbors]
        assert_allclose(value, [v for v, _ in expected], rtol=1e-6)
        assert_array_equal(index, [i for _, i in expected])


@each_metric
def test_only_the_candidates_are_read(metric, tmp_path):
    """Rows that nobody asks for may hold anything, and the file stays a map."""
    X = np.full((1_000, 8), np.nan, dtype=np.float32)
    X[100:110] = np.random.default_rng(0).normal(size=(10, 8))
    np.save(tmp_path / "features.npy", X)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    candidates = np.arange(100, 110)[None]
    assert_array_equal(
        rescore(X[[100]], mapped, candidates, metric=metric)[1],
        100 + rescore(X[[100]], X[100:110], candidates - 100, metric=metric)[1],
    )
    with pytest.raises(ValueError, match=r"NaN or infinity in the rows \[99\]"):
        rescore(X[[100]], mapped, [[99, 100]], metric=metric)


X = np.eye(4)


@pytest.mark.parametrize(
    ("arguments", "params", "message"),
    [
        ((X, X, X.astype(int)), {"metric": "cosine"}, "metric must be 'euclidean' or"),
        ((X, X, X.astype(int)), {"n_neighbors": 0}, "The 'n_neighbors' parameter"),
        ((X, X[:, :3], X.astype(int)), {}, "X_query has 4 features and X_database 3"),
        ((X, sp.csr_array(X), X.astype(int)), {}, "X_database must be a dense 2-D array"),
        ((X, X.tolist(), X.astype(int)), {}, "X_database must be a dense 2-D array"),
        ((X, X.astype(complex), X.astype(int)), {}, "must hold real numbers"),
        ((X * np.nan, X, X.astype(int)), {}, "X_query contains NaN"),
        ((X[0], X, X.astype(int)), {}, "Expected 2D array"),
        ((X, X, X[:3].astype(int)), {}, "one row for each of 4 queries, got 3"),
        ((X, X, X), {}, "candidates must be integer indices"),
        ((X, X, [0, 1, 2, 3]), {}, "candidates must be integer indices"),
        ((X, X, 4 * X.astype(int)), {}, "from 0 to 3, got 0 to 4"),
        ((X, X, -X.astype(int)), {}, "from 0 to 3, got -1 to 0"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, params, message):
    with pytest.raises(ValueError, match=message):
        rescore(*arguments, **params)


@pytest.mark.parametrize("metric", ["euclidean", "inner_product"])
@pytest.mark.parametrize("n_features", [3, 17, 100, 384])
def test_equal_rows_come_in_the_order_of_their_indices(metric, n_features):
    rng = np.random.default_rng(0)
    queries, row = rng.normal(size=(2, 9, n_features)).astype(np.float32)
    for n_rows in (7, 50, 333):
        candidates = np.tile(np.arange(n_rows), (9, 1))
        values, indices = rescore(
            queries, row[:1].repeat(n_rows, 0), candidates, metric=metric
        )
        assert_array_equal(indices, candidates)
        assert_array_equal(values, values[:, :1].repeat(n_rows, 1))


def test_sets_of_candidates_are_lists_of_them():
    rows = [[2, 0], [1], []]
    found = rescore(X[:3], X, [set(row) for row in rows])
    for mine, theirs in zip(found, rescore(X[:3], X, rows)):
        assert [row.tolist() for row in mine] == [row.tolist() for row in theirs]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (X > 0, r"got a mask. Write .*flatnonzero"),
        (X.astype(int), r"two readings: a flag or count of each row.*flatnonzero.*unique"),
        ((X > 0).tolist(), "got a mask"),
        (sp.csr_array(X), "got csr_array. Write np.split"),
        ({0: [1]}, "got dict"),
        ([[0, -1], [1, 2], [2, 3], [3, 3]], r"drop these by .row\[row >= 0\]"),
    ],
)
def test_masks_are_no_candidates(candidates, message):
    with pytest.raises(ValueError, match=message):
        rescore(X, X, candidates)
    assert_array_equal(rescore(X, X, [[0], [1], [2], [3]])[1], np.arange(4)[:, None])
