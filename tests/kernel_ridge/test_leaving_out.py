"""The closed form of leaving samples out, against regressions fitted without them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit, softmax

from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.kernel_ridge._ridge import ComponentRidge, ExactRidge, Gram
from sklearn_talr.kernel_ridge._samples import distinct_samples

EXACT = {"rtol": 0, "atol": 1e-8}


def ridge_by_definition(F, Y, weights, penalty):
    """Minimizer (a, b) of sum of w (y - b - f'a)^2 + a' penalty a, by normal equations."""
    F = np.column_stack([F, np.ones(len(F))])
    P = np.zeros(2 * F.shape[1:])
    P[:-1, :-1] = penalty
    solution = np.linalg.solve(F.T @ (weights[:, None] * F) + P, F.T * weights @ Y)
    return solution[:-1], solution[-1]


def refitted_without(F, Y, weights, parts, penalty):
    """Predictions for the samples of each part by a regression on all other parts."""
    predictions = np.empty(Y.shape)
    for part in np.unique(parts):
        rest, out = parts != part, parts == part
        a, b = ridge_by_definition(F[rest], Y[rest], weights[rest], penalty)
        predictions[out] = F[out] @ a + b
    return predictions


class Case:
    """Random samples, in an explicit feature map of which the kernel is the product."""

    def __init__(self, seed, n_outputs, weighted, grouped, copied):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 20))
        X = rng.normal(size=(n, 3))
        if copied:
            X = X[rng.integers(n // 2, size=n)]
        self.X = X
        self.Y = rng.integers(2, size=(n, n_outputs)).astype(float)
        self.weights = rng.uniform(0.2, 3, size=n) if weighted else np.ones(n)
        self.groups = rng.permutation(np.arange(n) % 4) if grouped else None
        copies = np.unique(X, axis=0, return_inverse=True)[1].ravel()
        self.parts = copies if self.groups is None else self.groups
        self._directions = rng.normal(size=(3, 12))
        self.samples = distinct_samples(X, self.Y, self.weights, self.groups)

    def features(self, X):
        return np.cos(X @ self._directions)

    def kernel(self, X, components):
        return self.features(X) @ self.features(components).T


@st.composite
def cases(draw):
    flags = st.booleans()
    return Case(
        draw(st.integers(0, 10**6)),
        draw(st.integers(1, 3)),
        *(draw(flags) for _ in range(3)),
    )


ALPHAS = st.floats(-2, 2).map(lambda power: 10.0**power)


@pytest.mark.parametrize(("in_single", "atol"), [(False, 1e-8), (True, 1e-3)])
@given(case=cases(), alpha=ALPHAS)
@example(case=Case(0, 2, weighted=True, grouped=True, copied=True), alpha=0.1)
@example(case=Case(1, 2, weighted=True, grouped=False, copied=False), alpha=0.1)
@settings(max_examples=100)
def test_exact_regression(case, alpha, in_single, atol):
    """Also where equations are solved in single precision: weights are as exact."""
    samples = case.samples
    K = case.kernel(samples.X, samples.X)
    before = K.copy()
    ridge = ExactRidge(K, samples, alpha, in_single)
    assert_array_equal(K, before)
    F, penalty = case.features(case.X), alpha * np.eye(12)
    expected = refitted_without(F, case.Y, case.weights, case.parts, penalty)
    assert_allclose(ridge.left_out[samples.index], expected, rtol=atol, atol=atol)
    a, b = ridge_by_definition(F, case.Y, case.weights, penalty)
    found = case.kernel(case.X, samples.X) @ ridge.coef + ridge.intercept
    assert_allclose(found, F @ a + b, **EXACT)


def test_what_single_precision_cannot_solve_double_does():
    """A kernel of great and of tiny size, and one that is nearly singular."""
    case = Case(3, 2, weighted=True, grouped=False, copied=False)
    samples = case.samples
    K = case.kernel(samples.X, samples.X)
    for size, alpha in [(1e60, 0.1), (1e-60, 0.1), (1.0, 1e-9)]:
        found, expected = (
            ExactRidge(size * K, samples, size * alpha, in_single)
            for in_single in (True, False)
        )
        assert_allclose(found.left_out, expected.left_out, atol=1e-3)
        assert_allclose(size * found.coef, size * expected.coef, rtol=1e-4, atol=1e-4)


@given(case=cases(), alpha=ALPHAS, n_components=st.integers(1, 6))
@example(Case(0, 2, weighted=True, grouped=True, copied=True), 0.1, 4)
@example(Case(1, 2, weighted=True, grouped=False, copied=False), 0.1, 4)
@settings(max_examples=60)
def test_regression_on_components(case, alpha, n_components):
    samples = case.samples
    components = np.random.default_rng(0).normal(size=(n_components, 3))
    P = case.kernel(components, components)
    K = case.kernel(samples.X, components)
    n = len(K)
    blocks = [(rows, K[rows]) for rows in (slice(0, 3), slice(3, 4), slice(4, n))]
    ridge = ComponentRidge(Gram(blocks, samples, P), alpha)
    F = case.kernel(case.X, components)
    # Where components are nearly dependent, a multiple of the unit matrix is added.
    M = F.T * case.weights @ F - np.outer(*2 * [case.weights @ F]) / case.weights.sum()
    penalty = alpha * P
    penalty = penalty + 1e-10 * np.trace(M + penalty) / n_components * np.eye(n_components)
    found = ridge.leave_out(K, samples)[samples.index]
    expected = refitted_without(F, case.Y, case.weights, case.parts, penalty)
    assert_allclose(found, expected, **EXACT)
    a, b = ridge_by_definition(F, case.Y, case.weights, penalty)
    assert_allclose(F @ ridge.coef + ridge.intercept, F @ a + b, **EXACT)


class TestOfTheClassifier:
    """Coefficient, penalty and units are given, so that only scores depend on the fit."""

    @pytest.fixture(autouse=True, params=[None, np.array([1.0, 0.5, 2.0, 1.5])])
    def units(self, request, monkeypatch):
        find = "sklearn_talr.kernel_ridge._classifier.units_of_features"
        monkeypatch.setattr(find, lambda X, samples, similar: request.param)

    @pytest.fixture(
        params=[("rbf", [0.2]), ("cosine", None), ("linear", None)],
        ids=lambda param: param[0],
    )
    def classifier(self, request):
        kernel, gammas = request.param
        return KernelRidgeClassifierCV(kernel, gammas=gammas, alphas=[0.5], random_state=0)

    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(40, 4))
        noisy = X[:, 0] + rng.normal(size=40)
        y = np.array(["a", "b", "c"])[1 * (noisy > 0) + (X[:, 1] > 0.5)]
        X[7] = X[31]
        parts = np.arange(40)
        parts[7] = 31
        return X, y, parts

    def scores_without(self, classifier, X, y, parts, fit_params):
        """Of each part, by the classifier fitted to all others, at no temperature."""
        scores = [None] * len(X)
        for part in np.unique(parts):
            rest = parts != part
            params = {name: values[rest] for name, values in fit_params.items()}
            classifier.fit(X[rest], y[rest], **params)
            for i in np.flatnonzero(~rest):
                logits = classifier.decision_function(X[[i]])[0]
                scores[i] = classifier.temperature_ * logits
        return np.array(scores)

    @pytest.mark.parametrize(("weighted", "grouped"), [(False, True), (True, False)])
    def test_classes(self, classifier, data, weighted, grouped):
        X, y, parts = data
        params = {}
        if weighted:
            params["sample_weight"] = np.random.default_rng(1).uniform(0.3, 2, 40)
        if grouped:
            params["groups"] = parts = np.arange(40) % 9
        found = classifier.fit_predict_proba(X, y, **params)
        temperature = classifier.temperature_
        scores = self.scores_without(classifier, X, y, parts, params)
        assert_allclose(found, softmax(scores / temperature, axis=1), **EXACT)

    def test_two_classes(self, classifier, data):
        X, y, parts = data
        found = classifier.fit_predict_proba(X, y == "a")
        temperature = classifier.temperature_
        scores = self.scores_without(classifier, X, y == "a", parts, {})
        assert_allclose(found[:, 1], expit(scores / temperature), **EXACT)

    def test_labels(self, classifier, data):
        X, y, parts = data
        Y = np.column_stack([y == "a", X[:, 2] > 0, X[:, 3] > 0.5]).astype(int)
        logits = logit(classifier.fit_predict_proba(X, Y))
        temperature = classifier.temperature_
        scores = self.scores_without(classifier, X, Y, parts, {})
        # The line has an offset besides, the same for all labels.
        found = logits[:, 1:] - logits[:, :1]
        expected = (scores[:, 1:] - scores[:, :1]) / temperature
        assert_allclose(found, expected, rtol=0, atol=1e-6)

    def test_samples_without_weight_are_left_out_by_all(self, classifier, data):
        X, y, _ = data
        weights = np.where(np.arange(40) % 5, 1.0, 0.0)
        found = classifier.fit_predict_proba(X, y, sample_weight=weights)
        unweighted = weights == 0
        assert_array_equal(found[unweighted], classifier.predict_proba(X[unweighted]))
        rest = classifier.fit_predict_proba(X[~unweighted], y[~unweighted])
        assert_allclose(found[~unweighted], rest, **EXACT)


def probabilities(X, y, weights=None, groups=None, scale=1.0, kernel="rbf"):
    classifier = KernelRidgeClassifierCV(
        kernel, gammas=[0.1, 0.4], alphas=scale * np.array([0.1, 1.0, 10]), random_state=0
    )
    left_out = classifier.fit_predict_proba(X, y, weights, groups)
    return left_out, classifier.predict_proba(X)


@st.composite
def classes(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(8, 25))
    X = rng.normal(size=(n, 3))
    y = np.where(np.arange(n) < 2, 0, (X[:, 0] + rng.normal(size=n) > 0) + 1)
    y[2:4], y[4:6] = 1, 2
    return X, y, rng.uniform(0.5, 2, size=n), rng


class TestInvariances:
    """What must not change the outputs."""

    @pytest.mark.parametrize("grouped", [False, True])
    @given(data=classes())
    @settings(max_examples=15)
    def test_order_of_samples(self, grouped, data):
        X, y, weights, rng = data
        groups = np.arange(len(X)) % 3 if grouped else None
        order = rng.permutation(len(X))
        expected = probabilities(X, y, weights, groups)
        shuffled = X[order], y[order], weights[order], groups[order] if grouped else None
        for found, outputs in zip(probabilities(*shuffled), expected, strict=True):
            assert_allclose(found, outputs[order], **EXACT)

    @given(data=classes())
    @settings(max_examples=15)
    def test_weights_are_repetitions(self, data):
        X, y, _, rng = data
        repeats = rng.integers(1, 4, size=len(X))
        rows = np.repeat(np.arange(len(X)), repeats)
        weighted = probabilities(X, y, repeats.astype(float))
        repeated = probabilities(X[rows], y[rows])
        for found, expected in zip(repeated, weighted, strict=True):
            assert_allclose(found, expected[rows], **EXACT)
