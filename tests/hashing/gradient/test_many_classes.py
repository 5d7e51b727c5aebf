"""Data as people have them: many classes of few rows, columns of any scale, quantities."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hashers import forms_of
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_talr import ClassProbabilities, CrossViewHasher, TALRHasher
from sklearn_talr.affinity import LabelAffinity, ThresholdAffinity
from sklearn_talr.hashing.training._data import check_data
from sklearn_talr.hashing.training._plan import plan_batches, plan_training
from sklearn_talr.hashing.training._start import split_samples
from sklearn_talr.losses import DPSHLoss
from sklearn_talr.losses._tie_aware import loss_of

N_CLASSES, N_ROWS = 300, 4


@pytest.fixture(scope="module")
def many():
    """Rows and labels of many classes, and new rows of the same classes."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(N_CLASSES), N_ROWS)
    means = rng.normal(size=(N_CLASSES, 8))

    def rows():
        signal = means[labels] + 0.3 * rng.normal(size=(len(labels), 8))
        return np.column_stack([signal, 1.5 * rng.normal(size=(len(labels), 24))])

    return rows(), labels, rows()


def settings_for(hasher, X, y):
    loss = loss_of(hasher.loss)
    return plan_training(hasher, loss, check_data(hasher, loss, X, y))


class TestBatches:
    def test_of_all_forms_of_targets_are_the_same_and_learn(self, many):
        X, labels, new = many
        codes = {}
        for form, (affinity, y) in forms_of(labels).items():
            hasher = TALRHasher(16, affinity=affinity, max_iter=2, random_state=0)
            codes[form] = hasher.fit(X, y).transform(X)
            np.testing.assert_array_equal(codes[form], codes["labels"], err_msg=form)
        hasher = TALRHasher(16, max_iter=20, random_state=0)
        score = hasher.fit(X, labels).score(new, labels)
        chance = (N_ROWS - 1) / (len(labels) - 1)
        assert score > 30 * chance

    @pytest.mark.parametrize(
        "params",
        [
            {"loss": DPSHLoss()},
            {"hidden_layer_sizes": 32},
            {"early_stopping": True},
            {"loss": lambda bits, affinity: (bits @ bits.T / 8 - affinity).square().mean()},
        ],
        ids=lambda params: next(iter(params)),
    )
    @pytest.mark.filterwarnings("ignore:Training has lowered")  # losses blind to ranks
    def test_serve_all_losses_and_functions(self, many, params):
        X, labels, new = many
        hasher = TALRHasher(16, max_iter=15, random_state=0, **params).fit(X, labels)
        assert hasher.score(new, labels) > 10 * (N_ROWS - 1) / (len(labels) - 1)

    def test_own_affinity_and_near_quantities(self, many):
        X, labels, new = many
        affinity = ThresholdAffinity(quantiles=(0.002,), levels=(1,))
        hasher = TALRHasher(16, affinity=affinity, max_iter=10, random_state=0)
        hasher.fit(X, labels / 7.0)  # three of 300 classes are near
        assert hasher.score(new, labels / 7.0) > 10 * 0.002

        def equal(y_query, y_database):
            return (y_query[:, None] == y_database).astype(int)

        equal.levels_ = np.array([0, 1])
        hasher.set_params(affinity=equal).fit(X, labels)
        assert hasher.score(new, labels) > 30 * (N_ROWS - 1) / (len(labels) - 1)

    def test_are_drawn_so_only_where_random_ones_hold_few(self, many, few_digits):
        X, labels, _ = many
        settings = settings_for(TALRHasher(), X, labels)
        assert settings.batch_size == 256
        assert settings.few_similar
        assert settings_for(TALRHasher(batch_size=40), X, labels).batch_size == 40
        settings = settings_for(TALRHasher(), *few_digits)
        assert settings.batch_size == 32  # with three of each digit
        assert not settings.few_similar

    def test_of_hidden_layers_are_as_large_as_leaves_enough_steps(self, many):
        X, labels, _ = many
        settings = settings_for(TALRHasher(hidden_layer_sizes=8), X, labels)
        assert settings.batch_size == 300
        assert settings.max_iter * len(X) / settings.batch_size == 600  # steps
        few_epochs = TALRHasher(hidden_layer_sizes=8, max_iter=10)
        assert settings_for(few_epochs, X, labels).batch_size == 256

    def test_of_hidden_layers_keep_eight_of_a_class_together(self):
        labels = np.repeat(np.arange(20), 25)
        X = np.random.default_rng(0).normal(size=(len(labels), 3))
        hasher = TALRHasher(hidden_layer_sizes=4, batch_size=100)
        settings = settings_for(hasher, X, labels)
        order = settings.shuffle(np.arange(len(labels)), np.random.RandomState(0))
        np.testing.assert_array_equal(np.sort(order), np.arange(len(labels)))
        ends = np.flatnonzero(np.diff(labels[order])) + 1
        sizes = np.diff(np.concatenate([[0], ends, [len(labels)]]))
        assert np.all((sizes % 8 == 0) | (sizes % 8 == 1))  # 25 are 8, 8, 8 and 1
        settings = settings_for(hasher.set_params(batch_size=250), X, labels)
        order = settings.shuffle(np.arange(len(labels)), np.random.RandomState(0))
        assert np.mean(labels[order][1:] == labels[order][:-1]) < 0.1  # ten are there

    def test_of_chunks_stay_small(self, many):
        """A chunk is one epoch, and large batches would leave it few steps."""
        X, labels, _ = many
        hasher = TALRHasher(hidden_layer_sizes=8)
        loss = loss_of(hasher.loss)
        data = check_data(hasher, loss, X, labels % 40)
        assert plan_training(hasher, loss, data, is_chunk=True).batch_size == 256
        data = check_data(hasher, loss, X, labels % 25)
        assert plan_training(hasher, loss, data, is_chunk=True).batch_size == 60

    def test_hold_similar_samples(self, many):
        n_similar = []

        def watched(bits, affinity):
            n_similar.append((affinity > 0).sum(dim=1).float().mean() - 1)
            return bits.square().mean()

        still = {"max_iter": 2, "learning_rate_init": 1e-9, "random_state": 0}
        TALRHasher(8, loss=watched, **still).fit(many[0], many[1])
        assert min(n_similar) > 2  # nearly all three others of the class

    def test_held_out_samples_have_similar_ones(self, many):
        hasher = TALRHasher(8, early_stopping=True)
        loss = loss_of(hasher.loss)
        data = check_data(hasher, loss, many[0], many[1])
        shuffle = plan_training(hasher, loss, data).shuffle
        _, held_out = split_samples(data, 120, shuffle, np.random.RandomState(0))
        sizes = np.unique(many[1][held_out], return_counts=True)[1]
        assert np.mean(sizes > 1) > 0.9

    def test_chunks(self, many):
        X, labels, new = many
        hasher = TALRHasher(16, random_state=0)
        for _ in range(15):
            for rows in np.array_split(np.arange(len(X)), 3):
                hasher.partial_fit(X[rows], labels[rows])
        assert hasher.score(new, labels) > 20 * (N_ROWS - 1) / (len(labels) - 1)


