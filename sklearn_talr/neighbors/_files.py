"""Folders of plain arrays: an index, its targets and its hasher, without pickle.

A folder holds `index.json` and a folder of files that it names. New files are written
beside the old ones and flushed. Then one rename replaces `index.json`, and the old files
go. So there is either the old content or the new one, and arrays that are mapped stay.
"""

import json
import os
import shutil
import zipfile
from importlib import import_module
from pathlib import Path
from types import FunctionType
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

from ..affinity import BaseAffinity
from ..codes._factors import Terms
from ..codes._scores import fixed
from ..measures import Measure
from ._index import Index
from ._read import Columns
from ._targets import Targets

_FORMAT, _VERSION = "sklearn-talr index", 4
_CSR_PARTS = "data", "indices", "indptr"
_OURS = __name__.split(".")[0] + "."


def save_index(path, kind, params, index, hasher=None):
    """Write a folder that :func:`load_index` reads.

    `kind` is the name of the estimator's class. A `hasher` is stored, too. Raises
    ValueError where parameters, targets or hasher have no plain form, or the folder holds
    something else.
    """
    path, targets, values = Path(path), index.targets, index.targets.values
    if isinstance(params["scoring"], Measure):
        params = params | {"scoring": str(params["scoring"])}
    if callable(params["scoring"]):
        raise ValueError("scoring is a function, which cannot be saved; set a name.")
    affinity = None if targets.affinity is None else targets.affinity.to_plain()
    arrays = {"words": index.words, "numbers": index.numbers, **index.terms._asdict()}
    if sp.issparse(values):
        csr = sp.csr_array(values)
        arrays |= {f"targets_{part}": getattr(csr, part) for part in _CSR_PARTS}
    elif values is not None and values.dtype.hasobject:
        raise ValueError("y holds Python objects, which cannot be saved; use one type.")
    else:
        arrays["targets"] = values
    arrays = {name: np.asarray(a) for name, a in arrays.items() if a is not None}
    names, folder = index.columns.names, f"data-{uuid4().hex}"
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "kind": kind,
        "bitorder": "little",
        "n_bits": index.columns.n_bits,
        "n_samples": index.n_indices,
        "params": params | {"affinity": None},
        "affinity": affinity,
        "affinity_is_auto": isinstance(params["affinity"], str),
        "targets_shape": values.shape if sp.issparse(values) else None,
        "feature_names": None if names is None else names.tolist(),
        "folder": folder,
        "shapes": {name: array.shape for name, array in arrays.items()},
    }
    header = json.dumps(header, default=np.generic.item, indent=1)  # integers of NumPy
    stored = None if hasher is None else _store_hasher(hasher)
    is_new = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    if not is_new and not (path / "index.json").exists():
        raise ValueError(f"{path} exists and is no folder that `save` has written.")
    path.mkdir(parents=True, exist_ok=True)
    aside = path / f"{folder}.json"
    try:
        (path / folder).mkdir()
        for name, array in arrays.items():
            with open(path / folder / f"{name}.npy", "xb") as file:
                np.save(file, array, allow_pickle=False)
                _flush(file)
        contents = {path / folder / "hasher.skops": stored, aside: header.encode()}
        for place, content in contents.items():
            if content is not None:
                with open(place, "xb") as file:
                    file.write(content)
                    _flush(file)
        os.replace(aside, path / "index.json")
    except BaseException:
        aside.unlink(missing_ok=True)
        shutil.rmtree(path / folder, ignore_errors=True)
        raise
    for old in path.glob("data-*"):
        if old.is_dir() and old.name != folder:
            shutil.rmtree(old, ignore_errors=True)
        elif not old.is_dir():  # of a save that was killed
            old.unlink(missing_ok=True)


def _flush(file):
    file.flush()
    os.fsync(file.fileno())


def load_index(path, kind, mmap, restore=None):
    """Read a folder that :func:`save_index` has written for the same `kind`.

    ``restore(file)`` is the FittedHasher of a file. Returns the parameters of the
    constructor, the Index, and the FittedHasher or None. Raises ValueError if files are
    damaged or contradict each other, or the kind is another.
    """
    path = Path(path)
    with open(path / "index.json", "rb") as file:  # a missing folder is no damaged one
        text = file.read()
    try:
        header = json.loads(text)
        is_ours = header["format"] == _FORMAT
    except (KeyError, TypeError, ValueError, RecursionError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"{path} is no folder that `save` of an estimator has written.")
    if header.get("version") != _VERSION:
        raise ValueError(
            f"{path} has version {header.get('version')!r} of the format, and this package "
            f"reads version {_VERSION}. Load it by the release that saved it."
        )
    if header.get("kind") != kind:
        raise ValueError(
            f"{path} was saved by {header.get('kind')}; load it by that class, not {kind}."
        )
    hasher = None
    if restore is not None:
        hasher = restore(path / str(header.get("folder")) / "hasher.skops")
    try:
        arrays = {}
        for name, shape in header["shapes"].items():
            # Mapped in any case, which fails where a file is shorter than its array.
            mapped = np.load(path / header["folder"] / f"{name}.npy", mmap_mode="r")
            if mapped.shape != tuple(shape):
                raise ValueError(f"{name} has shape {mapped.shape} in place of {shape}.")
            arrays[name] = fixed(mapped) if mmap else np.array(mapped)
        params, index = _rebuild(header, arrays, hasher)
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError) as error:
        raise ValueError(f"{path} lacks or misstates {error}; save it anew.") from error
    except (ValueError, EOFError, MemoryError) as error:
        raise ValueError(
            f"The files of {path} are damaged or contradict each other: {error}. "
            "Then save it anew."
        ) from error
    return params, index, hasher


