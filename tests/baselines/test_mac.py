"""MACHasher: rounds of the two steps against their objective."""

import numpy as np
import pytest
from discrete_cases import draw_codes, draw_similar, pairwise_loss, penalized_loss
from hashers import held_out_histogram, mean_ap

from sklearn_talr.baselines import MACHasher, _mac
from sklearn_talr.baselines._graph_cuts import PairwiseBits
from sklearn_talr.baselines._mac import BitwiseSVMs, improve_codes
from sklearn_talr.hashing import LSHHasher


@pytest.mark.parametrize("penalty", [0.0, 0.3, 1.0])
def test_neither_step_raises_the_objective(penalty):
    for seed in range(3):
        rng = np.random.RandomState(seed)
        pairs = PairwiseBits(draw_similar(rng, 30), rng)
        svms = BitwiseSVMs(rng.standard_normal((30, 5)), 4, 1.0, rng)
        codes = draw_codes(rng, 30, 4)
        svms.fit(codes)

        def value(codes=codes, svms=svms, signs=pairs.signs):
            return penalized_loss(codes, svms.outputs, signs, penalty)

        values = [value()]
        for _ in range(3):
            improve_codes(codes, svms.outputs, pairs, penalty, rng)
            values.append(value())
            svms.fit(codes)
            values.append(value())
        assert values[1] < values[0]
        assert np.all(np.diff(values) <= 1e-12)


def test_outputs_are_those_of_the_functions_and_learn_what_can_be_told_apart():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 3))
    svms = BitwiseSVMs(X, 3, 1.0, rng)
    codes = np.ones((40, 3), dtype=np.float32)
    codes[:, 1] = -1
    codes[:, 2] = np.where(X @ [1, 2, -1] > 0.5, 1, -1)
    svms.fit(codes)
    outputs = np.where(X @ svms.coef + svms.intercept > 0, 1, -1)
    np.testing.assert_array_equal(svms.outputs, outputs)
    np.testing.assert_array_equal(svms.outputs[:, :2], codes[:, :2])
    assert np.mean(svms.outputs[:, 2] == codes[:, 2]) > 0.9


def test_learns(digits, learned):
    X, y = digits[0][:900], digits[1][:900]
    hasher = MACHasher(16, random_state=learned.seed)
    aps = [
        mean_ap(held_out_histogram(h, X, y, 500))
        for h in (LSHHasher(16, random_state=learned.seed), hasher)
    ]
    learned.gain(aps[1] - aps[0])
    assert len(hasher.loss_curve_) == hasher.n_iter_ > 1


def test_the_penalty_doubles_from_round_to_round(few_digits, monkeypatch):
    """Two passes without any come first."""
    penalties = []

    def recorded(codes, outputs, pairs, penalty, rng):
        penalties.append(penalty)
        improve_codes(codes, outputs, pairs, penalty, rng)

    monkeypatch.setattr(_mac, "improve_codes", recorded)
    hasher = MACHasher(4, first_penalty=0.05, random_state=0).fit(*few_digits)
    rounds = 0.05 * 2.0 ** np.arange(hasher.n_iter_ - 1)
    assert penalties == pytest.approx([0.0, 0.0, *rounds])


def test_the_best_round_is_kept():
    """Of labels that mean nothing, an early one."""
    rng = np.random.RandomState(3)
    X, y = rng.standard_normal((30, 3)), rng.randint(0, 4, 30)
    hasher = MACHasher(2, first_penalty=0.02, random_state=3).fit(X, y)
    codes = np.where(hasher.transform(X), 1.0, -1.0)
    signs = np.where(y[:, None] == y, 1.0, -1.0)
    assert hasher.loss_curve_[-1] > min(hasher.loss_curve_) + 0.1
    assert pairwise_loss(codes, signs) == pytest.approx(min(hasher.loss_curve_), abs=1e-4)
