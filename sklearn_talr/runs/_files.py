"""Files of judgments and runs in the formats of TREC, plain or compressed by gzip."""

import gzip
import zlib
from os import PathLike, fspath

import numpy as np

from .._compat import validate_params
from ._fields import (
    BYTES_OF_ID,
    ENCODING,
    MARGIN,
    numbers_at,
    texts_of,
    with_margins,
    words_at,
)
from ._inputs import Qrels, Run
from ._tables import RepeatedDocumentError, make_table

__all__ = ["read_qrels", "read_run"]

_BYTES_PER_CHUNK = 2**20
_BYTES_OF_LINE = 2**16
_NEWLINE = ord("\n")
_MARK = b"\xef\xbb\xbf"  # that some programs put before text in UTF-8
_START_OF_GZIP = b"\x1f\x8b"
_PATH = {"path": [str, PathLike]}
_LINE_OF_QRELS = "query, iteration, document, relevance"
_LINE_OF_RUN = "query, Q0, document, rank, score, tag"


@validate_params(_PATH, prefer_skip_nested_validation=True)
def read_qrels(path):
    """Read judgments in TREC's format.

    Every line has four fields, set apart by blanks: query, iteration (not used), document,
    relevance.

    Parameters
    ----------
    path : str or path-like
        The file, plain or compressed by gzip.

    Returns
    -------
    qrels : Qrels
        The judgments.

    Raises
    ------
    ValueError
        If the file is empty or damaged, or a line has not four fields, has a relevance
        that is no integer, or repeats a document of a query. The message names the file and
        the line.

    OSError
        If the file cannot be opened.

    See Also
    --------
    evaluate_run : Takes what this returns, or the path itself.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_talr.runs import read_qrels
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "qrels.txt")
    ...     _ = path.write_text("q1 0 d1 2\\nq1 0 d2 0\\nq2 0 d1 1\\n")
    ...     qrels = read_qrels(path)
    >>> qrels
    Qrels of 2 queries, 3 documents
    >>> qrels.to_dict()
    {'q1': {'d1': 2, 'd2': 0}, 'q2': {'d1': 1}}
    """
    table, _ = _read(path, _LINE_OF_QRELS, 3)
    return Qrels.from_table(table)


@validate_params(_PATH, prefer_skip_nested_validation=True)
def read_run(path):
    """Read a run in TREC's format.

    Every line has six fields, set apart by blanks: query, ``Q0`` (not used), document, rank
    (not used), score, name of the run. Documents are ranked by their scores alone, as
    trec_eval ranks them.

    Parameters
    ----------
    path : str or path-like
        The file, plain or compressed by gzip.

    Returns
    -------
    run : Run
        The run, with the name that its first line gives.

    Raises
    ------
    ValueError
        If the file is empty or damaged, or a line has not six fields, has a score that is
        no finite number, or repeats a document of a query. The message names the file and
        the line.

    OSError
        If the file cannot be opened.

    See Also
    --------
    evaluate_run : Takes what this returns, or the path itself.

    Examples
    --------
    Scores of equal value are tied, whatever the order of the lines and the ranks say:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_talr.runs import read_run
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "bm25.run")
    ...     _ = path.write_text("q1 Q0 d1 1 12.5 bm25\\nq1 Q0 d2 2 12.50 bm25\\n")
    ...     run = read_run(path)
    >>> run
    Run 'bm25' of 1 query, 2 documents
    >>> run.to_dict()
    {'q1': {'d1': 12.5, 'd2': 12.5}}
    """
    table, name = _read(path, _LINE_OF_RUN, 4)
    return Run.from_table(table, name)


