"""Files that somebody else has made, or changed: refused before they take memory."""

import copy
import io
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest
from neighbor_cases import random_codes

from sklearn_talr.neighbors import HammingNeighbors

STORED = zipfile.ZIP_STORED


@pytest.fixture
def path(tmp_path):
    return tmp_path / "codes.npz"


each_mmap = pytest.mark.parametrize("mmap", [False, True])


def save(path):
    rng = np.random.default_rng(0)
    codes = random_codes(rng, 400, 64)
    HammingNeighbors().fit(codes, rng.integers(0, 3, 400)).save(path)


@each_mmap
def test_a_compressed_file_is_refused_and_can_be_written_anew(mmap, path):
    save(path)
    with np.load(path) as arrays:
        np.savez_compressed(path, **arrays)
    with pytest.raises(ValueError, match=r"is compressed, .* to numpy\.savez"):
        HammingNeighbors.load(path, mmap=mmap)
    with np.load(path) as arrays:
        np.savez(path, **arrays)
    assert HammingNeighbors.load(path, mmap=mmap).n_items_ == 400


def add_member(path, name, content, compression):
    with (
        warnings.catch_warnings(action="ignore", category=UserWarning),  # of a name twice
        zipfile.ZipFile(path, "a", compression) as archive,
    ):
        archive.writestr(name, content)


def npy_of(shape, dtype, content=b""):
    """The file of an array, which says what it is said to be."""
    file = io.BytesIO()
    header = {"shape": shape, "fortran_order": False, "descr": dtype}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + content


@each_mmap
@pytest.mark.parametrize(
    ("name", "content", "compression", "message"),
    [
        ("more.npy", bytes(2**27), zipfile.ZIP_DEFLATED, "is compressed"),
        ("more.npy", bytes(2**20), STORED, r"holds more\.npy, which"),
        ("targets.npy", bytes(2**20), STORED, "holds a member twice"),
        ("README", b"text", STORED, "holds README, which"),
        ("terms.npy", npy_of((2**40,), "<f4"), STORED, r"no array of shape \(1"),
        ("terms.npy", npy_of((2**60,), "<U0"), STORED, r"no array of shape \(1"),
        ("terms.npy", npy_of((2,), "<f4", bytes(9)), STORED, r"of shape \(2,"),
        ("terms.npy", npy_of((2,), "<f4", bytes(7)), STORED, r"of shape \(2,"),
        ("terms.npy", npy_of((1,), "|O", bytes(8)), STORED, "Python objects"),
    ],
)
def test_what_was_not_saved_takes_no_memory(
    mmap, name, content, compression, message, path
):
    save(path)
    add_member(path, name, content, compression)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            HammingNeighbors.load(path, mmap=mmap)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


@each_mmap
def test_members_that_overlap_are_refused(mmap, path):
    """Many entries of the directory may name the same bytes."""
    save(path)
    with zipfile.ZipFile(path, "a") as archive:
        columns = archive.getinfo("columns.npy")
        for place in range(200):
            again = copy.copy(columns)
            again.filename = f"columns{place}.npy"
            archive.filelist.append(again)
        archive.comment = b"written again"
    with pytest.raises(ValueError, match="its members are larger than the file"):
        HammingNeighbors.load(path, mmap=mmap)
