"""The estimator: codes in, neighbors out."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..affinity._resolve import checked_targets
from ..codes import PackedCodes, hamming_distances, pack_codes
from ..histogram import RankingHistogram, hamming_histogram
from ..metrics._queries import average_queries
from ..metrics._tie_breaking import METRICS, get_metric
from ._answers import QueryMixin
from ._archive import SaveMixin
from ._store import CodeStore, pack_signs
from ._targets import append_targets, ballots, settle_targets
from ._votes import elect_class, elect_labels, shared_votes


class HammingNeighbors(QueryMixin, SaveMixin, BaseEstimator):
    """Nearest neighbors by Hamming distance, exact, with ties in the open.

    Give it codes, or put it last in a Pipeline behind a hasher. Every distinct code is
    stored and compared once, with the items that have it, so that learned codes, which
    repeat, are searched in time that grows with their variety and not with their number.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors of `kneighbors` and of places that `predict` counts.

    radius : int, default=2
        Radius of `radius_neighbors`, from 0.

    algorithm : {"auto", "brute", "lookup", "multi_index"}, default="auto"
        How to search. All find the same.

        * ``"brute"`` compares with every distinct code.
        * ``"lookup"`` looks buckets up in a hash table, by flipping bits of the query.
        * ``"multi_index"`` has a table for each of several parts of the code, so that
          fewer bits need to be flipped: for long codes.
        * ``"auto"`` takes whichever costs least, by the number of buckets within the
          radius, of codes and of queries so far.

        The last three compare with every code once that costs less than looking up.

    backend : {"auto", "numpy", "faiss"}, default="auto"
        What does the work. All find the same. ``"auto"`` compares with faiss if faiss has
        been imported in this process, since that is faster, and does the rest by NumPy.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom, for `score`. ``"auto"`` chooses by the form of `y`, see
        :mod:`sklearn_talr.affinity`. An oracle that is already fitted keeps its levels.

    scoring : str or callable, default="average_precision"
        Tie-aware metric that `score` averages: a name that
        :func:`~sklearn_talr.metrics.make_retrieval_scorer` takes, or a function of a
        :class:`~sklearn_talr.histogram.RankingHistogram` that gives one value per query,
        such as ``functools.partial(tie_aware_ndcg, k=100)``.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1
        all processors. faiss has threads of its own.

    Attributes
    ----------
    n_samples_fit_ : int
        Number of items given so far, those removed included.

    affinity_ : affinity oracle or None
        The oracle of `score`; None without `y`.

    n_features_in_ : int
        Number of bits of a code.

    n_items_ : int
        Number of items in the database.

    n_distinct_codes_ : int
        Number of different codes among them.

    codes_ : PackedCodes
        Codes of the items, in the order of `indices_`.

    indices_ : ndarray of shape (n_items,)
        Indices of the items, ascending.

    feature_names_in_ : ndarray of shape (n_bits,)
        Names of the bits, if the codes have column names.

    See Also
    --------
    sklearn_talr.neighbors.rescore : Order candidates by exact feature distance.
    sklearn_talr.export : Take the codes to other search engines.

    Notes
    -----
    Codes are arrays whose *positive* entries are ones: zeros and ones, -1 and 1, and the
    activations of a hasher are understood alike. :class:`~sklearn_talr.codes.PackedCodes`
    are taken as they are. An array of unsigned bytes that holds more than zeros and ones is
    refused, since it looks like packed bytes of unknown length.

    The index of an item is its place among all items given, in order, and stays so after
    others are removed: rows of a feature array of the whole database remain valid.

    Examples
    --------
    >>> from sklearn_talr.neighbors import HammingNeighbors
    >>> database = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 1]]
    >>> neighbors = HammingNeighbors(n_neighbors=2).fit(database, ["a", "b", "b", "b"])
    >>> neighbors.kneighbors([[0, 0, 0]])
    (array([[0, 1]]), array([[0, 1]]))

    Items 1 and 2 are tied for the second place, each has half of it. In a vote by three,
    they have a place each:

    >>> neighbors.predict([[0, 0, 0]])
    array(['a'], dtype='<U1')
    >>> neighbors.set_params(n_neighbors=3).predict([[0, 0, 0]])
    array(['b'], dtype='<U1')

    As the last step of a Pipeline it scores held-out queries against what it was fitted on:

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_talr.hashing import ITQHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> search = make_pipeline(ITQHasher(n_bits=16, random_state=0), HammingNeighbors())
    >>> cross_val_score(search, X, y, cv=3).round(1)
    array([0.6, 0.6, 0.6])
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Integral, 0, None, closed="left")],
        "algorithm": [StrOptions({"auto", "brute", "lookup", "multi_index"})],
        "backend": [StrOptions({"auto", "numpy", "faiss"})],
        "affinity": [StrOptions({"auto"}), callable],
        "scoring": [StrOptions(set(METRICS)), callable],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors=10,
        radius=2,
        *,
        algorithm="auto",
        backend="auto",
        affinity="auto",
        scoring="average_precision",
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.backend = backend
        self.affinity = affinity
        self.scoring = scoring
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Store the codes of a database.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_bits) or PackedCodes
            Codes; positive entries are ones.

        y : targets of length n_samples, default=None
            Labels, 0/1 label indicators, a PrecomputedAffinity or whatever the affinity
            takes. Needed by `score` and `predict` only.

        Returns
        -------
        self : HammingNeighbors
            The fitted estimator.
        """
        self._validate_params()
        packed = self._pack(X, reset=True)
        self.affinity_, self._targets = settle_targets(self.affinity, y, len(packed))
        self._set_store(CodeStore.from_codes(packed))
        return self

    def partial_fit(self, X, y=None):
        """Add items to the database.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_bits) or PackedCodes
            Codes. The first of them gets index `n_samples_fit_`.

        y : targets of length n_samples, default=None
            Their targets, if those of the first items were given.

        Returns
        -------
        self : HammingNeighbors
            The estimator with more items.
        """
        if not hasattr(self, "_store"):
            return self.fit(X, y)
        self._validate_params()
        packed = self._pack(X, reset=False)
        targets = append_targets(self.affinity_, self._targets, y, len(packed))
        self._set_store(self._store.add(packed))
        self._targets = targets
        return self

    def remove(self, indices):
        """Delete items from the database.

        Parameters
        ----------
        indices : array-like of shape (n_removed,) of int
            Indices of the items. They are not given to others, and the indices of others
            do not change.

        Returns
        -------
        self : HammingNeighbors
            The estimator with fewer items.

        Raises
        ------
        ValueError
            If an index is not that of an item, or nothing would be left.

        Examples
        --------
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors(n_neighbors=2).fit([[0, 0], [0, 0], [0, 1]])
        >>> neighbors.remove([1]).kneighbors([[0, 0]], return_distance=False)
        array([[0, 2]])
        """
        check_is_fitted(self)
        indices = np.atleast_1d(np.asarray(indices))
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            raise ValueError(
                f"indices must be integers of shape (n_removed,), got {indices.dtype} of "
                f"shape {indices.shape}. Turn a mask into indices by np.flatnonzero."
            )
        indices = np.unique(indices).astype(np.int64)
        missing = indices[~self._store.contains(indices)]
        if missing.size:
            raise ValueError(
                f"indices contains {missing[:5].tolist()}, which are not in the database."
            )
        if indices.size == self._store.n_items:
            raise ValueError("indices would leave no item; fit another database instead.")
        if indices.size:
            self._set_store(self._store.remove(indices))
        return self

    def score(self, X, y):
        """Tie-aware metric of queries against the fitted database.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes
            Codes of the queries.

        y : targets of length n_queries
            Targets of the queries, as the affinity takes them. If none were given to
            `fit`: the affinity of each query to each item, shape (n_queries, n_items).

        Returns
        -------
        score : float
            Mean of the metric over the queries that have something similar in the
            database; NaN, with a warning, if none has.
        """
        check_is_fitted(self)
        metric = self.scoring if callable(self.scoring) else get_metric(self.scoring)
        return average_queries(np.asarray(metric(self._histogram(X, y)), dtype=float))

    def predict(self, X):
        """Predict labels by a vote of the `n_neighbors` nearest items.

        Items that are tied for the last places share them equally: nothing depends on the
        order of the database.

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
        queries, _ = self._query_words(X)
        n_neighbors = self._check_n_neighbors(None, None)
        by_item, classes = ballots(self.affinity_, self._targets)
        by_code = self._store.members_as_matrix() @ by_item
        elect = elect_labels if classes is None else elect_class
        elected = [
            elect(*shared_votes(found, self._store, n_neighbors, by_code))
            for _, found in self._search("at_least", queries, n_neighbors)
        ]
        elected = np.concatenate(elected)
        return elected if classes is None else classes[elected]

    @property
    def codes_(self):
        """Packed codes of the items, in the order of `indices_`."""
        check_is_fitted(self)
        return self._store.packed(self._store.items()[1])

    @property
    def indices_(self):
        """Indices of the items, ascending; all from 0 on while nothing is removed."""
        check_is_fitted(self)
        return self._store.items()[0]

    @property
    def n_items_(self):
        """Number of items."""
        check_is_fitted(self)
        return self._store.n_items

    @property
    def n_distinct_codes_(self):
        """Number of different codes among the items."""
        check_is_fitted(self)
        return len(self._store)

    def _histogram(self, X, y):
        if y is None:
            raise ValueError("y is needed to know what is relevant to the queries.")
        if self.affinity_ is None:
            return RankingHistogram.from_scores(
                y, -hamming_distances(self._pack(X, reset=False), self.codes_)
            )
        y_query = checked_targets(self.affinity_, y)
        items = self.indices_
        return hamming_histogram(
            self._pack(X, reset=False),
            self.codes_,
            self.affinity_,
            y_query,
            self._targets[items],
            n_jobs=self.n_jobs,
        )

    def _pack(self, X, reset):
        """Packed little-endian codes of checked input."""
        if isinstance(X, PackedCodes):
            return self._check_packed(X, reset)
        X = validate_data(self, X, reset=reset)
        if X.dtype == np.uint8 and X.max() > 1:
            raise ValueError(
                "X holds unsigned bytes other than 0 and 1, which look like packed codes. "
                "Say what they mean: PackedCodes(bytes, n_bits, bitorder)."
            )
        return pack_signs(X)

    def _check_packed(self, codes, reset):
        if not len(codes):
            raise ValueError("Found array with 0 sample(s): X holds no codes.")
        if reset:
            self.n_features_in_ = codes.n_bits
            vars(self).pop("feature_names_in_", None)
        elif codes.n_bits != self.n_features_in_:
            raise ValueError(
                f"X has {codes.n_bits} bits, but HammingNeighbors holds codes of "
                f"{self.n_features_in_} bits."
            )
        return pack_codes(codes)

    def _set_store(self, store):
        self._store = store
        self.n_samples_fit_ = store.n_indices
