"""Private names of scikit-learn, and differences of its versions.

Other modules take these names from here, and none compares versions itself.
"""

import inspect
from functools import wraps
from importlib import import_module

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils import check_random_state
from sklearn.utils._array_api import _convert_to_numpy as convert_to_numpy
from sklearn.utils._array_api import get_namespace_and_device
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

from .types import Any, Callable, Function

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn below 1.9

    class CallbackSupportMixin:
        """Stand-in for scikit-learn's mixin, with which no callback can be set."""

    def _with_callbacks(method):
        """Return a `fit` as it is, since there are no callbacks to be put away."""
        return method


def available_if(check: Any) -> Callable[[Function], Function]:
    """Decorate a method that some instances lack; scikit-learn's, with types."""
    return _available_if(check)


def with_callbacks(method: Function) -> Function:
    """Decorate a `fit`, which puts callbacks away after."""
    return _with_callbacks(method)


def fit_method(method: Function) -> Function:
    """Decorate a `fit`: parameters are checked before, and callbacks are put away after."""
    return fit_context(prefer_skip_nested_validation=True)(with_callbacks(method))


def independent_random_state(random_state):
    """Make a generator as check_random_state does, but None leaves the global one alone."""
    seed = np.random.RandomState() if random_state is None else random_state
    return check_random_state(seed)


def optional(name: str, message: str) -> Any:
    """Import an optional package; raise ModuleNotFoundError with `message` without it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ModuleNotFoundError(message, name=error.name) from error


def validated(**constraints: Any) -> Callable[[Function], Function]:
    """Decorate a function, so that it checks its parameters when it is called.

    Parameters that are not named here are not checked: the function checks them itself, if
    its errors can name a remedy. Functions that it calls check no parameters, either.
    """

    def decorate(function):
        signature = inspect.signature(function)
        unchecked = dict.fromkeys(signature.parameters, "no_validation")
        check = validate_params(unchecked | constraints, prefer_skip_nested_validation=True)
        checked = check(function)

        @wraps(checked)
        def call(*args, **kwargs):
            try:
                return checked(*args, **kwargs)
            except TypeError:
                _refuse_arguments(function.__qualname__, signature, args, kwargs)
                raise

        return call

    return decorate


def _refuse_arguments(name, signature, args, kwargs):
    """Raise TypeError, which names the function, if a call does not fit its signature."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None
