"""The fit of a hash function by gradients of a loss of minibatches (torch)."""

import math
from copy import deepcopy
from numbers import Integral

import numpy as np
import scipy.sparse as sp
import torch
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from .._compat import independent_random_state
from .._progress import Progress, warn_caller
from .._threads import one_thread
from ..affinity._similar_rows import in_units
from ..losses import Batch, Training
from ..losses._base import levels_of_pairs, to_device
from ..losses._soft_counts import keep_freed_memory
from ..metrics import make_retrieval_scorer
from ._base import centered, errors_told, mean_and_units, row_blocks, weights_in_units
from ._linear import PROJECTIONS, centered_projection
from ._networks import (
    FeedForward,
    UserModule,
    encode,
    hidden_units,
    load_moments,
    make_solver,
    moments_of,
    random_layers,
    with_last_layer,
)
from ._settings import settings_of

_MOST_SCORED = 1000  # training samples
_SHORTEST_NESTED = 4  # leading bits; fewer rank nothing
_MOST_COPIED = 2**24  # numbers, on the host: 64 MiB
# The first projection is made from at most so many rows and numbers. Principal directions
# of more rows hardly differ, and the rows are copied and made dense.
_MOST_ROWS = 20_000
_MOST_CELLS = 2**25
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
    "Try a smaller learning_rate_init, a smaller weight_decay, more epochs (max_iter) or "
    "another loss; a network of your own may need features of about unit scale, "
    "normalizing layers, torch.nn.BatchNorm1d(n_bits, affine=False) as the last, or a "
    "warm-up by cross entropy."
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
        samples, held_out = split_samples(data, settings.n_held_out, settings.shuffle, rng)
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
    how = *unit, settings.device, hasher.module is not None
    features = Features(data.X, *how)
    # The score that tells when to stop, or whether training of a module has helped.
    score = kind = None
    if hasher.early_descent:
        kind, scored, rows = "validation", features, held_out
        if data.validation is None:
            of_rows = targets[held_out]
        else:
            X_val, of_rows = data.validation
            scored, rows = Features(X_val, *how), np.arange(X_val.shape[0])
        score = Score(affinity, scored, rows, of_rows, loss.measure)
    elif hasher.module is not None or settings.few_similar:
        kind = "training"
        rows = np.unique(np.linspace(0, len(samples) - 1, _MOST_SCORED, dtype=int))
        if settings.few_similar:
            rows = settings.shuffle(samples, np.random.RandomState(0))[:_MOST_SCORED]
        try:
            affinity.check_contrast(targets[rows], data.levels)
            score = Score(affinity, features, rows, targets[rows], loss.measure)
        except ValueError:  # too few samples to be ranked
            pass
    # Torch has gradients, and both libraries get their modes back. A context within, such
    # as torch.no_grad, restores the mode itself, unless an interrupt comes while it does.
    with torch.enable_grad(), config_context(), one_thread():
        # The hash function.
        if hasher.module is not None:
            weights = before.get("module_state_")
            function = UserModule(hasher.module, weights, hasher.n_bits, features, rng)
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
            function = FeedForward(*weights, features, settings.dropout, rng)
        # The loss of a minibatch.
        on = affinity, targets, data.levels, before
        batch_loss = MinibatchLoss(loss, settings, rng, *on)
        levels_of = levels_of_pairs(affinity, data.levels, targets, settings.device)

        def draw(rows):
            return features.batch(rows), lambda: levels_of(rows), rows

        # Training. Callbacks see the hasher as it would be if training stopped now.
        known = data.seen | {"affinity_": affinity.given} | batch_loss.fitted
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
        progress = Progress(hasher, data.X, targets, *how, fitted=fitted)
        keeper = Keeper(score if hasher.early_descent else None, held_out, hasher)
        how = settings, rng, keeper, progress, state.get("moments")
        with function.generators():
            score_before = None if score is None else score(function.module)
            losses, optimizer = minimize(
                function.module, function.steps(), draw, samples, batch_loss, *how
            )
            if score is not None:
                _warn_if_worse(score, score_before, function.module, kind)
        # How training went, over all warm starts, and what later chunks go on from.
        scores, best = before.get("validation_scores_"), None
        if hasher.early_descent:
            scores = [*(scores or []), *keeper.scores]
            best = max(keeper.scores, default=None)
        losses = [*before.get("loss_curve_", []), *losses]
        moments = (settings.solver, moments_of(optimizer)) if is_chunk else None
        history = {
            "loss_curve_": losses,
            "n_iter_": len(losses),
            "validation_scores_": scores,
            "best_validation_score_": best,
            "_training_state_": of_chunks | {"moments": moments},
        }
        return progress.finish() | history


