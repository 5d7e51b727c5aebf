"""Features far from the origin, of any type of numbers, give what they give around it.

The same rows are moved by an offset that every type holds exactly. So an estimator that
forms means and distances well enough cannot tell them apart, but for rounding.
"""

import numpy as np
import pytest
from hashers import CROSS_VIEW, KINDS, name_of
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sklearn_talr import AdditiveHasher, ClassProbabilities, TALRHasher
from sklearn_talr.hashing import ITQHasher, LSHHasher
from sklearn_talr.svm import RankingSVC

# In half precision, numbers further out are further apart than rows.
MOVED = [(np.float16, 300), (np.float32, 1e6), (np.float64, 1e6), (np.int64, 1e4)]
OF_DISTANCES = [h for h in KINDS if getattr(h, "metric", "euclidean") != "cosine"]


@pytest.fixture(scope="module")
def rows():
    """Four classes of whole numbers, which all types hold at all offsets, and labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=240)
    X = rng.normal(0, 20, (4, 12))[y] + rng.normal(0, 12, (240, 12))
    return X.round().clip(-100, 100), y


def moved(X):
    """The same rows around each of `MOVED`, in its type."""
    return [(X + offset).astype(dtype) for dtype, offset in MOVED]


@pytest.mark.parametrize(
    "hasher",
    [*OF_DISTANCES, AdditiveHasher(8, metric="euclidean", max_iter=3)],
    ids=name_of,
)
def test_activations_are_those_of_float64(hasher, rows):
    X, y = rows
    hasher = clone(hasher).set_params(random_state=0)
    if isinstance(hasher, LSHHasher | ITQHasher):
        expected = clone(hasher).fit(X, y).decision_function(X)
    for far in moved(X):
        views = (
            {"X_query": far, "y_query": y} if type(hasher) is type(CROSS_VIEW[0]) else {}
        )
        found = hasher.fit(far, y, **views).decision_function(far)
        if isinstance(hasher, LSHHasher | ITQHasher):
            np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
        # What trains makes much of the last digits of a mean; what encodes must not.
        exact = hasher.decision_function(far.astype(float))
        np.testing.assert_allclose(found, exact, atol=1e-3 * np.abs(exact).max())


def test_two_stages(rows):
    X, y = rows
    hasher = TALRHasher(8, max_iter=20, random_state=0)
    pipeline = make_pipeline(ClassProbabilities(), hasher)
    expected = pipeline.fit(X, y).score(X, y)
    for far in moved(X):
        assert pipeline.fit(far, y).score(far, y) == pytest.approx(expected, abs=0.02)


def test_ranking_svc(rows):
    X, y = rows
    expected = RankingSVC().fit(X, y == 0).score(X, y == 0)
    for far in moved(X):
        svc = RankingSVC().fit(far, y == 0)
        assert svc.score(far, y == 0) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_additive_codes_of_directions(metric, rows):
    """Their mean is not subtracted from queries, so digits must be kept otherwise."""
    X = rows[0] + 1e6
    hashers = [
        AdditiveHasher(16, metric=metric, max_iter=3, random_state=0).fit(X.astype(dtype))
        for dtype in (np.float32, np.float64)
    ]
    found, expected = (
        hasher.query_weights(X.astype(dtype))
        for hasher, dtype in zip(hashers, (np.float32, np.float64))
    )
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    codes = [hasher.transform(X) for hasher in hashers]
    assert np.mean(codes[0] == codes[1]) > 0.99


@pytest.mark.parametrize("far", [-9999.0, 1e6])
@pytest.mark.parametrize("n_far", [1, 3])
@pytest.mark.parametrize("hasher", OF_DISTANCES, ids=name_of)
def test_few_rows_far_from_all_others_spoil_no_fit(hasher, n_far, far, rows):
    """By one row of -9999 the mean was far from all others, which had one code."""
    X, y = np.tile(rows[0], (2, 1)), np.tile(rows[1], 2)
    far_rows, far_y = np.vstack([X, np.full((n_far, 12), far)]), np.append(y, y[:n_far])
    views = {}
    if type(hasher) is type(CROSS_VIEW[0]):
        views = {"X_query": far_rows, "y_query": far_y}
    hasher = clone(hasher).set_params(random_state=0).fit(far_rows, far_y, **views)
    assert len(np.unique(hasher.transform(X), axis=0)) > 1
    if isinstance(hasher, LSHHasher | ITQHasher):
        alone = clone(hasher).fit(X)
        np.testing.assert_array_equal(hasher.transform(X), alone.transform(X))
    if hasattr(hasher, "means_"):
        np.testing.assert_allclose(hasher.means_[0], X.mean(axis=0), atol=5)


def test_far_rows_count_where_they_are_many(rows):
    X = np.vstack([rows[0], np.full((12, 12), 9999.0)])
    np.testing.assert_allclose(LSHHasher(4).fit(X).means_[0], X.mean(axis=0))
