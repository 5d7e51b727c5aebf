"""What hashers that learn from similarity do with their targets."""

import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from .._threads import one_thread
from ..affinity import ThresholdAffinity
from ..affinity._contrast import check_contrast
from ..affinity._resolve import len_targets, level_values, resolve_affinity
from ._base import BaseHasher


class AffinityHasher(BaseHasher):
    """Base of hashers with a parameter `affinity`."""

    def _fit_affinity(self, X, y):
        """Settle who is similar to whom; return checked targets and the levels."""
        affinity, targets = self._resolve(self._asked_affinity(y), X, y)
        if isinstance(affinity, BaseEstimator):
            with one_thread():
                affinity = clone(affinity).fit(targets)
        levels = level_values(affinity, targets, targets)
        check_contrast(affinity, levels, targets)
        self.affinity_ = affinity
        return targets, levels

    def _asked_affinity(self, y):
        """What the affinity of these targets is to be: "auto" or an oracle."""
        return self.affinity

    def _resolve(self, affinity, X, y):
        by_distance = isinstance(affinity, (str, ThresholdAffinity))
        if y is None and by_distance and sp.issparse(X):
            raise ValueError(
                "y=None means affinity by distance, which needs dense rows, but X is "
                "sparse. Pass y: labels, or dense feature rows of fewer dimensions with "
                "affinity=ThresholdAffinity()."
            )
        affinity, targets = resolve_affinity(affinity, X, y)
        if len_targets(targets) != X.shape[0]:
            raise ValueError(
                "X and y must have the same number of samples, got "
                f"{X.shape[0]} and {len_targets(targets)}."
            )
        return affinity, targets
