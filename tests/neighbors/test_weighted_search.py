"""Search by weighted Hamming distance, against comparing every pair."""

import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import order_of, slow_distances
from numpy.testing import assert_allclose, assert_array_equal
from reference import n_weights_of

from sklearn_talr.codes import CodeTerms, PackedCodes, pack_codes
from sklearn_talr.codes._packed import wrap_bytes
from sklearn_talr.metrics import tie_aware_average_precision_score
from sklearn_talr.neighbors import HammingNeighbors
from sklearn_talr.neighbors import WeightedHammingNeighbors as Weighted

each_size = pytest.mark.parametrize("word_size", [1, 8])


def draw(seed, n_bits, n_terms, n_items=60, n_queries=4, word_size=1):
    """Codes that repeat, whole weights, so that many scores are tied."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_items, n_bits), dtype=np.uint8)
    bits = bits[rng.integers(0, max(1, n_items // 2), n_items)]
    terms = rng.integers(-1, 4, (n_items, n_terms)) / 2 if n_terms else None
    n_weights = n_weights_of(n_bits, word_size)
    weights = rng.integers(-2, 3, (n_queries, n_weights)).astype(float)
    weights[:, 0] = -0.5
    return bits, PackedCodes(pack_codes(bits).data, n_bits, terms=terms), weights


@settings(max_examples=30)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 3, 5, 6, 7, 8, 9, 12, 64, 70, 130]),
    st.integers(0, 2),
    st.sampled_from([1, 4, 20]),
    st.integers(1, 60),
    st.sampled_from([1, 8]),
)
def test_neighbors_are_those_of_all_pairs(
    seed, n_bits, n_terms, n_queries, n_neighbors, word_size
):
    drawn = {"n_queries": n_queries, "word_size": word_size}
    bits, packed, weights = draw(seed, n_bits, n_terms, **drawn)
    expected = slow_distances(weights, bits, packed.terms.values)
    order = order_of(expected)[:, :n_neighbors]
    found = Weighted(n_neighbors=n_neighbors).fit(packed)
    distances, indices, tied = found.kneighbors(weights, return_tied=True)
    assert_array_equal(indices, order)
    assert_allclose(distances, np.take_along_axis(expected, order, axis=1))
    for row, last, items in zip(expected, order[:, -1], tied):
        assert_array_equal(items, np.flatnonzero(row == row[last]))


@given(
    st.integers(0, 2**32),
    st.sampled_from([5, 33]),
    st.integers(0, 8),
    st.sampled_from([2.0**-40, 0.5, 2.0**40]),
)
def test_radius_finds_all_within(seed, n_bits, radius, unit):
    bits, packed, weights = draw(seed, n_bits, 0)
    weights, radius = weights * unit, radius * unit
    expected = slow_distances(weights, bits, None)
    found = Weighted().fit(packed).radius_neighbors(weights, radius=radius)
    for row, distances, indices in zip(expected, *found):
        inside = order_of(row[None])[0][: np.count_nonzero(row <= radius)]
        assert_array_equal(indices, inside)
        assert_allclose(distances, row[inside])


@pytest.mark.parametrize("seed", range(40))
def test_whatever_came_and_went_is_searched_as_all_pairs_are(seed, tmp_path):
    """Random histories, by random weights or whole ones, one query at a time or many."""
    rng = np.random.default_rng(seed)
    n_bits, n_terms = int(rng.choice([1, 2, 9, 31, 64, 65, 257])), seed % 3
    n_queries, word_size = int(rng.integers(1, 40)), (1, 1, 8, 8, 8)[seed % 5]
    bits, packed, weights = draw(seed, n_bits, n_terms, 150, n_queries, word_size)
    if seed % 2:
        weights = rng.standard_normal(weights.shape) * 10.0 ** rng.integers(-9, 9)
        weights[:, 0] = -np.abs(weights[:, 0])
    weights = weights.astype(np.float32)
    expected = slow_distances(weights.astype(float), bits, packed.terms.values)
    neighbors, n_given = (Weighted(n_jobs=int(rng.integers(1, 3))).fit(packed[:30]), 30)
    while n_given < 150:
        new = int(rng.integers(1, 60))
        neighbors.add(packed[n_given : n_given + new])
        n_given = min(150, n_given + new)
        gone = rng.choice(neighbors.indices_, rng.integers(0, 12), replace=False)
        neighbors.remove(gone)
        expected[:, gone] = np.inf
        if rng.integers(2):
            neighbors.save(tmp_path / "codes.npz")
            mmap = bool(rng.integers(2)) and os.name != "nt"
            neighbors = Weighted.load(tmp_path / "codes.npz", mmap=mmap)
    k = int(rng.integers(1, neighbors.n_items_ + 1))
    distances, indices = neighbors.kneighbors(weights, k)
    found = np.take_along_axis(expected, indices, axis=1)
    unit = np.abs(weights).sum(axis=1, keepdims=True)
    assert_allclose(found, distances, rtol=1e-5, atol=1e-5 * unit.max())
    assert (np.diff(found, axis=1) >= -1e-5 * unit).all()
    assert (found[:, -1:] <= np.sort(expected, axis=1)[:, k - 1 : k] + 1e-5 * unit).all()
    if not seed % 2:  # sums of whole numbers are exact, and so are their ties
        assert_array_equal(indices, order_of(expected)[:, :k])
    for i in range(min(3, len(weights))):
        for part, whole in zip(
            neighbors.kneighbors(weights[i : i + 1], k), (distances, indices)
        ):
            assert_array_equal(part[0], whole[i])


@each_size
def test_score_is_the_metric_of_the_scores(word_size):
    bits, packed, weights = draw(7, 16, 1, word_size=word_size)
    y, y_query = np.arange(60) % 3, np.arange(4) % 3
    similar = (y_query[:, None] == y).astype(int)
    scores = -slow_distances(weights, bits, packed.terms.values)
    expected = tie_aware_average_precision_score(similar, scores)
    assert Weighted().fit(packed, y).score(weights, y_query) == pytest.approx(expected)
    assert Weighted().fit(packed).score(weights, similar) == pytest.approx(expected)


def test_calls_by_bits_and_by_words_do_not_disturb_each_other():
    """Hundreds, from several threads, with refused ones among them."""
    queries = [draw(4, 32, 1, word_size=size)[2] for size in (1, 8)]
    _, packed, _ = draw(4, 32, 1)
    neighbors = Weighted().fit(packed)
    expected = [neighbors.kneighbors(weights) for weights in queries]
    n_right = []

    def serve(first):
        for call in range(first, first + 120):
            with pytest.raises(ValueError, match="columns"):
                neighbors.kneighbors(queries[call % 2][:, 1:])
            assert_array_equal(neighbors.kneighbors(queries[call % 2]), expected[call % 2])
        n_right.append(120)

    threads = [threading.Thread(target=serve, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(n_right) == 480


class TestRefusals:
    bits, packed, weights = draw(0, 8, 1)

    def test_bits_are_no_weights(self):
        neighbors = Weighted().fit(self.bits)
        for queries in (self.bits, self.packed):
            with pytest.raises(ValueError, match="query_weights"):
                neighbors.kneighbors(queries)

    def test_items_are_no_queries(self):
        with pytest.raises(ValueError, match="Pass X, the weights of the queries"):
            Weighted().fit(self.bits).kneighbors()

    def test_factors_have_no_radius(self):
        with pytest.raises(ValueError, match="radius has no meaning"):
            Weighted().fit(self.packed).radius_neighbors(self.weights)

    def test_terms_must_be_those_of_the_database(self):
        with pytest.raises(ValueError, match="terms per code"):
            Weighted().fit(self.bits).add(self.packed)

    def test_codes_with_terms_are_not_compared_by_hamming_distance(self):
        remedy = r"HashedNeighbors\(hasher\)"
        with pytest.raises(ValueError, match=remedy):
            HammingNeighbors().fit(self.packed)
        neighbors = HammingNeighbors().fit(self.bits)
        with pytest.raises(ValueError, match=remedy):
            neighbors.kneighbors(self.packed)
        with pytest.raises(ValueError, match=remedy):
            neighbors.add(self.packed)
        bits = PackedCodes(self.packed.data, self.packed.n_bits, self.packed.bitorder)
        assert_array_equal(neighbors.kneighbors(bits), neighbors.kneighbors(self.bits))

    @pytest.mark.parametrize("word_size", [8])
    def test_words_have_no_radius(self, word_size):
        _, _, weights = draw(0, 8, 0, word_size=word_size)
        neighbors = Weighted().fit(self.bits)
        before = neighbors.kneighbors(weights)
        with pytest.raises(ValueError, match=r"radius .* weights of codewords"):
            neighbors.radius_neighbors(weights)
        assert_array_equal(neighbors.kneighbors(weights), before)

    @pytest.mark.parametrize("radius", [-1, np.nan, "2", True])
    def test_radius_is_a_distance(self, radius):
        with pytest.raises(ValueError, match="radius"):
            Weighted().fit(self.bits).radius_neighbors(self.weights, radius=radius)


@pytest.mark.parametrize("has_terms", [False, True])
@pytest.mark.parametrize("n_bits", [64, 128, 250])
def test_bounds_of_scores_drop_nothing(n_bits, has_terms):
    """Of many queries by tables, of one by four bits of each weight."""
    rng, n_items = np.random.default_rng(n_bits), 70_000
    bits = rng.integers(0, 2, (n_items, n_bits), dtype=np.uint8)
    bits[rng.integers(0, n_items, 3_000)] = bits[7]  # ties
    weights = np.stack(
        [
            rng.normal(size=n_bits),
            rng.standard_cauchy(n_bits),
            (2.0 * bits[7] - 1) * rng.random(n_bits),
            np.full(n_bits, 0.25),
            np.zeros(n_bits),
            1e-38 * rng.normal(size=n_bits),
            1e36 * rng.normal(size=n_bits),
        ]
    ).astype(np.float32)
    terms = CodeTerms()
    if has_terms:
        octets = rng.integers(0, 256, (2, n_items), dtype=np.uint8)
        table = np.linspace(0.5, 2, 256, dtype=np.float32)
        of_lengths = np.stack([table, -(table**2)], axis=1)
        terms = CodeTerms(terms.given, *octets, table, of_lengths)
    packed = wrap_bytes(pack_codes(bits).data, n_bits, terms=terms)
    one_by_one = weights.astype(float)[:, None]
    exact = np.concatenate(
        [slow_distances(w, bits, packed.terms.values) for w in one_by_one]
    )
    expected = np.sort(exact, axis=1)
    atol = 1e-12 * np.abs(exact).max(axis=1) if has_terms else np.full(7, 1e-45)
    found = Weighted().fit(packed)
    for k in (1, 40, 2_000):
        for row, nearest, off in zip(found.kneighbors(weights, k)[0], expected, atol):
            assert_allclose(row, nearest[:k], rtol=1e-9, atol=off)
    together = found.kneighbors(weights, 40)
    for query in range(len(weights)):
        alone = found.kneighbors(weights[query : query + 1], 40)
        assert_array_equal(alone, [part[query : query + 1] for part in together])
