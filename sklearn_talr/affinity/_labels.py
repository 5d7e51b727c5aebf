"""Affinity by class labels, one or several per sample."""

import copy
from datetime import date, timedelta
from numbers import Number, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, column_or_1d, gen_batches

from .._core.parameters import parameters
from .._core.state import replace_fitted
from .._core.types import Any, Array, ArrayLike, Rows, Self
from .._core.validation import refuse_missing
from ..codes._packed import as_words
from ._base import (
    NOT_COUNTED,
    BaseAffinity,
    kinds_of,
    lists_as_array,
    refuse_row,
    refuse_tags,
    targets_as_csr,
)

# Integer labels whose range is smaller are looked up in a table.
_WIDEST_TABLE = 2**16
# Kinds of labels, and the types of each. A label is of the first kind that fits.
_KINDS = {
    "strings": str,
    "bytes": bytes,
    "dates": (np.datetime64, date),
    "durations": (np.timedelta64, timedelta),
    "numbers": (Number, np.bool_, np.number),
}


class _ClassAffinity(BaseAffinity, BaseEstimator):
    """An affinity by classes, unless a subclass compares in its own way."""

    def neighborhoods(self, y: Any, levels: Array) -> sp.csr_array | None:
        """Return the classes; all pairs, if a subclass compares in its own way."""
        by_classes = self._levels_are_sure
        return self.memberships(y)[1] if by_classes else super().neighborhoods(y, levels)


