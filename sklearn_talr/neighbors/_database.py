"""A database of codes: it grows, shrinks, is searched and ranked, and is kept in files."""

from inspect import isfunction
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, Self, overload

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.compat import Interval, StrOptions
from .._core.parameters import KW_ONLY, parameters
from .._core.types import (
    Affinity,
    Array,
    ArrayLike,
    Callable,
    Column,
    Count,
    FilePath,
    Rows,
)
from .._core.validation import ragged, refuse_unlike_labels
from ..affinity import BaseAffinity
from ..affinity._excluded import leave_out_groups
from ..codes import PackedCodes, hamming_distances
from ..codes._packed import wrap_bytes
from ..codes._scores import signs_of_bits
from ..histogram import RankingHistogram, hamming_histogram
from ..histogram._hamming import weighted_histograms
from ..measures import Measure, parse_measure
from ..measures._base import refuse_scorer
from ..measures._evaluation import average_queries, check_weights
from ._answers import Queries, answers, nearest
from ._files import load_index, save_index
from ._filters import (
    ALL_ROWS,
    Eligible,
    read_eligible,
    read_items,
    refuse_few,
    refuse_other_order,
)
from ._ids import make_ids
from ._index import Index
from ._read import check_number


class Ranking(NamedTuple):
    """All items in the order of their distance to each query.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_items)
        Distances, ascending.

    indices : ndarray of shape (n_queries, n_items) of int64
        Indices of the items, by which tied ones ascend; or ids, as of `kneighbors`.

    ties : ndarray of shape (n_queries, n_items) of int64
        Number of the tie that each place belongs to, 0 for the nearest.
    """

    distances: np.ndarray
    indices: np.ndarray
    ties: np.ndarray


def of_fitted(path: str, doc: str) -> Any:
    """A property of an estimator that is read from its fitted state of this moment."""
    return property(lambda self: attrgetter(path)(self._get_fitted()), doc=doc)


class FittedAtOnce(BaseEstimator):
    """Base of estimators whose fitted state is one object.

    All that is fitted stands in one attribute, `_fitted`, which is never changed but
    replaced as a whole, last of all. So a call that fails or is interrupted leaves the
    estimator as it was, and a call in another thread takes either the old or the new.
    """

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        unfitted = super().__repr__(N_CHAR_MAX)
        fitted = vars(self).get("_fitted")
        return unfitted if fitted is None else f"{unfitted} of {fitted}"

    def _get_fitted(self):
        """The fitted state of this moment, to be taken once in each call."""
        fitted = vars(self).get("_fitted")
        if fitted is None:
            check_is_fitted(self)
        return fitted

    n_items_: int = of_fitted("n_items", "Number of items.")
    nbytes: int = of_fitted(
        "nbytes", "Bytes of memory for all items, without targets and features."
    )

    @property
    def n_bytes_per_item_(self) -> float:
        """Bytes of memory for an item, in the mean, without targets."""
        return self.nbytes / self.n_items_


