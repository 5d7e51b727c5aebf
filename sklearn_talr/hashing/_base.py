"""What every hasher is once it is fitted: features in, bits out."""

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..metrics import make_retrieval_scorer
from .gradient._features import all_rows_equal

_FLOATS = (np.float32, np.float64)  # other types, float16 and integers, become float32


class BaseHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all hashers: a feed-forward function whose signs are the bits.

    Subclasses set ``coefs_`` and ``intercepts_``, lists with one NumPy array per layer,
    like scikit-learn's multi-layer perceptron. So encoding is plain NumPy, and a pickle
    holds no torch objects and knows no device.
    """

    _metric = "average_precision"

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
        """Tie-aware retrieval score of these samples, each ranking all the others.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            As given to `fit`.

        Returns
        -------
        score : float
            Mean over the samples that have something similar among the others, in
            [0, 1]: average precision, or NDCG for hashers that maximise NDCG.
        """
        return make_retrieval_scorer(self._metric)(self, X, y)

    def _activations(self, X):
        return feed_forward(X, self.coefs_, self.intercepts_)

    @property
    def _n_features_out(self):
        return self.n_bits

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the features are
        return tags

    def _validate_features(self, X, reset=True):
        """Check the features to be fitted; there must be something to tell apart.

        With ``reset=False`` they are more of the same, and may be all equal.
        """
        X = validate_data(
            self, X, accept_sparse="csr", dtype=_FLOATS, ensure_min_samples=2, reset=reset
        )
        if reset and all_rows_equal(X):
            raise ValueError(
                "X is constant: all samples are equal, so no code can tell them apart."
            )
        return X


def feed_forward(X, coefs, intercepts):
    """Apply linear layers with rectifiers between them, in the dtype of `X`."""
    for layer, (coef, intercept) in enumerate(zip(coefs, intercepts)):
        if layer:
            X = np.maximum(X, 0, out=X)
        X = X @ coef.astype(X.dtype, copy=False) + intercept.astype(X.dtype, copy=False)
    return X


def centred(X):
    """Return the rows minus their mean in float64, and the mean."""
    mean = X.mean(axis=0, dtype=np.float64)
    return X - mean, mean


def independent_random_state(random_state):
    """scikit-learn's check_random_state, except that None does not touch the global RNG."""
    return check_random_state(
        np.random.RandomState() if random_state is None else random_state
    )
