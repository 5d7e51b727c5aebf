"""KernelRidgeClassifierCV: scikit-learn's contract, kernels, layouts and randomness."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import Ridge, RidgeClassifierCV
from sklearn.metrics import average_precision_score, log_loss
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV, _model

KERNELS = ["rbf", "cosine", "linear"]


@parametrize_with_checks(
    [
        KernelRidgeClassifierCV(),
        KernelRidgeClassifierCV(n_components=8, gammas=[0.1], alphas=[1.0]),
        KernelRidgeClassifierCV("linear", alphas=[1.0]),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def histograms():
    """Counts of words of three classes; some samples have no word of some kinds."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    rates = np.eye(3)[y] @ rng.uniform(0, 2, size=(3, 6))
    return rng.poisson(rates).astype(float) + np.eye(6)[0], y


@pytest.fixture(scope="module")
def labels(histograms):
    X, y = histograms
    return np.column_stack([y == 0, X[:, 1] > 1, X[:, 2] > 1]).astype(int)


def classifier_of(kernel, **params):
    return KernelRidgeClassifierCV(kernel, random_state=0, **params)


def components_of(classifier):
    """The training samples that are components, as they were given."""
    components = classifier.components_
    components = components.toarray() if sp.issparse(components) else components
    components = components * (1.0 if classifier.units_ is None else classifier.units_)
    return components if classifier.mean_ is None else components + classifier.mean_


class TestOutputs:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("n_components", [None, 20])
    def test_classes(self, kernel, n_components, histograms):
        X, y = histograms
        names = np.array(["one", "three", "two"])[y]
        classifier = classifier_of(kernel, n_components=n_components).fit(X, names)
        P = classifier.predict_proba(X)
        assert_allclose(P.sum(axis=1), 1)
        assert 0 <= P.min() <= P.max() <= 1
        assert_array_equal(classifier.classes_, ["one", "three", "two"])
        logits = classifier.decision_function(X)
        assert_allclose(np.log(P[:, 1:] / P[:, :1]), logits[:, 1:] - logits[:, :1])
        assert_array_equal(classifier.predict(X), classifier.classes_[P.argmax(axis=1)])
        assert np.mean(classifier.predict(X) == names) > 0.6
        assert classifier.multilabel_ is False
        left_out = classifier.fit_predict_proba(X, names)
        assert_allclose(left_out.sum(axis=1), 1)
        assert log_loss(names, P) < log_loss(names, left_out) < 0.95

    def test_two_classes_have_one_logit(self, histograms):
        X, y = histograms
        classifier = classifier_of("rbf").fit(X, np.where(y == 1, -3, 8))
        logits, P = classifier.decision_function(X), classifier.predict_proba(X)
        assert logits.shape == (150,)
        assert P.shape == (150, 2)
        assert_allclose(logits, np.log(P[:, 1] / P[:, 0]))
        assert_array_equal(classifier.predict(X), np.where(logits > 0, 8, -3))

    @pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, np.ndarray.tolist, None])
    def test_labels(self, form, histograms, labels):
        X, _ = histograms
        Y = labels if form is None else form(labels)
        classifier = classifier_of("rbf").fit(X, Y)
        P, logits = classifier.predict_proba(X), classifier.decision_function(X)
        assert P.shape == logits.shape == (150, 3)
        assert_allclose(P, 1 / (1 + np.exp(-logits)))
        assert_array_equal(classifier.predict(X), P > 0.5)
        assert np.mean(classifier.predict(X) == labels) > 0.75
        assert_array_equal(classifier.classes_, [0, 1, 2])
        assert classifier.multilabel_ is True
        expected = classifier_of("rbf").fit_predict_proba(X, labels)
        assert_array_equal(classifier.fit_predict_proba(X, Y), expected)
        assert log_loss(labels.ravel(), expected.ravel()) < 0.6

    def test_scores_are_sums_of_kernels(self, histograms):
        X, y = histograms
        for kernel in KERNELS:
            classifier = classifier_of(kernel, n_components=30).fit(X, y)
            gamma = {} if kernel in ("cosine", "linear") else {"gamma": classifier.gamma_}
            center = 0.0 if classifier.mean_ is None else classifier.mean_
            units = 1.0 if classifier.units_ is None else classifier.units_
            centered = (X - center) / units, classifier.components_
            K = pairwise_kernels(*centered, metric=kernel, **gamma)
            expected = K @ classifier.dual_coef_ + classifier.intercept_
            assert_allclose(classifier.decision_function(X), expected)
            assert classifier.components_.shape == (30, 6)
            distances = pairwise_distances(components_of(classifier), X)
            assert_allclose(distances.min(axis=1), 0, atol=1e-6)


