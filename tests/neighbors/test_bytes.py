"""What an item takes in a file, and in memory."""

import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import WeightedHammingNeighbors


@pytest.fixture
def path(tmp_path):
    return tmp_path / "codes.npz"


def fitted(metric, n_bits=8, n_items=600, word_size=1):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_items, 12)) + 3
    hasher = AdditiveHasher(
        n_bits, word_size=word_size, metric=metric, max_iter=2, random_state=0
    ).fit(X)
    neighbors = WeightedHammingNeighbors(5)
    return hasher, X, neighbors


def saved(neighbors, path):
    """Bytes of each array of a file."""
    neighbors.save(path)
    with zipfile.ZipFile(path) as file:
        names = {info.filename.removesuffix(".npy") for info in file.infolist()}
    with np.load(path) as arrays:
        return {name: arrays[name].nbytes for name in names - {"header"}}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("word_size", [1, 4, 8])
@pytest.mark.parametrize("metric", ["cosine", "inner_product", "euclidean"])
def test_only_what_no_code_tells_is_saved(metric, word_size, mmap, path):
    n_bits, n_items = {1: (8, 600), 4: (12, 1_000), 8: (16, 8_000)}[word_size]
    hasher, X, neighbors = fitted(metric, n_bits, n_items, word_size)
    neighbors.fit(hasher.encode(X))
    n_codes, n_items = neighbors.n_distinct_codes_, neighbors.n_items_
    sizes = saved(neighbors, path)
    n_bytes = -(-n_bits // 8)
    kept = {
        "columns": n_bytes * n_codes,
        "starts": 8 * (n_codes + 1),
        "members": 4 * n_items,
    }
    extra = {
        "cosine": rule_of(n_bits, word_size),
        "inner_product": {},
        "euclidean": {"terms": 4 * n_codes},
    }[metric]
    has_levels = sizes.pop("levels", 0) == 8 * 2**word_size
    assert sizes == kept | extra
    assert has_levels <= (metric == "cosine" and word_size > 1)
    in_memory = {"cosine": 4, "inner_product": 0, "euclidean": 8}[metric] * n_codes
    per_item = n_bytes + {"cosine": 0, "inner_product": 0, "euclidean": 4}[metric]
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
        each.partial_fit(more).remove([3, n_items + 1])
    assert_array_equal(loaded.codes_.terms, neighbors.codes_.terms)
    assert saved(loaded, path).keys() - {"levels"} == sizes.keys()


def rule_of(n_bits, word_size):
    """Bytes of the arrays that factors follow from, for 12 features."""
    if word_size == 1:
        return {"gram": 4 * n_bits**2, "along": 8 * n_bits}
    n_values = n_bits // word_size * 2**word_size
    return {"codebooks": 4 * 12 * n_values, "along": 8 * n_values}


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


RULES = [(1, "gram"), (1, "along"), (4, "codebooks"), (4, "along"), (4, "levels")]


@pytest.mark.parametrize(("word_size", "change"), RULES)
def test_a_rule_that_fits_no_code_is_refused(word_size, change, path):
    hasher, X, neighbors = fitted("cosine", 12, 1_200, word_size)
    neighbors.fit(hasher.encode(X))
    rule = neighbors._fitted.store.factors
    if change == "levels":
        rule = rule._replace(levels=np.ones(16))
    for part in (
        getattr(rule, change)[:-1],
        np.full_like(getattr(rule, change), np.nan),
    ):
        neighbors._fitted.store.factors = rule._replace(**{change: part})
        neighbors.save(path)
        with pytest.raises(ValueError, match="contradict each other"):
            WeightedHammingNeighbors.load(path)


def test_levels_of_the_last_word_are_kept(path):
    hasher, X, neighbors = fitted("cosine", 12, 1_200, 4)
    neighbors.fit(hasher.encode(X))
    store = neighbors._fitted.store
    rule = store.factors._replace(levels=np.linspace(0.2, 0.9, 16))
    codes = np.ascontiguousarray(store.words).view(np.uint8)[:, :2]
    store.factors, store.terms = rule, rule.of(codes)[:, None]
    weights = hasher.query_weights(X[:5])
    for mmap in (False, True):
        neighbors.save(path)
        loaded = WeightedHammingNeighbors.load(path, mmap=mmap)
        assert_array_equal(loaded.codes_.terms, neighbors.codes_.terms)
        assert_array_equal(loaded.kneighbors(weights), neighbors.kneighbors(weights))
        assert "levels" in saved(loaded, path)