class Similar:
    """Samples with a mean share of similar ones, which can be drawn together."""

    has_groups = True

    def __init__(self, share):
        self.share = share

    def shuffle(self, samples, rng, n_together):
        return samples


def planned(n_samples, share, kind="hidden layers", by_distance=False, **given):
    given = {"batch_size": "auto", "max_iter": "auto"} | given
    similar = Similar(share)
    return plan_batches(
        **given, n_samples=n_samples, by_distance=by_distance, kind=kind, similar=similar
    )


class TestPlan:
    @pytest.mark.parametrize("kind", ["linear", "hidden layers", "module"])
    def test_of_many_classes(self, kind):
        sizes = 40, 300, 1000, 5000, 20_000, 1_000_000
        for n_samples, share in product(sizes, (0.0, 1e-4, 0.01, 0.024, 0.06)):
            self.check_plan(kind, n_samples, share)

    def check_plan(self, kind, n_samples, share):
        plan = planned(n_samples, share, kind)
        assert 32 <= plan.batch_size <= (1024 if kind == "hidden layers" else 256)
        n_rows = n_samples * plan.max_iter
        assert n_rows < 8000 * 256 + 150 * n_samples
        is_long = kind == "hidden layers" and n_samples < 20_000
        assert plan.max_iter <= (150 if is_long else 100)
        # Larger batches leave 600 steps, and hold ten similar samples if they may.
        assert n_rows // plan.batch_size >= 600 or plan.batch_size <= 256
        if kind == "hidden layers" and n_samples >= 5000 and 256 < plan.batch_size < 1024:
            assert 10 <= plan.batch_size * share < 10.1
        is_random = plan.shuffle == planned(n_samples, 0.5).shuffle
        if kind == "hidden layers":
            assert is_random == (plan.batch_size * share >= 10)
        else:
            assert is_random != plan.few_similar

    @pytest.mark.parametrize("n_samples", [40, 500, 1800, 5000, 200_000])
    @pytest.mark.parametrize("by_distance", [False, True])
    def test_of_few_classes_knows_no_kind(self, n_samples, by_distance):
        kinds = "linear", "hidden layers", "module"
        plans = [planned(n_samples, 0.1, kind, by_distance) for kind in kinds]
        assert plans[0] == plans[1] == plans[2]
        assert plans[0].max_iter <= 100

    def test_takes_what_is_given(self):
        plan = planned(5000, 0.01, batch_size=64, max_iter=7)
        assert (plan.batch_size, plan.max_iter) == (64, 7)


