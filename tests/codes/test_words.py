"""Words of several bits: their products, weights and scores, against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import products_of_signs, sets_of_bits

from sklearn_talr.codes import PackedCodes, pack_codes, weighted_scores
from sklearn_talr.codes._door import Words, score_codes, signs_of_bits, tables_of

each_size = pytest.mark.parametrize("size", [1, 4, 8])
lengths = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 64, 70])
sizes = st.sampled_from([1, 4, 8])


def slow_scores(weights, bits):
    """Sums over products."""
    return weights.astype(float) @ products_of_signs(bits, weights.shape[1]).T


def draw(n_bits, size, seed=0, n_codes=9, n_queries=3):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_codes, n_bits), dtype=np.uint8)
    shape = n_queries, Words(n_bits, size).n_weights
    return bits, rng.integers(-9, 10, shape).astype(np.float32)


def test_the_layout_is_the_documented_one():
    assert sets_of_bits(8, 4)[8:19] == [
        (0, 1), (0, 2), (1, 2), (0, 1, 2), (0, 3), (1, 3), (0, 1, 3), (2, 3), (0, 2, 3),
        (1, 2, 3), (0, 1, 2, 3),
    ]  # fmt: skip
    words = Words(8, 4)
    assert words.n_weights == 30
    assert_array_equal(words.places()[0], [0, 1, 8, 2, 9, 10, 11, 3, *range(12, 19)])
    assert_array_equal(words.places()[1], [4, 5, 19, 6, 20, 21, 22, 7, *range(23, 30)])


@given(lengths, sizes, st.integers(0, 2**32))
def test_products_are_those_of_the_signs(n_bits, size, seed):
    bits, _ = draw(n_bits, size, seed)
    words = Words(n_bits, size)
    found = words.products(pack_codes(bits).data)
    assert_array_equal(found, products_of_signs(bits, words.n_weights))
    assert found.dtype == np.float32
    assert words.n_weights == len(sets_of_bits(n_bits, size))


@given(lengths, sizes)
def test_places_tell_the_products_of_each_word(n_bits, size):
    products = sets_of_bits(n_bits, size)
    places = Words(n_bits, size).places()
    for word, of_word in enumerate(places):
        for number, place in enumerate(of_word, 1):
            bits = [bit - word * size for bit in products[place]]
            assert sum(2**bit for bit in bits) == number
    assert sorted(np.concatenate(places)) == list(range(len(products)))


@given(lengths, sizes, st.integers(0, 2), st.integers(0, 2**32))
def test_scores_are_weighted_sums_of_products(n_bits, size, n_terms, seed):
    bits, weights = draw(n_bits, size, seed)
    terms = np.random.default_rng(seed).random((9, n_terms)) if n_terms else None
    expected = slow_scores(weights, bits)
    if n_terms:
        expected = expected * terms[:, 0] + terms[:, 1:].sum(axis=1)
    for order in ("little", "big"):
        data = pack_codes(bits, bitorder=order).data
        packed = PackedCodes(data, n_bits, order, terms=terms)
        assert_allclose(weighted_scores(weights, packed), expected, rtol=1e-5, atol=1e-4)


@given(lengths, sizes, st.integers(0, 8), st.integers(0, 2**32))
def test_spread_weights_have_zeros_for_bits_that_codes_lack(n_bits, size, n_more, seed):
    """Those of the last byte, and bytes that fill a machine's word."""
    bits, weights = draw(n_bits, size, seed)
    data = np.pad(pack_codes(bits).data, ((0, 0), (0, n_more)))
    spread = Words(n_bits, size).spread(weights, data.shape[1])
    expected = slow_scores(weights, bits)
    assert_array_equal(score_codes(spread, data), expected)
    tables = tables_of(spread, data.shape[1])
    assert tables.shape == (3, data.shape[1], 256)
    assert_array_equal(tables[:, np.arange(data.shape[1]), data].sum(axis=2), expected)
    wanted = signs_of_bits(spread, data.shape[1])
    assert_array_equal(wanted[:, :n_bits], weights[:, :n_bits] > 0)
    assert not wanted[:, n_bits:].any()


@given(st.integers(1, 300), sizes)
def test_the_number_of_weights_tells_the_words(n_bits, size):
    n_weights = Words(n_bits, size).n_weights
    found = Words.of_weights(n_bits, n_weights)
    assert sets_of_bits(n_bits, found.size) == sets_of_bits(n_bits, size)


@pytest.mark.parametrize(
    ("n_bits", "n_weights", "message"),
    [
        (9, 11, "has 11 columns. Codes of 9 bits .* 9 weights, or by 31 or 256 where"),
        (3, 2, "has 2 columns. Codes of 3 bits are asked by 3 weights, or by 7 where"),
        (1, 2, "has 2 columns. Codes of 1 bits are asked by 1 weights. Both must come"),
    ],
)
def test_other_numbers_of_weights_are_refused(n_bits, n_weights, message):
    with pytest.raises(ValueError, match=f"query_weights {message}"):
        weighted_scores(np.ones((1, n_weights)) / 2, np.eye(n_bits + 1, n_bits))


@each_size
def test_blocks_and_threads_change_no_score(size):
    bits, weights = draw(33, size, n_codes=20_000, n_queries=150)
    terms = 2.0 ** np.random.default_rng(0).integers(-2, 3, (20_000, 2))
    packed = PackedCodes(pack_codes(bits).data, 33, terms=terms)
    products = Words(33, size).products(packed.data)
    expected = weights @ products.T * terms[:, 0] + terms[:, 1]
    for n_jobs in (None, 2):
        assert_array_equal(weighted_scores(weights, packed, n_jobs=n_jobs), expected)


@each_size
def test_weights_of_products_that_are_zero_leave_single_bits(size):
    bits, weights = draw(21, size)
    weights[:, 21:] = 0
    expected = weighted_scores(weights[:, :21], bits)
    assert_array_equal(weighted_scores(weights, bits), expected)
