"""The index of documents that are sets of tokens, asked by sets of tokens."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._core.compat import HasMethods, Interval, StrOptions, num_samples, with_callbacks
from .._core.fitted_hasher import FittedHasher
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress
from .._core.threads import map_in_threads
from .._core.types import Any, ArrayLike, Column, Count, Rows, Self
from .._core.validation import read_features
from ..codes import concatenate_codes, unpack_codes
from ..codes._packed import as_packed, wrap_bytes
from ..codes._scores import TokenSets, read_groups, token_blocks
from ._database import FittedAtOnce, as_asked, of_fitted
from ._hashed_neighbors import WithHasher, fit_hasher, n_blocks
from ._read import check_number


@parameters
class MaxSimNeighbors(WithHasher, FittedAtOnce):
    """Nearest documents that are sets of tokens, by sums of maxima: a hasher and its index.

    Models such as ColBERT have a vector for each token of a text. A query is compared with
    a document by *MaxSim*, also called late interaction: each token of the query looks for
    the token of the document that scores highest, and the score of the document is the sum
    of these maxima. This index keeps a code for each token of the documents. Tokens of
    queries are not rounded to bits, see :func:`~sklearn_talr.codes.maxsim_scores`. The
    search is exact: it looks at all documents, and finds those of highest score.

    Rows are tokens. Their *groups*, a label for each row as in scikit-learn's
    ``GroupKFold``, say which rows belong together.

    Parameters
    ----------
    hasher : hasher, or Pipeline or search over parameters that ends in one
        The hasher of tokens; `fit` fits a clone of it. A hasher that is fitted already, as
        to a sample of the tokens, stays as it is inside ``sklearn.frozen.FrozenEstimator``.
        It is asked by `query_weights`, as :class:`~sklearn_talr.hashing.AdditiveHasher` is
        made for.

    query : {"weights", "bits"}, default="weights"
        How tokens of queries are compared with codes. ``"bits"`` rounds them to bits, too,
        and keeps neither factors nor lengths: the score of two tokens is the number of bits
        in which they agree less that of the others. It is what engines do that hold bits
        only, and finds less. A hasher for binary queries suits it, such as
        :class:`~sklearn_talr.hashing.ITQHasher`.

    n_neighbors : int, default=10
        Number of documents that `kneighbors` finds.

    n_jobs : int, default=None
        Number of threads of a search. None means 1 unless in a `joblib.parallel_config`
        context, -1 all processors. The hasher has its own.

    Attributes
    ----------
    hasher_ : hasher or Pipeline
        The fitted hasher.

    groups_ : ndarray of shape (n_labels,)
        Label of each document given so far, those removed included, in the order in which
        they first came. `kneighbors` returns places in it.

    indices_ : ndarray of shape (`n_groups_`,)
        Places in `groups_` of the documents that are in the database, ascending.

    n_groups_ : int
        Number of documents in the database.

    n_items_ : int
        Number of tokens in the database.

    n_bytes_per_item_ : float
        Bytes of memory for a token, in the mean: those of its code, factor and length, and
        of where documents start.

    nbytes : int
        Bytes of memory for all tokens.

    n_features_in_ : int
        Number of features of a token, if the hasher tells.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    HashedNeighbors : The index whose items are single rows.
    sklearn_talr.codes.maxsim_scores : Scores of all pairs.
    sklearn_talr.runs.Run.from_neighbors : What is found, as a run to evaluate.

    Notes
    -----
    Any number of threads may ask while one thread calls `fit`, `add` or `remove`:
    each call is answered from one state. Place i of `groups_` never gets another label, but
    by `fit`.

    Examples
    --------
    Each digit is a document whose tokens are its eight rows of pixels. A query has the rows
    of pixels of another digit, a zero. Most of what it finds are zeros:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import AdditiveHasher
    >>> from sklearn_talr.neighbors import MaxSimNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> tokens, groups = X.reshape(-1, 8), np.repeat(np.arange(len(X)), 8)
    >>> hasher = AdditiveHasher(n_bits=32, metric="euclidean", random_state=0)
    >>> index = MaxSimNeighbors(hasher).fit(tokens[8:], groups=groups[8:])
    >>> distances, indices = index.kneighbors(tokens[:8], groups=groups[:8])
    >>> found = index.groups_[indices]
    >>> found.shape, bool((y[found] == y[0]).mean() > 0.5)
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
            Features of the tokens of all documents, as the hasher takes them; or a list
            with an array for each document, a column of lists of lists, or an array of
            shape (n_documents, n_tokens, n_features).

        y : targets of length n_tokens, default=None
            Targets of the tokens, where the hasher needs any.

        groups : array-like of shape (n_tokens,), default=None
            Label of the document that each token belongs to. The tokens of a document need
            not come together. None means that each row is a document, labeled by its place.
            Of a list of arrays it is the label of each array, and None labels these by
            their places.

        Returns
        -------
        self : MaxSimNeighbors
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, `X` or `groups` is not what it should be. The estimator is then
            what it was before.
        """
        self._validate_params()
        X, groups = read_tokens(FittedHasher.of(self.hasher).check(), X, groups)
        if groups is not None:  # before the hasher takes its time
            read_groups(groups, num_samples(X))
        progress = Progress(self, X, y, n_blocks(X), "block", n_fits=1)
        hasher, codes = fit_hasher(clone(self.hasher), X, y, {}, progress)
        by_bits = self.query == "bits"
        fitted = {"_fitted": Documents.of(hasher, codes, groups, by_bits)}
        vars(self).update(progress.finish(fitted))
        return self

    def add(self, X: Rows, y: Any = None, groups: Column = None) -> Self:
        """Add tokens to the database; the hasher stays as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_tokens, n_features), or list of these
            Features of the tokens, as for `fit`.

        y : Ignored
            Not used by an index that is fitted; the first call passes it to `fit`.

        groups : array-like of shape (n_tokens,), default=None
            Labels of their documents. A document that is in the database gets more tokens.
            None if `fit` was given none, unless `X` is a list of arrays, which needs the
            label of each.

        Returns
        -------
        self : MaxSimNeighbors
            The estimator with more tokens; the first call does what `fit` does.

        Raises
        ------
        ValueError
            If features or groups do not continue those of `fit`. The estimator is then
            what it was before.
        """
        fitted = vars(self).get("_fitted")
        if fitted is None:
            return self.fit(X, y, groups)
        self._validate_params()
        if groups is None and token_sets(X) is not None:
            raise ValueError(
                "X has a set of tokens for each document, whose labels would be those of "
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
            Labels of the documents. Tokens that are added under such a label later on make
            a document in the same place.

        Returns
        -------
        self : MaxSimNeighbors
            The estimator with fewer documents.

        Raises
        ------
        ValueError
            If a label is not that of a document, or nothing would be left.
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

        Documents of equal score are ordered by their place in `groups_`, the first first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_query_tokens, n_features), or list
            Features of the tokens of all queries; or a list with an array for each query.

        n_neighbors : int, default=None
            Number of documents. None means that of the constructor.

        return_distance : bool, default=True
            Whether to return distances.

        return_tied : bool, default=False
            Whether to return also what is tied with the last document.

        groups : array-like of shape (n_query_tokens,), default=None
            Label of the query that each token belongs to. None means that each row is a
            query. For one query of all rows pass ``np.zeros(len(X))``, or ``[X]`` as `X`.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), dtype float64
            Minus the scores, ascending. Only if `return_distance`. Queries come in the
            order in which their labels first come.

        indices : ndarray of shape (n_queries, n_neighbors), dtype int64
            Places of the documents in `groups_`, ascending within a distance.

        tied : ndarray of shape (n_queries,) of arrays of int64
            Places of all documents at the distance of the last, those in `indices`
            included. Only if `return_tied`.

        Raises
        ------
        ValueError
            If there are fewer documents than asked for, there is not one label for each
            row, or `X` has other features than those of `fit`.

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
        most = fitted.tokens.n_documents
        n_neighbors = check_number(n_neighbors, "n_neighbors", least=1, most=most)
        X, groups = read_tokens(fitted.hasher, X, groups)
        found = fitted.nearest(X, groups, n_neighbors, self.n_jobs)
        scores, places, tied = zip(*found)
        distances, indices = 0.0 - np.array(scores), np.array(places, dtype=np.int64)
        return as_asked(distances, indices, tied, return_distance, return_tied)

    groups_ = of_fitted(
        "labels", "Label of each document given so far, the first one first."
    )
    indices_ = of_fitted(
        "tokens.present", "Places in `groups_` of the documents now in the database."
    )
    n_groups_ = of_fitted("tokens.n_documents", "Number of documents in the database.")


@dataclass(frozen=True, eq=False)
class Documents:
    """All that a fitted index of documents knows, never changed but replaced as a whole.

    Parameters
    ----------
    hasher : FittedHasher
        The hasher of the tokens.

    tokens : TokenSets
        Codes of the tokens, those of each document side by side. Numbers of documents are
        their places in `labels`.

    labels : ndarray of shape (n_labels,)
        Label of each document given so far, those removed included.

    are_rows : bool
        Whether each row is a document, since no groups were given.

    by_bits : bool
        Whether queries are rounded to bits, and codes are bits alone.
    """

    hasher: object
    tokens: TokenSets
    labels: np.ndarray
    are_rows: bool
    by_bits: bool

    @classmethod
    def of(cls, hasher, codes, groups, by_bits):
        """The first documents; groups are labels of the rows, or None."""
        packed = _stored(codes, by_bits)
        labels, numbers = read_groups(groups, len(packed))
        tokens = TokenSets.of(packed, numbers)
        return cls(hasher, tokens, labels, groups is None, by_bits)

    def add(self, codes, groups):
        """The documents and more tokens, of new documents or of those that are there."""
        packed = _stored(codes, self.by_bits)
        if self.are_rows != (groups is None):
            given, now = ("no groups", "some")[:: 1 if self.are_rows else -1]
            raise ValueError(f"fit was given {given} and add {now}: groups.")
        n_labels = len(self.labels)
        labels, numbers = read_groups(groups, len(packed))
        if groups is None:
            labels = n_labels + labels
        if _type_of_labels(labels) != _type_of_labels(self.labels):
            raise ValueError(
                f"groups are of type {labels.dtype} and those of fit of type "
                f"{self.labels.dtype}: labels must be of one type."
            )
        labels = np.concatenate((self.labels, labels))
        labels, places = read_groups(labels, len(labels))
        packed = concatenate_codes([self.tokens.packed, packed])
        numbers = np.concatenate((self.numbers, places[n_labels:][numbers]))
        return replace(self, tokens=TokenSets.of(packed, numbers), labels=labels)

    def remove(self, groups):
        """The documents without those of these labels; the others stay where they are."""
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
        tokens = TokenSets.of(self.tokens.packed[~removed], self.numbers[~removed])
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
        each = self.nbytes / self.n_items
        return f"{self.tokens.n_documents} documents, {each:.4g} bytes for each token"

    @property
    def nbytes(self):
        """Bytes of all that is kept for the tokens."""
        return sum(each.nbytes for each in self.tokens)

    def nearest(self, X, groups, n_neighbors, n_jobs):
        """Generate scores, places in `labels`, and places tied with the last, by query."""
        if self.by_bits:
            weights = 2 * unpack_codes(self.hasher.encode(X)).astype(np.float32) - 1
        else:
            weights = np.asarray(self.hasher.query_weights(X), dtype=np.float32)
        tokens = self.tokens
        numbers = read_groups(groups, len(weights)).numbers
        for tables in token_blocks(weights, numbers, tokens):
            scores = tables.scores(tokens, n_jobs)

            def look(query, tables=tables, scores=scores):
                # What may be among the nearest is compared in float64.
                last = tokens.n_documents - n_neighbors
                limit = np.partition(scores[query], last)[last] - tables.margin
                places = np.flatnonzero(scores[query] >= limit)
                exact = tables.exact_scores(query, tokens.some(places))
                order = np.lexsort((places, -exact))
                tied = places[exact == exact[order[n_neighbors - 1]]]
                order = order[:n_neighbors]
                return exact[order], tokens.present[places[order]], tokens.present[tied]

            yield from map_in_threads(look, range(len(scores)), n_jobs)


def read_tokens(hasher, X, groups):
    """Features of tokens, and the label of each, or None if each row is a group.

    Parameters
    ----------
    hasher : FittedHasher
        What the features are for.

    X : array-like of shape (n_tokens, n_features), or sequence of these
        Features of tokens, or of a set of tokens for each group.

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


def _stored(codes, by_bits):
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
            "groups must be labels of documents, got a mask. Those of a mask are "
            "groups_[mask]."
        )
    if groups.size and _type_of_labels(groups) != _type_of_labels(labels):
        raise ValueError(
            f"groups holds labels of {groups.dtype}, such as {groups.tolist()[0]!r}, and "
            f"those of the database are of {labels.dtype}, such as {labels.tolist()[0]!r}: "
            "none can be equal. Make them of one type, as by [str(i) for i in groups]."
        )
    return groups


def _type_of_labels(labels):
    """Numbers, texts, or what else labels are."""
    kind = labels.dtype.kind
    return "number" if kind in "biuf" else kind
