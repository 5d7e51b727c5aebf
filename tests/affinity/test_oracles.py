"""Affinity oracles against their definitions, and which one `y` means."""

import copy
import pickle
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sklearn_talr.affinity import (
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
    resolve_affinity,
)
from sklearn_talr.baselines import BREHasher

RNG = np.random.default_rng(0)
INDICATOR = RNG.binomial(1, 0.4, (8, 4))
MATRIX = RNG.integers(0, 4, (8, 8))
SPARSE = [sp.csr_matrix, sp.coo_array]


@pytest.mark.parametrize(
    ("y_query", "y_database"),
    [
        ([0, 1, 5], [5, 5, 0, 2]),
        (["ant", "bee"], ["bee", "ant", "cat"]),
        (np.array(["ant", "bee"], dtype=object), np.array(["bee", "ant"])),
        (pd.Series([0.0, 1.5], index=[7, 8]), [1.5, 1.5]),
        (pd.Series(["a", "b"], dtype="category"), pd.Series(["b", "c", "a"])),
        ([True, False], [1, 0, 1]),
        ([[0], [1]], [1, 0]),
    ],
)
def test_label_affinity_is_one_for_equal_labels(y_query, y_database):
    flat = [np.asarray(y).ravel().tolist() for y in (y_query, y_database)]
    affinity = LabelAffinity()
    expected = [[a == b for b in flat[1]] for a in flat[0]]
    assert_array_equal(affinity(y_query, y_database), expected)
    assert_array_equal(affinity.levels_, [0, 1])
    assert affinity.fit(y_query) is affinity


def test_a_missing_label_is_refused():
    some = ["a", None], ["a", np.nan], ("a", np.nan), pd.Series(["a", pd.NA])
    for missing in ([0, np.nan], [0, np.inf], *some):
        with pytest.raises(ValueError, match="every sample needs a label"):
            LabelAffinity()(missing, missing)


@pytest.mark.parametrize("width", [3, 100_000])
@pytest.mark.parametrize("dtype", [*"?bBhHiIlL", "<U6", "f"])
def test_labels_are_grouped_as_by_sorting(dtype, width):
    highest = np.iinfo(dtype).max if dtype in "bBhHiIlL" else width
    lowest = max(0, highest - width)
    y = RNG.integers(lowest, highest, 70_000, dtype="u8", endpoint=True).astype(dtype)
    values, index = LabelAffinity().group_targets(y)
    expected_values, expected_index = np.unique(y, return_inverse=True)
    assert values.dtype == y.dtype
    assert_array_equal(values, expected_values)
    assert_array_equal(index, expected_index)


@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist, pd.DataFrame, *SPARSE])
def test_shared_labels_are_counted(convert):
    shared = [[sum(a & b) for a, b in zip([q] * 8, INDICATOR)] for q in INDICATOR[:3]]
    for dtype, binary in product((int, float, bool), (False, True)):
        y = INDICATOR.astype(dtype)
        affinity = SharedLabelAffinity(binary=binary).fit(convert(y))
        actual = affinity(convert(y[:3]), convert(y))
        assert isinstance(actual, np.ndarray)
        assert actual.dtype.kind == "i"
        assert_array_equal(actual, np.array(shared) > 0 if binary else shared)
        most = 1 if binary else INDICATOR.sum(axis=1).max()
        assert_array_equal(affinity.levels_, np.arange(most + 1))


def test_shared_label_levels_are_bounded_by_both_sides():
    few, many = [[1, 0, 0], [0, 0, 0]], [[1, 1, 1]]
    assert_array_equal(SharedLabelAffinity().levels_between(few, many), [0, 1])
    assert_array_equal(SharedLabelAffinity().levels_between(many, many), [0, 1, 2, 3])
    assert_array_equal(SharedLabelAffinity().levels_between(few[1:], many), [0])


