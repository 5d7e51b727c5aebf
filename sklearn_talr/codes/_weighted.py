"""Scores of codes by real-valued queries: bits that count as much as the query says.

A query that is not rounded to bits has one weight w_j for each bit, which is negative where
it would rather see a 0. A code with the signs s_j, 1 for a one and -1 for a zero, scores

    factor * sum_j w_j s_j + addend,

where factor and addend belong to the code and are 1 and 0 unless its hasher says otherwise.
With these the order of the scores is that of weighted Hamming distances (Zhang et al.,
"Binary Code Ranking with Weighted Hamming Distance", CVPR 2013), in which a differing bit
costs \\|w_j\\|:

    sum of \\|w_j\\| over differing bits = (sum_j \\|w_j\\| - sum_j w_j s_j) / 2.

Gordo et al., "Asymmetric Distances for Binary Embeddings" (CVPR 2011), compare codes with
queries that are not binarized.
"""

from numbers import Integral

import numpy as np
from sklearn.utils import check_array

from .._arrays import as_numpy
from .._compat import validate_params
from .._threads import map_in_threads, one_thread, slices
from ._packed import PackedCodes, as_packed

__all__ = ["WeightedCodes", "weighted_scores"]

_CODES_PER_BLOCK = 8_192  # whose signs are unpacked at once

# Signs of the eight bits of each byte, the least significant first.
_SIGNS_OF_BYTE = np.where(
    np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"),
    np.float32(1),
    np.float32(-1),
)


class WeightedCodes(np.ndarray):
    """Codes that remember their activations, so that they can also be real-valued queries.

    `transform` of every hasher returns them. They are an array of zeros and ones, and
    whatever NumPy computes from them is an ordinary array. Rows that are selected keep what
    belongs to them. Copies, pickles and stacks of several arrays are ordinary arrays.

    What they remember belongs to the rows as `transform` has made them. To bring rows into
    another order, select them: ``codes[rng.permutation(len(codes))]``. Codes whose bits are
    changed in place, by ``rng.shuffle(codes)`` for instance, refuse to tell what they
    remember; ``np.asarray(codes)`` are their bits.

    Attributes
    ----------
    query_weights : ndarray of shape (n_samples, n_bits), dtype float32, or None
        How much each bit counts when a row is a query. None if the hasher kept no
        activations, since they would take more than scikit-learn's `working_memory`.

    terms : ndarray of shape (n_samples, 1) or (n_samples, 2), dtype float32, or None
        What the weighted sum of a row is multiplied by when it is in the database, and
        what is added then. None means 1 and 0.

    Raises
    ------
    ValueError
        If an attribute that is not None is asked for after bits were changed in place.

    See Also
    --------
    weighted_scores : Scores of codes by real-valued queries.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import ITQHasher
    >>> X, _ = load_digits(return_X_y=True)
    >>> codes = ITQHasher(n_bits=4, random_state=0).fit(X).transform(X[:2])
    >>> codes.query_weights.shape
    (2, 4)
    >>> type(codes + 1).__name__
    'ndarray'
    """

    _activations = None
    _weigh = None
    _belonging = None
    _factors = None
    _bytes = None  # of the bits when they were made

    @classmethod
    def _of(cls, bits, activations=None, weigh=None, own=None, factors=None):
        """Let an array of zeros and ones remember these.

        Parameters
        ----------
        bits : ndarray of shape (n_samples, n_bits), dtype uint8
            Zeros and ones.

        activations : ndarray of shape (n_samples, n_bits), dtype float32, default=None
            What the weights follow from.

        weigh : callable, default=None
            ``weigh(activations) -> query_weights``; None means the activations themselves.

        own : ndarray of shape (n_samples, 1) or (n_samples, 2), default=None
            Factors, and addends, of the rows; addends only with `factors`.

        factors : CodeFactors or OneFactors, default=None
            What the factors follow from.

        Returns
        -------
        codes : WeightedCodes
            A view of `bits`.
        """
        codes = bits.view(cls)
        codes._activations, codes._weigh = activations, weigh
        codes._belonging, codes._factors = own, factors
        codes._bytes = np.packbits(bits, axis=1)
        return codes

    @property
    def terms(self):
        """What belongs to the rows when they are in the database."""
        return self._own if self._factors is None else as_packed(self).terms

    @property
    def query_weights(self):
        """How much each bit counts when a row is a query."""
        activations = self._remembered(self._activations)
        if activations is None or self._weigh is None:
            return activations
        return self._weigh(activations)

    @property
    def _own(self):
        """Terms that do not follow from the bits."""
        return self._remembered(self._belonging)

    def _remembered(self, values):
        """What belongs to the rows, if these are still what they were."""
        if values is None or np.array_equal(np.packbits(self, axis=1), self._bytes):
            return values
        raise ValueError(
            "The codes were changed in place, and what they remember, query_weights and "
            "terms, belongs to the rows as they were. Select rows instead, as in "
            "codes[rng.permutation(len(codes))], or pass np.asarray(codes), bits alone."
        )

    def __getitem__(self, key):
        part = super().__getitem__(key)
        if not isinstance(part, np.ndarray):
            return part
        if isinstance(key, tuple) or part.ndim != 2 or self.ndim != 2:
            return part.view(np.ndarray)
        part._weigh, part._factors = self._weigh, self._factors
        for name in ("_activations", "_belonging", "_bytes"):
            of_rows = getattr(self, name)
            setattr(part, name, None if of_rows is None else of_rows[key])
        return part

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array[()] if return_scalar else np.asarray(array)

    def __repr__(self):
        return repr(self.view(np.ndarray))

    def __reduce__(self):
        return self.view(np.ndarray).__reduce__()


