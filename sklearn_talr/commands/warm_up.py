"""Compile or load inner loops before they are needed."""

import numpy as np


def warm_up() -> None:
    """Compile or load the loops of search, counting and fits, before a first request.

    Without this call, the first call that needs a loop compiles it, which takes seconds, or
    loads it from disk, which takes tenths of a second. Compiling all loops takes most of a
    minute once; loading them takes a second or two in later processes.

    Examples
    --------
    >>> import sklearn_talr
    >>> sklearn_talr.warm_up()
    """
    from ..codes import PackedCodes, maxsim_scores, weighted_scores
    from ..hashing import AdditiveHasher, TALRHasher
    from ..histogram import hamming_histogram
    from ..neighbors import HammingNeighbors, WeightedHammingNeighbors
    from ..svm import RankingSVC

    # Codes are compared as words of these sizes, each of which has loops of its own.
    for n_bytes in (1, 2, 4, 8):
        octets = np.arange(2 * n_bytes, dtype=np.uint8).reshape(2, -1)
        codes = PackedCodes(octets, 8 * n_bytes)
        weights = np.full((1, 8 * n_bytes), 0.5, dtype=np.float32)
        HammingNeighbors(1).fit(codes).kneighbors(codes)
        HammingNeighbors(1).fit(codes, ids=["a", "b"]).kneighbors(ids=["a"])
        hamming_histogram(codes, codes, "auto", [0, 1], [0, 1])
        WeightedHammingNeighbors(1).fit(codes).kneighbors(weights)
        weighted_scores(weights, codes)
    maxsim_scores(weights, codes)
    X = np.random.default_rng(0).normal(size=(64, 4))
    y = np.arange(64) % 4
    hasher = TALRHasher(8, max_iter=1, random_state=0, device="cpu")
    hasher.fit(X, y)
    hasher.set_params(hidden_layer_sizes=4, loss="nDCG").fit(X, y)
    for method in ("axes", "bits", "codebooks"):
        AdditiveHasher(16, method=method, max_iter=1, random_state=0).fit(X)
    RankingSVC().fit(X, y == 0)
