"""Class probabilities as features, and the recipe that begins with them."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from sklearn_talr import TALRHasher
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.neighbors import HammingNeighbors, HashedNeighbors


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


def test_columns_are_those_of_the_classifier(digits):
    X, y = digits
    names = np.array(list("abcdefghij"))[y]
    transformer = ClassProbabilities(GaussianNB(), temperature=1).fit(X[:500], names[:500])
    expected = GaussianNB().fit(X[:500], names[:500]).predict_proba(X[500:])
    assert_array_equal(transformer.transform(X[500:]), expected)
    assert_array_equal(transformer.classes_, list("abcdefghij"))
    assert transformer.get_feature_names_out()[1] == "classprobabilities1"
    assert transformer.n_features_in_ == 64


def test_training_samples_are_judged_by_others(digits):
    X, y = digits
    folds = StratifiedKFold(4)
    transformer = ClassProbabilities(GaussianNB(), cv=folds, temperature=1)
    probabilities = transformer.fit_transform(X, y)
    for train, test in folds.split(X, y):
        expected = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        assert_allclose(probabilities[test], expected)
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
    with pytest.warns(UserWarning, match="in no fold but one of cv") as caught:
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


def judged_by_hand(X, Y, folds):
    """Out-of-fold probabilities of each label by itself, by the three nearest neighbors."""
    expected = np.zeros(Y.shape)
    for train, test in folds.split(X):
        nearest = KNeighborsClassifier(3).fit(X[train], np.zeros(len(train)))
        rows = nearest.kneighbors(X[test], return_distance=False)
        expected[test] = Y[train][rows].mean(axis=1)
    return expected


@pytest.mark.parametrize(
    "estimator",
    [
        TAKE_LABELS[0],
        TAKE_LABELS[3],
        TAKE_LABELS[4],
        Pipeline([("last", KNeighborsClassifier(3))]),
    ],
)
@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.coo_array, np.ndarray.tolist]
)
@pytest.mark.filterwarnings("ignore:Label not 1 is present in all training examples")
def test_labels_that_the_other_folds_lack_get_probability_0(several, estimator, form):
    X, Y = several
    Y = Y.copy()
    Y[20:, 1], Y[:20, 1] = 0, 1  # all in the first fold
    transformer = ClassProbabilities(estimator, cv=KFold(3), temperature=1)
    with pytest.warns(UserWarning, match="in no fold but one of cv"):
        found = transformer.fit_transform(X, form(Y))
    assert_allclose(found, judged_by_hand(X, Y, KFold(3)))
    assert_array_equal(found[:20, 1], 0)
    assert found[20:, 1].max() > 0


def test_chains_of_classifiers_are_judged_by_others(several):
    X, Y = several
    chain = ClassifierChain(GaussianNB())
    found = ClassProbabilities(chain, cv=KFold(3)).fit_transform(X, Y)
    for train, test in KFold(3).split(X):
        expected = clone(chain).fit(X[train], Y[train]).predict_proba(X[test])
        assert_array_equal(found[test], expected)


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


def test_groups_reach_the_splitter(digits):
    X, y = digits
    groups = np.arange(len(X)) // 50
    with sklearn.config_context(enable_metadata_routing=True):
        transformer = ClassProbabilities(GaussianNB(), cv=GroupKFold(3), temperature=1)
        probabilities = transformer.fit_transform(X, y, groups=groups)
    for train, test in GroupKFold(3).split(X, y, groups):
        expected = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        assert_allclose(probabilities[test], expected)


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

    def test_folds_that_are_given_are_taken(self, few):
        X, y = few
        found = ClassProbabilities(cv=KFold(3), temperature=1).fit_transform(X, y)
        for train, test in KFold(3).split(X):
            one = KernelRidgeClassifierCV(random_state=0).fit(X[train], y[train])
            assert_array_equal(found[test], one.predict_proba(X[test]))

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

    @pytest.mark.parametrize(
        "ask",
        [
            lambda: ClassProbabilities(),
            lambda: ClassProbabilities(KernelRidgeClassifierCV(random_state=0)),
            lambda: ClassProbabilities().set_fit_request(groups=True),
            lambda: ClassProbabilities().set_fit_transform_request(groups=True),
        ],
    )
    def test_groups_come_by_any_spelling(self, ask, few):
        X, y = few
        groups = np.arange(150) // 3
        expected = ClassProbabilities().fit_transform(X, y, groups=groups)
        bits = AdditiveHasher(8, metric="inner_product", max_iter=2, random_state=0)
        expected = clone(bits).fit(expected).encode(expected).data
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = clone(make_pipeline(ask(), bits)).fit(X, y, groups=groups)
            left_out = clone(pipeline[0]).fit_transform(X, y, groups=groups)
            index = HashedNeighbors(clone(pipeline)).fit(X, y, groups=groups)
            search = GridSearchCV(index, {"n_neighbors": [1]}, cv=GroupKFold(2))
            assert search.fit(X, y, groups=groups).best_score_ > 0
        assert_array_equal(pipeline[-1].encode(left_out).data, expected)
        assert not np.array_equal(left_out, clone(pipeline[0]).fit_transform(X, y))
        by_step = clone(pipeline).fit(X, y, classprobabilities__groups=groups)
        assert_array_equal(by_step[-1].encode(left_out).data, expected)

    def test_weights_are_asked_for(self, few):
        X, y = few
        weights = np.linspace(0.1, 1, 150)
        expected = ClassProbabilities().fit_transform(X, y, sample_weight=weights)
        given = KernelRidgeClassifierCV(random_state=0)
        with sklearn.config_context(enable_metadata_routing=True):
            transformer = ClassProbabilities(given).set_fit_request(sample_weight=True)
            found = make_pipeline(transformer).fit_transform(X, y, sample_weight=weights)
            with pytest.raises(ValueError, match="set_fit_request"):  # of a copy
                ClassProbabilities(given).fit(X, y, sample_weight=weights)
        assert_array_equal(found, expected)

    def test_pipelines_train_hashers_on_them(self, few):
        X, y = few
        bits = AdditiveHasher(8, metric="inner_product", max_iter=2, random_state=0)
        pipeline = make_pipeline(ClassProbabilities(temperature=1), bits).fit(X, y)
        left_out = ClassProbabilities(temperature=1).fit_transform(X, y)
        expected = clone(bits).fit(left_out, y).transform(left_out)
        assert_array_equal(pipeline[-1].transform(left_out), expected)


class TestRecipe:
    def test_one_line_learns_a_hasher(self, digits, learned):
        X, y = digits
        hasher = make_pipeline(
            ClassProbabilities(), TALRHasher(12, max_iter=20, random_state=learned.seed)
        )
        index = HashedNeighbors(hasher).fit(X[:400], y[:400])
        learned.error(1 - index.score(X[400:], y[400:]))

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

    @pytest.mark.skipif(
        parse_version(sklearn.__version__) < parse_version("1.8"),
        reason="before scikit-learn 1.8 a search hands no weights to a Pipeline's score",
    )
    def test_a_search_routes_weights(self, digits):
        X, y = digits
        weights = np.where(y < 5, 1.0, 0.1)
        with sklearn.config_context(enable_metadata_routing=True):
            hasher = make_pipeline(
                ClassProbabilities(GaussianNB().set_fit_request(sample_weight=True)),
                AdditiveHasher(metric="inner_product", random_state=0),
            )
            index = HashedNeighbors(hasher).set_score_request(sample_weight=True)
            search = GridSearchCV(index, {"hasher__additivehasher__n_bits": [8]}, cv=2)
            search.fit(X, y, sample_weight=weights)
        train, test = next(KFold(2).split(X))
        transformer = ClassProbabilities(GaussianNB())
        transformer.fit(X[train], y[train], sample_weight=weights[train])
        rest = HashedNeighbors(clone(hasher[-1]).set_params(n_bits=8))
        rest.fit(transformer.transform(X[train]), y[train])
        asked = transformer.transform(X[test])
        expected = rest.score(asked, y[test], sample_weight=weights[test])
        assert_allclose(search.cv_results_["split0_test_score"], expected)

    def test_out_of_fold_rows_train_a_hasher(self, digits, learned):
        X, y = digits
        hasher = TALRHasher(12, max_iter=20, weight_decay=0.0, random_state=learned.seed)
        index = make_pipeline(ClassProbabilities(cv=3), hasher, HammingNeighbors())
        learned.error(1 - index.fit(X[:400], y[:400]).score(X[400:], y[400:]))


class TestRefusals:
    @pytest.mark.parametrize("cv", [None, 3])
    def test_several_columns_of_classes(self, digits, cv):
        X, y = digits
        forest = RandomForestClassifier(5, random_state=0)
        with pytest.raises(ValueError, match="y must be one class for each sample, or 0/1"):
            ClassProbabilities(forest, cv=cv).fit_transform(X, np.column_stack([y, y % 3]))

    @pytest.mark.parametrize("cv", [ShuffleSplit(3), RepeatedKFold(n_splits=2)])
    def test_folds_that_leave_samples_out_or_repeat_them(self, digits, cv):
        with pytest.raises(ValueError, match="cv must have each sample in one test fold"):
            ClassProbabilities(GaussianNB(), cv=cv).fit_transform(*digits)

    def test_targets_are_needed(self, digits):
        with pytest.raises(ValueError, match="requires y"):
            ClassProbabilities().fit(digits[0], None)

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
