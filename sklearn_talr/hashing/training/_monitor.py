"""Scores of a training, the weights that it keeps, and when it stops."""

import math

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._core.progress import warn_caller
from ...losses._rankings import MeasureTables, score_codes

# Training samples that are scored: a tenth of them, at least 50 and at most 1 000.
_SHARE_SCORED = 10
_MAX_SCORED = 1000
# The score of fewer samples varies too much to show that it has not risen.
_MIN_SCORED = 50
# Two standard errors of the difference between two scores of one sample. A mean over n
# samples has a standard error that is smaller by the square root of n.
_TWO_STANDARD_ERRORS = 0.5
_REMEDY_OF_WORSE = (
    "Try a larger batch_size, a smaller learning_rate_init, a smaller weight_decay, more "
    "epochs (max_iter) or another loss. Your own network may need features of about unit "
    "scale, normalizing layers, torch.nn.BatchNorm1d(n_bits, affine=False) as its last "
    "layer, or a warm-up with cross entropy."
)


class Monitor:
    """Keeps the weights of the last epoch or of the best score, and decides when to stop.

    If epochs are not scored, training never stops early. If they are, an epoch counts as no
    improvement unless it beats the best score by `tol`, as in scikit-learn's multi-layer
    perceptrons. The perceptrons stop after too many such epochs, with the weights of the
    last epoch. Here training goes back to the weights of the best score, and the learning
    rate descends from there. The noise of a high rate hides small differences between
    epochs. So the monitor keeps the last epoch of the descent whose score is no worse than
    the best score before the descent.

    Parameters
    ----------
    score : Score or None, default=None
        Score of validation samples after each epoch, or of training samples, which is
        compared at the end with their score at the start. None: nothing is scored.

    follows_epochs : bool, default=False
        Whether the score is one of validation samples.

    held_out : ndarray of int or None, default=None
        Rows that are scored until the descent, which trains on them, too, and is not
        scored. None: validation samples are no training samples.

    n_iter_no_change : int, default=10
        Epochs in a row without improvement that do not yet begin the descent.

    tol : float, default=0.0
        The least improvement that counts.

    is_doubtful : bool, default=False
        Whether a warning at the end says that no score has risen, or that most codes are
        equal.

    Attributes
    ----------
    losses, scores : list of float
        Losses and scores of the completed epochs.

    message : str
        Text that is printed after the loss of an epoch.

    kept : str
        Which weights are kept, in words.
    """

    def __init__(
        self,
        score=None,
        *,
        follows_epochs=False,
        held_out=None,
        n_iter_no_change=10,
        tol=0.0,
        is_doubtful=False,
    ):
        self.losses = []
        self.scores = []
        self.message = ""
        self.kept = "the weights of the last completed epoch"
        if follows_epochs:
            self.kept = "the weights of the best validation score"
        self._score = score
        self._follows_epochs = follows_epochs
        self._held_out = held_out
        self._n_iter_no_change = n_iter_no_change
        self._tol = tol
        self._is_doubtful = is_doubtful
        self._n_without = 0
        self._best = -math.inf
        self._descends = False

    def begin(self, engine):
        """Keep the weights that training starts from, and their score."""
        self._weights = engine.weights()
        self._first_weights = self._weights
        if self._score is not None:
            self._first_score = self._score(engine)

    def end_epoch(self, engine, loss):
        """Note the weights and the loss of an epoch; return whether to stop or descend."""
        trains_on_all = self._descends and self._held_out is not None
        if not self._follows_epochs or trains_on_all:
            changes = {
                "message": ", all samples" if self._follows_epochs else "",
                "_weights": engine.weights(),
            }
        else:
            changes = self._changes_by_score(engine, self._score(engine))
        changes["losses"] = [*self.losses, loss]
        # All attributes change in one step, so an interrupt cannot leave half an epoch.
        vars(self).update(changes)
        is_stale = self._n_without > self._n_iter_no_change
        return self._follows_epochs and not self._descends and is_stale

    def _changes_by_score(self, engine, score):
        """Attributes of the monitor that the score of an epoch changes."""
        has_improved = score >= self._best + self._tol
        changes = {
            "message": f", validation score = {score:.6f}",
            "scores": [*self.scores, score],
            "_n_without": 0 if has_improved else self._n_without + 1,
        }
        if self._descends:
            if score >= self._best:
                changes["_weights"] = engine.weights()
        elif score > self._best:
            changes["_best"] = score
            changes["_weights"] = engine.weights()
        return changes

    def begin_descent(self, engine, samples):
        """Go back to the best weights; return the rows to train on from now on."""
        self.restore(engine)
        self._descends = True
        if self._held_out is None:
            return samples
        return np.sort(np.concatenate([samples, self._held_out]))

    def restore(self, engine):
        """Give the engine the weights that were kept."""
        engine.restore(self._weights)

    def end(self, engine):
        """Go back to the first weights if training has made the codes of samples worse.

        A warning says so. If there are doubts, it also says that most codes have become
        equal, or that no score has risen.
        """
        if self._score is None:
            return
        n_samples = len(self._score.samples)
        kind = "validation" if self._follows_epochs else "training"
        samples = f"the score of {n_samples} {kind} samples"
        before = self._first_score
        codes = self._score.codes(engine)
        after = self._score.evaluate(codes)
        outcome = self._outcome(codes, after, samples)
        if outcome is None:
            return
        consequence = ""
        if after < before - _TWO_STANDARD_ERRORS / math.sqrt(n_samples):
            engine.restore(self._first_weights)
            consequence = " The hasher keeps its initial weights."
        problem = f"Training has {outcome} {after:.3f}.{consequence} {_REMEDY_OF_WORSE}"
        warn_caller(problem, ConvergenceWarning)

    def _outcome(self, codes, after, samples):
        """What training has done to a score, in words, or None if no warning is needed."""
        n_samples = len(codes)
        before = self._first_score
        if after < before - _TWO_STANDARD_ERRORS / math.sqrt(n_samples):
            return f"lowered {samples} from {before:.3f} to"
        if not self._is_doubtful:
            return None
        score_of_equal_codes = self._score.evaluate(np.zeros((n_samples, 1), np.uint8))
        is_chance = after < score_of_equal_codes + 0.01 * (1 - score_of_equal_codes)
        counts = np.unique(codes, axis=0, return_counts=True)[1]
        if is_chance and 2 * counts.max() >= n_samples:
            return f"made most codes equal, and {samples} is"
        has_not_risen = is_chance or (self._follows_epochs and after <= before)
        if n_samples >= _MIN_SCORED and has_not_risen:
            return f"not raised {samples}, which was {before:.3f} and is now"
        return None


