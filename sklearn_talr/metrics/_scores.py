"""From affinities and real-valued scores to values of a metric, scikit-learn's way."""

from sklearn.utils.validation import _check_sample_weight

from ..histogram._tables import check_ranking
from ._evaluate import evaluate_ties, query_blocks
from ._queries import average_queries, check_cutoffs
from ._ties import ScoreTies


def score_queries(kernel, y_true, y_score, k, sample_weight, average, zero_relevant):
    """Values of a kernel, averaged over queries unless `average` is False.

    Called by the public functions alone: warnings point at their callers.
    """
    cutoffs, single = check_cutoffs(k)
    y_true, y_score = check_ranking(y_true, y_score)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, y_true, ensure_non_negative=True
        )
    n_queries, n_items = y_true.shape
    cells = n_items + (1 if single else len(cutoffs))
    ties = (
        ScoreTies(y_true[rows], y_score[rows], cutoffs)
        for rows in query_blocks(n_queries, cells)
    )
    values = evaluate_ties([kernel], ties, zero_relevant)[0]
    values = values[:, 0] if single else values
    return average_queries(values, sample_weight, stacklevel=4) if average else values
