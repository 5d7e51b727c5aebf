r"""Scores of codes: weighted, of words, and by maximal similarity of tokens.

A weighted query is not rounded to bits. It has one weight w_j for each bit, which is
negative if the query prefers a 0. A code with the signs s_j, 1 for a one and -1 for a zero,
scores

    factor * sum_j w_j s_j + addend.

Factor and addend are the terms of the code, 1 and 0 unless its hasher gives others. With 1
and 0, scores rank codes as weighted Hamming distances do (Zhang et al., "Binary Code
Ranking with Weighted Hamming Distance", CVPR 2013), in which a differing bit costs \|w_j\|:

    sum of \|w_j\| over differing bits = (sum_j \|w_j\| - sum_j w_j s_j) / 2.

A query may also weigh words of eight bits. It then has 256 weights for each word, one for
each value of the word, which that value adds to the score.

A *document* is a set of tokens, each stored as a code. A query is a set of tokens, each
with weights. Every token of the query looks for the token of the document that scores
highest, and the document's score is the sum of these maxima (Khattab and Zaharia, "ColBERT:
Efficient and Effective Passage Search via Contextualized Late Interaction over BERT", SIGIR
2020).

Comparing codes with real-valued queries is the *asymmetric distance* of Gordo et al.,
"Asymmetric Distances for Binary Embeddings" (CVPR 2011).
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
    """Groups of rows, numbered in the order in which they first occur.

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

    Raises ValueError, which calls the labels by `input_name`, unless there is one label for
    each row.
    """
    if groups is None:
        return Groups(np.arange(n_rows), np.arange(n_rows))
    labels = np.asarray(as_numpy(groups, input_name))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{input_name} must name the group of each of the {n_rows} rows, got an array "
            f"of shape {labels.shape}. For sizes of groups pass "
            "np.repeat(np.arange(len(sizes)), sizes)."
        )
    entries = labels
    if isinstance(groups, list | tuple):
        # NumPy would write a missing entry of a list of strings as the string "nan".
        entries = np.array(groups, dtype=object)
    if has_missing(entries):
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
    rank = np.argsort(order)
    return Groups(labels[first[order]], rank[numbers])


_CODES_PER_BLOCK = 8_192
# Tables of this many tokens of queries are looked up side by side.
_TOKENS_PER_BLOCK = 128
# A thread scores this many documents at once.
_DOCUMENTS_PER_PART = 2**10
_FLOAT32_EPS = 2.0**-23  # relative error of rounding
_FLOAT32_LEAST = 2.0**-149  # least number above 0


@validated(
    query_weights=["array-like"], database_codes=["array-like"], n_jobs=[Integral, None]
)
def weighted_scores(
    query_weights: ArrayLike, database_codes: ArrayLike, *, n_jobs: Count = None
) -> NDArray[np.float32]:
    """Score every code with every weighted query: the asymmetric distance, as a score.

    Parameters
    ----------
    query_weights : array-like of shape (n_queries, n_weights)
        Weight of each bit, as `query_weights` of a hasher returns it. A query that weighs
        words of eight bits has more weights than codes have bits, see Notes.

    database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
        Codes of the database. Factors and addends of packed codes are applied.

    n_jobs : int, default=None
        Number of threads that share the codes. None means 1 unless in a
        `joblib.parallel_config` context, -1 all processors.

    Returns
    -------
    scores : ndarray of shape (n_queries, n_database), dtype float32
        Higher scores are nearer.

    Raises
    ------
    ValueError
        If the number of weights does not fit the length of the codes, or the queries are
        codes instead of weights.

    See Also
    --------
    CodeTerms : Factors and addends of packed codes.

    Notes
    -----
    A query that weighs words of eight bits has 256 weights for each word: word w adds
    weight ``256 * w + v`` to the score if its value is v. Bit 0 of a word, the first, is
    worth 1. Codes of 8 bits have 8 weights for bits, or 256 for a word.

    Examples
    --------
    Both codes differ from the signs of the query in one bit, so that their Hamming
    distances are equal. The first code differs in the bit with the larger weight:

    >>> from sklearn_talr.codes import weighted_scores
    >>> weighted_scores([[2.0, 0.5, 1.0]], [[0, 1, 1], [1, 0, 1]])
    array([[-0.5,  2.5]], dtype=float32)

    A query of one word of eight bits, in which value v scores v / 2:

    >>> import numpy as np
    >>> codes = [[0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]]
    >>> weighted_scores(np.arange(256)[None] / 2, codes)
    array([[0. , 0.5]], dtype=float32)
    """
    from .._loops._search import write_scores

    weights, packed = _read_weights_and_codes(query_weights, database_codes)
    tables = fixed(tables_of(weights, packed.n_bits))
    pairs = fixed(packed.terms.pairs(len(packed)))
    scores = np.empty((len(weights), len(packed)), dtype=np.float32)

    def score_block(rows):
        columns = columns_of(packed.data[rows])
        block = np.empty((len(weights), columns.shape[1]), dtype=np.float32)
        write_scores(tables, columns, pairs[rows], block)
        scores[:, rows] = block

    list(map_in_threads(score_block, slices(len(packed), _CODES_PER_BLOCK), n_jobs))
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
    """Score documents, which are sets of codes, with queries, which are sets of weights.

    Each token of a query has a highest score among the codes of a document, see
    :func:`weighted_scores`. The score of the document is the sum of these maxima. This is
    *MaxSim*, the late interaction of ColBERT.

    Parameters
    ----------
    query_weights : array-like of shape (n_query_tokens, n_weights)
        Weight of each bit for each token of the queries, as `query_weights` of a hasher
        returns it.

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
        Higher scores are nearer. Queries and documents are in the order in which their
        labels first occur.

    Raises
    ------
    ValueError
        If there is not one label for each row, the number of weights does not fit the
        length of the codes, or the queries are codes instead of weights.

    See Also
    --------
    weighted_scores : Scores of single codes by single queries.
    sklearn_talr.neighbors.MaxSimNeighbors : A search index for documents.

    Notes
    -----
    For codes of an :class:`~sklearn_talr.hashing.AdditiveHasher`, scores are inner products
    with the tokens that its `inverse_transform` decodes, with two differences: the mean of
    the features is left out, which adds the same number to all documents; and factors make
    cosines of the products. The length of a query's token is its weight in the sum: if all
    tokens should count equally, give them unit length, as ColBERT does.

    Examples
    --------
    Three codes are two documents. One query has two tokens. In document "a" both tokens
    match a code, in "b" the second token matches none:

    >>> from sklearn_talr.codes import maxsim_scores
    >>> codes, groups = [[1, 1], [0, 0], [1, 1]], ["a", "a", "b"]
    >>> weights = [[1.0, 0.5], [-1.0, -1.0]]
    >>> maxsim_scores(weights, codes, query_groups=[0, 0], groups=groups)
    array([[ 3.5, -0.5]], dtype=float32)
    """
    refuse_unlike_labels(query_weights, query_groups, ("query_weights", "query_groups"))
    refuse_unlike_labels(database_codes, groups, ("database_codes", "groups"))
    weights, packed = _read_weights_and_codes(query_weights, database_codes)
    document_numbers = read_groups(groups, len(packed)).numbers
    documents = TokenSets.from_numbers(packed, document_numbers)
    query_starts = read_groups(query_groups, len(weights), "query_groups").numbers
    scores = [
        np.ldexp(block.scores(documents, n_jobs=n_jobs), block.exponent)
        for block in token_blocks(weights, query_starts, documents)
    ]
    return np.concatenate(scores).astype(np.float32)


def _read_weights_and_codes(query_weights, database_codes):
    """Weights of queries, and packed codes, checked."""
    names = "query_weights", "database_codes"
    refuse_unlike_labels(query_weights, database_codes, names, axis=1)
    weights = as_weights(query_weights)
    return weights, as_packed(database_codes, input_name="database_codes")


def as_weights(queries):
    """Weights of queries, checked, as an array of shape (n_queries, n_weights), float32."""
    weights = refuse_codes(queries, "query_weights")
    return check_array(weights, dtype=np.float32, input_name="query_weights")


def refuse_codes(queries, input_name):
    """Return weights of queries in NumPy; raise ValueError if they are codes.

    Codes are packed, or booleans, or bytes, or an array in which zeros and ones occur and
    nothing else. Zeros alone are weights: a query may prefer no bit.
    """
    queries = as_numpy(queries, input_name)
    values = np.asarray(queries)
    ones = values == 1
    is_of_bits = values.dtype.kind in "bu"
    if ones.any() and not ones.all():
        is_of_bits = is_of_bits or (ones | (values == 0)).all()
    if is_of_bits:
        raise ValueError(
            f"{input_name} are codes, and weights are needed: pass "
            "hasher.query_weights(X). HashedNeighbors(hasher) chooses between codes and "
            "weights by itself."
        )
    return queries


def saturate(activations, xp=np):
    """Weights of queries for codes that were fitted to labels.

    An activation far from 0 shows that a bit is certain, and not that the bit matters more
    by the same ratio. `xp` is the library of the activations.
    """
    scale = xp.mean(xp.abs(activations), axis=1, keepdims=True)
    tiny = float(np.finfo(np.float32).tiny)
    return xp.tanh(activations * (2 / xp.clip(scale, tiny, None)))


def word_size(n_bits, n_weights, input_name="query_weights"):
    """Number of bits, 1 or 8, of the words that queries with `n_weights` weigh.

    Raises ValueError, which calls the weights by `input_name`, if it is neither.
    """
    if n_weights == n_bits:
        return 1
    if n_weights == 32 * n_bits and n_bits % 8 == 0:
        return 8
    alternative = ""
    if n_bits % 8 == 0:
        alternative = f", or {32 * n_bits} weights for words of eight bits"
    raise ValueError(
        f"{input_name} has {n_weights} columns. Codes of {n_bits} bits need {n_bits} "
        f"weights{alternative}. Both must come from the same hash function."
    )


def tables_of(weights, n_bits):
    """Contribution of each value of each byte of a code to its score.

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
    n_bytes = -(-n_bits // 8)
    tables = np.empty((len(weights), n_bytes, 256), dtype=weights.dtype)
    for query_weights, table in zip(fixed(np.ascontiguousarray(weights)), tables):
        write_table(query_weights, False, table)
    return tables


def signs_of_bits(weights, n_bits):
    """Bits that queries prefer, packed eight to the byte.

    A query of words prefers a 1 if the values of the word with this bit add more on average
    than the values without it.
    """
    if word_size(n_bits, weights.shape[1]) == 8:
        values = np.arange(256, dtype=np.uint8)[:, None]
        bits = np.unpackbits(values, axis=1, bitorder="little")
        signs = 2.0 * bits - 1
        by_word = weights.reshape(len(weights), -1, 256)
        weights = (by_word @ signs).reshape(len(weights), n_bits)
    return np.packbits(weights > 0, axis=1, bitorder="little")


def columns_of(data):
    """Packed codes as columns: an array of shape (n_words, n_codes) of the widest words."""
    n_bytes = data.shape[1]
    size = next(size for size in (8, 4, 2, 1) if n_bytes % size == 0)
    words = np.ascontiguousarray(data).view(f"u{size}")
    return fixed(np.ascontiguousarray(words.T))


def fixed(array):
    """A read-only view of an array.

    Arrays that are mapped from files are read-only, so loops are compiled for such arrays
    alone.
    """
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


class TokenSets(NamedTuple):
    """Codes of tokens, sorted by their documents.

    Parameters
    ----------
    packed : PackedCodes
        Codes in little bit order.

    starts : ndarray of shape (n_documents + 1,), dtype int64
        Tokens of document d are ``packed[starts[d]:starts[d + 1]]``, at least one.

    present : ndarray of shape (n_documents,), dtype int64
        Numbers of the documents, ascending.
    """

    packed: PackedCodes
    starts: np.ndarray
    present: np.ndarray

    @classmethod
    def from_numbers(cls, packed, numbers):
        """Sort little-endian codes by the numbers of their documents."""
        if np.any(numbers[1:] < numbers[:-1]):
            order = np.argsort(numbers, kind="stable")
            packed = packed[order]
        present, sizes = np.unique(numbers, return_counts=True)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        return cls(packed, starts, present)

    @property
    def n_documents(self):
        """Number of documents."""
        return len(self.starts) - 1

    def some(self, documents):
        """The documents at some places, or in a slice."""
        sizes = np.diff(self.starts)[documents]
        ends = np.cumsum(sizes)
        # Row r of a document of the result is row r plus this shift of all tokens.
        shifts = self.starts[documents] - (ends - sizes)
        rows = np.repeat(shifts, sizes)
        rows += np.arange(ends[-1])
        starts = np.concatenate(([0], ends))
        return TokenSets(self.packed[rows], starts, self.present[documents])

    def maxima(self, by_entry, unit):
        """The highest score of each token of queries in each of the documents."""
        from .._loops._search import maxsim_scan

        data = fixed(np.ascontiguousarray(self.packed.data))
        terms = self.packed.terms.pairs(len(data))
        n_tokens = by_entry.shape[2]
        maxima = np.empty((self.n_documents, n_tokens), dtype=by_entry.dtype)
        maxsim_scan(fixed(by_entry), data, terms, unit, self.starts, maxima)
        return maxima


def token_blocks(weights, numbers, documents):
    """Generate QueryTables of blocks of queries, each of some _TOKENS_PER_BLOCK tokens.

    `numbers` has the number of the query of each token.
    """
    n_bits = documents.packed.n_bits
    order = np.argsort(numbers, kind="stable")
    n_tokens = np.bincount(numbers)  # (n_queries,)
    starts = np.concatenate(([0], np.cumsum(n_tokens)))
    # A block has the queries whose first tokens are in one run of _TOKENS_PER_BLOCK tokens.
    blocks = starts[:-1] // _TOKENS_PER_BLOCK
    firsts = np.flatnonzero(np.diff(blocks, prepend=-1))
    n_queries = len(starts) - 1
    for first, last in pairwise([*firsts, n_queries]):
        begin = starts[first]
        end = starts[last]
        rows = order[begin:end]
        block_weights = weights[rows].astype(np.float64)
        tables = tables_of(block_weights, n_bits)
        query_starts = starts[first : last + 1] - begin
        yield QueryTables.from_tables(tables, query_starts, documents.packed.terms)


class QueryTables(NamedTuple):
    """Contribution of each byte of a code to the scores of the tokens of some queries.

    Parameters
    ----------
    tables : ndarray of shape (n_bytes, 256, n_query_tokens), dtype float64
        The tables, divided by two to the power of `exponent`.

    starts : ndarray of shape (n_queries + 1,), dtype int64
        The tokens of query q are at places ``starts[q]`` to ``starts[q + 1] - 1``.

    exponent : int
        Multiply scores by two to this power.

    margin : float
        Twice the largest error of a score in float32.
    """

    tables: np.ndarray
    starts: np.ndarray
    exponent: int
    margin: float

    @classmethod
    def from_tables(cls, tables, starts, terms):
        """Scale tables of tokens, (n_query_tokens, n_bytes, 256), for codes with terms."""
        factor, addend = terms.largest()
        at_least_1 = max(factor, 1.0)
        largest_entries = np.abs(tables).max(axis=2)  # (n_query_tokens, n_bytes)
        largest_sum = largest_entries.sum(axis=1).max()
        # After scaling no score exceeds float32, nor does the scale of addends.
        exponent_of_scores = int(np.frexp(largest_sum * at_least_1 + addend)[1])
        exponent = max(exponent_of_scores, -120)
        # A sum is rounded once for each byte, and its entries and terms are rounded, too.
        n_roundings = tables.shape[1] + 8
        largest_score = largest_sum * factor + addend
        error = _FLOAT32_EPS * 2.0**-exponent * largest_score + at_least_1 * _FLOAT32_LEAST
        scaled = np.ldexp(tables, -exponent)
        by_entry = np.moveaxis(scaled, 0, 2)  # (n_bytes, 256, n_query_tokens)
        margin = len(tables) * 2 * n_roundings * error
        return cls(np.ascontiguousarray(by_entry), starts, exponent, margin)

    def scores(self, documents, n_jobs=None):
        """Scores of documents with the queries, with sums in float32.

        Returns an array of shape (n_queries, n_documents), dtype float64.
        """
        scores = np.empty((len(self.starts) - 1, documents.n_documents))
        tables = self.tables.astype(np.float32)

        def score_part(part):
            maxima = documents.some(part).maxima(tables, 2.0**-self.exponent)
            sums = np.add.reduceat(maxima, self.starts[:-1], axis=1, dtype=np.float64)
            scores[:, part] = sums.T

        parts = slices(documents.n_documents, _DOCUMENTS_PER_PART)
        list(map_in_threads(score_part, parts, n_jobs))
        return scores

    def exact_scores(self, query, documents):
        """Scores of documents with one query, in float64.

        The order of the documents, of their tokens and of the query's tokens does not
        change them.
        """
        tokens = slice(self.starts[query], self.starts[query + 1])
        tables = np.ascontiguousarray(self.tables[:, :, tokens])
        maxima = documents.maxima(tables, 2.0**-self.exponent)
        sums = np.sort(maxima, axis=1).sum(axis=1)
        return np.ldexp(sums, self.exponent)
