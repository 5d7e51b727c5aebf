"""Weighted queries, one at a time and many, against sums of whole numbers."""

import threading

import numpy as np
import pytest
from hypothesis import strategies as st
from neighbor_cases import may_have_one_code
from numpy.testing import assert_array_equal
from reference import n_weights_of, what_is_weighed

from sklearn_talr.codes import PackedCodes, pack_codes
from sklearn_talr.neighbors import WeightedHammingNeighbors

pytestmark = may_have_one_code
N_ITEMS = 90


@st.composite
def tasks(draw, n_items=N_ITEMS, word_sizes=(1, 1, 8)):
    """Codes that repeat, and whole weights and terms times powers of two.

    So sums have no rounding in float64, and many are tied, but may have some in float32.
    What is largest may exceed what float32 can add up, and what is least vanish beside it.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    word_size = draw(st.sampled_from(word_sizes))
    n_bits = draw(st.sampled_from([1, 3, 7, 8, 12, 30, 64, 70, 256 // word_size]))
    n_weights = n_weights_of(n_bits, word_size)
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
        scores = weights.astype(float) @ what_is_weighed(bits, weights.shape[1]).T
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


@pytest.mark.parametrize("word_size", [1, 8])
def test_answers_are_the_same_in_any_company(word_size):
    """One by one, in blocks and in threads, down to the last digit."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (5_000, 104), dtype=np.uint8)
    packed = PackedCodes(pack_codes(bits).data, 104, terms=rng.random((5_000, 2)))
    weights = rng.standard_normal((40, n_weights_of(104, word_size)))
    weights = weights.astype(np.float32)
    neighbors = weighted().fit(packed)
    distances, indices = neighbors.kneighbors(weights)
    found = {}

    def serve(first):
        for row in range(first, len(weights), 4):
            found[row] = neighbors.kneighbors(weights[row : row + 1])

    threads = [threading.Thread(target=serve, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(weights)
    for row, answer in found.items():
        assert_array_equal(answer[0][0], distances[row])
        assert_array_equal(answer[1][0], indices[row])


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
            ([[1.0, 2.0]], "2 columns.* by 3 weights. Both"),
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
