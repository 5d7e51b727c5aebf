"""The indexes of codes alone: one takes codes as queries, the other weights of bits."""

from numbers import Integral

from .._core.compat import Interval
from .._core.parameters import KW_ONLY, parameters
from .._core.types import Count
from ..codes._packed import refuse_terms
from ..codes._scores import refuse_codes
from ._database import CodeDatabase
from ._read import read_bits, read_codes, read_weights


class HammingNeighbors(CodeDatabase):
    """Exact nearest neighbors by Hamming distance, with all tied items on request.

    Items and queries are codes. A compiled loop compares a query with all items. If many
    queries search a small radius of many items, codes are looked up in tables instead.
    :class:`HashedNeighbors` holds a hasher together with such an index, and takes features
    as queries.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors that `kneighbors` finds and that vote in `predict`.

    radius : int, default=2
        Radius of `radius_neighbors`, at least 0.

    affinity : "auto" or affinity object, default="auto"
        Defines which items are similar to a query, for `score`. ``"auto"`` chooses it from
        the form of `y`, see :mod:`sklearn_talr.affinity`. An affinity object that is fitted
        already keeps its levels.

    scoring : str, Measure or callable, default="AP"
        Measure that `score` averages: a measure of :mod:`sklearn_talr.measures`, such as
        ``nDCG @ 100``, or its name; or a function of a
        :class:`~sklearn_talr.histogram.RankingHistogram` that returns a value per query.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1
        means all processors.

    Attributes
    ----------
    affinity_ : affinity object or None
        The affinity object of `score`, None if `fit` was not given `y`.

    n_features_in_ : int
        Number of bits of a code.

    n_items_ : int
        Number of items in the database.

    n_bytes_per_item_ : float
        Mean bytes of memory per item, without targets: of its code, of its id, of its index
        once items have been removed, and of tables for lookup within a radius once they are
        made.

    nbytes : int
        Bytes of memory for all items.

    codes_ : PackedCodes
        Codes of the items, in the order of `indices_`.

    indices_ : ndarray of shape (n_items,)
        Indices of the items, ascending.

    ids_ : ndarray of shape (n_items,) of str or int64, or None
        Ids of the items, in the order of `indices_`; None if `fit` was given none.

    n_samples_fit_ : int
        Number of items given so far, including removed items.

    feature_names_in_ : ndarray of shape (n_bits,)
        Names of the bits, if the codes have column names.

    See Also
    --------
    HashedNeighbors : A hasher together with its index.
    WeightedHammingNeighbors : The index of codes whose queries are weights of bits.
    sklearn.neighbors.NearestNeighbors : The same search by distances of features.
    sklearn_talr.neighbors.rescore : Order candidates by exact feature distance.
    sklearn_talr.export : Export the codes to other search engines.

    Notes
    -----
    Codes are arrays whose *positive* entries are ones. So zeros and ones, -1 and 1, and the
    activations of a hasher all stand for codes. :class:`~sklearn_talr.codes.PackedCodes`
    are taken as they are. Integers that look like packed codes of unknown length are
    refused: unsigned integers and signed bytes above 1, and other integers above 31. Packed
    codes with factors or addends, such as the codes of
    :class:`~sklearn_talr.hashing.AdditiveHasher` under every metric, are refused, too:
    their Hamming distances rank poorly. Use :class:`HashedNeighbors` for such a hasher. A
    UserWarning is issued if entries other than 0 and 1 are never below 0, such as outputs
    of a sigmoid, and if all codes of `fit` are equal.

    The index of an item is its place among all items given so far. It does not change when
    other items are removed, so rows of a feature array of the whole database remain valid.
    Items may also have ids, by which they are then known. An integer id takes 16 bytes. A
    string takes its own bytes in UTF-8, 4 bytes for its end, and 5 to 6 bytes in the table
    in which it is looked up.

    Any number of threads may search while one thread calls `fit`, `add` or `remove`. Each
    call sees codes, items and targets of one state: the state before the change or the
    state after it. Two calls in a row may see different states. Two threads that change the
    database must take turns, or one change may be lost.

    Examples
    --------
    >>> from sklearn_talr.neighbors import HammingNeighbors
    >>> database = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 1]]
    >>> neighbors = HammingNeighbors(n_neighbors=2).fit(database, ["a", "b", "b", "b"])
    >>> neighbors.kneighbors([[0, 0, 0]])
    (array([[0, 1]]), array([[0, 1]]))

    Items 1 and 2 are tied for the second place, so each has half a vote. Among three
    neighbors each has a whole vote:

    >>> neighbors.predict([[0, 0, 0]])
    array(['a'], dtype='<U1')
    >>> neighbors.set_params(n_neighbors=3).predict([[0, 0, 0]])
    array(['b'], dtype='<U1')
    """

    def _read_items(self, X, index):
        return read_codes(refuse_terms(X, "X"), index, type(self).__name__)

    def _read_query_values(self, X, index):
        return read_bits(refuse_terms(X, "X"), index)


