"""Files of judgments and runs: TREC's formats, JSON and tables, plain or compressed."""

import csv
import json
import math
from collections import Counter, defaultdict
from contextlib import suppress
from io import BytesIO, StringIO
from itertools import count
from os import PathLike
from pathlib import Path

import numpy as np

from .._compat import validated
from .._types import FilePath
from ._data import (
    BYTES_OF_ID,
    DOCUMENT,
    QUERY,
    ChosenColumns,
    DocumentTable,
    Qrels,
    RepeatedDocumentError,
    Run,
    are_integers,
    chosen_columns,
    decoded,
    query_identifiers,
    table_of_columns,
)
from ._result import import_pandas
from ._sources import (
    BYTES_OF_LINE,
    MARK,
    START_OF_PARQUET,
    Source,
    local_path,
    plain_name,
)

_LINE_OF_QRELS = "query, iteration, document, relevance"
_LINE_OF_RUN = "query, Q0, document, rank, score, tag"
_LONG = f" has more than {BYTES_OF_LINE} bytes, so this is no file of TREC's formats."
_FIELDS_OF_RUN, _FIELDS_OF_BOTH = 6, 10  # judgments have 4
_FIELDS_OF_TRIPLES = 3
_NO_HEAD = (
    " Without a head nobody knows what the columns are. Name them, as by "
    "pd.read_csv(path, sep={sep!r}, names=['query_id', 'doc_id', {name!r}], "
    "dtype={{'query_id': str, 'doc_id': str}})"
)
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

    The name of the file declares what it is, or its first line. One that has none of the
    following is in TREC's format: every line has four fields, set apart by blanks: query,
    iteration (not used), document, relevance. Lines that begin with ``#`` are comments.

    * ``.json``: a dict of dicts, as :class:`Qrels` takes it.
    * ``.jsonl``: a record in each line, with columns as of :class:`Qrels`.
    * ``.parquet``: a table with these columns, which needs pandas.
    * A first line that names these columns, with tabs or commas between them: a table, as
      the ``.tsv`` of BEIR's judgments, or a ``.csv``.

    Parameters
    ----------
    path : str or path-like
        The file, plain or compressed by gzip, bzip2 or xz. Such a name may end with
        ``.gz``, ``.bz2`` or ``.xz``. ``~`` is the home folder.

    Returns
    -------
    qrels : Qrels
        The judgments.

    Raises
    ------
    ValueError
        If the file is empty or damaged, a pointer of Git LFS, a URL, a ``.csv`` without a
        head, or text in UTF-16; or if a line has not four fields, has a relevance
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
    return _read_file(path, Qrels)


@validated(path=[str, PathLike])
def read_run(path: FilePath) -> Run:
    """Read a run in TREC's format, in JSON or in a table.

    The name of the file declares what it is, or its first line. One that has none of the
    following is in TREC's format: every line has six fields, set apart by blanks: query,
    ``Q0`` (not used), document, rank (an integer, not used), score, name of the run. More
    words may follow, which are not used. Lines that begin with ``#`` are comments.

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
        If the file is empty or damaged, a pointer of Git LFS, a URL, a ``.csv`` without a
        head, or text in UTF-16; if a line has fewer than six fields, has a score that is no
        finite number, or repeats a document of a query; or if scores seem to be ranks, as
        where an identifier has a blank, or rise with the rank in all queries. The message
        names the file and the line.

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
    return _read_file(path, Run)


def _read_file(path, form):
    """Qrels or Run of a file, by its suffix, its first bytes and its first line."""
    path = local_path(path)
    name = plain_name(path)
    suffix, stem = Path(name).suffix.lower(), Path(name).stem
    with Source(path) as source:
        if suffix == ".parquet" or source.start.startswith(START_OF_PARQUET):
            return _wrapped(path, form, stem, _data_of_parquet, source)
        if suffix == ".json":
            return _wrapped(path, form, stem, _data_of_json, source)
        if suffix == ".jsonl":
            return _wrapped(path, form, stem, _data_of_json_lines, source)
        delimiter = _delimiter_of_head(source.start)
        if delimiter is not None:
            table = _table_with_head(path, delimiter, source.content(), form)
            return form(table) if form is Qrels else form(table, stem)
        if suffix == ".csv":
            raise ValueError(f"{path}, line 1 is no head.{_no_head(form, ',')}")
        if form is Qrels:
            rest = _LINE_OF_QRELS, 3, are_integers, _NO_INTEGER
            return Qrels(_read(path, source.blocks(), *rest)[0])
        rest = _LINE_OF_RUN, 4, np.isfinite, _NO_SCORE
        return Run(*_read(path, source.blocks(), *rest))


def _wrapped(path, form, stem, data_of, source):
    """Qrels or Run of what a file holds; errors name the file."""
    content = source.content()
    try:
        data, name = data_of(content, form)
        return form(data, name or stem) if form is Run else form(data)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _data_of_parquet(content, form):
    pandas = import_pandas()
    try:
        return pandas.read_parquet(BytesIO(content)), None
    except (OSError, ValueError) as error:
        raise ValueError(f"it is no table of .parquet: {error}") from error


def _data_of_json(content, form):
    """What a file of JSON holds, and the name of mteb's model, if it has one."""
    data, name = _loaded(content), None
    if "mteb_model_meta" in data:
        name = data.pop("mteb_model_meta")["model_name"]
        parts = [(subset, split) for subset in data for split in data[subset]]
        if len(parts) != 1:
            raise ValueError(
                f"it has the subsets and splits {parts}. Read it by json.load, and "
                "pass data[subset][split] of one to Run"
            )
        data = data[parts[0][0]][parts[0][1]]
    return data, name