@parameters
class CodeDatabase(FittedAtOnce):
    """Base of all estimators of this room: items, questions about them, and their files.

    A child defines two methods: ``_read(X, index)`` makes packed codes of items and their
    Columns, those of the index if there is one, and ``_queries(X, index)`` makes packed
    bytes, or weights, of what a user asks by; None are the items.
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Real, 0, None, closed="left")],
        "affinity": [StrOptions({"auto"}), callable],
        "scoring": [str, callable],
        "n_jobs": [Integral, None],
    }

    n_neighbors: int = 10
    radius: float = 2
    _: KW_ONLY
    affinity: Affinity = "auto"
    scoring: str | Callable[..., Any] = "AP"
    n_jobs: Count = None

    def fit(self, X: Rows, y: Any = None, *, ids: Column = None) -> Self:
        """Store the codes of a database.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_bits) or PackedCodes
            Codes; positive entries are ones.

        y : targets of length n_samples, default=None
            Labels, 0/1 label indicators, a PrecomputedAffinity or whatever the affinity
            takes. Needed by `score` and `predict` only.

        ids : array-like of shape (n_samples,) of str or int, default=None
            Id of each item: different strings, or integers of 64 bits. Searches then return
            ids in place of indices, and `remove`, `include`, `exclude` and `ids` take them.
            A string must not end in a null character. Labels of a Series must be those of
            the rows of a data frame `X`. None if items are known by their indices.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, `X`, `y` or `ids` is not what it should be. The estimator is
            then what it was before.
        """
        self._validate_params()
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, ids, ("X", "ids"))
        packed, columns = self._read(X, None)
        ids = make_ids(ids, len(packed))
        self._fitted = Index.of(packed, columns, self.affinity, y, ids=ids)
        return self

    def add(self, X: Rows, y: Any = None, *, ids: Column = None) -> Self:
        """Add items to the database.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns) or PackedCodes
            Items, as `fit` takes them. The first of them gets index `n_samples_fit_`. A
            hasher stays as it is.

        y : targets of length n_samples, default=None
            Their targets, if those of the first items were given. After judgments items are
            numbered on, with or without judgments of the new ones.

        ids : array-like of shape (n_samples,) of str or int, default=None
            Their ids, if those of the first items were given. An id of an item in the
            database is refused: to replace the item, `remove` it first.

        Returns
        -------
        self : object
            The estimator with more items; the first call does what `fit` does.

        Raises
        ------
        ValueError
            If items, targets or ids do not continue those of the first items. The
            estimator is then what it was before.
        """
        fitted = vars(self).get("_fitted")
        if fitted is None:
            return self.fit(X, y, ids=ids)
        self._validate_params()
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, ids, ("X", "ids"))
        packed, _ = self._read(X, fitted)
        self._fitted = fitted.add(packed, y, ids, X)
        return self

    def remove(self, indices: ArrayLike) -> Self:
        """Delete items from the database.

        Parameters
        ----------
        indices : array-like of shape (n_removed,) of int or str, or a set
            Indices of the items, or their ids if they have some. No other item gets such
            an index, and no other item's index changes. An id may be given again.

        Returns
        -------
        self : object
            The estimator with fewer items.

        Raises
        ------
        ValueError
            If an index or id is not that of an item, or nothing would be left. Masks are
            refused, and so are as many integers as items of which some repeat, which may be
            a number of each item.

        Examples
        --------
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors(n_neighbors=2).fit([[0, 0], [0, 0], [0, 1]])
        >>> neighbors.remove([1]).kneighbors([[0, 0]], return_distance=False)
        array([[0, 2]])

        With ids:

        >>> neighbors = neighbors.fit([[0, 0], [0, 0], [0, 1]], ids=["a", "b", "c"])
        >>> neighbors.remove(["b"]).kneighbors([[0, 0]], return_distance=False)
        array([['a', 'c']], dtype='<U1')
        """
        self._fitted = self._get_fitted().remove(indices)
        return self

    @overload
    def kneighbors(
        self,
        X: Rows | None = None,
        n_neighbors: Count = None,
        *,
        ids: Column = None,
        include: Any = None,
        exclude: Any = None,
        allow_fewer: bool = False,
    ) -> tuple[Array, Array]: ...
    @overload
    def kneighbors(
        self,
        X: Rows | None = None,
        n_neighbors: Count = None,
        return_distance: bool = True,
        return_tied: bool = False,
        *,
        ids: Column = None,
        include: Any = None,
        exclude: Any = None,
        allow_fewer: bool = False,
    ) -> Any: ...
    def kneighbors(
        self,
        X: Rows | None = None,
        n_neighbors: Count = None,
        return_distance: bool = True,
        return_tied: bool = False,
        *,
        ids: Column = None,
        include: Any = None,
        exclude: Any = None,
        allow_fewer: bool = False,
    ) -> Any:
        """Find the nearest items of each query.

        Items at the same distance are ordered by index, the smallest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes, default=None
            Queries, as the class takes them: codes, weights of bits, or features. None
            means the items, none its own neighbor; items have no weights.

        n_neighbors : int, default=None
            Number of neighbors. None means that of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        return_tied : bool, default=False
            Whether to return also what is tied with the last neighbor.

        ids : array-like of shape (n_queries,) of int or str, default=None
            Items that are the queries, in place of `X`: ids, or indices as in `indices_` if
            the items have no ids. None of them is its own neighbor. None: `X` is asked.

        include : array-like, set, sparse matrix or sequence of these, default=None
            The items that may be found. Ids, or indices as in `indices_` if the items have
            no ids, are a list, a set or an array of one dimension. A mask is an array of
            bool with an entry for each of the `n_samples_fit_` items given so far. One of
            them is for all queries. For each query its own: a sequence of such lists, sets,
            arrays or masks, or a mask of shape (n_queries, n_samples_fit), of bool or
            sparse, where what is not 0 is true. Masks may name removed items, which stay
            removed, and what repeats counts once. Labels of a mask of pandas must not be
            the items in another order. None allows all.

        exclude : array-like, set, sparse matrix or sequence of these, default=None
            Items that must not be found, such as those that a user has seen: in the forms
            of `include`. None leaves out none.

        allow_fewer : bool, default=False
            Whether a query with fewer items left than `n_neighbors` finds these. Each query
            then has an array of its own, as in `radius_neighbors`, so that no place is
            filled up with what is no item. False: such a query is an error.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), dtype int64 or float64
            Distances, ascending. Only if `return_distance`.

        indices : ndarray of shape (n_queries, n_neighbors), dtype int64
            Indices of the neighbors, ascending within a distance. If the items have ids:
            their ids, of str or int64, in the same order.

        tied : ndarray of shape (n_queries,) of arrays of int64
            Indices, or ids, of all items at the distance of the last neighbor, those in
            `indices` included. Only if `return_tied`.

        Notes
        -----
        With ``allow_fewer=True`` distances and indices are of shape (n_queries,), of arrays
        of up to `n_neighbors` entries.

        Raises
        ------
        ValueError
            If there are fewer items than neighbors asked for, in all or among those that
            are allowed and not excluded, if codes of another length were fitted, or `ids`,
            `include` or `exclude` has another form or names an item that is not in the
            database. Integers or floats of two dimensions, and as many integers as items
            of which some repeat, may be ids or a number of each item, and are refused.

        Examples
        --------
        Three items are tied at distance 1. The two with the smaller indices are among the
        neighbors:

        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> database = [[0, 1, 1], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
        >>> neighbors = HammingNeighbors(n_neighbors=3).fit(database)
        >>> distances, indices, tied = neighbors.kneighbors([[0, 0, 0]], return_tied=True)
        >>> distances, indices
        (array([[0, 1, 1]]), array([[4, 1, 2]]))
        >>> tied[0]
        array([1, 2, 3])

        Only items 0, 2 and 3 are allowed:

        >>> neighbors.kneighbors([[0, 0, 0]], include=[0, 2, 3])
        (array([[1, 1, 2]]), array([[2, 3, 0]]))

        Items 1 and 4 are known already:

        >>> neighbors.kneighbors([[0, 0, 0]], exclude=[[1, 4]])
        (array([[1, 1, 2]]), array([[2, 3, 0]]))

        What is near to item 1, and what is near to it of two items:

        >>> neighbors.kneighbors(ids=[1])
        (array([[1, 1, 2]]), array([[0, 4, 2]]))
        >>> neighbors.kneighbors(ids=[1], include=[1, 2], allow_fewer=True)[1][0]
        array([2])
        """
        fitted = self._get_fitted()
        queries = self._read_queries(fitted, X, ids)
        eligible = read_eligible(
            include, exclude, fitted, queries.n_queries, own=queries.own, X=X
        )
        n_neighbors = self._check_n_neighbors(n_neighbors, fitted, queries, allow_fewer)
        counts = eligible.count(queries.n_queries, fitted.n_items)
        if not allow_fewer:
            refuse_few(counts, n_neighbors, include, exclude)
        found = self._nearest(
            fitted, queries, n_neighbors, eligible=eligible, with_ties=return_tied
        )
        distances, rows = found.distances, found.rows
        if allow_fewer:
            distances = ragged(found.split(distances))
            indices = ragged([fitted.named(part) for part in found.split(rows)])
        else:
            distances = distances.reshape(queries.n_queries, n_neighbors)
            indices = fitted.named(rows).reshape(queries.n_queries, n_neighbors)
        tied = [fitted.named(part) for part in found.tied]
        return as_asked(distances, indices, tied, return_distance, return_tied)

    def radius_neighbors(
        self,
        X: Rows | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        *,
        ids: Column = None,
        include: Any = None,
        exclude: Any = None,
    ) -> Any:
        """Find all items within a radius of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes, default=None
            Queries, as the class takes them: codes, weights of bits, or features. None
            means the items, none its own neighbor; items have no weights.

        radius : int or float, default=None
            Largest distance, from 0; a whole number for Hamming distances. None means that
            of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        ids : array-like of shape (n_queries,) of int or str, default=None
            Items that are the queries, in place of `X`, as for `kneighbors`.

        include : array-like, set, sparse matrix or sequence of these, default=None
            The items that may be found, for all queries or for each, as for `kneighbors`.

        exclude : array-like, set, sparse matrix or sequence of these, default=None
            Items that must not be found, as for `kneighbors`.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays of int64 or float64
            Distances, ascending. Only if `return_distance`.

        indices : ndarray of shape (n_queries,) of arrays of int64
            Indices of the items, ascending within a distance, or ids, as of `kneighbors`.

        Examples
        --------
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors(radius=1).fit([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
        >>> distances, indices = neighbors.radius_neighbors([[0, 0, 0], [1, 1, 0]])
        >>> distances[0], indices[0]
        (array([0, 1]), array([2, 1]))
        >>> indices[1]
        array([], dtype=int64)
        """
        index = self._get_fitted()
        distances, rows = self._within_radius(index, X, ids, radius, include, exclude)
        distances = ragged(distances)
        indices = ragged([index.named(part) for part in rows])
        return (distances, indices) if return_distance else indices

    def _within_radius(self, index, X, ids, radius, include=None, exclude=None):
        """Distances and rows of the items within a radius, an array for each query."""
        queries = self._read_queries(index, X, ids)
        radius = self.radius if radius is None else radius
        if queries.are_bits:
            radius = check_number(radius, "radius")
        elif index.has_distances(queries.values):
            radius = check_number(radius, "radius", Real)
        else:
            raise ValueError(
                "radius has no meaning for codes whose scores have factors, such as those "
                "of AdditiveHasher, and for queries that weigh words: their scores are no "
                "distances. Ask for n_neighbors."
            )
        eligible = read_eligible(
            include, exclude, index, queries.n_queries, own=queries.own, X=X
        )
        distances, rows = [], []
        for block in answers(
            index, queries.values, 0, radius, eligible=eligible, n_jobs=self.n_jobs
        ):
            ends = np.cumsum(block.counts)[:-1]
            rows += np.split(block.rows, ends)
            distances += np.split(block.distances, ends)
        return distances, rows

    def kneighbors_graph(
        self,
        X: Rows | None = None,
        n_neighbors: Count = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> csr_array:
        """Find the nearest items of each query, as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes, default=None
            Queries, as the class takes them: codes, weights of bits, or features. None
            means the items, none its own neighbor; items have no weights.

        n_neighbors : int, default=None
            Number of neighbors. None means that of the constructor.

        mode : {"connectivity", "distance"}, default="connectivity"
            What the matrix holds for a neighbor: 1 or the distance. Distances of
            0 are stored.

        Returns
        -------
        graph : CSR array of shape (n_queries, n_samples_fit), dtype float64
            Entry (q, i) tells that item i is a neighbor of query q.

        Examples
        --------
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors(n_neighbors=2).fit([[0, 1], [0, 0], [1, 1]])
        >>> neighbors.kneighbors_graph([[0, 0]]).toarray()
        array([[1., 1., 0.]])
        """
        _check_mode(mode)
        index = self._get_fitted()
        queries = self._read_queries(index, X)
        n_neighbors = self._check_n_neighbors(n_neighbors, index, queries)
        eligible = read_eligible(None, None, index, queries.n_queries, own=queries.own)
        found = self._nearest(index, queries, n_neighbors, eligible=eligible)
        return _graph(index, found.counts, found.rows, found.distances, mode)

    def radius_neighbors_graph(
        self,
        X: Rows | None = None,
        radius: float | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> csr_array:
        """Find all items within a radius of each query, as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes, default=None
            Queries, as the class takes them: codes, weights of bits, or features. None
            means the items, none its own neighbor; items have no weights.

        radius : int or float, default=None
            Largest distance, from 0; a whole number for Hamming distances. None means that
            of the constructor.

        mode : {"connectivity", "distance"}, default="connectivity"
            What the matrix holds for a neighbor: 1 or the distance. Distances of
            0 are stored.

        Returns
        -------
        graph : CSR array of shape (n_queries, n_samples_fit), dtype float64
            Entry (q, i) tells that item i is within the radius of query q. Entries of a
            query are stored by distance, and tied ones by index.

        Raises
        ------
        ValueError
            If `mode` is another, or `radius_neighbors` refuses `X` or `radius`.

        Examples
        --------
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors(radius=1).fit([[0, 1], [0, 0], [1, 1]])
        >>> neighbors.radius_neighbors_graph().toarray()
        array([[0., 1., 1.],
               [1., 0., 0.],
               [1., 0., 0.]])
        """
        _check_mode(mode)
        index = self._get_fitted()
        distances, rows = self._within_radius(index, X, None, radius)
        counts = np.array([len(part) for part in rows])
        rows, distances = np.concatenate(rows), np.concatenate(distances)
        return _graph(index, counts, rows, distances, mode)

    def predict(self, X: Rows) -> Array:
        """Predict labels by a vote of the `n_neighbors` nearest items.

        Items that are tied for the last places share these equally, so nothing depends on
        the order of the database. Items whose label is the `ignored` one of
        :class:`~sklearn_talr.affinity.LabelAffinity` have no vote and take no place: all is
        as if they were not in the database.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes
            Queries, as the class takes them: codes, weights of bits, or features.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_labels)
            The class with most votes, the first in sorted order if several have; or, for
            label indicators, 1 for each label with more than half of the votes.

        Raises
        ------
        ValueError
            If `y` of `fit` was neither labels nor label indicators, or there are fewer
            items that vote than `n_neighbors`.
        """
        index = self._get_fitted()
        _refuse_no_queries(X, "predict")
        ballots = index.targets.ballots(index.indices)
        queries = self._queries(X, index)
        voters = ballots.voters
        most = index.n_items if voters is None else len(voters)
        n_places = check_number(self.n_neighbors, "n_neighbors", least=1, most=most)
        eligible = Eligible(shared=voters)
        return ballots.count(
            self._answers(index, queries, n_places, eligible=eligible), n_places
        )

    def rank(self, X: Rows) -> Ranking:
        """Rank all items for each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes
            Queries, as the class takes them: codes, weights of bits, or features.

        Returns
        -------
        ranking : Ranking
            Named tuple of ``distances``, ``indices`` and ``ties``, each of shape
            (n_queries, n_items): items by distance, tied ones by index, and the number
            of the tie that each place belongs to. Items with ids are given by these.

        Notes
        -----
        The result has a place for every pair. For metrics of the ranking use `score`, or
        :func:`~sklearn_talr.histogram.hamming_histogram`, which need none.

        Examples
        --------
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors().fit([[1, 1], [0, 1], [1, 0]])
        >>> ranking = neighbors.rank([[0, 1]])
        >>> ranking.indices, ranking.distances, ranking.ties
        (array([[1, 0, 2]]), array([[0, 1, 2]]), array([[0, 1, 2]]))
        >>> neighbors.rank([[0, 0]]).ties
        array([[0, 0, 1]])
        """
        index = self._get_fitted()
        _refuse_no_queries(X, "rank")
        queries = Queries(self._queries(X, index), None, X)
        # By codes alone, whatever a class may do with the nearest
        found = CodeDatabase._nearest(self, index, queries, index.n_items)
        distances = found.distances.reshape(queries.n_queries, -1)
        rows = found.rows.reshape(queries.n_queries, -1)
        ties = np.zeros(distances.shape, dtype=np.int64)
        np.cumsum(distances[:, 1:] > distances[:, :-1], axis=1, out=ties[:, 1:])
        return Ranking(distances, index.named(rows), ties)

    def score(
        self,
        X: Rows,
        y: Any,
        sample_weight: Column = None,
        *,
        groups_query: Column = None,
        groups_database: Column = None,
    ) -> float:
        """Tie-aware measure of queries against the fitted database.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes
            Queries, as the class takes them: codes, weights of bits, or features.

        y : targets of length n_queries
            Targets of the queries, as the affinity takes them: judgments have a column for
            each of the `n_samples_fit_` items given so far. If none were given to `fit`:
            the affinity of each query to each item, shape (n_queries, n_items).

        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the queries, at least 0.

        groups_query, groups_database : array-like of shape (n,), default=None
            Labels of groups, of queries and of each of the `n_samples_fit_` items. Items of
            the query's own group do not count.

        Returns
        -------
        score : float
            Mean of the measure over the queries that have something similar in the
            database; NaN, with a warning, if none has.
        """
        measure = self.scoring
        refuse_scorer(measure, "scoring")
        if isinstance(measure, Measure) or not callable(measure):
            measure = parse_measure(measure).of
        _refuse_no_queries(X, "score")
        if y is None:
            raise ValueError(
                "y is None, and score must know what is relevant to the queries. Pass "
                "their targets, or their affinities to the items if fit was given no y."
            )
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, sample_weight, ("X", "sample_weight"))
        refuse_unlike_labels(X, groups_query, ("X", "groups_query"))
        groups = groups_query, groups_database
        histograms = self._histograms(self._get_fitted(), X, y, groups)
        values = [np.asarray(measure(histogram), dtype=float) for histogram in histograms]
        values = np.concatenate(values)
        return average_queries(values, check_weights(sample_weight, len(values)))

    def save(self, path: FilePath) -> None:
        """Write the fitted estimator to a folder.

        Parameters
        ----------
        path : str or path-like
            The folder: a new one, an empty one, or one that `save` has written; ``~`` at
            the start is the home folder. What it held is replaced at once when everything
            is written; a crash before leaves it as it was.

        Raises
        ------
        ValueError
            If the affinity is not one of labels, shared labels, judgments or thresholds,
            `scoring` is a function, or a hasher has no form without pickle, such as one
            with a torch module, or a step with a lambda. Such an estimator can be pickled.
            Also if the folder holds something else, or `path` is a URL.

        ImportError
            If there is a hasher, and skops is not installed, which stores it.

        Notes
        -----
        The folder holds a file ``index.json``, which states the version of the format and
        the shapes, and a folder of ``.npy`` files that it names. Nothing is pickled. An
        item takes as many bytes in the files as in memory, see `n_bytes_per_item_`.

        A hasher is stored, too. Functions and classes of your own in it are stored by their
        names, so the program that loads the folder must be able to import them. Features
        for `n_rescored` are not written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors(n_neighbors=1).fit([[0, 0], [0, 1]])
        >>> with TemporaryDirectory() as folder:
        ...     neighbors.save(Path(folder) / "codes")
        ...     loaded = HammingNeighbors.load(Path(folder) / "codes")
        >>> loaded.kneighbors([[1, 1]])
        (array([[1]]), array([[1]]))
        """
        save_index(path, self)

    @classmethod
    def load(cls, path: FilePath, *, mmap: bool = False) -> Self:
        """Read a fitted estimator from a folder.

        Parameters
        ----------
        path : str or path-like
            A folder that `save` has written.

        mmap : bool, default=False
            Whether to leave the arrays on disk and read what a query needs. Replacing the
            folder by `save` is safe meanwhile, except on Windows.

        Returns
        -------
        neighbors : estimator of the class
            Finds what the saved one found.

        Raises
        ------
        ValueError
            If the files are truncated, contradict each other, are not from `save` of this
            class, or of a version of the format that this package does not read.
        """
        return load_index(path, cls, mmap)

    def _read_queries(self, index, X, ids=None):
        """Queries X, or items as queries: those of some ids, or all."""
        if X is not None and ids is not None:
            raise ValueError(
                "X and ids are given, and both name the queries. Pass X for new queries, "
                "or ids for items of the database."
            )
        if X is not None:
            return Queries(self._queries(X, index), None, X)
        rows = np.arange(index.n_items)
        if ids is not None:
            rows = index.rows_of(read_items(ids, "ids"), "ids")
        if not len(rows):
            raise ValueError("ids names no item: pass one id at least.")
        if index.features is None:
            return Queries(self._item_queries(index, rows), rows, None)
        X = index.features.at(index.indices_of(rows))
        return Queries(self._queries(X, index), rows, X)

    def _check_n_neighbors(self, n_neighbors, index, queries, allow_fewer=False):
        """Number of neighbors to find: that of the constructor if it is None."""
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        n_neighbors = check_number(n_neighbors, "n_neighbors", least=1)
        most = index.n_items - (queries.own is not None)
        if n_neighbors > most and not allow_fewer:
            raise ValueError(
                f"n_neighbors={n_neighbors} is more than the {most} items to be found. Ask "
                "for fewer, or pass allow_fewer=True to kneighbors, with which a query "
                "finds what there is."
            )
        return n_neighbors

    def _item_queries(self, index, rows):
        """What the items of these rows ask by: their bits."""
        return index.bits_of(rows)

    def _nearest(self, index, queries, n_neighbors, *, eligible=ALL_ROWS, with_ties=False):
        """The nearest items of queries, as Nearest."""
        found = self._answers(
            index, queries.values, n_neighbors, whole=with_ties, eligible=eligible
        )
        return nearest(found, n_neighbors, with_ties)

    def _answers(self, index, queries, k, *, whole=True, eligible=ALL_ROWS):
        """Answers; if `n_candidates` is set, of the items that are nearest by bits."""
        n_candidates = getattr(self, "n_candidates", None)
        if n_candidates is not None and queries.dtype.kind == "f":
            eligible = self._candidates(index, queries, max(n_candidates, k), eligible)
        return answers(
            index, queries, k, whole=whole, eligible=eligible, n_jobs=self.n_jobs
        )

    def _candidates(self, index, queries, n_near, eligible):
        """Eligible rows that are nearest to weights by Hamming distance, with all ties."""
        signs = signs_of_bits(queries, index.n_bits)
        blocks = answers(index, signs, n_near, eligible=eligible, n_jobs=self.n_jobs)
        rows = [
            np.sort(rows)
            for block in blocks
            for rows in np.split(block.rows, np.cumsum(block.counts)[:-1])
        ]
        return Eligible(of_each=rows)

    def _histograms(self, index, X, y, groups):
        """The items by affinity and distance to queries, in tables for some of these."""
        affinity, y_database = index.targets
        queries, codes = self._queries(X, index), index.codes
        if affinity is None:
            _check_affinities(y, len(queries), len(codes))
        if affinity is None or affinity.by_number:  # columns of y are items
            refuse_other_order(y, 1, index, "y")
        if affinity is None and any(each is not None for each in groups):
            raise ValueError("fit got no y; write NaN into y for pairs of one group.")
        if affinity is not None:
            y = affinity.check_targets(y)
            affinity.check_width(y, y_database.shape[0])
            groups_query, groups_database = groups
            affinity, y, y_database = leave_out_groups(
                affinity,
                y,
                y_database,
                groups_query=groups_query,
                groups_database=groups_database,
            )
            y_database = y_database[index.indices]
        if queries.dtype.kind == "f":
            y = np.asarray(y) if affinity is None else y
            targets = affinity, y, y_database
            return weighted_histograms(queries, codes, *targets, n_jobs=self.n_jobs)
        # Whoever asks by bits means them, whatever factors their scores have.
        bits = [wrap_bytes(each, index.n_bits) for each in (queries, codes.data)]
        if affinity is None:
            return [RankingHistogram.from_scores(y, -hamming_distances(*bits))]
        return [hamming_histogram(*bits, affinity, y, y_database, n_jobs=self.n_jobs)]

    @property
    def affinity_(self) -> BaseAffinity | None:
        """The oracle that `score` asks, None without `y`."""
        affinity = self._get_fitted().targets.affinity
        return None if affinity is None else affinity.given

    @property
    def ids_(self) -> Array:
        """Ids of the items, in the order of `indices_`; None if they have none."""
        index = self._get_fitted()
        return None if index.ids is None else index.named(slice(None))

    codes_: ClassVar[PackedCodes] = of_fitted(
        "codes", "Packed codes of the items, in the order of `indices_`."
    )
    indices_: ClassVar[Array] = of_fitted("indices", "Indices of the items, ascending.")
    n_features_in_: ClassVar[int] = of_fitted("n_bits", "Number of bits of a code.")
    n_samples_fit_: ClassVar[int] = of_fitted(
        "n_indices", "Number of items given so far, also removed ones."
    )

    @property
    def feature_names_in_(self) -> Array:
        """Names of the bits, if the codes of `fit` had column names."""
        names = self._get_fitted().columns.names
        if names is None:
            raise AttributeError("The codes had no column names.")
        return names


for _name, _method in vars(CodeDatabase).items():
    if isfunction(_method) and _name[0] != "_":
        _method.__qualname__ = _name  # Python's errors name no class that no user has made


def as_asked(distances, indices, tied, return_distance, return_tied):
    """What `kneighbors` returns: an array, or a tuple of several."""
    result = (distances,) if return_distance else ()
    result += (indices, ragged(tied)) if return_tied else (indices,)
    return result if len(result) > 1 else result[0]


def _refuse_no_queries(X, method):
    if X is None:
        raise ValueError(
            f"X is None, and {method} needs queries. Pass X; only kneighbors and "
            "radius_neighbors take the items of the database for queries."
        )


def _check_affinities(y, n_queries, n_items):
    """Raise ValueError unless y has the affinity of each query to each item."""
    shape = y.shape if hasattr(y, "shape") else np.shape(np.asarray(y, dtype=object))
    if sp.issparse(y) or shape != (n_queries, n_items):
        form = "is sparse" if sp.issparse(y) else f"has shape {shape}"
        raise ValueError(
            f"y {form}, and the index was fitted without y: score then takes the affinity "
            f"of each query to each item, a dense array of shape {(n_queries, n_items)}. "
            "If y holds targets of the queries, such as labels, give those of the items to "
            "fit: fit(X, y)."
        )


def _check_mode(mode):
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode must be 'connectivity' or 'distance', got {mode!r}.")


def _graph(index, counts, rows, distances, mode):
    """Found items as a CSR array with a row for each query and a column for each index."""
    values = np.ones(len(rows)) if mode == "connectivity" else distances.astype(float)
    ends = np.concatenate(([0], np.cumsum(counts)))
    shape = len(counts), index.n_indices
    return csr_array((values, index.indices_of(rows), ends), shape=shape)
