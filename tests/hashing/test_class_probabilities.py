"""Class probabilities as features, and the recipe that begins with them."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.neighbors import HashedNeighbors


@pytest.fixture(scope="module", name="digits")
def few_scaled_digits():
    X, y = load_digits(return_X_y=True)
    return X[:700] / 16, y[:700]


@pytest.fixture(scope="module")
def several():
    return make_multilabel_classification(90, n_classes=4, random_state=0)


# With cv the training samples get other probabilities than `transform` gives, as in
# stacking, which is what scikit-learn's checks of transformers exclude.
@parametrize_with_checks([ClassProbabilities()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_training_samples_are_judged_by_others(digits):
    X, y = digits
    folds = StratifiedKFold(4)
    transformer = ClassProbabilities(GaussianNB(), cv=folds, temperature=1)
    probabilities = transformer.fit_transform(X, y)
    for train, test in folds.split(X, y):
        expected = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        assert_allclose(probabilities[test], expected)
    with parallel_config("multiprocessing", n_jobs=2):
        assert_array_equal(transformer.fit_transform(X, y), probabilities)
    whole = GaussianNB().fit(X, y).predict_proba(X)
    assert_array_equal(transformer.transform(X), whole)
    assert_array_equal(transformer.fit(X, y).transform(X), whole)


def test_refused_features_name_the_users_class(digits):
    X, y = digits
    transformer = ClassProbabilities().fit(X[:90], y[:90])
    with pytest.raises(ValueError, match="X has 63 features, but ClassProbabilities"):
        transformer.transform(X[:, 1:])
    for method in (transformer.fit, transformer.fit_transform):
        with pytest.raises(ValueError, match="ClassProbabilities does not accept missing"):
            method(X[:90] * np.nan, y[:90])


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize("form", [list, lambda y: np.array(y, dtype=object)])
def test_a_missing_label_is_refused(missing, form, digits):
    y = form([*"ab" * 349, "a", missing])
    for transformer in (ClassProbabilities(), ClassProbabilities(GaussianNB(), cv=3)):
        with pytest.raises(ValueError, match="y contains NaT, None or NaN"):
            transformer.fit_transform(digits[0], y)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_that_the_other_folds_lack_has_no_probability(digits):
    X, y = digits
    y = np.where(np.arange(700) == 3, 99, y % 2)
    with pytest.warns(UserWarning, match="in only one fold of cv") as caught:
        probabilities = ClassProbabilities(GaussianNB(), cv=3, temperature=1).fit_transform(
            X, y
        )
    assert caught[-1].filename == __file__
    assert probabilities.shape == (700, 3)
    assert probabilities[3, 2] == 0
    assert_allclose(probabilities.sum(axis=1), 1)


TAKE_LABELS = [
    KNeighborsClassifier(3),
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(5, random_state=0),
    MultiOutputClassifier(KNeighborsClassifier(3)),
    OneVsRestClassifier(KNeighborsClassifier(3)),
]


@pytest.mark.parametrize("estimator", TAKE_LABELS)
@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.filterwarnings("ignore:Label .* is present in all training examples")
def test_labels_that_no_sample_has_get_probability_0_and_others_1(several, estimator, cv):
    X, Y = several
    Y = Y.copy()
    Y[:, 1], Y[:, 2] = 0, 1
    transformer = ClassProbabilities(estimator, cv=cv, temperature=1)
    for probabilities in (transformer.fit_transform(X, Y), transformer.transform(X)):
        assert_array_equal(probabilities[:, 1], 0)
        assert_array_equal(probabilities[:, 2], 1)
    assert_array_equal(transformer.classes_, np.arange(4))


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RandomForestClassifier(10, random_state=0),
        MultiOutputClassifier(LogisticRegression()),
    ],
    ids=["once per label", "several labels itself", "several outputs"],
)
@pytest.mark.parametrize("cv", [None, 3])
def test_labels_have_a_column_each(estimator, cv):
    X, Y = make_multilabel_classification(200, n_labels=2, n_classes=4, random_state=0)
    transformer = ClassProbabilities(estimator, cv=cv, temperature=1)
    probabilities = transformer.fit_transform(X[:150], Y[:150])
    assert probabilities.shape == (150, 4)
    found = transformer.transform(X[150:])
    assert found.shape == (50, 4)
    assert_array_equal(transformer.classes_, np.arange(4))
    if isinstance(estimator, LogisticRegression):
        for label in range(4):
            one = clone(estimator).fit(X[:150], Y[:150, label])
            assert_allclose(found[:, label], one.predict_proba(X[150:])[:, 1])
    assert np.mean((found > 0.5) == Y[150:]) > 0.7


def test_weights_reach_the_classifier(digits):
    X, y = digits
    weights = np.where(y < 5, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LogisticRegression().set_fit_request(sample_weight=True)
        transformer = ClassProbabilities(estimator, cv=3, temperature=1)
        routed = transformer.fit_transform(X, y, sample_weight=weights)
        by_fit = clone(transformer).fit(X, y, sample_weight=weights).transform(X)
    assert routed[:, 5:].max() < 0.2
    expected = LogisticRegression().fit(X, y, sample_weight=weights).predict_proba(X)
    assert_allclose(by_fit, expected)


class PriorsByLength(GaussianNB):
    """Says of training samples only how many there are."""

    def fit_predict_proba(self, X, y, sample_weight=None):
        self.fit(X, y, sample_weight)
        total = len(X) if sample_weight is None else sum(sample_weight)
        return np.full((len(X), len(self.classes_)), total)


class TestLeftOut:
    """Training samples are judged as if they had been left out."""

    @pytest.fixture
    def few(self, digits):
        X, y = digits
        return X[:150], y[:150] % 4

    @pytest.mark.parametrize("several", [False, True])
    def test_by_default(self, several, few):
        X, y = few
        y = np.column_stack([y > 0, y == 2]).astype(int) if several else y
        transformer, classifier = (
            ClassProbabilities(temperature=1),
            KernelRidgeClassifierCV(random_state=0),
        )
        found = transformer.fit_transform(X, y)
        assert_array_equal(found, classifier.fit_predict_proba(X, y))
        assert_array_equal(transformer.transform(X), classifier.predict_proba(X))
        assert np.abs(found - transformer.transform(X)).max() > 0.1
        assert_array_equal(
            clone(transformer).fit(X, y).transform(X), transformer.transform(X)
        )
        names = [f"classprobabilities{i}" for i in range(found.shape[1])]
        assert transformer.get_feature_names_out().tolist() == names
        assert isinstance(transformer.estimator_, KernelRidgeClassifierCV)
        if several:
            sparse = clone(transformer).fit_transform(X, sp.csr_array(y))
            assert_array_equal(sparse, found)

    def test_by_any_classifier_that_can(self, few):
        X, y = few
        weights = np.linspace(0, 1, 150)
        transformer = ClassProbabilities(PriorsByLength(), temperature=1)
        assert_array_equal(transformer.fit_transform(X, y), np.full((150, 4), 150))
        found = transformer.fit_transform(X, y, sample_weight=weights)
        assert_allclose(found, weights.sum())
        expected = GaussianNB().fit(X, y, weights).predict_proba(X)
        assert_array_equal(transformer.transform(X), expected)

    @pytest.mark.parametrize("routing", [False, True])
    def test_weights_and_groups_reach_the_classifier(self, routing, few):
        X, y = few
        fit_params = {
            "sample_weight": np.linspace(0.1, 1, 150),
            "groups": np.arange(150) // 3,
        }
        classifier = KernelRidgeClassifierCV(random_state=0)
        expected = classifier.fit_predict_proba(X, y, **fit_params)
        if not routing:
            found = ClassProbabilities(temperature=1).fit_transform(X, y, **fit_params)
        else:
            with sklearn.config_context(enable_metadata_routing=True):
                asking = clone(classifier).set_fit_request(sample_weight=True, groups=True)
                pipeline = make_pipeline(ClassProbabilities(asking, temperature=1))
                found = pipeline.fit_transform(X, y, **fit_params)
                assert_array_equal(pipeline.transform(X), classifier.predict_proba(X))
        assert_array_equal(found, expected)
        assert not np.array_equal(found, classifier.fit_predict_proba(X, y))


class TestRecipe:
    def test_ranks_better_than_features(self, digits, learned):
        X, y = digits
        bits = AdditiveHasher(16, metric="inner_product", random_state=learned.seed)
        scores = [
            HashedNeighbors(make_pipeline(*steps, bits))
            .fit(X[:400], y[:400])
            .score(X[400:], y[400:])
            for steps in ([], [ClassProbabilities()])
        ]
        learned.gain(scores[1] - scores[0])

    def test_a_search_tunes_classifier_and_bits_together(self, digits, learned):
        X, y = digits
        hasher = make_pipeline(
            ClassProbabilities(LogisticRegression()),
            AdditiveHasher(metric="inner_product", random_state=learned.seed),
        )
        grid = {
            "hasher__classprobabilities__estimator__C": [1e-4, 1.0],
            "hasher__additivehasher__n_bits": [4, 12],
        }
        search = GridSearchCV(HashedNeighbors(hasher), grid, cv=3).fit(X, y)
        assert search.best_params_["hasher__additivehasher__n_bits"] == 12
        learned.error(1 - search.best_score_)


class TestRefusals:
    @pytest.mark.parametrize("cv", [ShuffleSplit(3), RepeatedKFold(n_splits=2)])
    def test_folds_that_leave_samples_out_or_repeat_them(self, digits, cv):
        with pytest.raises(ValueError, match="cv must have each sample in one test fold"):
            ClassProbabilities(GaussianNB(), cv=cv).fit_transform(*digits)

    def test_the_classifier_must_give_probabilities(self, digits):
        with pytest.raises(ValueError, match="estimator"):
            ClassProbabilities(LinearSVC()).fit(*digits)

    def test_a_failed_fit_changes_nothing(self, digits):
        X, y = digits
        transformer = ClassProbabilities(cv=3).fit(X, y)
        expected = transformer.transform(X)
        with pytest.raises(ValueError, match="n_splits"):
            transformer.fit_transform(X[:2], y[:2])
        with pytest.raises(ValueError, match="continuous"):
            transformer.fit(X, np.linspace(0, 1, len(X)))
        assert_array_equal(transformer.transform(X), expected)
        with pytest.raises(NotFittedError):
            ClassProbabilities().transform(X)
