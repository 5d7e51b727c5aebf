"""What is easily mistaken for labels is refused, and the error says what to do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, resolve_affinity
from sklearn_talr.histogram import hamming_histogram

ROWS_OF_TAGS = {
    "of equal length": [["a", "b"], ["b", "c"], ["a", "d"]],
    "as many as samples": [["a", "b"], ["b", "c"]],
    "numbers": [[1, 5], [2, 3], [0, 1]],
}
TAGS = {
    "of different lengths": [["a"], ["b", "c"], ["a"]],
    "numbers of different lengths": [[1], [2, 3], [0, 1]],
    "sets": [{"a"}, {"b", "c"}, {"a"}],
    "tuples in a column": pd.Series([("a",), ("b", "c"), ("a", "d")]),
    "arrays in a column": pd.Series([np.arange(2), np.arange(3), np.arange(2)]),
}


@pytest.mark.parametrize("kind", [*ROWS_OF_TAGS, *TAGS])
def test_lists_of_labels_name_the_binarizer(kind):
    y = (ROWS_OF_TAGS | TAGS)[kind]
    oracles = ["auto", SharedLabelAffinity()]
    if kind in TAGS:
        oracles.append(LabelAffinity())
    for affinity in oracles:
        with pytest.raises(ValueError, match=r"MultiLabelBinarizer\(\)\.fit_transform\(y"):
            resolve_affinity(affinity, None, y)


@pytest.mark.parametrize("mixed", [["a", 1, 2.5], [1, "a", "b"], [b"a", "a", "b"]])
def test_strings_among_numbers_are_refused(mixed):
    y = np.array(mixed, dtype=object)
    for affinity in ("auto", LabelAffinity()):
        message = r"y has labels of different types.*: .*str.*\. Make them strings"
        with pytest.raises(ValueError, match=message):
            resolve_affinity(affinity, np.eye(3), y)
    numbers = np.array([1, 2.5, True], dtype=object)
    assert_array_equal(LabelAffinity()(numbers, [1]), [[1], [0], [1]])


@pytest.mark.parametrize(
    ("y_query", "y_database", "names"),
    [
        (["0", "1"], [0, 1, 0], "strings and y_database numbers"),
        ([0.0, 1.0], np.array(["0", "1"], dtype=object), "numbers and y_database strings"),
        ([b"a", b"b"], ["a", "b"], "bytes and y_database strings"),
        (np.array([0, True], dtype=object), ["0", "1"], "numbers and y_database strings"),
    ],
)
def test_labels_of_types_that_are_never_equal_are_refused(y_query, y_database, names):
    """Every query would have nothing relevant, and be left out of all means."""
    queries, database = np.eye(2)[: len(y_query)], np.ones((len(y_database), 2))
    with pytest.raises(ValueError, match=f"y_query holds {names}.*astype"):
        hamming_histogram(queries, database, "auto", y_query, y_database)
    with pytest.raises(ValueError, match="never equal"):
        LabelAffinity()(y_query, y_database)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ma.masked_array([0, 1], [True, False]), "y has masked entries"),
        (np.array(["2020", "NaT"], "M8[Y]"), "NaT.*every sample needs a label"),
    ],
)
def test_missing_labels_are_refused_in_every_form(y, message):
    for affinity in ("auto", LabelAffinity()):
        with pytest.raises(ValueError, match=message):
            resolve_affinity(affinity, np.eye(2), y)


@pytest.mark.parametrize("labels", [[-1, 0, 1], [2, -1, -1], [-1.0, 0.0, 0.0]])
def test_minus_one_among_others_marks_no_class(labels):
    for affinity in ("auto", LabelAffinity()):
        with pytest.raises(ValueError, match=r"-1 among others.*X\[y != -1\] and y\[y"):
            resolve_affinity(affinity, np.eye(3), np.array(labels))


@pytest.mark.parametrize(
    "rows",
    [
        np.random.default_rng(0).normal(size=(9, 3)),
        np.random.default_rng(0).normal(size=(3, 9)).tolist(),
        np.full((4, 4), 0.5),
        np.array([[1, 0], [-2, 3], [4, 5]]),
        pd.DataFrame([[0.0, 1.5]] * 3),
        sp.csr_array([[0, 0.5], [0.5, 0], [0, 1]]),
    ],
)
def test_rows_of_features_name_the_oracle_of_distances(rows):
    message = r"features.*pass affinity=ThresholdAffinity\(\)"
    with pytest.raises(ValueError, match=message):
        resolve_affinity("auto", None, rows)
