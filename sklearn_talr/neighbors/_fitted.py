"""What a fitted estimator knows, in one piece."""

from dataclasses import dataclass

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

    def read_more(self, X):
        """Packed codes to be added, which must have terms if those of the database do."""
        packed = self.read(X)
        have, given = n_terms(self.store.terms), n_terms(packed.terms)
        if have != given:
            raise ValueError(
                f"X has {given} terms per code and the codes of the database have {have}. "
                "Add what `transform` or `encode` of the same hasher returns."
            )
        return packed


def n_terms(terms):
    """Number of terms per code, 0 for None."""
    return 0 if terms is None else terms.shape[1]
