"""One run of several, by ranks or by scores."""

from collections import defaultdict
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain, count
from math import fsum
from numbers import Real

import numpy as np

from .._compat import Interval, StrOptions, validate_params
from ._files import load_run
from ._inputs import Run
from ._tables import make_table

__all__ = ["fuse_runs"]

_BITS = 128  # of a reciprocal: twice those of a float, and some to spare
_SPLITTER = 2.0**27 + 1  # halves the 53 bits of a float


@validate_params(
    {
        "runs": [list, tuple],
        "method": [StrOptions({"rrf", "borda", "combsum", "combmnz"})],
        "rank_constant": [Interval(Real, 0, np.inf, closed="left")],
        "norm": [StrOptions({"min-max"}), None],
        "name": [str, None],
    },
    prefer_skip_nested_validation=True,
)
def fuse_runs(runs, method="rrf", *, rank_constant=60, norm="min-max", name=None):
    r"""Fuse runs of several systems into one run, exactly under ties.

    A document of the fused run is in one of the runs at least. Its score is the sum of what
    the runs give it:

    * ``"rrf"``, reciprocal rank fusion [1]_: 1 / (`rank_constant` + rank), and 0 by a run
      that lacks the document.
    * ``"borda"``, BordaFuse [2]_: n + 1 - rank, where n is the number of documents of the
      query in all runs together. The documents that a run lacks share its last ranks.
    * ``"combsum"`` [3]_: the score, normalized as `norm` says, and 0 by a run that lacks
      the document.
    * ``"combmnz"`` [3]_: likewise, and the sum is multiplied by the number of runs that
      have the document.

    Parameters
    ----------
    runs : list or tuple of Run, of str or path-like, or of any data that Run takes
        The runs to be fused, one or more. Their order does not matter.

    method : {"rrf", "borda", "combsum", "combmnz"}, default="rrf"
        How to fuse. ``"rrf"`` and ``"borda"`` look at ranks alone, so that the scores of
        the runs need have nothing in common.

    rank_constant : float, default=60
        What ``"rrf"`` adds to a rank, called k in the paper. The greater it is, the less
        the first ranks stand out. Other methods do not use it.

    norm : {"min-max"} or None, default="min-max"
        How ``"combsum"`` and ``"combmnz"`` normalize scores. ``"min-max"`` moves those of
        each query and run to the range from 0 to 1; where all are equal they become 0. None
        takes them as they are. Other methods do not use it.

    name : str, default=None
        Name of the fused run. None takes `method`.

    Returns
    -------
    run : Run
        The fused run. Its queries are those of the first run, then what each run adds.

    Raises
    ------
    ValueError
        If there is no run, or `norm` is None and a run that lacks a document has a negative
        score, which would be worse than to lack it, or the sum of scores is too large.

    TypeError
        If an element of `runs` is no run.

    See Also
    --------
    evaluate_run : How good the fused run is, and what its ties can do.

    Notes
    -----
    Documents of equal score have no ranks of their own. By ``"rrf"`` and ``"borda"`` each
    gets the mean over the ranks of its tie, which is the expected value over all orders
    of the tied documents. For ``"borda"`` this is the value of the mean rank. For ``"rrf"``
    it is the mean of the reciprocals, which is greater than the reciprocal of the mean
    rank: a tie for the ranks 1 to 3 is worth what the documents in these ranks have on
    average, not less.

    Fusion makes ties of its own: a document that is first in one run and second in another
    is worth as much as one that is second and first. Sums that are equal as fractions are
    equal in the fused run, whatever the order of the runs. Plain sums of floats are not:
    ranks 3 and 24 are worth as much by ``"rrf"`` as ranks 12 and 12, as
    1/63 + 1/84 = 1/72 + 1/72.

    References
    ----------
    .. [1] G. V. Cormack, C. L. A. Clarke and S. Büttcher, "Reciprocal rank fusion
       outperforms Condorcet and individual rank learning methods", SIGIR 2009.
    .. [2] J. A. Aslam and M. Montague, "Models for metasearch", SIGIR 2001.
    .. [3] E. A. Fox and J. A. Shaw, "Combination of multiple searches", TREC-2, 1993.

    Examples
    --------
    The first run ties d1 and d2. So d1 has the mean of 1/61 and 1/62 from it, and 1/61
    from the other run:

    >>> from sklearn_talr.runs import fuse_runs
    >>> words = {"q1": {"d1": 7.0, "d2": 7.0, "d3": 4.0}}
    >>> vectors = {"q1": {"d1": 0.9, "d3": 0.8, "d4": 0.7}}
    >>> fused = fuse_runs([words, vectors])
    >>> for document, score in fused.to_dict()["q1"].items():
    ...     print(document, round(score, 5))
    d1 0.03265
    d3 0.032
    d2 0.01626
    d4 0.01587
    >>> fuse_runs([words, vectors], "borda").to_dict()["q1"]
    {'d1': 7.5, 'd3': 5.0, 'd2': 4.5, 'd4': 3.0}
    """
    if not runs:
        raise ValueError("fuse_runs needs one run at least, got none.")
    tables = [load_run(run).table for run in runs]
    worth = {
        "rrf": partial(_reciprocal_ranks, rank_constant=rank_constant),
        "borda": _ranks,
        "combsum": _given_scores if norm is None else _normalized_scores,
    }
    worth["combmnz"] = worth["combsum"]
    terms = [worth[method](table) for table in tables]
    queries = list(dict.fromkeys(chain.from_iterable(table.queries for table in tables)))
    rows_of = [dict(zip(table.queries, table.rows_by_query())) for table in tables]
    documents, values, sizes = [], [], []
    for query in queries:
        rows = [of_run.get(query, slice(0)) for of_run in rows_of]
        lists = [table.documents[some] for table, some in zip(tables, rows)]
        parts = [term[some] for term, some in zip(terms, rows)]
        found, sums = _fused_documents(lists, parts, method, query)
        documents += found
        values += sums
        sizes.append(len(found))
    numbers = np.repeat(np.arange(len(queries)), sizes)
    table = make_table(queries, numbers, documents, np.array(values, dtype=float), True)
    return Run(table, method if name is None else name)


