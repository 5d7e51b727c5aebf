"""CrossViewHasher: fits that are refused or interrupted, and what is then left."""

import pickle
import warnings
from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp
from cross_view_cases import LABELS, LONE_CLASSES, C, J, Q, X, Y, codes_of, fit, small
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.hashing.training._host import HostEngine
from sklearn_talr.losses import DCMHLoss

pytestmark = LONE_CLASSES


NAN, INF = Q.copy(), X.copy()
NAN[3, 4], INF[2, 1] = np.nan, -np.inf
REFUSED = {
    "NaN in X": ((INF, J, Q, None), "X contains infinity"),
    "NaN in X_query": ((X, J, NAN, None), "X_query cannot be used: .*NaN"),
    "one query": ((X, J[:, :1], Q[:1], None), "X_query cannot be used: .*minimum of 2"),
    "one item": ((X[:1], J[:1], Q, None), "minimum of 2"),
    "a row": ((X, J, Q[0], None), "X_query cannot be used: Expected 2D array"),
    "words": ((X, J, Q.astype(str).astype(object) + "a", None), "X_query cannot be used"),
    "ragged": ((X, J, [[1.0, 2], [3]], None), "X_query cannot be used"),
    "complex": ((X, J, Q * 1j, None), "X_query cannot be used: Complex"),
    "constant items": ((np.ones_like(X), J, Q, None), "^X is constant"),
    "constant queries": ((X, J, np.ones_like(Q), None), "X_query cannot.*X is constant"),
    "short y": ((X, Y[:-1], Q, C), "X and y must have the same number"),
    "short y_query": ((X, Y, Q, C[:-1]), "X_query and y_query must have the same number"),
    "transposed": ((X, J.T, Q, None), r"y must be judgments.*\(160, 50\), got \(50, 160\)"),
    "short judgments": ((X, J[:-1], Q, None), r"shape \(160, 50\), got \(159, 50\)"),
    "no y_query": ((X, Y, Q, None), "Labels of items need labels of queries as y_query"),
    "no y": ((X, None, Q, C), "y_query is passed to fit, but y is not. Pass targets"),
    "no X_query": ((X, Y, None, C), "X_query is not. Pass the features of the queries"),
    "nothing": ((X, None, None, None), "requires y to be passed.*or queries as X_query"),
    "no partners": ((X, None, Q, None), "X has 160 rows and X_query 50. Pass judgments"),
    "negative": ((X, -1 * J, Q, None), "Nothing is relevant to any query"),
    "fractions": ((X, J * 0.5, Q, None), "y must hold integers.*Round or bin"),
    "NaN grades": ((X, J * np.nan, Q, None), "Nothing is relevant to any query"),
    "words as grades": ((X, J.toarray().astype(str), Q, None), "y must hold numbers"),
    "both": ((X, J > 0, Q, C), "y_query must be targets in the form of y.*y_query=None"),
    "grades and labels": ((X, J, Q, C), "is neither labels, nor .*JudgmentAffinity"),
    "NaN in y": ((X, np.where(Y == 1, np.nan, Y), Q, C), "y contains NaN"),
    "NaN in y_query": ((X, Y, Q, np.where(C == 1, np.nan, C)), "y_query must.*NaN"),
    "numbers and words": ((X, Y, Q, C.astype(str)), "y_query holds strings.*Convert both"),
    "other widths": ((X, LABELS[Y], Q, LABELS[C][:, :6]), "y_query has 6 labels and"),
    "one class": ((X, 0 * Y, Q, 0 * C), "Check y and y_query"),
    "one class of rows": ((X, 0 * Y, None, None), "only one class|Check y"),
    "no class in common": ((X, Y, Q, C + 20), "Nothing is relevant.*Check y and y_query"),
    "nothing relevant": ((X, 0 * J.toarray(), Q, None), "Nothing is relevant.*Check y"),
    "all relevant": ((X, np.ones((160, 50), int), Q, None), "Nothing is.*Check y and"),
    "queries of one class": ((X, Y, Q, 0 * C), "learn from y_query: .*teacher=None"),
    "items of one class": ((X, 0 * Y, Q, C), "learn from y: .*teacher=None"),
}


