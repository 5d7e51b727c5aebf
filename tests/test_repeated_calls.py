"""Services make the same call a million times: none may leave anything in memory."""

import gc
import sys

import numpy as np
import pytest
import torch
from sklearn.naive_bayes import GaussianNB

from sklearn_talr import HammingNeighbors, ITQHasher, RankingSVC, TALRHasher
from sklearn_talr.baselines import FastHasher
from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import tie_aware_ndcg_score
from sklearn_talr.neighbors import HashedNeighbors, WeightedHammingNeighbors

N_CALLS = 40
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((60, 5)), np.arange(60) % 3
CODES, WEIGHTS = RNG.integers(0, 2, (60, 12)), RNG.standard_normal((1, 12))


@pytest.fixture(autouse=True, scope="module")
def what_is_there_before_is_not_searched():
    """Without it collecting garbage takes longer than the calls."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def is_clean(call):
    """Whether so many calls, at some time, leave less than half a block of memory each.

    Caches of Python and NumPy fill up first. What leaves one object behind at each call
    leaves that many blocks in each round.
    """
    for _ in range(25):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(N_CALLS):
            call()
        gc.collect()
        if sys.getallocatedblocks() - before < N_CALLS / 2:
            return True
    return False


HASHERS = [
    ITQHasher(8, random_state=0),
    AdditiveHasher(8, max_iter=2, random_state=0),
    AdditiveHasher(8, word_size=8, max_iter=2, random_state=0),
    FastHasher(2, n_trees=2, max_depth=2, random_state=0),
    TALRHasher(8, max_iter=1, random_state=0, hidden_layer_sizes=6),
    TALRHasher(8, max_iter=1, random_state=0, module=torch.nn.Linear(5, 8)),
]


@pytest.mark.parametrize("method", ["transform", "encode", "query_weights"])
@pytest.mark.parametrize("hasher", HASHERS, ids=lambda h: type(h).__name__)
def test_encoding_single_rows(hasher, method):
    encode = getattr(hasher.fit(X, Y), method)
    assert is_clean(lambda: encode(X[:1]))


SEARCHES = {
    "bits": (HammingNeighbors(3, radius=4).fit(CODES, Y), CODES[:1]),
    "weights": (WeightedHammingNeighbors(3, radius=4).fit(CODES, Y), WEIGHTS),
    "features": (HashedNeighbors(HASHERS[0], n_neighbors=3).fit(X, Y), X[:1]),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("method", ["kneighbors", "radius_neighbors", "rank", "predict"])
def test_single_queries(name, method):
    neighbors, query = SEARCHES[name]
    ask = getattr(neighbors, method)
    assert is_clean(lambda: ask(query))


def test_items_that_come_and_go():
    neighbors = HammingNeighbors(3).fit(CODES, Y)

    def replace():
        first = neighbors.n_samples_fit_
        neighbors.partial_fit(CODES[:5], Y[:5])
        neighbors.kneighbors(CODES[:1])
        neighbors.remove(np.arange(first, first + 5))

    assert is_clean(replace)


OTHERS = {
    "ranking svm": RankingSVC().fit(X, Y == 0).decision_function,
    "class probabilities": ClassProbabilities(GaussianNB()).fit(X, Y).transform,
    "packing": lambda X: pack_codes(CODES[:1]),
    "counting": lambda X: hamming_histogram(CODES[:1], CODES, "auto", Y[:1], Y),
    "scoring": lambda X: tie_aware_ndcg_score([[1, 0, 2]], [[3, 2, 2]]),
    "score of a database": lambda X: DATABASE.score(CODES[:1], Y[:1]),
}
DATABASE = HammingNeighbors(3).fit(CODES, Y)


@pytest.mark.parametrize("name", OTHERS)
def test_other_single_calls(name):
    assert is_clean(lambda: OTHERS[name](X[:1]))


def test_what_is_left_would_be_found():
    left = []
    assert not is_clean(lambda: left.append(object()))
