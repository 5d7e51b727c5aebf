"""The estimator: questions about neighbors, and the parameters that answer them."""

from numbers import Integral, Real

from .._compat import Interval, StrOptions
from ._answers import graph_of
from ._database import CodeDatabase
from ._results import ragged


class HammingNeighbors(CodeDatabase):
    """Nearest neighbors by Hamming distance, exact, with ties in the open.

    The estimator is given codes, or stands last in a Pipeline behind a hasher. Every
    distinct code is stored and compared once, with the items that have it. Learned codes
    repeat, so the time of a search grows with their variety and not with their number.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors of `kneighbors` and of places that `predict` counts.

    radius : int or float, default=2
        Radius of `radius_neighbors`, from 0; a whole number for Hamming distances.

    algorithm : {"auto", "brute", "lookup", "multi_index"}, default="auto"
        How to search. All algorithms find the same items.

        * ``"brute"`` compares with every distinct code.
        * ``"lookup"`` looks buckets up in a hash table, by flipping bits of the query.
        * ``"multi_index"`` has a table for each of several parts of the code, so that
          fewer bits need to be flipped: for long codes.
        * ``"auto"`` takes whichever costs least. It begins by comparing, tries the others
          on a few queries where they promise to cost less, and keeps what did.

        All but ``"brute"`` compare with every code where that costs less than looking up.

    backend : {"auto", "numpy", "faiss"}, default="auto"
        What does the work. All backends find the same items. ``"auto"`` compares with
        faiss if faiss has been imported in this process, since that is faster, and looks
        buckets up by NumPy, as ``algorithm="auto"`` does with any backend.

    metric : {"hamming", "weighted_hamming"}, default="hamming"
        How queries are compared with codes.

        * ``"hamming"``: queries are codes, too, and a bit that differs costs 1.
        * ``"weighted_hamming"``: queries are real numbers, and a bit that differs costs
          the query's magnitude there. Behind a hasher in a Pipeline these are the
          `query_weights` of the hasher. Where the hasher says what else a code's score
          depends on, as AdditiveHasher does, the distance is minus that score, see
          :func:`~sklearn_talr.codes.weighted_scores`.

    n_candidates : int, default=None
        With ``metric="weighted_hamming"``: how many items that are nearest by Hamming
        distance are compared by weights. None compares all, which is exact, and costs less
        as long as there are fewer than about 100 000 items.

    affinity : "auto" or affinity oracle, default="auto"
        Decides who is similar to whom, for `score`. ``"auto"`` chooses by the form of `y`,
        see :mod:`sklearn_talr.affinity`. An oracle that is fitted already keeps its levels.

    scoring : str, Measure or callable, default="AP"
        What `score` averages: a measure of :mod:`sklearn_talr.measures`, such as
        ``nDCG @ 100``, or its name; or a function of a
        :class:`~sklearn_talr.histogram.RankingHistogram` that gives one value per query.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1
        all processors. faiss has threads of its own.

    Attributes
    ----------
    affinity_ : affinity oracle or None
        The oracle of `score`, None if `fit` was not given `y`.

    n_features_in_ : int
        Number of bits of a code.

    n_items_ : int
        Number of items in the database.

    n_bytes_per_item_ : float
        Bytes of memory for an item, in the mean, without targets: of its code, of what
        belongs to it beside its bits, and of the list of those that have it.

    n_distinct_codes_ : int
        Number of different codes among the items.

    codes_ : PackedCodes
        Codes of the items, in the order of `indices_`.

    indices_ : ndarray of shape (n_items,)
        Indices of the items, ascending.

    n_samples_fit_ : int
        Number of items given so far, those removed included.

    feature_names_in_ : ndarray of shape (n_bits,)
        Names of the bits, if the codes have column names.

    See Also
    --------
    sklearn.neighbors.NearestNeighbors : The same search by distances of features.
    sklearn_talr.neighbors.rescore : Order candidates by exact feature distance.
    sklearn_talr.export : Take the codes to other search engines.

    Notes
    -----
    Codes are arrays whose *positive* entries are ones: zeros and ones, -1 and 1, and the
    activations of a hasher are understood alike. :class:`~sklearn_talr.codes.PackedCodes`
    are taken as they are. An array of unsigned integers that holds more than zeros and ones
    is refused, since it looks like packed codes of unknown length. A UserWarning tells of
    entries other than 0 and 1 that are never below 0, such as outputs of a sigmoid, and of
    a `fit` whose codes are all equal.

    The index of an item is its place among all items given, in order, and stays so after
    other items are removed: rows of a feature array of the whole database remain valid.

    Any number of threads may ask while one thread calls `fit`, `partial_fit` or `remove`.
    Each call is answered from one state, codes, items and targets together: that before the
    change or that after it. Two calls in a row may see different states. Two threads that
    change the database at once must take turns, or one change may be lost.

    Examples
    --------
    >>> from sklearn_talr.neighbors import HammingNeighbors
    >>> database = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 1]]
    >>> neighbors = HammingNeighbors(n_neighbors=2).fit(database, ["a", "b", "b", "b"])
    >>> neighbors.kneighbors([[0, 0, 0]])
    (array([[0, 1]]), array([[0, 1]]))

    Items 1 and 2 are tied for the second place, so each has half of it. In a vote of three
    neighbors each has a place:

    >>> neighbors.predict([[0, 0, 0]])
    array(['a'], dtype='<U1')
    >>> neighbors.set_params(n_neighbors=3).predict([[0, 0, 0]])
    array(['b'], dtype='<U1')
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Real, 0, None, closed="left")],
        "algorithm": [StrOptions({"auto", "brute", "lookup", "multi_index"})],
        "backend": [StrOptions({"auto", "numpy", "faiss"})],
        "metric": [StrOptions({"hamming", "weighted_hamming"})],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "affinity": [StrOptions({"auto"}), callable],
        "scoring": [str, callable],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors=10,
        radius=2,
        *,
        algorithm="auto",
        backend="auto",
        metric="hamming",
        n_candidates=None,
        affinity="auto",
        scoring="AP",
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.backend = backend
        self.metric = metric
        self.n_candidates = n_candidates
        self.affinity = affinity
        self.scoring = scoring
        self.n_jobs = n_jobs

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True, return_tied=False):
        """Find the nearest items of each query.

        Items at the same distance are ordered by index, the smallest first, whatever the
        algorithm and the backend.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes, default=None
            Codes of the queries, or their weights if these are what `metric` compares.
            None means the items, none its own neighbor.

        n_neighbors : int, default=None
            Number of neighbors. None means that of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        return_tied : bool, default=False
            Whether to return also what is tied with the last neighbor.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), dtype int64 or float64
            Distances by `metric`, ascending. Only if `return_distance`.

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
        """
        distances, indices, tied = self._nearest(X, n_neighbors, return_tied)
        result = (distances,) if return_distance else ()
        result += (indices, ragged(tied)) if return_tied else (indices,)
        return result if len(result) > 1 else result[0]

    def radius_neighbors(self, X=None, radius=None, return_distance=True):
        """Find all items within a radius of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes, default=None
            Codes of the queries, or their weights if these are what `metric` compares.
            None means the items, none its own neighbor.

        radius : int or float, default=None
            Largest distance, from 0; a whole number for Hamming distances. None means that
            of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays of int64 or float64
            Distances by `metric`, ascending. Only if `return_distance`.

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
        found = list(self._search().within(X, self.radius if radius is None else radius))
        indices = ragged([index for _, index in found])
        if return_distance:
            return ragged([distance for distance, _ in found]), indices
        return indices

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """Find the nearest items of each query, as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes, default=None
            Codes of the queries, or their weights if these are what `metric` compares.
            None means the items, none its own neighbor.

        n_neighbors : int, default=None
            Number of neighbors. None means that of the constructor.

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
        n_indices = self.n_samples_fit_
        distances, indices, _ = self._nearest(X, n_neighbors)
        return graph_of(distances, indices, n_indices, mode)

    def lookup(self, X, n_neighbors=None, radius=None):
        """Look buckets up, nearest first, and tell what it cost.

        This is the hash lookup of Jiang, Li and Li (section 2.2, Figure 1). It begins with
        the query's own bucket, goes on with the buckets at distance 1, and so on until at
        least `n_neighbors` items are gathered, or up to a given radius. Buckets are taken
        whole, so everything tied with an item found is found. Where comparing with all
        codes costs less than the buckets that lie ahead, the codes are compared instead.

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
        The parameter `algorithm` decides about the tables. "multi_index" has several, each
        of some of the bits, and `n_buckets` counts the buckets of all of them. "brute" has
        none. "auto" means "lookup" here. NumPy does the work, whatever the backend.

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
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        return self._search().lookup(X, n_neighbors, radius)

    def predict(self, X):
        """Predict labels by a vote of the `n_neighbors` nearest items.

        Items that are tied for the last places share these equally, so nothing depends on
        the order of the database.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes
            Codes of the queries.

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
        return self._search().predict(X, self.n_neighbors)

    def _nearest(self, X, n_neighbors, return_tied=False):
        n_neighbors = self.n_neighbors if n_neighbors is None else n_neighbors
        return self._search().nearest(X, n_neighbors, return_tied)
