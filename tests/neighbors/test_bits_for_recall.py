"""The shortest code that finds enough: recall, what is carried on, and who is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

from sklearn_talr import ITQHasher, LSHHasher
from sklearn_talr.neighbors import HashedNeighbors, n_bits_for_recall
from sklearn_talr.neighbors._bits_for_recall import (
    extrapolate_recall,
    recall_of,
    true_neighbors,
)

X, _ = load_digits(return_X_y=True)
RNG = np.random.default_rng(0)
LSH = HashedNeighbors(LSHHasher(random_state=0))


class _SeenHasher(LSHHasher):
    """Tells what rows it was fitted to."""

    rows = []

    def fit(self, X, y=None):
        self.rows.append(X)
        return super().fit(X, y)


def similarity(query, item, metric):
    if metric == "euclidean":
        return -((query - item) ** 2).sum()
    lengths = np.linalg.norm(query) * np.linalg.norm(item)
    return query @ item / (lengths if metric == "cosine" and lengths else 1)


def slow_recall(near, distances, n_neighbors):
    """Mean over many orders of tied codes, of the share of true neighbors found."""
    last = np.sort(near)[-n_neighbors]
    true, rng = near >= last - 1e-9, np.random.default_rng(0)
    orders = [np.lexsort((rng.random(len(near)), distances)) for _ in range(1_000)]
    return np.mean([true[order[:n_neighbors]].sum() for order in orders]) / n_neighbors


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "inner_product"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_recall_is_the_mean_over_orders_of_ties(metric, dtype):
    items, queries = RNG.integers(-2, 3, (60, 3)), RNG.integers(-2, 3, (9, 3))
    index = HashedNeighbors(LSHHasher(4, random_state=0)).fit(items)
    true = true_neighbors(items.astype(dtype), queries.astype(dtype), 5, metric)
    found = recall_of(index, queries.astype(dtype), 5, true)
    distances, ranking = index.kneighbors(queries, 60)
    for query, row in enumerate(queries):
        near = np.array([similarity(row, item, metric) for item in items])
        expected = slow_recall(near[ranking[query]], distances[query], 5)
        assert_allclose(found[query], expected, atol=0.03)


@pytest.mark.parametrize("offset", [0, 300, 10_000, 1_000_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_from_the_origin_the_same_items_are_near(offset, dtype):
    rows = np.random.default_rng(0).integers(-50, 50, (600, 8))
    at_origin, moved = (
        true_neighbors(each[50:], each[:50], 10, "euclidean")
        for each in (rows.astype(float), (rows + offset).astype(dtype))
    )
    assert list(map(list, moved)) == list(map(list, at_origin))


@given(st.floats(0.05, 0.9), st.floats(0.5, 1.0), st.floats(0, 4), st.integers(0, 2**32))
@settings(max_examples=15)
def test_recall_that_falls_by_one_factor_isextrapolate_recall(recall, factor, steps, seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 1e-3, 40)
    recalls = [recall * factor**step + (noise - noise.mean()) for step in range(3)]
    measured, expected, low, high, error = extrapolate_recall(recalls, steps, 0.95, 0)
    assert_allclose(measured, recall * factor**2)
    assert_allclose(expected, recall * factor ** (2 + steps))
    assert_allclose(error, 0, atol=1e-12)
    assert low <= expected <= high


def test_bounds_are_lowered_where_the_smaller_sizes_promise_too_much():
    rng = np.random.default_rng(0)
    recalls = [rng.normal(mean, 0.01, 300) for mean in (0.8, 0.78, 0.7)]
    _, _, low, _, error = extrapolate_recall(recalls, 0.0, 0.95, 0)
    assert_allclose(error, 0.78**2 / 0.8 - 0.7, atol=0.01)
    assert low > 0.69
    _, recall, low, _, error = extrapolate_recall(recalls, 2.0, 0.95, 0)
    assert low < recall - 3 * error


def test_the_shortest_length_that_will_do():
    kinds = {"n_bits": [64, 4, 16, 16, 256], "random_state": 0, "metric": "euclidean"}
    kinds["n_queries"] = 300
    result = n_bits_for_recall(LSH, X, 0.3, **kinds)
    assert result.n_items == len(X)
    assert result.sizes[-1] == (len(X) - 300 + 1) // 2
    tried, lows = result.results["n_bits"], result.results["low"]
    assert tried.tolist() == [4, 16, 64, 256][: len(tried)]
    assert result.n_bits == tried[-1] < 256
    assert lows[-1] >= 0.3 > lows[-2]
    assert np.all(lows <= result.results["recall"])
    assert np.all(result.results["recall"] <= result.results["high"])
    assert f"{result.n_bits} bits reach a recall of 0.3 among 1797 items" in str(result)
    again = n_bits_for_recall(LSH, X, 0.3, **kinds)
    for name, values in result.results.items():
        assert_array_equal(again.results[name], values)


def test_what_is_measured_is_what_the_index_finds():
    """Rows are drawn for each purpose, and those of no purpose left out."""
    _SeenHasher.rows = []
    index = HashedNeighbors(_SeenHasher(random_state=0))
    params = {"n_bits": [16], "X_query": X[600:900], "random_state": 0}
    result = n_bits_for_recall(index, X[:1_200], 0.01, n_items=500, **params)
    assert result.sizes == (31, 125, 500)
    (train,) = _SeenHasher.rows
    items = X[:1_200][np.random.RandomState(0).permutation(1_200)][600:1_100]
    index.set_params(hasher=LSHHasher(16, random_state=0).fit(train))
    index = index.set_params(hasher=FrozenEstimator(index.hasher)).fit(items)
    true = true_neighbors(items, X[600:900], 10, "cosine")
    expected = recall_of(index, X[600:900], 10, true).mean()
    assert_array_equal(result.results["measured"], expected)
    assert_array_equal(result.results["recall"], expected)


def test_training_rows_are_no_items():
    _SeenHasher.rows = []
    index = HashedNeighbors(_SeenHasher(random_state=0))
    params = {"n_bits": [16], "n_queries": 97, "random_state": 0}
    half = n_bits_for_recall(index, X, 0.01, **params)
    some = n_bits_for_recall(index, X, 0.01, n_train=300, **params)
    assert [len(rows) for rows in _SeenHasher.rows] == [850, 300]
    assert (half.sizes[-1], some.sizes[-1]) == (850, 1400)
    assert index.hasher.n_bits == 32


def test_no_length_will_do():
    with pytest.warns(UserWarning, match="No length up to 8 bits reaches a recall of 1 "):
        result = n_bits_for_recall(LSH, X, 1.0, n_bits=[4, 8], random_state=0)
    assert result.n_bits is None
    assert "No length reaches" in str(result)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"X": X[:100]}, "too few to measure the recall of 10 neighbors"),
        ({"n_train": 5_000}, "too few to measure"),
        ({"X": X[:9]}, "two queries"),
        ({"X_query": X[:5, :3]}, r"with 64 features as X has, got .* \(5, 3\)"),
        ({"n_bits": []}, "n_bits must hold integers"),
        ({"n_bits": [0, 8]}, "n_bits must hold integers"),
        ({"n_bits": [8.5]}, "n_bits must hold integers"),
        ({"target": 0}, "target"),
        ({"target": 1.5}, "target"),
        ({"metric": "hamming"}, "metric"),
        ({"X": X * np.nan}, "NaN"),
        ({"index": HashedNeighbors(FrozenEstimator(ITQHasher(4)))}, "frozen"),
        ({"index": HashedNeighbors(StandardScaler())}, "no parameter n_bits"),
    ],
)
def test_what_cannot_be_measured_is_refused(params, problem):
    arguments = {"index": LSH, "X": X, "target": 0.5} | params
    with pytest.raises(ValueError, match=problem):
        n_bits_for_recall(**arguments)
