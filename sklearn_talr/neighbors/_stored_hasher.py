"""Fitted hashers as bytes, by skops: without pickle, and with types that are trusted."""

from importlib import import_module

import numpy as np

_OURS = __name__.split(".")[0] + "."


def store_hasher(hasher):
    """Bytes of a fitted hasher, an array of uint8.

    Raises ValueError where skops cannot store some part of it.
    """
    try:
        stored = _skops().dumps(hasher)
    except (TypeError, AttributeError) as error:
        raise ValueError(
            f"hasher cannot be saved without pickle: {error} Pickle the estimator, or "
            "save the index alone by that of `hasher.encode(X)`."
        ) from error
    return np.frombuffer(stored, dtype=np.uint8)


def restore_hasher(stored, trusted, path):
    """The hasher of stored bytes.

    Its parts may be of types that skops trusts, of this package's, and of `trusted`. Raises
    ValueError where the bytes hold other types, or are damaged.
    """
    skops, data = _skops(), stored.tobytes()
    try:
        found = skops.get_untrusted_types(data=data)
        unknown = sorted(name for name in set(found) - set(trusted) if not _is_ours(name))
        if not unknown:
            return skops.loads(data, trusted=found)
    except Exception as error:  # of any type, since the bytes may be anything
        raise ValueError(f"The hasher of {path} is damaged; save it anew.") from error
    raise ValueError(
        f"The hasher of {path} holds the types {unknown}. If you trust them, pass "
        f"trusted={unknown}."
    )


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
