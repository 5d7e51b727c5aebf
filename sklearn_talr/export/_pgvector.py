"""Codes as a table of PostgreSQL with the extension pgvector."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from .._core.types import Any, Column, Iterator
from ..codes import PackedCodes
from ._bit_strings import write_bits
from ._engine import check_table, read_items, validate_export, warn_of_repeats
from ._sql import N_ROWS_PER_BLOCK, TABLE_OPTIONS, WEIGHTED_SEARCH, type_of_ids

_N_LINKS = 16  # default of pgvector for links of a node
_N_ROWS_PER_NODE = 10  # pgvector keeps up to ten rows of one code in a node
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
# The cast to varbit lets pgvector refuse queries of another length.
_DISTANCE = "code <~> ?::varbit"


@dataclass(frozen=True)
class PgvectorExport:
    """Statements and rows that make codes a table of PostgreSQL with pgvector.

    Parameters
    ----------
    create_table : str
        Statement that creates the extension and the table, with columns ``id`` and
        ``code``, and for weighted codes also ``factor`` and ``addend``.

    copy : str
        Statement ``COPY ... FROM STDIN``, which reads the rows.

    create_index : str or None
        Statement that builds the graph index. None if ``hnsw=False``.

    search : str
        Query that finds neighbors. Its two parameters are a string of bits and a number of
        rows. :func:`to_pgvector` states the parameters for weighted codes.

    codes : PackedCodes
        The codes, with factors and addends if they are weighted.

    ids : ndarray of shape (n_samples,) of int64 or str
        The id of each code.
    """

    create_table: str
    copy: str
    create_index: str | None
    search: str
    codes: PackedCodes
    ids: np.ndarray

    def rows(self) -> Iterator[tuple[Any, str]]:
        """Generate the rows as blocks of text in the format of COPY.

        Yields
        ------
        block : str
            Lines of id and bits, and for weighted codes factor and addend, separated by
            tabs.
        """
        for rows in gen_batches(len(self.ids), N_ROWS_PER_BLOCK):
            codes = self.codes[rows]
            names = [str(name).translate(_ESCAPES) for name in self.ids[rows].tolist()]
            columns = [names, write_bits(codes)]
            if codes.terms.n_terms:
                columns += codes.terms.values.T.astype(str).tolist()
            yield "".join("\t".join(line) + "\n" for line in zip(*columns))


@validate_export(hnsw=["boolean"], **TABLE_OPTIONS)
def to_pgvector(
    codes: Any,
    *,
    ids: Column = None,
    table: str = "codes",
    hnsw: bool = False,
    weighted: bool = False,
) -> PgvectorExport:
    """Prepare codes for PostgreSQL with pgvector, as a column of type ``bit(n)``.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. Bit 0 is the first character of the
        bit string.

    ids : array-like of shape (n_samples,) of int or str, default=None
        Primary keys. None means the ids of an index, or 0, 1, and so on.

    table : str, default="codes"
        Name of the table to create: letters, digits and underscores.

    hnsw : bool, default=False
        Whether to prepare a graph index, which makes searches fast and approximate.

    weighted : bool, default=False
        Whether to add columns of factors and addends, which are 1 and 0 for codes without
        them, and to search by weighted queries. The parameters of `search` are then `code`,
        the number of candidates, `tables` and the number of neighbors, with `code` and
        `tables` from :func:`to_sql_weights`. None as the number of candidates scores all
        items. Ties of scores, and of distances of candidates, are ordered by id. A graph
        returns at most ten times as many candidates as its setting ``hnsw.ef_search``.

    Returns
    -------
    export : PgvectorExport
        ``create_table``, ``copy``, ``create_index`` and ``search`` are statements of SQL.
        ``rows()`` generates the text that COPY reads.

    Raises
    ------
    ValueError
        If `codes` are no codes, or have factors or addends and are not `weighted`, if `ids`
        are not distinct, of one type, and one for each code, or if `table` is not a plain
        name.

    Warns
    -----
    UserWarning
        If ``hnsw=True`` and more than ten items share a code.

    Notes
    -----
    Without a graph, ties are ordered by id. A node of a graph has up to ten rows of one
    code, so that ``hnsw.ef_search``, 40 by default, finds up to 400 rows. If many rows
    share a code, no setting reaches all of them, iterative scans included: a search finds
    about half of 5 000 rows of 20 codes. Ties are then the rows that the graph has found,
    whatever their ids are.

    With psycopg::

        connection.execute(export.create_table)
        with connection.cursor().copy(export.copy) as copy:
            for block in export.rows():
                copy.write(block)
        bits = to_bit_strings(query)[0]
        connection.execute(export.search, (bits, 10)).fetchall()

    Examples
    --------
    >>> from sklearn_talr.export import to_pgvector
    >>> export = to_pgvector([[1, 0, 1], [0, 0, 1]], table="photos")
    >>> print(export.copy)
    COPY photos (id, code) FROM STDIN
    >>> list(export.rows())
    ['0\\t101\\n1\\t001\\n']
    """
    check_table(table)
    items = read_items(codes, ids, weighted=weighted)
    names = "id, code"
    columns = (
        f"id {type_of_ids(items)} PRIMARY KEY, code bit({items.codes.n_bits}) NOT NULL"
    )
    search = (
        f"SELECT id, {_DISTANCE} AS distance FROM {table} ORDER BY distance, id LIMIT ?"
    )
    if weighted:
        names += ", factor, addend"
        columns += ", factor real NOT NULL, addend real NOT NULL"
        search = _weighted_search(table, n_bytes=items.codes.data.shape[1])
    create_index = None
    if hnsw:
        warn_of_repeats(items.codes, n_links=_N_LINKS, n_items_per_node=_N_ROWS_PER_NODE)
        create_index = f"CREATE INDEX ON {table} USING hnsw (code bit_hamming_ops)"
    return PgvectorExport(
        create_table="CREATE EXTENSION IF NOT EXISTS vector; "
        f"CREATE TABLE {table} ({columns})",
        copy=f"COPY {table} ({names}) FROM STDIN",
        create_index=create_index,
        search=search.replace("?", "%s"),  # the mark of a parameter in psycopg
        codes=items.codes,
        ids=items.ids,
    )


def _weighted_search(table, *, n_bytes):
    """The statement of a search by weighted queries."""
    return WEIGHTED_SEARCH.format(
        near=f"SELECT * FROM {table} ORDER BY {_DISTANCE}, id LIMIT ?",
        query="SELECT ?::float8[] AS tables",
        value="tables[256 * w + 1 + substring(code, 8 * w + 1, 8)::bit(8)::int]",
        bytes=f"query, generate_series(0, {n_bytes - 1}) AS w",
    )
