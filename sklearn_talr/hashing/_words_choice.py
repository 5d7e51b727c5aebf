"""Which method finds the vectors of words: rows held out decide.

Principal axes cost a second and lead if there are more than some 2.5 bits for each
dimension of the rows. Codebooks lead if bits are few, and take most of a fit.
"""

import numpy as np

from .._core.progress import Progress
from ._words_fit import (
    ITERATIONS_OF_TRIALS,
    fit_codes,
    n_tasks_of,
)

# Codebooks of fewer rows, or of fewer rows for each bit, fit what other rows do not have.
_LEAST_ROWS = 1_000
_ROWS_PER_BIT = 8
_MOST_BITS = 256  # of codebooks, whose table of inner products grows with their square
_ROWS_TO_COMPARE = 5_000  # by single bits, which hardly need more, with other methods
_LEAST_ROWS_OF_TRIALS = 50
_ROWS_OF_TRIALS = 3_000
_SHARE_HELD_OUT_OF_TRIALS = 0.2
_SHARE_OF_NEIGHBORS = 0.01  # of rows held out, which axes must find as many of as bits
# Decoding error of axes over that of single bits, below which axes are kept at once. With
# 31 words codebooks have .94 to 1.06 of the error of single bits, and take half a minute.
# With 5 to 15 words they have .66 to .87, and take seconds.
_CLEAR_LEAD = 0.9
_CLEAR_LEAD_IN_SHORT_CODES = 0.6
_MOST_BITS_OF_SHORT_CODES = 128
# Axes with more than this error, over that of single bits, are not fitted to all rows:
# they find fewer neighbors than bits.
_CLEAR_LAG = 1.05
# Decoding errors of codebooks, over the least of the others, up to which they are preferred
_ERROR_OF_OTHERS = {"cosine": 1.0, "inner_product": 0.95, "euclidean": 0.95}
_ERROR_OF_ITEMS = 1.35


def methods_to_fit(frame, rows, settings, rng, *, are_items):
    """Methods that may leave least of rows held out, as a trial of axes and bits tells.

    The trial takes a second or two. If axes lead clearly, no other method is fitted.

    Parameters
    ----------
    frame : Centering or TangentProjection
        How features became the rows.

    rows : ndarray of shape (n_rows, n_features), dtype float32
        Rows of unit length in random order.

    settings : CodeSettings
        What the fit is to make.

    rng : RandomState
        What is drawn from.

    are_items : bool
        Whether the rows are all the items that will be searched.

    Returns
    -------
    methods : list of {"axes", "bits", "codebooks"}
        At least one, those that take longest first.
    """
    n_bits = settings.n_bits
    has_rows = len(rows) >= max(_LEAST_ROWS, _ROWS_PER_BIT * n_bits)
    can_have_codebooks = has_rows and n_bits % 8 == 0 and n_bits <= _MOST_BITS
    methods = ["codebooks", "bits"] if can_have_codebooks else ["bits"]
    if len(rows) < _LEAST_ROWS_OF_TRIALS:
        return methods
    axes, bits, held_out = _trials(frame, rows, settings, rng)
    # Axes have 8 bits each at most; if all have them, the last bit stands for nothing.
    if not axes.vectors[-1].any():
        return ["axes"]
    # Of GIST axes leave less than bits and find fewer neighbors: these differ along axes
    # that have no bits.
    n_neighbors = max(1, int(_SHARE_OF_NEIGHBORS * len(held_out)))
    axes_recall = axes.recall_of_directions(held_out, n_neighbors)
    bits_recall = bits.recall_of_directions(held_out, n_neighbors)
    if axes_recall < bits_recall:
        return methods
    axes_error = axes.error_of(held_out)
    bits_error = bits.error_of(held_out)
    lead = _CLEAR_LEAD
    if can_have_codebooks:
        if n_bits <= _MOST_BITS_OF_SHORT_CODES:
            lead = _CLEAR_LEAD_IN_SHORT_CODES
        lead /= max(1, _handicap("codebooks", frame.metric, are_items=are_items))
    if axes_error < lead * bits_error:
        return ["axes"]
    if can_have_codebooks and axes_error < _CLEAR_LAG * bits_error:
        methods.append("axes")
    return methods


def n_tasks_of_all(methods, max_iter):
    """Number of tasks of `fit_best` at most.

    Single bits that are compared with other methods are fitted once more to all rows.
    """
    n_tasks = sum(n_tasks_of(method, max_iter) for method in methods)
    if len(methods) > 1:
        n_tasks += max_iter
    return n_tasks


def fit_best(methods, frame, rows, settings, rng, progress, *, are_items=False):
    """The model of the method that leaves least of rows held out.

    Parameters
    ----------
    methods : list of {"axes", "bits", "codebooks"}
        Those that are fitted. If an interrupt ends one of them, those before it are
        compared.

    frame, rows, settings, rng, are_items
        As for `methods_to_fit`.

    progress : Progress
        What is told of alternations.

    Returns
    -------
    model : AdditiveModel
    """
    models = []
    for method in methods:
        is_compared = method == "bits" and len(methods) > 1
        fitted_rows = rows[:_ROWS_TO_COMPARE] if is_compared else rows
        models.append(fit_codes(method, frame, fitted_rows, settings, rng, progress))
        if progress.is_over:
            break
    best = best_model(models, frame.metric, are_items=are_items)
    is_of_few_rows = len(models) > 1 and len(rows) > _ROWS_TO_COMPARE
    if best.method == "bits" and is_of_few_rows and not progress.is_over:
        return fit_codes("bits", frame, rows, settings, rng, progress)
    return best


def best_model(models, metric, *, are_items):
    """The model of least error of rows held out, over what its method is allowed.

    An interrupt leaves a model without a judgment, and any other is then better.
    """

    def error(model):
        if model.error is None:
            return np.inf
        return model.error / _handicap(model.method, metric, are_items=are_items)

    return min(models, key=error)


def _handicap(method, metric, *, are_items):
    """Error of a method over that of others up to which it is preferred.

    Codebooks fit the rows of the fit more closely than rows held out tell. Under other
    metrics than the cosine a small lead of theirs is lost in searches.
    """
    if method != "codebooks":
        return 1.0
    return _ERROR_OF_ITEMS if are_items else _ERROR_OF_OTHERS[metric]


def _trials(frame, rows, settings, rng):
    """Models of axes and of single bits by some rows, and rows that are held out."""
    rows = rows[:_ROWS_OF_TRIALS]
    n_held = int(_SHARE_HELD_OUT_OF_TRIALS * len(rows))
    held_out, fitted_rows = rows[:n_held], rows[n_held:]
    n_iterations = min(settings.max_iter, ITERATIONS_OF_TRIALS)
    trial = settings._replace(max_iter=n_iterations)
    axes = fit_codes("axes", frame, fitted_rows, trial, rng, Progress())
    bits = fit_codes("bits", frame, fitted_rows, trial, rng, Progress())
    return axes, bits, held_out
