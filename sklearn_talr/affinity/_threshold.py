"""Affinity graded by the distance of feature rows, or of fingerprints."""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.metrics import euclidean_distances
from sklearn.utils import check_array, check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from .._core.compat import Interval, StrOptions
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import warn_caller
from .._core.state import replace_fitted
from .._core.threads import slices
from .._core.types import Any, Array, ArrayLike, Literal, Rows, Seed, Self, Sequence
from .._core.validation import as_numpy, row_norms
from ._base import BaseAffinity, targets_as_csr

_EPS = np.finfo(np.float64).eps
# Float32 can hold squared lengths between these.
_LEAST_SINGLE = 1e-20
_LARGEST_SINGLE = 1e20
# Float64 holds the square of this number with all digits.
_LEAST_MAGNITUDE = 1e-140
_CELLS_PER_BLOCK = 2**20  # numbers in rows that are subtracted from each other


@parameters
class ThresholdAffinity(BaseAffinity, BaseEstimator, savable=True):
    """Graded affinity by thresholds on the distance of feature rows.

    The nearest pairs get the highest level. Thresholds are quantiles of the pairwise
    distances among the rows seen by `fit`. Targets are numbers, such as prices, or rows of
    features, such as coordinates, or the embeddings of another model.

    Parameters
    ----------
    quantiles : sequence of float, default=(0.05, 0.01, 0.002, 0.001)
        Fractions of all pairs, greater than 0 and less than 1. A pair among the nearest
        ``quantiles[i]`` has an affinity of at least ``levels[i]``.

    levels : sequence of int, default=(1, 2, 5, 10)
        Affinity of each quantile, at least 1, and higher for smaller quantiles.

    metric : {"euclidean", "jaccard"}, default="euclidean"
        Distance of rows. "jaccard" is the Jaccard distance of sets, one minus the Tanimoto
        similarity, for rows of 0 and 1 such as the fingerprints of molecules. Two rows
        without a 1 are equal, at distance 0, as in SciPy; RDKit gives them a similarity of
        0.

    subsample : int, default=5_000
        Maximum number of rows, at least 2, from which the thresholds are computed. If `y`
        has more rows, a random sample of this size is used.

    random_state : int, RandomState instance or None, default=0
        Seed of the sample.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_quantiles,)
        Greatest distance of each quantile, in the order of `quantiles`, plus a margin for
        rounding.

    levels_ : ndarray of shape (n_quantiles + 1,)
        Sorted values that the affinity can take, 0 included.

    mean_ : ndarray of shape (n_features,) or None
        Mean of the rows seen by `fit`, which is subtracted before distances are computed.
        None for sets.

    n_features_in_ : int
        Number of features of the rows seen by `fit`.

    Notes
    -----
    Pairs at a threshold are within it. The level of a pair depends only on the two rows: it
    is the same in both directions, and does not depend on other rows of the call. This also
    holds for numbers such as prices, whose binary fractions are rounded.

    References
    ----------
    He et al., "Hashing as Tie-Aware Learning to Rank", CVPR 2018, section 5.3.

    Examples
    --------
    The nearest half of the six pairs is similar. Equal rows have distance 0, so they get
    the highest level:

    >>> import numpy as np
    >>> from sklearn_talr.affinity import ThresholdAffinity
    >>> X = np.array([[0.0], [1.0], [3.0], [9.0]])
    >>> affinity = ThresholdAffinity(quantiles=(0.5, 0.1), levels=(1, 2)).fit(X)
    >>> affinity(X, X)
    array([[2, 2, 1, 0],
           [2, 2, 1, 0],
           [1, 1, 2, 0],
           [0, 0, 0, 2]])
    >>> affinity.fit([10.0, 11.0, 15.0, 90.0])([12.0], [11.0, 30.0])
    array([[2, 1]])

    The first two sets share two of three elements, and two pairs share one of four:

    >>> sets = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]
    >>> affinity = ThresholdAffinity((0.6, 0.1), (1, 2), metric="jaccard").fit(sets)
    >>> affinity(sets[:1], sets)
    array([[2, 2, 0, 1]])
    """

    by_distance = True
    _levels_are_sure = True
    _parameter_constraints = {
        "quantiles": ["array-like"],
        "levels": ["array-like"],
        "metric": [StrOptions({"euclidean", "jaccard"})],
        "subsample": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    quantiles: Sequence[float] = (0.05, 0.01, 0.002, 0.001)
    levels: Sequence[int] = (1, 2, 5, 10)
    _: KW_ONLY
    metric: Literal["euclidean", "jaccard"] = "euclidean"
    subsample: int = 5_000
    random_state: Seed = 0

    def fit(self, y: ArrayLike) -> Self:
        """Find the thresholds.

        Parameters
        ----------
        y : array-like of shape (n_samples, n_features) or (n_samples,)
            Feature rows, at least two.

        Returns
        -------
        self : ThresholdAffinity
            The fitted affinity.

        Raises
        ------
        ValueError
            If a parameter or a row is not valid, or there is only one row. The affinity is
            then unchanged.

        Warns
        -----
        UserWarning
            If a level cannot occur, because too many pairs of rows have the same distance.
            There is no warning for single numbers, such as ages, which are often equal.
        """
        # _fit_context would skip this in a hasher's fit.
        self._validate_params()
        quantiles = np.asarray(self.quantiles, dtype=float)
        levels = np.asarray(self.levels)
        if not _fit_together(quantiles, levels):
            raise ValueError(
                "quantiles and levels must be two lists of equal length: quantiles must "
                "lie in (0, 1), levels must be positive integers, and a smaller quantile "
                f"must have a higher level, got {self.quantiles} and {self.levels}."
            )
        rows = self.check_targets(y)
        if rows.shape[0] < 2:
            raise ValueError("ThresholdAffinity needs at least 2 rows, got 1 sample.")
        if rows.shape[0] > self.subsample:
            rng = check_random_state(self.random_state)
            rows = rows[rng.choice(rows.shape[0], self.subsample, replace=False)]
        if self.metric == "jaccard":
            mean = None
            thresholds = _jaccard_quantiles(rows, quantiles)
            rounding = 0.0
        else:
            mean = rows.mean(axis=0, dtype=np.float64)
            # Equal distances of decimal fractions differ by rounding. The quantile keeps an
            # outlier, such as a row of -9999, from setting the margin.
            length = np.quantile(row_norms(rows), 0.99)
            rounding = 8 * np.finfo(rows.dtype).eps * length
            thresholds = _euclidean_quantiles(rows, mean, quantiles)
            thresholds = thresholds * (1 + rows.shape[1] * _EPS) + rounding
        # Equal single numbers, such as ages, do not count as repeated rows.
        if self.metric == "jaccard" or rows.shape[1] > 1:
            n_rows = rows.shape[0]
            _warn_of_lost_levels(
                quantiles,
                levels,
                thresholds,
                rounding=rounding,
                n_pairs=n_rows * (n_rows - 1) // 2,
            )
        fitted = {
            "levels_": np.concatenate(([0], np.sort(levels))),
            "n_features_in_": rows.shape[1],
            "thresholds_": thresholds,
            "mean_": mean,
        }
        return replace_fitted(self, fitted)

    def check_targets(self, y: Any) -> Any:
        """Return the feature rows as a 2-D float array, or raise ValueError.

        Single numbers, of shape (n_samples,), become rows of one feature. Rows of sets keep
        their form, which may be CSR.
        """
        y = as_numpy(y, "y")
        if self.metric == "jaccard":
            if sp.issparse(y):
                y = targets_as_csr(y)
            y = check_array(y, accept_sparse="csr", dtype="numeric", input_name="y")
            values = y.data if sp.issparse(y) else y
            wrong = values[(values != 0) & (values != 1)]
            if wrong.size:
                raise ValueError(
                    f"y must hold 0 and 1 for metric='jaccard', but holds {wrong[0]}. Pass "
                    "counts as y > 0, and packed bytes as np.unpackbits(y, axis=1, "
                    "bitorder='little'), RDKit's order."
                )
            return y
        if np.ndim(y) == 1 and np.ndim(y[0] if len(y) else 0) == 0:
            y = np.reshape(y, (-1, 1))
        y = check_array(y, dtype=(np.float64, np.float32), input_name="y")
        largest = float(np.abs(y).max(initial=0))
        if largest > 1 / _LEAST_MAGNITUDE or 0 < largest < _LEAST_MAGNITUDE:
            raise ValueError(
                f"y has magnitudes up to {largest:.0e}, whose squares float64 cannot hold. "
                "Scale the features, as y / np.abs(y).max()."
            )
        return y

    def targets_of(self, X: Rows) -> Any:
        """Return the features as targets, or raise ValueError if they are sparse."""
        if sp.issparse(X) and self.metric != "jaccard":
            raise ValueError(
                "y=None means affinity by distance, which needs dense rows, but X is "
                "sparse. Pass y: labels, or dense feature rows of fewer dimensions with "
                "affinity=ThresholdAffinity()."
            )
        return X

    def levels_between(self, y_query: Any, y_database: Any) -> Array:
        """Return the values that the affinity of these targets can take, 0 first."""
        check_is_fitted(self)
        return self.levels_

    def __call__(self, y_query: ArrayLike, y_database: ArrayLike) -> Array:
        """Grade the distance of every pair of rows.

        Parameters
        ----------
        y_query : array-like of shape (n_query, n_features)
            Feature rows of the queries.

        y_database : array-like of shape (n_database, n_features)
            Feature rows of the database.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database) of int
            Level of the smallest quantile that the pair lies in, 0 if it lies in none.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the affinity is not fitted. Thresholds come from training data, never from
            queries.
        """
        check_is_fitted(self)
        y_query = self.check_targets(y_query)
        y_database = self.check_targets(y_database)
        for rows in (y_query, y_database):
            if rows.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"y has {rows.shape[1]} features, but the thresholds are for rows of "
                    f"{self.n_features_in_} features."
                )
        limits = np.sort(self.thresholds_)
        if self.metric == "jaccard":
            distances = _jaccard(y_query, y_database)
            return self.levels_[::-1][np.searchsorted(limits, distances, side="left")]
        limits **= 2
        squares, margin = _approximate_squares(
            y_query - self.mean_, y_database - self.mean_
        )
        is_near = np.zeros(squares.shape, dtype=bool)
        for limit in limits:
            is_near |= np.abs(squares - limit) <= margin
        # If rounding may decide the level, the distance comes from differences.
        query, item = np.nonzero(is_near)
        for part in slices(len(query), max(1, _CELLS_PER_BLOCK // len(self.mean_))):
            differences = _squares(y_query[query[part]], y_database[item[part]])
            squares[query[part], item[part]] = differences
        return self.levels_[::-1][np.searchsorted(limits, squares, side="left")]


def _fit_together(quantiles, levels):
    """Whether quantiles and levels are of one length, valid, and in opposite orders."""
    if quantiles.ndim != 1 or quantiles.shape != levels.shape or not quantiles.size:
        return False
    if levels.dtype.kind not in "iu":
        return False
    order = np.argsort(quantiles)
    are_fractions = np.all(np.diff(quantiles[order], prepend=0, append=1) > 0)
    are_falling = np.all(np.diff(levels[order], append=0) < 0)
    return bool(are_fractions and are_falling)


def _jaccard_quantiles(rows, quantiles):
    """Quantiles of the distances of all pairs of sets."""
    distances = _jaccard(rows, rows)
    return np.quantile(distances[~np.tri(rows.shape[0], dtype=bool)], quantiles)


def _euclidean_quantiles(rows, mean, quantiles):
    """Quantiles of the distances of all pairs of rows, computed from differences.

    Squares from differences of products are only used to find the pairs at the quantiles.
    """
    squares = euclidean_distances(rows - mean, squared=True)
    # The diagonal holds no pair. No pair has a negative square.
    np.fill_diagonal(squares, -1)
    pair_squares = squares[~np.tri(len(rows), dtype=bool)]
    places = quantiles * (len(pair_squares) - 1)
    below = np.floor(places).astype(int)
    above = np.ceil(places).astype(int)
    pair_squares.partition(np.unique((below, above)))
    low = _distances_of_squares(pair_squares[below], squares, rows)
    high = _distances_of_squares(pair_squares[above], squares, rows)
    return low + (high - low) * (places - below)


def _distances_of_squares(values, squares, rows):
    """The distance of the first pair of rows that has each of some squares."""
    pairs = [np.argmax(squares == value) for value in values]
    first, second = np.divmod(pairs, len(rows))
    return np.sqrt(_squares(rows[first], rows[second]))


def _approximate_squares(queries, items):
    """Squared distances of all pairs of centered rows, and their rounding errors.

    Differences of products lose digits, more for longer rows. Single precision takes half
    the time, if it can hold the lengths.

    Returns
    -------
    squares, margin : ndarray of shape (n_query, n_database), dtype float64
    """
    query_lengths = np.einsum("ij,ij->i", queries, queries)
    item_lengths = np.einsum("ij,ij->i", items, items)
    longest = max(query_lengths.max(initial=0), item_lengths.max(initial=0))
    dtype = np.float32 if _LEAST_SINGLE < longest < _LARGEST_SINGLE else np.float64
    queries = queries.astype(dtype, copy=False)
    items = items.astype(dtype, copy=False)
    sums = np.add.outer(query_lengths, item_lengths)
    squares = np.maximum(sums - 2 * np.float64(queries @ items.T), 0)
    n_features = queries.shape[1]
    margin = 4 * (n_features + 1) * np.finfo(dtype).eps * sums
    margin += n_features * np.finfo(dtype).tiny
    return squares, margin


def _warn_of_lost_levels(quantiles, levels, thresholds, *, rounding, n_pairs):
    """Warn of levels that no pair can have, as the next quantile has an equal distance.

    Parameters
    ----------
    quantiles, levels, thresholds : ndarray of shape (n_quantiles,)
        Each quantile, its level, and the greatest distance that it holds.

    rounding : float
        Equal distances differ by this much at most.

    n_pairs : int
        Number of pairs of rows that were compared. Quantiles with less than one pair are
        left out.
    """
    by_quantile = np.argsort(quantiles)
    steps = np.diff(thresholds[by_quantile])
    is_lost = np.append(False, steps <= rounding)
    is_lost &= quantiles[by_quantile] * n_pairs >= 1
    if not is_lost.any():
        return
    lost = by_quantile[is_lost][::-1]
    possible = by_quantile[~is_lost][::-1]
    share = quantiles[lost[0]]
    warn_caller(
        f"Levels {levels[lost].tolist()} of ThresholdAffinity cannot occur, because many "
        f"of the nearest {100 * share:.3g} % of pairs have the same distance, "
        f"{thresholds[lost[0]]:.3g}, for example repeated rows. Drop repeated rows with "
        "np.unique(rows, axis=0), pass larger quantiles, or pass fewer levels: "
        f"ThresholdAffinity(quantiles={quantiles[possible].tolist()}, "
        f"levels={levels[possible].tolist()})."
    )


def _jaccard(queries, items):
    """One minus shared ones over all ones of each pair; equal fractions, equal floats."""
    # Numbers of ones are whole numbers, which float32 holds.
    queries = queries.astype(np.float32)
    items = items.astype(np.float32)
    n_shared = safe_sparse_dot(queries, items.T, dense_output=True).astype(np.float64)
    query_sizes = np.asarray(queries.sum(axis=1), np.float64).ravel()
    item_sizes = np.asarray(items.sum(axis=1), np.float64).ravel()
    n_either = np.add.outer(query_sizes, item_sizes) - n_shared
    return 1 - np.divide(n_shared, n_either, out=np.ones_like(n_shared), where=n_either > 0)


def _squares(first_rows, second_rows):
    """Squared distances of pairs of rows, from their differences."""
    differences = np.subtract(first_rows, second_rows, dtype=np.float64)
    return np.einsum("ij,ij->i", differences, differences)
