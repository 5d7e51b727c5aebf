"""Codes for databases: bit strings, columns and ids."""

import re
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils import gen_batches

from .._core.compat import HasMethods, Interval, StrOptions, validated
from .._core.progress import warn_caller
from .._core.types import Any, ArrayLike, Callable, Column, Function, Iterator
from .._core.validation import check_ids
from ..codes import CodeTerms, PackedCodes, pack_codes, unpack_codes
from ..codes._packed import refuse_terms, wrap_bytes
from ..codes._scores import as_weights, signs_of_bits, tables_of


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
    return _bit_strings(refuse_terms(codes, "codes"))


def _bit_strings(codes):
    """What `to_bit_strings` returns, also of codes with factors and addends."""
    bits = unpack_codes(pack_codes(codes))
    characters = (bits + ord("0")).view(f"S{bits.shape[1]}")[:, 0]
    return characters.astype(str).tolist()


@validated(
    query_weights=["array-like"],
    n_bits=[Interval(Integral, 1, None, closed="left")],
    engine=[StrOptions({"duckdb", "pgvector", "sqlite_vec"})],
)
def to_sql_weights(
    query_weights: ArrayLike, n_bits: int, *, engine: str
) -> Iterator[tuple[Any, Any]]:
    """Write weighted queries as parameters of SQL.

    They are what searches of :func:`to_pgvector`, :func:`to_duckdb` and
    :func:`to_sqlite_vec` take where these were called with ``weighted=True``.

    Parameters
    ----------
    query_weights : array-like of shape (n_queries, n_weights)
        How much each bit, or each value of words of eight bits, counts, as `query_weights`
        of a hasher returns it.

    n_bits : int
        Length of the codes in the table.

    engine : {"pgvector", "duckdb", "sqlite_vec"}
        Where the table is.

    Returns
    -------
    parameters : iterator of (code, tables)
        For each query the bits that it would rather see, by which candidates are found, and
        what each value of each byte of a code adds to the score, 256 numbers a byte. They
        are a str and a list of float; for sqlite-vec bytes, those of float32.

    Raises
    ------
    ValueError
        If codes of `n_bits` are not asked by so many weights, or the queries are codes in
        place of weights.

    Examples
    --------
    >>> from sklearn_talr.export import to_sql_weights
    >>> ((code, tables),) = to_sql_weights([[2.0, 0.5, -1.0]], 3, engine="duckdb")
    >>> code, len(tables)
    ('110', 256)
    """
    weights = as_weights(query_weights)
    tables = tables_of(weights, n_bits)
    signs = wrap_bytes(signs_of_bits(weights, n_bits), n_bits)
    if engine == "sqlite_vec":
        return zip(map(np.ndarray.tobytes, signs.data), map(np.ndarray.tobytes, tables))
    # Strings begin with bit 0, and their numbers with the bit that is worth most.
    values = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    tables = tables[:, :, np.packbits(values, bitorder="little")].reshape(len(weights), -1)
    return zip(to_bit_strings(signs), map(np.ndarray.tolist, tables))


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_TYPES = {"i": "BIGINT", "U": "TEXT"}  # of columns of ids
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def validate_export(**constraints: Any) -> Callable[[Function], Function]:
    """Decorate an export: check codes, ids, and parameters with these constraints."""
    codes = ["array-like", HasMethods(["kneighbors", "rank"])]
    return validated(codes=codes, ids=["array-like", None], **constraints)


def check_codes(codes, ids, table="codes", *, engine=None, weighted=False):
    """Return packed codes in little bit order, and their ids, by default 0 to n - 1.

    If they are `weighted`, all codes have factors and addends, else none may have.

    In place of codes there may be an index, whose own ids, or indices, are the default. A
    name of a table that would have to be quoted is refused, since it becomes part of
    statements; so are strings as ids where an `engine` is named.
    """
    if hasattr(codes, "kneighbors"):
        own = codes.ids_
        ids = (codes.indices_ if own is None else own) if ids is None else ids
        codes = codes.codes_
    packed = pack_codes(codes if weighted else refuse_terms(codes, "codes"))
    if weighted:
        terms = CodeTerms(packed.terms.pairs(len(packed)))
        packed = wrap_bytes(packed.data, packed.n_bits, terms=terms)
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


def warn_of_repeats(packed, n_links, most=None):
    """Warn if a graph index of these codes would lose items.

    A node of such a graph is linked to the `n_links` nearest nodes. If more nodes than that
    have its code, all of its links lead to these, and none to a node with another code.
    With few other codes around, some are lost where `most` items share a code.
    """
    _, counts = np.unique(packed.data, axis=0, return_counts=True)
    if counts.max() > (most or n_links):
        warn_caller(
            f"{len(packed)} items have only {len(counts)} distinct codes, and up to "
            f"{counts.max()} share one. In a graph index with {n_links} links to a node "
            "such items link to each other only, and searches miss others. Index the "
            "distinct codes and expand what is found, as HammingNeighbors does, or use an "
            "index that compares with all.",
        )


