"""Files of judgments and runs: TREC's formats, JSON and tables, plain or compressed."""

import csv
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO, StringIO
from itertools import chain, count
from os import PathLike
from pathlib import Path
from typing import NamedTuple

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

# Fields of a line of a table without a head, such as query, document and relevance
_N_FIELDS_OF_TRIPLES = 3
# Messages show the first bytes of a field.
_N_BYTES_SHOWN = 40
_NO_HEAD = (
    " Without a head nobody knows what the columns are. Name them, as by "
    "pd.read_csv(path, sep={sep!r}, names=['query_id', 'doc_id', {name!r}], "
    "dtype={{'query_id': str, 'doc_id': str}})"
)
_LONG = f" has more than {BYTES_OF_LINE} bytes, so this is no file of TREC's formats."
_NUL = (
    " has a NUL byte, so this is no text, or text in UTF-16, which must be saved as UTF-8."
)
_WIDE = f" has an identifier of {{}} bytes; {BYTES_OF_ID} are the most."
_BLANK = "has an identifier a blank, or is the score before the rank?"
_RANKS = f": scores count the lines of its query, as ranks do: {_BLANK}"
_NUMBER_AS_TAG = f": the sixth of more than six words is a number: {_BLANK}"
_SWAPPED = " Judgments have 4 and come first, runs have 6: are the files swapped?"


@dataclass(frozen=True)
class LineFormat:
    """Columns of the lines of a file without a head.

    Parameters
    ----------
    form : type
        `Qrels` or `Run`, which the file holds.

    columns : tuple of str
        Name of each field. There are a "query" and a "document".

    value : str
        The column of the relevance, or of the score.

    is_valid : callable
        Tells of each number of an array whether a table may hold it.

    problem : str
        What is wrong with a value that a table may not hold.

    rank : str, default=None
        The column of ranks, which are integers.

    has_more_words : bool, default=False
        Whether words may follow the last field; they are not used.
    """

    form: type
    columns: tuple
    value: str
    is_valid: Callable
    problem: str
    rank: str | None = None
    has_more_words: bool = False

    @property
    def names(self):
        """Names of the columns, in words."""
        return ", ".join(self.columns)

    @property
    def rank_problem(self):
        """What is wrong with a rank that is no integer."""
        return f": rank {{!r}} is no integer. A line must have {self.names}: {_BLANK}"


_QRELS_FORMAT = LineFormat(
    form=Qrels,
    columns=("query", "iteration", "document", "relevance"),
    value="relevance",
    is_valid=are_integers,
    problem=(": relevance {!r} is no integer. Real gains are read from .json and tables."),
)
_RUN_FORMAT = LineFormat(
    form=Run,
    columns=("query", "Q0", "document", "rank", "score", "tag"),
    value="score",
    is_valid=np.isfinite,
    problem=": score {!r} is no finite number.",
    rank="rank",
    has_more_words=True,
)


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
    suffix = Path(name).suffix.lower()
    stem = Path(name).stem
    with Source(path) as source:
        read_data = _reader_of_data(suffix, source.start)
        if read_data is not None:
            return _read_data(path, form, source, read_data, stem)
        delimiter = _delimiter_of_head(source.start)
        if delimiter is not None:
            table = _table_with_head(path, delimiter, source.content(), form)
            return _made(form, table, stem)
        if suffix == ".csv":
            raise ValueError(f"{path}, line 1 is no head.{_no_head(form, ',')}")
        line_format = _QRELS_FORMAT if form is Qrels else _RUN_FORMAT
        table, tag = _table_of_lines(path, source.blocks(), line_format)
        return _made(form, table, tag)


def _made(form, data, name):
    """Qrels, or a Run of this name."""
    return Run(data, name) if form is Run else Qrels(data)


def _reader_of_data(suffix, start):
    """What reads files of such a suffix and such first bytes; None for lines of text."""
    if suffix == ".parquet" or start.startswith(START_OF_PARQUET):
        return _data_of_parquet
    if suffix == ".json":
        return _data_of_json
    if suffix == ".jsonl":
        return _data_of_json_lines
    return None


