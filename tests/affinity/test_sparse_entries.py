"""Sparse targets mean what their toarray() holds, however their entries are stored."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import (
    JudgmentAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
    query_groups,
    resolve_affinity,
)
from sklearn_talr.histogram import hamming_histogram

FORMATS = "csr", "csc", "coo", "bsr", "dia", "dok", "lil"
CODES = np.random.default_rng(0).integers(0, 2, (6, 5))


def in_parts(table, seed=0):
    """A CSR matrix that stores entries of a table in units, unsorted, and some zeros."""
    rng, rows = np.random.default_rng(seed), []
    for row in np.asarray(table):
        columns = np.repeat(np.arange(len(row)), row)
        ones = np.ones(len(columns), int)
        columns, ones = np.append(columns, [0, 0]), np.append(ones, [0, 0])
        order = rng.permutation(len(columns))
        rows.append((ones[order], columns[order]))
    ends = np.cumsum([0] + [len(columns) for _, columns in rows])
    entries = (np.concatenate([part[side] for part in rows]) for side in range(2))
    return sp.csr_array((*entries, ends), shape=np.shape(table))


def grades():
    return np.random.default_rng(1).integers(0, 4, (6, 6))


def histogram(affinity, y_query, y_database):
    return hamming_histogram(CODES, CODES, affinity, y_query, y_database).counts


def test_precomputed_affinities_add_up():
    dense, stored = grades(), in_parts(grades())
    before = stored.copy()
    ready, parts = PrecomputedAffinity(dense), PrecomputedAffinity(stored)
    assert_array_equal(parts.levels_, ready.levels_)
    assert_array_equal(histogram("auto", parts, parts), histogram("auto", ready, ready))
    assert_array_equal(
        parts.neighborhoods(parts, parts.levels_).toarray(),
        ready.neighborhoods(ready, ready.levels_).toarray(),
    )
    assert_array_equal(stored.data, before.data)  # the user's matrix is as it was
    assert_array_equal(stored.indices, before.indices)


@pytest.mark.parametrize("form", FORMATS)
def test_all_formats_are_the_dense_matrix(form):
    dense = grades()
    matrix = sp.csr_array(dense).asformat(form)
    ready, other = PrecomputedAffinity(dense), PrecomputedAffinity(matrix)
    assert_array_equal(other.toarray(), dense)
    assert_array_equal(histogram("auto", other, other), histogram("auto", ready, ready))
    numbers = np.arange(6)
    assert_array_equal(JudgmentAffinity()(matrix, numbers), dense)
    labels = (dense > 1).astype(int)
    shared = sp.csr_array(labels).asformat(form)
    affinity = SharedLabelAffinity().fit(labels)
    assert_array_equal(affinity(shared, labels), affinity(labels, labels))
    wide = np.vstack([labels, labels])
    affinity, targets = resolve_affinity("auto", None, sp.csr_array(wide).asformat(form))
    assert_array_equal(targets.toarray(), wide)
    sets = ThresholdAffinity((0.5, 0.1), (1, 2), metric="jaccard").fit(labels)
    assert_array_equal(sets(shared, shared), sets(labels, labels))


@pytest.mark.filterwarnings("ignore:Training has not raised")
def test_training_on_parts_is_training_on_sums():
    n_samples, n_entries = 60, 300
    places = np.repeat((np.arange(n_samples) + 1) % n_samples, n_entries)
    ends = np.arange(0, n_samples * n_entries + 1, n_entries)
    entries = np.ones(n_samples * n_entries, int), places, ends
    stored = sp.csr_matrix(entries, shape=(n_samples, n_samples))
    X = np.random.default_rng(0).normal(size=(n_samples, 5))
    hasher = TALRHasher(8, loss="nDCG", max_iter=2, random_state=0)
    parts = hasher.fit(X, PrecomputedAffinity(stored)).decision_function(X)
    whole = hasher.fit(X, PrecomputedAffinity(stored.toarray())).decision_function(X)
    np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-5)


def test_judgments_add_up():
    dense, stored = grades(), in_parts(grades())
    affinity = JudgmentAffinity().fit(stored)
    assert_array_equal(affinity.levels_, JudgmentAffinity().fit(dense).levels_)
    assert_array_equal(affinity(stored, np.arange(6)), dense)
    assert_array_equal(affinity(np.arange(6), stored), dense.T)
    assert_array_equal(query_groups(stored), query_groups(dense))
    counts = histogram(JudgmentAffinity(), stored, np.arange(6))
    assert_array_equal(counts, histogram(JudgmentAffinity(), dense, np.arange(6)))


def test_a_label_or_an_element_is_there_once():
    labels = grades() > 1
    twice = in_parts(2 * labels)
    with pytest.raises(ValueError, match="0/1 label indicator"):
        SharedLabelAffinity().fit(twice)
    sets = ThresholdAffinity((0.5, 0.1), (1, 2), metric="jaccard")
    with pytest.raises(ValueError, match=r"0 and 1.*but holds 2"):
        sets.fit(twice)
    once = in_parts(labels.astype(int))  # unsorted, with zeros that are stored
    assert_array_equal(sets.fit(once)(once, once), sets.fit(labels)(labels, labels))
    affinity = SharedLabelAffinity().fit(once)
    assert_array_equal(affinity.levels_, SharedLabelAffinity().fit(labels).levels_)
    assert_array_equal(affinity(once, once), affinity(labels, labels))


@pytest.mark.parametrize("make", [PrecomputedAffinity, JudgmentAffinity().fit])
def test_indices_beyond_the_shape_are_refused(make):
    matrix = sp.csr_array(np.eye(3, dtype=int))
    matrix.indices[1] = 7
    with pytest.raises(ValueError, match="ind"):
        make(matrix)
