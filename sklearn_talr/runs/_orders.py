"""Checks for ranks and distances in place of scores, of which the highest is the best."""

import numpy as np
from scipy.special import gammaln

from .._core.progress import warn_caller

# Scores of documents that are stored in any order rise by chance in 2**-10 of the runs.
_MIN_BITS_OF_SURPRISE = 10.0
_LOWER_IS_BETTER = (
    "A higher score is better. If these are ranks or distances, pass minus the scores: "
    "run.assign(score=-run['score']), or -distances"
)


def check_order(numbers, scores, ranks=None):
    """Refuse scores that contradict their ranks, and warn of scores in rising order.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows,) of int
        Query of each document.

    scores : ndarray of shape (n_rows,)

    ranks : ndarray of shape (n_rows,), default=None
        Rank of each document, the best first, if the run declares it.

    Raises
    ------
    ValueError
        If in each query of several documents scores rise with the rank, so that the first
        rank has the lowest score.

    Warns
    -----
    UserWarning
        If there are no ranks, and the documents of each query are stored by rising scores.
    """
    if ranks is not None:
        order = np.lexsort((ranks, numbers))
        if _rises(numbers[order], ranks[order], strictly=True):
            _refuse_ranks(numbers[order], scores[order], ranks[order])
            return
    if not np.any((numbers[1:] == numbers[:-1]) & (scores[1:] > scores[:-1])):
        return
    order = np.argsort(numbers, kind="stable")
    if _bits_of_rising(numbers[order], scores[order]) >= _MIN_BITS_OF_SURPRISE:
        warn_caller(
            "the documents of each query are stored by rising scores, so the first one is "
            f"the worst. {_LOWER_IS_BETTER}. If the order of rows has no meaning, sort "
            "the documents of each query by falling scores to avoid this warning."
        )


def _refuse_ranks(numbers, scores, ranks):
    is_several = np.any(numbers[1:] == numbers[:-1])
    are_ranks = np.array_equal(ranks, scores) and is_several
    if are_ranks or _bits_of_rising(numbers, scores) >= _MIN_BITS_OF_SURPRISE:
        state = "the scores are the ranks" if are_ranks else "scores rise with the rank"
        raise ValueError(
            f"in each query with several documents {state}, so the first rank has the "
            f"lowest score. {_LOWER_IS_BETTER}. If the ranks are wrong, leave them out: "
            "pass run.drop(columns='rank') of a table. Read a file in TREC's format with "
            "pd.read_csv(path, sep=r'\\s+', names=['query_id', 'Q0', 'doc_id', 'rank', "
            "'score', 'tag'])."
        )


def _rises(numbers, values, *, strictly=False):
    """Whether values never fall from row to row of a query."""
    is_within = numbers[1:] == numbers[:-1]
    steps = np.diff(values)[is_within]
    return bool(np.all(steps > 0 if strictly else steps >= 0))


def _bits_of_rising(numbers, scores):
    """Surprise, in bits, that no score falls, if all orders are equally likely.

    It is the logarithm, base 2, of the number of orders, one of which rises; 0 if a score
    falls. Orders that differ only within ties count as one.
    """
    if not _rises(numbers, scores):
        return 0.0
    begins_query = np.append(True, numbers[1:] != numbers[:-1])
    begins_tie = begins_query | np.append(True, scores[1:] != scores[:-1])
    n_of_query = np.diff(np.flatnonzero(begins_query), append=len(numbers))
    n_of_tie = np.diff(np.flatnonzero(begins_tie), append=len(numbers))
    nats = gammaln(n_of_query + 1.0).sum() - gammaln(n_of_tie + 1.0).sum()
    return float(nats / np.log(2))
