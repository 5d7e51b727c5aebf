"""The teacher of two stages draws its own sample, and hands on all rows held out."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state

from sklearn_talr import ClassProbabilities, HashedNeighbors, ITQHasher
from sklearn_talr.hashing import _class_probabilities
from sklearn_talr.hashing._class_sample import draw_rows
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV

RIDGE = KernelRidgeClassifierCV(gammas=[0.001], alphas=[0.1], random_state=0)


class Noted(ClassifierMixin, BaseEstimator):
    """A classifier that notes what it is fitted to."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.X_, self.y_, self.weights_ = X, y, sample_weight
        return self

    def predict_proba(self, X):
        return np.tile(1 / len(self.classes_), (len(X), len(self.classes_)))


@pytest.fixture
def rare():
    """300 rows, of class 3 only one and of class 4 only two."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.r_[[3, 4, 4], np.arange(297) % 3])
    return rng.standard_normal((300, 4)) + y[:, None], y


def teacher_of(n_drawn, **more):
    return ClassProbabilities(RIDGE, max_samples=n_drawn, temperature=1, **more)


class TestDraw:
    @pytest.mark.parametrize("seed", range(5))
    def test_each_class_is_there_and_large_ones_keep_their_share(self, seed):
        y = np.r_[np.zeros(3000, int), np.ones(1000, int), np.full(15, 2), [3]]
        rows = draw_rows(y, 800, np.random.RandomState(seed))
        counts = np.bincount(y[rows])
        assert np.array_equal(rows, np.unique(rows))
        assert len(rows) == 800
        assert counts[3] == 1
        assert counts[2] >= 10
        assert counts[0] / counts[1] == pytest.approx(3, abs=0.6)
        few = draw_rows(y, 4, np.random.RandomState(seed))
        assert sorted(y[few]) == [0, 1, 2, 3]

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
    def test_each_label_is_there(self, form):
        y = np.zeros((500, 4), int)
        y[:, 0], y[::2, 1], y[[7, 9], 2] = 1, 1, 1
        rows = draw_rows(form(y), 60, np.random.RandomState(0))
        assert len(rows) == 60
        assert np.array_equal(y[rows].sum(axis=0) > 0, [True, True, True, False])
        assert {7, 9} <= set(rows.tolist())

    def test_whole_groups(self):
        groups = np.repeat(np.arange(60), 5)[np.random.default_rng(0).permutation(300)]
        y = groups % 3
        rows = draw_rows(y, 62, np.random.RandomState(0), [f"g{g}" for g in groups])
        drawn, sizes = np.unique(groups[rows], return_counts=True)
        assert sizes.tolist() == [5] * 12
        assert set(drawn % 3) == {0, 1, 2}
        assert len(draw_rows(y, 2, np.random.RandomState(0), groups)) == 5


class TestRowsHeldOut:
    """Rows drawn are left out in closed form, and all others by not being there."""

    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_by_definition(self, few_digits, is_sparse):
        X, y = few_digits
        X = sp.csr_matrix(X) if is_sparse else X
        teacher = teacher_of(120)
        probabilities = teacher.fit_transform(X, y)
        rows = draw_rows(y, 120, np.random.RandomState(0))
        ridge = KernelRidgeClassifierCV(gammas=[0.001], alphas=[0.1], random_state=0)
        expected = ridge.fit(X[rows], y[rows]).predict_proba(X)
        np.testing.assert_allclose(teacher.transform(X), expected)
        expected[rows] = ridge.fit_predict_proba(X[rows], y[rows])
        np.testing.assert_allclose(probabilities, expected)
        assert np.abs(probabilities - teacher.transform(X))[rows].max() > 0.05

    def test_block_by_block(self, few_digits, monkeypatch):
        X, y = few_digits
        teacher = teacher_of(100, passthrough=True)
        expected = teacher.fit_transform(X, y), teacher.transform(X)
        monkeypatch.setattr(_class_probabilities, "_CELLS_PER_BLOCK", 700)
        found = teacher.fit_transform(X, y), teacher.transform(X)
        for features, whole in zip(found, expected):
            np.testing.assert_allclose(features, whole, rtol=1e-12, atol=1e-12)
            assert features.dtype == whole.dtype

    def test_labels_and_features_beside(self, few_digits):
        X, y = few_digits
        labels = sp.csr_matrix(
            np.eye(10, dtype=int)[y] + np.eye(10, dtype=int)[(y + 1) % 10]
        )
        teacher = teacher_of(100, passthrough=True)
        features = teacher.fit_transform(X, labels)
        assert features.shape == (300, 74)
        rows = draw_rows(labels, 100, np.random.RandomState(0))
        whole = teacher_of(None, passthrough=True).fit_transform(X[rows], labels[rows])
        np.testing.assert_allclose(features[rows], whole)
        rest = np.setdiff1d(np.arange(300), rows)
        np.testing.assert_array_equal(features[rest], teacher.transform(X)[rest])
        fitted = teacher_of(100, passthrough=True).fit(X, labels)
        np.testing.assert_array_equal(fitted.transform(X), teacher.transform(X))

    def test_folds_of_another_classifier(self, few_digits):
        X, y = few_digits
        logistic = LogisticRegression(C=1e-4)
        teacher = ClassProbabilities(logistic, cv=2, max_samples=150, temperature=1)
        probabilities = teacher.fit_transform(X, y)
        rows = draw_rows(y, 150, np.random.RandomState(0))
        whole = ClassProbabilities(logistic, cv=2, temperature=1)
        np.testing.assert_allclose(
            probabilities[rows], whole.fit_transform(X[rows], y[rows])
        )


class TestWhatIsDrawn:
    def test_classes_of_few_rows_and_weights(self, rare):
        X, y = rare
        weights = np.arange(300.0)
        teacher = ClassProbabilities(Noted(), max_samples=50)
        seen = teacher.fit(X.tolist(), y.tolist(), sample_weight=weights).estimator_
        assert set(seen.y_) == {0, 1, 2, 3, 4}
        np.testing.assert_array_equal(np.asarray(seen.X_), X[seen.weights_.astype(int)])

    def test_the_seed_decides_and_the_global_generator_stays(self, rare):
        X, y = rare

        def drawn(seed):
            teacher = ClassProbabilities(Noted(), max_samples=50, random_state=seed)
            return np.asarray(teacher.fit(X, y).estimator_.X_)

        numpy_state = check_random_state(None).get_state  # of the global generator
        before = numpy_state()[1].copy()
        np.testing.assert_array_equal(drawn(1), drawn(1))
        assert not np.array_equal(drawn(1), drawn(2))
        assert not np.array_equal(drawn(None), drawn(None))
        np.testing.assert_array_equal(numpy_state()[1], before)

    def test_all_rows_of_an_estimator_that_is_passed(self, rare, monkeypatch):
        monkeypatch.setattr(_class_probabilities, "_MOST_BYTES", 1)
        assert len(ClassProbabilities(Noted()).fit(*rare).estimator_.X_) == 300

    def test_groups_stay_together(self, few_digits):
        X, y = few_digits
        X, y, groups = np.r_[X, X + 0.1], np.r_[y, y], np.r_[:300, :300]
        teacher = teacher_of(200)
        probabilities = teacher.fit_transform(X, y, groups=groups)
        rows = draw_rows(y, 200, np.random.RandomState(0), groups)
        assert np.array_equal(rows[:100] + 300, rows[100:])
        left_out = RIDGE.fit_predict_proba(X[rows], y[rows], groups=groups[rows])
        np.testing.assert_allclose(probabilities[rows], left_out)

    def test_auto_draws_what_a_gigabyte_holds(self, few_digits, monkeypatch):
        X, y = few_digits
        monkeypatch.setattr(_class_probabilities, "_default", lambda estimator: RIDGE)
        of_row = 16 * 64 + 40 * 10
        monkeypatch.setattr(_class_probabilities, "_MOST_BYTES", 300 * of_row)
        assert len(ClassProbabilities().fit(X, y).estimator_.components_) == 300
        monkeypatch.setattr(_class_probabilities, "_MOST_BYTES", 300 * of_row - 1)
        assert len(ClassProbabilities().fit(X, y).estimator_.components_) == 299
        monkeypatch.setattr(_class_probabilities, "_MOST_SAMPLES", 200)
        monkeypatch.setattr(_class_probabilities, "_MOST_PAIRS", 150 * 300)
        monkeypatch.setattr(_class_probabilities, "_LEAST_COMPONENTS", 100)
        teacher = ClassProbabilities()
        assert teacher.fit_transform(X, y).shape == (300, 10)
        assert len(teacher.estimator_.components_) == 150

    def test_ctrl_c_while_others_are_judged_leaves_what_was(self, few_digits, monkeypatch):
        X, y = few_digits
        teacher = teacher_of(50).fit(X, y)
        before = dict(vars(teacher))

        def interrupted(self, X):
            raise KeyboardInterrupt

        monkeypatch.setattr(KernelRidgeClassifierCV, "predict_proba", interrupted)
        with pytest.raises(KeyboardInterrupt):
            teacher.fit_transform(X[::-1], y)
        assert vars(teacher) == before

    def test_an_index_keeps_codes_of_rows_held_out(self, few_digits):
        X, y = few_digits
        pipeline = make_pipeline(teacher_of(150), ITQHasher(8, random_state=0))
        index = HashedNeighbors(pipeline, max_samples=None).fit(X, y)
        features = teacher_of(150).fit_transform(X, y)
        hasher = ITQHasher(8, random_state=0).fit(features)
        np.testing.assert_array_equal(index.codes_.data, hasher.encode(features).data)

    def test_refusals_leave_what_was(self, rare):
        teacher = teacher_of(50).fit(*rare)
        before = dict(vars(teacher))
        teacher.max_samples = 4
        with pytest.raises(ValueError, match=r"each of the 5 classes .* max_samples=10"):
            teacher.fit(*rare)
        assert vars(teacher) == before | {"max_samples": 4}
        teacher.max_samples = 10
        assert teacher.fit(*rare).transform(rare[0]).shape == (300, 5)
        with pytest.raises(ValueError, match="max_samples"):
            ClassProbabilities(max_samples=1).fit(*rare)
