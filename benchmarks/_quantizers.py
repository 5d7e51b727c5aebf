"""What makes short codes of embeddings, and finds neighbors by them: ours and faiss's.

Every contender is fitted to some rows, adds others to its database, and then searches. It
may search in several ways, which have names.
"""

import faiss
import numpy as np

from sklearn_talr.codes import PackedCodes, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, TALRHasher
from sklearn_talr.neighbors import HammingNeighbors

N_NEIGHBORS, N_CANDIDATES = 10, 1_000


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

    def search(self, queries):
        """Yield the names of searches, and what they found."""
        weights = self.hasher.query_weights(queries)
        bits = PackedCodes(self.codes.data, self.codes.n_bits, self.codes.bitorder)
        index = HammingNeighbors().fit(bits)
        by_bits = index.kneighbors(weights > 0, N_CANDIDATES, return_distance=False)
        scores = weighted_scores(weights, self.codes)
        of_candidates = np.take_along_axis(scores, by_bits, axis=1)
        yield "Hamming", by_bits[:, :N_NEIGHBORS]
        yield "weighted queries", highest(scores)
        best = highest(of_candidates)
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

    def search(self, queries):
        """Yield the names of searches, and what they found."""
        yield "own distance", self.index.search(queries, N_NEIGHBORS)[1]
        decoded = self.index.reconstruct_n(0, self.index.ntotal)
        yield "cosine", by_cosine(queries, decoded)


class Quantizer:
    """An additive quantizer of faiss, scored by the cosine of query and decoding.

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

    def search(self, queries):
        """Yield the name of the search, and what it found."""
        yield "cosine", by_cosine(queries, self.quantizer.decode(self.codes) + self.mean)


def by_cosine(queries, decoded):
    """Rows whose decodings have the highest cosines with each query."""
    decoded /= np.maximum(np.linalg.norm(decoded, axis=1, keepdims=True), 1e-12)
    return highest(queries @ decoded.T)


def highest(scores):
    """Columns of the highest scores of each row."""
    return np.argpartition(-scores, N_NEIGHBORS - 1, axis=1)[:, :N_NEIGHBORS]


def _pq(n_features, n_bits, seed):
    return Index(n_features, f"OPQ{n_bits // 8},PQ{n_bits // 8}")


def _fast_scan(n_features, n_bits, seed):
    return Index(n_features, f"PQ{n_bits // 4}x4fs")


def _sq4(n_features, n_bits, seed):
    return Index(n_features, f"PCA{n_bits // 4},SQ4")


def _rabitq(n_features, n_bits, seed):
    return Index(n_features, f"PCAR{n_bits - 64},RaBitQ")  # 8 bytes are factors


def _residual(n_features, n_bits, seed):
    return Quantizer(faiss.ResidualQuantizer(n_features, n_bits // 8, 8))


def _local_search(n_features, n_bits, seed):
    return Quantizer(faiss.LocalSearchQuantizer(n_features, n_bits // 8, 8))


def _additive(n_features, n_bits, seed):
    return Hasher(AdditiveHasher(n_bits, random_state=seed))


def _itq(n_features, n_bits, seed):
    return Hasher(ITQHasher(n_bits, random_state=seed))


def _talr(n_features, n_bits, seed):
    return Hasher(TALRHasher(n_bits, measure="nDCG", random_state=seed))


# name: what makes it, lengths in bits, most seeds
CONTENDERS = {
    "AdditiveHasher": (_additive, (64, 128, 256, 512), 3),
    "ITQHasher": (_itq, (64, 128, 256), 3),
    "faiss PCA+SQ4": (_sq4, (64, 128, 256), 3),
    "faiss PQFastScan": (_fast_scan, (64, 128, 256), 3),
    "faiss PCA+RaBitQ": (_rabitq, (128, 256), 3),
    "faiss OPQ+PQ": (_pq, (64, 128, 256), 3),
    "faiss ResidualQuantizer": (_residual, (64, 128, 256), 3),
    "TALRHasher without labels": (_talr, (64, 128, 256), 1),
    "faiss LocalSearchQuantizer": (_local_search, (64, 128, 256), 1),
}
