"""Codes of classes: far apart, and one for each class."""

import numpy as np
import pytest
from numpy.random import RandomState

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.baselines._class_codes import (
    class_memberships,
    draw_class_codes,
    majority_codes,
)


@pytest.mark.parametrize(("n_bits", "n_classes"), [(8, 8), (32, 10)])
def test_hadamard_rows_differ_in_half_of_the_bits(n_bits, n_classes):
    codes = draw_class_codes(n_classes, n_bits, RandomState(0))
    np.testing.assert_array_equal(codes @ codes.T, n_bits * np.eye(n_classes))
    other = draw_class_codes(n_classes, n_bits, RandomState(1))
    assert not np.array_equal(codes, other)


def test_negatives_follow_when_rows_are_used_up():
    codes = draw_class_codes(8, 4, RandomState(0))
    np.testing.assert_array_equal(codes[4:], -codes[:4])


@pytest.mark.parametrize(("n_bits", "n_classes"), [(12, 10), (48, 20), (8, 40), (7, 3)])
def test_random_codes_are_balanced_and_apart(n_bits, n_classes):
    """And the nearest two are farther apart than those of nearly all random codes."""
    codes = draw_class_codes(n_classes, n_bits, RandomState(0))
    assert codes.shape == (n_classes, n_bits)
    np.testing.assert_array_equal(np.abs(codes.sum(axis=1)), n_bits % 2)

    def largest_product(codes):
        return np.max((codes @ codes.T)[np.triu_indices(n_classes, 1)])

    rng = np.random.default_rng(1)
    drawn = [largest_product(rng.permuted(codes, axis=1)) for _ in range(50)]
    assert largest_product(codes) <= np.quantile(drawn, 0.1)


def test_memberships():
    classes, memberships = class_memberships(LabelAffinity(), np.array(["b", "a", "b"]))
    np.testing.assert_array_equal(classes, ["a", "b"])
    np.testing.assert_array_equal(memberships, [[0, 1], [1, 0], [0, 1]])
    indicator = np.array([[1, 0, 1], [0, 0, 0]])
    classes, memberships = class_memberships(SharedLabelAffinity(), indicator)
    np.testing.assert_array_equal(classes, [0, 1, 2])
    np.testing.assert_array_equal(memberships, indicator)


def test_majority():
    rng = np.random.default_rng(0)
    memberships = (rng.random((7, 4)) < 0.4).astype(float)
    memberships[:2] = [[0, 0, 0, 0], [1, 1, 0, 0]]
    codes = rng.choice([-1.0, 1.0], (4, 6))
    drawn = [majority_codes(memberships, codes, RandomState(seed)) for seed in range(20)]
    for sample, belongs in enumerate(memberships):
        for bit in range(6):
            votes = [codes[k, bit] for k in range(4) if belongs[k]]
            expected = {np.sign(sum(votes))} if sum(votes) or not votes else {-1, 1}
            assert {aims[sample, bit] for aims in drawn} == expected
