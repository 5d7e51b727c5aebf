"""Codes for other search engines, and hash functions for other runtimes.

Engines differ in the order of the bits that they expect. Hamming distances survive any
order that database and queries share, and nothing warns of one that they do not share. So
convert the queries by the expression that belongs to the engine, with
:func:`~sklearn_talr.codes.pack_codes`:

==========  =====================  ======================================================
engine      database               queries
==========  =====================  ======================================================
faiss       :func:`to_faiss`       ``pack_codes(queries).data``
usearch     :func:`to_usearch`     ``pack_codes(queries).data``
sqlite-vec  :func:`to_sqlite_vec`  ``row.tobytes()`` for each row of the same array
LanceDB     :func:`to_lancedb`     each row of the same array
pgvector    :func:`to_pgvector`    ``to_bit_strings(queries)``
DuckDB      :func:`to_duckdb`      ``to_bit_strings(queries)``
==========  =====================  ======================================================

Codes with factors or addends, numbers that multiply or are added to the scores of a code,
are refused, unless an export to SQL is told ``weighted=True``. `encode` of AdditiveHasher
returns such codes. The error says how to export the bits alone.

Weighted queries: in SQL by :func:`to_sql_weights`. An index that ``to_faiss(codes,
weighted=True)`` has made is searched by ``hasher.query_weights(X)``. For runtimes without
this library, ``to_onnx(hasher, path, output="query_weights")`` writes a graph that
computes them.

Systems that pack as `numpy.packbits` does, such as the "ubinary" of sentence-transformers,
have the bytes ``pack_codes(codes, bitorder="big").data``, on both sides.
"""

from ._databases import (
    PgvectorExport,
    to_bit_strings,
    to_duckdb,
    to_lancedb,
    to_pgvector,
    to_sql_weights,
    to_sqlite_vec,
)
from ._indexes import to_faiss, to_usearch
from ._onnx import to_onnx

__all__ = [
    "PgvectorExport",
    "to_bit_strings",
    "to_duckdb",
    "to_faiss",
    "to_lancedb",
    "to_onnx",
    "to_pgvector",
    "to_sql_weights",
    "to_sqlite_vec",
    "to_usearch",
]
