"""What a fitted estimator knows, in one piece."""

from dataclasses import dataclass

from ..affinity._resolve import checked_targets
from ..codes import hamming_distances
from ..codes._packed import as_words
from ..histogram import RankingHistogram, hamming_histogram
from ._columns import Columns, read_codes
from ._targets import Targets


@dataclass(frozen=True, eq=False)
class Fitted:
    """The database and what belongs to it, never changed but replaced as a whole.

    Whoever answers a call takes this object once, so that codes, items and targets fit
    together although another thread adds or removes items meanwhile.

    Parameters
    ----------
    index : CodeIndex
        The codes, their items, and the tables that searches have made.

    targets : Targets
        The targets of the items, if any.

    columns : Columns
        Length of the codes and names of their bits.
    """

    index: object
    targets: Targets
    columns: Columns

    @property
    def store(self):
        """The codes and their items."""
        return self.index.store

    @property
    def indices(self):
        """Indices of the items, ascending."""
        return self.store.items()[0]

    @property
    def codes(self):
        """Packed codes of the items, in the order of their indices."""
        return self.store.packed(self.store.items()[1])

    def read(self, X):
        """Packed codes, which must have the columns of the database."""
        return read_codes(X, self.columns)[0]

    def query_words(self, X):
        """Words of the queries, and their own indices where the items are the queries.

        Returns an array of shape (n_queries, n_words), and None or an array of shape
        (n_queries,).
        """
        if X is not None:
            return as_words(self.read(X).data), None
        own, codes = self.store.items()
        return self.store.words[codes], own

    def histogram(self, X, y, n_jobs):
        """Counts of the items by affinity and distance to each query."""
        if y is None:
            raise ValueError("y is needed to know what is relevant to the queries.")
        affinity, y_database = self.targets
        queries, codes = self.read(X), self.codes
        if affinity is None:
            return RankingHistogram.from_scores(y, -hamming_distances(queries, codes))
        y_query, y_database = checked_targets(affinity, y), y_database[self.indices]
        return hamming_histogram(
            queries, codes, affinity, y_query, y_database, n_jobs=n_jobs
        )