def _read(path, line_format, value_field):
    """The table of a file, and the last field of its first line."""
    path = fspath(path)
    labels, starts, documents, values = [], [], [], []
    line_numbers, name = _LineNumbers(), None
    for chunk, buffer, fields, value, lines in _parts(path, line_format, value_field):
        query = words_at(buffer, *fields[:, 0])
        changes = np.ones(len(query), dtype=bool)
        np.any(query[1:] != query[:-1], axis=1, out=changes[1:])
        labels += texts_of(query[changes])
        starts.append(len(line_numbers) + np.flatnonzero(changes))
        documents.append(words_at(buffer, *fields[:, 1]))
        values.append(value)
        if name is None and len(value):
            n_fields = line_format.count(",") + 1
            name = chunk.split(maxsplit=n_fields)[n_fields - 1].decode(*ENCODING)
        line_numbers.append(lines)
    if name is None:
        raise ValueError(f"{path} is empty: a line must have {line_format}.")
    rows = _side_by_side(documents), np.concatenate(values)
    try:
        return make_table(labels, np.concatenate(starts), *rows), name
    except RepeatedDocumentError as error:
        line = line_numbers.of(error.row)
        raise ValueError(f"{path}, line {line}: {error}") from error


class _LineNumbers:
    """Numbers of the lines of rows, kept where they do not just ascend by one."""

    def __init__(self):
        self._rows, self._lines, self._n_rows, self._last = [], [], 0, -1

    def __len__(self):
        return self._n_rows

    def append(self, lines):
        """Add rows."""
        jumps = np.flatnonzero(np.diff(lines, prepend=self._last) != 1)
        self._rows.append(self._n_rows + jumps)
        self._lines.append(lines[jumps])
        self._n_rows += len(lines)
        self._last = lines[-1] if len(lines) else self._last

    def of(self, row):
        """The line of a row."""
        rows = np.concatenate(self._rows)
        jump = np.searchsorted(rows, row, side="right") - 1
        return np.concatenate(self._lines)[jump] + row - rows[jump]


def _parts(path, line_format, value_field):
    """Yield the bytes of many lines, where their fields are, their values and numbers."""
    n_lines = 0
    for chunk in _chunks(path):
        if not chunk.endswith(b"\n"):
            _refuse_length(path, n_lines + 1)
        if b"\0" in chunk:
            line = n_lines + chunk.count(b"\n", 0, chunk.index(b"\0")) + 1
            raise ValueError(
                f"{path}, line {line} has a NUL byte, so this is no text, or text in "
                "UTF-16, which must be saved as UTF-8."
            )
        buffer = with_margins(chunk)
        newlines = np.flatnonzero(buffer == _NEWLINE)
        too_long = np.diff(newlines, prepend=MARGIN - 1) > _BYTES_OF_LINE + 1
        if too_long.any():
            _refuse_length(path, n_lines + np.argmax(too_long) + 1)
        fields, lines = _fields(path, buffer, newlines, n_lines, line_format, value_field)
        value = numbers_at(buffer, *fields[:, 2])
        _check_values(path, buffer, fields[:, 2], value, lines, value_field == 3)
        yield chunk, buffer, fields, value, lines
        n_lines += len(newlines)


def _refuse_length(path, line):
    raise ValueError(
        f"{path}, line {line} has more than {_BYTES_OF_LINE} bytes, so this is no file of "
        "TREC's formats."
    )


def _chunks(path):
    """Whole lines of a file, many at a time, without marks of their encoding."""
    rest = b""
    for block in _blocks(path):
        block = rest + block
        cut = block.rfind(b"\n") + 1
        rest = block[cut:]
        if cut:
            yield _without_marks(block[:cut])
        if len(rest) > _BYTES_OF_LINE + len(_MARK):
            yield rest  # which the reader refuses, who knows the number of the line
            return
    if rest:
        yield _without_marks(rest) + b"\n"


def _without_marks(lines):
    """Files that were put together have marks in their midst."""
    return lines.removeprefix(_MARK).replace(b"\n" + _MARK, b"\n")


def _blocks(path):
    with open(path, "rb") as file:
        start = file.read(len(_START_OF_GZIP))
        source = _Resumed(start, file)
        if start == _START_OF_GZIP:
            source = gzip.GzipFile(fileobj=source)
        try:
            while block := source.read(_BYTES_PER_CHUNK):
                yield block
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is damaged: {error}") from error


