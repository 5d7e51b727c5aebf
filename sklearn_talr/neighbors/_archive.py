"""Files of fitted neighbors: plain arrays in a zip, as `numpy.savez` writes them.

A file is written aside, flushed, and renamed, so under its name there is either the old
content or the new one. Arrays start at multiples of 64 bytes and are not compressed, so
they can be mapped into memory. Nothing is pickled.
"""

import json
import os
import zipfile
import zlib
from pathlib import Path
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from sklearn.utils.validation import check_is_fitted

from ..affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from ._store import CodeStore

_FORMAT = "sklearn-talr HammingNeighbors"
_VERSION = 1
_ALIGNMENT = 64
_ORACLES = {
    oracle.__name__: oracle
    for oracle in (LabelAffinity, SharedLabelAffinity, ThresholdAffinity)
}
_CSR_PARTS = ("data", "indices", "indptr")


class SaveMixin:
    """Saving and loading of an estimator that has a `_store` of codes and `_targets`."""

    def save(self, path):
        """Write the fitted neighbors to a file.

        Parameters
        ----------
        path : path-like
            The file, ending in ".npz" by custom. If it exists it is replaced at once when
            everything is written; a crash before leaves it as it was.

        Raises
        ------
        ValueError
            If the affinity is not one of labels, shared labels or thresholds, or
            `scoring` is a function: only arrays and names are saved. Such an estimator
            can be pickled.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> neighbors = HammingNeighbors(n_neighbors=1).fit([[0, 0], [0, 1]])
        >>> with TemporaryDirectory() as folder:
        ...     neighbors.save(Path(folder) / "codes.npz")
        ...     loaded = HammingNeighbors.load(Path(folder) / "codes.npz")
        >>> loaded.kneighbors([[1, 1]])
        (array([[1]]), array([[1]]))
        """
        check_is_fitted(self)
        header, arrays = _describe(self)
        write_arrays(path, header, arrays)

    @classmethod
    def load(cls, path, *, mmap=False):
        """Read fitted neighbors from a file.

        Parameters
        ----------
        path : path-like
            A file that `save` has written.

        mmap : bool, default=False
            Whether to leave the arrays on disk and read what a query needs. The file
            must then stay as it is while the result is in use; replacing it by `save` is
            safe except on Windows.

        Returns
        -------
        neighbors : HammingNeighbors
            Finds what the saved one found.

        Raises
        ------
        ValueError
            If the file is truncated, damaged, not from `save`, or from a later version
            of it.
        """
        header, arrays = read_arrays(path, mmap)
        try:
            return _rebuild(cls, header, arrays)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"{path} lacks or misstates {error}; save it anew.") from error


