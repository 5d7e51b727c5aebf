"""Evaluate runs against judgments, exactly under ties."""

from ._comparison import RunComparison, compare_runs
from ._evaluate import evaluate_run
from ._files import read_qrels, read_run
from ._inputs import Qrels, Run
from ._result import RunEvaluation

__all__ = [
    "Qrels",
    "Run",
    "RunComparison",
    "RunEvaluation",
    "compare_runs",
    "evaluate_run",
    "read_qrels",
    "read_run",
]
