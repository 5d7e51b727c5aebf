"""What decodings find: the rows with the highest scores."""

import numpy as np

N_NEIGHBORS = 10


def by_cosine(queries, decoded, n_neighbors):
    """Rows whose decodings have the highest cosines with each query, the best first."""
    lengths = np.linalg.norm(decoded, axis=1, keepdims=True)
    return by_product(queries, decoded / np.maximum(lengths, 1e-12), n_neighbors)


def by_product(queries, decoded, n_neighbors):
    """Rows whose decodings have the highest products with each query, the best first."""
    return highest(queries @ decoded.T, n_neighbors)


def highest(scores, n_neighbors):
    """Columns of the highest scores of each row, the best first."""
    some = np.argpartition(-scores, n_neighbors - 1, axis=1)[:, :n_neighbors]
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1)
    return np.take_along_axis(some, order, axis=1)