def _read_data(path, form, source, read_data, stem):
    """Qrels or Run of what a file holds; errors name the file."""
    content = source.content()
    try:
        data, name = read_data(content, form)
        return _made(form, data, name or stem)
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
    data = _loaded(content)
    if "mteb_model_meta" not in data:
        return data, None
    name = data.pop("mteb_model_meta")["model_name"]
    parts = [(subset, split) for subset in data for split in data[subset]]
    if len(parts) != 1:
        raise ValueError(
            f"it has the subsets and splits {parts}. Read it by json.load, and "
            "pass data[subset][split] of one to Run"
        )
    subset, split = parts[0]
    return data[subset][split], name


def _data_of_json_lines(content, form):
    """Records of lines, or the table of predictions of sentence-transformers."""
    records = [_loaded(line) for line in content.split(b"\n") if line.strip()]
    if not records or "results" not in records[0]:
        return records, None
    hits = [
        {"query_id": record["query_id"], **hit}
        for record in records
        for hit in record["results"]
    ]
    table = form(hits).table
    # Queries that found nothing are in the run, too.
    queries = query_identifiers(record["query_id"] for record in records)
    with_all_queries = DocumentTable(
        [*queries, *table.queries],
        table.numbers + len(queries),
        table.documents,
        table.values,
        table.best_first,
    )
    return with_all_queries, None


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
    cells = []
    lines = []
    try:
        for row in filter(None, rows):
            if len(row) != len(names):
                raise ValueError(
                    f"{path}, line {rows.line_num} has {len(row)} fields instead of "
                    f"{len(names)}: {', '.join(names)}."
                )
            cells.append(row)
            lines.append(rows.line_num)
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {rows.line_num}: {error}. Is a quotation mark left open?"
        ) from error
    columns = zip(*cells) if cells else [()] * len(names)
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
    problem = f": {name} {{!r}} is no number."
    _refuse_lines(path, lines, ~np.isfinite(numbers), problem, shown=cells)
    return numbers


def _no_head(form, separator):
    """How to read a table without a head: of a run the third column has two readings."""
    if form is Qrels:
        return _NO_HEAD.format(sep=separator, name="relevance") + "."
    ranks = _NO_HEAD.format(sep=separator, name="rank")
    return f"{ranks}; or 'score' in place of 'rank', if the last column has scores."


def _loaded(text):
    """What JSON holds; of a name that a dict has twice, json would take the last."""
    return json.loads(text, object_pairs_hook=_dict_of_different_names)


def _dict_of_different_names(pairs):
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f"{counts.most_common(1)[0][0]!r} comes twice in one dict.")
    return values


# Lines of TREC's formats


class _Lines(NamedTuple):
    """Some lines that have fields.

    Parameters
    ----------
    numbers : ndarray of shape (n_lines,) of int64
        The first line of a file is 1.

    fields : dict of str to sequence of bytes of length n_lines
        By the names of the columns.
    """

    numbers: np.ndarray
    fields: dict


class _Rows(NamedTuple):
    """Rows of a table that some lines hold.

    Parameters
    ----------
    lines : ndarray of shape (n_rows,) of int64
        Numbers of the lines.

    query_numbers : ndarray of shape (n_rows,) of int64

    documents : list of str of length n_rows

    values : ndarray of shape (n_rows,)

    ranks : ndarray of shape (n_rows,), or None
        If the format has them.
    """

    lines: np.ndarray
    query_numbers: np.ndarray
    documents: list
    values: np.ndarray
    ranks: np.ndarray | None

    @classmethod
    def joined(cls, parts):
        """Rows of all parts, one after another."""
        has_ranks = parts[0].ranks is not None
        return cls(
            lines=np.concatenate([part.lines for part in parts]),
            query_numbers=np.concatenate([part.query_numbers for part in parts]),
            documents=list(chain.from_iterable(part.documents for part in parts)),
            values=np.concatenate([part.values for part in parts]),
            ranks=np.concatenate([part.ranks for part in parts]) if has_ranks else None,
        )


