"""Scores of sets of codes by sets of weighted queries: sums of maxima.

A document is a set of tokens, each stored as a code. A query is a set of tokens, each with
weights. Every token of the query looks for the token of the document that scores highest,
and the document's score is the sum of these maxima (Khattab and Zaharia, "ColBERT:
Efficient and Effective Passage Search via Contextualized Late Interaction over BERT", SIGIR
2020).

All scores are first computed in float32, by tables of what each value of each byte adds,
for some tokens of the queries at once. How far they may be off is known, so that search can
compare in float64 what may be among the best.
"""

from math import frexp
from numbers import Integral
from typing import NamedTuple

import numpy as np

from .._compat import validate_params
from .._threads import map_in_threads, slices
from ._byte_tables import MOST_ROWS, exact_tables, sums_of_entries
from ._groups import read_groups
from ._packed import as_packed
from ._weighted import as_weights
from ._words import Words

__all__ = ["maxsim_scores"]

_QUERY_TOKENS_PER_PASS = 32  # whose tables stay in the cache
_QUERY_TOKENS_PER_BLOCK = 256  # whose tables are held in float64
_GROUPS_PER_PART = 2**10  # that one thread takes at once
_LEAST = 2.0**-149  # the least number in float32


@validate_params(
    {
        "query_weights": ["array-like"],
        "database_codes": ["array-like"],
        "query_groups": ["array-like", None],
        "groups": ["array-like", None],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def maxsim_scores(
    query_weights, database_codes, *, query_groups=None, groups=None, n_jobs=None
):
    """Score documents, which are sets of codes, by queries, which are sets of weights.

    The score of a document is a sum over the tokens of the query: of the highest score that
    the token has among the codes of the document, see :func:`weighted_scores`. This is
    *MaxSim*, or late interaction, as of ColBERT.

    Parameters
    ----------
    query_weights : array-like of shape (n_query_tokens, n_weights)
        How much each bit counts for each token of the queries, as `query_weights` of a
        hasher returns it.

    database_codes : array-like of shape (n_tokens, n_bits) of 0/1, or PackedCodes
        Codes of the tokens of all documents. Factors and addends of packed codes are
        applied.

    query_groups : array-like of shape (n_query_tokens,), default=None
        Label of the query that each token belongs to, in any order. None means that each
        token is a query of its own.

    groups : array-like of shape (n_tokens,), default=None
        Label of the document that each code belongs to, in any order. None means that each
        code is a document of its own.

    n_jobs : int, default=None
        Number of threads that share the documents. None means 1 unless in a
        `joblib.parallel_config` context, -1 all processors.

    Returns
    -------
    scores : ndarray of shape (n_queries, n_documents), dtype float32
        The higher, the nearer. Queries and documents come in the order in which their
        labels first come.

    Raises
    ------
    ValueError
        If there is not one label for each row, codes of this length are not asked by so
        many weights, or the queries are codes in place of weights.

    See Also
    --------
    weighted_scores : Scores of single codes by single queries.
    sklearn_talr.neighbors.MaxSimNeighbors : The index, to search in.

    Notes
    -----
    For codes of an :class:`~sklearn_talr.hashing.AdditiveHasher` the scores are those of
    the tokens that its `inverse_transform` decodes, but for what the mean of the features
    adds, which is the same for all documents, and for the last word of a code: where it is
    a factor, it multiplies the score of its token and is no part of the decoding. Tokens of
    a query count by their length: give them unit length, as ColBERT does, where each should
    count as much.

    Examples
    --------
    Three codes are two documents. One query has two tokens. In document "a" both find a
    code that they match, in "b" the second token finds none:

    >>> from sklearn_talr.codes import maxsim_scores
    >>> codes, groups = [[1, 1], [0, 0], [1, 1]], ["a", "a", "b"]
    >>> weights = [[1.0, 0.5], [-1.0, -1.0]]
    >>> maxsim_scores(weights, codes, query_groups=[0, 0], groups=groups)
    array([[ 3.5, -0.5]], dtype=float32)
    """
    weights = as_weights(query_weights)
    packed = as_packed(database_codes, input_name="database_codes")
    words = Words.of_weights(packed.n_bits, weights.shape[1])
    documents = TokenSets.of(packed, read_groups(groups, len(packed)).numbers)
    of_queries = read_groups(query_groups, len(weights), "query_groups").numbers
    blocks = query_blocks(weights, of_queries, words, packed.data.shape[1])
    scores = [
        np.ldexp(block.scores(documents, n_jobs=n_jobs), block.exponent)
        for block in (QueryTables.of(*part, documents) for part in blocks)
    ]
    return np.concatenate(scores).astype(np.float32)


class TokenSets(NamedTuple):
    """Codes of tokens, those of each document side by side.

    Parameters
    ----------
    data : ndarray of shape (n_tokens, n_bytes), dtype uint8
        Packed codes in little bit order.

    terms : ndarray of shape (n_tokens, n_terms), dtype float32
        Factors, and addends, of the codes; of no column where there are none.

    starts : ndarray of shape (n_documents + 1,), dtype int64
        Tokens of document d are ``data[starts[d]:starts[d + 1]]``, one at least.
    """

    data: np.ndarray
    terms: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, packed, numbers):
        """Sort little-endian codes by the numbers of their documents, 0, 1 and so on."""
        data, terms = packed.data, packed.terms
        if terms is None:
            terms = np.empty((len(data), 0), dtype=np.float32)
        if np.any(numbers[1:] < numbers[:-1]):
            order = np.argsort(numbers, kind="stable")
            data, terms = data[order], terms[order]
        starts = np.concatenate(([0], np.cumsum(np.bincount(numbers))))
        arrays = map(np.ascontiguousarray, (data, terms, starts))
        return cls(*arrays)

    def __len__(self):
        return len(self.starts) - 1

    def part(self, documents):
        """A slice of the documents."""
        first, last = self.starts[documents.start], self.starts[documents.stop]
        starts = self.starts[documents.start : documents.stop + 1] - first
        return TokenSets(self.data[first:last], self.terms[first:last], starts)

    def some(self, documents):
        """Documents by their numbers."""
        sizes = np.diff(self.starts)[documents]
        ends = np.cumsum(sizes)
        rows = np.repeat(self.starts[documents] - (ends - sizes), sizes)
        rows += np.arange(ends[-1])
        starts = np.concatenate(([0], ends))
        return TokenSets(self.data[rows], self.terms[rows], starts)

    def largest_terms(self):
        """The largest magnitudes of a factor and of an addend."""
        if not self.terms.shape[1]:
            return 1.0, 0.0
        factor, *addend = np.abs(self.terms).max(axis=0).tolist()
        return factor, sum(addend)


def query_blocks(weights, numbers, words, n_bytes):
    """Split queries into blocks of not too many tokens.

    `numbers` are those of the queries of the tokens. Generates pairs: the weights of the
    tokens of some queries, spread over the bytes, in float64 and sorted by query; and where
    the tokens of each of these queries start.
    """
    order = np.argsort(numbers, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(numbers))))
    first, n_queries = 0, len(starts) - 1
    while first < n_queries:
        limit = starts[first] + _QUERY_TOKENS_PER_BLOCK
        last = max(first + 1, int(np.searchsorted(starts, limit, side="right")) - 1)
        rows = order[starts[first] : starts[last]]
        spread = words.spread(weights[rows].astype(np.float64), n_bytes)
        yield spread, starts[first : last + 1] - starts[first]
        first = last


