"""Exports of codes: every engine is asked for the neighbors that we find."""

import sqlite3
import warnings
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from neighbor_cases import draw, random_codes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from sklearn_talr import export
from sklearn_talr.codes import PackedCodes, hamming_distances, pack_codes, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher
from sklearn_talr.neighbors import HammingNeighbors, HashedNeighbors

# Less than a byte, whole bytes, and more than a word with bits to spare
each_length = pytest.mark.parametrize("n_bits", [7, 64, 100])
N_NEIGHBORS = 9


def cases(n_bits, ids=None):
    """An index and queries; some codes repeat, and removal left gaps in the indices."""
    queries, database = draw("random", 6, 120, n_bits, seed=n_bits)
    codes = np.concatenate((database, database[:40]))
    removed = [0, 5, 77] if ids is None else [ids[i] for i in (0, 5, 77)]
    return HammingNeighbors().fit(codes, ids=ids).remove(removed), queries


# Ids in the order of the indices, by which ties are ordered; COPY needs escapes in some
with_ids = pytest.mark.parametrize("ids", [None, [f"\\N\t\n{i:03}" for i in range(160)]])


def check_found(neighbors, queries, distances, ids):
    """The engine found the same distances, each of an item that has it.

    Which of several tied items it found is its own choice.
    """
    expected, _ = neighbors.kneighbors(queries, N_NEIGHBORS)
    assert_array_equal(distances, expected)
    known = neighbors.indices_ if neighbors.ids_ is None else neighbors.ids_
    codes = dict(zip(known.tolist(), np.asarray(neighbors.codes_)))
    for query, found, row in zip(queries, np.array(ids).tolist(), distances):
        assert len(set(found)) == N_NEIGHBORS
        assert_array_equal([(codes[each] != query).sum() for each in found], row)


@each_length
def test_faiss_finds_the_same(n_bits):
    pytest.importorskip("faiss")
    neighbors, queries = cases(n_bits)
    codes, ids = neighbors.codes_, neighbors.indices_
    octets = pack_codes(queries).data
    index = export.to_faiss(neighbors)
    check_found(neighbors, queries, *index.search(octets, N_NEIGHBORS))
    distances, places = export.to_faiss(codes).search(octets, N_NEIGHBORS)
    check_found(neighbors, queries, distances, ids[places])


