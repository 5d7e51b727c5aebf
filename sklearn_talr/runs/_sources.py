"""Bytes of files: paths, compression, and files in other formats, which are refused."""

import bz2
import gzip
import lzma
import re
import zlib
from os import fspath
from pathlib import Path

BYTES_OF_LINE = 2**16  # the longest line, without its end
MARK = b"\xef\xbb\xbf"  # Some programs put it before text in UTF-8.
START_OF_PARQUET = b"PAR1"
# The fields of a block stay in cache.
_BYTES_PER_BLOCK = 2**17
_COMPRESSED = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_SUFFIXES_OF_COMPRESSED = ".gz", ".bz2", ".xz"
_DAMAGED = EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
# A scheme has two letters or more: one letter and a colon is a disk.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_POINTER = b"version https://git-lfs.github.com/"
_OTHER_FORMS = {
    b"PK\x03\x04": "a ZIP archive, or a file of Excel: unpack it, or pass "
    "pd.read_excel(path)",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it, or pass pd.read_csv(path, "
    "compression='zstd', ...)",
    b"ARROW1": "a file of Arrow: pass pd.read_feather(path)",
    b"\xff\xfe": "text in UTF-16, which must be saved as UTF-8; or pass "
    "pd.read_csv(path, encoding='utf-16', ...)",
    b"\xfe\xff": "text in UTF-16, which must be saved as UTF-8; or pass "
    "pd.read_csv(path, encoding='utf-16', ...)",
}


def local_path(path):
    """A path with ~ expanded, or ValueError for a URL or an empty path."""
    text = fspath(path)
    if not text:
        raise ValueError("the path is empty.")
    if isinstance(text, str) and _URL.match(text):
        raise ValueError(
            f"{text} is a URL, and only local files are read. Fetch it first with "
            f"urllib.request.urlretrieve({text!r}, 'file.txt'), or pass a table from "
            f"pd.read_csv({text!r}) or pd.read_parquet."
        )
    return Path(text).expanduser()


def plain_name(path):
    """The name of a file without the suffixes of compression."""
    name = Path(path).name
    for suffix in _SUFFIXES_OF_COMPRESSED:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


class Source:
    """The bytes of an open file, decompressed according to its first bytes.

    It is a context manager. The file may be a pipe, since nothing is read twice.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    start : bytes
        The first of them.

    Raises
    ------
    ValueError
        If the file is damaged, a pointer of Git LFS, or in a format that is not read.
    """

    def __init__(self, path):
        self._path = path

    def __enter__(self):
        self._file = open(self._path, "rb")
        try:
            start = self._file.peek(8)
            unpack = next(
                (form for magic, form in _COMPRESSED.items() if start.startswith(magic)),
                None,
            )
            self._unpacked = self._file if unpack is None else unpack(self._file)
            self.start = self._read(_BYTES_PER_BLOCK)
            _refuse_other_forms(self._path, self.start)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_):
        self._file.close()

    def content(self):
        """All bytes."""
        return self.start + self._read(-1)

    def blocks(self):
        """Yield blocks of many whole lines; a line that is too long may be cut."""
        block = self.start
        while block:
            block += self._read(BYTES_OF_LINE + len(MARK) + 1, until_end_of_line=True)
            yield block if block.endswith(b"\n") else block + b"\n"
            block = self._read(_BYTES_PER_BLOCK)

    def _read(self, n_bytes, *, until_end_of_line=False):
        source = self._unpacked
        try:
            return source.readline(n_bytes) if until_end_of_line else source.read(n_bytes)
        except _DAMAGED as error:
            raise ValueError(f"{self._path} is damaged: {error}") from error
        except OSError as error:
            # Errors of bzip2 about its data have no number; errors of the system have.
            if error.errno is not None:
                raise
            raise ValueError(f"{self._path} is damaged: {error}") from error


def _refuse_other_forms(path, start):
    if start.startswith(_POINTER):
        raise ValueError(
            f"{path} is a pointer of Git LFS, not the data. Fetch the data with the "
            "command git lfs pull."
        )
    for magic, form_with_remedy in _OTHER_FORMS.items():
        if start.startswith(magic):
            raise ValueError(f"{path} is {form_with_remedy}.")
