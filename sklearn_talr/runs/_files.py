"""Files of judgments and runs: TREC's formats, JSON and tables; plain or gzip."""

import gzip
import json
import math
import zlib
from collections import Counter, defaultdict
from contextlib import suppress
from itertools import count
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from .._compat import validated
from .._types import FilePath
from ._data import (
    BYTES_OF_ID,
    DocumentTable,
    Qrels,
    RepeatedDocumentError,
    Run,
    are_integers,
    decoded,
    query_identifiers,
)
from ._result import import_pandas

_BYTES_PER_BLOCK = 2**17  # whose fields stay in cache
_BYTES_OF_LINE = 2**16  # the longest line, without its end
_MARK = b"\xef\xbb\xbf"  # that some programs put before text in UTF-8
_START_OF_GZIP, _OF_GZIP = b"\x1f\x8b", (gzip.BadGzipFile, zlib.error)
_LINE_OF_QRELS = "query, iteration, document, relevance"
_LINE_OF_RUN = "query, Q0, document, rank, score, tag"
_LONG = f" has more than {_BYTES_OF_LINE} bytes, so this is no file of TREC's formats."
_FIELDS_OF_RUN, _FIELDS_OF_BOTH = 6, 10  # judgments have 4
_NUL = (
    " has a NUL byte, so this is no text, or text in UTF-16, which must be saved as UTF-8."
)
_WIDE = f" has an identifier of {{}} bytes; {BYTES_OF_ID} are the most."
_NO_INTEGER = ": relevance {!r} is no integer. Real gains are read from .json and tables."
_NO_SCORE = ": score {!r} is no finite number."
_BLANK = "has an identifier a blank, or is the score before the rank?"
_NO_RANK = f": rank {{!r}} is no integer. A line must have {_LINE_OF_RUN}: {_BLANK}"
_RANKS = f": scores count the lines of its query, as ranks do: {_BLANK}"
_NUMBER_AS_TAG = f": the sixth of more than six words is a number: {_BLANK}"


@validated(path=[str, PathLike])
def read_qrels(path: FilePath) -> Qrels:
    """Read judgments in TREC's format, in JSON or in a table.

    The name of the file tells what it is. One that ends with none of the following is in
    TREC's format: every line has four fields, set apart by blanks: query, iteration (not
    used), document, relevance. Lines that begin with ``#`` are comments.

    * ``.json``: a dict of dicts, as :class:`Qrels` takes it.
    * ``.jsonl``: a record in each line, with columns as of :class:`Qrels`.
    * ``.parquet``: a table with these columns, which needs pandas.

    Parameters
    ----------
    path : str or path-like
        The file, plain or, but for ``.parquet``, compressed by gzip. Such a name may end
        with ``.gz``.

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
    rest = _LINE_OF_QRELS, 3, are_integers, _NO_INTEGER
    return _of_suffix(path, Qrels) or Qrels(_read(path, *rest)[0])


@validated(path=[str, PathLike])
def read_run(path: FilePath) -> Run:
    """Read a run in TREC's format, in JSON or in a table.

    The name of the file tells what it is. One that ends with none of the following is in
    TREC's format: every line has six fields, set apart by blanks: query, ``Q0`` (not used),
    document, rank (an integer, not used), score, name of the run. More words may follow,
    which are not used. Lines that begin with ``#`` are comments.

    * ``.json``: a dict of dicts, as :class:`Run` takes it, or predictions that mteb has
      kept of one subset and split.
    * ``.jsonl``: a record in each line, with columns as of :class:`Run`, or predictions of
      evaluators of sentence-transformers.
    * ``.parquet``: a table with these columns, which needs pandas.

    Documents are ranked by their scores alone, as trec_eval ranks them.

    Parameters
    ----------
    path : str or path-like
        The file, plain or, but for ``.parquet``, compressed by gzip. Such a name may end
        with ``.gz``.

    Returns
    -------
    run : Run
        The run, with the name that its first line gives, or mteb's name of the model, or
        that of the file.

    Raises
    ------
    ValueError
        If the file is empty or damaged, or a line has fewer than six fields, has a score
        that is no finite number, or repeats a document of a query, or if scores seem to be
        ranks, as where an identifier has a blank. The message names the file and the line.

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
    {'q1': {'d2': 12.5, 'd1': 12.5}}
    """
    rest = _LINE_OF_RUN, 4, np.isfinite, _NO_SCORE
    return _of_suffix(path, Run) or Run(*_read(path, *rest))


def _of_suffix(path, form):
    """Qrels or Run of a file that is not in TREC's format by its suffix, or None."""
    path = Path(path)
    plain = Path(path.name.removesuffix(".gz"))
    if plain.suffix not in {".json", ".jsonl", ".parquet"}:
        return None
    name = plain.stem
    try:
        if plain.suffix == ".parquet":
            data = import_pandas().read_parquet(path)
        else:
            text = path.read_bytes()
            text = gzip.decompress(text) if text.startswith(_START_OF_GZIP) else text
        if plain.suffix == ".json":
            data = _loaded(text)
            if "mteb_model_meta" in data:
                name = data.pop("mteb_model_meta")["model_name"]
                parts = [(subset, split) for subset in data for split in data[subset]]
                if len(parts) != 1:
                    raise ValueError(
                        f"it has the subsets and splits {parts}. Read it by json.load, and "
                        "pass data[subset][split] of one to Run"
                    )
                data = data[parts[0][0]][parts[0][1]]
        elif plain.suffix == ".jsonl":
            data = [_loaded(line) for line in text.split(b"\n") if line.strip()]
            if data and "results" in data[0]:  # of sentence-transformers, line by query
                asked = query_identifiers(query["query_id"] for query in data)
                data = [
                    {"query_id": q["query_id"], **d} for q in data for d in q["results"]
                ]
                # Queries that found nothing are in the run, too
                table, n_asked = form(data).table, len(asked)
                rows = table.numbers + n_asked, table.documents, table.values
                data = DocumentTable([*asked, *table.queries], *rows, table.best_first)
        return form(data, name) if form is Run else form(data)
    except (EOFError, LookupError, TypeError, ValueError, *_OF_GZIP) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _loaded(text):
    """What JSON holds; of a name that a dict has twice, json would take the last."""

    def once(pairs):
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            raise ValueError(f"{counts.most_common(1)[0][0]!r} comes twice in one dict.")
        return found

    return json.loads(text, object_pairs_hook=once)