@parameters
class LabelAffinity(_ClassAffinity, savable=True):
    """Affinity 1 between samples of the same class, 0 otherwise.

    Targets are class labels of shape (n_samples,), which may be numbers or strings. Every
    sample has a label: NaN, None, and a -1 among numbers other than 1 raise an error, since
    they mark samples without a label, unless -1 is `ignored`.

    Parameters
    ----------
    ignored : int, float or str, default=None
        Label of ignored samples, such as -1 in semi-supervised data. Pairs with such a
        sample have affinity -1, so that it is neither a query nor an item of any query.
        None ignores no sample.

    Attributes
    ----------
    levels_ : ndarray of shape (2,)
        ``[0, 1]``, the values that the affinity can take.

    See Also
    --------
    SharedLabelAffinity : For samples that carry several labels.

    Examples
    --------
    >>> from sklearn_talr.affinity import LabelAffinity
    >>> LabelAffinity()(["cat", "dog"], ["dog", "dog", "cat"])
    array([[0, 0, 1],
           [1, 1, 0]], dtype=uint8)
    """

    _parameter_constraints = {"ignored": [Real, str, None]}
    _levels_are_sure = True

    levels_ = np.array([0, 1])
    ignored: float | str | None = None

    def fit(self, y: ArrayLike) -> Self:
        """Check the targets. There is nothing to learn from them.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : LabelAffinity
            This affinity.
        """
        self._validate_params()
        if self.ignored is not None and self.ignored != self.ignored:
            raise ValueError(
                "ignored=nan is equal to no label, not even to NaN. Give samples without a "
                "label another one: np.where(np.isnan(y), -1, y) with ignored=-1."
            )
        y = self.check_targets(y)
        if self.ignored is not None and len(y) and np.all(y == self.ignored):
            raise ValueError(
                f"y has no label but {self.ignored!r}, which is ignored, so no sample "
                "counts. Pass labels of some samples, or ignored=None."
            )
        return self

    def check_targets(self, y: Any) -> Any:
        """Return the labels as a 1-D array, or raise ValueError.

        Labels of -1 raise an error unless they are `ignored`, since scikit-learn marks
        samples without a label with -1. They are a class if all other labels are 1, or if
        some are less than -1.
        """
        y = lists_as_array(y)
        values = None if sp.issparse(y) else np.asarray(y)
        if values is not None and values.ndim in (1, 2):
            refuse_tags(values)
        refuse_row(y)
        y = column_or_1d(y)
        if y.dtype.kind == "O":
            kinds = kinds_of(y)
            if all(issubclass(kind, str) for kind in kinds):
                # Strings are many times faster to compare than objects.
                return y.astype(str)
            refuse_missing(y)
            if len(set(map(name_of, kinds))) > 1:
                names = ", ".join(sorted(kind.__name__ for kind in kinds))
                raise ValueError(
                    "y has labels of different types, which have no order: "
                    f"{names}. Make them strings, by np.array([str(label) for label in "
                    "y]), or number the classes."
                )
        if y.dtype.kind in "mM":
            refuse_missing(y)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise ValueError("y contains NaN or infinity; every sample needs a label.")
        names = {name_of(kind) for kind in [type(self.ignored), *kinds_of(y[:1])]}
        if self.ignored is not None and len(names) > 1:
            raise ValueError(f"ignored={self.ignored!r} is not of the type of labels in y.")
        if self.ignored != -1 and has_unlabeled(y):
            raise ValueError(
                "y has labels of -1 among others. In scikit-learn -1 marks samples without "
                "a label. Leave these out: X[y != -1] and y[y != -1], or let them not "
                "count: affinity=LabelAffinity(ignored=-1). If -1 is a class, number the "
                "classes from 0: np.unique(y, return_inverse=True)[1]."
            )
        return y

    def group_targets(self, y: Any) -> tuple[Any, Array] | None:
        """Return the distinct labels, sorted, and the index among them of each target."""
        y = self.check_targets(y)
        # Integers in a narrow range are looked up in a table, block by block. Sorting a
        # hundred million labels would take longer than counting them, and 25 bytes each.
        is_integer = y.dtype.kind in "iu" and len(y)
        if not is_integer or int(y.max()) - int(y.min()) >= _WIDEST_TABLE:
            return np.unique(y, return_inverse=True)
        low = y.min()
        index = np.empty(len(y), dtype=np.int32)
        is_there = np.zeros(int(y.max()) - int(low) + 1, dtype=bool)
        blocks = list(gen_batches(len(y), 2**16))
        for rows in blocks:
            index[rows] = np.subtract(y[rows], low, dtype=np.int64)
            is_there[index[rows]] = True
        numbers = np.cumsum(is_there, dtype=np.int32) - 1
        for rows in blocks:
            index[rows] = numbers[index[rows]]
        # Narrow types wrap around in the first step, and back in the second.
        return np.flatnonzero(is_there).astype(y.dtype) + low, index

    def memberships(self, y: Any) -> tuple[Array | None, sp.csr_array] | None:
        """Return the distinct labels, and the label of each target, as a CSR array."""
        classes, index = self.group_targets(y)
        is_member = np.ones(len(index), dtype=bool)
        # Each row has one entry.
        row_ends = np.arange(len(index) + 1)
        shape = len(index), len(classes)
        members = sp.csr_array((is_member, index, row_ends), shape=shape)
        if self.ignored is None:
            return classes, members
        is_counted = classes != self.ignored
        return classes[is_counted], members[:, is_counted]

    def batch_table(self, y: Any) -> Array | None:
        """Return labels as numbers; None in a subclass that compares in its own way."""
        all_are_compared = self._levels_are_sure and self.ignored is None
        return self.group_targets(y)[1] if all_are_compared else None

    def compare_batch(self, rows: Any) -> Any:
        """Compare numbers of labels: True for equal numbers."""
        return rows[:, None] == rows

    def __call__(self, y_query: ArrayLike, y_database: ArrayLike) -> Array:
        """Compare every query label with every database label.

        Parameters
        ----------
        y_query : array-like of shape (n_query,)
            Labels of the queries.

        y_database : array-like of shape (n_database,)
            Labels of the database.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database), dtype uint8 or int8
            1 if the labels are equal, 0 if not, and -1 if one of them is `ignored`.
        """
        return self._compare(self.check_targets(y_query), self.check_targets(y_database))

    def _compare(self, y_query, y_database):
        _refuse_unlike_sides(y_query, y_database)
        affinity = (y_query[:, None] == y_database).astype(np.uint8)
        if self.ignored is not None:
            affinity = affinity.view(np.int8)
            affinity[y_query == self.ignored] = NOT_COUNTED
            affinity[:, y_database == self.ignored] = NOT_COUNTED
        return affinity


def _refuse_unlike_sides(y_query, y_database):
    """Raise ValueError if all labels of one side are of a kind that the other never has.

    Strings are equal to no bytes, and to no numbers or other objects.
    """
    if not len(y_query) or not len(y_database):
        return
    query_kinds = {name_of(label_type) for label_type in kinds_of(y_query)}
    item_kinds = {name_of(label_type) for label_type in kinds_of(y_database)}
    if len(query_kinds) == len(item_kinds) == 1 and query_kinds != item_kinds:
        raise ValueError(
            f"y_query holds {query_kinds.pop()} and y_database {item_kinds.pop()}, which "
            "are never equal. Convert both sides to one type: np.asarray(y).astype(str)."
        )


