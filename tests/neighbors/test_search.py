"""HammingNeighbors finds what brute force finds, by every way there is."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import ALGORITHMS, CODES, draw, random_codes, ranking
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr.codes import pack_codes
from sklearn_talr.metrics import lookup_cost
from sklearn_talr.neighbors import HammingNeighbors, _buckets, _cost, _found, _index, _scan

LENGTHS = [1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 255, 256, 300, 1024]
WAYS = [(algorithm, "numpy") for algorithm in ALGORITHMS]
WAYS += [(algorithm, "faiss") for algorithm in ALGORITHMS]
each_way = pytest.mark.parametrize(("algorithm", "backend"), WAYS)
each_kind = pytest.mark.parametrize("kind", CODES)


@pytest.fixture
def eager(monkeypatch):
    """Have buckets looked up however many there are."""
    monkeypatch.setattr(_cost, "COMPARE_WORD", 1e9)


def fit(database, algorithm="auto", backend="numpy", **params):
    if backend == "faiss":
        pytest.importorskip("faiss")
    return HammingNeighbors(algorithm=algorithm, backend=backend, **params).fit(database)


def check_neighbors(neighbors, queries, database, n_neighbors):
    expected = ranking(queries, database)
    distances, indices, tied = neighbors.kneighbors(queries, n_neighbors, return_tied=True)
    assert distances.dtype == indices.dtype == np.int64
    nearest = [row[:n_neighbors] for row in expected]
    assert distances.tolist() == [[d for d, _ in row] for row in nearest]
    assert indices.tolist() == [[i for _, i in row] for row in nearest]
    last = [row[-1][0] for row in nearest]
    assert [items.tolist() for items in tied] == [
        [i for d, i in row if d == limit] for row, limit in zip(expected, last)
    ]


def check_radius(neighbors, queries, database, radius):
    expected = [
        [pair for pair in row if pair[0] <= radius] for row in ranking(queries, database)
    ]
    distances, indices = neighbors.radius_neighbors(queries, radius)
    assert {array.dtype for array in (*distances, *indices)} == {np.dtype(np.int64)}
    assert [found.tolist() for found in distances] == [[d for d, _ in r] for r in expected]
    assert [items.tolist() for items in indices] == [[i for _, i in r] for r in expected]


@parametrize_with_checks(
    [HammingNeighbors(), HammingNeighbors(algorithm="multi_index", backend="numpy")]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@each_kind
@each_way
@pytest.mark.parametrize("n_bits", LENGTHS)
def test_finds_what_brute_force_finds(n_bits, algorithm, backend, kind):
    queries, database = draw(kind, 6, 40, n_bits, seed=n_bits)
    neighbors = fit(database, algorithm, backend)
    for n_neighbors in (1, 7, 40):
        check_neighbors(neighbors, queries, database, n_neighbors)
    for radius in sorted({0, 1, n_bits // 3, n_bits}):
        check_radius(neighbors, queries, database, radius)


@each_kind
@each_way
@pytest.mark.parametrize("n_bits", [1, 3, 8, 12])
def test_looking_up_all_buckets_finds_the_same(n_bits, algorithm, backend, kind, eager):
    queries, database = draw(kind, 12, 50, n_bits, seed=n_bits)
    neighbors = fit(database, algorithm, backend)
    for n_neighbors in (1, 7, 50):
        check_neighbors(neighbors, queries, database, n_neighbors)
    for radius in range(n_bits + 1):
        check_radius(neighbors, queries, database, radius)


@each_way
@pytest.mark.parametrize("n_bits", [20, 40, 64, 100, 130])
def test_long_codes_are_looked_up_by_hashed_addresses(n_bits, algorithm, backend, eager):
    rng = np.random.default_rng(n_bits)
    database = random_codes(rng, 300, n_bits)
    queries = database[rng.integers(300, size=20)].copy()
    for query in queries:  # up to three bits away from an item
        query[rng.integers(n_bits, size=3)] ^= 1
    neighbors = fit(database, algorithm, backend)
    for radius in range(4):
        check_radius(neighbors, queries, database, radius)
    check_neighbors(neighbors, queries, database, 1)


@settings(deadline=None, max_examples=60)
@given(
    n_bits=st.integers(1, 70),
    n_items=st.integers(1, 40),
    kind=st.sampled_from(sorted(CODES)),
    way=st.sampled_from(WAYS[:4]),
    data=st.data(),
)
def test_any_search_equals_brute_force(n_bits, n_items, kind, way, data):
    queries, database = draw(kind, 3, n_items, n_bits, data.draw(st.integers(0, 999)))
    neighbors = fit(database, *way)
    check_neighbors(neighbors, queries, database, data.draw(st.integers(1, n_items)))
    check_radius(neighbors, queries, database, data.draw(st.integers(0, n_bits)))


@settings(deadline=None, max_examples=30)
@given(n_bits=st.integers(2, 40), seed=st.integers(0, 999))
def test_the_order_of_the_database_only_names_the_items(n_bits, seed):
    queries, database = draw("learned", 4, 30, n_bits, seed)
    order = np.random.default_rng(seed).permutation(30)
    original, moved = fit(database), fit(database[order])
    assert_array_equal(original.kneighbors(queries, 5)[0], moved.kneighbors(queries, 5)[0])
    *_, tied = original.kneighbors(queries, 5, return_tied=True)
    *_, moved_tied = moved.kneighbors(queries, 5, return_tied=True)
    for items, names in zip(tied, moved_tied):
        assert_array_equal(items, np.sort(order[names]))


@each_way
def test_many_queries_in_several_blocks(algorithm, backend, monkeypatch):
    monkeypatch.setattr(_index, "_QUERIES_PER_BLOCK", 16)
    monkeypatch.setattr(_scan, "_PAIRS_PER_PASS", 512)
    monkeypatch.setattr(_scan, "_CODES_PER_PASS", 24)
    monkeypatch.setattr(_found, "_ITEMS_PER_PASS", 100)
    monkeypatch.setattr(_buckets, "_PROBES_PER_PASS", 50)
    monkeypatch.setattr(_buckets, "_CANDIDATES_PER_PASS", 7)
    monkeypatch.setattr(_index, "_FOUND_PER_BLOCK", 2_000)
    queries, database = draw("learned", 70, 90, 24)
    for codes in (database, *(draw(kind, 1, 90, 24)[1] for kind in ("random", "crowded"))):
        for n_jobs in (None, 2):
            neighbors = fit(codes, algorithm, backend, n_jobs=n_jobs)
            check_neighbors(neighbors, queries, codes, 9)
            check_radius(neighbors, queries, codes, 5)


@pytest.mark.parametrize("kind", ["random", "learned"])
def test_auto_takes_another_way_where_it_costs_less(kind, monkeypatch):
    """The first queries tell the radius, and buckets answer the others."""
    monkeypatch.setattr(_cost, "COMPARE_WORD", 1e9)
    monkeypatch.setattr(_cost, "INDEX_CODE", 0.0)
    queries, database = draw(kind, 40, 200, 12)
    neighbors = fit(database)
    check_neighbors(neighbors, queries, database, 3)
    assert {algorithm for algorithm, _ in neighbors._store.searchers} > {"brute"}


@each_way
def test_items_as_queries_are_not_their_own_neighbors(algorithm, backend):
    for kind in CODES:
        _, database = draw(kind, 2, 30, 10)
        neighbors = fit(database, algorithm, backend)
        expected = [
            [pair for pair in row if pair[1] != own]
            for own, row in enumerate(ranking(database, database))
        ]
        for k in (1, 4, 29):
            distances, indices, tied = neighbors.kneighbors(None, k, return_tied=True)
            assert_array_equal(distances, [[d for d, _ in row[:k]] for row in expected])
            assert_array_equal(indices, [[i for _, i in row[:k]] for row in expected])
            for items, row in zip(tied, expected):
                assert_array_equal(items, [i for d, i in row if d == row[k - 1][0]])
        distances, indices = neighbors.radius_neighbors(radius=2)
        for found, items, row in zip(distances, indices, expected):
            assert_array_equal(found, [d for d, _ in row if d <= 2])
            assert_array_equal(items, [i for d, i in row if d <= 2])
        with pytest.raises(ValueError, match="n_neighbors=30 is more than the 29 items"):
            neighbors.kneighbors(None, 30)


def test_distances_are_those_of_scikit_learn():
    queries, database = draw("random", 5, 60, 48)
    theirs = NearestNeighbors(n_neighbors=6, metric="hamming").fit(database)
    distances, _ = theirs.kneighbors(queries)
    ours = fit(database).kneighbors(queries, 6)[0]
    assert_array_equal(ours, np.rint(48 * distances))


def test_graph_holds_the_neighbors():
    queries, database = draw("learned", 5, 20, 9)
    neighbors = fit(database, n_neighbors=4)
    distances, indices = neighbors.kneighbors(queries)
    graph = neighbors.kneighbors_graph(queries)
    assert sp.issparse(graph)
    assert graph.shape == (5, 20)
    assert_array_equal(graph.indices.reshape(5, 4), indices)
    assert_array_equal(graph.data, 1)
    graph = neighbors.kneighbors_graph(queries, 2, mode="distance")
    assert_array_equal(graph.data.reshape(5, 2), distances[:, :2])
    with pytest.raises(ValueError, match="mode must be 'connectivity' or 'distance'"):
        neighbors.kneighbors_graph(queries, mode="weights")


@each_kind
@pytest.mark.parametrize("n_bits", [5, 64, 300])
def test_rank_holds_all_items_and_their_ties(n_bits, kind):
    queries, database = draw(kind, 4, 25, n_bits)
    result = fit(database).rank(queries)
    expected = ranking(queries, database)
    assert_array_equal(result.distances, [[d for d, _ in row] for row in expected])
    assert_array_equal(result.indices, [[i for _, i in row] for row in expected])
    for row, ties in zip(expected, result.ties):
        distances = [d for d, _ in row]
        numbers = {d: number for number, d in enumerate(sorted(set(distances)))}
        assert_array_equal(ties, [numbers[d] for d in distances])


class TestLookup:
    """Bucket search of the paper: section 2.2 and Figure 1."""

    database = [[0, 0, 1, 1]] * 3 + [[0, 0, 1, 0]] * 2 + [[1, 1, 0, 0]]
    query = [[0, 0, 1, 1]]

    @pytest.mark.parametrize(
        ("n_neighbors", "radius", "n_found"),
        [(1, 0, 3), (3, 0, 3), (4, 1, 5), (5, 1, 5), (6, 4, 6)],
    )
    def test_whole_buckets_until_enough_candidates(
        self, n_neighbors, radius, n_found, eager
    ):
        neighbors = fit(self.database, "lookup")
        found = neighbors.lookup(self.query, n_neighbors)
        assert_array_equal(found.radius, radius)
        assert_array_equal(found.indices[0], np.arange(n_found))
        assert_array_equal(found.distances[0], [0, 0, 0, 1, 1, 4][:n_found])
        # Looked up are all buckets of the ball, compared the codes in them.
        assert_array_equal(found.n_buckets, lookup_cost(4)[radius])
        assert_array_equal(found.n_candidates, len(set(found.distances[0])))

    @pytest.mark.parametrize("radius", range(5))
    def test_all_buckets_of_a_radius(self, radius, eager):
        found = fit(self.database, "lookup").lookup(self.query, radius=radius)
        assert_array_equal(found.radius, radius)
        assert_array_equal(found.n_buckets, lookup_cost(4)[radius])
        assert_array_equal(
            found.distances[0], [d for d in [0, 0, 0, 1, 1, 4] if d <= radius]
        )

    def test_comparing_with_everything_when_that_is_cheaper(self):
        """Six codes are not worth more than 41 449 buckets of radius 4."""
        queries, database = draw("random", 5, 6, 32)
        found = fit(database, "lookup").lookup(queries, radius=4)
        assert_array_equal(found.n_buckets, 0)
        assert_array_equal(found.n_candidates, 6)

    def test_crossover_follows_the_number_of_distinct_codes(self):
        """The same radius is probed in a varied database and scanned in a uniform one."""
        rng = np.random.default_rng(0)
        varied = random_codes(rng, 20_000, 32)
        uniform = np.repeat(varied[:20], 1_000, axis=0)
        for database, probes in ((varied, 529), (uniform, 0)):
            found = fit(database, "lookup").lookup(varied[:3], radius=2)
            assert_array_equal(found.n_buckets, probes)

    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_every_algorithm_finds_whole_shells(self, algorithm, eager):
        queries, database = draw("learned", 8, 60, 11)
        for k in (1, 10, 60):
            found = fit(database, algorithm).lookup(queries, k)
            for row, radius, items in zip(
                ranking(queries, database), found.radius, found.indices
            ):
                assert radius == row[k - 1][0]
                assert_array_equal(items, [i for d, i in row if d <= radius])

    def test_several_tables_look_up_fewer_buckets(self, eager):
        queries, database = draw("random", 4, 200, 24)
        one = fit(database, "lookup").lookup(queries, radius=5)
        several = fit(database, "multi_index").lookup(queries, radius=5)
        assert_array_equal(one.n_buckets, lookup_cost(24)[5])
        assert np.all(several.n_buckets < 100)
        for ours, theirs in zip(one.indices, several.indices):
            assert_array_equal(ours, theirs)

    def test_crowded_buckets_are_not_looked_up(self):
        """Codes that agree in the bits of some table would all be candidates."""
        queries, database = draw("crowded", 5, 3_000, 64)
        found = fit(database, "multi_index").lookup(queries, radius=2)
        assert_array_equal(found.n_buckets, 0)
        even = draw("random", 5, 3_000, 64)[1]
        assert np.all(fit(even, "multi_index").lookup(queries, radius=2).n_buckets > 0)

    def test_number_and_radius_exclude_each_other(self):
        with pytest.raises(ValueError, match="n_neighbors and radius exclude each other"):
            fit(self.database).lookup(self.query, 2, radius=1)


@pytest.mark.parametrize("n_tables", range(1, 8))
@pytest.mark.parametrize("radius", range(12))
def test_no_code_of_a_ball_escapes_all_tables(radius, n_tables):
    """To exceed every table's radius a code must differ in more than `radius` bits."""
    radii = _cost.radii_of_tables(radius, n_tables)
    assert sum(r + 1 for r in radii) == radius + 1
    assert min(radii) >= -1


