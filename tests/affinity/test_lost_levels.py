"""Levels that no pair can have are said, and classes that are one row many times."""

import warnings

import numpy as np
import pytest

from sklearn_talr import ClassProbabilities, TALRHasher
from sklearn_talr.affinity import ThresholdAffinity
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(200, 6))
REPEATED = np.tile(ROWS[:40], (5, 1))
SETS = RNG.random((200, 30)) < 0.3


@pytest.mark.parametrize(
    ("metric", "rows"), [("euclidean", REPEATED), ("jaccard", np.tile(SETS[:40], (5, 1)))]
)
def test_repeated_rows(metric, rows):
    with pytest.warns(UserWarning, match=r"Levels \[2, 5\].*cannot occur") as caught:
        affinity = ThresholdAffinity(metric=metric).fit(rows)
    assert not np.isin(affinity(rows, rows), [2, 5]).any()
    assert "np.unique(rows, axis=0)" in str(caught[0].message)
    line = str(caught[0].message).rpartition("levels: ")[2].rstrip(".")
    assert line == "ThresholdAffinity(quantiles=[0.05, 0.001], levels=[1, 10])"
    other = ThresholdAffinity([0.05, 0.001], [1, 10], metric=metric)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.fit(rows)
        ThresholdAffinity(metric=metric).fit(np.unique(rows, axis=0)[:40])
    assert np.array_equal(other(rows, rows), affinity(rows, rows))


def test_fits_say_so():
    hasher = TALRHasher(4, max_iter=1, random_state=0)
    with pytest.warns(UserWarning, match="cannot occur"):
        hasher.fit(REPEATED)


def test_rows_that_differ():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ThresholdAffinity().fit(ROWS)
        ThresholdAffinity(metric="jaccard", quantiles=(0.3, 0.1), levels=(1, 2)).fit(SETS)
        ThresholdAffinity().fit(REPEATED[:4])  # six pairs have no finer quantiles
        ThresholdAffinity().fit(np.arange(200) // 20)  # such as ages


@pytest.mark.parametrize("estimator", [KernelRidgeClassifierCV(), ClassProbabilities()])
def test_a_class_of_equal_rows(estimator):
    X, y = ROWS.copy(), np.repeat([0, 1], 100)
    X[y == 1] = 7
    fit = getattr(estimator, "fit_predict_proba", None) or estimator.fit_transform
    with pytest.warns(UserWarning, match=r"\(1\) are in equal rows of X only, up to 100"):
        fit(X, y)
    names = np.array(["a", "b"])[y]
    with pytest.warns(UserWarning, match=r"\('b'\) are in equal rows of X only"):
        fit(X, names)
    with pytest.warns(UserWarning, match="in one sample or group only"):
        fit(ROWS, np.append(np.arange(199) % 2, 2))
