"""Hard counts against a double loop, for every oracle and across block boundaries."""

import numpy as np
import pytest
import reference
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_array_equal

from sklearn_talr.affinity import (
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
)
from sklearn_talr.codes import pack_codes
from sklearn_talr.histogram import RankingHistogram, hamming_histogram
from sklearn_talr.histogram import _hamming as histogram_module

N_QUERIES, N_DATABASE = 7, 23
N_SAMPLES = N_QUERIES + N_DATABASE


class SameParity:
    """A user's oracle: a plain callable with `levels_`, and gaps between the levels."""

    levels_ = [0, 2, 5]

    def __call__(self, y_query, y_database):
        same = y_query[:, None] == y_database
        return np.where(same, 5, np.where((y_query[:, None] - y_database) % 2, 0, 2))


def problem(name, n_samples=N_SAMPLES, seed=0):
    """An oracle, targets that can be sliced, and all affinities by definition."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n_samples)
    indicator = rng.binomial(1, 0.4, (n_samples, 4))
    matrix = rng.integers(0, 4, (n_samples, n_samples)) ** 2
    features = rng.normal(size=(n_samples, 3))
    if name == "labels":
        return LabelAffinity(), labels, np.equal.outer(labels, labels)
    if name == "strings":
        names = np.array(["ant", "bee", "cat"])[labels]
        return "auto", names, np.equal.outer(labels, labels)
    if name == "indicator":
        return SharedLabelAffinity(), indicator, indicator @ indicator.T
    if name == "binary indicator":
        return SharedLabelAffinity(binary=True), indicator, indicator @ indicator.T > 0
    if name == "sparse indicator":
        return SharedLabelAffinity(), sp.csr_array(indicator), indicator @ indicator.T
    if name == "precomputed":
        y = PrecomputedAffinity(matrix)
        return y, y, matrix
    if name == "sparse precomputed":
        y = PrecomputedAffinity(sp.csr_array(matrix))
        return y, y, matrix
    if name == "thresholds":
        affinity = ThresholdAffinity(quantiles=(0.4, 0.1), levels=(1, 5)).fit(features)
        distances = np.linalg.norm(features[:, None] - features, axis=2)
        graded = np.select([distances <= t for t in affinity.thresholds_[::-1]], [5, 1])
        return affinity, features, graded
    affinity = SameParity()
    return affinity, labels, affinity(labels, labels)


PROBLEMS = [
    "labels",
    "strings",
    "indicator",
    "binary indicator",
    "sparse indicator",
    "precomputed",
    "sparse precomputed",
    "thresholds",
    "plain callable",
]
each_problem = pytest.mark.parametrize("name", PROBLEMS)


def random_codes(n_bits=9, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (N_SAMPLES, n_bits))


def assert_counts(histogram, query_codes, codes, affinities, leave_one_out=False):
    distances = reference.hamming_distances(query_codes, codes)
    n_bins = query_codes.shape[1] + 1
    assert histogram.counts.dtype == np.int64
    assert set(np.unique(affinities)) <= set(histogram.levels)
    expected = reference.histogram(
        distances, affinities, histogram.levels, n_bins, leave_one_out
    )
    assert_array_equal(histogram.counts, expected)


@pytest.fixture(params=["one block", "tiny blocks", "little memory"])
def blocks(request, monkeypatch):
    """Sizes of blocks that do not divide the numbers of queries and items."""
    if request.param != "one block":
        monkeypatch.setattr(histogram_module, "_ITEMS_PER_BLOCK", 5)
        monkeypatch.setattr(histogram_module, "_ITEMS_PER_ORACLE_BLOCK", 5)
    if request.param == "tiny blocks":
        monkeypatch.setattr(histogram_module, "_QUERIES_PER_BLOCK", 3)
    working_memory = {"little memory": 2 * 5 * 32 / 2**20}.get(request.param, 1024)
    with sklearn.config_context(working_memory=working_memory):
        yield


@each_problem
@pytest.mark.usefixtures("blocks")
def test_counts_equal_a_double_loop(name):
    affinity, y, affinities = problem(name)
    codes = random_codes()
    split = slice(None, N_QUERIES), slice(N_QUERIES, None)
    query_codes, database_codes = (codes[rows] for rows in split)
    y_query, y_database = (y[rows] for rows in split)
    histogram = hamming_histogram(
        query_codes, database_codes, affinity, y_query, y_database
    )
    assert_counts(histogram, query_codes, database_codes, affinities[split])
    assert len(histogram) == N_QUERIES
    assert_array_equal(histogram.n_items, [N_DATABASE] * N_QUERIES)
    assert_array_equal(histogram.n_relevant, (affinities[split] > 0).sum(axis=1))


@each_problem
@pytest.mark.usefixtures("blocks")
def test_leave_one_out_leaves_out_the_pairs_i_i_only(name):
    affinity, y, affinities = problem(name)
    codes = random_codes()
    codes[5] = codes[4]  # a twin at distance 0 is still another item
    histogram = hamming_histogram(codes, codes, affinity, y, y, leave_one_out=True)
    assert_counts(histogram, codes, codes, affinities, leave_one_out=True)
    assert_array_equal(histogram.n_items, [N_SAMPLES - 1] * N_SAMPLES)


@pytest.mark.usefixtures("blocks")
def test_leave_one_out_where_a_sample_has_two_codes():
    """An asymmetric hash gives a sample one code as query and another in the database."""
    affinity, y, affinities = problem("indicator")
    query_codes, codes = random_codes(seed=2), random_codes(seed=3)
    histogram = hamming_histogram(query_codes, codes, affinity, y, y, leave_one_out=True)
    assert_counts(histogram, query_codes, codes, affinities, leave_one_out=True)


@pytest.mark.parametrize("working_memory", [2**-12, 0.6, 1, 100])
def test_blocks_of_queries_fit_the_working_memory(working_memory):
    pair = histogram_module._BYTES_PER_PAIR * histogram_module._ITEMS_PER_ORACLE_BLOCK
    with sklearn.config_context(working_memory=working_memory):
        n_queries = histogram_module._queries_per_block()
    assert 1 <= n_queries <= histogram_module._QUERIES_PER_BLOCK
    assert n_queries == 1 or n_queries * pair <= working_memory * 2**20


@pytest.mark.parametrize("n_bits", [1, 8, 20, 64, 70])
@pytest.mark.parametrize("query_order", ["raw", "little", "big"])
@pytest.mark.parametrize("database_order", ["raw", "little", "big"])
def test_packed_codes_give_the_same_counts(n_bits, query_order, database_order):
    affinity, y, affinities = problem("labels")
    codes = random_codes(n_bits)
    query = codes if query_order == "raw" else pack_codes(codes, bitorder=query_order)
    database = (
        codes if database_order == "raw" else pack_codes(codes, bitorder=database_order)
    )
    histogram = hamming_histogram(query, database, affinity, y, y)
    assert_counts(histogram, codes, codes, affinities)


def test_database_order_changes_nothing():
    affinity, y, _ = problem("precomputed")
    codes = random_codes()
    order = np.random.default_rng(4).permutation(N_SAMPLES)
    first = hamming_histogram(codes[:5], codes, affinity, y[:5], y)
    second = hamming_histogram(codes[:5], codes[order], affinity, y[:5], y[order])
    assert_array_equal(first.counts, second.counts)


def test_a_list_of_labels_and_a_list_of_codes():
    histogram = hamming_histogram([[0, 0]], [[0, 0], [1, 1]], "auto", [1], [1, 2])
    assert_array_equal(histogram.levels, [0, 1])
    assert_array_equal(histogram.counts, [[[0, 0, 1], [1, 0, 0]]])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((4, 5, 3, 5), "query_codes and y_query must have equal length, got 4 and 3"),
        (
            (4, 5, 4, 6),
            "database_codes and y_database must have equal length, got 5 and 6",
        ),
    ],
)
@pytest.mark.parametrize("name", ["labels", "sparse indicator", "precomputed"])
def test_mismatched_lengths_name_the_argument(name, sizes, message):
    affinity, y, _ = problem(name)
    codes = random_codes()
    n_query_codes, n_database_codes, n_y_query, n_y_database = sizes
    with pytest.raises(ValueError, match=message):
        hamming_histogram(
            codes[:n_query_codes],
            codes[:n_database_codes],
            affinity,
            y[:n_y_query],
            y[:n_y_database],
        )


def test_codes_of_different_length_are_refused():
    with pytest.raises(ValueError, match="query_codes have 7 bits and database_codes 8"):
        hamming_histogram(np.ones((1, 7)), np.ones((1, 8)), LabelAffinity(), [0], [0])


def test_leave_one_out_needs_as_many_queries_as_items():
    with pytest.raises(ValueError, match="leave_one_out needs query i to be"):
        hamming_histogram([[0]], [[0], [1]], "auto", [0], [0, 1], leave_one_out=True)


@pytest.mark.parametrize("missing", ["y_query", "y_database"])
def test_targets_are_needed(missing):
    targets = {"y_query": [0], "y_database": [0], missing: None}
    with pytest.raises(ValueError, match="y_query and y_database are needed"):
        hamming_histogram([[0]], [[0]], ThresholdAffinity(), **targets)


def test_a_plain_callable_needs_levels():
    def same(y_query, y_database):
        return y_query[:, None] == y_database

    with pytest.raises(TypeError, match="has no levels_"):
        hamming_histogram([[0]], [[0]], same, [0], [0])
    same.levels_ = [0, 1]
    histogram = hamming_histogram([[0]], [[0]], same, [0], [0])
    assert_array_equal(histogram.counts, [[[0, 0], [1, 0]]])


@pytest.mark.parametrize("levels", [[1, 2, 5], [0, 5, 2], [0, 0, 1]])
def test_levels_of_a_plain_callable_must_ascend_from_zero(levels):
    affinity = SameParity()
    affinity.levels_ = levels
    with pytest.raises(ValueError, match="levels_ must ascend from 0"):
        hamming_histogram([[0]], [[0]], affinity, [0], [0])


@pytest.mark.parametrize("levels", [[0, 1], [0, 2], [0, 5], [0, 1, 2, 3, 4]])
def test_values_that_levels_lack_are_refused(levels):
    """Counted silently they would end up in the counts of another level or query."""
    affinity = SameParity()
    affinity.levels_ = levels
    with pytest.raises(ValueError, match="levels_ lack"):
        hamming_histogram([[0], [1]], [[0], [1], [1]], affinity, [0, 1], [0, 1, 2])


def test_a_plain_callable_may_return_floats():
    def shared(y_query, y_database):
        return 1.0 * (y_query[:, None] == y_database)

    shared.levels_ = [0, 1]
    histogram = hamming_histogram([[0]], [[0], [1]], shared, [3], [3, 3])
    assert_array_equal(histogram.counts, [[[0, 0], [1, 1]]])


def test_a_plain_callable_on_sparse_targets():
    def shared(y_query, y_database):
        return (y_query @ y_database.T).toarray()

    shared.levels_ = [0, 1, 2, 3, 4]
    _, y, affinities = problem("sparse indicator")
    codes = random_codes()
    histogram = hamming_histogram(codes, codes, shared, y.tocoo(), y)
    assert_counts(histogram, codes, codes, affinities)


@pytest.mark.parametrize(
    ("shape", "levels", "message"),
    [
        ((2, 3), [0, 1], "counts must have shape"),
        ((2, 3, 4), [0, 1], "with 2 levels, got"),
        ((2, 2, 4), [1, 2], "levels must ascend from 0"),
        ((2, 3, 4), [0, 2, 1], "levels must ascend from 0"),
    ],
)
def test_a_histogram_checks_its_table(shape, levels, message):
    with pytest.raises(ValueError, match=message):
        RankingHistogram(np.zeros(shape, dtype=int), np.array(levels))
