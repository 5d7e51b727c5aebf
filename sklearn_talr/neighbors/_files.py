"""Folders of plain arrays: an index, its targets and its hasher, without pickle.

A folder holds `index.json` and a folder of files that it names. New files are written
into a new folder and flushed. Then one rename replaces `index.json`, and the old files are
removed. So there is either the old content or the new one, and mapped arrays stay valid.
"""

import json
import os
import re
import shutil
import time
from contextlib import suppress
from numbers import Integral
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._core.paths import local_path
from ..affinity import BaseAffinity
from ..codes import CodeTerms
from ..codes._scores import columns_of, fixed
from ..measures import Measure
from ._ids import ids_from_arrays
from ._index import Index
from ._read import Columns
from ._stored_hasher import restore_hasher, store_hasher
from ._targets import Targets

_FORMAT = "sklearn-talr index"
_VERSION = 6
_CSR_PARTS = "data", "indices", "indptr"

# Errors that reading damaged files and wrong headers raises.
_ERRORS_OF_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    MemoryError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
)

# Folders of saves that were killed are removed at this age. Younger ones may be in work.
_MIN_SECONDS_OF_LEFTOVERS = 3_600


def save_index(path, estimator, index):
    """Write a fitted estimator to a folder that :func:`load_index` reads.

    Raises ValueError if parameters, targets or hasher have no plain form, or the folder
    holds other files.
    """
    path = local_path(path)
    folder = f"data-{uuid4().hex}"
    header = _header_of(index, estimator, folder)
    arrays = _arrays_of(index)
    header["shapes"] = {name: array.shape for name, array in arrays.items()}
    header = json.dumps(header, default=np.generic.item, indent=1)  # integers of NumPy
    contents = {f"{name}.npy": array for name, array in arrays.items()}
    if index.hasher is not None:
        contents["hasher.skops"] = store_hasher(index.hasher.estimator)
    contents["index.json"] = header.encode()
    _refuse_folder_of_others(path)
    path.mkdir(parents=True, exist_ok=True)
    _write_folder(path / folder, contents)
    _replace_header(path, folder)


def _plain_params(estimator):
    """Parameters of an estimator as values of JSON, without its hasher."""
    params = estimator.get_params(deep=False)
    params.pop("hasher", None)
    # A generator has drawn the sample of `fit` and is not needed any more.
    if not isinstance(params.get("random_state"), Integral):
        params.pop("random_state", None)
    if isinstance(params["scoring"], Measure):
        params["scoring"] = str(params["scoring"])
    if callable(params["scoring"]):
        raise ValueError("scoring is a function, which cannot be saved; set a name.")
    if not isinstance(params["affinity"], str):
        params["affinity"] = BaseAffinity.from_oracle(params["affinity"]).to_plain()
    return params


def _arrays_of(index):
    """All arrays of an index, by name."""
    arrays = {"words": index.words}
    if index.numbers is not None:
        arrays["numbers"] = index.numbers
    for name, term in index.terms._asdict().items():
        if term.size:
            arrays[name] = term
    if index.ids is not None:
        for name, array in index.ids._asdict().items():
            arrays[f"ids_{name}"] = array
    targets = index.targets.values
    if sp.issparse(targets):
        csr = sp.csr_array(targets)
        for part in _CSR_PARTS:
            arrays[f"targets_{part}"] = getattr(csr, part)
    elif targets is not None:
        if targets.dtype.hasobject:
            raise ValueError("y holds Python objects, which cannot be saved; use one type.")
        arrays["targets"] = targets
    return {name: np.asarray(array) for name, array in arrays.items()}


def _header_of(index, estimator, folder):
    """The content of `index.json`, without the shapes of arrays."""
    affinity, targets = index.targets
    names = index.columns.names
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "kind": type(estimator).__name__,
        "bitorder": "little",
        "n_bits": index.n_bits,
        "n_samples": index.n_indices,
        "params": _plain_params(estimator),
        "affinity": None if affinity is None else affinity.to_plain(),
        "targets_shape": targets.shape if sp.issparse(targets) else None,
        "feature_names": None if names is None else names.tolist(),
        "folder": folder,
    }


def _refuse_folder_of_others(path):
    """Raise ValueError unless a folder is new, empty or written by `save`."""
    if not path.exists() or (path / "index.json").exists():
        return
    # Another first save may be in work there, or have been killed.
    has_only_saves = path.is_dir() and set(path.iterdir()) <= _saved_folders(path)
    if not has_only_saves:
        raise ValueError(f"{path} exists and is no folder that `save` has written.")


