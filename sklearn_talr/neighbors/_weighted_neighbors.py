"""The index of codes that is asked by weights."""

from numbers import Integral

from .._compat import Interval
from ..codes._door import refuse_codes
from ._columns import read_codes
from ._database import CodeDatabase
from ._questions import SearchByWeights


class WeightedHammingNeighbors(CodeDatabase):
    """Nearest neighbors by weighted Hamming distance: codes that are asked by weights.

    Items are codes. A query is an array of weights, one for each bit: the sign of a weight
    is the bit that the query wants, and its magnitude is what a code pays that has the
    other bit. Where the codes carry factors and addends, as those that `encode` of an
    :class:`~sklearn_talr.hashing.AdditiveHasher` returns, the distance is minus the score,
    see :func:`~sklearn_talr.codes.weighted_scores`. The same holds where a query weighs
    words of several bits, as that function explains: it then has more weights than codes
    have bits, the first of which are those of the bits. The search is exact.

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
        100 000 items. The distance is that to the signs of the weights of the bits.

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
        Bytes of memory for an item, in the mean, without targets: of its code, factor and
        addend, and of its place in the list of items that have the code.

    n_distinct_codes_ : int
        Number of different codes among the items. Codes with different factors or addends
        are different.

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
    HammingNeighbors : The index of codes that is asked by codes.
    sklearn_talr.codes.weighted_scores : Scores of all pairs.

    Notes
    -----
    What :class:`HammingNeighbors` says about codes, indices and threads holds here, too.
    `radius_neighbors` refuses codes with factors or addends, and queries that weigh words:
    their scores are no distances. Names of columns are compared where a query has a weight
    for each bit and no more; products of bits have no names.

    Examples
    --------
    Both codes differ from the signs of the query in one bit, and are tied by Hamming
    distance. The first differs where the query is surer, so it is farther away:

    >>> from sklearn_talr.neighbors import WeightedHammingNeighbors
    >>> index = WeightedHammingNeighbors(n_neighbors=2).fit([[0, 1, 0], [1, 0, 0]])
    >>> index.kneighbors([[2.0, 0.5, -1.0]])
    (array([[0.5, 2. ]]), array([[1, 0]]))
    """

    _parameter_constraints: dict = CodeDatabase._parameter_constraints | {
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None]
    }

    def __init__(
        self,
        n_neighbors=10,
        radius=2,
        *,
        n_candidates=None,
        affinity="auto",
        scoring="AP",
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_candidates = n_candidates
        self.affinity = affinity
        self.scoring = scoring
        self.n_jobs = n_jobs

    def _read(self, X, columns=None):
        return read_codes(X, columns, type(self).__name__)

    def _search(self, fitted):
        return SearchByWeights(fitted, self.n_candidates, n_jobs=self.n_jobs)

    def _queries(self, X, fitted):
        return X if X is None else refuse_codes(X, "X")
