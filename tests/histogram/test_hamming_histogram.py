"""Counts of two sets of codes against a double loop, for every oracle and way to count."""

import tracemalloc

import joblib
import numpy as np
import pytest
import reference
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sklearn_talr.affinity import (
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
)
from sklearn_talr.codes import PackedCodes, pack_codes
from sklearn_talr.histogram import HammingHistogram, _hamming, hamming_histogram

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


def learned_codes(rng, n_samples, n_bits, n_distinct):
    """Codes with few distinct values, unevenly used."""
    distinct = rng.integers(2, size=(n_distinct, n_bits), dtype=np.uint8)
    return distinct[(n_distinct * rng.random(n_samples) ** 2).astype(int)]


def assert_counts(histogram, query_codes, codes, affinities, exclude_self=False):
    distances = reference.hamming_distances(query_codes, codes)
    n_bits = query_codes.shape[1]
    assert type(histogram) is HammingHistogram
    assert histogram.n_bits == n_bits
    assert histogram.counts.dtype == np.int64
    assert set(np.unique(affinities)) <= set(histogram.levels)
    columns = histogram.levels, n_bits + 1
    expected = reference.histogram(distances, affinities, *columns, exclude_self)
    assert_array_equal(histogram.counts, expected)


@pytest.fixture(params=["one block", "tiny blocks"])
def blocks(request, monkeypatch):
    """Sizes of blocks that do not divide the numbers of queries and items."""
    if request.param == "tiny blocks":
        monkeypatch.setattr(_hamming, "_ITEMS_PER_ORACLE_BLOCK", 5)
        monkeypatch.setattr(_hamming, "_QUERIES_PER_BLOCK", 3)


@each_problem
@pytest.mark.usefixtures("blocks")
def test_counts_equal_a_double_loop(name):
    affinity, y, affinities = problem(name)
    codes = random_codes()
    split = slice(None, N_QUERIES), slice(N_QUERIES, None)
    query_codes, database_codes = (codes[rows] for rows in split)
    y_query, y_database = (y[rows] for rows in split)
    sides = query_codes, database_codes
    histogram = hamming_histogram(*sides, affinity, y_query, y_database)
    assert_counts(histogram, query_codes, database_codes, affinities[split])
    codes[5] = codes[4]  # a twin at distance 0 is still another item
    histogram = hamming_histogram(codes, codes, affinity, y, y, exclude_self=True)
    assert_counts(histogram, codes, codes, affinities, exclude_self=True)


@pytest.mark.parametrize("name", ["labels", "precomputed"])
@pytest.mark.usefixtures("blocks")
def test_a_sample_with_two_codes_is_left_out_where_its_two_codes_put_it(name):
    """Some hashers give a sample one code as query and another in the database."""
    affinity, y, affinities = problem(name)
    query_codes, codes = random_codes(seed=2), random_codes(seed=3)
    histogram = hamming_histogram(query_codes, codes, affinity, y, y, exclude_self=True)
    assert_counts(histogram, query_codes, codes, affinities, exclude_self=True)


@pytest.mark.parametrize("exclude_self", [False, True])
@pytest.mark.parametrize("n_bits", [8, 100])
@pytest.mark.parametrize("n_classes", [4, 300])
def test_repeated_codes_are_counted_with_weights(n_classes, n_bits, exclude_self):
    rng = np.random.default_rng(2)
    codes, y = learned_codes(rng, 100, n_bits, 12), rng.integers(n_classes, size=100)
    arguments = codes, codes, LabelAffinity(), y, y
    histogram = hamming_histogram(*arguments, exclude_self=exclude_self)
    assert_counts(histogram, codes, codes, (y[:, None] == y) * 1, exclude_self)
    few = hamming_histogram(codes[:9], codes, LabelAffinity(), y[:9], y)  # not merged
    assert_counts(few, codes[:9], codes, (y[:9, None] == y) * 1)


@pytest.mark.parametrize("target", ["labels", "indicators"])
def test_threads_do_not_change_counts(target):
    rng = np.random.default_rng(6)
    codes = rng.integers(2, size=(700, 24), dtype=np.uint8)
    y = rng.integers(5, size=700)
    if target == "indicators":
        y = rng.integers(2, size=(700, 6))
    one = hamming_histogram(codes, codes, "auto", y, y)
    two = hamming_histogram(codes, codes, "auto", y, y, n_jobs=2)
    assert_array_equal(one.counts, two.counts)
    with joblib.parallel_config(n_jobs=2):
        context = hamming_histogram(codes, codes, "auto", y, y)
    assert_array_equal(one.counts, context.counts)


def test_memory_stays_bounded():
    """2 000 x 300 000 pairs in a few MiB beside codes and result."""
    rng = np.random.default_rng(0)
    codes = PackedCodes(rng.integers(256, size=(300_000, 8), dtype=np.uint8), 64)
    y = rng.integers(10, size=300_000)
    tracemalloc.start()
    hamming_histogram(codes[:2000], codes, "auto", y[:2000], y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20


@pytest.mark.parametrize("n_labels", [3, 70])
def test_database_in_parts_adds_up(n_labels):
    """Parts whose items have few labels know fewer levels; the sum knows all."""
    rng = np.random.default_rng(7)
    query, database = rng.integers(2, size=(2, 60, 12), dtype=np.uint8)
    y_query, y_database = (rng.random((2, 60, n_labels)) < 0.3).astype(int)
    y_database[:20] = 0
    whole = hamming_histogram(query, database, SharedLabelAffinity(), y_query, y_database)
    chunks = ((database[i : i + 20], y_database[i : i + 20]) for i in (0, 20, 40))
    total = sum(
        hamming_histogram(query, codes, SharedLabelAffinity(), y_query, y)
        for codes, y in chunks
    )
    assert_array_equal(total.levels, whole.levels)
    assert_array_equal(total.counts, whole.counts)


def test_database_order_changes_nothing():
    affinity, y, _ = problem("precomputed")
    codes = random_codes()
    order = np.random.default_rng(4).permutation(N_SAMPLES)
    first = hamming_histogram(codes[:5], codes, affinity, y[:5], y)
    second = hamming_histogram(codes[:5], codes[order], affinity, y[:5], y[order])
    assert_array_equal(first.counts, second.counts)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((4, 5, 3, 5), "query_codes and y_query must have equal length, got 4 and 3"),
        ((4, 5, 4, 6), "database_codes and y_database must have equal length, got 5 and 6"),
    ],
)
def test_mismatched_lengths_name_the_argument(sizes, message):
    affinity, y, _ = problem("sparse indicator")
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


