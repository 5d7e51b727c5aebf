"""Fits of the vectors of words: least squares for vectors, local search for words.

Words of eight bits start as a residual quantizer (Chen et al., "Approximate Nearest
Neighbor Search by Residual Vector Quantization", Sensors 2010), single bits as iterative
quantization. Then two steps alternate, as in additive quantization (Babenko and Lempitsky,
CVPR 2014; Martinez et al., "LSQ++", ECCV 2018): the vectors of all words are set to those
of least squared error, and then the words of each row are searched again.
"""

from copy import deepcopy
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import scipy.linalg

from .._core.progress import Progress
from ._codebook_equations import CodebookEquations, codewords_of_rows
from ._linear import itq_projection, nearest_orthogonal
from ._words import (
    N_HEIGHT_BITS,
    WORD_SIZES,
    AdditiveModel,
    Centering,
    Table,
    TangentProjection,
    cosines_of,
    improve_signs,
    in_threads,
    scaled,
)

# The first vectors are found with at most this many rows.
_ROWS_TO_START_FROM = 10_000
# Single bits start from this many iterations of iterative quantization. With 50, which
# ITQHasher takes, the error after all alternations is 0.3 % lower, and the codes find no
# more neighbors.
_ITQ_ITERATIONS = 20
# Steps of Lloyd's algorithm for each starting codebook. With three steps a fit takes a
# twentieth longer, and its codes find no more neighbors.
_LLOYD_STEPS = 1
# Clusters are found along the first 8 principal axes, then along 32, with this many steps
# each.
_NUMBERS_OF_AXES = 8, 32
_LLOYD_STEPS_ALONG_AXES = 4
# Codebooks take at most this many alternations. A third one lowers the error by 0.3 to
# 0.6 %, takes a seventh of the time of a fit, and finds no more neighbors.
WORD_ITERATIONS = 2
# Sweeps and rounds of the search for words while the vectors still change
_SWEEPS = 2
_ROUNDS = 2
# The factors of the first rows set the bounds of all factors; after an interrupt, of fewer.
_ROWS_FOR_BOUNDS = 1_024
_FEW_ROWS = 256
# Penalties of codebooks, one of which is chosen by held-out rows, and the penalty of bits
_ALPHAS = 0.02, 0.1, 0.4
_ALPHA_OF_BITS = 0.05
# With fewer than 1 000 rows none is held out. Otherwise a tenth is, and 2 000 at most.
_LEAST_ROWS = 1_000
_MOST_HELD_OUT = 2_000
_SHARE_HELD_OUT = 0.1
# The penalty of codebooks is chosen with the first words only, and by few held-out rows.
_WORDS_TO_TRY = 8
_HELD_FOR_ALPHA = 500
# Uniform quantizers of a standard normal variable with 0 to 8 bits (Max, 1960): their least
# mean squared errors, and the steps that have these errors.
_ERRORS = [1, 0.36338, 0.11885, 0.03744, 0.01154, 0.003495, 0.001041, 3.035e-4, 8.71e-5]
_STEPS = np.float32([0, 1.5958, 0.9957, 0.586, 0.3352, 0.1881, 0.1041, 0.0569, 0.0308])
# An axis with less of the variance along the first axis than this gets no bits.
_LEAST_VARIANCE = 1e-6
# Alternations of levels and rotations of axes that have equally many bits
_ROTATIONS = 10
# Factors of longer codes of axes have no roots of cosines, which slow encoding down.
_MOST_ROOTED = 256
# Tangents are tried if the mean is at least this long. For features of unit length the mean
# has length 0 to 0.1 if they are centered, 0.86 for raw GIST, 0.57 for rectified networks.
_LEAST_MEAN = 0.2
# Tangents and directions are compared with at most this many rows, and bits in trials take
# this many alternations.
_ROWS_TO_CHOOSE_FRAME = 5_000
ITERATIONS_OF_TRIALS = 3
# Half of the rows are held out for this choice. With fewer rows their recall is too noisy.
_LEAST_ROWS_FOR_TANGENTS = 1_800
# In shorter codes the bits of heights would take a third of the code, or more.
_LEAST_BITS_FOR_TANGENTS = 24
# Share of the held-out rows that count as neighbors of a row: 10 of 2 000. With more
# neighbors, which are less near, heights would seem to help more than they do.
_SHARE_OF_NEIGHBORS = 0.005
# Tangents must raise the recall of held-out rows by this much, with equal stored bytes. On
# raw GIST they raise it by 0.05 to 0.09, on rectified networks and texts by 0.01 at most.
_LEAST_GAIN_OF_TANGENTS = 0.02


