"""ThresholdAffinity: levels by quantiles of the distances among training rows."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import ThresholdAffinity


def test_thresholds_are_quantiles_of_pairwise_distances():
    X = np.random.default_rng(1).normal(size=(60, 5))
    affinity = ThresholdAffinity(quantiles=(0.3, 0.01, 0.1), levels=(1, 10, 2)).fit(X)
    distances = pdist(X)
    expected = np.quantile(distances, (0.3, 0.01, 0.1))
    assert_allclose(affinity.thresholds_, expected, rtol=1e-12)
    assert_array_equal(affinity.levels_, [0, 1, 2, 10])
    pairs = affinity(X, X)[np.triu_indices(60, k=1)]
    for quantile, level in [(0.3, 1), (0.1, 2), (0.01, 10)]:
        assert abs(np.mean(pairs >= level) - quantile) <= 1 / len(pairs)
        assert distances[pairs >= level].max() <= np.quantile(distances, quantile)


def test_queries_are_graded_by_the_distances_of_the_training_rows():
    rng = np.random.default_rng(2)
    X, query = rng.normal(size=(40, 3)), 2 * rng.normal(size=(6, 3))
    affinity = ThresholdAffinity(quantiles=(0.5, 0.05), levels=(1, 3)).fit(X)
    far, near = np.quantile(pdist(X), [0.5, 0.05])
    distances = cdist(query, X)
    expected = np.where(distances <= near, 3, np.where(distances <= far, 1, 0))
    assert_array_equal(affinity(query, X), expected)
    assert_array_equal(affinity.levels_between(query, X), [0, 1, 3])


def test_pairs_at_a_threshold_are_within():
    """In the unit cube many pairs share the distances 1, sqrt(2) and sqrt(3)."""
    X = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    for quantile in (0.2, 0.6, 0.95):
        affinity = ThresholdAffinity(quantiles=(quantile,), levels=(1,)).fit(X)
        assert affinity(X, X)[np.triu_indices(8, k=1)].mean() >= quantile


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_rows_are_nearest_although_distances_are_rounded(dtype):
    X = np.random.default_rng(4).normal(size=(50, 64)).astype(dtype) + 3
    X = np.repeat(X, 4, axis=0)
    affinity = ThresholdAffinity(quantiles=(0.002,), levels=(1,)).fit(X)
    expected = np.kron(np.eye(50), np.ones((4, 4)))
    assert_array_equal(affinity(X, X), expected)
    assert_array_equal(affinity(X[:7], X.copy()), expected[:7])


def test_thresholds_from_a_subsample_are_reproducible():
    X = np.random.default_rng(5).normal(size=(50, 2))
    params = {"quantiles": (0.5,), "levels": (1,), "subsample": 20}
    first, again, other = (
        ThresholdAffinity(**params, random_state=seed).fit(X).thresholds_
        for seed in (0, 0, 1)
    )
    assert first == again != other
    rows = X[np.random.RandomState(0).choice(50, 20, replace=False)]
    assert_allclose(first, np.quantile(pdist(rows), [0.5]), rtol=1e-12)


def test_bad_quantiles_and_levels_are_refused():
    X = np.random.default_rng(7).normal(size=(9, 2))
    for quantiles, levels, message in [
        ((0.5,), (1, 2), "quantiles and levels must be two lists"),
        ((), (), "quantiles and levels must be two lists"),
        (0.5, (1,), "'quantiles' parameter .* must be an array-like"),
        ((0.5,), 1, "'levels' parameter .* must be an array-like"),
        ((1.0,), (1,), r"quantiles must lie in \(0, 1\)"),
        ((0.0,), (1,), r"quantiles must lie in \(0, 1\)"),
        ((0.5,), (0,), "levels must be positive integers"),
        ((0.5,), (1.5,), "levels must be positive integers"),
        ((0.5, 0.1), (2, 1), "a smaller quantile must have a higher"),
        ((0.5, 0.1), (1, 1), "a smaller quantile must have a higher"),
        ((0.1, 0.1), (1, 2), "a smaller quantile must have a higher"),
    ]:
        with pytest.raises(ValueError, match=message):
            ThresholdAffinity(quantiles, levels).fit(X)
    for params in ({"subsample": 1}, {"subsample": 2.5}, {"random_state": "x"}):
        with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter"):
            ThresholdAffinity(**params).fit(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0]], "at least 2 rows"),
        (np.ones((2, 2, 2)), "dim 3"),
        ([[np.nan], [1.0]], "y contains NaN"),
    ],
)
def test_threshold_affinity_needs_rows_of_features(X, message):
    with pytest.raises(ValueError, match=message):
        ThresholdAffinity().fit(X)


def test_numbers_are_rows_of_one_feature():
    y = np.random.default_rng(6).uniform(10, 90, size=50)
    by_numbers, by_rows = ThresholdAffinity().fit(y), ThresholdAffinity().fit(y[:, None])
    np.testing.assert_array_equal(by_numbers(y, y), by_rows(y[:, None], y[:, None]))
    assert by_numbers.n_features_in_ == 1


SINGLE = np.float32(0.01)
WHOLE = {
    "ages": lambda rng: rng.integers(18, 90, (300, 1)),
    "seconds": lambda rng: 1_700_000_000 + 60 * rng.integers(0, 500_000, (300, 1)),
    "grid": lambda rng: rng.integers(-9, 9, (300, 2)),
    "counts": lambda rng: rng.poisson(1.0, (150, 64)),
    "far": lambda rng: rng.integers(0, 6, (200, 4)) * [1, 1, 1, 0] + [0, 0, 0, 2**30],
}


@pytest.mark.parametrize(
    ("kind", "unit"),
    [(kind, 1.0) for kind in WHOLE]
    + [(kind, unit) for kind in ("ages", "grid", "counts") for unit in (0.01, SINGLE)],
)
def test_one_distance_has_one_level(kind, unit):
    """Against whole numbers, of which every square is exact."""
    whole = WHOLE[kind](np.random.default_rng(8)).astype(np.int64)
    squares = ((whole[:, None] - whole) ** 2).sum(axis=2)
    distances = np.sqrt(squares)
    quantiles, levels = (0.3, 0.05, 0.01), (1, 2, 5)
    expected = np.zeros(squares.shape, dtype=int)
    for quantile, level in zip(quantiles, levels):
        limit = np.quantile(distances[np.triu_indices(len(whole), k=1)], quantile)
        expected[distances <= limit] = level
    rows = (whole * unit).astype(np.asarray(unit).dtype)
    affinity = ThresholdAffinity(quantiles, levels).fit(rows)
    found = affinity(rows, rows)
    assert_array_equal(found, expected)
    assert_array_equal(np.vstack([affinity(row[None], rows) for row in rows]), found)
    far = np.vstack([rows, np.full_like(rows[:1], 1e9)])  # squares lose more digits
    assert_array_equal(affinity(far, far)[:-1, :-1], expected)


def test_sets_are_graded_by_tanimoto_exactly():
    """Against fractions; rows of few bits tie often, and some are empty."""
    rng = np.random.default_rng(9)
    sets = (rng.random((90, 12)) < 0.3).astype(np.uint8)
    sets[:3] = 0
    shared, ones = sets.astype(int) @ sets.T.astype(int), sets.sum(axis=1, dtype=int)
    either = np.add.outer(ones, ones) - shared
    fractions = np.frompyfunc(Fraction, 2, 1)(shared, np.maximum(either, 1))
    fractions[either == 0] = Fraction(1)
    quantiles, levels = (0.5, 0.1, 0.02), (1, 2, 5)
    ascending = sorted(1 - fractions[np.triu_indices(90, k=1)])
    expected = np.zeros(shared.shape, dtype=int)
    for quantile, level in zip(quantiles, levels):
        place = Fraction(str(quantile)) * (len(ascending) - 1)
        low, high = (ascending[int(f(place))] for f in (np.floor, np.ceil))
        expected[(1 - fractions <= low + (high - low) * (place % 1)).astype(bool)] = level
    affinity = ThresholdAffinity(quantiles, levels, metric="jaccard")
    for rows in (sets, sets.astype(bool), sets.astype(float), sp.csr_array(sets * 1.0)):
        assert_array_equal(affinity.fit(rows)(rows, rows), expected)
        assert_array_equal(affinity(rows[:5], rows), expected[:5])
    thresholds = np.quantile(pdist(sets > 0, "jaccard"), quantiles)
    assert_allclose(affinity.thresholds_, thresholds, rtol=1e-15)
    hasher = TALRHasher(8, affinity=affinity, max_iter=1, random_state=0)
    by_rows = hasher.fit(sets, sets).transform(sets)
    by_csr = clone(hasher).fit(sets, sp.csr_array(sets)).transform(sets)
    assert_array_equal(by_rows, by_csr)


def test_packed_fingerprints_and_counts_are_refused_as_sets():
    affinity = ThresholdAffinity(metric="jaccard")
    sparse = sp.csr_array([[2.0, 0], [0, 1]])
    for wrong in ([[3, 0], [0, 1]], [[0.5, 1.0], [0.0, 1.0]], sparse):
        with pytest.raises(ValueError, match=r"must hold 0 and 1 .*np.unpackbits"):
            affinity.fit(wrong)
    with pytest.raises(ValueError, match="Expected 2D array"):
        affinity.fit([0, 1, 1])
