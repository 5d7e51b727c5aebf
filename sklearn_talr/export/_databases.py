"""Codes for databases: bit strings, columns and ids."""

import re
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from .._arrays import check_ids
from .._compat import HasMethods, validated
from .._types import Any, ArrayLike, Callable, Column, Function, Iterator
from ..codes import PackedCodes, pack_codes, unpack_codes
from ..codes._packed import refuse_terms


@validated(codes=["array-like"])
def to_bit_strings(codes: ArrayLike) -> list[str]:
    """Write codes as strings of "0" and "1", bit 0 first.

    This is the literal form of ``bit(n)`` in PostgreSQL and of ``BIT`` in DuckDB.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes.

    Returns
    -------
    strings : list of str
        One string of n_bits characters for each sample.

    Raises
    ------
    ValueError
        If `codes` holds anything but zeros and ones, is empty or not 2-D, or has factors
        or addends, which strings of bits cannot hold.

    Examples
    --------
    >>> from sklearn_talr.export import to_bit_strings
    >>> to_bit_strings([[1, 0, 1], [0, 0, 1]])
    ['101', '001']
    """
    bits = unpack_codes(pack_codes(refuse_terms(codes, "codes")))
    characters = (bits + ord("0")).view(f"S{bits.shape[1]}")[:, 0]
    return characters.astype(str).tolist()


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_TYPES = {"i": "BIGINT", "U": "TEXT"}  # of columns of ids
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def validate_export(**constraints: Any) -> Callable[[Function], Function]:
    """Decorate an export: check codes, ids, and parameters with these constraints."""
    codes = ["array-like", HasMethods(["kneighbors", "rank"])]
    return validated(codes=codes, ids=["array-like", None], **constraints)


def check_codes(codes, ids, table="codes", *, engine=None):
    """Return packed codes in little bit order, and their ids, by default 0 to n - 1.

    In place of codes there may be an index, whose own ids, or indices, are the default. A
    name of a table that would have to be quoted is refused, since it becomes part of
    statements; so are strings as ids where an `engine` is named.
    """
    if hasattr(codes, "kneighbors"):
        own = codes.ids_
        ids = (codes.indices_ if own is None else own) if ids is None else ids
        codes = codes.codes_
    packed = pack_codes(refuse_terms(codes, "codes"))
    if not _NAME.fullmatch(table):
        raise ValueError(
            "table must be a name of at most 63 letters, digits and underscores that "
            f"begins with no digit, got {table!r}."
        )
    ids = np.arange(len(packed)) if ids is None else check_ids(ids, len(packed))
    if len(np.unique(ids)) < len(ids):
        raise ValueError("ids must differ, but some occur more than once.")
    if engine and ids.dtype.kind == "U":
        raise ValueError(
            f"ids must be integers for {engine}, got strings. Number the codes by "
            "ids=range(n), and keep your ids beside them."
        )
    return packed, ids


def warn_of_repeats(packed, n_links):
    """Warn if a graph index of these codes would lose items.

    A node of such a graph is linked to the `n_links` nearest nodes. If more nodes than that
    have its code, all of its links lead to these, and none to a node with another code.
    """
    _, counts = np.unique(packed.data, axis=0, return_counts=True)
    if counts.max() > n_links:
        warnings.warn(
            f"{len(packed)} items have only {len(counts)} distinct codes, and up to "
            f"{counts.max()} share one. In a graph index with {n_links} links to a node "
            "such items link to each other only, and searches miss others. Index the "
            "distinct codes and expand what is found, as HammingNeighbors does, or use an "
            "index that compares with all.",
            UserWarning,
            stacklevel=4,  # of whoever called the export, which is decorated
        )


_ROWS_PER_BLOCK = 8_192
_HNSW_LINKS = 16  # pgvector's default


@dataclass(frozen=True)
class PgvectorExport:
    """Statements and rows that make codes a table of PostgreSQL with pgvector.

    Parameters
    ----------
    create_table : str
        Statement that makes the extension and the table, with columns ``id`` and ``code``.

    copy : str
        Statement ``COPY ... FROM STDIN``, which reads the rows.

    create_index : str or None
        Statement that makes the graph index. None if none was asked for.

    search : str
        Query that finds neighbors. Its two parameters are a string of bits and a number of
        rows.

    codes : PackedCodes
        The codes.

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
            Lines of id, tabulator and bits.
        """
        for rows in gen_batches(len(self.ids), _ROWS_PER_BLOCK):
            strings = to_bit_strings(self.codes[rows])
            names = [str(name).translate(_ESCAPES) for name in self.ids[rows].tolist()]
            lines = zip(names, strings)
            yield "".join(f"{name}\t{bits}\n" for name, bits in lines)


