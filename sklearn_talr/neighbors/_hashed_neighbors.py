"""A hasher together with its index, asked by features."""

from collections.abc import Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from .._core.compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    num_samples,
    routing_enabled,
    with_callbacks,
)
from .._core.fitted_hasher import QUERIES, FittedHasher, is_sampler, working_steps
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress, at_row
from .._core.threads import slices
from .._core.types import Array, Column, Count, FilePath, Rows, Seed
from .._core.validation import refuse_unlike_labels
from ..affinity import PrecomputedAffinity, resolve_affinity
from ..codes import concatenate_codes
from ._answers import Nearest
from ._database import CodeDatabase, of_fitted
from ._files import load_index
from ._filters import ALL_ROWS
from ._ids import make_ids
from ._index import Index
from ._read import read_bits, read_codes, read_weights
from ._rescoring import StackedRows, feature_rows, rescore

_ROWS_PER_BLOCK = 2**16  # that are encoded between two reports


class WithHasher(CallbackSupportMixin, MetaEstimatorMixin):
    """What an index tells of its hasher."""

    hasher_: Any = of_fitted("hasher.estimator", "The fitted hasher.")
    n_features_in_: int = of_fitted(
        "hasher.first.n_features_in_", "Number of features, if the hasher tells."
    )
    feature_names_in_: Array = of_fitted(
        "hasher.first.feature_names_in_", "Names of the features, if `fit` saw any."
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_hasher = get_tags(self.hasher)
        tags.input_tags.sparse = of_hasher.input_tags.sparse
        tags.target_tags.required = of_hasher.target_tags.required
        return tags


class RoutesToHasher(CallbackSupportMixin, MetaEstimatorMixin):
    """What passes to its hasher what `fit` is given beside X and y."""

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn what the hasher, and `score`, are to be given.

        Returns
        -------
        routing : MetadataRouter
            The routing.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(hasher=self.hasher, method_mapping=mapping)


@parameters
class HashedNeighbors(RoutesToHasher, WithHasher, CodeDatabase):
    """Nearest neighbors of features, by the codes of a hasher: the hasher and its index.

    `fit` fits the hasher, to a sample where there are many rows, and stores the codes of
    all rows. Queries are features. The
    index is asked in the way that the hasher's codes are made for: by Hamming distance to
    the bits of the query, or by the weights of the query, see `query`. Answers equal those
    of the single steps: `encode` of the hasher, then :class:`HammingNeighbors`, or
    `encode`, `query_weights`, and :class:`WeightedHammingNeighbors`.

    Parameters
    ----------
    hasher : hasher, or Pipeline or search over parameters that ends in one
        The hasher, at any depth; `fit` fits a clone of it. A hasher that is fitted already
        stays as it is inside ``sklearn.frozen.FrozenEstimator``.

    query : {"auto", "bits", "weights"}, default="auto"
        How the codes are asked.

        * ``"bits"``: by the bits of the query.
        * ``"weights"``: by `query_weights` of the query, which is not rounded to bits. That
          finds more of the true neighbors with any hasher and takes longer, see the user
          guide.
        * ``"auto"``: as the class of the hasher declares in `default_query`: by weights for
          :class:`~sklearn_talr.hashing.AdditiveHasher`, else by bits.

    n_neighbors : int, default=10
        Number of neighbors of `kneighbors` and of places that `predict` counts.

    radius : int or float, default=2
        Radius of `radius_neighbors`, from 0; a whole number for bits.

    n_candidates : int, default=None
        How many items that are nearest by Hamming distance are compared by weights. None
        compares all, which costs less below about 100 000 items.

    n_rescored : int, default=None
        How many items that `kneighbors` finds by codes are put in order by their features.
        `fit` then keeps `X`, without a copy, so that a memory-mapped array stays on disk;
        items that are queries, by their `ids`, ask by these features. None keeps no
        features.

    rescore_metric : {"euclidean", "inner_product"}, default="euclidean"
        What rescored items are put in order by, see :func:`rescore`. `kneighbors` returns
        these values for distances; inner products descend.

    max_samples : int, default=20_000
        How many rows the hasher is fitted to, if there are more: so many are drawn. None
        means all. A `fit` with further arguments, such as ``X_query``, takes all rows.

    affinity : "auto" or affinity oracle, default="auto"
        Decides who is similar to whom, for `score`, as for :class:`HammingNeighbors`.
        ``"auto"`` takes the oracle of the hasher, if its parameter `affinity` is one, or if
        it was fitted to two views.

    scoring : str, Measure or callable, default="AP"
        Tie-aware metric that `score` averages, as for :class:`HammingNeighbors`.

    n_jobs : int, default=None
        Number of threads of a search. None means 1 unless in a `joblib.parallel_config`
        context, -1 all processors. The hasher has its own.

    verbose : bool, default=False
        Print how many rows are encoded, after each block of 65 536 of them, in `fit` and
        `add`. The hasher has its own.

    random_state : int, RandomState instance or None, default=None
        Draws the rows that the hasher is fitted to. The hasher has its own.

    Attributes
    ----------
    hasher_ : hasher or Pipeline
        The fitted hasher.

    affinity_ : affinity oracle or None
        The oracle of `score`, None if `fit` was not given `y`.

    n_features_in_ : int
        Number of features, if the hasher tells.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    n_items_ : int
        Number of items in the database.

    n_bytes_per_item_ : float
        Bytes of memory for an item, without targets and features: those of its code, one
        for its factor and one for its length, where the hasher has these, of its id, and of
        its index once items have been removed.

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

    See Also
    --------
    HammingNeighbors : The index alone, asked by codes.
    WeightedHammingNeighbors : The index alone, asked by weights.
    sklearn_talr.metrics.make_retrieval_scorer : Scores a hasher on held-out rows alone.

    Notes
    -----
    `score` ranks the items for the queries. After `fit` the items are the training rows,
    which flatters a hasher that learns from labels; make_retrieval_scorer does not.

    The codes are those of the rows that `fit` was given, in their order. In a Pipeline they
    are made by `transform` of its steps, whatever samplers, such as those of
    imbalanced-learn, do with the rows in `fit`. Behind a step with the attribute
    ``cross_fits = True``, as :class:`~sklearn_talr.hashing.ClassProbabilities` has it, they
    are those that the hasher makes of the rows as they reach it in `fit` of a Pipeline of
    scikit-learn: items have probabilities of a classifier that has not seen them. The same
    holds of items that were not drawn.

    A hasher of two views, fitted with ``X_query``, hashes queries by a function of their
    own. In a Pipeline the steps before it are for items: queries reach it as they are.

    Any number of threads may ask while one thread calls `fit`, `add` or `remove`,
    as for :class:`HammingNeighbors`. Each call is answered from one state, hasher, codes,
    targets and features together.

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

    Items that are known by ids are added, found and removed by these:

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
            Labels, 0/1 label indicators, a PrecomputedAffinity or whatever the hasher and
            the affinity take.

        ids : array-like of shape (n_samples,) of str or int, default=None
            Id of each item, as for :class:`HammingNeighbors`.

        **fit_params : dict
            Passed to `fit` of the hasher, by metadata routing where it is enabled. A hasher
            of two views takes the queries that it learns from as ``X_query``, and perhaps
            their targets as ``y_query``.

        Returns
        -------
        self : HashedNeighbors
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, `X`, `y` or `ids` is not what it should be, or `n_rescored` is
            set for a hasher whose queries have other features than its items. The estimator
            is then what it was before.

        Notes
        -----
        Of judgments, of shape (n_samples, n_queries), the items are numbered and the grades
        are not kept: they are those of the queries of `fit`, and `score` gets others.
        """
        self._validate_params()
        unfitted = FittedHasher.of(self.hasher).check()
        # Labels of rows are compared here, since an array that is read has none.
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, ids, ("X", "ids"))
        X = unfitted.read(X)
        if sp.issparse(y):
            y = y.tocsr()
        if routing_enabled():
            fit_params = process_routing(self, "fit", **fit_params).hasher.fit
        # What can be refused is refused before the hasher takes its time.
        ids = make_ids(ids, num_samples(X))
        self._check_targets(unfitted, X, y)
        how = self.max_samples, self.random_state
        progress = Progress(self, X, y, n_blocks(X), "block", n_fits=1)
        hasher, codes = fit_hasher(clone(self.hasher), X, y, fit_params, progress, *how)
        self._check_rescoring(hasher)
        affinity = self._affinity(hasher)
        features = StackedRows([X]) if self.n_rescored else None
        more = {"hasher": hasher, "ids": ids, "features": features}
        codes = read_codes(codes, None, type(self).__name__)
        fitted = {"_fitted": Index.of(*codes, affinity, y, **more)}
        vars(self).update(progress.finish(fitted))
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
            Whether to leave the codes on disk and read what a query needs, as for `load` of
            :class:`HammingNeighbors`.

        features : ndarray or memmap of shape (`n_samples_fit_`, n_features), default=None
            Features of all items given so far, which `n_rescored` needs.

        trusted : sequence of str, default=()
            Dotted names of types that the hasher may consist of, beside those of this
            package and those that skops trusts, most of NumPy and scikit-learn. It does not
            trust the trees of :class:`~sklearn_talr.baselines.FastHasher`: forged ones
            could crash the process. The error names the types that are missing here.

        Returns
        -------
        neighbors : HashedNeighbors
            The estimator. Its parameter `hasher` is an unfitted clone of `hasher_`.

        Raises
        ------
        ValueError
            If a file is damaged, the folder not from `save` of this class, or holds types
            that are not trusted.
        """
        neighbors = load_index(path, cls, mmap, trusted)
        fitted = neighbors._fitted
        if features is not None:
            features = StackedRows([features])
            if len(features) != fitted.n_indices:
                raise ValueError(
                    f"features has {len(features)} rows for the {fitted.n_indices} "
                    "items that were given so far, those removed included."
                )
            neighbors._fitted = replace(fitted, features=features)
        return neighbors

    def _affinity(self, hasher):
        """The oracle of `score`: "auto" is that of the hasher, if its user has chosen it.

        The oracle of a hasher of two views counts in any case: y alone does not tell of
        both views.
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
    def _read(self, X, index):
        """Codes of more items; callbacks see the index as it is without them."""
        X = index.hasher.read(X)
        progress = Progress(self, X, None, n_blocks(X), "block")
        codes = read_codes(encode_rows(index.hasher, X, progress), index)
        progress.finish({"_fitted": index})
        return codes

    def _queries(self, X, index):
        if index.hasher.query_form(self.query) == "bits":
            return read_bits(index.hasher.encode_query(X), index)
        return read_weights(index.hasher.query_weights(X), index.columns)

    def _item_queries(self, index, rows):
        if index.hasher.query_form(self.query) == "weights":
            raise ValueError(
                "Items of the database cannot be queries here: queries have weights, and "
                "of items the bits alone are kept. Pass their features, as by "
                "kneighbors(X, exclude=[[id]]) if X has the features of the item of this "
                "id; or ask by bits: set_params(query='bits'); or have the index keep "
                "features: fit with n_rescored set, or load(path, features=...)."
            )
        return super()._item_queries(index, rows)

    def _check_rescoring(self, hasher):
        if self.n_rescored is not None and hasher.has_two_views:
            raise ValueError(
                "n_rescored compares features of queries with features of items, and "
                f"{hasher.name} was fitted to queries of another kind (X_query). Set "
                "n_rescored=None."
            )

    def _nearest(self, index, queries, n_neighbors, *, eligible=ALL_ROWS, with_ties=False):
        if self.n_rescored is None:
            return super()._nearest(
                index, queries, n_neighbors, eligible=eligible, with_ties=with_ties
            )
        self._check_rescoring(index.hasher)
        if with_ties or index.features is None:
            raise ValueError(
                "n_rescored orders items by their features, without ties. Fit with "
                "n_rescored set, or load(path, features=...), or set it to None."
            )
        n_candidates = max(n_neighbors, self.n_rescored)
        near = super()._nearest(index, queries, n_candidates, eligible=eligible)
        distances, indices = rescore(
            feature_rows(queries.X),
            index.features,
            near.split(index.indices_of(near.rows)),
            metric=self.rescore_metric,
            n_neighbors=n_neighbors,
        )
        rows = index.find_indices(np.concatenate(list(indices)))
        counts = np.minimum(near.counts, n_neighbors)
        return Nearest(counts, rows, np.concatenate(list(distances)), [])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse &= not self.n_rescored
        return tags


