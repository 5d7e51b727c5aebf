"""Lines of TREC's formats: a format declares its columns, and errors name the line."""

import math
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from ._data import (
    BYTES_OF_ID,
    DocumentTable,
    Qrels,
    RepeatedDocumentError,
    Run,
    are_integers,
    decoded,
)
from ._sources import BYTES_OF_LINE, MARK

# Fields of a line of a table without a head, such as query, document and relevance
_N_FIELDS_OF_TRIPLES = 3
# Messages show the first bytes of a field.
_N_BYTES_SHOWN = 40
_NO_HEAD = (
    " Without a header the columns are not known. Name them: pass "
    "pd.read_csv(path, sep={sep!r}, names=['query_id', 'doc_id', {name!r}], "
    "dtype={{'query_id': str, 'doc_id': str}})"
)
_LONG = f" has more than {BYTES_OF_LINE} bytes, so the file is not in TREC's formats."
_NUL = (
    " has a NUL byte, so it is not text, or text in UTF-16, which must be saved as UTF-8."
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
        Takes an array of numbers, and returns which of them a table may hold.

    problem : str
        Message about a value that a table may not hold.

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
        """Names of the columns, for a message."""
        return ", ".join(self.columns)

    @property
    def rank_problem(self):
        """Message about a rank that is not an integer."""
        return f": rank {{!r}} is not an integer. A line must have {self.names}: {_BLANK}"


QRELS_FORMAT = LineFormat(
    form=Qrels,
    columns=("query", "iteration", "document", "relevance"),
    value="relevance",
    is_valid=are_integers,
    problem=": relevance {!r} is not an integer. Put real gains into .json or a table.",
)
RUN_FORMAT = LineFormat(
    form=Run,
    columns=("query", "Q0", "document", "rank", "score", "tag"),
    value="score",
    is_valid=np.isfinite,
    problem=": score {!r} is not a finite number.",
    rank="rank",
    has_more_words=True,
)


class _Lines(NamedTuple):
    """Fields of some lines.

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


def table_of_lines(path, blocks, line_format):
    """The table of a file, and the last field of its first line.

    Parameters
    ----------
    path : Path

    blocks : iterable of bytes
        Content of the file, in whole lines.

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
    """Rows of some lines; an error names the line of a field that is not a number.

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
    refuse_lines(path, lines.numbers, ~is_valid(numbers), problem, shown=texts)
    return numbers


def _refuse_scores_that_count(path, rows):
    """Raise an error if the scores of each query count its lines.

    There is no error if ranks count them backwards, as in a file with its best lines last.
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
        refuse_lines(path, rows.lines[order], is_first, _RANKS)


def _are_constant(values, first):
    """Whether the values of each query are one; `first` has its first row."""
    return np.maximum.reduceat(values, first) == np.minimum.reduceat(values, first)


def _lines_with_fields(path, blocks, line_format):
    """Yield the fields of many lines, without blank lines and comments.

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
        # Concatenated files have byte order marks in the middle.
        block = block.removeprefix(MARK).replace(b"\n" + MARK, b"\n")
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
        numbers = np.arange(n_before + 1, n_before + len(ends) + 1)
        n_before += len(ends)
        if b"\0" in block:
            n_lines_before_nul = block.count(b"\n", 0, block.index(b"\0"))
            refuse_lines(path, numbers, numbers == numbers[0] + n_lines_before_nul, _NUL)
        width = np.diff(ends, prepend=-1) - 1
        refuse_lines(path, numbers, width > BYTES_OF_LINE, _LONG)
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
        refuse_lines(path, numbers, is_wrong, problem, shown=n_words)
    columns = list(zip(*filter(None, words))) or [()] * n_fields
    return _Lines(numbers[n_words > 0], dict(zip(line_format.columns, columns)))


def _refuse_numbers_as_tags(path, numbers, words, n_fields):
    """Raise an error for a line of a run whose identifier seems to have a blank."""
    is_shifted = [
        len(line) > n_fields
        and b"".join(line[3:5]).isdigit()
        and math.isfinite(number_or_nan(line[5]))
        for line in words
    ]
    refuse_lines(path, numbers, is_shifted, _NUMBER_AS_TAG)


def _problem_of_fields(n_words, line_format):
    """Message about lines with these numbers of words, and what they may be."""
    n_fields = len(line_format.columns)
    problem = f" has {{}} fields instead of {n_fields}: {line_format.names}."
    swapped_format = RUN_FORMAT if line_format is QRELS_FORMAT else QRELS_FORMAT
    if np.all(n_words == len(swapped_format.columns)):
        problem += _SWAPPED
    if np.all(n_words == _N_FIELDS_OF_TRIPLES):
        no_head = advice_without_head(line_format.form, "\t")
        problem += no_head.replace("{", "{{").replace("}", "}}")
    return problem


def advice_without_head(form, separator):
    """Code that reads a table without a header. A run's third column has two readings.

    Parameters
    ----------
    form : type
        `Qrels` or `Run`.

    separator : str
    """
    if form is Qrels:
        return _NO_HEAD.format(sep=separator, name="relevance") + "."
    ranks = _NO_HEAD.format(sep=separator, name="rank")
    return f"{ranks}, with 'score' instead of 'rank' if the last column has scores."


def _refuse_wide_identifiers(path, lines):
    for column in ("query", "document"):
        width = _as_integers(map(len, lines.fields[column]), len(lines.numbers))
        refuse_lines(path, lines.numbers, width > BYTES_OF_ID, _WIDE, shown=width)


def _parsed_numbers(texts):
    """The numbers that bytes represent; NaN for other bytes, and for underscores."""
    if b"_" not in b"".join(texts):
        with suppress(ValueError):
            return np.fromiter(map(float, texts), np.float64, len(texts))
    return np.array(list(map(number_or_nan, texts)))


def number_or_nan(text):
    """The number that bytes represent; NaN for other bytes, and for underscores."""
    try:
        return np.nan if b"_" in text else float(text)
    except ValueError:
        return np.nan


def _as_integers(numbers, n_numbers):
    return np.fromiter(numbers, dtype=np.int64, count=n_numbers)


def refuse_lines(path, lines, is_wrong, problem, *, shown=None):
    """Raise an error that names the first wrong line, if any.

    Parameters
    ----------
    path : Path

    lines : array-like of shape (n_lines,) of int
        Numbers of the lines.

    is_wrong : array-like of shape (n_lines,) of bool

    problem : str
        The message, with a brace for the shown value.

    shown : sequence of length n_lines, default=None
        A value of each line to show.
    """
    wrong_lines = np.flatnonzero(is_wrong)
    if not len(wrong_lines):
        return
    first = wrong_lines[0]
    cell = None if shown is None else shown[first]
    if isinstance(cell, bytes):
        cell = cell[:_N_BYTES_SHOWN].decode("utf-8", "replace")
    raise ValueError(f"{path}, line {lines[first]}{problem.format(cell)}")
