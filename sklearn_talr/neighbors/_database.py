"""A database of codes: it grows, shrinks, is ranked as a whole, and is kept in files."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..measures import parse_measure
from ..measures._evaluation import average_queries, check_weights
from ._by_bits import SearchByBits
from ._by_weights import SearchByWeights
from ._columns import read_codes
from ._fitted import Fitted
from ._index import CodeIndex
from ._layout import load_database, save_database
from ._store import CodeStore
from ._targets import Targets


class CodeDatabase(BaseEstimator):
    """Base of HammingNeighbors: the items, how they come and go, and their files.

    All that is fitted stands in one attribute, `_fitted`, which is never changed but
    replaced as a whole, last of all. So a call that fails or is interrupted leaves the
    estimator as it was, and a call in another thread takes either the old or the new.
    """

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

        Raises
        ------
        ValueError
            If a parameter, `X` or `y` is not what it should be. The estimator is then
            what it was before.
        """
        self._validate_params()
        packed, columns = read_codes(X)
        targets = Targets.of(self.affinity, y, len(packed))
        self._fitted = Fitted(CodeIndex(CodeStore.from_codes(packed)), targets, columns)
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

        Raises
        ------
        ValueError
            If codes or targets do not continue those of the first items. The estimator
            is then what it was before.
        """
        fitted = vars(self).get("_fitted")
        if fitted is None:
            return self.fit(X, y)
        self._validate_params()
        packed = fitted.read_more(X)
        targets = fitted.targets.append(y, len(packed))
        index = CodeIndex(fitted.store.add(packed))
        self._fitted = Fitted(index, targets, fitted.columns)
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
        fitted = self._get_fitted()
        indices = _check_indices(indices, fitted.store)
        if indices.size:
            index = CodeIndex(fitted.store.remove(indices))
            self._fitted = Fitted(index, fitted.targets, fitted.columns)
        return self

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
        return self._search().rank(X)

    def score(self, X, y, sample_weight=None):
        """Tie-aware measure of queries against the fitted database.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bits) or PackedCodes
            Codes of the queries.

        y : targets of length n_queries
            Targets of the queries, as the affinity takes them. If none were given to
            `fit`: the affinity of each query to each item, shape (n_queries, n_items).

        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the queries, at least 0.

        Returns
        -------
        score : float
            Mean of the measure over the queries that have something similar in the
            database; NaN, with a warning, if none has.
        """
        measure = self.scoring if callable(self.scoring) else parse_measure(self.scoring)
        if y is None:
            raise ValueError("y is needed to know what is relevant to the queries.")
        histograms = self._search().histograms(X, y)
        values = [np.asarray(measure(histogram), dtype=float) for histogram in histograms]
        values = np.concatenate(values)
        return average_queries(values, check_weights(sample_weight, len(values)))

    def save(self, path):
        """Write the fitted neighbors to a file.

        Parameters
        ----------
        path : path-like
            The file, ending in ".npz" by custom. If it exists it is replaced at once when
            everything is written, with its permissions kept; a crash before leaves it as
            it was. A link is followed.

        Raises
        ------
        ValueError
            If the affinity is not one of labels, shared labels or thresholds, or
            `scoring` is a function: only arrays and names are saved. Such an estimator
            can be pickled.

        Notes
        -----
        An item takes as many bytes in the file as in memory, see `n_bytes_per_item_`, but
        for what follows from its code: of the codes of an
        :class:`~sklearn_talr.hashing.AdditiveHasher` the factors, four bytes each, are
        computed by `load`. With its metric ``"cosine"`` they follow from ``n_bits ** 2``
        numbers, which are saved where there are more codes than that. `load` then takes
        some microseconds more for each code.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors(n_neighbors=1).fit([[0, 0], [0, 1]])
        >>> with TemporaryDirectory() as folder:
        ...     neighbors.save(Path(folder) / "codes.npz")
        ...     loaded = HammingNeighbors.load(Path(folder) / "codes.npz")
        >>> loaded.kneighbors([[1, 1]])
        (array([[1]]), array([[1]]))
        """
        fitted = self._get_fitted()
        params = self.get_params(deep=False)
        save_database(path, params, fitted.store, fitted.targets, fitted.columns)

    @classmethod
    def load(cls, path, *, mmap=False):
        """Read fitted neighbors from a file.

        Parameters
        ----------
        path : path-like
            A file that `save` has written.

        mmap : bool, default=False
            Whether to leave the arrays on disk and read what a query needs. The file
            must then stay as it is while the result is in use; replacing it by `save` is
            safe except on Windows.

        Returns
        -------
        neighbors : HammingNeighbors
            Finds what the saved one found.

        Raises
        ------
        ValueError
            If the file is truncated, damaged, not from `save`, or from a later version
            of it, or if it has been compressed or added to.
        """
        params, store, targets, columns = load_database(path, mmap)
        try:
            neighbors = cls(**params)
            neighbors._validate_params()
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} lacks or misstates {error}; save it anew.") from error
        neighbors._fitted = Fitted(CodeIndex(store), targets, columns)
        return neighbors

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_fitted")

    def _search(self):
        """What answers the questions of one call."""
        by = SearchByWeights if self.metric == "weighted_hamming" else SearchByBits
        return by(self._get_fitted(), self)

    def _get_fitted(self):
        """What is fitted, to be taken once in each call."""
        fitted = vars(self).get("_fitted")
        if fitted is None:
            check_is_fitted(self)
        return fitted

    @property
    def affinity_(self):
        """The oracle that `score` asks, None without `y`."""
        affinity = self._get_fitted().targets.affinity
        return None if affinity is None else affinity.given

    @property
    def codes_(self):
        """Packed codes of the items, in the order of `indices_`."""
        return self._get_fitted().codes

    @property
    def feature_names_in_(self):
        """Names of the bits, if the codes of `fit` had column names."""
        names = self._get_fitted().columns.names
        if names is None:
            raise AttributeError("The codes had no column names.")
        return names

    @property
    def indices_(self):
        """Indices of the items, ascending; all from 0 on while nothing is removed."""
        return self._get_fitted().indices

    @property
    def n_distinct_codes_(self):
        """Number of different codes among the items."""
        return len(self._get_fitted().store)

    @property
    def n_features_in_(self):
        """Number of bits of a code."""
        return self._get_fitted().columns.n_bits

    @property
    def n_bytes_per_item_(self):
        """Bytes of memory for an item, in the mean, without targets."""
        store = self._get_fitted().store
        return store.nbytes / store.n_items

    @property
    def n_items_(self):
        """Number of items."""
        return self._get_fitted().store.n_items

    @property
    def n_samples_fit_(self):
        """Number of items given so far, those removed included."""
        return self._get_fitted().store.n_indices


def _check_indices(indices, store):
    """Distinct indices of items of the store, not of all of them."""
    indices = np.atleast_1d(np.asarray(indices))
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise ValueError(
            f"indices must be integers of shape (n_removed,), got {indices.dtype} of "
            f"shape {indices.shape}. Turn a mask into indices by np.flatnonzero."
        )
    indices = np.unique(indices).astype(np.int64)
    missing = indices[~store.contains(indices)]
    if missing.size:
        raise ValueError(
            f"indices contains {missing[:5].tolist()}, which are not in the database."
        )
    if indices.size == store.n_items:
        raise ValueError("indices would leave no item; fit another database instead.")
    return indices