def _table_of_lines(path, blocks, line_format):
    """The table of a file, and the last field of its first line.

    Parameters
    ----------
    path : Path

    blocks : iterable of bytes
        What it holds, in whole lines.

    line_format : LineFormat
    """
    number_of_query = defaultdict(count().__next__)
    tag = None
    parts = []
    for lines in _lines_with_fields(path, blocks, line_format):
        if tag is None:
            tag = decoded(lines.fields[line_format.columns[-1]][0])
        parts.append(_rows_of_lines(path, lines, line_format, number_of_query))
    if not parts:
        raise ValueError(f"{path} is empty: a line must have {line_format.names}.")
    rows = _Rows.joined(parts)
    if rows.ranks is not None:
        _refuse_scores_that_count(path, rows)
    try:
        table = DocumentTable(
            list(map(decoded, number_of_query)),
            rows.query_numbers,
            rows.documents,
            rows.values,
            line_format.form is Run,
            ranks=rows.ranks,
        )
    except RepeatedDocumentError as error:
        raise ValueError(f"{path}, line {rows.lines[error.args[2]]}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return table, tag


def _rows_of_lines(path, lines, line_format, number_of_query):
    """Rows of some lines; an error names the line of a field that is no number.

    Parameters
    ----------
    path : Path

    lines : _Lines

    line_format : LineFormat

    number_of_query : defaultdict of bytes to int
        It gives a query that it does not have the next number.
    """
    values = _parsed_column(
        path, lines, line_format.value, line_format.is_valid, line_format.problem
    )
    ranks = None
    if line_format.rank is not None:
        ranks = _parsed_column(
            path, lines, line_format.rank, are_integers, line_format.rank_problem
        )
    queries = lines.fields["query"]
    documents = decoded(b"\0".join(lines.fields["document"])).split("\0")
    numbers = _as_integers(map(number_of_query.__getitem__, queries), len(queries))
    return _Rows(lines.numbers, numbers, documents, values, ranks)


def _parsed_column(path, lines, column, is_valid, problem):
    """Numbers of a column, or an error that names the line of one that is not valid."""
    texts = lines.fields[column]
    numbers = _parsed_numbers(texts)
    _refuse_lines(path, lines.numbers, ~is_valid(numbers), problem, shown=texts)
    return numbers


def _refuse_scores_that_count(path, rows):
    """Raise an error if the scores of each query count its lines.

    Not if ranks count them backwards, as in a file that has its best lines last.
    """
    order = np.argsort(rows.query_numbers, kind="stable")
    ranks = rows.ranks[order]
    scores = rows.values[order]
    n_lines = np.bincount(rows.query_numbers)
    first = np.cumsum(n_lines) - n_lines
    start = scores - np.arange(len(scores))
    counts_lines = _are_constant(start, first) & np.isin(scores[first], [0, 1])
    counts_lines &= ~_are_constant(ranks + scores, first)
    has_several = n_lines > 1
    if has_several.any() and counts_lines[has_several].all():
        is_first = np.arange(len(order)) == first[has_several][0]
        _refuse_lines(path, rows.lines[order], is_first, _RANKS)


def _are_constant(values, first):
    """Whether the values of each query are one; `first` has its first row."""
    return np.maximum.reduceat(values, first) == np.minimum.reduceat(values, first)


def _lines_with_fields(path, blocks, line_format):
    """Yield the fields of many lines, but for blank lines and comments.

    Parameters
    ----------
    path : Path

    blocks : iterable of bytes

    line_format : LineFormat

    Yields
    ------
    lines : _Lines
    """
    n_before = 0
    for block in blocks:
        # Files that were put together have marks in their midst.
        block = block.removeprefix(MARK).replace(b"\n" + MARK, b"\n")
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
        numbers = np.arange(n_before + 1, n_before + len(ends) + 1)
        n_before += len(ends)
        if b"\0" in block:
            n_lines_before_nul = block.count(b"\n", 0, block.index(b"\0"))
            _refuse_lines(path, numbers, numbers == numbers[0] + n_lines_before_nul, _NUL)
        width = np.diff(ends, prepend=-1) - 1
        _refuse_lines(path, numbers, width > BYTES_OF_LINE, _LONG)
        lines = _split_at_once(block, numbers, line_format)
        if lines is None:
            lines = _split_one_by_one(path, block, numbers, line_format)
        if width.max() > BYTES_OF_ID:
            _refuse_wide_identifiers(path, lines)
        if len(lines.numbers):
            yield lines


def _split_at_once(block, numbers, line_format):
    """Split all lines of a block, which is fastest; None if some line is not regular.

    Regular lines have all their fields and nothing else. Most blocks have no others.
    """
    if block.startswith(b"#") or b"\n#" in block:
        return None
    n_fields = len(line_format.columns)
    words = block.replace(b"\n", b" \0 ").split()
    n_words_of_line = n_fields + 1  # NUL ends a line.
    n_ends_in_place = words[n_fields::n_words_of_line].count(b"\0")
    if (
        not len(words)
        == n_words_of_line * len(numbers)
        == n_words_of_line * n_ends_in_place
    ):
        return None
    columns = enumerate(line_format.columns)
    return _Lines(numbers, {name: words[place::n_words_of_line] for place, name in columns})


def _split_one_by_one(path, block, numbers, line_format):
    """Split each line of a block; errors name the first line that has other fields."""
    n_fields = len(line_format.columns)
    # Comments are blank lines.
    texts = block.split(b"\n")[:-1]
    words = [[] if text.startswith(b"#") else text.split() for text in texts]
    if line_format.has_more_words:
        _refuse_numbers_as_tags(path, numbers, words, n_fields)
        # Words after the last field are part of none, unless they are other lines, whose
        # ends are carriage returns.
        words = [
            line if b"\r" in text.rstrip() else line[:n_fields]
            for text, line in zip(texts, words)
        ]
    n_words = _as_integers(map(len, words), len(words))
    is_wrong = (n_words > 0) & (n_words != n_fields)
    if is_wrong.any():
        problem = _problem_of_fields(n_words[n_words > 0], line_format)
        _refuse_lines(path, numbers, is_wrong, problem, shown=n_words)
    columns = list(zip(*filter(None, words))) or [()] * n_fields
    return _Lines(numbers[n_words > 0], dict(zip(line_format.columns, columns)))


def _refuse_numbers_as_tags(path, numbers, words, n_fields):
    """Raise an error for a line of a run whose identifier seems to have a blank."""
    is_shifted = [
        len(line) > n_fields
        and b"".join(line[3:5]).isdigit()
        and math.isfinite(_number(line[5]))
        for line in words
    ]
    _refuse_lines(path, numbers, is_shifted, _NUMBER_AS_TAG)


def _problem_of_fields(n_words, line_format):
    """What is wrong with lines of so many words, and what they may be."""
    n_fields = len(line_format.columns)
    problem = f" has {{}} fields instead of {n_fields}: {line_format.names}."
    swapped_format = _RUN_FORMAT if line_format is _QRELS_FORMAT else _QRELS_FORMAT
    if np.all(n_words == len(swapped_format.columns)):
        problem += _SWAPPED
    if np.all(n_words == _N_FIELDS_OF_TRIPLES):
        no_head = _no_head(line_format.form, "\t")
        problem += no_head.replace("{", "{{").replace("}", "}}")
    return problem


def _refuse_wide_identifiers(path, lines):
    for column in ("query", "document"):
        width = _as_integers(map(len, lines.fields[column]), len(lines.numbers))
        _refuse_lines(path, lines.numbers, width > BYTES_OF_ID, _WIDE, shown=width)


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


def _refuse_lines(path, lines, is_wrong, problem, *, shown=None):
    """Raise an error that names the first wrong line, if any.

    Parameters
    ----------
    path : Path

    lines : array-like of shape (n_lines,) of int
        Numbers of the lines.

    is_wrong : array-like of shape (n_lines,) of bool

    problem : str
        What is wrong; a brace in it is for what the line has.

    shown : sequence of length n_lines, default=None
        What each line has.
    """
    wrong_lines = np.flatnonzero(is_wrong)
    if not len(wrong_lines):
        return
    first = wrong_lines[0]
    cell = None if shown is None else shown[first]
    if isinstance(cell, bytes):
        cell = cell[:_N_BYTES_SHOWN].decode("utf-8", "replace")
    raise ValueError(f"{path}, line {lines[first]}{problem.format(cell)}")