class Moments(NamedTuple):
    """Sums over rows z with signs b from which the best vectors of bits follow.

    Parameters
    ----------
    sign_products : ndarray of shape (n_bits, n_bits)
        Sum of b b'.

    row_products : ndarray of shape (n_bits, n_features)
        Sum of b z'.

    n_rows : int
        Number of rows summed over.
    """

    sign_products: np.ndarray
    row_products: np.ndarray
    n_rows: int

    @classmethod
    def from_rows(cls, signs, rows, before=None):
        """Sum over rows; the moments of earlier rows are added."""
        moments = cls(signs.T @ signs, signs.T @ rows, len(signs))
        if before is None:
            return moments
        return cls(
            sign_products=moments.sign_products + before.sign_products,
            row_products=moments.row_products + before.row_products,
            n_rows=moments.n_rows + before.n_rows,
        )

    def vectors(self, alpha):
        """Vectors of least squared error plus `alpha` per row times their own square."""
        alpha = _ALPHA_OF_BITS if alpha == "auto" else alpha
        penalty = alpha * self.n_rows * np.eye(len(self.sign_products))
        vectors = np.linalg.solve(self.sign_products + penalty, self.row_products)
        return vectors.astype(np.float32)


class CodeSettings(NamedTuple):
    """Length of the codes, and limits of a fit, for all methods.

    Parameters
    ----------
    n_bits : int
        Length of the codes, with the bits of heights.

    alpha : float or "auto"
        Strength of the penalty on vectors. Axes take none.

    max_iter : int
        Largest number of alternations. Axes take none.

    n_jobs : int or None
        Number of threads that share the rows.
    """

    n_bits: int
    alpha: float | str
    max_iter: int
    n_jobs: int | None


def fit_codes(method, frame, rows, settings, rng, progress):
    """Fit one method to rows in random order.

    The method draws from a copy of the generator. So its codes do not depend on which
    other methods are tried.

    Parameters
    ----------
    method : {"axes", "bits", "codebooks"}
        Method that finds the vectors of words.

    frame : Centering or TangentProjection
        How features became the rows.

    rows : ndarray of shape (n_rows, n_features), dtype float32
        Rows of unit length.

    settings : CodeSettings
        Length of the codes, and limits of the fit.

    rng : RandomState
        Generator, which is copied.

    progress : Progress
        Is told of each alternation.

    Returns
    -------
    model : AdditiveModel
    """
    rng = deepcopy(rng)
    n_bits = settings.n_bits - _n_height_bits(frame, method)
    if method == "axes":
        return _fit_axes(frame, rows, n_bits, rng, progress)
    if method == "bits":
        return _fit_bits(frame, rows, n_bits, settings, rng, progress)
    return _fit_codebooks(frame, rows, n_bits, settings, rng, progress)


def n_tasks_of(method, max_iter):
    """Number of tasks that a fit by a method has at most."""
    if method == "axes":
        return 1
    return max_iter if method == "bits" else min(max_iter, WORD_ITERATIONS)


