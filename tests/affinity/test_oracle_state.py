"""Oracles: a fit that fails or is broken off leaves what was there before."""

import joblib
import numpy as np
import pytest
from interruptions import Interruption, interrupted_at, statements_of
from sklearn.exceptions import NotFittedError

from sklearn_talr._core import state
from sklearn_talr.affinity import SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.affinity import _labels as labels
from sklearn_talr.affinity import _threshold as threshold

RNG = np.random.default_rng(0)
ROWS, WIDER = RNG.normal(size=(30, 2)), RNG.normal(size=(40, 3))
FEW, MANY = np.eye(6, 3, dtype=int), np.ones((6, 3), dtype=int)
CASES = {
    "distances": (ThresholdAffinity, threshold, ROWS, WIDER),
    "labels": (SharedLabelAffinity, labels, FEW, MANY),
}


@pytest.mark.parametrize("case", CASES)
def test_an_interrupted_fit_changes_nothing(case):
    oracle, module, first, second = CASES[case]
    twin = oracle().fit(first)
    statements = statements_of(lambda: twin.fit(second), [module, state])
    fitted, unfitted = oracle().fit(first), oracle()
    states = joblib.hash(vars(fitted)), joblib.hash(vars(unfitted))
    answers = fitted(first, first)
    for statement in statements:
        for affinity in (fitted, unfitted):
            with pytest.raises(Interruption), interrupted_at(statement):
                affinity.fit(second)
        assert (joblib.hash(vars(fitted)), joblib.hash(vars(unfitted))) == states, statement
    assert np.array_equal(fitted(first, first), answers)
    if case == "distances":
        with pytest.raises(NotFittedError):
            unfitted(first, first)


def test_a_refused_fit_changes_nothing():
    affinity = ThresholdAffinity().fit(ROWS)
    answers = affinity(ROWS, ROWS)
    for bad, message in [
        (WIDER[:1], "at least 2 rows"),
        (WIDER * np.nan, "NaN"),
        (WIDER, "must be two lists"),
    ]:
        affinity.set_params(levels=(1,) if bad is WIDER else (1, 2, 5, 10))
        with pytest.raises(ValueError, match=message):
            affinity.fit(bad)
        assert np.array_equal(affinity(ROWS, ROWS), answers)
    with pytest.raises(ValueError, match="y has 3 features, but the thresholds"):
        affinity(WIDER, WIDER)