def _rebuild(header, arrays, hasher):
    """Parameters and Index of what was read, whose parts do not contradict each other."""
    n_bits, n_samples = header["n_bits"], header["n_samples"]
    words, numbers = fixed(arrays["words"]), arrays.get("numbers")
    affinity = header["affinity"]
    affinity = None if affinity is None else BaseAffinity.from_plain(affinity)
    terms = Terms(*(arrays.get(name) for name in Terms._fields))
    values = arrays.get("targets")
    if header["targets_shape"] is not None:
        parts = tuple(arrays[f"targets_{part}"] for part in _CSR_PARTS)
        if np.any(parts[2][1:] < parts[2][:-1]):  # which SciPy overlooks below 0
            raise ValueError("targets_indptr descends.")
        values = sp.csr_array(parts, shape=header["targets_shape"])
        values.check_format(full_check=True)
    names = header["feature_names"]
    names = None if names is None else np.array(names, dtype=object)
    n_items, n_bytes = words.shape[1], len(words) * words.dtype.itemsize
    word = next(size for size in (8, 4, 2, 1) if n_bytes % size == 0)
    spare = 8 * word - 1 - (n_bits - 1) % (8 * word)
    limit = words.dtype.type((1 << (8 * word - spare)) - 1)
    sound = {
        "n_bits": type(n_bits) is int and 8 * n_bytes - 8 < n_bits <= 8 * n_bytes,
        "n_samples": type(n_samples) is int and n_samples >= n_items > 0,
        "bitorder": header["bitorder"] == "little",
        "words": words.dtype == f"u{word}" and words[-1].max() <= limit,
        "numbers": numbers is not None or n_items == n_samples,
        "terms": _are_sound(terms, n_items),
        "feature_names": names is None or names.shape == (n_bits,),
        "targets": (affinity is None) == (values is None),
    }
    if numbers is not None:
        sound["numbers"] = _are_numbers(numbers, n_items, n_samples)
    if values is not None and sound["targets"]:
        checked = affinity.check_targets(values)
        sound["targets"] = (
            values.dtype.kind in "biufUSmM"
            and checked.shape == values.shape
            and values.shape[0] == n_samples
        )
        if not affinity.by_number:
            one = values[:1], values[:1]
            affinity.level_index(*one, affinity.levels_between(*one))
    if not all(sound.values()):
        raise ValueError(
            ", ".join(name for name, is_sound in sound.items() if not is_sound)
        )
    params = header["params"] | {
        "affinity": "auto" if header["affinity_is_auto"] else affinity
    }
    columns = Columns(n_bits, names, header["kind"])
    rest = n_samples, numbers, Targets(affinity, values), hasher
    return params, Index(words, terms, columns, *rest)


def _are_numbers(numbers, n_items, n_samples):
    """Whether so many indices ascend, each below the number of samples."""
    if numbers.shape != (n_items,) or numbers.dtype.kind != "i":
        return False
    return (
        bool(np.all(numbers[1:] > numbers[:-1]))
        and 0 <= numbers[0] <= numbers[-1] < n_samples
    )


def _are_sound(terms, n_items):
    """Whether terms are finite numbers, or bytes and tables, for so many codes."""
    given, *octets, factor_table, length_table = terms
    shapes = [(n_items, 1), (n_items, 2)], [(n_items,)], [(n_items,)], [(256,)], [(256, 2)]
    kinds = np.float32, np.uint8, np.uint8, np.float32, np.float32
    for array, shape, kind in zip(terms, shapes, kinds):
        if array is None:
            continue
        if array.shape not in shape or array.dtype != kind or not np.isfinite(array).all():
            return False
    pairs = zip(octets, (factor_table, length_table))
    has_all = all((each is None) == (table is None) for each, table in pairs)
    return has_all and (given is None or octets == [None, None])


def _store_hasher(hasher):
    """Bytes of a fitted hasher, of which it can be built again.

    Raises ValueError, which names the parameter, where skops cannot store some part of the
    hasher, or would not find it again.
    """
    skops = _skops()
    try:
        return _stored(hasher, skops)
    except Exception as error:  # of any type, since parts may be anything
        broken = []
        for name, value in _parameters(hasher).items():
            try:
                _stored(value, skops)
            except Exception:
                broken.append(name)
        culprit = ""
        if broken:  # of a step and its parameter the latter
            name = max(broken, key=lambda name: name.count("__"))
            kind = type(_parameters(hasher)[name]).__name__
            culprit = f", because of its parameter {name} ({kind})"
        raise ValueError(
            f"hasher cannot be saved without pickle{culprit}: {error!r}. "
            "Take functions and classes of an importable module. Or pickle the estimator, "
            "or fit HammingNeighbors or WeightedHammingNeighbors to its `codes_`, and save "
            "that without the hasher."
        ) from error


def restore_hasher(path, trusted):
    """The hasher of a file.

    Its parts may be of types that skops trusts, of this package's, and of `trusted`. Raises
    ValueError where the file holds other types, or is damaged.
    """
    skops, name = _skops(), f"The hasher of {path.parent.parent}"
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > path.stat().st_size:
                raise ValueError("its parts are larger than the file")
        data = path.read_bytes()
        found = skops.get_untrusted_types(data=data)
        unknown = sorted(each for each in set(found) - set(trusted) if not _is_ours(each))
        if not unknown:
            return skops.loads(data, trusted=found)
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
        if isinstance(function, FunctionType):  # skops finds it by its name
            module = import_module(function.__module__)
            if getattr(module, function.__name__, None) is not function:
                raise TypeError(f"no module has {function.__qualname__} under its name")
    stored = skops.dumps(part)
    skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    return stored


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
