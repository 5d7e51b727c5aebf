"""Codes to search, and what is to be found, for the tests of neighbors."""

import numpy as np

ALGORITHMS = ["auto", "brute", "lookup", "multi_index"]


def random_codes(rng, n_items, n_bits):
    """Hardly any two codes are equal if they are long."""
    return rng.integers(0, 2, (n_items, n_bits), dtype=np.uint8)


def learned_codes(rng, n_items, n_bits):
    """Few distinct codes, near each other, some of them much more frequent."""
    distinct = rng.integers(0, 2, n_bits) ^ (rng.random((8, n_bits)) < 0.15)
    return distinct[(8 * rng.random(n_items) ** 3).astype(int)].astype(np.uint8)


def equal_codes(rng, n_items, n_bits):
    """Everything is tied."""
    return np.repeat(random_codes(rng, 1, n_bits), n_items, axis=0)


def crowded_codes(rng, n_items, n_bits):
    """All different, if they are long, but equal in most of their bits."""
    codes = np.zeros((n_items, n_bits), dtype=np.uint8)
    codes[:, -(-n_bits // 3) :] = rng.integers(0, 2, (n_items, n_bits - -(-n_bits // 3)))
    return codes


CODES = {
    "random": random_codes,
    "learned": learned_codes,
    "crowded": crowded_codes,
    "equal": equal_codes,
}


def draw(kind, n_queries, n_items, n_bits, seed=0):
    """Queries, some of them among the items or opposite to one, and a database."""
    rng = np.random.default_rng(seed)
    database = CODES[kind](rng, n_items, n_bits)
    queries = CODES[kind](rng, n_queries, n_bits)
    queries[0] = database[-1]
    queries[-1] = 1 - database[0]
    return queries, database


def ranking(queries, database):
    """For each query (distance, index) of every item, sorted, by brute force."""
    distances = (queries[:, None] != database).sum(axis=2)
    return [sorted((d, i) for i, d in enumerate(row)) for row in distances.tolist()]