def minimize(
    module, steps, draw, samples, batch_loss, settings, rng, keeper, progress, moments=None
):
    """Train on some rows; the module then holds the weights that the keeper has kept.

    An interrupt ends training after the last completed epoch, with a warning, or is passed
    on if none is completed. A loss or weight that is NaN or infinite ends training, too,
    and is a ValueError in the first epoch.

    Parameters
    ----------
    module : torch.nn.Module
        Turns features into activations.

    steps : list of (float, float)
        Factors of the learning rate and of the weight decay, for each parameter.

    draw : callable
        ``draw(rows) -> features, level_index, rows`` of a minibatch, see `Batch`.

    samples : ndarray of int
        Rows to train on.

    batch_loss : MinibatchLoss
        The loss of the activations of a minibatch.

    settings : SimpleNamespace
        Solver, schedules, sizes.

    rng : RandomState
        Shuffles the samples.

    keeper : Keeper
        Decides which weights are kept, and when to stop.

    progress : Progress
        Told of each epoch; may ask to stop.

    moments : tuple or None, default=None
        Name of the solver of an earlier training of the same module, and its moments.

    Returns
    -------
    losses : list of float
        Mean loss of each epoch.

    optimizer : Optimizer
        The solver, with its moments of the gradients.
    """
    rates, decays = zip(*steps)
    optimizer = make_solver(settings.solver, module.parameters(), rates)
    if moments and moments[0] == settings.solver:
        load_moments(optimizer, moments[1])
    keeper.begin(module)
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
            total = torch.zeros((), device=settings.device)
            for i, rows in enumerate(np.array_split(order, n_batches)):
                rate = settings.learning_rate_init
                if descends:  # half a cosine from 1 to 0 over training
                    done_now = done + i / n_batches * (1 - done) / n_left
                    rate *= 0.5 * (1 + math.cos(math.pi * done_now))
                for group in optimizer.param_groups:
                    group["lr"] = rate * group["factor"]
                X, *of_batch = draw(rows)
                loss = batch_loss(module(X), *of_batch, growth)
                module.zero_grad()
                loss.backward()
                optimizer.step()
                # Weights shrink apart from the gradient, whatever the solver; not
                # frozen ones.
                with torch.no_grad():
                    for parameter, factor in zip(module.parameters(), decays):
                        if factor and parameter.grad is not None:
                            decay = rate * settings.weight_decay
                            parameter *= max(0.0, 1 - factor * decay)
                total += loss.detach() * len(rows)
            # An epoch that has come to NaN or infinity does not count.
            loss, problem = float(total) / len(samples), None
            if not math.isfinite(loss):
                problem = f"The loss is {loss}"
            elif not all(bool(p.isfinite().all()) for p in module.parameters()):
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
            is_stale = keeper.end_epoch(module, loss)
            progress.told = f"loss = {loss:.6f}{keeper.told}"
            if progress.end() or (is_stale and not descends):
                break
            if is_stale:
                n_left = min(n_left, math.ceil(settings.max_iter / 4))
                samples = keeper.begin_descent(module, samples)
    keeper.restore(module)
    return keeper.losses, optimizer


