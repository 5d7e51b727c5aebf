"""A database of codes: it grows, shrinks, is searched and ranked, and is kept in files."""

from inspect import isfunction
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, Self, overload

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._arrays import ragged
from .._compat import Interval, StrOptions
from .._parameters import KW_ONLY, parameters
from .._threads import map_in_threads, slices
from .._types import Affinity, Array, ArrayLike, Callable, Column, Count, FilePath, Rows
from ..affinity import BaseAffinity
from ..affinity._groups import leave_out_groups
from ..codes import PackedCodes, hamming_distances
from ..codes._scores import fixed, signs_of_bits
from ..histogram import RankingHistogram, hamming_histogram
from ..histogram._hamming import weighted_histograms
from ..measures import Measure, parse_measure
from ..measures._base import refuse_scorer
from ..measures._evaluation import average_queries, check_weights
from ._files import load_index, save_index
from ._index import Ids, Index
from ._read import check_enough, check_number, read_among, read_left_out

_QUERIES_PER_BLOCK = 32
_CODES_PER_THREAD = 2**18  # from which on threads share the codes of a single block


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
            ids in place of indices, and `remove` and `among` take them. A string must not
            end in a null character. None if items are known by their indices.

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
        packed, columns = self._read(X, None)
        ids = Ids.of(ids, len(packed))
        self._fitted = Index.of(packed, columns, self.affinity, y, ids=ids)
        return self

    def partial_fit(self, X: Rows, y: Any = None, *, ids: Column = None) -> Self:
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
        packed, _ = self._read(X, fitted)
        self._fitted = fitted.add(packed, y, ids, X)
        return self

    def remove(self, indices: ArrayLike) -> Self:
        """Delete items from the database.

        Parameters
        ----------
        indices : array-like of shape (n_removed,) of int or str
            Indices of the items, or their ids if they have some. No other item gets such
            an index, and no other item's index changes. An id may be given again.

        Returns
        -------
        self : object
            The estimator with fewer items.

        Raises
        ------
        ValueError
            If an index or id is not that of an item, or nothing would be left.

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
        self, X: Rows | None = None, n_neighbors: Count = None, *, among: Any = None
    ) -> tuple[Array, Array]: ...
    @overload
    def kneighbors(
        self,
        X: Rows | None = None,
        n_neighbors: Count = None,
        return_distance: bool = True,
        return_tied: bool = False,
        *,
        among: Any = None,
        exclude: Any = None,
    ) -> Any: ...
    def kneighbors(
        self,
        X: Rows | None = None,
        n_neighbors: Count = None,
        return_distance: bool = True,
        return_tied: bool = False,
        *,
        among: Any = None,
        exclude: Any = None,
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

        among : array-like, sparse matrix or sequence of array-likes, default=None
            The items that may be found: indices as in `indices_`, or ids if the items have
            some, or a mask of bool with an entry for each of the `n_samples_fit_` items
            given so far. One for all queries, or one for each: a sequence of arrays of
            indices or ids, or a mask of shape (n_queries, n_samples_fit), dense or sparse.
            Masks may name removed items, which stay removed, and what repeats counts once.
            As many integers 0 and 1 as items, of which some repeat, are a mask. Labels of a
            mask of pandas must not be the items in another order.
            None allows all.

        exclude : array-like, sparse matrix or sequence of array-likes, default=None
            Items that must not be found, such as those that a user has seen: in the forms
            of `among`, most often a list of indices or ids, or a row of a CSR matrix, for
            each query. Memory grows with the entries. None leaves out none.

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

        Raises
        ------
        ValueError
            If there are fewer items than neighbors asked for, in all or among those that
            are allowed and not excluded, if codes of another length were fitted, or `among`
            or `exclude` has another form or names an item that is not in the database.

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

        >>> neighbors.kneighbors([[0, 0, 0]], among=[0, 2, 3])
        (array([[1, 1, 2]]), array([[2, 3, 0]]))

        Items 1 and 4 are known already:

        >>> neighbors.kneighbors([[0, 0, 0]], exclude=[[1, 4]])
        (array([[1, 1, 2]]), array([[2, 3, 0]]))
        """
        fitted = self._get_fitted()
        found = self._nearest(fitted, X, n_neighbors, return_tied, among, exclude)
        distances, rows, tied = found
        tied = [fitted.named(each) for each in tied]
        return as_asked(distances, fitted.named(rows), tied, return_distance, return_tied)

    def radius_neighbors(
        self,
        X: Rows | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        *,
        among: Any = None,
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

        among : array-like, sparse matrix or sequence of array-likes, default=None
            The items that may be found, for all queries or for each, as for `kneighbors`.

        exclude : array-like, sparse matrix or sequence of array-likes, default=None
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
        queries = self._queries(X, index)
        left_out = read_left_out(exclude, index, len(queries), X is None)
        radius = self.radius if radius is None else radius
        if queries.dtype.kind == "u":
            radius = check_number(radius, "radius")
        elif index.has_distances(queries):
            radius = check_number(radius, "radius", Real)
        else:
            raise ValueError(
                "radius has no meaning for codes whose scores have factors, such as those "
                "of AdditiveHasher, and for queries that weigh words: their scores are no "
                "distances. Ask for n_neighbors."
            )
        allowed = read_among(among, index, len(queries))
        how = {"allowed": allowed, "exclude": left_out, "n_jobs": self.n_jobs}
        distances, indices = [], []
        for counts, rows, of_rows in answers(index, queries, 0, radius, **how):
            ends = np.cumsum(counts)[:-1]
            indices += np.split(index.named(rows), ends)
            distances += np.split(of_rows, ends)
        if return_distance:
            return ragged(distances), ragged(indices)
        return ragged(indices)

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
        if mode not in ("connectivity", "distance"):
            raise ValueError(f"mode must be 'connectivity' or 'distance', got {mode!r}.")
        fitted = self._get_fitted()
        distances, rows, _ = self._nearest(fitted, X, n_neighbors)
        indices = fitted.indices_of(rows)
        values = np.ones_like(distances) if mode == "connectivity" else distances
        ends = np.arange(0, indices.size + 1, indices.shape[1])
        shape = len(indices), fitted.n_indices
        return csr_array((values.ravel().astype(float), indices.ravel(), ends), shape=shape)

    def predict(self, X: Rows) -> Array:
        """Predict labels by a vote of the `n_neighbors` nearest items.

        Items that are tied for the last places share these equally, so nothing depends on
        the order of the database.

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
            If `y` of `fit` was neither labels nor label indicators.
        """
        index = self._get_fitted()
        if X is None:
            raise ValueError("X is needed: predict takes queries, and no items for them.")
        queries = self._queries(X, index)
        n_places = check_number(
            self.n_neighbors, "n_neighbors", least=1, most=index.n_items
        )
        found = self._found(index, queries, n_places)
        return index.targets.vote(index.indices, found, n_places)

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
        distances, rows, _ = CodeDatabase._nearest(self, index, X, index.n_items)
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
        if y is None:
            raise ValueError("y is needed to know what is relevant to the queries.")
        groups = groups_query, groups_database
        histograms = self._histograms(self._get_fitted(), X, y, groups)
        values = [np.asarray(measure(histogram), dtype=float) for histogram in histograms]
        values = np.concatenate(values)
        return average_queries(values, check_weights(sample_weight, len(values)))

    def save(self, path: FilePath) -> None:
        """Write the fitted estimator to a folder.

        Parameters
        ----------
        path : path-like
            The folder: a new one, an empty one, or one that `save` has written. What it
            held is replaced at once when everything is written; a crash before leaves it as
            it was.

        Raises
        ------
        ValueError
            If the affinity is not one of labels, shared labels, judgments or thresholds,
            `scoring` is a function, or a hasher has no form without pickle, such as one
            with a torch module, or a step with a lambda. Such an estimator can be pickled.
            Also if the folder holds something else.

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
        path : path-like
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

    def _nearest(
        self, index, X, n_neighbors, return_tied=False, among=None, exclude=None, n_more=0
    ):
        """Distances, rows and ties of the nearest items, of `n_more` if there are."""
        n_neighbors = self.n_neighbors if n_neighbors is None else n_neighbors
        queries = self._queries(X, index)
        most = index.n_items - (X is None)
        k = check_number(n_neighbors, "n_neighbors", least=1, most=most)
        allowed = read_among(among, index, len(queries))
        left_out = read_left_out(exclude, index, len(queries), X is None)
        if isinstance(allowed, list) and left_out is not None:
            rows = np.split(left_out.indices, left_out.indptr[1:-1])
            allowed, left_out = list(map(np.setdiff1d, allowed, rows)), None
        k = min(max(k, n_more), check_enough(allowed, left_out, index.n_items, k))
        found = self._found(index, queries, k, return_tied, allowed, left_out)
        distances, nearest, tied = [], [], []
        for counts, rows, of_rows in found:
            ends = np.cumsum(counts)
            places = (ends - counts)[:, None] + np.arange(k)
            distances.append(of_rows[places])
            nearest.append(rows[places])
            if return_tied:
                is_last = of_rows == np.repeat(of_rows[ends - 1], counts)
                n_tied = np.add.reduceat(is_last, ends - counts)
                tied += np.split(rows[is_last], np.cumsum(n_tied)[:-1])
        return np.concatenate(distances), np.concatenate(nearest), tied

    def _found(self, index, queries, k, whole=True, allowed=None, left_out=None):
        """Answers; where `n_candidates` is set, of the items that are nearest by bits."""
        n_candidates = getattr(self, "n_candidates", None)
        if n_candidates is not None and queries.dtype.kind == "f":
            signs, n_near = signs_of_bits(queries, index.n_bits), max(n_candidates, k)
            how = {"allowed": allowed, "exclude": left_out, "n_jobs": self.n_jobs}
            allowed = [
                np.sort(rows)
                for counts, of_block, _ in answers(index, signs, n_near, **how)
                for rows in np.split(of_block, np.cumsum(counts)[:-1])
            ]
        how = {"whole": whole, "allowed": allowed, "exclude": left_out}
        return answers(index, queries, k, n_jobs=self.n_jobs, **how)

    def _histograms(self, index, X, y, groups):
        """The items by affinity and distance to queries, in tables for some of these."""
        affinity, y_database = index.targets
        if X is None:
            raise ValueError("X is needed: score takes queries, and no items for them.")
        queries, codes = self._queries(X, index), index.codes
        if affinity is None and any(each is not None for each in groups):
            raise ValueError("fit got no y; write NaN into y for pairs of one group.")
        if affinity is not None:
            y = affinity.check_targets(y)
            affinity.check_width(y, y_database.shape[0])
            affinity, y, y_database = leave_out_groups(affinity, (y, y_database), groups)
            y_database = y_database[index.indices]
        if queries.dtype.kind == "f":
            y = np.asarray(y) if affinity is None else y
            targets = affinity, y, y_database
            return weighted_histograms(queries, codes, *targets, n_jobs=self.n_jobs)
        # Whoever asks by bits means them, whatever factors their scores have.
        bits = [PackedCodes._of(each, index.n_bits) for each in (queries, codes.data)]
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


def answers(
    index, queries, k, radius=np.inf, *, whole=True, allowed=None, exclude=None, n_jobs=None
):
    """Generate answers to blocks of queries.

    Each has three arrays: how many items each query has found, and the rows and distances
    of these, query by query, by distance, then by row. So answers depend neither on the
    blocks nor on the threads that share them.

    Parameters
    ----------
    index : Index

    queries : ndarray of shape (n_queries, n_bytes) or (n_queries, n_weights)
        Packed codes, in bytes, or weights in float32. Distances to
        weights are minus the scores. Where nothing but weights of bits counts they are sums
        of the weights of differing bits.

    k : int
        Items to find for each query: those within the smallest distance that holds as many.
        0 asks for those within a radius.

    radius : int or float, default=inf
        Greatest distance, where k is 0.

    whole : bool, default=True
        Whether all items at the distance of the last are wanted. If not, k are found, of
        smallest row.

    allowed : ndarray of shape (n_allowed,) or list of such arrays, default=None
        Rows that may be found, ascending, by all queries or by each. None means all.

    exclude : CSR of shape (n_queries, n_items), default=None
        Rows that each query must not find.

    n_jobs : int, default=None
        Number of threads.
    """
    from .._loops._search import TILE, hamming_scan, weighted_scan

    n_items, by_bits = index.n_items, queries.dtype.kind == "u"
    as_costs = not by_bits and index.has_distances(queries)
    buckets, n_parts = None, 1
    if by_bits and k == 0 and allowed is None:
        buckets = index.buckets_within(radius, len(queries))
    size = 1 if isinstance(allowed, list) else _QUERIES_PER_BLOCK
    blocks = list(slices(len(queries), size))
    if len(blocks) == 1 and buckets is None and n_items > 2 * _CODES_PER_THREAD:
        n_parts = min(effective_n_jobs(n_jobs), n_items // _CODES_PER_THREAD)
    parts = list(slices(n_items, -(-n_items // n_parts))) if allowed is None else [allowed]

    def find(task):
        block, rows = task
        rows = rows[block.start] if isinstance(rows, list) else rows
        asked, words, wanted = queries[block], index.words, k
        if exclude is not None and k:  # so many more hold k that are not left out
            wanted = k + int(np.diff(exclude.indptr[block.start : block.stop + 1]).max())
        if isinstance(rows, slice):
            words = words[:, rows]
        else:
            words = fixed(np.take(words, rows, axis=1))
        if by_bits:  # a copy, since bytes may lie where words may not
            asked = asked.copy().view(words.dtype)
        asked = fixed(np.ascontiguousarray(asked))
        if buckets is not None:
            counts, found, distances = buckets.within(asked, words, radius)
        elif by_bits:
            how = index.n_bits, wanted, min(radius, index.n_bits), whole
            tile = np.empty(TILE, dtype=np.uint16 if index.n_bits < 2**16 else np.uint32)
            counts, found, distances = hamming_scan(asked, words, *how, tile)
        else:
            terms = tuple(map(fixed, index.terms.rows(rows)))
            how = terms, as_costs, wanted, radius, whole
            counts, found, scores = weighted_scan(asked, words, *how)
            distances = 0.0 - scores
        found = found + rows.start if isinstance(rows, slice) else rows[found]
        return np.repeat(np.arange(len(counts)), counts), found, distances

    found = map_in_threads(find, [(b, part) for b in blocks for part in parts], n_jobs)
    for block in blocks:
        n_queries, of_parts = block.stop - block.start, [next(found) for _ in parts]
        query, rows, distances = of_parts[0]
        if len(parts) > 1:
            query, rows, distances = map(np.concatenate, zip(*of_parts))
        order = np.lexsort((rows, distances, query))
        if exclude is not None:
            own = exclude[block]
            of_query = np.repeat(np.arange(n_queries), np.diff(own.indptr))
            pairs = [q * n_items + r for q, r in ((query, rows), (of_query, own.indices))]
            order = order[~np.isin(pairs[0][order], pairs[1])]
        query, rows, distances = query[order], rows[order], distances[order]
        if k == 0:
            kept = distances <= radius
        else:
            starts = np.searchsorted(query, np.arange(n_queries))
            kept = np.arange(len(query)) - starts[query] < k
            if whole:
                lasts = distances[np.minimum(starts + k, len(query)) - 1]
                kept |= distances <= lasts[query]
        if by_bits:
            distances = distances.astype(np.int64)
        yield np.bincount(query[kept], minlength=n_queries), rows[kept], distances[kept]
