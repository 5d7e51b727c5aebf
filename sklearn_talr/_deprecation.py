"""The one way to rename or remove what is public: old names work on, and warn.

Nothing is deprecated now. ``CONTRIBUTING.md`` says how to use this file, and
``tests/test_deprecation.py`` fails once something outlives the version of its removal.
"""

import functools
import sys
import warnings


def deprecated_parameters(*, since, removed, **names):
    """Let a function or an estimator take the old names of parameters, with a warning.

    It is the outermost decorator of a function or class, whose own signature has the new
    names only. Estimators also take old names in ``set_params``, and so in grids of
    parameters. They never return an old name, so that a clone warns of nothing. Pickles
    that hold an old name are read without a warning.

    Parameters
    ----------
    since, removed : str
        Versions such as ``"0.2"``: the first that warns, and the first that no longer takes
        the old names. There are two releases between, or more.

    **names : str or None
        The new name of each old one. None: the parameter has no effect any more.

    Returns
    -------
    decorator : callable
        Takes a function or a class and returns it, a class as itself.
    """
    _check_versions(since, removed)

    def decorate(decorated):
        owner = decorated.__name__

        def current(values):
            return _with_new_names(owner, values, names, since, removed)

        if not isinstance(decorated, type):
            return _translating(decorated, current)
        decorated.__init__ = _translating(decorated.__init__, current)
        decorated.set_params = _translating(decorated.set_params, current)
        decorated.__setstate__ = _reading_old_states(decorated.__setstate__, names)
        return decorated

    return decorate


def renamed_names(package, names, *, since, removed, otherwise=None):
    """Make a ``__getattr__`` of a module in which public names have been renamed.

    Parameters
    ----------
    package : str
        Name of the module.

    names : dict of str to str
        The new name of each old one, both in this module.

    since, removed : str
        As in `deprecated_parameters`.

    otherwise : callable, default=None
        The module's own ``__getattr__``. None means that it has none.

    Returns
    -------
    getattr : callable
        Returns what has the new name, and warns.
    """
    _check_versions(since, removed)
    module = sys.modules[package]

    def get(name):
        if name in names:
            new = names[name]
            _warn(f"{package}.{name}", f"{package}.{new}", since, removed)
            return getattr(module, new)
        if otherwise is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return otherwise(name)

    return get


def _translating(function, current):
    """The function, which takes what `current` makes of keyword arguments."""

    @functools.wraps(function)
    def translated(*args, **kwargs):
        return function(*args, **current(kwargs))

    return translated


def _reading_old_states(setstate, names):
    """The method ``__setstate__``, which knows old names of attributes."""

    @functools.wraps(setstate)
    def set_old_state(self, state):
        state = {names.get(name, name): value for name, value in state.items()}
        state.pop(None, None)
        setstate(self, state)

    return set_old_state


def _with_new_names(owner, values, names, since, removed):
    """Keyword arguments by their new names, without those that have no effect."""
    values = dict(values)
    for old in [name for name in names if name in values]:
        value, new = values.pop(old), names[old]
        if new in values:
            raise TypeError(
                f"{owner} got {old!r} and {new!r}, which are one parameter. "
                f"Pass {new!r} only."
            )
        _warn(f"The parameter {old!r} of {owner}", new and repr(new), since, removed, 5)
        if new is not None:
            values[new] = value
    return values


def _warn(what, instead, since, removed, stacklevel=3):
    """Say what is deprecated and what to use, on behalf of whoever wrote the old name."""
    change = f"was renamed to {instead}" if instead else "has no effect any more"
    remedy = f"Use {instead} in its place." if instead else "Leave it out."
    message = (
        f"{what} {change} in version {since}, and an error from version {removed} on. "
        f"{remedy}"
    )
    warnings.warn(message, FutureWarning, stacklevel=stacklevel)


def _check_versions(since, removed):
    """Refuse a removal that comes before two releases have warned."""
    first, last = ([int(part) for part in text.split(".")] for text in (since, removed))
    if last <= first or (last[0] == first[0] and last[1] < first[1] + 2):
        raise ValueError(
            f"removed={removed!r} must be two releases or more after since={since!r}."
        )
