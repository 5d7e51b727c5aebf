"""TALRHasher: losses of other papers, and losses of one's own."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hashers import CLASS_LOSSES, LOSSES, PAIR_LOSSES, name_of
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_multilabel_classification

from sklearn_talr import PrecomputedAffinity, TALRHasher
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.losses import (
    CSQLoss,
    DPSHLoss,
    DSHLoss,
    DTSHLoss,
    HashNetLoss,
    MutualInformationLoss,
    OrthoHashLoss,
)

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=name_of)
every_pair_loss = pytest.mark.parametrize("loss", PAIR_LOSSES, ids=name_of)
every_class_loss = pytest.mark.parametrize("loss", CLASS_LOSSES, ids=name_of)


@pytest.fixture(scope="module")
def multilabel():
    return make_multilabel_classification(
        300, n_features=12, n_classes=6, n_labels=2, random_state=0
    )


def tanh(u):
    return torch.tanh(2.0 * u)


# Of activations u, affinities s of pairs, codes c of classes and memberships m.
VALUES = [
    (DSHLoss(margin=1.5), {"tanh_scale": 2.0}, lambda f, u, s, c, m: f(tanh(u), s)),
    (DPSHLoss(quantization_weight=0.3), {}, lambda f, u, s, c, m: f(u, s)),
    (DTSHLoss(1.5, quantization_weight=0.3), {}, lambda f, u, s, c, m: f(u, s)),
    (HashNetLoss(), {"tanh_scale": 2.0}, lambda f, u, s, c, m: f(tanh(u), s)),
    (MutualInformationLoss(), {"tanh_scale": 2.0}, lambda f, u, s, c, m: f(tanh(u), s)),
    (OrthoHashLoss(0.2, cosine_scale=3.0), {}, lambda f, u, s, c, m: f(u, c, m)),
    (
        CSQLoss(quantization_weight=0.3),
        {"tanh_scale": 2.0},
        lambda f, u, s, c, m: f(2.0 * u, m @ c),
    ),
]


@pytest.mark.parametrize(("loss", "params", "value"), VALUES, ids=name_of)
def test_the_loss_is_minimized_with_its_parameters(loss, params, value, few_digits):
    """In one step over all samples, before it is taken."""
    X, y = few_digits[0][:60], few_digits[1][:60]
    hasher = TALRHasher(8, loss=loss, max_iter=1, batch_size=60, bit_dropout=0.0)
    hasher.set_params(learning_rate_init=1e-12, random_state=0, **params).fit(X, y)
    memberships = torch.from_numpy(np.eye(10, dtype=np.float32)[y])
    codes = torch.from_numpy(getattr(hasher, "class_codes_", np.zeros((10, 8)))).float()
    similar = torch.from_numpy((y[:, None] == y).astype(np.uint8))
    activations = torch.from_numpy(hasher.decision_function(X))
    expected = value(loss, activations, similar, codes, memberships).item()
    assert hasher.loss_curve_ == [pytest.approx(expected, rel=1e-3)]


@every_loss
class TestEveryLoss:
    def test_loss_falls(self, loss, digits, learned):
        X, y = digits
        hasher = TALRHasher(16, loss=loss, max_iter=15, bit_dropout=0)
        hasher.set_params(random_state=learned.seed, learning_rate_init=0.01)
        if loss.training_defaults.get("tanh_scale", 8.0) is not None:
            hasher.set_params(tanh_scale=2.0)
        curve = hasher.fit(X[:400], y[:400]).loss_curve_
        # That of mutual information is below 0.
        learned.gain((curve[0] - curve[-1]) / abs(curve[0]))

    def test_labels_in_any_form(self, loss, few_digits, multilabel, learned):
        X, y = few_digits
        unknown = np.where(np.arange(300) == 3, np.nan, y)
        for other, message in (
            (np.zeros(300), "only one class"),
            (y[:-1], "same number of samples"),
            (unknown, "y contains NaN"),
        ):
            with pytest.raises(ValueError, match=message):
                TALRHasher(4, loss=loss).fit(X, other)
        hasher = TALRHasher(8, loss=loss, max_iter=2, random_state=learned.seed)
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
    def test_trains_as_talr_does(self, loss, few_digits):
        """Early stopping, warm starts, hidden layers and modules."""
        X, y = few_digits
        hasher = TALRHasher(
            8, loss=loss, max_iter=2, early_stopping=True, random_state=0
        ).fit(X, y)
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


@every_pair_loss
def test_any_affinity(loss, few_digits):
    X, y = few_digits
    matrix = (y[:, None] == y).astype(int)
    hasher = TALRHasher(8, loss=loss, max_iter=2, random_state=0)
    codes = hasher.fit(X, y).transform(X)
    ready = hasher.fit(X, PrecomputedAffinity(matrix)).transform(X)
    np.testing.assert_array_equal(ready, codes)
    hasher.fit(X)
    assert isinstance(hasher.affinity_, ThresholdAffinity)


@every_class_loss
class TestClassLosses:
    def test_classes_and_their_codes(self, loss, few_digits, learned):
        X, y = few_digits
        hasher = TALRHasher(16, loss=loss, max_iter=30, random_state=learned.seed).fit(X, y)
        np.testing.assert_array_equal(hasher.classes_, np.arange(10))
        codes = hasher.class_codes_
        np.testing.assert_array_equal(codes @ codes.T, 16 * np.eye(10))
        aimed_at = codes[y] > 0
        learned.error(np.mean(hasher.transform(X) != aimed_at))

    def test_targets_must_be_labels(self, loss, few_digits):
        with pytest.raises(ValueError, match="requires y to be passed"):
            TALRHasher(loss=loss).fit(few_digits[0])
        X = np.random.default_rng(0).standard_normal((9, 3))
        for wrap in (np.asarray, sp.csr_array):
            with pytest.raises(ValueError, match="0/1 label indicator"):
                TALRHasher(loss=loss).fit(X, wrap(np.arange(81).reshape(9, 9)))

    def test_warm_start_keeps_the_classes_and_their_codes(self, loss, few_digits):
        X, y = few_digits
        hasher = TALRHasher(12, loss=loss, max_iter=2, warm_start=True, random_state=0).fit(
            X, y
        )
        codes = hasher.class_codes_
        hasher.set_params(random_state=1).fit(X, y)
        np.testing.assert_array_equal(hasher.class_codes_, codes)
        with pytest.raises(ValueError, match="cannot change the classes"):
            hasher.fit(X, y % 5)
        hasher.set_params(warm_start=False).fit(X, y)
        assert np.any(hasher.class_codes_ != codes)


# Losses of one's own


def hinge_loss(bits, affinity):
    """A plain function: inner products above 0 for similar pairs, below 0 for others."""
    products = (2 * (affinity > 0) - 1) * (bits @ bits.T) / bits.shape[1]
    return (1 - products).clamp(min=0).mean()


class ContrastiveLoss(BaseEstimator):
    """A plain class with a parameter."""

    def __init__(self, margin=0.5):
        self.margin = margin

    def __call__(self, bits, affinity):
        distance = (1 - bits @ bits.T / bits.shape[1]) / 2
        apart = (self.margin - distance).clamp(min=0)
        return torch.where(affinity > 0, distance, apart).mean()


class BareLoss:
    """A plain class without a base, that wants other settings and another score."""

    training_defaults = {"tanh_scale": 2.0, "weight_decay": 0.1}
    measure = "nDCG"

    def __init__(self, power):
        self.power = power

    def __call__(self, bits, affinity):
        return ((bits @ bits.T / bits.shape[1] - affinity).abs() ** self.power).mean()


OWN = [hinge_loss, ContrastiveLoss(), BareLoss(2.0)]


@pytest.mark.parametrize("loss", OWN, ids=lambda loss: getattr(loss, "__name__", None))
def test_a_loss_of_ones_own_is_cloned_pickled_and_fitted_in_chunks(loss, few_digits):
    X, y = few_digits
    hasher = TALRHasher(8, loss=loss, max_iter=2, random_state=0).fit(X, y)
    codes = hasher.transform(X)
    for other in (clone(hasher), pickle.loads(pickle.dumps(hasher))):
        np.testing.assert_array_equal(other.fit(X, y).transform(X), codes)
    assert hasher.partial_fit(X, y).n_iter_ == 3


def test_a_class_in_place_of_a_loss_is_refused(few_digits):
    with pytest.raises(ValueError, match="loss must be 'AP' or 'nDCG'"):
        TALRHasher(loss="dsh").fit(*few_digits)
    for loss in (DSHLoss, 3, None):
        with pytest.raises(ValueError, match=r"a loss, such as DSHLoss\(\) or a function"):
            TALRHasher(loss=loss).fit(*few_digits)
    with pytest.raises(ValueError, match="margin"):
        TALRHasher(loss=DSHLoss(margin=-1)).fit(*few_digits)