def _write_folder(folder, contents):
    """Write new files, by name, and see that they outlive a loss of power."""
    try:
        folder.mkdir()
        for name, content in contents.items():
            with open(folder / name, "xb") as file:
                if isinstance(content, bytes):
                    file.write(content)
                else:
                    np.save(file, content, allow_pickle=False)
                _flush(file)
        _flush_folders(folder, folder.parent)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _replace_header(path, folder):
    """Make the new files the content of a folder, and remove the old files."""
    try:
        replaced = json.loads((path / "index.json").read_bytes())["folder"]
    except (OSError, ValueError, LookupError, TypeError):  # none yet, or a damaged one
        replaced = None
    os.replace(path / folder / "index.json", path / "index.json")
    _flush_folders(path)
    for old in _saved_folders(path):
        if old.name == replaced or (old.name != folder and _is_leftover(old)):
            shutil.rmtree(old, ignore_errors=True)


def _saved_folders(path):
    """The folders in a folder that saves have written, named by a random number each."""
    return {
        entry for entry in path.iterdir() if re.fullmatch("data-[0-9a-f]{32}", entry.name)
    }


def _is_leftover(folder):
    """Whether a killed save has left a folder."""
    try:
        return time.time() - folder.stat().st_mtime > _MIN_SECONDS_OF_LEFTOVERS
    except FileNotFoundError:  # another save has removed it
        return False


def _flush(file):
    file.flush()
    os.fsync(file.fileno())


def _flush_folders(*paths):
    """See that names in folders outlive a loss of power, if the system can do that."""
    for path in paths:
        with suppress(OSError):  # Windows opens no folders
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def load_index(path, kind, *, mmap, trusted=None):
    """Read what :func:`save_index` has written.

    Parameters
    ----------
    path : str or path-like
        The folder.

    kind : class
        Class of the estimator, which must be the class of the saved one.

    mmap : bool
        Whether to leave the arrays on disk.

    trusted : sequence of str, default=None
        Types that the hasher may have. None if there is no hasher.

    Returns
    -------
    estimator : estimator
        An unfitted estimator of the class with the saved parameters.

    index : Index
        Its fitted state.

    Raises
    ------
    ValueError
        If files are damaged or contradict each other, or the class is another.
    """
    path = local_path(path)
    while True:
        text = (path / "index.json").read_bytes()  # a missing folder is no damaged one
        try:
            header = _read_header(path, text, kind)
            return _load(path, header, kind, mmap, trusted)
        except ValueError:
            # If another index was saved meanwhile, these files are gone.
            if (path / "index.json").read_bytes() == text:
                raise


def _read_header(path, text, kind):
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
    return header


def _load(path, header, kind, mmap, trusted):
    folder = path / str(header.get("folder"))
    hasher = None
    if trusted is not None:
        hasher = restore_hasher(folder / "hasher.skops", trusted)
    try:
        arrays = _read_arrays(folder, header, mmap)
        index = _index_of(header, arrays, hasher)
        params = dict(header["params"])
        if params["affinity"] != "auto":
            params["affinity"] = BaseAffinity.from_plain(params["affinity"])
        if hasher is not None:
            params["hasher"] = clone(hasher.estimator)
        estimator = kind(**params)
        estimator._validate_params()
    except _ERRORS_OF_DAMAGE as error:
        raise ValueError(
            f"{path} lacks or misstates something, or its files are damaged or contradict "
            f"each other: {error}. Then save it anew."
        ) from error
    return estimator, index


def _read_arrays(folder, header, mmap):
    arrays = {}
    for name, shape in header["shapes"].items():
        # Mapping fails if a file is shorter than its array, so all arrays are mapped first.
        # Empty arrays cannot be mapped.
        mode = "r" if np.prod(shape) else None
        array = np.load(folder / f"{name}.npy", mmap_mode=mode)
        if array.shape != tuple(shape):
            raise ValueError(f"{name} has shape {array.shape}, and not {shape}.")
        arrays[name] = fixed(array if mmap else np.array(array))
    return arrays


