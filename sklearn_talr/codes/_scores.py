r"""Scores of codes: weighted, of words, and by maximal similarity of tokens.

A weighted query is not rounded to bits. It has one weight w_j for each bit, which is
negative where the query would rather see a 0. A code with the signs s_j, 1 for a one and -1
for a zero, scores

    factor * sum_j w_j s_j + addend.

Factor and addend belong to the code. They are 1 and 0 unless the hasher of the code says
otherwise. With 1 and 0 the order of the scores is that of weighted Hamming distances (Zhang
et al., "Binary Code Ranking with Weighted Hamming Distance", CVPR 2013), in which a
differing bit costs \|w_j\|:

    sum of \|w_j\| over differing bits = (sum_j \|w_j\| - sum_j w_j s_j) / 2.

A query may also weigh words of eight bits. It then has 256 weights for each word: what each
value of the word adds to the score.

A *document* is a set of tokens, each stored as a code. A query is a set of tokens, each
with weights. Every token of the query looks for the token of the document that scores
highest, and the document's score is the sum of these maxima (Khattab and Zaharia, "ColBERT:
Efficient and Effective Passage Search via Contextualized Late Interaction over BERT", SIGIR
2020).

Gordo et al., "Asymmetric Distances for Binary Embeddings" (CVPR 2011), compare codes with
queries that are not binarized.
"""

from itertools import pairwise
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from .._core.compat import validated
from .._core.threads import map_in_threads, slices
from .._core.types import ArrayLike, Column, Count, NDArray
from .._core.validation import as_numpy, has_missing, refuse_unlike_labels
from ._packed import PackedCodes, as_packed


class Groups(NamedTuple):
    """Groups of rows, numbered in the order in which they first come.

    Parameters
    ----------
    labels : ndarray of shape (n_groups,)
        Label of each group.

    numbers : ndarray of shape (n_rows,), dtype int64
        Number of the group of each row.
    """

    labels: np.ndarray
    numbers: np.ndarray


def read_groups(groups, n_rows, input_name="groups"):
    """Number the groups of rows; None means that each row is a group of its own.

    Raises ValueError, which calls the labels by `input_name`, where they are not one for
    each row.
    """
    if groups is None:
        return Groups(np.arange(n_rows), np.arange(n_rows))
    labels = np.asarray(as_numpy(groups, input_name))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{input_name} must name the group of each of the {n_rows} rows, got an array "
            f"of shape {labels.shape}. Sizes of groups become names by "
            "np.repeat(np.arange(len(sizes)), sizes)."
        )
    if has_missing(
        np.array(groups, dtype=object) if isinstance(groups, list | tuple) else labels
    ):
        raise ValueError(
            f"{input_name} contains NaN, NaT or None, which names no group. Leave out rows "
            "that have none."
        )
    try:
        _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"{input_name} must hold labels of one type, which can be sorted: {error}."
        ) from error
    order = np.argsort(first)
    return Groups(labels[first[order]], np.argsort(order)[numbers])


_CODES_PER_BLOCK = 8_192
_TOKENS_PER_BLOCK = 128  # of queries, whose tables are looked up side by side
_DOCUMENTS_PER_PART = 2**10  # that one thread takes at once
_EPS, _LEAST = 2.0**-23, 2.0**-149  # of float32: rounding, and the least number


