"""A hasher for weighted queries: words whose vectors add up to the features."""

from contextlib import contextmanager
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._compat import (
    CallbackSupportMixin,
    Interval,
    Options,
    StrOptions,
    fit_context,
    with_callbacks,
)
from .._random import independent_random_state
from .._state import replace_fitted
from .._threads import map_in_threads, one_thread
from ..codes import weighted_scores
from ..codes._door import as_packed
from ._base import BaseHasher, Encoder, Layers, check_features, check_more_features
from ._callbacks import FitCallbacks
from .words._additive_codes import Moments
from .words._additive_model import (
    Frame,
    Model,
    alternate,
    first_signs,
    scaled,
    sets_of_bits,
    signs_by,
)
from .words._word_choice import choose_words, largest_words
from .words._word_fit import alternate_words, first_words, rows_of_sample, start_of_words
from .words._word_model import WordModel, changes_of_words

__all__ = ["AdditiveHasher"]

_ITERATIONS_PER_CHUNK = 2
_N_NEIGHBORS = 10  # of `score`
_CELLS_PER_BLOCK = 2**20
_ROWS_FOR_BOUNDS = 4_096  # whose factors tell within which bounds all are kept


def _learns_in_parts(hasher):
    """Whether there is a partial_fit, or AttributeError with the reason."""
    if hasher.word_size == 8:
        raise AttributeError(
            "partial_fit cannot improve words of several bits, which word_size="
            f"{hasher.word_size} asks for. Call fit with all rows, or set word_size=1."
        )
    return True


