"""Hashers that TALR is compared with: what they share with it, and what is their own."""

import inspect
import re

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.baselines import (
    CSQHasher,
    DPSHHasher,
    DSHHasher,
    DTSHHasher,
    HashNetHasher,
    MIHasher,
    OrthoHasher,
)
from sklearn_talr.hashing import LSHHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import radius_aware_map, tie_aware_average_precision

PAIR_HASHERS = [DPSHHasher, DSHHasher, DTSHHasher, HashNetHasher, MIHasher]
CLASS_HASHERS = [CSQHasher, OrthoHasher]
BASELINES = PAIR_HASHERS + CLASS_HASHERS


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def multilabel():
    return make_multilabel_classification(
        300, n_features=12, n_classes=6, n_labels=2, random_state=0
    )


def held_out(hasher, X, y, n_train=600):
    """Histogram of the rows that were not trained on, against those that were."""
    hasher.fit(X[:n_train], y[:n_train])
    codes = hasher.transform(X)
    targets = y[n_train:], y[:n_train]
    return hamming_histogram(codes[n_train:], codes[:n_train], "auto", *targets)


def mean_ap(histogram):
    return np.nanmean(tie_aware_average_precision(histogram))


@pytest.mark.parametrize("cls", BASELINES)
class TestEveryBaseline:
    def test_beats_random_hyperplanes_by_far(self, cls, digits):
        random = mean_ap(held_out(LSHHasher(16, random_state=0), *digits))
        hasher = cls(n_bits=16, max_iter=15, random_state=0)
        assert mean_ap(held_out(hasher, *digits)) > random + 0.2

    def test_loss_falls(self, cls, digits):
        X, y = digits
        hasher = cls(
            n_bits=16, max_iter=15, bit_dropout=0, learning_rate_init=0.01, random_state=0
        )
        if "tanh_scale" in hasher.get_params():
            hasher.set_params(tanh_scale=2.0)
        curve = hasher.fit(X[:400], y[:400]).loss_curve_
        # That of mutual information is below 0.
        assert curve[-1] < curve[0] - 0.1 * abs(curve[0])

    def test_indicators_dense_and_sparse(self, cls, multilabel):
        X, y = multilabel
        hasher = cls(n_bits=8, max_iter=3, random_state=0).fit(X, y)
        assert isinstance(hasher.affinity_, SharedLabelAffinity)
        sparse = clone(hasher).fit(sp.csr_array(X), sp.csr_array(y))
        same = sparse.transform(sp.csr_array(X)) == hasher.transform(X)
        assert same.mean() > 0.999

    def test_learns_several_labels(self, cls, multilabel):
        hasher = cls(n_bits=16, max_iter=15, random_state=0)
        random = mean_ap(held_out(LSHHasher(16, random_state=0), *multilabel, 200))
        assert mean_ap(held_out(hasher, *multilabel, 200)) > random + 0.02

    def test_labels_of_any_kind(self, cls, digits):
        X, y = digits[0][:200], digits[1][:200]
        hasher = cls(n_bits=8, max_iter=2, random_state=0)
        codes = hasher.fit(X, y).transform(X)
        named = hasher.fit(X, np.array(list("abcdefghij"))[y]).transform(X)
        np.testing.assert_array_equal(named, codes)
        column = hasher.fit(X, y[:, None]).transform(X)
        np.testing.assert_array_equal(column, codes)
        assert isinstance(hasher.affinity_, LabelAffinity)

    def test_early_stopping_keeps_the_best_weights(self, cls, digits):
        X, y = digits
        hasher = cls(
            n_bits=8, max_iter=4, early_stopping=True, validation_fraction=0.3
        ).fit(X[:400], y[:400])
        assert len(hasher.validation_scores_) == 4
        assert hasher.best_validation_score_ == max(hasher.validation_scores_)

    def test_hidden_layers_and_modules(self, cls, digits):
        X, y = digits[0][:200], digits[1][:200]
        layers = cls(n_bits=8, max_iter=2, hidden_layer_sizes=(9,), dropout=0.2).fit(X, y)
        assert [coef.shape for coef in layers.coefs_] == [(64, 9), (9, 8)]
        module = torch.nn.utils.skip_init(torch.nn.Linear, 64, 8)
        torch.nn.init.eye_(module.weight)
        torch.nn.init.zeros_(module.bias)
        own = cls(n_bits=8, max_iter=2, module=module).fit(X, y)
        assert own.transform(X).shape == (200, 8)

    def test_warm_start_goes_on(self, cls, digits):
        X, y = digits[0][:200], digits[1][:200]
        hasher = cls(n_bits=8, max_iter=2, warm_start=True, random_state=0).fit(X, y)
        first = hasher.loss_curve_
        hasher.set_params(learning_rate_init=1e-12)
        codes = hasher.transform(X)
        hasher.fit(X, y)
        assert hasher.loss_curve_[:2] == first
        assert hasher.n_iter_ == 4
        np.testing.assert_array_equal(hasher.transform(X), codes)

    def test_one_class(self, cls, digits):
        with pytest.raises(ValueError, match="only one class"):
            cls(n_bits=4).fit(digits[0], np.zeros(len(digits[0])))

    def test_lengths_differ(self, cls, digits):
        with pytest.raises(ValueError, match="same number of samples"):
            cls(n_bits=4).fit(digits[0], digits[1][:-1])

    def test_labels_must_be_known(self, cls, digits):
        y = digits[1].astype(float)
        y[3] = np.nan
        with pytest.raises(ValueError, match="y contains NaN"):
            cls(n_bits=4).fit(digits[0], y)

    def test_shared_parameters_are_those_of_talr(self, cls):
        """Signature, constraints and description of each come from one place."""
        signature = inspect.signature(cls).parameters
        assert next(iter(signature)) == "n_bits"
        assert set(signature) == set(cls._parameter_constraints)
        section, attributes = cls.__doc__.split("\nAttributes\n")
        documented = re.findall(r"^(\w+) : ", section, re.MULTILINE)
        assert documented == list(signature)
        assert "loss_curve_ : list of float" in attributes
        assert f">>> from sklearn_talr.baselines import {cls.__name__}\n" in cls.__doc__
        assert not re.search(r"\{(inherited|example)", cls.__doc__)
        for name, parameter in signature.items():
            shown = re.search(rf"^{name} : .*default=(.*)$", section, re.MULTILINE)
            assert eval(shown[1]) == parameter.default

    @pytest.mark.parametrize(
        "params",
        [
            {"margin": -1.0},
            {"cosine_scale": 0.0},
            {"quantization_weight": -0.1},
            {"tanh_scale": 0.0},
            {"bit_dropout": 1.0},
            {"max_iter": 0},
            {"solver": "newton"},
        ],
    )
    def test_bad_parameters(self, cls, params, digits):
        (name,) = params
        if name not in cls().get_params():
            with pytest.raises(TypeError, match="unexpected keyword argument"):
                cls(**params)
            return
        with pytest.raises(ValueError, match=name):
            cls(**params).fit(*digits)


