"""What differs between the versions of scikit-learn and NumPy that setup.cfg allows.

Other modules take from here what a version may lack, and none asks for a version itself.
"""

import functools

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn below 1.9

    class CallbackSupportMixin:
        """Stand-in for scikit-learn's mixin, with which no callback can be set."""

    def with_callbacks(method):
        """Add one frame to the call, as scikit-learn's does: warnings count frames."""

        @functools.wraps(method)
        def without_callbacks(estimator, *args, **kwargs):
            return method(estimator, *args, **kwargs)

        return without_callbacks


__all__ = ["CallbackSupportMixin", "with_callbacks"]
