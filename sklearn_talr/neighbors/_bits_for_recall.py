"""The number of bits that reach a recall, at the size of the whole database."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, check_random_state

from .._core.compat import HasMethods, Interval, StrOptions, validated
from .._core.fitted_hasher import FittedHasher
from .._core.progress import warn_caller
from .._core.threads import slices
from .._core.types import ArrayLike, Count, Literal, Seed
from .._core.validation import read_features
from ..inference import mean_interval
from ._hashed_neighbors import HashedNeighbors

# Each of the three measured sizes is this many times the size before. At the two smaller
# sizes, recall is averaged over as many parts of the items.
_SIZE_RATIO = 4

# The smallest size has at least this many items for each neighbor to find.
_MIN_ITEMS_PER_NEIGHBOR = 2

# Similarities of the exact search that are computed at a time.
_CELLS_PER_BLOCK = 2**22

# Rounding errors of an inner product, in units of the last place of the largest square.
_N_ROUNDINGS = 16


class BitsForRecall(NamedTuple):
    """The shortest code that reaches a recall, with the recall of each length.

    Parameters
    ----------
    n_bits : int or None
        The shortest length whose lower bound reaches the target; None if no length does.

    target : float
        The recall to reach.

    n_items : int
        Number of items of the whole database.

    sizes : tuple of three int
        Sizes of the databases in which recall was measured, ascending.

    results : dict of str to ndarray of shape (n_lengths,)
        For each length that was tried, in ascending order:

        * ``"n_bits"``: the length.
        * ``"measured"``: recall at the largest measured size.
        * ``"recall"``: expected recall at `n_items`.
        * ``"low"``, ``"high"``: bounds of the expected recall.
        * ``"held_out_error"``: recall at the largest measured size as extrapolated from the
          two smaller sizes, minus the measured recall.
    """

    n_bits: int | None
    target: float
    n_items: int
    sizes: tuple
    results: dict

    def __str__(self) -> str:
        subject = "No length reaches"
        if self.n_bits is not None:
            subject = f"{self.n_bits} bits reach"
        lines = [
            f"{subject} a recall of {self.target:g} among {self.n_items} items; measured "
            f"among {self.sizes[-1]}.",
            f"{'bits':>6s}{'measured':>10s}{'recall':>9s}{'low':>8s}{'high':>8s}",
        ]
        for n_bits, measured, recall, low, high, _ in zip(*self.results.values()):
            line = f"{n_bits:6d}{measured:10.3f}{recall:9.3f}{low:8.3f}{high:8.3f}"
            lines.append(line)
        return "\n".join(lines)


@validated(
    index=[HasMethods(["fit", "kneighbors"])],
    X=["array-like"],
    target=[Interval(Real, 0, 1, closed="right")],
    n_bits=["array-like"],
    n_items=[Interval(Integral, 2, None, closed="left"), None],
    n_neighbors=[Interval(Integral, 1, None, closed="left")],
    metric=[StrOptions({"cosine", "euclidean", "inner_product"})],
    X_query=["array-like", None],
    n_queries=[Interval(Integral, 2, None, closed="left")],
    n_train=[Interval(Integral, 2, None, closed="left"), None],
    confidence_level=[Interval(Real, 0, 1, closed="neither")],
    random_state=["random_state"],
)
def n_bits_for_recall(
    index: HashedNeighbors,
    X: ArrayLike,
    target: float,
    *,
    n_bits: ArrayLike = (32, 64, 128, 256, 512),
    n_items: Count = None,
    n_neighbors: int = 10,
    metric: Literal["cosine", "euclidean", "inner_product"] = "cosine",
    X_query: ArrayLike | None = None,
    n_queries: int = 1_000,
    n_train: Count = None,
    confidence_level: float = 0.95,
    random_state: Seed = None,
) -> BitsForRecall:
    """Find the shortest code that reaches a recall of the true neighbors.

    *Recall* is the share of a query's `n_neighbors` true neighbors, computed from the
    features, that are among its `n_neighbors` nearest items by codes. Recall falls as the
    database grows. It is measured at three sizes of a sample, each four times the size
    before, and extrapolated to the size of the whole database. A length is long enough if
    the lower bound of its recall reaches the target. Queries, training rows and items are
    different rows of the sample.

    Lengths are tried in ascending order, until one is long enough.

    Parameters
    ----------
    index : HashedNeighbors
        The index to be used, except for the length of its codes. For each length a clone
        sets the parameter `n_bits` of its hasher, and fits it without targets.

    X : array-like of shape (n_samples, n_features)
        A sample of the rows of the database.

    target : float
        The recall to reach, in (0, 1].

    n_bits : array-like of int, default=(32, 64, 128, 256, 512)
        Lengths to try.

    n_items : int, default=None
        Number of items of the whole database. None takes the number of rows of `X`.

    n_neighbors : int, default=10
        Number of true neighbors to find.

    metric : {"cosine", "euclidean", "inner_product"}, default="cosine"
        Metric of the true neighbors.

    X_query : array-like of shape (n_queries, n_features), default=None
        Queries. None takes rows of `X`.

    n_queries : int, default=1000
        Number of rows of `X` that become queries, at most a fifth.

    n_train : int, default=None
        Number of rows to fit the hasher to. These rows are no items, since a hasher encodes
        its training rows better than other rows. None takes half of the rows that are no
        queries.

    confidence_level : float, default=0.95
        Confidence level of the interval over queries.

    random_state : int, RandomState instance or None, default=None
        Draws queries, training rows and items, and the resamples of the interval.

    Returns
    -------
    result : BitsForRecall
        Named tuple of ``n_bits``, ``target``, ``n_items``, ``sizes`` and ``results``.

    Warns
    -----
    UserWarning
        If no length reaches the target.

    Raises
    ------
    ValueError
        If a parameter is invalid, or there are too few rows.

    Notes
    -----
    If a database grows by a factor of four, recall is multiplied by nearly the same factor
    in each step. With r(m) the recall among m items and s steps from m to n,

        r(n) = r(m) * min(1, r(m) / r(m / 4)) ** s,    s = log(n / m) / log(4).

    The minimum keeps recall from rising. One hasher encodes the items of all sizes. At the
    two smaller sizes recall is the mean over four parts of the items. The interval is
    computed by :func:`~sklearn_talr.inference.mean_interval` over the queries, from r(n) as
    a sum over queries, to the first order. The interval does not cover errors of the
    formula. If the formula is too high by e at the largest measured size, the lower bound
    is lowered by ``e * s * (s + 1) / 2``, the error if e grows steadily.

    If codes tie, recall is the mean over all orders of the tied items, except for rescored
    items.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import ITQHasher
    >>> from sklearn_talr.neighbors import HashedNeighbors, n_bits_for_recall
    >>> X, _ = load_digits(return_X_y=True)
    >>> index = HashedNeighbors(ITQHasher(random_state=0), query="weights")
    >>> result = n_bits_for_recall(
    ...     index, X, 0.5, n_bits=[8, 64], n_items=2_000, n_queries=200, random_state=0
    ... )
    >>> result.n_bits
    64
    """
    lengths = _check_lengths(n_bits)
    _check_index(index)
    rng = check_random_state(random_state)
    X = check_array(read_features(X), dtype=(np.float64, np.float32))
    n_items = len(X) if n_items is None else int(n_items)
    sample = _split(
        X[rng.permutation(len(X))],
        X_query,
        n_queries=n_queries,
        n_train=n_train,
        n_items=n_items,
    )
    sizes = _check_sizes(len(sample.items), n_neighbors)
    # At each size there are parts of the items, and true neighbors in each part.
    parts_by_size = _parts_of_items(sample.items, sizes)
    true_by_size = [
        [true_neighbors(part, sample.queries, n_neighbors, metric) for part in parts]
        for parts in parts_by_size
    ]
    n_steps = np.log(n_items / sizes[-1]) / np.log(_SIZE_RATIO)
    seed = rng.randint(np.iinfo(np.int32).max)
    estimates = {}
    shortest = None
    for length in lengths.tolist():
        fitted = _fit_hasher(index, length, sample.train)
        recalls = [
            _mean_recalls(fitted, parts, sample.queries, n_neighbors, true)
            for parts, true in zip(parts_by_size, true_by_size)
        ]
        estimates[length] = extrapolate_recall(recalls, n_steps, confidence_level, seed)
        if estimates[length].low >= target:
            shortest = length
            break
    else:
        warn_caller(
            f"No length up to {lengths[-1]} bits reaches a recall of {target:g} among "
            f"{n_items} items: the lower bound is {estimates[length].low:.3f}. Try longer "
            "codes, or set n_rescored of the index.",
        )
    return BitsForRecall(
        n_bits=shortest,
        target=float(target),
        n_items=n_items,
        sizes=sizes,
        results=_columns_of(estimates),
    )


class _Sample(NamedTuple):
    """Disjoint rows of a sample: queries, rows to fit the hasher to, and items."""

    queries: np.ndarray  # (n_queries, n_features)
    train: np.ndarray  # (n_train, n_features)
    items: np.ndarray  # (n_items, n_features)


class RecallEstimate(NamedTuple):
    """Recall of codes of one length at the size of the database.

    Parameters
    ----------
    measured : float
        Recall at the largest measured size.

    recall : float
        Expected recall at the size of the database.

    low, high : float
        Bounds of the expected recall.

    held_out_error : float
        Recall at the largest measured size as extrapolated from the two smaller sizes,
        minus the measured recall.
    """

    measured: float
    recall: float
    low: float
    high: float
    held_out_error: float


def _columns_of(estimates):
    """Lengths, and a column for each field of their estimates."""
    columns = {"n_bits": np.array(list(estimates))}
    for name, values in zip(RecallEstimate._fields, zip(*estimates.values())):
        columns[name] = np.array(values)
    return columns


def _check_lengths(n_bits):
    lengths = np.unique(n_bits)
    if not lengths.size or lengths.dtype.kind not in "iu" or lengths[0] < 1:
        raise ValueError(f"n_bits must hold integers of at least 1, got {n_bits!r}.")
    return lengths


def _check_index(index):
    """Raise an error unless the index has an unfitted hasher with a number of bits."""
    if not isinstance(index, HashedNeighbors):
        raise TypeError(f"index must be a HashedNeighbors, got {index!r}.")
    unfitted = FittedHasher.from_estimator(index.hasher)
    if unfitted.is_frozen or not hasattr(unfitted.hasher, "n_bits"):
        raise ValueError(
            f"the hasher of index is frozen or has no parameter n_bits: {index.hasher!r}. "
            "Pass one that is not fitted; n_train rows fit it."
        )


def _split(X, X_query, *, n_queries, n_train, n_items):
    """Split shuffled rows into queries, unless these are given, training rows and items."""
    if X_query is None:
        X_query, X = np.split(X, [min(n_queries, len(X) // 5)])
    else:
        X_query = read_features(X_query, "X_query")
        X_query = check_array(X_query, dtype=X.dtype, input_name="X_query")
    if len(X_query) < 2 or X_query.shape[1] != X.shape[1]:
        raise ValueError(
            f"at least two queries are needed, with {X.shape[1]} features as X has, got an "
            f"array of shape {X_query.shape}. Pass more rows X, or another X_query."
        )
    n_train = len(X) // 2 if n_train is None else n_train
    return _Sample(X_query, X[:n_train], X[n_train:][:n_items])


def _check_sizes(n_items, n_neighbors):
    """Three sizes of databases, ascending, of which the last has all items."""
    sizes = n_items // _SIZE_RATIO**2, n_items // _SIZE_RATIO, n_items
    if sizes[0] < _MIN_ITEMS_PER_NEIGHBOR * n_neighbors:
        n_needed = _MIN_ITEMS_PER_NEIGHBOR * n_neighbors * _SIZE_RATIO**2
        raise ValueError(
            f"{n_items} items are too few to measure the recall of {n_neighbors} "
            f"neighbors at three sizes: {n_needed} are needed. Pass more rows X, or lower "
            "n_neighbors or n_train, or raise n_items."
        )
    return sizes


def _parts_of_items(items, sizes):
    """Parts of the items at each size: four parts at the two smaller sizes, else one."""
    starts = sizes[1] * np.arange(_SIZE_RATIO)
    smaller = [[items[start : start + size] for start in starts] for size in sizes[:2]]
    return [*smaller, [items]]


def _fit_hasher(index, length, X):
    """The index with a hasher of codes of one length, fitted to X."""
    fitted = clone(index)
    FittedHasher.from_estimator(fitted.hasher).hasher.set_params(n_bits=length)
    return fitted.set_params(hasher=FrozenEstimator(fitted.hasher.fit(X)))


def _mean_recalls(index, parts, queries, n_neighbors, true):
    """Recall of each query, as the mean over parts of the items."""
    recalls = [
        recall_of(index.fit(part), queries, n_neighbors, true_of_part)
        for part, true_of_part in zip(parts, true)
    ]
    return np.mean(recalls, axis=0)


def true_neighbors(items, queries, n_neighbors, metric):
    """Indices of each query's nearest items by features, and of items tied with the last.

    Items whose similarity differs from the last neighbor's by rounding alone are tied.
    """
    # Powers of two change no digit, and keep squares from overflow and from vanishing.
    rows = np.concatenate((queries, items)).astype(np.float64)
    largest = np.abs(rows).max(axis=1 if metric == "cosine" else None, keepdims=True)
    rows = np.ldexp(rows, -np.frexp(largest)[1])
    half_squares = 0
    if metric == "cosine":
        rows = normalize(rows)
    if metric == "euclidean":
        rows -= rows[len(queries) :].mean(axis=0)
        half_squares = (rows[len(queries) :] ** 2).sum(axis=1) / 2
    queries, items = np.split(rows, [len(queries)])
    margin = _N_ROUNDINGS * np.finfo(np.float64).eps * (rows**2).sum(axis=1).max()
    n_together = max(1, _CELLS_PER_BLOCK // len(items))
    neighbors = []
    for block in slices(len(queries), n_together):
        similarity = queries[block] @ items.T - half_squares
        last = np.partition(similarity, -n_neighbors, axis=1)[:, -n_neighbors, None]
        neighbors += map(np.flatnonzero, similarity >= last - margin)
    return neighbors


def recall_of(index, queries, n_neighbors, true):
    """Share of true neighbors found, by query; the mean over the orders of tied items.

    Parameters
    ----------
    index : HashedNeighbors
        The fitted index.

    queries : ndarray of shape (n_queries, n_features)
        Features of the queries.

    n_neighbors : int
        Number of neighbors.

    true : list of ndarray of int64
        True neighbors of each query.

    Returns
    -------
    recall : ndarray of shape (n_queries,)
        Recall of each query.
    """
    if index.n_rescored is not None:
        indices = index.kneighbors(queries, n_neighbors, return_distance=False)
        n_found = [np.isin(*pair).sum() for pair in zip(indices, true)]
        return np.array(n_found) / n_neighbors
    neighbors = index.kneighbors(queries, n_neighbors, return_tied=True)
    n_found = []
    for distances, indices, tied, true_indices in zip(*neighbors, true):
        nearer = indices[distances < distances[-1]]
        share_of_tied = np.isin(tied, true_indices).mean()
        n_nearer_found = np.isin(nearer, true_indices).sum()
        n_found.append(n_nearer_found + (n_neighbors - len(nearer)) * share_of_tied)
    return np.array(n_found) / n_neighbors


def extrapolate_recall(recalls, n_steps, confidence_level, seed):
    """Extrapolate recall from three sizes of databases to a larger one.

    Parameters
    ----------
    recalls : list of three ndarray of shape (n_queries,)
        Recall of each query at three sizes, each four times the size before.

    n_steps : float
        Number of steps, of a factor of four, from the last size to the larger one.

    confidence_level : float
        Confidence level of the bounds.

    seed : int
        Seed of the resamples of the interval.

    Returns
    -------
    estimate : RecallEstimate
        The recall at the larger size.
    """
    smallest, smaller, measured = (np.mean(recall) for recall in recalls)
    if measured == 0:
        return RecallEstimate(0.0, 0.0, 0.0, 0.0, 0.0)
    relative_change = recalls[2] / measured - 1
    if smaller <= measured:
        recall = measured
        change = relative_change
    else:
        recall = measured * (measured / smaller) ** n_steps
        # The derivative of a product of powers is the sum of the relative changes.
        change = (1 + n_steps) * relative_change
        change -= n_steps * (recalls[1] / smaller - 1)
    promised = smaller
    if smallest:
        promised = smaller * min(1, smaller / smallest)
    low, high = mean_interval(
        recall * (1 + change), confidence_level=confidence_level, random_state=seed
    )
    low -= max(0.0, promised - measured) * n_steps * (n_steps + 1) / 2
    return RecallEstimate(
        measured=measured,
        recall=recall,
        low=max(0.0, float(low)),
        high=min(1.0, float(high)),
        held_out_error=promised - measured,
    )