@pytest.mark.parametrize("description", ["BHNSW32", "BIVF2"])
def test_faiss_makes_the_index_it_is_told_to(description):
    """They are approximate: what they find is there, at that distance."""
    pytest.importorskip("faiss")
    neighbors, queries = cases(64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of repeats, tested below
        index = export.to_faiss(neighbors.codes_, description, ids=neighbors.indices_)
    distances, ids = index.search(pack_codes(queries).data, N_NEIGHBORS)
    codes = dict(zip(neighbors.indices_.tolist(), np.asarray(neighbors.codes_)))
    for query, row, found in zip(queries, distances, ids.tolist()):
        assert row.tolist() == [(codes[i] != query).sum() for i in found]
    assert index.ntotal == neighbors.n_items_


@pytest.mark.parametrize("seed", range(60))
def test_faiss_finds_as_many_as_are_asked_for(seed):
    """Also the opposite of a query, whose score is the lowest, and without any weight."""
    faiss = pytest.importorskip("faiss")
    rng = np.random.default_rng(seed)
    n_items, n_bits = rng.integers(1, [40, 20])
    codes = random_codes(rng, n_items, n_bits)
    weights = rng.normal(size=(6, n_bits)) * 10.0 ** rng.integers(-9, 10, (6, 1))
    weights[0], weights[1:4] = 0, rng.integers(-1, 2, (3, n_bits))
    weights = weights.astype(np.float32)
    ids = np.arange(n_items) + 7
    made = export.to_faiss(codes, ids=ids, weighted=True)
    for index in (made, faiss.deserialize_index(faiss.serialize_index(made))):
        for k in (1, rng.integers(1, n_items + 1), n_items):
            scores, found = index.search(weights, int(k))
            assert np.isfinite(scores).all()
            assert all(len(set(row)) == k for row in found)
            assert set(found.ravel()) <= set(range(7, n_items + 7))
    exact = weighted_scores(weights, codes)
    ranked = np.take_along_axis(exact, found - 7, axis=1)
    most = np.abs(weights).sum(axis=1, keepdims=True) / 20
    assert (ranked[:, 1:] <= ranked[:, :-1] + most).all()


@pytest.mark.parametrize("n_bits", [8, 101])
def test_faiss_holds_codes_without_error_and_writes_them(n_bits):
    faiss = pytest.importorskip("faiss")
    rng = np.random.default_rng(n_bits)
    codes = random_codes(rng, 500, n_bits)
    weights, products = rng.normal(size=(8, n_bits)).astype(np.float32), 2.0 * codes - 1
    index = export.to_faiss(codes, weighted=True)
    assert_array_equal(index.reconstruct_n(0, len(codes)), products)
    named = export.to_faiss(codes, ids=np.arange(500) + 7, weighted=True)
    again = faiss.deserialize_index(faiss.serialize_index(named))
    assert_array_equal(again.search(weights, 5)[1], index.search(weights, 5)[1] + 7)
    # and what is added later, which faiss encodes, is held as well
    index.add(products[:40])
    named.add_with_ids(products[:40], np.arange(40) + 2**40)
    assert_array_equal(index.reconstruct_n(500, 40), products[:40])
    assert_array_equal(named.reconstruct(2**40 + 3), products[3])


def test_faiss_sums_words_of_eight_bits():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    codes, weights = random_codes(rng, 300, 24), rng.normal(size=(5, 768))
    index = export.to_faiss(
        codes, ids=np.arange(300) + 7, weighted=True, method="codebooks"
    )
    scores, ids = index.search(weights.astype(np.float32), 300)
    exact = np.take_along_axis(weighted_scores(weights, codes), ids - 7, axis=1)
    assert_allclose(scores, exact, atol=1e-5)
    assert (np.diff(scores) <= 0).all()


@each_length
def test_usearch_finds_the_same(n_bits):
    pytest.importorskip("usearch")
    neighbors, queries = cases(n_bits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        index = export.to_usearch(neighbors)
    found = index.search(pack_codes(queries).data, N_NEIGHBORS, exact=True)
    check_found(neighbors, queries, found.distances, found.keys.astype(int))


@pytest.fixture(params=["duckdb", "pgvector", "apsw", "sqlite3"])
def sql(request):
    """Name and connection of an engine that takes SQL, and keeps nothing."""
    if request.param == "pgvector":
        uri = request.getfixturevalue("postgres_uri")
        connection = pytest.importorskip("psycopg").connect(uri)
    elif request.param == "duckdb":
        connection = pytest.importorskip("duckdb").connect()
    else:
        sqlite_vec = pytest.importorskip("sqlite_vec")
        module = pytest.importorskip(request.param)
        connect = module.connect if module is sqlite3 else module.Connection
        connection = connect(":memory:")
        if not hasattr(connection, "enable_load_extension"):
            connection.close()
            pytest.skip("this Python's sqlite3 cannot load extensions")
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
    yield request.param, connection
    connection.close()


def test_the_sql_that_leaves_out_seen_items_finds_what_a_search_finds():
    connection, (neighbors, queries) = pytest.importorskip("duckdb").connect(), cases(64)
    export.to_duckdb(neighbors, connection)
    seen = [neighbors.indices_[row::9] for row in range(len(queries))]
    connection.execute("CREATE TABLE seen (person INT, item INT)")
    rows = [(q, int(item)) for q, of_query in enumerate(seen) for item in of_query]
    connection.executemany("INSERT INTO seen VALUES (?, ?)", rows)
    page = Path(__file__).parents[2] / "docs/user_guide/ignore_pairs.rst"
    query = page.read_text().split(".. code-block:: sql")[1].split("An approx")[0]
    for q, code in enumerate(export.to_bit_strings(queries)):
        found = connection.execute(query, [code, q, N_NEIGHBORS]).fetchall()
        expected = neighbors.kneighbors(queries[q : q + 1], N_NEIGHBORS, exclude=[seen[q]])
        assert found == list(zip(*(each[0].tolist() for each in expected[::-1])))


def load(sql, index, **options):
    """Export an index, and return a function from parameters of a search to its rows."""
    engine, connection = sql
    if engine == "pgvector":
        table = export.to_pgvector(index, **options)
        search = table.search
        connection.execute(table.create_table)
        with connection.cursor().copy(table.copy) as copy:
            for block in table.rows():
                copy.write(block)
    else:
        write = export.to_duckdb if engine == "duckdb" else export.to_sqlite_vec
        search = write(index, connection, **options)
    return lambda *parameters: connection.execute(search, parameters).fetchall()


@each_length
@with_ids
def test_sql_finds_the_same(n_bits, ids, sql):
    neighbors, queries = cases(n_bits, ids)
    ask = load(sql, neighbors)
    if sql[0] in ("apsw", "sqlite3"):
        found = [ask(row.tobytes(), N_NEIGHBORS) for row in pack_codes(queries).data]
        distances = [[distance for _, distance in row] for row in found]
        check_found(neighbors, queries, distances, [[i for i, _ in row] for row in found])
        return
    # In the same order, too, that of ties included
    found = [ask(bits, N_NEIGHBORS) for bits in export.to_bit_strings(queries)]
    distances, indices = neighbors.kneighbors(queries, N_NEIGHBORS)
    expected = [list(zip(*row)) for row in zip(indices.tolist(), distances.tolist())]
    assert found == expected


@cache
def scored(metric, method, has_ids):
    """An index by weights; without a metric its codes are those of ITQ."""
    if metric is None:
        hasher = ITQHasher(20, random_state=0)
    else:
        hasher = AdditiveHasher(
            24 if method == "codebooks" else 23,
            method=method,
            metric=metric,
            max_iter=2,
            random_state=0,
        )
    ids = [f"\t{i:03}" for i in range(300)] if has_ids else None
    return HashedNeighbors(hasher, query="weights").fit(load_digits().data[:300], ids=ids)


@pytest.mark.parametrize(
    ("metric", "method", "has_ids"),
    [
        (None, "bits", False),
        ("cosine", "bits", True),
        ("cosine", "codebooks", False),
        ("inner_product", "axes", False),
        ("inner_product", "codebooks", True),
        ("euclidean", "bits", True),
        ("euclidean", "codebooks", False),
    ],
)
def test_sql_scores_what_we_score(metric, method, has_ids, sql):
    index, X = scored(metric, method, has_ids), load_digits().data[300:308]
    hasher, codes = index.hasher_, index.codes_
    engine = sql[0] if sql[0] in ("duckdb", "pgvector") else "sqlite_vec"
    ask, weights = load(sql, index, weighted=True), hasher.query_weights(X)
    known = (index.indices_ if index.ids_ is None else index.ids_).tolist()
    exact, (_, ours) = weighted_scores(weights, codes), index.kneighbors(X, N_NEIGHBORS)
    bits = PackedCodes(codes.data, codes.n_bits)
    distances = hamming_distances(hasher.decision_function(X) > 0, bits)
    asked = export.to_sql_weights(weights, codes.n_bits, engine=engine)
    for query, (code, tables) in enumerate(asked):
        n_all = 300 if engine == "sqlite_vec" else None
        found, scores = zip(*ask(code, n_all, tables, N_NEIGHBORS))
        assert len(set(found)) == N_NEIGHBORS
        for ids in (found, ours[query].tolist()):
            of_ids = exact[query, [known.index(i) for i in ids]]
            assert_allclose(scores, of_ids, rtol=1e-4, atol=1e-4)
        near = [known.index(i) for i, _ in ask(code, 30, tables, 30)]
        expected = np.sort(distances[query])[:30]
        assert_array_equal(np.sort(distances[query, near]), expected)
    other = next(export.to_sql_weights(np.ones((1, 64)), 64, engine=engine))
    with pytest.raises(Exception, match=r"(?i)size|length|dimension"):
        ask(other[0], 300, other[1], N_NEIGHBORS)


@pytest.fixture
def lance(tmp_path):
    """A connection to a database in a folder of its own."""
    return pytest.importorskip("lancedb").connect(tmp_path)


@each_length
@with_ids
def test_lancedb_finds_the_same(n_bits, ids, lance):
    neighbors, queries = cases(n_bits, ids)
    table = export.to_lancedb(neighbors, lance)
    found = [
        table.search(row, vector_column_name="code")
        .distance_type("hamming")
        .limit(N_NEIGHBORS)
        .to_list()
        for row in pack_codes(queries).data
    ]
    distances = np.array([[row["_distance"] for row in rows] for rows in found])
    found = [[row["id"] for row in rows] for rows in found]
    check_found(neighbors, queries, distances, found)


@pytest.mark.parametrize("sql", ["apsw", "sqlite3"], indirect=True)
def test_sqlite_vec_keeps_nothing_of_a_failed_export(sql):
    codes = random_codes(np.random.default_rng(0), 5, 8)
    load(sql, codes, table="first")
    with pytest.raises(Exception, match="already exists"):
        load(sql, codes, table="first")
    assert list(sql[1].execute("SELECT count(*) FROM first")) == [(5,)]


def test_codes_of_either_bit_order_are_exported_alike():
    codes = random_codes(np.random.default_rng(0), 5, 12)
    big = pack_codes(codes, bitorder="big")
    assert list(export.to_pgvector(big).rows()) == list(export.to_pgvector(codes).rows())
    pytest.importorskip("faiss")
    octets = pack_codes(codes).data
    for index in (export.to_faiss(codes), export.to_faiss(big)):
        assert_array_equal(index.search(octets, 1)[0], np.zeros((5, 1)))


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
    message = "400 items have only 10 distinct codes, and up to 40 items share one"
    with pytest.warns(UserWarning, match=message) as warned:
        GRAPHS[engine](REPEATED)
    assert warned[0].filename == __file__
    GRAPHS[engine](REPEATED[::5])  # eight of each: no warning


def test_a_graph_of_pgvector_has_ten_rows_at_a_node(postgres_uri):
    """So 40 candidates are up to 400 rows, and more than ten of a code are warned of."""
    codes = np.repeat(random_codes(np.random.default_rng(0), 100, 32), 10, axis=0)
    table = export.to_pgvector(codes, table="nodes", hnsw=True)
    with pytest.importorskip("psycopg").connect(postgres_uri) as connection:
        connection.execute(table.create_table)
        with connection.cursor().copy(table.copy) as copy:
            for block in table.rows():
                copy.write(block)
        connection.execute(table.create_index)
        connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL hnsw.ef_search = 40")
        found = connection.execute(table.search, ("01" * 16, 1000)).fetchall()
        connection.rollback()
    assert 40 < len(found) <= 400
    with pytest.warns(UserWarning, match="100 distinct codes, and up to 11 items"):
        export.to_pgvector(np.vstack([codes, codes[:1]]), hnsw=True)


def test_usearch_has_key_0_beyond_what_it_finds():
    pytest.importorskip("usearch")
    codes = random_codes(np.random.default_rng(0), 5, 64)
    matches = export.to_usearch(codes).search(pack_codes(codes[:2]).data, 7)
    assert matches.counts.tolist() == [5, 5]
    assert_array_equal(matches.keys[:, 5:], 0)
    assert_array_equal(matches.distances[:, 5:], np.nan)


# What is refused


def test_bad_ids_are_refused():
    for ids, message in [
        ([0, 1], "ids must be one for each of 3 items, got 2"),
        ([0, 1, 1], "ids must be distinct"),
        (np.array([0, 1, 2**63], np.uint64), "all integers of int64"),
    ]:
        with pytest.raises(ValueError, match=message):
            export.to_pgvector(np.eye(3), ids=ids)


def test_the_id_by_which_faiss_finds_nothing_is_refused():
    pytest.importorskip("faiss")
    index = HammingNeighbors(1).fit(np.eye(3), ids=[7, -1, 5])
    for codes, ids in [(np.eye(3), [0, -1, 1]), (index, None)]:
        with pytest.raises(ValueError, match="ids must not have -1 for faiss"):
            export.to_faiss(codes, ids=ids)
    assert export.to_faiss(index.remove([-1])).ntotal == 2


def test_usearch_has_no_negative_keys_and_no_strings():
    pytest.importorskip("usearch")
    with pytest.raises(ValueError, match="ids must not be negative for usearch, got -2"):
        export.to_usearch(np.eye(3), ids=[0, -2, 1])
    with pytest.raises(ValueError, match="ids must be integers for usearch, got strings"):
        export.to_usearch(np.eye(3), ids=["a", "b", "c"])


def test_words_that_codes_do_not_have_are_refused():
    pytest.importorskip("faiss")
    for n_bits, weighted in [(8, False), (9, True)]:
        with pytest.raises(ValueError, match='method="codebooks" needs weighted=True'):
            export.to_faiss(np.eye(n_bits), weighted=weighted, method="codebooks")
    with pytest.raises(ValueError, match="same hash function"):
        export.to_sql_weights(np.ones((1, 9)), 8, engine="duckdb")


def test_names_that_are_not_plain_are_refused():
    for table in ("", "1st", "a b", "codes; DROP TABLE x", 'a"b', 64 * "a"):
        for export_to in (export.to_pgvector, *TO_DATABASES):
            with pytest.raises(ValueError, match="table must be a name of at most 63"):
                export_to(np.eye(3), table=table)


def with_connection(function):
    """The export to a database that nobody asks anything."""
    methods = "execute", "executemany", "register", "create_table", "open_table"
    connection = SimpleNamespace(**dict.fromkeys(methods, print))
    return lambda codes, **options: function(codes, connection, **options)


TO_DATABASES = [
    with_connection(function)
    for function in (export.to_duckdb, export.to_sqlite_vec, export.to_lancedb)
]


EXPORTS = {
    "bit strings": export.to_bit_strings,
    "faiss": export.to_faiss,
    "faiss, weighted": lambda codes: export.to_faiss(codes, weighted=True),
    "usearch": export.to_usearch,
    "pgvector": export.to_pgvector,
    "duckdb": with_connection(export.to_duckdb),
    "sqlite-vec": with_connection(export.to_sqlite_vec),
    "lancedb": with_connection(export.to_lancedb),
}


@pytest.mark.parametrize("engine", EXPORTS)
@pytest.mark.parametrize("terms", ["factors", "factors and addends", "of a hasher"])
def test_codes_with_factors_or_addends_are_refused(engine, terms):
    """No engine applies them, and without them the order of items is another."""
    name = engine.split(",")[0]
    if name in ("faiss", "usearch"):
        pytest.importorskip(name)
    X = load_digits().data[:60]
    little, big = np.uint8([[5], [6]]), np.uint8([[160], [96]])
    codes = {
        "factors": PackedCodes(little, 3, terms=[[2.0], [0.5]]),
        "factors and addends": PackedCodes(big, 3, "big", [[2.0, 1.0], [0.5, 0]]),
        "of a hasher": AdditiveHasher(9, max_iter=1, random_state=0).fit(X).encode(X),
    }[terms]
    with pytest.raises(ValueError, match=r"codes have factors or addends.*PackedCodes"):
        EXPORTS[engine](codes)


def test_bad_arguments_are_refused():
    for name, call in [
        ("description", lambda: export.to_faiss(np.eye(3), 32)),
        ("connectivity", lambda: export.to_usearch(np.eye(3), connectivity=0)),
        ("hnsw", lambda: export.to_pgvector(np.eye(3), hnsw="yes")),
        ("table", lambda: export.to_pgvector(np.eye(3), table=None)),
        ("connection", lambda: export.to_duckdb(np.eye(3), "codes.db")),
        ("connection", lambda: export.to_sqlite_vec(np.eye(3), "codes.db")),
        ("connection", lambda: export.to_lancedb(np.eye(3), "folder")),
        ("ids", lambda: export.to_faiss(np.eye(3), ids=7)),
        ("weighted", lambda: export.to_faiss(np.eye(3), weighted="yes")),
        ("weighted", lambda: export.to_pgvector(np.eye(3), weighted="yes")),
        ("method", lambda: export.to_faiss(np.eye(3), weighted=True, method="words")),
        ("engine", lambda: export.to_sql_weights(np.ones((1, 8)), 8, engine="mysql")),
    ]:
        with pytest.raises(ValueError, match=f"The '{name}' parameter of to_"):
            call()
