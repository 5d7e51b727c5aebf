"""Relevance of samples to queries, read from labels or grades of relevance."""

import warnings

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._arrays import check_groups

LARGEST_GRADE = 1000  # 2**grade is summed in float64
_DROPPED_GROUPS = (
    "fit saw {} queries, but score got no groups and ranks all samples as one query. Pass "
    "groups (all equal if this is one query). A Pipeline or a search hands them on only "
    "after sklearn.set_config(enable_metadata_routing=True) and, on the RankingSVC, "
    ".set_fit_request(groups=True).set_score_request(groups=True)."
)


def read_targets(y, loss, groups):
    """Return the two classes, the number of the class of each sample, and the grades.

    Whole numbers are grades if there are queries (`groups`); without queries they are more
    likely classes without an order. If there are more than two grades, the upper class is
    that of the relevant samples. Relevant are grades above 0, and for NDCG, which may lack
    grade 0, grades above the lowest one. Without grades the third value is None.
    """
    if groups is None or not _are_grades(y):
        if groups is not None and loss != "zero_one":
            _warn_of_grades_without_0(y)
        return *two_classes(y, loss), None
    grades = _check_grades(y)
    above = y
    if _are_several_numbers(y):
        lowest = grades.min() if loss == "ndcg" else 0
        if grades.min() > lowest:
            raise ValueError(
                f"y must have samples of grade 0 for loss={loss!r}, for which all above 0 "
                f"is relevant. Binarize y, as by fit(X, y >= {np.unique(y)[1]})."
            )
        above = grades > lowest
    return *two_classes(above, loss), grades


def _warn_of_grades_without_0(y):
    """Warn if `y` has two numbers above 0, which are read as classes and not as grades."""
    if type_of_target(y) != "binary" or y.dtype.kind not in "iuf":
        return
    low, high = y.min(), y.max()
    if 0 < low < high <= LARGEST_GRADE and low == np.floor(low):
        warnings.warn(
            f"y has the numbers {low} and {high}, which are taken for two classes, of "
            f"which {high} is relevant. Pass y == {high} to say so. Grades of relevance "
            "need samples of grade 0, which are not relevant.",
            stacklevel=5,  # of whoever called fit, which is decorated
        )


def relevance_of(y, classes, grades):
    """Return the relevance of labels, or of grades if `fit` saw such, as integers."""
    if grades is None:
        return relevant_samples(y, classes).astype(int)
    return _check_grades(y)


def label_of(y, classes, grades):
    """Return labels as they are, and the classes of grades if `fit` saw such."""
    return y if grades is None else classes[(_check_grades(y) > 0).astype(int)]


def two_classes(y, loss):
    """Return the two classes, sorted, and for each sample the number of its class."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            + _remedy(y, kind, loss)
        )
    classes, target = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must have samples of 2 classes to rank, got only one class, {classes[0]!r}."
        )
    return classes, target


def _remedy(y, kind, loss):
    """Say what to do about other targets than those of two classes."""
    if loss != "zero_one" and _are_several_numbers(y):
        grade = np.unique(y)[1]
        return (
            "If y are grades of relevance, pass groups, all equal if this is one query, or "
            f"binarize them, as by fit(X, y >= {grade}). For classes without an order wrap "
            "the classifier in sklearn.multiclass.OneVsRestClassifier."
        )
    return "Wrap the classifier in sklearn.multiclass.OneVsRestClassifier."


def _are_grades(y):
    """Tell whether labels can be read as grades of relevance.

    Two numbers can if the lower one is 0: the NDCG is that of two classes then. A set for
    training may lack the rarer grades that a test set has.
    """
    if _are_several_numbers(y):
        return True
    is_two_numbers = type_of_target(y) == "binary" and y.dtype.kind in "iuf"
    return is_two_numbers and y.min() == 0 and y.max() <= LARGEST_GRADE


def _check_grades(y):
    """Return grades of relevance as integers, or raise ValueError."""
    y = column_or_1d(y)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"y must be grades of relevance, whole numbers from 0 to {LARGEST_GRADE}, as "
            f"fit saw them, got {y.dtype.type.__name__}."
        )
    wrong = y[(y < 0) | (y != np.floor(y)) | (y > LARGEST_GRADE)]
    if len(wrong):
        raise ValueError(
            f"y must be grades of relevance, whole numbers from 0 to {LARGEST_GRADE}, got "
            f"{wrong[0]!r}."
        )
    return y.astype(np.int64)


def _are_several_numbers(y):
    """Whether labels are more than two different whole numbers."""
    return type_of_target(y) == "multiclass" and np.asarray(y).dtype.kind in "iuf"


def relevant_samples(y, classes):
    """Tell which labels are those of the positive class; no other than two may occur."""
    y = column_or_1d(y)
    positive = y == classes[1]
    strange = y[~positive & (y != classes[0])].tolist()
    if strange:
        raise ValueError(
            f"y has the label {strange[0]!r}, but fit saw {classes}. Binarize grades of "
            "relevance as for fit."
        )
    return positive


def query_numbers(groups, X):
    """Return the number of the query of each sample, 0 for all if there are no groups."""
    if groups is None:
        return np.zeros(X.shape[0], dtype=np.intp)
    groups = check_groups(groups, X.shape[0])
    check_consistent_length(X, groups)
    return np.unique(groups, return_inverse=True)[1]


def mean_over_queries(metric, relevance, scores, groups, n_fitted):
    """Average a metric over the queries that have something of relevance above 0.

    If there are no groups, or nothing is relevant, all samples are one query. Queries of
    equal size are computed by one call of the metric. Warn if there are no groups although
    `fit` saw several queries.
    """
    if groups is None and n_fitted > 1:
        warnings.warn(_DROPPED_GROUPS.format(n_fitted), stacklevel=3)
    if groups is None or not relevance.any():
        return metric([relevance], [scores])
    query = query_numbers(groups, scores)
    order = np.argsort(query, kind="stable")
    sizes = np.bincount(query)
    first = np.cumsum(sizes) - sizes
    chosen = np.unique(query[relevance > 0])
    total = 0.0
    for size in np.unique(sizes[chosen]):
        same = chosen[sizes[chosen] == size]
        rows = order[first[same, None] + np.arange(size)]
        total += metric(relevance[rows], scores[rows]) * len(same)
    return total / len(chosen)