class TestWarnings:
    def test_pairs_that_cannot_be_drawn(self, many, monkeypatch):
        monkeypatch.setattr("sklearn_talr.affinity._base._MOST_COMPARED", 100)
        affinity = ThresholdAffinity(quantiles=(0.002,), levels=(1,))
        with pytest.warns(ConvergenceWarning, match=r"has on average only .*batch_size"):
            TALRHasher(8, affinity=affinity, max_iter=2).fit(many[0], many[1] / 7.0)

    def test_codes_no_better_than_chance(self, many):
        X, labels, _ = many
        hasher = TALRHasher(8, learning_rate_init=1e-9, init="random", max_iter=1)
        with pytest.warns(
            ConvergenceWarning, match="not raised the score of 1000 training"
        ):
            hasher.set_params(random_state=0).fit(X[:, 8:], labels)  # noise only


class TestTeacher:
    def test_refuses_classes_that_no_sample_of_a_gigabyte_holds(self, monkeypatch, many):
        module = "sklearn_talr.hashing._class_probabilities"
        X, y = many[0][:200], many[1][:200]
        of_row = 16 * X.shape[1] + 40 * 50
        monkeypatch.setattr(f"{module}._MOST_BYTES", 99 * of_row)
        with pytest.raises(ValueError, match=r"50 classes .* TALRHasher"):
            ClassProbabilities().fit(X, y)
        # What the error names works.
        ClassProbabilities(max_samples=None).fit(X, y)
        ClassProbabilities(LogisticRegression(C=1e-3)).fit(X[:40], y[:40])
        monkeypatch.setattr(f"{module}._MOST_BYTES", 100 * of_row)
        assert len(ClassProbabilities().fit(X, y).estimator_.components_) <= 100
        monkeypatch.setattr(f"{module}._MOST_BYTES", 1)
        with pytest.raises(ValueError, match=r"50 classes .* teacher=None"):
            CrossViewHasher().fit(X, y)

    def test_names_ten_classes_of_one_row(self, many):
        X, y = many[0][:200], many[1][:200].copy()
        y[:40:2] = 1000 + np.arange(20)
        expected = r"20 of 70 classes .* \(1000, .*, 1009, \.\.\.\) are in one sample"
        with pytest.warns(UserWarning, match=expected):
            ClassProbabilities().fit_transform(X, y)


@pytest.mark.parametrize(
    ("n_samples", "epochs"), [(50, 100), (20_000, 100), (200_000, 11), (2_100_000, 1)]
)
def test_epochs_make_enough_steps(n_samples, epochs):
    X, y = np.zeros((n_samples, 1)), np.arange(n_samples) % 10
    X[0] = 1
    assert settings_for(TALRHasher(), X, y).max_iter == epochs
    assert settings_for(TALRHasher(max_iter=7), X, y).max_iter == 7