def write_arrays(path, header, arrays):
    """Write a header and arrays to a file, all or nothing."""
    path = Path(path)
    aside = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    header = json.dumps(header, default=np.generic.item)  # integers of NumPy
    header = np.frombuffer(header.encode(), dtype=np.uint8)
    try:
        with open(aside, "xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for name, array in ({"header": header} | arrays).items():
                    _write_member(archive, f"{name}.npy", array)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def read_arrays(path, mmap):
    """Read header and arrays; every byte is checked against its checksum."""
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise ValueError(f"{path} is damaged: the checksum of {damaged} is wrong.")
            members = {info.filename: info for info in archive.infolist()}
            header = _read_header(archive, members, path)
            read = _map_member if mmap else _read_member
            arrays = {
                name.removesuffix(".npy"): read(archive, info, path)
                for name, info in members.items()
            }
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(
            f"{path} is truncated, damaged, or no file of HammingNeighbors.save: {error}"
        ) from error
    return header, arrays


def _write_member(archive, name, array):
    info = zipfile.ZipInfo(name)
    # Local header: 30 bytes, the name, and 20 bytes for sizes beyond 4 GiB. A field of
    # padding makes the array begin at a round place.
    start = archive.fp.tell() + 30 + len(name) + 20 + 4
    padding = -start % _ALIGNMENT
    info.extra = b"\xff\xff" + padding.to_bytes(2, "little") + bytes(padding)
    with archive.open(info, "w", force_zip64=True) as file:
        npy.write_array(file, np.asanyarray(array), allow_pickle=False)


def _read_header(archive, members, path):
    try:
        header = _read_member(archive, members["header.npy"], path)
        header = json.loads(header.tobytes())
        is_ours, version = header["format"] == _FORMAT, header["version"]
    except (KeyError, TypeError, ValueError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"{path} is no file of HammingNeighbors.save.")
    if version != _VERSION:
        raise ValueError(
            f"{path} has version {version} of the format, this package reads version "
            f"{_VERSION}. Update sklearn-talr, or save the neighbors anew."
        )
    return header


def _read_member(archive, info, path):
    with archive.open(info) as file:
        return npy.read_array(file, allow_pickle=False)


def _map_member(archive, info, path):
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{path} is compressed and cannot be mapped; load it whole.")
    file = archive.fp
    file.seek(info.header_offset + 26)
    n_name, n_extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
    file.seek(info.header_offset + 30 + n_name + n_extra)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, fortran_order, dtype = read_header[npy.read_magic(file)](file)
    if dtype.hasobject:
        raise ValueError(f"{path} holds Python objects, which are not loaded.")
    order = "F" if fortran_order else "C"
    return np.memmap(path, dtype, "r", offset=file.tell(), shape=shape, order=order)


def _describe(neighbors):
    """Header and arrays of fitted neighbors."""
    store, targets = neighbors._store, neighbors._targets
    affinity = _describe_affinity(neighbors.affinity_)
    if callable(neighbors.scoring):
        raise ValueError("scoring is a function, which cannot be saved; set a name.")
    if sp.issparse(targets):
        targets = sp.csr_array(targets)
        arrays = {f"targets_{part}": getattr(targets, part) for part in _CSR_PARTS}
    elif targets is not None and targets.dtype.hasobject:
        raise ValueError("y holds Python objects, which cannot be saved; use one type.")
    else:
        arrays = {} if targets is None else {"targets": targets}
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "bitorder": "little",
        "n_bits": store.n_bits,
        "n_samples": store.n_indices,
        "params": neighbors.get_params(deep=False) | {"affinity": None},
        "affinity": affinity,
        "affinity_is_auto": isinstance(neighbors.affinity, str),
        "targets_shape": targets.shape if sp.issparse(targets) else None,
        "feature_names": getattr(neighbors, "feature_names_in_", np.array(None)).tolist(),
    }
    codes = {"columns": store.columns, "starts": store.starts, "members": store.members}
    return header, codes | arrays


def _describe_affinity(affinity):
    if affinity is None:
        return None
    name = type(affinity).__name__
    if _ORACLES.get(name) is not type(affinity):
        raise ValueError(
            f"affinity {name} cannot be saved: only LabelAffinity, SharedLabelAffinity and "
            "ThresholdAffinity can. Pickle the estimator instead, or fit without y."
        )
    state = {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in vars(affinity).items()
    }
    return {"name": name, "state": state}


def _rebuild(cls, header, arrays):
    neighbors = cls(**header["params"])
    affinity = None
    if header["affinity"] is not None:
        affinity = _rebuild_affinity(**header["affinity"])
    neighbors.affinity = "auto" if header["affinity_is_auto"] else affinity
    neighbors.affinity_ = affinity
    neighbors._targets = arrays.get("targets")
    if header["targets_shape"] is not None:
        parts = [arrays[f"targets_{part}"] for part in _CSR_PARTS]
        neighbors._targets = sp.csr_array(tuple(parts), shape=header["targets_shape"])
    neighbors.n_features_in_ = header["n_bits"]
    if header["feature_names"] is not None:
        neighbors.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    neighbors._set_store(_rebuild_store(header, arrays))
    known = neighbors._targets
    if known is not None and known.shape[0] != neighbors.n_samples_fit_:
        raise ValueError("The arrays of the file contradict each other; save it anew.")
    return neighbors


def _rebuild_affinity(name, state):
    oracle = _ORACLES[name]()
    for key, value in state.items():
        fitted = key.endswith("_") and isinstance(value, list)
        setattr(oracle, key, np.asarray(value) if fitted else value)
    return oracle


def _rebuild_store(header, arrays):
    columns, starts, members = (arrays[name] for name in ("columns", "starts", "members"))
    store = CodeStore(columns.T, starts, members, header["n_bits"], header["n_samples"])
    consistent = (
        header["bitorder"] == "little"
        and columns.dtype.kind == "u"
        and columns.shape[0] == -(-store.n_bits // (8 * columns.dtype.itemsize))
        and starts.shape == (columns.shape[1] + 1,)
        and starts[0] == 0
        and starts[-1] == len(members)
        and np.all(starts[1:] > starts[:-1])
        and members.min() >= 0
        and members.max() < store.n_indices
    )
    if not consistent:
        raise ValueError("The arrays of the file contradict each other; save it anew.")
    return store