@pytest.mark.parametrize("cls", PAIR_HASHERS)
class TestPairHashers:
    def test_any_affinity(self, cls, digits):
        X, y = digits[0][:200], digits[1][:200]
        matrix = (y[:, None] == y).astype(int)
        hasher = cls(n_bits=8, max_iter=2, random_state=0)
        codes = hasher.fit(X, y).transform(X)
        ready = hasher.fit(X, PrecomputedAffinity(matrix)).transform(X)
        np.testing.assert_array_equal(ready, codes)
        hasher.fit(X)
        assert isinstance(hasher.affinity_, ThresholdAffinity)

    def test_chunks(self, cls, digits):
        X, y = digits
        hasher = cls(n_bits=16, init="random", learning_rate_init=0.01, random_state=0)
        scores = []
        for epoch in range(6):
            for start in range(0, 800, 200):
                rows = slice(start, start + 200)
                hasher.partial_fit(X[rows], y[rows])
            if epoch in (0, 5):
                scores.append(hasher.score(X[800:], y[800:]))
        assert scores[1] > scores[0] + 0.06


@pytest.mark.parametrize("cls", CLASS_HASHERS)
class TestClassHashers:
    def test_classes_and_their_codes(self, cls, digits):
        X, y = digits[0][:300], digits[1][:300]
        hasher = cls(n_bits=16, max_iter=30, random_state=0).fit(X, y)
        np.testing.assert_array_equal(hasher.classes_, np.arange(10))
        codes = hasher.class_codes_
        np.testing.assert_array_equal(codes @ codes.T, 16 * np.eye(10))
        aimed_at = codes[y] > 0
        assert np.mean(hasher.transform(X) == aimed_at) > 0.9

    def test_no_partial_fit(self, cls):
        assert not hasattr(cls(), "partial_fit")
        with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as info:
            cls().partial_fit  # noqa: B018
        assert "Use fit" in str(info.value.__cause__)

    def test_needs_labels(self, cls, digits):
        with pytest.raises(ValueError, match="requires y to be passed"):
            cls().fit(digits[0])

    @pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
    def test_affinities_are_not_labels(self, cls, wrap):
        X = np.random.default_rng(0).standard_normal((9, 3))
        with pytest.raises(ValueError, match="0/1 label indicator"):
            cls().fit(X, wrap(np.arange(81).reshape(9, 9)))

    def test_square_indicators_are_indicators(self, cls):
        rng = np.random.default_rng(0)
        y = (rng.random((9, 9)) < 0.3).astype(int)
        hasher = cls(n_bits=8, max_iter=2).fit(rng.standard_normal((9, 3)), y)
        assert hasher.class_codes_.shape == (9, 8)

    def test_warm_start_cannot_change_the_classes(self, cls, digits):
        X, y = digits[0][:300], digits[1][:300]
        hasher = cls(n_bits=8, max_iter=2, warm_start=True).fit(X, y)
        with pytest.raises(ValueError, match="cannot change the classes"):
            hasher.fit(X, y % 5)


def test_margins_leave_ap_and_lower_ramap(digits):
    """The RAMAP paper's point: average precision does not see what m-DSH does."""
    aps, ramaps = [], []
    for margin in (0, 6, 12):
        hasher = DSHHasher(48, margin=margin, max_iter=15, random_state=0)
        histogram = held_out(hasher, *digits)
        aps.append(mean_ap(histogram))
        ramaps.append(np.nanmean(radius_aware_map(histogram, 2)))
    assert np.ptp(aps) < 0.03
    assert ramaps[0] > 1.1 * ramaps[1] > 1.1**2 * ramaps[2]


def test_graded_triplets_differ_from_binary_ones(multilabel):
    X, y = multilabel
    graded, binary = (
        DTSHHasher(8, affinity=affinity, max_iter=5, random_state=0).fit(X, y)
        for affinity in (SharedLabelAffinity(), SharedLabelAffinity(binary=True))
    )
    assert np.any(graded.transform(X) != binary.transform(X))
