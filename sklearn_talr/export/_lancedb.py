"""Codes as a table of LanceDB."""

import numpy as np

from .._core.compat import HasMethods
from .._core.types import Any, Column
from ._engine import check_table, read_items, validate_export


@validate_export(connection=[HasMethods(["create_table", "open_table"])], table=[str])
def to_lancedb(
    codes: Any, connection: Any, *, ids: Column = None, table: str = "codes"
) -> Any:
    """Write codes to a table of LanceDB, as a column of bytes.

    ``table.search(row, vector_column_name="code")`` searches the table, if ``row`` is a row
    of ``pack_codes(queries).data``; see the example below. As long as the table has no
    vector index, a search compares all codes.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. They become little-endian bytes and
        are padded with zeros to whole bytes.

    connection : lancedb.db.DBConnection
        An open database, such as ``lancedb.connect(folder)``.

    ids : array-like of shape (n_samples,) of int or str, default=None
        Values of the column ``id``. None means the ids of an index, or 0, 1, and so on.

    table : str, default="codes"
        Name of the table to create: letters, digits and underscores.

    Returns
    -------
    table : lancedb.table.Table
        The table, with columns ``id`` and ``code``. LanceDB does not document its order of
        ties, and returns ten rows unless a limit is set.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends, if `ids` are not distinct, of
        one type, and one for each code, if `table` is not a plain name, or if the database
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

    check_table(table)
    items = read_items(codes, ids)
    octets = items.codes.data
    values = pyarrow.array(np.ascontiguousarray(octets).ravel())
    rows = pyarrow.FixedSizeListArray.from_arrays(values, octets.shape[1])
    columns = {"id": pyarrow.array(items.ids), "code": rows}
    return connection.create_table(table, pyarrow.table(columns))
