"""Spaces of both views: classes, factors of judgments, and features beside these."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from two_views import halves_of_digits, judged

from sklearn_talr._core.progress import Progress
from sklearn_talr.hashing import ClassProbabilities, CrossViewHasher, _common_space
from sklearn_talr.hashing._common_space import (
    beside_features,
    teach_classes,
    teach_judgments,
)
from sklearn_talr.hashing._views import Views, check_views

X, y, Q, y_query = halves_of_digits(200, 60)
TEACHER = ClassProbabilities(LogisticRegression(max_iter=50, tol=1e-2))


def classes(X, y, X_query, y_query):
    """Views of classes of both sides."""
    return check_views(CrossViewHasher(8), X, y, X_query, y_query)


def judgments(wrap=np.asarray):
    return check_views(
        CrossViewHasher(8), wrap(X), judged(y_query, y).T.tocsr(), wrap(Q), None
    )


def rng():
    return np.random.RandomState(0)


@pytest.mark.filterwarnings("ignore:lbfgs failed")
class TestClasses:
    def test_each_view_has_a_classifier_of_its_own(self):
        space = teach_classes(classes(X, y, Q, y_query), TEACHER, Progress())
        for found, teacher, features, of_view in (
            (space.items.X, space.items.teacher, X, y),
            (space.queries.X, space.queries.teacher, Q, y_query),
        ):
            own = clone(TEACHER)
            assert_array_equal(found, own.fit_transform(features, of_view))
            assert_array_equal(teacher.transform(features), own.transform(features))

    def test_classes_that_one_side_lacks_have_probability_0(self):
        """Each class has one place, of either side."""
        items, queries = y > 2, y_query < 7
        space = teach_classes(
            classes(X[items], y[items], Q[queries], y_query[queries]), TEACHER, Progress()
        )
        assert space.items.X.shape == (items.sum(), 10)
        assert space.queries.X.shape == (queries.sum(), 10)
        for found in (space.items.X, space.items.teacher.transform(X)):
            assert np.all(found[:, :3] == 0)
            assert np.all(found[:, 3:] > 0)
        for found in (space.queries.X, space.queries.teacher.transform(Q)):
            assert np.all(found[:, 7:] == 0)
            assert np.all(found[:, :7] > 0)
        own = clone(TEACHER).fit(Q[queries], y_query[queries])
        assert_array_equal(space.queries.teacher.transform(Q)[:, :7], own.transform(Q))

    @pytest.mark.parametrize(
        "teacher",
        [StandardScaler(), ClassProbabilities(LogisticRegression(), passthrough=True)],
    )
    def test_columns_that_belong_to_no_class_are_refused(self, teacher):
        """In views of different widths nothing says which belong together."""
        with pytest.raises(ValueError, match=r"teacher=.*not one for each class.*Pass"):
            teach_classes(classes(X, y, Q[:, :30], y_query), teacher, Progress())


class TestJudgments:
    @pytest.fixture
    def factors(self, monkeypatch):
        """What is predicted of each view: a regression that repeats what it is told."""
        told = []

        class Told:
            def fit_left_out(self, X, Y, rng, units):
                told.append((X, Y))
                return Y

        monkeypatch.setattr(_common_space, "LeftOutRegression", Told)
        return told

    def test_inner_products_are_nearly_the_grades(self, factors):
        """As near as the largest singular values allow, up to a common factor."""
        views = judgments()
        space = teach_judgments(views, rng(), Progress())
        assert [len(X) for X, _ in factors] == [60, 200]
        assert space.items.X.shape[1] == space.queries.X.shape[1] == 60  # all queries
        grades = judged(y_query, y).toarray()
        values = np.linalg.svd(grades, compute_uv=False)
        products = space.queries.X @ space.items.X.T * values[0] / np.sqrt(grades.size)
        assert_allclose(products, grades, atol=1e-6)

    def test_fewer_factors(self, factors, monkeypatch):
        """Those of the largest singular values; at most as many as rows."""
        monkeypatch.setattr(_common_space, "_N_FACTORS", 10)
        space = teach_judgments(judgments(), rng(), Progress())
        assert space.items.X.shape[1] == space.queries.X.shape[1] == 10
        left, values, right = np.linalg.svd(judged(y_query, y).toarray())
        best = (left[:, :10] * values[:10]) @ right[:10]
        products = space.queries.X @ space.items.X.T * values[0] / np.sqrt(60 * 200)
        assert np.linalg.norm(products - best) < 0.05 * np.linalg.norm(best)

    def test_each_side_is_predicted_from_its_features(self):
        space = teach_judgments(judgments(), rng(), Progress())
        assert space.items.teacher.transform(X).shape == space.items.X.shape
        assert space.queries.teacher.transform(Q).shape == space.queries.X.shape
        # Rows that were left out are further from their factors than fitted ones.
        assert not np.allclose(space.items.X, space.items.teacher.transform(X), atol=1e-3)


class Halving:
    """A teacher whose coordinates are half the first two features."""

    def transform(self, X):
        return np.asarray(X[:, :2]) / 2 if not sp.issparse(X) else X[:, :2].toarray() / 2


class TestBesideFeatures:
    @pytest.fixture
    def space(self):
        views = judgments()
        items = views.items.taught(X[:, 20:22] + 1, Halving())
        queries = views.queries.taught(Q[:, 20:22] + 1, Halving())
        return Views(items, queries, views.pairs)

    def test_both_are_centered_and_of_unit_length(self, space):
        beside = beside_features(judgments(), space, is_shared=False).items
        assert beside.X.shape == (200, 34)
        assert_allclose(beside.X.mean(axis=0), 0, atol=1e-9)
        for columns in (slice(32), slice(32, None)):
            assert np.mean(np.sum(beside.X[:, columns] ** 2, axis=1)) == pytest.approx(1)
        # In units of the rows that were left out, whatever the teacher says of others.
        unit = np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
        found = beside.teacher.transform(X)
        assert_allclose(found[:, :32], (X - X.mean(axis=0)) / unit)
        coordinates = X[:, 20:22] + 1
        centered = coordinates - coordinates.mean(axis=0)
        unit = np.sqrt(np.mean(np.sum(centered**2, axis=1)))
        expected = (X[:, :2] / 2 - coordinates.mean(axis=0)) / unit
        assert_allclose(found[:, 32:], expected)
        for wrap in (sp.csr_array, sp.csr_matrix):
            other = beside.teacher.transform(wrap(X))
            assert type(other) is np.ndarray
            assert_allclose(other, found)
