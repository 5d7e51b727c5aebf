"""Features far from the origin, of any type of numbers, give what they give around it.

The same rows are moved by an offset that every type holds exactly. So an estimator that
forms means and distances well enough cannot tell them apart, but for rounding.
"""

import numpy as np
import pytest
from hashers import CROSS_VIEW, HASHERS, name_of
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sklearn_talr import AdditiveHasher, ClassProbabilities, TALRHasher
from sklearn_talr.hashing import ITQHasher, LSHHasher
from sklearn_talr.svm import RankingSVC

MOVED = [
    (dtype, offset)
    for dtype in (np.float16, np.float32, np.float64, np.int64)
    for offset in (0, 300, 1e4, 1e6)
    if dtype != np.float16 or offset < 1e4  # numbers there are further apart than rows
]
IDS = [f"{np.dtype(dtype).name}-{offset:g}" for dtype, offset in MOVED]


@pytest.fixture(scope="module")
def rows():
    """Four classes of whole numbers, which all types hold at all offsets, and labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=240)
    X = rng.normal(0, 20, (4, 12))[y] + rng.normal(0, 12, (240, 12))
    return X.round().clip(-100, 100), y


def euclidean(hasher):
    """Whether moving all rows must not change a hasher, which a cosine tells."""
    return getattr(hasher, "metric", "euclidean") == "euclidean"


@pytest.mark.parametrize(("dtype", "offset"), MOVED, ids=IDS)
@pytest.mark.parametrize(
    "hasher",
    [*filter(euclidean, HASHERS), AdditiveHasher(8, metric="euclidean", max_iter=3)],
    ids=name_of,
)
def test_activations_are_those_of_float64(hasher, dtype, offset, rows):
    X, y = rows
    views = {"X_query": X, "y_query": y} if type(hasher) is type(CROSS_VIEW[0]) else {}
    hasher = clone(hasher).set_params(random_state=0).fit(X, y, **views)
    expected = hasher.decision_function(X)
    moved = clone(hasher)
    far = {"X_query": (X + offset).astype(dtype), "y_query": y} if views else {}
    moved.fit((X + offset).astype(dtype), y, **far)
    found = moved.decision_function((X + offset).astype(dtype))
    if isinstance(hasher, LSHHasher | ITQHasher):
        np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    # What trains makes much of the last digits of a mean; what encodes must not.
    exact = moved.decision_function(X + offset)
    np.testing.assert_allclose(found, exact, atol=1e-3 * np.abs(exact).max())


@pytest.mark.parametrize(("dtype", "offset"), MOVED, ids=IDS)
def test_two_stages(dtype, offset, rows):
    X, y = rows
    pipeline = make_pipeline(ClassProbabilities(), TALRHasher(8, random_state=0))
    expected = pipeline.fit(X, y).score(X, y)
    moved = (X + offset).astype(dtype)
    assert pipeline.fit(moved, y).score(moved, y) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("dtype", "offset"), MOVED, ids=IDS)
def test_ranking_svc(dtype, offset, rows):
    X, y = rows
    expected = RankingSVC().fit(X, y == 0).score(X, y == 0)
    moved = (X + offset).astype(dtype)
    svc = RankingSVC().fit(moved, y == 0)
    assert svc.score(moved, y == 0) == pytest.approx(expected, abs=0.01)


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
