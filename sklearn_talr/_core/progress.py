"""Progress of a fit, for callbacks and logs, and warnings at the line that called it."""

import logging
import math
import sys
import time
import warnings
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial

from sklearn.exceptions import ConvergenceWarning

# A fit that is expected to take longer than this, and that shows nothing, logs a message.
_SILENT_SECONDS = 60
# Packages whose frames no warning points to
_INNER = {"sklearn_talr", "sklearn", "contextlib"}

_first_row = ContextVar("first_row", default=0)


@contextmanager
def at_row(first_row):
    """Context in which features are the block of the user's rows that begins at a row."""
    token = _first_row.set(first_row)
    try:
        yield
    finally:
        _first_row.reset(token)


def number_of_row(row):
    """Number of a row of a block among all rows that the user has passed, for warnings."""
    return _first_row.get() + row


def warn_caller(message, category=UserWarning):
    """Warn at the line that called the library: the first frame outside of it."""
    level = 2
    frame = sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in _INNER:
        level += 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Progress:
    """Reports to callbacks how far the fit of an estimator is, and prints it if `verbose`.

    Tasks stand in the block of a ``with`` statement. Ctrl-C ends that block with a warning,
    and the outcome of the tasks done is kept. Before `n_least` tasks are done, or if there
    is no estimator, the interrupt is passed on.

    Parameters
    ----------
    estimator : estimator, default=None
        The estimator that is fitted. None: nothing is reported.

    X, y : features and targets, default=None
        Training data, which callbacks are shown.

    n_tasks : int or None, default=0
        The largest number of tasks that follow; None if it is unknown.

    name : str, default="task"
        What logs call a task.

    state : callable, default=None
        ``state()`` returns the outcome of the tasks done, also in the middle of the next
        task. It may be set later; as long as it is None, callbacks see no fitted estimator.

    fitted : callable, default=dict
        ``fitted(state) -> dict`` of the attributes that the estimator then has.

    n_fits : int, default=0
        Number of fits of other estimators that come besides, see :meth:`nested`.

    Attributes
    ----------
    message : str
        Text that is printed for a task, after its number.

    outcome : str
        What an interrupt keeps, in words, for the warning.

    n_alike : int
        Number of tasks that take as long as the first ones; all, unless it is set.

    n_done : int
        Number of tasks done.

    n_least : int
        Number of tasks after which an interrupt keeps the outcome.

    is_over : bool
        Whether a callback or an interrupt has asked for no more tasks.
    """

    def __init__(
        self,
        estimator=None,
        X=None,
        y=None,
        n_tasks=0,
        name="task",
        state=None,
        *,
        fitted=dict,
        n_fits=0,
    ):
        self.state = state
        self.message = "done"
        self.outcome = "their outcome"
        self.n_alike = n_tasks
        self.n_done = 0
        self.n_least = 1
        self.is_over = False
        self._estimator = estimator
        self._data = {"X": X, "y": y}
        self._fitted = fitted
        self._n_tasks = n_tasks
        self._name = name
        self._is_open = False
        self._fit = self._task = None
        if hasattr(estimator, "_init_callback_context"):
            n_most = None if n_tasks is None else n_tasks + n_fits
            self._fit = estimator._init_callback_context(max_subtasks=n_most)
            self._fit.call_on_fit_task_begin(estimator=estimator, **self._data)

    def over(self, items):
        """Yield items, and begin a task with each, until a callback asks to stop."""
        for item in items:
            self.begin()
            yield item
            if self.end():
                return

    def begin(self):
        """Begin a task."""
        self._is_open = True
        self._began = time.perf_counter()
        if self._fit is not None:
            self._task = self._fit.subcontext(task_name=self._name)
            self._task.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end(self):
        """End a task; return whether there should be no more."""
        self.n_done += 1
        self._is_open = False
        if getattr(self._estimator, "verbose", False):
            print(f"{self._name.capitalize()} {self._done}: {self.message}")
        elif self.n_done == 2 and not getattr(self._estimator, "_skl_callbacks", None):
            self._log_if_long()
        state = self.state
        fitted = None if state is None else lambda: self._fitted(state())
        self.is_over |= self._end(self._task, fitted)
        return self.is_over

    def _log_if_long(self):
        """Log once that a fit that shows nothing will take over a minute.

        The second task is timed, since the first one may compile loops.
        """
        n_left = (self.n_alike or 2) - 2
        seconds = (time.perf_counter() - self._began) * n_left
        if seconds > _SILENT_SECONDS:
            logging.getLogger("sklearn_talr").warning(
                f"{type(self._estimator).__name__}: {self._name} {self._done} is done, "
                f"and the remaining {self._name}s may take "
                f"{math.ceil(seconds / 60)} minutes. "
                f"verbose=True prints each {self._name}."
            )

    def nested(self, name):
        """Return a context in which another estimator is fitted, as a task of this fit.

        Parameters
        ----------
        name : str
            What callbacks call the task.

        Returns
        -------
        context : callable
            ``context(estimator)``, which may be entered in another process.
        """
        if self._fit is None:
            return nullcontext
        task = self._fit.subcontext(task_name=name)
        return partial(_nested, task, self._estimator, self._data)

    def break_off(self):
        """Leave the fit unfinished for callbacks.

        At the end of a fit a progress bar would show all tasks as done.
        """
        self._fit = self._task = None
        self._is_open = False

    def finish(self, state=None):
        """End the fit with a state; return the attributes of the fitted estimator."""
        fitted = self._fitted(self.state() if state is None else state)
        self._end(self._fit, fitted)
        return fitted

    def _end(self, task, fitted):
        return task is not None and task.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=fitted, **self._data
        )

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None and self._is_open:
            # A break has left the loop of tasks.
            self.end()
        is_kept = self.n_done >= self.n_least and self._estimator is not None
        if kind is not KeyboardInterrupt or not is_kept:
            return False
        self.is_over = True
        self.break_off()
        warn_caller(
            f"{type(self._estimator).__name__} was interrupted after {self._done} "
            f"{self._name}s, and keeps {self.outcome}.",
            ConvergenceWarning,
        )
        return True

    @property
    def _done(self):
        """How many tasks are done, in words."""
        if self._n_tasks:
            return f"{self.n_done} of {self._n_tasks}"
        return f"{self.n_done}"


@contextmanager
def _nested(task, owner, data, estimator):
    """The task of an estimator that is the fit of another one."""
    with task.propagate_callback_context(estimator):
        task.call_on_fit_task_begin(estimator=owner, **data)
        yield
        task.call_on_fit_task_end(estimator=owner, **data)
