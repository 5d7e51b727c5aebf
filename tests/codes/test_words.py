"""Words of eight bits: weights and scores, against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import n_weights_of, what_is_weighed

from sklearn_talr.codes import PackedCodes, pack_codes, weighted_scores

lengths = st.sampled_from([1, 3, 7, 8, 9, 16, 17, 24, 31, 40, 64, 72, 128])
sizes = st.sampled_from([1, 8])


def draw(n_bits, size, seed=0, n_codes=9, n_queries=3):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_codes, n_bits), dtype=np.uint8)
    shape = n_queries, n_weights_of(n_bits, size)
    return bits, rng.integers(-9, 10, shape).astype(np.float32)


@given(lengths, sizes, st.integers(0, 2), st.integers(0, 2**32))
def test_scores_are_sums_of_weights(n_bits, size, n_terms, seed):
    bits, weights = draw(n_bits, size, seed)
    terms = np.random.default_rng(seed).random((9, n_terms)) if n_terms else None
    expected = weights @ what_is_weighed(bits, weights.shape[1]).T
    if n_terms:
        expected = expected * terms[:, 0] + terms[:, 1:].sum(axis=1)
    for order in ("little", "big"):
        data = pack_codes(bits, bitorder=order).data
        packed = PackedCodes(data, n_bits, order, terms=terms)
        assert_allclose(weighted_scores(weights, packed), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("n_bits", "n_weights", "message"),
    [
        (8, 11, "has 11 columns. Codes of 8 bits .* 8 weights, or 256 weights for words"),
        (3, 2, "has 2 columns. Codes of 3 bits need 3 weights. Both must come"),
        (9, 288, "has 288 columns. Codes of 9 bits need 9 weights. Both must come"),
    ],
)
def test_other_numbers_of_weights_are_refused(n_bits, n_weights, message):
    with pytest.raises(ValueError, match=f"query_weights {message}"):
        weighted_scores(np.ones((1, n_weights)) / 2, np.eye(n_bits + 1, n_bits))
