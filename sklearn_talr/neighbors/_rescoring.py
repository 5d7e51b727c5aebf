"""The second stage of a search: candidates ordered by exact distance of features."""

from collections.abc import Mapping, Set
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from .._core.compat import Interval, validated
from .._core.threads import one_thread
from .._core.types import Any, Array, ArrayLike, Count, Literal
from .._core.validation import ragged, read_features, refuse_masked, row_norms


@validated(
    X_query=["array-like"],
    n_neighbors=[Interval(Integral, 1, None, closed="left"), None],
)
@one_thread()
def rescore(
    X_query: ArrayLike,
    X_database: Array,
    candidates: Any,
    *,
    metric: Literal["euclidean", "inner_product"] = "euclidean",
    n_neighbors: Count = None,
) -> tuple[Array, Array]:
    """Order candidates by exact feature distance or inner product.

    This is the second stage of a search in embeddings: codes, in memory, find a few hundred
    candidates. Then the features of these candidates, which may be on disk, decide the
    order.

    Parameters
    ----------
    X_query : array-like of shape (n_queries, n_features)
        Features of the queries.

    X_database : ndarray or memmap of shape (n_samples, n_features)
        Features of the database, of any real type; row i belongs to index i. Only the
        rows of candidates are read. They are compared in float32, or in float64 if one of
        the two arrays is wider or squares of features exceed the range of float32.

    candidates : array of shape (n_queries, n_candidates) of int, or of n_queries arrays
        Indices of the candidates of each query, as `kneighbors` or `radius_neighbors`
        return them; also lists and sets.

    metric : {"euclidean", "inner_product"}, default="euclidean"
        Order of the candidates: by distance, the smallest first, or by inner product, the
        largest first.

    n_neighbors : int, default=None
        Number of candidates to keep for each query. None keeps all.

    Returns
    -------
    values : ndarray of shape (n_queries, n_neighbors), or (n_queries,) of arrays
        Distances or products, best first. Arrays of various lengths if queries have
        different numbers of candidates left.

    indices : ndarray of the same shape, dtype int64
        Indices of the candidates, ascending within equal values.

    Raises
    ------
    ValueError
        If shapes differ, a candidate has no row, its row is not finite, or candidates may
        be flags of all rows.

    Examples
    --------
    The two candidates are tied by their codes, but not by their features:

    >>> import numpy as np
    >>> from sklearn_talr.neighbors import HammingNeighbors, rescore
    >>> X = np.array([[3.0, 1.0], [1.0, 2.0], [-1.0, 1.0]])
    >>> query = np.array([[1.0, 1.0]])
    >>> neighbors = HammingNeighbors(n_neighbors=2).fit(X)  # signs as codes
    >>> candidates = neighbors.kneighbors(query, return_distance=False)
    >>> candidates
    array([[0, 1]])
    >>> rescore(query, X, candidates)
    (array([[1., 2.]]), array([[1, 0]]))
    """
    if metric not in ("euclidean", "inner_product"):
        raise ValueError(
            f"metric must be 'euclidean' or 'inner_product', got {metric!r}. For the "
            "cosine, scale the rows to unit length and take 'inner_product'."
        )
    refuse_masked(X_query=X_query, X_database=X_database, candidates=candidates)
    X_query, X_database = _read_features(X_query, X_database)
    candidates = _read_candidates(candidates)
    if len(candidates) != len(X_query):
        raise ValueError(
            f"candidates must hold one row for each of {len(X_query)} queries, got "
            f"{len(candidates)}."
        )
    for rows in candidates:
        _check_candidates(rows, len(X_database))
    values = []
    indices = []
    for query, rows in zip(X_query, candidates):
        rows = np.sort(rows.astype(np.int64))  # Disks read ascending rows faster.
        features = _finite_rows(X_database, rows, X_query.dtype)
        if metric == "euclidean":
            query_values = _distances(features, query)
            order = np.argsort(query_values, kind="stable")[:n_neighbors]
        else:
            query_values = _products(features, query)
            order = np.argsort(-query_values, kind="stable")[:n_neighbors]
        values.append(query_values[order])
        indices.append(rows[order])
    if len({len(rows) for rows in indices}) == 1:
        return np.stack(values), np.stack(indices)
    return ragged(values), ragged(indices)


def _read_features(X_query, X_database):
    """Features of both sides, checked; queries in the type in which rows are compared."""
    X_query = read_features(X_query, "X_query")
    X_database = read_features(X_database, "X_database")
    X_query = check_array(X_query, dtype=None, input_name="X_query")
    is_dense = hasattr(X_database, "dtype") and not sp.issparse(X_database)
    if not is_dense or X_database.ndim != 2:
        raise ValueError(
            "X_database must be a dense 2-D array or memmap, got "
            f"{type(X_database).__name__}."
        )
    if X_database.shape[1] != X_query.shape[1]:
        raise ValueError(
            f"X_query has {X_query.shape[1]} features and X_database "
            f"{X_database.shape[1]}; they must be the same features."
        )
    if X_query.dtype.kind not in "biuf" or X_database.dtype.kind not in "biuf":
        raise ValueError(
            "X_query and X_database must hold real numbers, got "
            f"{X_query.dtype} and {X_database.dtype}."
        )
    dtype = np.result_type(X_query.dtype, X_database.dtype, np.float32)
    return X_query.astype(dtype, copy=False), X_database


def _finite_rows(X_database, rows, dtype):
    """Rows of the database; raise ValueError if one is not finite."""
    features = np.asarray(X_database[rows], dtype=dtype)
    if not np.isfinite(features).all():
        not_finite = np.unique(rows[~np.isfinite(features).all(axis=1)])
        raise ValueError(
            f"X_database contains NaN or infinity in the rows {not_finite[:5].tolist()}."
        )
    return features


