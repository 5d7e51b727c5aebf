"""Codes of features that have a mean: heights along it, and tangents."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.hashing._words import Centering, TangentProjection
from sklearn_talr.hashing._words_fit import choose_frame
from sklearn_talr.neighbors import HammingNeighbors, HashedNeighbors

N_FEATURES = 256
METHODS = ["axes", "bits", "codebooks"]
each_method = pytest.mark.parametrize("method", METHODS)


def gist_like(n_rows, seed=0):
    """Rows of numbers above 0 that have a mean, and heights that vary, as raw GIST does."""
    rng = np.random.default_rng(seed)
    axes = np.random.default_rng(9).normal(size=(128, N_FEATURES))
    axes *= np.arange(1, 129)[:, None] ** -0.5
    axes /= np.sqrt(np.mean(np.sum(axes**2, axis=0)))
    scales = rng.gamma(16.0, 0.5 / 16, size=(n_rows, 1))
    return np.exp(scales * (rng.normal(size=(n_rows, 128)) @ axes))


@pytest.fixture(scope="module", name="X")
def rows():
    return gist_like(3_000).astype(np.float32)


@pytest.fixture(scope="module", name="queries")
def rows_of_queries():
    return gist_like(40, seed=1)


def fitted(X, method, n_bits=32):
    max_iter = 2 if method == "codebooks" else 12
    hasher = AdditiveHasher(n_bits, method=method, max_iter=max_iter, random_state=0)
    hasher.fit(X)
    assert isinstance(hasher._model_.frame, TangentProjection)
    return hasher


def heights_and_tangents(X, axis):
    X = X.astype(np.float64)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    heights = X @ axis
    return heights, X - np.outer(heights, axis)


@each_method
def test_scores_are_those_of_the_definition(method, X, queries):
    """A factor times the inner product of the query with a sum of vectors."""
    hasher = fitted(X, method)
    axis = hasher.mean_ / np.linalg.norm(hasher.mean_)
    codes = hasher.encode(X[:200])
    assert codes.terms.values.shape == (200, 2)
    assert codes.nbytes == 200 * 5  # four of the code, one of its factor
    assert_array_equal(codes.terms.values[:, 1], 0)
    factors = codes.terms.values[:, 0].astype(np.float64)
    sums = sums_of(hasher, codes)
    unit = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    found = weighted_scores(hasher.query_weights(unit), codes)
    assert_allclose(found, (unit @ sums.T) * factors, atol=2e-5)

    # The factor is that of least squared error of the tangent, and the height is kept.
    heights, tangents = heights_and_tangents(X[:200], axis)
    sum_heights = sums @ axis
    sum_tangents = sums - np.outer(sum_heights, axis)
    best = np.einsum("ij,ij->i", tangents, sum_tangents)
    best /= np.einsum("ij,ij->i", sum_tangents, sum_tangents)
    assert_allclose(np.median(factors / best), 1, rtol=0.01)
    assert np.quantile(np.abs(factors / best - 1), 0.95) < 0.03
    step = hasher._model_.heights.step
    assert np.all(np.abs(sum_heights - heights / factors) < 0.51 * step + 1e-4)
    assert np.abs(factors * sum_heights - heights).mean() < 0.003

    # So scores are near the cosines themselves.
    unit_rows = X[:200] / np.linalg.norm(X[:200], axis=1, keepdims=True)
    errors = found - unit @ unit_rows.T
    assert np.abs(errors).mean() < 0.02


def sums_of(hasher, codes):
    """Sums of the vectors of codes, by their definition."""
    vectors = hasher.query_coef_.astype(np.float64).T
    bits = np.asarray(codes)
    if hasher.method_ != "codebooks":
        return (2.0 * bits - 1) @ vectors
    words = np.packbits(bits, axis=1, bitorder="little")
    return vectors[words + 256 * np.arange(words.shape[1])].sum(axis=1)


@each_method
def test_decodings_are_near_and_of_unit_length(method, X):
    hasher = fitted(X, method)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    codes = hasher.encode(X)
    decoded = hasher.inverse_transform(codes)
    assert_allclose(np.linalg.norm(decoded, axis=1), 1, rtol=1e-5)
    errors = np.linalg.norm(decoded - unit, axis=1)
    without = np.linalg.norm(unit - unit.mean(axis=0), axis=1)
    assert errors.mean() < 0.8 * without.mean()
    # Bits alone tell the direction: factors only say how far to go
    bare = hasher.inverse_transform(hasher.transform(X))
    assert_allclose(bare, decoded, atol=1e-6)


@each_method
def test_more_neighbors_are_found_at_equal_bytes(method, X, monkeypatch):
    """Of items that were not fitted, beside codes of directions of equal length."""
    items = gist_like(3_000, seed=2)
    queries = gist_like(200, seed=1)
    unit = items / np.linalg.norm(items, axis=1, keepdims=True)
    true = np.argsort(-(queries @ unit.T), axis=1)[:, :10]

    def recall(hasher):
        index = HashedNeighbors(FrozenEstimator(hasher.fit(X))).fit(items)
        found = index.kneighbors(queries, 10, return_distance=False)
        shares = [len(set(row) & set(true_row)) / 10 for row, true_row in zip(found, true)]
        return np.mean(shares), index.n_bytes_per_item_

    tangents, n_bytes = recall(AdditiveHasher(32, method=method, random_state=0))
    name = "sklearn_talr.hashing._additive.choose_frame"
    monkeypatch.setattr(name, lambda X, metric, n_bits: Centering.from_features(X, metric))
    directions, n_other_bytes = recall(AdditiveHasher(32, method=method, random_state=0))
    assert n_bytes == n_other_bytes == 5
    assert tangents > directions + 0.02


def test_the_mean_is_that_of_all_rows():
    """The choice of tangents looks at 5 000 rows, the mean at all that are fitted."""
    rows = gist_like(6_000)
    frame = choose_frame(rows, "cosine", 32)
    assert isinstance(frame, TangentProjection)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert_allclose(frame.mean, unit.mean(axis=0), rtol=1e-12)


def test_rows_held_out_choose_tangents_or_directions(X):
    assert isinstance(choose_frame(X, "cosine", 32), TangentProjection)
    for other in (X - X.mean(axis=0), X[:1_700], X - X.mean(axis=0) * [0.9]):
        assert isinstance(choose_frame(other, "cosine", 32), Centering)
    for metric in ("euclidean", "inner_product"):
        assert isinstance(choose_frame(X, metric, 32), Centering)
    # Tangents of equal length have no height that tells anything
    rng = np.random.default_rng(0)
    tangents = rng.normal(size=(3_000, N_FEATURES - 1))
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    alike = np.column_stack([np.full(3_000, 1.5), tangents])
    assert isinstance(choose_frame(alike, "cosine", 32), Centering)


@each_method
def test_files_pickles_sparse_rows_and_scale_change_no_score(method, X, queries, tmp_path):
    hasher = fitted(X, method)
    codes = hasher.encode(X[:50])
    weights = hasher.query_weights(queries)
    index = HashedNeighbors(hasher).fit(X)
    expected = index.kneighbors(queries, 5)
    index.save(tmp_path / "index")
    for other in (
        HashedNeighbors.load(tmp_path / "index"),
        pickle.loads(pickle.dumps(index)),
    ):
        for one, two in zip(other.kneighbors(queries, 5), expected):
            assert_array_equal(one, two)
    single = hasher.encode(X[7:8])
    assert_array_equal(single.data, codes.data[7:8])
    assert_array_equal(single.terms.values, codes.terms.values[7:8])
    sparse = hasher.encode(sp.csr_array(X[:50]))
    assert_array_equal(sparse.data, codes.data)
    assert_array_equal(sparse.terms.values, codes.terms.values)
    assert_allclose(hasher.query_weights(sp.csr_array(queries)), weights, rtol=1e-5)
    for scale in (1e-23, 1e19):
        scaled_weights = hasher.query_weights(queries * scale)
        assert_allclose(scaled_weights, weights * scale, rtol=1e-4, atol=1e-5 * scale)
        assert_array_equal(
            hasher.encode(X[:50] * np.float32(scale)).terms.values, codes.terms.values
        )


@each_method
def test_items_and_queries_away_from_the_mean_are_scored_right(method, X):
    """Their heights are below those of all rows that were fitted, or below 0."""
    hasher = fitted(X, method)
    axis = hasher.mean_ / np.linalg.norm(hasher.mean_)
    heights, tangents = heights_and_tangents(X[:50], axis)
    others = tangents + np.outer(0.3 * heights, axis)
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    codes = hasher.encode(others)
    found_heights = codes.terms.values[:, 0] * (sums_of(hasher, codes) @ axis)
    assert_allclose(found_heights, others @ axis, rtol=0.05)
    scores = weighted_scores(hasher.query_weights(-others), codes)
    decoded = codes.terms.values[:, :1] * sums_of(hasher, codes)
    assert_allclose(scores, -others @ decoded.T, atol=1e-4)


def test_rows_of_zeros_come_last(X, queries):
    hasher = fitted(X, "codebooks")
    rows = np.vstack([X[:5], np.zeros((1, N_FEATURES))])
    with pytest.warns(UserWarning, match="rows of zeros"):
        codes = hasher.encode(rows)
    scores = weighted_scores(hasher.query_weights(queries), codes)
    assert np.all(scores.argmin(axis=1) == 5)
    assert np.all(scores[:, 5] == -np.inf)


def test_chunks_improve_the_vectors_of_tangents(X):
    hasher = fitted(X, "bits")
    frame = hasher._model_.frame
    hasher.partial_fit(gist_like(3_000, seed=3))
    assert isinstance(hasher._model_.frame, TangentProjection)
    assert_array_equal(hasher._model_.frame.axis, frame.axis)
    assert hasher.encode(X).shape == (len(X), 32)


def test_codes_of_tangents_are_refused_by_hamming_distance(X):
    with pytest.raises(ValueError, match="factors"):
        HammingNeighbors().fit(fitted(X, "axes").encode(X))
