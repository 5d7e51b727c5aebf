"""What `y` may be, and what "auto" makes of it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hashers import small

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity


@pytest.fixture(scope="module")
def codes(few_digits):
    """Codes of the digits by their labels."""
    X, y = few_digits
    return small().fit(X, y).transform(X)


def same_label(y_query, y_database):
    """An affinity that the library does not know."""
    return (y_query[:, None] == y_database).astype(int)


same_label.levels_ = np.array([0, 1])


def test_labels_in_any_form(few_digits, codes):
    for change, kind in [
        (lambda y: y[:, None], LabelAffinity),
        (lambda y: np.array(list("abcdefghij"))[y], LabelAffinity),
        (lambda y: pd.Series(y).astype(str), LabelAffinity),
        (lambda y: y.tolist(), LabelAffinity),
        (lambda y: np.eye(10, dtype=int)[y], SharedLabelAffinity),
        (lambda y: sp.csr_array(np.eye(10, dtype=int)[y]), SharedLabelAffinity),
        (lambda y: same_label(y, y), PrecomputedAffinity),
        (lambda y: sp.csr_array(same_label(y, y)), PrecomputedAffinity),
        (lambda y: PrecomputedAffinity(same_label(y, y)), PrecomputedAffinity),
    ]:
        X, y = few_digits
        hasher = small().fit(X, change(y))
        np.testing.assert_array_equal(hasher.transform(X), codes)
        assert isinstance(hasher.affinity_, kind)


def test_no_targets_means_distances(few_digits):
    X, _ = few_digits
    hasher = small(loss="nDCG").fit(X)
    explicit = small(loss="nDCG", affinity=ThresholdAffinity()).fit(X, X)
    np.testing.assert_array_equal(hasher.transform(X), explicit.transform(X))
    assert hasher.score(X) == explicit.score(X, X)


def test_given_oracle_is_not_fitted_in_place(few_digits):
    oracle = ThresholdAffinity()
    hasher = small(affinity=oracle).fit(few_digits[0])
    assert not hasattr(oracle, "thresholds_")
    assert hasattr(hasher.affinity_, "thresholds_")


def test_bad_targets():
    for y, message in [
        (np.zeros(20), "equally similar"),
        (np.arange(20), "No two samples are similar"),
        (np.arange(19) % 2, "same number of samples, got 20 and 19"),
        (np.r_[np.nan, np.zeros(19)], "y contains NaN"),
        (np.eye(20), "No two samples are similar"),
        (np.ones((20, 20)), "equally similar"),
        (-np.ones((20, 20)), "non-negative integers"),
        (np.full((20, 20), 0.5), "non-negative integers"),
        (np.full((20, 20), np.nan), "or NaN, are ignored pairs"),
        (np.zeros((20, 3)), "No two samples are similar"),
        (np.zeros((20, 30)), "PrecomputedAffinity"),
        (np.full((20, 3), 2), "SharedLabelAffinity"),
        (np.ones((20, 3, 2)), "dim 3"),
    ]:
        X = np.random.default_rng(0).standard_normal((20, 4))
        with pytest.raises(ValueError, match=message):
            small().fit(X, y)


def test_no_two_of_many_samples_are_similar():
    """Pairs are looked at in blocks of samples, none of which is similar to itself."""
    X = np.random.default_rng(0).standard_normal((600, 4))
    with pytest.raises(ValueError, match="No two samples are similar"):
        small().fit(X, np.arange(600))
