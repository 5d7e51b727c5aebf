"""Folders of plain arrays: an index, its targets and its hasher, without pickle.

A folder holds `index.json` and a folder of files that it names. New files are written
into a new folder and flushed. Then one rename replaces `index.json`, and the old files go.
So there is either the old content or the new one, and arrays that are mapped stay.
"""

import json
import os
import re
import shutil
import time
import zipfile
from contextlib import suppress
from importlib import import_module
from numbers import Integral
from types import FunctionType
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._core.compat import optional
from .._core.fitted_hasher import FittedHasher
from .._core.paths import local_path
from ..affinity import BaseAffinity
from ..codes import CodeTerms
from ..codes._scores import columns_of, fixed
from ..measures import Measure
from ._ids import ids_from_arrays
from ._index import Index, Targets
from ._read import Columns

_FORMAT, _VERSION = "sklearn-talr index", 6
_CSR_PARTS = "data", "indices", "indptr"
_OURS = __name__.split(".")[0] + "."
_OF_DAMAGE = OSError, EOFError, ValueError, MemoryError


def save_index(path, estimator):
    """Write a fitted estimator to a folder that :func:`load_index` reads.

    Its hasher, if it has one, is stored, too. Raises ValueError where parameters, targets
    or hasher have no plain form, or the folder holds something else.
    """
    path, index = local_path(path), estimator._get_fitted()
    params, targets = estimator.get_params(deep=False), index.targets
    params.pop("hasher", None)
    if not isinstance(params.get("random_state"), Integral):  # which nothing asks any more
        params.pop("random_state", None)
    if isinstance(params["scoring"], Measure):
        params["scoring"] = str(params["scoring"])
    if callable(params["scoring"]):
        raise ValueError("scoring is a function, which cannot be saved; set a name.")
    affinity, values = targets
    affinity = None if affinity is None else affinity.to_plain()
    terms = {name: array for name, array in index.terms._asdict().items() if array.size}
    arrays = {"words": index.words, "numbers": index.numbers, **terms}
    if index.ids is not None:
        arrays |= {f"ids_{name}": array for name, array in index.ids._asdict().items()}
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
        "kind": type(estimator).__name__,
        "bitorder": "little",
        "n_bits": index.n_bits,
        "n_samples": index.n_indices,
        "params": params | {"affinity": _plain_parameter(params["affinity"])},
        "affinity": affinity,
        "targets_shape": values.shape if sp.issparse(values) else None,
        "feature_names": None if names is None else names.tolist(),
        "folder": folder,
        "shapes": {name: array.shape for name, array in arrays.items()},
    }
    header = json.dumps(header, default=np.generic.item, indent=1)  # integers of NumPy
    contents = {f"{name}.npy": array for name, array in arrays.items()}
    if index.hasher is not None:
        contents["hasher.skops"] = _store_hasher(index.hasher.estimator)
    contents["index.json"] = header.encode()
    # Another first save may be going on there, or have been killed.
    is_new = not path.exists() or (path.is_dir() and set(path.iterdir()) <= _saved(path))
    if not is_new and not (path / "index.json").exists():
        raise ValueError(f"{path} exists and is no folder that `save` has written.")
    path.mkdir(parents=True, exist_ok=True)
    try:
        (path / folder).mkdir()
        for name, content in contents.items():
            with open(path / folder / name, "xb") as file:
                if isinstance(content, bytes):
                    file.write(content)
                else:
                    np.save(file, content, allow_pickle=False)
                _flush(file)
        _flush_folders(path / folder, path)
    except BaseException:
        shutil.rmtree(path / folder, ignore_errors=True)
        raise
    try:
        replaced = json.loads((path / "index.json").read_bytes())["folder"]
    except (OSError, ValueError, LookupError, TypeError):  # none yet, or a damaged one
        replaced = None
    os.replace(path / folder / "index.json", path / "index.json")
    _flush_folders(path)
    for old in _saved(path):
        if old.name == replaced or (old.name != folder and _is_left(old)):
            shutil.rmtree(old, ignore_errors=True)


def _plain_parameter(affinity):
    """The parameter `affinity` of an estimator: "auto", or the plain form of an oracle."""
    return affinity if isinstance(affinity, str) else BaseAffinity.of(affinity).to_plain()


def _saved(path):
    """The folders in a folder that saves have written, named by a random number each."""
    return {each for each in path.iterdir() if re.fullmatch("data-[0-9a-f]{32}", each.name)}


