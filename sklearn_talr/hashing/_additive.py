"""A hasher for weighted queries: words whose vectors add up to the features."""

from numbers import Integral, Real

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
from ._base import BaseHasher, Layers, check_features
from ._words import TangentProjection, scaled
from ._words_choice import fit_best, methods_to_fit, n_tasks_of_all
from ._words_fit import CodeSettings, choose_frame, improve_bits

_ITERATIONS_PER_CHUNK = 2
# Neighbors that `score` looks for, and cells of its tables of scores
_N_NEIGHBORS = 10
_CELLS_PER_BLOCK = 2**20
# The heights of so many rows set the bounds of all heights.
_ROWS_FOR_HEIGHTS = 4_096


def _learns_in_parts(hasher):
    """Whether there is a partial_fit, or AttributeError with the reason."""
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

    A word is a run of one or eight bits of a code. Each of its values stands for a
    vector of its own, and the words of a row are chosen so that the sum of their vectors
    points where the row points. A query is not rounded to bits: its weights are its inner
    products with these vectors. Search the codes by
    :class:`~sklearn_talr.neighbors.HashedNeighbors`, which asks by weights. That finds far
    more of the true neighbors than the Hamming distance of codes of the same length does.
    The Hamming distance of these codes finds few: take :class:`ITQHasher` where queries are
    bits. HammingNeighbors refuses the codes of `encode` under every metric. It cannot tell
    the bits of `transform` from other codes.

    The vectors are steps along principal axes, or they are found by alternating least
    squares and local search over the words. The latter is additive quantization (Babenko
    and Lempitsky, CVPR 2014). Words of one bit add or subtract a vector, as in a binary
    autoencoder with a linear decoder (Carreira-Perpinan and Raziperchikolaei, CVPR 2015).

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1. There may be more of them than features.
        Without labels 64 to 512 are usual.

    method : {"auto", "axes", "bits", "codebooks"}, default="auto"
        What finds the vectors.

        - ``"axes"`` rounds rows along principal axes, in words of one bit. It fits in about
          a second, and leads if there are more than some 2.5 bits for each dimension along
          which rows differ.
        - ``"bits"`` alternates least squares and local search, in words of one bit. Only
          this method has `partial_fit`.
        - ``"codebooks"`` does so in words of eight bits, which must divide `n_bits`. A
          codebook has 256 vectors. It leads if bits are few, and takes longest to fit and
          to encode.
        - ``"auto"`` fits axes and bits to 3 000 rows at most. If axes lead clearly by rows
          held out, no other method is fitted to all rows. Otherwise the one that leaves
          least of them is kept, as one minus their cosine. See Notes.

        A shortlist by Hamming distance, as `n_candidates` of HashedNeighbors makes it,
        loses few neighbors or none with bits, and more with codebooks or axes.

    metric : {"cosine", "inner_product", "euclidean"}, default="cosine"
        How features are compared. Words tell the direction of a row, from the mean of all
        rows. Besides its bits an item has a byte for what multiplies its score, and under
        ``"euclidean"`` another one for its length. Under ``"euclidean"`` moving all
        features, of items and queries alike, changes no score. Under ``"cosine"`` features
        that are not centered, such as raw GIST, may get codes of another form, see Notes.

    alpha : "auto" or float, default="auto"
        Strength of the ridge penalty on the vectors, per row. ``"auto"`` means for
        codebooks that of 0.02, 0.1 and 0.4 whose words point nearest to rows held out, and
        0.05 for bits. Axes take none.

    max_iter : int, default=12
        Greatest number of alternations: find the vectors, then choose the words. At least
        1. Codebooks need no more than 3, and axes take none.

    max_samples : int or None, default=20_000
        `fit` draws so many rows if there are more. None means all.

    n_jobs : int, default=None
        Number of threads that share the rows, in `fit` and wherever rows are encoded. None
        means 1 unless in a `joblib.parallel_config` context, -1 all processors. It changes
        no result, and pays from some ten thousand rows on.

    verbose : bool, default=False
        Print how many of the bits or words each alternation has changed.

    random_state : int, RandomState instance or None, default=None
        Draws the rows that are fitted, and what the vectors start from.

    Attributes
    ----------
    coefs_ : list of one ndarray of shape (n_features, n_bits)
        Vectors of the bits, as columns; of codebooks, half of what a bit adds in the mean
        over the values of its word. Unless cosines are compared they are divided by the
        root mean square length of the training rows, from their mean. So no
        weight depends on the unit of the features more than they do.

    intercepts_ : list of one ndarray of shape (n_bits,)
        Zeros.

    query_coef_ : ndarray of shape (n_features, n_weights)
        All vectors that queries have weights for: those of the bits, or of the values of
        all words, see :func:`~sklearn_talr.codes.weighted_scores`.

    method_ : {"axes", "bits", "codebooks"}
        What has found the vectors. A word of codebooks has eight bits, others have one.

    mean_ : ndarray of shape (n_features,)
        Mean of the rows fitted, after these were scaled to unit length under ``"cosine"``.

    means_ : list of one ndarray of shape (n_features,)
        `mean_`, which is subtracted from queries, too. Only under ``"euclidean"``.

    n_iter_ : int
        Alternations done, also by methods that are not kept; axes count as 1.

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
    A query has a weight for each bit, or for each of the 256 values of each word of eight.

    Under ``"cosine"`` rows that no sum points to have scores that are too high. Where more
    neighbors are found so among rows held out, the factor of a code has the fourth root of
    its cosine with the row in it.

    Features that are all above 0 have a long mean m: of raw GIST, scaled to unit length,
    0.86. A row of unit length is ``h m/|m| + t``, with a height h and a tangent t. The last
    word of a code, or the last nine of single bits, may tell h, and the words before it
    t. The factor of a code is then ``<t, s> / <s, s>``, with s the sum of these vectors.
    From 1 800 rows and 24 bits on rows held out choose: this form must raise their recall
    by 0.02 in codes of equal length.

    ``method="auto"`` keeps axes at once if they find as many neighbors among rows held out
    as single bits do, and leave less than 0.9 times as much of these rows, or up to 128
    bits 0.6 times as much. If they find fewer, they are out. It also keeps them if 8
    bits for each axis are fewer than `n_bits`. It tries no codebooks if 8 does not divide
    `n_bits`, for more than 256 bits, or for fewer than 1 000 rows or 8 a bit. It takes bits
    for fewer than 50 rows. Under another metric than the cosine codebooks have to leave 5 %
    less than others. An index of the very rows that are fitted, as of
    :class:`~sklearn_talr.neighbors.HashedNeighbors`, keeps codebooks that leave up to 35 %
    more: they fit these rows more closely than others. What ``"auto"`` takes, ``method``
    set to the same makes, to the last digit.

    ``method="axes"`` fits in about a second, and encodes a row in microseconds. A principal
    axis of the rows gets up to 8 bits, each bit where it lowers the squared error most.
    Axes with equally many are rotated as those of :class:`ITQHasher`, and rows are rounded
    to equal steps along each. Bits beyond 8 for each axis along which rows differ stand for
    nothing. Of the ten nearest among 10 000 rows of 512 numbers, features of CIFAR-10,
    codes of 16, 32, 64 and 128 bytes find .596, .739, .830 and .903; codebooks of 16 and 32
    bytes find .650 and .748, and take 15 and 44 s to fit. A shortlist by Hamming distance
    loses neighbors, the more the longer the codes are.

    The signs of `decision_function`, of inner products with the vectors of single bits, are
    not the bits of `transform`: a row is not encoded in the way a query is. The Hamming
    distance to these signs is fit for a shortlist only.

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
    _follows_arrays = False  # bits are chosen by loops over the columns of NumPy arrays

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
        """Find the vectors that the words stand for.

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

        Same as `fit`, except that ``method="auto"`` prefers codebooks more often: they fit
        the rows of the fit more closely than other rows. An index that stores the codes of
        all rows of `fit` calls this method.

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
        """
        method = self._checked_method()
        return self._fit(X, y, method, self.max_samples, is_database=True)

    @available_if(_learns_in_parts)
    @fit_method
    def partial_fit(self, X: Rows, y: Any = None) -> Self:
        """Improve the vectors of single bits by more rows.

        The first call does what `fit` does with ``method="bits"``. The mean stays that of
        the first rows. Codes made before belong to the vectors of that time: encode the
        database when all rows have been seen.

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
            If `n_bits` or `metric` is no longer what the first rows were fitted with, or
            `fit` has made codes of axes or codebooks.

        AttributeError
            If `method` asks for axes or codebooks.
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
        is_zero = np.ravel((self._enter(X)[1] != 0).sum(axis=1)) == 0
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
        """Decode codes: the features that they stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_bits) of 0/1, or PackedCodes
            Codes.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features), dtype float32
            Decodings, of unit length under ``"cosine"``. Otherwise PackedCodes of `encode`
            know the lengths of rows, and 0/1 stand for rows of root mean square length.
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
            Fraction, in [0, 1], of the true neighbors of a sample, by `metric`, that are
            among as many found by their codes. If there are 10 others or fewer, half of
            them count as neighbors. Samples as near as the last true neighbor are true
            neighbors, too. If scores of codes tie, the mean over the orders of ties counts.
        """
        packed = self.encode(X)
        weights = self.query_weights(X)
        n_samples = len(packed)
        if n_samples < 2:
            raise ValueError("X has one sample, which has no others to find; pass more.")
        n_neighbors = min(_N_NEIGHBORS, max(1, (n_samples - 1) // 2))
        # Rows are scaled by a power of 2 to at most 1. Scores that differ by rounding alone
        # count as equal.
        metric = self._model_.frame.metric
        X = scaled(self._enter(X)[1], metric).astype(np.float64)
        if metric == "euclidean":
            X -= X.mean(axis=0)
        X = np.ldexp(X, -np.frexp(np.abs(X).max())[1])
        squares = np.einsum("ij,ij->i", X, X)
        halves = squares / 2 if metric == "euclidean" else 0
        rounded = 8 * np.finfo(np.float64).eps * X.shape[1]

        def count(rows):
            true_scores = X[rows] @ X.T - halves
            code_scores = weighted_scores(weights[rows], packed)
            # No row is its own neighbor.
            itself = np.arange(len(code_scores)), np.arange(rows.start, rows.stop)
            true_scores[itself] = -np.inf
            code_scores[itself] = -np.inf

            place = n_samples - n_neighbors
            last_true_score = np.partition(true_scores, place, axis=1)[:, [place]]
            true_scores += rounded * np.add.outer(squares[rows], squares)
            is_neighbor = true_scores >= last_true_score
            last_code_score = np.partition(code_scores, place, axis=1)[:, [place]]
            is_above = code_scores > last_code_score
            is_tied = code_scores == last_code_score
            # Of the items that tie for the last places some have a place, at random.
            chance = (n_neighbors - is_above.sum(axis=1)) / is_tied.sum(axis=1)
            n_above = (is_neighbor & is_above).sum()
            return n_above + chance @ (is_neighbor & is_tied).sum(axis=1)

        blocks = gen_batches(n_samples, max(1, _CELLS_PER_BLOCK // n_samples))
        n_found = sum(map_in_threads(one_thread()(count), blocks, self.n_jobs))
        return float(n_found / (n_neighbors * n_samples))

    def _checked_method(self):
        if self.method == "codebooks" and self.n_bits % 8:
            raise ValueError(
                f"n_bits={self.n_bits} is no multiple of 8, the bits of a word of "
                'method="codebooks". Change one of them, or set method="auto".'
            )
        return self.method

    def _fit(self, X, y, method, max_samples, *, is_database=False):
        X, seen = check_features(self, X)
        rng = independent_random_state(self.random_state)
        # An order at random: some of the first rows stand for all.
        sample = X[rng.permutation(X.shape[0])[:max_samples]]
        if self.metric != "cosine" and not sp.issparse(sample):
            sample = without_far_rows(sample)
        are_items = is_database and sample.shape[0] == X.shape[0]
        settings = self._settings(self.max_iter)
        with one_thread():
            frame = choose_frame(sample, self.metric, self.n_bits)
            rows, _ = frame.split(sample)
            # The sample takes as much memory as the rows, which are what is fitted.
            del sample
            methods = [method]
            if method == "auto":
                methods = methods_to_fit(frame, rows, settings, rng, are_items=are_items)
            n_tasks = n_tasks_of_all(methods, self.max_iter)
            progress = self._progress(X, y, seen, n_tasks)
            # Other methods take no time beside the first one.
            if len(methods) > 1:
                progress.n_alike = n_tasks_of_all(methods[:1], self.max_iter)
            model = fit_best(
                methods, frame, rows, settings, rng, progress, are_items=are_items
            )
        return replace_fitted(self, progress.finish(model))

    def _settings(self, max_iter):
        return CodeSettings(self.n_bits, self.alpha, max_iter, self.n_jobs)

    def _progress(self, X, y, seen, n_most, n_before=0):
        """Progress of alternations, at most so many after those of earlier chunks."""

        def fitted(model):
            frame = model.frame
            if isinstance(frame, TangentProjection):
                model.set_heights(X[:_ROWS_FOR_HEIGHTS])
            attributes = {
                "coefs_": [_as_columns(model.vectors_of_bits(), frame.unit)],
                "intercepts_": [np.zeros(model.n_bits, dtype=np.float32)],
                "query_coef_": _as_columns(model.vectors_of_code(), frame.unit),
                "mean_": frame.mean,
                "method_": model.method,
                "n_iter_": n_before + progress.n_done,
                "_model_": model,
            }
            if frame.metric == "euclidean":
                attributes["means_"] = [frame.mean]
            return seen | attributes

        progress = Progress(self, X, y, n_most, "iteration", fitted=fitted)
        return progress

    @property
    def n_weights(self) -> int:
        """Weights of a query: one for each value of each word."""
        return self.query_coef_.shape[1]

    def query_function(self, space: Space) -> Layers:
        """Return the function from rows to the weights of queries.

        Parameters
        ----------
        space : Space
            NumPy.

        Returns
        -------
        function : Layers
            Inner products with the vectors of all values of words.
        """
        intercepts = [np.zeros(self.n_weights)]
        return Layers([self.query_coef_], intercepts, *vars(self).get("means_", []))

    def quantize(self, X: Any, function: Any) -> tuple[Any, NDArray[np.uint8] | None]:
        """Find the words whose vectors add up to rows.

        Parameters
        ----------
        X : {ndarray, CSR} of shape (n, n_features)
            Features.

        function : callable
            Ignored.

        Returns
        -------
        bits : ndarray of shape (n, n_bits)
            Bits of the words.

        lengths : ndarray of shape (n,), dtype uint8, or None
            Bytes that tell lengths and factors, by `code_factors`.
        """
        return self._model_.quantize(X)

    def code_factors(self) -> Any:
        """Return the rule by which codes get factors and addends."""
        return self._model_.rule
