"""Affinity of two kinds of samples: judgments of items by queries."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator

from .._core.compat import StrOptions, validated
from .._core.parameters import parameters
from .._core.types import Any, Array, Literal, NDArray, Rows, Self
from ._base import NOT_COUNTED, BaseAffinity, lists_as_array, targets_as_csr


@parameters
class JudgmentAffinity(BaseAffinity, BaseEstimator, savable=True):
    """Relevance judgments (qrels) of items for queries, two kinds of samples.

    For example, queries are texts and items are images. The targets of one side are rows of
    judgments, of shape (n_samples, n_others): a row for each sample of this side, and a
    column for each sample of the other. The targets of the other side are the numbers of
    these columns, of shape (n_others,). Either side may be the queries.

    A judgment is a grade: 0 for "not relevant", 1 for "relevant", or more for "more
    relevant". A pair with a grade below 0, or NaN, is ignored, such as an item that the
    user of the query has seen before. Pairs that a sparse matrix does not store are
    unjudged. A stored 0 was judged irrelevant. Grades of a pair that is stored more than
    once add up, as in SciPy. Rows and columns may be empty.

    Parameters
    ----------
    unjudged : {"irrelevant", "ignored"}, default="irrelevant"
        Treatment of pairs that a sparse matrix does not store: they have grade 0, or are
        ignored, so that each query ranks only its judged items.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        Sorted grades from 0 of the judgments seen by `fit`, 0 included. Grades that `fit`
        has not seen still count.

    See Also
    --------
    PrecomputedAffinity : For samples of one kind that are similar to each other.
    query_groups : Queries that must not be divided between training and test.

    Examples
    --------
    Two queries with judgments of three items; the second query has no relevant item. There
    is a row for each query, and a number for each item:

    >>> import numpy as np
    >>> from sklearn_talr.affinity import JudgmentAffinity
    >>> judgments = np.array([[2, 0, 1], [0, 0, 0]])
    >>> affinity = JudgmentAffinity().fit(judgments)
    >>> affinity.levels_
    array([0, 1, 2])
    >>> affinity(judgments, [0, 2])
    array([[2, 1],
           [0, 0]])

    With a row for each item:

    >>> affinity([0], judgments.T)
    array([[2, 0, 1]])
    """

    _parameter_constraints = {"unjudged": [StrOptions({"irrelevant", "ignored"})]}

    by_number = True

    unjudged: Literal["irrelevant", "ignored"] = "irrelevant"

    def fit(self, y: Rows) -> Self:
        """Find the grades.

        Parameters
        ----------
        y : {array-like, sparse matrix} of shape (n_samples, n_others) or (n_samples,)
            Judgments, or numbers of columns, which have no grades.

        Returns
        -------
        self : JudgmentAffinity
            The fitted affinity.

        Raises
        ------
        ValueError
            If `y` is neither. The affinity is then unchanged.
        """
        self._validate_params()
        y = self.check_targets(y)
        self.levels_ = _levels_of(y.data if y.ndim == 2 else np.arange(1))
        return self

    def check_targets(self, y: Rows) -> Any:
        """Return judgments as a CSR array, or numbers of columns as a 1-D array.

        Parameters
        ----------
        y : {array-like, sparse matrix} of shape (n_samples, n_others) or (n_samples,)
            Judgments, which are integers or NaN, or numbers of columns.

        Returns
        -------
        targets : CSR array of shape (n_samples, n_others) or ndarray of shape (n_samples,)
            Both hold integers, with -1 for NaN. Stored zeros remain stored.

        Raises
        ------
        ValueError
            If a grade is a fraction or infinite, or a number of a column is not one.
        """
        y = y if sp.issparse(y) else np.asarray(lists_as_array(y))
        if y.ndim != 1:
            return _check_judgments(y, "y")
        if sp.issparse(y) or y.dtype.kind not in "iu" or (y.size and y.min() < 0):
            raise ValueError(
                "y of one dimension must be numbers of columns of judgments, integers from "
                f"0, got {y.dtype}. Turn a mask into numbers with np.flatnonzero, and pass "
                "judgments with a row for each sample: y[:, None]."
            )
        return y.astype(np.intp, copy=False)

    def targets_of(self, X: Rows) -> Any:
        """Return the numbers of samples that come without `y`, in their order."""
        return np.arange(np.shape(X)[0])

    def check_width(self, y_query: Any, n_items: int) -> None:
        """Raise ValueError unless the queries judge so many items, by number.

        Parameters
        ----------
        y_query : targets of length n_queries
            Checked targets.

        n_items : int
            Number of items, which are numbered from 0.
        """
        if y_query.ndim != 2 or y_query.shape[1] != n_items:
            raise ValueError(
                f"y of queries must be judgments of shape (n_queries, {n_items}), a column "
                f"for each item that was given, got shape {y_query.shape}."
            )

    def levels_between(self, y_query: Any, y_database: Any) -> Array:
        """Return the grades of the side that has judgments, 0 first."""
        return _levels_of(_judgments_of(y_query, y_database).data)

    def level_index(self, y_query: Any, y_database: Any, levels: Array) -> Array:
        """Look grades up as places in a list of grades.

        Parameters
        ----------
        y_query, y_database : targets
            Checked targets of both sides, one of judgments and one of numbers.

        levels : ndarray of shape (n_levels,)
            Sorted grades, first 0.

        Returns
        -------
        index : ndarray of shape (n_query, n_database) of int
            ``levels[index]`` are the grades, and -1 marks ignored pairs.

        Raises
        ------
        ValueError
            If a grade is not among the levels.
        """
        block = _block(y_query, y_database)
        is_counted = block.data >= 0
        index = np.searchsorted(levels, block.data)
        is_lacking = np.take(levels, index, mode="clip") != block.data
        if np.any(is_lacking & is_counted):
            raise ValueError(f"y has grades that are not among the levels {levels}.")
        index = np.where(is_counted, index, NOT_COUNTED)
        # Entries that a sparse matrix does not store become 0. If they are to be ignored,
        # all places are one higher until the table is dense.
        shift = int(self.unjudged == "ignored")
        block.data = (index + shift).astype(np.min_scalar_type(-len(levels) - 1))
        table = block.toarray()
        table -= shift
        return table

    def __call__(self, y_query: Rows, y_database: Rows) -> Array:
        """Look up the grade of every pair.

        Parameters
        ----------
        y_query : {array-like, sparse matrix} of shape (n_query, n_database) or (n_query,)
            Judgments or numbers of the queries.

        y_database : {array-like, sparse matrix} of shape (n_database, n_query) or \
                (n_database,)
            Judgments or numbers of the database, the other of the two.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database) of int64
            Grades: 0 for pairs that are not stored, and -1 for ignored pairs.

        Raises
        ------
        ValueError
            If both sides have judgments, or neither, or a number has no column.
        """
        y_query = self.check_targets(y_query)
        y_database = self.check_targets(y_database)
        levels = self.levels_between(y_query, y_database)
        index = self.level_index(y_query, y_database, levels)
        return np.append(levels, NOT_COUNTED)[index]


@validated(judgments=["array-like", "sparse matrix"])
def query_groups(judgments: Rows) -> NDArray[np.int64]:
    """Group queries that share relevant items, for cross-validation over queries.

    If two queries share a relevant item, and one is in the training set and the other in
    the test set, the test is not one of unseen queries. Pass these groups to scikit-learn's
    ``GroupKFold``, which keeps such queries together.

    Parameters
    ----------
    judgments : {array-like, sparse matrix} of shape (n_items, n_queries)
        Grades, one column for each query. Above 0 is relevant.

    Returns
    -------
    groups : ndarray of shape (n_queries,) of int
        Number of the group of each query, from 0, in the order of their first queries.
        Groups are connected components: two queries are in one group if a chain of queries
        connects them in which neighbors share a relevant item. A query without a relevant
        item is its own group.

    Raises
    ------
    ValueError
        If a grade is a fraction or infinite.

    Notes
    -----
    If many items are relevant to many queries, all queries may be in one group, so that
    none can be held out. Then drop items that most queries share, or hold out queries and
    items together.

    Examples
    --------
    The first and the last query share an item. The second has nothing relevant:

    >>> from sklearn_talr.affinity import query_groups
    >>> query_groups([[1, 0, 0, 2], [0, 0, 1, 0]])
    array([0, 1, 2, 0])
    """
    if not sp.issparse(judgments):
        judgments = np.asarray(lists_as_array(judgments))
    judgments = _check_judgments(judgments, "judgments").tocoo()
    n_items, n_queries = judgments.shape
    is_relevant = judgments.data > 0
    item = judgments.row[is_relevant]
    query = judgments.col[is_relevant]
    # Nodes of the graph are the queries, then the items.
    n_nodes = n_queries + n_items
    edges = np.ones(len(item), dtype=bool), (query, n_queries + item)
    graph = sp.csr_array(edges, shape=(n_nodes, n_nodes))
    _, component = connected_components(graph, directed=False)
    _, first, group = np.unique(
        component[:n_queries], return_index=True, return_inverse=True
    )
    return np.argsort(np.argsort(first))[group]


def _check_judgments(y, name):
    """Return judgments as a CSR array of integers, or raise ValueError."""
    if y.ndim != 2:
        raise ValueError(
            f"{name} must be judgments with a row for each sample, got shape {y.shape}."
        )
    if y.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers, which are grades, got {y.dtype}.")
    matrix = sp.csr_array(targets_as_csr(y) if sp.issparse(y) else y)
    grades = matrix.data
    if np.any(np.isinf(grades) | (grades > np.floor(grades)) | (grades >= 2.0**63)):
        raise ValueError(
            f"{name} must hold integers, which are grades (0: not relevant; below 0, or "
            "NaN: ignored). Round or bin fractions."
        )
    if grades.dtype.kind in "iu":
        return matrix
    grades = np.where(grades >= 0, grades, NOT_COUNTED).astype(np.int64)
    return sp.csr_array((grades, matrix.indices, matrix.indptr), shape=matrix.shape)


def _levels_of(grades):
    """The distinct grades from 0 on, with 0."""
    return np.union1d([0], grades[grades >= 0]).astype(np.int64)


def _judgments_of(y_query, y_database):
    """Return the side that has judgments; the other has numbers of columns."""
    if y_query.ndim == y_database.ndim:
        kind = "judgments" if y_query.ndim == 2 else "numbers of columns"
        raise ValueError(
            "one of y_query and y_database must be judgments, of shape (n_samples, "
            "n_others), and the other numbers of their columns, of shape (n_others,), but "
            f"both are {kind}. If queries and items are the same samples, pass "
            "y=PrecomputedAffinity(matrix)."
        )
    judgments, columns = sorted((y_query, y_database), key=lambda y: -y.ndim)
    if columns.size and columns.max() >= judgments.shape[1]:
        raise ValueError(
            f"y has the number {columns.max()}, but the judgments have "
            f"{judgments.shape[1]} columns, numbered from 0."
        )
    return judgments


def _block(y_query, y_database):
    """Return the judgments between checked targets, a sparse array with its own data."""
    judgments = _judgments_of(y_query, y_database)
    is_of_queries = judgments is y_query
    columns = y_database if is_of_queries else y_query
    # A slice is several times faster than numbers.
    if columns.size and np.all(np.diff(columns) == 1):
        columns = slice(columns[0], columns[-1] + 1)
    block = judgments[:, columns]
    return block.copy() if is_of_queries else block.T.copy()
