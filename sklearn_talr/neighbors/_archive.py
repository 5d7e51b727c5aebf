"""Files of plain arrays: a zip of uncompressed members, as `numpy.savez` writes it.

A file is written aside, flushed, and renamed, so under its name there is either the old
content or the new one. Arrays start at multiples of 64 bytes and are not compressed, so
they can be mapped into memory. Nothing is pickled.
"""

import json
import math
import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.lib import format as npy

_FORMAT = "sklearn-talr codes"
# Files of version 2 lack nothing: their factors follow from single bits. Those of version 3
# may follow from words.
_VERSION, _OLDEST = 3, 2
_ALIGNMENT = 64
_UNCOMPRESS = "Pass the arrays that numpy.load reads in it to numpy.savez, if you trust it."
# Errors that zipfile, numpy and json raise when they read damaged bytes.
_DAMAGE = (
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


class FileError(ValueError):
    """An error whose message names the file and the remedy already."""


def write_arrays(path, header, arrays):
    """Write a header and arrays to a file, all or nothing.

    A link is followed, and a file that exists keeps its permissions.
    """
    path = Path(path).resolve()
    aside = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    header = {"format": _FORMAT, "version": _VERSION} | header
    header = json.dumps(header, default=np.generic.item)  # integers of NumPy
    header = np.frombuffer(header.encode(), dtype=np.uint8)
    try:
        with open(aside, "xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for name, array in ({"header": header} | arrays).items():
                    _write_member(archive, f"{name}.npy", array)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(aside, stat.S_IMODE(path.stat().st_mode))
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def read_arrays(path, names, mmap):
    """Read header and arrays; every byte is checked against its checksum.

    The arrays in memory are never larger than the file: members are not compressed, do not
    overlap, are as long as their arrays, and have one of the `names`.

    With `mmap` the arrays are mapped from the very file that was checked, even if another
    bears its name by then.
    """
    with open(path, "rb") as file:  # a missing file is no damaged one
        try:
            with zipfile.ZipFile(file) as archive:
                read = _map_member if mmap else _read_member
                return _read_archive(archive, path, names, read)
        except FileError:
            raise
        except _DAMAGE as error:
            raise ValueError(
                f"{path} is truncated, damaged, or no file of codes: "
                f"{error or type(error).__name__}"
            ) from error


def _read_archive(archive, path, names, read):
    size = os.fstat(archive.fp.fileno()).st_size
    check_sizes(archive, size, path, _UNCOMPRESS)
    members = {info.filename: info for info in archive.infolist()}
    header = _read_header(archive, members, path)
    foreign = set(members) - {f"{name}.npy" for name in ("header", *names)}
    if foreign or len(members) < len(archive.infolist()):
        raise FileError(
            f"{path} holds {min(foreign, default='a member twice')}, which `save` does not "
            "write; save it anew."
        )
    damaged = archive.testzip()
    if damaged is not None:
        raise FileError(f"{path} is damaged: the checksum of {damaged} is wrong.")
    arrays = {
        name.removesuffix(".npy"): read(archive, info, path)
        for name, info in members.items()
        if name != "header.npy"
    }
    return header, arrays


def check_sizes(archive, size, name, remedy):
    """Refuse members of a zip of `size` bytes that take more memory than that.

    Errors call the zip by `name`, and end with a remedy for compression.
    """
    infos = archive.infolist()
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise FileError(f"{name} is compressed, which `save` does not do. {remedy}")
    if sum(max(info.file_size, info.compress_size) for info in infos) > size:
        raise FileError(f"{name} is damaged: its members are larger than the file.")


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
    except (KeyError, TypeError, ValueError, RecursionError):
        is_ours = False
    if not is_ours:
        raise FileError(f"{path} is no file that `save` of an estimator has written.")
    if type(version) is not int or not _OLDEST <= version <= _VERSION:
        is_newer = type(version) is int and version > _VERSION
        remedy = "Update sklearn-talr to load it" if is_newer else "Fit and save it anew"
        raise FileError(
            f"{path} has version {version!r} of the format, and this package reads "
            f"versions {_OLDEST} to {_VERSION}. {remedy}."
        )
    return header


def _read_member(archive, info, path):
    with archive.open(info) as file:
        _read_array_header(file, info, path)
        file.seek(0)
        return npy.read_array(file, allow_pickle=False)


def _map_member(archive, info, path):
    file = archive.fp
    file.seek(info.header_offset + 26)
    n_name, n_extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
    file.seek(info.header_offset + 30 + n_name + n_extra)
    shape, order, dtype = _read_array_header(file, info, path)
    return np.memmap(file, dtype, "r", offset=file.tell(), shape=shape, order=order)


def _read_array_header(file, info, path):
    """Shape, order and type of the array of a member, which must fill the member.

    NumPy allocates whatever shape the member states.
    """
    start = file.tell()
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, fortran_order, dtype = read_header[npy.read_magic(file)](file)
    if dtype.hasobject:
        raise FileError(f"{path} holds Python objects, which are not loaded.")
    n_bytes = file.tell() - start + math.prod(shape) * dtype.itemsize
    if n_bytes != info.file_size or not dtype.itemsize:
        raise FileError(
            f"{path} is damaged: {info.filename} is no array of shape {shape} and {dtype}."
        )
    return shape, "F" if fortran_order else "C", dtype
