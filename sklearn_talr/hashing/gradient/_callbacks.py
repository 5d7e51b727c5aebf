"""Telling scikit-learn's callbacks about a fit and its epochs."""


class FitCallbacks:
    """Tells the callbacks of an estimator about its fit and the epochs of it.

    Parameters
    ----------
    estimator : estimator
        May have callbacks set, and is told to them.

    X, y : features and targets
        What is fitted, shown to callbacks.

    n_epochs : int
        At most so many epochs follow.

    fitted : callable
        ``fitted() -> dict`` of attributes of the estimator, had training stopped now.
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
        """Training was interrupted: of this fit callbacks are told no end.

        By its end a progress bar would show all epochs as done.
        """
        self._fit = None

    def end_fit(self):
        """All epochs are done, or a callback or early stopping wanted no more."""
        self._end(self._fit)

    def _end(self, context):
        if context is None:
            return False
        return context.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=self._fitted,
            **self._data,
        )
