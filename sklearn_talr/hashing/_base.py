"""What every hasher is once it is fitted: features in, bits out."""

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from .._state import validate_aside
from ..codes import PackedCodes, WeightedCodes
from ..metrics import make_retrieval_scorer
from ._rows import all_rows_equal

_FLOATS = (np.float32, np.float64)  # other types, float16 and integers, become float32
_BYTES_PER_BLOCK = 2**22  # of what is computed at once while encoding


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
        X, encoder = self._prepare(X)
        activations = np.empty((X.shape[0], encoder.n_bits), dtype=np.float32)
        for rows, block in encoder.blocks(X):
            activations[rows] = block
        return activations

    def query_weights(self, X):
        """Compute how much each bit of a code counts for real-valued queries.

        The database stays binary. A code is scored by the sum of the weights of its ones
        minus that of its zeros, see :func:`~sklearn_talr.codes.weighted_scores`.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of the queries.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_bits), dtype float32
            Positive where a 1 is wanted; farther from 0 counts more. These are the
            activations, saturated where the hasher was fitted to labels: the values of
            ``tanh(2 a / m)``, with m the mean magnitude of the query's activations.
        """
        weigh, activations = self._weigh(), self.decision_function(X)
        return activations if weigh is None else weigh(activations)

    def transform(self, X):
        """Compute binary codes.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        codes : WeightedCodes of shape (n_samples, n_bits), dtype uint8
            An array of zeros and ones that remembers the activations, if these fit into
            scikit-learn's `working_memory`, so that the same rows can be real-valued
            queries; :meth:`encode` keeps nothing and packs eight bits into a byte.
        """
        X, encoder = self._prepare(X)
        shape = X.shape[0], encoder.n_bits
        codes, terms = np.empty(shape, dtype=np.uint8), encoder.empty_terms(shape[0])
        activations = None
        if 4 * codes.size <= get_config()["working_memory"] * 2**20:
            activations = np.empty(shape, dtype=np.float32)
        for rows, block in encoder.blocks(X):
            if activations is not None:
                activations[rows] = block
            codes[rows], of_rows = encoder.quantize(X[rows], block)
            if terms is not None:
                terms[rows] = of_rows
        return WeightedCodes._of(codes, activations, self._weigh(), terms)

    def encode(self, X):
        """Compute binary codes, packed eight bits to the byte.

        Codes are packed block by block, so that little memory is taken beyond the
        features and the result.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        codes : PackedCodes
            Codes of shape (n_samples, n_bits), in little bit order.
        """
        X, encoder = self._prepare(X)
        data = np.empty((X.shape[0], -(-encoder.n_bits // 8)), dtype=np.uint8)
        terms = encoder.empty_terms(X.shape[0])
        for rows, block in encoder.blocks(X):
            bits, of_rows = encoder.quantize(X[rows], block)
            data[rows] = np.packbits(bits, axis=1, bitorder="little")
            if terms is not None:
                terms[rows] = of_rows
        return PackedCodes(data, encoder.n_bits, terms=terms)

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

    def _prepare(self, X):
        """Check features, and take what encodes them from the fitted state at once."""
        check_is_fitted(self)
        encoder = self._encoder()
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        return X, encoder

    def _encoder(self):
        fitted = vars(self)
        layers = {"coefs": fitted["coefs_"], "intercepts": fitted["intercepts_"]}
        sizes = [coef.shape[1] for coef in layers["coefs"]]
        return Encoder(partial(feed_forward, **layers), sizes[-1], max(sizes))

    def _weigh(self):
        """The function that makes weights of activations, None for themselves."""
        return None

    @property
    def _n_features_out(self):
        return self.coefs_[-1].shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the features are
        return tags


def take_signs(X, activations):
    """Ones where activations are positive, and no terms."""
    return activations > 0, None


class Encoder(NamedTuple):
    """A fitted hash function, for the time of one call.

    Parameters
    ----------
    function : callable
        ``function(X) -> activations``, in the precision that it computes in.

    n_bits : int
        Bits of a code.

    n_units : int
        Numbers per row of the largest array that the function makes.

    n_terms : int, default=0
        Numbers per row that belong to a code in the database.

    quantize : callable, default=take_signs
        ``quantize(X, activations) -> (bits, terms)``: what a row is in the database, its
        bits, bool or uint8, and an array of shape (n_samples, n_terms), or None.
    """

    function: object
    n_bits: int
    n_units: int
    n_terms: int = 0
    quantize: object = take_signs

    def empty_terms(self, n_rows):
        """Room for the terms of so many rows, or None where there are none."""
        return np.empty((n_rows, self.n_terms), np.float32) if self.n_terms else None

    def blocks(self, X):
        """Yield slices of rows and their activations, bounding the memory taken."""
        n_bytes = min(get_config()["working_memory"] * 2**20, _BYTES_PER_BLOCK)
        n_rows = max(1, int(n_bytes / (8 * self.n_units)))
        for rows in gen_batches(X.shape[0], n_rows):
            yield rows, self.function(X[rows])


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
    X, seen = validate_aside(
        hasher, X, accept_sparse="csr", dtype=_FLOATS, ensure_min_samples=2, reset=reset
    )
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # the user's matrix stays as it is
        X.sum_duplicates()
    return X, seen


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
