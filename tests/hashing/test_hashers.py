"""Hashers: scikit-learn's contract, and what each parameter promises."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr import ITQHasher, LSHHasher, PrecomputedAffinity, TALRHasher
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.baselines import (
    BREHasher,
    CSQHasher,
    DPSHHasher,
    DSHHasher,
    DTSHHasher,
    FastHasher,
    HashNetHasher,
    MACHasher,
    MIHasher,
    OrthoHasher,
    StructHasher,
)
from sklearn_talr.hashing.gradient import _trained

HASHERS = [
    LSHHasher(8),
    ITQHasher(8),
    TALRHasher(8, max_iter=2),
    BREHasher(8, n_anchors=5, n_samples=60, max_iter=1),
    MACHasher(8, first_penalty=1.0, n_samples=60),
    FastHasher(4, n_trees=2, n_samples=60),
    StructHasher(4, n_queries=10, n_samples=60),
    CSQHasher(8, max_iter=2),
    DPSHHasher(8, max_iter=2),
    DSHHasher(8, max_iter=2, margin=2),
    DTSHHasher(8, max_iter=2),
    HashNetHasher(8, max_iter=2),
    MIHasher(8, max_iter=2),
    OrthoHasher(8, max_iter=2),
]
OBJECTIVES = [
    "average_precision",
    "average_precision_simplified",
    "ndcg",
    "ndcg_simplified",
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def small(**params):
    """A hasher that trains in a moment."""
    defaults = {"n_bits": 8, "max_iter": 3, "batch_size": 64, "random_state": 0}
    return TALRHasher(**(defaults | params))


@pytest.fixture(scope="module")
def codes_of(digits):
    """Fits a copy of a hasher, always with the same seed; returns codes of the digits."""
    X, y = digits

    @cache
    def fit_transform(hasher):
        return clone(hasher).set_params(random_state=0).fit(X, y).transform(X)

    return fit_transform


@parametrize_with_checks(
    [
        *HASHERS,
        TALRHasher(8, max_iter=2, hidden_layer_sizes=(5,)),
        TALRHasher(8, max_iter=2, objective="ndcg", init="random", solver="sgd"),
        TALRHasher(8, max_iter=2, dropout=(0.2, 0.0), batch_size=16),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("hasher", HASHERS, ids=lambda h: type(h).__name__)
class TestEveryHasher:
    def test_bits_are_signs_of_float32_activations(self, hasher, digits):
        X, y = digits
        hasher = clone(hasher).set_params(n_bits=7, random_state=0).fit(X, y)
        activations = hasher.decision_function(X)
        assert activations.dtype == np.float32
        codes = hasher.transform(X)
        assert codes.dtype == np.uint8
        np.testing.assert_array_equal(codes, activations > 0)
        assert codes.shape == (len(X), 7)

    def test_more_bits_than_features(self, hasher, digits):
        X, y = digits
        hasher = clone(hasher).set_params(n_bits=24, random_state=0)
        codes = hasher.fit(X[:, 18:22], y).transform(X[:, 18:22])
        assert codes.shape == (len(X), 24)
        assert 0.1 < codes.mean() < 0.9

    def test_pandas_output_has_feature_names(self, hasher, digits):
        X, y = digits
        hasher = clone(hasher).set_params(n_bits=3).set_output(transform="pandas")
        frame = hasher.fit_transform(pd.DataFrame(X).add_prefix("pixel"), y)
        prefix = type(hasher).__name__.lower()
        assert list(frame.columns) == [f"{prefix}{i}" for i in range(3)]
        assert list(hasher.get_feature_names_out()) == list(frame.columns)

    def test_pickle_gives_the_same_codes(self, hasher, digits):
        X, y = digits
        hasher = clone(hasher).set_params(random_state=0).fit(X, y)
        loaded = pickle.loads(pickle.dumps(hasher))
        np.testing.assert_array_equal(loaded.transform(X), hasher.transform(X))

    @pytest.mark.parametrize("seed", [3, None])
    def test_fit_leaves_global_generators_alone(self, hasher, digits, seed):
        X, y = digits
        numpy_state = np.random.mtrand._rand.get_state
        before = numpy_state()[1].copy(), torch.get_rng_state()
        clone(hasher).set_params(random_state=seed).fit(X, y)
        np.testing.assert_array_equal(numpy_state()[1], before[0])
        assert torch.equal(torch.get_rng_state(), before[1])

    def test_same_seed_same_codes(self, hasher, digits, codes_of):
        again = clone(hasher).set_params(random_state=0).fit(*digits)
        np.testing.assert_array_equal(again.transform(digits[0]), codes_of(hasher))

    def test_unfitted(self, hasher):
        with pytest.raises(NotFittedError):
            clone(hasher).transform([[1.0, 2.0]])

    @pytest.mark.parametrize(
        "change",
        [
            lambda X: X.astype(np.float16),
            lambda X: X.astype(np.float32),
            lambda X: X.astype(int),
            lambda X: np.repeat(X, 2, axis=1)[:, ::2],
            lambda X: np.asfortranarray(X),
            lambda X: pd.DataFrame(X),
            lambda X: X.tolist(),
        ],
        ids=["float16", "float32", "int", "strided", "fortran", "pandas", "list"],
    )
    def test_equal_values_give_equal_codes(self, hasher, digits, codes_of, change):
        X, y = digits
        other = clone(hasher).set_params(random_state=0).fit(change(X), y)
        same = other.transform(change(X)) == codes_of(hasher)
        assert same.mean() > 0.99  # single precision may turn a bit that is near 0

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([[1.0, np.nan], [0.0, 1.0]], "NaN"),
            ([[1.0, np.inf], [0.0, 1.0]], "infinity"),
            ([[1.0, 2.0]], "1 sample"),
            (np.empty((0, 3)), "0 sample"),
            (np.empty((3, 0)), "0 feature"),
            ([1.0, 2.0], "Reshape your data"),
            (np.ones((5, 3)), "X is constant"),
        ],
    )
    def test_bad_features(self, hasher, X, message):
        with pytest.raises(ValueError, match=message):
            clone(hasher).fit(X, np.arange(len(X)) % 2)

    def test_dense_and_sparse_features_agree(self, hasher, digits, codes_of):
        X, y = digits
        sparse = clone(hasher).set_params(random_state=0).fit(sp.csr_array(X), y)
        same = sparse.transform(sp.csr_array(X)) == codes_of(hasher)
        assert same.mean() > 0.999

    @pytest.mark.parametrize("n_bits", [0, -1, 2.5, "8"])
    def test_bad_n_bits(self, hasher, digits, n_bits):
        with pytest.raises(ValueError, match="n_bits"):
            clone(hasher).set_params(n_bits=n_bits).fit(*digits)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("hidden_layer_sizes", [(), (32,)])
def test_training_beats_its_start(digits, objective, hidden_layer_sizes):
    X, y = digits
    hasher = small(objective=objective, hidden_layer_sizes=hidden_layer_sizes, n_bits=16)
    hasher.set_params(max_iter=1, learning_rate_init=1e-9)
    start = hasher.fit(X, y).score(X, y)
    hasher.set_params(max_iter=30, learning_rate_init=0.02)
    assert 1 - hasher.fit(X, y).score(X, y) < 0.5 * (1 - start)


@pytest.mark.parametrize(
    ("init", "solver", "learning_rate"),
    [
        ("itq", "adam_mini", "cosine"),
        ("itq", "adam_mini", "constant"),
        ("itq", "adam", "cosine"),
        ("itq", "sgd", "constant"),
        ("pca", "adam_mini", "constant"),
        ("pca", "sgd", "cosine"),
        ("random", "adam", "constant"),
        ("random", "sgd", "cosine"),
    ],
)
def test_loss_falls_at_a_fixed_scale(digits, init, solver, learning_rate):
    rate = {"adam_mini": 0.01, "adam": 0.003, "sgd": 1.0}[solver]
    hasher = small(
        max_iter=10,
        init=init,
        solver=solver,
        learning_rate=learning_rate,
        learning_rate_init=rate,
        tanh_scale=1.0,
        bit_dropout=0,
        weight_decay=0,
    ).fit(*digits)
    assert hasher.n_iter_ == len(hasher.loss_curve_) == 10
    assert hasher.loss_curve_[-1] < hasher.loss_curve_[0] - 0.02


def test_itq_start_is_itq(digits):
    X, y = digits
    X = X - X.mean(axis=0)
    hasher = small(max_iter=1, learning_rate_init=1e-12, n_bits=16).fit(X, y)
    itq = ITQHasher(16, random_state=0).fit(X)
    same = np.mean(hasher.transform(X) == itq.transform(X))
    assert same > 0.999


def test_cosine_learning_rate_ends_softer_than_constant(digits):
    """The last epoch of a cosine schedule hardly moves the weights."""
    X, y = digits

    def last_step(learning_rate):
        coefs = []
        for max_iter in (9, 10):
            hasher = small(max_iter=10, learning_rate=learning_rate)
            trainer = _trained.Trainer
            stop = max_iter

            class Stopped(trainer):
                def _run_epoch(self, X, epoch, _stop=stop):
                    if epoch >= _stop:
                        raise KeyboardInterrupt
                    return super()._run_epoch(X, epoch)

            with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                patch.setattr(_trained, "Trainer", Stopped)
                coefs.append(hasher.fit(X, y).coefs_[0])
        return np.abs(coefs[1] - coefs[0]).max()

    assert last_step("cosine") < 0.2 * last_step("constant")


class TestTargets:
    """What `y` may be, and what "auto" makes of it."""

    def test_labels_of_any_kind(self, digits):
        X, y = digits
        names = np.array(["zero", "one", "two", "three", "four"] * 2)[y]
        numbers = np.unique(names, return_inverse=True)[1]
        codes = [
            small().fit(X, target).transform(X)
            for target in (
                numbers,
                names,
                pd.Series(names),
                names.tolist(),
                numbers[:, None],
            )
        ]
        for other in codes[1:]:
            np.testing.assert_array_equal(other, codes[0])

    def test_labels_choose_label_affinity(self, digits):
        assert isinstance(small().fit(*digits).affinity_, LabelAffinity)

    def test_indicator_dense_and_sparse_agree(self):
        X, y = make_multilabel_classification(80, n_features=10, random_state=0)
        dense = small().fit(X, y)
        sparse = small().fit(X, sp.csr_array(y))
        assert isinstance(dense.affinity_, SharedLabelAffinity)
        np.testing.assert_array_equal(dense.transform(X), sparse.transform(X))
        assert dense.score(X, y) == pytest.approx(sparse.score(X, sp.csr_array(y)))

    def test_one_hot_indicator_is_the_same_as_labels(self, digits):
        X, y = digits
        codes = small().fit(X, y).transform(X)
        one_hot = small().fit(X, np.eye(10, dtype=int)[y]).transform(X)
        np.testing.assert_array_equal(one_hot, codes)

    @pytest.mark.parametrize("wrap", [PrecomputedAffinity, np.asarray, sp.csr_array])
    def test_matrix_of_affinities_is_the_same_as_labels(self, digits, wrap):
        X, y = digits
        matrix = (y[:, None] == y).astype(int)
        codes = small().fit(X, y).transform(X)
        hasher = small().fit(X, wrap(matrix))
        np.testing.assert_array_equal(hasher.transform(X), codes)
        assert isinstance(hasher.affinity_, PrecomputedAffinity)

    def test_no_targets_means_distances(self, digits):
        X, _ = digits
        hasher = small(objective="ndcg").fit(X)
        explicit = small(objective="ndcg", affinity=ThresholdAffinity()).fit(X, X)
        np.testing.assert_array_equal(hasher.transform(X), explicit.transform(X))
        assert hasher.score(X) == explicit.score(X, X)

    def test_distances_of_other_features_than_those_hashed(self, digits):
        X, _ = digits
        coarse = X[:, ::2]
        hasher = small(objective="ndcg", affinity=ThresholdAffinity()).fit(coarse, X)
        distances = euclidean_distances(X)[np.triu_indices(len(X), 1)]
        assert hasher.affinity_.thresholds_[0] == pytest.approx(
            np.quantile(distances, 0.05)
        )

    def test_square_indicator_by_request(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((12, 3))
        y = (rng.random((12, 12)) < 0.2).astype(int)
        y[:, 0] = 1
        y[0, 0] = 0
        hasher = small(affinity=SharedLabelAffinity()).fit(X, y)
        assert isinstance(hasher.affinity_, SharedLabelAffinity)

    def test_own_affinity_function(self, digits):
        X, y = digits

        def same_parity(y_query, y_database):
            return (y_query[:, None] % 2 == y_database % 2).astype(int)

        same_parity.levels_ = np.array([0, 1])
        codes = small(affinity=same_parity).fit(X, y).transform(X)
        np.testing.assert_array_equal(small().fit(X, y % 2).transform(X), codes)

    def test_given_oracle_is_not_fitted_in_place(self, digits):
        oracle = ThresholdAffinity()
        small(affinity=oracle).fit(digits[0])
        assert not hasattr(oracle, "thresholds_")

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (np.zeros(20), "equally similar"),
            (np.arange(20), "No two samples are similar"),
            (np.arange(19) % 2, "same number of samples, got 20 and 19"),
            (np.r_[np.nan, np.zeros(19)], "y contains NaN"),
            (np.eye(20), "No two samples are similar"),
            (np.ones((20, 20)), "equally similar"),
            (-np.ones((20, 20)), "non-negative integers"),
            (np.full((20, 20), 0.5), "non-negative integers"),
            (np.full((20, 20), np.nan), "NaN"),
            (np.zeros((20, 3)), "No two samples are similar"),
            (np.zeros((20, 30)), "PrecomputedAffinity"),
            (np.full((20, 3), 2), "SharedLabelAffinity"),
            (np.ones((20, 3, 2)), "dim 3"),
        ],
    )
    def test_bad_targets(self, y, message):
        X = np.random.default_rng(0).standard_normal((20, 4))
        with pytest.raises(ValueError, match=message):
            small().fit(X, y)

    @pytest.mark.parametrize("affinity", ["cosine", LabelAffinity, 3])
    def test_unknown_affinity(self, digits, affinity):
        with pytest.raises(ValueError, match="affinity"):
            small(affinity=affinity).fit(*digits)


class TestTraining:
    def test_fewer_samples_than_a_batch(self, digits):
        X, y = digits
        assert small(batch_size=10_000).fit(X[:30], y[:30]).n_iter_ == 3

    def test_some_constant_features(self, digits):
        X, y = digits
        assert np.any(np.ptp(X, axis=0) == 0)
        assert np.isfinite(small().fit(X, y).coefs_[0]).all()

    def test_batches_without_a_similar_pair_are_survived(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((60, 4))
        y = np.arange(60)
        y[1] = 0  # one similar pair in all
        hasher = small(batch_size=8).fit(X, y)
        assert np.isfinite(hasher.loss_curve_).all()
        assert np.isfinite(hasher.coefs_[0]).all()

    def test_unit_and_offset_of_the_features_do_not_matter(self, digits):
        X, y = digits
        codes = small().fit(X, y).transform(X)
        moved = 1000.0 * X + 50.0
        same = np.mean(small().fit(moved, y).transform(moved) == codes)
        assert same > 0.99

    def test_one_bit(self, digits):
        assert small(n_bits=1).fit_transform(*digits).shape == (300, 1)

    @pytest.mark.parametrize(("n_bits", "dropout"), [(4, 0.0), (32, 0.5), (64, 41 / 64)])
    def test_automatic_bit_dropout_leaves_more_out_of_long_codes(
        self, digits, n_bits, dropout
    ):
        X, y = digits
        for target, fraction in ((y, dropout), (None, 0.0)):
            automatic = small(n_bits=n_bits).fit(X, target).transform(X)
            explicit = small(n_bits=n_bits, bit_dropout=fraction).fit(X, target)
            np.testing.assert_array_equal(automatic, explicit.transform(X))

    def test_warm_start_continues(self, digits):
        X, y = digits
        hasher = small(warm_start=True).fit(X, y)
        first = hasher.loss_curve_
        hasher.set_params(max_iter=2, learning_rate_init=1e-12).fit(X, y)
        assert hasher.n_iter_ == 5
        assert hasher.loss_curve_[:3] == first
        cold = small().fit(X, y)
        np.testing.assert_allclose(hasher.coefs_[0], cold.coefs_[0], rtol=1e-4, atol=1e-6)

    def test_cold_start_forgets(self, digits):
        hasher = small().fit(*digits).fit(*digits)
        assert hasher.n_iter_ == 3

    def test_warm_start_cannot_change_shape(self, digits):
        hasher = small(warm_start=True).fit(*digits)
        with pytest.raises(ValueError, match="warm_start"):
            hasher.set_params(n_bits=9).fit(*digits)

    def test_interrupt_keeps_the_last_epoch(self, digits, monkeypatch):
        X, y = digits
        run_epoch = _trained.Trainer._run_epoch

        def interrupted(self, X, epoch):
            if epoch == 2:
                self.module[0].weight.data.zero_()  # half an epoch's harm
                raise KeyboardInterrupt
            return run_epoch(self, X, epoch)

        monkeypatch.setattr(_trained.Trainer, "_run_epoch", interrupted)
        with pytest.warns(ConvergenceWarning, match="2 of 3 epochs"):
            hasher = small().fit(X, y)
        assert hasher.n_iter_ == 2
        assert hasher.transform(X).std() > 0

    def test_verbose_prints_each_epoch(self, digits, capsys):
        small(verbose=True).fit(*digits)
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(",")[0] for line in lines] == [f"Epoch {i}/3" for i in (1, 2, 3)]

    def test_threads_are_given_back(self, digits):
        before = torch.get_num_threads()
        small().fit(*digits)
        assert torch.get_num_threads() == before

    def test_fitted_state_is_numpy(self, digits):
        hasher = small(hidden_layer_sizes=(6,)).fit(*digits)
        assert not any(
            isinstance(value, (torch.Tensor, torch.nn.Module))
            for value in vars(hasher).values()
        )
        assert [coef.shape for coef in hasher.coefs_] == [(64, 6), (6, 8)]
        assert all(type(array) is np.ndarray for array in hasher.coefs_)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"objective": "mrr"}, "objective"),
            ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes"),
            ({"hidden_layer_sizes": (2.5,)}, "hidden_layer_sizes"),
            ({"tanh_scale": 0.0}, "tanh_scale"),
            ({"tanh_scale": (1.0, -1.0)}, "tanh_scale"),
            ({"tanh_scale": (1.0, 2.0, 3.0)}, "tanh_scale"),
            ({"bit_dropout": 1.0}, "bit_dropout"),
            ({"batch_size": 1}, "batch_size"),
            ({"max_iter": 0}, "max_iter"),
            ({"init": "zeros"}, "init"),
            ({"solver": "lbfgs"}, "solver"),
            ({"learning_rate_init": 0.0}, "learning_rate_init"),
            ({"weight_decay": -1.0}, "weight_decay"),
            ({"device": "toaster"}, "device"),
            ({"device": "mps"}, "device"),
        ],
    )
    def test_bad_parameters(self, digits, params, message):
        with pytest.raises(ValueError, match=message):
            small(**params).fit(*digits)

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
    def test_missing_device(self, digits):
        with pytest.raises(ValueError, match="CUDA"):
            small(device="cuda").fit(*digits)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_cuda_trains_like_the_cpu(digits, objective):
    X, y = digits
    params = {"objective": objective, "max_iter": 20, "n_bits": 16}
    scores = [
        small(device=device, **params).fit(X, y).score(X, y) for device in ("cpu", "cuda")
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.03)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("labels", ["classes", "indicators", "distances"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_step_on_cuda_does_not_wait_for_the_device(
    digits, objective, labels, monkeypatch
):
    X, y = digits
    y = {"classes": y, "indicators": np.eye(10)[y], "distances": None}[labels]
    step = _trained.Trainer._run_step

    def watched(*args):
        torch.cuda.set_sync_debug_mode("error")
        try:
            return step(*args)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    monkeypatch.setattr(_trained.Trainer, "_run_step", watched)
    small(device="cuda", objective=objective).fit(X, y)


def test_pipeline_scores_in_the_hashers_space(digits):
    X, y = digits
    model = make_pipeline(StandardScaler(), small()).fit(X, y)
    assert model.score(X, y) == model[-1].score(model[0].transform(X), y)


@pytest.mark.parametrize("cls", [BREHasher, MACHasher, FastHasher, StructHasher])
def test_samples_drawn_that_are_all_equal(cls):
    """X is not constant, but what is drawn of it tells nothing."""
    X = np.zeros((60, 3))
    X[0] = 1.0
    with pytest.raises(ValueError, match="5 samples drawn have equal features"):
        cls(4, n_samples=5, random_state=0).fit(X, np.arange(60) % 2)