@validated(
    query_weights=["array-like"], database_codes=["array-like"], n_jobs=[Integral, None]
)
def weighted_scores(
    query_weights: ArrayLike, database_codes: ArrayLike, *, n_jobs: Count = None
) -> NDArray[np.float32]:
    """Score every code by every weighted query.

    Parameters
    ----------
    query_weights : array-like of shape (n_queries, n_weights)
        How much each bit counts, as `query_weights` of a hasher returns it. A query that
        weighs words of several bits has more weights than codes have bits, see Notes.

    database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
        Codes of the database. Factors and addends of packed codes are applied.

    n_jobs : int, default=None
        Number of threads that share the codes. None means 1 unless in a
        `joblib.parallel_config` context, -1 all processors.

    Returns
    -------
    scores : ndarray of shape (n_queries, n_database), dtype float32
        The higher, the nearer.

    Raises
    ------
    ValueError
        If codes of this length are not asked by so many weights, or the queries are codes
        in place of weights.

    Notes
    -----
    A query that weighs words of eight bits has 256 weights for each word: weight
    ``256 * w + v`` is what word w adds to the score if its value is v. Bit 0 of a word, the
    first, is worth 1. Codes of 8 bits have 8 weights for bits, or 256 for a word.

    Examples
    --------
    Both codes differ from the signs of the query in one bit, so that they are tied by
    Hamming distance. The first differs where the query is surer:

    >>> from sklearn_talr.codes import weighted_scores
    >>> weighted_scores([[2.0, 0.5, 1.0]], [[0, 1, 1], [1, 0, 1]])
    array([[-0.5,  2.5]], dtype=float32)

    A query of one word of eight bits, which gives value v a score of v / 2:

    >>> import numpy as np
    >>> codes = [[0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]]
    >>> weighted_scores(np.arange(256)[None] / 2, codes)
    array([[0. , 0.5]], dtype=float32)
    """
    from .._loops._search import write_scores

    names = "query_weights", "database_codes"
    refuse_unlike_labels(query_weights, database_codes, names, axis=1)
    weights = as_weights(query_weights)
    packed = as_packed(database_codes, input_name="database_codes")
    tables = fixed(tables_of(weights, packed.n_bits))
    pairs = fixed(packed._terms.pairs(len(packed)))
    scores = np.empty((len(weights), len(packed)), dtype=np.float32)

    def score(codes):
        columns = columns_of(packed.data[codes])
        of_part = np.empty((len(weights), columns.shape[1]), dtype=np.float32)
        write_scores(tables, columns, pairs[codes], of_part)
        scores[:, codes] = of_part

    list(map_in_threads(score, slices(len(packed), _CODES_PER_BLOCK), n_jobs))
    return scores


@validated(
    query_weights=["array-like"],
    database_codes=["array-like"],
    query_groups=["array-like", None],
    groups=["array-like", None],
    n_jobs=[Integral, None],
)
def maxsim_scores(
    query_weights: ArrayLike,
    database_codes: ArrayLike,
    *,
    query_groups: Column = None,
    groups: Column = None,
    n_jobs: Count = None,
) -> NDArray[np.float32]:
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
    adds, which is the same for all documents, and for what factors tell of cosines. Tokens
    of a query count by their length: give them unit length, as ColBERT does, where each
    should count as much.

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
    names = "query_weights", "database_codes"
    refuse_unlike_labels(query_weights, database_codes, names, axis=1)
    refuse_unlike_labels(query_weights, query_groups, ("query_weights", "query_groups"))
    refuse_unlike_labels(database_codes, groups, ("database_codes", "groups"))
    weights = as_weights(query_weights)
    packed = as_packed(database_codes, input_name="database_codes")
    documents = TokenSets.of(packed, read_groups(groups, len(packed)).numbers)
    query_starts = read_groups(query_groups, len(weights), "query_groups").numbers
    scores = [
        np.ldexp(block.scores(documents, n_jobs=n_jobs), block.exponent)
        for block in token_blocks(weights, query_starts, documents)
    ]
    return np.concatenate(scores).astype(np.float32)


def as_weights(queries):
    """Weights of queries, checked, as an array of shape (n_queries, n_weights), float32."""
    weights = refuse_codes(queries, "query_weights")
    return check_array(weights, dtype=np.float32, input_name="query_weights")


def refuse_codes(queries, input_name):
    """Return weights of queries in NumPy; raise ValueError where they are codes.

    Codes are packed, of a type for bits, or both zeros and ones only. An array of zeros
    alone holds the weights of queries that know nothing.
    """
    queries = as_numpy(queries, input_name)
    values = np.asarray(queries)
    ones = values == 1
    has_both = ones.any() and not ones.all()
    if values.dtype.kind in "bu" or (has_both and (ones | (values == 0)).all()):
        raise ValueError(
            f"{input_name} are codes, and weights are needed: what `query_weights` of the "
            "hasher returns. HashedNeighbors asks its index as the hasher wants it."
        )
    return queries


