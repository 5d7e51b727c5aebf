"""The index of documents that are sets of tokens; queries are sets of tokens, too."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._core.compat import HasMethods, Interval, StrOptions, num_samples, with_callbacks
from .._core.fitted_hasher import FittedHasher
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress
from .._core.threads import map_in_threads
from .._core.types import Any, ArrayLike, Column, Count, Rows, Self
from .._core.validation import ragged, read_features
from ..codes import concatenate_codes, unpack_codes
from ..codes._packed import as_packed, wrap_bytes
from ..codes._scores import TokenSets, read_groups, token_blocks
from ._base import FittedAtOnce, as_results, fitted_property
from ._fit_hasher import fit_hasher, n_blocks
from ._read import check_number
from ._with_hasher import WithHasher


@parameters
class MaxSimNeighbors(WithHasher, FittedAtOnce):
    """Nearest documents by MaxSim (late interaction): a hasher of tokens and its index.

    Models such as ColBERT have a vector for each token of a text. The *MaxSim* score of a
    document is a sum over the tokens of the query: for each of them, the highest score of a
    token of the document. This index keeps a code for each token of the documents. Tokens
    of queries are not rounded to bits, see :func:`~sklearn_talr.codes.maxsim_scores`. The
    search is exact: it compares a query with all documents.

    Rows are tokens. Their *groups*, a label for each row as in scikit-learn's
    ``GroupKFold``, define which rows are one document or one query.

    Parameters
    ----------
    hasher : hasher, or Pipeline or search over parameters that ends in one
        The hasher of tokens; `fit` fits a clone of it. Pass a fitted hasher, such as one
        that was fitted to a sample of the tokens, as
        ``sklearn.frozen.FrozenEstimator(hasher)``: it is not fitted again.
        :class:`~sklearn_talr.hashing.AdditiveHasher` suits ``query="weights"``.

    query : {"weights", "bits"}, default="weights"
        How tokens of queries are compared with codes. ``"weights"`` takes `query_weights`
        of the hasher. ``"bits"`` rounds tokens of queries to bits, too, and keeps neither
        factors nor lengths: the score of two tokens is the number of equal bits minus the
        number of different bits. Engines that store bits only compute the same scores.
        ``"bits"`` finds fewer relevant documents. A hasher for binary queries suits it,
        such as :class:`~sklearn_talr.hashing.ITQHasher`.

    n_neighbors : int, default=10
        Number of documents that `kneighbors` finds.

    n_jobs : int, default=None
        Number of threads of a search. None means 1 unless in a `joblib.parallel_config`
        context, -1 means all processors. The hasher has a parameter of its own.

    Attributes
    ----------
    hasher_ : hasher or Pipeline
        The fitted hasher.

    groups_ : ndarray of shape (n_labels,)
        Label of each document given so far, including removed documents, in the order in
        which they first came. `kneighbors` returns places in this array.

    indices_ : ndarray of shape (`n_groups_`,)
        Places in `groups_` of the documents that are in the database, ascending.

    n_groups_ : int
        Number of documents in the database.

    n_items_ : int
        Number of tokens in the database.

    n_bytes_per_item_ : float
        Mean bytes of memory per token: of its code, factor and length, and of the starts of
        documents.

    nbytes : int
        Bytes of memory for all tokens.

    n_features_in_ : int
        Number of features of a token, if the hasher has this attribute.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    HashedNeighbors : The index whose items are single rows.
    sklearn_talr.codes.maxsim_scores : Scores of all pairs.
    sklearn_talr.runs.Run.from_neighbors : The results of a search, as a run to evaluate.

    Notes
    -----
    Any number of threads may search while one thread calls `fit`, `add` or `remove`: each
    call sees one state. Only `fit` changes the label at a place of `groups_`.

    Examples
    --------
    Each digit is a document whose tokens are its eight rows of pixels. A query has the rows
    of pixels of another digit, a zero. Most of its neighbors are zeros:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import AdditiveHasher
    >>> from sklearn_talr.neighbors import MaxSimNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> tokens, groups = X.reshape(-1, 8), np.repeat(np.arange(len(X)), 8)
    >>> hasher = AdditiveHasher(n_bits=32, metric="euclidean", random_state=0)
    >>> index = MaxSimNeighbors(hasher).fit(tokens[8:], groups=groups[8:])
    >>> distances, indices = index.kneighbors(tokens[:8], groups=groups[:8])
    >>> neighbors = index.groups_[indices]
    >>> neighbors.shape, bool((y[neighbors] == y[0]).mean() > 0.5)
    ((1, 10), True)
    """

    _parameter_constraints = {
        "hasher": [HasMethods("fit")],
        "query": [StrOptions({"weights", "bits"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    hasher: Any
    _: KW_ONLY
    query: str = "weights"
    n_neighbors: int = 10
    n_jobs: Count = None

    @with_callbacks
    def fit(self, X: Rows, y: Any = None, groups: Column = None) -> Self:
        """Fit the hasher to all tokens, and store their codes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_tokens, n_features), or list of these
            Features of the tokens of all documents, in a form that the hasher takes; or a
            list with an array for each document, a column of lists of lists, or an array of
            shape (n_documents, n_tokens, n_features).

        y : targets of length n_tokens, default=None
            Targets of the tokens, if the hasher needs them.

        groups : array-like of shape (n_tokens,), default=None
            Label of the document of each token. The tokens of a document may stand apart.
            None means that each row is a document, and its place is its label. If `X` is a
            list of arrays: label of each array, and None takes their places as labels.

        Returns
        -------
        self : MaxSimNeighbors
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, `X` or `groups` is invalid. The estimator is then unchanged.
        """
        self._validate_params()
        X, groups = read_tokens(FittedHasher.from_estimator(self.hasher).check(), X, groups)
        if groups is not None:
            # Wrong labels are refused before the hasher takes its time.
            read_groups(groups, num_samples(X))
        progress = Progress(self, X, y, n_blocks(X), "block", n_fits=1)
        hasher, codes = fit_hasher(
            clone(self.hasher), X, y, fit_params={}, progress=progress
        )
        documents = Documents.from_codes(
            codes, groups, hasher=hasher, by_bits=self.query == "bits"
        )
        vars(self).update(progress.finish({"_fitted": documents}))
        return self

    def add(self, X: Rows, y: Any = None, groups: Column = None) -> Self:
        """Add tokens to the database; the hasher stays as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_tokens, n_features), or list of these
            Features of the tokens, as for `fit`.

        y : Ignored
            Not used after `fit`. Before it, `add` passes `y` to `fit`.

        groups : array-like of shape (n_tokens,), default=None
            Label of the document of each token. A document in the database gets more
            tokens. None if `fit` was given None, unless `X` is a list of arrays, which
            needs the label of each array.

        Returns
        -------
        self : MaxSimNeighbors
            The estimator with more tokens. Before `fit`, `add` does the same as `fit`.

        Raises
        ------
        ValueError
            If features or groups are not like the ones of `fit`, such as another number of
            features. The estimator is then unchanged.
        """
        fitted = self._fitted_or_none()
        if fitted is None:
            return self.fit(X, y, groups)
        self._validate_params()
        if groups is None and token_sets(X) is not None:
            raise ValueError(
                "X has a set of tokens for each document, whose places are labels of "
                "documents in the database. Name new documents, as by groups=np.arange("
                f"len(X)) + {len(fitted.labels)}."
            )
        X, groups = read_tokens(fitted.hasher, X, groups)
        self._fitted = fitted.add(fitted.hasher.encode(X), groups)
        return self

    def remove(self, groups: ArrayLike) -> Self:
        """Delete documents from the database.

        Parameters
        ----------
        groups : array-like of shape (n_removed,), or a set
            Labels of the documents. If tokens are added under such a label later, the
            document gets its old place again.

        Returns
        -------
        self : MaxSimNeighbors
            The estimator with fewer documents.

        Raises
        ------
        ValueError
            If a label is not in the database, or no document would be left.
        """
        self._fitted = self._get_fitted().remove(groups)
        return self

    def kneighbors(
        self,
        X: Rows,
        n_neighbors: Count = None,
        return_distance: bool = True,
        return_tied: bool = False,
        *,
        groups: Column = None,
    ) -> Any:
        """Find the documents of highest score for each query.

        Documents of equal score are ordered by their place in `groups_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_query_tokens, n_features), or list
            Features of the tokens of all queries; or a list with an array for each query.

        n_neighbors : int, default=None
            Number of documents. None takes the parameter of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        return_tied : bool, default=False
            Whether to return also the documents that tie with the last document.

        groups : array-like of shape (n_query_tokens,), default=None
            Label of the query of each token. None means that each row is a query. For one
            query of all rows pass ``np.zeros(len(X))``, or ``[X]`` as `X`.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), dtype float64
            Minus the scores, ascending. Only if `return_distance`. Queries are in the order
            in which their labels first come.

        indices : ndarray of shape (n_queries, n_neighbors), dtype int64
            Places of the documents in `groups_`, ascending within a distance.

        tied : ndarray of shape (n_queries,) of arrays of int64
            Places of all documents at the distance of the last document, including the
            documents in `indices`. Only if `return_tied`.

        Raises
        ------
        ValueError
            If there are fewer documents than `n_neighbors`, there is not one label for each
            row, or `X` has other features than `fit`.

        Examples
        --------
        Documents "a" and "b" hold the same tokens in another order, and are tied:

        >>> from sklearn.frozen import FrozenEstimator
        >>> from sklearn_talr.hashing import LSHHasher
        >>> from sklearn_talr.neighbors import MaxSimNeighbors
        >>> hasher = FrozenEstimator(LSHHasher(64, random_state=0).fit([[0, 0], [1, 1]]))
        >>> tokens = [[1, 0], [0, 1], [0, 1], [1, 0], [-1, 0]]
        >>> index = MaxSimNeighbors(hasher, n_neighbors=2)
        >>> index = index.fit(tokens, groups=["a", "a", "b", "b", "c"])
        >>> indices = index.kneighbors([[1, 0], [0, 1]], groups=[0, 0])[1]
        >>> index.groups_[indices]
        array([['a', 'b']], dtype='<U1')
        """
        fitted = self._get_fitted()
        n_neighbors = self.n_neighbors if n_neighbors is None else n_neighbors
        n_documents = fitted.tokens.n_documents
        n_neighbors = check_number(n_neighbors, "n_neighbors", least=1, most=n_documents)
        X, groups = read_tokens(fitted.hasher, X, groups)
        matches = list(fitted.nearest(X, groups, n_neighbors, self.n_jobs))
        distances = None
        tied = None
        if return_distance:
            distances = 0.0 - np.array([match.scores for match in matches])
        if return_tied:
            tied = ragged([match.tied_places for match in matches])
        indices = np.array([match.places for match in matches], dtype=np.int64)
        return as_results(indices, distances=distances, tied=tied)

    groups_ = fitted_property(
        "labels", "Label of each document given so far, in the order in which they came."
    )
    indices_ = fitted_property(
        "tokens.present", "Places in `groups_` of the documents now in the database."
    )
    n_groups_ = fitted_property(
        "tokens.n_documents", "Number of documents in the database."
    )


class DocumentMatches(NamedTuple):
    """The documents of highest score for a query.

    Parameters
    ----------
    scores : ndarray of shape (n_neighbors,)
        Scores, descending.

    places : ndarray of shape (n_neighbors,)
        Places of the documents in `Documents.labels`, ascending within a score.

    tied_places : ndarray of int64
        Places of all documents of the last score.
    """

    scores: np.ndarray
    places: np.ndarray
    tied_places: np.ndarray


@dataclass(frozen=True, eq=False)
class Documents:
    """The fitted state of an index of documents, never changed but replaced as a whole.

    Parameters
    ----------
    hasher : FittedHasher
        The hasher of the tokens.

    tokens : TokenSets
        Codes of the tokens, grouped by document. The number of a document is its place in
        `labels`.

    labels : ndarray of shape (n_labels,)
        Label of each document given so far, including removed documents.

    are_rows : bool
        Whether each row is a document, since `fit` was given no groups.

    by_bits : bool
        Whether queries are rounded to bits, and codes have no factors and lengths.
    """

    hasher: object
    tokens: TokenSets
    labels: np.ndarray
    are_rows: bool
    by_bits: bool

    @classmethod
    def from_codes(cls, codes, groups, *, hasher, by_bits):
        """The first documents; groups are labels of the rows, or None."""
        packed = _codes_to_store(codes, by_bits)
        labels, numbers = read_groups(groups, len(packed))
        return cls(
            hasher=hasher,
            tokens=TokenSets.from_numbers(packed, numbers),
            labels=labels,
            are_rows=groups is None,
            by_bits=by_bits,
        )

    def add(self, codes, groups):
        """The documents and more tokens, of documents that are here or of new documents."""
        packed = _codes_to_store(codes, self.by_bits)
        if self.are_rows and groups is not None:
            raise ValueError(
                "fit was given no groups and add some. Pass groups=None, or call fit with "
                "groups of all tokens."
            )
        if groups is None and not self.are_rows:
            raise ValueError(
                "fit was given groups and add none. Pass groups, a label for each token."
            )
        n_labels = len(self.labels)
        labels, numbers = read_groups(groups, len(packed))
        if groups is None:
            labels = n_labels + labels
        if _type_of_labels(labels) != _type_of_labels(self.labels):
            raise ValueError(
                f"groups are of type {labels.dtype} and groups of fit of type "
                f"{self.labels.dtype}: labels must be of one type."
            )
        # A label that is here already keeps its place.
        labels = np.concatenate((self.labels, labels))
        labels, places = read_groups(labels, len(labels))
        packed = concatenate_codes([self.tokens.packed, packed])
        numbers = np.concatenate((self.numbers, places[n_labels:][numbers]))
        return replace(self, tokens=TokenSets.from_numbers(packed, numbers), labels=labels)

    def remove(self, groups):
        """The documents without these labels; the places of the others do not change."""
        groups = _read_labels(groups, self.labels)
        missing = groups[~np.isin(groups, self.labels[self.tokens.present])]
        if missing.size:
            raise ValueError(
                f"groups contains {missing[:5].tolist()}, which are not in the database. "
                "Pass labels of groups_[indices_]."
            )
        removed = np.isin(self.labels, groups)[self.numbers]
        if removed.all():
            raise ValueError("groups would leave no document; fit another index instead.")
        tokens = TokenSets.from_numbers(
            self.tokens.packed[~removed], self.numbers[~removed]
        )
        return replace(self, tokens=tokens)

    @property
    def numbers(self):
        """Places in `labels` of the documents of the tokens, ascending."""
        return np.repeat(self.tokens.present, np.diff(self.tokens.starts))

    @property
    def n_items(self):
        """Number of tokens."""
        return len(self.tokens.packed)

    def __str__(self):
        n_bytes_per_token = self.nbytes / self.n_items
        return (
            f"{self.tokens.n_documents} documents, {n_bytes_per_token:.4g} bytes for each "
            "token"
        )

    @property
    def nbytes(self):
        """Bytes of memory for the tokens."""
        return sum(part.nbytes for part in self.tokens)

    def nearest(self, X, groups, n_neighbors, n_jobs):
        """Generate the DocumentMatches of each query.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_tokens, n_features)
            Features of the tokens of all queries.

        groups : array-like of shape (n_tokens,), or None
            Label of the query of each token.

        n_neighbors : int
            Number of documents to find.

        n_jobs : int or None
            Number of threads.
        """
        if self.by_bits:
            weights = 2 * unpack_codes(self.hasher.encode(X)).astype(np.float32) - 1
        else:
            weights = np.asarray(self.hasher.query_weights(X), dtype=np.float32)
        numbers = read_groups(groups, len(weights)).numbers
        for tables in token_blocks(weights, numbers, self.tokens):
            scores = tables.scores(self.tokens, n_jobs)
            match = partial(self._match, tables, scores, n_neighbors)
            yield from map_in_threads(match, range(len(scores)), n_jobs)

    def _match(self, tables, scores, n_neighbors, query):
        """DocumentMatches of a query of a block, by its scores of all documents."""
        tokens = self.tokens
        last = tokens.n_documents - n_neighbors
        limit = np.partition(scores[query], last)[last] - tables.margin
        # Scores are rounded. Documents that may be neighbors are compared in float64.
        candidates = np.flatnonzero(scores[query] >= limit)
        exact_scores = tables.exact_scores(query, tokens.some(candidates))
        order = np.lexsort((candidates, -exact_scores))
        is_tied = exact_scores == exact_scores[order[n_neighbors - 1]]
        order = order[:n_neighbors]
        return DocumentMatches(
            scores=exact_scores[order],
            places=tokens.present[candidates[order]],
            tied_places=tokens.present[candidates[is_tied]],
        )


def read_tokens(hasher, X, groups):
    """Features of tokens, and the label of each, or None if each row is a group.

    Parameters
    ----------
    hasher : FittedHasher
        The hasher of the tokens.

    X : array-like of shape (n_tokens, n_features), or sequence of these
        Features of tokens, or a set of tokens for each group.

    groups : array-like or None
        A label for each row, or for each set.
    """
    sets = token_sets(X)
    if sets is None:
        return hasher.read(X), groups
    sets = [read_features(rows, f"X[{place}]") for place, rows in enumerate(sets)]
    sets = [rows if sp.issparse(rows) else np.asarray(rows) for rows in sets]
    sizes = [rows.shape[0] for rows in sets]
    shapes = {rows.shape[1:] for rows in sets}
    if 0 in sizes or len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise ValueError(
            "X must have an array of shape (n_tokens, n_features) for each set of tokens, "
            f"with at least one token and as many features, got arrays of the shapes "
            f"{sorted({rows.shape for rows in sets})[:5]}. Leave out documents without "
            "tokens."
        )
    if groups is not None and len(groups) != len(sets):
        raise ValueError(
            f"X has {len(sets)} sets of tokens and groups has {len(groups)} labels. Pass a "
            "label for each set; or all tokens as rows, X=np.concatenate(X), with groups="
            "np.repeat(labels, [len(tokens) for tokens in X])."
        )
    labels, numbers = read_groups(groups, len(sets))
    if any(map(sp.issparse, sets)):
        rows = sp.vstack(sets, format="csr")
    else:
        rows = np.concatenate(sets)
    return rows, labels[numbers].repeat(sizes)


def token_sets(X):
    """Sets of tokens, if `X` declares by its nesting that it has several; else None."""
    if hasattr(X, "to_pylist"):  # Arrow
        X = X.to_pylist()
    elif hasattr(X, "iloc") or (isinstance(X, np.ndarray) and X.dtype == object):
        X = X.tolist() if X.ndim == 1 else X
    if getattr(X, "ndim", 0) == 3:
        return list(X)
    if not isinstance(X, list | tuple) or not len(X):
        return None
    are_sets = (rows.ndim == 2 if hasattr(rows, "ndim") else _is_nested(rows) for rows in X)
    return X if all(are_sets) else None


def _is_nested(rows):
    """Whether a list holds rows, which are lists or arrays, or holds nothing."""
    return isinstance(rows, list | tuple) and all(hasattr(row, "__len__") for row in rows)


def _codes_to_store(codes, by_bits):
    """Packed codes, which have neither factors nor lengths if queries are bits."""
    packed = as_packed(codes)
    return wrap_bytes(packed.data, packed.n_bits) if by_bits else packed


def _read_labels(groups, labels):
    """Labels of documents as an array, whose type must be that of the other labels."""
    if isinstance(groups, Mapping):
        raise ValueError("groups must be a list of labels, got a dict: pass list(groups).")
    groups = np.atleast_1d(np.asarray(list(groups) if isinstance(groups, Set) else groups))
    if groups.ndim > 1:
        raise ValueError(
            f"groups must be labels of one dimension, got an array of shape {groups.shape}."
        )
    if groups.dtype == bool and labels.dtype != bool:
        raise ValueError(
            "groups must be labels of documents, got a mask. Write groups_[mask] for the "
            "labels of a mask."
        )
    if groups.size and _type_of_labels(groups) != _type_of_labels(labels):
        raise ValueError(
            f"groups holds labels of {groups.dtype}, such as {groups.tolist()[0]!r}, and "
            f"the labels of the database are of {labels.dtype}, such as "
            f"{labels.tolist()[0]!r}: none can be equal. Make them of one type, as by "
            "[str(i) for i in groups]."
        )
    return groups


def _type_of_labels(labels):
    """Kind of the dtype of labels; all numbers are of one kind."""
    kind = labels.dtype.kind
    return "number" if kind in "biuf" else kind
