"""Methods of the comparison: how each is tuned, fitted and measured."""

import json
import time

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier

from sklearn_talr.affinity import LabelAffinity, ThresholdAffinity
from sklearn_talr.baselines import (
    BREHasher,
    CSQHasher,
    DPSHHasher,
    DSHHasher,
    DTSHHasher,
    FastHasher,
    HashNetHasher,
    MACHasher,
    MIHasher,
    OrthoHasher,
    StructHasher,
)
from sklearn_talr.hashing import ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import (
    empty_lookup_fraction,
    make_retrieval_scorer,
    radius_aware_map,
    radius_precision,
    tie_aware_average_precision_score,
    tie_aware_ndcg,
    tie_aware_ndcg_score,
    tie_breaking_range,
)
from sklearn_talr.neighbors import HammingNeighbors

METHODS = {
    "LSH": LSHHasher(),
    "ITQ": ITQHasher(),
    "BRE": BREHasher(),
    "MACHash": MACHasher(),
    "FastHash": FastHasher(),
    "StructHash": StructHasher(),
    "DSH": DSHHasher(),
    "DPSH": DPSHHasher(),
    "HashNet": HashNetHasher(),
    "DTSH": DTSHHasher(),
    "MIHash": MIHasher(),
    "TALR-AP": TALRHasher(objective="average_precision"),
    "TALR-NDCG": TALRHasher(objective="ndcg"),
    "OrthoHash": OrthoHasher(),
    "CSQ": CSQHasher(),
}
LOOKUP_METHODS = {
    "DSH": DSHHasher(),
    "4-DSH": DSHHasher(margin=4),
    "8-DSH": DSHHasher(margin=8),
    "12-DSH": DSHHasher(margin=12),
}
CLASSIFIERS = ("one-hot predictions", "classifier scores")  # have no length to choose
NEEDS_CLASSES = ("OrthoHash", "CSQ", *CLASSIFIERS)

# The tuning budget of each method that has something to tune: four candidates.
GRID = {"weight_decay": [0.1, 0.3, 0.6, 1.5]}
CLASSIFIER_GRID = {"C": [0.1, 1.0, 10.0, 100.0]}
N_FOLDS = 2
TUNING_BITS = 32

LARGEST_RADIUS = 4
_LOOKUP_QUERIES = 200
_ROWS_PER_BLOCK = 100


def applies(method, data):
    """Whether a method can be trained on a data set: some need classes."""
    return method not in NEEDS_CLASSES or not isinstance(data.affinity, ThresholdAffinity)


def main_metric(data):
    """Name of the metric that tuning maximizes: NDCG if affinity is graded."""
    is_binary = isinstance(data.affinity, LabelAffinity)
    return "average_precision" if is_binary else "ndcg"


def tune(method, data, seed):
    """Parameters that are best in cross-validation on training rows, and the seconds."""
    start = time.perf_counter()
    if method in CLASSIFIERS:
        grid, scoring = CLASSIFIER_GRID, None
        if not isinstance(data.affinity, LabelAffinity):
            grid = {f"estimator__{name}": values for name, values in grid.items()}
    else:
        grid, scoring = GRID, make_retrieval_scorer(main_metric(data))
    estimator = _estimator(method, TUNING_BITS, seed, data)
    if not set(grid) <= set(estimator.get_params()):
        return {}, 0.0
    folds = KFold(N_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(estimator, grid, scoring=scoring, cv=folds, refit=False)
    search.fit(data.X_train, data.y_train)
    return search.best_params_, time.perf_counter() - start


def measure(method, n_bits, seed, data, params, times_lookup=False):
    """Fit with tuned parameters, and return the columns that are measured."""
    estimator = _estimator(method, n_bits, seed, data).set_params(**params)
    start = time.perf_counter()
    estimator.fit(data.X_train, data.y_train)
    fitted = time.perf_counter()
    if method == "classifier scores":
        values = _measure_scores(estimator, data)
        return values | {"fit_seconds": fitted - start}
    encode = estimator.predict if method in CLASSIFIERS else estimator.transform
    query, database = encode(data.X_query), encode(data.X_database)
    encoded = time.perf_counter()
    if method in CLASSIFIERS:
        query, database = (_one_hot(codes, estimator) for codes in (query, database))
    values = _measure_codes(query, database, data) | {
        "fit_seconds": fitted - start,
        "encode_seconds": encoded - fitted,
    }
    if times_lookup:
        values["lookup_ms"] = _as_json(_lookup_ms(query, database))
    return values


def _estimator(method, n_bits, seed, data):
    if method in CLASSIFIERS:
        classifier = LogisticRegression(max_iter=1000)
        single = isinstance(data.affinity, LabelAffinity)
        return classifier if single else OneVsRestClassifier(classifier)
    hasher = clone((METHODS | LOOKUP_METHODS)[method])
    hasher.set_params(n_bits=n_bits, random_state=seed)
    if "affinity" in hasher.get_params():
        hasher.set_params(affinity=data.affinity)
    return hasher


def _measure_codes(query, database, data):
    histogram = hamming_histogram(
        query, database, data.affinity, data.y_query, data.y_database
    )
    worst, expected, best = map(np.nanmean, tie_breaking_range(histogram))
    radius = min(LARGEST_RADIUS, query.shape[1])
    curves = {
        "radius_precision": np.nanmean(radius_precision(histogram, radius), axis=0),
        "ramap": radius_aware_map(histogram, radius),
        "empty": empty_lookup_fraction(histogram, radius),
    }
    return {
        "ap_worst": worst,
        "ap": expected,
        "ap_best": best,
        "ndcg": np.nanmean(tie_aware_ndcg(histogram)),
    } | {name: _as_json(curve) for name, curve in curves.items()}


def _as_json(curve):
    return json.dumps([round(float(value), 6) for value in curve])


def _lookup_ms(query, database):
    """Milliseconds per query to find all within each radius in a hash table."""
    index = HammingNeighbors(algorithm="lookup", backend="numpy").fit(database)
    query = query[:_LOOKUP_QUERIES]
    milliseconds = []
    for radius in range(LARGEST_RADIUS + 1):
        index.radius_neighbors(query[:1], radius=radius)  # builds what it needs
        start = time.perf_counter()
        index.radius_neighbors(query, radius=radius)
        milliseconds.append(1000 * (time.perf_counter() - start) / len(query))
    return milliseconds


def _measure_scores(classifier, data):
    """Rank by inner products of predicted probabilities: no codes, and so a ceiling."""
    query, database = map(classifier.predict_proba, (data.X_query, data.X_database))
    values = []
    for start in range(0, len(query), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        affinity = data.affinity(data.y_query[rows], data.y_database)
        scores = query[rows] @ database.T
        values.append(
            [
                score(affinity, scores, average=False)
                for score in (tie_aware_average_precision_score, tie_aware_ndcg_score)
            ]
        )
    ap, ndcg = np.nanmean(np.concatenate(values, axis=1), axis=1)
    return {"ap": ap, "ndcg": ndcg}


def _one_hot(predictions, classifier):
    if predictions.ndim == 2:
        return predictions.astype(np.uint8)
    return (predictions[:, None] == classifier.classes_).astype(np.uint8)
