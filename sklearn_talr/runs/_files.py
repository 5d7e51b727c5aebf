"""Files of judgments and runs in the formats of TREC, plain or compressed by gzip."""

import gzip
import zlib
from os import PathLike, fspath

import numpy as np
from sklearn.utils._param_validation import validate_params

from ._fields import BYTES_OF_ID, MARGIN, numbers_at, texts_of, with_margins, words_at
from ._inputs import Qrels, Run
from ._tables import RepeatedDocumentError, make_table

__all__ = ["read_qrels", "read_run"]

_BYTES_PER_CHUNK = 2**20
_BYTES_OF_LINE = 2**16
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
    n_fields = line_format.count(",") + 1
    labels, starts, documents, values = [], [], [], []
    n_rows, n_lines, name = 0, 0, None
    for chunk in _chunks(path):
        buffer = with_margins(chunk)
        fields, numbers = _fields(path, buffer, n_lines, line_format)
        value = numbers_at(buffer, *fields[:, value_field].T)
        _check_values(path, buffer, fields[:, value_field], value, numbers, n_fields)
        query = words_at(buffer, *fields[:, 0].T)
        changes = np.ones(len(query), dtype=bool)
        np.any(query[1:] != query[:-1], axis=1, out=changes[1:])
        labels += texts_of(query[changes])
        starts.append(n_rows + np.flatnonzero(changes))
        documents.append(words_at(buffer, *fields[:, 2].T))
        values.append(value)
        if name is None and len(fields):
            name = texts_of(words_at(buffer, *fields[:1, -1].T))[0]
        n_rows += len(value)
        n_lines += chunk.count(b"\n")
    if not n_rows:
        raise ValueError(f"{path} is empty: a line must have {line_format}.")
    rows = _side_by_side(documents), np.concatenate(values)
    try:
        return make_table(labels, np.concatenate(starts), *rows), name
    except RepeatedDocumentError as error:
        line = _line_that_repeats(path, *error.args)
        raise ValueError(f"{path}, line {line}: {error}") from error


def _chunks(path):
    """Whole lines of a file, many at a time."""
    n_lines, rest = 0, b""
    for block in _blocks(path):
        block = rest + block
        cut = block.rfind(b"\n") + 1
        rest = block[cut:]
        n_lines += block.count(b"\n")
        if len(rest) > _BYTES_OF_LINE:
            raise ValueError(
                f"{path}, line {n_lines + 1} has more than {_BYTES_OF_LINE} bytes, so this "
                "is no file of TREC's formats."
            )
        if cut:
            yield block[:cut]
    if rest:
        yield rest + b"\n"


def _blocks(path):
    with open(path, "rb") as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        source = gzip.GzipFile(fileobj=file) if is_compressed else file
        try:
            while block := source.read(_BYTES_PER_CHUNK):
                yield block
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is damaged: {error}") from error


def _fields(path, buffer, n_lines, line_format):
    """Start and end of each field, (n_rows, n_fields, 2), and the line numbers of rows."""
    n_fields = line_format.count(",") + 1
    blank = buffer <= ord(" ")  # controls too
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    fields = edges.reshape(-1, 2)
    newline = np.flatnonzero(buffer == ord("\n"))
    line = np.arange(len(newline))
    if len(fields) == n_fields * len(newline):
        rows = fields.reshape(-1, n_fields, 2)
        regular = np.all(rows[:, -1, 1] <= newline) & np.all(rows[1:, 0, 0] > newline[:-1])
    else:
        regular = False
    if not regular:
        line_of_field = np.searchsorted(newline, fields[:, 0])
        count = np.bincount(line_of_field, minlength=len(newline))
        for wrong in np.flatnonzero((count != n_fields) & (count > 0))[:1]:
            raise ValueError(
                f"{path}, line {n_lines + wrong + 1} has {count[wrong]} fields instead of "
                f"{n_fields}: {line_format}."
            )
        line = np.flatnonzero(count)
        rows = fields.reshape(-1, n_fields, 2)
    _check_bytes(path, buffer, rows, n_lines + line + 1)
    return rows, n_lines + line + 1


def _check_bytes(path, buffer, rows, lines):
    if np.count_nonzero(buffer[MARGIN:-MARGIN] == 0):
        place = MARGIN + np.argmax(buffer[MARGIN:-MARGIN] == 0)
        line = lines[0] + np.count_nonzero(buffer[:place] == ord("\n")) if len(lines) else 1
        raise ValueError(f"{path}, line {line} has a NUL byte, so this is no text file.")
    width = rows[:, (0, 2, -1), 1] - rows[:, (0, 2, -1), 0]
    for wrong in np.flatnonzero(np.any(width > BYTES_OF_ID, axis=1))[:1]:
        raise ValueError(
            f"{path}, line {lines[wrong]} has an identifier of {width[wrong].max()} bytes; "
            f"{BYTES_OF_ID} are the most."
        )


def _check_values(path, buffer, fields, values, lines, n_fields):
    """Raise unless scores are finite, and grades integers."""
    wrong = ~np.isfinite(values)
    if n_fields == 4:
        wrong |= (values != np.floor(values)) | (np.abs(values) >= 2**53)
    for row in np.flatnonzero(wrong)[:1]:
        text = buffer[slice(*fields[row])].tobytes()[:40].decode("utf-8", "replace")
        what = (
            "relevance {!r} is no integer"
            if n_fields == 4
            else ("score {!r} is no finite number")
        )
        raise ValueError(f"{path}, line {lines[row]}: {what.format(text)}.")


def _side_by_side(parts):
    """Stack words of several widths; narrow ones end in zeros."""
    n_words = max(part.shape[1] for part in parts)
    words = np.zeros((sum(map(len, parts)), n_words), dtype=np.uint64)
    start = 0
    for part in parts:
        words[start : start + len(part), : part.shape[1]] = part
        start += len(part)
    return words


def _line_that_repeats(path, query, document):
    """Number of the second line of a document of a query."""
    seen, n_lines = 0, 0
    for chunk in _chunks(path):
        for line in chunk.splitlines():
            n_lines += 1
            fields = line.split()
            if fields and fields[0] == query.encode() and fields[2] == document.encode():
                seen += 1
                if seen == 2:
                    return n_lines
    return n_lines
