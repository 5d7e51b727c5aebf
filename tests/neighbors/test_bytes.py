"""What an item takes in a file, and in memory."""

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator

from sklearn_talr.codes import PackedCodes
from sklearn_talr.codes._door import WordFactors, Words
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HashedNeighbors, WeightedHammingNeighbors


@pytest.fixture
def path(tmp_path):
    return tmp_path / "codes.npz"


def fitted(metric, n_bits=8, n_items=600):
    """Single bits, rows, and neighbors that are not fitted."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_items, 12)) + 3
    hasher = AdditiveHasher(n_bits, word_size=1, metric=metric, max_iter=2, random_state=0)
    return hasher.fit(X), X, WeightedHammingNeighbors(5)


def codes_of_words(word_size, n_codes):
    """Distinct codes of 16 bits, and weights; the last word of a code tells a level."""
    rng = np.random.default_rng(0)
    n_values = 2**word_size
    codebooks = rng.standard_normal((16 // word_size, n_values, 3)).astype(np.float32)
    codebooks[-1] = 0
    levels = np.linspace(0.2, 0.9, n_values)
    rule = WordFactors.of_codebooks(codebooks, np.array([0.1, 0.2, 0.3]), levels)
    data = rng.permutation(2**16)[:n_codes].astype("<u2")[:, None].view(np.uint8)
    weights = rng.standard_normal((20, Words(16, word_size).n_weights))
    return PackedCodes._of(data, 16, "little", None, rule), weights


def saved(neighbors, path):
    """Bytes of each array of a file."""
    neighbors.save(path)
    with zipfile.ZipFile(path) as file:
        names = {info.filename.removesuffix(".npy") for info in file.infolist()}
    with np.load(path) as arrays:
        return {name: arrays[name].nbytes for name in names - {"header"}}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "inner_product", "euclidean"])
def test_only_what_no_code_tells_is_saved(metric, mmap, path):
    hasher, X, neighbors = fitted(metric)
    neighbors.fit(hasher.encode(X))
    n_codes, n_items = neighbors.n_distinct_codes_, neighbors.n_items_
    sizes = saved(neighbors, path)
    kept = {"columns": n_codes, "starts": 8 * (n_codes + 1), "members": 4 * n_items}
    extra = {
        "cosine": {"gram": 4 * 8**2, "along": 8 * 8},
        "inner_product": {},
        "euclidean": {"terms": 4 * n_codes},
    }[metric]
    assert sizes == kept | extra
    in_memory = {"cosine": 4, "inner_product": 0, "euclidean": 8}[metric] * n_codes
    per_item = {"cosine": 1, "inner_product": 1, "euclidean": 1 + 4}[metric]
    assert hasher.encode(X).nbytes == per_item * len(X)
    expected = (sum(kept.values()) + in_memory) / n_items
    assert neighbors.n_bytes_per_item_ == pytest.approx(expected)
    loaded = WeightedHammingNeighbors.load(path, mmap=mmap)
    queries = hasher.query_weights(X[:20])
    for found, wanted in zip(loaded.kneighbors(queries), neighbors.kneighbors(queries)):
        assert_array_equal(found, wanted)
    # What is loaded goes on as what was saved does.
    more = hasher.encode(X[:50] + 0.1)
    for each in (loaded, neighbors):
        each.partial_fit(more).remove([3, 601])
    assert_array_equal(loaded.codes_.terms, neighbors.codes_.terms)
    assert saved(loaded, path).keys() == sizes.keys()


def test_factors_of_few_codes_are_kept(path):
    """The rule that they follow from would take more."""
    hasher, X, neighbors = fitted("cosine", n_bits=40)
    sizes = saved(neighbors.fit(hasher.encode(X)), path)
    assert sizes["terms"] == 4 * neighbors.n_distinct_codes_
    assert not {"gram", "along"} & sizes.keys()


def test_factors_of_two_hashers_are_all_kept(path):
    hasher, X, neighbors = fitted("cosine")
    other = AdditiveHasher(8, max_iter=1, random_state=1).fit(X[::-1] ** 2)
    codes = hasher.encode(X), other.encode(X)
    neighbors.fit(codes[0]).partial_fit(codes[1])
    assert "terms" in saved(neighbors, path)
    loaded = WeightedHammingNeighbors.load(path)
    for each in (neighbors, loaded):
        terms = np.concatenate([part.terms for part in codes])
        assert_array_equal(each.codes_.terms, terms)


N_CODES = {4: 352, 8: 3_072}  # whose factors take as many bytes as the rule


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("word_size", [4, 8])
def test_factors_of_words_follow_from_their_vectors(word_size, mmap, path):
    codes, queries = codes_of_words(word_size, N_CODES[word_size] + 1)
    neighbors = WeightedHammingNeighbors(5).fit(codes)
    sizes, n_entries = saved(neighbors, path), 16 // word_size * 2**word_size
    assert sizes["codebooks"] == 4 * 3 * n_entries
    assert sizes["along"] == 8 * n_entries
    assert sizes["levels"] == 8 * 2**word_size
    assert "terms" not in sizes
    loaded = WeightedHammingNeighbors.load(path, mmap=mmap)
    for each in (loaded, neighbors):
        each.partial_fit(codes[:40]).remove([3])
    assert_array_equal(loaded.codes_.terms, neighbors.codes_.terms)
    assert loaded.n_bytes_per_item_ == neighbors.n_bytes_per_item_
    for found, wanted in zip(loaded.kneighbors(queries), neighbors.kneighbors(queries)):
        assert_array_equal(found, wanted)
    assert saved(loaded, path).keys() == sizes.keys()


@pytest.mark.parametrize("word_size", [4, 8])
def test_factors_of_few_codes_of_words_are_kept(word_size, path):
    codes, _ = codes_of_words(word_size, N_CODES[word_size])
    sizes = saved(WeightedHammingNeighbors(5).fit(codes), path)
    assert sizes["terms"] == 4 * len(codes)
    assert not {"codebooks", "along", "levels"} & sizes.keys()


@pytest.mark.parametrize("word_size", [1, 4, 8])
def test_factors_take_no_byte_beside_their_hasher(word_size, path):
    pytest.importorskip("skops", reason="skops is not installed")
    _, X, _ = fitted("cosine")
    hasher = AdditiveHasher(24, word_size=word_size, max_iter=2, random_state=0).fit(X)
    index = HashedNeighbors(FrozenEstimator(hasher), n_neighbors=5).fit(X)
    sizes = saved(index, path)
    assert sizes.keys() == {"columns", "starts", "members", "hasher"}
    loaded = HashedNeighbors.load(path)
    assert loaded.n_bytes_per_item_ == index.n_bytes_per_item_
    for each in (loaded, index):
        each.partial_fit(X[:50] + 0.1).remove([3, len(X) + 1])
    assert_array_equal(loaded.codes_.terms, index.codes_.terms)
    for found, wanted in zip(loaded.kneighbors(X[:20]), index.kneighbors(X[:20])):
        assert_array_equal(found, wanted)
    assert saved(loaded, path).keys() == sizes.keys()


def test_factors_of_no_hasher_in_the_file_are_refused(path):
    hasher, X, neighbors = fitted("cosine")
    neighbors.fit(hasher.encode(X)).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes()) | {"factors": "of hasher"}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="save it anew"):
        WeightedHammingNeighbors.load(path)


@pytest.mark.parametrize(
    ("word_size", "change"),
    [(1, "gram"), (1, "along"), (4, "codebooks"), (4, "along"), (8, "levels")],
)
def test_a_rule_that_fits_no_code_is_refused(word_size, change, path):
    hasher, X, neighbors = fitted("cosine")
    codes = hasher.encode(X) if word_size == 1 else codes_of_words(word_size, 9_999)[0]
    neighbors.fit(codes)
    rule = neighbors._fitted.store.factors
    part = getattr(rule, change)
    for wrong in (part[:-1], np.full_like(part, np.nan), part[..., None], part > 0):
        neighbors._fitted.store.factors = rule._replace(**{change: wrong})
        neighbors.save(path)
        with pytest.raises(ValueError, match="contradict each other"):
            WeightedHammingNeighbors.load(path)
    neighbors._fitted.store.factors = rule._replace(beyond="much")
    neighbors.save(path)
    with pytest.raises(ValueError, match="lacks or misstates"):
        WeightedHammingNeighbors.load(path)
