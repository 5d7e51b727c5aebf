"""Weighted queries, one at a time and many."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference import n_weights_of

from sklearn_talr.codes import PackedCodes, pack_codes
from sklearn_talr.neighbors import WeightedHammingNeighbors as Weighted


@pytest.mark.parametrize("word_size", [1, 8])
def test_answers_are_the_same_in_any_company(word_size):
    """One by one, in blocks and in threads, down to the last digit."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (5_000, 104), dtype=np.uint8)
    packed = PackedCodes(pack_codes(bits).data, 104, terms=rng.random((5_000, 2)))
    weights = rng.standard_normal((40, n_weights_of(104, word_size)))
    weights = weights.astype(np.float32)
    neighbors = Weighted().fit(packed)
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
    threaded = Weighted(n_jobs=2).fit(packed)
    assert_array_equal(threaded.kneighbors(np.tile(weights, (30, 1)))[1][:40], indices)
    for row, answer in found.items():
        assert_array_equal(answer[0][0], distances[row])
        assert_array_equal(answer[1][0], indices[row])


class TestQueries:
    bits = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])

    def test_weights_that_are_all_positive_bring_no_warning(self):
        found = Weighted(n_neighbors=1).fit(self.bits).kneighbors([[3.0, 1.5, 2.0]])
        assert_array_equal(found, ([[1.5]], [[1]]))

    def test_a_row_of_zeros_is_answered_alone_as_in_a_batch(self):
        neighbors = Weighted(n_neighbors=2).fit(self.bits)
        batch = neighbors.kneighbors([[0.0, 0.0, 0.0], [3.0, 1.5, 2.0]])
        alone = neighbors.kneighbors([[0.0, 0.0, 0.0]])
        assert_array_equal(alone, [part[:1] for part in batch])

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([[np.nan, 1.0, 2.0]], "NaN"),
            ([[np.inf, 1.0, 2.0]], "infinity"),
            ([[1e39, 1.0, 2.0]], "infinity"),
            ([[1.0, 2.0]], "2 columns.* need 3 weights. Both"),
            ([1.0, 2.0, 3.0], "2D array"),
            (np.zeros((0, 3)), "0 sample"),
            ([["a", "b", "c"]], "could not convert"),
            ([[1j, 2, 3]], "Complex"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:overflow encountered in cast")
    def test_what_is_wrong_is_said(self, weights, message):
        with pytest.raises(ValueError, match=message):
            Weighted(n_neighbors=1).fit(self.bits).kneighbors(np.array(weights))
