"""Hash functions: what a fitted hasher computes from rows of features, as one value."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._core.types import Any, Callable, NDArray
from .._core.validation import NUMPY, Space


@dataclass(frozen=True, kw_only=True, eq=False)
class HashFunction:
    """The hash function of a fitted hasher: activations, bits and weights of queries.

    A hasher makes one in each call of `transform`, `encode`, `decision_function` or
    `query_weights`, by its hook ``__talr_hash_function__(space)``, and applies it to blocks
    of rows. Unless `has_own_threads` is True, several threads apply it at the same time.
    See :class:`BaseHasher` for how a hasher of your own defines the hook.

    Parameters
    ----------
    activations : callable
        ``activations(rows)`` returns an array of shape (n_rows, n_bits). A bit is 1 if its
        activation is positive, unless `quantize` finds the bits.

    n_bits : int
        Number of bits of a code.

    prepare : callable, default=None
        ``prepare(features)`` returns the rows that the other functions take, from a block
        of checked features of shape (n_rows, n_features), an ndarray or CSR matrix. None:
        the other functions take the features.

    quantize : callable, default=None
        ``quantize(rows)`` returns bits of shape (n_rows, n_bits), bool or 0/1 in uint8,
        and a byte per row, uint8 of shape (n_rows,), or None. The byte is an index into the
        length table of `score_rule`. None: a bit is 1 if its activation is positive.

    query_weights : callable, default=None
        ``query_weights(rows)`` returns the weights of queries, of shape (n_rows,
        n_weights), not yet saturated. None: the weights are the activations.

    n_weights : int, default=None
        Number of weights per query. None: `n_bits`.

    saturates_weights : bool, default=False
        Whether the hasher saturates the weights of queries, see
        :meth:`BaseHasher.query_weights`.

    score_rule : object, default=None
        Its ``terms(data, lengths)`` returns the factors and addends of packed codes, a
        :class:`~sklearn_talr.codes.CodeTerms`, from the bytes of the codes and the bytes
        that `quantize` has returned. Its `length_table` is None if `quantize` returns no
        bytes. None: codes have no factors and addends.

    n_values_per_row : int, default=None
        Values per row of the largest array that the functions take or make. It sets how
        many rows are in a block. None: the largest of the numbers of features, bits and
        weights.

    has_own_threads : bool, default=False
        Whether the functions have threads of their own, or a device to fill. Otherwise the
        hasher's threads share the blocks of rows, and each holds BLAS to one thread.

    Examples
    --------
    A hasher that rounds features first:

    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from sklearn_talr.hashing import LSHHasher
    >>> class RoundingHasher(LSHHasher):
    ...     def __talr_hash_function__(self, space):
    ...         function = super().__talr_hash_function__(space)
    ...         return replace(function, prepare=np.round)
    >>> X = np.random.default_rng(0).normal(size=(9, 5))
    >>> hasher = RoundingHasher(8, random_state=0).fit(X)
    >>> bool(np.array_equal(hasher.transform(X), hasher.transform(np.round(X))))
    True
    """

    activations: Callable[..., Any]
    n_bits: int
    prepare: Callable[..., Any] | None = None
    quantize: Callable[..., tuple[Any, NDArray[np.uint8] | None]] | None = None
    query_weights: Callable[..., Any] | None = None
    n_weights: int | None = None
    saturates_weights: bool = False
    score_rule: Any = None
    n_values_per_row: int | None = None
    has_own_threads: bool = False


@dataclass(frozen=True, eq=False)
class Layers:
    """Linear layers of centered features, with rectifiers between them.

    ``layers(X)`` returns the activations of features of shape (n_rows, n_features), an
    array of shape (n_rows, n_bits). This is what hashers with ``coefs_`` compute, and
    :func:`~sklearn_talr.export.to_onnx` writes.

    Parameters
    ----------
    coefs, intercepts : list of ndarray
        Weights of each layer, of shapes (n_inputs, n_outputs) and (n_outputs,).

    mean : ndarray of shape (n_features,), default=None
        Subtracted from the features first, so that features far from the origin lose no
        digits in products. None means 0.

    space : Space, default=NUMPY
        Library and device of the features.
    """

    coefs: list[NDArray[Any]]
    intercepts: list[NDArray[Any]]
    mean: NDArray[Any] | None = None
    space: Space = NUMPY

    def __call__(self, X: Any) -> Any:
        """Compute activations in the dtype of the features; in float64 without a mean.

        Without a mean nothing shows how far features are from the origin. Other libraries
        than NumPy do not mix types, so there the dtype is always that of the features.
        """
        keeps_type = self.mean is not None or self.space is not NUMPY
        in_single = keeps_type and X.dtype == self.space.xp.float32
        dtype = np.dtype(np.float32 if in_single else np.float64)
        intercepts = list(self.intercepts)
        if self.mean is not None and sp.issparse(X):
            # Sparse features stay sparse, so the mean goes into the first intercepts.
            intercepts[0] = intercepts[0] - self.mean @ self.coefs[0]
        elif self.mean is not None:
            mean = self.mean.astype(dtype)
            # The intercepts make up for digits of the mean that float32 has rounded off.
            intercepts[0] = intercepts[0] + (mean - self.mean) @ self.coefs[0]
            X = X - self.space.take(mean)
        return feed_forward(
            X, self._as(dtype, self.coefs), self._as(dtype, intercepts), self.space.xp
        )

    def _as(self, dtype, arrays):
        """Arrays of a dtype, where the features are."""
        return [self.space.take(array.astype(dtype, copy=False)) for array in arrays]


def feed_forward(X, coefs, intercepts, xp=np):
    """Apply linear layers with rectifiers between them."""
    for layer, (coef, intercept) in enumerate(zip(coefs, intercepts)):
        if layer:
            X = np.maximum(X, 0, out=X) if xp is np else xp.clip(X, 0, None)
        X = X @ coef + intercept
    return X
