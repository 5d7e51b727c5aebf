"""A hasher for weighted queries: words whose vectors add up to the features."""

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.compat import (
    Interval,
    StrOptions,
    available_if,
    fit_method,
    independent_random_state,
)
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress, number_of_row, warn_caller
from .._core.state import replace_fitted
from .._core.threads import map_in_threads, one_thread
from .._core.types import Any, ArrayLike, Count, Literal, NDArray, Rows, Seed, Self
from .._core.validation import Space
from ..codes import PackedCodes, weighted_scores
from ..codes._packed import as_packed
from ..features._scaling import without_far_rows
from ._base import BaseHasher, check_features
from ._function import HashFunction, Layers
from ._words import TangentProjection, scaled
from ._words_choice import fit_best, methods_to_fit, n_tasks_of_all
from ._words_fit import CodeSettings, choose_frame, improve_bits

_ITERATIONS_PER_CHUNK = 2
# Neighbors that `score` looks for
_N_NEIGHBORS = 10
# Cells of the tables of scores that `score` makes at a time
_CELLS_PER_BLOCK = 2**20
# The heights of the first rows set the bounds of all heights.
_ROWS_FOR_HEIGHTS = 4_096


def _learns_in_parts(hasher):
    """Return True if there is a partial_fit; otherwise an AttributeError says why."""
    if hasher.method in ("axes", "codebooks"):
        raise AttributeError(
            "partial_fit improves single bits by alternations, which "
            f"method={hasher.method!r} rules out. Call fit with all rows, or set "
            'method="bits".'
        )
    return True


def _as_columns(vectors, unit):
    """Vectors as columns, divided by the unit of lengths, float32."""
    return (vectors.reshape(-1, vectors.shape[-1]).T / unit).astype(np.float32)


