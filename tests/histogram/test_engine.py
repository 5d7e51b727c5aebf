"""The counting engine: every way of counting gives the same integers."""

import sys
import tracemalloc

import joblib
import numpy as np
import pytest
import reference
import torch
from numpy.testing import assert_array_equal

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.codes import PackedCodes, pack_codes
from sklearn_talr.histogram import (
    RankingHistogram,
    _hamming,
    _kernels,
    hamming_histogram,
)
from sklearn_talr.metrics import tie_aware_average_precision, tie_aware_ndcg


def learned_codes(rng, n_samples, n_bits, n_distinct):
    """Codes with few distinct values, unevenly used."""
    distinct = rng.integers(2, size=(n_distinct, n_bits), dtype=np.uint8)
    return distinct[(n_distinct * rng.random(n_samples) ** 2).astype(int)]


def block(rng, n_queries, n_items, n_words, word, shared):
    high = np.iinfo(word).max
    queries = rng.integers(high, size=(n_queries, n_words), dtype=word, endpoint=True)
    items = rng.integers(high, size=(n_items, n_words), dtype=word, endpoint=True)
    n_bins = 8 * np.dtype(word).itemsize * n_words + 1
    rows = 1 if shared else n_queries
    offsets = (rng.integers(3, size=(rows, n_items)) * n_bins).astype(np.uint32)
    return queries, items, offsets, 3 * n_bins


def count_by_loop(queries, items, offsets, n_cells, weights):
    counts = np.zeros((len(queries), n_cells), dtype=np.int64)
    for q, query in enumerate(queries):
        for i, item in enumerate(items):
            distance = sum(int(a ^ b).bit_count() for a, b in zip(query, item))
            counts[q, offsets[q % len(offsets), i] + distance] += weights[i]
    return counts


def expected_counts(query, database, y_query, y_database):
    """Double loop of the reference, for labels."""
    distances = reference.hamming_distances(query, database)
    affinity = (y_query[:, None] == y_database).astype(int)
    return reference.histogram(distances, affinity, [0, 1], query.shape[1] + 1)


