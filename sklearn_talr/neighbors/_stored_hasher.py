"""A fitted hasher in a file, without pickle, by skops."""

import zipfile
from importlib import import_module
from types import FunctionType

from .._core.compat import optional
from .._core.fitted_hasher import FittedHasher

_THIS_PACKAGE = __name__.split(".")[0] + "."


def store_hasher(hasher):
    """Write a fitted hasher as bytes, which `restore_hasher` reads.

    Raises ValueError, which names the parameter, if skops cannot store a part of the
    hasher, or would not find it again.
    """
    skops = _import_skops()
    try:
        return _dump_and_load(hasher, skops)
    except Exception as error:  # Parts of a hasher may raise an error of any type.
        culprit = _describe_culprit(hasher, skops)
        raise ValueError(
            f"hasher cannot be saved without pickle{culprit}: {error!r}. "
            "Take functions and classes of an importable module. Or pickle the estimator, "
            "or fit HammingNeighbors or WeightedHammingNeighbors to its `codes_`, and save "
            "that without the hasher."
        ) from error


def _describe_culprit(hasher, skops):
    """Name of the innermost parameter that cannot be stored; "" if there is none."""
    parameters = sorted(_parameters(hasher).items(), key=_rank_of_parameter)
    for name, part in parameters:
        try:
            _dump_and_load(part, skops)
        except Exception:
            return f", because of its parameter {name} ({type(part).__name__})"
    return ""


def _rank_of_parameter(name_and_value):
    """Sort key: parameters of steps come first, then steps, and lists of steps last."""
    name, value = name_and_value
    return -name.count("__"), type(value) is list


def _dump_and_load(part, skops):
    """Bytes of a hasher or of a part of it, which have been loaded once."""
    for value in (part, *_parameters(part).values()):
        if isinstance(value, FunctionType):  # skops finds functions by their names.
            module = import_module(value.__module__)
            if getattr(module, value.__name__, None) is not value:
                raise TypeError(f"no module has {value.__qualname__} under its name")
    dumped = skops.dumps(part)
    skops.loads(dumped, trusted=skops.get_untrusted_types(data=dumped))
    return dumped


def _parameters(part):
    """Parameters of an estimator and of its steps, by name, without plain values."""
    parameters = {}
    if hasattr(part, "get_params") and not isinstance(part, type):
        for name, value in part.get_params().items():
            if not isinstance(value, str | float | int | None):
                parameters[name] = value
            # get_params of a FrozenEstimator lacks the parameters of its estimator.
            for inner_name, inner_value in _parameters(value).items():
                parameters[f"{name}__{inner_name}"] = inner_value
    return parameters


def restore_hasher(path, trusted):
    """Read the hasher of a file.

    Its parts may be of types that skops trusts, types of this package, and types of
    `trusted`. Raises ValueError if the file holds other types, or is damaged.
    """
    skops = _import_skops()
    name = f"The hasher of {path.parent.parent}"
    try:
        _refuse_large_parts(path)
        data = path.read_bytes()
        types = skops.get_untrusted_types(data=data)
        unknown = [dotted for dotted in set(types) - set(trusted) if not _is_ours(dotted)]
        hasher = None
        if not unknown:
            hasher = FittedHasher.from_estimator(skops.loads(data, trusted=types))
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{name} has a part that is not here: {error}. It was saved with another "
            "version of sklearn-talr, or with a module that cannot be imported: load it "
            "with those, or fit and save it anew."
        ) from error
    except Exception as error:  # Damaged bytes may raise an error of any type.
        raise ValueError(f"{name} is damaged; save it anew.") from error
    if unknown:
        unknown = sorted(unknown)
        raise ValueError(
            f"{name} holds the types {unknown}. If you trust them, pass trusted={unknown}."
        )
    if not hasattr(hasher.hasher, "encode"):
        raise ValueError(f"{name} is {hasher.name}, which is no hasher.")
    return hasher


def _refuse_large_parts(path):
    """Raise ValueError if an archive, which skops writes uncompressed, would inflate."""
    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(info.file_size for info in archive.infolist())
    if n_bytes > path.stat().st_size:
        raise ValueError("its parts are larger than the file")


def _is_ours(name):
    """Whether a dotted name is the name of a class of this package."""
    if not name.startswith(_THIS_PACKAGE):
        return False
    module, _, attribute = name.rpartition(".")
    value = getattr(import_module(module), attribute)
    return isinstance(value, type) and value.__module__ == module


def _import_skops():
    return optional(
        "skops.io",
        "Saving a hasher needs skops: pip install skops. Or pickle the estimator, if "
        "nobody else can change the file.",
    )
