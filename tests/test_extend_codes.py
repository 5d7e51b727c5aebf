"""Codes extended by bits without information, after the RAMAP paper."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_talr.codes import (
    PackedCodes,
    extend_codes,
    hamming_distances,
    pack_codes,
    unpack_codes,
)


def random_codes(n_samples, n_bits, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n_samples, n_bits), dtype=np.uint8)


@settings(deadline=None, max_examples=40)
@given(
    n_bits=st.integers(1, 70),
    n_extra=st.integers(0, 70),
    same=st.booleans(),
    packed=st.booleans(),
)
def test_distances_stay_or_grow_by_the_number_of_bits(n_bits, n_extra, same, packed):
    queries, database = random_codes(3, n_bits), random_codes(5, n_bits, seed=1)
    before = reference.hamming_distances(queries, database)
    if packed:
        queries, database = pack_codes(queries), pack_codes(database)
    queries = extend_codes(queries, n_extra, same=same)
    database = extend_codes(database, n_extra)
    after = hamming_distances(queries, database)
    assert_array_equal(after, before if same else before + n_extra)
    assert queries.shape == (3, n_bits + n_extra)


@pytest.mark.parametrize(("same", "bit"), [(True, 0), (False, 1)])
def test_new_bits_follow_the_old(same, bit):
    codes = random_codes(4, 11)
    extended = extend_codes(codes, 6, same=same)
    assert_array_equal(extended[:, :11], codes)
    assert_array_equal(extended[:, 11:], np.full((4, 6), bit))


@pytest.mark.parametrize("bitorder", ["little", "big"])
@pytest.mark.parametrize("n_extra", [0, 1, 5, 8])
def test_packed_codes_stay_packed_in_their_order(bitorder, n_extra):
    codes = random_codes(4, 11)
    packed = extend_codes(pack_codes(codes, bitorder=bitorder), n_extra, same=False)
    assert isinstance(packed, PackedCodes)
    assert packed.bitorder == bitorder
    assert_array_equal(unpack_codes(packed), extend_codes(codes, n_extra, same=False))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_arrays_keep_their_dtype_and_are_not_changed(dtype):
    codes = random_codes(2, 3).astype(dtype)
    before = codes.copy()
    extended = extend_codes(codes, 2)
    assert extended.dtype == dtype
    extended[:] = 1
    assert_array_equal(codes, before)


def test_lists_become_arrays():
    assert_array_equal(extend_codes([[1, 0]], np.int64(1), same=np.False_), [[1, 0, 1]])


@pytest.mark.parametrize("n_extra", [-1, 1.0, "1", True, None])
def test_number_of_bits_must_be_a_non_negative_integer(n_extra):
    with pytest.raises(ValueError, match="n_extra must be a non-negative integer"):
        extend_codes([[1, 0]], n_extra)


@pytest.mark.parametrize("same", ["no", 0, None])
def test_same_must_be_true_or_false(same):
    with pytest.raises(ValueError, match="same must be True or False"):
        extend_codes([[1, 0]], 1, same=same)


def test_what_is_not_a_code_is_refused():
    with pytest.raises(ValueError, match="zeros and ones"):
        extend_codes([[1, -1]], 1)
