"""Codes for other search engines, and hash functions for other runtimes.

Engines differ in the order of the bits that they expect. Hamming distances survive any
order that database and queries share, and no engine warns if they do not share it. So
convert the queries with the expression of the engine, which starts from
:func:`~sklearn_talr.codes.pack_codes` or :func:`to_bit_strings`:

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

Factors and addends are numbers that multiply the scores of a code or are added to them.
`encode` of AdditiveHasher returns such codes. Exports refuse them, except exports to SQL
with ``weighted=True``. The error shows how to export the bits alone.

For weighted queries, :func:`to_sql_weights` writes the parameters of SQL, and an index that
``to_faiss(codes, weighted=True)`` has built searches ``hasher.query_weights(X)``. For
runtimes without this library, ``to_onnx(hasher, path, output="query_weights")`` writes a
graph that computes the weights.

Systems that pack bits as `numpy.packbits` does, such as the "ubinary" embeddings of
sentence-transformers, take the bytes ``pack_codes(codes, bitorder="big").data`` for items
and queries.
"""

from ._bit_strings import to_bit_strings
from ._duckdb import to_duckdb
from ._faiss import to_faiss
from ._lancedb import to_lancedb
from ._onnx import to_onnx
from ._pgvector import PgvectorExport, to_pgvector
from ._sql import to_sql_weights
from ._sqlite_vec import to_sqlite_vec
from ._usearch import to_usearch

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