@pytest.mark.parametrize("n_queries", [1, 4])  # 4: as many queries as labels
@pytest.mark.parametrize("form", [np.asarray, sp.lil_matrix, sp.dia_array])
def test_the_form_of_the_database_says_what_few_queries_hold(form, n_queries):
    affinity, indicator, _ = problem("indicator")
    codes, ranked = np.eye(N_SAMPLES, 8, dtype=int), (indicator[:n_queries], indicator)
    wanted = hamming_histogram(codes[:n_queries], codes, affinity, *ranked)
    found = hamming_histogram(codes[:n_queries], codes, "auto", *map(form, ranked))
    assert_array_equal(found.counts, wanted.counts)


def test_a_plain_callable_needs_levels():
    def same(y_query, y_database):
        return y_query[:, None] == y_database

    with pytest.raises(TypeError, match="has no levels_"):
        hamming_histogram([[0]], [[0]], same, [0], [0])
    same.levels_ = [0, 1]
    histogram = hamming_histogram([[0]], [[0]], same, [0], [0])
    assert_array_equal(histogram.counts, [[[0, 0], [1, 0]]])


@pytest.mark.parametrize("levels", [[1, 2, 5], [0, 0, 1]])
def test_levels_of_a_plain_callable_must_ascend_from_zero(levels):
    affinity = SameParity()
    affinity.levels_ = levels
    with pytest.raises(ValueError, match="levels_ must ascend from 0"):
        hamming_histogram([[0]], [[0]], affinity, [0], [0])


@pytest.mark.parametrize("levels", [[0, 2], [0, 5], [0, 1, 2, 3, 4]])
def test_values_that_levels_lack_are_refused(levels):
    """Counted silently they would end up in the counts of another level or query."""
    affinity = SameParity()
    affinity.levels_ = levels
    with pytest.raises(ValueError, match="levels_ lack"):
        hamming_histogram([[0], [1]], [[0], [1], [1]], affinity, [0, 1], [0, 1, 2])


def test_affinities_of_another_shape_are_refused():
    """Counts of a transposed array were those of whatever lay behind it in memory."""

    def transposed(y_query, y_database):
        return np.equal.outer(y_database, y_query)

    transposed.levels_ = [0, 1]
    with pytest.raises(ValueError, match=r"\(n_query, n_database\), here \(1, 2\), got"):
        hamming_histogram([[0]], [[0], [1]], transposed, [0], [0, 1])


@pytest.mark.parametrize("kind", [LabelAffinity, SharedLabelAffinity])
@pytest.mark.parametrize(
    ("change", "message"), [(np.transpose, "got shape"), (lambda a: 3 * a, "levels_ lack")]
)
def test_a_subclass_that_compares_otherwise_is_not_trusted(kind, change, message):
    """Its values would be places in a table, and write beside it."""

    class Own(kind):
        levels_ = np.array([0, 1, 2])

        def levels_between(self, y_query, y_database):
            return self.levels_

        def __call__(self, y_query, y_database):
            return change(super().__call__(y_query, y_database))

    class Heir(Own):
        pass

    y = np.eye(3, dtype=int) if kind is SharedLabelAffinity else np.arange(3)
    for affinity in (Own(), Heir()):
        with pytest.raises(ValueError, match=message):
            hamming_histogram([[0]], [[0], [1], [1]], affinity, y[:1], y)


def test_codes_with_factors_are_refused():
    """Their Hamming distances rank otherwise than their scores, and rank poorly."""
    bits = pack_codes([[0, 1], [1, 1]])
    terms = PackedCodes(bits.data, 2, terms=[[1.0], [0.5]])
    for side, codes in ("query_codes", (terms, bits)), ("database_codes", (bits, terms)):
        with pytest.raises(ValueError, match=rf"{side} .* factors .*PackedCodes\({side}"):
            hamming_histogram(*codes, "auto", [0, 1], [0, 1])
    meant = [PackedCodes(each.data, each.n_bits, each.bitorder) for each in (terms, bits)]
    counted = hamming_histogram(*meant, "auto", [0, 1], [0, 1])
    assert_array_equal(counted.counts, [[[0, 1, 0], [1, 0, 0]]] * 2)


def test_read_only_codes_are_counted_by_the_same_compiled_loop():
    from sklearn_talr._loops._counts import count_levels

    data = np.random.default_rng(0).integers(256, size=(40, 1), dtype=np.uint8)
    y = np.arange(40) % 3
    expected = hamming_histogram(PackedCodes(data, 8), PackedCodes(data, 8), "auto", y, y)
    n_forms = len(count_levels.signatures)
    data = data.copy()
    data.flags.writeable = False
    codes = PackedCodes(data, 8)
    assert_array_equal(
        hamming_histogram(codes, codes, "auto", y, y).counts, expected.counts
    )
    assert len(count_levels.signatures) == n_forms
