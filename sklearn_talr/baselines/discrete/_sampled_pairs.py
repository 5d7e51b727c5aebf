"""What hashers share that look at all pairs of a sample of the rows."""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from ..._threads import one_thread
from ...affinity._resolve import level_index
from ...hashing._affinity_hasher import AffinityHasher
from ...hashing._base import independent_random_state
from ...hashing.gradient._features import all_rows_equal, mean_and_unit


class SampledPairsHasher(AffinityHasher):
    """Base of hashers that are fitted to `n_samples` rows and the affinity of all pairs.

    Subclasses define ``_fit_pairs(X, affinities, rng)``: the rows drawn, dense, and their
    affinities, divided by the highest there is.
    """

    _parameter_constraints: dict = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
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
            is similar, or all pairs are equally similar. `StructHasher` also needs samples
            drawn that have both similar and other ones among them.
        """
        rng = independent_random_state(self.random_state)
        X = self._validate_features(X)
        targets, levels = self._fit_affinity(X, y)
        rows = rng.permutation(X.shape[0])[: self.n_samples]
        index = level_index(self.affinity_, levels, targets[rows], targets[rows])
        X = X[rows].toarray() if sp.issparse(X) else X[rows]
        if all_rows_equal(X):
            raise ValueError(
                f"The {len(rows)} samples drawn have equal features. Raise n_samples."
            )
        with one_thread():
            self._fit_pairs(X, np.take(levels / levels[-1], index), rng)
        return self

    def _keep_linear(self, coef, intercept, mean, unit):
        """Keep a function of features that were brought to `in_units`."""
        coef = coef / unit
        self.coefs_, self.intercepts_ = [coef], [intercept - mean @ coef]


def in_units(X):
    """Rows less their mean, with a mean squared norm of 1; the mean, and the unit."""
    mean, unit = mean_and_unit(X)
    return (X - mean) / unit, mean, unit