def _has_views(hasher):
    """Whether a hasher has a function of its own for queries."""
    return hasattr(hasher.hasher, "encode_query")


class _Recorder(CallbackSupportMixin, BaseEstimator):
    """Last step of a Pipeline that is fitted: keeps codes of the rows that reach it."""

    def __init__(self, tail):
        self.tail = tail

    def fit(self, X, y=None, **fit_params):
        # To callbacks the tail itself, which ends in the hasher, is the last step.
        context = getattr(self, "_parent_callback_ctx", None)
        with context.propagate_callback_context(self.tail) if context else nullcontext():
            self.tail.fit(X, y, **fit_params)
        self.codes_ = FittedHasher.of(self.tail).encode(X)
        return self

    def get_metadata_routing(self):
        return self.tail.get_metadata_routing()


def n_blocks(X):
    """Number of blocks in which `encode_rows` encodes rows."""
    return -(-num_samples(X) // _ROWS_PER_BLOCK)


def encode_rows(hasher, X, progress):
    """Codes of rows, block by block, of which progress is told.

    Steps before the hasher then make features of one block at a time, too.
    """
    n_rows, parts = num_samples(X), []
    if n_rows <= _ROWS_PER_BLOCK:
        progress.begin()
        parts.append(hasher.encode(X))
        progress.told = f"{n_rows} of {n_rows} rows encoded"
        progress.end()
        return parts[0]
    for rows in slices(n_rows, _ROWS_PER_BLOCK):
        progress.begin()
        with at_row(rows.start):
            parts.append(hasher.encode(_safe_indexing(X, rows)))
        progress.told = f"{rows.stop} of {n_rows} rows encoded"
        progress.end()
    return concatenate_codes(parts)


def fit_hasher(estimator, X, y, fit_params, progress, max_samples=None, random_state=None):
    """Fit a hasher, at any depth of Pipelines, and return it and codes of the rows.

    Progress is told of the fit as a task, and of each block of rows that is encoded.

    The codes are those of the rows passed, in their order, by `transform` of the steps
    before the hasher. If a step declares by `cross_fits` that its features of the rows of
    `fit` are made by models that have not seen these, then codes are of such features.
    """
    hasher = FittedHasher.of(estimator).check()
    _refuse_inner_samplers(hasher)
    n_rows, sample = num_samples(X), None
    can_draw = not fit_params and not isinstance(y, PrecomputedAffinity)
    if max_samples is not None and n_rows > max_samples and can_draw:
        rng = check_random_state(random_state)
        sample = np.sort(rng.choice(n_rows, max_samples, replace=False))
    seen = X if sample is None else _safe_indexing(X, sample)
    y = y if sample is None or y is None else _safe_indexing(y, sample)
    stays = hasher.is_frozen or hasher.is_searched
    if sample is None and not stays and hasattr(hasher.hasher, "_fits_items"):
        hasher.hasher._fits_items = True
    nested = progress.nested("fit-hasher")
    if not any(map(_cross_fits, hasher.before)):
        with nested(estimator):
            hasher = FittedHasher.of(estimator.fit(seen, y, **fit_params)).check()
        return hasher, encode_rows(hasher, X, progress)
    with nested(estimator), _recorded(estimator) as recorder:
        estimator.fit(seen, y, **fit_params)
    hasher = FittedHasher.of(estimator)
    if recorder is None:
        return hasher, encode_rows(hasher, X, progress)
    codes = recorder.codes_
    if len(codes) != num_samples(seen):
        raise ValueError(
            f"{num_samples(seen)} rows were passed to fit and {len(codes)} reached the "
            f"hasher, so that nobody knows which rows these are: a step of {estimator!r} "
            "leaves out or repeats rows. Do that before, and pass the rows that are left."
        )
    if sample is not None:  # rows that were drawn keep the codes that they had in `fit`
        order = len(sample) + np.arange(n_rows)
        order[sample] = np.arange(len(sample))
        codes = concatenate_codes([codes, encode_rows(hasher, X, progress)])[order]
    return hasher, codes


@contextmanager
def _recorded(estimator):
    """Context in which codes are kept of the rows that reach the end of a Pipeline in fit.

    Yields the recorder, or None if the estimator is no Pipeline of scikit-learn itself:
    other classes, such as that of imbalanced-learn, may change the rows on their way.
    """
    levels, tail, recorder = [], estimator, None
    while type(tail) is Pipeline:
        name, last = working_steps(tail)[-1]
        levels.append((tail, list(tail.steps), name))
        tail = last
    for pipeline, steps, name in reversed(levels):
        place = [name_of_step for name_of_step, _ in steps].index(name)
        last = pipeline.named_steps[name]
        if recorder is None:
            last = recorder = _Recorder(last)
        pipeline.steps = [*steps[:place], (name, last)]
    yield recorder
    for pipeline, steps, _ in levels:
        n_fitted = len(pipeline.steps) - 1
        pipeline.steps = [*pipeline.steps[:-1], *steps[n_fitted:]]


def _parts(step):
    """A step before the hasher and all in it; none of a frozen one, which fits nothing."""
    if isinstance(step, FrozenEstimator):
        return []
    parts = step.get_params().values() if hasattr(step, "get_params") else []
    return [step, *parts]


def _cross_fits(step):
    """Whether `fit_transform` of a step differs from `transform`, on purpose."""
    return any(getattr(part, "cross_fits", False) is True for part in _parts(step))


def _refuse_inner_samplers(hasher):
    """Raise ValueError if a step before the hasher resamples X, and y stays as it is."""
    if hasher.is_frozen:
        return
    for part in chain.from_iterable(map(_parts, hasher.before)):
        if is_sampler(part) and not isinstance(part, type):
            raise ValueError(
                f"hasher has the sampler {part!r} in a Pipeline that is a step of another "
                "one, where it would resample X and leave y as it is. Put it into the "
                "Pipeline that ends in the hasher, as by imblearn.pipeline.make_pipeline("
                "sampler, scaler, hasher)."
            )
