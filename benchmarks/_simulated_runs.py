"""Runs of systems that are equally good, with ties, as values of queries."""

import numpy as np

from sklearn_talr.metrics import (
    tie_aware_average_precision_score,
    tie_aware_ndcg_score,
    tie_aware_precision_score,
    tie_aware_reciprocal_rank_score,
)

MEASURES = "AP", "nDCG@10", "RR", "P@1"
# How much higher relevant documents score, in standard deviations of scores
SIGNALS = {"hard": 0.0, "middling": 1.0, "easy": 4.0}


def simulated_values(rng, n_queries, n_systems, difficulty, n_documents=30):
    """Expected values of systems that differ by chance alone.

    A tenth of the documents is relevant on average, and queries differ in how many are and
    in how far they stand out. Scores are integers from about -5 to 15, so that many are
    tied.

    Returns
    -------
    values : ndarray of shape (n_queries, n_systems, n_measures)
    """
    shares = rng.beta(1, 8, (n_queries, 1))
    y_true = (rng.random((n_queries, n_documents)) < shares).astype(int)
    y_true[:, 0] |= ~y_true.any(axis=1)
    signal = SIGNALS[difficulty] * rng.gamma(1, 1, (n_queries, 1)) * y_true
    values = []
    for _ in range(n_systems):
        y_score = np.round(1.5 * (signal + rng.normal(size=y_true.shape)))
        scored = y_true, y_score
        columns = [
            tie_aware_average_precision_score(*scored, average=False),
            tie_aware_ndcg_score(*scored, k=10, average=False),
            tie_aware_reciprocal_rank_score(*scored, average=False),
            tie_aware_precision_score(*scored, k=1, average=False),
        ]
        values.append(np.stack(columns, axis=1))
    return np.stack(values, axis=1)
