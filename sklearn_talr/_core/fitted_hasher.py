"""A hasher inside Pipelines, searches and frozen estimators, as other rooms use it."""

from typing import NamedTuple

import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .validation import read_features

# Values of a parameter `query`
QUERIES = {"auto", "bits", "weights"}


class FittedHasher(NamedTuple):
    """A fitted hasher and the steps before it, at any depth.

    Parameters
    ----------
    estimator : estimator
        The estimator that the user has passed: the hasher, or Pipelines, searches over
        parameters and frozen estimators around it.

    hasher : estimator
        The hasher itself.

    before : tuple of transformers
        Steps that features go through before the hasher, from the outermost Pipeline on.

    names : tuple of str
        Names of the steps that lead to the hasher, from the outermost Pipeline on.

    is_frozen : bool
        Whether the hasher stands in a FrozenEstimator, so that `fit` leaves it as it is.

    is_searched : bool
        Whether the hasher stands in a search, so that `fit` fits clones of it.
    """

    estimator: object
    hasher: object
    before: tuple = ()
    names: tuple = ()
    is_frozen: bool = False
    is_searched: bool = False

    @classmethod
    def from_estimator(cls, estimator):
        """Take an estimator apart, fitted or not; raise TypeError if it is a class."""
        if isinstance(estimator, type):
            raise TypeError(
                f"the hasher must be an instance, got the class {estimator.__name__}. "
                f"Write {estimator.__name__}(), with its parameters in the parentheses."
            )
        inner = estimator
        before = []
        names = []
        is_frozen = is_searched = False
        while True:
            if isinstance(inner, FrozenEstimator):
                inner = inner.estimator
                is_frozen = True
            elif is_search(inner):
                inner = estimator_of_search(inner)
                is_searched = True
            elif isinstance(inner, Pipeline):
                *earlier, (name, inner) = working_steps(inner)
                before += [step for _, step in earlier]
                names.append(name)
            else:
                return cls(
                    estimator,
                    inner,
                    before=tuple(before),
                    names=tuple(names),
                    is_frozen=is_frozen,
                    is_searched=is_searched,
                )

    @property
    def name(self):
        """Name of the hasher's class."""
        return type(self.hasher).__name__

    def check(self):
        """Return it; raise TypeError if the estimator makes no codes."""
        if hasattr(self.hasher, "encode"):
            return self
        place, hidden = hasher_inside(self.hasher)
        remedy = ""
        if hidden is not None:
            remedy = (
                f" It holds a hasher in `{place}`: pass that one, or give the class of the "
                "estimator the methods `encode` and `query_weights`."
            )
        raise TypeError(
            "hasher must be a hasher, with a method `encode`, or a Pipeline or a search "
            f"over parameters that ends in one, got {self.estimator!r}.{remedy}"
        )

    def query_form(self, query):
        """Bits or weights: "auto" is what the hasher declares, else "bits"."""
        if query != "auto":
            return query
        place, hidden = self._hidden()
        if getattr(hidden, "default_query", "bits") != "bits":
            raise TypeError(
                f"query='auto' has two readings: {self.name} is no hasher, and holds one "
                f"in `{place}`, whose queries are {hidden.default_query}. Pass that "
                f"hasher, estimator.{place}; or query='bits', which compares the bits that "
                f"{self.name}.transform returns."
            )
        return getattr(self.hasher, "default_query", "bits")

    def affinity_of(self, affinity):
        """The affinity passed; "auto" is what the hasher was fitted with, if it has any."""
        if not isinstance(affinity, str):
            return affinity
        place, hidden = self._hidden()
        if hasattr(hidden, "affinity_"):
            raise TypeError(
                f"affinity='auto' has two readings: {self.name} is no hasher, and holds "
                f"one in `{place}`, which was fitted with {hidden.affinity_!r}. Pass that "
                f"hasher, estimator.{place}; or the affinity, as affinity=estimator.{place}"
                ".affinity_."
            )
        return getattr(self.hasher, "affinity_", affinity)

    def _hidden(self):
        """Place of a hasher inside an estimator that is none, and the hasher, or None."""
        if hasattr(self.hasher, "encode"):
            return "", None
        return hasher_inside(self.hasher)

    @property
    def first(self):
        """The estimator that features of items reach first: a step, or the hasher."""
        return self.before[0] if self.before else self.hasher

    def read(self, X, name="X"):
        """Features as arrays, or as they are if the first step declares other forms."""
        return read_for(self.first, X, name)

    def prepare(self, X, is_query=False):
        """Features as the hasher takes them. With two views, steps change items only."""
        if is_query and self.has_two_views:
            return X
        X = self.read(X)
        for step in self.before:
            X = step.transform(X)
        return X

    @property
    def has_two_views(self):
        """Whether queries are rows of another kind than items."""
        return getattr(self.hasher, "has_query_view_", False)

    def transform(self, X):
        """Bits of features of items, as an array."""
        if not hasattr(self.hasher, "transform"):
            raise TypeError(
                "estimator must be a hasher, or a Pipeline that ends in one, got "
                f"{self.name}, which has no `transform`. For an index pass index.hasher_."
            )
        return self.hasher.transform(self.prepare(X))

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