def saturate(activations, xp=np):
    """Weights of queries for codes that were fitted to labels.

    An activation far from 0 says that a bit is sure, and not that it matters as much more.
    `xp` is the library of the activations.
    """
    scale = xp.mean(xp.abs(activations), axis=1, keepdims=True)
    tiny = float(np.finfo(np.float32).tiny)
    return xp.tanh(activations * (2 / xp.clip(scale, tiny, None)))


def word_size(n_bits, n_weights, input_name="query_weights"):
    """Bits of the words that queries with so many weights weigh: 1 or 8.

    Raises ValueError, which calls the weights by `input_name`, where there are none.
    """
    if n_weights == n_bits:
        return 1
    if n_weights == 32 * n_bits and n_bits % 8 == 0:
        return 8
    of_words = f", or by {32 * n_bits} for words of eight bits" if n_bits % 8 == 0 else ""
    raise ValueError(
        f"{input_name} has {n_weights} columns. Codes of {n_bits} bits are asked by "
        f"{n_bits} weights{of_words}. Both must come from the same hash function."
    )


def tables_of(weights, n_bits):
    """What each value of each byte of a code adds to its score.

    Parameters
    ----------
    weights : ndarray of shape (n_queries, n_weights)

    n_bits : int
        Length of the codes.

    Returns
    -------
    tables : ndarray of shape (n_queries, n_bytes, 256), of the type of the weights
    """
    from .._loops._search import write_table

    word_size(n_bits, weights.shape[1])
    tables = np.empty((len(weights), -(-n_bits // 8), 256), dtype=weights.dtype)
    for of_query, table in zip(fixed(np.ascontiguousarray(weights)), tables):
        write_table(of_query, False, table)
    return tables


def signs_of_bits(weights, n_bits):
    """Bits that queries would rather see, packed eight to the byte.

    Of a word it is for each bit whether the values that have it add more in the mean.
    """
    if word_size(n_bits, weights.shape[1]) == 8:
        values = np.arange(256, dtype=np.uint8)[:, None]
        signs = 2.0 * np.unpackbits(values, axis=1, bitorder="little") - 1
        weights = weights.reshape(len(weights), -1, 256) @ signs
        weights = weights.reshape(len(weights), n_bits)
    return np.packbits(weights > 0, axis=1, bitorder="little")


def columns_of(data):
    """Packed codes as columns: an array of shape (n_words, n_codes) of the widest words."""
    n_bytes = data.shape[1]
    word = next(size for size in (8, 4, 2, 1) if n_bytes % size == 0)
    words = np.ascontiguousarray(data).view(f"u{word}")
    return fixed(np.ascontiguousarray(words.T))


def fixed(array):
    """A view that may not be written to, as of arrays of files: loops compile for one."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


class TokenSets(NamedTuple):
    """Codes of tokens, those of each document side by side.

    Parameters
    ----------
    packed : PackedCodes
        Codes in little bit order.

    starts : ndarray of shape (n_documents + 1,), dtype int64
        Tokens of document d are ``packed[starts[d]:starts[d + 1]]``, one at least.

    present : ndarray of shape (n_documents,), dtype int64
        Numbers of the documents, ascending.
    """

    packed: PackedCodes
    starts: np.ndarray
    present: np.ndarray

    @classmethod
    def of(cls, packed, numbers):
        """Sort little-endian codes by the numbers of their documents."""
        if np.any(numbers[1:] < numbers[:-1]):
            packed = packed[np.argsort(numbers, kind="stable")]
        present, sizes = np.unique(numbers, return_counts=True)
        return cls(packed, np.concatenate(([0], np.cumsum(sizes))), present)

    @property
    def n_documents(self):
        """Number of documents."""
        return len(self.starts) - 1

    def some(self, documents):
        """Documents by their places, or a slice of them."""
        sizes = np.diff(self.starts)[documents]
        ends = np.cumsum(sizes)
        rows = np.repeat(self.starts[documents] - (ends - sizes), sizes)
        rows += np.arange(ends[-1])
        starts = np.concatenate(([0], ends))
        return TokenSets(self.packed[rows], starts, self.present[documents])

    def maxima(self, by_entry, unit):
        """The highest score of each token of queries in each of the documents."""
        from .._loops._search import maxsim_scan

        data = fixed(np.ascontiguousarray(self.packed.data))
        terms = self.packed._terms.pairs(len(data))
        maxima = np.empty((self.n_documents, by_entry.shape[2]), dtype=by_entry.dtype)
        maxsim_scan(fixed(by_entry), data, terms, unit, self.starts, maxima)
        return maxima


def token_blocks(weights, numbers, documents):
    """Generate QueryTables of queries, each of not too many tokens.

    `numbers` are those of the queries of the tokens.
    """
    n_bits, (factor, addend) = documents.packed.n_bits, documents.packed._terms.largest()
    at_least_1 = max(factor, 1.0)
    order = np.argsort(numbers, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(numbers))))
    # A block has the queries whose first tokens are in one run of so many tokens
    firsts = np.flatnonzero(np.diff(starts[:-1] // _TOKENS_PER_BLOCK, prepend=-1))
    for first, last in pairwise([*firsts, len(starts) - 1]):
        rows = order[starts[first] : starts[last]]
        tables = tables_of(weights[rows].astype(np.float64), n_bits)
        most = np.abs(tables).max(axis=2).sum(axis=1).max()
        # No score is too large for float32, nor what addends are multiplied by.
        exponent = max(int(np.frexp(most * at_least_1 + addend)[1]), -120)
        # A sum is rounded once for each byte, and its entries and terms are rounded.
        error = _EPS * 2.0**-exponent * (most * factor + addend) + at_least_1 * _LEAST
        margin = len(rows) * 2 * (tables.shape[1] + 8) * error
        by_entry = np.ascontiguousarray(np.moveaxis(np.ldexp(tables, -exponent), 0, 2))
        query_starts = starts[first : last + 1] - starts[first]
        yield QueryTables(by_entry, query_starts, exponent, margin)


class QueryTables(NamedTuple):
    """What each byte of a code adds to the scores of the tokens of some queries.

    Parameters
    ----------
    tables : ndarray of shape (n_bytes, 256, n_query_tokens), dtype float64
        The tables, divided by two to the power of `exponent`.

    starts : ndarray of shape (n_queries + 1,), dtype int64
        Where the tokens of each query start.

    exponent : int
        Scores are to be multiplied by two to this power.

    margin : float
        Twice the largest error of a score in float32.
    """

    tables: np.ndarray
    starts: np.ndarray
    exponent: int
    margin: float

    def scores(self, documents, n_jobs=None):
        """Scores of documents by the queries, of sums in float32.

        Returns an array of shape (n_queries, n_documents), dtype float64.
        """
        scores = np.empty((len(self.starts) - 1, documents.n_documents))
        tables = self.tables.astype(np.float32)

        def look(part):
            maxima = documents.some(part).maxima(tables, 2.0**-self.exponent)
            sums = np.add.reduceat(maxima, self.starts[:-1], axis=1, dtype=np.float64)
            scores[:, part] = sums.T

        parts = slices(documents.n_documents, _DOCUMENTS_PER_PART)
        list(map_in_threads(look, parts, n_jobs))
        return scores

    def exact_scores(self, query, documents):
        """Scores of documents by one query, in float64.

        They depend on the order neither of the documents, nor of their tokens, nor of those
        of the query.
        """
        of_query = slice(self.starts[query], self.starts[query + 1])
        tables = np.ascontiguousarray(self.tables[:, :, of_query])
        maxima = documents.maxima(tables, 2.0**-self.exponent)
        return np.ldexp(np.sort(maxima, axis=1).sum(axis=1), self.exponent)
