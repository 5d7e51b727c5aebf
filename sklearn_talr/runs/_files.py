"""Files of judgments and runs: TREC's formats, JSON and tables, plain or compressed."""

import csv
import json
from collections import Counter
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path

import numpy as np

from .._core.compat import validated
from .._core.types import FilePath
from ._data import (
    DOCUMENT,
    QUERY,
    ChosenColumns,
    DocumentTable,
    Qrels,
    RepeatedDocumentError,
    Run,
    chosen_columns,
    decoded,
    query_identifiers,
    table_of_columns,
)
from ._lines import (
    QRELS_FORMAT,
    RUN_FORMAT,
    advice_without_head,
    number_or_nan,
    refuse_lines,
    table_of_lines,
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


@validated(path=[str, PathLike])
def read_qrels(path: FilePath) -> Qrels:
    """Read judgments in TREC's format, in JSON or in a table.

    The suffix of the file or its first line declares the format:

    * ``.json``: a dict of dicts, as :class:`Qrels` takes it.
    * ``.jsonl``: a record in each line, with the columns of :class:`Qrels`.
    * ``.parquet``: a table with these columns, which needs pandas.
    * A first line with the names of these columns, separated by tabs or commas: a table,
      such as the ``.tsv`` of BEIR's judgments, or a ``.csv``.
    * Any other file is in TREC's format. Every line has four fields, separated by blanks:
      query, iteration (not used), document, relevance. Lines that begin with ``#`` are
      comments.

    Parameters
    ----------
    path : str or path-like
        The file, plain or compressed by gzip, bzip2 or xz, whose name may end with ``.gz``,
        ``.bz2`` or ``.xz``. ``~`` is the home folder.

    Returns
    -------
    qrels : Qrels
        The judgments.

    Raises
    ------
    ValueError
        If the file is empty or damaged, a pointer of Git LFS, a URL, a ``.csv`` without a
        header, or text in UTF-16; or if a line does not have four fields, has a relevance
        that is not an integer, or repeats a document of a query. The message names the file
        and the line.

    OSError
        If the file cannot be opened.

    See Also
    --------
    evaluate_run : Takes these judgments, or the path itself.

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

    The suffix of the file or its first line declares the format:

    * ``.json``: a dict of dicts, as :class:`Run` takes it, or mteb's predictions of one
      subset and split.
    * ``.jsonl``: a record in each line, with the columns of :class:`Run`, or predictions of
      evaluators of sentence-transformers.
    * ``.parquet``: a table with these columns, which needs pandas.
    * A first line with the names of these columns, separated by tabs or commas: a table.
    * Any other file is in TREC's format. Every line has six fields, separated by blanks:
      query, ``Q0`` (not used), document, rank (an integer, not used), score, name of the
      run. More words may follow, which are not used. Lines that begin with ``#`` are
      comments.

    Documents are ranked by their scores alone, as trec_eval ranks them.

    Parameters
    ----------
    path : str or path-like
        The file, plain or compressed by gzip, bzip2 or xz, whose name may end with ``.gz``,
        ``.bz2`` or ``.xz``. ``~`` is the home folder.

    Returns
    -------
    run : Run
        The run. Its name is the last field of the first line, mteb's name of the model, or
        the name of the file.

    Raises
    ------
    ValueError
        If the file is empty or damaged, a pointer of Git LFS, a URL, a ``.csv`` without a
        header, or text in UTF-16; if a line has fewer than six fields, has a score that is
        not a finite number, or repeats a document of a query; or if scores seem to be
        ranks, for example because an identifier has a blank, or rise with the rank in all
        queries. The message names the file and the line.

    OSError
        If the file cannot be opened.

    See Also
    --------
    evaluate_run : Takes this run, or the path itself.

    Examples
    --------
    Documents with equal scores are tied, even if their ranks differ:

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
            raise ValueError(
                f"{path}, line 1 is not a header.{advice_without_head(form, ',')}"
            )
        line_format = QRELS_FORMAT if form is Qrels else RUN_FORMAT
        table, tag = table_of_lines(path, source.blocks(), line_format)
        return _made(form, table, tag)


def _made(form, data, name):
    """Qrels, or a Run of this name."""
    return Run(data, name) if form is Run else Qrels(data)


def _reader_of_data(suffix, start):
    """The reader for this suffix and these first bytes; None for lines of text."""
    if suffix == ".parquet" or start.startswith(START_OF_PARQUET):
        return _data_of_parquet
    if suffix == ".json":
        return _data_of_json
    if suffix == ".jsonl":
        return _data_of_json_lines
    return None


def _read_data(path, form, source, read_data, stem):
    """Qrels or Run of the content of a file; errors name the file."""
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
        raise ValueError(f"it is not a Parquet table: {error}") from error


def _data_of_json(content, form):
    """Data of a JSON file, and the name of mteb's model, if it has one."""
    data = _loaded(content)
    if "mteb_model_meta" not in data:
        return data, None
    name = data.pop("mteb_model_meta")["model_name"]
    parts = [(subset, split) for subset in data for split in data[subset]]
    if len(parts) != 1:
        raise ValueError(
            f"it has the subsets and splits {parts}. Read it with json.load, and "
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
    # The run includes queries without hits.
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
    """The separator of the names in a table's first line, or None without such a line."""
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
        raise ValueError(f"{path}, line 1 repeats a name of a column: {', '.join(names)}.")
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
    """The numbers in a column of text; an error names the line of another text."""
    if name is None:
        return None
    texts = [cell.strip().encode("utf-8", "replace") for cell in cells]
    numbers = np.array(list(map(number_or_nan, texts)))
    problem = f": {name} {{!r}} is not a number."
    refuse_lines(path, lines, ~np.isfinite(numbers), problem, shown=cells)
    return numbers


def _loaded(text):
    """Data of a JSON text. A dict that repeats a name is an error: json takes the last."""
    return json.loads(text, object_pairs_hook=_dict_of_different_names)


def _dict_of_different_names(pairs):
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f"{counts.most_common(1)[0][0]!r} is repeated in a dict.")
    return values
