"""What a fit tells meanwhile: how far it is, and warnings at the line that called it."""

import logging
import math
import sys
import time
import warnings
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial

from sklearn.exceptions import ConvergenceWarning

_SILENT_SECONDS = 60
_INNER = {"sklearn_talr", "sklearn", "contextlib"}  # frames that no warning points to

_first_row = ContextVar("first_row", default=0)


@contextmanager
def at_row(first_row):
    """Context in which features are a block of the user's, from a row on."""
    token = _first_row.set(first_row)
    try:
        yield
    finally:
        _first_row.reset(token)


def number_of_row(row):
    """Number of a row among all that the user has passed, for warnings."""
    return _first_row.get() + row


def warn_caller(message, category=UserWarning):
    """Warn at the line that called the library: the first frame outside of it."""
    level, frame = 2, sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in _INNER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Progress:
    """Tells callbacks how far the fit of an estimator is, and prints it under `verbose`.

    Tasks stand in the block of a ``with`` statement. Ctrl-C ends that block with a warning,
    and what the tasks done have led to is kept. Before `n_least` are done, or where there
    is no estimator to be told of, the interrupt is passed on.

    Parameters
    ----------
    estimator : estimator, default=None
        What is fitted. None: nobody is told anything.

    X, y : features and targets, default=None
        Training data, which callbacks are shown.

    n_tasks : int or None, default=0
        At most so many tasks follow; None if nobody knows.

    name : str, default="task"
        What a task is called.

    state : callable, default=None
        ``state()`` is what the tasks done have led to, also in the middle of the next one.
        It may be set later; as long as it is None, callbacks see no fitted estimator.

    fitted : callable, default=dict
        ``fitted(state) -> dict`` of the attributes that the estimator then has.

    n_fits : int, default=0
        So many fits of other estimators come besides, see :meth:`nested`.

    Attributes
    ----------
    told : str
        What is printed of a task beside its number.

    kept : str
        What an interrupt keeps, for the warning.

    n_alike : int
        Number of tasks that take as long as the first ones; all, unless it is set.

    n_done, n_least : int
        Number of tasks done, and that from which on an interrupt keeps anything.

    is_over : bool
        Whether a callback or an interrupt wants no more tasks.
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
        self._estimator, self._data, self._fitted = estimator, {"X": X, "y": y}, fitted
        self._n_tasks, self.n_alike, self._name = n_tasks, n_tasks, name
        self.state, self.told, self.kept = state, "done", "what these have led to"
        self.n_done, self.n_least, self.is_over, self._is_open = 0, 1, False, False
        self._fit = self._task = None
        if hasattr(estimator, "_init_callback_context"):
            n_most = None if n_tasks is None else n_tasks + n_fits
            self._fit = estimator._init_callback_context(max_subtasks=n_most)
            self._fit.call_on_fit_task_begin(estimator=estimator, **self._data)

    def over(self, items):
        """Yield items, with each of which a task begins, until a callback wants to stop."""
        for item in items:
            self.begin()
            yield item
            if self.end():
                return

    def begin(self):
        """A task begins."""
        self._is_open, self._began = True, time.perf_counter()
        if self._fit is not None:
            self._task = self._fit.subcontext(task_name=self._name)
            self._task.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end(self):
        """A task has ended; return whether there should be no more."""
        self.n_done, self._is_open = self.n_done + 1, False
        if getattr(self._estimator, "verbose", False):
            print(f"{self._name.capitalize()} {self._done}: {self.told}")
        elif self.n_done == 2 and not getattr(self._estimator, "_skl_callbacks", None):
            # A fit that nobody sees, and that takes over a minute, says so once; by its
            # second task, since the first one may compile loops.
            seconds = (time.perf_counter() - self._began) * ((self.n_alike or 2) - 2)
            if seconds > _SILENT_SECONDS:
                logging.getLogger("sklearn_talr").warning(
                    f"{type(self._estimator).__name__}: {self._name} {self._done} is done, "
                    f"and the others may take {math.ceil(seconds / 60)} minutes. "
                    "verbose=True tells of each."
                )
        state = self.state
        fitted = None if state is None else lambda: self._fitted(state())
        self.is_over |= self._end(self._task, fitted)
        return self.is_over

    def nested(self, name):
        """Return a context in which an estimator is fitted, whose tasks come below.

        Parameters
        ----------
        name : str
            What the task is called.

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
        """All has led to this state; return the attributes of the fitted estimator."""
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
        if kind is None and self._is_open:  # the loop has been left by a break
            self.end()
        is_kept = self.n_done >= self.n_least and self._estimator is not None
        if kind is not KeyboardInterrupt or not is_kept:
            return False
        self.is_over = True
        self.break_off()
        estimator = type(self._estimator).__name__
        done = f"{self._done} {self._name}s, and keeps {self.kept}"
        warn_caller(f"{estimator} was interrupted after {done}.", ConvergenceWarning)
        return True

    @property
    def _done(self):
        return f"{self.n_done}" + (f" of {self._n_tasks}" if self._n_tasks else "")


@contextmanager
def _nested(task, owner, data, estimator):
    """The task of an estimator that is the fit of another one."""
    with task.propagate_callback_context(estimator):
        task.call_on_fit_task_begin(estimator=owner, **data)
        yield
        task.call_on_fit_task_end(estimator=owner, **data)
