"""Base of all hashers: features in, bits out."""

from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._arrays import NUMPY, Space, as_numpy, enter
from .._state import held, validate_aside, validate_seen
from .._threads import map_in_threads, one_thread, slices
from ..codes import PackedCodes
from ..codes._door import Terms
from ..metrics import make_retrieval_scorer
from ._rows import all_rows_equal

_LARGEST = 1e37  # float32 ends at 3e38
_BYTES_PER_BLOCK = 2**24  # of the activations of a block, in NumPy
_LARGEST_ID = 2**24  # up to which float32 has all integers


class BaseHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all hashers: a feed-forward function whose signs are the bits.

    Subclasses set ``coefs_`` and ``intercepts_``, lists with one NumPy array per layer,
    like scikit-learn's multi-layer perceptron, and ``means_``, a list of one array, which
    is subtracted from the features first; a subclass without it takes them as they are. So
    encoding is plain NumPy, and a pickle holds no torch objects and knows no device. With
    scikit-learn's `array_api_dispatch` each call takes these arrays to where its features
    are.

    Attributes
    ----------
    default_query : {"bits", "weights"}
        How codes of the class are to be searched, where ``query="auto"``: by Hamming
        distance to the bits of a query, or by its weights.
    """

    default_query = "bits"

    # Whether `transform` can compute in other libraries than NumPy.
    _follows_arrays = True

    def decision_function(self, X):
        """Compute the activations whose signs are the bits.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        activations : ndarray of shape (n_samples, n_bits), dtype float32
            Positive where the bit is 1; farther from 0 is more certain. With
            `array_api_dispatch` an array of the library of `X`, on its device.
        """
        X, encoder = self._prepare(X)
        return encoder.activations(X)

    def query_weights(self, X):
        r"""Compute how much each bit of a code counts for weighted queries.

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
            :math:`\tanh(2 a/m)`, with m the mean magnitude of the query's activations.
            Words of several bits have more weights, see
            :class:`~sklearn_talr.hashing.AdditiveHasher`. With `array_api_dispatch` an
            array of the library of `X`, on its device.
        """
        X, encoder = self._prepare(X)
        activations = encoder.of_queries().activations(X)
        if encoder.weigh is None:
            return activations
        return encoder.weigh(activations, encoder.space.xp)

    def transform(self, X):
        """Compute binary codes.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_bits), dtype uint8
            Zeros and ones. With `array_api_dispatch` an array of the library of `X`, on its
            device. :meth:`encode` packs eight bits into a byte.
        """
        X, encoder = self._prepare(X)
        codes = encoder.space.empty((X.shape[0], encoder.n_bits), "uint8")

        def keep(rows, block, activations):
            bits, _ = encoder.quantize(block, activations)
            encoder.space.fill(codes, rows, bits)

        encoder.do_blocks(X, keep)
        return codes

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
            Codes of shape (n_samples, n_bits), in little bit order, with the factors and
            addends that weighted queries multiply and add. The bytes are in NumPy, wherever
            `X` is.
        """
        X, encoder = self._prepare(X)
        data = np.empty((X.shape[0], -(-encoder.n_bits // 8)), dtype=np.uint8)
        rule, lengths = encoder.rule, None
        if rule is not None and rule.length_table is not None:
            lengths = np.empty(X.shape[0], dtype=np.uint8)

        def keep(rows, block, activations):
            bits, of_rows = encoder.quantize(block, activations)
            data[rows] = np.packbits(as_numpy(bits), axis=1, bitorder="little")
            if lengths is not None:
                lengths[rows] = of_rows

        encoder.do_blocks(X, keep)
        terms = Terms() if rule is None else rule.terms(data, lengths)
        return PackedCodes._of(data, encoder.n_bits, "little", terms)

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
        return make_retrieval_scorer("AP")(self, X, y)

    def _prepare(self, X):
        """Check features, and take the encoder from the fitted state at once."""
        now = held(self)
        check_is_fitted(now)
        encoder = now._encoder()._replace(weigh=now._weigh())
        space, X = enter_features(now, X)
        X = validate_seen(now, X, accept_sparse="csr", dtype=space.floats(X))
        return X, encoder if space is NUMPY else encoder.moved_to(space)

    def _encoder(self):
        fitted = vars(self)
        layers = Layers(fitted["coefs_"], fitted["intercepts_"], *fitted.get("means_", []))
        return Encoder(layers, layers.coefs[-1].shape[1], layers.n_units)

    def _trains_in(self, space):
        """Whether `fit` leaves features of another library where they are."""
        return False

    def _weigh(self):
        """Function from activations to query weights; None where the two are equal."""
        return None

    @property
    def _n_features_out(self):
        return self.coefs_[-1].shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._follows_arrays
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the features are
        return tags


def take_signs(X, activations):
    """Bits that are 1 where activations are positive, and None for lengths."""
    return activations > 0, None


class Encoder(NamedTuple):
    """A fitted hash function, for the time of one call.

    Parameters
    ----------
    function : callable
        ``function(X) -> activations``, in the precision that it computes in. If the hasher
        follows arrays, it has a method ``moved_to(space)``, which returns the
        function of features of another library.

    n_bits : int
        Bits of a code.

    n_units : int
        Numbers per row of the largest array that the function makes.

    quantize : callable, default=take_signs
        ``quantize(X, activations) -> (bits, lengths)``: bits of rows in the database, bool
        or uint8, and a byte for each row, where the rule has a table of these, or None.

    space : Space, default=NUMPY
        Where features and activations are.

    has_threads : bool, default=False
        Whether the function has threads of its own, or a device to fill. Otherwise threads
        of ours share the blocks, and BLAS is held to one.

    n_jobs : int, default=None
        Number of these threads, as for `map_in_threads`.

    rule : ScoreRule, default=None
        How codes get factors and addends. None means that they have none.

    weigh : callable, default=None
        ``weigh(activations, xp) -> query_weights``; None means the activations themselves.

    query_function : callable, default=None
        ``query_function(X)``: what queries have in place of activations, shape
        (n_samples, n_weights). None means the activations.

    n_weights : int, default=0
        Weights of a query, where it has others than activations.

    prepare : callable, default=None
        ``prepare(X)``: rows as all functions take them, in NumPy. None means as they are.
    """

    function: object
    n_bits: int
    n_units: int
    quantize: object = take_signs
    space: Space = NUMPY
    has_threads: bool = False
    n_jobs: int | None = None
    rule: object = None
    weigh: object = None
    query_function: object = None
    n_weights: int = 0
    prepare: object = None

    def of_queries(self):
        """The encoder whose activations are those of queries."""
        if self.query_function is None:
            return self
        n_units = max(self.n_units, self.n_weights)
        return self._replace(
            function=self.query_function, n_bits=self.n_weights, n_units=n_units
        )

    def moved_to(self, space):
        """The encoder of features in another space."""
        function = self.function.moved_to(space)
        return self._replace(function=function, space=space, has_threads=True)

    def activations(self, X):
        """Activations of all rows, shape (n_samples, n_bits), float32."""
        activations = self.space.empty((X.shape[0], self.n_bits), "float32")

        def keep(rows, block, of_block):
            self.space.fill(activations, rows, of_block)

        self.do_blocks(X, keep)
        return activations

    def do_blocks(self, X, work):
        """Call ``work(rows, block, activations)`` for blocks of rows, bounding the memory.

        Several calls may be made at the same time. The size of a block does not depend on
        the number of threads, and so no rounding does.
        """
        n_bytes = _working_memory()
        if self.space is NUMPY:
            n_bytes = min(n_bytes, _BYTES_PER_BLOCK)
        n_rows = max(1, int(n_bytes / (8 * self.n_units)))
        blocks = list(slices(X.shape[0], n_rows))

        def do(rows):
            block = X[rows, :]
            if self.prepare is not None:
                block = self.prepare(block)
            work(rows, block, self.function(block))

        done = map(do, blocks)
        if not self.has_threads:
            share = map if len(blocks) == 1 else partial(map_in_threads, n_jobs=self.n_jobs)
            done = share(one_thread()(do), blocks)
        for _ in done:
            pass


class Layers(NamedTuple):
    """Linear layers of centered features, with rectifiers between them.

    Parameters
    ----------
    coefs, intercepts : lists of ndarray
        Weights of each layer.

    mean : ndarray of shape (n_features,), default=None
        Subtracted from the features first, so that those far from the origin lose no
        digits in products. None means 0.

    space : Space, default=NUMPY
        Where features are.
    """

    coefs: list
    intercepts: list
    mean: np.ndarray | None = None
    space: Space = NUMPY

    @property
    def n_units(self):
        """Numbers per row of the largest array that is made."""
        return max(self.coefs[0].shape[0], *(coef.shape[1] for coef in self.coefs))

    def __call__(self, X):
        """Activations of features, in their dtype, or in float64 where there is no mean.

        Then nothing tells how far features are from the origin. Other libraries do not mix
        types, and keep that of the features.
        """
        keeps_type = self.mean is not None or self.space is not NUMPY
        in_single = keeps_type and X.dtype == self.space.xp.float32
        dtype = np.dtype(np.float32 if in_single else np.float64)
        intercepts = list(self.intercepts)
        if sp.issparse(X) and self.mean is not None:  # which has to stay sparse
            intercepts[0] = intercepts[0] - self.mean @ self.coefs[0]
        elif self.mean is not None:
            mean = self.mean.astype(dtype)
            # Adds what float32 has rounded off.
            intercepts[0] = intercepts[0] + (mean - self.mean) @ self.coefs[0]
            X = X - self._taken(mean)
        weights = (
            [self._taken(array.astype(dtype, copy=False)) for array in arrays]
            for arrays in (self.coefs, intercepts)
        )
        return feed_forward(X, *weights, self.space.xp)

    def moved_to(self, space):
        """The same layers for features in another space."""
        return self._replace(space=space)

    def _taken(self, array):
        return array if self.space is NUMPY else self.space.take(array)


@contextmanager
def errors_of(estimator, inner):
    """Context in which errors name the user's estimator, not an inner one that it asks."""
    try:
        yield
    except ValueError as error:
        message = str(error).replace(type(inner).__name__, type(estimator).__name__)
        if message == str(error):
            raise
        raise ValueError(message) from error


def check_features(hasher, X):
    """Check features to be fitted; at least two rows must differ.

    Returns
    -------
    X : ndarray, CSR or tensor of shape (n_samples, n_features)
        Checked features; a tensor only if the hasher trains on it.

    seen : dict
        Fitted attributes with the number and the names of the features.
    """
    X, seen = check_more_features(hasher, X, reset=True)
    if all_rows_equal(X):
        raise ValueError(
            "X is constant: all samples are equal, so no code can tell them apart."
        )
    return X, seen


def check_more_features(hasher, X, reset=False):
    """Check features like those of `fit`; return a pair as `check_features` does."""
    space, X = enter_features(hasher, X)
    if not hasher._trains_in(space):
        space, X = NUMPY, as_numpy(X)
    X, seen = validate_aside(
        hasher,
        X,
        accept_sparse="csr",
        dtype=space.floats(X),
        ensure_min_samples=2,
        reset=reset,
    )
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # the user's matrix stays as it is
        X.sum_duplicates()
    _refuse_extremes(X)
    return X, seen


def _refuse_extremes(X):
    """Raise ValueError if features are too large or too small for float32."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
        raise ValueError(
            f"X has magnitudes up to {largest:.0e}, and weights of queries are computed in "
            f"float32, from {1 / _LARGEST:.0e} to {_LARGEST:.0e}. Scale the features, as "
            "by StandardScaler."
        )


def enter_features(hasher, X):
    """Return the space of features, and the features; raise if the hasher is for NumPy."""
    space, X = enter(X)
    if getattr(hasher, "module", None) is not None:
        _refuse_large_ids(X, space)
    if space is NUMPY or hasher._follows_arrays:
        return space, X
    raise ValueError(
        f"{type(hasher).__name__} computes in NumPy, but X is an array of "
        f"{space.library}, and array_api_dispatch=True asks to stay there. Pass a "
        "NumPy array, of a tensor X.numpy(force=True)."
    )


def _refuse_large_ids(X, space):
    """Raise ValueError if integers are too large for float32, which a module is given."""
    if sp.issparse(X):
        X = X.tocsr().data
    X = np.asarray(X) if space is NUMPY else X
    xp = space.xp
    if not xp.isdtype(X.dtype, "integral") or 0 in X.shape:
        return
    if max(int(xp.max(X)), -int(xp.min(X))) > _LARGEST_ID:
        raise ValueError(
            f"X has integers beyond {_LARGEST_ID}, of which a module, that gets float32, "
            "cannot tell neighbors apart. Number ids from 0, as np.unique(X, "
            "return_inverse=True)[1] does, or pass measured numbers as floats."
        )


def feed_forward(X, coefs, intercepts, xp=np):
    """Apply linear layers with rectifiers between them."""
    for layer, (coef, intercept) in enumerate(zip(coefs, intercepts)):
        if layer:
            X = np.maximum(X, 0, out=X) if xp is np else xp.clip(X, 0, None)
        X = X @ coef + intercept
    return X


def _working_memory():
    """Bytes that scikit-learn's `working_memory` allows."""
    return get_config()["working_memory"] * 2**20