def _is_left(folder):
    """Whether a save that was killed has left it: those that go on have young ones."""
    try:
        return time.time() - folder.stat().st_mtime > 3_600
    except FileNotFoundError:  # another save has removed it
        return False


def _flush(file):
    file.flush()
    os.fsync(file.fileno())


def _flush_folders(*paths):
    """Names in folders outlive a loss of power, too, where the system can see to it."""
    for path in paths:
        with suppress(OSError):  # Windows opens no folders
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def load_index(path, kind, mmap, trusted=None):
    """The estimator that :func:`save_index` has written, which must be of the class `kind`.

    Its hasher is stored with it where `trusted` names types that it may have. Raises
    ValueError if files are damaged or contradict each other, or the class is another.
    """
    path = local_path(path)
    while True:
        text = (path / "index.json").read_bytes()  # a missing folder is no damaged one
        try:
            return _load(path, text, kind, mmap, trusted)
        except ValueError:
            if (path / "index.json").read_bytes() == text:
                raise  # else another was saved meanwhile, and these files are gone


def _load(path, text, kind, mmap, trusted):
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
    if header.get("kind") != kind.__name__:
        raise ValueError(
            f"{path} was saved by {header.get('kind')}; load it by that class, not "
            f"{kind.__name__}."
        )
    data, hasher = path / str(header.get("folder")), None
    if trusted is not None:
        hasher = _restore_hasher(data / "hasher.skops", trusted)
    try:
        arrays = {}
        for name, shape in header["shapes"].items():
            # Mapped in any case, which fails if a file is shorter than its array. What is
            # empty cannot be mapped.
            mode = "r" if np.prod(shape) else None
            mapped = np.load(data / f"{name}.npy", mmap_mode=mode)
            if mapped.shape != tuple(shape):
                raise ValueError(f"{name} has shape {mapped.shape} in place of {shape}.")
            arrays[name] = fixed(mapped if mmap else np.array(mapped))
        index = _rebuild(header, arrays, hasher)
        params = dict(header["params"])
        if params["affinity"] != "auto":
            params["affinity"] = BaseAffinity.from_plain(params["affinity"])
        if hasher is not None:
            params["hasher"] = clone(hasher.estimator)
        estimator = kind(**params)
        estimator._validate_params()
    except (*_OF_DAMAGE, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(
            f"{path} lacks or misstates something, or its files are damaged or contradict "
            f"each other: {error}. Then save it anew."
        ) from error
    estimator._fitted = index
    return estimator


def _rebuild(header, arrays, hasher):
    """The Index of what was read, whose parts do not contradict each other."""
    n_bits, n_samples = header["n_bits"], header["n_samples"]
    words, numbers = arrays["words"], arrays.get("numbers")
    affinity, values = header["affinity"], arrays.get("targets")
    affinity = None if affinity is None else BaseAffinity.from_plain(affinity)
    if header["targets_shape"] is not None:
        parts = tuple(arrays[f"targets_{part}"] for part in _CSR_PARTS)
        if np.any(parts[2][1:] < parts[2][:-1]):  # which SciPy overlooks below 0
            raise ValueError("targets_indptr descends.")
        values = sp.csr_array(parts, shape=header["targets_shape"])
        values.check_format(full_check=True)
    names = header["feature_names"]
    names = None if names is None else np.array(names, dtype=object)
    n_items, word = words.shape[1], words.dtype.itemsize
    n_bytes, n_last = len(words) * word, n_bits - 8 * word * (len(words) - 1)
    ids = ids_from_arrays(
        {name[4:]: array for name, array in arrays.items() if name.startswith("ids_")}
    )
    terms = CodeTerms(
        **{name: arrays[name] for name in CodeTerms._fields if name in arrays}
    )
    given, factors, lengths, factor_table, length_table = (each.shape for each in terms)
    sound = {
        "n_bits": type(n_bits) is int and 8 * n_bytes - 8 < n_bits <= 8 * n_bytes,
        "n_samples": type(n_samples) is int and n_samples >= n_items > 0,
        "bitorder": header["bitorder"] == "little",
        "words": words.dtype == columns_of(np.zeros((1, n_bytes), np.uint8)).dtype
        and int(words[-1].max()) < 2**n_last,
        "numbers": n_items == n_samples,
        "ids": ids is None or ids.is_sound(n_items),
        "terms": given in [(0, 0), (n_items, 1), (n_items, 2)]
        and (factors, factor_table) in [((0,), (0,)), ((n_items,), (256,))]
        and (lengths, length_table) in [((0,), (0, 2)), ((n_items,), (256, 2))]
        and not (given[0] and factors[0] + lengths[0])
        and all(
            array.dtype == none.dtype and np.isfinite(array).all()
            for array, none in zip(terms, CodeTerms())
        ),
        "feature_names": names is None or names.shape == (n_bits,),
        "targets": (affinity is None) == (values is None),
    }
    if numbers is not None:
        sound["numbers"] = (
            numbers.shape == (n_items,)
            and numbers.dtype.kind == "i"
            and np.all(numbers[1:] > numbers[:-1])
            and 0 <= numbers[0] <= numbers[-1] < n_samples
        )
    if values is not None and sound["targets"]:
        sound["targets"] = (
            values.dtype.kind in "biufUSmM"
            and affinity.check_targets(values).shape == values.shape
            and values.shape[0] == n_samples
        )
        if not affinity.by_number:
            one = values[:1], values[:1]
            affinity.level_index(*one, affinity.levels_between(*one))
    unsound = [name for name, is_sound in sound.items() if not is_sound]
    if unsound:
        raise ValueError(", ".join(unsound))
    columns, targets = Columns(n_bits, names, header["kind"]), Targets(affinity, values)
    return Index(words, terms, columns, n_samples, numbers, targets, ids, hasher)


def _store_hasher(hasher):
    """Bytes of a fitted hasher, of which it can be built again.

    Raises ValueError, which names the parameter, where skops cannot store some part of the
    hasher, or would not find it again.
    """
    skops = _skops()
    try:
        return _stored(hasher, skops)
    except Exception as error:  # of any type, since parts may be anything
        culprit, parameters = "", _parameters(hasher).items()
        # Parameters of steps first, then the steps, at last lists of steps
        for name, part in sorted(
            parameters, key=lambda pair: (-pair[0].count("__"), type(pair[1]) is list)
        ):
            try:
                _stored(part, skops)
            except Exception:
                culprit = f", because of its parameter {name} ({type(part).__name__})"
                break
        raise ValueError(
            f"hasher cannot be saved without pickle{culprit}: {error!r}. "
            "Take functions and classes of an importable module. Or pickle the estimator, "
            "or fit HammingNeighbors or WeightedHammingNeighbors to its `codes_`, and save "
            "that without the hasher."
        ) from error


def _stored(part, skops):
    """Bytes of a hasher or of a part of it, of which it has been built again."""
    for each in (part, *_parameters(part).values()):
        if isinstance(each, FunctionType):  # skops finds it by its name
            module = import_module(each.__module__)
            if getattr(module, each.__name__, None) is not each:
                raise TypeError(f"no module has {each.__qualname__} under its name")
    stored = skops.dumps(part)
    skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    return stored


def _parameters(part):
    """Parameters of an estimator and of its steps, by name; no plain values."""
    found = {}
    if hasattr(part, "get_params") and not isinstance(part, type):
        for name, value in part.get_params().items():
            if not isinstance(value, str | float | int | None):
                found[name] = value
            # A FrozenEstimator does not tell those of its estimator.
            inner = _parameters(value).items()
            found |= {f"{name}__{each}": of_step for each, of_step in inner}
    return found


def _restore_hasher(path, trusted):
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
        hasher = None if unknown else FittedHasher.of(skops.loads(data, trusted=found))
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{name} has a part that is not here: {error}. It was saved with another "
            "version of sklearn-talr, or with a module that cannot be imported: load it "
            "with those, or fit and save it anew."
        ) from error
    except Exception as error:  # of any type, since the bytes may be anything
        raise ValueError(f"{name} is damaged; save it anew.") from error
    if unknown:
        raise ValueError(
            f"{name} holds the types {unknown}. If you trust them, pass trusted={unknown}."
        )
    if not hasattr(hasher.hasher, "encode"):
        raise ValueError(f"{name} is {hasher.name} in place of a hasher.")
    return hasher


def _is_ours(name):
    """Whether a dotted name is that of a class of this package."""
    module, _, attribute = name.rpartition(".")
    found = getattr(import_module(module), attribute) if name.startswith(_OURS) else None
    return isinstance(found, type) and found.__module__ == module


def _skops():
    return optional(
        "skops.io",
        "Saving a hasher needs skops: pip install skops. Or pickle the estimator, if "
        "nobody else can change the file.",
    )
