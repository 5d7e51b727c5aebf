"""What is relevant, and to which query."""

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._arrays import check_groups

LARGEST_GRADE = 1000  # 2**grade is summed in float64


def read_targets(y, loss, groups):
    """Return the two classes, for each sample the number of its class, and the grades.

    There are grades if there are numbers to rank by NDCG within queries. Without queries
    they are more likely classes without an order. If there are more than two numbers, the
    class of a sample tells whether its grade is above the lowest. If there are no grades
    they are None.
    """
    if loss != "ndcg" or groups is None or not _are_grades(y):
        return *two_classes(y, loss), None
    grades = _check_grades(y)
    above = grades > grades.min() if _are_several_numbers(y) else y
    return *two_classes(above, loss), grades


def relevance_of(y, classes, grades):
    """Return the relevance of labels, or of grades if `fit` saw such, as integers."""
    if grades is None:
        return relevant_samples(y, classes).astype(int)
    return _check_grades(y)


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
            "If y are grades of relevance, take loss='ndcg' and pass groups, all equal if "
            f"this is one query, or binarize them, as by fit(X, y >= {grade}). For classes "
            "without an order wrap the classifier in "
            "sklearn.multiclass.OneVsRestClassifier."
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
    groups = check_groups(groups)
    check_consistent_length(X, groups)
    return np.unique(groups, return_inverse=True)[1]


def mean_over_queries(metric, relevance, scores, groups):
    """Average a metric over the queries that have something of relevance above 0.

    If there are no groups, or nothing is relevant, all samples are one query. Queries of
    equal size are computed by one call of the metric.
    """
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
