"""A fitted hasher, alone or at the end of a fitted Pipeline, as other rooms use it."""

from typing import NamedTuple

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

QUERIES = {"auto", "bits", "weights"}  # values of a parameter `query`


class FittedHasher(NamedTuple):
    """A fitted hasher and the steps before it.

    Parameters
    ----------
    estimator : estimator
        The hasher or the whole Pipeline.

    hasher : estimator
        The hasher itself.

    before : Pipeline or None
        Steps that features go through first.
    """

    estimator: object
    hasher: object
    before: object = None

    @classmethod
    def of(cls, estimator):
        """Take apart a hasher, or a Pipeline that ends in one, also a frozen one."""
        inner = estimator
        while isinstance(inner, FrozenEstimator) or hasattr(inner, "best_estimator_"):
            frozen = isinstance(inner, FrozenEstimator)
            inner = inner.estimator if frozen else inner.best_estimator_
        if not isinstance(inner, Pipeline):
            return cls(estimator, inner)
        return cls(estimator, inner[-1], inner[:-1] if len(inner) > 1 else None)

    @property
    def name(self):
        """Name of the hasher's class."""
        return type(self.hasher).__name__

    def query_form(self, query):
        """Bits or weights: "auto" is what the hasher declares, else "bits"."""
        if query != "auto":
            return query
        return getattr(self.hasher, "default_query", "bits")

    def prepare(self, X, is_query=False):
        """Features as the hasher takes them; of two views, earlier steps are for items."""
        if self.before is None or (is_query and self.has_two_views):
            return X
        return self.before.transform(X)

    @property
    def has_two_views(self):
        """Whether its queries are rows of another kind than its items."""
        return getattr(self.hasher, "has_query_view_", False)

    def encode(self, X):
        """Packed codes of features of items."""
        return self.hasher.encode(self.prepare(X))

    def encode_query(self, X):
        """Packed codes of features of queries."""
        if not hasattr(self.hasher, "encode_query"):
            return self.encode(X)
        return self.hasher.encode_query(self.prepare(X, is_query=True))

    def query_weights(self, X):
        """Weights of features that are queries."""
        return self.hasher.query_weights(self.prepare(X, is_query=True))
