"""Telling scikit-learn's callbacks about a fit and its epochs."""


class FitCallbacks:
    """Tells the callbacks of an estimator about its fit and the epochs of it.

    Parameters
    ----------
    estimator : estimator
        Estimator that is fitted, whose callbacks are told.

    X, y : features and targets
        Training data, which callbacks are shown.

    n_epochs : int
        At most so many epochs follow.

    fitted : callable
        ``fitted() -> dict`` of the attributes that the estimator would have if training
        stopped now.
    """

    def __init__(self, estimator, X, y, n_epochs, fitted):
        self._estimator = estimator
        self._data = {"X": X, "y": y}
        self._fitted = fitted
        self._fit = self._epoch = None
        if hasattr(estimator, "_init_callback_context"):
            self._fit = estimator._init_callback_context(max_subtasks=n_epochs)
            self._fit.call_on_fit_task_begin(estimator=estimator, **self._data)

    def begin(self):
        """An epoch begins."""
        if self._fit is not None:
            self._epoch = self._fit.subcontext(task_name="epoch")
            self._epoch.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end(self):
        """An epoch has ended; return whether a callback wants to stop."""
        return self._end(self._epoch)

    def break_off(self):
        """Leave the fit unfinished for callbacks, since training was interrupted.

        At the end of a fit a progress bar would show all epochs as done.
        """
        self._fit = None

    def end_fit(self):
        """All epochs are done, or a callback or the validation score ended training."""
        self._end(self._fit)

    def _end(self, context):
        if context is None:
            return False
        return context.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=self._fitted,
            **self._data,
        )
