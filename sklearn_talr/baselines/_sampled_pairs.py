"""Base of the hashers of this room, which learn from some rows and all their pairs."""

from functools import partial
from numbers import Integral
from operator import or_
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.compat import Interval, StrOptions, fit_method, independent_random_state
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress
from .._core.state import replace_fitted
from .._core.threads import one_thread
from .._core.types import Affinity, Any, Count, Rows, Seed, Self
from .._core.validation import refuse_unlike_labels
from ..affinity import fit_affinity
from ..affinity._base import places_of
from ..features._scaling import all_rows_equal, mean_and_unit
from ..hashing._base import BaseHasher, check_features


@parameters
class DiscreteHasher(BaseHasher):
    """Base of hashers that learn from rows drawn at random and all their pairs.

    Subclasses define ``_fit_pairs(X, affinities, rng, start)``. It takes the rows drawn,
    dense; the affinities of all their pairs, divided by the highest that the oracle knows;
    the RandomState that drew the rows; and ``start(n_tasks, name, state) -> Progress``,
    where ``state()`` is a dict of the fitted attributes so far. It returns what `finish` of
    the progress returns.
    """

    _parameter_constraints = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "affinity": [StrOptions({"auto"}), callable],
        "subsample": [Interval(Integral, 2, None, closed="left"), None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    n_bits: int = 32
    _: KW_ONLY
    affinity: Affinity = "auto"
    subsample: Count = 5000
    verbose: bool = False
    random_state: Seed = None

    @fit_method
    def fit(self, X: Rows, y: Any = None) -> Self:
        """Learn from samples drawn at random and all their pairs.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            What similarity means, see `affinity`.

        Returns
        -------
        self : object
            The fitted hasher.

        Raises
        ------
        ValueError
            If X and y do not fit, X or what is drawn of it is constant, no pair of samples
            is similar, all pairs are equally similar, or some do not count. For
            :class:`StructHasher` one of the samples drawn must also have both similar and
            dissimilar ones among them.

        Warns
        -----
        ConvergenceWarning
            If Ctrl-C has ended the fit early, which keeps the bits or rounds done by then.
        """
        rng = independent_random_state(self.random_state)
        refuse_unlike_labels(X, y, ("X", "y"))
        X, seen = check_features(self, X)
        affinity, targets, levels = fit_affinity(self.affinity, X, y)
        rows = rng.permutation(X.shape[0])[: self.subsample]
        seen["affinity_"] = affinity.given
        start = partial(Progress, self, X, y, fitted=partial(or_, seen))
        drawn = targets[rows]
        level_index = places_of(affinity, drawn, drawn, levels)
        if np.any(level_index < 0):
            raise ValueError(f"{type(self).__name__} knows no pairs that do not count.")
        X = X[rows].toarray() if sp.issparse(X) else X[rows]
        if all_rows_equal(X):
            raise ValueError(
                f"The {len(rows)} samples drawn have equal features. Raise subsample."
            )
        affinities = np.take(levels / levels[-1], level_index)
        with one_thread():
            fitted = self._fit_pairs(X, affinities, rng, start)
        return replace_fitted(self, fitted)


def signs(activations):
    """Bits as -1 and 1, float32."""
    return np.where(activations > 0, np.float32(1), np.float32(-1))


class ScaledRows(NamedTuple):
    """Rows less their mean, with a mean squared norm of 1."""

    rows: np.ndarray  # (n, n_features)
    mean: np.ndarray  # (n_features,)
    unit: float  # divisor of the rows less their mean

    @classmethod
    def from_rows(cls, X):
        """Scale rows."""
        mean, unit = mean_and_unit(X)
        return cls((X - mean) / unit, mean, unit)

    def linear_function(self, coef, intercept):
        """Fitted attributes of a linear function of the scaled rows."""
        intercept = np.broadcast_to(intercept, coef.shape[1]).astype(np.float64)
        return {
            "coefs_": [coef / self.unit],
            "intercepts_": [intercept],
            "means_": [self.mean],
        }
