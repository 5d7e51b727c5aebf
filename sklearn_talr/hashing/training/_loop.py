"""Epochs and minibatches of training by gradients."""

import math

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from ..._core.progress import warn_caller

# A step of nested codes takes at least this many leading bits, since fewer rank nothing.
_MIN_LEADING_BITS = 4
# Arrays that reach losses and scores from here have been checked.
_TRUSTED = {"assume_finite": True, "skip_parameter_validation": True}
_REMEDY_OF_NAN = (
    "Try a smaller learning_rate_init. Check whether the features are too large for "
    "float32, and whether your own module or loss divides by 0 or takes the root or the "
    "logarithm of 0."
)


def train(engine, samples, plan, *, rng, monitor, progress, draw_views=None):
    """Train on some rows; the engine then holds the weights that the monitor has kept.

    An interrupt ends training after the last completed epoch, with a warning, or is passed
    on if none is completed. A loss or weight that is NaN or infinite ends training, too,
    and is a ValueError in the first epoch.

    Parameters
    ----------
    engine : Engine
        Has the weights, and steps them down the loss of a minibatch.

    samples : ndarray of int
        Rows to train on.

    plan : TrainingPlan
        Schedules, sizes, and the bits that a step keeps.

    rng : RandomState
        Shuffles the samples, and draws bits.

    monitor : Monitor
        Decides which weights are kept, and when to stop.

    progress : Progress
        Logs each epoch; may ask to stop.

    draw_views : callable, default=None
        Turns samples of a minibatch into the rows of two views. None: there is one view.
    """
    monitor.begin(engine)
    schedule = Schedule(plan)
    descends = plan.learning_rate == "cosine"
    progress.outcome = monitor.kept
    with progress, config_context(**_TRUSTED):
        while schedule.n_epochs_left:
            progress.begin()
            loss = _run_epoch(engine, samples, plan, schedule, rng, draw_views=draw_views)
            problem = _problem_of_epoch(engine, loss)
            if problem is not None:
                # An epoch that has come to NaN or infinity does not count.
                _break_off(problem, plan, monitor, progress)
                break
            schedule.end_epoch()
            is_stale = monitor.end_epoch(engine, loss)
            progress.message = f"loss = {loss:.6f}{monitor.message}"
            if progress.end() or (is_stale and not descends):
                break
            if is_stale:
                schedule.shorten()
                samples = monitor.begin_descent(engine, samples)
    monitor.restore(engine)


class Schedule:
    """Progress of training from 0 to 1, and the learning rate and scale by it.

    Parameters
    ----------
    plan : TrainingPlan
        Epochs, first learning rate, and scales of tanh.
    """

    def __init__(self, plan):
        self.n_epochs_left = plan.max_iter
        self._share_done = 0.0
        self._plan = plan

    def end_epoch(self):
        """Count an epoch; the epochs that are left share the rest of training equally."""
        self._share_done += (1 - self._share_done) / self.n_epochs_left
        self.n_epochs_left -= 1

    def shorten(self):
        """End training soon: in a quarter of its epochs, or in those that are left."""
        n_epochs = math.ceil(self._plan.max_iter / 4)
        self.n_epochs_left = min(self.n_epochs_left, n_epochs)

    def learning_rate(self, share_of_epoch):
        """Rate at some share of the epoch: half a cosine from 1 to 0, or constant."""
        rate = self._plan.learning_rate_init
        if self._plan.learning_rate == "cosine":
            share_left = 1 - self._share_done
            share_done = self._share_done + share_of_epoch * share_left / self.n_epochs_left
            rate *= 0.5 * (1 + math.cos(math.pi * share_done))
        return rate

    def tanh_scale(self):
        """Scale of the epoch; it grows from the first epoch to the last one."""
        scale = self._plan.tanh_scale
        if scale is None:
            return None
        done = self._share_done
        if self.n_epochs_left > 1:
            growth = done / (1 - (1 - done) / self.n_epochs_left)
        else:
            growth = float(done > 0)
        return scale.first_epoch * (scale.last_epoch / scale.first_epoch) ** growth


def _run_epoch(engine, samples, plan, schedule, rng, *, draw_views):
    """Take a step for each minibatch; return the mean loss of the samples."""
    n_batches = math.ceil(len(samples) / plan.batch_size)
    # A batch of one ranks nothing, and batch normalization fails on it.
    n_batches = max(1, min(n_batches, len(samples) // 2))
    order = plan.shuffle(samples, rng)
    scale = schedule.tanh_scale()
    total = 0.0
    for batch, rows in enumerate(np.array_split(order, n_batches)):
        rate = schedule.learning_rate(batch / n_batches)
        rows_of_views = rows if draw_views is None else draw_views(rows)
        kept_bits = _draw_bits(plan, rng)
        loss = engine.step(rows_of_views, kept_bits, scale, rate)
        total = total + loss * len(rows)
    return float(total) / len(samples)


def _draw_bits(plan, rng):
    """The bits of a step, drawn from all or from the leading ones; None means all."""
    n_leading = plan.n_bits
    if plan.nested:
        n_least = min(n_leading, _MIN_LEADING_BITS)
        n_leading = rng.randint(n_least, n_leading + 1)
    n_kept = plan.n_kept_bits[n_leading]
    if n_kept == plan.n_bits:
        return None
    return rng.permutation(n_leading)[:n_kept]


def _problem_of_epoch(engine, loss):
    if not math.isfinite(loss):
        return f"The loss is {loss}"
    if not engine.is_finite():
        return "The weights are NaN or infinite"
    return None


def _break_off(problem, plan, monitor, progress):
    """End training by a warning, or in the first epoch by an error."""
    problem += f" in epoch {len(monitor.losses) + 1} of {plan.max_iter}."
    if not monitor.losses:
        raise ValueError(f"{problem} {_REMEDY_OF_NAN}")
    problem += f" Training ends there, and the hasher keeps {monitor.kept}. "
    progress.break_off()
    warn_caller(problem + _REMEDY_OF_NAN, ConvergenceWarning)
