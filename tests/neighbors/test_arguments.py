"""What HammingNeighbors takes for codes and for numbers, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from neighbor_cases import draw, fit
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from sklearn_talr.codes import PackedCodes, pack_codes, unpack_codes
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors


class Renamed(HammingNeighbors):
    """A class of a user's own."""


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("neighbors", [Renamed, WeightedHammingNeighbors])
def test_messages_name_the_class_that_the_user_has(neighbors, tmp_path):
    names, path, name = list("abcd"), tmp_path / "codes.npz", neighbors.__name__
    codes = pd.DataFrame(np.eye(4), columns=names)
    index = neighbors().fit(codes)
    index.save(path)
    for fitted in (index, neighbors.load(path)):
        with pytest.raises(ValueError, match=rf"\b{name} is expecting 4 feat"):
            fitted.add(np.eye(3))
        with pytest.raises(ValueError, match=rf"\b{name} holds codes of 4 bits"):
            fitted.add(pack_codes(np.eye(3)))
    with pytest.warns(UserWarning, match=rf"\b{name} was fitted without"):
        neighbors(2).fit(np.eye(4)).kneighbors(codes - 0.5)


class TestWhatIsACode:
    """Positive entries are ones."""

    @pytest.mark.parametrize(
        "convert",
        [
            np.ndarray.tolist,
            np.asfortranarray,
            pack_codes,
            lambda codes: pack_codes(codes, bitorder="big"),
            lambda codes: codes.astype(bool),
            lambda codes: codes.astype(np.float16),
            lambda codes: 2 * codes.astype(int) - 1,
            lambda codes: np.where(codes, 0.3, -2.5),
            lambda codes: np.repeat(codes, 2, axis=1)[:, ::2],
        ],
    )
    def test_any_form_of_codes_is_the_same(self, convert):
        queries, database = draw("random", 3, 20, 13)
        expected = fit(database).kneighbors(queries, 5)
        for codes, items in ((convert(queries), database), (queries, convert(database))):
            assert_array_equal(fit(items).kneighbors(codes, 5), expected)

    @pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", ">u2", "i1", "i2", "i8"])
    def test_packed_bytes_are_not_taken_for_bits(self, dtype):
        """Bytes viewed as words are packed too, and would be codes of one bit."""
        packed = pack_codes(draw("random", 3, 20, 64)[1])
        words = packed.data.view(dtype)
        neighbors = fit(words > words.mean())  # as many bits as there are words
        weighted = WeightedHammingNeighbors()
        message = r"integers from .* look like packed codes.*PackedCodes\.from_integers\("
        for call in (fit, neighbors.add, neighbors.kneighbors, weighted.fit):
            with pytest.raises(ValueError, match=message):
                call(words)
            if dtype != "u8":  # of whose lists NumPy makes floats
                with pytest.raises(ValueError, match=message):
                    call(words.tolist())
        assert neighbors.n_items_ == 20
        if dtype[-2] == "u":
            assert_array_equal(fit(unpack_codes(packed).astype(dtype)).codes_, packed)
        order = "big" if ">" in dtype else "little"
        codes = PackedCodes.from_integers(words, 64, bitorder=order)
        assert_array_equal(codes, np.unpackbits(packed.data, axis=1, bitorder=order))

    @pytest.mark.parametrize("text", ["0110", b"0110"])
    def test_texts_are_not_taken_for_numbers(self, text):
        for texts in (
            [text] * 3,
            np.array([text] * 3),
            pd.Series([text] * 3, index=[4, 5, 6]),
        ):
            with pytest.raises(ValueError, match=r"X are strings.*from_strings\("):
                fit(texts)

    def test_codes_without_a_sign_are_warned_of(self):
        """Outputs of a sigmoid are all positive, so all ones."""
        X = np.random.default_rng(0).normal(size=(20, 8))
        sigmoid, neighbors = 1 / (1 + np.exp(-X)), fit(X)
        for codes in (sigmoid, np.maximum(X, 0), sigmoid[:1]):
            for call in (fit, fit(X).add, neighbors.kneighbors):
                with pytest.warns(UserWarning, match=r"no negative.*X - 0\.5") as warned:
                    call(codes)
                assert len(warned) == 1
        assert_array_equal(fit(sigmoid - 0.5).codes_, neighbors.codes_)

    @pytest.mark.parametrize("convert", [np.asarray, pack_codes, lambda codes: codes - 0.5])
    def test_one_code_for_all_is_warned_of_where_it_is_the_database(self, convert):
        same = np.tile([0, 1, 1], (9, 1))
        with pytest.warns(UserWarning, match="All rows of X have the same code") as warned:
            neighbors = HammingNeighbors(3).fit(convert(same))
        assert len(warned) == 1
        # One item has one code, and queries or new items may well be equal.
        fit(convert(same[:1])).add(convert(same))
        neighbors.kneighbors(convert(same))

    @pytest.mark.parametrize(
        ("codes", "error", "message"),
        [
            (np.zeros((0, 4)), ValueError, "0 sample"),
            (np.zeros((4, 0)), ValueError, "0 feature"),
            ([[0, np.nan]], ValueError, "contains NaN"),
            ([[0, np.inf]], ValueError, "contains infinity"),
            ([0, 1, 1], ValueError, "Expected 2D array"),
            (sp.csr_array(np.eye(3)), TypeError, "Sparse data was passed"),
            ([["a", "b"]], ValueError, "dtype='numeric' is not compatible"),
            (pack_codes([[0, 1]])[[]], ValueError, "0 sample"),
        ],
    )
    def test_what_is_not_a_code_is_refused(self, codes, error, message):
        with pytest.raises(error, match=message):
            fit(codes)


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.0, True, "3"])
def test_a_bad_number_of_neighbors_is_refused(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors must be an integer of at least 1"):
        fit(np.eye(4)).kneighbors(np.eye(4), n_neighbors)


@pytest.mark.parametrize("radius", [-1, 0.5, False, None])
def test_a_bad_radius_is_refused(radius):
    neighbors = fit(np.eye(4), radius=1)
    if radius is None:
        assert [len(items) for items in neighbors.radius_neighbors(np.eye(4))[1]] == [1] * 4
    else:
        with pytest.raises(ValueError, match="radius must be an integer of at least 0"):
            neighbors.radius_neighbors(np.eye(4), radius)


@pytest.mark.parametrize(
    "params",
    [
        {"n_neighbors": 0},
        {"radius": -1},
        {"affinity": "labels"},
        {"scoring": 3},
        {"n_jobs": 0.5},
    ],
)
def test_bad_parameters_are_named(params):
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter"):
        HammingNeighbors(**params).fit(np.eye(3))


@pytest.mark.parametrize(
    "ask",
    [
        lambda n: n.kneighbors([[0, 1]]),
        lambda n: n.radius_neighbors([[0, 1]]),
        lambda n: n.rank([[0, 1]]),
        lambda n: n.predict([[0, 1]]),
        lambda n: n.score([[0, 1]], [1]),
        lambda n: n.remove([0]),
        lambda n: n.save("nothing.npz"),
        lambda n: n.codes_,
    ],
)
def test_nothing_can_be_asked_before_fit(ask):
    with pytest.raises(NotFittedError):
        ask(HammingNeighbors())
