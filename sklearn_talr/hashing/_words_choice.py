"""The choice of the method that finds the vectors of words, by held-out rows.

Axes take a second to fit. They are best if there are more than about 2.5 bits per dimension
of the rows. Codebooks are best if bits are few, and take most of the time of a fit.
"""

from functools import partial

import numpy as np

from .._core.progress import Progress
from ._words_fit import (
    ITERATIONS_OF_TRIALS,
    fit_codes,
    n_tasks_of,
)

# Codebooks of fewer rows, or of fewer rows per bit, overfit.
_LEAST_ROWS = 1_000
_ROWS_PER_BIT = 8
# Longer codes get no codebooks: their table of inner products grows quadratically.
_MOST_BITS = 256
# Single bits are compared with other methods after a fit to this many rows: they hardly
# improve with more.
_ROWS_TO_COMPARE = 5_000
# A trial of axes and bits takes this many rows at most, and holds this share of them out.
# With fewer rows than the least there is no trial.
_LEAST_ROWS_OF_TRIALS = 50
_ROWS_OF_TRIALS = 3_000
_SHARE_HELD_OUT_OF_TRIALS = 0.2
# Axes that find fewer neighbors than bits are not considered. In long codes axes that find
# more are kept at once. This share of the held-out rows are neighbors.
_SHARE_OF_NEIGHBORS = 0.01
# Otherwise axes are kept at once if their error, as a fraction of the error of single bits,
# is below this one. Codebooks of 31 words have 0.94 to 1.06 of the error of single bits,
# and take half a minute. Codebooks of 5 to 15 words have 0.66 to 0.87 of it, and take
# seconds.
_CLEAR_LEAD = 0.9
_CLEAR_LEAD_IN_SHORT_CODES = 0.6
_MOST_BITS_OF_SHORT_CODES = 128
# Axes with a larger error, as a fraction of the error of single bits, are not fitted to all
# rows: they find fewer neighbors than bits, by up to 0.014 of recall if their error is 1.14
# of the error of bits (words of TMC2007, 104 dimensions, 248 bits).
_CLEAR_LAG = 1.05
# Codebooks are kept up to these errors, as fractions of the least error of other methods.
_ERROR_OF_OTHERS = {"cosine": 1.0, "inner_product": 0.95, "euclidean": 0.95}
_ERROR_OF_ITEMS = 1.35


def methods_to_fit(frame, rows, settings, rng, *, are_items):
    """Methods that are worth a fit to all rows, according to a trial of axes and bits.

    The trial takes a second or two. If axes are clearly better, no other method is fitted.

    Parameters
    ----------
    frame : Centering or TangentProjection
        How features became the rows.

    rows : ndarray of shape (n_rows, n_features), dtype float32
        Rows of unit length in random order.

    settings : CodeSettings
        Length of the codes, and limits of the fit.

    rng : RandomState
        Generator.

    are_items : bool
        Whether the rows are all the items that will be searched.

    Returns
    -------
    methods : list of {"axes", "bits", "codebooks"}
        At least one; methods that take longest come first.
    """
    n_bits = settings.n_bits
    has_rows = len(rows) >= max(_LEAST_ROWS, _ROWS_PER_BIT * n_bits)
    can_have_codebooks = has_rows and n_bits % 8 == 0 and n_bits <= _MOST_BITS
    methods = ["codebooks", "bits"] if can_have_codebooks else ["bits"]
    if len(rows) < _LEAST_ROWS_OF_TRIALS:
        return methods
    axes, bits, held_out = _trials(frame, rows, settings, rng)
    # Axes have 8 bits each at most. If all have 8, the last bit of a code encodes nothing.
    if not axes.vectors[-1].any():
        return ["axes"]
    # On GIST axes have a smaller error than bits, but find fewer neighbors: neighbors
    # differ along axes that have no bits.
    n_neighbors = max(1, int(_SHARE_OF_NEIGHBORS * len(held_out)))
    axes_recall = axes.recall_of_directions(held_out, n_neighbors)
    bits_recall = bits.recall_of_directions(held_out, n_neighbors)
    if axes_recall < bits_recall:
        return methods
    axes_error = axes.error_of(held_out)
    bits_error = bits.error_of(held_out)
    is_close = axes_error < _CLEAR_LAG * bits_error
    is_short = can_have_codebooks and n_bits <= _MOST_BITS_OF_SHORT_CODES
    # On all sets on which axes found more neighbors than bits, and had no much larger
    # error, they also found more than long codebooks, except codebooks that were fitted to
    # the items. In a trial of few rows recall is decided by chance.
    recall_decides = len(rows) >= _ROWS_OF_TRIALS and not is_short and not are_items
    if recall_decides and axes_recall > bits_recall and is_close:
        return ["axes"]
    lead = _CLEAR_LEAD_IN_SHORT_CODES if is_short else _CLEAR_LEAD
    if can_have_codebooks:
        lead /= max(1, _handicap("codebooks", frame.metric, are_items=are_items))
    if axes_error < lead * bits_error:
        return ["axes"]
    if can_have_codebooks and is_close:
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
    """Fit methods, and return the model with the smallest error on held-out rows.

    Parameters
    ----------
    methods : list of {"axes", "bits", "codebooks"}
        Methods to fit. If an interrupt ends one of them, the methods before it are
        compared.

    frame, rows, settings, rng, are_items
        As for `methods_to_fit`.

    progress : Progress
        Is told of each alternation.

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
        # Codebooks that have lost hold a table of 134 MB if there are 32 of them.
        del models, best
        return fit_codes("bits", frame, rows, settings, rng, progress)
    return best


def best_model(models, metric, *, are_items):
    """The model with the smallest error on held-out rows, divided by its handicap.

    A model that an interrupt has left without an error is worse than any other.
    """
    return min(models, key=partial(_compared_error, metric=metric, are_items=are_items))


def _compared_error(model, *, metric, are_items):
    if model.error is None:
        return np.inf
    return model.error / _handicap(model.method, metric, are_items=are_items)


def _handicap(method, metric, *, are_items):
    """Error up to which a method is preferred, as a fraction of the error of others.

    Codebooks fit their training rows more closely than their error on held-out rows shows.
    Under other metrics than the cosine they must be clearly better, since searches then
    lose a small advantage.
    """
    if method != "codebooks":
        return 1.0
    return _ERROR_OF_ITEMS if are_items else _ERROR_OF_OTHERS[metric]


def _trials(frame, rows, settings, rng):
    """Models of axes and of single bits of few rows, and held-out rows."""
    rows = rows[:_ROWS_OF_TRIALS]
    n_held = int(_SHARE_HELD_OUT_OF_TRIALS * len(rows))
    held_out = rows[:n_held]
    fitted_rows = rows[n_held:]
    n_iterations = min(settings.max_iter, ITERATIONS_OF_TRIALS)
    trial = settings._replace(max_iter=n_iterations)
    axes = fit_codes("axes", frame, fitted_rows, trial, rng, Progress())
    bits = fit_codes("bits", frame, fitted_rows, trial, rng, Progress())
    return axes, bits, held_out
