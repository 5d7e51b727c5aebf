"""Codes as a table of DuckDB."""

import numpy as np
from sklearn.utils import gen_batches

from .._core.compat import HasMethods
from .._core.types import Any, Column
from ._bit_strings import write_bits
from ._engine import check_table, read_items, validate_export
from ._sql import N_ROWS_PER_BLOCK, TABLE_OPTIONS, WEIGHTED_SEARCH, type_of_ids

_BLOCK = "codes_to_insert"  # name under which DuckDB sees the arrays of a block


@validate_export(connection=[HasMethods(["execute", "register"])], **TABLE_OPTIONS)
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
        Values of the column ``id``. None means the ids of an index, or 0, 1, and so on.

    table : str, default="codes"
        Name of the table to create: letters, digits and underscores.

    weighted : bool, default=False
        Whether to add columns of factors and addends, which are 1 and 0 for codes without
        them, and to search by weighted queries. The parameters of `search` are then `code`,
        the number of candidates, `tables` and the number of neighbors, with `code` and
        `tables` from :func:`to_sql_weights`. None as the number of candidates scores all
        items. Ties of scores, and of distances of candidates, are ordered by id.

    Returns
    -------
    search : str
        Query that finds neighbors. Its parameters are an entry of
        ``to_bit_strings(queries)`` and the number of neighbors. Ties are ordered by id.

    Raises
    ------
    ValueError
        If `codes` are no codes, or have factors or addends and are not `weighted`, if `ids`
        are not distinct, of one type, and one for each code, or if `table` is not a plain
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
    check_table(table)
    items = read_items(codes, ids, weighted=weighted)
    columns = f"id {type_of_ids(items)}, code BIT"
    if weighted:
        columns += ", factor FLOAT, addend FLOAT"
    connection.execute(f"CREATE TABLE {table} ({columns})")
    _insert(items, connection, table, weighted=weighted)
    if weighted:
        return _weighted_search(table, n_bytes=items.codes.data.shape[1])
    return (
        f"SELECT id, bit_count(xor(code, ?::BIT)) AS distance FROM {table} "
        "ORDER BY distance, id LIMIT ?"
    )


def _insert(items, connection, table, *, weighted):
    """Insert the items in blocks of columns."""
    ids = items.ids.astype(object) if items.have_text_ids else items.ids
    for rows in gen_batches(len(ids), N_ROWS_PER_BLOCK):
        codes = items.codes[rows]
        block = {"id": ids[rows], "code": np.array(write_bits(codes), dtype=object)}
        if weighted:
            block["factor"], block["addend"] = codes.terms.values.T
        connection.register(_BLOCK, block)
        try:
            connection.execute(f"INSERT INTO {table} FROM {_BLOCK}")
        finally:
            connection.unregister(_BLOCK)


def _weighted_search(table, *, n_bytes):
    """The statement of a search by weighted queries.

    Codes become hexadecimal digits, two per byte, and ``'0x'`` before both makes a number.
    """
    digits = f"hex(rpad(code::VARCHAR, {8 * n_bytes}, '0')::BIT::BLOB)"
    return WEIGHTED_SEARCH.format(
        near=f"SELECT * REPLACE ({digits} AS code) FROM {table} AS codes "
        "ORDER BY bit_count(xor(codes.code, ?::BIT)), id LIMIT ?",
        query="SELECT ?::DOUBLE[] AS tables",
        value="tables[256 * w + 1 + ('0x' || substring(code, 2 * w + 1, 2))::INT]",
        bytes=f"query, range({n_bytes}) AS words(w)",
    )
