"""What decodings find: the ten rows with the highest scores."""

import numpy as np

N_NEIGHBORS = 10


def by_cosine(queries, decoded):
    """Rows whose decodings have the highest cosines with each query."""
    lengths = np.linalg.norm(decoded, axis=1, keepdims=True)
    return by_product(queries, decoded / np.maximum(lengths, 1e-12))


def by_product(queries, decoded):
    """Rows whose decodings have the highest inner products with each query."""
    return highest(queries @ decoded.T)


def highest(scores):
    """Columns of the highest scores of each row."""
    return np.argpartition(-scores, N_NEIGHBORS - 1, axis=1)[:, :N_NEIGHBORS]
