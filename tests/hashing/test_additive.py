"""The additive hasher: codes against enumeration, scores against decodings."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr.codes import pack_codes, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher
from sklearn_talr.hashing._additive_codes import Moments, descend

METRICS = ["cosine", "inner_product", "euclidean"]


@pytest.fixture(scope="module", name="X")
def digits_as_float32():
    return load_digits().data[:600].astype(np.float32)


@parametrize_with_checks([AdditiveHasher(8), AdditiveHasher(4, metric="euclidean")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def slow_cosine(z, b, decoder):
    """Cosine of a row and of a decoding, the row's length left in."""
    decoding = b @ decoder
    return z @ decoding / np.linalg.norm(decoding)


class TestDescent:
    def problem(self, seed, n_rows=6, n_bits=7, n_features=5):
        rng = np.random.default_rng(seed)
        decoder = rng.standard_normal((n_bits, n_features)).astype(np.float32)
        rows = rng.standard_normal((n_rows, n_features)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        signs = np.where(rng.random((n_rows, n_bits)) > 0.5, 1, -1).astype(np.float32)
        return rows, decoder, signs

    @given(st.integers(0, 2**32))
    @settings(max_examples=20)
    def test_no_single_bit_is_better_in_the_end(self, seed):
        rows, decoder, signs = self.problem(seed)
        correlations, gram = rows @ decoder.T, decoder @ decoder.T
        found = descend(signs, correlations, gram, 100, free=True)
        scales = np.clip(
            np.einsum("ij,ij->i", found, correlations)
            / np.einsum("ij,ij->i", found @ gram, found),
            0.5,
            2,
        )

        def error(row, scale, b):
            return np.sum((row / scale - b @ decoder) ** 2)

        for row, scale, b in zip(rows, scales, found):
            for bit in range(7):
                other = b.copy()
                other[bit] *= -1
                assert error(row, scale, b) <= error(row, scale, other) + 1e-5

    @given(st.integers(0, 2**32))
    @settings(max_examples=20)
    def test_flips_never_lead_away(self, seed):
        rows, decoder, signs = self.problem(seed)
        correlations, gram = rows @ decoder.T, decoder @ decoder.T
        flips = [np.array([bit]) for bit in range(7)]
        plain = descend(signs, correlations, gram, 10, free=True)
        better = descend(signs, correlations, gram, 10, flips, free=True)
        best = [
            max(slow_cosine(z, np.array(b), decoder) for b in product((-1, 1), repeat=7))
            for z in rows
        ]
        for z, b, c, bound in zip(rows, plain, better, best):
            reached = slow_cosine(z, c, decoder)
            assert slow_cosine(z, b, decoder) - 1e-5 <= reached <= bound + 1e-5

    def test_rows_do_not_depend_on_each_other(self):
        rows, decoder, signs = self.problem(0, n_rows=50, n_bits=40)
        correlations, gram = rows @ decoder.T, decoder @ decoder.T
        flips = [np.arange(3)]
        together = descend(signs, correlations, gram, 10, flips, free=True)
        alone = [
            descend(signs[[i]], correlations[[i]], gram, 10, flips, free=True)[0]
            for i in range(50)
        ]
        assert_array_equal(together, alone)

    def test_the_decoder_is_a_ridge_regression(self):
        rows, _, signs = self.problem(3, n_rows=30)
        found = Moments.none(7, 5).plus(signs, rows).decoder(0.1)
        gradient = signs.T @ (signs @ found - rows) + 0.1 * 30 * found
        assert_allclose(gradient, 0, atol=1e-4)


def true_similarities(queries, X, metric):
    if metric == "cosine":
        return (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ (
            X / np.linalg.norm(X, axis=1, keepdims=True)
        ).T
    if metric == "inner_product":
        return queries @ X.T
    return -((queries[:, None] - X) ** 2).sum(axis=2) / 2


class TestScores:
    @pytest.mark.parametrize("metric", METRICS)
    def test_many_bits_rank_as_features_do(self, X, metric, learned):
        hasher = AdditiveHasher(160, metric=metric, random_state=learned.seed).fit(X[:500])
        codes, queries = hasher.encode(X[:500]), X[500:]
        scores = weighted_scores(hasher.query_weights(queries), codes)
        true = true_similarities(queries, X[:500], metric)
        correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(scores, true)]
        learned.error(1 - min(correlations))

    def test_scores_are_inner_products_with_decodings(self, X):
        hasher = AdditiveHasher(24, random_state=0).fit(X)
        codes = hasher.transform(X[:40])
        decodings = hasher.inverse_transform(codes)
        assert_allclose(np.linalg.norm(decodings, axis=1), 1, rtol=1e-4)
        scores = weighted_scores(hasher.query_weights(X[40:50]), codes)
        expected = X[40:50] @ (decodings - hasher.mean_).T
        assert_allclose(scores, expected, rtol=1e-3)

    def test_terms_are_none_but_of_the_code(self, X):
        hasher = AdditiveHasher(6, random_state=0).fit(X)
        codes = hasher.transform(X)
        _, first, place = np.unique(
            pack_codes(codes).data, axis=0, return_index=True, return_inverse=True
        )
        assert len(first) < len(X)
        assert_allclose(codes.terms, codes.terms[first][place.ravel()], rtol=1e-5)

    @pytest.mark.parametrize("metric", METRICS)
    def test_score_is_the_recall_of_true_neighbors(self, X, metric):
        hasher = AdditiveHasher(24, metric=metric, random_state=0).fit(X[:300])
        X = X[300:380]
        true, found = (
            true_similarities(X, X, metric),
            weighted_scores(hasher.query_weights(X), hasher.encode(X)),
        )
        recalls = []
        for row in range(len(X)):
            sets = []
            for scores in (true[row], found[row]):
                others = [i for i in np.argsort(-scores) if i != row]
                sets.append(set(others[:10]))
            recalls.append(len(sets[0] & sets[1]) / 10)
        assert hasher.score(X) == pytest.approx(np.mean(recalls))
        assert 0.5 < hasher.score(X) < 1

    def test_more_is_found_than_by_signs(self, X, learned):
        itq = ITQHasher(32, random_state=learned.seed).fit(X[:300])
        additive = AdditiveHasher(32, random_state=learned.seed).fit(X[:300])
        true = true_similarities(X[300:], X[300:], "cosine")
        recalls = []
        for hasher in (itq, additive):
            scores = weighted_scores(hasher.query_weights(X[300:]), hasher.encode(X[300:]))
            sets = [np.argsort(-s, axis=1)[:, :11] for s in (true, scores)]
            found = [len(np.intersect1d(*pair)) for pair in zip(*sets)]
            recalls.append(np.mean(found) / 11)
        learned.gain(recalls[1] - recalls[0])


class TestFit:
    def test_more_bits_than_features(self, learned):
        X = np.random.default_rng(learned.seed).standard_normal((60, 4))
        hasher = AdditiveHasher(24, random_state=learned.seed).fit(X)
        assert hasher.transform(X).shape == (60, 24)
        learned.error(1 - hasher.score(X))

    def test_sparse_rows_are_dense_rows(self, X):
        dense, sparse = (
            AdditiveHasher(16, random_state=0).fit(rows) for rows in (X, sp.csr_array(X))
        )
        assert_allclose(sparse.coefs_[0], dense.coefs_[0], atol=1e-4)
        assert_array_equal(dense.transform(sp.csr_array(X)), dense.transform(X))
        weights = dense.query_weights(sp.csr_array(X))
        assert_allclose(weights, dense.query_weights(X), rtol=1e-4, atol=1e-5)

    def test_blocks_of_a_memory_map_are_all_rows(self, X, tmp_path, monkeypatch):
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        expected = AdditiveHasher(16, random_state=0).fit(X)
        monkeypatch.setattr("sklearn_talr.hashing._additive_model._CELLS_PER_BLOCK", 4_096)
        found = AdditiveHasher(16, random_state=0).fit(mapped)
        assert_allclose(found.coefs_[0], expected.coefs_[0], atol=1e-3)

    def test_packed_codes_are_the_codes(self, X):
        hasher = AdditiveHasher(13, metric="euclidean", random_state=0).fit(X)
        codes, packed = hasher.transform(X), hasher.encode(X)
        assert_array_equal(codes, np.asarray(packed))
        assert_array_equal(codes.terms, packed.terms)
        assert_array_equal(
            hasher.inverse_transform(codes), hasher.inverse_transform(packed)
        )

    def test_alternating_lowers_the_error(self, X, learned):
        errors = []
        for max_iter in (1, 12):
            hasher = AdditiveHasher(32, max_iter=max_iter, random_state=learned.seed).fit(X)
            unit = X / np.linalg.norm(X, axis=1, keepdims=True)
            errors.append(np.sum((unit - hasher.inverse_transform(hasher.encode(X))) ** 2))
        learned.gain(1 - errors[1] / errors[0])

    def test_more_chunks_help(self, X, learned):
        held_out = load_digits().data[600:900]
        first = AdditiveHasher(32, random_state=learned.seed).partial_fit(X[:60])
        before, n_iter = first.score(held_out), first.n_iter_
        for start in range(60, 600, 180):
            first.partial_fit(X[start : start + 180])
        learned.gain(first.score(held_out) - before)
        assert first.n_iter_ == n_iter + 6

    def test_a_constant_direction_has_no_nan(self):
        X = np.arange(1.0, 41)[:, None] * np.ones(3)
        for metric in METRICS:
            hasher = AdditiveHasher(4, metric=metric, random_state=0).fit(X)
            terms = hasher.transform(X).terms
            assert terms is None if metric == "inner_product" else np.isfinite(terms).all()
            assert np.isfinite(hasher.inverse_transform(hasher.encode(X))).all()

    def test_one_sample_has_no_recall(self, X):
        with pytest.raises(ValueError, match="one sample"):
            AdditiveHasher(8, random_state=0).fit(X).score(X[:1])

    def test_codes_of_another_length_are_refused(self, X):
        hasher = AdditiveHasher(8, random_state=0).fit(X)
        with pytest.raises(ValueError, match="7 bits"):
            hasher.inverse_transform(np.ones((2, 7), dtype=np.uint8))
