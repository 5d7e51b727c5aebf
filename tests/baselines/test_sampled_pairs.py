"""Rows that discrete hashers draw, and the affinity of all their pairs."""

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.baselines import BREHasher
from sklearn_talr.baselines._sampled_pairs import ScaledRows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
GRADES = np.array([0, 1, 4])[RNG.integers(3, size=(30, 30))]
GRADES = np.maximum(GRADES, GRADES.T)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_and_their_affinities(kind, monkeypatch):
    names = "drawn_", "affinities_"

    def found(_, *drawn):
        return drawn[-1]().finish(dict(zip(names, drawn)))

    monkeypatch.setattr(BREHasher, "_fit_pairs", found)
    for subsample, n_rows in [(7, 7), (30, 30), (99, 30), (None, 30)]:
        hasher = BREHasher(subsample=subsample, random_state=0)
        hasher.fit(kind(X), PrecomputedAffinity(GRADES))
        rows = [np.flatnonzero((row == X).all(axis=1)).item() for row in hasher.drawn_]
        assert len(set(rows)) == n_rows
        assert rows != sorted(rows)
        expected = GRADES[np.ix_(rows, rows)] / 4
        np.testing.assert_array_equal(hasher.affinities_, expected)
        assert hasher.n_features_in_ == 4


def test_pairs_that_do_not_count_are_refused():
    y = PrecomputedAffinity(np.where(GRADES == 4, -1, GRADES))
    with pytest.raises(ValueError, match="BREHasher knows no pairs that do not count"):
        BREHasher(random_state=0).fit(X, y)


def test_units_and_back():
    scaled = ScaledRows.from_rows(3 * X + 5)
    assert np.mean(np.sum(scaled.rows**2, axis=1)) == pytest.approx(1)
    np.testing.assert_allclose(scaled.rows.mean(axis=0), 0, atol=1e-12)
    coef, intercept = RNG.standard_normal((4, 2)), np.array([0.5, -1.0])
    fitted = scaled.linear_function(coef, intercept)
    np.testing.assert_allclose(
        (3 * X + 5 - fitted["means_"][0]) @ fitted["coefs_"][0] + fitted["intercepts_"][0],
        scaled.rows @ coef + intercept,
    )
