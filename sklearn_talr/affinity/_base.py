"""The base class of affinities: targets, levels, and tables of places among the levels."""

from collections.abc import Collection
from numbers import Integral, Number

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils import gen_batches

from .._core.threads import one_thread
from .._core.types import Any, Array, Iterator, Oracle, Rows
from .._core.validation import as_numpy, refuse_missing

NOT_COUNTED = -1  # marks an ignored pair in a table of places among the levels
_COLLECTIONS = Collection, np.ndarray
_NUMBERS = int, float, np.bool_, np.integer, np.floating
_HOW_TO_BINARIZE = (
    "write them as indicators: MultiLabelBinarizer().fit_transform(y), from "
    "sklearn.preprocessing"
)


def lists_as_array(y):
    """Turn lists, and arrays of other libraries, into an array of NumPy.

    Sparse matrices are returned as they are, and so are data frames, unless pandas keeps
    numbers in types of its own, such as Int64.

    Raises
    ------
    ValueError
        If rows differ in length, such as lists of the labels of each sample, if some
        entries of a masked array are masked, or if a list of strings, or a table, holds
        None or NaN, which an array would turn into ordinary entries.
    """
    y = as_numpy(y, "y")
    if hasattr(y, "iloc") or (isinstance(y, np.ndarray) and y.dtype == object):
        values = np.asarray(y)
        if values.dtype == object and values.ndim == 2:
            refuse_missing(values)
        if values.size and all(issubclass(kind, _NUMBERS) for kind in kinds_of(values)):
            return np.array(values.tolist())
        return y
    if not isinstance(y, (list, tuple)):
        return y
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "y has rows of different lengths. If they list the labels of each sample, "
            f"{_HOW_TO_BINARIZE}."
        ) from error
    if array.dtype.kind in "US":
        refuse_missing(y)
    return array


def targets_as_csr(y):
    """Return a sparse matrix of targets in CSR format, with each place stored once.

    Entries that a sparse matrix stores more than once add up, as in its ``toarray()``.
    Loops read the entries one by one, so they need the sums.

    Parameters
    ----------
    y : sparse matrix
        In any format of SciPy. A CSR matrix with sorted entries is not copied.

    Returns
    -------
    targets : CSR matrix
        With sorted entries. Zeros that are stored remain.

    Raises
    ------
    ValueError
        If indices do not fit the shape.
    """
    if y.format != "csr":
        return y.tocsr()
    y.check_format(full_check=True)
    if not y.has_canonical_format:
        y = y.copy()
        y.sum_duplicates()
    return y


def places_of(affinity, y_query, y_database, levels):
    """Places of affinities among the levels, checked so that loops can index with them.

    Users write affinities, and a matrix may change after it was wrapped. So the result of
    `level_index` is checked as a whole.

    Parameters
    ----------
    affinity : BaseAffinity
        Fitted oracle.

    y_query, y_database : targets
        Checked targets of both sides.

    levels : ndarray of shape (n_levels,)
        Values that the affinity can take, sorted.

    Returns
    -------
    index : ndarray of shape (n_query, n_database) of int
        As in `BaseAffinity.level_index`.

    Raises
    ------
    ValueError
        If the index has another shape or type, or a place beyond the levels.
    """
    index = affinity.level_index(y_query, y_database, levels)
    shape = y_query.shape[0], y_database.shape[0]
    return check_places(index, affinity, levels, shape)


def place_blocks(affinity, y, levels, block_size):
    """Yield ``(query_slice, index)`` of all pairs of some samples, checked as `places_of`.

    Parameters
    ----------
    affinity : BaseAffinity
        Fitted oracle.

    y : targets of length n_samples
        Checked targets of both sides.

    levels : ndarray of shape (n_levels,)
        Values that the affinity can take, sorted.

    block_size : int
        Number of queries of a block.
    """
    n_samples = y.shape[0]
    for rows, index in affinity.level_blocks(y, y, levels, block_size):
        shape = len(range(*rows.indices(n_samples))), n_samples
        yield rows, check_places(index, affinity, levels, shape)