def make_monitor(hasher, data, plan, *, start, features, engine_class, measure, is_chunk):
    """Make the monitor of a fit.

    Parameters
    ----------
    hasher : TALRHasher
        Has the parameters of early stopping.

    data : TrainingData
        Features and targets.

    plan : TrainingPlan
        Schedules and sizes of training.

    start : Start
        Rows to train on, and rows held out.

    features : Features
        Rows as training takes them.

    engine_class : type
        The engine, which brings validation samples to where it trains.

    measure : {"AP", "nDCG"}
        Measure of the scores.

    is_chunk : bool
        Whether the data are a chunk of `partial_fit`.
    """
    is_doubtful = hasher.module is not None or plan.few_similar
    if hasher.early_stopping:
        if data.validation is None:
            score = _score_of_held_out(data, start.held_out, features, measure=measure)
        else:
            val_features = engine_class.features(data.validation.X, start.scaling, plan)
            score = _score_of_validation(data.validation, val_features, measure=measure)
        return Monitor(
            score,
            follows_epochs=True,
            held_out=start.held_out,
            n_iter_no_change=hasher.n_iter_no_change,
            tol=hasher.tol,
            is_doubtful=True,
        )
    if not is_doubtful and (is_chunk or len(start.samples) < _MIN_SCORED):
        return Monitor()
    rows = _rows_to_score(plan, start.samples, is_doubtful=is_doubtful)
    targets = data.targets[rows]
    try:
        data.affinity.check_contrast(targets, data.levels)
    except ValueError:
        # Too few samples can be ranked.
        return Monitor()
    score = Score(data.affinity, features, rows, targets=targets, measure=measure)
    return Monitor(score, is_doubtful=is_doubtful)


def _score_of_held_out(data, rows, features, *, measure):
    return Score(data.affinity, features, rows, targets=data.targets[rows], measure=measure)


def _score_of_validation(validation, features, *, measure):
    rows = np.arange(validation.X.shape[0])
    return Score(
        validation.affinity, features, rows, targets=validation.targets, measure=measure
    )


def _rows_to_score(plan, samples, *, is_doubtful):
    """Training rows whose score is compared with that of the start."""
    if plan.few_similar:
        # The shuffle puts similar rows side by side, so that rows can be scored.
        order = plan.shuffle_to_split(samples, np.random.RandomState(0))
        return order[:_MAX_SCORED]
    n_scored = _MAX_SCORED
    if not is_doubtful:
        n_scored = min(max(len(samples) // _SHARE_SCORED, _MIN_SCORED), _MAX_SCORED)
    return np.unique(np.linspace(0, len(samples) - 1, n_scored, dtype=int))


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
        Measure of the score.
    """

    def __init__(self, affinity, features, samples, *, targets, measure):
        self.samples = samples
        self._features = features
        self._affinity = affinity
        self._targets = targets
        self._levels = affinity.levels_between(targets, targets)
        # AP takes all levels above 0 as one.
        self._n_levels = 2 if measure == "AP" else len(self._levels)
        # The places of all levels fit into this type.
        self._place_type = np.min_scalar_type(-max(self._n_levels, 2**15))
        self._tables = MeasureTables.from_levels(
            np.float64(self._levels[: self._n_levels]),
            measure=measure,
            is_simplified=False,
            n_items=len(samples),
        )

    def __call__(self, engine):
        """Score of the codes that an engine gives the samples."""
        return self.evaluate(self.codes(engine))

    def codes(self, engine):
        """Codes of the samples, (n_samples, n_bits)."""
        return engine.codes(self._features, self.samples)

    def evaluate(self, codes):
        """Score of codes of the samples; equal codes tie all samples."""
        return score_codes(codes, self._level_index, self._tables)

    def _level_index(self, rows):
        index = self._affinity.level_index(self._targets[rows], self._targets, self._levels)
        index = np.minimum(index, self._n_levels - 1).astype(self._place_type)
        # No sample ranks itself.
        queries = np.arange(rows.start, rows.stop)
        index[queries - rows.start, queries] = -1
        return index
