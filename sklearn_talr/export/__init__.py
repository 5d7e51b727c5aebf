"""Codes for other search engines, with the order of the bits that each expects.

Hamming distances survive any order of the bits that database and queries share, and
nothing warns of one that they do not share. So the queries must be converted by the
function that belongs to the engine:

================  ========================  ===============================
engine            database                  queries
================  ========================  ===============================
faiss             :func:`to_faiss`          ``to_bytes(queries)``
usearch           :func:`to_usearch`        ``to_bytes(queries)``
sqlite-vec        :func:`to_sqlite_vec`     rows of ``to_bytes(queries)``
pgvector          :func:`to_pgvector`       ``to_bit_strings(queries)``
DuckDB            :func:`to_duckdb`         ``to_bit_strings(queries)``
NumPy, others     :func:`to_bytes`          ``to_bytes(queries, bitorder)``
================  ========================  ===============================
"""

from ._bytes import to_bit_strings, to_bytes
from ._databases import PgvectorExport, to_duckdb, to_pgvector, to_sqlite_vec
from ._indexes import to_faiss, to_usearch
from ._onnx import export_onnx

__all__ = [
    "PgvectorExport",
    "export_onnx",
    "to_bit_strings",
    "to_bytes",
    "to_duckdb",
    "to_faiss",
    "to_pgvector",
    "to_sqlite_vec",
    "to_usearch",
]