@validate_export(table=[str], hnsw=["boolean"])
def to_pgvector(
    codes: Any, *, ids: Column = None, table: str = "codes", hnsw: bool = False
) -> PgvectorExport:
    """Prepare codes for PostgreSQL with pgvector, as a column of type ``bit(n)``.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. Bit 0 is the first character of the
        bit string.

    ids : array-like of shape (n_samples,) of int or str, default=None
        Primary keys. None means those of an index, or 0, 1, and so on.

    table : str, default="codes"
        Name of the table to be made: letters, digits and underscores.

    hnsw : bool, default=False
        Whether to prepare a graph index, which makes searches fast and approximate.

    Returns
    -------
    export : PgvectorExport
        ``create_table``, ``copy``, ``create_index`` and ``search`` are SQL; ``rows()``
        generates what COPY reads.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends, `ids` are not different, of one
        type, and one for each code, or `table` is not a plain name.

    Warns
    -----
    UserWarning
        If a graph is asked for and more items share a code than a node has links.

    Notes
    -----
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
    packed, ids = check_codes(codes, ids, table)
    n_bits = packed.n_bits
    create_index = None
    if hnsw:
        warn_of_repeats(packed, _HNSW_LINKS)
        create_index = f"CREATE INDEX ON {table} USING hnsw (code bit_hamming_ops)"
    return PgvectorExport(
        create_table="CREATE EXTENSION IF NOT EXISTS vector; "
        f"CREATE TABLE {table} (id {_TYPES[ids.dtype.kind]} PRIMARY KEY, "
        f"code bit({n_bits}) NOT NULL)",
        copy=f"COPY {table} (id, code) FROM STDIN",
        create_index=create_index,
        search=f"SELECT id, code <~> %s::bit({n_bits}) AS distance FROM {table} "
        "ORDER BY distance, id LIMIT %s",
        codes=packed,
        ids=ids,
    )


@validate_export(connection=[HasMethods(["execute", "executemany"])], table=[str])
def to_sqlite_vec(
    codes: Any, connection: Any, *, ids: Column = None, table: str = "codes"
) -> str:
    """Write codes to a table of SQLite with sqlite-vec, as a column of type ``bit[n]``.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. They become little-endian bytes, as
        ``vec_quantize_binary`` makes them, and are padded with zeros to whole bytes.

    connection : sqlite3.Connection or apsw.Connection
        An open database that has loaded sqlite-vec.

    ids : array-like of shape (n_samples,) of int or str, default=None
        Row ids; strings become a column ``id``. None means those of an index, or 0, 1, and
        so on.

    table : str, default="codes"
        Name of the table to be made: letters, digits and underscores.

    Returns
    -------
    search : str
        Query that finds neighbors. Its parameters are the bytes of a query code, a row of
        ``pack_codes(queries).data``, and the number of neighbors. sqlite-vec does not say
        how it orders ties.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends, `ids` are not different, of one
        type, and one for each code, or `table` is not a plain name.

    Examples
    --------
    >>> import apsw, sqlite_vec  # doctest: +SKIP
    >>> from sklearn_talr.codes import pack_codes
    >>> from sklearn_talr.export import to_sqlite_vec
    >>> connection = apsw.Connection("codes.db")  # doctest: +SKIP
    >>> connection.enable_load_extension(True)  # doctest: +SKIP
    >>> connection.load_extension(sqlite_vec.loadable_path())  # doctest: +SKIP
    >>> search = to_sqlite_vec([[0, 0, 1], [1, 1, 1]], connection)  # doctest: +SKIP
    >>> query = pack_codes([[1, 1, 0]]).data[0].tobytes()
    >>> connection.execute(search, (query, 1)).fetchall()  # doctest: +SKIP
    [(1, 1.0)]
    """
    packed, ids = check_codes(codes, ids, table)
    n_bits = 8 * packed.data.shape[1]
    key, column = "rowid", ""
    if ids.dtype.kind == "U":
        key, column = "id", "id TEXT PRIMARY KEY, "
    columns = f"{column}code bit[{n_bits}]"
    connection.execute(f"CREATE VIRTUAL TABLE {table} USING vec0({columns})")
    rows = ((i, row.tobytes()) for i, row in zip(ids.tolist(), packed.data))
    connection.execute("SAVEPOINT codes")  # one transaction, whatever the driver's mode is
    try:
        connection.executemany(
            f"INSERT INTO {table} ({key}, code) VALUES (?, vec_bit(?))", rows
        )
    except BaseException:
        connection.execute("ROLLBACK TO codes")
        raise
    finally:
        connection.execute("RELEASE codes")
    return f"SELECT {key}, distance FROM {table} WHERE code MATCH vec_bit(?) AND k = ?"


@validate_export(connection=[HasMethods(["execute", "register"])], table=[str])
def to_duckdb(
    codes: Any, connection: Any, *, ids: Column = None, table: str = "codes"
) -> str:
    """Write codes to a table of DuckDB, as a column of type ``BIT``.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. Bit 0 is the first character of the
        bit string.

    connection : duckdb.DuckDBPyConnection
        An open database.

    ids : array-like of shape (n_samples,) of int or str, default=None
        Values of the column ``id``. None means those of an index, or 0, 1, and so on.

    table : str, default="codes"
        Name of the table to be made: letters, digits and underscores.

    Returns
    -------
    search : str
        Query that finds neighbors. Its parameters are an entry of
        ``to_bit_strings(queries)`` and the number of neighbors. Ties are ordered by id.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends, `ids` are not different, of one
        type, and one for each code, or `table` is not a plain name.

    Examples
    --------
    >>> import duckdb  # doctest: +SKIP
    >>> from sklearn_talr.export import to_bit_strings, to_duckdb
    >>> connection = duckdb.connect()  # doctest: +SKIP
    >>> search = to_duckdb([[0, 0, 1], [1, 1, 1]], connection)  # doctest: +SKIP
    >>> connection.execute(search, [*to_bit_strings([[1, 1, 0]]), 1]).fetchall()
    ... # doctest: +SKIP
    [(1, 1)]
    """
    packed, ids = check_codes(codes, ids, table)
    kind = ids.dtype.kind
    connection.execute(f"CREATE TABLE {table} (id {_TYPES[kind]}, code BIT)")
    ids = ids.astype(object) if kind == "U" else ids
    for rows in gen_batches(len(packed), _ROWS_PER_BLOCK):
        strings = np.array(to_bit_strings(packed[rows]), dtype=object)
        connection.register("codes_to_insert", {"id": ids[rows], "code": strings})
        try:
            connection.execute(
                f"INSERT INTO {table} SELECT id, code::BIT FROM codes_to_insert"
            )
        finally:
            connection.unregister("codes_to_insert")
    return (
        f"SELECT id, bit_count(xor(code, ?::BIT)) AS distance FROM {table} "
        "ORDER BY distance, id LIMIT ?"
    )


@validate_export(connection=[HasMethods(["create_table", "open_table"])], table=[str])
def to_lancedb(
    codes: Any, connection: Any, *, ids: Column = None, table: str = "codes"
) -> Any:
    """Write codes to a table of LanceDB, as a column of bytes.

    ``table.search(row, vector_column_name="code")`` searches it, see below, where ``row``
    is a row of ``pack_codes(queries).data``. As long as the table has no vector index, all
    codes are compared.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. They become little-endian bytes and
        are padded with zeros to whole bytes.

    connection : lancedb.db.DBConnection
        An open database, such as ``lancedb.connect(folder)``.

    ids : array-like of shape (n_samples,) of int or str, default=None
        Values of the column ``id``. None means those of an index, or 0, 1, and so on.

    table : str, default="codes"
        Name of the table to be made: letters, digits and underscores.

    Returns
    -------
    table : lancedb.table.Table
        The table, with columns ``id`` and ``code``. LanceDB does not say how it orders
        ties, and gives ten rows where no other limit is set.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends, `ids` are not different, of one
        type, and one for each code, `table` is not a plain name, or the database
        has a table of this name.

    Examples
    --------
    >>> import lancedb  # doctest: +SKIP
    >>> from sklearn_talr.codes import pack_codes
    >>> from sklearn_talr.export import to_lancedb
    >>> connection = lancedb.connect("folder")  # doctest: +SKIP
    >>> table = to_lancedb([[0, 0, 1], [1, 1, 1]], connection)  # doctest: +SKIP
    >>> row = pack_codes([[1, 1, 0]]).data[0]
    >>> search = table.search(row, vector_column_name="code")  # doctest: +SKIP
    >>> search.distance_type("hamming").limit(1).to_list()  # doctest: +SKIP
    [{'id': 1, 'code': [7], '_distance': 1.0}]
    """
    import pyarrow

    packed, ids = check_codes(codes, ids, table)
    octets = pyarrow.array(np.ascontiguousarray(packed.data).ravel())
    rows = pyarrow.FixedSizeListArray.from_arrays(octets, packed.data.shape[1])
    columns = {"id": pyarrow.array(ids), "code": rows}
    return connection.create_table(table, pyarrow.table(columns))
