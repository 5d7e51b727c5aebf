"""Base class of hashers, and checks of features that hashers share."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._core.compat import CallbackSupportMixin
from .._core.state import take_snapshot, validate_aside, validate_seen
from .._core.threads import map_in_threads, one_thread, slices
from .._core.types import Any, NDArray, Rows
from .._core.validation import NUMPY, Space, as_numpy, enter
from ..codes import CodeTerms, PackedCodes
from ..codes._packed import wrap_bytes
from ..codes._scores import saturate
from ..features._scaling import all_rows_equal
from ..metrics import make_retrieval_scorer
from ._function import HashFunction, Layers

# Features may have magnitudes up to this one: weights of queries are float32, which ends at
# 3e38.
_LARGEST_MAGNITUDE = 1e37
# In NumPy the largest array of a block of rows takes at most this many bytes.
_BYTES_PER_BLOCK = 2**22
# float32 represents all integers up to this one.
_LARGEST_ID = 2**24


class BaseHasher(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base class of hashers: each bit is the sign of a function of the features.

    A hasher of your own defines `fit`. If its function is a network of linear layers, `fit`
    only sets these attributes:

    * ``coefs_`` and ``intercepts_``, lists with one NumPy array per layer, as in
      scikit-learn's multi-layer perceptron;
    * optionally ``means_``, a list of one array, which is subtracted from the features
      first.

    Encoding then needs NumPy only. A pickle has no torch objects and no device. Under
    scikit-learn's `array_api_dispatch` each call moves the arrays to the device of its
    features.

    A hasher with any other function also defines the hook
    ``__talr_hash_function__(self, space)``. It returns a :class:`HashFunction`, a record of
    functions and sizes, made from fitted attributes. A hasher that changes a part of an
    inherited function returns
    ``dataclasses.replace(super().__talr_hash_function__(space), ...)``. `space` holds the
    library of the features, ``space.xp``, and their device, ``space.device``. It is NumPy,
    unless the hasher's ``__sklearn_tags__`` say that it supports other arrays:
    ``array_api_support`` is True in this class.

    Callbacks of scikit-learn can be set on a hasher of your own. They run if its `fit`
    calls them in the way that scikit-learn documents.

    Attributes
    ----------
    default_query : {"bits", "weights"}
        How codes are searched under ``query="auto"``: by Hamming distance to the bits of a
        query, or by its weights. A class may set it.

    See Also
    --------
    HashFunction : What the hook returns.
    """

    _parameter_constraints: dict = {}

    default_query = "bits"

    def __talr_hash_function__(self, space: Space) -> HashFunction:
        """Make the hash function of this fit.

        Parameters
        ----------
        space : Space
            Library and device of the features.

        Returns
        -------
        function : HashFunction
            Here the layers of ``coefs_``, ``intercepts_`` and perhaps ``means_``.
        """
        (mean,) = vars(self).get("means_", [None])
        widths = [coef.shape[1] for coef in self.coefs_]
        return HashFunction(
            activations=Layers(self.coefs_, self.intercepts_, mean=mean, space=space),
            n_bits=widths[-1],
            n_values_per_row=max(len(self.coefs_[0]), *widths),
        )

    def decision_function(self, X: Rows) -> NDArray[np.float32]:
        """Compute the activations whose signs are the bits.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        activations : ndarray of shape (n_samples, n_bits), dtype float32
            Positive if the bit is 1; farther from 0 is more certain. With
            `array_api_dispatch` an array of the library of `X`, on its device.
        """
        call = self._start_call(X)
        return call.compute(call.function.activations, n_columns=call.function.n_bits)

    def query_weights(self, X: Rows) -> NDArray[np.float32]:
        r"""Compute how much each bit of a code counts for weighted queries.

        The database stays binary. The score of a code is the sum of the weights of its ones
        minus the sum of the weights of its zeros, see
        :func:`~sklearn_talr.codes.weighted_scores`.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of the queries.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_bits), dtype float32
            Positive if the query prefers a 1; farther from 0 counts more. The weights are
            the activations a. If the hasher was fitted to labels, they are saturated:
            :math:`\tanh(2 a/m)`, with m the mean magnitude of the query's activations.
            Words of several bits have more weights, see
            :class:`~sklearn_talr.hashing.AdditiveHasher`. With `array_api_dispatch` an
            array of the library of `X`, on its device.
        """
        call = self._start_call(X)
        function = call.function
        weights = call.compute(
            function.query_weights or function.activations,
            n_columns=function.n_weights or function.n_bits,
        )
        return saturate(weights, call.space.xp) if function.saturates_weights else weights

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
        call = self._start_call(X)
        return call.compute(call.bits, n_columns=call.function.n_bits, dtype="uint8")

    def encode(self, X: Rows) -> PackedCodes:
        """Compute binary codes, packed eight bits to the byte.

        Codes are packed block by block, so little memory is needed beyond the features and
        the result.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        codes : PackedCodes
            Codes of shape (n_samples, n_bits), in little bit order, with factors and
            addends for scores of weighted queries, if the hasher has any. The bytes are in
            NumPy, wherever `X` is.
        """
        call = self._start_call(X)
        n_rows = call.X.shape[0]
        n_bits = call.function.n_bits
        rule = call.function.score_rule
        data = np.empty((n_rows, -(-n_bits // 8)), dtype=np.uint8)
        lengths = None
        if rule is not None and rule.length_table is not None:
            lengths = np.empty(n_rows, dtype=np.uint8)

        def pack(rows, block):
            bits, block_lengths = call.quantize(block)
            data[rows] = np.packbits(as_numpy(bits), axis=1, bitorder="little")
            if lengths is not None:
                lengths[rows] = block_lengths

        call.for_each_block(pack)
        terms = CodeTerms() if rule is None else rule.terms(data, lengths)
        return wrap_bytes(data, n_bits, terms=terms)

    def score(self, X: Rows, y: Any = None) -> float:
        """Tie-aware average precision of these samples; each ranks all the others.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            Targets in the form of `fit`.

        Returns
        -------
        score : float
            Mean over the samples with a similar sample among the others, in [0, 1].
        """
        return make_retrieval_scorer("AP")(self, X, y)

    def _start_call(self, X):
        """Check features, and hold the hash function as it is at the start of a call."""
        fitted, space, X = self._check_seen(X)
        return _Call(
            X=X,
            space=space,
            function=fitted.__talr_hash_function__(space),
            n_jobs=getattr(fitted, "n_jobs", None),
        )

    def _check_seen(self, X):
        """Return the hasher as it is now, where features are, and the checked features."""
        fitted = take_snapshot(self)
        check_is_fitted(fitted)
        space, X = enter_features(fitted, X)
        X = validate_seen(fitted, X, accept_sparse="csr", dtype=space.floats(X))
        return fitted, space, X

    def _trains_in(self, space):
        """Whether `fit` leaves features of another library where they are."""
        return False

    @property
    def _n_features_out(self):
        return self.__talr_hash_function__(NUMPY).n_bits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the features are
        return tags


class _Call(NamedTuple):
    """One call of a hasher: checked features, and the function to apply to their rows."""

    X: Any  # (n_rows, n_features), ndarray, CSR or array of another library
    space: Space
    function: HashFunction
    n_jobs: int | None

    def compute(self, function, n_columns, dtype="float32"):
        """Apply a function to prepared rows; an array of shape (n_rows, n_columns)."""
        values = self.space.empty((self.X.shape[0], n_columns), dtype)

        def fill(rows, block):
            self.space.fill(values, rows, function(block))

        self.for_each_block(fill)
        return values

    def quantize(self, block):
        """Bits of prepared rows, and a byte per row or None."""
        if self.function.quantize is not None:
            return self.function.quantize(block)
        return self.function.activations(block) > 0, None

    def bits(self, block):
        """Bits of prepared rows."""
        bits, _ = self.quantize(block)
        return bits

    def for_each_block(self, work):
        """Call ``work(rows, block)`` for blocks of prepared rows, bounding the memory.

        Several calls may be made at the same time. The size of a block does not depend on
        the number of threads, and so no rounding does.
        """
        prepare = self.function.prepare

        def work_on(rows):
            block = self.X[rows, :]
            work(rows, block if prepare is None else prepare(block))

        blocks = self._blocks()
        if self.space is NUMPY and not self.function.has_own_threads:
            finished = map_in_threads(one_thread()(work_on), blocks, self.n_jobs)
        else:
            finished = map(work_on, blocks)
        for _ in finished:
            pass

    def _blocks(self):
        """Slices of rows, as many at once as memory allows."""
        n_rows, n_features = self.X.shape
        n_values = self.function.n_values_per_row
        if n_values is None:
            n_values = max(n_features, self.function.n_bits, self.function.n_weights or 0)
        n_bytes = get_config()["working_memory"] * 2**20
        if self.space is NUMPY:
            n_bytes = min(n_bytes, _BYTES_PER_BLOCK)
        return slices(n_rows, max(1, int(n_bytes / (8 * n_values))))


@contextmanager
def errors_of(estimator, inner):
    """Context in which errors of an inner estimator name the user's estimator."""
    try:
        yield
    except ValueError as error:
        message = str(error).replace(type(inner).__name__, type(estimator).__name__)
        if message == str(error):
            raise
        raise ValueError(message) from error


@contextmanager
def errors_in_message(message):
    """Context in which the text of an error becomes part of a message, at its ``{}``."""
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
        Hasher that is fitted. It is not changed.

    X : array-like of shape (n_samples, n_features)
        Features.

    reset : bool, default=True
        Whether a fit starts anew. Then at least two rows must differ. Otherwise the columns
        must be the columns of `fit`.

    Returns
    -------
    X : ndarray, CSR or tensor of shape (n_samples, n_features)
        Checked features; a tensor only if the hasher trains on it.

    seen : dict
        Fitted attributes with the number and the names of the features.
    """
    space, X = enter_features(hasher, X)
    if space is NUMPY or not hasher._trains_in(space):
        space = NUMPY
        X = as_numpy(X)
    X, seen = validate_aside(
        hasher,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=space.floats(X),
        ensure_min_samples=2,
    )
    if sp.issparse(X) and not X.has_canonical_format:
        # The user's matrix stays as it is.
        X = X.copy()
        X.sum_duplicates()
    _refuse_magnitudes(X)
    if reset and all_rows_equal(X):
        raise ValueError(
            "X is constant: all samples are equal, so no code can distinguish them."
        )
    return X, seen


def _refuse_magnitudes(X):
    """Raise ValueError if features are too large or too small for float32."""
    largest = max(float(X.max()), -float(X.min()))
    smallest_magnitude = 1 / _LARGEST_MAGNITUDE
    if largest > _LARGEST_MAGNITUDE or 0 < largest < smallest_magnitude:
        raise ValueError(
            f"X has magnitudes up to {largest:.0e}, and weights of queries are computed in "
            f"float32, from {smallest_magnitude:.0e} to {_LARGEST_MAGNITUDE:.0e}. Scale "
            "the features, for example with StandardScaler."
        )


def enter_features(hasher, X):
    """Return the space of features, and the features; raise if the hasher is for NumPy."""
    space, X = enter(X)
    if getattr(hasher, "module", None) is not None:
        _refuse_large_ids(X, space)
    if space is NUMPY or get_tags(hasher).array_api_support:
        return space, X
    raise ValueError(
        f"{type(hasher).__name__} computes in NumPy, but X is an array of "
        f"{space.library}, and array_api_dispatch=True asks to stay there. Pass a "
        "NumPy array, made from a tensor with X.numpy(force=True)."
    )


def _refuse_large_ids(X, space):
    """Raise ValueError if X has integers that a module, which gets float32, would merge."""
    values = X.tocsr().data if sp.issparse(X) else X
    if space is NUMPY:
        values = np.asarray(values)
    xp = space.xp
    if not xp.isdtype(values.dtype, "integral") or 0 in values.shape:
        return
    largest = max(int(xp.max(values)), -int(xp.min(values)))
    if largest > _LARGEST_ID:
        raise ValueError(
            f"X has integers beyond {_LARGEST_ID}. A module gets float32, in which "
            "neighboring integers of this size are equal. Number ids from 0, as "
            "np.unique(X, return_inverse=True)[1] does, or pass measured numbers as floats."
        )