class TestScales:
    @pytest.mark.parametrize("params", [{}, {"hidden_layer_sizes": 32}])
    def test_a_column_of_noise_does_not_matter(self, digits, params):
        X, y = digits[0][:450], digits[1][:450]
        noise = 1000 * X.std() * np.random.default_rng(0).normal(size=(len(X), 1))
        scores = []
        for rows in (X, np.hstack([X, noise]), sp.csr_array(np.hstack([X, noise]))):
            hasher = TALRHasher(16, max_iter=10, random_state=0, **params)
            scores.append(hasher.fit(rows[:250], y[:250]).score(rows[250:], y[250:]))
        # Without units of columns a tenth to a quarter of the score is left.
        assert min(scores[1:]) > 0.85 * scores[0]
        if params:
            return
        two = make_pipeline(ClassProbabilities(), hasher).fit(rows[:250].toarray(), y[:250])
        assert two.score(rows[250:].toarray(), y[250:]) > 0.6

    def test_nor_does_one_of_either_view(self, digits):
        X, y = digits[0][:450], digits[1][:450]
        noise = 3000 * np.random.default_rng(0).normal(size=(len(X), 2))
        items, queries = X[:, :32], X[:, 32:]
        scores = []
        for teacher in ("auto", None):
            for n in (0, 1):
                A = np.hstack([items, noise[:, :n]])
                B = np.hstack([queries, noise[:, 1 : 1 + n]])
                hasher = CrossViewHasher(16, teacher=teacher, max_iter=10, random_state=0)
                hasher.fit(A[:250], y[:250], X_query=B[:250], y_query=y[:250])
                score = hasher.score(A[250:], y[250:], X_query=B[250:], y_query=y[250:])
                scores.append(score)
        # Without units of columns 0.78 and 0.26 of the scores are left.
        assert scores[1] > 0.85 * scores[0]
        assert scores[3] > 0.85 * scores[2]

    def test_codes_do_not_depend_on_the_units_of_columns(self, many):
        X, labels, new = many
        scale = np.random.default_rng(0).uniform(0.1, 10, size=X.shape[1])
        codes = [
            TALRHasher(16, max_iter=20, random_state=0)
            .fit(s * X, labels)
            .transform(s * new)
            for s in (1.0, scale)
        ]
        assert np.mean(codes[0] == codes[1]) > 0.95  # but for what the choice rounds

    def test_a_warm_start_goes_on_in_new_units(self, many):
        X, labels, new = many
        hasher = TALRHasher(16, max_iter=30, random_state=0, warm_start=True)
        before = hasher.fit(X, labels).score(new, labels)
        hasher.set_params(max_iter=1, learning_rate_init=1e-9)
        hasher.fit(X[::-1], labels[::-1])
        assert hasher.score(new, labels) == pytest.approx(before, abs=0.02)


class TestQuantities:
    def test_are_named(self):
        X, y = load_diabetes(return_X_y=True)
        for quantity in (y, y + 0.5, y[:, None], list(y)):
            with pytest.raises(ValueError, match=r"affinity=ThresholdAffinity\(\)"):
                TALRHasher().fit(X, quantity)
        with pytest.raises(ValueError, match=r"ThresholdAffinity\(\)"):
            TALRHasher().fit(X, np.arange(len(X)))

    def test_numbers_that_are_classes_stay_classes(self, few_digits):
        X, y = few_digits
        codes = [
            TALRHasher(8, affinity=affinity, max_iter=3, random_state=0).fit(X, labels)
            for labels, affinity in [
                (y, "auto"),
                (y * 1.0, "auto"),
                (y / 2, LabelAffinity()),
            ]
        ]
        for hasher in codes[1:]:
            np.testing.assert_array_equal(hasher.transform(X), codes[0].transform(X))

    def test_are_learned(self):
        X, y = load_diabetes(return_X_y=True)
        hasher = TALRHasher(32, affinity=ThresholdAffinity(), max_iter=20, random_state=0)
        hasher.fit(X[:300], y[:300])
        codes, train = hasher.transform(X[300:]), hasher.transform(X[:300])
        nearest = (codes[:, None] != train).sum(axis=2).argsort(axis=1, kind="stable")
        gaps = np.abs(y[300:, None] - y[:300])
        near = np.take_along_axis(gaps, nearest[:, :20], axis=1).mean()
        assert near < 0.8 * gaps.mean()
        assert 0 < hasher.score(X[300:], y[300:]) < 1
