"""The index of codes that is asked by codes."""

from ..codes._door import refuse_terms
from ._columns import read_codes
from ._database import INDEX_PARAMETERS, CodeDatabase
from ._questions import SearchByBits


class HammingNeighbors(CodeDatabase):
    """Exact nearest neighbors by Hamming distance, with all that are tied if asked for.

    Items and queries are codes. Every distinct code is stored and compared once, with the
    items that have it. Learned codes repeat, so the time of a search grows with their
    variety and not with their number. :class:`HashedNeighbors` holds a hasher together with
    such an index, and is asked by features.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors of `kneighbors` and of places that `predict` counts.

    radius : int, default=2
        Radius of `radius_neighbors`, from 0.

    algorithm : {"auto", "brute", "lookup", "multi_index"}, default="auto"
        How to search. All algorithms find the same items.

        * ``"brute"`` compares with every distinct code.
        * ``"lookup"`` looks buckets up in a hash table, by flipping bits of the query.
        * ``"multi_index"`` has a table for each of several parts of the code, so that
          fewer bits need to be flipped: for long codes.
        * ``"auto"`` takes whichever costs least. It begins by comparing, tries the others
          on a few queries where they promise to cost less, and keeps what did.

        All but ``"brute"`` compare with every code where that costs less than looking up.

    affinity : "auto" or affinity oracle, default="auto"
        Decides who is similar to whom, for `score`. ``"auto"`` chooses by the form of `y`,
        see :mod:`sklearn_talr.affinity`. An oracle that is fitted already keeps its levels.

    scoring : str, Measure or callable, default="AP"
        What `score` averages: a measure of :mod:`sklearn_talr.measures`, such as
        ``nDCG @ 100``, or its name; or a function of a
        :class:`~sklearn_talr.histogram.RankingHistogram` that gives one value per query.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1
        all processors.

    Attributes
    ----------
    affinity_ : affinity oracle or None
        The oracle of `score`, None if `fit` was not given `y`.

    n_features_in_ : int
        Number of bits of a code.

    n_items_ : int
        Number of items in the database.

    n_bytes_per_item_ : float
        Bytes of memory for an item, in the mean, without targets: of its code, and of its
        place in the list of items that have the code.

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
    HashedNeighbors : A hasher together with its index.
    WeightedHammingNeighbors : The index of codes that is asked by weights.
    sklearn.neighbors.NearestNeighbors : The same search by distances of features.
    sklearn_talr.neighbors.rescore : Order candidates by exact feature distance.
    sklearn_talr.export : Take the codes to other search engines.

    Notes
    -----
    Codes are arrays whose *positive* entries are ones: zeros and ones, -1 and 1, and the
    activations of a hasher are understood alike. :class:`~sklearn_talr.codes.PackedCodes`
    are taken as they are. An array of unsigned integers that holds more than zeros and ones
    is refused, since it looks like packed codes of unknown length. Packed codes with
    factors or addends, as AdditiveHasher makes them, are refused too: their Hamming
    distances rank poorly, and the class for them is :class:`HashedNeighbors`. A UserWarning
    tells of entries other than 0 and 1 that are never below 0, such as outputs of a
    sigmoid, and of a `fit` whose codes are all equal.

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

    _parameter_constraints: dict = CodeDatabase._parameter_constraints | INDEX_PARAMETERS

    def __init__(
        self,
        n_neighbors=10,
        radius=2,
        *,
        algorithm="auto",
        affinity="auto",
        scoring="AP",
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.affinity = affinity
        self.scoring = scoring
        self.n_jobs = n_jobs

    def lookup(self, X, n_neighbors=None, radius=None):
        """Look buckets up, nearest first, and tell what it cost.

        This is the hash lookup of Jiang, Li and Li (section 2.2, Figure 1). It begins with
        the query's own bucket, goes on with the buckets at distance 1, and so on until at
        least `n_neighbors` items are gathered, or up to a given radius. Buckets are taken
        whole, so everything tied with an item found is found. Where comparing with all
        codes costs less than the buckets that lie ahead, the codes are compared instead.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_columns) or PackedCodes
            Queries, as the class takes them: codes, weights of bits, or features.

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
        none. "auto" means "lookup" here.

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
        search, queries = self._ask(self._get_fitted(), X)
        return search.lookup(queries, n_neighbors, radius)

    def _read(self, X, columns=None):
        return read_codes(refuse_terms(X, "X"), columns, type(self).__name__)

    def _search(self, fitted):
        return SearchByBits(fitted, self.algorithm, self.n_jobs)

    def _queries(self, X, fitted):
        return refuse_terms(X, "X")