@parameters
class SharedLabelAffinity(_ClassAffinity, savable=True):
    """Number of labels that two multi-label samples share.

    Targets are 0/1 indicators of shape (n_samples, n_labels), dense or CSR.

    Parameters
    ----------
    binary : bool, default=False
        If True, the affinity is 1 if any label is shared, and 0 otherwise.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        Values that the affinity can take among the targets seen by `fit`, which are 0 to
        the greatest number of labels of a sample (0 and 1 if `binary`).

    label_names_in_ : ndarray of shape (n_labels,)
        Names of the columns, if `fit` saw a data frame whose names are all strings. Data
        frames with other names, or in another order, then raise an error.

    See Also
    --------
    LabelAffinity : For one label per sample.

    Examples
    --------
    >>> from sklearn_talr.affinity import SharedLabelAffinity
    >>> y = [[1, 1, 0], [1, 1, 1], [0, 0, 1]]
    >>> SharedLabelAffinity()(y, y)
    array([[2, 2, 0],
           [2, 3, 1],
           [0, 1, 1]], dtype=int32)
    """

    _parameter_constraints = {"binary": ["boolean"]}
    _levels_are_sure = True

    binary: bool = False

    def fit(self, y: Rows) -> Self:
        """Find the levels that these targets allow.

        Parameters
        ----------
        y : {array-like, CSR} of shape (n_samples, n_labels)
            Label indicators.

        Returns
        -------
        self : SharedLabelAffinity
            The fitted affinity.
        """
        # _fit_context would skip this in a hasher's fit.
        self._validate_params()
        names = _names_of(y)
        y = clone(self).check_targets(y)
        fitted = {"levels_": self.levels_between(y, y)}
        if names is not None:
            fitted["label_names_in_"] = names
        return replace_fitted(self, fitted)

    def fit_clone(self, y: Any) -> BaseAffinity:
        """Return a clone that is fitted to targets, with the names of labels."""
        fitted = super().fit_clone(y)
        if hasattr(self, "label_names_in_"):
            fitted.label_names_in_ = self.label_names_in_
        return fitted

    def named_after(self, y: Any) -> BaseAffinity:
        """Return an affinity with the names of labels."""
        names = _names_of(y)
        if names is None or hasattr(self, "label_names_in_"):
            return self
        named = copy.copy(self)
        named.label_names_in_ = names
        return named

    def check_targets(self, y: Any) -> Any:
        """Return the indicators as a 2-D array or CSR matrix, or raise ValueError."""
        self._refuse_other_names(_names_of(y))
        y = lists_as_array(y)
        if sp.issparse(y):
            y = targets_as_csr(y)
        else:
            refuse_tags(np.asarray(y))
        y = check_array(y, accept_sparse="csr", dtype=None, input_name="y")
        refuse_other_numbers(y)
        return y

    def levels_between(self, y_query: Any, y_database: Any) -> Array:
        """Return the values that the affinity of these targets can take, 0 first."""
        if self.binary:
            return np.array([0, 1])
        n_shared = min(
            _most_labels(self.check_targets(y_query)),
            _most_labels(self.check_targets(y_database)),
        )
        return np.arange(n_shared + 1)

    def _refuse_other_names(self, names):
        """Raise ValueError if names of labels are not those of `fit`, in their order."""
        fitted_names = getattr(self, "label_names_in_", None)
        if names is None or fitted_names is None or np.array_equal(names, fitted_names):
            return
        columns = fitted_names.tolist()
        raise ValueError(
            f"y has labels named {names.tolist()}, and those of fit, in their order, "
            f"are {columns}. Pass y[{columns}] if these are its columns."
        )

    def with_levels(self, levels: Array) -> BaseAffinity:
        """Return an affinity for targets that may share more labels than before."""
        wider = copy.copy(self)
        wider.levels_ = max(self.levels_, levels, key=len)
        return wider

    def gain_levels(self, levels: Array) -> Array:
        """Return levels whose gains are the numbers of shared labels.

        With exponential gains the few pairs of a batch that share the most labels outweigh
        all others. Training with them did not raise held-out NDCG with exponential gains,
        and lowered average precision.
        """
        return np.log2(1.0 + levels)

    def memberships(self, y: Any) -> tuple[Array | None, sp.csr_array] | None:
        """Return None, as classes are columns, and the labels of each target, as CSR."""
        return None, sp.csr_array(sp.csr_array(y) > 0)

    def batch_table(self, y: Any) -> Array | None:
        """Return dense indicators; None in a subclass that compares in its own way."""
        if sp.issparse(y) or not self._levels_are_sure:
            return None
        return (np.asarray(y) > 0).astype(np.uint8)

    def compare_batch(self, rows: Any) -> Any:
        """Count shared labels, or, if `binary`, whether there are any."""
        rows = rows.astype(np.float32) if isinstance(rows, np.ndarray) else rows.float()
        shared = rows @ rows.T
        return shared > 0 if self.binary else shared

    def __call__(self, y_query: Rows, y_database: Rows) -> Array:
        """Count the labels that each query shares with each database item.

        Parameters
        ----------
        y_query : {array-like, CSR} of shape (n_query, n_labels)
            Label indicators of the queries.

        y_database : {array-like, CSR} of shape (n_database, n_labels)
            Label indicators of the database.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database), dtype int32
            Number of shared labels, or 0/1 if `binary`.
        """
        return self._compare(self.check_targets(y_query), self.check_targets(y_database))

    def _compare(self, y_query, y_database):
        if y_query.shape[1] != y_database.shape[1]:
            raise ValueError(
                f"y_query has {y_query.shape[1]} labels and y_database "
                f"{y_database.shape[1]}."
            )
        shared = np.zeros((y_query.shape[0], y_database.shape[0]), dtype=np.int32)
        for query_word, item_word in zip(_words(y_query).T, _words(y_database).T):
            shared += np.bitwise_count(query_word[:, None] & item_word)
        return (shared > 0).astype(np.int32) if self.binary else shared


