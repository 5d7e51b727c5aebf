"""A hasher together with its index: items and queries are features."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.metadata_routing import process_routing

from .._core.compat import (
    HasMethods,
    Interval,
    StrOptions,
    num_samples,
    routing_enabled,
    with_callbacks,
)
from .._core.fitted_hasher import QUERIES, FittedHasher
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress
from .._core.types import Array, Column, Count, FilePath, Rows, Seed
from .._core.validation import refuse_unlike_labels
from ..affinity import resolve_affinity
from ._database import CodeDatabase
from ._files import load_index
from ._fit_hasher import encode_rows, fit_hasher, n_blocks
from ._ids import make_ids
from ._index import Index
from ._read import read_bits, read_codes, weights_of_hasher
from ._rescoring import StackedRows, feature_rows, rescore
from ._search import Found, search
from ._targets import Targets
from ._with_hasher import RoutesToHasher, WithHasher


@parameters
class HashedNeighbors(RoutesToHasher, WithHasher, CodeDatabase):
    """Nearest neighbors of features by hash codes: a hasher together with its index.

    `fit` fits the hasher, to a sample if there are many rows, and stores the codes of all
    rows. Queries are features, too. Items are ranked by Hamming distance to the bits of a
    query, or by asymmetric distance to its weights, see `query`. The results equal the
    results of the single steps: `encode` of the hasher, then :class:`HammingNeighbors`; or
    `encode`, `query_weights`, then :class:`WeightedHammingNeighbors`.

    Parameters
    ----------
    hasher : hasher, or Pipeline or search over parameters that ends in one
        The hasher, at any depth; `fit` fits a clone of it. The hasher defines which rows
        are near, such as the parameter `metric` of
        :class:`~sklearn_talr.hashing.AdditiveHasher`. Pass a fitted hasher as
        ``sklearn.frozen.FrozenEstimator(hasher)``: it is not fitted again.

    query : {"auto", "bits", "weights"}, default="auto"
        How queries are compared with codes.

        * ``"bits"``: by Hamming distance to the bits of the query.
        * ``"weights"``: by asymmetric distance to `query_weights` of the query, which is
          not rounded to bits. This finds more of the true neighbors with any hasher and
          takes longer, see the user guide.
        * ``"auto"``: as the class of the hasher declares in `default_query`: ``"weights"``
          for :class:`~sklearn_talr.hashing.AdditiveHasher`, else ``"bits"``.

    n_neighbors : int, default=10
        Number of neighbors that `kneighbors` finds and that vote in `predict`.

    radius : int or float, default=2
        Radius of `radius_neighbors`, at least 0; a whole number for bits.

    n_candidates : int, default=None
        Number of items, nearest by Hamming distance, that weights are compared with. None
        compares weights with all items, which is faster below about 100 000 items.

    n_rescored : int, default=None
        Number of items, nearest by their codes, that `kneighbors` orders by their features.
        `fit` then keeps `X`, without a copy, so that a memory-mapped array stays on disk.
        Items that are queries, by their `ids`, are then compared by these features, too.
        None keeps no features.

    rescore_metric : {"euclidean", "inner_product"}, default="euclidean"
        Order of rescored items, see :func:`rescore`. `kneighbors` returns these values as
        distances; inner products descend.

    max_samples : int, default=20_000
        Maximum number of rows to fit the hasher to; a random sample if `X` has more. None
        means all rows. If `fit` has further arguments, such as ``X_query``, the hasher is
        fitted to all rows.

    affinity : "auto" or affinity object, default="auto"
        Defines which items are similar to a query, for `score`, as for
        :class:`HammingNeighbors`. ``"auto"`` takes the affinity object of the hasher, if
        its parameter `affinity` is one, or if it was fitted to two views.

    scoring : str, Measure or callable, default="AP"
        Tie-aware measure that `score` averages, as for :class:`HammingNeighbors`.

    n_jobs : int, default=None
        Number of threads of a search. None means 1 unless in a `joblib.parallel_config`
        context, -1 means all processors. The hasher has a parameter of its own.

    verbose : bool, default=False
        Whether `fit` and `add` print the number of encoded rows after each block of 65 536
        rows. The hasher has a parameter of its own.

    random_state : int, RandomState instance or None, default=None
        Draws the rows that the hasher is fitted to. The hasher has a parameter of its own.

    Attributes
    ----------
    hasher_ : hasher or Pipeline
        The fitted hasher.

    affinity_ : affinity object or None
        The affinity object of `score`, None if `fit` was not given `y`.

    n_features_in_ : int
        Number of features, if the hasher has this attribute.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    n_items_ : int
        Number of items in the database.

    n_bytes_per_item_ : float
        Mean bytes of memory per item, without targets and features: of its code, one for
        its factor and one for its length if the hasher has these, of its id, and of its
        index once items have been removed.

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

    See Also
    --------
    HammingNeighbors : The index alone, for queries that are codes.
    WeightedHammingNeighbors : The index alone, for queries that are weights of bits.
    sklearn_talr.metrics.make_retrieval_scorer : Scores a hasher on held-out rows alone.

    Notes
    -----
    `score` ranks the items for the queries. After `fit` the items are the training rows, so
    the score of a hasher that learns from labels is too high. Use make_retrieval_scorer for
    held-out rows.

    The codes belong to the rows that `fit` was given, in their order. In a Pipeline they
    are made by `transform` of its steps, although samplers, such as those of
    imbalanced-learn, may change the rows in `fit`. There is one exception, in Pipelines of
    scikit-learn: if a step has the attribute ``cross_fits = True``, such as
    :class:`~sklearn_talr.hashing.ClassProbabilities`, the items get the codes of the rows
    as they reach the hasher in `fit`. Their class probabilities then come from a classifier
    that has not seen them. The classifier has not seen the items outside the random sample,
    either.

    A hasher of two views, fitted with ``X_query``, has a function of its own for queries.
    In a Pipeline the steps before the hasher transform items only.

    Any number of threads may search while one thread calls `fit`, `add` or `remove`, as for
    :class:`HammingNeighbors`. Each call sees hasher, codes, targets and features of one
    state.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import AdditiveHasher
    >>> from sklearn_talr.neighbors import HashedNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> index = HashedNeighbors(AdditiveHasher(n_bits=32, random_state=0))
    >>> index = index.fit(X[300:], y[300:])
    >>> distances, indices = index.kneighbors(X[:1], n_neighbors=3)
    >>> y[300:][indices]
    array([[0, 0, 0]])

    With ids, items are found and removed by their ids:

    >>> index = index.fit(X[:100], ids=[f"scan {i}" for i in range(100)])
    >>> index = index.remove(["scan 1"]).add(X[100:102], ids=["scan 1", "late"])
    >>> index.kneighbors(X[101:102], n_neighbors=1, return_distance=False)
    array([['late']], dtype='<U4')
    """

    _parameter_constraints = CodeDatabase._parameter_constraints | {
        "hasher": [HasMethods("fit")],
        "query": [StrOptions(QUERIES)],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "n_rescored": [Interval(Integral, 1, None, closed="left"), None],
        "rescore_metric": [StrOptions({"euclidean", "inner_product"})],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    hasher: Any
    _: KW_ONLY
    query: Literal["auto", "bits", "weights"] = "auto"
    n_neighbors: int = 10
    radius: float = 2
    n_candidates: Count = None
    n_rescored: Count = None
    rescore_metric: Literal["euclidean", "inner_product"] = "euclidean"
    max_samples: int = 20_000
    verbose: bool = False
    random_state: Seed = None

    @with_callbacks
    def fit(self, X: Rows, y: Any = None, *, ids: Column = None, **fit_params: Any) -> Self:
        """Fit the hasher to a sample of the rows, and store the codes of all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as the hasher takes them. A column of lists is stacked.

        y : targets of length n_samples, default=None
            Labels, 0/1 label indicators, a PrecomputedAffinity or other targets that the
            hasher and the affinity take.

        ids : array-like of shape (n_samples,) of str or int, default=None
            Id of each item, as for :class:`HammingNeighbors`.

        **fit_params : dict
            Passed to `fit` of the hasher, by metadata routing if it is enabled. A hasher of
            two views takes its training queries as ``X_query``, and perhaps their targets
            as ``y_query``.

        Returns
        -------
        self : HashedNeighbors
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, `X`, `y` or `ids` is invalid, or `n_rescored` is set for a
            hasher whose queries have other features than its items. The estimator is then
            unchanged.

        Notes
        -----
        If `y` has judgments, of shape (n_samples, n_queries), only the numbers of the items
        are kept: the grades belong to the queries of `fit`, and `score` gets other grades.
        """
        self._validate_params()
        unfitted = FittedHasher.from_estimator(self.hasher).check()
        # Row labels are compared here, since reading turns tables into arrays.
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, ids, ("X", "ids"))
        X = unfitted.read(X)
        if sp.issparse(y):
            y = y.tocsr()
        if routing_enabled():
            fit_params = process_routing(self, "fit", **fit_params).hasher.fit
        # Wrong arguments are refused before the hasher takes its time.
        ids = make_ids(ids, num_samples(X))
        self._check_targets(unfitted, X, y)
        progress = Progress(self, X, y, n_blocks(X), "block", n_fits=1)
        hasher, codes = fit_hasher(
            clone(self.hasher),
            X,
            y,
            fit_params=fit_params,
            progress=progress,
            max_samples=self.max_samples,
            random_state=self.random_state,
        )
        self._check_rescoring(hasher)
        packed, columns = read_codes(codes, None, type(self).__name__)
        index = Index.from_codes(
            packed,
            columns,
            targets=Targets.from_y(self._affinity_for_score(hasher), y, len(packed)),
            ids=ids,
            hasher=hasher,
            features=StackedRows([X]) if self.n_rescored else None,
        )
        vars(self).update(progress.finish({"_fitted": index}))
        return self

    @classmethod
    def load(
        cls,
        path: FilePath,
        *,
        mmap: bool = False,
        features: Array | None = None,
        trusted: Sequence[str] = (),
    ) -> Self:
        """Read a fitted hasher and its codes from a folder.

        Parameters
        ----------
        path : str or path-like
            A folder that `save` has written.

        mmap : bool, default=False
            Whether to leave the codes on disk and read only the parts that a query needs,
            as for `load` of :class:`HammingNeighbors`.

        features : ndarray or memmap of shape (`n_samples_fit_`, n_features), default=None
            Features of all items given so far, which `n_rescored` needs. None if rescoring
            is not wanted.

        trusted : sequence of str, default=()
            Dotted names of types that the hasher may consist of, besides the types of this
            package and the types that skops trusts, most of NumPy and scikit-learn. skops
            does not trust the trees of :class:`~sklearn_talr.baselines.FastHasher`: forged
            trees could crash the process. The error names the types that are missing here.

        Returns
        -------
        neighbors : HashedNeighbors
            The estimator. Its parameter `hasher` is an unfitted clone of `hasher_`.

        Raises
        ------
        ValueError
            If a file is damaged, or the folder was not written by `save` of this class or
            holds types that are not trusted.
        """
        neighbors, index = load_index(path, cls, mmap=mmap, trusted=trusted)
        if features is not None:
            features = StackedRows([features])
            if len(features) != index.n_indices:
                raise ValueError(
                    f"features has {len(features)} rows for the {index.n_indices} "
                    "items that were given so far, including removed items."
                )
            index = replace(index, features=features)
        neighbors._fitted = index
        return neighbors

    def _affinity_for_score(self, hasher):
        """The affinity of `score`; "auto" is the hasher's, if its user has chosen one.

        The affinity object of a hasher of two views is taken in any case, since y alone
        does not describe both views.
        """
        is_chosen = not isinstance(getattr(hasher.hasher, "affinity", "auto"), str)
        if self.affinity != "auto" or not (is_chosen or _has_views(hasher)):
            return self.affinity
        learned = getattr(hasher.hasher, "affinity_", "auto")
        return "auto" if getattr(learned, "comes_with_targets", False) else learned

    def _check_targets(self, hasher, X, y):
        """Raise ValueError if `y` is no target of the rows; two views check it in `fit`."""
        if y is None or (_has_views(hasher) and self.affinity == "auto"):
            return
        chosen = getattr(hasher.hasher, "affinity", "auto")
        affinity = chosen if self.affinity == "auto" else self.affinity
        if getattr(affinity, "comes_with_targets", False):
            affinity = "auto"
        _, targets = resolve_affinity(affinity, None, y)
        if targets.shape[0] != num_samples(X):
            raise ValueError(
                "X and y must have the same number of samples, got "
                f"{num_samples(X)} and {targets.shape[0]}."
            )

    @with_callbacks
    def _read_items(self, X, index):
        """Codes of more items; callbacks see the index without these items."""
        X = index.hasher.read(X)
        progress = Progress(self, X, None, n_blocks(X), "block")
        codes = read_codes(encode_rows(index.hasher, X, progress), index)
        progress.finish({"_fitted": index})
        return codes

    def _read_query_values(self, X, index):
        if index.hasher.query_form(self.query) == "bits":
            return read_bits(index.hasher.encode_query(X), index)
        return weights_of_hasher(index.hasher.query_weights(X), index.n_bits)

    def _values_of_items(self, index, rows):
        if index.hasher.query_form(self.query) == "weights":
            raise ValueError(
                "Items of the database cannot be queries here: queries have weights, and "
                "of items the bits alone are kept. Pass their features, as by "
                "kneighbors(X, exclude=[[id]]) if X has the features of the item of this "
                "id; or ask by bits: set_params(query='bits'); or have the index keep "
                "features: fit with n_rescored set, or load(path, features=...)."
            )
        return super()._values_of_items(index, rows)

    def _get_n_candidates(self):
        return self.n_candidates

    def _check_rescoring(self, hasher):
        if self.n_rescored is not None and hasher.has_two_views:
            raise ValueError(
                "n_rescored compares features of queries with features of items, and "
                f"{hasher.name} was fitted to queries of another kind (X_query). Set "
                "n_rescored=None."
            )

    def _find(self, index, request):
        if self.n_rescored is None:
            return search(index, request)
        self._check_rescoring(index.hasher)
        if request.with_ties or index.features is None:
            raise ValueError(
                "n_rescored orders items by their features, without ties. Fit with "
                "n_rescored set, or load(path, features=...), or set it to None."
            )
        n_to_rescore = max(request.n_neighbors, self.n_rescored)
        candidates = search(index, request._replace(n_neighbors=n_to_rescore))
        values, indices = rescore(
            feature_rows(request.queries.features),
            index.features,
            candidates.split(index.indices_of(candidates.rows)),
            metric=self.rescore_metric,
            n_neighbors=request.n_neighbors,
        )
        return Found(
            counts=np.minimum(candidates.counts, request.n_neighbors),
            rows=index.find_indices(np.concatenate(list(indices))),
            distances=np.concatenate(list(values)),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse &= not self.n_rescored
        return tags


def _has_views(hasher):
    """Whether a hasher has a function of its own for queries."""
    return hasattr(hasher.hasher, "encode_query")
