"""Packed codes of one hasher, joined."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from sklearn_talr.codes import (
    PackedCodes,
    concatenate_codes,
    pack_codes,
    unpack_codes,
    weighted_scores,
)
from sklearn_talr.hashing import AdditiveHasher

BITS = np.random.default_rng(0).integers(2, size=(20, 11))
TERMS = np.random.default_rng(1).random((20, 2)).astype(np.float32)


@pytest.mark.parametrize("bitorder", ["little", "big"])
@pytest.mark.parametrize("terms", [None, TERMS[:, :1], TERMS])
def test_parts_become_the_whole(bitorder, terms):
    packed = PackedCodes(pack_codes(BITS, bitorder=bitorder).data, 11, bitorder, terms)
    joined = concatenate_codes([packed[:3], packed[3:3], packed[3:4], packed[4:]])
    assert joined.bitorder == "little"
    assert_array_equal(unpack_codes(joined), BITS)
    assert_array_equal(joined.terms.values, packed.terms.values)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "inner_product"])
def test_factors_stay_those_of_the_hasher(metric):
    X = load_digits().data[:60]
    hasher = AdditiveHasher(9, metric=metric, max_iter=1, random_state=0).fit(X)
    codes, weights = hasher.encode(X), hasher.query_weights(X[:5])
    joined = concatenate_codes((codes[:20], codes[20:]))
    assert_array_equal(weighted_scores(weights, joined), weighted_scores(weights, codes))
    assert joined.nbytes == codes.nbytes


def test_parts_that_do_not_fit_are_refused():
    packed = pack_codes(BITS)
    with_factors = PackedCodes(packed.data, 11, terms=TERMS)
    for parts in ([packed, pack_codes(BITS[:, 1:])], [packed, with_factors]):
        with pytest.raises(ValueError, match="parts must hold codes of one hasher"):
            concatenate_codes(parts)
    for parts in ([], [packed[:0]]):
        with pytest.raises(ValueError, match="parts must hold codes"):
            concatenate_codes(parts)
    with pytest.raises(TypeError, match="parts must be PackedCodes, got ndarray"):
        concatenate_codes([packed, BITS])
    with pytest.raises(ValueError, match="The 'parts' parameter of concatenate_codes"):
        concatenate_codes(packed)
