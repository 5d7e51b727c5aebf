"""Names of a package that are imported when they are first used."""

import sys
from importlib import import_module


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
            raise ModuleNotFoundError(
                f"{what or f'{package}.{name}'} needs PyTorch, which is not installed. "
                "Install it, for instance by pip install torch.",
                name="torch",
            ) from error
        return module if homes[name] == name else getattr(module, name)

    def names():
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names
