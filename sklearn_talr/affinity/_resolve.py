"""From the `y` of a user to an affinity and checked targets."""

import numpy as np
import scipy.sparse as sp

from .._core.compat import validated
from .._core.types import Affinity, Any, Array, Column, Rows
from .._core.validation import as_numpy
from ._base import BaseAffinity, lists_as_array, refuse_tags, targets_as_csr
from ._excluded import within_groups
from ._labels import LabelAffinity, SharedLabelAffinity, is_indicator
from ._precomputed import PrecomputedAffinity
from ._threshold import ThresholdAffinity


@validated()  # the oracle checks targets, and its caller has checked the features
def fit_affinity(
    affinity: Affinity, X: Rows, y: Any, groups: Column = None
) -> tuple[BaseAffinity, Any, Array]:
    """Resolve and fit the affinity in `fit(X, y)` of a hasher.

    Parameters
    ----------
    affinity : "auto" or affinity object
        The parameter of the hasher. An affinity that is a scikit-learn estimator is cloned
        first.

    X : {ndarray, CSR} of shape (n_samples, n_features)
        Checked features.

    y : targets of length n_samples or None
        Targets as they were passed. None means the targets that the affinity makes from X.

    groups : array-like of shape (n_samples,), default=None
        Labels of groups, within which pairs are ignored.

    Returns
    -------
    affinity : BaseAffinity
        The fitted affinity. ``affinity.given`` is the object that was passed.

    targets : targets of length n_samples
        Checked targets.

    levels : ndarray of shape (n_levels,)
        Values that the affinity takes, in ascending order, first 0.

    Raises
    ------
    ValueError
        If X and y differ in length, no pair of samples is similar, or all pairs are equally
        similar.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.affinity import fit_affinity
    >>> affinity, targets, levels = fit_affinity("auto", np.eye(3), ["a", "b", "a"])
    >>> affinity, levels
    (LabelAffinity(), array([0, 1]))
    """
    affinity, targets = resolve_affinity(affinity, X, y)
    affinity = affinity.fit_clone(targets)
    affinity, targets = within_groups(affinity, targets, groups)
    levels = affinity.levels_between(targets, targets)
    affinity.check_contrast(targets, levels)
    return affinity, targets, levels


@validated()  # the oracle checks targets, and its caller has checked the features
def resolve_affinity(
    affinity: Affinity, X: Rows | None, y: Any
) -> tuple[BaseAffinity, Any]:
    """Resolve "auto" and check the targets, without fitting anything.

    Parameters
    ----------
    affinity : "auto" or affinity object
        ``"auto"`` chooses by the form of `y`, which may be labels, indicators, a
        :class:`PrecomputedAffinity`, a square matrix, or None for distances in X.

    X : {ndarray, CSR} of shape (n_samples, n_features) or None
        Checked features. They are the targets if `y` is None. None if there are none.

    y : targets of length n_samples or None
        Targets as they were passed.

    Returns
    -------
    affinity : BaseAffinity
        The affinity that was passed, or an unfitted one for "auto".

    targets : targets of length n_samples
        Its checked targets.

    Raises
    ------
    ValueError
        If `affinity` is not an affinity object, the form of `y` is ambiguous, or X and y
        differ in their number of samples.

    Examples
    --------
    >>> from sklearn_talr.affinity import resolve_affinity
    >>> resolve_affinity("auto", None, [[1, 0], [1, 1], [0, 1]])
    (SharedLabelAffinity(), array([[1, 0],
           [1, 1],
           [0, 1]]))
    """
    y = as_numpy(y, "y")
    targets = y
    if isinstance(affinity, str) and affinity == "auto":
        affinity, targets = _affinity_by_form(y)
    affinity = BaseAffinity.from_oracle(affinity)
    if targets is None:
        targets = affinity.targets_of(X)
    targets = affinity.check_targets(targets)
    affinity = affinity.named_after(y)
    if X is not None and np.shape(X)[0] != targets.shape[0]:
        raise ValueError(
            "X and y must have the same number of samples, got "
            f"{np.shape(X)[0]} and {targets.shape[0]}."
        )
    return affinity, targets


def _affinity_by_form(y):
    """The affinity for the form of the targets, and the targets in the form it takes."""
    if y is None:
        return ThresholdAffinity(), None
    if isinstance(y, BaseAffinity):
        return y, y
    values = targets_as_csr(y) if sp.issparse(y) else np.asarray(lists_as_array(y))
    if values.ndim != 2 or values.shape[1] == 1:
        if np.asarray(values).dtype.kind == "f":
            _refuse_quantities(values)
        return LabelAffinity(), values
    if not sp.issparse(values):
        refuse_tags(values)
    _refuse_fractions(values)
    if values.shape[0] == values.shape[1]:
        matrix = PrecomputedAffinity(y)
        return matrix, matrix
    if values.shape[1] < values.shape[0] and is_indicator(values):
        return SharedLabelAffinity(), values
    raise ValueError(
        f"y of shape {values.shape} is neither labels, nor a 0/1 label indicator "
        "with at most as many columns as rows. Pass np.ravel(y) if it is one "
        "row of labels, as MATLAB keeps a vector, "
        "y=PrecomputedAffinity(matrix) if it is a matrix of affinities that "
        "cross-validation has sliced by rows, affinity=JudgmentAffinity() if "
        "its columns are samples of another kind, such as the queries that "
        "judge these items, affinity=SharedLabelAffinity() if it is a label "
        "indicator, MultiLabelBinarizer().fit_transform(y) if its rows list "
        "the labels of each sample, or affinity=ThresholdAffinity() if they "
        "are features."
    )


def _refuse_fractions(y):
    """Raise ValueError if entries of a matrix are neither indicators nor affinities."""
    values = y.data if sp.issparse(y) else y
    if values.dtype.kind not in "if":
        return
    # NaN is refused with the negative numbers.
    if np.any(~(values >= 0) | (np.trunc(values) < values)):
        raise ValueError(
            f"y of shape {y.shape} is neither a 0/1 label indicator nor a matrix "
            "of affinities, which are non-negative integers. If its rows are "
            "features whose distance defines similarity, pass "
            "affinity=ThresholdAffinity(). Round or bin affinities. If negative "
            "ones, or NaN, are ignored pairs: PrecomputedAffinity(y). "
            "If a sample lacks labels that are -1: (y > 0).astype(int). If "
            "fractions are probabilities of labels: (y > 0.5).astype(int)."
        )


def _refuse_quantities(y):
    """Raise ValueError if floats look like values of a quantity, and not like classes."""
    numbers = np.ravel(y)
    numbers = numbers[np.isfinite(numbers)]
    n_distinct = len(np.unique(numbers))
    if np.any(numbers % 1) or n_distinct > max(20, len(numbers) // 3):
        raise ValueError(
            f"y holds {n_distinct} different numbers in {len(numbers)} samples, which look "
            "like values of a quantity and not like classes. If samples with close values "
            "are similar, pass affinity=ThresholdAffinity(). If the numbers are classes, "
            "number them from 0: np.unique(y, return_inverse=True)[1]."
        )