SHAPES = [
    # n_queries, n_items, n_words, word
    (3, 40, 1, np.uint8),
    (41, 17, 1, np.uint16),
    (35, 30, 1, np.uint64),
    (5, 30, 3, np.uint64),
    (3, 5, 64, np.uint64),  # 4096 bits: keys beyond 16 bits
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shared", [True, False], ids=["items", "pairs"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("way", ["torch", "numpy", "numba", "device"])
def test_kernels_equal_a_loop(shape, shared, weighted, way, monkeypatch):
    rng = np.random.default_rng(0)
    arguments = block(rng, *shape, shared)
    weights = rng.integers(1, 9, size=shape[1]) if weighted else None
    if way == "numba":
        pytest.importorskip("numba", reason="numba is an optional extra")
        counts = np.zeros((shape[0], arguments[3]), dtype=np.int64)
        _kernels._fused_kernel()(*arguments[:3], weights, counts)
    elif way == "device":  # what runs on a GPU, here on the CPU
        counts = _kernels._count_with_torch(*arguments, weights, "cpu")
    else:
        if way == "numpy":
            monkeypatch.delitem(sys.modules, "torch", raising=False)
        counts = _kernels._count_with_bincount(*arguments, weights)
    ones = np.ones(shape[1], dtype=int)
    expected = count_by_loop(*arguments, ones if weights is None else weights)
    assert_array_equal(counts, expected)


def test_fused_kernel_takes_over_after_enough_pairs(monkeypatch):
    rng = np.random.default_rng(1)
    arguments = block(rng, 4, 10, 1, np.uint64, True)
    expected = _kernels._count_with_bincount(*arguments, None)
    calls = []

    def fused(queries, items, offsets, weights, counts):
        calls.append(len(queries))
        counts += expected

    monkeypatch.setattr(_kernels, "_fused_kernel", lambda: fused)
    monkeypatch.setattr(_kernels, "_numba_is_installed", lambda: True)
    monkeypatch.setattr(_kernels, "_counted_pairs", 0)
    monkeypatch.setattr(_kernels, "_PAIRS_BEFORE_NUMBA", 50)
    for taken in (0, 1):
        assert_array_equal(_kernels.count_block(*arguments), expected)
        assert len(calls) == taken
    monkeypatch.setattr(_kernels, "_numba_is_installed", lambda: False)
    assert_array_equal(_kernels.count_block(*arguments), expected)
    assert len(calls) == 1


@pytest.mark.parametrize("n_bits", [8, 30, 100])
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_repeated_codes_are_counted_with_weights(n_bits, leave_one_out, monkeypatch):
    rng = np.random.default_rng(2)
    codes = learned_codes(rng, 600, n_bits, 25)
    y = rng.integers(4, size=600)
    merged = []
    merge = _hamming._merge_repeats

    def spy(items):
        merged.append(merge(items))
        return merged[-1]

    monkeypatch.setattr(_hamming, "_merge_repeats", spy)
    arguments = codes, codes, LabelAffinity(), y, y
    quick = hamming_histogram(*arguments, leave_one_out=leave_one_out)
    assert len(merged[0].words) <= 25 * 4
    assert merged[0].weights.sum() == 600
    monkeypatch.setattr(_hamming, "_QUERIES_TO_SEEK_REPEATS", 10**9)
    plain = hamming_histogram(*arguments, leave_one_out=leave_one_out)
    assert len(merged) == 1
    assert_array_equal(quick.counts, plain.counts)
    expected = expected_counts(codes[:5], codes, y[:5], y)
    if leave_one_out:
        expected[np.arange(5), 1, 0] -= 1
    assert_array_equal(plain.counts[:5], expected)


def test_distinct_codes_are_not_merged(monkeypatch):
    def refuse(items):
        raise AssertionError("merging distinct codes is a loss")

    monkeypatch.setattr(_hamming, "_merge_repeats", refuse)
    rng = np.random.default_rng(3)
    codes = rng.integers(2, size=(500, 64), dtype=np.uint8)
    y = rng.integers(4, size=500)
    assert hamming_histogram(codes, codes, "auto", y, y).counts.sum() == 500**2


def test_codes_that_repeat_too_little_are_counted_plainly():
    """Merged, then found not worth it: the counts are the same."""
    rng = np.random.default_rng(4)
    codes = learned_codes(rng, 500, 40, 400)
    y = rng.integers(3, size=500)
    whole = hamming_histogram(codes, codes, "auto", y, y)
    parts = [
        hamming_histogram(codes[i : i + 50], codes, "auto", y[i : i + 50], y)
        for i in range(0, 500, 50)
    ]  # too few queries to look for repeats
    assert_array_equal(whole.counts, np.concatenate([part.counts for part in parts]))


@pytest.mark.parametrize(("n_classes", "grouped"), [(2, True), (300, False)])
def test_many_classes_are_compared_pair_by_pair(n_classes, grouped, monkeypatch):
    ways = []
    for way in ("_count_by_group", "_count_by_oracle"):
        count = getattr(_hamming, way)
        monkeypatch.setattr(
            _hamming, way, lambda *a, way=way, count=count: ways.append(way) or count(*a)
        )
    rng = np.random.default_rng(5)
    codes = rng.integers(2, size=(400, 64), dtype=np.uint8)
    y = rng.permutation(np.arange(400) % n_classes)
    counts = hamming_histogram(codes, codes, "auto", y, y).counts
    assert ways == ["_count_by_group" if grouped else "_count_by_oracle"]
    assert_array_equal(counts[:, 1].sum(1), np.bincount(y)[y])


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


def test_table_of_scores():
    """Ties by equal score, best first; queries with fewer ties end in empty columns."""
    y_true = [[2, 0, 1, 0], [0, 0, 0, 1]]
    y_score = [[0.5, 0.5, 1.0, -3.0], [1.0, 1.0, 1.0, 1.0]]
    histogram = RankingHistogram.from_scores(y_true, y_score)
    assert_array_equal(histogram.levels, [0, 1, 2])
    assert_array_equal(
        histogram.counts,
        [[[0, 1, 1], [1, 0, 0], [0, 1, 0]], [[3, 0, 0], [1, 0, 0], [0, 0, 0]]],
    )


def test_table_of_distances_is_their_histogram():
    rng = np.random.default_rng(10)
    codes = rng.integers(2, size=(30, 12), dtype=np.uint8)
    y = rng.integers(3, size=30)
    affinity, distances = (y[:, None] == y) * 1, reference.hamming_distances(codes, codes)
    by_score = RankingHistogram.from_scores(affinity, -distances)
    by_code = hamming_histogram(codes, codes, "auto", y, y)
    for metric in (tie_aware_average_precision, tie_aware_ndcg):
        assert_array_equal(metric(by_score), metric(by_code))


@pytest.mark.parametrize(
    ("y_true", "y_score", "message"),
    [
        ([[0, 1]], [[1.0, 2.0, 3.0]], "same shape"),
        ([[0, -1]], [[1.0, 2.0]], "non-negative integers"),
        ([[0, 0.5]], [[1.0, 2.0]], "non-negative integers"),
        ([[0, 1]], [[1.0, np.nan]], "y_score contains NaN"),
        ([0, 1], [[1.0, 2.0]], "y_true must be 2-D"),
    ],
)
def test_bad_scores(y_true, y_score, message):
    with pytest.raises(ValueError, match=message):
        RankingHistogram.from_scores(y_true, y_score)


def test_histograms_of_other_queries_do_not_add():
    one = RankingHistogram(np.zeros((1, 2, 3), int), np.array([0, 1]))
    two = RankingHistogram(np.zeros((2, 2, 3), int), np.array([0, 1]))
    with pytest.raises(ValueError, match="same queries and distances"):
        one + two
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize("n_bits", [1, 7, 4096, 40_000])
def test_any_code_length(n_bits):
    rng = np.random.default_rng(8)
    codes = rng.integers(2, size=(6, n_bits), dtype=np.uint8)
    codes[0], codes[1] = 0, 1
    y = np.array([0, 0, 1, 1, 0, 1])
    counts = hamming_histogram(codes, pack_codes(codes), "auto", y, y).counts
    expected = expected_counts(codes, codes, y, y)
    assert_array_equal(counts, expected)
    assert counts[0, 1, n_bits] >= 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("n_bits", [8, 64, 100])
def test_cuda_counts_like_the_cpu(n_bits):
    rng = np.random.default_rng(9)
    codes = learned_codes(rng, 500, n_bits, 100)
    y = rng.integers(4, size=500)
    for target in (y, np.eye(4, dtype=int)[y]):
        arguments = codes, codes, "auto", target, target
        cpu, cuda = (hamming_histogram(*arguments, device=d) for d in ("cpu", "cuda"))
        assert_array_equal(cpu.counts, cuda.counts)


def test_unknown_device():
    with pytest.raises(ValueError, match="device must be"):
        hamming_histogram([[0]], [[1]], "auto", [0], [0], device="tpu")


def test_torch_gets_its_threads_back():
    before = torch.get_num_threads()
    codes, y = np.eye(4, dtype=np.uint8), [0, 0, 1, 1]
    hamming_histogram(codes, codes, "auto", y, y)
    assert torch.get_num_threads() == before


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