class _Resumed:
    """A file whose start has been read: it may be a pipe, which cannot be read twice."""

    def __init__(self, start, file):
        self._start, self._file = start, file

    def read(self, size):
        start, self._start = self._start[:size], self._start[size:]
        return start + self._file.read(size - len(start))


def _fields(path, buffer, newlines, n_lines, line_format, value_field):
    """Start and end of query, document and value, (2, 3, n_rows), and line numbers."""
    chosen = 0, 2, value_field
    n_fields = line_format.count(",") + 1
    blank = _are_blank(buffer)
    fields = _of_single_blanks(blank, newlines, n_fields, chosen)
    lines = np.arange(n_lines + 1, n_lines + len(newlines) + 1)
    if fields is None:
        edges = (np.flatnonzero(blank[1:] != blank[:-1]) + 1).reshape(-1, 2)
        line = np.searchsorted(newlines, edges[:, 0])
        count = np.bincount(line, minlength=len(newlines))
        for wrong in np.flatnonzero((count != n_fields) & (count > 0))[:1]:
            raise ValueError(
                f"{path}, line {lines[wrong]} has {count[wrong]} fields instead of "
                f"{n_fields}: {line_format}."
            )
        fields = edges.reshape(-1, n_fields, 2)[:, chosen].transpose(2, 1, 0)
        lines = lines[count > 0]
    _check_widths(path, fields, lines)
    return fields, lines


def _are_blank(buffer):
    """Which bytes set fields apart: those that do in C, and the margins."""
    blank = buffer - np.uint8(ord("\t")) <= ord("\r") - ord("\t")
    blank |= buffer == ord(" ")
    blank[:MARGIN] = blank[-MARGIN:] = True
    return blank


def _of_single_blanks(blank, newlines, n_fields, chosen):
    """Fields where a single blank follows each, and no line is blank; else None."""
    end = np.flatnonzero(blank[MARGIN:-MARGIN])
    end += MARGIN
    n_lines = len(newlines)
    if (
        len(end) != n_fields * n_lines
        or end[0] == MARGIN
        or np.any(end[1:] - end[:-1] == 1)
    ):
        return None
    by_line = end.reshape(n_lines, n_fields)
    if not np.array_equal(by_line[:, -1], newlines):
        return None
    fields = np.empty((2, len(chosen), n_lines), dtype=np.int64)
    for place, field in enumerate(chosen):
        fields[1, place] = by_line[:, field]
        if field:
            np.add(by_line[:, field - 1], 1, out=fields[0, place])
        else:
            fields[0, place, 0] = MARGIN
            np.add(by_line[:-1, -1], 1, out=fields[0, place, 1:])
    return fields


def _check_widths(path, fields, lines):
    start, end = fields
    for field in (0, 1):
        width = end[field] - start[field]
        if width.max(initial=0) > BYTES_OF_ID:
            wrong = np.argmax(width)
            raise ValueError(
                f"{path}, line {lines[wrong]} has an identifier of {width[wrong]} bytes; "
                f"{BYTES_OF_ID} are the most."
            )


def _check_values(path, buffer, fields, values, lines, are_grades):
    """Raise unless scores are finite, and grades integers."""
    wrong, problem = ~np.isfinite(values), "score {!r} is no finite number"
    if are_grades:
        wrong |= (values != np.floor(values)) | (np.abs(values) >= 2**53)
        problem = "relevance {!r} is no integer"
    for row in np.flatnonzero(wrong)[:1]:
        text = buffer[slice(*fields[:, row])].tobytes()[:40].decode("utf-8", "replace")
        raise ValueError(f"{path}, line {lines[row]}: {problem.format(text)}.")


def _side_by_side(parts):
    """Stack words of several widths; narrow ones end in zeros."""
    n_words = max(part.shape[1] for part in parts)
    words = np.zeros((sum(map(len, parts)), n_words), dtype=np.uint64)
    start = 0
    for part in parts:
        words[start : start + len(part), : part.shape[1]] = part
        start += len(part)
    return words