def test_indicators_hold_zeros_and_ones():
    for y in ([[0, 2]], [[0.5, 1]], [[-1, 1]], sp.csr_array([[0, 2]])):
        with pytest.raises(ValueError, match=r"0/1 label indicator.*PrecomputedAffinity"):
            SharedLabelAffinity().fit(y)


@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist, pd.DataFrame, *SPARSE])
def test_precomputed_affinity_looks_values_up(convert):
    for dtype in (int, float, np.uint8):
        y = PrecomputedAffinity(convert(MATRIX.astype(dtype)))
        assert (len(y), y.shape, y.ndim) == (8, (8, 8), 2)
        assert y.toarray().dtype.kind in "iu"
        assert_array_equal(y.toarray(), MATRIX)
        assert_array_equal(y(y, y), MATRIX)
        assert_array_equal(y.levels_, [0, 1, 2, 3])


SELECTIONS = [
    slice(2, 6),
    slice(None, None, -1),
    np.array([7, 0, 3]),
    [1, 1, 2],
    np.arange(8) % 2 == 0,
    (np.array([4, 5]), Ellipsis),
]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_selections_slice_rows_and_columns(convert):
    y = PrecomputedAffinity(convert(MATRIX))
    for rows in SELECTIONS:
        selection = y[rows]
        kept = np.arange(8)[rows[0] if isinstance(rows, tuple) else rows]
        assert selection.shape == (len(kept), len(kept))
        assert_array_equal(selection.toarray(), MATRIX[np.ix_(kept, kept)])
        assert_array_equal(selection[1:].toarray(), MATRIX[np.ix_(kept[1:], kept[1:])])
        assert_array_equal(y.toarray(), MATRIX)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_affinities_between_two_selections(convert):
    """The matrix need not be symmetric: rows are queries."""
    y = PrecomputedAffinity(convert(MATRIX))
    first, second = y[[5, 2]], y[3:]
    for oracle in (y, first, second):
        assert_array_equal(oracle(first, second), MATRIX[[5, 2], 3:])
        assert_array_equal(oracle(second, first), MATRIX[3:, [5, 2]])


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda y: pickle.loads(pickle.dumps(y)), partial(clone, safe=False)],
)
def test_copies_keep_the_matrix_and_understand_the_original(duplicate):
    for convert in (np.asarray, sp.csr_array):
        y = PrecomputedAffinity(convert(MATRIX))
        other = duplicate(y[[3, 1, 6]])
        assert_array_equal(other.toarray(), MATRIX[np.ix_([3, 1, 6], [3, 1, 6])])
        assert_array_equal(other(other, y), MATRIX[[3, 1, 6]])
        assert_array_equal(y(y, other), MATRIX[:, [3, 1, 6]])


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_selections_of_another_matrix_are_refused(convert):
    """Equal shapes must not suffice: values would be read from the wrong matrix."""
    y = PrecomputedAffinity(convert(MATRIX))
    for other in (MATRIX.T, MATRIX[:7, :7]):
        with pytest.raises(TypeError, match="selection of the same PrecomputedAffinity"):
            y(PrecomputedAffinity(convert(other)), y)
    with pytest.raises(TypeError, match="selection of the same PrecomputedAffinity"):
        y(MATRIX, MATRIX)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, -0.5], [1, 0]], "affinity must hold integers"),
        ([[0, 0.5], [0.5, 0]], "affinity must hold integers"),
        ([["a", "b"], ["b", "a"]], "affinity must hold integers"),
        ([[0, 1, 2], [1, 0, 2]], r"affinity must be square, got shape \(2, 3\)"),
        ([[0, np.inf], [1, 0]], "affinity contains infinity"),
        ([0, 1], "Expected 2D array"),
        ("auto", "The 'affinity' parameter of PrecomputedAffinity"),
        (sp.csr_array([[0, 0.5], [0.5, 0]]), "affinity must hold integers"),
        (sp.csr_array([[0, 1, 2]]), r"affinity must be square, got shape \(1, 3\)"),
        (sp.csr_array([[0, -np.inf], [1, 0]]), "affinity contains infinity"),
    ],
)
def test_what_is_not_an_affinity_matrix_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        PrecomputedAffinity(matrix)


