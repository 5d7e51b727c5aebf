"""What can be asked of fitted codes."""

from numbers import Integral

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from ..codes import as_words, word_distances
from ._found import ranked_items
from ._index import search
from ._results import Lookup, Ranking, ragged

_ITEMS_PER_BLOCK = 2**22


class QueryMixin:
    """Queries of an estimator that has a `_store` of codes and the search parameters."""

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True, return_tied=False):
        """Find the nearest items of each query.

        Items at the same distance are ordered by index, the smallest first, whatever the
        algorithm and the backend.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes, default=None
            Codes of the queries. None means the items themselves, each of which is then
            not its own neighbor.

        n_neighbors : int, default=None
            Number of neighbors. None means that of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        return_tied : bool, default=False
            Whether to return also what is tied with the last neighbor.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), dtype int64
            Hamming distances, ascending. Only if `return_distance`.

        indices : ndarray of shape (n_queries, n_neighbors), dtype int64
            Indices of the neighbors, ascending within a distance.

        tied : ndarray of shape (n_queries,) of arrays of int64
            Indices of all items at the distance of the last neighbor, those in `indices`
            included. Only if `return_tied`.

        Raises
        ------
        ValueError
            If there are fewer items than neighbors asked for, or codes of another length
            were fitted.

        Examples
        --------
        Three items are tied at distance 1. Two of them are among the neighbors, those
        with the smaller indices:

        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> database = [[0, 1, 1], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
        >>> neighbors = HammingNeighbors(n_neighbors=3).fit(database)
        >>> distances, indices, tied = neighbors.kneighbors([[0, 0, 0]], return_tied=True)
        >>> distances, indices
        (array([[0, 1, 1]]), array([[4, 1, 2]]))
        >>> tied[0]
        array([1, 2, 3])
        """
        queries, own = self._query_words(X)
        n_neighbors = self._check_n_neighbors(n_neighbors, own)
        n_items = n_neighbors + (own is not None)
        blocks = [
            self._nearest(found, n_items, None if own is None else own[rows], return_tied)
            for rows, found in self._search("at_least", queries, n_items)
        ]
        distances, indices, tied = zip(*blocks)
        result = (np.concatenate(distances),) if return_distance else ()
        result += (np.concatenate(indices),)
        if return_tied:
            result += (ragged([items for block in tied for items in block]),)
        return result if len(result) > 1 else result[0]

    def radius_neighbors(self, X=None, radius=None, return_distance=True):
        """Find all items within a radius of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes, default=None
            Codes of the queries. None means the items themselves, each of which is then
            not its own neighbor.

        radius : int, default=None
            Largest distance, from 0. None means that of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays of int64
            Hamming distances, ascending. Only if `return_distance`.

        indices : ndarray of shape (n_queries,) of arrays of int64
            Indices of the items, ascending within a distance.

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
        queries, own = self._query_words(X)
        radius = self._check_radius(radius)
        distances, indices = [], []
        for rows, found in self._search("within", queries, radius):
            for distance, index in self._split(found, None if own is None else own[rows]):
                distances.append(distance)
                indices.append(index)
        if return_distance:
            return ragged(distances), ragged(indices)
        return ragged(indices)

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """Find the nearest items of each query, as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes, default=None
            As in `kneighbors`.

        n_neighbors : int, default=None
            As in `kneighbors`.

        mode : {"connectivity", "distance"}, default="connectivity"
            What the matrix holds for a neighbor: 1 or the Hamming distance. Distances of
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
        distances, indices = self.kneighbors(X, n_neighbors)
        values = np.ones_like(distances) if mode == "connectivity" else distances
        ends = np.arange(0, indices.size + 1, indices.shape[1])
        shape = len(indices), self.n_samples_fit_
        return csr_array((values.ravel().astype(float), indices.ravel(), ends), shape=shape)

    def rank(self, X):
        """Rank all items for each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes
            Codes of the queries.

        Returns
        -------
        ranking : Ranking
            Named tuple of ``distances``, ``indices`` and ``ties``, each of shape
            (n_queries, n_items): items by distance, tied ones by index, and the number
            of the tie that each place belongs to.

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
        queries, _ = self._query_words(X)
        items, codes = self._store.items()
        shape = len(queries), len(items)
        distances, indices = np.empty(shape, np.int64), np.empty(shape, np.int64)
        for rows in gen_batches(shape[0], max(1, _ITEMS_PER_BLOCK // shape[1])):
            by_code = word_distances(queries[rows], self._store.words, np.uint16)
            by_item = by_code[:, codes]
            order = np.argsort(by_item, axis=1, kind="stable")  # ties stay by index
            distances[rows] = np.take_along_axis(by_item, order, axis=1)
            indices[rows] = items[order]
        ties = np.zeros(shape, dtype=np.int64)
        np.cumsum(np.diff(distances, axis=1) > 0, axis=1, out=ties[:, 1:])
        return Ranking(distances, indices, ties)

    def lookup(self, X, n_neighbors=None, radius=None):
        """Look buckets up, nearest first, and tell what it cost.

        This is the hash lookup of Jiang, Li and Li (section 2.2, Figure 1): the query's
        own bucket, then those at distance 1, and so on until at least `n_neighbors` items
        are gathered, or up to a given radius. Buckets are taken whole, so everything tied
        with an item found is found. Where so many buckets lie ahead that comparing with
        all codes costs less, that is done instead.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes
            Codes of the queries.

        n_neighbors : int, default=None
            Number of items to gather, at least. None means that of the constructor.

        radius : int, default=None
            Radius up to which to look, in place of a number of items.

        Returns
        -------
        found : Lookup
            Named tuple of ``distances``, ``indices``, ``radius``, ``n_buckets`` and
            ``n_candidates``.

        Notes
        -----
        With ``algorithm="multi_index"`` there are several tables, each of some of the
        bits, and `n_buckets` counts what is looked up in all of them; with "brute" there
        are none; "auto" means "lookup" here. The search is by NumPy on any backend.

        Examples
        --------
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> database = [[0, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
        >>> found = HammingNeighbors(algorithm="lookup").fit(database).lookup(
        ...     [[0, 0, 0]], n_neighbors=1
        ... )
        >>> found.radius, found.indices[0]
        (array([1]), array([1, 2, 3]))
        """
        if radius is not None and n_neighbors is not None:
            raise ValueError("n_neighbors and radius exclude each other; pass one of them.")
        queries, _ = self._query_words(X)
        if radius is None:
            question, argument = "at_least", self._check_n_neighbors(n_neighbors, None)
        else:
            question, argument = "within", self._check_radius(radius)
        algorithm = "lookup" if self.algorithm == "auto" else self.algorithm
        answers = search(
            self._store, algorithm, "numpy", self.n_jobs, question, queries, argument
        )
        blocks = [(found, list(self._split(found, None))) for _, found in answers]
        items = [pair for _, pairs in blocks for pair in pairs]
        radii = [
            found.radius() if radius is None else np.full(len(pairs), argument)
            for found, pairs in blocks
        ]
        return Lookup(
            ragged([distance for distance, _ in items]),
            ragged([index for _, index in items]),
            np.concatenate(radii),
            np.concatenate([found.n_buckets for found, _ in blocks]),
            np.concatenate([found.n_candidates for found, _ in blocks]),
        )

    def _search(self, question, queries, argument):
        parameters = self.algorithm, self.backend, self.n_jobs
        return search(self._store, *parameters, question, queries, argument)

    def _query_words(self, X):
        """Words of the queries and, where the items are the queries, their indices."""
        check_is_fitted(self)
        if X is not None:
            return as_words(self._pack(X, reset=False).data), None
        own, codes = self._store.items()
        return self._store.words[codes], own

    def _nearest(self, found, n_items, own, return_tied):
        """Distances and indices of the first items of each query, and what is tied."""
        distances, indices = [], []
        for ends, distance, index in ranked_items(found, self._store, most=n_items):
            places = np.concatenate(([0], ends[:-1]))[:, None] + np.arange(n_items)
            distances.append(distance[places])
            indices.append(index[places])
        distances, indices = np.concatenate(distances), np.concatenate(indices)
        if own is not None:
            distances, indices = _leave_out(own, distances, indices)
        tied = ()
        if return_tied:
            shell = found.at(distances[:, -1])
            tied = [index for _, index in self._split(shell, own)]
        return distances, indices, tied

    def _split(self, found, own):
        """Distances and indices of all items found, query by query, without its own."""
        query = 0
        for ends, distance, index in ranked_items(found, self._store):
            for start, stop in zip([0, *ends[:-1].tolist()], ends.tolist()):
                part = slice(start, stop)
                if own is None:
                    yield distance[part], index[part]
                else:
                    others = index[part] != own[query]
                    yield distance[part][others], index[part][others]
                query += 1

    def _check_n_neighbors(self, n_neighbors, own):
        n_neighbors = self.n_neighbors if n_neighbors is None else n_neighbors
        if not _is_integer(n_neighbors) or n_neighbors < 1:
            raise ValueError(
                f"n_neighbors must be a positive integer, got {n_neighbors!r}."
            )
        most = self._store.n_items - (own is not None)
        if n_neighbors > most:
            raise ValueError(
                f"n_neighbors={n_neighbors} is more than the {most} items to be found."
            )
        return int(n_neighbors)

    def _check_radius(self, radius):
        radius = self.radius if radius is None else radius
        if not _is_integer(radius) or radius < 0:
            raise ValueError(f"radius must be an integer of at least 0, got {radius!r}.")
        return min(int(radius), self._store.n_bits)


def _is_integer(value):
    return isinstance(value, Integral) and not isinstance(value, bool)


def _leave_out(own, distances, indices):
    """Drop the query itself, or the last item where it is tied with too many to show."""
    others = indices != own[:, None]
    others[others.all(axis=1), -1] = False
    shape = len(own), indices.shape[1] - 1
    return distances[others].reshape(shape), indices[others].reshape(shape)
