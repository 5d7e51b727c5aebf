"""Fitted hashers as bytes, by skops: without pickle, and with types that are trusted."""

import io
import zipfile
from importlib import import_module
from types import FunctionType

import numpy as np
from sklearn.frozen import FrozenEstimator

from ._archive import FileError, check_sizes

_OURS = __name__.split(".")[0] + "."


def store_hasher(hasher):
    """Bytes of a fitted hasher, an array of uint8, of which it can be built again.

    Raises ValueError, which names the parameter, where skops cannot store some part of the
    hasher, or would not find it again.
    """
    skops = _skops()
    try:
        stored = _stored(hasher, skops)
    except Exception as error:  # of any type, since parts may be anything
        raise ValueError(
            f"hasher cannot be saved without pickle{_culprit(hasher, skops)}: {error!r}. "
            "Take functions and classes of an importable module. Or pickle the estimator, "
            "or fit HammingNeighbors or WeightedHammingNeighbors to its `codes_`, and save "
            "that without the hasher."
        ) from error
    return np.frombuffer(stored, dtype=np.uint8)


def restore_hasher(stored, trusted, path):
    """The hasher of stored bytes.

    Its parts may be of types that skops trusts, of this package's, and of `trusted`. Raises
    ValueError where the bytes hold other types, or are compressed or damaged.
    """
    skops, data, name = _skops(), stored.tobytes(), f"The hasher of {path}"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_sizes(archive, len(data), name, "Fit and save it anew.")
        found = skops.get_untrusted_types(data=data)
        unknown = sorted(each for each in set(found) - set(trusted) if not _is_ours(each))
        if not unknown:
            return skops.loads(data, trusted=found)
    except FileError:
        raise
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{name} has a part that is not here: {error}. It was saved with another "
            "version of sklearn-talr, or with a module that cannot be imported: load it "
            "with those, or fit and save it anew."
        ) from error
    except Exception as error:  # of any type, since the bytes may be anything
        raise ValueError(f"{name} is damaged; save it anew.") from error
    raise ValueError(
        f"{name} holds the types {unknown}. If you trust them, pass trusted={unknown}."
    )


def _stored(part, skops):
    """Bytes of a part of a hasher, of which it has been built again."""
    for function in (part, *_parameters(part).values()):
        if isinstance(function, FunctionType) and _named(function) is not function:
            raise TypeError(f"no module has {function.__qualname__} under its name")
    stored = skops.dumps(part)
    skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    return stored


def _culprit(hasher, skops):
    """Name of the innermost parameter that cannot be stored, as words of a message."""
    broken = []
    for name, value in _parameters(hasher).items():
        try:
            _stored(value, skops)
        except Exception:
            broken.append(name)
    if not broken:
        return ""
    name = max(broken, key=lambda name: name.count("__"))
    return f", because of its parameter {name} ({type(_parameters(hasher)[name]).__name__})"


def _parameters(part):
    """Parameters of an estimator and of its steps, by name; none of anything else."""
    if isinstance(part, type) or not hasattr(part, "get_params"):
        return {}
    is_frozen = isinstance(part, FrozenEstimator)  # which tells nothing of what it holds
    found = {"estimator": part.estimator} if is_frozen else part.get_params()
    return found | {
        f"{name}__{inner}": value
        for name, step in found.items()
        if is_frozen or isinstance(step, FrozenEstimator)
        for inner, value in _parameters(step).items()
    }


def _named(function):
    """Whatever skops would find in place of a function, or None."""
    return getattr(import_module(function.__module__), function.__name__, None)


def _is_ours(name):
    """Whether a dotted name is that of a class of this package."""
    module, _, attribute = name.rpartition(".")
    found = getattr(import_module(module), attribute) if name.startswith(_OURS) else None
    return isinstance(found, type) and found.__module__ == module


def _skops():
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Saving a hasher needs skops: pip install skops. Or pickle the estimator, if "
            "nobody else can change the file."
        ) from error
    return skops.io
