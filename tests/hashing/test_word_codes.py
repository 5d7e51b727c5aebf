"""Words of rows: against a search over all values, in NumPy and compiled."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing.words._word_codes import (
    decode_words,
    greedy_words,
    improve_words,
    nearest_entries,
    pack_words,
    words_of,
)
from sklearn_talr.hashing.words._word_model import in_order

seeds = st.integers(0, 2**32)
sizes = st.sampled_from([4, 8])
free_or_not = pytest.mark.parametrize("free", [False, True])


@pytest.fixture(
    scope="module", params=[False, True], ids=["NumPy", "numba"], name="compiled"
)
def loops(request):
    """Loops of both kinds, where numba is installed."""
    if request.param:
        pytest.importorskip("numba", reason="numba is not installed")
    return request.param


def problem(seed, size=4, n_rows=9, n_words=3, n_features=5):
    """Rows, codebooks and words to start from."""
    rng = np.random.default_rng(seed)
    shape = n_words, 2**size, n_features
    codebooks = rng.standard_normal(shape).astype(np.float32)
    rows = 2 * rng.standard_normal((n_rows, n_features)).astype(np.float32)
    words = rng.integers(0, 2**size, (n_rows, n_words), dtype=np.uint8)
    return rows, codebooks, words


def slow_merit(row, word_of_row, codebooks, free):
    """The merit of the words of one row, as it is defined."""
    entries = [book[value] for book, value in zip(codebooks.astype(float), word_of_row)]
    decoded = np.sum(entries, axis=0)
    along = row.astype(float) @ decoded
    if free:
        return along * abs(along) / max(decoded @ decoded, 1e-30)
    return 2 * along - decoded @ decoded


def merits(rows, words, codebooks, free):
    every = zip(rows, words)
    return np.array([slow_merit(row, of_row, codebooks, free) for row, of_row in every])


@free_or_not
class TestImproving:
    @settings(max_examples=15, deadline=None)
    @given(seed=seeds, size=sizes)
    def test_no_other_value_of_a_word_is_better_in_the_end(
        self, free, compiled, seed, size
    ):
        rows, codebooks, words = problem(seed, size)
        before = merits(rows, words, codebooks, free)
        improve_words(rows, codebooks, words, 100, free=free, compiled=compiled)
        after = merits(rows, words, codebooks, free)
        rounding = 1e-4 * (1 + np.abs(after))
        assert (after >= before - rounding).all()
        for row, of_row, reached, margin in zip(rows, words, after, rounding):
            for word, value in product(range(len(codebooks)), range(2**size)):
                other = of_row.copy()
                other[word] = value
                assert slow_merit(row, other, codebooks, free) <= reached + margin

    @settings(max_examples=10, deadline=None)
    @given(seed=seeds)
    def test_each_sweep_is_better_than_the_one_before(self, free, compiled, seed):
        rows, codebooks, words = problem(seed, n_rows=40, n_words=6)
        last = merits(rows, words, codebooks, free)
        for _ in range(4):
            before = words.copy()
            n_changes = improve_words(
                rows, codebooks, words, 1, free=free, compiled=compiled
            )
            now = merits(rows, words, codebooks, free)
            assert (now >= last - 1e-4 * (1 + np.abs(now))).all()
            assert n_changes == np.count_nonzero(words != before)
            last = now

    def test_words_that_none_can_improve_stay(self, free, compiled):
        rows, codebooks, words = problem(0, n_rows=40)
        improve_words(rows, codebooks, words, 100, free=free, compiled=compiled)
        before = words.copy()
        how = {"free": free, "compiled": compiled}
        assert improve_words(rows, codebooks, words, 100, **how) == 0
        assert_array_equal(words, before)

    def test_rows_do_not_depend_on_each_other(self, free, compiled):
        rows, codebooks, words = problem(1, n_rows=50)
        how = {"free": free, "compiled": compiled}
        alone = words.copy()
        for row in range(50):
            part = slice(row, row + 1)
            improve_words(rows[part], codebooks, alone[part], 10, **how)
        improve_words(rows, codebooks, words, 10, **how)
        assert_array_equal(words, alone)

    def test_a_row_of_zeros_and_codebooks_of_zeros_give_words(self, free, compiled):
        rows, codebooks, words = problem(2)
        rows[0], codebooks[1] = 0, 0
        how = {"free": free, "compiled": compiled}
        improve_words(rows, codebooks, words, 10, **how)
        assert np.isfinite(merits(rows, words, codebooks, free)).all()
        assert improve_words(rows, np.zeros_like(codebooks), words, 10, **how) == 0
        assert improve_words(rows, codebooks[:0], words[:, :0], 10, **how) == 0


@free_or_not
@pytest.mark.parametrize("size", [4, 8])
def test_numpy_and_numba_find_the_same_words(size, free):
    """Small integers make all sums exact, so that no rounding decides."""
    pytest.importorskip("numba", reason="numba is not installed")
    _, _, words = problem(0, size, n_rows=300, n_words=6)
    rng = np.random.default_rng(0)
    rows, codebooks = (
        rng.integers(-3, 4, shape).astype(np.float32)
        for shape in ((300, 8), (6, 2**size, 8))
    )
    found = [words.copy(), words.copy()]
    n_changes = [
        improve_words(rows, codebooks, of_loop, 10, free=free, compiled=compiled)
        for of_loop, compiled in zip(found, (False, True))
    ]
    assert (found[0] != words).mean() > 0.5
    if free:  # quotients are rounded, and those that are equal tie no more
        assert (found[0] == found[1]).mean() > 0.98
    else:
        assert_array_equal(*found)
        assert n_changes[0] == n_changes[1]


@given(seeds, sizes)
@settings(max_examples=15, deadline=None)
def test_greedy_words_are_nearest_to_what_is_left(seed, size):
    rows, codebooks, _ = problem(seed, size)
    for row, found in zip(rows.astype(float), greedy_words(rows, codebooks)):
        for value, codebook in zip(found, codebooks.astype(float)):
            squares = np.sum((row - codebook) ** 2, axis=1)
            assert squares[value] <= squares.min() + 1e-4
            row = row - codebook[value]


def test_the_nearest_entry_is_that_of_least_distance():
    codebook = np.array([[0, 0], [3, 0], [0, 4]], dtype=np.float32)
    rows = np.array([[1, 1], [2, 1], [0, 3], [9, 0]], dtype=np.float32)
    assert_array_equal(nearest_entries(rows, codebook), [0, 1, 2, 1])


@given(seeds, sizes)
@settings(max_examples=15, deadline=None)
def test_decodings_are_sums_of_entries(seed, size):
    _, codebooks, words = problem(seed, size)
    expected = [
        np.sum([codebooks[word, value] for word, value in enumerate(row)], axis=0)
        for row in words
    ]
    assert_allclose(decode_words(words, codebooks), expected, atol=1e-5)


@given(seeds, sizes)
@settings(max_examples=15, deadline=None)
def test_bits_of_words_are_those_of_their_numbers(seed, size):
    _, _, words = problem(seed, size)
    bits = pack_words(words, size)
    for row, of_row in zip(bits, words):
        expected = [value >> bit & 1 for value in of_row.tolist() for bit in range(size)]
        assert_array_equal(row, expected)
    assert_array_equal(words_of(bits, size), words)
    assert_array_equal(words_of(2.0 * bits - 1, size), words)
    if size == 8:
        assert_array_equal(pack_codes(bits).data, words)


@given(seeds, st.sampled_from([16, 256]), st.sampled_from([1, 3, 40]))
@settings(max_examples=15, deadline=None)
def test_an_order_keeps_all_entries(seed, n_values, n_features):
    rng = np.random.default_rng(seed)
    codebook = rng.integers(-2, 3, (n_values, n_features)).astype(np.float32)
    ordered = in_order(codebook)
    assert sorted(map(tuple, ordered)) == sorted(map(tuple, codebook))


def test_entries_whose_numbers_share_bits_are_near():
    codebook = np.random.default_rng(0).standard_normal((256, 6)).astype(np.float32)
    numbers = np.arange(256)
    n_unequal = np.bitwise_count(numbers[:, None] ^ numbers)

    def nearness(entries):
        return np.corrcoef((entries @ entries.T).ravel(), n_unequal.ravel())[0, 1]

    assert nearness(in_order(codebook)) < -0.3
    assert abs(nearness(codebook)) < 0.2