def _index_of(header, arrays, hasher):
    """The Index of a header and arrays, after a check that they agree."""
    names = header["feature_names"]
    columns = Columns(
        header["n_bits"],
        names=None if names is None else np.array(names, dtype=object),
        owner=header["kind"],
    )
    terms = {name: arrays[name] for name in CodeTerms._fields if name in arrays}
    ids = {
        name.removeprefix("ids_"): array
        for name, array in arrays.items()
        if name.startswith("ids_")
    }
    index = Index(
        words=arrays["words"],
        terms=CodeTerms(**terms),
        columns=columns,
        n_indices=header["n_samples"],
        numbers=arrays.get("numbers"),
        targets=_targets_of(header, arrays),
        ids=ids_from_arrays(ids),
        hasher=hasher,
    )
    is_sound = {
        "n_bits": _has_n_bits(index),
        "n_samples": _has_n_indices(index),
        "bitorder": header["bitorder"] == "little",
        "words": _has_words(index),
        "numbers": _has_numbers(index),
        "ids": index.ids is None or index.ids.is_sound(index.n_items),
        "terms": _has_terms(index),
        "feature_names": names is None or columns.names.shape == (index.n_bits,),
        "targets": _has_targets(index),
    }
    unsound = [name for name in is_sound if not is_sound[name]]
    if unsound:
        raise ValueError(", ".join(unsound))
    return index


def _targets_of(header, arrays):
    affinity = header["affinity"]
    if affinity is not None:
        affinity = BaseAffinity.from_plain(affinity)
    if header["targets_shape"] is None:
        return Targets(affinity, arrays.get("targets"))
    parts = tuple(arrays[f"targets_{part}"] for part in _CSR_PARTS)
    starts = parts[2]
    if np.any(starts[1:] < starts[:-1]):  # SciPy does not find this
        raise ValueError("targets_indptr descends.")
    values = sp.csr_array(parts, shape=header["targets_shape"])
    values.check_format(full_check=True)
    return Targets(affinity, values)


def _has_n_bits(index):
    """Whether the length of codes is a number that takes the bytes of the words."""
    n_bytes = len(index.words) * index.words.dtype.itemsize
    return type(index.n_bits) is int and 8 * n_bytes - 8 < index.n_bits <= 8 * n_bytes


def _has_n_indices(index):
    return type(index.n_indices) is int and index.n_indices >= index.n_items > 0


def _has_words(index):
    """Whether words are of the widest type, and bits beyond the length of codes are 0."""
    word = index.words.dtype.itemsize
    n_bytes = len(index.words) * word
    widest = columns_of(np.zeros((1, n_bytes), np.uint8)).dtype
    n_bits_of_last = index.n_bits - 8 * word * (len(index.words) - 1)
    return index.words.dtype == widest and int(index.words[-1].max()) < 2**n_bits_of_last


def _has_numbers(index):
    numbers = index.numbers
    if numbers is None:
        return index.n_items == index.n_indices
    return (
        numbers.shape == (index.n_items,)
        and numbers.dtype.kind == "i"
        and np.all(numbers[1:] > numbers[:-1])
        and 0 <= numbers[0] <= numbers[-1] < index.n_indices
    )


def _has_terms(index):
    """Whether terms are given for all items, or follow from bytes and tables, or absent."""
    terms = index.terms
    n_items = index.n_items
    are_given = terms.given.shape in [(n_items, 1), (n_items, 2)]
    have_bytes = len(terms.factors) + len(terms.lengths) > 0
    factors = terms.factors.shape, terms.factor_table.shape
    lengths = terms.lengths.shape, terms.length_table.shape
    return (
        (are_given or terms.given.shape == (0, 0))
        and factors in [((0,), (0,)), ((n_items,), (256,))]
        and lengths in [((0,), (0, 2)), ((n_items,), (256, 2))]
        and not (are_given and have_bytes)
        and all(
            array.dtype == absent.dtype and np.isfinite(array).all()
            for array, absent in zip(terms, CodeTerms())
        )
    )


def _has_targets(index):
    """Whether the affinity object takes the targets, or both are absent."""
    affinity, values = index.targets
    if affinity is None or values is None:
        return affinity is None and values is None
    if not (
        values.dtype.kind in "biufUSmM"
        and affinity.check_targets(values).shape == values.shape
        and values.shape[0] == index.n_indices
    ):
        return False
    if not affinity.by_number:
        first = values[:1]
        affinity.level_index(first, first, affinity.levels_between(first, first))
    return True