@parameters
class AdditiveHasher(BaseHasher):
    """Codes of words whose vectors add up to the features, for weighted queries.

    A word is a run of one or eight bits of a code. Each value of a word has a vector, and
    the words of a row are chosen so that the sum of their vectors points in the direction
    of the row. Queries are not rounded to bits (asymmetric distance): the weights of a
    query are its inner products with the vectors.

    Search these codes with :class:`~sklearn_talr.neighbors.HashedNeighbors`, which uses the
    weights of queries. It finds many more of the true neighbors than the Hamming distance
    does with codes of the same length. The Hamming distance of these codes finds few: use
    :class:`ITQHasher` if queries are bits. HammingNeighbors refuses the codes of `encode`
    under every metric, but it cannot distinguish the bits of `transform` from other codes.

    The vectors are steps along principal axes, or alternating least squares and local
    search over the words find them. The latter is additive quantization (Babenko and
    Lempitsky, CVPR 2014). Words of one bit add or subtract a vector, as in a binary
    autoencoder with a linear decoder (Carreira-Perpinan and Raziperchikolaei, CVPR 2015).

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1. It may exceed the number of features. Without
        labels 64 to 512 bits are usual.

    method : {"auto", "axes", "bits", "codebooks"}, default="auto"
        How the vectors are found.

        - ``"axes"`` rounds rows along principal axes, in words of one bit. It fits in about
          a second. It finds most neighbors if there are more than about 2.5 bits per
          dimension of the rows.
        - ``"bits"`` alternates least squares and local search, in words of one bit. Only
          this method has `partial_fit`.
        - ``"codebooks"`` alternates in the same way, in words of eight bits; 8 must divide
          `n_bits`. A codebook has 256 vectors. It finds most neighbors if bits are few, and
          takes longest to fit and to encode.
        - ``"auto"`` first fits axes and bits to 3 000 rows at most. If axes are clearly
          better on held-out rows, they are fitted to all rows, and no other method is.
          Otherwise it keeps the method with the smallest error, one minus the mean cosine
          of held-out rows with their decodings. See Notes.

        A shortlist by Hamming distance, with `n_candidates` of HashedNeighbors, loses few
        neighbors or none with bits, and more with codebooks or axes.

    metric : {"cosine", "inner_product", "euclidean"}, default="cosine"
        How features are compared. Words encode the direction from the mean of all rows to
        the row. Besides its bits an item has a byte for the factor of its score, and under
        ``"euclidean"`` another byte for its length. Under ``"euclidean"`` a constant added
        to all features, of items and queries alike, changes no score. Under ``"cosine"``
        features that are not centered, such as raw GIST, may get codes of another form, see
        Notes.

    alpha : "auto" or float, default="auto"
        Strength of the ridge penalty on the vectors, per row. ``"auto"`` means 0.05 for
        bits. For codebooks it is the one of 0.02, 0.1 and 0.4 with the highest cosines of
        held-out rows with their decodings. Axes take no penalty.

    max_iter : int, default=12
        Largest number of alternations, at least 1. An alternation finds the vectors, then
        the words. Codebooks need no more than 3, and axes take none.

    max_samples : int or None, default=20_000
        Largest number of rows to fit. If there are more, `fit` draws this many. None means
        all.

    n_jobs : int, default=None
        Number of threads that share the rows, in `fit` and in methods that encode. None
        means 1 unless in a `joblib.parallel_config` context, -1 all processors. It changes
        no result. More threads are faster from about ten thousand rows on.

    verbose : bool, default=False
        Print the fraction of the bits or words that each alternation has changed.

    random_state : int, RandomState instance or None, default=None
        Draws the rows that are fitted, and the first vectors.

    Attributes
    ----------
    coefs_ : list of one ndarray of shape (n_features, n_bits)
        Vectors of the bits, as columns. For codebooks, half of the difference that a bit
        makes, in the mean over the values of its word. Under other metrics than
        ``"cosine"`` vectors are divided by the root mean square length of the training
        rows minus their mean. So the unit of the features scales weights only once.

    intercepts_ : list of one ndarray of shape (n_bits,)
        Zeros.

    query_coef_ : ndarray of shape (n_features, n_weights)
        Vectors of all weights of a query: one for each bit, or one for each value of each
        word, see :func:`~sklearn_talr.codes.weighted_scores`.

    method_ : {"axes", "bits", "codebooks"}
        Method that has found the vectors. Words of codebooks have eight bits, others one.

    mean_ : ndarray of shape (n_features,)
        Mean of the training rows, which are first scaled to unit length under
        ``"cosine"``.

    means_ : list of one ndarray of shape (n_features,)
        `mean_`, which is subtracted from queries, too. Only under ``"euclidean"``.

    n_iter_ : int
        Number of alternations, including methods that were not kept. Axes count as 1.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    ITQHasher : Signs of a linear projection, for binary queries.
    sklearn_talr.neighbors.HashedNeighbors : Searches by weights.
    sklearn_talr.codes.weighted_scores : The scores that codes are ranked by.

    Notes
    -----
    A query has a weight for each bit, or for each of the 256 values of each word of eight
    bits.

    *Factors.* Under ``"cosine"`` rows whose decoding is inaccurate would get scores that
    are too high. So the factor of a code is multiplied by the fourth root of the cosine of
    the row with its decoding, if that finds more neighbors among held-out rows.

    *Heights.* Features that are all above 0 have a long mean m. The mean of raw GIST,
    scaled to unit length, has length 0.86. A row of unit length is ``h m/|m| + t``, with a
    height h and a tangent t. In codes of this form the last word, or the last nine of
    single bits, encodes h, and the words before it encode t. The factor of a code is then
    ``<t, s> / <s, s>``, with s the sum of the vectors of t. `fit` considers this form from
    1 800 rows and 24 bits on. It uses the form if that raises recall on held-out rows by at
    least 0.02, in codes of equal length.

    ``method="auto"`` decides as follows. The error of a method is one minus the mean cosine
    of held-out rows with their decodings.

    - With fewer than 50 rows it takes bits.
    - It takes axes if 8 bits per axis are fewer than `n_bits`.
    - It tries no codebooks if 8 does not divide `n_bits`, for more than 256 bits, for fewer
      than 1 000 rows, or for fewer than 8 rows per bit.
    - It takes axes, without a fit of other methods to all rows, if they find more neighbors
      among held-out rows than bits do, and their error is at most 5 % larger. This rule
      needs 3 000 rows and, if codebooks could be tried, more than 128 bits. It does not
      hold for an index of the training rows.
    - It also takes axes at once if they find as many neighbors as bits do, and their error
      is less than 0.9 times the error of bits; or less than 0.6 times, for up to 128 bits,
      if codebooks could be tried. If axes find fewer neighbors than bits, they are not
      considered further.
    - Otherwise it takes the method with the smallest error. Under other metrics than
      ``"cosine"`` codebooks must have an error that is 5 % smaller. In an index of the
      training rows, such as :class:`~sklearn_talr.neighbors.HashedNeighbors`, their error
      may be up to 35 % larger, since codebooks fit their training rows more closely than
      other methods do.

    Setting `method` to the method that ``"auto"`` takes gives the same codes, to the last
    digit.

    ``method="axes"`` fits in about a second, and encodes a row in microseconds. A principal
    axis of the rows gets up to 8 bits; each bit goes to the axis on which it lowers the
    squared error most. Axes with equally many bits are rotated as in :class:`ITQHasher`,
    and rows are rounded to equal steps along each axis. Bits beyond 8 per axis encode
    nothing. On CIFAR-10 features, 10 000 rows of 512 numbers, codes of axes of 16, 32, 64
    and 128 bytes find 0.596, 0.739, 0.830 and 0.903 of the ten nearest rows. Codebooks of
    16 and 32 bytes find 0.662 and 0.761, and take 17 and 34 s to fit. A shortlist by
    Hamming distance loses neighbors, and more of them with longer codes.

    The signs of `decision_function`, which are signs of inner products with the vectors of
    single bits, are not the bits of `transform`: queries and items are encoded in different
    ways. Use the Hamming distance to these signs for a shortlist only.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import AdditiveHasher
    >>> from sklearn_talr.neighbors import HashedNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = AdditiveHasher(n_bits=32, random_state=0)
    >>> index = HashedNeighbors(hasher, n_neighbors=5)
    >>> found = index.fit(X[300:], y[300:]).predict(X[:300])
    >>> bool((found == y[:300]).mean() > 0.9)
    True
    """

    default_query = "weights"

    _parameter_constraints = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"auto", "axes", "bits", "codebooks"})],
        "metric": [StrOptions({"cosine", "inner_product", "euclidean"})],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 2, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    n_bits: int = 32
    _: KW_ONLY
    method: Literal["auto", "axes", "bits", "codebooks"] = "auto"
    metric: Literal["cosine", "inner_product", "euclidean"] = "cosine"
    alpha: float | Literal["auto"] = "auto"
    max_iter: int = 12
    max_samples: Count = 20_000
    n_jobs: Count = None
    verbose: bool = False
    random_state: Seed = None

    @fit_method
    def fit(self, X: Rows, y: Any = None) -> Self:
        """Find the vectors of the words.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The fitted hasher.

        Warns
        -----
        ConvergenceWarning
            If Ctrl-C has ended the fit early, which keeps the vectors found by then.
        """
        return self._fit(X, y, self._checked_method(), self.max_samples)

    @fit_method
    def fit_database(self, X: Rows, y: Any = None) -> Self:
        """Fit to rows that are all the items that will be searched.

        Same as `fit`, except that ``method="auto"`` prefers codebooks more often: codebooks
        fit their training rows more closely than other rows. An index that stores the codes
        of all rows of `fit` calls this method.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The fitted hasher.

        Warns
        -----
        ConvergenceWarning
            If Ctrl-C has ended the fit early, which keeps the vectors found by then.
        """
        method = self._checked_method()
        return self._fit(X, y, method, self.max_samples, is_database=True)

    @available_if(_learns_in_parts)
    @fit_method
    def partial_fit(self, X: Rows, y: Any = None) -> Self:
        """Improve the vectors of single bits with more rows.

        The first call does the same as `fit` with ``method="bits"``. Later calls keep the
        mean of the first rows. Each call changes the vectors, and earlier codes do not fit
        them: encode the database after the last call.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The hasher.

        Raises
        ------
        ValueError
            If `n_bits` or `metric` has changed since the first rows, or `fit` has found
            axes or codebooks.

        AttributeError
            If `method` is ``"axes"`` or ``"codebooks"``.
        """
        if not hasattr(self, "n_iter_"):
            return self._fit(X, y, "bits", None)
        X, seen = check_features(self, X, reset=False)
        model = self._model_
        frame = model.frame
        for name, value in {"n_bits": model.n_bits, "metric": frame.metric}.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"partial_fit cannot change {name} from {value!r} to "
                    f"{getattr(self, name)!r}. Call fit to start anew."
                )
        if model.moments is None:
            raise ValueError(
                f"partial_fit cannot improve {model.method}, which `fit` has made for this "
                'hasher. Call fit with all rows, or set method="bits" and fit.'
            )
        progress = self._progress(X, y, seen, _ITERATIONS_PER_CHUNK, self.n_iter_)
        with one_thread():
            rows, _ = frame.split(X)
            signs = 2 * model.bits_of(rows).astype(np.float32) - 1
            settings = self._settings(_ITERATIONS_PER_CHUNK)
            model = improve_bits(frame, rows, signs, model.moments, settings, progress)
        return replace_fitted(self, progress.finish(model))

    def encode(self, X: Rows) -> PackedCodes:
        """Compute codes, packed eight bits to the byte, with factors and addends.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        codes : PackedCodes
            Codes of shape (n_samples, n_bits), in little bit order. Under ``"cosine"``
            rows of zeros, which have no direction, have factor 0 and come last.

        Warns
        -----
        UserWarning
            If there are rows of zeros under ``"cosine"``.
        """
        packed = super().encode(X)
        if self._model_.frame.metric != "cosine":
            return packed
        _, _, X = self._check_seen(X)
        is_zero = np.ravel((X != 0).sum(axis=1)) == 0
        if is_zero.any():
            first = number_of_row(is_zero.argmax())
            warn_caller(
                f"X has {is_zero.sum()} rows of zeros, first row {first}. They "
                "have no direction, so their factor is 0, and searches find them last. "
                "Leave them out, or embed them again."
            )
            packed.terms = packed.terms.without_direction(is_zero)
        return packed

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Decode codes into features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_bits) of 0/1, or PackedCodes
            Codes.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features), dtype float32
            Decodings, of unit length under ``"cosine"``. Under other metrics PackedCodes of
            `encode` have the lengths of rows, and codes of 0/1 are decoded with the root
            mean square length.
        """
        check_is_fitted(self)
        model = self._model_
        packed = as_packed(X)
        if packed.n_bits != model.n_bits:
            raise ValueError(
                f"X has {packed.n_bits} bits, but the codes of this hasher have "
                f"{model.n_bits}."
            )
        return model.decode(packed).astype(np.float32)

    def score(self, X: Rows, y: Any = None) -> float:
        """Recall of the 10 nearest other samples by codes and weighted queries.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : Ignored
            Present for API consistency.

        Returns
        -------
        score : float
            Fraction, in [0, 1], of the true neighbors of a sample under `metric` that are
            among the same number of neighbors by codes. If there are 10 others or fewer,
            half of them are neighbors. Samples as near as the last true neighbor are true
            neighbors, too. If scores of codes tie, the value is the mean over all orders of
            tied samples.
        """
        packed = self.encode(X)
        weights = self.query_weights(X)
        n_samples = len(packed)
        if n_samples < 2:
            raise ValueError(
                "X has one sample, which has no other samples to find. Pass at least two."
            )
        n_neighbors = min(_N_NEIGHBORS, max(1, (n_samples - 1) // 2))
        _, _, X = self._check_seen(X)
        neighbors = _TrueNeighbors.from_rows(X, self._model_.frame.metric, n_neighbors)
        count_block = one_thread()(partial(_count_found, neighbors, weights, packed))
        blocks = gen_batches(n_samples, max(1, _CELLS_PER_BLOCK // n_samples))
        n_found = sum(map_in_threads(count_block, blocks, self.n_jobs))
        return float(n_found / (n_neighbors * n_samples))

    def _checked_method(self):
        """Return `method`; raise ValueError if `n_bits` does not fit it."""
        if self.method == "codebooks" and self.n_bits % 8:
            raise ValueError(
                f"n_bits={self.n_bits} is no multiple of 8, the bits of a word of "
                'method="codebooks". Change one of them, or set method="auto".'
            )
        return self.method

    def _fit(self, X, y, method, max_samples, *, is_database=False):
        """Fit a method, or for "auto" the best one, to at most `max_samples` rows."""
        X, seen = check_features(self, X)
        rng = independent_random_state(self.random_state)
        # The order is random, because several stages use the first rows as a sample of all.
        sample = X[rng.permutation(X.shape[0])[:max_samples]]
        if self.metric != "cosine" and not sp.issparse(sample):
            sample = without_far_rows(sample)
        are_items = is_database and sample.shape[0] == X.shape[0]
        settings = self._settings(self.max_iter)
        with one_thread():
            frame = choose_frame(sample, self.metric, self.n_bits)
            rows, _ = frame.split(sample)
            # The sample takes as much memory as the rows, and only the rows are fitted.
            del sample
            methods = [method]
            if method == "auto":
                methods = methods_to_fit(frame, rows, settings, rng, are_items=are_items)
            n_tasks = n_tasks_of_all(methods, self.max_iter)
            progress = self._progress(X, y, seen, n_tasks)
            if len(methods) > 1:
                # The first method takes most of the time.
                progress.n_alike = n_tasks_of_all(methods[:1], self.max_iter)
            model = fit_best(
                methods, frame, rows, settings, rng, progress, are_items=are_items
            )
        return replace_fitted(self, progress.finish(model))

    def _settings(self, max_iter):
        """Collect the parameters that the fits of all methods need."""
        return CodeSettings(self.n_bits, self.alpha, max_iter, self.n_jobs)

    def _progress(self, X, y, seen, n_most, n_before=0):
        """Progress of at most `n_most` alternations, after `n_before` earlier ones."""

        def fitted(model):
            """Fitted attributes of a model after the alternations done so far."""
            n_iter = n_before + progress.n_done
            return seen | _fitted_attributes(model, X, n_iter)

        progress = Progress(self, X, y, n_most, "iteration", fitted=fitted)
        return progress

    def __talr_hash_function__(self, space: Space) -> HashFunction:
        """Make the hash function of this fit.

        Parameters
        ----------
        space : Space
            NumPy.

        Returns
        -------
        function : HashFunction
            Weights are inner products with the vectors of all values of words; bits are
            those of the words whose vectors add up to a row.
        """
        single_bits = super().__talr_hash_function__(space)
        n_weights = self.query_coef_.shape[1]
        (mean,) = vars(self).get("means_", [None])
        return replace(
            single_bits,
            quantize=self._model_.quantize,
            query_weights=Layers([self.query_coef_], [np.zeros(n_weights)], mean=mean),
            n_weights=n_weights,
            score_rule=self._model_.rule,
            # Blocks have four times the memory of other hashers' blocks: BLAS copies all
            # codewords for each block.
            n_values_per_row=max(single_bits.n_values_per_row, n_weights // 4),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Bits are chosen by compiled loops over the columns of NumPy arrays.
        tags.array_api_support = False
        return tags


def _fitted_attributes(model, X, n_iter):
    """Fitted attributes of a model of the rows X."""
    frame = model.frame
    if isinstance(frame, TangentProjection):
        model.set_heights(X[:_ROWS_FOR_HEIGHTS])
    attributes = {
        "coefs_": [_as_columns(model.vectors_of_bits(), frame.unit)],
        "intercepts_": [np.zeros(model.n_bits, dtype=np.float32)],
        "query_coef_": _as_columns(model.vectors_of_code(), frame.unit),
        "mean_": frame.mean,
        "method_": model.method,
        "n_iter_": n_iter,
        "_model_": model,
    }
    if frame.metric == "euclidean":
        attributes["means_"] = [frame.mean]
    return attributes


class _TrueNeighbors(NamedTuple):
    """Rows, each of which has the others with the highest scores as true neighbors.

    Scores that differ by rounding alone count as equal.
    """

    X: np.ndarray  # (n_samples, n_features), float64, of magnitudes up to 1
    squares: np.ndarray  # (n_samples,), squared lengths of the rows
    offsets: np.ndarray | float  # (n_samples,) or 0, subtracted from inner products
    rounding: float  # error of inner products, as a fraction of squared lengths
    n_neighbors: int

    @classmethod
    def from_rows(cls, X, metric, n_neighbors):
        """Scale checked rows by a power of 2, so that no magnitude exceeds 1."""
        X = scaled(X, metric).astype(np.float64)
        if metric == "euclidean":
            X -= X.mean(axis=0)
        X = np.ldexp(X, -np.frexp(np.abs(X).max())[1])
        squares = np.einsum("ij,ij->i", X, X)
        return cls(
            X=X,
            squares=squares,
            offsets=squares / 2 if metric == "euclidean" else 0,
            rounding=8 * np.finfo(np.float64).eps * X.shape[1],
            n_neighbors=n_neighbors,
        )

    def mask(self, rows):
        """Whether each row is a true neighbor of some rows, (n_rows, n_samples)."""
        scores = self.X[rows] @ self.X.T - self.offsets
        _leave_out_itself(scores, rows)
        last_scores = _last_scores(scores, self.n_neighbors)
        scores += self.rounding * np.add.outer(self.squares[rows], self.squares)
        return scores >= last_scores


def _count_found(neighbors, weights, packed, rows):
    """Number of true neighbors that the codes of all rows find for some rows."""
    scores = weighted_scores(weights[rows], packed)
    is_neighbor = neighbors.mask(rows)
    _leave_out_itself(scores, rows)
    last_scores = _last_scores(scores, neighbors.n_neighbors)
    is_above = scores > last_scores
    is_tied = scores == last_scores
    # Items that tie for the last places have equal chances of a place.
    chances = (neighbors.n_neighbors - is_above.sum(axis=1)) / is_tied.sum(axis=1)
    n_above = (is_neighbor & is_above).sum()
    return n_above + chances @ (is_neighbor & is_tied).sum(axis=1)


def _leave_out_itself(scores, rows):
    """Give each of some rows the lowest score for itself: no row is its own neighbor."""
    scores[np.arange(len(scores)), np.arange(rows.start, rows.stop)] = -np.inf


def _last_scores(scores, n_neighbors):
    """The score of the last neighbor of each query, (n_queries, 1)."""
    place = scores.shape[1] - n_neighbors
    return np.partition(scores, place, axis=1)[:, [place]]
