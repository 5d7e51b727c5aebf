"""What every hasher is once it is fitted: features in, bits out."""

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._state import validate_aside
from ..metrics import make_retrieval_scorer
from ._rows import all_rows_equal

_FLOATS = (np.float32, np.float64)  # other types, float16 and integers, become float32


class BaseHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all hashers: a feed-forward function whose signs are the bits.

    Subclasses set ``coefs_`` and ``intercepts_``, lists with one NumPy array per layer,
    like scikit-learn's multi-layer perceptron. So encoding is plain NumPy, and a pickle
    holds no torch objects and knows no device.
    """

    def decision_function(self, X):
        """Compute the activations whose signs are the bits.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        activations : ndarray of shape (n_samples, n_bits), dtype float32
            Positive where the bit is 1; farther from 0 is more certain.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        return self._activations(X).astype(np.float32, copy=False)

    def transform(self, X):
        """Compute binary codes.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_bits), dtype uint8
            Zeros and ones, see :func:`sklearn_talr.codes.pack_codes` to store them.
        """
        return (self.decision_function(X) > 0).astype(np.uint8)

    def score(self, X, y=None):
        """Tie-aware average precision of these samples, each ranking all the others.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            As given to `fit`.

        Returns
        -------
        score : float
            Mean over the samples that have something similar among the others, in [0, 1].
        """
        return make_retrieval_scorer("average_precision")(self, X, y)

    def _activations(self, X):
        return feed_forward(X, self.coefs_, self.intercepts_)

    @property
    def _n_features_out(self):
        return self.coefs_[-1].shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the features are
        return tags


def check_features(hasher, X):
    """Check features to be fitted; there must be something to tell apart.

    Returns
    -------
    X : ndarray or CSR of shape (n_samples, n_features)
        Checked features.

    seen : dict
        Fitted attributes that say which features those were.
    """
    X, seen = check_more_features(hasher, X, reset=True)
    if all_rows_equal(X):
        raise ValueError(
            "X is constant: all samples are equal, so no code can tell them apart."
        )
    return X, seen


def check_more_features(hasher, X, reset=False):
    """Check features like those seen before; return what `check_features` does."""
    return validate_aside(
        hasher, X, accept_sparse="csr", dtype=_FLOATS, ensure_min_samples=2, reset=reset
    )


def feed_forward(X, coefs, intercepts):
    """Apply linear layers with rectifiers between them, in the dtype of `X`."""
    for layer, (coef, intercept) in enumerate(zip(coefs, intercepts)):
        if layer:
            X = np.maximum(X, 0, out=X)
        X = X @ coef.astype(X.dtype, copy=False) + intercept.astype(X.dtype, copy=False)
    return X


def independent_random_state(random_state):
    """Make a generator as check_random_state does, but None leaves the global one alone."""
    return check_random_state(
        np.random.RandomState() if random_state is None else random_state
    )
