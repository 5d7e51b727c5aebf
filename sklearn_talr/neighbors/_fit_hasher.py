"""Fit the hasher of an index, at any depth of Pipelines, and encode rows."""

from contextlib import nullcontext
from itertools import chain

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state

from .._core.compat import CallbackSupportMixin, num_samples
from .._core.fitted_hasher import FittedHasher, is_sampler, working_steps
from .._core.progress import at_row
from .._core.threads import slices
from ..affinity import PrecomputedAffinity
from ..codes import concatenate_codes

# Rows that are encoded between two reports of progress.
_ROWS_PER_BLOCK = 2**16


def n_blocks(X):
    """Number of blocks in which `encode_rows` encodes rows."""
    return -(-num_samples(X) // _ROWS_PER_BLOCK)


def encode_rows(hasher, X, progress):
    """Codes of rows, encoded and reported block by block.

    Steps before the hasher transform one block at a time, too.
    """
    n_rows = num_samples(X)
    if n_rows <= _ROWS_PER_BLOCK:
        progress.begin()
        codes = hasher.encode(X)
        _end_block(progress, n_rows, n_rows)
        return codes
    codes_of_blocks = []
    for rows in slices(n_rows, _ROWS_PER_BLOCK):
        progress.begin()
        with at_row(rows.start):
            codes_of_blocks.append(hasher.encode(_safe_indexing(X, rows)))
        _end_block(progress, rows.stop, n_rows)
    return concatenate_codes(codes_of_blocks)


def _end_block(progress, n_encoded, n_rows):
    progress.message = f"{n_encoded} of {n_rows} rows encoded"
    progress.end()


def fit_hasher(
    estimator, X, y, *, fit_params, progress, max_samples=None, random_state=None
):
    """Fit a hasher, at any depth of Pipelines, and encode the rows.

    The codes are codes of all rows, in their order. The steps before the hasher make its
    features by `transform`. If a step declares by `cross_fits` that models which have not
    seen the rows of `fit` made their features, the codes are codes of these features.

    Parameters
    ----------
    estimator : estimator
        The hasher, or Pipelines or searches that end in it. It is fitted in place.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Features of all rows.

    y : targets of length n_samples, or None
        Targets of all rows.

    fit_params : dict
        Further arguments of `fit`. With any, all rows are fitted.

    progress : Progress
        Reports the fit as a task, and each block of rows that is encoded.

    max_samples : int, default=None
        Maximum number of rows to fit; a random sample if there are more. None fits all.

    random_state : int, RandomState instance or None, default=None
        Draws the sample.

    Returns
    -------
    hasher : FittedHasher
        The fitted hasher.

    codes : PackedCodes
        Codes of all rows.
    """
    hasher = FittedHasher.from_estimator(estimator).check()
    _refuse_inner_samplers(hasher)
    sample = None
    if not fit_params and not isinstance(y, PrecomputedAffinity):
        sample = _draw_sample(num_samples(X), max_samples, random_state)
    X_fit = X
    y_fit = y
    if sample is not None:
        X_fit = _safe_indexing(X, sample)
        y_fit = None if y is None else _safe_indexing(y, sample)
    hasher_fit = _HasherFit(
        is_database=sample is None and _can_fit_database(hasher),
        keeps_codes=any(map(_cross_fits, hasher.before)),
    )
    with progress.nested("fit-hasher")(estimator):
        estimator = hasher_fit.run(estimator, X_fit, y_fit, fit_params)
    hasher = FittedHasher.from_estimator(estimator).check()
    if hasher_fit.codes is None:
        return hasher, encode_rows(hasher, X, progress)
    codes = hasher_fit.codes
    _refuse_other_length(codes, X_fit, estimator)
    if sample is not None:
        # Rows of the sample keep the codes that they had in the fit.
        order = len(sample) + np.arange(num_samples(X))
        order[sample] = np.arange(len(sample))
        codes = concatenate_codes([codes, encode_rows(hasher, X, progress)])[order]
    return hasher, codes


def _draw_sample(n_rows, max_samples, random_state):
    """Rows to fit, ascending; None for all rows."""
    if max_samples is None or n_rows <= max_samples:
        return None
    rng = check_random_state(random_state)
    return np.sort(rng.choice(n_rows, max_samples, replace=False))


def _can_fit_database(hasher):
    """Whether the index fits the hasher itself, by a `fit_database` that replaces `fit`.

    If a subclass overrides `fit` alone, the inherited `fit_database` does not do what that
    does, so `fit` is called.
    """
    if hasher.is_frozen or hasher.is_searched:
        return False
    kind = type(hasher.hasher)
    if not hasattr(kind, "fit_database"):
        return False
    return issubclass(_defining_class(kind, "fit_database"), _defining_class(kind, "fit"))


def _defining_class(kind, method):
    """The class, among a class and its bases, whose method this is."""
    return next(base for base in kind.__mro__ if method in vars(base))


def _refuse_other_length(codes, X, estimator):
    n_rows = num_samples(X)
    if len(codes) != n_rows:
        raise ValueError(
            f"{n_rows} rows were passed to fit and {len(codes)} reached the hasher, so "
            f"their codes belong to no known rows: a step of {estimator!r} leaves out or "
            "repeats rows. Do that before, and pass the rows that are left."
        )


class _HasherFit:
    """A fit that reaches the hasher at the end of Pipelines.

    Parameters
    ----------
    is_database : bool
        Whether the hasher is fitted by `fit_database`.

    keeps_codes : bool
        Whether to keep codes of the rows that reach the end of Pipelines.

    Attributes
    ----------
    codes : PackedCodes or None
        Codes of these rows. They are kept at the end of Pipelines of scikit-learn itself:
        other Pipelines, such as those of imbalanced-learn, may change the rows on their
        way.
    """

    def __init__(self, *, is_database, keeps_codes):
        self.is_database = is_database
        self.keeps_codes = keeps_codes
        self.codes = None

    def run(self, estimator, X, y, fit_params, *, outer=()):
        """Fit an estimator, the last step of the Pipelines `outer`, and return it."""
        if isinstance(estimator, Pipeline) and (self.is_database or self.keeps_codes):
            self._run_pipeline(estimator, X, y, fit_params, outer)
        elif self.is_database:
            estimator = estimator.fit_database(X, y, **fit_params)
        else:
            estimator = estimator.fit(X, y, **fit_params)
        if self.keeps_codes and _ends_plain_pipelines(estimator, outer):
            self.codes = FittedHasher.from_estimator(estimator).encode(X)
        return estimator

    def _run_pipeline(self, pipeline, X, y, fit_params, outer):
        """Fit a Pipeline, while a stand-in is its last step."""
        steps = list(pipeline.steps)
        name, last = working_steps(pipeline)[-1]
        place = [step_name for step_name, _ in steps].index(name)
        stand_in = _LastStep(last, self, (*outer, pipeline))
        pipeline.steps = [*steps[:place], (name, stand_in)]
        pipeline.fit(X, y, **fit_params)
        pipeline.steps = [*pipeline.steps[:place], *steps[place:]]


def _ends_plain_pipelines(estimator, outer):
    """Whether Pipelines of scikit-learn itself, one in another, end in an estimator."""
    are_plain = [type(pipeline) is Pipeline for pipeline in outer]
    return type(estimator) is not Pipeline and bool(outer) and all(are_plain)


class _LastStep(CallbackSupportMixin, BaseEstimator):
    """Stand-in for the last step of a Pipeline while it is fitted.

    Parameters
    ----------
    step : estimator
        The last step.

    hasher_fit : _HasherFit
        Fits the step.

    outer : tuple of Pipeline
        The Pipelines that end in the step, from the outermost on.
    """

    def __init__(self, step, hasher_fit, outer):
        self.step = step
        self.hasher_fit = hasher_fit
        self.outer = outer

    def fit(self, X, y=None, **fit_params):
        # For callbacks the last step is the step itself.
        context = getattr(self, "_parent_callback_ctx", None)
        with context.propagate_callback_context(self.step) if context else nullcontext():
            self.hasher_fit.run(self.step, X, y, fit_params, outer=self.outer)
        return self

    def get_metadata_routing(self):
        return self.step.get_metadata_routing()


def _parts(step):
    """A step before the hasher and its parts; none if it is frozen, and fits nothing."""
    if isinstance(step, FrozenEstimator):
        return []
    parts = step.get_params().values() if hasattr(step, "get_params") else []
    return [step, *parts]


def _cross_fits(step):
    """Whether `fit_transform` of a step differs from `transform`, on purpose."""
    return any(getattr(part, "cross_fits", False) is True for part in _parts(step))


def _refuse_inner_samplers(hasher):
    """Raise ValueError if a step before the hasher resamples X, and y stays as it is."""
    if hasher.is_frozen:
        return
    for part in chain.from_iterable(map(_parts, hasher.before)):
        if is_sampler(part) and not isinstance(part, type):
            raise ValueError(
                f"hasher has the sampler {part!r} in a Pipeline that is a step of another "
                "one, where it would resample X and leave y as it is. Put it into the "
                "Pipeline that ends in the hasher, as by imblearn.pipeline.make_pipeline("
                "sampler, scaler, hasher)."
            )
