"""Packing, bit order and Hamming distances."""

import copy
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
import reference
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal

from sklearn_talr.codes import PackedCodes, hamming_distances, pack_codes, unpack_codes
from sklearn_talr.export import to_bit_strings
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors

either_order = pytest.mark.parametrize("bitorder", ["little", "big"])


def random_codes(n_samples, n_bits, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n_samples, n_bits), dtype=np.uint8)


def byte_values(bits, bitorder):
    """Bytes of one code as sums of powers of two, bit 0 first."""
    weight = {"little": lambda i: 2**i, "big": lambda i: 2 ** (7 - i)}[bitorder]
    return [
        sum(int(bit) * weight(i) for i, bit in enumerate(bits[start : start + 8]))
        for start in range(0, len(bits), 8)
    ]


@either_order
def test_packing_round_trip(bitorder):
    for n_bits in range(1, 71):
        codes = random_codes(5, n_bits, seed=n_bits)
        packed = pack_codes(codes, bitorder=bitorder)
        assert packed.data.dtype == np.uint8
        assert (packed.shape, packed.bitorder) == ((5, n_bits), bitorder)
        assert_array_equal(packed.data, [byte_values(code, bitorder) for code in codes])
        unpacked = unpack_codes(packed)
        assert unpacked.dtype == np.uint8
        assert_array_equal(unpacked, codes)


@either_order
def test_packed_codes_change_order_on_request(bitorder):
    codes = random_codes(4, 19)
    for other in ("little", "big"):
        repacked = pack_codes(pack_codes(codes, bitorder=other), bitorder=bitorder)
        assert repacked.bitorder == bitorder
        assert_array_equal(repacked.data, pack_codes(codes, bitorder=bitorder).data)


@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        np.asfortranarray,
        pd.DataFrame,
        lambda codes: codes.astype(bool),
        lambda codes: codes.astype(np.int64),
        lambda codes: codes.astype(np.float16),
        lambda codes: codes.astype(np.float64),
        lambda codes: np.repeat(codes, 2, axis=1)[:, ::2],
        lambda codes: np.repeat(codes, 3, axis=0)[::3],
        lambda codes: codes[:, ::-1].copy()[:, ::-1],
        lambda codes: pd.DataFrame(codes).astype("boolean"),
        lambda codes: pd.DataFrame(codes).astype({0: bool}),
    ],
)
def test_any_container_of_zeros_and_ones_is_packed(convert):
    codes = random_codes(6, 13)
    assert_array_equal(pack_codes(convert(codes)).data, pack_codes(codes).data)
    distances = hamming_distances(convert(codes), codes)
    assert_array_equal(distances, reference.hamming_distances(codes, codes))


@pytest.mark.parametrize(
    ("codes", "error", "message"),
    [
        ([[0, 2]], ValueError, "codes must hold zeros and ones only"),
        ([[-1, 1]], ValueError, r"codes of -1/\+1 `codes > 0`"),
        ([[0.3, 1.0]], ValueError, "For activations pass"),
        ([[0, 255]], ValueError, r"unsigned bytes pass PackedCodes\(bytes, n_bits"),
        (np.array([[0, -7]], np.int8), ValueError, r"from -7 to 0.*\.from_integers\("),
        (["01", "11"], ValueError, r"codes are strings.*\.from_strings\("),
        ([["0", "1"]], ValueError, "codes must hold zeros and ones only"),
        ([[0, np.nan]], ValueError, "codes contains NaN"),
        (np.zeros((0, 4)), ValueError, "0 sample"),
        (np.zeros((4, 0)), ValueError, "0 feature"),
        ([0, 1, 1], ValueError, "Expected 2D array, got 1D array"),
        (sp.csr_array(np.eye(3)), TypeError, "codes' parameter .* must be an array-like"),
        (None, ValueError, "codes' parameter .* must be an array-like"),
    ],
)
def test_what_is_not_a_code_is_refused(codes, error, message):
    with pytest.raises(error, match=message):
        pack_codes(codes)
    with pytest.raises(error, match=message):
        hamming_distances(codes, np.zeros((1, 2)))


