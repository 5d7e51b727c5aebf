"""Baselines trained by gradients: what they share with TALR, and what is their own."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hashers import (
    CLASS_HASHERS,
    PAIR_HASHERS,
    TRAINED_BASELINES,
    held_out_histogram,
    mean_ap,
    name_of,
)
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification

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
from sklearn_talr.hashing.losses._classes import central_similarity_loss, orthogonal_loss
from sklearn_talr.hashing.losses._pairs import (
    likelihood_loss,
    mutual_information_loss,
    squared_distance_loss,
    triplet_loss,
    weighted_likelihood_loss,
)
from sklearn_talr.metrics import radius_aware_map

every_baseline = pytest.mark.parametrize("cls", TRAINED_BASELINES, ids=name_of)
every_pair_hasher = pytest.mark.parametrize("cls", PAIR_HASHERS, ids=name_of)
every_class_hasher = pytest.mark.parametrize("cls", CLASS_HASHERS, ids=name_of)


@pytest.fixture(scope="module")
def multilabel():
    return make_multilabel_classification(
        300, n_features=12, n_classes=6, n_labels=2, random_state=0
    )


@pytest.fixture(scope="module")
def ap_of_random_hyperplanes(digits, multilabel):
    """Of the digits, and of the samples of several labels."""
    hasher = LSHHasher(16, random_state=0)
    return [
        mean_ap(held_out_histogram(hasher, *data, n_train))
        for data, n_train in ((digits, 600), (multilabel, 200))
    ]


def tanh(u):
    return torch.tanh(2.0 * u)


# Of activations u, levels s of pairs, codes c of classes and memberships m.
LOSSES = {
    DSHHasher: (
        {"margin": 1.5, "tanh_scale": 2.0},
        lambda u, s, c, m: squared_distance_loss(tanh(u), s, 8, 1.5),
    ),
    DPSHHasher: (
        {"quantization_weight": 0.3},
        lambda u, s, c, m: likelihood_loss(u, s, 8, 0.3),
    ),
    DTSHHasher: (
        {"margin": 1.5, "quantization_weight": 0.3},
        lambda u, s, c, m: triplet_loss(u, s, 8, 1.5, 0.3),
    ),
    HashNetHasher: (
        {"tanh_scale": 2.0},
        lambda u, s, c, m: weighted_likelihood_loss(tanh(u), s, 8),
    ),
    MIHasher: ({"tanh_scale": 2.0}, lambda u, s, c, m: mutual_information_loss(tanh(u), s)),
    OrthoHasher: (
        {"margin": 0.2, "cosine_scale": 3.0},
        lambda u, s, c, m: orthogonal_loss(u, c, m, 0.2, 3.0),
    ),
    CSQHasher: (
        {"quantization_weight": 0.3, "tanh_scale": 2.0},
        lambda u, s, c, m: central_similarity_loss(2.0 * u, m @ c, 0.3),
    ),
}


@every_baseline
class TestEveryBaseline:
    def test_loss_is_its_own_with_its_parameters(self, cls, few_digits):
        """In one step over all samples, before it is taken."""
        X, y = few_digits[0][:60], few_digits[1][:60]
        params, loss = LOSSES[cls]
        hasher = cls(8, max_iter=1, batch_size=60, bit_dropout=0.0, random_state=0)
        hasher.set_params(learning_rate_init=1e-12, **params).fit(X, y)
        memberships = torch.from_numpy(np.eye(10, dtype=np.float32)[y])
        codes = torch.from_numpy(getattr(hasher, "class_codes_", np.zeros((10, 8)))).float()
        similar = torch.from_numpy((y[:, None] == y).astype(np.uint8))
        activations = torch.from_numpy(hasher.decision_function(X))
        expected = loss(activations, similar, codes, memberships).item()
        assert hasher.loss_curve_ == [pytest.approx(expected, rel=1e-3)]

    def test_beats_random_hyperplanes(
        self, cls, digits, multilabel, ap_of_random_hyperplanes, learned
    ):
        hasher = cls(n_bits=16, max_iter=15, random_state=learned.seed)
        of_digits, of_labels = ap_of_random_hyperplanes
        ap = mean_ap(held_out_histogram(hasher, *digits, 600))
        learned.gain(ap - of_digits, "digits")
        seeds = range(3 * learned.seed, 3 * learned.seed + 3)  # one in ten gains little
        fits = (hasher.set_params(random_state=seed) for seed in seeds)
        aps = [mean_ap(held_out_histogram(fit, *multilabel, 200)) for fit in fits]
        learned.gain(np.mean(aps) - of_labels, "labels")

    def test_loss_falls(self, cls, digits, learned):
        X, y = digits
        hasher = cls(16, max_iter=15, bit_dropout=0, learning_rate_init=0.01)
        hasher.set_params(random_state=learned.seed)
        if "tanh_scale" in hasher.get_params():
            hasher.set_params(tanh_scale=2.0)
        curve = hasher.fit(X[:400], y[:400]).loss_curve_
        # That of mutual information is below 0.
        learned.gain((curve[0] - curve[-1]) / abs(curve[0]))

    def test_labels_in_any_form(self, cls, few_digits, multilabel, learned):
        X, y = few_digits
        unknown = np.where(np.arange(300) == 3, np.nan, y)
        for other, message in (
            (np.zeros(300), "only one class"),
            (y[:-1], "same number of samples"),
            (unknown, "y contains NaN"),
        ):
            with pytest.raises(ValueError, match=message):
                cls(n_bits=4).fit(X, other)
        hasher = cls(n_bits=8, max_iter=2, random_state=learned.seed)
        codes = hasher.fit(X, y).transform(X)
        assert isinstance(hasher.affinity_, LabelAffinity)
        for other in (np.array(list("abcdefghij"))[y], y[:, None]):
            np.testing.assert_array_equal(hasher.fit(X, other).transform(X), codes)
        X, y = multilabel
        codes = hasher.fit(X, y).transform(X)
        assert isinstance(hasher.affinity_, SharedLabelAffinity)
        sparse = clone(hasher).fit(sp.csr_array(X), sp.csr_array(y))
        learned.error(np.mean(sparse.transform(sp.csr_array(X)) != codes))

    @pytest.mark.filterwarnings("ignore:Training has lowered the score")  # two epochs
    def test_trains_as_talr_does(self, cls, few_digits):
        """Early stopping, warm starts, hidden layers and modules."""
        X, y = few_digits
        hasher = cls(n_bits=8, max_iter=2, early_stopping=True, random_state=0).fit(X, y)
        assert len(hasher.validation_scores_) == 2
        first, codes = hasher.loss_curve_, hasher.transform(X)
        hasher.set_params(warm_start=True, learning_rate_init=1e-12).fit(X, y)
        assert hasher.loss_curve_[:2] == first
        assert hasher.n_iter_ == 4
        np.testing.assert_array_equal(hasher.transform(X), codes)
        hasher.set_params(warm_start=False, learning_rate_init="auto")
        hasher.set_params(early_stopping=False, hidden_layer_sizes=9, dropout=0.2).fit(X, y)
        assert [coef.shape for coef in hasher.coefs_] == [(64, 9), (9, 8)]
        module = torch.nn.utils.skip_init(torch.nn.Linear, 64, 8)
        torch.nn.init.eye_(module.weight)
        torch.nn.init.zeros_(module.bias)
        hasher.set_params(hidden_layer_sizes=(), module=module).fit(X, y)
        assert hasher.module_state_["weight"].shape == (8, 64)


@every_pair_hasher
class TestPairHashers:
    def test_any_affinity(self, cls, few_digits):
        X, y = few_digits
        matrix = (y[:, None] == y).astype(int)
        hasher = cls(n_bits=8, max_iter=2, random_state=0)
        codes = hasher.fit(X, y).transform(X)
        ready = hasher.fit(X, PrecomputedAffinity(matrix)).transform(X)
        np.testing.assert_array_equal(ready, codes)
        hasher.fit(X)
        assert isinstance(hasher.affinity_, ThresholdAffinity)

    def test_chunks(self, cls, digits, learned):
        X, y = digits
        hasher = cls(n_bits=16, init="random", learning_rate_init=0.01)
        hasher.set_params(random_state=learned.seed)
        scores = []
        for epoch in range(6):
            for start in range(0, 800, 200):
                rows = slice(start, start + 200)
                hasher.partial_fit(X[rows], y[rows])
            if epoch in (0, 5):
                scores.append(hasher.score(X[800:], y[800:]))
        learned.gain(scores[1] - scores[0])


@every_class_hasher
class TestClassHashers:
    def test_classes_and_their_codes(self, cls, few_digits, learned):
        X, y = few_digits
        hasher = cls(n_bits=16, max_iter=30, random_state=learned.seed).fit(X, y)
        np.testing.assert_array_equal(hasher.classes_, np.arange(10))
        codes = hasher.class_codes_
        np.testing.assert_array_equal(codes @ codes.T, 16 * np.eye(10))
        aimed_at = codes[y] > 0
        learned.error(np.mean(hasher.transform(X) != aimed_at))

    def test_targets_must_be_labels(self, cls, few_digits):
        with pytest.raises(ValueError, match="requires y to be passed"):
            cls().fit(few_digits[0])
        X = np.random.default_rng(0).standard_normal((9, 3))
        for wrap in (np.asarray, sp.csr_array):
            with pytest.raises(ValueError, match="0/1 label indicator"):
                cls().fit(X, wrap(np.arange(81).reshape(9, 9)))

    def test_square_indicators_are_indicators(self, cls):
        rng = np.random.default_rng(0)
        y = (rng.random((9, 9)) < 0.3).astype(int)
        hasher = cls(n_bits=8, max_iter=2).fit(rng.standard_normal((9, 3)), y)
        assert hasher.class_codes_.shape == (9, 8)

    def test_warm_start_keeps_the_classes_and_their_codes(self, cls, few_digits):
        X, y = few_digits
        hasher = cls(n_bits=12, max_iter=2, warm_start=True, random_state=0).fit(X, y)
        codes = hasher.class_codes_
        hasher.set_params(random_state=1).fit(X, y)
        np.testing.assert_array_equal(hasher.class_codes_, codes)
        with pytest.raises(ValueError, match="cannot change the classes"):
            hasher.fit(X, y % 5)
        hasher.set_params(warm_start=False).fit(X, y)
        assert np.any(hasher.class_codes_ != codes)

    def test_there_are_no_chunks(self, cls):
        assert not hasattr(cls(), "partial_fit")


def test_margins_leave_ap_and_lower_ramap(digits, learned):
    """The RAMAP paper's point: average precision does not see what m-DSH does."""
    aps, ramaps = [], []
    for margin in (0, 6, 12):
        hasher = DSHHasher(48, margin=margin, max_iter=15, random_state=learned.seed)
        histogram = held_out_histogram(hasher, *digits, 600)
        aps.append(mean_ap(histogram))
        ramaps.append(np.nanmean(radius_aware_map(histogram, 2)))
    learned.error(np.ptp(aps), "AP")
    learned.gain(1 - max(ramaps[1] / ramaps[0], ramaps[2] / ramaps[1]), "RAMAP")


def test_graded_triplets_differ_from_binary_ones(multilabel):
    X, y = multilabel
    graded, binary = (
        DTSHHasher(8, affinity=affinity, max_iter=5, random_state=0).fit(X, y)
        for affinity in (SharedLabelAffinity(), SharedLabelAffinity(binary=True))
    )
    assert np.any(graded.transform(X) != binary.transform(X))