class TestWhatIsACode:
    """Positive entries are ones."""

    @pytest.mark.parametrize(
        "convert",
        [
            np.ndarray.tolist,
            np.asfortranarray,
            pack_codes,
            lambda codes: pack_codes(codes, bitorder="big"),
            lambda codes: codes.astype(bool),
            lambda codes: codes.astype(np.float16),
            lambda codes: 2 * codes.astype(int) - 1,
            lambda codes: np.where(codes, 0.3, -2.5),
            lambda codes: np.repeat(codes, 2, axis=1)[:, ::2],
        ],
    )
    def test_any_form_of_codes_is_the_same(self, convert):
        queries, database = draw("random", 3, 20, 13)
        expected = fit(database).kneighbors(queries, 5)
        for codes, items in ((convert(queries), database), (queries, convert(database))):
            assert_array_equal(fit(items).kneighbors(codes, 5), expected)

    def test_names_of_columns_are_kept_and_checked(self):
        queries, database = (pd.DataFrame(c) for c in draw("random", 3, 20, 4))
        for codes in (queries, database):
            codes.columns = list("abcd")
        neighbors = fit(database)
        assert_array_equal(neighbors.feature_names_in_, list("abcd"))
        check_neighbors(
            fit(database.to_numpy()), queries.to_numpy(), database.to_numpy(), 5
        )
        with pytest.raises(ValueError, match="feature names should match"):
            neighbors.kneighbors(queries[list("bacd")], 5)
        assert not hasattr(neighbors.fit(pack_codes(database)), "feature_names_in_")

    def test_packed_bytes_are_not_taken_for_bits(self):
        packed = pack_codes(draw("random", 3, 20, 16)[1])
        with pytest.raises(ValueError, match=r"look like packed codes.*PackedCodes\("):
            fit(packed.data)
        assert fit(packed).n_features_in_ == 16

    @pytest.mark.parametrize(
        ("codes", "error", "message"),
        [
            (np.zeros((0, 4)), ValueError, "0 sample"),
            (np.zeros((4, 0)), ValueError, "0 feature"),
            ([[0, np.nan]], ValueError, "contains NaN"),
            ([[0, np.inf]], ValueError, "contains infinity"),
            ([0, 1, 1], ValueError, "Expected 2D array"),
            (sp.csr_array(np.eye(3)), TypeError, "Sparse data was passed"),
            ([["a", "b"]], ValueError, "dtype='numeric' is not compatible"),
            (pack_codes([[0, 1]])[[]], ValueError, "0 sample"),
        ],
    )
    def test_what_is_not_a_code_is_refused(self, codes, error, message):
        with pytest.raises(error, match=message):
            fit(codes)

    def test_lengths_must_agree(self):
        neighbors = fit(np.eye(8))
        with pytest.raises(ValueError, match="7 features, but HammingNeighbors"):
            neighbors.kneighbors(np.zeros((1, 7)), 1)
        with pytest.raises(ValueError, match="X has 7 bits, but HammingNeighbors holds"):
            neighbors.kneighbors(pack_codes(np.zeros((1, 7))), 1)


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.0, True, "3"])
def test_a_bad_number_of_neighbors_is_refused(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors must be a positive integer"):
        fit(np.eye(4)).kneighbors(np.eye(4), n_neighbors)


def test_more_neighbors_than_items_are_refused():
    with pytest.raises(ValueError, match="n_neighbors=5 is more than the 4 items"):
        fit(np.eye(4)).kneighbors(np.eye(4), 5)


@pytest.mark.parametrize("radius", [-1, 0.5, False, None])
def test_a_bad_radius_is_refused(radius):
    neighbors = fit(np.eye(4), radius=1)
    if radius is None:
        assert [len(items) for items in neighbors.radius_neighbors(np.eye(4))[1]] == [1] * 4
    else:
        with pytest.raises(ValueError, match="radius must be an integer of at least 0"):
            neighbors.radius_neighbors(np.eye(4), radius)


@pytest.mark.parametrize(
    "params",
    [
        {"n_neighbors": 0},
        {"radius": -1},
        {"algorithm": "tree"},
        {"backend": "gpu"},
        {"affinity": "labels"},
        {"scoring": "accuracy"},
        {"n_jobs": 0.5},
    ],
)
def test_bad_parameters_are_named(params):
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter"):
        HammingNeighbors(**params).fit(np.eye(3))


@pytest.mark.parametrize(
    "ask",
    [
        lambda n: n.kneighbors([[0, 1]]),
        lambda n: n.radius_neighbors([[0, 1]]),
        lambda n: n.rank([[0, 1]]),
        lambda n: n.lookup([[0, 1]]),
        lambda n: n.predict([[0, 1]]),
        lambda n: n.score([[0, 1]], [1]),
        lambda n: n.remove([0]),
        lambda n: n.save("nothing.npz"),
        lambda n: n.codes_,
    ],
)
def test_nothing_can_be_asked_before_fit(ask):
    with pytest.raises(NotFittedError):
        ask(HammingNeighbors())


def test_faiss_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(_index, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="Install faiss-cpu, or set backend='numpy'"):
        HammingNeighbors(backend="faiss").fit(np.eye(3)).kneighbors(np.eye(3), 1)


def test_auto_scans_by_faiss_only_where_it_is_loaded(monkeypatch):
    pytest.importorskip("faiss")
    for loaded, backend in ((True, "faiss"), (False, "numpy")):
        if not loaded:
            monkeypatch.delitem(sys.modules, "faiss")
        neighbors = HammingNeighbors(algorithm="brute").fit(np.eye(5))
        neighbors.kneighbors(np.eye(5), 2)
        assert list(neighbors._store.searchers) == [("brute", backend)]


def test_parameters_may_change_after_fit():
    queries, database = draw("learned", 5, 40, 20)
    neighbors = fit(database)
    for algorithm, backend in WAYS[:4]:
        neighbors.set_params(algorithm=algorithm, backend=backend)
        check_neighbors(neighbors, queries, database, 6)


def test_clones_and_pickles():
    queries, database = draw("learned", 5, 40, 70)
    neighbors = fit(database, "multi_index")
    neighbors.radius_neighbors(queries, 2)
    copy = pickle.loads(pickle.dumps(neighbors))
    check_neighbors(copy, queries, database, 6)
    check_radius(copy, queries, database, 3)
    assert not hasattr(clone(neighbors), "_store")


def test_searching_changes_nothing_that_is_fitted():
    queries, database = draw("learned", 5, 40, 20)
    neighbors = fit(database)
    before = dict(vars(neighbors))
    neighbors.kneighbors(queries)
    neighbors.radius_neighbors(queries)
    neighbors.lookup(queries)
    assert vars(neighbors) == before


def test_codes_come_back_in_order():
    _, database = draw("learned", 2, 30, 11)
    neighbors = fit(database)
    assert_array_equal(np.asarray(neighbors.codes_), database)
    assert_array_equal(neighbors.indices_, np.arange(30))
    assert neighbors.n_items_ == neighbors.n_samples_fit_ == 30
    assert neighbors.n_distinct_codes_ == len(np.unique(database, axis=0))


def test_reference_of_this_file():
    """The oracle itself, on a case that can be read off."""
    assert ranking(np.array([[0, 0]]), np.array([[1, 1], [0, 0], [0, 1], [0, 0]])) == [
        [(0, 1), (0, 3), (1, 2), (2, 0)]
    ]
