"""Hashers whose words have several bits, from their fit to the scores of their codes."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_talr.codes import maxsim_scores, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, _words
from sklearn_talr.hashing._words import AdditiveModel
from sklearn_talr.hashing._words_fit import _ERRORS, Moments
from sklearn_talr.metrics import tie_aware_average_precision_score
from sklearn_talr.neighbors import HashedNeighbors

METRICS = ["cosine", "inner_product", "euclidean"]
each_metric = pytest.mark.parametrize("metric", METRICS)
each_method = pytest.mark.parametrize("method", ["bits", "codebooks", "axes"])


@pytest.fixture(scope="module", name="X")
def digits_as_float32():
    return load_digits().data[:600].astype(np.float32)


def small(method="codebooks", n_bits=16, **params):
    params = {"max_iter": 2, "random_state": 0} | params
    return AdditiveHasher(n_bits, method=method, **params)


def everything(hasher, X):
    """All that a fitted hasher tells."""
    packed = hasher.encode(X)
    return [
        *(hasher.query_coef_, hasher.coefs_[0], hasher.mean_),
        *(hasher.transform(X), packed.data, hasher.query_weights(X)),
        *(hasher.decision_function(X), hasher.inverse_transform(packed)),
    ] + ([packed.terms.values] if packed.terms.n_terms else [])


def assert_alike(hasher, other, X):
    for found, expected in zip(everything(hasher, X), everything(other, X)):
        assert_array_equal(found, expected)


@parametrize_with_checks([small("codebooks", 8, metric="euclidean", max_iter=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class TestScores:
    @each_method
    @each_metric
    def test_scores_are_those_of_decodings(self, metric, method, X):
        hasher = small(method, 32, metric=metric).fit(X)
        queries, items = X[:30].astype(float), X[30:90].astype(float)
        codes = hasher.encode(items)
        weights = hasher.query_weights(queries)
        assert weights.shape == (30, 1024 if method == "codebooks" else 32)
        origin = hasher.mean_
        decodings = hasher.inverse_transform(codes) - origin
        if metric == "cosine":
            # A factor that tells of the cosine does not end on the sphere.
            multiples = (
                codes.terms.values[:, :1] / hasher._model_.factors.of(codes.data)[:, None]
            )
            expected = queries @ (multiples * decodings).T
        else:
            unit = np.sqrt(np.mean(np.sum((X - origin) ** 2, axis=1)))
            expected = (queries - origin * (metric == "euclidean")) @ decodings.T / unit**2
        if metric == "euclidean":
            expected -= np.sum(decodings**2, axis=1) / unit**2 / 2
        # Factors and lengths are kept in 256 steps.
        rounding = 1e-2 * np.abs(expected).max()
        assert_allclose(weighted_scores(weights, codes), expected, atol=rounding)
        lengths = np.linalg.norm(decodings + hasher.mean_, axis=1)
        if metric == "cosine":
            assert_allclose(lengths, 1, rtol=1e-4)
        else:
            true = np.linalg.norm(items - origin, axis=1)
            assert_allclose(np.linalg.norm(decodings, axis=1), true, rtol=1e-2)

    @each_method
    @pytest.mark.parametrize(
        ("metric", "more"), [("cosine", 1), ("inner_product", 1), ("euclidean", 2)]
    )
    def test_bytes_that_an_item_takes(self, metric, more, method, X):
        codes = small(method, 32, metric=metric).fit(X).encode(X)
        assert codes.nbytes == (4 + more) * len(X)


class TestVectors:
    def test_of_bits_are_a_ridge_regression(self):
        rng = np.random.default_rng(3)
        signs, rows = rng.choice([-1.0, 1.0], (30, 7)), rng.standard_normal((30, 5))
        found = Moments.from_rows(signs, rows).vectors(0.1)
        gradient = signs.T @ (signs @ found - rows) + 0.1 * 30 * found
        assert_allclose(gradient, 0, atol=1e-4)


class TestAxes:
    def test_bits_go_where_they_save_most(self, X):
        model = small("axes", 200).fit(X)._model_
        rows = model.frame.split(X)[0].astype(float)
        variances = np.linalg.eigvalsh(rows.T @ rows / len(rows))[::-1]
        expected = np.zeros(64, dtype=int)
        for _ in range(200):
            saved = [
                variance * (_ERRORS[n] - _ERRORS[n + 1]) if n < 8 else 0
                for variance, n in zip(variances, expected)
            ]
            expected[np.argmax(saved)] += 1
        widths = np.diff(model.factors.firsts, append=200)
        assert_array_equal(widths, expected[expected > 0])

    def test_rows_are_rounded_to_the_nearest_steps(self, X):
        hasher = small("axes", 120).fit(X)
        model, bits = hasher._model_, hasher.transform(X[:40])
        rows = model.frame.split(X[:40])[0]
        ends = [*model.factors.firsts[1:], 120]
        assert max(np.subtract(ends, model.factors.firsts)) > 3
        for first, end in zip(model.factors.firsts, ends):
            vectors = model.vectors[first:end].astype(float)
            sizes = np.linalg.norm(vectors, axis=1)
            signs = np.array(list(product([-1, 1], repeat=end - first)))
            along = rows @ (vectors[0] / sizes[0])
            nearest = np.abs(along[:, None] - signs @ sizes).argmin(axis=1)
            assert_array_equal(bits[:, first:end], signs[nearest] > 0)

    def test_decodings_have_the_error_of_the_steps(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((4_000, 30)) * np.linspace(2, 0.5, 30)
        model = small("axes", 60).fit(X)._model_
        rows = model.frame.split(X)[0]
        variances = np.linalg.eigvalsh(rows.T @ rows / len(rows))[::-1]
        widths = np.zeros(30, dtype=int)
        widths[: len(model.factors.firsts)] = np.diff(model.factors.firsts, append=60)
        error = np.sum((rows - model._sums(model._codes_of(rows))) ** 2) / len(rows)
        assert error == pytest.approx(variances @ np.array(_ERRORS)[widths], rel=0.05)

    def test_bits_that_no_axis_can_use_stand_for_nothing(self, X):
        X = X[X[:, 20:23].any(axis=1)]
        hasher = small("axes", 80).fit(X[:, 20:23])
        assert not hasher.query_coef_[:, 24:].any()
        assert hasher.query_coef_[:, :24].any(axis=0).all()
        assert hasher.score(X[:, 20:23]) > 0.7


class TestRowsWithoutDirection:
    """Rows of zeros, which have a code as all rows have, come last under "cosine"."""

    zeros = np.array([7, 300, 599])

    @pytest.fixture(name="index", params=["bits", "codebooks", "axes"])
    def index_with_zeros(self, X, request):
        X = X.copy()
        X[self.zeros] = 0
        index = HashedNeighbors(small(request.param, random_state=0))
        message = "X has 3 rows of zeros, first row 7"
        with pytest.warns(UserWarning, match=message) as warned:
            index.fit(X, load_digits().target[:600])
        assert len(warned) == 1
        return index

    def test_searches_find_them_last(self, index, X, tmp_path):
        index.save(tmp_path / "index")
        for fitted in (index, HashedNeighbors.load(tmp_path / "index")):
            assert_array_equal(
                np.flatnonzero(fitted.codes_.terms.values[:, 0] == 0), self.zeros
            )
            distances, found = fitted.kneighbors(X[:40], 600)
            assert_array_equal(found[:, -3:], np.tile(self.zeros, (40, 1)))
            expected = np.broadcast_to(np.arange(600) > 596, distances.shape)
            assert_array_equal(np.isinf(distances), expected)
            ranking = fitted.rank(X[:9])
            assert_array_equal(ranking.indices, found[:9])
            assert (ranking.ties[:, -3:] == ranking.ties[:, [-1]]).all()

    def test_other_items_are_found_as_without_them(self, index, X):
        others = np.setdiff1d(np.arange(600), self.zeros)
        hasher, codes = index.hasher_, index.codes_
        assert_array_equal(
            codes[others].terms.values, hasher.encode(X[others]).terms.values
        )
        assert_array_equal(codes[others].data, hasher.encode(X[others]).data)
        weights = hasher.query_weights(X[:20])
        scores = weighted_scores(weights, codes)
        assert np.isneginf(scores[:, self.zeros]).all()
        assert_array_equal(scores[:, others], weighted_scores(weights, codes[others]))
        sets = maxsim_scores(weights, codes, groups=np.arange(600) % 300)
        assert np.isfinite(np.delete(sets, 0, axis=1)).all()

    def test_metrics_rank_them_last(self, index, X):
        y = load_digits().target
        scores = weighted_scores(index.hasher_.query_weights(X[:20]), index.codes_)
        expected = tie_aware_average_precision_score(
            y[:20, None] == y[:600], np.maximum(scores, -1e30)
        )
        assert index.score(X[:20], y[:20]) == pytest.approx(expected)

    def test_sparse_rows_and_other_metrics(self, X):
        X = X.copy()
        X[::200] = 0
        with pytest.warns(UserWarning, match="X has 3 rows of zeros, first row 0"):
            codes = small("bits").fit(X).encode(sp.csr_array(X))
        assert_array_equal(np.flatnonzero(codes.terms.values[:, 0] == 0), [0, 200, 400])
        for metric in ("inner_product", "euclidean"):
            assert small("bits", metric=metric).fit(X).encode(X).terms.values[:, 0].all()


@each_method
def test_loops_are_held_to_one_thread_of_blas(method, X, monkeypatch):
    seen = []
    products = _words._products

    def recorded(*arrays):
        seen.append({pool["num_threads"] for pool in threadpool_info()})
        return products(*arrays)

    monkeypatch.setattr(_words, "_products", recorded)
    for n_jobs in (None, 2):
        with threadpool_limits(2):
            hasher = small(method, n_jobs=n_jobs).fit(X)
            hasher.encode(X)
            blas = threadpool_info()
            assert {pool["num_threads"] for pool in blas} == {2}
    assert seen
    assert all(threads == {1} for threads in seen)


@each_method
class TestAnyFeatures:
    @each_metric
    def test_fewer_rows_than_entries(self, metric, method, X):
        hasher = small(method, metric=metric).fit(X[:7])
        assert hasher.method_ == method
        assert hasher.transform(X[:50]).shape == (50, 16)
        assert all(np.isfinite(part).all() for part in everything(hasher, X[:50]))

    @each_metric
    def test_constant_features_are_no_others(self, metric, method, X):
        hasher = small(method, metric=metric).fit(np.hstack([X[:200], X[:200] * 0]))
        assert not hasher.query_coef_[64:].any()
        assert hasher.score(np.hstack([X, X * 0])) > 0.2

    def test_sparse_rows_are_dense_rows(self, method, X):
        dense, sparse = (small(method).fit(rows) for rows in (X, sp.csr_array(X)))
        assert_allclose(sparse.query_coef_, dense.query_coef_, atol=1e-4)
        assert_array_equal(dense.transform(sp.csr_array(X)), dense.transform(X))
        weights = dense.query_weights(sp.csr_array(X))
        assert_allclose(weights, dense.query_weights(X), rtol=1e-4, atol=1e-5)


@each_method
class TestSameResults:
    def test_any_number_of_threads(self, method, X, monkeypatch):
        monkeypatch.setattr("sklearn_talr.hashing._base._BYTES_PER_BLOCK", 65_536)
        alone, shared = (small(method, n_jobs=n_jobs).fit(X) for n_jobs in (None, 2))
        assert_alike(alone, shared, X)
        assert alone.score(X) == shared.score(X)

    @each_metric
    def test_equal_seeds(self, metric, method, X):
        numpy_state = check_random_state(None).get_state  # of the global generator
        before = numpy_state()[1].copy()
        fits = [small(method, metric=metric).fit(X) for _ in range(2)]
        assert_array_equal(numpy_state()[1], before)
        assert_alike(*fits, X)
        other = small(method, metric=metric, random_state=1).fit(X)
        assert (other.transform(X) != fits[0].transform(X)).any()

    def test_rows_are_coded_alone_as_among_others(self, method, X):
        hasher = small(method).fit(X)
        alone = np.vstack([hasher.transform(X[[row]]) for row in range(100)])
        assert (alone == hasher.transform(X[:100])).mean() > 0.999  # but for ties


class TestRefusals:
    def test_what_needs_alternations(self, X):
        with pytest.raises(ValueError, match="The 'max_iter' parameter"):
            small("axes", max_iter=0).fit(X)
        for method in ("axes", "codebooks"):
            hasher = small(method).fit(X)
            with pytest.raises(AttributeError) as error:
                hasher.partial_fit(X)
            message = f"method='{method}' rules out. Call fit"
            assert message in str(error.value.__cause__)
            with pytest.raises(ValueError, match=rf"cannot improve {method}.* Call fit"):
                hasher.set_params(method="bits").partial_fit(X)

    @pytest.mark.parametrize("n_bits", [1, 6, 12, 20])
    def test_bits_that_make_no_whole_words(self, n_bits, X):
        hasher = small("codebooks", n_bits)
        message = f"n_bits={n_bits} is no multiple of 8.* Change one"
        with pytest.raises(ValueError, match=message):
            hasher.fit(X)
        hasher.set_params(method="auto").fit(X)
        assert hasher.transform(X).shape == (len(X), n_bits)

    def test_more_rows_after_a_fit(self, X):
        hasher = small().fit(X)
        before = everything(hasher, X)
        for method in ("auto", "bits"):
            hasher.set_params(method=method)
            message = "partial_fit cannot improve codebooks.* Call fit"
            with pytest.raises(ValueError, match=message):
                hasher.partial_fit(X)
            for found, expected in zip(everything(hasher, X), before):
                assert_array_equal(found, expected)
        hasher.set_params(method="bits").fit(X).partial_fit(X)
        assert hasher.method_ == "bits"

    def test_rows_that_come_in_parts_have_single_bits(self):
        X = np.random.default_rng(0).standard_normal((2_000, 6))
        at_once, in_parts = (small("auto", 8) for _ in range(2))
        assert at_once.fit(X).method_ == "codebooks"
        assert in_parts.partial_fit(X).partial_fit(X).method_ == "bits"
        assert_array_equal(in_parts.query_coef_, in_parts.coefs_[0])

    def test_a_fit_that_fails_leaves_the_one_before(self, X, monkeypatch):
        hasher = small().fit(X)
        before = everything(hasher, X)
        with pytest.raises(ValueError, match="NaN"):
            hasher.fit(np.full_like(X, np.nan))
        monkeypatch.setattr(AdditiveModel, "from_codebooks", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            hasher.fit(X[::-1] + 1)
        for found, expected in zip(everything(hasher, X), before):
            assert_array_equal(found, expected)


def test_scores_of_searches_are_recalls(X):
    search = GridSearchCV(small(), {"method": ["axes", "bits", "codebooks"]}, cv=2).fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert ((scores > 0.1) & (scores < 1)).all()
    assert clone(search.best_estimator_).method == search.best_params_["method"]
