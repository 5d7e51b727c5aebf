"""The fit of a hash function by gradients of a loss of minibatches."""

import math
from numbers import Integral

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from .._compat import independent_random_state
from .._lazy import lazy_names
from .._progress import Progress, warn_caller
from .._threads import one_thread
from ..losses import Training
from ..losses._rankings import MeasureTables, score_codes
from ._base import errors_told, mean_and_units, weights_in_units
from ._host_engine import HostEngine
from ._linear import start_weights
from ._settings import settings_of

of_torch, _ = lazy_names(
    __package__,
    {
        "ModuleFunction": "_networks",
        "TorchEngine": "_torch_engine",
        "UserModule": "_networks",
    },
    what="Training a module or on CUDA, or by another loss than AP and nDCG,",
)

_MOST_SCORED, _SHARE_SCORED = 1000, 10  # training samples: at most, and one of so many
_SHORTEST_NESTED = 4  # leading bits; fewer rank nothing
# Two standard errors of the difference between two scores of one sample. The standard error
# of the mean over n samples is smaller by the square root of n.
_TWO_STANDARD_ERRORS = 0.5
_ENOUGH = 50  # samples, to say that their score has not risen
# Arrays that reach losses and scores from here have been checked.
_TRUSTED = {"assume_finite": True, "skip_parameter_validation": True}

_REMEDY_OF_NAN = (
    "Try a smaller learning_rate_init, and see whether the features are too large for "
    "float32, and whether a module or a loss of your own divides by 0 or takes the root or "
    "logarithm of it."
)
_REMEDY_OF_WORSE = (
    "Try a larger batch_size, a smaller learning_rate_init, a smaller weight_decay, more "
    "epochs (max_iter) or another loss; a network of your own may need features of about "
    "unit scale, normalizing layers, torch.nn.BatchNorm1d(n_bits, affine=False) as the "
    "last, or a warm-up by cross entropy."
)