@pytest.fixture(scope="module")
def fitted():
    return fit("judgments")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(data, message, fitted):
    """The message names the argument, and all is as it was."""
    state = pickle.dumps(vars(fitted))
    X_, y, X_query, y_query = data
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        fitted.fit(X_, y, X_query=X_query, y_query=y_query)
    assert pickle.dumps(vars(fitted)) == state


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"shared": True}, "shared=True needs.*X has 32 and X_query 20. Set shared=False"),
        ({"affinity": LabelAffinity()}, "affinity=.*Pass the targets of the queries as"),
        ({"unjudged": "ignored"}, "unjudged=.ignored.*y must store both.*Store some"),
        ({"n_bits": 0}, "'n_bits' parameter"),
        ({"query": "floats"}, "'query' parameter"),
        ({"teacher": "none"}, "'teacher' parameter"),
        ({"unjudged": "drop"}, "'unjudged' parameter"),
        ({"init": "pca"}, "'init' parameter"),
        ({"query_hidden_layer_sizes": 0}, "hidden_layer_sizes"),
        ({"query_hidden_layer_sizes": (4, -1)}, "hidden_layer_sizes"),
        ({"query_hidden_layer_sizes": (4, 1.5)}, "hidden_layer_sizes"),
        ({"loss": DCMHLoss(balance_weight=-1)}, "'balance_weight' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"batch_size": 1}, "batch_size"),
    ],
)
def test_refused_parameters(params, message):
    ones = sp.csr_array(J.toarray() > 0)
    with pytest.raises(ValueError, match=message):
        small(**params).fit(X, ones, X_query=Q[:, :20])


def test_refused_by_fitted_hashers(fitted):
    for method, of_view in (
        (fitted.transform, X[:, :9]),
        (fitted.transform_query, Q[:, :9]),
        (fitted.encode_query, Q[:, :9]),
        (fitted.query_weights, Q[:, :9]),
    ):
        with pytest.raises(ValueError, match=r"9 features, but .* is expecting 32"):
            method(of_view)
        with pytest.raises(ValueError, match=r"NaN"):
            method(np.full_like(X, np.nan))
    score = fitted.score
    for call, message in (
        (lambda: score(X, J), "pass X_query, with y_query or judgments as y"),
        (lambda: score(X, Y, X_query=Q), "y must be judgments"),
        (lambda: score(X, J.T, X_query=Q), r"y must be judgments.*got \(50, 160\)"),
        (lambda: score(X, None, X_query=Q), "X has 160 rows and X_query 50"),
        (lambda: fit("same rows").score(X, Y, X_query=Q, y_query=C), "was not given queri"),
        (lambda: fit("labels").score(X, Y, X_query=Q), "y_query is None, so y must be"),
        (lambda: small().score(X, J, X_query=Q), "not fitted"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def interrupt_step(monkeypatch, number):
    """Interrupt the n-th step, from 1."""
    step, calls = HostEngine.step, count(1)

    def interrupted(*args, **kwargs):
        if next(calls) == number:
            raise KeyboardInterrupt
        return step(*args, **kwargs)

    monkeypatch.setattr(HostEngine, "step", interrupted)


def test_the_last_epoch_before_an_interrupt_is_kept(monkeypatch):
    """Of three steps each; the third is broken off, sooner or later."""
    codes = []
    for step in (7, 8, 9):
        with monkeypatch.context() as patch:
            interrupt_step(patch, step)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                hasher = fit("labels", batch_size=20, max_iter=6)
        assert "2 of 6 epochs" in str(caught[0].message)
        assert hasher.n_iter_ == len(hasher.loss_curve_) == 2
        codes.append(np.hstack(codes_of(hasher, "labels")[1:]))
    assert_array_equal(codes[0], codes[1])
    assert_array_equal(codes[0], codes[2])