@parameters
class WeightedHammingNeighbors(CodeDatabase):
    """Exact nearest neighbors by asymmetric distance: items are codes, queries are weights.

    A query has a weight for each bit: its sign is the bit of the query, its magnitude is
    the penalty if an item has the other bit. The distance is the sum of the penalties, also
    called weighted Hamming distance. If the codes have factors and addends, such as the
    codes of an :class:`~sklearn_talr.hashing.AdditiveHasher`, the distance is minus the
    score, see :func:`~sklearn_talr.codes.weighted_scores`. It is also minus the score if a
    query has 256 weights for each eight bits, one for each codeword of a codebook.

    :class:`HashedNeighbors` holds a hasher together with such an index, and takes features
    as queries. Use this class if codes and weights come from elsewhere.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors that `kneighbors` finds and that vote in `predict`.

    radius : float, default=2
        Radius of `radius_neighbors`, at least 0.

    n_candidates : int, default=None
        Number of items, nearest by Hamming distance to the signs of the weights, that the
        weights are compared with. None compares the weights with all items, which is exact,
        and faster below about 100 000 items.

    affinity : "auto" or affinity object, default="auto"
        Defines which items are similar to a query, for `score`. ``"auto"`` chooses it from
        the form of `y`, see :mod:`sklearn_talr.affinity`. An affinity object that is fitted
        already keeps its levels.

    scoring : str, Measure or callable, default="AP"
        Tie-aware measure that `score` averages, as for :class:`HammingNeighbors`.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1
        means all processors.

    Attributes
    ----------
    affinity_ : affinity object or None
        The affinity object of `score`, None if `fit` was not given `y`.

    n_features_in_ : int
        Number of bits of a code.

    n_items_ : int
        Number of items in the database.

    n_bytes_per_item_ : float
        Mean bytes of memory per item, without targets: of its code, of its factor and
        addend, of its id, and of its index once items have been removed.

    nbytes : int
        Bytes of memory for all items.

    codes_ : PackedCodes
        Codes of the items, in the order of `indices_`.

    indices_ : ndarray of shape (n_items,)
        Indices of the items, ascending.

    ids_ : ndarray of shape (n_items,) of str or int64, or None
        Ids of the items, in the order of `indices_`; None if `fit` was given none.

    n_samples_fit_ : int
        Number of items given so far, including removed items.

    feature_names_in_ : ndarray of shape (n_bits,)
        Names of the bits, if the codes have column names.

    See Also
    --------
    HashedNeighbors : A hasher together with its index.
    HammingNeighbors : The index of codes whose queries are codes.
    sklearn_talr.codes.weighted_scores : Scores of all pairs.

    Notes
    -----
    The notes of :class:`HammingNeighbors` about codes, indices and threads apply.
    `radius_neighbors` refuses codes with factors or addends, and queries with weights of
    codewords, since minus a score is no distance from 0. Column names are compared if a
    query has a weight for each bit; codewords have no names.

    Examples
    --------
    Both codes differ from the signs of the query in one bit, and are tied by Hamming
    distance. The weight of the bit of the first code is larger, so that code is farther:

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

    def _read_items(self, X, index):
        return read_codes(X, index, type(self).__name__)

    def _read_query_values(self, X, index):
        return read_weights(refuse_codes(X, "X"), index.columns)

    def _values_of_items(self, index, rows):
        raise ValueError(
            "Items of the database cannot be queries here: queries have weights, and of "
            "items the bits alone are kept. Pass X, the weights of the queries, and leave "
            "each item's own id out by exclude=[[id]]; or ask by bits: HammingNeighbors."
        )

    def _get_n_candidates(self):
        return self.n_candidates