def maxima_by_entries(by_entry, tokens, unit, maxima):
    """Write the highest score of each token of queries in each document.

    Parameters
    ----------
    by_entry : ndarray of shape (n_bytes, 256, n_query_tokens), dtype float32
        What each value of each byte adds to the scores.

    tokens : TokenSets
        The documents.

    unit : float
        What addends are multiplied by.

    maxima : ndarray of shape (n_documents, n_query_tokens), dtype float32
        Where the maxima are written.
    """

    def sums_of(rows):
        return sums_of_entries(tokens.data[rows], by_entry)

    _write_maxima(sums_of, tokens, unit, maxima)


class QueryTables(NamedTuple):
    """What each byte of a code adds to the scores of the tokens of some queries.

    Parameters
    ----------
    tables : ndarray of shape (n_bytes, 256, n_query_tokens), dtype float64
        The tables, divided by two to the power of `exponent`.

    starts : ndarray of shape (n_queries + 1,), dtype int64
        Where the tokens of each query start.

    exponent : int
        Scores are to be multiplied by two to this power. So none is too large for float32,
        and powers of two round nothing.

    margins : ndarray of shape (n_queries,)
        Twice the largest error of a score in float32.
    """

    tables: np.ndarray
    starts: np.ndarray
    exponent: int
    margins: np.ndarray

    @classmethod
    def of(cls, spread, starts, documents):
        """The tables of spread weights, for some documents; see `query_blocks`."""
        n_bytes = documents.data.shape[1]
        tables = exact_tables(spread, n_bytes)
        most = np.abs(tables).max(axis=1).sum(axis=0)
        factor, addend = documents.largest_terms()
        exponent = frexp(most.max() * max(factor, 1) + addend)[1]
        most = np.ldexp(most * factor + addend, -exponent)
        # A sum is rounded once for each byte, and its entries and terms are rounded.
        error = (n_bytes + 8) * (np.finfo(np.float32).eps * most + max(factor, 1) * _LEAST)
        margins = 2 * np.add.reduceat(error, starts[:-1])
        return cls(np.ldexp(tables, -exponent), starts, exponent, margins)

    @property
    def unit(self):
        """What addends are multiplied by."""
        return 2.0**-self.exponent

    def scores(self, documents, write_maxima=maxima_by_entries, n_jobs=None):
        """Scores of documents by the queries, of sums in float32.

        Parameters
        ----------
        documents : TokenSets
            The documents.

        write_maxima : callable, default=maxima_by_entries
            A function with its parameters.

        n_jobs : int, default=None
            Number of threads.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_documents), dtype float64
        """
        scores = np.zeros((len(self.starts) - 1, len(documents)))
        blocks = [
            (tokens, np.ascontiguousarray(self.tables[:, :, tokens], dtype=np.float32))
            for tokens in slices(self.tables.shape[2], _QUERY_TOKENS_PER_PASS)
        ]

        def look(part):
            some, added = documents.part(part), scores[:, part]
            for tokens, by_entry in blocks:
                maxima = np.empty((len(some), by_entry.shape[2]), dtype=np.float32)
                write_maxima(by_entry, some, self.unit, maxima)
                queries, begins = _parts_of(self.starts, tokens)
                sums = np.add.reduceat(maxima, begins, axis=1, dtype=np.float64)
                added[queries] += sums.T

        for _ in map_in_threads(look, slices(len(documents), _GROUPS_PER_PART), n_jobs):
            pass
        return scores

    def exact_scores(self, query, documents):
        """Scores of documents by one query, in float64.

        They depend on the order neither of the documents, nor of their tokens, nor of those
        of the query.
        """
        of_query = slice(self.starts[query], self.starts[query + 1])
        tables = np.ascontiguousarray(self.tables[:, :, of_query])
        maxima = np.empty((len(documents), tables.shape[2]))

        def sums_of(rows):
            data = documents.data[rows]
            sums = np.zeros((len(data), tables.shape[2]))
            for table, octets in zip(tables, data.T):
                sums += table[octets]
            return sums

        _write_maxima(sums_of, documents, self.unit, maxima)
        return np.ldexp(np.sort(maxima, axis=1).sum(axis=1), self.exponent)


def _write_maxima(sums_of, tokens, unit, maxima):
    """Write the highest scores in each document, from weighted sums of slices of tokens."""
    maxima[:] = -np.inf
    n_terms = tokens.terms.shape[1]
    for rows in slices(len(tokens.data), MOST_ROWS):
        scores = sums_of(rows)
        if n_terms:
            scores *= tokens.terms[rows, :1]
        if n_terms > 1:
            scores += tokens.terms[rows, 1:] * scores.dtype.type(unit)
        documents, begins = _parts_of(tokens.starts, rows)
        best = maxima[documents]
        np.maximum(best, np.maximum.reduceat(scores, begins, axis=0), out=best)


def _parts_of(starts, rows):
    """The sets that rows belong to, and where each begins among the rows."""
    first = int(np.searchsorted(starts, rows.start, side="right")) - 1
    last = int(np.searchsorted(starts, rows.stop))
    return slice(first, last), np.maximum(starts[first:last], rows.start) - rows.start