def _most_labels(indicators):
    """The greatest number of labels of a sample."""
    return int(np.asarray(indicators.sum(axis=1)).max())


def _names_of(y):
    """Names of the columns of a data frame, if all are strings; else None."""
    names = list(getattr(y, "columns", []))
    if names and all(isinstance(name, str) for name in names):
        return np.array(names)
    return None


def is_indicator(y):
    """Whether an array or sparse matrix holds nothing but zeros and ones."""
    values = y.data if sp.issparse(y) else y
    return values.dtype.kind in "biuf" and not np.any((values != 0) & (values != 1))


def refuse_other_numbers(y):
    """Raise ValueError if label indicators, an array or a sparse matrix, are not 0/1."""
    if is_indicator(y):
        return
    values = y.data if sp.issparse(y) else y
    if values.dtype.kind == "f" and np.any(values % 1):
        raise ValueError(
            "y must be a 0/1 label indicator of shape (n_samples, n_labels), but holds "
            "fractions. If they are probabilities of labels, pass (y > 0.5).astype(int). "
            "If they are affinities, round them, and wrap the matrix as "
            "PrecomputedAffinity(y)."
        )
    if values.dtype.kind in "if" and np.any(values < 0):
        raise ValueError(
            "y must be a 0/1 label indicator of shape (n_samples, n_labels), but holds "
            f"{values.min()}. If a sample lacks the labels that are negative, pass "
            "(y > 0).astype(int). If negative ones are ignored pairs of samples, pass "
            "PrecomputedAffinity(y)."
        )
    raise ValueError(
        "y must be a 0/1 label indicator of shape (n_samples, n_labels). Wrap a "
        "matrix of affinities as PrecomputedAffinity(y), and turn lists of labels "
        "into indicators with MultiLabelBinarizer().fit_transform(y). If it holds two "
        "other numbers, choose the one that is a label: (y == 2).astype(int)."
    )


def has_unlabeled(y):
    """Whether labels hold a -1 among others, the mark of scikit-learn for missing labels.

    It is a class if all other labels are 1, or if some are less than -1.
    """
    is_signed = y.dtype.kind in "if" and y.size > 0
    return bool(is_signed and y.min() == -1 and np.any(np.abs(y) != 1))


def name_of(kind):
    """Name of the kind of a type of labels. Labels of two kinds are never equal."""
    names = (name for name, kinds in _KINDS.items() if issubclass(kind, kinds))
    return next(names, kind.__name__)


def _words(indicator):
    """Write the labels of each sample as bits of words, so that shared ones are counted."""
    dense = indicator.toarray() if sp.issparse(indicator) else indicator
    return as_words(np.packbits(dense.astype(bool, copy=False), axis=1))
