"""What exports to databases of SQL share: types of ids, and searches by weighted queries.

A weighted search has two stages. `near` are the candidates, the items of least Hamming
distance to the bits that the query prefers. Their scores are sums over the bytes of a code:
byte w adds the entry of the query's tables at 256 w plus the value of the byte.
"""

from numbers import Integral

import numpy as np

from .._core.compat import Interval, StrOptions, validated
from .._core.types import Any, ArrayLike, Iterator
from ..codes._packed import wrap_bytes
from ..codes._scores import as_weights, signs_of_bits, tables_of
from ._bit_strings import to_bit_strings

TABLE_OPTIONS = {"table": [str], "weighted": ["boolean"]}
# Rows of an insertion, so that the text of codes stays small in memory
N_ROWS_PER_BLOCK = 8_192
# The statement of a weighted search. `near` selects id, code, factor and addend of the
# candidates, `query` the tables, `bytes` a row for each byte of a code, and `value` is the
# entry of the tables for that byte.
WEIGHTED_SEARCH = (
    "WITH near AS MATERIALIZED ({near}), query AS MATERIALIZED ({query}) "
    "SELECT id, factor * (SELECT sum({value}) FROM {bytes}) + addend AS score FROM near "
    "ORDER BY score DESC, id LIMIT ?"
)


def type_of_ids(items):
    """The type of SQL of a column of ids."""
    return "TEXT" if items.have_text_ids else "BIGINT"


@validated(
    query_weights=["array-like"],
    n_bits=[Interval(Integral, 1, None, closed="left")],
    engine=[StrOptions({"duckdb", "pgvector", "sqlite_vec"})],
)
def to_sql_weights(
    query_weights: ArrayLike, n_bits: int, *, engine: str
) -> Iterator[tuple[Any, Any]]:
    """Write weighted queries as parameters of SQL.

    The searches of :func:`to_pgvector`, :func:`to_duckdb` and :func:`to_sqlite_vec` take
    them if the table was made with ``weighted=True``.

    Parameters
    ----------
    query_weights : array-like of shape (n_queries, n_weights)
        The weight of each bit, or of each value of an 8-bit codeword, as `query_weights` of
        a hasher returns it.

    n_bits : int
        Length of the codes in the table.

    engine : {"pgvector", "duckdb", "sqlite_vec"}
        The database that holds the table.

    Returns
    -------
    parameters : iterator of (code, tables)
        For each query the bits that it prefers, which select candidates, and the amount
        that each value of each byte of a code adds to the score, 256 numbers per byte. The
        first is a str and the second a list of float. For sqlite-vec both are bytes, and
        the second holds float32.

    Raises
    ------
    ValueError
        If queries of codes of `n_bits` have another number of weights, or if the queries
        are codes and not weights.

    Examples
    --------
    >>> from sklearn_talr.export import to_sql_weights
    >>> ((code, tables),) = to_sql_weights([[2.0, 0.5, -1.0]], 3, engine="duckdb")
    >>> code, len(tables)
    ('110', 256)
    """
    weights = as_weights(query_weights)
    tables = tables_of(weights, n_bits)  # (n_queries, n_bytes, 256)
    signs = signs_of_bits(weights, n_bits)  # (n_queries, n_bytes), uint8
    if engine == "sqlite_vec":
        return zip(map(np.ndarray.tobytes, signs), map(np.ndarray.tobytes, tables))
    # A string begins with bit 0, so that SQL reads each byte with its bits reversed.
    bits_of_values = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    reversed_values = np.packbits(bits_of_values, bitorder="little")
    tables = tables[:, :, reversed_values].reshape(len(weights), -1)
    strings = to_bit_strings(wrap_bytes(signs, n_bits))
    return zip(strings, map(np.ndarray.tolist, tables))