_ROWS_PER_BLOCK = 8_192
_HNSW_LINKS = 16  # pgvector's default
_ROWS_OF_NODE = 10  # of pgvector, which keeps those of one code together
_OF_SQL = {"table": [str], "weighted": ["boolean"]}
# Weighted search: candidates by Hamming distance, then sums over the bytes w of their codes
_SCORED = (
    "WITH near AS MATERIALIZED ({near}), query AS MATERIALIZED ({query}) "
    "SELECT id, factor * (SELECT sum({value}) FROM {words}) + addend AS score FROM near "
    "ORDER BY score DESC, id LIMIT ?"
)


@dataclass(frozen=True)
class PgvectorExport:
    """Statements and rows that make codes a table of PostgreSQL with pgvector.

    Parameters
    ----------
    create_table : str
        Statement that makes the extension and the table, with columns ``id`` and ``code``,
        of weighted codes also ``factor`` and ``addend``.

    copy : str
        Statement ``COPY ... FROM STDIN``, which reads the rows.

    create_index : str or None
        Statement that makes the graph index. None if none was asked for.

    search : str
        Query that finds neighbors. Its two parameters are a string of bits and a number of
        rows; of weighted codes those that :func:`to_pgvector` states.

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
            Lines of id and bits, and perhaps factor and addend, with tabulators between.
        """
        for rows in gen_batches(len(self.ids), _ROWS_PER_BLOCK):
            codes = self.codes[rows]
            names = [str(name).translate(_ESCAPES) for name in self.ids[rows].tolist()]
            columns = [names, _bit_strings(codes)]
            if codes.terms.n_terms:
                columns += codes.terms.values.T.astype(str).tolist()
            yield "".join("\t".join(line) + "\n" for line in zip(*columns))


@validate_export(hnsw=["boolean"], **_OF_SQL)
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
        Primary keys. None means those of an index, or 0, 1, and so on.

    table : str, default="codes"
        Name of the table to be made: letters, digits and underscores.

    hnsw : bool, default=False
        Whether to prepare a graph index, which makes searches fast and approximate.

    weighted : bool, default=False
        Whether to make columns of factors and addends, 1 and 0 where codes have none, and
        search by weighted queries. The parameters of `search` are then `code`, the number
        of candidates, `tables` and the number of neighbors, with `code` and `tables` from
        :func:`to_sql_weights`. None as number of candidates scores all items. Ties of
        scores, and of distances of candidates, are ordered by id. A graph gives at most
        ten times as many candidates as the setting ``hnsw.ef_search`` says.

    Returns
    -------
    export : PgvectorExport
        ``create_table``, ``copy``, ``create_index`` and ``search`` are SQL; ``rows()``
        generates what COPY reads.

    Raises
    ------
    ValueError
        If `codes` are no codes, or have factors or addends and are not `weighted`, `ids`
        are not different, of one type, and one for each code, or `table` is not a plain
        name.

    Warns
    -----
    UserWarning
        If a graph is asked for and more than ten items share a code.

    Notes
    -----
    A node of a graph has up to ten rows of one code, so that ``hnsw.ef_search``, 40 by
    default, finds up to 400 rows. Where many rows share a code, some are reached by no
    setting, iterative scans included: of 5 000 rows of 20 codes about half. Then ties are
    those that the graph has found, whatever their ids are.

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
    packed, ids = check_codes(codes, ids, table, weighted=weighted)
    columns, names = f"code bit({packed.n_bits}) NOT NULL", "id, code"
    distance = "code <~> ?::varbit"  # which refuses codes of other lengths
    search = f"SELECT id, {distance} AS distance FROM {table} ORDER BY distance, id LIMIT ?"
    if weighted:
        columns += ", factor real NOT NULL, addend real NOT NULL"
        names += ", factor, addend"
        search = _SCORED.format(
            near=f"SELECT * FROM {table} ORDER BY {distance}, id LIMIT ?",
            query="SELECT ?::float8[] AS tables",
            value="tables[256 * w + 1 + substring(code, 8 * w + 1, 8)::bit(8)::int]",
            words=f"query, generate_series(0, {packed.data.shape[1] - 1}) AS w",
        )
    create_index = None
    if hnsw:
        warn_of_repeats(packed, _HNSW_LINKS, _ROWS_OF_NODE)
        create_index = f"CREATE INDEX ON {table} USING hnsw (code bit_hamming_ops)"
    return PgvectorExport(
        create_table="CREATE EXTENSION IF NOT EXISTS vector; "
        f"CREATE TABLE {table} (id {_TYPES[ids.dtype.kind]} PRIMARY KEY, "
        f"{columns})",
        copy=f"COPY {table} ({names}) FROM STDIN",
        create_index=create_index,
        search=search.replace("?", "%s"),  # as psycopg marks parameters
        codes=packed,
        ids=ids,
    )


