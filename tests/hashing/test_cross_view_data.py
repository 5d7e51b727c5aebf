"""CrossViewHasher: features and targets of many forms, and odd ones."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cross_view_cases import (
    LONE_CLASSES,
    VARIANTS,
    WAYS,
    C,
    J,
    Q,
    X,
    Y,
    codes_of,
    every_variant,
    every_way,
    fit,
    queries_of,
    small,
)
from numpy.testing import assert_array_equal

pytestmark = LONE_CLASSES


# Each gives the features of a view in another form.
FORMS = {
    "sparse array": sp.csr_array,
    "sparse matrix": sp.csr_matrix,
    "by coordinates": sp.coo_array,
    "by columns": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "single precision": lambda X: X.astype(np.float32),
    "half precision": lambda X: X.astype(np.float16),  # digits are integers
    "integers": lambda X: X.astype(np.int8),
    "lists": lambda X: X.tolist(),
}


@cache
def codes_of_towers(way, seed):
    hasher = fit(way, teacher=None, random_state=seed)
    return hasher.transform(WAYS[way][0][0]), hasher.transform_query(queries_of(way))


@every_way
@pytest.mark.parametrize("form", FORMS)
def test_towers_of_features_of_any_form(way, form, learned):
    (args, kwargs), change = WAYS[way], FORMS[form]
    expected = codes_of_towers(way, learned.seed)
    more = kwargs | ({"X_query": change(Q)} if kwargs else {})
    other = small(teacher=None, random_state=learned.seed)
    other.fit(change(args[0]), *args[1:], **more)
    queries = change(queries_of(way))
    found = other.transform(change(args[0])), other.transform_query(queries)
    learned.error(max(np.mean(a != b) for a, b in zip(found, expected)))


def test_features_are_left_as_they_were():
    """Also those of which nothing may be written."""
    read_only = X.copy(), Q.copy()
    for of_view in read_only:
        of_view.flags.writeable = False
    for y, c in ((Y, C), (J, None)):
        for teacher in ("auto", None):
            hasher = small(teacher=teacher)
            hasher.fit(read_only[0], y, X_query=read_only[1], y_query=c)
            hasher.transform_query(read_only[1])
    assert_array_equal(read_only[0], X)


def odd_judgments():
    """Grades with an empty row and column, and a query to which all is relevant."""
    grades = J.toarray()
    grades[:, 3] = 0
    grades[7] = 0
    grades[:, 5] = 1 + np.arange(160) % 2
    grades[7, 5] = 1
    return grades


@pytest.mark.filterwarnings("ignore:Only 1 of 3 items")
@every_variant
@pytest.mark.parametrize(
    ("items", "queries", "grades"),
    [
        (X, Q, odd_judgments()),
        (X, Q, sp.coo_array(odd_judgments())),
        (X, Q, odd_judgments().astype(float)),
        (X, Q, odd_judgments() > 0),
        (np.repeat(X[:20], 3, axis=0), np.repeat(Q[:10], 2, axis=0), None),
        (X, Q[:2], odd_judgments()[:, 4:6]),
        (X[:2], Q[:2], np.eye(2, dtype=int)),
        (X[:2], Q, odd_judgments()[[9, 12]]),
        (X[:3], Q[:3], np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0]])),
        (X * [0, *np.ones(31)], Q * [*np.ones(31), 0], odd_judgments()),
        (X[:, :1] + X[:, 1:2], Q[:, 2:3], odd_judgments()),
        (1e6 + 1e4 * X, 1e-6 * Q, odd_judgments()),
        (X, Q, 1000 * odd_judgments()),
    ],
)
def test_odd_judgments(variant, items, queries, grades):
    """Empty rows and columns, copies, one of everything, units of any size."""
    if grades is None:
        grades = np.equal.outer(np.repeat(Y[:20], 3), np.repeat(C[:10], 2)).astype(int)
    hasher = small(**VARIANTS[variant]).fit(items, grades, X_query=queries)
    assert np.all(np.isfinite(hasher.decision_function(items)))
    assert np.all(np.isfinite(hasher.query_weights(queries)))
    assert 0 < hasher.score(items, grades, X_query=queries) <= 1


@every_variant
def test_classes_that_one_side_lacks(variant):
    items, queries = Y > 2, C < 7
    data = X[items], Y[items], Q[queries], C[queries]
    hasher = small(**VARIANTS[variant])
    hasher.fit(data[0], data[1], X_query=data[2], y_query=data[3])
    assert hasher.transform_query(Q).shape == (50, 8)
    words = np.array(list("abcdefghij"))
    codes = codes_of(hasher, "labels")
    hasher.fit(data[0], words[data[1]], X_query=data[2], y_query=words[data[3]].tolist())
    for found, wanted in zip(codes_of(hasher, "labels"), codes):
        assert_array_equal(found, wanted)


def test_judgments_of_few_items_warn_and_teach_nothing():
    """As many as half of the items may be without anything relevant."""
    grades = np.zeros((160, 50), dtype=int)
    grades[np.arange(80), np.arange(80) % 50] = 1
    assert small().fit(X, grades, X_query=Q).teacher_ is not None
    grades[0] = 0
    with pytest.warns(UserWarning, match="Only 79 of 160 items") as caught:
        hasher = small().fit(X, grades, X_query=Q)
    assert hasher.teacher_ is None
    assert caught[0].filename == __file__


def test_unjudged_pairs_ignored():
    """Alike where all is judged; what nobody has judged does not matter."""
    dense = np.equal.outer(Y, C).astype(int)
    row, column = np.indices(dense.shape).reshape(2, -1)
    stored = sp.csr_array((dense.ravel(), (row, column)), shape=dense.shape)
    assert stored.nnz == dense.size
    for teacher in ("auto", None):
        hasher = small(teacher=teacher)
        expected = codes_of(hasher.fit(X, dense, X_query=Q), "judgments")
        hasher.set_params(unjudged="ignored").fit(X, stored, X_query=Q)
        for found, wanted in zip(codes_of(hasher, "judgments"), expected):
            assert_array_equal(found, wanted)
    judged_alone = fit("judgments", unjudged="ignored")
    assert np.any(judged_alone.transform(X) != fit("judgments").transform(X))
    assert J.nnz > np.count_nonzero(J.toarray())  # and stays as it was


ITEMS = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(32)])
QUERIES = pd.DataFrame(Q, columns=[f"word {i}" for i in range(32)])


@every_variant
def test_names_of_columns_of_both_views(variant):
    hasher = small(**VARIANTS[variant])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for targets in ((pd.Series(Y), pd.Series(C)), (J, None)):
            hasher.fit(ITEMS, targets[0], X_query=QUERIES, y_query=targets[1])
            hasher.transform(ITEMS)
            hasher.transform_query(QUERIES)
            hasher.query_weights(QUERIES)
            hasher.score(ITEMS, targets[0], X_query=QUERIES, y_query=targets[1])
    assert_array_equal(hasher.feature_names_in_, ITEMS.columns)
    names = hasher.query_hasher_.feature_names_in_
    assert_array_equal(names, QUERIES.columns)
    for method, frame in (
        (hasher.transform, QUERIES),
        (hasher.transform_query, ITEMS),
        (hasher.transform_query, QUERIES.iloc[:, ::-1]),
    ):
        with pytest.raises(ValueError, match=r"feature names should match"):
            method(frame)
    with pytest.warns(UserWarning, match=r"does not have valid feature names"):
        codes = hasher.transform_query(Q)
    assert_array_equal(codes, hasher.transform_query(QUERIES))
