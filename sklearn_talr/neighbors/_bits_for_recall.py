"""How many bits a database needs: recall by length, at the size that is meant."""

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

_PARTS = 4  # of a size, whose recall is averaged; the next size is as many times larger
_CELLS_PER_BLOCK = 2**22
_ROUNDING = 16  # of products, in units of the last place of the largest
_LEAST_ITEMS = 2  # of the smallest size, in neighbors wanted


class BitsForRecall(NamedTuple):
    """The shortest code that finds enough, and what was measured to tell.

    Parameters
    ----------
    n_bits : int or None
        The shortest length whose lower bound reaches the target; None if none does.

    target : float
        The recall that was asked for.

    n_items : int
        The size of the database that is meant.

    sizes : tuple of three int
        Sizes of the databases that were measured, ascending.

    results : dict of str to ndarray of shape (n_lengths,)
        For each length that was tried, in ascending order:

        * ``"n_bits"``: the length.
        * ``"measured"``: recall at the largest size that was measured.
        * ``"recall"``: recall to be expected at `n_items`.
        * ``"low"``, ``"high"``: its bounds.
        * ``"held_out_error"``: what the two smaller sizes promise for the largest, minus
          what was measured there.
    """

    n_bits: int | None
    target: float
    n_items: int
    sizes: tuple
    results: dict

    def __str__(self) -> str:
        if self.n_bits is None:
            found = f"No length reaches a recall of {self.target:g}"
        else:
            found = f"{self.n_bits} bits reach a recall of {self.target:g}"
        lines = [
            f"{found} among {self.n_items} items; measured among {self.sizes[-1]}.",
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
    """Find the shortest code that finds enough of the true neighbors.

    *Recall* is the share of a query's `n_neighbors` true neighbors, those by the floats,
    that are among as many found by the codes. It falls as the database grows. So it is
    measured at three sizes, each four times the one before, and carried on to the size that
    is meant. A length will do if even the lower bound of its recall reaches the target.
    Queries, training rows and items are different rows of the sample.

    Lengths are tried in ascending order, until one will do.

    Parameters
    ----------
    index : HashedNeighbors
        The index as it is meant, but for the length of its codes: a clone of it gets each
        length, by the parameter `n_bits` of its hasher, which is fitted without targets.

    X : array-like of shape (n_samples, n_features)
        A sample of the rows. Some become queries, the others items.

    target : float
        The recall that is asked for, in (0, 1].

    n_bits : array-like of int, default=(32, 64, 128, 256, 512)
        Lengths to try.

    n_items : int, default=None
        Size of the database that is meant. None means as many as `X` has rows.

    n_neighbors : int, default=10
        Number of true neighbors to find.

    metric : {"cosine", "euclidean", "inner_product"}, default="cosine"
        What the true neighbors are nearest by.

    X_query : array-like of shape (n_queries, n_features), default=None
        Queries, if they are not rows like those of `X`.

    n_queries : int, default=1000
        Number of rows of `X` that become queries, at most a fifth.

    n_train : int, default=None
        Number of rows that the hasher is fitted to. They are no items, since training rows
        are encoded better than others. None means half of the rows that are no queries.

    confidence_level : float, default=0.95
        Confidence level of the interval over queries.

    random_state : int, RandomState instance or None, default=None
        Draws queries and items, and the resamples of the interval.

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
        If a parameter is not what it should be, or there are too few rows.

    Notes
    -----
    From a size to one four times as large, recall is multiplied by some number, nearly the
    same from step to step: with r(m) the recall among m items and s steps from m to n,

        r(n) = r(m) * min(1, r(m) / r(m / 4)) ** s,    s = log(n / m) / log(4).

    It is not taken to rise. One hasher encodes the items of all sizes. At the two smaller
    sizes recall is the mean over four parts of the items. The interval is that of
    :func:`~sklearn_talr.inference.mean_interval` over the queries, of r(n) as a sum over
    them, to the first order. It does not know how well the formula fits. So where the
    formula promises too much at the largest size that is measured, by e, the lower bound is
    lowered by ``e * s * (s + 1) / 2``, what an error of steady growth comes to.

    Where codes tie, recall is the mean over their orders, but for rescored items.

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
    lengths = np.unique(n_bits)
    if not lengths.size or lengths.dtype.kind not in "iu" or lengths[0] < 1:
        raise ValueError(f"n_bits must hold integers of at least 1, got {n_bits!r}.")
    if not isinstance(index, HashedNeighbors):
        raise TypeError(f"index must be a HashedNeighbors, got {index!r}.")
    unfitted = FittedHasher.of(index.hasher)
    if unfitted.is_frozen or not hasattr(unfitted.hasher, "n_bits"):
        raise ValueError(
            f"the hasher of index is frozen or has no parameter n_bits: {index.hasher!r}. "
            "Pass one that is not fitted; n_train rows fit it."
        )
    # Disjoint rows become queries, rows to fit the hasher to, and items.
    rng = check_random_state(random_state)
    X = check_array(read_features(X), dtype=(np.float64, np.float32))
    n_items = len(X) if n_items is None else int(n_items)
    X = X[rng.permutation(len(X))]
    if X_query is None:
        X_query, X = np.split(X, [min(n_queries, len(X) // 5)])
    else:
        X_query = read_features(X_query, "X_query")
        X_query = check_array(X_query, dtype=X.dtype, input_name="X_query")
    if len(X_query) < 2 or X_query.shape[1] != X.shape[1]:
        raise ValueError(
            f"two queries are needed at least, with {X.shape[1]} features as X has, got an "
            f"array of shape {X_query.shape}."
        )
    n_train = len(X) // 2 if n_train is None else n_train
    train, items = X[:n_train], X[n_train:][:n_items]
    sizes = len(items) // _PARTS**2, len(items) // _PARTS, len(items)
    if sizes[0] < _LEAST_ITEMS * n_neighbors:
        raise ValueError(
            f"{len(items)} items are too few to measure the recall of {n_neighbors} "
            f"neighbors at three sizes: {_LEAST_ITEMS * n_neighbors * _PARTS**2} are "
            "needed. Pass more rows X, or lower n_neighbors or n_train, or raise n_items."
        )
    # The two smaller sizes are measured on four parts of the items.
    starts = sizes[1] * np.arange(_PARTS)
    parts = [[items[i : i + size] for i in starts] for size in sizes[:2]] + [[items]]
    asked = X_query, n_neighbors
    true = [[true_neighbors(part, *asked, metric) for part in each] for each in parts]
    steps = np.log(n_items / sizes[-1]) / np.log(_PARTS)
    seed, rows = rng.randint(np.iinfo(np.int32).max), []
    for length in lengths.tolist():
        fitted = clone(index)
        FittedHasher.of(fitted.hasher).hasher.set_params(n_bits=length)
        fitted.set_params(hasher=FrozenEstimator(fitted.hasher.fit(train)))
        recalls = [
            np.mean([recall_of(fitted.fit(p), *asked, t) for p, t in zip(*each)], axis=0)
            for each in zip(parts, true)
        ]
        rows.append((length, *_carried_on(recalls, steps, confidence_level, seed)))
        if rows[-1][3] >= target:
            break
    else:
        warn_caller(
            f"No length up to {lengths[-1]} bits reaches a recall of {target:g} among "
            f"{n_items} items: the lower bound is {rows[-1][3]:.3f}. Try longer codes, or "
            "set n_rescored of the index.",
        )
    names = "n_bits", "measured", "recall", "low", "high", "held_out_error"
    results = dict(zip(names, map(np.array, zip(*rows))))
    found = rows[-1][0] if rows[-1][3] >= target else None
    return BitsForRecall(found, float(target), n_items, sizes, results)


def true_neighbors(items, queries, n_neighbors, metric):
    """Indices of each query's nearest items by features, with all as near as the last."""
    # Powers of two change no digit, and keep squares from overflow and from vanishing.
    both = np.concatenate((queries, items)).astype(np.float64)
    largest = np.abs(both).max(axis=1 if metric == "cosine" else None, keepdims=True)
    both, squares = np.ldexp(both, -np.frexp(largest)[1]), 0
    if metric == "cosine":
        both = normalize(both)
    if metric == "euclidean":
        both -= both[len(queries) :].mean(axis=0)
        squares = (both[len(queries) :] ** 2).sum(axis=1) / 2
    queries, items = np.split(both, [len(queries)])
    margin = _ROUNDING * np.finfo(np.float64).eps * (both**2).sum(axis=1).max()
    step, true = max(1, _CELLS_PER_BLOCK // len(items)), []
    for rows in slices(len(queries), step):
        near = queries[rows] @ items.T - squares
        last = np.partition(near, -n_neighbors, axis=1)[:, -n_neighbors, None]
        true += map(np.flatnonzero, near >= last - margin)
    return true


def recall_of(index, queries, n_neighbors, true):
    """Share of true neighbors found, by query; the mean over the orders of tied items."""
    if index.n_rescored is not None:
        found = index.kneighbors(queries, n_neighbors, return_distance=False)
        return np.array([np.isin(*each).sum() for each in zip(found, true)]) / n_neighbors
    answers, recalls = index.kneighbors(queries, n_neighbors, return_tied=True), []
    for distances, indices, tied, of_query in zip(*answers, true):
        nearer = indices[distances < distances[-1]]
        share = np.isin(tied, of_query).mean()
        n_found = np.isin(nearer, of_query).sum()
        recalls.append(n_found + (n_neighbors - len(nearer)) * share)
    return np.array(recalls) / n_neighbors


def _carried_on(recalls, steps, confidence_level, seed):
    """Measured recall, that some steps on, its bounds, and the error of the last step."""
    smallest, smaller, measured = (np.mean(of_size) for of_size in recalls)
    if measured == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    if smaller <= measured:
        recall, change = measured, recalls[2] / measured - 1
    else:
        recall = measured * (measured / smaller) ** steps
        # The derivative of a product of powers is the sum of the relative changes.
        change = (1 + steps) * (recalls[2] / measured - 1)
        change -= steps * (recalls[1] / smaller - 1)
    promised = smaller * min(1, smaller / smallest) if smallest else smaller
    low, high = mean_interval(
        recall * (1 + change), confidence_level=confidence_level, random_state=seed
    )
    low -= max(0.0, promised - measured) * steps * (steps + 1) / 2
    bounds = max(0.0, float(low)), min(1.0, float(high))
    return measured, recall, *bounds, promised - measured