@validate_export(connection=[HasMethods(["execute", "executemany"])], **_OF_SQL)
def to_sqlite_vec(
    codes: Any,
    connection: Any,
    *,
    ids: Column = None,
    table: str = "codes",
    weighted: bool = False,
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

    weighted : bool, default=False
        Whether to make columns of factors and addends, 1 and 0 where codes have none, and
        search by weighted queries. The parameters of `search` are then `code`, the number
        of candidates, `tables` and the number of neighbors, with `code` and `tables` from
        :func:`to_sql_weights`. There are at most 4096 candidates. Ties of scores are
        ordered by id.

    Returns
    -------
    search : str
        Query that finds neighbors. Its parameters are the bytes of a query code, a row of
        ``pack_codes(queries).data``, and the number of neighbors. sqlite-vec does not say
        how it orders ties.

    Raises
    ------
    ValueError
        If `codes` are no codes, or have factors or addends and are not `weighted`, `ids`
        are not different, of one type, and one for each code, or `table` is not a plain
        name.

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
    packed, ids = check_codes(codes, ids, table, weighted=weighted)
    n_bytes = packed.data.shape[1]
    key, column = "rowid", ""
    if ids.dtype.kind == "U":
        key, column = "id", "id TEXT PRIMARY KEY, "
    columns, names = f"{column}code bit[{8 * n_bytes}]", f"{key}, code"
    cells = [ids.tolist(), map(np.ndarray.tobytes, packed.data)]
    search = f"SELECT {key}, distance FROM {table} WHERE code MATCH vec_bit(?) AND k = ?"
    if weighted:
        columns += ", +factor FLOAT, +addend FLOAT"
        names += ", factor, addend"
        cells += packed.terms.values.T.tolist()
        digit = "instr('123456789ABCDEF', substr(code, 2 * column1 + {}, 1))"
        words = ", ".join(f"({w})" for w in range(n_bytes))
        search = _SCORED.format(
            near=f"SELECT {key} AS id, hex(code) AS code, factor, addend FROM {table} "
            "WHERE code MATCH vec_bit(?) AND k = ?",
            query="SELECT rowid AS place, value FROM vec_each(vec_f32(?))",
            value="value",
            words=f"(VALUES {words}) CROSS JOIN query "
            f"ON place = 256 * column1 + 16 * {digit.format(1)} + {digit.format(2)}",
        )
    connection.execute(f"CREATE VIRTUAL TABLE {table} USING vec0({columns})")
    values = ", ?" * (len(cells) - 2)
    connection.execute("SAVEPOINT codes")  # one transaction, whatever the driver's mode is
    try:
        insert = f"INSERT INTO {table} ({names}) VALUES (?, vec_bit(?){values})"
        connection.executemany(insert, zip(*cells))
    except BaseException:
        connection.execute("ROLLBACK TO codes")
        raise
    finally:
        connection.execute("RELEASE codes")
    return search


@validate_export(connection=[HasMethods(["execute", "register"])], **_OF_SQL)
def to_duckdb(
    codes: Any,
    connection: Any,
    *,
    ids: Column = None,
    table: str = "codes",
    weighted: bool = False,
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

    weighted : bool, default=False
        Whether to make columns of factors and addends, 1 and 0 where codes have none, and
        search by weighted queries. The parameters of `search` are then `code`, the number
        of candidates, `tables` and the number of neighbors, with `code` and `tables` from
        :func:`to_sql_weights`. None as number of candidates scores all items. Ties of
        scores, and of distances of candidates, are ordered by id.

    Returns
    -------
    search : str
        Query that finds neighbors. Its parameters are an entry of
        ``to_bit_strings(queries)`` and the number of neighbors. Ties are ordered by id.

    Raises
    ------
    ValueError
        If `codes` are no codes, or have factors or addends and are not `weighted`, `ids`
        are not different, of one type, and one for each code, or `table` is not a plain
        name.

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
    packed, ids = check_codes(codes, ids, table, weighted=weighted)
    kind, n_bytes = ids.dtype.kind, packed.data.shape[1]
    columns = ", factor FLOAT, addend FLOAT" if weighted else ""
    connection.execute(f"CREATE TABLE {table} (id {_TYPES[kind]}, code BIT{columns})")
    ids = ids.astype(object) if kind == "U" else ids
    for rows in gen_batches(len(packed), _ROWS_PER_BLOCK):
        codes = packed[rows]
        view = {"id": ids[rows], "code": np.array(_bit_strings(codes), dtype=object)}
        if weighted:
            view["factor"], view["addend"] = codes.terms.values.T
        connection.register("codes_to_insert", view)
        try:
            connection.execute(f"INSERT INTO {table} FROM codes_to_insert")
        finally:
            connection.unregister("codes_to_insert")
    if weighted:
        digits = f"hex(rpad(code::VARCHAR, {8 * n_bytes}, '0')::BIT::BLOB)"
        return _SCORED.format(
            near=f"SELECT * REPLACE ({digits} AS code) FROM {table} AS codes "
            "ORDER BY bit_count(xor(codes.code, ?::BIT)), id LIMIT ?",
            query="SELECT ?::DOUBLE[] AS tables",
            value="tables[256 * w + 1 + ('0x' || substring(code, 2 * w + 1, 2))::INT]",
            words=f"query, range({n_bytes}) AS words(w)",
        )
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
