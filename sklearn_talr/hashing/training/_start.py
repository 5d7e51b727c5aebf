"""Where training goes on from: new weights, those of an earlier fit, or of chunks."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ..._core.compat import independent_random_state
from ..._core.lazy import lazy_names
from ...features._scaling import Scaling
from .._base import errors_in_message
from .._linear import start_weights

of_torch, _ = lazy_names(
    __package__,
    {
        "ModuleFunction": "_modules",
        "TorchEngine": "_torch",
        "UserModule": "_modules",
    },
    what="Training a module or on CUDA, or by another loss than AP and nDCG,",
)


@dataclass(frozen=True)
class Start:
    """What training goes on from."""

    samples: np.ndarray  # rows to train on, ascending
    held_out: np.ndarray | None  # rows that are scored in each epoch, ascending
    scaling: Scaling  # all chunks have the scaling of the first chunk
    fitted_before: dict  # attributes of an earlier fit; empty if training starts anew
    solver_before: str | None  # solver of earlier chunks
    moments_before: dict | None  # moments of the gradients of earlier chunks


def make_generator(hasher, *, is_chunk):
    """The generator of a fit. A seed alone would draw the same numbers for each chunk."""
    seed = hasher.random_state
    n_epochs_before = getattr(hasher, "n_iter_", 0)
    if is_chunk and n_epochs_before and isinstance(seed, Integral):
        seed = np.random.RandomState([seed, n_epochs_before])
    return independent_random_state(seed)


def find_start(hasher, data, plan, rng, *, is_chunk):
    """Find what training goes on from.

    Parameters
    ----------
    hasher : TALRHasher
        May have been fitted before.

    data : TrainingData
        Features and targets.

    plan : TrainingPlan
        Layers, and how many samples are held out.

    rng : RandomState
        Draws the samples that are held out.

    is_chunk : bool
        Whether the data are a chunk of `partial_fit`.

    Returns
    -------
    start : Start
        The start.
    """
    samples = np.arange(data.X.shape[0])
    held_out = None
    if plan.n_held_out:
        samples, held_out = split_samples(data, plan.n_held_out, plan.shuffle_to_split, rng)
    goes_on = getattr(hasher, "n_iter_", 0) and (is_chunk or hasher.warm_start)
    if goes_on:
        _refuse_other_function(hasher, data, plan, is_chunk=is_chunk)
    if goes_on and is_chunk:
        state = hasher._training_state_
        scaling = Scaling(state["mean"], state["unit"])
        solver_and_moments = state["moments"]
    else:
        similar = data.similar if hasher.module is None else None
        scaling = Scaling.from_rows(data.X, samples, similar)
        solver_and_moments = None
    solver, moments = solver_and_moments or (None, None)
    return Start(
        samples,
        held_out,
        scaling,
        fitted_before=vars(hasher) if goes_on else {},
        solver_before=solver,
        moments_before=moments,
    )


def _refuse_other_function(hasher, data, plan, *, is_chunk):
    caller = "partial_fit" if is_chunk else "warm_start=True"
    if hasattr(hasher, "module_state_") != (hasher.module is not None):
        raise ValueError(f"{caller} cannot change module. Call fit to start anew.")
    sizes = [data.X.shape[1], *plan.layer_sizes, hasher.n_bits]
    fitted_coefs = vars(hasher).get("coefs_", [])
    fitted_sizes = [len(coef) for coef in fitted_coefs] + [hasher._n_features_out]
    if hasher.module is None and fitted_sizes != sizes:
        raise ValueError(
            f"{caller} cannot change n_bits, hidden_layer_sizes or the number of "
            f"features, and so the layer sizes from {fitted_sizes} to {sizes}. Call fit "
            "with warm_start=False to start anew."
        )


def make_function(hasher, plan, start, features, engine_class, rng):
    """Make the hash function that is trained, with the weights that it starts from.

    Parameters
    ----------
    hasher : TALRHasher
        Has the module, or the kind of first weights.

    plan : TrainingPlan
        Sizes of layers.

    start : Start
        Weights to go on from.

    features : Features
        Rows that the function takes.

    engine_class : type
        The engine, whose layers are made.

    rng : RandomState
        Draws first weights, and seeds dropout.
    """
    before = start.fitted_before
    if hasher.module is not None:
        state = before.get("module_state_")
        return of_torch("UserModule")(hasher.module, state, plan, features, rng)
    if before:
        coefs, intercepts = _weights_of_earlier_fit(before, start.scaling)
    else:
        coefs, intercepts = start_weights(
            features, start.samples, plan.layer_sizes, plan.n_bits, hasher.init, rng
        )
    return engine_class.layers(coefs, intercepts, features, plan, rng)


def _weights_of_earlier_fit(before, scaling):
    """Weights of a fitted hasher, for rows centered and scaled in another way."""
    coefs = before["coefs_"]
    intercepts = before["intercepts_"]
    # The first layer takes (X - mean) / unit in place of X - old mean.
    shift = scaling.mean - before["means_"][0]
    first_intercept = intercepts[0] + shift @ coefs[0]
    return [scaling.unfold(coefs[0]), *coefs[1:]], [first_intercept, *intercepts[1:]]


def split_samples(data, n_held_out, shuffle, rng):
    """Row indices for training and for validation, both ascending.

    Raises
    ------
    ValueError
        If either part is too small to rank anything.
    """
    # Samples that are held out need similar ones among them, too.
    order = shuffle(np.arange(data.targets.shape[0]), rng)
    training = np.sort(order[n_held_out:])
    validation = np.sort(order[:n_held_out])
    for part, name in [(training, "training"), (validation, "validation")]:
        message = (
            f"early_stopping=True with this validation_fraction leaves {len(part)} samples "
            f"for {name}, which cannot be ranked: {{}} More samples, another "
            "validation_fraction or early_stopping=False may help."
        )
        with errors_in_message(message):
            data.affinity.check_contrast(data.targets[part], data.levels)
    return training, validation
