"""Names that other rooms take from this one, beyond the public ones."""

from ._evaluation import (
    OF_SCORES,
    average_queries,
    check_weights,
    evaluate_histogram,
    fill_undefined,
    histogram_range,
    score_arrays,
    settled_for_arrays,
    together,
)
from ._ranked_items import RaggedTies, RankedItems

__all__ = [
    "OF_SCORES",
    "RaggedTies",
    "RankedItems",
    "average_queries",
    "check_weights",
    "evaluate_histogram",
    "fill_undefined",
    "histogram_range",
    "score_arrays",
    "settled_for_arrays",
    "together",
]
