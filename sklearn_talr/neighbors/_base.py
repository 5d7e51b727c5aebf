"""The base of all indexes: their whole fitted state is one object."""

from operator import attrgetter
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted


def fitted_property(path: str, doc: str) -> Any:
    """Make a property of an estimator that reads a dotted path of its fitted state."""
    return property(lambda self: attrgetter(path)(self._get_fitted()), doc=doc)


class FittedAtOnce(BaseEstimator):
    """Base of estimators whose fitted state is one object.

    The fitted state stands in one attribute, `_fitted`. It is never changed but replaced as
    a whole, at the end of a call. So a call that fails or is interrupted leaves the
    estimator as it was, and a call in another thread sees either the old or the new state.
    """

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted_or_none() is not None

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        unfitted = super().__repr__(N_CHAR_MAX)
        fitted = self._fitted_or_none()
        return unfitted if fitted is None else f"{unfitted} of {fitted}"

    def _fitted_or_none(self):
        """The fitted state of this moment, None before `fit`."""
        return vars(self).get("_fitted")

    def _get_fitted(self):
        """The fitted state of this moment, which a call takes once."""
        fitted = self._fitted_or_none()
        if fitted is None:
            check_is_fitted(self)
        return fitted

    n_items_: int = fitted_property("n_items", "Number of items.")
    nbytes: int = fitted_property(
        "nbytes", "Bytes of memory for all items, without targets and features."
    )

    @property
    def n_bytes_per_item_(self) -> float:
        """Mean bytes of memory per item, without targets."""
        return self.nbytes / self.n_items_


def as_results(indices, *, distances=None, tied=None):
    """What `kneighbors` returns: an array, or a tuple if more than one is wanted."""
    results = [array for array in (distances, indices, tied) if array is not None]
    return tuple(results) if len(results) > 1 else indices
