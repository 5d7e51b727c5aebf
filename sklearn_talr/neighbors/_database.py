"""A database of codes: it grows, shrinks, is searched and ranked, and is kept in files."""

from inspect import isfunction
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self, overload

import numpy as np
from scipy.sparse import csr_array

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
from ..codes import PackedCodes
from ..measures import Measure, parse_measure
from ..measures._base import refuse_scorer
from ..measures._evaluation import average_queries, check_weights
from ._base import FittedAtOnce, as_results, fitted_property
from ._files import load_index, save_index
from ._filters import Eligible, read_eligible, read_items, refuse_few
from ._ids import make_ids
from ._index import Index
from ._read import check_number
from ._requests import Queries, SearchRequest
from ._scoring import count_by_distance
from ._search import search, search_blocks
from ._targets import Targets


class Ranking(NamedTuple):
    """All items in the order of their distance to each query.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_items)
        Distances, ascending.

    indices : ndarray of shape (n_queries, n_items) of int64
        Indices of the items, ascending within a distance; ids if the items have ids.

    ties : ndarray of shape (n_queries, n_items) of int64
        Number of the tie that each place belongs to, 0 for the nearest.
    """

    distances: np.ndarray
    indices: np.ndarray
    ties: np.ndarray


@parameters
class CodeDatabase(FittedAtOnce):
    """Base of the indexes of single items: they are added, searched, scored and saved.

    A subclass defines two methods. ``_read_items(X, index)`` returns packed codes of items,
    and their Columns, which are the Columns of `index` unless it is None.
    ``_read_query_values(X, index)`` returns packed bytes or weights of queries.
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
            Labels, 0/1 label indicators, a PrecomputedAffinity or other targets that the
            affinity takes. Only `score` and `predict` need them.

        ids : array-like of shape (n_samples,) of str or int, default=None
            Id of each item: different strings, or integers of 64 bits. Searches then return
            ids instead of indices, and `remove`, `include`, `exclude` and `ids` take them.
            A string must not end in a null character. The labels of a Series must be the
            row labels of a data frame `X`. None if items are known by their indices.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, `X`, `y` or `ids` is invalid. The estimator is then unchanged.
        """
        self._validate_params()
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, ids, ("X", "ids"))
        packed, columns = self._read_items(X, None)
        ids = make_ids(ids, len(packed))
        targets = Targets.from_y(self.affinity, y, len(packed))
        self._fitted = Index.from_codes(packed, columns, targets=targets, ids=ids)
        return self

    def add(self, X: Rows, y: Any = None, *, ids: Column = None) -> Self:
        """Add items to the database.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns) or PackedCodes
            Items, as `fit` takes them. The first of them gets index `n_samples_fit_`. A
            hasher is not fitted again.

        y : targets of length n_samples, default=None
            Targets of these items, if the first items were given targets. After judgments,
            items are numbered on, with or without judgments of the new items.

        ids : array-like of shape (n_samples,) of str or int, default=None
            Ids of these items, if the first items were given ids. An id of an item in the
            database is refused: to replace the item, `remove` it first.

        Returns
        -------
        self : object
            The estimator with more items. Before `fit`, `add` does the same as `fit`.

        Raises
        ------
        ValueError
            If items, targets or ids are not like the first ones, such as codes of another
            length. The estimator is then unchanged.
        """
        fitted = self._fitted_or_none()
        if fitted is None:
            return self.fit(X, y, ids=ids)
        self._validate_params()
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, ids, ("X", "ids"))
        packed, _ = self._read_items(X, fitted)
        self._fitted = fitted.add(packed, y, ids, X)
        return self

    def remove(self, indices: ArrayLike) -> Self:
        """Delete items from the database.

        Parameters
        ----------
        indices : array-like of shape (n_removed,) of int or str, or a set
            Indices of the items, or their ids if they have ids. The indices of the other
            items do not change, and no new item gets the index of a removed item. A removed
            id may be given to a new item.

        Returns
        -------
        self : object
            The estimator with fewer items.

        Raises
        ------
        ValueError
            If an index or id is not in the database, or no item would be left. Masks are
            refused. So are as many integers as there are items if some repeat, since they
            may be a number for each item.

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
            Queries in the form that the class takes: codes, weights of bits, or features.
            None searches the neighbors of every item, without the item itself. An index
            that takes weights refuses None, since items have no weights.

        n_neighbors : int, default=None
            Number of neighbors. None takes the parameter of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        return_tied : bool, default=False
            Whether to return also the items that tie with the last neighbor.

        ids : array-like of shape (n_queries,) of int or str, default=None
            Items that are the queries, instead of `X`: ids, or entries of `indices_` if the
            items have no ids. An item is not its own neighbor.

        include : array-like, set, sparse matrix or sequence of these, default=None
            The items that may be found. None allows all.

            * Ids, or entries of `indices_` if the items have no ids: a list, a set or an
              array of one dimension.
            * A mask: an array of bool with an entry for each of the `n_samples_fit_` items
              given so far.
            * Different items for each query: a sequence of such lists, sets, arrays or
              masks, or a mask of shape (n_queries, n_samples_fit), of bool or sparse. In a
              sparse mask every entry but 0 is true.

            A mask may include removed items, which stay removed. Repeated items count once.
            A pandas mask must not have the labels of the items in another order.

        exclude : array-like, set, sparse matrix or sequence of these, default=None
            Items that must not be found, such as the items that a user has seen, in the
            forms of `include`. None excludes none.

        allow_fewer : bool, default=False
            Whether a query with fewer items left than `n_neighbors` finds these items. The
            results are then an array for each query, as in `radius_neighbors`. If False,
            such a query is an error.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), dtype int64 or float64
            Distances, ascending. Only if `return_distance`.

        indices : ndarray of shape (n_queries, n_neighbors), dtype int64
            Indices of the neighbors, ascending within a distance. If the items have ids:
            their ids, of str or int64, in the same order.

        tied : ndarray of shape (n_queries,) of arrays of int64
            Indices, or ids, of all items at the distance of the last neighbor, including
            the items in `indices`. Only if `return_tied`.

        Notes
        -----
        With ``allow_fewer=True`` distances and indices are of shape (n_queries,), of arrays
        of up to `n_neighbors` entries.

        Raises
        ------
        ValueError
            If fewer items than `n_neighbors` can be found, if the queries have another
            length than the codes, or if `ids`, `include` or `exclude` has an unknown form
            or names an item that is not in the database. Tables of integers or floats, and
            as many integers as items if some repeat, are refused, since they may be ids or
            a number for each item.

        Examples
        --------
        Three items are tied at distance 1. The two with the smallest indices are among the
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

        The neighbors of item 1, and the nearest of items 1 and 2 without itself:

        >>> neighbors.kneighbors(ids=[1])
        (array([[1, 1, 2]]), array([[0, 4, 2]]))
        >>> neighbors.kneighbors(ids=[1], include=[1, 2], allow_fewer=True)[1][0]
        array([2])
        """
        index = self._get_fitted()
        request = self._nearest_request(
            index,
            self._read_queries(index, X, ids),
            n_neighbors,
            include=include,
            exclude=exclude,
            allow_fewer=allow_fewer,
            with_ties=return_tied,
        )
        found = self._find(index, request)
        if allow_fewer:
            distances = ragged(found.split(found.distances))
            indices = _ragged_names(index, found.split(found.rows))
        else:
            shape = request.queries.n_queries, request.n_neighbors
            distances = found.distances.reshape(shape)
            indices = index.named(found.rows).reshape(shape)
        return as_results(
            indices,
            distances=distances if return_distance else None,
            tied=_ragged_names(index, found.tied_rows) if return_tied else None,
        )

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
            Queries, as for `kneighbors`. None searches for neighbors of every item.

        radius : int or float, default=None
            Largest distance, from 0; a whole number for Hamming distances. None takes the
            parameter of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        ids : array-like of shape (n_queries,) of int or str, default=None
            Items that are the queries, instead of `X`, as for `kneighbors`.

        include : array-like, set, sparse matrix or sequence of these, default=None
            The items that may be found, for all queries or for each, as for `kneighbors`.

        exclude : array-like, set, sparse matrix or sequence of these, default=None
            Items that must not be found, as for `kneighbors`.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays of int64 or float64
            Distances, ascending. Only if `return_distance`.

        indices : ndarray of shape (n_queries,) of arrays of int64
            Indices of the items, ascending within a distance; ids if the items have ids.

        Raises
        ------
        ValueError
            If the index or the queries have scores and no distances, or `kneighbors`
            refuses an argument.

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
        request = self._radius_request(
            index,
            self._read_queries(index, X, ids),
            radius,
            include=include,
            exclude=exclude,
        )
        distances = []
        rows = []
        for found in search_blocks(index, request):
            distances += found.split(found.distances)
            rows += found.split(found.rows)
        indices = _ragged_names(index, rows)
        return as_results(indices, distances=ragged(distances) if return_distance else None)

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
            Queries, as for `kneighbors`. None searches for neighbors of every item.

        n_neighbors : int, default=None
            Number of neighbors. None takes the parameter of the constructor.

        mode : {"connectivity", "distance"}, default="connectivity"
            Entry of the matrix for a neighbor: 1 or the distance. Distances of 0 are
            stored.

        Returns
        -------
        graph : CSR array of shape (n_queries, n_samples_fit), dtype float64
            Entry (q, i) is stored if item i is a neighbor of query q.

        Raises
        ------
        ValueError
            If `mode` is unknown, or `kneighbors` refuses `X` or `n_neighbors`.

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
        request = self._nearest_request(index, queries, n_neighbors)
        return _graph(index, self._find(index, request), mode)

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
            Queries, as for `kneighbors`. None searches for neighbors of every item.

        radius : int or float, default=None
            Largest distance, from 0; a whole number for Hamming distances. None takes the
            parameter of the constructor.

        mode : {"connectivity", "distance"}, default="connectivity"
            Entry of the matrix for an item within the radius: 1 or the distance. Distances
            of 0 are stored.

        Returns
        -------
        graph : CSR array of shape (n_queries, n_samples_fit), dtype float64
            Entry (q, i) is stored if item i is within the radius of query q. Entries of a
            query are stored by distance, and within a distance by index.

        Raises
        ------
        ValueError
            If `mode` is unknown, or `radius_neighbors` refuses `X` or `radius`.

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
        request = self._radius_request(index, self._read_queries(index, X), radius)
        return _graph(index, search(index, request), mode)

    def predict(self, X: Rows) -> Array:
        """Predict labels by a vote of the `n_neighbors` nearest items.

        Items that tie for the last places share these places equally, so the prediction
        does not depend on the order of the database. Items whose label is the `ignored`
        label of :class:`~sklearn_talr.affinity.LabelAffinity` do not vote and take no
        place, as if they were not in the database.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes
            Queries in the form that the class takes: codes, weights of bits, or features.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_labels)
            The class with most votes, the first in sorted order if several have most; or,
            for label indicators, 1 for each label with more than half of the votes.

        Raises
        ------
        ValueError
            If `y` of `fit` was neither labels nor label indicators, or fewer items than
            `n_neighbors` vote.
        """
        index = self._get_fitted()
        _refuse_no_queries(X, "predict")
        ballots = index.targets.ballots(index.indices)
        queries = Queries(self._read_query_values(X, index))
        n_voters = index.n_items if ballots.voters is None else len(ballots.voters)
        request = SearchRequest(
            queries,
            n_neighbors=check_number(
                self.n_neighbors, "n_neighbors", least=1, most=n_voters
            ),
            eligible=Eligible(shared_rows=ballots.voters),
            with_ties=True,
            n_candidates=self._get_n_candidates(),
            n_jobs=self.n_jobs,
        )
        return ballots.count(search_blocks(index, request), request.n_neighbors)

    def rank(self, X: Rows) -> Ranking:
        """Rank all items for each query, by their codes.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes
            Queries in the form that the class takes: codes, weights of bits, or features.

        Returns
        -------
        ranking : Ranking
            Named tuple of ``distances``, ``indices`` and ``ties``, each of shape
            (n_queries, n_items): items by distance, within a distance by index, and the
            number of the tie that each place belongs to. If the items have ids, ``indices``
            are ids.

        Notes
        -----
        The result has a place for every pair of a query and an item. `score` and
        :func:`~sklearn_talr.histogram.hamming_histogram` compute metrics of the ranking
        with less memory.

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
        queries = Queries(self._read_query_values(X, index))
        request = SearchRequest(queries, n_neighbors=index.n_items, n_jobs=self.n_jobs)
        found = search(index, request)
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
        """Compute a tie-aware measure of queries against the fitted database.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes
            Queries in the form that the class takes: codes, weights of bits, or features.

        y : targets of length n_queries
            Targets of the queries, as the affinity takes them. Judgments have a column for
            each of the `n_samples_fit_` items given so far. If `fit` was given no targets:
            the affinity of each query to each item, shape (n_queries, n_items).

        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the queries, at least 0.

        groups_query, groups_database : array-like of shape (n,), default=None
            Group labels of the queries and of each of the `n_samples_fit_` items. Items of
            the query's own group are ignored.

        Returns
        -------
        score : float
            Mean of the measure over the queries that have a similar item in the database;
            NaN, with a warning, if no query has one.
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
        index = self._get_fitted()
        histograms = count_by_distance(
            index,
            Queries(self._read_query_values(X, index)),
            y,
            groups_query=groups_query,
            groups_database=groups_database,
            n_jobs=self.n_jobs,
        )
        values = [np.asarray(measure(histogram), dtype=float) for histogram in histograms]
        values = np.concatenate(values)
        return average_queries(values, check_weights(sample_weight, len(values)))

    def save(self, path: FilePath) -> None:
        """Write the fitted estimator to a folder.

        Parameters
        ----------
        path : str or path-like
            The folder: a new one, an empty one, or one that `save` has written; ``~`` at
            the start is the home folder. Its old content is replaced at once when the new
            content is written. A crash before that leaves the old content.

        Raises
        ------
        ValueError
            If the affinity is none of labels, shared labels, judgments or thresholds, if
            `scoring` is a function, or if the hasher cannot be stored without pickle, such
            as one with a torch module, or a step with a lambda. Such an estimator can be
            pickled. Also if the folder holds other files, or `path` is a URL.

        ImportError
            If there is a hasher, and skops, which stores it, is not installed.

        Notes
        -----
        The folder holds a file ``index.json``, with the version of the format and the
        shapes, and a folder of ``.npy`` files that it names. Nothing is pickled. An item
        takes as many bytes in the files as in memory, see `n_bytes_per_item_`.

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
        save_index(path, self, self._get_fitted())

    @classmethod
    def load(cls, path: FilePath, *, mmap: bool = False) -> Self:
        """Read a fitted estimator from a folder.

        Parameters
        ----------
        path : str or path-like
            A folder that `save` has written.

        mmap : bool, default=False
            Whether to leave the arrays on disk and read only the parts that a query needs.
            `save` may replace the folder meanwhile, except on Windows.

        Returns
        -------
        neighbors : estimator of the class
            Finds the same items as the saved estimator.

        Raises
        ------
        ValueError
            If the files are truncated, contradict each other, were not written by `save`
            of this class, or have a version of the format that this package does not read.
        """
        neighbors, index = load_index(path, cls, mmap=mmap)
        neighbors._fitted = index
        return neighbors

    def _read_queries(self, index, X, ids=None):
        """Queries `X`, or items as queries: the items of these ids, or all items."""
        if X is not None and ids is not None:
            raise ValueError(
                "X and ids are given, and both name the queries. Pass X for new queries, "
                "or ids for items of the database."
            )
        if X is not None:
            return Queries(self._read_query_values(X, index), features=X)
        if ids is None:
            rows = np.arange(index.n_items)
        else:
            rows = index.rows_of(read_items(ids, "ids"), "ids")
        if not len(rows):
            raise ValueError("ids names no item: pass one id at least.")
        if index.features is None:
            return Queries(self._values_of_items(index, rows), own_rows=rows)
        X = index.features.at(index.indices_of(rows))
        return Queries(self._read_query_values(X, index), own_rows=rows, features=X)

    def _values_of_items(self, index, rows):
        """Packed bytes or weights of items that are queries."""
        return index.bits_of(rows)

    def _nearest_request(
        self,
        index,
        queries,
        n_neighbors,
        *,
        include=None,
        exclude=None,
        allow_fewer=False,
        with_ties=False,
    ):
        """The request for the nearest items, checked."""
        eligible = read_eligible(index, queries, include=include, exclude=exclude)
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        n_neighbors = check_number(n_neighbors, "n_neighbors", least=1)
        n_to_find = index.n_items - (queries.own_rows is not None)
        if n_neighbors > n_to_find and not allow_fewer:
            raise ValueError(
                f"n_neighbors={n_neighbors} is more than the {n_to_find} items to be "
                "found. Ask for fewer, or pass allow_fewer=True to kneighbors, with which "
                "a query finds the items that there are."
            )
        if not allow_fewer:
            counts = eligible.count(queries.n_queries, index.n_items)
            refuse_few(counts, n_neighbors, include=include, exclude=exclude)
        return SearchRequest(
            queries,
            n_neighbors=n_neighbors,
            eligible=eligible,
            with_ties=with_ties,
            n_candidates=self._get_n_candidates(),
            n_jobs=self.n_jobs,
        )

    def _radius_request(self, index, queries, radius, *, include=None, exclude=None):
        """The request for all items within a radius, checked."""
        radius = self.radius if radius is None else radius
        if queries.are_bits:
            radius = check_number(radius, "radius")
        elif index.has_distances(queries.values):
            radius = check_number(radius, "radius", Real)
        else:
            raise ValueError(
                "radius has no meaning for codes whose scores have factors, such as codes "
                "of AdditiveHasher, and for weights of codewords: their scores are no "
                "distances. Ask for n_neighbors."
            )
        eligible = read_eligible(index, queries, include=include, exclude=exclude)
        return SearchRequest(queries, radius=radius, eligible=eligible, n_jobs=self.n_jobs)

    def _find(self, index, request):
        """What `kneighbors` finds. A subclass may order the items in another way."""
        return search(index, request)

    def _get_n_candidates(self):
        """Items that weights are compared with, for each query; None for all items."""
        return None

    @property
    def affinity_(self) -> BaseAffinity | None:
        """The affinity object of `score`, None without `y`."""
        affinity = self._get_fitted().targets.affinity
        return None if affinity is None else affinity.given

    @property
    def ids_(self) -> Array:
        """Ids of the items, in the order of `indices_`; None if they have none."""
        index = self._get_fitted()
        return None if index.ids is None else index.named(slice(None))

    codes_: ClassVar[PackedCodes] = fitted_property(
        "codes", "Packed codes of the items, in the order of `indices_`."
    )
    indices_: ClassVar[Array] = fitted_property(
        "indices", "Indices of the items, ascending."
    )
    n_features_in_: ClassVar[int] = fitted_property("n_bits", "Number of bits of a code.")
    n_samples_fit_: ClassVar[int] = fitted_property(
        "n_indices", "Number of items given so far, including removed items."
    )

    @property
    def feature_names_in_(self) -> Array:
        """Names of the bits, if the codes of `fit` had column names."""
        names = self._get_fitted().columns.names
        if names is None:
            raise AttributeError("The codes had no column names.")
        return names


# Python's errors of wrong arguments name a method by its qualified name. Without a class
# they do not name CodeDatabase, a class that no user has made.
for _name, _method in vars(CodeDatabase).items():
    if isfunction(_method) and not _name.startswith("_"):
        _method.__qualname__ = _name


def _ragged_names(index, rows_by_query):
    """Ids, or indices, of rows of each query, as an array of arrays."""
    return ragged([index.named(rows) for rows in rows_by_query])


def _refuse_no_queries(X, method):
    if X is None:
        raise ValueError(
            f"X is None, and {method} needs queries. Pass X; only kneighbors and "
            "radius_neighbors take the items of the database for queries."
        )


def _check_mode(mode):
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode must be 'connectivity' or 'distance', got {mode!r}.")


def _graph(index, found, mode):
    """Found items as a CSR array with a row for each query and a column for each index."""
    if mode == "connectivity":
        values = np.ones(len(found.rows))
    else:
        values = found.distances.astype(float)
    ends = np.concatenate(([0], np.cumsum(found.counts)))
    shape = len(found.counts), index.n_indices
    return csr_array((values, index.indices_of(found.rows), ends), shape=shape)
