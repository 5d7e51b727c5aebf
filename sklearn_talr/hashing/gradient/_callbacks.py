"""scikit-learn's callbacks, where the installed version has them (1.9 and later)."""

import functools

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stand-in for scikit-learn's mixin, with which no callback can be set."""

    def with_callbacks(method):
        """Add one frame to the call, as scikit-learn's does: warnings count frames."""

        @functools.wraps(method)
        def without_callbacks(estimator, *args, **kwargs):
            return method(estimator, *args, **kwargs)

        return without_callbacks


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

    def end_fit(self):
        """All epochs are done, or were stopped."""
        self._end(self._fit)

    def _end(self, context):
        if context is None:
            return False
        return context.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=self._fitted,
            **self._data,
        )