@pytest.mark.parametrize(
    ("y", "oracle"),
    [
        ([0, 1, 0, 2], LabelAffinity),
        (["a", "b", "a", "b"], LabelAffinity),
        (pd.Series([1, 2, 1, 2], index=list("wxyz")), LabelAffinity),
        (np.array([[0], [1], [0], [2]]), LabelAffinity),
        (pd.DataFrame({"label": [0, 1, 0, 2]}), LabelAffinity),
        ([[1, 0], [0, 1], [1, 1], [0, 0]], SharedLabelAffinity),
        (INDICATOR.astype(bool), SharedLabelAffinity),
        (pd.DataFrame(INDICATOR, columns=list("abcd")), SharedLabelAffinity),
        *((convert(INDICATOR), SharedLabelAffinity) for convert in SPARSE),
        (PrecomputedAffinity(MATRIX), PrecomputedAffinity),
        (MATRIX.tolist(), PrecomputedAffinity),
        (pd.DataFrame(MATRIX), PrecomputedAffinity),
        *((convert(MATRIX), PrecomputedAffinity) for convert in SPARSE),
        (None, ThresholdAffinity),
    ],
)
def test_auto_goes_by_the_form_of_y(y, oracle):
    X = np.random.default_rng(8).normal(size=(4 if y is None else np.shape(y)[0], 3))
    affinity, targets = resolve_affinity("auto", X, y)
    assert type(affinity) is oracle
    assert targets.shape[0] == len(X)
    if y is None:
        assert_array_equal(targets, X)
        affinity.fit(targets)
    elif oracle is PrecomputedAffinity:
        assert_array_equal(affinity(targets, targets), MATRIX)
    else:
        values = y.toarray() if sp.issparse(y) else np.asarray(y)
        if oracle is LabelAffinity:
            values = np.equal.outer(values.ravel(), values.ravel())
        else:
            values = values.astype(int) @ values.T
        assert_array_equal(affinity(targets, targets), values)
    assert affinity(targets[:2], targets).shape == (2, len(X))


@pytest.mark.parametrize(
    "y",
    [
        MATRIX[:5] > 1,
        MATRIX[:5].tolist(),
        sp.csr_array(MATRIX[:5]),
        pd.DataFrame(MATRIX[:, :5]),
    ],
)
def test_auto_refuses_what_cross_validation_made_of_a_matrix(y):
    """More columns than rows, or neither square nor 0/1; both remedies are named."""
    message = r"PrecomputedAffinity\(matrix\)(.|\n)*affinity=SharedLabelAffinity\(\)"
    with pytest.raises(ValueError, match=message):
        resolve_affinity("auto", None, y)


def test_oracles_are_cloned_and_printed_like_estimators():
    oracles = LabelAffinity(), SharedLabelAffinity(True), ThresholdAffinity((0.5,), (3,))
    for affinity in oracles:
        twin = clone(affinity)
        assert twin is not affinity
        assert twin.get_params() == affinity.get_params()
        assert type(affinity).__name__ in repr(affinity)


def test_the_parameters_of_an_oracle_are_checked_in_every_fit():
    """Also within the fit of a hasher, which has scikit-learn skip nested checks."""
    X, y = np.eye(6), np.eye(6, 3, dtype=int)
    with pytest.raises(ValueError, match="'binary' parameter of SharedLabelAffinity"):
        SharedLabelAffinity(binary="no").fit(y)
    for affinity in (SharedLabelAffinity("no"), ThresholdAffinity(subsample=1)):
        targets = y if isinstance(affinity, SharedLabelAffinity) else None
        with pytest.raises(ValueError, match=f"parameter of {type(affinity).__name__}"):
            BREHasher(2, affinity=affinity).fit(X, targets)
