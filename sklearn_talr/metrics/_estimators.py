"""Histograms of fitted hashers: whose codes, and which targets."""

from sklearn.pipeline import Pipeline

from .._arrays import NUMPY, space_of
from .._compat import StrOptions
from ..affinity import resolve_affinity
from ..codes._packed import as_packed
from ..codes._weighted import as_weights
from ..histogram import hamming_histogram
from ..histogram._weighted_rankings import weighted_histograms

QUERY = [StrOptions({"bits", "activations"})]


def estimator_histogram(estimator, X, y, affinity, database):
    """Encode samples by a fitted hasher and count what each finds in the database.

    The parameters are those of :func:`make_retrieval_scorer` and of its scorer.
    """
    (histogram,) = estimator_histograms(estimator, X, y, affinity, database, "bits")
    return histogram


def estimator_histograms(estimator, X, y, affinity, database, query):
    """Do the same, and return an iterable of histograms of consecutive queries.

    There is a single one where queries are bits.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)  # of a search
    oracle, targets = _settle_targets(estimator, X, y, affinity)
    codes = estimator.transform(X)
    if isinstance(database, str):
        ranked = codes, oracle, targets, targets
    else:
        X_database, y_database = database
        _, database_targets = _settle_targets(estimator, X_database, y_database, affinity)
        ranked = estimator.transform(X_database), oracle, targets, database_targets
    exclude_self = isinstance(database, str)
    if query == "bits":
        return _hamming_histograms(codes, *ranked, exclude_self=exclude_self)
    if space_of(codes) is not NUMPY:  # where codes remember no weights
        codes = last_step(estimator).query_weights(_hasher_space(estimator, X))
    return _weighted_histograms(codes, *ranked, exclude_self=exclude_self)


def _hamming_histograms(queries, database, oracle, *targets, exclude_self):
    yield hamming_histogram(queries, database, oracle, *targets, exclude_self=exclude_self)


def _weighted_histograms(queries, database, *ranked, exclude_self):
    weights, packed = as_weights(queries, "X"), as_packed(database)
    return weighted_histograms(weights, packed, *ranked, exclude_self=exclude_self)


def last_step(estimator):
    """The hasher itself, also of a Pipeline or a search."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _settle_targets(estimator, X, y, affinity):
    if isinstance(affinity, str):
        affinity = getattr(last_step(estimator), "affinity_", affinity)
        if y is not None and getattr(affinity, "comes_with_targets", False):
            affinity = "auto"  # y brings its own matrix
    if y is None:
        _require_thresholds(affinity)
        X = _hasher_space(estimator, X)
    return resolve_affinity(affinity, X, y)


def _hasher_space(estimator, X):
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return estimator[:-1].transform(X)
    return X


def _require_thresholds(affinity):
    if not getattr(affinity, "by_distance", False):
        raise ValueError(
            "Scoring without y needs an affinity by distance with known thresholds. Pass "
            "y, or affinity=ThresholdAffinity().fit(X_train) to make_retrieval_scorer."
        )
