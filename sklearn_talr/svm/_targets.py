"""What is relevant, and to which query."""

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target


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
    if loss != "zero_one" and kind == "multiclass" and y.dtype.kind in "iuf":
        grade = np.unique(y)[1]
        return (
            f"If y are grades of relevance, binarise them: loss={loss!r} ranks what is "
            f"relevant first, by fit(X, y >= {grade}) for instance. For classes without an "
            "order wrap the classifier in sklearn.multiclass.OneVsRestClassifier."
        )
    return "Wrap the classifier in sklearn.multiclass.OneVsRestClassifier."


def relevant_samples(y, classes):
    """Tell which labels are those of the positive class; no other than two may occur."""
    y = column_or_1d(y)
    positive = y == classes[1]
    strange = y[~positive & (y != classes[0])].tolist()
    if strange:
        raise ValueError(
            f"y has the label {strange[0]!r}, but fit saw {classes}. Binarise grades of "
            "relevance as for fit."
        )
    return positive


def query_numbers(groups, X):
    """Return the number of the query of each sample, 0 for all if there are no groups."""
    if groups is None:
        return np.zeros(X.shape[0], dtype=np.intp)
    groups = column_or_1d(groups)
    check_consistent_length(X, groups)
    return np.unique(groups, return_inverse=True)[1]


def mean_over_queries(metric, relevant, scores, query):
    """Average a metric over the queries that have something relevant.

    Queries of equal size are computed by one call of the metric.
    """
    order = np.argsort(query, kind="stable")
    sizes = np.bincount(query)
    first = np.cumsum(sizes) - sizes
    chosen = np.unique(query[relevant])
    total = 0.0
    for size in np.unique(sizes[chosen]):
        same = chosen[sizes[chosen] == size]
        rows = order[first[same, None] + np.arange(size)]
        total += metric(relevant[rows].astype(int), scores[rows]) * len(same)
    return total / len(chosen)
