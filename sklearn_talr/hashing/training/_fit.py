"""The fit of a hash function by gradients of a loss of minibatches."""

from sklearn import config_context

from ..._core.progress import Progress
from ..._core.threads import one_thread
from ...losses import LossContext
from ._host import HostEngine
from ._loop import train
from ._monitor import make_monitor
from ._plan import plan_training
from ._start import find_start, make_function, make_generator, of_torch


def fit_by_gradient(hasher, loss, data, *, is_chunk=False):
    """Train a hash function from its start, from the last fit or from earlier chunks.

    Parameters
    ----------
    hasher : TALRHasher
        Gives its parameters, callbacks, and weights to go on from. It is not changed.

    loss : BaseLoss
        What is minimized.

    data : TrainingData
        Features and targets.

    is_chunk : bool, default=False
        Whether the data are a chunk, which goes on from earlier ones.

    Returns
    -------
    fitted : dict
        All attributes of the fitted hasher.
    """
    plan = plan_training(hasher, loss, data, is_chunk=is_chunk)
    rng = make_generator(hasher, is_chunk=is_chunk)
    start = find_start(hasher, data, plan, rng, is_chunk=is_chunk)
    engine_class = choose_engine(plan)
    features = engine_class.features(data.X, start.scaling, plan)
    monitor = make_monitor(
        hasher,
        data,
        plan,
        start=start,
        features=features,
        engine_class=engine_class,
        measure=loss.measure,
        is_chunk=is_chunk,
    )
    # Both libraries get their modes back, also after an interrupt.
    with engine_class.context(), config_context(), one_thread():
        function = make_function(hasher, plan, start, features, engine_class, rng)
        engine = _make_engine(
            engine_class, function, features, loss, data, plan, start, rng
        )
        progress = _make_progress(hasher, data, plan, start, function, engine)
        with engine.generators():
            train(engine, start.samples, plan, rng=rng, monitor=monitor, progress=progress)
            monitor.end(engine)
        history = _collect_history(hasher, monitor, start)
        # Later chunks go on from the moments of the gradients, too.
        moments = (plan.solver, engine.moments()) if is_chunk else None
        history["_training_state_"] = _state_of_chunks(hasher, data, start, moments)
        return progress.finish() | history


def choose_engine(plan):
    """The engine that a plan asks for; torch is imported if it is needed."""
    return HostEngine if plan.on_host else of_torch("TorchEngine")


def _make_engine(engine_class, function, features, loss, data, plan, start, rng):
    """The engine of a function, with the moments of earlier chunks."""
    context = LossContext(
        affinity=data.affinity,
        targets=data.targets,
        levels=data.levels,
        gain_levels=data.affinity.gain_levels(data.levels),
        n_bits=plan.n_bits,
        is_relaxed=plan.tanh_scale is not None,
        device=plan.device,
        rng=rng,
        fitted_before=start.fitted_before,
    )
    engine = engine_class([function], [features], loss, context, plan)
    if start.solver_before == plan.solver:
        engine.load_moments(start.moments_before)
    return engine


def _make_progress(hasher, data, plan, start, function, engine):
    """Progress by epochs; callbacks see the hasher as if training stopped now."""
    attributes = data.seen | {"affinity_": data.affinity.given} | engine.fitted_by_loss
    attributes["_training_state_"] = _state_of_chunks(hasher, data, start)
    # Targets that carry groups hold the targets themselves in `values`.
    targets = getattr(data.targets, "values", data.targets)
    return Progress(
        hasher,
        data.X,
        targets,
        plan.max_iter,
        "epoch",
        function.fitted,
        fitted=lambda state: attributes | state,
    )


def _collect_history(hasher, monitor, start):
    """How training went, over all warm starts."""
    losses = [*start.fitted_before.get("loss_curve_", []), *monitor.losses]
    scores = start.fitted_before.get("validation_scores_")
    best_score = None
    if hasher.early_stopping:
        scores = [*(scores or []), *monitor.scores]
        best_score = max(monitor.scores, default=None)
    return {
        "loss_curve_": losses,
        "n_iter_": len(losses),
        "validation_scores_": scores,
        "best_validation_score_": best_score,
    }


def _state_of_chunks(hasher, data, start, moments=None):
    """The state that later chunks go on from, beside the fitted attributes."""
    return {
        "mean": start.scaling.mean,
        "unit": start.scaling.unit,
        "moments": moments,
        "declared_levels": data.declared_levels,
        "n_bits": hasher.n_bits,
    }
