"""Base of the hashers of this room, which learn from some rows and all their pairs."""

from functools import partial
from numbers import Integral

import numpy as np
import scipy.sparse as sp

from .._arrays import refuse_unlike_labels
from .._compat import Interval, StrOptions, fit_method, independent_random_state
from .._parameters import KW_ONLY, parameters
from .._progress import Progress
from .._state import replace_fitted
from .._threads import one_thread
from .._types import Affinity, Any, Count, Rows, Seed, Self
from ..affinity import fit_affinity
from ..affinity._base import places_of
from ..features._scaling import all_rows_equal, mean_and_unit
from ..hashing._base import BaseHasher, check_features


@parameters
class DiscreteHasher(BaseHasher):
    """Base of hashers that learn from rows drawn at random and all their pairs.

    Subclasses define ``_fit_pairs(X, affinities, rng, start)``, which takes the rows drawn,
    dense, the affinities of all their pairs, divided by the highest that the oracle knows,
    the RandomState that drew them, and ``start(n_tasks, name) -> Progress``. It returns the
    fitted attributes by `finish` of the progress.
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
        X, known = check_features(self, X)
        affinity, targets, levels = fit_affinity(self.affinity, X, y)
        rows = rng.permutation(X.shape[0])[: self.subsample]
        known |= {"affinity_": affinity.given}
        start = partial(Progress, self, X, y, fitted=lambda state: known | state)
        index = places_of(affinity, targets[rows], targets[rows], levels)
        if np.any(index < 0):
            raise ValueError(f"{type(self).__name__} knows no pairs that do not count.")
        X = X[rows].toarray() if sp.issparse(X) else X[rows]
        if all_rows_equal(X):
            raise ValueError(
                f"The {len(rows)} samples drawn have equal features. Raise subsample."
            )
        with one_thread():
            fitted = self._fit_pairs(X, np.take(levels / levels[-1], index), rng, start)
        return replace_fitted(self, fitted)


def signs(activations):
    """Bits as -1 and 1, float32."""
    return np.where(activations > 0, np.float32(1), np.float32(-1))


def in_units(X):
    """Rows less their mean, with a mean squared norm of 1; the mean, and the unit."""
    mean, unit = mean_and_unit(X)
    return (X - mean) / unit, mean, unit


def linear_function(coef, intercept, mean, unit):
    """Fitted attributes of a linear function of features that were brought `in_units`."""
    intercepts = [np.broadcast_to(intercept, coef.shape[1]).astype(np.float64)]
    return {"coefs_": [coef / unit], "intercepts_": intercepts, "means_": [mean]}
