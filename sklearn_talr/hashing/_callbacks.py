"""Telling scikit-learn's callbacks about a fit and its tasks, such as epochs."""


class FitCallbacks:
    """Tells the callbacks of an estimator about its fit and the tasks of it.

    Parameters
    ----------
    estimator : estimator
        Estimator that is fitted, whose callbacks are told.

    X, y : features and targets
        Training data, which callbacks are shown.

    n_tasks : int
        At most so many tasks follow.

    fitted : callable, default=None
        ``fitted() -> dict`` of the attributes that the estimator would have if training
        stopped now. None while there are none; it may be set later.
    """

    def __init__(self, estimator, X, y, n_tasks, fitted=None):
        self._estimator = estimator
        self._data = {"X": X, "y": y}
        self.fitted = fitted
        self._fit = self._task = None
        if hasattr(estimator, "_init_callback_context"):
            self._fit = estimator._init_callback_context(max_subtasks=n_tasks)
            self._fit.call_on_fit_task_begin(estimator=estimator, **self._data)

    def begin(self, name="epoch"):
        """A task begins."""
        if self._fit is not None:
            self._task = self._fit.subcontext(task_name=name)
            self._task.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end(self):
        """A task has ended; return whether a callback wants to stop."""
        return self._end(self._task)

    def break_off(self):
        """Leave the fit unfinished for callbacks, since training was interrupted.

        At the end of a fit a progress bar would show all epochs as done.
        """
        self._fit = None

    def end_fit(self):
        """All tasks are done, or a callback or the validation score ended training."""
        self._end(self._fit)

    def _end(self, context):
        if context is None:
            return False
        return context.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=self.fitted,
            **self._data,
        )
