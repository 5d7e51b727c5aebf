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
        What needs the names, for an error. None: each name is public itself.

    Returns
    -------
    getattr : callable
        Imports a name. If that needs PyTorch and there is none, the error says so.

    dir : callable
        Lists all names, so that completion shows them.
    """
    names = _LazyNames(package, homes, what)
    return names.get, names.list


class _LazyNames:
    """Names of a package and the modules that define them, see :func:`lazy_names`."""

    def __init__(self, package, homes, what):
        self._package = package
        self._homes = homes
        self._what = what

    def get(self, name):
        """Import the value of a name."""
        if name not in self._homes:
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}")
        home = self._homes[name]
        try:
            module = import_module(f".{home}", self._package)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            require_torch(self._what or f"{self._package}.{name}")
            raise
        return module if home == name else getattr(module, name)

    def list(self):
        """All names of the package: private ones, lazy ones and those of ``__all__``."""
        module = sys.modules[self._package]
        private_names = {name for name in vars(module) if name[0] == "_"}
        public_names = {*self._homes, *getattr(module, "__all__", ())}
        return sorted(private_names | public_names)


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
