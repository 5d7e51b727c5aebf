"""The scorer of what a loss maximizes."""

from ..metrics import make_retrieval_scorer

_METRICS = {"AP": "average_precision", "nDCG": "ndcg"}  # names of the scorer


def scorer_of(loss):
    """Make the scorer of the measure of a loss, average precision if it names none."""
    return make_retrieval_scorer(_METRICS[getattr(loss, "measure", "AP")])
