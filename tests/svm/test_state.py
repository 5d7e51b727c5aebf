"""RankingSVC: a fit that fails or is broken off leaves what was there before."""

from copy import deepcopy

import joblib
import numpy as np
import pandas as pd
import pytest
from interruptions import Interruption, interrupted_at, statements_of
from sklearn.exceptions import ConvergenceWarning

from sklearn_talr._core import state as fitted_state
from sklearn_talr.svm import RankingSVC, _ranking_svc, _solver

RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(30, 4)), np.arange(30) % 3 == 0
NAMED = pd.DataFrame(RNG.normal(size=(24, 3)), columns=["a", "b", "c"])
OTHER = np.array(["no", "yes"])[np.arange(24) % 2]


def test_an_interrupted_fit_changes_nothing():
    done = set()  # statements of both losses
    for loss in ("AP", "zero_one"):
        svc = RankingSVC(loss, warm_start=True).fit(X, y)
        state, scores = joblib.hash(vars(svc)), svc.decision_function(X)
        twin = deepcopy(svc)
        modules = [_ranking_svc, _solver, fitted_state]
        statements = statements_of(lambda twin=twin: twin.fit(NAMED, OTHER), modules)
        assert len(statements) >= 100
        for statement in set(statements) - done:
            with pytest.raises(Interruption), interrupted_at(statement):
                svc.fit(NAMED, OTHER)
            assert joblib.hash(vars(svc)) == state, statement
        assert np.array_equal(svc.decision_function(X), scores)
        assert set(svc.predict(X)) <= {False, True}
        done |= set(statements)


def test_an_interrupted_warm_start_keeps_its_tangents():
    svc = RankingSVC(C=0.1, warm_start=True).fit(X, y).set_params(C=1.0)
    twin, state = deepcopy(svc), joblib.hash(vars(svc))
    statements = statements_of(lambda: twin.fit(X, y), [_solver])
    for statement in statements:
        with pytest.raises(Interruption), interrupted_at(statement):
            svc.fit(X, y)
        assert joblib.hash(vars(svc)) == state, statement


@pytest.mark.parametrize(
    ("params", "data", "error"),
    [
        ({}, (NAMED, np.zeros(24)), ValueError),
        ({}, (NAMED, OTHER, np.arange(24)), ValueError),
        ({}, (NAMED, OTHER, np.arange(3)), ValueError),
        ({"C": -1.0}, (NAMED, OTHER), ValueError),
        ({"class_weight": {"maybe": 2}}, (NAMED, OTHER), ValueError),
        ({"tol": 1e-12, "max_iter": 2}, (NAMED, OTHER), ConvergenceWarning),
    ],
)
def test_a_refused_fit_changes_nothing(params, data, error):
    svc = RankingSVC().fit(X, y).set_params(**params)
    state = joblib.hash(vars(svc))
    with pytest.raises(error):
        svc.fit(*data)
    assert joblib.hash(vars(svc)) == state
    assert svc.predict(X).dtype == bool
