"""The additive hasher: codes against enumeration, scores against decodings."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher

METRICS = ["cosine", "inner_product", "euclidean"]
each_method = pytest.mark.parametrize("method", ["axes", "bits", "codebooks"])


@pytest.fixture(scope="module", name="X")
def digits_as_float32():
    return load_digits().data[:600].astype(np.float32)


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

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("unit", [1, 0.1])
    def test_whole_numbers_at_one_distance_are_equally_near(self, metric, unit):
        """Exact fractions decide which others are as near as the tenth."""
        whole = np.random.default_rng(0).integers(1, 5, (300, 3))
        hasher = AdditiveHasher(16, metric=metric, max_iter=2, random_state=0)
        hasher.fit(whole * unit)
        if metric == "cosine":  # squares of cosines, which are all positive, as ratios
            squares, lengths = (whole @ whole.T) ** 2, (whole**2).sum(axis=1)
            table = np.array(
                [
                    [Fraction(int(s), int(n)) for s, n in zip(row, lengths)]
                    for row in squares
                ]
            )
        elif metric == "inner_product":
            table = whole @ whole.T
        else:
            table = -((whole[:, None] - whole) ** 2).sum(axis=2)
        scores = weighted_scores(
            hasher.query_weights(whole * unit), hasher.encode(whole * unit)
        )
        recalls = []
        for row in range(300):
            true, found = np.delete(table[row], row), np.delete(scores[row], row)
            right, last = true >= sorted(true)[-10], sorted(found)[-10]
            above, tied = found > last, found == last
            share = (10 - above.sum()) / tied.sum()
            recalls.append(((right & above).sum() + share * (right & tied).sum()) / 10)
        assert hasher.score(whole * unit) == pytest.approx(np.mean(recalls))

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
            others = [i for i in range(len(X)) if i != row]
            tenth = sorted(true[row][others])[-10]
            is_near = [true[row][i] >= tenth for i in others]
            last = sorted(found[row][others])[-10]
            n_above = sum(found[row][i] > last for i in others)
            n_last = sum(found[row][i] == last for i in others)
            chance = {
                i: 1 if found[row][i] > last else (10 - n_above) / n_last
                for i in others
                if found[row][i] >= last
            }
            recalls.append(
                sum(chance.get(i, 0) for i, near in zip(others, is_near) if near) / 10
            )
        assert hasher.score(X) == pytest.approx(np.mean(recalls))
        assert 0.5 < hasher.score(X) < 1


def neighbors_of(hasher, queries, X):
    """Scores of a database, and the ten best items of each query."""
    scores = weighted_scores(hasher.query_weights(queries), hasher.encode(X))
    return scores, np.argsort(-scores, axis=1)[:, :10]


class TestWhereFeaturesLie:
    """Neither their origin nor their unit says anything about distances."""

    @given(
        st.sampled_from([0.0, 1.0, 100.0, 1e4]),
        st.sampled_from([np.float32, np.float64]),
        st.integers(0, 2**32),
    )
    @settings(max_examples=8, deadline=None)
    def test_moving_all_features_changes_no_distance(self, size, dtype, seed):
        X = load_digits().data[:400]
        offset = size * np.random.default_rng(seed).standard_normal(64).round(2)
        moved = [(X + move).astype(dtype) for move in (0, offset, size)]
        hashers = [
            AdditiveHasher(24, metric="euclidean", max_iter=3, random_state=0).fit(Z[100:])
            for Z in moved
        ]
        (scores, nearest), *others = (
            neighbors_of(hasher, Z[:100], Z[100:]) for hasher, Z in zip(hashers, moved)
        )
        for other_scores, other_nearest in others:
            # Rounding may flip a bit whose two values are equally good.
            off = np.abs(other_scores - scores) > 0.01 * scores.std()
            assert off.mean() < 0.02
            assert (other_nearest == nearest).mean() > 0.95
        recalls = [hasher.score(Z[100:]) for hasher, Z in zip(hashers, moved)]
        assert np.ptp(recalls) < 0.01

    @each_method
    def test_weights_are_those_of_a_linear_function(self, method, X):
        hasher = AdditiveHasher(16, method=method, metric="euclidean", random_state=0)
        hasher.fit(X + 10)
        by_hand = (X + 10 - hasher.mean_) @ hasher.query_coef_
        assert_allclose(hasher.query_weights(X + 10), by_hand, atol=1e-3)
        of_bits = (X + 10 - hasher.mean_) @ hasher.coefs_[0] + hasher.intercepts_[0]
        assert_allclose(hasher.decision_function(X + 10), of_bits, atol=1e-3)

    @pytest.mark.parametrize("unit", [1e-37, 1e-25, 1e30])
    @pytest.mark.parametrize("metric", METRICS)
    def test_no_square_is_lost_or_infinite(self, metric, unit, X):
        recalls = []
        for factor in (1, np.float32(unit)):
            hasher = AdditiveHasher(16, metric=metric, max_iter=3, random_state=0)
            recalls.append(hasher.fit(X[:300] * factor).score(X[300:] * factor))
        assert 0.3 < recalls[0] < 1
        assert recalls[1] == pytest.approx(recalls[0], abs=0.02)


@pytest.mark.parametrize("metric", METRICS)
def test_no_result_depends_on_the_number_of_threads(metric, X, monkeypatch):
    monkeypatch.setattr("sklearn_talr.hashing._base._BYTES_PER_BLOCK", 65_536)
    fits = []
    for n_jobs, n_blas in ((None, 1), (2, 1), (2, 2), (1, 2)):
        hasher = AdditiveHasher(20, metric=metric, n_jobs=n_jobs, random_state=0)
        with threadpool_limits(n_blas, user_api="blas"):
            hasher.partial_fit(X[:400]).partial_fit(X[400:])
            codes, packed = hasher.transform(X), hasher.encode(X)
            fits.append(
                [hasher.coefs_[0], codes, hasher.query_weights(X), packed.data]
                + ([packed.terms.values] if packed.terms.n_terms else [])
                + [hasher.score(X)]
            )
    for fit in fits[1:]:
        for found, expected in zip(fit, fits[0]):
            assert_array_equal(found, expected)


class TestFit:
    @pytest.mark.parametrize(("name", "value"), [("n_bits", 12), ("metric", "euclidean")])
    def test_chunks_cannot_change_what_bits_mean(self, name, value, X):
        hasher = AdditiveHasher(8, max_iter=1, random_state=0).partial_fit(X[:300])
        before = hasher.coefs_[0]
        hasher.set_params(**{name: value})
        with pytest.raises(ValueError, match=f"partial_fit cannot change {name}"):
            hasher.partial_fit(X[300:])
        assert hasher.coefs_[0] is before
        hasher.fit(X)
        assert hasher.transform(X).shape[1] == hasher.n_bits

    def test_more_bits_than_features(self, learned):
        X = np.random.default_rng(learned.seed).standard_normal((60, 4))
        hasher = AdditiveHasher(24, random_state=learned.seed).fit(X)
        assert hasher.transform(X).shape == (60, 24)
        learned.error(1 - hasher.score(X))

    def test_a_part_of_the_rows_is_enough(self, X):
        def codes(max_samples):
            hasher = AdditiveHasher(16, max_samples=max_samples, random_state=0)
            return hasher.fit(X).transform(X)

        assert_array_equal(codes(None), codes(len(X)))
        assert (codes(None) != codes(100)).any()

    def test_packed_codes_are_the_codes_and_know_lengths(self, X):
        hasher = AdditiveHasher(13, metric="euclidean", random_state=0).fit(X)
        codes, packed = hasher.transform(X), hasher.encode(X)
        assert_array_equal(codes, np.asarray(packed))
        lengths = np.linalg.norm(hasher.inverse_transform(packed) - hasher.mean_, axis=1)
        assert_allclose(lengths, np.linalg.norm(X - hasher.mean_, axis=1), rtol=0.02)

    def test_alternating_lowers_the_error(self, X, learned):
        errors = []
        for max_iter in (1, 12):
            hasher = AdditiveHasher(32, max_iter=max_iter, random_state=learned.seed).fit(X)
            unit = X / np.linalg.norm(X, axis=1, keepdims=True)
            errors.append(np.sum((unit - hasher.inverse_transform(hasher.encode(X))) ** 2))
        learned.gain(1 - errors[1] / errors[0])

    def test_codes_of_another_length_are_refused(self, X):
        hasher = AdditiveHasher(8, random_state=0).fit(X)
        with pytest.raises(ValueError, match="7 bits"):
            hasher.inverse_transform(np.ones((2, 7), dtype=np.uint8))