class MinibatchLoss:
    """The loss of a minibatch of activations, of which each step keeps some bits.

    Parameters
    ----------
    loss : BaseLoss
        What is bound to the training data, see `Training`.

    settings : SimpleNamespace
        Number of bits that a step keeps, whether these are nested, scales of tanh, and the
        device.

    rng : RandomState
        Draws the bits, and what the loss draws.

    affinity, targets, levels, earlier : object
        Training data.

    Attributes
    ----------
    fitted : dict
        Attributes that the fitted hasher keeps of the loss.
    """

    def __init__(self, loss, settings, rng, affinity, targets, levels, earlier):
        keep_freed_memory()
        self._loss, self._settings, self._rng = loss, settings, rng
        of_data = affinity, targets, levels, affinity.gain_levels(levels)
        of_fit = settings.n_bits, settings.tanh_scale is not None, settings.device, rng
        self._step, self.fitted = loss.bind(Training(*of_data, *of_fit, earlier))

    def __call__(self, activations, level_index, rows, progress):
        settings, both = self._settings, isinstance(activations, tuple)
        views = activations if both else [activations]
        # The bits that take part, drawn at random from all or from the leading ones.
        n_bits = n_leading = views[0].shape[1]
        if settings.nested:
            n_leading = self._rng.randint(min(n_bits, _SHORTEST_NESTED), n_bits + 1)
        n_kept, kept = settings.n_kept_bits[n_leading], None
        if n_kept < n_bits:
            kept = to_device(self._rng.permutation(n_leading)[:n_kept], settings.device)
            views = [each.index_select(1, kept) for each in views]
        views = [each.to(torch.promote_types(each.dtype, torch.float32)) for each in views]
        first = views[0]
        # The scale of tanh grows geometrically.
        scale = settings.tanh_scale
        if scale is not None:
            scale = scale[0] * (scale[1] / scale[0]) ** progress
        batch = Batch(tuple(views) if both else first, level_index, rows, kept, scale)
        value = self._step(batch)
        # Only a scalar tensor that depends on the bits can be minimized.
        is_tensor = isinstance(value, torch.Tensor)
        if not is_tensor or value.shape != () or not value.is_floating_point():
            found = type(value).__name__
            if is_tensor:
                found = f"a tensor of shape {tuple(value.shape)} and {value.dtype}"
        elif first.requires_grad and not value.requires_grad:
            found = "a tensor that depends on no bit: a constant, or detached"
        else:
            return value
        raise ValueError(
            f"loss {self._loss!r} must return a number that depends "
            "on the bits, as a float tensor of shape (), as .mean() or .sum() of a tensor "
            f"gives it without .item(), .detach() and NumPy. Got {found}."
        )


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
        ``score(module) -> float``, higher is better.

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

    def begin(self, module):
        """Keep the weights that training starts from."""
        self._weights = deepcopy(module.state_dict())

    def end_epoch(self, module, loss):
        """Note the weights and the loss of an epoch; return whether to stop or descend."""
        # All facts in one step: an interrupt cannot leave half of an epoch.
        facts = {"losses": [*self.losses, loss]}
        if self.score is None or (self._descends and self.held_out is not None):
            told = "" if self.score is None else ", all samples"
            vars(self).update(facts, told=told, _weights=deepcopy(module.state_dict()))
            return False
        score = self.score(module)
        facts["told"] = f", validation score = {score:.6f}"
        improved = score >= self._best + self.params.tol
        facts["scores"] = [*self.scores, score]
        facts["_n_without"] = 0 if improved else self._n_without + 1
        if score > self._best and not self._descends:
            facts |= {"_best": score, "_weights": deepcopy(module.state_dict())}
        elif score >= self._best and self._descends:
            facts["_weights"] = deepcopy(module.state_dict())
        vars(self).update(**facts)
        return not self._descends and self._n_without > self.params.n_iter_no_change

    def begin_descent(self, module, samples):
        """Go back to the best weights; return the rows to train on from now on."""
        self.restore(module)
        self._descends = True
        if self.held_out is None:
            return samples
        return np.sort(np.concatenate([samples, self.held_out]))

    def restore(self, module):
        """Give the module the weights that were kept."""
        module.load_state_dict(self._weights)


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

    def __init__(self, affinity, features, samples, targets, measure):
        self.affinity_, self._features = affinity, features
        self._scorer = make_retrieval_scorer(measure)
        self.samples, self._targets = samples, targets

    def __call__(self, module):
        """Score of the codes of a module, or, without a module, of codes that are equal."""
        self._module = module
        return self._scorer(self, self.samples, self._targets)

    def transform(self, samples):
        """Codes of some samples: to the scorer this object is a fitted hasher."""
        if self._module is None:
            return np.zeros((len(samples), 1), np.uint8)
        return encode(self._module, self._features, samples)


def _warn_if_worse(score, before, module, kind):
    """Warn if training has made the codes of samples worse, or most of them equal."""
    n_samples = len(score.samples)
    after = score(module)
    codes = score.transform(score.samples)
    equal = score(None)  # what codes score that are all equal
    counts = np.unique(codes, axis=0, return_counts=True)[1]
    is_chance = after < equal + 0.01 * (1 - equal)
    samples = f"the score of {n_samples} {kind} samples"
    if after < before - _TWO_STANDARD_ERRORS / math.sqrt(n_samples):
        found = f"lowered {samples} from {before:.3f}, where it started, to"
    elif is_chance and 2 * counts.max() >= len(codes):
        found = f"made most codes equal, which leaves {samples} at"
    elif n_samples >= _ENOUGH and (is_chance or (kind == "validation" and after <= before)):
        found = f"not raised {samples}, which began at {before:.3f} and is"
    else:
        return
    problem = f"Training has {found} {after:.3f}. {_REMEDY_OF_WORSE}"
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