def check_places(index, affinity, levels, shape):
    """Return places of affinities as an array, or raise ValueError that names the affinity.

    Parameters
    ----------
    index : array-like or Tensor
        Places that an affinity has returned.

    affinity : BaseAffinity
        The oracle.

    levels : ndarray of shape (n_levels,)
        Values that the affinity can take.

    shape : tuple of (int, int)
        Numbers of queries and of database items.

    Returns
    -------
    index : ndarray or Tensor of this shape
        From -1 to n_levels - 1.
    """
    is_tensor = hasattr(index, "is_floating_point")
    if not is_tensor:
        index = np.asarray(index)
    is_real = not index.is_complex() if is_tensor else index.dtype.kind in "biuf"
    if tuple(index.shape) != shape or not is_real:
        raise ValueError(
            f"affinity {affinity.given!r} must give a place in its levels for each pair, "
            f"an array of integers of shape {shape}, got {index.dtype} of shape "
            f"{tuple(index.shape)}."
        )
    if np.prod(shape):
        lowest = index.min()
        highest = index.max()
        # An index of NaN is also refused.
        if not (lowest >= NOT_COUNTED and highest < len(levels)):
            raise ValueError(
                f"affinity {affinity.given!r} gave places from {lowest} to {highest} in "
                f"its levels {levels}, which are 0 to {len(levels) - 1}, or {NOT_COUNTED} "
                "for pairs that do not count. level_index and compare_batch return places, "
                "and not affinities; levels_ must hold all affinities, and a matrix must "
                "not change after it was wrapped."
            )
    return index


def _look_up(values, levels):
    """Places of affinities among the levels: -1 of negative ones, -2 if no level is equal.

    Parameters
    ----------
    values : ndarray of real numbers
        Affinities of any shape.

    levels : ndarray of shape (n_levels,)
        In ascending order, first 0.

    Returns
    -------
    index : ndarray of the shape of `values` of int
    """
    are_integers = values.dtype.kind in "biu" and levels.dtype.kind in "iu"
    if are_integers and values.size and values.max() <= levels[-1] < _WIDEST_TABLE:
        # Several times faster than a search. The last entry is the place of -1.
        places = np.full(int(levels[-1]) + 2, _LACKING, dtype=np.int32)
        places[levels] = np.arange(len(levels))
        places[-1] = NOT_COUNTED
        if values.min() < NOT_COUNTED:
            values = np.maximum(values, NOT_COUNTED)
        return places[values.astype(np.intp, copy=False)]
    index = np.searchsorted(levels, values)
    index[np.take(levels, index, mode="clip") != values] = _LACKING
    index[~(values >= 0)] = NOT_COUNTED
    return index


def refuse_row(y):
    """Raise ValueError if labels are one row of a matrix, like a vector of MATLAB."""
    shape = getattr(y, "shape", ())
    if len(shape) == 2 and shape[0] == 1 < shape[1]:
        raise ValueError(
            f"y should be a 1d array, got one row, of shape {shape}. If it holds a label "
            "for each sample, as MATLAB keeps a vector, pass np.ravel(y). If it holds the "
            "labels of one sample, pass affinity=SharedLabelAffinity()."
        )


def refuse_tags(y):
    """Raise ValueError if entries of an array are collections of labels, or rows names."""
    kinds = kinds_of(y)
    text_kinds = {kind for kind in kinds if issubclass(kind, (str, bytes))}
    has_lists = any(issubclass(kind, _COLLECTIONS) for kind in kinds - text_kinds)
    if has_lists and all(np.size(entry) == 1 for entry in y.flat):
        raise ValueError(
            "y has an array of one label for each sample, as scipy.io.loadmat reads the "
            "cells of MATLAB. Pass [str(label[0]) for label in y.ravel()], or read the "
            "file by loadmat(..., simplify_cells=True). If they are lists of labels, "
            f"{_HOW_TO_BINARIZE}."
        )
    if has_lists or (y.ndim == 2 and y.shape[1] > 1 and text_kinds):
        remedy = f"To learn from them, {_HOW_TO_BINARIZE}."
        if y.ndim == 2 and len(y) == 1:
            remedy += (
                " If it is one row of labels, as MATLAB keeps a vector, pass np.ravel(y)."
            )
        raise ValueError(f"y has several labels for one sample. {remedy}")


def kinds_of(array):
    """The types of the entries of an array."""
    return set(map(type, array.flat)) if array.dtype.kind == "O" else {array.dtype.type}


_PAIRS_PER_BLOCK = 2**20  # pairs whose affinities are computed at once
_MOST_COMPARED = 2**14  # samples whose pairs are all compared
_MOST_STORED = 2**24  # similar pairs that are stored
_WIDEST_TABLE = 2**16  # entries of a table of places by level
_LACKING = -2  # marks an affinity that is not among the levels
_SAVABLE = {}  # classes that have a plain form, by name


