"""LSHHasher and ITQHasher: projections of centered rows."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from sklearn_talr.hashing import ITQHasher, LSHHasher


@pytest.mark.parametrize("cls", [LSHHasher, ITQHasher])
def test_bits_are_signs_of_the_projection_of_centered_rows(cls, few_digits):
    X, _ = few_digits
    rows = X - X.mean(axis=0)
    hasher = cls(8, random_state=3).fit(X)
    (directions,) = hasher.coefs_
    np.testing.assert_allclose(
        hasher.decision_function(X), rows @ directions, rtol=1e-5, atol=1e-4
    )
    if cls is LSHHasher:  # drawn from a standard normal distribution
        drawn = np.random.RandomState(3).standard_normal((64, 8))
        np.testing.assert_array_equal(directions, drawn)
    else:  # a rotation of the principal axes
        axes = PCA(8).fit(X).components_
        np.testing.assert_allclose(axes.T @ (axes @ directions), directions, atol=1e-6)
        np.testing.assert_allclose(directions.T @ directions, np.eye(8), atol=1e-6)


def test_a_sample_on_the_hyperplane_has_bit_0():
    hasher = LSHHasher(4, random_state=0).fit([[-1.0], [1.0]])
    middle = [[0.0]]
    assert not hasher.decision_function(middle).any()
    assert not hasher.transform(middle).any()
    assert not hasher.encode(middle).data.any()
