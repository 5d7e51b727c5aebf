"""Codes as a table of SQLite with the extension sqlite-vec."""

import numpy as np

from .._core.compat import HasMethods
from .._core.types import Any, Column
from ._engine import check_table, read_items, validate_export
from ._sql import TABLE_OPTIONS, WEIGHTED_SEARCH


@validate_export(connection=[HasMethods(["execute", "executemany"])], **TABLE_OPTIONS)
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
        Row ids; strings become a column ``id``. None means the ids of an index, or 0, 1,
        and so on.

    table : str, default="codes"
        Name of the table to create: letters, digits and underscores.

    weighted : bool, default=False
        Whether to add columns of factors and addends, which are 1 and 0 for codes without
        them, and to search by weighted queries. The parameters of `search` are then `code`,
        the number of candidates, `tables` and the number of neighbors, with `code` and
        `tables` from :func:`to_sql_weights`. There are at most 4096 candidates. Ties of
        scores are ordered by id.

    Returns
    -------
    search : str
        Query that finds neighbors. Its parameters are the bytes of a query code, a row of
        ``pack_codes(queries).data``, and the number of neighbors. sqlite-vec does not
        document its order of ties.

    Raises
    ------
    ValueError
        If `codes` are no codes, or have factors or addends and are not `weighted`, if `ids`
        are not distinct, of one type, and one for each code, or if `table` is not a plain
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
    check_table(table)
    items = read_items(codes, ids, weighted=weighted)
    n_bytes = items.codes.data.shape[1]
    key = "id" if items.have_text_ids else "rowid"
    columns = [f"code bit[{8 * n_bytes}]"]
    if items.have_text_ids:
        columns.insert(0, "id TEXT PRIMARY KEY")
    if weighted:
        columns += ["+factor FLOAT", "+addend FLOAT"]
    connection.execute(f"CREATE VIRTUAL TABLE {table} USING vec0({', '.join(columns)})")
    _insert(items, connection, table, key=key, weighted=weighted)
    if weighted:
        return _weighted_search(table, key=key, n_bytes=n_bytes)
    return f"SELECT {key}, distance FROM {table} WHERE code MATCH vec_bit(?) AND k = ?"


def _insert(items, connection, table, *, key, weighted):
    """Insert all items in one transaction, whatever the driver's mode is."""
    names = f"{key}, code"
    values = "?, vec_bit(?)"
    cells = [items.ids.tolist(), map(np.ndarray.tobytes, items.codes.data)]
    if weighted:
        names += ", factor, addend"
        values += ", ?, ?"
        cells += items.codes.terms.values.T.tolist()
    connection.execute("SAVEPOINT codes")
    try:
        insert = f"INSERT INTO {table} ({names}) VALUES ({values})"
        connection.executemany(insert, zip(*cells))
    except BaseException:
        connection.execute("ROLLBACK TO codes")
        raise
    finally:
        connection.execute("RELEASE codes")


def _weighted_search(table, *, key, n_bytes):
    """The statement of a search by weighted queries.

    Codes become hexadecimal digits, two per byte. ``instr`` gives the value of a digit,
    because it returns places from 1 on, and 0 for a digit that is not in the list.
    ``column1`` is the number of the byte.
    """
    digit = "instr('123456789ABCDEF', substr(code, 2 * column1 + {}, 1))"
    numbers = ", ".join(f"({byte})" for byte in range(n_bytes))
    return WEIGHTED_SEARCH.format(
        near=f"SELECT {key} AS id, hex(code) AS code, factor, addend FROM {table} "
        "WHERE code MATCH vec_bit(?) AND k = ?",
        query="SELECT rowid AS place, value FROM vec_each(vec_f32(?))",
        value="value",
        bytes=f"(VALUES {numbers}) CROSS JOIN query "
        f"ON place = 256 * column1 + 16 * {digit.format(1)} + {digit.format(2)}",
    )
