"""Documents of an index: sets of tokens, their labels, and the nearest of them."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._threads import map_in_threads
from ..codes import concatenate_codes
from ..codes._door import QueryTables, TokenSets, Words, query_blocks, read_groups
from ._inner_loops import write_maxima


@dataclass(frozen=True, eq=False)
class Documents:
    """All that a fitted index of documents knows, never changed but replaced as a whole.

    Parameters
    ----------
    hasher : FittedHasher
        The hasher of the tokens.

    packed : PackedCodes
        Codes of the tokens, those of each document side by side.

    numbers : ndarray of shape (n_tokens,), dtype int64
        Places in `labels` of the documents of the tokens, ascending.

    labels : ndarray of shape (n_labels,)
        Label of each document given so far, those removed included.

    are_rows : bool
        Whether each row is a document, since no groups were given.
    """

    hasher: object
    packed: object
    numbers: np.ndarray
    labels: np.ndarray
    are_rows: bool

    @classmethod
    def of(cls, hasher, packed, groups):
        """The first documents; groups are labels of the rows, or None."""
        labels, numbers = read_groups(groups, len(packed))
        return cls(hasher, *_sorted(packed, numbers), labels, groups is None)

    def add(self, packed, groups):
        """The documents and more tokens, of new documents or of those that are there."""
        if self.are_rows != (groups is None):
            given, now = ("no groups", "some")[:: 1 if self.are_rows else -1]
            raise ValueError(f"fit was given {given} and partial_fit {now}: groups.")
        n_labels = len(self.labels)
        if groups is None:
            labels = n_labels + np.arange(len(packed))
        else:
            of_rows = read_groups(groups, len(packed))
            labels = of_rows.labels[of_rows.numbers]
        if _type_of_labels(labels) != _type_of_labels(self.labels):
            raise ValueError(
                f"groups are of type {labels.dtype} and those of fit of type "
                f"{self.labels.dtype}: labels must be of one type."
            )
        labels = np.concatenate((self.labels, labels))
        labels, numbers = read_groups(labels, len(labels))
        packed = concatenate_codes([self.packed, packed])
        numbers = np.concatenate((self.numbers, numbers[n_labels:]))
        packed, numbers = _sorted(packed, numbers)
        return replace(self, packed=packed, numbers=numbers, labels=labels)

    def remove(self, groups):
        """The documents without those of these labels; the others stay where they are."""
        groups = np.atleast_1d(np.asarray(groups))
        here = self.labels[self.present]
        missing = groups[~np.isin(groups, here)]
        if missing.size:
            raise ValueError(
                f"groups contains {missing[:5].tolist()}, which are not in the database."
            )
        removed = np.isin(self.labels, groups)[self.numbers]
        if removed.all():
            raise ValueError("groups would leave no document; fit another index instead.")
        kept = self.packed[~removed]
        return replace(self, packed=kept, numbers=self.numbers[~removed])

    @cached_property
    def present(self):
        """Places in `labels` of the documents that are there, ascending."""
        return np.unique(self.numbers)

    @cached_property
    def tokens(self):
        """The documents that are there, as TokenSets, in the order of `present`."""
        return TokenSets.of(self.packed, np.searchsorted(self.present, self.numbers))

    @property
    def nbytes(self):
        """Bytes of all that is kept for the tokens."""
        kept = self.packed.data, self.numbers, self.tokens.terms, self.tokens.starts
        return sum(array.nbytes for array in kept)

    def nearest(self, X, groups, n_neighbors, n_jobs):
        """Generate scores, places in `labels`, and places tied with the last, by query."""
        weights = np.asarray(self.hasher.query_weights(X), dtype=np.float32)
        words = Words.of_weights(self.packed.n_bits, weights.shape[1])
        numbers = read_groups(groups, len(weights)).numbers
        n_bytes, tokens = self.packed.data.shape[1], self.tokens
        for part in query_blocks(weights, numbers, words, n_bytes):
            tables = QueryTables.of(*part, tokens)
            near = _Nearest(tables, tokens, n_neighbors, n_jobs)
            for scores, places, tied in near.of_queries():
                yield scores, self.present[places], self.present[tied]


class _Nearest:
    """The documents nearest to each query of some tables, by scores in float64."""

    def __init__(self, tables, tokens, n_neighbors, n_jobs):
        self._tables, self._tokens = tables, tokens
        self._n_neighbors, self._n_jobs = n_neighbors, n_jobs
        self._scores = tables.scores(tokens, write_maxima, n_jobs)

    def of_queries(self):
        """Scores, places and ties, query by query."""
        return map_in_threads(self._of_query, range(len(self._scores)), self._n_jobs)

    def _of_query(self, query):
        scores, n_neighbors = self._scores[query], self._n_neighbors
        last = len(scores) - n_neighbors
        limit = np.partition(scores, last)[last] - self._tables.margins[query]
        places = np.flatnonzero(scores >= limit)
        exact = self._tables.exact_scores(query, self._tokens.some(places))
        order = np.lexsort((places, -exact))
        tied = places[exact == exact[order[n_neighbors - 1]]]
        order = order[:n_neighbors]
        return exact[order], places[order], tied


def _sorted(packed, numbers):
    """Codes and numbers of their documents, sorted by these."""
    if np.all(numbers[1:] >= numbers[:-1]):
        return packed, numbers
    order = np.argsort(numbers, kind="stable")
    return packed[order], numbers[order]


def _type_of_labels(labels):
    """Numbers, texts, or what else labels are."""
    kind = labels.dtype.kind
    return "number" if kind in "biuf" else kind
