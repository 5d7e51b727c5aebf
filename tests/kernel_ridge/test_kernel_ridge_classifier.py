"""KernelRidgeClassifierCV: scikit-learn's contract, kernels, layouts and randomness."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeClassifierCV
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV, _model

KERNELS = ["rbf", "cosine", "linear"]


@parametrize_with_checks(
    [
        KernelRidgeClassifierCV(),
        KernelRidgeClassifierCV(n_components=8),
        KernelRidgeClassifierCV("linear"),
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

    def test_labels_of_no_sample_and_of_all_are_certain(self, histograms, labels):
        X, _ = histograms
        Y = np.column_stack([np.zeros(150), labels, np.ones(150)]).astype(int)
        weights = np.linspace(0, 1, 150)
        classifier = classifier_of("rbf")
        left_out = classifier.fit_predict_proba(X, Y, weights)
        for P in (left_out, classifier.predict_proba(-X)):
            assert_array_equal(P[:, 0], 0)
            assert_array_equal(P[:, 4], 1)
            assert 0 < P[:, 1:4].min() <= P[:, 1:4].max() < 1
        assert_array_equal(classifier.predict(X)[:, [0, 4]], [[0, 1]] * 150)
        only = classifier.fit_predict_proba(X, Y[:, [0, 4]])
        assert_array_equal(only, [[0, 1]] * 150)

    def test_scores_are_sums_of_kernels(self, histograms):
        X, y = histograms
        for kernel in KERNELS:
            classifier = classifier_of(kernel, n_components=30).fit(X, y)
            gamma = {} if kernel in ("cosine", "linear") else {"gamma": classifier.gamma_}
            center = 0.0 if classifier.mean_ is None else classifier.mean_
            centered = X - center, classifier.components_
            K = pairwise_kernels(*centered, metric=kernel, **gamma)
            expected = K @ classifier.dual_coef_ + classifier.intercept_
            assert_allclose(classifier.decision_function(X), expected)
            assert classifier.components_.shape == (30, 6)
            distances = pairwise_distances(components_of(classifier), X)
            assert_allclose(distances.min(axis=1), 0, atol=1e-6)

    def test_blocks_of_rows_change_nothing(self, histograms, monkeypatch):
        X, y = histograms
        classifier = classifier_of("rbf", n_components=30).fit(X, y)
        expected = classifier.decision_function(X)
        monkeypatch.setattr(_model, "_BLOCK", 300)
        assert_allclose(classifier.decision_function(X), expected)
        refitted = clone(classifier).fit(X, y)
        assert_allclose(refitted.decision_function(X), expected, rtol=1e-6, atol=1e-6)


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

    def test_the_cosine_kernel_knows_no_lengths(self, histograms):
        y = histograms[1]
        X = np.random.default_rng(0).normal(size=(150, 4)) + np.eye(4)[y]
        found = classifier_of("cosine").fit_predict_proba(X, y)
        X /= np.linalg.norm(X, axis=1)[:, None]
        expected = classifier_of("linear").fit_predict_proba(X, y)
        assert_allclose(found, expected, rtol=0, atol=1e-5)


class TestLayouts:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("n_components", [None, 25])
    @pytest.mark.parametrize(
        "form", [sp.csr_array, sp.csr_matrix, sp.csc_array, "long indices"]
    )
    def test_sparse_features(self, kernel, n_components, form, histograms):
        X, y = histograms
        if form == "long indices":
            S = sp.csr_array(X)
            S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
        else:
            S = form(X)
        classifier = classifier_of(kernel, n_components=n_components)
        expected = classifier.fit_predict_proba(X, y), classifier.predict_proba(X)
        outputs = classifier.fit_predict_proba(S, y), classifier.predict_proba(S)
        for found, dense in zip(
            (*outputs, classifier.predict_proba(X)), (*expected, expected[1])
        ):
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

    def test_other_layouts_and_types(self, histograms):
        X, y = histograms
        expected = classifier_of("rbf").fit_predict_proba(X, y)
        for other in (np.asfortranarray(X), X.astype(int), X.tolist(), X[::-1][::-1]):
            assert_array_equal(classifier_of("rbf").fit_predict_proba(other, y), expected)

    def test_data_that_cannot_be_written(self, histograms):
        X, y = histograms[0].copy(), histograms[1].copy()
        X.flags.writeable = y.flags.writeable = False
        for kernel in KERNELS:
            classifier = classifier_of(kernel).fit(X, y)
            assert_array_equal(X, histograms[0])
            classifier.predict(X)

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

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_stored_and_loaded(self, kernel, histograms):
        X, y = histograms
        classifier = classifier_of(kernel, n_components=20).fit(X, y)
        loaded = pickle.loads(pickle.dumps(classifier))
        assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
        assert not hasattr(clone(classifier), "components_")


class TestClassWeights:
    def test_are_weights_of_samples(self, histograms, labels):
        X, y = histograms
        given = np.linspace(0.5, 1.5, 150)
        found = classifier_of("rbf", class_weight={0: 3, 2: 0.5}).fit_predict_proba(
            X, y, given
        )
        by_hand = given * np.array([3, 1, 0.5])[y]
        expected = classifier_of("rbf").fit_predict_proba(X, y, by_hand)
        assert_array_equal(found, expected)
        found = classifier_of("rbf", class_weight="balanced").fit_predict_proba(X, labels)
        shares = labels.mean(axis=0)
        by_hand = np.prod(np.where(labels, 0.5 / shares, 0.5 / (1 - shares)), axis=1)
        expected = classifier_of("rbf").fit_predict_proba(X, labels, by_hand)
        assert_allclose(found, expected, rtol=0, atol=1e-5)

    def test_rare_classes_gain(self, histograms):
        X, y = histograms
        rows = np.flatnonzero((y != 1) | (np.arange(150) < 20))
        means = [
            classifier_of("rbf", class_weight=weight)
            .fit(X[rows], y[rows])
            .predict_proba(X)[:, 1]
            .mean()
            for weight in (None, "balanced")
        ]
        assert means[1] > means[0] + 0.005


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

    @pytest.mark.parametrize("form", [sp.csr_array, np.float32])
    def test_storage_does_not_matter(self, form, many):
        X, y = many
        classifier = KernelRidgeClassifierCV(n_components=40, random_state=3).fit(X, y)
        other = clone(classifier).fit(form(X), y)
        found, expected = components_of(other), components_of(classifier)
        assert_allclose(found, expected, atol=1e-6)
        assert other.gamma_ == pytest.approx(classifier.gamma_)
        assert_allclose(other.predict_proba(X), classifier.predict_proba(X), atol=1e-2)

    @pytest.mark.parametrize("n_components", [None, 40])
    def test_a_group_of_more_samples_than_are_searched(self, n_components, many):
        X, y = many
        classifier = KernelRidgeClassifierCV(n_components=n_components, random_state=0)
        left_out = classifier.fit_predict_proba(X, y, groups=np.arange(300) % 2)
        assert np.mean(left_out.argmax(axis=1) == y) > 0.9

    def test_all_samples_are_components_by_default(self, many):
        X, y = many
        classifier = KernelRidgeClassifierCV(random_state=0).fit(X, y)
        assert len(classifier.components_) == len(np.unique(X, axis=0)) > 290
        assert classifier.score(X, y) > 0.95


def test_nothing_is_drawn_up_to_2000_samples(monkeypatch):
    monkeypatch.setattr(_model, "_N_JUDGED", 50)  # another limit, of components alone
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y, given = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int), {"alphas": [0.1, 1.0]}
    one, two = (KernelRidgeClassifierCV(random_state=s, **given) for s in (0, None))
    assert_array_equal(one.fit_predict_proba(X, y), two.fit_predict_proba(X, y))
    assert one.gamma_ == two.gamma_


def test_verbose_prints_each_pair_of_parameters(histograms, monkeypatch, capsys):
    monkeypatch.setattr(_model, "_N_SEARCHED", 100)
    for n_components in (None, 40):
        classifier = classifier_of("rbf", n_components=n_components).fit(*histograms)
        assert not capsys.readouterr().out
        classifier.set_params(verbose=True).fit(*histograms)
        lines = capsys.readouterr().out.splitlines()
        chosen = (
            f"gamma = {classifier.gamma_:.4g}, alpha = {classifier.alpha_:.4g}, loss = "
        )
        assert any(f"100 samples, {chosen}" in line for line in lines)
        n_samples = len(np.unique(histograms[0], axis=0))
        assert any(f"{n_samples} samples, {chosen}" in line for line in lines)


class TestThreadsAndProcesses:
    @pytest.fixture(scope="class")
    @classmethod
    def fits(cls):
        rng = np.random.default_rng(2)
        Xs = [rng.normal(size=(80, 3)) for _ in range(6)]
        return [(X, (X[:, 0] > 0) + 1 * (X[:, 1] > 0.5)) for X in Xs]

    def test_threads_at_once(self, fits):
        def fitted(fit):
            return KernelRidgeClassifierCV(random_state=0).fit_predict_proba(*fit)

        expected = list(map(fitted, fits))
        with ThreadPoolExecutor(4) as pool:
            for found, one in zip(pool.map(fitted, fits), expected, strict=True):
                assert_array_equal(found, one)

    def test_one_estimator_is_whole_whoever_was_last(self, fits):
        expected = [KernelRidgeClassifierCV(random_state=0).fit(*fit) for fit in fits]
        tables = [one.predict_proba(fits[0][0]).tolist() for one in expected]
        classifier = KernelRidgeClassifierCV(random_state=0)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda fit: classifier.fit(*fit), fits))
        assert classifier.predict_proba(fits[0][0]).tolist() in tables

    def test_worker_processes(self, fits):
        X, y = fits[0]
        classifier = KernelRidgeClassifierCV(random_state=0)
        one, two = Parallel(n_jobs=2)(
            delayed(clone(classifier).fit_predict_proba)(X, y) for _ in range(2)
        )
        assert_array_equal(one, two)
        assert_array_equal(one, classifier.fit_predict_proba(X, y))


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


def test_no_warnings_by_default(histograms, labels):
    X, y = histograms
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in KERNELS:
            classifier_of(kernel).fit(X, y).predict(X)
            classifier_of(kernel).fit_predict_proba(X, labels)
