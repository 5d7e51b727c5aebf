"""RankingSVC: the optimum it certifies, what it learns, and scikit-learn's contract."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import DELTA, most_violating
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from sklearn_talr.metrics import tie_aware_average_precision_score, tie_aware_ndcg_score
from sklearn_talr.svm import RankingHingeLoss, RankingSVC
from sklearn_talr.svm._ranking_svc import best_threshold
from sklearn_talr.svm._risks import HingeRisk, RankingRisk

LOSSES = ["AP", "nDCG", "zero_one"]
RANKING = LOSSES[:2]
SCORE = {
    "AP": tie_aware_average_precision_score,
    "nDCG": tie_aware_ndcg_score,
}


@parametrize_with_checks(
    [
        RankingSVC(warm_start=True),
        RankingSVC("zero_one", solver="cutting_plane", class_weight="balanced"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def noisy():
    """A tenth positive, far from separable."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    y = X[:, 0] + X[:, 1] + 2 * rng.normal(size=200) > 2.6
    return X, y.astype(int)


def objective(w, X, y, C, loss):
    """What is to be minimized, from definitions."""
    scores = X @ w
    positive, negative = (np.sort(scores[y == c])[::-1] for c in (1, 0))
    best, _ = most_violating(positive, negative, DELTA[loss])
    perfect = np.mean(positive[:, None] - negative)
    return w @ w / 2 + C * len(y) * (best - perfect)


@pytest.mark.parametrize("loss", RANKING)
@pytest.mark.parametrize(("solver", "C"), [("bundle", 0.1), ("cutting_plane", 3.0)])
def test_optimum_by_definition(loss, solver, C):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(6, 2)), np.array([1, 0, 1, 0, 0, 0])
    svc = RankingSVC(loss, C, solver=solver, tol=1e-6).fit(X, y)
    found = objective(svc.coef_[0], X, y, C, loss)
    assert svc.objective_ == pytest.approx(found, rel=1e-9)
    search = minimize(
        objective,
        svc.coef_[0],
        (X, y, C, loss),
        method="Nelder-Mead",
        options={"maxfev": 60},
    )
    assert search.fun >= found * (1 - svc.dual_gap_ - 1e-12)
    assert svc.dual_gap_ <= 1e-6


@pytest.mark.parametrize(
    ("fit_intercept", "class_weight", "C"),
    [(True, None, 1.0), (False, "balanced", 1.0), (True, {0: 1, 1: 3.5}, 0.01)],
)
def test_zero_one_is_the_linear_svm(fit_intercept, class_weight, C, noisy):
    X, y = noisy
    options = {"C": C, "fit_intercept": fit_intercept, "class_weight": class_weight}
    svc = RankingSVC("zero_one", tol=1e-7, max_iter=3000, **options).fit(X, y)
    peer = LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6, random_state=0, **options)
    peer.fit(X, y)
    assert_allclose(svc.coef_, peer.coef_, atol=1e-3)
    assert_allclose(svc.intercept_, peer.intercept_, atol=1e-3)
    assert svc.score(X, y) == np.mean(svc.predict(X) == y)


@pytest.mark.parametrize("loss", LOSSES)
def test_gap_is_certified(loss, noisy):
    exact = RankingSVC(loss, tol=1e-7, max_iter=3000).fit(*noisy).objective_
    for tol in (0.3, 1e-2, 1e-4):
        svc = RankingSVC(loss, tol=tol).fit(*noisy)
        assert 0 <= svc.dual_gap_ <= tol
        assert svc.objective_ * (1 - svc.dual_gap_) <= exact * (1 + 1e-9)
        assert exact <= svc.objective_ * (1 + 1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_solvers_agree_and_the_line_search_saves_iterations(loss, noisy):
    fits = [
        RankingSVC(loss, tol=1e-5, solver=solver, max_iter=3000).fit(*noisy)
        for solver in ("bundle", "cutting_plane")
    ]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=2e-5)
    assert fits[0].n_iter_ < fits[1].n_iter_


