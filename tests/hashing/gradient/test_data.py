"""What is learned from in chunks: levels and thresholds over all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hashers import small
from sklearn.datasets import make_multilabel_classification

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import SharedLabelAffinity, ThresholdAffinity


def graded(y_query, y_database):
    """An oracle that does not tell its levels."""
    return 3 * (y_query[:, None] == y_database)


def test_kinds_of_targets(few_digits):
    X, y = few_digits
    matrix = PrecomputedAffinity((y[:, None] == y).astype(int))
    _, indicator = make_multilabel_classification(300, random_state=0)
    for target in (matrix, sp.csr_array(indicator), X):
        affinity = ThresholdAffinity() if target is X else "auto"
        hasher = small(affinity=affinity)
        for rows in np.array_split(np.arange(300), 3):
            hasher.partial_fit(X[rows], target[rows])
        assert hasher.n_iter_ == 3
        assert 0 < hasher.score(X, target) < 1


def test_thresholds_are_those_of_the_first_chunk(few_digits):
    X, _ = few_digits
    hasher = small().partial_fit(X)
    thresholds = hasher.affinity_.thresholds_
    hasher.partial_fit(10 * X)
    np.testing.assert_array_equal(hasher.affinity_.thresholds_, thresholds)


def test_levels_grow_with_shared_labels(few_digits):
    X, _ = few_digits
    few = np.eye(4, dtype=int)[np.arange(100) % 4]
    many = np.maximum(few, np.roll(few, 1, axis=0))
    hasher = small(loss="nDCG", affinity=SharedLabelAffinity())
    hasher.partial_fit(X[:100], few)
    first = hasher.affinity_
    assert first.levels_.tolist() == [0, 1]
    hasher.partial_fit(X[100:200], many).partial_fit(X[:100], few)
    assert hasher.affinity_.levels_.tolist() == [0, 1, 2]
    assert first.levels_.tolist() == [0, 1]


def test_declared_levels(few_digits):
    X, y = few_digits
    with pytest.raises(ValueError, match="Pass levels to the first"):
        small(affinity=graded).partial_fit(X, y)
    hasher = small(affinity=graded).partial_fit(X, y, levels=[0, 3])
    hasher.partial_fit(X, y)
    assert hasher.n_iter_ == 2
    with pytest.raises(ValueError, match="differ from those of the first call"):
        hasher.partial_fit(X, y, levels=[0, 2, 3])


def test_bad_levels(few_digits):
    for levels in [[1, 2], [0], [0, 0.5], [0, 2, 1], [[0, 1]]]:
        with pytest.raises(ValueError, match="levels"):
            small().partial_fit(*few_digits, levels=levels)


def test_levels_that_lack_a_value(few_digits):
    X, _ = few_digits
    _, indicator = make_multilabel_classification(300, random_state=0)
    with pytest.raises(ValueError, match="lacks"):
        small().partial_fit(X, indicator, levels=[0, 1])


def test_early_stopping_has_no_chunks(few_digits):
    hasher = small(early_stopping=True)
    assert not hasattr(hasher, "partial_fit")
    with pytest.raises(AttributeError) as error:
        hasher.partial_fit(*few_digits)
    assert "early_stopping=False" in str(error.value.__cause__)
