"""Grades of relevance: the bound of NDCG, what it learns, and what is no grade."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import dcg, most_violating, ndcg
from sklearn.base import clone

from sklearn_talr.metrics import tie_aware_ndcg_score
from sklearn_talr.svm import RankingSVC
from sklearn_talr.svm._risks import GradedRisk, RankingRisk

RANKING = ["AP", "nDCG"]


def draw(n_queries=20, per_query=12, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_queries), per_query)
    Z = rng.normal(size=(len(groups), 4))
    some = Z[:, 0] + 0.3 * rng.normal(size=len(Z)) > 0.5
    high = some & (Z[:, 1] + 0.3 * rng.normal(size=len(Z)) > 0.5)
    X = Z + 3 * rng.normal(size=(n_queries, 4))[groups]
    return X, some.astype(int) + 2 * high, groups  # 0, 1 or 3


@given(seed=st.integers(0, 10**6), n=st.integers(2, 5))
@settings(max_examples=15, deadline=None)
def test_the_risk_by_its_definition(seed, n):
    rng = np.random.default_rng(seed)
    query = np.append([0, 0, 1, 1], rng.integers(3, size=2 * n))
    grades = rng.integers(4, size=len(query))
    grades[:4] = 0, 3, 1, 2
    scores = rng.normal(size=len(query))
    value, weights = GradedRisk(grades, query)(scores)
    values = []
    for q in range(3):
        mine, s = grades[query == q], scores[query == q]
        if len(np.unique(mine)) > 1:
            values.append(_graded_hinge(mine, s))
            assert values[-1] >= 1 - tie_aware_ndcg_score([mine], [s]) - 1e-12
    assert value == pytest.approx(np.mean(values))
    there = scores + rng.normal(size=len(query))
    bound = value + weights @ (there - scores)
    assert GradedRisk(grades, query)(there)[0] >= bound - 1e-12


def test_two_grades_are_two_classes():
    _, y, groups = draw()
    scores = np.random.default_rng(0).normal(size=len(y))
    for found, expected in zip(
        GradedRisk(3 * (y > 1), groups)(scores), RankingRisk(y > 1, groups, "nDCG")(scores)
    ):
        assert_allclose(found, expected, atol=1e-15)


def test_what_is_fitted():
    X, y, groups = draw()
    svc = RankingSVC("nDCG", warm_start=True, class_weight="balanced")
    svc.fit(X, y.astype(float), groups=groups)
    assert_array_equal(svc.grades_, [0, 1, 3])
    assert_array_equal(svc.classes_, [False, True])
    assert svc.predict(X).dtype == bool
    assert np.mean(svc.predict(X) == (y > 0)) > 0.6
    each = [
        tie_aware_ndcg_score([y[rows]], [svc.decision_function(X[rows])])
        for rows in (groups == g for g in range(20))
    ]
    assert svc.score(X, y, groups=groups) == pytest.approx(np.mean(each))
    again = clone(svc).fit(X, y, groups=groups)
    assert_array_equal(again.coef_, svc.coef_)
    assert svc.fit(X, y > 0, groups=groups).grades_ is None  # no tangents of grades
    assert_array_equal(svc.coef_, RankingSVC("nDCG").fit(X, y > 0, groups=groups).coef_)


@pytest.mark.parametrize("loss", ["AP", "zero_one"])
def test_other_losses_take_all_above_0_for_relevant(loss):
    """Also in a test set with grades that the training set lacks, and the reverse."""
    X, y, groups = draw()
    svc = RankingSVC(loss, C=0.01).fit(X, y, groups=groups)
    binary = RankingSVC(loss, C=0.01).fit(X, y > 0, groups=groups)
    assert_array_equal(svc.coef_, binary.coef_)
    assert_array_equal(svc.predict(X), binary.predict(X))
    assert_array_equal(svc.grades_, [0, 1, 3])
    assert_array_equal(svc.classes_, [False, True])
    score = binary.score(X, y > 0, groups=groups)
    for grades in (y, 7 * y, np.minimum(y, 1), y / 1.0):
        assert svc.score(X, grades, groups=groups) == score
    low = clone(svc).fit(X, np.minimum(y, 1), groups=groups)
    assert low.score(X, y, groups=groups) == score
    if loss == "zero_one":
        assert score == np.mean(svc.predict(X) == (y > 0))


@pytest.mark.parametrize("loss", ["AP", "zero_one"])
def test_without_grade_0_nothing_is_irrelevant_but_to_ndcg(loss):
    X, y, groups = draw()
    with pytest.raises(ValueError, match=r"must have samples of grade 0 .* y >= 2\)"):
        RankingSVC(loss).fit(X, y + 1, groups=groups)
    assert_array_equal(RankingSVC("nDCG").fit(X, y + 1, groups=groups).grades_, [1, 2, 4])


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("loss", RANKING)
def test_what_two_positive_numbers_are_taken_for_is_said(loss, kind):
    """Three would be grades, and 0 and 1 as well."""
    X, y, groups = draw()
    y = (1 + (y > 0)).astype(kind)
    with pytest.warns(UserWarning, match=r"2\S* is the relevant.* y == 2") as caught:
        svc = RankingSVC(loss, C=0.01).fit(X, y, groups=groups)
    assert caught[0].filename == __file__
    assert svc.grades_ is None
    as_classes = clone(svc).fit(X, y == 2, groups=groups)  # without a warning
    assert_array_equal(svc.coef_, as_classes.coef_)
    clone(svc).fit(X, y)
    RankingSVC("zero_one", C=0.01).fit(X, y, groups=groups)


@pytest.mark.parametrize("wrong", [-1, 1001])
def test_what_is_no_grade_is_refused(wrong):
    X, y, groups = draw()
    svc = RankingSVC("nDCG").fit(X, y, groups=groups)
    y = y.copy()
    y[5] = wrong
    for call in (svc.fit, svc.score):
        with pytest.raises(ValueError, match=rf"from 0 to 1000, got .*{wrong}"):
            call(X, y, groups=groups)
    with pytest.raises(ValueError, match=r"from 0 to 1000, got .*0\.5"):
        svc.score(X, np.full(len(X), 0.5), groups=groups)
    with pytest.raises(ValueError, match=r"from 0 to 1000, .*got str_"):
        svc.score(X, np.full(len(X), "high"), groups=groups)


def _shares_by_definition(levels, grades):
    """Weights of the levels in one minus NDCG."""
    steps = 2.0**levels - 2.0 ** np.append(0, levels)[:-1]
    parts = [dcg(np.sort((grades >= level).astype(int))[::-1]) for level in levels]
    return steps * parts / (steps @ parts)


def _graded_hinge(grades, scores):
    """Weighted mean over levels of the structured hinge, from definitions."""
    levels = np.unique(grades[grades > 0])
    hinges = []
    for level in levels:
        positive = np.sort(scores[grades >= level])[::-1]
        negative = np.sort(scores[grades < level])[::-1]
        if len(negative):
            best, _ = most_violating(positive, negative, lambda ranking: 1 - ndcg(ranking))
            hinges.append(best - np.mean(positive[:, None] - negative))
        else:
            hinges.append(0.0)
    return _shares_by_definition(levels, grades) @ hinges
