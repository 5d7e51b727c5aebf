"""The indexes of codes alone: asked by codes, and by weights."""

from numbers import Integral

from .._core.compat import Interval
from .._core.parameters import KW_ONLY, parameters
from .._core.types import Count
from ..codes._packed import refuse_terms
from ..codes._scores import refuse_codes
from ._database import CodeDatabase
from ._read import read_bits, read_codes, read_weights


class HammingNeighbors(CodeDatabase):
    """Exact nearest neighbors by Hamming distance, with all that are tied if asked for.

    Items and queries are codes. A query is compared with all of them, by a compiled loop,
    or looked up in tables, where many are asked within a small radius of many items.
    :class:`HashedNeighbors` holds a hasher together with such an index, and is asked by
    features.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors of `kneighbors` and of places that `predict` counts.

    radius : int, default=2
        Radius of `radius_neighbors`, from 0.

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
        Bytes of memory for an item, without targets: those of its code, of its id, of its
        index once items have been removed, and of tables for lookup within a radius once
        there are some.

    nbytes : int
        Bytes of memory for all items.

    codes_ : PackedCodes
        Codes of the items, in the order of `indices_`.

    indices_ : ndarray of shape (n_items,)
        Indices of the items, ascending.

    ids_ : ndarray of shape (n_items,) of str or int64, or None
        Ids of the items, in the order of `indices_`; None if `fit` was given none.

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
    are taken as they are. Integers that look like packed codes of unknown length are
    refused: unsigned ones and signed bytes beyond 1, and others beyond 31. Packed codes
    with factors or addends, as AdditiveHasher makes them, are refused too: their Hamming
    distances rank poorly, and the class for them is :class:`HashedNeighbors`. A UserWarning
    tells of entries other than 0 and 1 that are never below 0, such as outputs of a
    sigmoid, and of a `fit` whose codes are all equal.

    The index of an item is its place among all items given, in order, and stays so after
    other items are removed: rows of a feature array of the whole database remain valid.
    Items may also be given ids, by which they are then known. An integer takes 16 bytes. A
    string takes its own bytes in UTF-8, 4 bytes for where it ends, and 5 to 6 bytes in a
    table by which it is looked up.

    Any number of threads may ask while one thread calls `fit`, `add` or `remove`.
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

    def _read(self, X, index):
        return read_codes(refuse_terms(X, "X"), index, type(self).__name__)

    def _queries(self, X, index):
        return read_bits(refuse_terms(X, "X"), index)


@parameters
class WeightedHammingNeighbors(CodeDatabase):
    """Nearest neighbors by weighted Hamming distance: codes that are asked by weights.

    Items are codes. A query is an array of weights, one for each bit: the sign of a weight
    is the bit that the query wants, and its magnitude is what a code pays that has the
    other bit. Where the codes carry factors and addends, as those that `encode` of an
    :class:`~sklearn_talr.hashing.AdditiveHasher` returns, the distance is minus the score,
    see :func:`~sklearn_talr.codes.weighted_scores`. The same holds where a query weighs
    words of eight bits: it then has a weight for each value of each word. The search is
    exact.

    :class:`HashedNeighbors` holds a hasher together with such an index, and is asked by
    features. Take this class where codes and weights come from elsewhere.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors of `kneighbors` and of places that `predict` counts.

    radius : float, default=2
        Radius of `radius_neighbors`, from 0.

    n_candidates : int, default=None
        How many items that are nearest by Hamming distance are compared by weights. None
        compares all, which is exact, and costs less as long as there are fewer than about
        100 000 items. The distance is that to the bits that a query would rather see.

    affinity : "auto" or affinity oracle, default="auto"
        Decides who is similar to whom, for `score`. ``"auto"`` chooses by the form of `y`,
        see :mod:`sklearn_talr.affinity`. An oracle that is fitted already keeps its levels.

    scoring : str, Measure or callable, default="AP"
        Tie-aware metric that `score` averages, as for :class:`HammingNeighbors`.

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
        Bytes of memory for an item, without targets: of its code, of its factor and addend,
        of its id, and of its index once items have been removed.

    nbytes : int
        Bytes of memory for all items.

    codes_ : PackedCodes
        Codes of the items, in the order of `indices_`.

    indices_ : ndarray of shape (n_items,)
        Indices of the items, ascending.

    ids_ : ndarray of shape (n_items,) of str or int64, or None
        Ids of the items, in the order of `indices_`; None if `fit` was given none.

    n_samples_fit_ : int
        Number of items given so far, those removed included.

    feature_names_in_ : ndarray of shape (n_bits,)
        Names of the bits, if the codes have column names.

    See Also
    --------
    HashedNeighbors : A hasher together with its index.
    HammingNeighbors : The index of codes that is asked by codes.
    sklearn_talr.codes.weighted_scores : Scores of all pairs.

    Notes
    -----
    What :class:`HammingNeighbors` says about codes, indices and threads holds here, too.
    `radius_neighbors` refuses codes with factors or addends, and queries that weigh words:
    their scores are no distances. Names of columns are compared where a query has a weight
    for each bit; values of words have no names.

    Examples
    --------
    Both codes differ from the signs of the query in one bit, and are tied by Hamming
    distance. The first differs where the query is surer, so it is farther away:

    >>> from sklearn_talr.neighbors import WeightedHammingNeighbors
    >>> index = WeightedHammingNeighbors(n_neighbors=2).fit([[0, 1, 0], [1, 0, 0]])
    >>> index.kneighbors([[2.0, 0.5, -1.0]])
    (array([[0.5, 2. ]]), array([[1, 0]]))
    """

    _parameter_constraints = CodeDatabase._parameter_constraints | {
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None]
    }

    _: KW_ONLY
    n_candidates: Count = None

    def _read(self, X, index):
        return read_codes(X, index, type(self).__name__)

    def _queries(self, X, index):
        return read_weights(refuse_codes(X, "X"), index.columns)

    def _item_queries(self, index, rows):
        raise ValueError(
            "Items of the database cannot be queries here: queries have weights, and of "
            "items the bits alone are kept. Pass X, the weights of the queries, and leave "
            "each item's own id out by exclude=[[id]]; or ask by bits: HammingNeighbors."
        )