def _read(path, line_format, value_field, are_right, problem):
    """Read the table of a file, and the last field of its first line.

    Parameters
    ----------
    path : str or path-like

    line_format : str
        Names of the fields of a line, of which the first is the query and the third the
        document.

    value_field : int
        Place of the number among the fields.

    are_right : callable
        Tells of each number whether a table may hold it.

    problem : str
        What is wrong with a number that a table may not hold.
    """
    path = fspath(path)
    queries = defaultdict(count().__next__)
    numbers, documents, ranks, values, lines = [], [], [], [], []
    name = None
    for some_lines, columns in _columns_of_lines(path, line_format):
        query, _, document, *_, last = columns
        value = _parsed_numbers(columns[value_field])
        _refuse(path, some_lines, ~are_right(value), problem, columns[value_field])
        if value_field == 4:
            rank = _parsed_numbers(columns[3])
            _refuse(path, some_lines, ~are_integers(rank), _NO_RANK, columns[3])
            ranks.append(rank)
        name = name or decoded(last[0])
        numbers.append(_as_integers(map(queries.__getitem__, query), len(query)))
        documents += decoded(b"\0".join(document)).split("\0")
        values.append(value)
        lines.append(some_lines)
    if name is None:
        raise ValueError(f"{path} is empty: a line must have {line_format}.")
    numbers, values, lines = map(np.concatenate, (numbers, values, lines))
    if ranks:
        _refuse_ranks(path, lines, numbers, np.concatenate(ranks), values)
    try:
        rows = numbers, documents, values
        return DocumentTable(map(decoded, queries), *rows, value_field == 4), name
    except RepeatedDocumentError as error:
        raise ValueError(f"{path}, line {lines[error.args[2]]}: {error}") from error


def _refuse_ranks(path, lines, numbers, rank, score):
    """Raise an error if the scores of each query count its lines.

    Not if ranks count them backwards, as in a file that has its best lines last.
    """
    order = np.argsort(numbers, kind="stable")
    rank, score, size = rank[order], score[order], np.bincount(numbers)
    first = np.cumsum(size) - size

    def is_one(column):
        return np.maximum.reduceat(column, first) == np.minimum.reduceat(column, first)

    start = score - np.arange(len(score))
    counts = is_one(start) & np.isin(score[first], [0, 1]) & ~is_one(rank + score)
    several = size > 1
    if several.any() and counts[several].all():
        _refuse(path, lines[order], np.arange(len(order)) == first[several][0], _RANKS)