class TestWhatOthersStore:
    """Codes of numbers and text, against how other libraries write them."""

    @pytest.mark.parametrize("dtype", ["i1", "u1", "i2", ">i4", "u4", "i8", "u8"])
    @pytest.mark.parametrize("n_columns", [1, 3])
    def test_integers(self, dtype, n_columns):
        size = 8 * np.dtype(dtype).itemsize
        bits = random_codes(9, size * n_columns)
        texts = ["".join(map(str, word)) for word in bits.reshape(-1, size)]
        numbers = np.array([int(text, 2) for text in texts], dtype=f"u{size // 8}")
        numbers = numbers.astype(dtype).reshape(9, n_columns)
        given = numbers[:, 0] if n_columns == 1 else numbers
        lists = given if dtype == "u8" else given.tolist()  # NumPy makes floats of those
        for numbers in (given, lists, np.asfortranarray(given), pd.DataFrame(given)):
            codes = PackedCodes.from_integers(numbers, bits.shape[1])
            assert_array_equal(codes, bits)
            codes = PackedCodes.from_integers(numbers, bits.shape[1], bitorder="little")
            little = bits.reshape(9, n_columns, size)[:, :, ::-1].reshape(9, -1)
            assert_array_equal(codes, little)

    def test_bytes_packed_minus_128(self):
        bits = random_codes(9, 24)
        stored = (np.packbits(bits, axis=1) - 128).astype(np.int8)
        for numbers in (stored, stored.tolist(), stored.astype(np.int16)):
            assert_array_equal(PackedCodes.from_integers(numbers, 24, offset=128), bits)

    @pytest.mark.parametrize("n_bits", [1, 4, 7, 8, 9, 49, 64, 256])
    def test_text(self, n_bits):
        bits = random_codes(9, n_bits)
        texts = to_bit_strings(bits)
        assert_array_equal(PackedCodes.from_strings(texts), bits)
        width = -(-n_bits // 4)  # as ImageHash writes arrays of bool
        hashes = pd.Series([f"{int(text, 2):0>{width}x}" for text in texts])
        assert_array_equal(PackedCodes.from_strings(hashes, n_bits, base=16), bits)
        upper = hashes.str.upper().to_numpy()
        assert_array_equal(PackedCodes.from_strings(upper, n_bits, base=16), bits)
        if n_bits % 4 == 0:
            assert_array_equal(PackedCodes.from_strings(hashes.tolist(), base=16), bits)

    @pytest.mark.parametrize(
        ("numbers", "n_bits", "offset", "message"),
        [
            ([[1.0]], 8, 0, "numbers must be integers of 8 bits"),
            ([[1, 2, 3]], 64, 0, "integers of 21.3333 bits.* by 3 columns"),
            ([[256]], 8, 0, "integers of 8 bits.* offset=128"),
            ([[-1], [200]], 8, 0, "integers of 8 bits"),
            ([[-1]], 8, -128, "after adding offset=-128"),
            ([[3]], 7, 0, "bits set beyond n_bits=7"),
        ],
    )
    def test_integers_that_hold_no_codes(self, numbers, n_bits, offset, message):
        with pytest.raises(ValueError, match=message):
            PackedCodes.from_integers(numbers, n_bits, offset=offset)

    @pytest.mark.parametrize(
        ("texts", "n_bits", "base", "message"),
        [
            (["01", "012"], None, 2, "equal length of the characters 01, which base=2 has"),
            (["01", "21"], None, 2, "of the characters 01"),
            ("0101", None, 2, "must be an array-like"),
            ([], None, 2, "equal length"),
            (["ab", None], None, 16, "texts must be strings"),
            (["0x1"], None, 16, "of the characters 0123"),
            (["ff"], 9, 16, "hold n_bits=9 bits after leading zeros"),
            (["ff"], 7, 16, "hold n_bits=7 bits after leading zeros"),
        ],
    )
    def test_text_that_holds_no_codes(self, texts, n_bits, base, message):
        with pytest.raises(ValueError, match=message):
            PackedCodes.from_strings(texts, n_bits, base=base)


def test_bare_bytes_cannot_be_unpacked():
    for packed in (np.zeros((2, 1), np.uint8), b"\x01", None):
        with pytest.raises(TypeError, match=r"packed must be PackedCodes, got .*n_bits="):
            unpack_codes(packed)


@pytest.mark.parametrize(
    ("data", "n_bits", "message"),
    [
        (np.zeros((2, 1), np.uint8), 0, r"'n_bits' .* must be an int in the range \[1"),
        (np.zeros((2, 1), np.uint8), 8.0, r"'n_bits' .* must be an int in the range \[1"),
        (np.zeros((2, 1), np.uint8), 9, "9 bits take 2 bytes per row, but data has 1"),
        (np.zeros((2, 2), np.uint8), 8, "8 bits take 1 bytes per row, but data has 2"),
        (np.zeros((2, 1), np.int64), 8, "data must be a 2-D uint8 array"),
        (np.zeros(2, np.uint8), 8, "data must be a 2-D uint8 array"),
    ],
)
def test_bytes_must_match_the_stated_length(data, n_bits, message):
    with pytest.raises(ValueError, match=message):
        PackedCodes(data, n_bits)


@pytest.mark.parametrize(
    ("byte", "n_bits", "bitorder", "fits"),
    [
        (0b0111_1111, 7, "little", True),
        (0b1000_0000, 7, "little", False),
        (0b1111_1110, 7, "big", True),
        (0b0000_0001, 7, "big", False),
        (0b0000_0010, 1, "little", False),
        (0b1000_0000, 1, "big", True),
        (0b1111_1111, 8, "little", True),
        (0b1111_1111, 8, "big", True),
    ],
)
def test_spare_bits_must_be_zero(byte, n_bits, bitorder, fits):
    data = np.array([[byte]], dtype=np.uint8)
    if fits:
        assert unpack_codes(PackedCodes(data, n_bits, bitorder)).shape == (1, n_bits)
    else:
        with pytest.raises(ValueError, match=f"bits set beyond n_bits={n_bits}"):
            PackedCodes(data, n_bits, bitorder)


@pytest.mark.parametrize(
    "rows",
    [
        slice(1, 4),
        slice(None, None, -2),
        np.array([5, 0, 0, -1]),
        [2, 3],
        np.array([True, False, True, False, False, True]),
        np.array([], dtype=int),
    ],
)
def test_selecting_rows_keeps_them_packed(rows):
    codes = random_codes(6, 11)
    for bitorder in ("little", "big"):
        packed = pack_codes(codes, bitorder=bitorder)
        for selected in (packed[rows], packed[rows, ...]):
            assert isinstance(selected, PackedCodes)
            assert (selected.n_bits, selected.bitorder) == (11, bitorder)
            assert_array_equal(unpack_codes(selected), codes[rows])


@either_order
def test_as_an_array_packed_codes_are_bits(bitorder):
    codes = random_codes(3, 10)
    packed = pack_codes(codes, bitorder=bitorder)
    assert_array_equal(np.asarray(packed), codes)
    assert np.asarray(packed, dtype=np.float32).dtype == np.float32
    assert_array_equal(np.array(packed, dtype=bool), codes.astype(bool))
    with pytest.raises(ValueError, match="unpacking codes makes a copy"):
        np.array(packed, copy=False)


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_and_pickles_are_whole(clone):
    codes = random_codes(4, 21)
    packed = clone(pack_codes(codes, bitorder="big"))
    assert (packed.shape, packed.bitorder) == ((4, 21), "big")
    assert_array_equal(unpack_codes(packed), codes)


@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 16, 17, 32, 33, 64, 65, 200])
def test_distances_equal_brute_force(n_bits):
    query, database = random_codes(4, n_bits, seed=1), random_codes(7, n_bits, seed=2)
    database[0], database[1] = query[0], 1 - query[0]
    expected = reference.hamming_distances(query, database)
    forms = [np.asarray, pack_codes, lambda codes: pack_codes(codes, bitorder="big")]
    for as_query, as_database in product(forms, forms):
        distances = hamming_distances(as_query(query), as_database(database))
        assert distances.dtype == np.int32
        assert_array_equal(distances, expected)
    assert (distances[0, 0], distances[0, 1]) == (0, n_bits)