def _read_candidates(candidates):
    """Candidates as a list of arrays, one for each query."""
    if isinstance(candidates, Mapping) or sp.issparse(candidates):
        raise ValueError(
            "candidates must be an array of indices or a list of arrays, a row for each "
            f"query, got {type(candidates).__name__}. Write np.split(mask.indices, "
            "mask.indptr[1:-1]) for the indices of a sparse mask, if it is CSR."
        )
    if hasattr(candidates, "__array__"):
        # Iteration over a data frame would yield its columns.
        candidates = np.asarray(candidates)
    lists = [list(rows) if isinstance(rows, Set) else rows for rows in candidates]
    return list(map(np.asarray, lists))


def _check_candidates(rows, n_rows):
    """Raise ValueError unless candidates of a query are rows of the database."""
    if rows.dtype == bool:
        raise ValueError(
            "candidates must be integer indices, one row for each query, got a mask. Write "
            "[np.flatnonzero(row) for row in mask] for the indices of a mask."
        )
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError(
            "candidates must be integer indices, one row for each query, got a row of "
            f"{rows.dtype} of shape {rows.shape}."
        )
    if rows.size and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ValueError(
            f"candidates must be rows of X_database, from 0 to {n_rows - 1}, got "
            f"{rows.min()} to {rows.max()}. If faiss has filled up rows with -1, drop "
            "these by [row[row >= 0] for row in candidates]."
        )
    if rows.size == n_rows and len(np.unique(rows)) < n_rows:
        raise ValueError(
            f"candidates has a row of {n_rows} integers, as many as X_database has rows, "
            "and some repeat, which has two readings: a flag or count of each row, or "
            "indices. Write [np.flatnonzero(row) for row in candidates] for those that "
            "have some, and [np.unique(row) for row in candidates] for indices."
        )


def _distances(features, query):
    """Distances of rows to a query, without overflow or underflow.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features), float32 or float64
        Rows.

    query : ndarray of shape (n_features,) of the same type
        The query.

    Returns
    -------
    distances : ndarray of shape (n_rows,)
        Distances, in the type of the rows unless they exceed its range.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        differences = features - query
        distances = np.sqrt(np.einsum("ij,ij->i", differences, differences))
    low, high = _range_of_lengths(features.dtype)
    # Squares have lost digits. That may also be the reason for a distance of 0.
    is_rough = ~((distances > low) & (distances < high))
    if is_rough.any():
        scale = _power_of_two(features[is_rough], query)
        rows = np.ldexp(features[is_rough].astype(np.float64), -scale)
        lengths = row_norms(rows - np.ldexp(query.astype(np.float64), -scale))
        exact = np.ldexp(lengths, scale)
        if np.any(exact > high):
            # float32 may not hold these.
            distances = distances.astype(np.float64)
        distances[is_rough] = exact
    return distances


def _products(features, query):
    """Inner products of rows with a query, without overflow or underflow.

    Parameters and results are the same as for `_distances`.
    """
    low, high = _range_of_lengths(features.dtype)
    largest = np.abs(features).max(axis=1, initial=0).astype(np.float64)
    largest *= np.abs(query).max(initial=0)
    is_rough = ((largest > 0) & (largest < low**2)) | (largest > high**2)
    if not is_rough.any():
        # einsum rounds the product of a row in the same way at every place.
        return np.einsum("ij,j->i", features, query)
    scale = _power_of_two(features)
    query_scale = _power_of_two(query)
    features = np.ldexp(features.astype(np.float64), -scale)
    query = np.ldexp(query.astype(np.float64), -query_scale)
    return np.ldexp(np.einsum("ij,j->i", features, query), scale + query_scale)


def _range_of_lengths(dtype):
    """Smallest and largest length of rows whose squares keep all digits of a type."""
    limits = np.finfo(dtype)
    return float(np.sqrt(limits.tiny) / limits.eps), float(np.sqrt(limits.max) * limits.eps)


def _power_of_two(*arrays):
    """Exponent of the least power of two above all numbers."""
    return int(max(np.frexp(np.abs(numbers).max(initial=0))[1] for numbers in arrays))


def feature_rows(X):
    """Features as an array, memory-mapped where they are."""
    if sp.issparse(X):
        raise ValueError(
            "n_rescored compares dense features, got a sparse matrix. Set n_rescored=None."
        )
    X = read_features(X)
    return X if isinstance(X, np.ndarray) else np.asarray(X)


class StackedRows:
    """Rows of several arrays, one array after another, of which none is copied.

    Parameters
    ----------
    parts : sequence of ndarray of shape (n_rows, n_features)
        The arrays, in memory or memory-mapped.
    """

    ndim = 2

    def __init__(self, parts):
        self._parts = parts = [feature_rows(part) for part in parts]
        self._starts = np.cumsum([0, *map(len, parts)])
        self.dtype = np.result_type(*parts)
        self.shape = int(self._starts[-1]), parts[0].shape[1]

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        """Rows by their numbers, in ascending order."""
        bounds = np.searchsorted(rows, self._starts)
        rows_of_parts = np.split(rows, bounds[1:-1])
        parts = zip(self._parts, self._starts, rows_of_parts)
        return np.concatenate([part[here - start] for part, start, here in parts])

    def at(self, rows):
        """Rows by their numbers, in any order, with repeats."""
        ascending, places = np.unique(rows, return_inverse=True)
        return self[ascending][places]

    def append(self, part):
        """The same rows and the rows of one more array."""
        return StackedRows([*self._parts, part])
