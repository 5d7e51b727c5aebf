"""Losses bound to training data: levels of pairs, functions of affinities, tie-aware."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hashers import MEASURES, loss_of

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.hashing import CrossViewHasher, TALRHasher
from sklearn_talr.losses import NDCGLoss, TieAwareLoss, _base
from sklearn_talr.losses._base import levels_of_pairs

rng = np.random.default_rng(0)
CPU = torch.device("cpu")
INDICATOR = (rng.random((30, 9)) < 0.3).astype(int)
GRADES = np.array([0, 1, 3, 7])[rng.integers(4, size=(30, 30))]
CASES = {
    "numbers": (LabelAffinity(), rng.integers(4, size=30)),
    "names": (
        LabelAffinity(),
        np.array(["a", "b", "c"], dtype=object)[rng.integers(3, size=30)],
    ),
    "shared": (SharedLabelAffinity(), INDICATOR),
    "shared, bool": (SharedLabelAffinity(), INDICATOR.astype(bool)),
    "shared, any": (SharedLabelAffinity(binary=True), INDICATOR),
    "shared, CSR": (SharedLabelAffinity(), sp.csr_matrix(INDICATOR)),
    "precomputed": (PrecomputedAffinity(GRADES), PrecomputedAffinity(GRADES)),
    "distances": (ThresholdAffinity((0.5, 0.1), levels=(1, 4)), rng.normal(size=(30, 3))),
}
SAMPLES = np.array([3, 29, 0, 11, 17, 8])


@pytest.mark.parametrize("take", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("name", CASES)
def test_levels_are_those_of_the_oracle(name, take, monkeypatch):
    affinity, targets = CASES[name]
    if hasattr(affinity, "fit"):
        affinity.fit(targets)
    levels = np.asarray(affinity.levels_between(targets, targets))
    expected = affinity(targets[SAMPLES], targets[SAMPLES])
    assert len(np.unique(expected)) > 1
    for pairs_per_block in (2**20, 13):  # one block; two rows each
        monkeypatch.setattr(_base, "_PAIRS_PER_BLOCK", pairs_per_block)
        found = levels_of_pairs(affinity, levels, targets, take)(SAMPLES)
        np.testing.assert_array_equal(levels[np.asarray(found).astype(int)], expected)


X = rng.standard_normal((30, 5))


def fitted_in_a_step(name, loss, tanh_scale):
    """A hasher that one step over all samples of a case has not moved."""
    affinity, targets = CASES[name]
    hasher = TALRHasher(8, loss=loss, affinity=affinity, tanh_scale=tanh_scale)
    hasher.set_params(batch_size=30, bit_dropout=0.0, max_iter=1, random_state=0)
    return hasher.set_params(learning_rate_init=1e-12).fit(X, targets)


def affinities_of(name):
    """Affinities of all pairs of a case, and the levels that the oracle declares."""
    affinity, targets = CASES[name]
    if hasattr(affinity, "fit"):
        affinity.fit(targets)
    levels = np.asarray(affinity.levels_between(targets, targets))
    return np.asarray(affinity(targets, targets)), levels


@pytest.mark.parametrize("name", CASES)
def test_a_function_gets_relaxed_bits_and_affinities(name):
    """As floats, so that a researcher may compute with them."""
    affinities, _ = affinities_of(name)
    for tanh_scale, relax in ((0.5, lambda u: torch.tanh(0.5 * u)), (None, lambda u: u)):
        seen = []

        def recorded(bits, affinity, seen=seen):
            seen.append((bits.detach(), affinity))
            return bits.square().mean()

        hasher = fitted_in_a_step(name, recorded, tanh_scale)
        ((bits, affinity),) = seen
        expected = relax(torch.from_numpy(hasher.decision_function(X)))
        order = torch.cdist(bits, expected).argmin(1)
        assert sorted(order) == list(range(30))
        torch.testing.assert_close(bits, expected[order], rtol=1e-4, atol=1e-5)
        assert affinity.dtype == bits.dtype
        np.testing.assert_array_equal(affinity, affinities[np.ix_(order, order)])


@pytest.mark.parametrize("name", CASES)
def test_tie_aware_losses_are_the_tie_aware_module(name):
    """At the levels of the oracle, of which AP knows only 0 and above."""
    affinities, levels = affinities_of(name)
    index = torch.from_numpy(np.searchsorted(levels, affinities))
    for measure in MEASURES:
        loss = loss_of(**measure)
        gains = levels
        if measure["measure"] == "nDCG" and name.startswith("shared"):
            gains = np.log2(1.0 + levels)
        expected = TieAwareLoss(**measure, levels=gains, tanh_scale=3.0)
        hasher = fitted_in_a_step(name, loss, 3.0)
        activations = torch.from_numpy(hasher.decision_function(X)).double()
        expected = expected(activations, index)
        assert hasher.loss_curve_ == pytest.approx([expected.item()], rel=1e-5)
        if not name.startswith("shared"):
            values = torch.from_numpy(affinities.astype(float))
            found = loss(torch.tanh(3.0 * activations), values)
            torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("simplified", [False, True])
def test_grades_whose_gains_overflow_are_refused_at_the_start(simplified):
    A = 1010 * (GRADES > 1)
    hasher = TALRHasher(8, loss=NDCGLoss(simplified), max_iter=1)
    for fit in (
        lambda A: hasher.fit(X, PrecomputedAffinity(A)),
        lambda A: hasher.set_params(max_iter=1).partial_fit(X, PrecomputedAffinity(A)),
        lambda A: CrossViewHasher(8, loss=NDCGLoss(simplified), max_iter=1).fit(
            X, A, X_query=X
        ),
        lambda A: TieAwareLoss("nDCG", simplified=simplified, levels=np.unique(A)),
    ):
        with pytest.raises(ValueError, match=r"grades, .* 1010, .*overflow.* bin them"):
            fit(A)
        fit(np.where(A, 1000, 0))
    TieAwareLoss("AP", levels=[0, 10_000])


class OwnLoss:
    """A loss that binds itself."""

    def __init__(self, function):
        self.function = function

    def __repr__(self):
        return "own_loss"

    def __call__(self, bits, affinity):
        raise NotImplementedError

    def bind(self, training):
        def step(batch):
            bits = batch.bits
            return self.function(bits[0] if isinstance(bits, tuple) else bits)

        return step, {}


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda bits: bits.sum(1), r"shape \(30,\)"),
        (lambda bits: bits.sum().reshape(1), r"shape \(1,\)"),
        (lambda bits: bits.sum().long(), "int64"),
        (lambda bits: 0.5, "Got float"),
        (lambda bits: bits.sum().item(), "Got float"),
        (lambda bits: None, "Got NoneType"),
        (lambda bits: torch.tensor(1.0), "constant"),
        (lambda bits: bits.sum().detach(), "detached"),
    ],
)
def test_own_losses_that_cannot_be_minimized_are_named(function, found):
    def own_loss(bits, affinity, _=None):
        return function(bits)

    y = np.arange(30) % 3
    for loss in (own_loss, OwnLoss(function)):
        hasher = TALRHasher(8, loss=loss, batch_size=30, bit_dropout=0.0)
        crossing = CrossViewHasher(8, loss=loss, teacher=None, batch_size=30)
        for fit in (
            lambda hasher=hasher: hasher.fit(X, y),
            lambda hasher=crossing: hasher.fit(X, y, X_query=X, y_query=y),
        ):
            with pytest.raises(ValueError, match=rf"loss '?own_loss'? must .*{found}"):
                fit()