def _fused_documents(lists, parts, method, query):
    """Documents of a query and what they are worth.

    Parameters
    ----------
    lists : list of list of str, of length n_runs

    parts : list of ndarray of shape (n_documents, 2)
        What each run gives its documents, as a sum of two floats.

    Returns
    -------
    documents : list of str

    values : list of float
        The sums, rounded once, so that they do not depend on the order of the runs.
    """
    number = defaultdict(count().__next__)
    rows = [list(map(number.__getitem__, documents)) for documents in lists]
    shape = len(number), len(lists)
    terms, found = np.zeros((*shape, 2)), np.zeros(shape, dtype=bool)
    for run, (row, part) in enumerate(zip(rows, parts)):
        terms[row, run], found[row, run] = part, True
    if method == "borda":
        last = (len(number) + 1 + np.array(list(map(len, lists)))) / 2
        terms[..., 0] = len(number) + 1 - np.where(found, terms[..., 0], last)
    elif not found[:, (terms[..., 0] < 0).any(axis=0)].all():
        raise _negative(query)
    sums = terms.reshape(len(number), 2 * len(lists)).tolist()
    if method == "combmnz":
        sums = [row * times for row, times in zip(sums, found.sum(axis=1).tolist())]
    try:
        return list(number), list(map(fsum, sums))
    except OverflowError as error:
        raise ValueError(
            f"scores of query {query!r} are too large to be added; norm='min-max' "
            "normalizes them."
        ) from error


def _negative(query):
    return ValueError(
        f"a run has negative scores for query {query!r} and lacks some of its documents, "
        "which would count 0 and so more; norm='min-max' normalizes the scores."
    )


def _ranks(table):
    """Mean rank of each row's tie, and 0."""
    t, n = _ties_of_rows(table)
    return _with_zeros(t + (n + 1) / 2)


def _reciprocal_ranks(table, rank_constant):
    """Mean of 1 / (rank_constant + rank) over the ranks of each row's tie, in two parts."""
    t, n = _ties_of_rows(table)
    base = int(n.max(initial=0)) + 1
    ties, place = np.unique(t * base + n, return_inverse=True)
    ties = [divmod(tie, base) for tie in ties.tolist()]
    last = max(map(sum, ties), default=0)
    numerator, denominator = float(rank_constant).as_integer_ratio()
    scale = 1 << _BITS + numerator.bit_length() + last.bit_length()
    reciprocals = (
        scale * denominator // (numerator + rank * denominator)
        for rank in range(1, last + 1)
    )
    sums = list(accumulate(reciprocals, initial=0))
    means = [Fraction(sums[t + n] - sums[t], n * scale) for t, n in ties]
    parts = [(float(mean), float(mean - Fraction(float(mean)))) for mean in means]
    return np.array(parts, dtype=float).reshape(-1, 2)[place]


def _given_scores(table):
    """Score of each row, and 0."""
    return _with_zeros(table.values)


def _normalized_scores(table):
    """Score of each row between the least, 0, and the greatest, 1, of its query.

    It comes in two parts, whose sum has twice the digits of a float, so that sums of scores
    are equal where they are equal as fractions.
    """
    values = table.values / 2  # so that differences are finite
    greatest = values[table.offsets[table.numbers]]
    least = values[table.offsets[table.numbers + 1] - 1]
    width, exponent = np.frexp(greatest - least)
    above = np.ldexp(values - least, -exponent)
    width[width == 0] = 1
    share = above / width
    return np.column_stack((share, _remainder(above, share, width) / width))


def _remainder(above, share, width):
    """Return above - share * width as if nothing were rounded, of numbers from 0 to 1."""
    high = [_SPLITTER * x - (_SPLITTER * x - x) for x in (share, width)]
    low = [x - part for x, part in zip((share, width), high)]
    rest = above - high[0] * high[1]
    return ((rest - high[0] * low[1]) - low[0] * high[1]) - low[0] * low[1]


def _with_zeros(values):
    return np.column_stack((values, np.zeros(len(values))))


def _ties_of_rows(table):
    """Documents of the query before each row's tie, and the size of the tie."""
    starts, size = table.tie_starts[:-1], np.diff(table.tie_starts)
    before = starts - table.offsets[table.numbers[starts]]
    return np.repeat(before, size), np.repeat(size, size)