class TestWithoutKernel:
    """The linear kernel is scikit-learn's ridge regression."""

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    @pytest.mark.parametrize("n_samples", [150, 5])
    def test_scores_are_those_of_ridge(self, form, n_samples, histograms):
        X, y = (part[:n_samples] for part in histograms)
        X = form(X)
        weights = np.linspace(0.1, 2, n_samples)
        classifier = classifier_of("linear", alphas=[0.7]).fit(X, y, weights)
        ridge = Ridge(0.7, tol=1e-12).fit(X, np.eye(3)[y], weights)
        found = classifier.decision_function(X) * classifier.temperature_
        assert_allclose(found, ridge.predict(X), rtol=0, atol=1e-6)
        if n_samples > 6:  # a linear function of the features takes less
            assert classifier.components_.shape == (6, 6)
            coef = classifier.dual_coef_.T * classifier.temperature_
            assert_allclose(coef, ridge.coef_, rtol=0, atol=1e-6)
        else:
            assert classifier.components_.shape == (5, 6)

    def test_the_penalty_is_as_good_as_by_squared_errors(self, histograms):
        X, y = histograms
        alphas = 10.0 ** np.arange(-3, 6)
        chosen = classifier_of("linear", alphas=alphas).fit(X[:60], y[:60])
        other = RidgeClassifierCV(alphas).fit(X[:60], y[:60])
        assert 1e-3 < chosen.alpha_ < 1e5
        scores = [each.score(X[60:], y[60:]) for each in (chosen, other)]
        assert scores[0] > scores[1] - 0.05


class TestLayouts:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("n_components", [None, 25])
    @pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.csc_array, "long"])
    def test_sparse_features(self, kernel, n_components, form, histograms):
        X, y = histograms
        if form == "long":
            S = sp.csr_array(X)
            S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
        else:
            S = form(X)
        classifier = classifier_of(kernel, n_components=n_components)
        expected = classifier.fit_predict_proba(X, y), classifier.predict_proba(X)
        outputs = classifier.fit_predict_proba(S, y), classifier.predict_proba(S)
        outputs = *outputs, classifier.predict_proba(X)
        for found, dense in zip(outputs, (*expected, expected[1])):
            assert_allclose(found, dense, rtol=0, atol=1e-5)

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("n_components", [None, 25])
    def test_single_precision(self, kernel, n_components, histograms):
        X, y = histograms
        classifier = classifier_of(kernel, n_components=n_components)
        expected = classifier.fit_predict_proba(X, y), classifier.predict_proba(X)
        few = X.astype(np.float32)
        outputs = classifier.fit_predict_proba(few, y), classifier.predict_proba(few)
        for found, double in zip(outputs, expected):
            assert found.dtype == np.float32
            assert double.dtype == np.float64
            assert_allclose(found, double, rtol=0, atol=1e-3)
        assert classifier.decision_function(few).dtype == np.float32

    @pytest.mark.parametrize("unit", [2.0**-80, 2.0**80])
    def test_squares_that_single_precision_cannot_hold(self, unit, histograms):
        X, y = unit * histograms[0].astype(np.float32), histograms[1]
        classifier = KernelRidgeClassifierCV(random_state=0).fit(X, y)
        double = classifier.predict_proba(X.astype(np.float64))
        assert_allclose(classifier.predict_proba(X), double, rtol=0, atol=1e-3)

    def test_names_of_features(self, histograms):
        X, y = histograms
        frame = pd.DataFrame(X, columns=list("abcdef"))
        classifier = classifier_of("rbf").fit(frame, pd.Series(y))
        assert list(classifier.feature_names_in_) == list("abcdef")
        expected = classifier_of("rbf").fit(X, y).predict_proba(X)
        assert_allclose(classifier.predict_proba(frame), expected, rtol=1e-9, atol=1e-12)
        with pytest.raises(ValueError, match="feature names"):
            classifier.predict(frame[list("fedcba")])
        classifier.fit(X, y)
        assert not hasattr(classifier, "feature_names_in_")


def test_class_weights_are_weights_of_samples(histograms, labels):
    X, y = histograms
    given = np.linspace(0.5, 1.5, 150)
    found = classifier_of("rbf", class_weight={0: 3, 2: 0.5}).fit_predict_proba(X, y, given)
    by_hand = given * np.array([3, 1, 0.5])[y]
    expected = classifier_of("rbf").fit_predict_proba(X, y, by_hand)
    assert_array_equal(found, expected)
    found = classifier_of("rbf", class_weight="balanced").fit_predict_proba(X, labels)
    shares = labels.mean(axis=0)
    by_hand = np.mean(np.where(labels, 0.5 / shares, 0.5 / (1 - shares)), axis=1)
    expected = classifier_of("rbf").fit_predict_proba(X, labels, by_hand)
    assert_allclose(found, expected, rtol=0, atol=1e-5)
    dicts = [{0: 1, 1: 3}, {0: 2, 1: 1}, {0: 1, 1: 1}]
    found = classifier_of("rbf", class_weight=dicts).fit_predict_proba(X, labels)
    by_hand = (np.where(labels, [3, 1, 1], [1, 2, 1])).mean(axis=1)
    expected = classifier_of("rbf").fit_predict_proba(X, labels, by_hand)
    assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("class_weight", [{0: 1, 1: 3}, [{0: 1, 1: 3}]])
