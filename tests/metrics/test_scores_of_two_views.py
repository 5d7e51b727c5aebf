"""Scorers, reports and pictures of hashers of two views: samples are queries."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from two_views import TwoViews, halves_of_digits, judged

from sklearn_talr.affinity import JudgmentAffinity
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP
from sklearn_talr.metrics import (
    RadiusDisplay,
    RetrievalCurveDisplay,
    TieBreakingDisplay,
    make_retrieval_scorer,
    retrieval_report_from_estimator,
)

X, Y, Q, C = halves_of_digits()
J = judged(C, Y)
BY_CLASS = TwoViews().fit(X, Y, X_query=Q[:40], y_query=C[:40])
BY_GRADE = TwoViews().fit(X, J[:40].T.tocsr(), X_query=Q[:40])
TEST = slice(40, None)


def expected(hasher, affinity, y_query, y_item):
    codes = hasher.encode_query(Q[TEST]), hasher.encode(X)
    return np.nanmean(AP.of(hamming_histogram(*codes, affinity, y_query, y_item)))


def test_samples_query_the_items_by_labels():
    scorer = make_retrieval_scorer("AP", database=(X, Y))
    score = scorer(BY_CLASS, Q[TEST], C[TEST])
    assert_allclose(score, expected(BY_CLASS, "auto", C[TEST], Y))
    assert score > 0.2


@pytest.mark.parametrize("convert", [lambda y: y, lambda y: y.toarray()])
def test_samples_query_the_items_by_judgments(convert):
    scorer = make_retrieval_scorer("AP", database=(X, None))
    score = scorer(BY_GRADE, Q[TEST], convert(J[TEST]))
    numbers = np.arange(len(X))
    assert_allclose(score, expected(BY_GRADE, JudgmentAffinity(), J[TEST], numbers))
    some = make_retrieval_scorer("AP", database=(X[50:], numbers[50:]))
    codes = BY_GRADE.encode_query(Q[TEST]), BY_GRADE.encode(X[50:])
    table = hamming_histogram(*codes, JudgmentAffinity(), J[TEST], numbers[50:])
    assert_allclose(some(BY_GRADE, Q[TEST], J[TEST]), np.nanmean(AP.of(table)))


def test_a_pipeline_leaves_queries_as_they_are():
    steps = make_pipeline(StandardScaler(), TwoViews())
    steps.fit(X, J[:40].T.tocsr(), twoviews__X_query=Q[:40])
    scaled = StandardScaler().fit_transform(X)
    hasher = TwoViews().fit(scaled, J[:40].T.tocsr(), X_query=Q[:40])
    databases = (X, None), (scaled, None)
    of_steps, alone = (make_retrieval_scorer("AP", database=each) for each in databases)
    assert of_steps(steps, Q[TEST], J[TEST]) == alone(hasher, Q[TEST], J[TEST])


def test_the_rest_is_no_database_for_queries_of_another_kind():
    for hasher, y in ((BY_CLASS, C), (BY_GRADE, J)):
        with pytest.raises(ValueError, match=r"X_query.*database=\(X_items, y_items\)"):
            make_retrieval_scorer("AP")(hasher, Q, y)


@pytest.mark.parametrize("query", ["bits", "weights"])
def test_reports_and_pictures(query):
    sides = Q[TEST], J[TEST], X, None
    report = retrieval_report_from_estimator(
        BY_GRADE, *sides, query=query, measures=["AP"], as_frame=False
    )
    scorer = make_retrieval_scorer("AP", database=(X, None), query=query)
    score = scorer(BY_GRADE, Q[TEST], J[TEST])
    assert_allclose(report["AP"]["expected"], score)
    RetrievalCurveDisplay.from_estimator(BY_GRADE, *sides, query=query)
    TieBreakingDisplay.from_estimator(BY_GRADE, *sides)
    RadiusDisplay.from_estimator(BY_CLASS, Q[TEST], C[TEST], X, Y)
    plt.close("all")
