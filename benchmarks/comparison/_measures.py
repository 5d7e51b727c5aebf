"""What is measured of a method: how well it ranks, and what it costs."""

import json
import time

import numpy as np
from _methods import (
    CLASSIFIERS,
    SCORES,
    WORDS,
    call_hasher,
    is_taught,
    make_estimator,
    query_weights,
)
from _teacher import Taught, taught
from sklearn.utils import gen_batches

from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.codes import pack_codes, weighted_scores
from sklearn_talr.histogram import RankingHistogram, hamming_histogram
from sklearn_talr.measures import AP, nDCG
from sklearn_talr.metrics import (
    empty_lookup_fraction,
    radius_aware_map,
    radius_precision,
    tie_breaking_range,
)
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors

LARGEST_RADIUS = 4
_N_TIMED = 200
_ROWS_PER_BLOCK = 20


def measure(method, n_bits, seed, data, params):
    """Fit with these parameters, and return the columns that are measured.

    Seconds are those of the processor, so that what else runs on it counts little, and
    those of a teacher are among them.
    """
    teacher = taught(data) if is_taught(method) else Taught(data, 0.0, 0.0)
    data = teacher.data
    estimator = make_estimator(method, n_bits, seed, data).set_params(**params)
    start = time.process_time()
    estimator.fit(data.X_train, data.y_train)
    fitted = time.process_time()
    encode = _encoder(method, estimator, data)
    database = encode(data.X_database)
    encoded = time.process_time()
    query = encode(data.X_query)
    encode_seconds = teacher.encode_seconds + encoded - fitted
    values = {
        "fit_seconds": teacher.fit_seconds + fitted - start,
        "encode_seconds_per_million": 1e6 * encode_seconds / len(database),
        "bytes": _n_bytes(database),
    }
    if method in SCORES:
        return values | _measure_scores(query, database, data)
    if method not in WORDS:
        values |= _measure_codes(query, database, data)
    if method not in CLASSIFIERS:
        weights = query_weights(method, estimator, data)
        packed = call_hasher(estimator, "encode", data.X_database)
        values |= _measure_weighted(weights, packed, data)
        values |= {
            "bytes": packed.nbytes // len(packed),
            "float_ms": _search_ms(WeightedHammingNeighbors(10, n_jobs=1), packed, weights),
        }
    if method not in (*CLASSIFIERS, *WORDS):
        index = HammingNeighbors(10, n_jobs=1)
        values["hamming_ms"] = _search_ms(index, database, query)
    return values


def _encoder(method, estimator, data):
    """A function of features: codes, or the probabilities of a classifier."""
    if method not in CLASSIFIERS:
        return estimator.transform
    probabilities = estimator.transform if is_taught(method) else estimator.predict_proba
    if method in SCORES:
        return probabilities
    return lambda X: _one_hot(probabilities(X), data.affinity)


def _one_hot(probabilities, affinity):
    """Bits of the most probable class, or of each label that is more likely than not."""
    if isinstance(affinity, LabelAffinity):
        classes = probabilities.argmax(axis=1)
        return np.eye(probabilities.shape[1], dtype=np.uint8)[classes]
    return (probabilities > 0.5).astype(np.uint8)


def _n_bytes(database):
    """Bytes of an item, which is a code or floats."""
    if database.dtype != np.uint8:
        return 4 * database.shape[1]  # floats need no more
    return pack_codes(database).nbytes // len(database)


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
        "ndcg": np.nanmean(nDCG.of(histogram)),
    } | {name: _as_json(curve) for name, curve in curves.items()}


def _measure_scores(query, database, data):
    """Rank by inner products."""
    return _measure_blocks(
        data,
        lambda rows, true: RankingHistogram.from_scores(true, query[rows] @ database.T),
    )


def _measure_weighted(weights, packed, data):
    """Rank by weights: codes that are equal need one score."""
    keys = packed.data
    if packed.terms.n_terms:
        keys = np.hstack([keys, packed.terms.values.view(np.uint8)])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    distinct, place = packed[first], place.ravel()

    def histogram(rows, true):
        return _histogram_of_places(true, weighted_scores(weights[rows], distinct), place)

    return _measure_blocks(data, histogram)


def _histogram_of_places(true, scores, place):
    """The histogram of ``scores[:, place]``, without sorting as many as there are items."""
    levels = np.union1d([0], true)
    level = np.searchsorted(levels, true)
    n_ties = scores.shape[1]
    counts = np.empty((len(true), len(levels), n_ties), dtype=np.int64)
    for query, values in enumerate(scores):
        _, tie = np.unique(-values, return_inverse=True)  # the best first
        cells = np.bincount(level[query] * n_ties + tie[place], minlength=counts[0].size)
        counts[query] = cells.reshape(counts[0].shape)
    return RankingHistogram(counts, levels)


def _measure_blocks(data, histogram):
    """AP and NDCG of histograms, a few queries at a time."""
    values = []
    for rows in gen_batches(len(data.y_query), _ROWS_PER_BLOCK):
        table = histogram(rows, data.affinity(data.y_query[rows], data.y_database))
        values.append([metric.of(table) for metric in (AP, nDCG)])
    ap, ndcg = np.nanmean(np.concatenate(values, axis=1), axis=1)
    return {"ap_float": ap, "ndcg_float": ndcg}


def _as_json(curve):
    return json.dumps([round(float(value), 6) for value in curve])


def _search_ms(index, database, query):
    """Milliseconds per query to find the 10 nearest."""
    index.fit(database).kneighbors(query[:1])  # the first search makes tables
    start = time.process_time()
    index.kneighbors(query[:_N_TIMED])
    return 1000 * (time.process_time() - start) / min(_N_TIMED, len(query))
