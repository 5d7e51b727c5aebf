"""What makes short codes of embeddings, and finds neighbors by them: ours and rivals.

Every contender is fitted to some rows, adds others to its database, and then searches. It
may search in several ways, which have names. `CONTENDERS` says for each how to make it with
so many bytes an item, all that is stored counted, and what of it is measured.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import faiss
import numpy as np
from _rivals import (
    ASH,
    OSQ,
    AllocatedComponents,
    GaussianReference,
    RaBitQ,
    TurboQuant,
    UnbiasedASH,
)
from _searches import by_cosine, by_product, highest

from sklearn_talr.codes import PackedCodes, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, TALRHasher
from sklearn_talr.neighbors import HammingNeighbors

N_CANDIDATES = 1_000


class Hasher:
    """A hasher of ours, searched by Hamming distance and by weighted queries."""

    def __init__(self, hasher):
        self.hasher = hasher

    def fit(self, X):
        self.hasher.fit(X)

    def add(self, X):
        self.codes = self.hasher.encode(X)

    @property
    def n_bytes(self):
        """What is stored of an item: its bits, and what does not follow from them."""
        return self.codes.nbytes // len(self.codes)

    def search(self, queries, n_neighbors):
        """Yield the names of searches, and what they found."""
        weights = self.hasher.query_weights(queries)
        bits = PackedCodes(self.codes.data, self.codes.n_bits, self.codes.bitorder)
        index = HammingNeighbors().fit(bits)
        n_candidates = min(N_CANDIDATES, len(self.codes))
        signs = weights[:, : self.codes.n_bits] > 0
        by_bits = index.kneighbors(signs, n_candidates, return_distance=False)
        scores = weighted_scores(weights, self.codes)
        of_candidates = np.take_along_axis(scores, by_bits, axis=1)
        yield "Hamming", by_bits[:, :n_neighbors]
        yield "weighted queries", highest(scores, n_neighbors)
        best = highest(of_candidates, n_neighbors)
        yield "weighted queries, shortlist", np.take_along_axis(by_bits, best, axis=1)


class Index:
    """An index of faiss, searched by its own distances, or by cosines of its decodings."""

    def __init__(self, n_features, description):
        self.index = faiss.index_factory(n_features, description)

    def fit(self, X):
        self.index.train(X)

    def add(self, X):
        self.index.add(X)

    @property
    def n_bytes(self):
        """What is stored of an item, factors included."""
        return self.index.sa_code_size()

    def search(self, queries, n_neighbors):
        """Yield the names of searches, and what they found."""
        yield "own distance", self.index.search(queries, n_neighbors)[1]
        decoded = self.index.reconstruct_n(0, self.index.ntotal)
        yield "cosine", by_cosine(queries, decoded, n_neighbors)


class Quantizer:
    """An additive quantizer of faiss, scored by query and decoding.

    The norm of a decoding follows from its code, as that of ours does.
    """

    def __init__(self, quantizer):
        self.quantizer = quantizer

    def fit(self, X):
        self.mean = X.mean(axis=0)
        self.quantizer.train(X - self.mean)

    def add(self, X):
        self.codes = self.quantizer.compute_codes(X - self.mean)

    @property
    def n_bytes(self):
        return self.codes.shape[1]

    def search(self, queries, n_neighbors):
        """Yield the names of searches, and what they found."""
        decoded = self.quantizer.decode(self.codes) + self.mean
        yield "product", by_product(queries, decoded, n_neighbors)
        yield "cosine", by_cosine(queries, decoded, n_neighbors)


def _pq(n_features, n_bytes, seed):
    return Index(n_features, f"OPQ{n_bytes},PQ{n_bytes}")


def _fast_scan(n_features, n_bytes, seed):
    return Index(n_features, f"PQ{2 * n_bytes}x4fs")


def _sq4(n_features, n_bytes, seed):
    return Index(n_features, f"PCA{2 * n_bytes},SQ4")


def _rabitq(n_features, n_bytes, seed):
    n_dims = min(8 * (n_bytes - 8), n_features)  # 8 bytes are factors
    return Index(n_features, f"PCAR{n_dims},RaBitQ")


def _rabitq4(n_features, n_bytes, seed):
    return Index(n_features, f"PCAR{2 * (n_bytes - 20)},RaBitQ4")  # 20 bytes are factors


def _residual(n_features, n_bytes, seed):
    return Quantizer(faiss.ResidualQuantizer(n_features, n_bytes, 8))


def _local_search(n_features, n_bytes, seed):
    return Quantizer(faiss.LocalSearchQuantizer(n_features, n_bytes, 8))


def _additive(n_features, n_bytes, seed, word_size="auto"):
    return Hasher(AdditiveHasher(8 * n_bytes, word_size=word_size, random_state=seed))


def _itq(n_features, n_bytes, seed):
    return Hasher(ITQHasher(8 * n_bytes, random_state=seed))


def _talr(n_features, n_bytes, seed):
    return Hasher(TALRHasher(8 * n_bytes, loss="nDCG", random_state=seed))


class Contender(NamedTuple):
    """How to make it from n_features, n_bytes and seed, and what of it is measured."""

    make: Callable
    budgets: tuple = (8, 16, 32, 64)
    n_seeds: int = 3
    many: tuple = (8, 16, 32, 64)  # budgets with the larger number of rows to fit, too
    is_slow: bool = False


def _widths(name, rival):
    """The same with each number of bits a dimension."""
    return {
        f"{name}, {width} bit{'s' * (width > 1)}": Contender(partial(rival, width=width))
        for width in (1, 2, 4)
    }


CONTENDERS = {
    "AdditiveHasher": Contender(_additive),
    "AdditiveHasher, words of 8": Contender(partial(_additive, word_size=8), (8, 16), 1),
    "AdditiveHasher, single bits": Contender(partial(_additive, word_size=1)),
    "Gaussian reference": Contender(GaussianReference),
    **_widths("ASH", ASH),
    **_widths("ASH with a factor", UnbiasedASH),
    "components, allocated bits": Contender(AllocatedComponents),
    **_widths("OSQ", OSQ),
    **_widths("RaBitQ", RaBitQ),
    **_widths("TurboQuant", TurboQuant),
    "faiss PCA+SQ4": Contender(_sq4),
    "faiss PCA+RaBitQ": Contender(_rabitq, (16, 32, 64)),
    "faiss PCA+RaBitQ4": Contender(_rabitq4, (32, 64)),
    "faiss PQFastScan": Contender(_fast_scan),
    "ITQHasher": Contender(_itq, (8, 16, 32)),
    "faiss ResidualQuantizer": Contender(_residual, (8, 16, 32), is_slow=True),
    "faiss OPQ+PQ": Contender(_pq, (8, 16, 32), 1, (8, 16), is_slow=True),
    "faiss LocalSearchQuantizer": Contender(_local_search, (8,), 1, (), is_slow=True),
    "TALRHasher without labels": Contender(_talr, (8, 16, 32), 1, (), is_slow=True),
}
