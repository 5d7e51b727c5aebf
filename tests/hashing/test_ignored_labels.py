"""Samples whose label is ignored are no class of their own to what learns classes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.features._similar_rows import SimilarRows
from sklearn_talr.hashing import ClassProbabilities, CrossViewHasher

X, Y = load_digits(return_X_y=True)
X, Y = X[:400], Y[:400]
LEFT, RIGHT = (X.reshape(-1, 8, 8)[:, :, part].reshape(-1, 32) for part in np.s_[:4, 4:])
UNKNOWN = np.random.default_rng(0).random(400) < 0.7
NAMES = np.array([f"digit {label}" for label in Y])
LABELS = {
    "-1": (np.where(UNKNOWN, -1, Y), -1),
    "99": (np.where(UNKNOWN, 99.0, Y), 99),
    "text": (np.where(UNKNOWN, "?", NAMES), "?"),
}


@pytest.mark.parametrize(("y", "ignored"), LABELS.values(), ids=LABELS)
def test_the_teacher_learns_known_rows_only(y, ignored):
    hasher = CrossViewHasher(
        8, affinity=LabelAffinity(ignored=ignored), max_iter=2, random_state=0
    )
    hasher.fit(RIGHT, y, X_query=LEFT, y_query=y)
    for teacher, view in ((hasher.teacher_, RIGHT), (hasher.query_teacher_, LEFT)):
        assert_array_equal(teacher.classes_, np.unique(y[~UNKNOWN]))
        alone = ClassProbabilities().fit(view[~UNKNOWN], y[~UNKNOWN])
        np.testing.assert_allclose(
            teacher.transform(view), alone.transform(view), atol=1e-6
        )


def test_one_view():
    y, ignored = LABELS["-1"]
    hasher = CrossViewHasher(8, affinity=LabelAffinity(ignored), max_iter=2, random_state=0)
    hasher.fit(X, y)
    assert_array_equal(hasher.teacher_.classes_, np.unique(y[~UNKNOWN]))


def test_queries_alone_may_have_unknown_labels():
    y, ignored = LABELS["-1"]
    hasher = CrossViewHasher(8, affinity=LabelAffinity(ignored), max_iter=2, random_state=0)
    hasher.fit(RIGHT, Y, X_query=LEFT, y_query=y)
    assert_array_equal(hasher.query_teacher_.classes_, np.unique(Y))


def test_indicators_without_a_label_are_learned():
    indicators = np.eye(10, dtype=int)[Y]
    indicators[UNKNOWN] = 0  # which says that these have none of the labels
    hasher = CrossViewHasher(8, max_iter=1, random_state=0)
    hasher.fit(RIGHT, indicators, X_query=LEFT, y_query=indicators)
    found = hasher.teacher_.transform(RIGHT)
    alone = ClassProbabilities().fit(RIGHT, indicators).transform(RIGHT)
    np.testing.assert_allclose(found, alone, atol=1e-6)


def test_nothing_known():
    y = np.full(400, -1)
    for call in (
        lambda: TALRHasher(4, affinity=LabelAffinity(ignored=-1)).fit(X, y),
        lambda: CrossViewHasher(4, affinity=LabelAffinity(ignored=-1)).fit(X, y),
        lambda: LabelAffinity(ignored=-1).fit(y),
    ):
        with pytest.raises(ValueError, match="no label but -1, which is ignored"):
            call()
    with pytest.raises(ValueError, match=r"ignored=nan.*np\.where\(np\.isnan\(y\)"):
        LabelAffinity(ignored=np.nan).fit(np.where(UNKNOWN, np.nan, Y))


def test_unknown_rows_are_not_alone():
    for ignored, n_alone in ((-1, 1), (None, 1)):
        y = np.append(np.repeat([0, 1, -1 if ignored else 2], 5), 7)
        affinity = LabelAffinity(ignored).fit(y)
        assert SimilarRows(affinity, y, np.array([0, 1])).n_alone == n_alone


def test_a_classifier_is_given_no_unknown_labels():
    """As LabelAffinity refuses them, unless it is told to ignore them."""
    y, _ = LABELS["-1"]
    with pytest.raises(ValueError, match=r"X\[y != -1\].*np\.unique"):
        ClassProbabilities().fit(X, y)
    ClassProbabilities().fit(X, np.where(Y > 4, 1, -1))  # two classes
    ClassProbabilities().fit(X, Y - 2)