class AdditiveHasher(CallbackSupportMixin, BaseHasher):
    """Codes of words whose vectors add up to the features, for weighted queries.

    A word is a run of one or eight bits of a code. Each of its values stands for a
    vector of its own, and the words of a row are chosen so that the sum of their vectors
    points where the row points. A query is not rounded to bits: its weights are its inner
    products with these vectors. Search the codes by
    :class:`~sklearn_talr.neighbors.HashedNeighbors`, which asks by weights. That finds far
    more of the true neighbors than the Hamming distance of codes of the same length does.
    The Hamming distance of these codes finds few: take :class:`ITQHasher` where queries are
    bits. HammingNeighbors refuses the codes of `encode`, unless ``metric="inner_product"``.
    It cannot tell the bits of `transform` from other codes.

    The vectors are found by alternating least squares and coordinate descent over the
    words. This is additive quantization (Babenko and Lempitsky, CVPR 2014). Words of one
    bit add or subtract a vector, as in a binary autoencoder with a linear decoder
    (Carreira-Perpinan and Raziperchikolaei, CVPR 2015).

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1. There may be more of them than features.
        Without labels 64 to 512 are usual.

    word_size : {"auto", 1, 8}, default="auto"
        Bits of a word, which must divide `n_bits`. The larger the words, the more a code
        says, if there are rows enough to find their vectors, above all of rows that form
        clusters. ``"auto"`` tries 8 on rows held out, if that divides `n_bits`, up to 128
        bits, and if there are :math:`b^2/2` rows with b bits, and at least 1 000. It takes
        1 if that finds more of the nearest.

        Words of 8 take longer to fit. A shortlist by Hamming distance, as `n_candidates` of
        HashedNeighbors makes it, loses neighbors with words of 8, and few or none with 1.
        `partial_fit` improves words of 1 only.

    metric : {"cosine", "inner_product", "euclidean"}, default="cosine"
        How features are compared. Under ``"cosine"`` bits are chosen by the direction of
        the sum of their vectors alone, and its length follows. Under ``"euclidean"`` each
        row has its squared distance from the mean besides its bits. Moving all features, of
        items and queries alike, then changes no score.

    alpha : float, default=0.05
        Strength of the ridge penalty on the vectors, per row. That on the vectors of
        products of several bits is ten times as strong or more, see Notes.

    max_iter : int, default=12
        Greatest number of alternations: find the vectors, then choose the words.

    n_jobs : int, default=None
        Number of threads that share the rows, in `fit` and wherever rows are encoded. None
        means 1 unless in a `joblib.parallel_config` context, -1 all processors. It changes
        no result, and pays from some ten thousand rows on.

    verbose : bool, default=False
        Print how many of the bits or words each alternation has changed.

    random_state : int, RandomState instance or None, default=None
        Draws what the vectors start from, and the bits that are flipped in search of better
        codes.

    Attributes
    ----------
    coefs_ : list of one ndarray of shape (n_features, n_bits)
        Vectors of the single bits, as columns; of words, half of what a bit adds in the
        mean over the values of its word. Under ``"euclidean"`` divided by the root
        mean square distance of the training rows from their mean, and under
        ``"inner_product"`` in multiples of it. Weights of queries are inner products with
        these, plus the intercepts, so that no weight depends on the unit of the features
        more than they do.

    intercepts_ : list of one ndarray of shape (n_bits,)
        Zeros.

    query_coef_ : ndarray of shape (n_features, n_weights)
        All vectors that queries have weights for: those of the bits, or of the values of
        all words, see :func:`~sklearn_talr.codes.weighted_scores`.

    word_size_ : {1, 8}
        Bits of a word.

    mean_ : ndarray of shape (n_features,)
        Mean of the rows, after these were scaled to unit length under ``"cosine"``. Under
        ``"euclidean"`` it is subtracted from queries, too.

    n_iter_ : int
        Alternations done.

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

    Under ``"cosine"`` rows that no sum points to have scores that are too high. Where rows
    held out show that more neighbors are found so, the last word of a code adds no vector
    but says how near the sum points to the row: its value multiplies the score by the
    cosine of the two, or by its root. Factors are kept in a byte for each code, as
    are the distances from the mean under ``"euclidean"``.

    The signs of `decision_function` are not the bits of `transform`: a row is not encoded
    in the way a query is. The Hamming distance to these signs is fit for a shortlist only.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import AdditiveHasher
    >>> from sklearn_talr.neighbors import HashedNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = AdditiveHasher(n_bits=32, random_state=0)
    >>> index = HashedNeighbors(hasher, n_neighbors=5)
    >>> found = index.fit(X[300:], y[300:]).predict(X[:300])
    >>> round(float((found == y[:300]).mean()), 1)
    0.9
    """

    default_query = "weights"
    _follows_arrays = False  # bits are chosen by loops over the columns of NumPy arrays

    _parameter_constraints: dict = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "word_size": [StrOptions({"auto"}), Options(Integral, {1, 8})],
        "metric": [StrOptions({"cosine", "inner_product", "euclidean"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_bits=32,
        *,
        word_size="auto",
        metric="cosine",
        alpha=0.05,
        max_iter=12,
        n_jobs=None,
        verbose=False,
        random_state=None,
    ):
        self.n_bits = n_bits
        self.word_size = word_size
        self.metric = metric
        self.alpha = alpha
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y=None):
        """Find the vectors that the words stand for.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples. Memory-mapped rows are read in blocks.

        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The fitted hasher.
        """
        X, seen = check_features(self, X)
        return self._fit(X, y, seen, self._largest_words(X.shape[0]))

    @available_if(_learns_in_parts)
    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def partial_fit(self, X, y=None):
        """Improve the vectors of single bits by more rows.

        The first call does what `fit` does with ``word_size=1``. The mean stays that of the
        first rows. Codes made before belong to the vectors of that time: encode the
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
            `fit` has given words of several bits.

        AttributeError
            If `word_size` asks for words of several bits.
        """
        if not self.__sklearn_is_fitted__():
            X, seen = check_features(self, X)
            return self._fit(X, y, seen, self._largest_words(0))
        X, seen = check_more_features(self, X)
        model = self._model_
        frame = model.frame
        self._check_unchanged(n_bits=model.n_bits, metric=frame.metric)
        self._check_single_bits(model)
        watch = _Watch(self, X, y, seen, _ITERATIONS_PER_CHUNK, self.n_iter_)
        with one_thread():
            signs = signs_by(model.encode, frame, X, self.n_bits, self.n_jobs)
            how = signs, model.moments, _ITERATIONS_PER_CHUNK, model.flips, watch
            model = self._alternate(frame, X, *how)
        return replace_fitted(self, watch.end_fit(model))

    def inverse_transform(self, X):
        """Decode codes: the features that they stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_bits) of 0/1, or PackedCodes
            Codes.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features), dtype float32
            Decodings, of unit length under ``"cosine"``.
        """
        check_is_fitted(self)
        model = self._model_
        packed = as_packed(X)
        if packed.n_bits != model.n_bits:
            raise ValueError(
                f"X has {packed.n_bits} bits, but the codes of this hasher have "
                f"{model.n_bits}."
            )
        decoded = model.decode(packed) * model.frame.unit
        return (decoded + model.frame.mean).astype(np.float32)

    def score(self, X, y=None):
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
            among as many found by their codes. With 10 others or fewer, half of them.
            Whatever is as near as the last true neighbor is one, and where scores of codes
            tie, it is the mean over their orders.
        """
        packed, weights = self.encode(X), self.query_weights(X)
        n_samples = len(packed)
        if n_samples < 2:
            raise ValueError("X has one sample, which has no others to find; pass more.")
        n_neighbors = min(_N_NEIGHBORS, max(1, (n_samples - 1) // 2))
        true = _Similarities(self._prepare(X)[0], self._model_.frame.metric)

        def count(rows):
            found = weighted_scores(weights[rows], packed)
            return _n_right(true.of(rows), found, rows, n_neighbors)

        blocks = gen_batches(n_samples, max(1, _CELLS_PER_BLOCK // n_samples))
        n_found = sum(map_in_threads(one_thread()(count), blocks, self.n_jobs))
        return float(n_found / (n_neighbors * n_samples))

    def __sklearn_is_fitted__(self):
        return "_model_" in vars(self)

    def _check_unchanged(self, **fitted):
        for name, value in fitted.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"partial_fit cannot change {name} from {value!r} to "
                    f"{getattr(self, name)!r}. Call fit to start anew."
                )

    def _check_single_bits(self, model):
        if model.word_size > 1:
            raise ValueError(
                f"partial_fit cannot improve words of {model.word_size} bits, as `fit` "
                "chose for this hasher. Call fit with all rows, or set word_size=1 and fit."
            )

    def _largest_words(self, n_rows):
        """Bits of a word, for so many rows."""
        if self.word_size == "auto":
            return largest_words(self.n_bits, n_rows)
        if self.n_bits % self.word_size:
            raise ValueError(
                f"n_bits={self.n_bits} is no multiple of word_size={self.word_size}. "
                'Change one of them, or set word_size="auto".'
            )
        return self.word_size

    def _fit(self, X, y, seen, size):
        rng = independent_random_state(self.random_state)
        watch = _Watch(self, X, y, seen, self.max_iter, has_trial=size > 1)
        with one_thread():
            frame = Frame.of(X, self.metric)
            if size > 1:
                sample = rows_of_sample(frame, X, rng)
                with watch.trial(size, len(sample)):
                    start, choice = self._choose_words(sample, size, rng)
            if size == 1 or choice.size == 1:
                model = self._fit_bits(frame, X, rng, watch)
            else:
                model = self._fit_words(frame, X, start[size], choice, rng, watch)
        return replace_fitted(self, watch.end_fit(model))

    def _fit_bits(self, frame, X, rng, watch):
        signs = first_signs(frame, X, self.n_bits, rng, self.n_jobs)
        nothing = Moments.none(self.n_bits, X.shape[1])
        flips = sets_of_bits(self.n_bits, rng)
        return self._alternate(frame, X, signs, nothing, self.max_iter, flips, watch)

    def _alternate(self, frame, X, signs, before, max_iter, flips, watch):
        """The model of single bits after some alternations."""

        def model_of(moments):
            seen = np.packbits(signs[:_ROWS_FOR_BOUNDS] > 0, axis=1, bitorder="little")
            return Model.of(frame, moments.decoder(self.alpha), flips, moments, seen)

        watch.model_of = model_of
        how = before, self.alpha, max_iter, self.n_jobs, watch
        return model_of(alternate(frame, X, signs, *how))

    def _choose_words(self, sample, size, rng):
        """What words start from, by size, and a WordChoice."""
        sizes = [size, 1] if self.word_size == "auto" else [size]
        start = {each: start_of_words(sample, self.n_bits, each, rng) for each in sizes}
        how = self.n_bits, size, self.alpha, self.metric
        return start, choose_words(sample, start, *how)

    def _fit_words(self, frame, X, start, choice, rng, watch):
        size, n_words = choice.size, self.n_bits // choice.size - bool(choice.power)
        each_row = partial(frame.map_blocks, X, n_jobs=self.n_jobs)
        words = first_words(each_row, X.shape[0], n_words, start)
        changes = changes_of_words(n_words, 2**size, rng)

        def model_of(codebooks):
            how = choice.levels, choice.power, changes, words[:_ROWS_FOR_BOUNDS]
            return WordModel.of(frame, codebooks, *how)

        watch.model_of = model_of
        how = 2**size, self.alpha, self.max_iter, frame.codes_directions, watch
        return model_of(alternate_words(each_row, words, *how))

    def _encoder(self):
        fitted = vars(self)
        model, coef = fitted["_model_"], fitted["query_coef_"]
        mean = model.frame.mean if model.frame.metric == "euclidean" else None
        query_function = Layers([coef], [np.zeros(coef.shape[1])], mean)
        return Encoder(
            Layers(fitted["coefs_"], fitted["intercepts_"], mean),
            model.n_bits,
            query_function.n_units,
            quantize=model.quantize,
            n_jobs=self.n_jobs,
            rule=model.rule,
            query_function=query_function,
            n_weights=coef.shape[1],
        )

    def _fitted_by(self, model, n_iter):
        """Fitted attributes that follow from a model."""
        frame, coef, of_bits = model.frame, model.vectors().T, model.vectors_of_bits().T
        if frame.metric == "euclidean":
            coef = (coef / frame.unit).astype(np.float32)
            of_bits = (of_bits / frame.unit).astype(np.float32)
        return {
            "coefs_": [of_bits],
            "intercepts_": [np.zeros(model.n_bits, dtype=np.float32)],
            "query_coef_": coef,
            "mean_": frame.mean,
            "word_size_": model.word_size,
            "n_iter_": n_iter,
            "_model_": model,
        }


class _Watch:
    """Tells callbacks of the alternations of a fit, and prints them where `verbose` is set.

    Parameters
    ----------
    hasher : AdditiveHasher
        What is fitted.

    X, y : features and what `fit` was given as targets
        Shown to callbacks.

    seen : dict
        Fitted attributes that say which features were seen.

    n_most : int
        At most so many alternations follow.

    n_before : int, default=0
        Alternations of earlier chunks.

    has_trial : bool, default=False
        Whether words are tried before.

    Attributes
    ----------
    model_of : callable
        ``model_of(state)``: the model of what an alternation ends with; set before any.
    """

    def __init__(self, hasher, X, y, seen, n_most, n_before=0, has_trial=False):
        self._hasher, self._seen = hasher, seen
        self._n_most, self._n_before, self._n_done = n_most, n_before, 0
        self._callbacks = FitCallbacks(hasher, X, y, n_most + has_trial)

    @contextmanager
    def trial(self, size, n_rows):
        """Context in which words are tried."""
        if self._hasher.verbose:
            print(f"Trying words of {size} bits on {n_rows} rows")
        self._callbacks.begin("trial")
        yield
        self._callbacks.end()

    def begin(self):
        """An alternation begins."""
        self._callbacks.begin("iteration")

    def end(self, share, state):
        """An alternation has changed a share of the code; return whether to stop."""
        self._n_done += 1
        if self._hasher.verbose:
            done = f"Iteration {self._n_done}/{self._n_most}"
            print(f"{done}, {share:.2%} of the code changed")
        self._callbacks.fitted = lambda: self._fitted(self.model_of(state))
        return self._callbacks.end()

    def end_fit(self, model):
        """All is done; return the fitted attributes."""
        fitted = self._fitted(model)
        self._callbacks.fitted = lambda: fitted
        self._callbacks.end_fit()
        return fitted

    def _fitted(self, model):
        n_iter = self._n_before + self._n_done
        return self._seen | self._hasher._fitted_by(model, n_iter)


class _Similarities:
    """True similarities of features, the higher the nearer, in a unit of their own."""

    def __init__(self, X, metric):
        X, by_distance = scaled(X, metric), metric == "euclidean"
        if by_distance:
            X = X - X.mean(axis=0, dtype=np.float64)
        # A power of two keeps ties, and all squares are numbers.
        _, exponent = np.frexp(np.abs(X).max())
        self._X = np.ldexp(X, -exponent).astype(np.float32, copy=False)
        squares = np.einsum("ij,ij->i", self._X, self._X) if by_distance else 0
        self._subtracted = squares / 2

    def of(self, rows):
        """Similarities of the chosen rows to all rows, shape (n_chosen, n_samples)."""
        return self._X[rows] @ self._X.T - self._subtracted


def _n_right(true, found, rows, n_neighbors):
    """Sum over queries of the expected number of true neighbors among the found items.

    `true` and `found` are similarities of the queries, which are `rows` of the samples, to
    all samples. A query does not count as its own neighbor.
    """
    own = np.arange(len(found)), np.arange(rows.start, rows.stop)
    true[own] = found[own] = -np.inf
    right = true >= _nth_highest(true, n_neighbors)
    last = _nth_highest(found, n_neighbors)
    above, tied = found > last, found == last
    n_left = n_neighbors - above.sum(axis=1)
    chance = n_left / tied.sum(axis=1)
    return (right & above).sum() + chance @ (right & tied).sum(axis=1)


def _nth_highest(values, n):
    """The n-th highest value of each row, as a column."""
    place = values.shape[1] - n
    return np.partition(values, place, axis=1)[:, [place]]
