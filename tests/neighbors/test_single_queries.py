"""Weighted queries, one at a time and many, against sums of whole numbers."""

import threading
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import may_have_one_code
from numpy.testing import assert_array_equal
from reference import products_of_signs, sets_of_bits
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_talr.codes import PackedCodes, pack_codes
from sklearn_talr.neighbors import (
    HammingNeighbors,
    WeightedHammingNeighbors,
    _inner_loops,
    _weighted_scan,
)

pytestmark = may_have_one_code
N_ITEMS = 90
KERNELS = ["scipy", "numba"]
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


@contextmanager
def only(kernel):
    """Have one kernel look everything up."""
    if kernel == "numba":
        pytest.importorskip("numba", reason="numba is an optional extra")
        from sklearn_talr.neighbors import _compiled as loops
    else:
        loops = None
    with mock.patch.object(_inner_loops, "numba", mock.Mock(loops=loops)) as numba:
        numba.after.return_value = loops
        with mock.patch.object(_weighted_scan, "most_queries_by_tables", return_value=4):
            yield


@st.composite
def tasks(draw, n_items=N_ITEMS, word_sizes=(1, 1, 4, 8)):
    """Codes that repeat, and whole weights and terms times powers of two.

    So sums have no rounding in float64, and many are tied, but may have some in float32.
    What is largest may exceed what float32 can add up, and what is least vanish beside it.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    word_size = draw(st.sampled_from(word_sizes))
    n_bits = draw(st.sampled_from([1, 3, 7, 8, 12, 30, 64, 70, 256 // word_size]))
    n_weights = len(sets_of_bits(n_bits, word_size))
    n_queries = draw(st.sampled_from([1, 1, 2, 9, 20]))
    bits = rng.integers(0, 2, (n_items, n_bits), dtype=np.uint8)
    bits = bits[rng.integers(0, draw(st.sampled_from([5, n_items])), n_items)]
    power = np.array([draw(st.integers(-148, 124)) for _ in range(n_queries)])
    width = draw(st.sampled_from([0, 12, 28]))
    weights = rng.integers(-6, 7, (n_queries, n_weights)) * 2.0 ** rng.integers(
        0, 1 + width, n_weights
    )
    weights[:, 0] = -3.0
    weights *= 2.0 ** np.minimum(power, 124 - width)[:, None]
    weights = weights.astype(np.float32)
    terms, n_terms = None, draw(st.integers(0, 2))
    if n_terms:
        factor_power = draw(st.integers(-140, 120))
        terms = rng.integers(-1, 5, (n_items, n_terms)) * 2.0**factor_power
        if n_terms == 2:
            beyond = draw(st.sampled_from([-4, 0, 4, 12]))
            terms[:, 1] *= 2.0 ** np.clip(
                power[0] + beyond, -149 - factor_power, 124 - factor_power
            )
    packed = PackedCodes(pack_codes(bits).data, n_bits, terms=terms)
    return bits, packed, weights


def slow_distances(bits, packed, weights):
    """Weights of bits that differ, or minus the score of words and of codes with terms."""
    if weights.shape[1] > bits.shape[1]:
        scores = weights.astype(float) @ products_of_signs(bits, weights.shape[1]).T
        if packed.terms is not None:
            terms = packed.terms.astype(float)
            scores = scores * terms[:, 0] + terms[:, 1:].sum(axis=1)
        return -scores
    signed = weights.astype(float)[:, None] * (2.0 * bits - 1)
    if packed.terms is None:
        return np.where(signed < 0, -signed, 0).sum(axis=2)
    terms = packed.terms.astype(float)
    return -(signed.sum(axis=2) * terms[:, 0] + terms[:, 1:].sum(axis=1))


def weighted(**params):
    return WeightedHammingNeighbors(**params)


def order_of(distances):
    index = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    return np.lexsort((index, distances), axis=1)


def check(neighbors, weights, expected, n_neighbors):
    order = order_of(expected)[:, :n_neighbors]
    distances, indices, tied = neighbors.kneighbors(weights, n_neighbors, return_tied=True)
    assert_array_equal(indices, order)
    assert_array_equal(distances, np.take_along_axis(expected, order, axis=1))
    for row, last, items in zip(expected, order[:, -1], tied):
        assert_array_equal(items, np.flatnonzero(row == row[last]))


@every_kernel
@settings(max_examples=60)
@given(task=tasks(), n_neighbors=st.sampled_from([1, 5, 10, 60, N_ITEMS]))
def test_neighbors_are_those_of_all_pairs(kernel, task, n_neighbors):
    _, packed, weights = task
    with only(kernel), np.errstate(under="ignore"):
        check(weighted().fit(packed), weights, slow_distances(*task), n_neighbors)


@every_kernel
@settings(max_examples=40)
@given(task=tasks(word_sizes=[1]), share=st.sampled_from([0, 0.1, 0.5, 1, None]))
def test_radius_finds_all_within(kernel, task, share):
    bits, packed, weights = task
    packed = pack_codes(bits)
    expected = slow_distances(bits, packed, weights)
    radius = 1e300 if share is None else float(np.quantile(expected[0], share))
    with only(kernel):
        found = weighted().fit(packed).radius_neighbors(weights, radius=radius)
    for row, distances, indices in zip(expected, *found):
        inside = order_of(row[None])[0][: np.count_nonzero(row <= radius)]
        assert_array_equal(indices, inside)
        assert_array_equal(distances, row[inside])


@every_kernel
@settings(max_examples=15)
@given(task=tasks(), seed=st.integers(0, 2**32))
def test_items_come_and_go(kernel, task, seed):
    _, packed, weights = task
    gone = np.random.default_rng(seed).choice(N_ITEMS, 20, replace=False)
    neighbors = weighted().fit(packed[:40]).partial_fit(packed[40:]).remove(gone)
    expected = slow_distances(*task)
    expected[:, gone] = np.inf
    with only(kernel):
        check(neighbors, weights[:1], expected[:1], 7)
        check(neighbors, weights, expected, 7)


@every_kernel
@pytest.mark.parametrize(("n_bits", "word_size"), [(24, 1), (64, 1), (24, 4), (15, 8)])
def test_many_codes_are_found_in_passes(kernel, n_bits, word_size):
    rng = np.random.default_rng(0)
    bits = rng.integers(
        0, 2, (_weighted_scan._CODES_PER_PASS_OF_TABLES + 9_000, n_bits), dtype=np.uint8
    )
    bits[40_000:, -9:] = 1  # which are sorted behind the others
    terms = rng.integers(1, 5, (len(bits), 1))
    packed = PackedCodes(pack_codes(bits).data, n_bits, terms=terms)
    n_weights = len(sets_of_bits(n_bits, word_size))
    weights = rng.integers(-20, 21, (3, n_weights)).astype(np.float32)
    expected = np.concatenate([slow_distances(bits, packed, row[None]) for row in weights])
    neighbors = weighted().fit(packed)
    with only(kernel):
        for n_neighbors in (1, 10, 3_000):
            check(neighbors, weights, expected, n_neighbors)
        neighbors.set_params(n_jobs=2)
        with mock.patch.object(_weighted_scan, "_CODES_PER_THREAD", 20_000):
            check(neighbors, weights[:1], expected[:1], 10)


@every_kernel
@settings(max_examples=20)
@given(task=tasks(), n_candidates=st.sampled_from([1, 12, N_ITEMS]))
def test_candidates_are_the_nearest_by_hamming_distance(kernel, task, n_candidates):
    """With all that are tied with the last of them."""
    bits, packed, weights = task
    expected, n_neighbors = slow_distances(*task), 4
    near = (bits[None] != (weights[:, : bits.shape[1]] > 0)[:, None]).sum(axis=2)
    last = np.sort(near, axis=1)[:, max(n_candidates, n_neighbors) - 1]
    expected[near > last[:, None]] = np.inf
    neighbors = weighted(n_candidates=n_candidates).fit(packed)
    with only(kernel):
        check(neighbors, weights[:1], expected[:1], n_neighbors)
        check(neighbors, weights, expected, n_neighbors)


@pytest.mark.parametrize("word_size", [1, 4, 8])
def test_answers_are_the_same_in_any_company(word_size):
    """One by one, in blocks, in threads and by either kernel, down to the last digit."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (5_000, 100), dtype=np.uint8)
    packed = PackedCodes(pack_codes(bits).data, 100, terms=rng.random((5_000, 2)))
    weights = rng.standard_normal((40, len(sets_of_bits(100, word_size))))
    weights = weights.astype(np.float32)
    neighbors = weighted().fit(packed)
    distances, indices = neighbors.kneighbors(weights)
    found = {}

    def serve(first):
        for row in range(first, len(weights), 4):
            found[row] = neighbors.kneighbors(weights[row : row + 1])

    for kernel in KERNELS:
        with only(kernel):
            threads = [threading.Thread(target=serve, args=(n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(found) == len(weights)
        for row, answer in found.items():
            assert_array_equal(answer[0][0], distances[row])
            assert_array_equal(answer[1][0], indices[row])
        found.clear()


@every_kernel
def test_sums_are_those_of_the_entries(kernel):
    rng = np.random.default_rng(2)
    tables = rng.integers(-9, 10, (3, 16, 256)).astype(np.float32)
    columns = rng.integers(0, 2**64, (2, 9_000), dtype=np.uint64)
    octets = columns.T.copy().view(np.uint8)
    sums = np.empty((3, 8_500), dtype=np.float32)
    with only(kernel):
        _inner_loops.add_sums(tables, columns, 400, sums)
    for table, row in zip(tables, sums):
        assert_array_equal(row, table[np.arange(16), octets].sum(axis=1)[400:8_900])


@every_kernel
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_distances_are_the_bits_that_differ(kernel, kind):
    rng = np.random.default_rng(3)
    queries = rng.integers(0, 2**64, (4, 3), dtype=np.uint64)
    columns = rng.integers(0, 2**64, (3, 900), dtype=np.uint64)
    rooms = [np.empty((4, 800), dtype=each) for each in (kind, np.uint64, np.uint8)]
    with only(kernel):
        _inner_loops.add_distances(queries, columns, 50, *rooms)
    differing = queries[:, :, None] ^ columns[None, :, 50:850]
    assert_array_equal(rooms[0], np.bitwise_count(differing).sum(axis=1, dtype=int))


class TestNumba:
    @pytest.fixture
    def numba(self):
        """One that has not begun."""
        return _inner_loops.Numba()

    def test_it_takes_over_when_it_has_compiled(self, numba, monkeypatch):
        may_go_on = threading.Event()

        def import_late(*name):
            may_go_on.wait(60)
            return "loops"

        monkeypatch.setattr(_inner_loops, "import_module", import_late)
        monkeypatch.setattr(_inner_loops, "find_spec", lambda name: name)
        assert numba.after(_inner_loops._WORK_BEFORE_NUMBA) is None
        assert numba._thread is None
        assert numba.after(1) is None
        begun = numba._thread
        assert numba.after(1) is None
        assert numba._thread is begun
        may_go_on.set()
        begun.join()
        assert numba.after(1) == "loops"

    def test_without_numba_scipy_stays(self, numba, monkeypatch):
        monkeypatch.setattr(_inner_loops, "find_spec", lambda name: None)
        assert numba.after(2 * _inner_loops._WORK_BEFORE_NUMBA) is None
        assert numba._thread is None

    def test_one_compilation_is_enough(self, tmp_path):
        """Whatever the codes, in memory or in a file."""
        pytest.importorskip("numba", reason="numba is an optional extra")
        from sklearn_talr.neighbors import _compiled

        rng = np.random.default_rng(0)
        with only("numba"):
            for n_bits, n_terms in ((5, 0), (40, 1), (64, 2), (130, 0), (300, 0)):
                bits = rng.integers(0, 2, (70, n_bits))
                terms = rng.random((70, n_terms)) if n_terms else None
                packed = PackedCodes(pack_codes(bits).data, n_bits, terms=terms)
                weighted().fit(packed).save(tmp_path / "codes.npz")
                mapped = WeightedHammingNeighbors.load(tmp_path / "codes.npz", mmap=True)
                for neighbors in (weighted().fit(packed), mapped):
                    neighbors.kneighbors(rng.standard_normal((1, n_bits)))
                HammingNeighbors(3).fit(bits).kneighbors(bits)
        assert len(_compiled.compiled_sums.signatures) == 1
        assert len(_compiled.compiled_distances.signatures) == 2

    def test_work_is_counted(self, numba, monkeypatch):
        monkeypatch.setattr(_inner_loops, "numba", numba)
        neighbors = weighted(n_neighbors=1).fit(np.eye(50, dtype=int))
        neighbors.kneighbors([np.linspace(-1, 1, 50)])
        assert numba._work == 50 * 8


def test_products_are_held_to_one_thread(monkeypatch):
    seen, signs_of = [], _weighted_scan.signs_of

    def spy(data):
        blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        seen.append({pool["num_threads"] for pool in blas})
        return signs_of(data)

    rng = np.random.default_rng(3)
    neighbors = weighted().fit(rng.integers(0, 2, (500, 32)))
    with threadpool_limits(2):
        scan = _weighted_scan.WeightedScanner(neighbors._fitted.store)
        monkeypatch.setattr(_weighted_scan, "signs_of", spy)
        weights = rng.standard_normal((120, 32)).astype(np.float32)
        scaled = _weighted_scan._Scaled(weights, neighbors._fitted.store)
        scan._candidates(scaled, np.full(120, -np.inf), 3)
    assert seen
    assert all(numbers == {1} for numbers in seen)


def test_threads_share_queries_also_where_these_are_few(monkeypatch):
    blocks, map_in_threads = [], _weighted_scan.map_in_threads

    def spy(function, arguments, n_jobs):
        blocks.extend(arguments)
        return map_in_threads(function, arguments, n_jobs)

    monkeypatch.setattr(_weighted_scan, "map_in_threads", spy)
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2, (300, 16))
    weights = rng.standard_normal((30, 16))
    expected = weighted().fit(bits).kneighbors(weights)
    assert blocks == [slice(0, 30)]
    blocks.clear()
    assert_array_equal(weighted(n_jobs=2).fit(bits).kneighbors(weights), expected)
    assert blocks == [slice(0, 15), slice(15, 30)]


class TestQueries:
    bits = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])

    def test_weights_that_are_all_positive_bring_no_warning(self):
        found = weighted(n_neighbors=1).fit(self.bits).kneighbors([[3.0, 1.5, 2.0]])
        assert_array_equal(found, ([[1.5]], [[1]]))

    def test_a_row_of_zeros_is_answered_alone_as_in_a_batch(self):
        neighbors = weighted(n_neighbors=2).fit(self.bits)
        batch = neighbors.kneighbors([[0.0, 0.0, 0.0], [3.0, 1.5, 2.0]])
        alone = neighbors.kneighbors([[0.0, 0.0, 0.0]])
        assert_array_equal(alone, [part[:1] for part in batch])

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([[np.nan, 1.0, 2.0]], "NaN"),
            ([[np.inf, 1.0, 2.0]], "infinity"),
            ([[1e39, 1.0, 2.0]], "infinity"),
            ([[1.0, 2.0]], "2 columns.* by 3 weights, or by 7"),
            ([1.0, 2.0, 3.0], "2D array"),
            (np.zeros((0, 3)), "0 sample"),
            ([["a", "b", "c"]], "could not convert"),
            ([[1j, 2, 3]], "Complex"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:overflow encountered in cast")
    def test_what_is_wrong_is_said(self, weights, message):
        with pytest.raises(ValueError, match=message):
            weighted(n_neighbors=1).fit(self.bits).kneighbors(np.array(weights))