def choose_frame(X, metric, n_bits):
    """Choose how features become the rows that are coded.

    Under "cosine" codes of tangents spend some bits on heights along the mean. They are
    chosen if they find more neighbors among held-out rows than codes of directions of
    equal length. The trial uses single bits, which are fitted in a second or two. Tangents
    help other methods about as much.

    Parameters
    ----------
    X : {ndarray, CSR} of shape (n_rows, n_features)
        Features in random order.

    metric : {"cosine", "inner_product", "euclidean"}
        How features are compared.

    n_bits : int
        Length of the codes.

    Returns
    -------
    frame : Centering or TangentProjection
    """
    frame = Centering.from_features(X, metric)
    is_large = X.shape[0] >= _LEAST_ROWS_FOR_TANGENTS and n_bits >= _LEAST_BITS_FOR_TANGENTS
    has_mean = np.linalg.norm(frame.mean) >= _LEAST_MEAN
    if metric != "cosine" or not is_large or not has_mean:
        return frame
    tangent_frame = TangentProjection.from_features(X)
    some_rows = scaled(X[:_ROWS_TO_CHOOSE_FRAME], "cosine")
    n_held = min(_MOST_HELD_OUT, len(some_rows) // 2)
    held_out = some_rows[:n_held]
    fitted_rows = some_rows[n_held:]
    directions_recall = _recall_in_frame(frame, n_bits, fitted_rows, held_out=held_out)
    tangents_recall = _recall_in_frame(
        tangent_frame, n_bits, fitted_rows, held_out=held_out
    )
    if tangents_recall > directions_recall + _LEAST_GAIN_OF_TANGENTS:
        return tangent_frame
    return frame


def _recall_in_frame(frame, n_bits, fitted_rows, *, held_out):
    """Recall among held-out rows of single bits that are fitted in a frame."""
    settings = CodeSettings(n_bits, _ALPHA_OF_BITS, ITERATIONS_OF_TRIALS, n_jobs=None)
    rows, _ = frame.split(fitted_rows)
    # The trial has its own generator, so it does not change what the fit draws.
    rng = np.random.RandomState(0)
    model = fit_codes("bits", frame, rows, settings, rng, Progress())
    if isinstance(frame, TangentProjection):
        model.set_heights(fitted_rows)
    return model.recall(held_out, round(_SHARE_OF_NEIGHBORS * len(held_out)))


def _n_height_bits(frame, method):
    """Bits of a code that encode heights: none unless the frame has tangents."""
    return N_HEIGHT_BITS[WORD_SIZES[method]] if isinstance(frame, TangentProjection) else 0


def _fit_bits(frame, rows, n_bits, settings, rng, progress):
    """The model of single bits for rows in random order."""
    some_rows = rows[:_ROWS_TO_START_FROM]
    projection = itq_projection(some_rows, n_bits, rng, n_iterations=_ITQ_ITERATIONS)
    signs = np.where(rows @ projection.astype(np.float32) > 0, 1, -1).astype(np.float32)
    return improve_bits(frame, rows, signs, None, settings, progress)


def _fit_axes(frame, rows, n_bits, rng, progress):
    """The model of principal axes, along which rows in random order are rounded."""
    progress.begin()
    n_held = _n_held_out(rows)
    fitted = rows[n_held:]
    axes, widths = _axes_and_widths(fitted, n_bits)
    _rotate_axes(axes, widths, fitted[:_ROWS_TO_START_FROM], rng)
    steps = _STEPS[widths] * np.sqrt(np.mean((fitted @ axes) ** 2, axis=0))
    vectors, firsts = _vectors_of_axes(axes * steps, widths, n_bits)
    model = AdditiveModel.from_vectors(frame, vectors, firsts=firsts)
    is_rooted = False
    if n_held:
        is_rooted, model.cosine = model.judge(rows[:n_held])
        # Roots of cosines cost encoding one more product of matrices.
        is_rooted = is_rooted and n_bits <= _MOST_ROOTED
    model.set_rule(rows[:_ROWS_FOR_BOUNDS], is_rooted)
    progress.end()
    return model


def _axes_and_widths(rows, n_bits):
    """Principal axes of rows, and their numbers of bits.

    Each bit goes to the axis on which it lowers the squared error most.

    Returns
    -------
    axes : ndarray of shape (n_features, n_axes), dtype float32
        Axes as columns, those with most variance first.

    widths : ndarray of shape (n_axes,), dtype int
        Number of bits of each axis, 1 to 8. Their sum is below `n_bits` if all axes have 8.
    """
    n_features = rows.shape[1]
    moments = rows.T @ rows / np.float64(len(rows))
    leading = max(0, n_features - n_bits), n_features - 1
    variances, axes = scipy.linalg.eigh(moments, subset_by_index=leading)
    variances = variances[variances > _LEAST_VARIANCE * variances[-1]][::-1]
    saved_errors = np.outer(variances, -np.diff(_ERRORS))
    best = np.argsort(-saved_errors, axis=None, kind="stable")[:n_bits]
    widths = np.bincount(best // saved_errors.shape[1])
    return axes[:, ::-1][:, : len(widths)].astype(np.float32), widths


def _rotate_axes(axes, widths, rows, rng):
    """Rotate axes of equally many bits in place, so that rounding has less error (ITQ)."""
    projected = rows @ axes
    for width in np.unique(widths).tolist():
        has_width = widths == width
        rotation = _rotation_for_rounding(projected[:, has_width], width, rng)
        axes[:, has_width] = axes[:, has_width] @ rotation


def _rotation_for_rounding(projected, width, rng):
    """A rotation, (n_axes, n_axes), after which rounding to `width` bits has less error."""
    n_axes = projected.shape[1]
    step = _STEPS[width] * np.sqrt(np.mean(projected**2))
    half = 2 ** (width - 1)
    rotation = nearest_orthogonal(rng.standard_normal((n_axes, n_axes)))
    for _ in range(_ROTATIONS):
        rotated = projected @ rotation.astype(np.float32)
        levels = np.clip(np.floor(rotated / step), -half, half - 1) + 0.5
        rotation = nearest_orthogonal(projected.T @ levels)
    return rotation


def _vectors_of_axes(scaled_axes, widths, n_bits):
    """Vectors of the bits of axes, and the places of the first bits.

    The first bit of an axis stands for half of a step, and each one after it for twice as
    much. Bits that are left over have a vector of zeros, and each counts as an axis.
    """
    n_used_bits = widths.sum()
    firsts = np.cumsum(widths) - widths
    places = np.arange(n_used_bits) - np.repeat(firsts, widths)
    vectors = np.zeros((n_bits, len(scaled_axes)), dtype=np.float32)
    vectors[:n_used_bits] = np.repeat(scaled_axes, widths, axis=1).T
    vectors[:n_used_bits] *= 2.0 ** (places - 1)[:, None]
    return vectors, np.append(firsts, np.arange(n_used_bits, n_bits))


def improve_bits(frame, rows, signs, before, settings, progress):
    """The model of single bits after some alternations.

    `before` are moments of earlier rows, or None.
    """
    alternation = _AlternationOfBits(frame, rows, signs, before, settings)
    return _alternate(alternation, settings.max_iter, progress)


class _AlternationOfBits:
    """Vectors of single bits and the signs of rows, each improved in turn.

    Parameters
    ----------
    frame : Centering or TangentProjection
        How features became the rows.

    rows : ndarray of shape (n_rows, n_features), dtype float32
        Rows of unit length in random order.

    signs : ndarray of shape (n_rows, n_bits), dtype float32
        The bits of the rows, as -1 and 1, which are improved in place.

    moments_before : Moments or None
        Moments of earlier rows.

    settings : CodeSettings
        Length of the codes, and limits of the fit.
    """

    def __init__(self, frame, rows, signs, moments_before, settings):
        self.frame = frame
        self.rows = rows
        self.signs = signs
        self.moments_before = moments_before
        self.settings = settings

    def solve(self, part):
        """The model whose vectors fit the signs of a slice of the rows best."""
        moments = Moments.from_rows(self.signs[part], self.rows[part], self.moments_before)
        vectors = moments.vectors(self.settings.alpha)
        return AdditiveModel.from_vectors(self.frame, vectors, moments)

    def improve(self):
        """Improve the signs for the best vectors; return the share that has changed."""
        moments = Moments.from_rows(self.signs, self.rows, self.moments_before)
        vectors = moments.vectors(self.settings.alpha)
        improve_part = partial(self._improve_part, vectors, vectors @ vectors.T)
        n_changed = sum(in_threads(improve_part, self.rows, self.settings.n_jobs))
        return n_changed / self.signs.size

    def _improve_part(self, vectors, gram, part):
        """Improve the signs of a slice of the rows; return how many have changed."""
        signs = self.signs[part]
        return improve_signs(self.rows[part], vectors, gram, signs, 0, _SWEEPS)


def _alternate(alternation, max_iter, progress):
    """The model after some alternations; `progress` prints what each has changed.

    An interrupt keeps the model so far, even in the first alternation: its vectors are
    solved for the words that the rows have at that time, some of which may be new.
    """
    # The model is solved only when a callback or an interrupt asks for it.
    progress.state = partial(_finished, alternation)
    progress.n_least = 0
    progress.outcome = "the vectors found by then"
    is_whole = False
    with progress:
        for _ in progress.over(range(max_iter)):
            share_changed = alternation.improve()
            progress.message = f"{share_changed:.2%} of the code changed"
            if not share_changed:
                break
        is_whole = True
    return _finished(alternation, is_whole)


def _finished(alternation, is_whole=True):
    """The model of all rows, judged by another model that some rows were held out of.

    After an interrupt the fit is not whole. Then no model is judged, and few rows set the
    bounds of factors.
    """
    rows = alternation.rows
    model = alternation.solve(slice(None))
    n_held = _n_held_out(rows)
    is_rooted = False
    if n_held and is_whole:
        is_rooted, model.cosine = _judge_without(alternation, n_held)
    n_rows_for_bounds = _ROWS_FOR_BOUNDS if is_whole else _FEW_ROWS
    model.set_rule(rows[:n_rows_for_bounds], is_rooted)
    return model


def _judge_without(alternation, n_held):
    """Judge a model of all but the first rows by these rows, see `AdditiveModel.judge`.

    The judged model is freed on return. It has a table of codewords of 134 MB with 32
    codebooks, which should not lie beside the table of the model of all rows.
    """
    model = alternation.solve(slice(n_held, None))
    return model.judge(alternation.rows[:n_held])


def _n_held_out(rows):
    """How many of the first rows are held out."""
    n_rows = rows.shape[0]
    if n_rows < _LEAST_ROWS:
        return 0
    return min(_MOST_HELD_OUT, int(_SHARE_HELD_OUT * n_rows))


def _fit_codebooks(frame, rows, n_bits, settings, rng, progress):
    """The model of words of eight bits for rows in random order."""
    is_of_tangents = isinstance(frame, TangentProjection)
    some_rows = rows[:_ROWS_TO_START_FROM]
    codebooks = _residual_codebooks(some_rows, n_bits // 8, is_of_tangents, rng)
    alternation = _AlternationOfCodebooks(frame, rows, codebooks, settings)
    n_tasks = n_tasks_of("codebooks", settings.max_iter)
    return _alternate(alternation, n_tasks, progress)


class _AlternationOfCodebooks:
    """Codebooks and the words of rows, each improved in turn.

    Parameters
    ----------
    frame : Centering or TangentProjection
        How features became the rows.

    rows : ndarray of shape (n_rows, n_features), dtype float32
        Rows of unit length in random order.

    codebooks : ndarray of shape (n_words, 256, n_features), dtype float32
        Codebooks to start from, which are improved in place.

    settings : CodeSettings
        Length of the codes, and limits of the fit.

    Attributes
    ----------
    words : ndarray of shape (n_rows, n_words), dtype uint8
        The words of the rows: numbers of the codewords whose sum is near a row.
    """

    def __init__(self, frame, rows, codebooks, settings):
        self.frame = frame
        self.rows = rows
        self.codebooks = codebooks
        self.settings = settings
        self.words = np.zeros((len(rows), len(codebooks)), dtype=np.uint8)
        self._is_solved = False
        _improve_words(rows, self.words, codebooks, settings.n_jobs, n_rounds=0, anew=True)

    @cached_property
    def alpha(self):
        """Strength of the penalty; "auto" is decided by the first words."""
        if self.settings.alpha == "auto":
            return _best_alpha(self.rows, self.words[:, :_WORDS_TO_TRY])
        return self.settings.alpha

    def solve(self, part):
        """The model of a slice of the rows; for all rows it has the codebooks so far."""
        codebooks = self.codebooks
        if part != slice(None):
            equations = CodebookEquations.from_alpha(self.words[part], self.alpha)
            codebooks = equations.solve(self.rows[part])
        return AdditiveModel.from_codebooks(self.frame, codebooks)

    def improve(self):
        """Improve words, then codebooks; return the share of words that has changed."""
        if not self._is_solved:
            self._solve_codebooks(start=None)
            self._is_solved = True
        n_jobs = self.settings.n_jobs
        n_changed = _improve_words(self.rows, self.words, self.codebooks, n_jobs)
        self._solve_codebooks(start=self.codebooks)
        return n_changed / self.words.size

    def _solve_codebooks(self, start):
        """Put the best codebooks for the words of all rows in place."""
        equations = CodebookEquations.from_alpha(self.words, self.alpha)
        self.codebooks[:] = equations.solve(self.rows, start)


def _improve_words(rows, words, codebooks, n_jobs, n_rounds=_ROUNDS, *, anew=False):
    """Improve words in place, or choose them anew; return how many have changed."""
    table = Table(codebooks)

    def improve(part):
        return table.improve(rows[part], words[part], n_rounds, _SWEEPS, anew=anew)

    return sum(in_threads(improve, rows, n_jobs))


def _residual_codebooks(rows, n_words, is_of_tangents, rng):
    """Codebooks of a residual quantizer, shape (n_words, 256, n_features), float32."""
    if is_of_tangents:
        return _codebooks_of_clusters(rows, n_words, _cluster_along_axes, rng)
    return _codebooks_of_clusters(rows, n_words, _cluster, rng)


def _codebooks_of_clusters(rows, n_words, cluster, rng):
    """Codebooks of means of clusters; each clusters the residuals of those before it."""
    residuals = rows.copy()
    codebooks = np.empty((n_words, 256, rows.shape[1]), dtype=np.float32)
    for word in range(n_words):
        codebooks[word] = cluster(residuals, rng)
        residuals -= codebooks[word][_nearest(residuals, codebooks[word])]
    return codebooks


def _cluster(residuals, rng):
    """Means of 256 clusters, by a few steps of Lloyd's algorithm."""
    chosen = rng.choice(len(residuals), 256, replace=len(residuals) < 256)
    means = residuals[chosen]
    for _ in range(_LLOYD_STEPS):
        means = _improve_means(residuals, means)
    return means


def _cluster_along_axes(residuals, rng):
    """Means of 256 clusters that are found along more and more principal axes.

    Tangents of raw GIST features have most of their variance along few axes. Codebooks with
    this start find 0.02 more of the ten nearest rows in 8 to 16 bytes. On embeddings of
    texts they find 0.03 less, so codes of directions start from clusters of whole rows.
    """
    moments = (residuals.T @ residuals).astype(np.float64)
    n_features = residuals.shape[1]
    n_axes = min(n_features, _NUMBERS_OF_AXES[-1])
    leading = n_features - n_axes, n_features - 1
    axes = scipy.linalg.eigh(moments, subset_by_index=leading)[1][:, ::-1]
    projected = residuals @ axes.astype(np.float32)
    chosen = rng.choice(len(residuals), 256, replace=len(residuals) < 256)
    means = projected[chosen]
    for n_axes in _NUMBERS_OF_AXES:
        means[:, n_axes:] = 0
        for _ in range(_LLOYD_STEPS_ALONG_AXES):
            means[:, :n_axes] = _improve_means(projected[:, :n_axes], means[:, :n_axes])
    nearest = _nearest(projected, means)
    return _means_of(nearest, residuals, means @ axes.T.astype(np.float32))


def _improve_means(rows, means):
    """Means of the rows that are nearest to each of some means."""
    return _means_of(_nearest(rows, means), rows, means)


def _means_of(nearest, rows, means):
    """Means of the rows of each number; numbers without rows keep the means passed."""
    sizes = np.bincount(nearest, minlength=len(means))[:, None]
    sums = codewords_of_rows(nearest[:, None]).T @ rows
    return np.divide(sums, sizes, out=means.copy(), where=sizes > 0)


def _nearest(rows, entries):
    """Number of the entry that is nearest to each row, shape (n_rows,), uint8."""
    scores = rows @ entries.T - np.einsum("ij,ij->i", entries, entries) / 2
    return scores.argmax(axis=1).astype(np.uint8)


def _best_alpha(rows, words):
    """The penalty with which held-out rows have the highest cosines with decodings."""
    n_held = _n_held_out(rows)
    if not n_held:
        return _ALPHAS[-1]
    fitted = slice(n_held, None)
    held_out = slice(min(n_held, _HELD_FOR_ALPHA))

    mean_cosines = []
    for alpha in _ALPHAS:
        equations = CodebookEquations.from_alpha(words[fitted], alpha)
        codebooks = equations.solve(rows[fitted])
        held_out_words = Table(codebooks).words_of(rows[held_out])
        cosines = cosines_of(rows[held_out], held_out_words, codebooks)
        mean_cosines.append(cosines.mean())
    return _ALPHAS[np.argmax(mean_cosines)]
