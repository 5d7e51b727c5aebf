"""Base of all hashers: features in, bits out; and what they share."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core.compat import CallbackSupportMixin
from .._core.state import held, validate_aside, validate_seen
from .._core.threads import map_in_threads, one_thread, slices
from .._core.types import Any, Callable, NDArray, Rows
from .._core.validation import NUMPY, Space, as_numpy, enter
from ..codes import CodeTerms, PackedCodes
from ..codes._packed import wrap_bytes
from ..codes._scores import saturate
from ..features._scaling import all_rows_equal
from ..metrics import make_retrieval_scorer

_LARGEST = 1e37  # float32 ends at 3e38
_BYTES_PER_BLOCK = 2**22  # of the activations of a block, in NumPy
_LARGEST_ID = 2**24  # up to which float32 has all integers


class BaseHasher(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base of all hashers: a function of features, the signs of whose values are the bits.

    A hasher of your own defines `fit`. If that sets ``coefs_`` and ``intercepts_``, lists
    with one NumPy array per layer, like scikit-learn's multi-layer perceptron, and perhaps
    ``means_``, a list of one array, which is subtracted from the features first, then the
    function is these layers: encoding is plain NumPy, a pickle holds no torch objects and
    knows no device, and with scikit-learn's `array_api_dispatch` each call takes the arrays
    to where its features are. Any other function is told by :meth:`hash_function`.

    Callbacks of scikit-learn that are set on a hasher of your own hear what its `fit` tells
    them: nothing, unless it does as scikit-learn says.

    What follows are hooks, attributes or properties and methods, which a subclass may
    define; all are asked of one fit, whatever another thread fits meanwhile.

    Attributes
    ----------
    default_query : {"bits", "weights"}
        How codes of the class are to be searched, where ``query="auto"``: by Hamming
        distance to the bits of a query, or by its weights.

    _follows_arrays : bool
        Whether `transform` can compute in other libraries than NumPy.

    _own_threads : bool
        Whether the hash function has threads of its own, or a device to fill. Otherwise
        threads of ours share the blocks of rows, and BLAS is held to one.

    _saturates_queries : bool
        Whether weights of queries are saturated, see :meth:`query_weights`.

    n_units : int
        Numbers per row of the largest array that the functions make, which sets how many
        rows are a block.

    n_weights : int
        Weights of a query.
    """

    _parameter_constraints: dict = {}

    default_query = "bits"
    _follows_arrays = True
    _own_threads = False
    _saturates_queries = False

    @property
    def n_units(self) -> int:
        """Numbers per row of the largest array that the functions make."""
        coefs = vars(self).get("coefs_", [])
        return max(self.n_features_in_, self.n_weights, *(coef.shape[1] for coef in coefs))

    @property
    def n_weights(self) -> int:
        """Weights of a query."""
        return self._n_features_out

    def prepare(self, X: Any) -> Any:
        """Make of some rows what the functions take.

        Parameters
        ----------
        X : {ndarray, CSR} of shape (n, n_features)
            Checked features of a block of rows.

        Returns
        -------
        X : array
            What :meth:`hash_function`, :meth:`query_function` and :meth:`quantize` are
            given: the features themselves, unless a subclass says otherwise.
        """
        return X

    def hash_function(self, space: Space) -> Callable[..., Any]:
        """Return the function from rows to activations.

        Parameters
        ----------
        space : Space
            Library and device of the features; NumPy unless `_follows_arrays` is True.

        Returns
        -------
        function : callable
            ``function(X) -> activations`` of shape (n, n_bits). Made once a call.
        """
        layers = self.coefs_, self.intercepts_, *vars(self).get("means_", [None])
        return Layers(*layers, space)

    def query_function(self, space: Space) -> Callable[..., Any]:
        """Return the function from rows to the weights of queries.

        Parameters
        ----------
        space : Space
            Library and device of the features.

        Returns
        -------
        function : callable
            ``function(X) -> weights`` of shape (n, n_weights), not yet saturated.
        """
        return self.hash_function(space)

    def quantize(self, X: Any, function: Any) -> tuple[Any, NDArray[np.uint8] | None]:
        """Find the bits of some rows.

        Parameters
        ----------
        X : array
            What :meth:`prepare` has returned.

        function : callable
            What :meth:`hash_function` has returned.

        Returns
        -------
        bits : array of shape (n, n_bits), bool or uint8
            Here 1 where the values of the function are positive.

        lengths : ndarray of shape (n,), dtype uint8, or None
            A byte for each row, where :meth:`code_factors` has a table of these.
        """
        return function(X) > 0, None

    def code_factors(self) -> Any:
        """Return the rule by which codes get factors and addends; None: they get none."""
        return None

    def decision_function(self, X: Rows) -> NDArray[np.float32]:
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
        now, X, space = self._enter(X)
        return now._values(X, now.hash_function(space), space, now._n_features_out)

    def query_weights(self, X: Rows) -> NDArray[np.float32]:
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
        now, X, space = self._enter(X)
        weights = now._values(X, now.query_function(space), space, now.n_weights)
        return saturate(weights, space.xp) if now._saturates_queries else weights

    def transform(self, X: Rows) -> NDArray[np.uint8]:
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
        now, X, space = self._enter(X)
        function, n_bits = now.hash_function(space), now._n_features_out
        return now._values(X, function, space, n_bits, "uint8", now.quantize)

    def encode(self, X: Rows) -> PackedCodes:
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
        now, X, space = self._enter(X)
        n_bits, rule, lengths = now._n_features_out, now.code_factors(), None
        data = np.empty((X.shape[0], -(-n_bits // 8)), dtype=np.uint8)
        if rule is not None and rule.length_table is not None:
            lengths = np.empty(X.shape[0], dtype=np.uint8)

        function = now.hash_function(space)

        def keep(rows, block):
            bits, of_rows = now.quantize(block, function)
            data[rows] = np.packbits(as_numpy(bits), axis=1, bitorder="little")
            if lengths is not None:
                lengths[rows] = of_rows

        now._do_blocks(X, space, keep)
        terms = CodeTerms() if rule is None else rule.terms(data, lengths)
        return wrap_bytes(data, n_bits, terms=terms)

    def score(self, X: Rows, y: Any = None) -> float:
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

    def _enter(self, X):
        """The hasher as it is now, checked features, and where they are."""
        now = held(self)
        check_is_fitted(now)
        space, X = enter_features(now, X)
        X = validate_seen(now, X, accept_sparse="csr", dtype=space.floats(X))
        return now, X, space

    def _values(self, X, function, space, n_columns, dtype="float32", quantize=None):
        """Values of a function of all rows, or what they are quantized to."""
        values = space.empty((X.shape[0], n_columns), dtype)

        def keep(rows, block):
            of_block = quantize(block, function)[0] if quantize else function(block)
            space.fill(values, rows, of_block)

        self._do_blocks(X, space, keep)
        return values

    def _do_blocks(self, X, space, work):
        """Call ``work(rows, block)`` for blocks of rows, bounding the memory.

        Several calls may be made at the same time. The size of a block does not depend on
        the number of threads, and so no rounding does.
        """
        n_bytes = get_config()["working_memory"] * 2**20
        if space is NUMPY:
            n_bytes = min(n_bytes, _BYTES_PER_BLOCK)
        blocks = slices(X.shape[0], max(1, int(n_bytes / (8 * self.n_units))))

        def do(rows):
            work(rows, self.prepare(X[rows, :]))

        done = map(do, blocks)
        if space is NUMPY and not self._own_threads:
            done = map_in_threads(one_thread()(do), blocks, getattr(self, "n_jobs", None))
        for _ in done:
            pass

    def _trains_in(self, space):
        """Whether `fit` leaves features of another library where they are."""
        return False

    @property
    def _n_features_out(self):
        coefs = vars(self).get("coefs_")
        return self.n_bits if coefs is None else coefs[-1].shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._follows_arrays
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the features are
        return tags


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
            X = X - self.space.take(mean)
        weights = (
            [self.space.take(array.astype(dtype, copy=False)) for array in arrays]
            for arrays in (self.coefs, intercepts)
        )
        return feed_forward(X, *weights, self.space.xp)


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


@contextmanager
def errors_told(message):
    """Context in which errors stand in a message, at its ``{}``."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(message.format(error)) from error


def check_features(hasher, X, reset=True):
    """Check features to be fitted.

    Parameters
    ----------
    hasher : BaseHasher
        Whose features they are. It is not changed.

    X : array-like of shape (n_samples, n_features)
        Features.

    reset : bool, default=True
        Whether a fit starts anew, for which at least two rows must differ. Otherwise the
        features must be like those of `fit`.

    Returns
    -------
    X : ndarray, CSR or tensor of shape (n_samples, n_features)
        Checked features; a tensor only if the hasher trains on it.

    seen : dict
        Fitted attributes with the number and the names of the features.
    """
    space, X = enter_features(hasher, X)
    if space is NUMPY or not hasher._trains_in(space):
        space, X = NUMPY, as_numpy(X)
    how = {"accept_sparse": "csr", "dtype": space.floats(X), "ensure_min_samples": 2}
    X, seen = validate_aside(hasher, X, reset=reset, **how)
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # the user's matrix stays as it is
        X.sum_duplicates()
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
        raise ValueError(
            f"X has magnitudes up to {largest:.0e}, and weights of queries are computed in "
            f"float32, from {1 / _LARGEST:.0e} to {_LARGEST:.0e}. Scale the features, as "
            "by StandardScaler."
        )
    if reset and all_rows_equal(X):
        raise ValueError(
            "X is constant: all samples are equal, so no code can tell them apart."
        )
    return X, seen


def enter_features(hasher, X):
    """Return the space of features, and the features; raise if the hasher is for NumPy."""
    space, X = enter(X)
    if getattr(hasher, "module", None) is not None:
        # A module is given float32.
        ids, xp = X.tocsr().data if sp.issparse(X) else X, space.xp
        ids = np.asarray(ids) if space is NUMPY else ids
        is_integer = xp.isdtype(ids.dtype, "integral") and 0 not in ids.shape
        if is_integer and max(int(xp.max(ids)), -int(xp.min(ids))) > _LARGEST_ID:
            raise ValueError(
                f"X has integers beyond {_LARGEST_ID}, of which a module, that gets "
                "float32, cannot tell neighbors apart. Number ids from 0, as np.unique(X, "
                "return_inverse=True)[1] does, or pass measured numbers as floats."
            )
    if space is NUMPY or hasher._follows_arrays:
        return space, X
    raise ValueError(
        f"{type(hasher).__name__} computes in NumPy, but X is an array of "
        f"{space.library}, and array_api_dispatch=True asks to stay there. Pass a "
        "NumPy array, of a tensor X.numpy(force=True)."
    )


def feed_forward(X, coefs, intercepts, xp=np):
    """Apply linear layers with rectifiers between them."""
    for layer, (coef, intercept) in enumerate(zip(coefs, intercepts)):
        if layer:
            X = np.maximum(X, 0, out=X) if xp is np else xp.clip(X, 0, None)
        X = X @ coef + intercept
    return X
