"""Evaluate runs against judgments, exactly under ties.

A *run* is the output of a search system: documents with scores, for each query.
*Judgments*, or qrels, are the relevance grades of documents for each query. Tables of
scores, such as leaderboards, are compared without runs and judgments.
"""

from ._comparison import RunComparison, compare_runs
from ._data import Qrels, Run
from ._evaluate import evaluate_run
from ._files import read_qrels, read_run
from ._mteb import read_mteb_results
from ._result import RunEvaluation
from ._scores import compare_scores

__all__ = [
    "Qrels",
    "Run",
    "RunComparison",
    "RunEvaluation",
    "compare_runs",
    "compare_scores",
    "evaluate_run",
    "read_mteb_results",
    "read_qrels",
    "read_run",
]
