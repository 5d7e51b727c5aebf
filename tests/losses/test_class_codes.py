"""Codes of classes: far apart, and one for each class."""

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.hashing import TALRHasher
from sklearn_talr.losses import OrthoHashLoss, _classes
from sklearn_talr.losses._classes import class_memberships, draw_class_codes, majority_codes


def codes_of_classes(n_classes, n_bits, seed=0):
    """The codes that a fit gives to classes of two samples each."""
    X = np.random.default_rng(0).standard_normal((2 * n_classes, 3))
    hasher = TALRHasher(n_bits, loss=OrthoHashLoss(), max_iter=1, random_state=seed)
    return hasher.fit(X, np.arange(2 * n_classes) % n_classes).class_codes_


def test_hadamard_rows_differ_in_half_of_the_bits():
    for n_bits, n_classes in [(8, 8), (32, 10)]:
        codes = codes_of_classes(n_classes, n_bits)
        np.testing.assert_array_equal(codes @ codes.T, n_bits * np.eye(n_classes))
        other = codes_of_classes(n_classes, n_bits, seed=1)
        assert not np.array_equal(codes, other)


def test_negatives_follow_when_rows_are_used_up():
    codes = codes_of_classes(8, 4)
    np.testing.assert_array_equal(codes[4:], -codes[:4])


def largest_product(codes):
    """Inner product of the two codes that are nearest to each other."""
    return np.max((codes @ codes.T)[np.triu_indices(len(codes), 1)])


def test_random_codes_are_balanced_and_apart():
    """And the nearest two are farther apart than those of nearly all random codes."""
    for n_bits, n_classes in [(12, 10), (48, 20), (8, 40), (7, 3)]:
        codes = codes_of_classes(n_classes, n_bits)
        assert codes.shape == (n_classes, n_bits)
        np.testing.assert_array_equal(np.abs(codes.sum(axis=1)), n_bits % 2)
        rng = np.random.default_rng(1)
        drawn = [largest_product(rng.permuted(codes, axis=1)) for _ in range(50)]
        assert largest_product(codes) <= np.quantile(drawn, 0.1)


def test_of_many_classes_fewer_sets_are_drawn_and_compared(monkeypatch):
    """So that time is linear in their number."""
    compared = []
    largest = _classes._largest_inner_product

    def counted(codes):
        compared.append(codes.shape)
        return largest(codes)

    monkeypatch.setattr(_classes, "_largest_inner_product", counted)
    monkeypatch.setattr(_classes, "_MOST_COMPARED", 10)
    assert draw_class_codes(200, 12, RandomState(0)).shape == (200, 12)
    assert compared == [(200, 12)] * 5
    # Of the codes beyond those compared it does not matter how near they are.
    codes = np.vstack([draw_class_codes(10, 12, RandomState(0)), np.ones((2, 12))])
    assert largest(codes) == largest(codes[:10]) < 12


def test_memberships():
    classes, memberships = class_memberships(LabelAffinity(), np.array(["b", "a", "b"]))
    np.testing.assert_array_equal(classes, ["a", "b"])
    np.testing.assert_array_equal(memberships.toarray(), [[0, 1], [1, 0], [0, 1]])
    indicator = np.array([[1, 0, 1], [0, 0, 0]])
    for y in (indicator, indicator.astype(bool), sp.csr_array(indicator)):
        classes, memberships = class_memberships(SharedLabelAffinity(), y)
        np.testing.assert_array_equal(classes, [0, 1, 2])
        np.testing.assert_array_equal(memberships.toarray(), indicator)
        assert memberships.dtype == np.float32


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