def fit_by_gradient(hasher, loss, data, is_chunk=False):
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
    settings = settings_of(hasher, loss, data, is_chunk)
    affinity, targets = data.affinity, data.targets
    # A seed alone would start again with each chunk.
    rng, n_done = hasher.random_state, getattr(hasher, "n_iter_", 0)
    if is_chunk and n_done and isinstance(rng, Integral):
        rng = np.random.RandomState([rng, n_done])
    rng = independent_random_state(rng)
    # Samples to train on, and those that are held out.
    samples, held_out = np.arange(data.X.shape[0]), None
    if settings.n_held_out:
        shuffle = settings.shuffle_to_split
        samples, held_out = split_samples(data, settings.n_held_out, shuffle, rng)
    # Where training goes on from. All chunks have the mean and unit of the first.
    before, state = {}, {}
    if n_done and (is_chunk or hasher.warm_start):
        before, state = vars(hasher), hasher._training_state_ if is_chunk else {}
        what = "partial_fit" if is_chunk else "warm_start=True"
        if hasattr(hasher, "module_state_") != (hasher.module is not None):
            raise ValueError(f"{what} cannot change module. Call fit to start anew.")
        asked = [data.X.shape[1], *settings.layer_sizes, hasher.n_bits]
        shape = [len(coef) for coef in before.get("coefs_", [])] + [hasher._n_features_out]
        if hasher.module is None and shape != asked:
            raise ValueError(
                f"{what} cannot change n_bits, hidden_layer_sizes or the number of "
                f"features, and so the layer sizes from {shape} to {asked}. Call fit with "
                "warm_start=False to start anew."
            )
    if state:
        unit = state["mean"], state["unit"]
    else:
        similar = data.similar if hasher.module is None else None
        unit = mean_and_units(data.X, samples, similar)
    Engine = HostEngine if settings.on_host else of_torch("TorchEngine")
    features = Engine.features(data.X, unit, settings)
    # The score that tells when to stop, or whether training of a module has helped.
    score = kind = None
    is_doubtful = hasher.module is not None or settings.few_similar
    if hasher.early_descent:
        kind, scored, rows, judge = "validation", features, held_out, affinity
        if data.validation is None:
            of_rows = targets[held_out]
        else:
            X_val, judge, of_rows = data.validation
            scored = Engine.features(X_val, unit, settings)
            rows = np.arange(X_val.shape[0])
        score = Score(judge, scored, rows, targets=of_rows, measure=loss.measure)
    elif is_doubtful or (len(samples) >= _ENOUGH and not is_chunk):
        kind, n_scored = "training", _MOST_SCORED
        if not is_doubtful:
            n_scored = min(max(len(samples) // _SHARE_SCORED, _ENOUGH), _MOST_SCORED)
        rows = np.unique(np.linspace(0, len(samples) - 1, n_scored, dtype=int))
        if settings.few_similar:
            order = settings.shuffle_to_split(samples, np.random.RandomState(0))
            rows = order[:_MOST_SCORED]
        try:
            affinity.check_contrast(targets[rows], data.levels)
            score = Score(
                affinity, features, rows, targets=targets[rows], measure=loss.measure
            )
        except ValueError:  # too few samples to be ranked
            pass
    # Both libraries get their modes back, also after an interrupt.
    with Engine.context(), config_context(), one_thread():
        # The hash function.
        if hasher.module is not None:
            weights = before.get("module_state_")
            how = hasher.module, weights, settings, features, rng
            function = of_torch("UserModule")(*how)
        else:
            if before:
                # The first layer takes (X - mean) / unit in place of X - old mean.
                first, intercept = before["coefs_"][0], before["intercepts_"][0]
                intercept = intercept + (features.mean - before["means_"][0]) @ first
                weights = (
                    [weights_in_units(first, features.unit), *before["coefs_"][1:]],
                    [intercept, *before["intercepts_"][1:]],
                )
            else:
                sizes = settings.layer_sizes, hasher.n_bits
                weights = start_weights(features, samples, *sizes, hasher.init, rng)
            function = Engine.layers(*weights, features, settings, rng)
        # What steps it down the loss of a minibatch.
        of_data = affinity, targets, data.levels, affinity.gain_levels(data.levels)
        of_fit = settings.n_bits, settings.tanh_scale is not None, settings.device, rng
        training = Training(*of_data, *of_fit, before)
        engine = Engine([function], [features], loss, training, settings)
        before_moments = state.get("moments") or (None, None)
        if before_moments[0] == settings.solver:
            engine.load_moments(before_moments[1])
        # Training. Callbacks see the hasher as it would be if training stopped now.
        known = data.seen | {"affinity_": affinity.given} | engine.fitted_by_loss
        of_chunks = {
            "mean": features.mean,
            "unit": features.unit,
            "moments": None,
            "declared_levels": data.declared_levels,
            "n_bits": hasher.n_bits,
        }

        def fitted(state):
            return known | state | {"_training_state_": of_chunks}

        how = settings.max_iter, "epoch", function.fitted
        y = getattr(targets, "values", targets)  # without groups
        progress = Progress(hasher, data.X, y, *how, fitted=fitted)
        keeper = Keeper(score if hasher.early_descent else None, held_out, hasher)
        with engine.generators():
            start = None if score is None else (engine.weights(), score(engine))
            losses = minimize(engine, samples, settings, rng, keeper, progress)
            if score is not None:
                doubts = is_doubtful or hasher.early_descent
                _end_no_worse(engine, start, score, kind, doubts)
        # How training went, over all warm starts, and what later chunks go on from.
        scores, best = before.get("validation_scores_"), None
        if hasher.early_descent:
            scores = [*(scores or []), *keeper.scores]
            best = max(keeper.scores, default=None)
        losses = [*before.get("loss_curve_", []), *losses]
        moments = (settings.solver, engine.moments()) if is_chunk else None
        history = {
            "loss_curve_": losses,
            "n_iter_": len(losses),
            "validation_scores_": scores,
            "best_validation_score_": best,
            "_training_state_": of_chunks | {"moments": moments},
        }
        return progress.finish() | history


def minimize(engine, samples, settings, rng, keeper, progress, draw=None):
    """Train on some rows; the engine then holds the weights that the keeper has kept.

    An interrupt ends training after the last completed epoch, with a warning, or is passed
    on if none is completed. A loss or weight that is NaN or infinite ends training, too,
    and is a ValueError in the first epoch.

    Parameters
    ----------
    engine : HostEngine or TorchEngine
        Has the weights, and steps them down the loss of a minibatch.

    samples : ndarray of int
        Rows to train on.

    settings : SimpleNamespace
        Schedules, sizes, and the bits that a step keeps.

    rng : RandomState
        Shuffles the samples, and draws bits.

    keeper : Keeper
        Decides which weights are kept, and when to stop.

    progress : Progress
        Told of each epoch; may ask to stop.

    draw : callable, default=None
        Turns samples of a minibatch into the rows of two views. None: there is one.

    Returns
    -------
    losses : list of float
        Mean loss of each epoch.
    """
    keeper.begin(engine)
    n_left, done = settings.max_iter, 0.0  # epochs, and the part of training
    descends = settings.learning_rate == "cosine"
    progress.kept = keeper.kept
    with progress, config_context(**_TRUSTED):
        while n_left:
            progress.begin()
            n_batches = math.ceil(len(samples) / settings.batch_size)
            # A batch of one ranks nothing, and batch normalization fails on it.
            n_batches = max(1, min(n_batches, len(samples) // 2))
            order = settings.shuffle(samples, rng)
            # Growth of tanh runs from 0 in the first epoch to 1 in the last one.
            growth = done / (1 - (1 - done) / n_left) if n_left > 1 else float(done > 0)
            total = 0.0
            for i, rows in enumerate(np.array_split(order, n_batches)):
                rate = settings.learning_rate_init
                if descends:  # half a cosine from 1 to 0 over training
                    done_now = done + i / n_batches * (1 - done) / n_left
                    rate *= 0.5 * (1 + math.cos(math.pi * done_now))
                rows_of_views = rows if draw is None else draw(rows)
                # The bits that take part, drawn at random from all or the leading ones.
                n_leading = settings.n_bits
                if settings.nested:
                    n_least = min(n_leading, _SHORTEST_NESTED)
                    n_leading = rng.randint(n_least, n_leading + 1)
                n_kept, kept = settings.n_kept_bits[n_leading], None
                if n_kept < settings.n_bits:
                    kept = rng.permutation(n_leading)[:n_kept]
                scale = settings.tanh_scale
                if scale is not None:
                    scale = scale[0] * (scale[1] / scale[0]) ** growth
                loss = engine.step(rows_of_views, kept, scale, rate)
                total = total + loss * len(rows)
            # An epoch that has come to NaN or infinity does not count.
            loss, problem = float(total) / len(samples), None
            if not math.isfinite(loss):
                problem = f"The loss is {loss}"
            elif not engine.is_finite():
                problem = "The weights are NaN or infinite"
            if problem:
                problem += f" in epoch {len(keeper.losses) + 1} of {settings.max_iter}."
                if not keeper.losses:
                    raise ValueError(f"{problem} {_REMEDY_OF_NAN}")
                problem += f" Training ends there, and the hasher keeps {keeper.kept}. "
                progress.break_off()
                warn_caller(problem + _REMEDY_OF_NAN, ConvergenceWarning)
                break
            done += (1 - done) / n_left
            n_left -= 1
            is_stale = keeper.end_epoch(engine, loss)
            progress.told = f"loss = {loss:.6f}{keeper.told}"
            if progress.end() or (is_stale and not descends):
                break
            if is_stale:
                n_left = min(n_left, math.ceil(settings.max_iter / 4))
                samples = keeper.begin_descent(engine, samples)
    keeper.restore(engine)
    return keeper.losses


class Keeper:
    """Keeps the weights of the last epoch, or of the best score, and tells when to stop.

    Without a score it never stops. With one an epoch counts as no improvement unless it
    beats the best score by `tol`, as in scikit-learn's multi-layer perceptrons. The
    perceptrons stop after too many such epochs, with the weights of the last epoch. Here
    training goes back to the weights of the best score, and the learning rate descends from
    there. The noise of a high rate hides the small differences between epochs, so that the
    last epoch of the descent is kept whose score is no worse than the best score before the
    descent.

    Parameters
    ----------
    score : callable or None, default=None
        ``score(engine) -> float``, higher is better.

    held_out : ndarray of int or None, default=None
        Rows that are scored, and are trained on in the descent, which is not scored then.
        None: validation samples are no training samples.

    params : object, default=None
        Has ``n_iter_no_change``, epochs in a row without improvement that are not too
        many, and ``tol``, the least improvement that counts.

    Attributes
    ----------
    losses, scores : list of float
        Losses and scores of the completed epochs.

    told : str
        What is printed after the loss of an epoch.
    """

    def __init__(self, score=None, held_out=None, params=None):
        self.score, self.held_out, self.params = score, held_out, params
        self.kept = "the weights of the last completed epoch"
        if score is not None:
            self.kept = "the weights of the best validation score"
        self.losses, self.scores, self._n_without = [], [], 0
        self._best, self._descends = -math.inf, False

    def begin(self, engine):
        """Keep the weights that training starts from."""
        self._weights = engine.weights()

    def end_epoch(self, engine, loss):
        """Note the weights and the loss of an epoch; return whether to stop or descend."""
        # All facts in one step: an interrupt cannot leave half of an epoch.
        facts = {"losses": [*self.losses, loss]}
        if self.score is None or (self._descends and self.held_out is not None):
            told = "" if self.score is None else ", all samples"
            vars(self).update(facts, told=told, _weights=engine.weights())
            return False
        score = self.score(engine)
        facts["told"] = f", validation score = {score:.6f}"
        improved = score >= self._best + self.params.tol
        facts["scores"] = [*self.scores, score]
        facts["_n_without"] = 0 if improved else self._n_without + 1
        if score > self._best and not self._descends:
            facts |= {"_best": score, "_weights": engine.weights()}
        elif score >= self._best and self._descends:
            facts["_weights"] = engine.weights()
        vars(self).update(**facts)
        return not self._descends and self._n_without > self.params.n_iter_no_change

    def begin_descent(self, engine, samples):
        """Go back to the best weights; return the rows to train on from now on."""
        self.restore(engine)
        self._descends = True
        if self.held_out is None:
            return samples
        return np.sort(np.concatenate([samples, self.held_out]))

    def restore(self, engine):
        """Give the engine the weights that were kept."""
        engine.restore(self._weights)


class Score:
    """Tie-aware score of samples, each of which ranks the others.

    Neither queries nor database items are trained on. Against a database of training rows
    scores would be higher, since the codes of training rows are fitted.

    Parameters
    ----------
    affinity : affinity oracle
        Who is similar to whom, fitted.

    features : Features
        Features of the samples, and perhaps of others.

    samples : ndarray of int
        Rows of `features`.

    targets : sequence
        Targets of the samples.

    measure : {"AP", "nDCG"}
        What the score is.
    """

    def __init__(self, affinity, features, samples, *, targets, measure):
        self.samples = samples
        self._features = features
        self._affinity = affinity
        self._targets = targets
        self._levels = affinity.levels_between(targets, targets)
        # AP takes all levels above 0 as one.
        self._n_levels = 2 if measure == "AP" else len(self._levels)
        # The places of all levels fit into it.
        self._place_type = np.min_scalar_type(-max(self._n_levels, 2**15))
        self._tables = MeasureTables.from_levels(
            np.float64(self._levels[: self._n_levels]),
            measure=measure,
            is_simplified=False,
            n_items=len(samples),
        )

    def __call__(self, engine):
        """Score of the codes that an engine gives the samples."""
        return self.of_codes(self.codes(engine))

    def codes(self, engine):
        """Codes of the samples, (n_samples, n_bits)."""
        return engine.codes(self._features, self.samples)

    def of_codes(self, codes):
        """Score of codes of the samples; equal codes tie all samples."""
        return score_codes(codes, self._level_index, self._tables)

    def _level_index(self, rows):
        index = self._affinity.level_index(self._targets[rows], self._targets, self._levels)
        index = np.minimum(index, self._n_levels - 1).astype(self._place_type)
        # No sample ranks itself.
        queries = np.arange(rows.start, rows.stop)
        index[queries - rows.start, queries] = -1
        return index


def _end_no_worse(engine, start, score, kind, doubts):
    """Go back to the first weights if training has made the codes of samples worse.

    A warning says so, or, where there are doubts, that most codes have become equal, or no
    score has risen.
    """
    n_samples, (weights, before) = len(score.samples), start
    after = score(engine)
    codes = score.codes(engine)
    equal = score.of_codes(np.zeros((n_samples, 1), np.uint8))
    counts = np.unique(codes, axis=0, return_counts=True)[1]
    is_chance = after < equal + 0.01 * (1 - equal)
    samples, kept = f"the score of {n_samples} {kind} samples", ""
    if after < before - _TWO_STANDARD_ERRORS / math.sqrt(n_samples):
        engine.restore(weights)
        found = f"lowered {samples} from {before:.3f}, where it started, to"
        kept = " The hasher keeps the weights that it started from."
    elif not doubts:
        return
    elif is_chance and 2 * counts.max() >= len(codes):
        found = f"made most codes equal, which leaves {samples} at"
    elif n_samples >= _ENOUGH and (is_chance or (kind == "validation" and after <= before)):
        found = f"not raised {samples}, which began at {before:.3f} and is"
    else:
        return
    problem = f"Training has {found} {after:.3f}.{kept} {_REMEDY_OF_WORSE}"
    warn_caller(problem, ConvergenceWarning)


def split_samples(data, n_held_out, shuffle, rng):
    """Row indices for training and for validation, both ascending.

    Raises
    ------
    ValueError
        If either part is too small to rank anything.
    """
    # Those that are held out need similar ones among them, too.
    order = shuffle(np.arange(data.targets.shape[0]), rng)
    parts = np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
    for part, name in zip(parts, ("training", "validation")):
        message = (
            f"early_descent=True with this validation_fraction leaves {len(part)} samples "
            f"for {name}, which cannot be ranked: {{}} More samples, another "
            "validation_fraction or early_descent=False may help."
        )
        with errors_told(message):
            data.affinity.check_contrast(data.targets[part], data.levels)
    return parts