def test_unfinished_fit_warns_and_tells_the_gap(noisy):
    with pytest.warns(ConvergenceWarning, match="duality gap is still") as warned:
        svc = RankingSVC(max_iter=3, tol=1e-9).fit(*noisy)
    assert svc.n_iter_ == 3
    assert svc.dual_gap_ > 1e-9
    assert warned[0].filename == __file__


@pytest.mark.parametrize("loss", ["AP", "zero_one"])
def test_warm_start_along_a_path(loss, noisy):
    X, y = noisy
    path = np.logspace(-2, 1, 5)
    warm = RankingSVC(loss, warm_start=True, tol=1e-4)
    cold = [RankingSVC(loss, C, tol=1e-4).fit(X, y) for C in path]
    n_iter = []
    for C, fresh in zip(path, cold):
        warm.set_params(C=C).fit(X, y)
        n_iter.append(warm.n_iter_)
        assert warm.objective_ == pytest.approx(fresh.objective_, rel=2e-4)
        assert warm.dual_gap_ <= 1e-4
    assert sum(n_iter) < 0.8 * sum(fresh.n_iter_ for fresh in cold)
    reached = warm.objective_
    assert warm.fit(X, y).n_iter_ == 1
    assert warm.objective_ <= reached  # the best point is kept, not only the tangents
    assert len(pickle.dumps(cold[-1])) < len(pickle.dumps(warm)) / 2
    assert pickle.loads(pickle.dumps(warm)).fit(X, y).n_iter_ == 1
    assert clone(warm).fit(X, y).n_iter_ > 1


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X + 0.1, y, None),
        lambda X, y: (X, 1 - y, None),
        lambda X, y: (X, y, np.arange(len(y)) % 2),
        lambda X, y: (X[:100, :5], y[:100], None),
    ],
)
def test_warm_start_forgets_when_data_change(change, noisy):
    X, y, groups = change(*noisy)
    svc = RankingSVC(warm_start=True).fit(*noisy).fit(X, y, groups=groups)
    fresh = RankingSVC().fit(X, y, groups=groups)
    assert_array_equal(svc.coef_, fresh.coef_)
    assert svc.n_iter_ == fresh.n_iter_


class TestRisks:
    @staticmethod
    def draw(seed, n, n_queries=1):
        rng = np.random.default_rng(seed)
        positive = rng.random(n) < 0.4
        query = rng.integers(n_queries, size=n)
        positive[:2], query[:2] = [True, False], 0
        return rng, positive, query

    @pytest.mark.parametrize("loss", LOSSES)
    @given(seed=st.integers(0, 10**6), n=st.integers(2, 30), n_queries=st.integers(1, 4))
    @settings(max_examples=50, deadline=None)
    def test_subgradient_bounds_from_below(self, loss, seed, n, n_queries):
        rng, positive, query = self.draw(seed, n, n_queries)
        if loss == "zero_one":
            risk = HingeRisk(positive, rng.random(n))
        else:
            risk = RankingRisk(positive, query, loss)
        here, there = rng.normal(size=(2, n)) * rng.choice([0.1, 1, 10])
        value, weights = risk(here)
        assert value >= 0
        assert risk(there)[0] >= value + weights @ (there - here) - 1e-9
        if loss != "zero_one":
            assert weights.sum() == pytest.approx(0, abs=1e-12)
            assert (weights[positive] <= 0).all()
            assert (weights[~positive] >= 0).all()

    @pytest.mark.parametrize("loss", RANKING)
    @given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
    @settings(max_examples=50, deadline=None)
    def test_upper_bound_of_the_loss(self, loss, seed, n):
        rng, positive, _ = self.draw(seed, n)
        scores = rng.integers(4, size=n) / 2
        value = RankingHingeLoss(loss)(*map(torch.from_numpy, (scores, positive))).item()
        assert value >= 1 - SCORE[loss]([positive.astype(int)], [scores]) - 1e-12