def working_steps(pipeline):
    """Names and steps of a Pipeline, without the steps that do not change features.

    "passthrough" and None stand for no step. Samplers, such as imbalanced-learn's, have a
    method `fit_resample`: they choose rows in `fit` alone.
    """
    steps = [
        (name, step)
        for name, step in pipeline.steps
        if step is not None and not isinstance(step, str) and not is_sampler(step)
    ]
    if not steps:
        raise TypeError(
            f"hasher must be a Pipeline that ends in a hasher, got {pipeline!r}."
        )
    return steps


def is_sampler(step):
    """Whether a step of a Pipeline changes the number or the order of rows in `fit`."""
    return hasattr(step, "fit_resample")


def is_search(estimator):
    """Whether an estimator is a search over parameters of another one, fitted or not."""
    has_parameters = hasattr(estimator, "estimator") and hasattr(estimator, "refit")
    return hasattr(estimator, "best_estimator_") or has_parameters


def estimator_of_search(search):
    """The best estimator of a search, or before `fit` the estimator that it will fit."""
    if hasattr(search, "best_estimator_"):
        return search.best_estimator_
    if not search.refit:
        raise ValueError(
            f"{type(search).__name__} has refit=False, so that it has no best_estimator_ "
            "to make codes. Set refit=True."
        )
    return search.estimator


def hasher_inside(estimator):
    """A hasher that an estimator holds, and its place; fitted attributes come first.

    Returns
    -------
    place : str
        Name of the attribute or parameter.

    hasher : estimator or None
        The hasher, None if there is none.
    """
    parts = dict(getattr(estimator, "__dict__", {}))
    if hasattr(estimator, "get_params") and not isinstance(estimator, type):
        parts |= estimator.get_params()
    for name in sorted(parts, key=lambda name: not name.endswith("_")):
        for part in _estimators_in(parts[name]):
            hasher = FittedHasher.from_estimator(part).hasher
            if hasattr(hasher, "encode") and hasattr(hasher, "query_weights"):
                return name, hasher
    return "", None


def _estimators_in(part):
    """Estimators of an attribute: the value, its entries, or the owner of a method."""
    if isinstance(part, list | tuple):
        return [estimator for entry in part for estimator in _estimators_in(entry)]
    part = getattr(part, "__self__", part)
    is_estimator = hasattr(part, "fit") and not isinstance(part, type)
    return [part] if is_estimator else []


def read_for(estimator, X, name="X"):
    """Features as arrays, unless an estimator declares that it takes other forms.

    Texts and tables of columns to choose from go to the estimator as they are.
    """
    if takes_any_form(estimator) and not sp.issparse(X):
        return X
    return read_features(X, name)


def takes_any_form(estimator):
    """Whether an estimator declares that its features need not be an array of numbers."""
    if isinstance(estimator, FrozenEstimator):
        return takes_any_form(estimator.estimator)
    if is_search(estimator):
        return takes_any_form(estimator_of_search(estimator))
    if isinstance(estimator, Pipeline):
        return takes_any_form(working_steps(estimator)[0][1])
    if hasattr(estimator, "transformers"):
        # A ColumnTransformer chooses columns from a table.
        return True
    if hasattr(estimator, "transformer_list"):
        # A FeatureUnion passes features to each of its transformers.
        steps = [step for _, step in estimator.transformer_list if hasattr(step, "fit")]
        return any(map(takes_any_form, steps))
    if not hasattr(estimator, "__sklearn_tags__"):
        return True
    tags = get_tags(estimator)
    return tags.no_validation or tags.input_tags.string or not tags.input_tags.two_d_array
