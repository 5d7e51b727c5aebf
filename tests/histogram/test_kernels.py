"""Kernels of counting: all give the same integers, and one table says which one runs."""

import sys
from functools import partial

import numpy as np
import pytest
import reference
import torch
from numpy.testing import assert_array_equal

from sklearn_talr.histogram import _kernels, hamming_histogram

# What runs on a GPU, here on torch's own CPU device.
ON_TORCH_CPU = partial(_kernels.count_on_device, device="cpu")
SHAPES = [
    # n_queries, n_items, n_words, word
    (3, 40, 1, np.uint8),
    (41, 17, 1, np.uint16),
    (35, 30, 1, np.uint64),
    (5, 30, 3, np.uint64),
    (3, 9, 450, np.uint64),  # 28 800 bits: cells beyond 16 bits
]


def block(rng, n_queries, n_items, n_words, word, shared):
    high = np.iinfo(word).max
    queries = rng.integers(high, size=(n_queries, n_words), dtype=word, endpoint=True)
    items = rng.integers(high, size=(n_items, n_words), dtype=word, endpoint=True)
    n_distances = 8 * np.dtype(word).itemsize * n_words + 1
    rows = 1 if shared else n_queries
    offsets = (rng.integers(3, size=(rows, n_items)) * n_distances).astype(np.uint32)
    return queries, items, offsets, 3 * n_distances


def count_by_loop(queries, items, offsets, n_cells, weights):
    counts = np.zeros((len(queries), n_cells), dtype=np.int64)
    for q, query in enumerate(queries):
        for i, item in enumerate(items):
            distance = sum(int(a ^ b).bit_count() for a, b in zip(query, item))
            counts[q, offsets[q % len(offsets), i] + distance] += weights[i]
    return counts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["numba", "scipy", "device"])
def test_kernels_equal_a_loop(kernel, weighted, monkeypatch):
    monkeypatch.setattr(_kernels, "_PAIRS_PER_PASS", 64)  # several passes, the last in part
    if kernel == "numba":
        pytest.importorskip("numba", reason="numba is an optional extra")
    count = (
        ON_TORCH_CPU if kernel == "device" else getattr(_kernels, f"count_with_{kernel}")
    )
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        for shared in (True, False):  # one offset for each item, or for each pair
            arguments = block(rng, *shape, shared)
            weights = rng.integers(1, 9, size=shape[1])
            counts = count(*arguments, weights if weighted else None)
            expected = count_by_loop(*arguments, weights if weighted else weights**0)
            assert_array_equal(counts, expected, err_msg=f"{shape}, {shared}")


def small_task():
    """Codes, labels, and their counts by a double loop."""
    rng = np.random.default_rng(1)
    codes, y = rng.integers(2, size=(40, 9), dtype=np.uint8), rng.integers(3, size=40)
    distances = reference.hamming_distances(codes, codes)
    counts = reference.histogram(distances, (y[:, None] == y) * 1, [0, 1], 10)
    return (codes, codes, "auto", y, y), counts


def test_counting_does_not_depend_on_what_is_loaded(ran, monkeypatch):
    """A process without torch counts by the same kernel, and so as fast."""
    arguments, counts = small_task()
    for _ in range(2):
        assert_array_equal(hamming_histogram(*arguments).counts, counts)
        monkeypatch.setitem(sys.modules, "torch", None)
    assert ran[0] == ran[1]


def same_label(y_query, y_database):
    """An oracle of the user, which has to be asked about every pair."""
    return y_query[:, None] == y_database


same_label.levels_ = [0, 1]


@pytest.fixture
def ran(monkeypatch):
    """Names of the kernels that have counted, in turn; that of CUDA runs on the CPU."""
    names = []

    def recorded(name, count):
        return lambda *arguments: names.append(name) or count(*arguments)

    table = {
        device: tuple(
            (condition, recorded(getattr(count, "__name__", "count_on_device"), count))
            for condition, count in ways
        )
        for device, ways in (_kernels.KERNELS | {"cuda": cuda_on_cpu()}).items()
    }
    monkeypatch.setattr(_kernels, "KERNELS", table)
    return names


def cuda_on_cpu():
    ((condition, count),) = _kernels.KERNELS["cuda"]
    assert count.func is _kernels.count_on_device
    assert count.keywords == {"device": "cuda"}
    return ((condition, ON_TORCH_CPU),)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("at first", "count_with_scipy"),
        ("after many pairs", "count_with_numba"),
        ("after many pairs without numba", "count_with_scipy"),
        ("on a device", "count_on_device"),
        ("on a device after many pairs", "count_on_device"),
    ],
)
def test_which_kernel_counts(case, expected, ran, monkeypatch):
    if "numba" in expected:
        pytest.importorskip("numba", reason="numba is an optional extra")
    pairs_before = 0 if "many pairs" in case else 10**12
    monkeypatch.setattr(_kernels, "_PAIRS_BEFORE_NUMBA", pairs_before)
    if "without numba" in case:
        monkeypatch.setattr(_kernels, "numba_is_installed", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    arguments, counts = small_task()
    device = "cuda" if "device" in case else "cpu"
    for affinity in ("auto", same_label):  # by group of labels, and pair by pair
        ran.clear()
        found = hamming_histogram(*arguments[:2], affinity, *arguments[3:], device=device)
        assert set(ran) == {expected}
        assert_array_equal(found.counts, counts)


def test_numba_takes_over_after_enough_pairs(ran, monkeypatch):
    pytest.importorskip("numba", reason="numba is an optional extra")
    monkeypatch.setattr(_kernels, "_counted_pairs", 0)
    monkeypatch.setattr(_kernels, "_PAIRS_BEFORE_NUMBA", 40 * 40)
    arguments, counts = small_task()
    for _ in range(2):
        assert_array_equal(hamming_histogram(*arguments).counts, counts)
    assert ran == ["count_with_scipy", "count_with_numba"]


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    arguments, _ = small_task()
    with pytest.raises(ValueError, match="'device' parameter of hamming_histogram must be"):
        hamming_histogram(*arguments, device="tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="needs an installed PyTorch that finds a CUDA"):
        hamming_histogram(*arguments, device="cuda")
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(ValueError, match="needs an installed PyTorch that finds a CUDA"):
        hamming_histogram(*arguments, device="cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("affinity", ["auto", same_label])
def test_a_cuda_device_counts(affinity):
    arguments, counts = small_task()
    torch.cuda.reset_peak_memory_stats()
    found = hamming_histogram(*arguments[:2], affinity, *arguments[3:], device="cuda")
    assert torch.cuda.max_memory_allocated() > 0
    assert_array_equal(found.counts, counts)