def start_weights(features, samples, layer_sizes, n_bits, init, rng):
    """First weights, in units of `features`: random hidden layers, then a projection."""
    n_features = features.X.shape[1]
    samples = drawn_rows(samples, _MOST_ROWS, rng)
    is_large = len(samples) * n_features > _MOST_CELLS
    if is_large and sp.issparse(features.X) and not layer_sizes:
        # Sparse rows stay sparse.
        X = features.X[samples]
        projection = centered_projection(X, features.mean, init, n_bits, rng)
        projected = X @ projection - features.mean @ projection
        scale = np.sqrt(np.mean(projected**2)) or 1.0
        coef = weights_in_units(projection, features.unit) / scale
        return [coef], [-projected.mean(axis=0) / scale]
    samples = drawn_rows(samples, max(2, _MOST_CELLS // n_features), rng)
    layers = random_layers(n_features, layer_sizes, rng)
    hidden, mean = centered(hidden_units(features.block(samples), *layers))
    projection = PROJECTIONS[init](hidden, n_bits, rng)
    return with_last_layer(hidden, mean, *layers, projection)


def drawn_rows(samples, n_most, rng):
    """Draw at most `n_most` of some rows, in ascending order."""
    if len(samples) <= n_most:
        return samples
    return np.sort(rng.choice(samples, n_most, replace=False))


class Features:
    """The rows ``X - mean`` in units, as float32 tensors on a device.

    Parameters
    ----------
    X : ndarray (also memory-mapped), CSR or tensor of shape (n_samples, n_features)
        Checked features. A centered float32 copy of dense ones is kept where it is small,
        or a CUDA device has room. Others are neither copied nor made dense as a whole.

    mean : ndarray of shape (n_features,) or float
        Subtracted from the rows.

    unit : float, or ndarray of shape (n_features,) or (n_features, n_features)
        Divides them, or is the matrix that they are multiplied by.

    device : torch.device
        Where batches go, and where a tensor is brought.

    as_they_are : bool, default=False
        Whether rows are ``X`` itself, and mean and unit are only stored.
    """

    def __init__(self, X, mean, unit, device, as_they_are=False):
        self.X = X.to(device) if isinstance(X, torch.Tensor) else X
        self.mean, self.unit, self.device = mean, unit, device
        self._as_they_are = as_they_are
        self._resident = None
        if isinstance(X, np.ndarray):
            room = _MOST_COPIED
            if device.type == "cuda":
                room = torch.cuda.mem_get_info(device)[0] // 16  # bytes
            if X.size <= room:
                copy = torch.empty(X.shape, dtype=torch.float32, device=device)
                for rows in row_blocks(X):
                    copy[rows] = torch.from_numpy(self.block(rows).astype(np.float32))
                self._resident = copy

    def block(self, rows):
        """Rows, by slice or index array, as a dense float64 array on the host."""
        if isinstance(self.X, torch.Tensor):
            return self._of_tensor(rows).cpu().numpy()
        block = self.X[rows]
        block = block.toarray() if sp.issparse(block) else block
        if self._as_they_are:
            return np.asarray(block, dtype=np.float64)
        return in_units(block - np.float64(self.mean), self.unit)

    def batch(self, rows):
        """Rows, by index array, as a float32 tensor on the device."""
        if self._resident is not None:
            return self._resident[to_device(rows, self.device)]
        if isinstance(self.X, torch.Tensor):
            return self._of_tensor(rows).float()
        return to_device(self.block(rows).astype(np.float32), self.device)

    def extremes(self):
        """The rows of the largest and of the smallest number, as `batch` gives them."""
        places = int(self.X.argmax()), int(self.X.argmin())
        return self.batch(np.array(places) // self.X.shape[1])

    def _of_tensor(self, rows):
        block = self.X[to_device(rows, self.device)].double()
        if self._as_they_are:
            return block
        how = {"dtype": torch.float64, "device": self.device}
        mean, unit = torch.as_tensor(self.mean, **how), torch.as_tensor(self.unit, **how)
        return in_units(block - mean, unit)