def _columns_of_lines(path, line_format):
    """Yield the numbers of many lines that are not blank, and a list for each field."""
    n_fields = line_format.count(",") + 1
    n_before = 0
    for block in _blocks(path):
        # Files that were put together have marks in their midst.
        block = block.removeprefix(_MARK).replace(b"\n" + _MARK, b"\n")
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
        lines = np.arange(n_before + 1, n_before + len(ends) + 1)
        n_before += len(ends)
        if b"\0" in block:
            has_nul = lines == lines[0] + block.count(b"\n", 0, block.index(b"\0"))
            _refuse(path, lines, has_nul, _NUL)
        width = np.diff(ends, prepend=-1) - 1
        _refuse(path, lines, width > _BYTES_OF_LINE, _LONG)
        # Most often every line has its fields, and one split of all lines is fastest.
        words, step = block.replace(b"\n", b" \0 ").split(), n_fields + 1
        n_right = words[n_fields::step].count(b"\0")
        has_comments = block.startswith(b"#") or b"\n#" in block
        if len(words) == step * len(lines) == step * n_right and not has_comments:
            columns = [words[field::step] for field in range(n_fields)]
        else:
            # Comments are blank lines, and words after a run's tag are part of no field,
            # unless they are other lines, whose ends are not ours
            texts = block.split(b"\n")[:-1]
            fields = [[] if text.startswith(b"#") else text.split() for text in texts]
            if n_fields == _FIELDS_OF_RUN:
                has_blank = [
                    len(every) > n_fields
                    and b"".join(every[3:5]).isdigit()
                    and math.isfinite(_number(every[5]))
                    for every in fields
                ]
                _refuse(path, lines, has_blank, _NUMBER_AS_TAG)
                fields = [
                    every if b"\r" in text.rstrip() else every[:n_fields]
                    for text, every in zip(texts, fields)
                ]
            size = _as_integers(map(len, fields), len(fields))
            problem = f" has {{}} fields instead of {n_fields}: {line_format}."
            if np.all(size[size > 0] == _FIELDS_OF_BOTH - n_fields):
                problem += (
                    " Judgments have 4 and come first, runs have 6: are the files swapped?"
                )
            _refuse(path, lines, (size > 0) & (size != n_fields), problem, size)
            lines, columns = lines[size > 0], list(zip(*filter(None, fields)))
        if width.max() > BYTES_OF_ID:
            for identifiers in columns[0:3:2]:
                width = _as_integers(map(len, identifiers), len(lines))
                _refuse(path, lines, width > BYTES_OF_ID, _WIDE, width)
        if len(lines):
            yield lines, columns


def _blocks(path):
    """Yield the bytes of many whole lines; a line that is too long may be cut."""
    with open(path, "rb") as file:
        is_gzip = file.peek(2).startswith(_START_OF_GZIP)
        source = gzip.GzipFile(fileobj=file) if is_gzip else file
        try:
            while block := source.read(_BYTES_PER_BLOCK):
                block += source.readline(_BYTES_OF_LINE + len(_MARK) + 1)
                yield block if block.endswith(b"\n") else block + b"\n"
        except (EOFError, *_OF_GZIP) as error:
            raise ValueError(f"{path} is damaged: {error}") from error


def _parsed_numbers(texts):
    """The numbers that Python reads in bytes; NaN for none, and for its underscores."""
    if b"_" not in b"".join(texts):
        with suppress(ValueError):
            return np.fromiter(map(float, texts), np.float64, len(texts))
    return np.array(list(map(_number, texts)))


def _number(text):
    try:
        return np.nan if b"_" in text else float(text)
    except ValueError:
        return np.nan


def _as_integers(numbers, n_numbers):
    return np.fromiter(numbers, dtype=np.int64, count=n_numbers)


def _refuse(path, lines, are_wrong, problem, found=None):
    """Raise an error that names the first wrong line, if any, and what was found there."""
    for wrong in np.flatnonzero(are_wrong)[:1]:
        shown = found[wrong] if found is not None else None
        if isinstance(shown, bytes):
            shown = shown[:40].decode("utf-8", "replace")
        raise ValueError(f"{path}, line {lines[wrong]}{problem.format(shown)}")