class TestGroups:
    @staticmethod
    def draw(n_queries=12, per_query=15):
        rng = np.random.default_rng(1)
        groups = np.repeat(np.arange(n_queries), per_query)
        X = rng.normal(size=(len(groups), 5))
        y = (X[:, 0] + rng.normal(size=len(X)) > 0.8).astype(int)
        return X, y, groups

    @pytest.mark.parametrize("missing", [np.nan, None])
    def test_samples_of_no_query_are_refused(self, missing):
        X, y, groups = self.draw()
        some = np.where(groups == 3, missing, groups)
        svc = RankingSVC().fit(X, y, groups=groups)
        for call in (RankingSVC().fit, svc.score):
            with pytest.raises(ValueError, match="groups has missing values"):
                call(X, y, groups=some)

    def test_order_of_samples_and_names_of_groups_do_not_matter(self):
        X, y, groups = self.draw()
        svc = RankingSVC(tol=1e-6).fit(X, y, groups=groups)
        order = np.random.default_rng(0).permutation(len(y))
        names = np.array([f"q{g}" for g in groups])
        other = RankingSVC(tol=1e-6).fit(X[order], y[order], groups=names[order])
        assert other.objective_ == pytest.approx(svc.objective_, rel=1e-5)
        assert svc.score(X, y, groups=groups) == pytest.approx(
            svc.score(X[order], y[order], groups=names[order])
        )

    @pytest.mark.parametrize("loss", RANKING)
    def test_score_is_the_mean_over_queries_with_a_positive(self, loss):
        X, y, _ = self.draw()
        groups = np.random.default_rng(0).integers(40, size=len(y)) // 3 * 5 - 9
        y[groups == 6] = 0
        svc = RankingSVC(loss).fit(X, y)
        each = [
            SCORE[loss]([y[groups == g]], [svc.decision_function(X[groups == g])])
            for g in np.unique(groups[y == 1])
        ]
        assert len(np.unique(np.bincount(groups + 9))) > 4
        assert svc.score(X, y, groups=groups) == pytest.approx(np.mean(each))

    def test_routing(self):
        X, y, groups = self.draw()
        with config_context(enable_metadata_routing=True):
            svc = RankingSVC().set_fit_request(groups=True).set_score_request(groups=True)
            result = cross_validate(svc, X, y, cv=GroupKFold(3), params={"groups": groups})
            search = GridSearchCV(svc, {"C": [0.1, 1.0]}, cv=GroupKFold(3))
            model = make_pipeline(StandardScaler(), search).fit(X, y, groups=groups)
            score = model.score(X, y, groups=groups)
        train, test = next(GroupKFold(3).split(X, y, groups))
        one = RankingSVC().fit(X[train], y[train], groups=groups[train])
        expected = one.score(X[test], y[test], groups=groups[test])
        assert result["test_score"][0] == pytest.approx(expected)
        Z = StandardScaler().fit_transform(X)
        refit = RankingSVC(**search.best_params_).fit(Z, y, groups=groups)
        assert_array_equal(model[-1].best_estimator_.coef_, refit.coef_)
        assert score == refit.score(Z, y, groups=groups)

    def test_no_query_to_rank_is_refused(self):
        X, y, _ = self.draw()
        with pytest.raises(ValueError, match="no group has both a positive and a negative"):
            RankingSVC().fit(X, y, groups=np.arange(len(y)))


def test_classes_without_an_order_are_not_grades(noisy):
    X, _ = noisy
    names = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    for loss, y in [("nDCG", names), ("zero_one", np.arange(len(X)) % 3)]:
        with pytest.raises(ValueError, match=r"Only binary .*multiclass\. Wrap the class"):
            RankingSVC(loss).fit(X, y)


