"""Each step of coordinate descent against a search over all steps."""

import numpy as np
import pytest

from sklearn_talr.baselines._bre import Reconstruction, best_step


def draw(seed, n=9, n_bits=5, n_anchors=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    similarity = rng.choice([-1.0, 0.0, 1.0], (n, n))
    similarity = np.triu(similarity, 1) + np.triu(similarity, 1).T
    anchors = rng.integers(n, size=(n_anchors, n_bits))
    weights = rng.standard_normal((n_anchors, n_bits))
    return Reconstruction(X @ X.T, similarity, anchors, weights), similarity


def error_by_definition(codes, similarity):
    terms = []
    for i in range(len(codes)):
        for j in range(len(codes)):
            if i != j:
                distance = np.mean(codes[i] != codes[j])
                terms.append(((1 - similarity[i, j]) / 2 - distance) ** 2)
    return np.mean(terms)


def test_error():
    for seed in range(5):
        model, similarity = draw(seed)
        assert model.error() == pytest.approx(error_by_definition(model.codes, similarity))


def test_no_other_value_of_a_weight_is_better():
    for seed in range(20):
        model, similarity = draw(seed)
        bit, anchor = seed % 5, seed % 3
        column = model.kernel[:, model.anchors[anchor, bit]]
        borders = np.sort(-model.activations[:, bit] / column)
        between = (borders[1:] + borders[:-1]) / 2
        steps = [0, *between, borders[0] - 1, borders[-1] + 1]
        errors = [error_after(model, similarity, bit, column, step) for step in steps]
        activations, code = model.activations[:, bit], model.codes[:, bit]
        step = best_step(activations, column, code, model.target_of(bit))
        error = error_after(model, similarity, bit, column, step)
        assert error == pytest.approx(min(errors))
        if error == errors[0]:
            assert step == 0


def error_after(model, similarity, bit, column, step):
    codes = model.codes.copy()
    codes[:, bit] = np.where(model.activations[:, bit] + step * column > 0, 1, -1)
    return error_by_definition(codes, similarity)


def test_samples_that_flip_together():
    """Equal rows have equal bits, whatever would be better."""
    activations, column = np.array([1.0, 1.0, -2.0]), np.array([-1.0, -1.0, 0.0])
    code, wanted = np.sign(activations), np.array([[0, -9, 1], [-9, 0, 1], [1, 1, 0.0]])
    step = best_step(activations, column, code, wanted)
    assert np.all(np.sign(activations + step * column) == -1)


def test_descent_keeps_activations_and_weights_together():
    for seed in range(3):
        model, _ = draw(seed)
        before = model.error()
        model.descend(range(model.codes.shape[1]), np.random.RandomState(0))
        assert model.error() <= before
        for bit, (anchors, weights) in enumerate(zip(model.anchors.T, model.weights.T)):
            activations = model.kernel[:, anchors] @ weights
            np.testing.assert_allclose(model.activations[:, bit], activations, atol=1e-9)
            np.testing.assert_array_equal(model.codes[:, bit] > 0, activations > 0)