@settings(deadline=None, max_examples=50)
@given(
    codes=arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=70)),
    seed=st.integers(0, 2**32 - 1),
)
def test_distances_survive_permuted_and_flipped_bits(codes, seed):
    """Neither the order of the bits nor XOR with a common mask changes a distance."""
    rng = np.random.default_rng(seed)
    distances = hamming_distances(codes[:1], codes)
    order = rng.permutation(codes.shape[1])
    mask = rng.integers(0, 2, codes.shape[1]).astype(bool)
    changed = codes[:, order] ^ mask
    assert_array_equal(hamming_distances(changed[:1], changed), distances)
    assert_array_equal(distances, hamming_distances(codes, codes[:1]).T)


HASHES = [int(v) * 2 + 1 for v in np.random.default_rng(0).integers(0, 2**63, 20)]
DIFFERENCES = np.array([[(a ^ b).bit_count() for b in HASHES] for a in HASHES])
SIGNED = [h - 2**64 if h >= 2**63 else h for h in HASHES]


class TestHashesAsIntegers:
    """64 bits as integers of any type, above and below 2**63."""

    @pytest.mark.parametrize(
        "numbers",
        [
            HASHES,
            tuple(HASHES),
            SIGNED,
            [[h] for h in HASHES],
            [np.uint64(h) for h in HASHES],
            [np.int64(h) for h in SIGNED],
            [np.uint64(h) if h >= 2**63 else h for h in HASHES],
            np.array(HASHES, dtype=object),
            np.array(SIGNED, dtype=object)[:, None],
            np.array(HASHES, dtype=np.uint64),
            pd.Series(HASHES, index=range(20, 0, -1)),
            pd.Series(HASHES, dtype=object),
            pd.Series(HASHES, dtype="UInt64"),
            pd.DataFrame({"hash": HASHES}),
        ],
        ids=lambda numbers: type(numbers).__name__,
    )
    def test_they_are_read(self, numbers):
        codes = PackedCodes.from_integers(numbers, 64)
        assert_array_equal(hamming_distances(codes, codes), DIFFERENCES)

    def test_several_columns_and_an_offset(self):
        rows = [[h, s] for h, s in zip(HASHES, HASHES[::-1])]
        codes = PackedCodes.from_integers(rows, 128)
        assert_array_equal(
            hamming_distances(codes, codes), DIFFERENCES + DIFFERENCES[::-1, ::-1]
        )
        shifted = PackedCodes.from_integers([h - 2**63 for h in HASHES], 64, offset=2**63)
        assert_array_equal(hamming_distances(shifted, shifted), DIFFERENCES)

    @pytest.mark.parametrize(
        ("numbers", "message"),
        [
            ([2**64], "integers of 64 bits"),
            ([2**64 - 1, -1], "integers of 64 bits"),
            ([float(h) for h in HASHES], "dtype='uint64'.*entries of float"),
            ([None, *HASHES], "entries of NoneType, int"),
            (pd.Series([None, *HASHES], dtype="UInt64"), "entries of float64"),
            ([True, False], "entries of bool"),
            (["ff", "00"], r"texts.*from_strings\(texts, base=16\)"),
            (np.array([b"ff"]), r"texts.*from_strings"),
            ([], "integers"),
        ],
    )
    def test_what_are_no_hashes(self, numbers, message):
        with pytest.raises(ValueError, match=message):
            PackedCodes.from_integers(numbers, 64)

    @pytest.mark.parametrize(
        "codes",
        [
            HASHES,
            [[h] for h in HASHES],
            [[h] for h in SIGNED],
            np.array(HASHES, dtype=object)[:, None],
            np.array(HASHES, dtype=np.uint64),
            np.array(HASHES, dtype=np.float64)[:, None],
            pd.Series(HASHES),
            pd.DataFrame({"hash": HASHES}),
            pd.DataFrame({"hash": HASHES}, dtype="UInt64"),
            [[h, s] for h, s in zip(HASHES, HASHES)],
        ],
        ids=lambda codes: type(codes).__name__,
    )
    def test_no_entry_takes_them_for_bits(self, codes):
        index = HammingNeighbors(n_neighbors=1).fit(np.eye(3))
        for call in (
            lambda: HammingNeighbors().fit(codes),
            lambda: WeightedHammingNeighbors().fit(codes),
            lambda: index.kneighbors(codes),
            lambda: index.add(codes),
            lambda: pack_codes(codes),
            lambda: hamming_distances(codes, codes),
            lambda: hamming_distances(np.eye(3), codes),
        ):
            with pytest.raises(ValueError, match=r"PackedCodes\.from_integers\(numbers"):
                call()
        assert index.n_items_ == 3

    @pytest.mark.parametrize(
        ("codes", "message"),
        [
            (b"\x01\x02", r"2 bytes.*frombuffer\(.*reshape\(-1, n_bytes\)"),
            (bytearray(b"\x01\x02"), r"2 bytes.*frombuffer"),
            (memoryview(b"\x01\x02"), r"2 bytes.*frombuffer"),
            ([b"\x01\x02", b"\x00\x03"], r"two readings.*join.*from_strings"),
            ([bytearray(b"\x01"), bytearray(b"\x03")], r"two readings.*frombuffer"),
            (np.array([b"\x01\x02", b"\x04\x00"]), r"tobytes\(\).*from_strings"),
            (np.array([[b"\x01\x02"], [b"\x04\x00"]]), r"tobytes\(\).*from_strings"),
            (pd.Series([b"\x01\x02", b"\x04\x00"]), r"two readings.*join"),
            (["00ff", "11ff"], r"from_strings\(\w+\), with base=16"),
            ([["00ff"], ["11ff"]], r"from_strings\(\w+\), with base=16"),
            (pd.DataFrame({"hash": ["00ff", "11ff"]}), r"from_strings"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_bytes_and_texts_have_their_own_lines(self, codes, message):
        for call in (
            lambda: HammingNeighbors().fit(codes),
            lambda: pack_codes(codes),
            lambda: hamming_distances(codes, codes),
        ):
            with pytest.raises(ValueError, match=message):
                call()

    def test_the_lines_are_right(self):
        stored = [b"\x01\x02", b"\x04\x00"]
        packed = np.frombuffer(b"".join(stored), "u1").reshape(len(stored), -1)
        array = np.array(stored)
        assert_array_equal(
            packed, np.frombuffer(array.tobytes(), "u1").reshape(len(array), -1)
        )
        assert hamming_distances(*[PackedCodes(packed, 16)] * 2)[0, 1] == 3

    def test_a_column_of_lists_of_bits_is_stacked(self):
        bits = np.random.default_rng(0).integers(0, 2, (5, 9))
        for column in (pd.Series(bits.tolist()), pd.DataFrame({"bits": list(bits)})):
            assert_array_equal(pack_codes(column).data, pack_codes(bits).data)
            index = HammingNeighbors(n_neighbors=1).fit(column)
            assert_array_equal(index.codes_.data, pack_codes(bits).data)
