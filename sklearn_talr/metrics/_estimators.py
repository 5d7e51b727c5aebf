"""Histograms of fitted hashers: codes of samples, and their targets."""

from .._arrays import as_numpy
from .._compat import StrOptions
from .._hashers import QUERIES, FittedHasher
from ..affinity import resolve_affinity
from ..histogram import hamming_histogram
from ..histogram._door import weighted_histograms

QUERY = [StrOptions(QUERIES)]


def estimator_histogram(estimator, X, y, affinity, database):
    """Encode samples by a fitted hasher, and count items by distance for each as a query.

    The parameters are those of :func:`make_retrieval_scorer` and of its scorer.
    """
    (histogram,) = estimator_histograms(estimator, X, y, affinity, database, "bits")
    return histogram


def estimator_histograms(estimator, X, y, affinity, database, query):
    """Return an iterable of histograms of consecutive queries.

    There is a single histogram where queries are bits. The parameters are those of
    :func:`make_retrieval_scorer` and of its scorer.
    """
    exclude_self = isinstance(database, str)
    if exclude_self and FittedHasher.of(estimator).has_two_views:
        raise ValueError(
            "database='rest' ranks the samples for each other, but the hasher was fitted "
            "to queries of another kind (X_query). Pass database=(X_items, y_items), or "
            "(X_items, None) where y has judgments of all items, and score queries."
        )
    oracle, targets = _settle_targets(estimator, X, y, affinity)
    if exclude_self:
        X_database, database_targets = X, targets
    else:
        X_database, y_database = database
        database_targets = _targets_of_items(
            estimator, X_database, y_database, affinity, oracle, targets
        )
    by_bits = query_of(estimator, query) == "bits"
    count = _counted_by_bits if by_bits else _counted_by_weights
    ranked = oracle, targets, database_targets
    return count(estimator, X, X_database, *ranked, exclude_self=exclude_self)


def query_of(estimator, query="auto"):
    """Say how a fitted hasher, or a Pipeline that ends in one, is asked.

    Parameters
    ----------
    estimator : fitted hasher, or Pipeline that ends in one
        What makes the codes.

    query : {"auto", "bits", "weights"}, default="auto"
        "auto" is settled by the hasher's `default_query`.

    Returns
    -------
    query : {"bits", "weights"}
        Whether queries are bits or weights.
    """
    return FittedHasher.of(estimator).asks_by(query)


def _counted_by_bits(estimator, X, X_database, *ranked, exclude_self):
    hasher = FittedHasher.of(estimator)
    if hasattr(hasher.hasher, "encode_query"):
        queries, database = hasher.encode_query(X), hasher.encode(X_database)
    else:
        queries = estimator.transform(X)
        database = queries if exclude_self else estimator.transform(X_database)
    yield hamming_histogram(queries, database, *ranked, exclude_self=exclude_self)


def _counted_by_weights(estimator, X, X_database, *ranked, exclude_self):
    hasher = FittedHasher.of(estimator)
    weights, packed = as_numpy(hasher.query_weights(X)), hasher.encode(X_database)
    return weighted_histograms(weights, packed, *ranked, exclude_self=exclude_self)


def name_of(estimator, query="bits"):
    """Name of the hasher's class for a legend, which tells of weighted queries."""
    asked = FittedHasher.of(estimator)
    return asked.name + (", weighted queries" if asked.asks_by(query) == "weights" else "")


def _settle_targets(estimator, X, y, affinity):
    if isinstance(affinity, str):
        affinity = getattr(FittedHasher.of(estimator).hasher, "affinity_", affinity)
        if y is not None and getattr(affinity, "comes_with_targets", False):
            affinity = "auto"  # y brings its own matrix
    if y is None:
        _require_thresholds(affinity)
        X = FittedHasher.of(estimator).prepare(X)
    return resolve_affinity(affinity, X, y)


def _targets_of_items(estimator, X, y, affinity, oracle, y_query):
    """Targets of the database; without `y` items may be known by number."""
    if y is not None or not oracle.by_number:
        return _settle_targets(estimator, X, y, affinity)[1]
    items = oracle.targets_of(X)
    oracle.check_width(y_query, len(items))
    return items


def _require_thresholds(affinity):
    if not getattr(affinity, "by_distance", False):
        raise ValueError(
            "Scoring without y needs an affinity by distance with known thresholds. Pass "
            "y, or affinity=ThresholdAffinity().fit(X_train) to make_retrieval_scorer."
        )
