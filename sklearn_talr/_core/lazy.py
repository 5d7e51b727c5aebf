"""Names of a package that are imported when they are first used."""

import sys
from importlib import import_module
from importlib.util import find_spec


def lazy_names(package, homes, what=None):
    """Make ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Name of the package.

    homes : dict of str to str
        Public names, and the modules below the package that define them. A module that
        is public itself is its own home.

    what : str, default=None
        What an error says that the names are needed for. None: each is public itself.

    Returns
    -------
    getattr : callable
        Imports a name. Where that needs PyTorch and there is none, the error says so.

    dir : callable
        Lists all names, so that completion shows them.
    """

    def get(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(f".{homes[name]}", package)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            require_torch(what or f"{package}.{name}")
            raise
        return module if homes[name] == name else getattr(module, name)

    def names():
        module = sys.modules[package]
        own = {name for name in vars(module) if name[0] == "_"}
        return sorted(own | {*homes, *getattr(module, "__all__", ())})

    return get, names


def has_torch():
    """Whether PyTorch is installed; it is not imported."""
    try:
        return find_spec("torch") is not None
    except ImportError:
        return False


def require_torch(what):
    """Raise ModuleNotFoundError, with how to install it, if there is no PyTorch."""
    if not has_torch():
        raise ModuleNotFoundError(
            f"{what} needs PyTorch, which is not installed. Install it by "
            "pip install 'sklearn-talr[torch]'.",
            name="torch",
        )
