"""Histograms of fitted hashers: whose codes, and which targets."""

from sklearn.pipeline import Pipeline

from ..affinity import PrecomputedAffinity, ThresholdAffinity
from ..affinity._resolve import resolve_affinity
from ..histogram import hamming_histogram


def estimator_histogram(estimator, X, y, affinity, database):
    """Encode samples by a fitted hasher and count what each finds in the database.

    The parameters are those of :func:`make_retrieval_scorer` and of its scorer.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)  # of a search
    oracle, targets = _settle_targets(estimator, X, y, affinity)
    codes = estimator.transform(X)
    if isinstance(database, str):
        return hamming_histogram(codes, codes, oracle, targets, targets, exclude_self=True)
    X_database, y_database = database
    _, database_targets = _settle_targets(estimator, X_database, y_database, affinity)
    return hamming_histogram(
        codes, estimator.transform(X_database), oracle, targets, database_targets
    )


def last_step(estimator):
    """The hasher itself, also of a Pipeline or a search."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _settle_targets(estimator, X, y, affinity):
    if isinstance(affinity, str):
        affinity = getattr(last_step(estimator), "affinity_", affinity)
        if y is not None and isinstance(affinity, PrecomputedAffinity):
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
    if not isinstance(affinity, ThresholdAffinity):
        raise ValueError(
            "Scoring without y needs an affinity by distance with known thresholds. Pass "
            "y, or affinity=ThresholdAffinity().fit(X_train) to make_retrieval_scorer."
        )