def _data_of_json_lines(content, form):
    """Records of lines, or the table of predictions of sentence-transformers."""
    data = [_loaded(line) for line in content.split(b"\n") if line.strip()]
    if not data or "results" not in data[0]:
        return data, None
    asked = query_identifiers(query["query_id"] for query in data)
    hits = [
        {"query_id": query["query_id"], **hit} for query in data for hit in query["results"]
    ]
    # Queries that found nothing are in the run, too
    table, n_asked = form(hits).table, len(asked)
    rows = table.numbers + n_asked, table.documents, table.values
    return DocumentTable([*asked, *table.queries], *rows, table.best_first), None


def _delimiter_of_head(content):
    """What separates the names of a table's first line, or None if it has none."""
    head = content.removeprefix(MARK).replace(b"\r", b"\n").split(b"\n", 1)[0]
    for delimiter in "\t,":
        names = next(csv.reader([decoded(head[:BYTES_OF_LINE])], delimiter=delimiter), [])
        if set(names) & set(QUERY) and set(names) & set(DOCUMENT):
            return delimiter
    return None


def _columns_with_head(path, delimiter, text):
    """Columns of text by the names in its first line, and the number of each row's line."""
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    names = next(rows)
    if len(set(names)) < len(names):
        raise ValueError(f"{path}, line 1 has two columns of one name: {', '.join(names)}.")
    table, lines = [], []
    try:
        for row in filter(None, rows):
            if len(row) != len(names):
                raise ValueError(
                    f"{path}, line {rows.line_num} has {len(row)} fields instead of "
                    f"{len(names)}: {', '.join(names)}."
                )
            table.append(row)
            lines.append(rows.line_num)
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {rows.line_num}: {error}. Is a quotation mark left open?"
        ) from error
    columns = zip(*table) if table else [()] * len(names)
    return dict(zip(names, columns)), lines


def _table_with_head(path, delimiter, content, form):
    """Table of text whose first line names its columns, as the judgments of BEIR."""
    text = decoded(content.removeprefix(MARK))
    columns, lines = _columns_with_head(path, delimiter, text)
    try:
        chosen = chosen_columns(list(columns), form)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    cells = ChosenColumns(*map(columns.get, chosen))
    value = _numbers_of_cells(path, lines, chosen.value, cells.value)
    rank = _numbers_of_cells(path, lines, chosen.rank, cells.rank)
    try:
        return table_of_columns(cells._replace(value=value, rank=rank), form)
    except RepeatedDocumentError as error:
        raise ValueError(f"{path}, line {lines[error.args[2]]}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _numbers_of_cells(path, lines, name, cells):
    """The numbers in a column of text; an error names the line of what is none."""
    if name is None:
        return None
    numbers = np.array([_number(cell.strip().encode("utf-8", "replace")) for cell in cells])
    _refuse(path, lines, ~np.isfinite(numbers), f": {name} {{!r}} is no number.", cells)
    return numbers


def _no_head(form, separator):
    """How to read a table without a head: of a run the third column has two readings."""
    if form is Qrels:
        return _NO_HEAD.format(sep=separator, name="relevance") + "."
    ranks = _NO_HEAD.format(sep=separator, name="rank")
    return f"{ranks}; or 'score' in place of 'rank', if the last column has scores."


def _loaded(text):
    """What JSON holds; of a name that a dict has twice, json would take the last."""

    def once(pairs):
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            raise ValueError(f"{counts.most_common(1)[0][0]!r} comes twice in one dict.")
        return found

    return json.loads(text, object_pairs_hook=once)


def _read(path, blocks, line_format, value_field, are_right, problem):
    """Read the table of a file, and the last field of its first line.

    Parameters
    ----------
    path : Path

    blocks : iterable of bytes
        What it holds, in whole lines.

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
    queries = defaultdict(count().__next__)
    numbers, documents, ranks, values, lines = [], [], [], [], []
    name = None
    for some_lines, columns in _columns_of_lines(path, blocks, line_format):
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
        ranks = np.concatenate(ranks) if ranks else None
        queries = list(map(decoded, queries))
        return DocumentTable(queries, *rows, value_field == 4, ranks=ranks), name
    except RepeatedDocumentError as error:
        raise ValueError(f"{path}, line {lines[error.args[2]]}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


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


def _columns_of_lines(path, blocks, line_format):
    """Yield the numbers of many lines that are not blank, and a list for each field."""
    n_fields = line_format.count(",") + 1
    n_before = 0
    for block in blocks:
        # Files that were put together have marks in their midst.
        block = block.removeprefix(MARK).replace(b"\n" + MARK, b"\n")
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
        lines = np.arange(n_before + 1, n_before + len(ends) + 1)
        n_before += len(ends)
        if b"\0" in block:
            has_nul = lines == lines[0] + block.count(b"\n", 0, block.index(b"\0"))
            _refuse(path, lines, has_nul, _NUL)
        width = np.diff(ends, prepend=-1) - 1
        _refuse(path, lines, width > BYTES_OF_LINE, _LONG)
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
            if np.all(size[size > 0] == _FIELDS_OF_TRIPLES):
                form = Run if n_fields == _FIELDS_OF_RUN else Qrels
                problem += _no_head(form, "\t").replace("{", "{{").replace("}", "}}")
            _refuse(path, lines, (size > 0) & (size != n_fields), problem, size)
            lines, columns = lines[size > 0], list(zip(*filter(None, fields)))
        if width.max() > BYTES_OF_ID:
            for identifiers in columns[0:3:2]:
                width = _as_integers(map(len, identifiers), len(lines))
                _refuse(path, lines, width > BYTES_OF_ID, _WIDE, width)
        if len(lines):
            yield lines, columns


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
