"""Codes for the benchmarks of search: random, in clusters, and as hashers learn them."""

import numpy as np

from sklearn_talr.codes import PackedCodes, unpack_codes


def draw(n, n_bits, seed=0, n_distinct=None):
    """Random codes, some of them many times over if only so many are to differ."""
    rng = np.random.default_rng(seed)
    octets = rng.integers(0, 256, (n_distinct or n, n_bits // 8), dtype=np.uint8)
    if n_distinct:
        octets = octets[(n_distinct * rng.random(n) ** 2).astype(int)]
    return PackedCodes(octets, n_bits)


def near(database, n, n_flips, seed=1):
    """Queries a few bits away from items, so that a small radius finds some."""
    rng = np.random.default_rng(seed)
    bits = unpack_codes(database[rng.integers(len(database), size=n)])
    for row in bits:
        row[rng.choice(database.n_bits, n_flips, replace=False)] ^= 1
    return PackedCodes(np.packbits(bits, axis=1, bitorder="little"), database.n_bits)


def clustered(n, n_bits, n_clusters, flip, seed, sample_seed):
    """Codes around random centers; each bit flips with its own probability."""
    rng = np.random.default_rng(seed)
    centers = rng.integers(0, 256, (n_clusters, n_bits // 8), dtype=np.uint8)
    probability = (flip(rng, n_bits) * 2**16).astype(np.uint16)
    rng, parts = np.random.default_rng(sample_seed), []
    for start in range(0, n, 100_000):
        size = min(100_000, n - start)
        flips = rng.integers(0, 2**16, (size, n_bits), dtype=np.uint16) < probability
        parts.append(
            centers[rng.integers(n_clusters, size=size)] ^ np.packbits(flips, axis=1)
        )
    return PackedCodes(np.concatenate(parts), n_bits)


# Random codes; codes of 1 000 clusters, most of them different; codes as a hasher learns
# them for 100 classes, certain in most bits, so that many are equal.
KINDS = {
    "random": lambda n, n_bits, seed: draw(n, n_bits, seed),
    "clustered": lambda n, n_bits, seed: clustered(
        n, n_bits, 1_000, lambda rng, size: np.full(size, 0.1), 7, seed
    ),
    "learned": lambda n, n_bits, seed: clustered(
        n, n_bits, 100, lambda rng, size: 0.5 * rng.beta(0.3, 3, size), 7, seed
    ),
}
