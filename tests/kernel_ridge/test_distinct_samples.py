"""Copies are merged, groups lie together, and walks on grids end at a minimum."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.kernel_ridge._model import _some_rows, _whole_groups, climb
from sklearn_talr.kernel_ridge._samples import distinct_samples


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("grouped", [False, True])
def test_copies_are_merged(form, grouped):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(40, 3)) - 0.0
    Y = rng.integers(2, size=(40, 2)).astype(float)
    weights = rng.integers(3, size=40).astype(float)
    groups = rng.permutation(np.arange(40) % 3) if grouped else None
    samples = distinct_samples(form(X), Y, weights, groups)
    assert_array_equal(samples.index < 0, weights == 0)
    members = {}
    for i in np.flatnonzero(weights):
        members.setdefault((tuple(X[i]), groups[i] if grouped else 0), []).append(i)
    assert len(members) == len(samples.weights)
    stored = samples.X.toarray() if sp.issparse(samples.X) else samples.X
    for rows in members.values():
        (place,) = set(samples.index[rows])
        assert_array_equal(stored[place], X[rows[0]])
        assert samples.weights[place] == weights[rows].sum()
        mean = np.average(Y[rows], axis=0, weights=weights[rows])
        assert_allclose(samples.Y[place], mean)
    assert np.all(np.diff(samples.groups) >= 0)
    if grouped:
        counted = weights > 0
        found = samples.groups[samples.index[counted]]
        assert_array_equal(found[:, None] == found, np.equal.outer(*2 * [groups[counted]]))


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[0.0, 1.0], [-0.0, 1.0]]),
        sp.csr_array((np.array([0.0, 1, 1]), np.array([0, 1, 1]), np.array([0, 2, 3]))),
        sp.csr_array((np.array([1.0, 2, 2, 1]), np.array([0, 1, 1, 0]), [0, 2, 4])),
        sp.csr_array((np.array([1.0, 1, 2]), np.array([0, 0, 0]), np.array([0, 2, 3]))),
    ],
    ids=["signs of zero", "stored zeros", "order of indices", "indices given twice"],
)
def test_equal_values_are_copies_however_they_are_stored(rows):
    before = rows.copy()
    samples = distinct_samples(rows, np.eye(2), np.ones(2), None)
    assert_array_equal(samples.weights, [2])
    assert_array_equal(samples.Y, [[0.5, 0.5]])
    if sp.issparse(rows):
        assert_array_equal(rows.indices, before.indices)
        assert_array_equal(rows.data, before.data)


@given(
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=12),
    n_wanted=st.integers(2, 40),
    seed=st.integers(0, 1000),
)
def test_some_rows_are_of_two_groups_at_least(sizes, n_wanted, seed):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rows = _some_rows(groups, n_wanted, np.random.RandomState(seed))
    assert len(rows) <= max(n_wanted, 2)
    assert np.all(np.diff(rows) > 0)
    assert len(np.unique(groups[rows])) >= 2
    if len(groups) <= n_wanted:
        assert_array_equal(rows, np.arange(len(groups)))
    elif max(sizes) * 2 <= n_wanted:
        counts = Counter(groups[rows].tolist())
        assert all(sizes[group] == count for group, count in counts.items())
    alone = _some_rows(np.arange(50), n_wanted, np.random.RandomState(seed))
    assert len(alone) == n_wanted


@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=12))
def test_blocks_divide_no_group(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    blocks = _whole_groups(groups, 2**20)  # 8 rows
    assert_array_equal(np.concatenate(blocks), np.arange(len(groups)))
    owners = [set(groups[rows].tolist()) for rows in blocks]
    assert sum(map(len, owners)) == len(sizes)
    assert all(len(rows) < 8 + max(sizes) for rows in blocks)


@given(table=st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1))
def test_walks_end_where_no_neighbor_is_better(table):
    table, seen = np.array(table), Counter()

    def evaluate(point):
        seen[point] += 1
        return SimpleNamespace(loss=table[point])

    start = len(table) // 2, 1
    (row, column), best = climb(evaluate, start, table.shape)
    assert best.loss == table[row, column] <= table[start]
    around = table[max(0, row - 1) : row + 2, column].tolist()
    around += table[row, max(0, column - 1) : column + 2].tolist()
    assert best.loss == min(around)
    assert max(seen.values()) == 1