@pytest.mark.parametrize("loss", ["AP", "zero_one"])
def test_sparse_single_precision_and_integers(loss, noisy):
    X, y = np.round(noisy[0][:100]), noisy[1][:100]
    svc = RankingSVC(loss, tol=1e-5).fit(X, y)
    for convert in (sp.csr_matrix, sp.coo_array, lambda X: X.astype(int)):
        other = RankingSVC(loss, tol=1e-5).fit(convert(X), y)
        assert other.objective_ == pytest.approx(svc.objective_, rel=2e-5)
        found = svc.decision_function(convert(X))
        assert_allclose(found, svc.decision_function(X), atol=1e-12)
    single = RankingSVC(loss, tol=1e-5).fit(np.asfortranarray(X, dtype=np.float32), y)
    assert single.objective_ == pytest.approx(svc.objective_, rel=1e-4)
    assert single.coef_.dtype == np.float32


@pytest.mark.parametrize("loss", ["AP", "zero_one"])
def test_coefficients_are_those_of_one_thread_bit_for_bit(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 200), dtype=np.float32)
    y = X[:, 0] + X[:, 1] > 2 * rng.standard_normal(3000) + 1
    fits = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            svc = RankingSVC(loss, C=1e-3, tol=0.05).fit(X, y)
            fits.append((svc.coef_, svc.intercept_, svc.decision_function(X)))
    for one, two in zip(*fits):
        assert_array_equal(one, two)


class TestThreshold:
    @given(seed=st.integers(0, 10**6), n=st.integers(1, 12))
    @settings(max_examples=80, deadline=None)
    def test_least_error_of_all(self, seed, n):
        rng = np.random.default_rng(seed)
        scores, positive = rng.integers(5, size=n).astype(float), rng.random(n) < 0.5
        weight = rng.random(n)
        limits = np.arange(-0.5, 5)
        errors = [weight @ ((scores > limit) != positive) for limit in limits]
        chosen = best_threshold(scores, positive, weight)
        assert weight @ ((scores > chosen) != positive) == pytest.approx(min(errors))

    def test_class_weight_moves_the_threshold_and_not_the_ranking(self, noisy):
        plain = RankingSVC().fit(*noisy)
        balanced = RankingSVC(class_weight="balanced").fit(*noisy)
        assert_array_equal(plain.coef_, balanced.coef_)
        assert balanced.predict(noisy[0]).sum() > plain.predict(noisy[0]).sum()

    def test_no_intercept(self, noisy):
        svc = RankingSVC(fit_intercept=False).fit(*noisy)
        assert_array_equal(svc.intercept_, [0.0])
        assert_array_equal(svc.coef_, RankingSVC().fit(*noisy).coef_)
        weighted = RankingSVC(fit_intercept=False, class_weight="balanced").fit(*noisy)
        assert_array_equal(weighted.predict(noisy[0]), svc.predict(noisy[0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(200)}, "only one class"),
        ({"y": np.arange(200) % 3}, "Only binary classification is supported"),
        ({"y": np.array([*"ab" * 99, "a", None])}, "^y contains NaT"),
        ({"y": [*"ab" * 99, "a", np.nan]}, "^y contains NaT"),
    ],
)
def test_bad_data_are_refused(change, message, noisy):
    X, y = noisy
    with pytest.raises(ValueError, match=message):
        RankingSVC().fit(**({"X": X, "y": y} | change))


def test_weights_in_the_score(noisy):
    X, y = noisy
    svc = RankingSVC("zero_one").fit(X, y)
    weight = np.arange(len(y))
    correct = svc.predict(X) == y
    expected = np.average(correct, weights=weight)
    assert svc.score(X, y, sample_weight=weight) == expected
    assert svc.score(X, y, weight) == expected  # in the place it has in scikit-learn
    with pytest.raises(TypeError, match="positional arguments"):
        svc.score(X, y, weight, np.zeros(len(y)))
    with pytest.raises(ValueError, match="sample_weight must be None for loss='AP'"):
        RankingSVC().fit(X, y).score(X, y, sample_weight=weight)


def test_bad_parameters_are_refused(noisy):
    bad = {"loss": 1, "C": 0.0, "solver": "newton", "tol": 0.0, "max_iter": 0}
    for name, value in {**bad, "class_weight": "auto"}.items():
        with pytest.raises(ValueError, match=f"The '{name}' parameter of RankingSVC"):
            RankingSVC(**{name: value}).fit(*noisy)