def test_weights_of_labels_are_one_for_each(class_weight, histograms, labels):
    X, _ = histograms
    with pytest.raises(ValueError, match="a list of 3 dicts, one for each label"):
        classifier_of("rbf", class_weight=class_weight).fit(X, labels)


def test_balanced_labels_are_learned():
    """Products of weights over labels let few samples decide: macro AP fell by half."""
    X, Y = make_multilabel_classification(
        900, 100, n_classes=30, n_labels=2, length=120, random_state=0
    )
    train, test = slice(600), slice(600, None)
    Y = Y[:, (Y[train].sum(axis=0) > 5) & (Y[test].sum(axis=0) > 1)]
    values = []
    for class_weight in (None, "balanced"):
        classifier = KernelRidgeClassifierCV("cosine", class_weight=class_weight)
        scores = classifier.fit(X[train], Y[train]).predict_proba(X[test])
        values.append(average_precision_score(Y[test], scores))
    assert values[1] > values[0] - 0.05


class TestRandomness:
    """Of fits with more samples than are searched."""

    @pytest.fixture(autouse=True)
    def _few_are_searched(self, monkeypatch):
        monkeypatch.setattr(_model, "_N_SEARCHED", 100)
        monkeypatch.setattr(_model, "_N_JUDGED", 150)

    @pytest.fixture
    def many(self):
        X = np.random.default_rng(1).normal(size=(300, 2)).round(2)
        X = X.astype(np.float32).astype(np.float64)
        return X, (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)

    def test_equal_seeds_give_equal_outputs(self, many):
        X, y = many
        classifier = KernelRidgeClassifierCV(n_components=40, random_state=3)
        np.random.seed(5)  # noqa: NPY002
        expected = classifier.fit_predict_proba(X, y)
        components = classifier.components_
        assert_array_equal(clone(classifier).fit_predict_proba(X, y), expected)
        assert_array_equal(clone(classifier).fit(X, y).components_, components)
        given = clone(classifier).set_params(random_state=np.random.RandomState(3))
        assert_array_equal(given.fit_predict_proba(X, y), expected)
        other = clone(classifier).set_params(random_state=4).fit(X, y)
        assert not np.array_equal(other.components_, components)
        drawn = clone(classifier).set_params(random_state=None).fit(X, y)
        assert drawn.score(X, y) > 0.9
        assert np.random.rand() == np.random.RandomState(5).rand()  # noqa: NPY002

    @pytest.mark.parametrize("n_components", [None, 40])
    def test_order_of_samples_does_not_matter(self, n_components, many):
        X, y = many
        classifier = KernelRidgeClassifierCV(n_components=n_components, random_state=3)
        expected = classifier.fit_predict_proba(X, y)
        order = np.random.default_rng(0).permutation(len(X))
        found = classifier.fit_predict_proba(X[order], y[order])
        assert_array_equal(found, expected[order])


def test_nothing_is_drawn_up_to_2000_samples(monkeypatch):
    assert _model._N_SEARCHED == 2000
    monkeypatch.setattr(_model, "_N_SEARCHED", 400)
    monkeypatch.setattr(_model, "_N_JUDGED", 50)  # another limit, of components alone
    X = np.random.default_rng(0).normal(size=(400, 2))
    y, given = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int), {"alphas": [0.1, 1.0]}
    one, two = (KernelRidgeClassifierCV(random_state=s, **given) for s in (0, None))
    assert_array_equal(one.fit_predict_proba(X, y), two.fit_predict_proba(X, y))
    assert one.gamma_ == two.gamma_


def test_a_search_routes_weights_and_groups(histograms):
    X, y = histograms
    weights, groups = np.where(y < 2, 1.0, 0.01), np.arange(150) // 5
    with config_context(enable_metadata_routing=True):
        classifier = classifier_of("rbf").set_fit_request(sample_weight=True, groups=True)
        classifier.set_score_request(sample_weight=True)
        search = GridSearchCV(classifier, {"n_components": [50]}, cv=2)
        search.fit(X, y, sample_weight=weights, groups=groups)
    expected = classifier_of("rbf", n_components=50).fit(X, y, weights, groups)
    assert_array_equal(search.predict_proba(X), expected.predict_proba(X))
