"""The structured SVM of rankings and its columns against their definitions."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.metrics import average_precision_score

from sklearn_talr.baselines._structhash import (
    HammingRankingSVM,
    agreeing_direction,
    relaxed_agreement,
)

SIMILAR = np.array([[1, 1, 0, 0, 1], [1, 1, 0, 1, 0], [0, 0, 1, 1, 0]], dtype=bool)


def draw(seed, n_bits=4, loss="AP", C=20.0):
    rng = np.random.RandomState(seed)
    codes = rng.choice([-1.0, 1.0], (5, n_bits))
    return HammingRankingSVM(SIMILAR, loss, C, 1e-6), codes, rng


def mean_pair_score(scores, similar, order):
    """The mean over pairs, of the sign by this order times the difference of scores."""
    place = np.argsort(order)
    terms = [
        np.sign(place[j] - place[i]) * (scores[i] - scores[j])
        for i in np.flatnonzero(similar)
        for j in np.flatnonzero(~similar)
    ]
    return np.mean(terms)


def risk_by_definition(scores):
    values = []
    for query, similar in enumerate(SIMILAR):
        others = np.arange(5) != query
        relevant, of_query = similar[others], scores[query, others]
        perfect = mean_pair_score(of_query, relevant, np.argsort(~relevant))
        hinges = []
        for order in map(np.array, permutations(range(4))):
            loss = 1 - average_precision_score(relevant[order], [4, 3, 2, 1])
            hinges.append(loss + mean_pair_score(of_query, relevant, order) - perfect)
        values.append(max(hinges))
    return np.mean(values)


def test_risk():
    for seed in range(3):
        svm, _, rng = draw(seed)
        scores = rng.standard_normal((3, 5))
        assert svm.risk(scores) == pytest.approx(risk_by_definition(scores))


@pytest.mark.parametrize("loss", ["AP", "nDCG"])
def test_no_other_weight_is_better(loss):
    for seed in range(3):
        svm, codes, _ = draw(seed, loss=loss)
        svm.fit(codes)
        agreement = codes[:3] @ codes.T / 2
        weights = [svm.weight, 0.0, *np.geomspace(1e-3, 10, 60)]
        objectives = [4 * w + 20 * svm.risk(w * agreement) for w in weights]
        assert objectives[0] <= min(objectives[1:]) + 1e-4


def test_weights_of_agreement_are_minus_a_slope_of_the_risk():
    for seed in range(3):
        svm, codes, rng = draw(seed)
        svm.fit(codes)
        scores = svm.weight * (codes[:3] @ codes.T) / 2
        for _ in range(20):
            others = scores + rng.standard_normal((3, 5))
            bound = 20 * svm.risk(scores) - np.sum(
                svm.agreement_weights() * (others - scores)
            )
            assert 20 * svm.risk(others) >= bound - 1e-4
        assert np.all(svm.agreement_weights()[np.arange(3), np.arange(3)] == 0)


def test_gradient_of_agreement():
    rng = np.random.RandomState(0)
    X, wanted = rng.standard_normal((6, 4)), rng.standard_normal((3, 6))
    error = check_grad(
        lambda w: relaxed_agreement(w, X, wanted, 0.1)[0],
        lambda w: relaxed_agreement(w, X, wanted, 0.1)[1],
        rng.standard_normal(4),
    )
    assert error < 1e-6


def test_direction_separates_what_should_differ():
    rng = np.random.RandomState(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 3))
    X[:, 1] += 6 * y - 3
    wanted = np.where(y[:10, None] == y, 1.0, -1.0)
    direction = agreeing_direction(X, wanted, 0.001, rng)
    signs = X @ direction > 0
    assert len(np.unique(signs[y == 0])) == len(np.unique(signs[y == 1])) == 1
    assert signs[0] != signs[1]
