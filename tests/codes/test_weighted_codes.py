"""Weights of queries, terms of codes, and scores of both."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.codes import PackedCodes, pack_codes, weighted_scores


def draw(n_codes, n_bits, seed=0):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_codes, n_bits), dtype=np.uint8)
    return bits, rng.standard_normal((3, n_bits)).astype(np.float32)


def slow_scores(weights, bits, terms=None):
    """The definition, bit by bit."""
    scores = np.zeros((len(weights), len(bits)))
    for query, row in enumerate(weights):
        for item, code in enumerate(bits):
            total = sum(w if bit else -w for w, bit in zip(row.tolist(), code))
            if terms is not None:
                total = total * terms[item, 0] + (terms[item, 1:].sum() or 0)
            scores[query, item] = total
    return scores


@given(st.integers(1, 70), st.integers(0, 2), st.integers(0, 2**32))
def test_scores_are_weighted_sums_of_signs(n_bits, n_terms, seed):
    bits, weights = draw(5, n_bits, seed)
    terms = np.random.default_rng(seed).random((5, n_terms)) if n_terms else None
    for order in ("little", "big"):
        data = pack_codes(bits, bitorder=order).data
        packed = PackedCodes(data, n_bits, order, terms=terms)
        expected = slow_scores(weights, bits, terms)
        assert_allclose(weighted_scores(weights, packed), expected, atol=1e-4)


def test_rows_of_packed_codes_keep_their_terms():
    bits, weights = draw(6, 9)
    packed = PackedCodes(pack_codes(bits).data, 9, terms=np.arange(12).reshape(6, 2))
    rows = np.array([4, 1])
    assert_array_equal(packed[rows].terms.values, [[8, 9], [2, 3]])
    assert_array_equal(packed[2].terms.values, [[4, 5]])
    part, whole = weighted_scores(weights, packed[rows]), weighted_scores(weights, packed)
    assert_allclose(part, whole[:, rows], rtol=1e-6)
    assert_array_equal(pack_codes(packed, bitorder="big").terms.values, packed.terms.values)


@pytest.mark.parametrize("queries", [[[0, 1, 1]], [[1.0, 0.0, 1.0]], [[True, False, True]]])
def test_codes_are_no_weights(queries):
    with pytest.raises(ValueError, match="query_weights"):
        weighted_scores(queries, [[0, 1, 1]])
    with pytest.raises(ValueError, match="query_weights"):
        weighted_scores(pack_codes(queries), [[0, 1, 1]])


def test_blocks_of_codes_and_threads_change_no_score():
    bits, weights = draw(20_000, 33)
    terms = np.linspace(0.5, 2, 40_000).reshape(20_000, 2)
    packed = PackedCodes(pack_codes(bits).data, 33, terms=terms)
    expected = weights @ (2.0 * bits.T - 1) * terms[:, 0] + terms[:, 1]
    for n_jobs in (None, 2):
        found = weighted_scores(weights, packed, n_jobs=n_jobs)
        assert_allclose(found, expected, atol=1e-4)


def test_terms_of_other_codes_are_kept_as_they_are():
    bits = np.eye(4, dtype=np.uint8)
    packed = PackedCodes(pack_codes(bits).data, 4, terms=np.arange(8).reshape(4, 2))
    rows = [2, 0]
    chosen = PackedCodes(packed.data[rows], 4, terms=packed.terms.rows(rows))
    assert_array_equal(chosen.terms.values, packed[rows].terms.values)
    no_terms = PackedCodes(packed.data, 4, terms=pack_codes(bits).terms)
    assert no_terms.terms.n_terms == 0
    assert no_terms.terms.values is None
    with pytest.raises(ValueError, match=r"terms of 4\. Pass .* terms\.rows\(rows\)"):
        PackedCodes(packed.data[:3], 4, terms=packed.terms)