class BaseAffinity:
    """Base class of affinities.

    A subclass that defines ``__call__`` and `levels_` is an affinity, which hashers, tables
    of counts, scorers and indexes take. All other methods are optional: they have a default
    that is right for any affinity. Override a method for a cheaper computation, for other
    kinds of targets, or to change the treatment by learners.

    A plain function with the attribute ``levels_`` is also an affinity, with all defaults.
    For an affinity with parameters derive from this class, and then from scikit-learn's
    `BaseEstimator`: hashers clone such an affinity and call its ``fit(y)``, and a search
    sets its parameters as ``affinity__name``.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        Values that the affinity can take, in ascending order, first 0. An affinity without
        `levels_` trains in ``partial_fit(X, y, levels=levels)`` only.

    by_distance : bool
        Whether targets are rows of features, and near rows are similar. Hashers then have
        other defaults, and a scorer without `y` uses the features as targets. False by
        default.

    comes_with_targets : bool
        Whether the targets themselves hold the affinities, as a matrix does. Other targets
        then come with another affinity, and cannot be appended. False by default.

    by_number : bool
        Whether the target of an item is its number, from 0 in the order of the items, and
        the targets of queries hold the grades of these numbers. False by default.

    See Also
    --------
    LabelAffinity, SharedLabelAffinity : Affinities by class labels.
    ThresholdAffinity : Affinity by distance.
    JudgmentAffinity : Judgments of items by queries of another kind.
    PrecomputedAffinity : Affinities of a matrix.

    Examples
    --------
    Products are similar if their prices differ by at most 10:

    >>> import numpy as np
    >>> from sklearn_talr.affinity import BaseAffinity
    >>> class PriceAffinity(BaseAffinity):
    ...     levels_ = np.array([0, 1])
    ...
    ...     def __call__(self, y_query, y_database):
    ...         gap = np.abs(np.subtract.outer(y_query, y_database))
    ...         return (gap <= 10).astype(int)
    >>> affinity = PriceAffinity()
    >>> affinity.level_index(np.array([20]), np.array([15, 40]), affinity.levels_)
    array([[1, 0]], dtype=int32)
    """

    by_distance = False
    comes_with_targets = False
    by_number = False
    _levels_are_sure = False  # whether values need no look: they are among the levels

    def __init_subclass__(cls, savable: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Only the class that defines __call__ can declare this. A subclass with another
        # __call__ may return other values.
        owner = next(
            (base for base in cls.__mro__ if "__call__" in vars(base)), BaseAffinity
        )
        cls._levels_are_sure = vars(owner).get("_levels_are_sure", False)
        if savable:
            _SAVABLE[cls.__name__] = cls

    @staticmethod
    def from_oracle(affinity: Oracle) -> "BaseAffinity":
        """Return any affinity as an instance of this class.

        Parameters
        ----------
        affinity : affinity object
            An instance of this class is returned as it is. A function is wrapped.

        Returns
        -------
        affinity : BaseAffinity
            The same affinity.

        Raises
        ------
        ValueError
            If it is a class, or cannot be called.
        """
        if isinstance(affinity, type):
            raise ValueError(
                f"affinity must be an instance, not a class: write {affinity.__name__}()."
            )
        if not (callable(affinity) or isinstance(affinity, BaseAffinity)):
            raise ValueError(
                f"affinity must be 'auto' or an affinity object, got {affinity!r}. Choose "
                "one of sklearn_talr.affinity, such as LabelAffinity()."
            )
        return affinity if isinstance(affinity, BaseAffinity) else _OwnFunction(affinity)

    @property
    def given(self) -> Oracle:
        """The affinity that was passed: the function, if one is wrapped."""
        return self

    # Targets

    def check_targets(self, y: Any) -> Any:
        """Return targets as an array or CSR matrix, or raise ValueError.

        Parameters
        ----------
        y : targets of length n_samples
            Targets as they were passed.

        Returns
        -------
        targets : ndarray, CSR or sequence with a shape, of length n_samples
            Index arrays and slices select from them.
        """
        y = as_numpy(y, "y")
        return targets_as_csr(y) if sp.issparse(y) else np.asarray(y)

    def named_after(self, y: Any) -> "BaseAffinity":
        """Return an affinity that remembers the names of columns of targets, if it has any.

        Parameters
        ----------
        y : targets of length n_samples
            Targets as they were passed.

        Returns
        -------
        affinity : BaseAffinity
            By default this one, which ignores names.
        """
        return self

    def targets_of(self, X: Rows) -> Any:
        """Return the targets of samples that come without `y`: their features.

        Parameters
        ----------
        X : {ndarray, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : targets of length n_samples
            Targets for `check_targets`.
        """
        return X

    def check_width(self, y_query: Any, n_items: int) -> None:
        """Raise ValueError if targets of queries do not fit the number of items.

        Parameters
        ----------
        y_query : targets of length n_queries
            Checked targets.

        n_items : int
            Number of items.

        Notes
        -----
        By default targets do not depend on the number of items.
        """

    def group_targets(self, y: Any) -> tuple[Any, Array] | None:
        """Sort targets into groups of equal targets, if that is cheap.

        Codes are counted by group, and the affinity is evaluated for groups only.

        Parameters
        ----------
        y : targets of length n_samples
            Checked targets.

        Returns
        -------
        groups : tuple of (targets, ndarray of shape (n_samples,)) or None
            A target of each group, and the group of each target. None, the default, means
            that the affinity of every pair is evaluated.
        """
        return None

    def memberships(self, y: Any) -> tuple[Array | None, sp.csr_array] | None:
        """Return the classes of the targets, if they have classes.

        Parameters
        ----------
        y : targets of length n_samples
            Checked targets.

        Returns
        -------
        memberships : tuple of (ndarray or None, CSR of bool) or None
            Labels of the classes, None if classes are columns, and the membership of each
            sample, of shape (n_samples, n_classes). None, the default, means that there are
            no classes to predict or to learn.
        """
        return None

    def neighborhoods(self, y: Any, levels: Array) -> sp.csr_array | None:
        """Return sets of samples that are similar to the same sample, or of the same class.

        Such samples are drawn together if minibatches would hold few similar pairs.

        Parameters
        ----------
        y : targets of length n_samples
            Checked targets.

        levels : ndarray of shape (n_levels,)
            Values that the affinity can take, sorted.

        Returns
        -------
        neighborhoods : CSR of bool of shape (n_samples, n_columns), or None
            The members of a column are the samples that are similar to one sample, or, if a
            subclass has classes, the samples of one class. None if there are too many
            samples to compare all pairs, or too many similar pairs to store.
        """
        n_samples = y.shape[0]
        if n_samples > _MOST_COMPARED:
            return None
        blocks = []
        n_stored = 0
        block_size = max(1, _PAIRS_PER_BLOCK // n_samples)
        for _, index in place_blocks(self, y, levels, block_size):
            blocks.append(sp.csr_array(index > 0))
            n_stored += blocks[-1].nnz
            if n_stored > _MOST_STORED:
                return None
        return sp.csr_array(sp.vstack(blocks) + sp.eye_array(n_samples, dtype=bool))

    # Levels

    def levels_between(self, y_query: Any, y_database: Any) -> Array:
        """Return the values that the affinity of these targets can take.

        Parameters
        ----------
        y_query, y_database : targets
            Checked targets of both sides.

        Returns
        -------
        levels : ndarray of shape (n_levels,)
            In ascending order, first 0. By default they are `levels_`. Values below 0, of
            ignored pairs, are not levels.

        Raises
        ------
        TypeError
            If the affinity has no `levels_`.

        ValueError
            If `levels_` do not ascend from 0.
        """
        if not hasattr(self, "levels_"):
            raise TypeError(
                f"affinity {self!r} has no levels_: set its attribute levels_ to the "
                "sorted values that it can take, first 0."
            )
        levels = np.asarray(self.levels_)
        are_numbers = levels.ndim == 1 and levels.size and levels.dtype.kind in "biuf"
        if not are_numbers or levels[0] != 0 or not np.all(levels[1:] > levels[:-1]):
            raise ValueError(f"affinity.levels_ must ascend from 0 itself, got {levels}.")
        return levels

    def level_index(self, y_query: Any, y_database: Any, levels: Array) -> Array:
        """Evaluate the affinity as places in the list of its values.

        Parameters
        ----------
        y_query, y_database : targets
            Checked targets of both sides.

        levels : ndarray of shape (n_levels,)
            Values that the affinity can take, sorted.

        Returns
        -------
        index : ndarray of shape (n_query, n_database) of int
            ``levels[index]`` are the affinities. -1 marks ignored pairs, whose affinity is
            below 0 or NaN.

        Raises
        ------
        ValueError
            If an affinity is not among the levels, or there is not one for each pair.
        """
        if self._levels_are_sure:
            values = self._compare(y_query, y_database)
            # Levels 0, 1, 2, ... are their own places.
            if levels[-1] == len(levels) - 1:
                return values
        else:
            values = self(y_query, y_database)
        values = self._check_values(values, (y_query.shape[0], y_database.shape[0]))
        index = _look_up(values, levels)
        is_lacking = index < NOT_COUNTED
        if is_lacking.any():
            raise ValueError(
                f"affinity {self.given!r} gave values that its levels_ lack, such as "
                f"{values[is_lacking][0]}: they are {levels}."
            )
        return index

    def _compare(self, y_query, y_database):
        """Affinities of checked targets. Classes whose levels are sure override it."""
        return self(y_query, y_database)

    def _check_values(self, values, shape):
        """Return the values of an affinity as an array, or raise ValueError."""
        if sp.issparse(values):
            raise self._error_of_values(
                shape,
                "a sparse matrix. Return its toarray(), or pass one matrix of all samples "
                "as y=PrecomputedAffinity(matrix)",
            )
        if np.ma.is_masked(values):
            raise self._error_of_values(
                shape, "masked entries. Return -1 for ignored pairs"
            )
        values = np.asarray(values)
        if values.shape != shape:
            raise self._error_of_values(shape, f"shape {values.shape}")
        if values.dtype.kind not in "biuf":
            raise self._error_of_values(shape, str(values.dtype))
        return values

    def _error_of_values(self, shape, actual):
        """Error of an affinity that returns anything but an array of these numbers."""
        return ValueError(
            f"affinity {self.given!r} must return an array of numbers of shape (n_query, "
            f"n_database), here {shape}, got {actual}."
        )

    def level_blocks(
        self, y_query: Any, y_database: Any, levels: Array, block_size: int
    ) -> Iterator[tuple[slice, Array]]:
        """Yield ``(query_slice, level_index)`` for consecutive blocks of queries."""
        for rows in gen_batches(y_query.shape[0], block_size):
            yield rows, self.level_index(y_query[rows], y_database, levels)

    def with_levels(self, levels: Array) -> "BaseAffinity":
        """Return an affinity with the levels of one more chunk of targets.

        Parameters
        ----------
        levels : ndarray
            Levels of the chunk.

        Returns
        -------
        affinity : BaseAffinity
            By default this one, whose levels do not depend on targets.
        """
        return self

    def gain_levels(self, levels: Array) -> Array:
        """Return the levels for the gains in NDCG training, :math:`2^v - 1` for level v.

        Parameters
        ----------
        levels : ndarray of shape (n_levels,)
            Values of the affinity.

        Returns
        -------
        levels : ndarray of shape (n_levels,)
            By default the same levels, so that training and metric have the same gain.
        """
        return levels

    def check_contrast(self, targets: Any, levels: Array) -> None:
        """Raise ValueError unless pairs of samples differ in their affinity.

        The affinity of a sample to itself does not count, nor does that of ignored pairs.
        Blocks of pairs are evaluated until two affinities differ.

        Parameters
        ----------
        targets : targets of length n_samples
            Checked targets.

        levels : ndarray of shape (n_levels,)
            Sorted values that the affinity can take, first 0.

        Raises
        ------
        ValueError
            If no two samples are similar, or all pairs are equally similar.
        """
        smallest = len(levels)
        largest = 0
        block_size = min(256, max(1, _PAIRS_PER_BLOCK // targets.shape[0]))
        for rows, index in place_blocks(self, targets, levels, block_size):
            queries = np.arange(len(index))
            is_counted = index >= 0
            is_counted[queries, queries + rows.start] = False
            smallest = min(smallest, index.min(where=is_counted, initial=len(levels)))
            largest = max(largest, index.max(where=is_counted, initial=0))
            if largest > smallest:
                return
        if largest == 0:
            raise ValueError(
                "No two samples are similar, so there is nothing to rank first. Check y, "
                "and groups, within which pairs are ignored. If samples with close values "
                "of y are similar, pass affinity=ThresholdAffinity(); with y=None near "
                "neighbors in X are similar."
            )
        raise ValueError(
            "All pairs of samples are equally similar (only one class in y?), so every "
            "ranking is as good as any other. Fit on samples of at least two classes."
        )

    # Minibatches

    def batch_table(self, y: Any) -> Array | None:
        """Return targets as an array from which minibatches are taken, if possible.

        The array is moved to a device once. Without it the affinity is evaluated on the
        host, for each batch.

        Parameters
        ----------
        y : targets of length n_samples
            Checked targets.

        Returns
        -------
        table : ndarray with n_samples rows, or None
            None by default.
        """
        return None

    def compare_batch(self, rows: Any) -> Any:
        """Compare all pairs of rows of a table from `batch_table`.

        Parameters
        ----------
        rows : ndarray with n rows, or torch.Tensor
            A minibatch; a tensor, on any device, if the torch engine trains.

        Returns
        -------
        index : ndarray or Tensor of shape (n, n), of the kind of `rows`
            Places in the levels, of any real type; -1 for ignored pairs.

        Raises
        ------
        TypeError
            If a subclass overrides `batch_table` but not this method.
        """
        raise TypeError(
            f"{type(self).__name__} defines batch_table, so it must also define "
            "compare_batch, which returns places in the levels of all pairs of rows of "
            "that table."
        )

    # Fits and files

    @property
    def is_fitted(self) -> bool:
        """Whether the affinity is fitted, or has nothing to fit."""
        oracle = self.given
        return not isinstance(oracle, BaseEstimator) or "levels_" in vars(oracle)

    def fit_clone(self, y: Any) -> "BaseAffinity":
        """Return a clone of this affinity that is fitted to targets.

        Parameters
        ----------
        y : targets of length n_samples
            Checked targets.

        Returns
        -------
        affinity : BaseAffinity
            This one, if it is not a scikit-learn estimator, so that it has nothing to fit.
        """
        if not isinstance(self.given, BaseEstimator):
            return self
        with one_thread():
            return BaseAffinity.from_oracle(clone(self.given).fit(y))

    def to_plain(self) -> dict[str, Any]:
        """Return the affinity as numbers, strings and lists, for files.

        Returns
        -------
        plain : dict
            A form that `from_plain` reads.

        Raises
        ------
        ValueError
            If the affinity is not one of this library that has a plain form.
        """
        name = type(self.given).__name__
        if _SAVABLE.get(name) is not type(self):
            *first, last = _SAVABLE
            raise ValueError(
                f"affinity {name} cannot be saved: only {', '.join(first)} and {last} can. "
                "Pickle the estimator instead, or set affinity='auto' and fit without y."
            )
        state = {key: _plain(value) for key, value in vars(self).items()}
        # Only a fit needs the random state, and not every state has a plain form.
        if not isinstance(state.get("random_state"), Integral):
            state.pop("random_state", None)
        return {"name": name, "state": state}

    @staticmethod
    def from_plain(plain: Any) -> "BaseAffinity":
        """Make an affinity from the form that `to_plain` returns.

        Parameters
        ----------
        plain : dict
            The plain form.

        Returns
        -------
        affinity : BaseAffinity
            In the state it had.

        Raises
        ------
        ValueError, KeyError
            If `plain` is not the plain form of an affinity.
        """
        affinity = _SAVABLE[plain["name"]]()
        params = affinity.get_params()
        for key, value in plain["state"].items():
            if key not in params:
                if not _is_fitted_attribute(key, value):
                    raise ValueError(f"{plain['name']} has no {key!r} of {value!r}.")
                value = np.asarray(value) if isinstance(value, list) else value
            setattr(affinity, key, value)
        affinity._validate_params()
        return affinity


def _is_fitted_attribute(key, value):
    """Whether a plain value may be a fitted attribute: a number, a list of these, or names.

    None is also allowed, such as for the mean of sets.
    """
    if key[:1] == "_" or key[-1:] != "_":
        return False
    array = np.asarray(value)
    kinds = "U" if key == "label_names_in_" else "iuf"
    is_plain = array.dtype.kind in kinds and array.ndim < 2 and array.size
    return bool(is_plain) or value is None


def _plain(value):
    """A parameter or fitted attribute as a number, a string, None or a list of these."""
    if isinstance(value, str | Number | None):
        return value.item() if isinstance(value, np.generic) else value
    return np.asarray(value).tolist()


class _OwnFunction(BaseAffinity):
    """A wrapped function, or a callable object of a class outside this library."""

    def __init__(self, function):
        self._function = function

    @property
    def given(self):
        return self._function

    @property
    def levels_(self):
        return self._function.levels_

    def __call__(self, y_query, y_database):
        return self._function(y_query, y_database)

    def __repr__(self):
        return repr(self._function)
