"""Histograms of rankings by weighted scores, a few queries at a time."""

import numpy as np
from sklearn.utils import gen_batches

from .._threads import map_in_threads, one_thread
from ..codes._scores import arrays_of_terms, columns_of, fixed, tables_of
from ._histograms import RankingHistogram

_CELLS_PER_BLOCK = 2**21


def weighted_histograms(
    weights, packed, affinity, y_query, y_database, *, exclude_self=False, n_jobs=None
):
    """Rank a database by weighted scores, and yield a histogram for each block of queries.

    Weighted scores hardly ever tie, so a histogram has a column for almost every item. One
    histogram of all queries would need too much memory.

    Parameters
    ----------
    weights : ndarray of shape (n_queries, n_weights), dtype float32
        Weights of the bits, or of the values of words.

    packed : PackedCodes
        Little-endian codes of the database; items of one code and terms are tied.

    affinity : BaseAffinity or None
        Who is similar to whom. None means that `y_query` holds the affinities.

    y_query, y_database : checked targets
        Targets of both sides, as many as there are weights and codes. Without an oracle
        `y_query` holds the affinities, shape (n_queries, n_database).

    exclude_self : bool, default=False
        Queries and database are the same samples, and no query is ranked against itself.

    n_jobs : int, default=None
        Number of threads that share the blocks, as for `map_in_threads`.

    Yields
    ------
    histogram : RankingHistogram
        Histogram of the next block of queries.
    """
    from .._loops._search import write_scores

    if affinity is not None:
        levels = affinity.levels_between(y_query, y_database)
    n_items, columns = len(packed), columns_of(packed.data)
    terms = arrays_of_terms(packed._terms)

    @one_thread()
    def rank(rows):
        # In float64, as a search compares, so that both find the same ties.
        tables = tables_of(weights[rows].astype(np.float64), packed.n_bits)
        scores = np.empty((len(tables), n_items))
        write_scores(fixed(tables), columns, terms, scores)
        true = y_query[rows]
        if affinity is not None:
            true = levels[affinity.level_index(true, y_database, levels)]
        if exclude_self:  # -inf marks cells that hold no item
            own = np.arange(len(scores)), np.arange(rows.start, rows.stop)
            scores[own], true = -np.inf, true.copy()
            true[own] = 0
        return RankingHistogram.from_scores(true, scores)

    blocks = gen_batches(len(weights), max(1, _CELLS_PER_BLOCK // n_items))
    yield from map_in_threads(rank, blocks, n_jobs)
