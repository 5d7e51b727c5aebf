"""Features of any scale that float32 holds give what they give at a scale of one.

Scales are powers of two, which change no digit, so float64 features of the same values at a
scale of one are the oracle.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hashers import CROSS_VIEW, KINDS, name_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_talr import AdditiveHasher, ClassProbabilities, TALRHasher
from sklearn_talr._core.validation import row_norms
from sklearn_talr.affinity import ThresholdAffinity
from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.neighbors import HashedNeighbors, rescore

SCALES = [2.0**power for power in (-100, -76, -63, 50, 63, 100)]
RNG = np.random.default_rng(0)
Y = RNG.integers(4, size=160)
X = (RNG.normal(0, 2, (4, 12))[Y] + RNG.normal(0, 1.2, (160, 12))).astype(np.float32)
FEW = np.where(RNG.random((160, 300)) < 0.02, RNG.normal(size=(160, 300)), 0)
FEW[np.arange(160), Y] = 2


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("metric", ["euclidean", "inner_product"])
@pytest.mark.parametrize("n_neighbors", [None, 5])
def test_rescoring_is_that_of_float64(metric, scale, n_neighbors):
    rows = X * np.float32(scale)
    rows[7] = rows[8]  # a tie
    rows[9] = 0
    everyone = np.tile(np.arange(160), (20, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values, indices = rescore(
            rows[:20], rows, everyone, metric=metric, n_neighbors=n_neighbors
        )
    exact = rows.astype(np.float64)
    differences = exact[:20, None] - exact
    expected = np.sqrt((differences**2).sum(axis=2))
    if metric == "inner_product":
        expected = -(exact[:20] @ exact.T)
    order = np.argsort(expected, axis=1, kind="stable")[:, :n_neighbors]
    right = np.abs(np.take_along_axis(expected, order, axis=1))
    assert_allclose(np.abs(values), right, rtol=1e-4, atol=1e-5 * right.max())
    assert np.mean(indices == order) > 0.99


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e155, 1e300])
def test_rescoring_of_doubles(scale):
    rows = X.astype(np.float64)
    everyone = np.tile(np.arange(160), (20, 1))
    for metric in ("euclidean", "inner_product"):
        _, expected = rescore(rows[:20], rows, everyone, metric=metric)
        if metric == "euclidean" or 1e-150 < scale < 1e150:
            _, found = rescore(rows[:20] * scale, rows * scale, everyone, metric=metric)
            assert np.mean(found == expected) > 0.99


def test_near_and_far_rows_of_one_query():
    rows = np.array([[1e-23], [3e-23], [2e-23], [1e18], [-1e19], [0]], dtype=np.float32)
    query = np.zeros((1, 1), np.float32)
    _, indices = rescore(query, rows, [np.arange(6)])
    assert_array_equal(indices, [[5, 0, 2, 1, 3, 4]])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds(scale, dtype):
    rows = X.astype(dtype) * dtype(scale)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        affinity = ThresholdAffinity().fit(rows)
        found = affinity(rows[:50], rows)
    expected = ThresholdAffinity().fit(X)(X[:50], X)
    assert np.mean(found == expected) > 0.999
    assert_allclose(
        affinity.thresholds_ / scale, ThresholdAffinity().fit(X).thresholds_, rtol=1e-5
    )


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_thresholds_beyond_doubles(scale):
    with pytest.raises(ValueError, match=r"magnitudes up to.*y / np\.abs\(y\)\.max\(\)"):
        ThresholdAffinity().fit(X.astype(np.float64) * scale)


ESTIMATORS = [
    *KINDS,
    *(AdditiveHasher(16, metric=metric, max_iter=2) for metric in ("euclidean", "cosine")),
    TALRHasher(8, max_iter=2, init="pca"),
    CrossViewHasher(8, max_iter=1, teacher=None),
    ClassProbabilities(),
    ClassProbabilities(passthrough=True),
    KernelRidgeClassifierCV("cosine"),
]


@pytest.mark.parametrize("scale", [2.0**-76, 2.0**63])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_estimators(estimator, is_sparse, scale):
    if is_sparse and getattr(estimator, "passthrough", False):
        with pytest.raises(ValueError, match="passthrough=True needs dense features"):
            clone(estimator).fit(sp.csr_array(FEW), Y)
        return
    rows = (sp.csr_array(FEW) if is_sparse else X).astype(np.float32)
    outputs = []
    for factor in (1, scale):
        model, scaled = clone(estimator), rows * np.float32(factor)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        views = (
            {"X_query": scaled, "y_query": Y} if type(model) is type(CROSS_VIEW[0]) else {}
        )
        model.fit(scaled, Y, **views)
        method = getattr(model, "predict_proba", getattr(model, "decision_function", None))
        outputs.append(np.asarray((method or model.transform)(scaled), dtype=float).ravel())
    assert np.isfinite(outputs[1]).all()
    assert np.corrcoef(*outputs)[0, 1] > 0.98


def test_indexes_find_the_rows_themselves():
    rows = X * np.float32(1e-23)
    index = HashedNeighbors(AdditiveHasher(64, max_iter=2, random_state=0), n_rescored=100)
    found = index.fit(rows).kneighbors(rows[:50], 1, return_distance=False)[:, 0]
    assert_array_equal(found, np.arange(50))


def test_lengths_of_rows():
    for scale in (*SCALES, 1, 2.0**-140, 2.0**125):
        exact = np.linalg.norm(X.astype(np.float64), axis=1) * scale
        assert_allclose(row_norms(X * np.float32(scale)), exact, rtol=1e-3)
    assert_array_equal(row_norms(X), np.linalg.norm(X, axis=1))
    assert_array_equal(row_norms(np.zeros((2, 3), np.float32)), [0, 0])
    assert row_norms(np.zeros((0, 3))).shape == (0,)