@validate_params(
    {
        "query_weights": ["array-like"],
        "database_codes": ["array-like"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def weighted_scores(query_weights, database_codes, *, n_jobs=None):
    """Score every code by every real-valued query.

    Parameters
    ----------
    query_weights : array-like of shape (n_queries, n_bits)
        How much each bit counts, as `query_weights` of a hasher returns it. Codes
        that `transform` has returned stand for the weights that they remember.

    database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
        Codes of the database. Factors and addends that they remember are applied.

    n_jobs : int, default=None
        Number of threads that share the codes. None means 1 unless in a
        `joblib.parallel_config` context, -1 all processors.

    Returns
    -------
    scores : ndarray of shape (n_queries, n_database), dtype float32
        The higher, the nearer.

    Raises
    ------
    ValueError
        If the two sides differ in length, or the queries are codes without weights.

    Examples
    --------
    Both codes differ from the signs of the query in one bit, so that they are tied by
    Hamming distance. The first differs where the query is surer:

    >>> from sklearn_talr.codes import weighted_scores
    >>> weighted_scores([[2.0, 0.5, 1.0]], [[0, 1, 1], [1, 0, 1]])
    array([[-0.5,  2.5]], dtype=float32)
    """
    weights = as_weights(query_weights)
    packed = as_packed(database_codes, input_name="database_codes")
    if weights.shape[1] != packed.n_bits:
        raise ValueError(
            f"query_weights are for {weights.shape[1]} bits and database_codes have "
            f"{packed.n_bits}; both must come from the same hash function."
        )
    weights = pad_weights(weights)
    scores = np.empty((len(weights), len(packed)), dtype=np.float32)

    @one_thread()
    def score(codes):
        terms = None if packed.terms is None else packed.terms[codes]
        scores[:, codes] = score_codes(weights, packed.data[codes], terms)

    for _ in map_in_threads(score, slices(len(packed), _CODES_PER_BLOCK), n_jobs):
        pass
    return scores


def as_weights(queries, input_name="query_weights"):
    """Weights of queries, checked, as an array of shape (n_queries, n_bits), float32."""
    weights = weights_of(queries, input_name)
    return check_array(weights, dtype=np.float32, input_name=input_name)


def weights_of(queries, input_name):
    """Weights of queries: those that codes remember, or real numbers as they are.

    Raises ValueError where there are codes without weights.
    """
    queries = as_numpy(queries)
    if isinstance(queries, WeightedCodes):
        known = queries.query_weights
    else:
        known = None if _are_bits(queries) else queries
    if known is None:
        raise ValueError(
            f"{input_name} are codes without weights. Pass what `query_weights` of the "
            "hasher returns, or the very array that its `transform` has returned; it keeps "
            "activations of as many rows as fit into scikit-learn's working_memory."
        )
    return known


def saturate(activations, xp=np):
    """Weights of queries for codes that were fitted to labels.

    An activation far from 0 says that a bit is sure, and not that it matters as much more.
    `xp` is the library of the activations.
    """
    scale = xp.mean(xp.abs(activations), axis=1, keepdims=True)
    tiny = float(np.finfo(np.float32).tiny)
    return xp.tanh(activations * (2 / xp.clip(scale, tiny, None)))


def pad_weights(weights):
    """Weights with zeros for the spare bits of the last byte."""
    return np.pad(weights, ((0, 0), (0, -weights.shape[1] % 8)))


def signs_of(data):
    """Signs of the bits of packed codes, shape (n_codes, 8 * n_bytes), float32."""
    return _SIGNS_OF_BYTE[data].reshape(len(data), -1)


def tables_of(weights, n_bytes_at_once):
    """What each value of each byte of a code adds to its score, shape (n_bytes, 256).

    The weights are those of one query. Products of a few bytes are so small that BLAS does
    not share them out to threads.
    """
    parts = weights.reshape(-1, n_bytes_at_once, 8) @ _SIGNS_OF_BYTE.T
    return parts.reshape(-1, 256)


def score_codes(weights, data, terms=None):
    """Scores of codes, shape (n_queries, n_codes), float32; weights are padded."""
    return apply_terms(weights @ signs_of(data).T, terms)


def apply_terms(sums, terms):
    """Multiply weighted sums by the factors of their codes, and add the addends."""
    if terms is None:
        return sums
    sums = sums * terms[:, 0]
    return sums + terms[:, 1] if terms.shape[1] > 1 else sums


def _are_bits(queries):
    """Whether queries are codes, by type or since real numbers are all 0 and 1, and both.

    All zeros are the weights of a query that knows nothing.
    """
    if isinstance(queries, PackedCodes):
        return True
    queries = np.asarray(queries)
    if queries.dtype.kind in "bu":
        return True
    ones = queries == 1
    return bool(ones.any()) and not ones.all() and bool((ones | (queries == 0)).all())
