"""Over blocks of dask arrays everything is what it is in memory, wherever blocks end."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr import HammingNeighbors, ITQHasher, PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.codes import PackedCodes, concatenate_codes, pack_codes, weighted_scores
from sklearn_talr.dask import (
    encode,
    fit,
    hamming_histogram,
    index,
    kneighbors,
    radius_neighbors,
)
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.histogram import hamming_histogram as count_in_memory
from sklearn_talr.neighbors import WeightedHammingNeighbors

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

# A block of a few codes may well have only one
pytestmark = pytest.mark.filterwarnings("ignore:All rows of X have the same code")

N, N_FEATURES, N_BITS, N_QUERIES = 60, 9, 5, 7
FEW = settings(max_examples=12, deadline=None)


@pytest.fixture(scope="module", autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, N_FEATURES))
BITS = RNG.integers(2, size=(N, N_BITS))
LABELS = RNG.integers(4, size=N)
SEVERAL = (RNG.random((N, 4)) < np.linspace(0, 0.9, N)[:, None]).astype(int)
QUERIES = slice(0, N_QUERIES)
WEIGHTED = WeightedHammingNeighbors()
WEIGHTS = RNG.normal(size=(N_QUERIES, N_BITS)).round(1)  # rounded, so that some are tied
TERMS = RNG.integers(1, 4, size=(N, 2)) / 2  # a factor and an addend for each code


@st.composite
def chunks(draw):
    """Lengths of blocks of N rows, some of them empty."""
    cuts = draw(st.lists(st.integers(0, N), max_size=8))
    return tuple(np.diff([0, *sorted(cuts), N]).tolist())


def in_blocks(array, rows):
    return da.from_array(array, chunks=(rows, *array.shape[1:]))


def packed_blocks(codes, rows):
    """Delayed PackedCodes of blocks of codes, with so many rows each."""
    packed, ends = pack_codes(codes), np.cumsum(rows)
    return [dask.delayed(packed[end - length : end]) for end, length in zip(ends, rows)]


def joined(codes):
    return concatenate_codes(dask.compute(*codes))


def search(ask, queries, codes, argument, neighbors=None):
    """Index blocks of codes, and ask for neighbors."""
    return ask(queries, index(neighbors or HammingNeighbors(), codes), argument)


def assert_same_table(found, expected):
    assert_array_equal(found.counts, expected.counts)
    assert_array_equal(found.levels, expected.levels)
    assert found.counts.dtype == expected.counts.dtype
    assert found.n_bits == expected.n_bits


def assert_same_lists(found, expected):
    for each, other in zip(found, expected, strict=True):
        assert each.dtype == other.dtype
        assert len(each) == len(other)
        for row, other_row in zip(each, other):
            assert_array_equal(row, other_row)
            assert row.dtype == other_row.dtype


@given(chunks())
@FEW
def test_codes_are_those_of_the_hasher(rows):
    hasher = ITQHasher(N_BITS, random_state=0).fit(X)
    codes = encode(hasher, in_blocks(X, rows))
    assert [len(block) for block in dask.compute(*codes)] == list(rows)
    assert joined(codes).n_bits == N_BITS
    assert_array_equal(joined(codes).data, hasher.encode(X).data)


@given(chunks())
@FEW
def test_tables_add_up(rows):
    for y in (LABELS, SEVERAL):
        expected = count_in_memory(BITS[QUERIES], BITS, "auto", y[QUERIES], y)
        for database in (packed_blocks(BITS, rows), in_blocks(BITS, rows)):
            for y_database in (y, in_blocks(y, rows)):
                sides = y[QUERIES], y_database
                found = hamming_histogram(BITS[QUERIES], database, "auto", *sides)
                assert_same_table(found, expected)


@given(chunks(), st.integers(1, N), st.integers(0, N_BITS + 1))
@FEW
def test_neighbors_are_merged_by_global_index(rows, n_neighbors, radius):
    neighbors = HammingNeighbors().fit(BITS)
    nearest = neighbors.kneighbors(BITS[QUERIES], n_neighbors)
    within = neighbors.radius_neighbors(BITS[QUERIES], radius)
    for codes in (packed_blocks(BITS, rows), in_blocks(BITS, rows)):
        found = search(kneighbors, BITS[QUERIES], codes, n_neighbors)
        assert_same_lists(found, nearest)
        found = search(radius_neighbors, BITS[QUERIES], codes, radius)
        assert_same_lists(found, within)


@given(chunks(), st.integers(1, N))
@FEW
def test_weighted_queries_find_what_they_find_joined(rows, n_neighbors):
    """Exactly: the same distances, and ties by index."""
    for terms in (None, TERMS[:, :1], TERMS):
        codes = PackedCodes(pack_codes(BITS).data, N_BITS, terms=terms)
        blocks = packed_blocks(codes, rows)
        expected = WEIGHTED.fit(codes).kneighbors(WEIGHTS, n_neighbors)
        found = search(kneighbors, WEIGHTS, blocks, n_neighbors, WEIGHTED)
        assert_same_lists(found, expected)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "inner_product"])
def test_weighted_queries_rank_additive_codes(metric):
    """Factors and addends of the codes decide, on the workers as in memory."""
    hasher = AdditiveHasher(16, metric=metric, max_iter=2, random_state=0).fit(X)
    codes, weights = hasher.encode(X), hasher.query_weights(X[QUERIES])
    expected = WEIGHTED.fit(codes).kneighbors(weights, N)
    found = search(kneighbors, weights, packed_blocks(codes, (7, 0, 40, 13)), N, WEIGHTED)
    assert_same_lists(found, expected)
    scores = weighted_scores(weights, codes)
    assert_array_equal(found[1], np.argsort(-scores, axis=1, kind="stable"))
    blocks = encode(hasher, in_blocks(X, (30, 30)))
    by_features = search(kneighbors, weights, blocks, 5, WEIGHTED)
    assert_array_equal(by_features[1], expected[1][:, :5])


@pytest.mark.parametrize("affinity", ["labels", "binary", "thresholds", "matrix"])
def test_all_oracles_count(affinity):
    rows = (20, 13, 27)
    oracle, y = {
        "labels": (LabelAffinity(), LABELS.astype(str)),
        "binary": (SharedLabelAffinity(binary=True), sp.csr_array(SEVERAL)),
        "thresholds": (ThresholdAffinity((0.5, 0.1), (1, 3)).fit(X), X),
        "matrix": ("auto", PrecomputedAffinity(SEVERAL @ SEVERAL.T)),
    }[affinity]
    expected = count_in_memory(BITS[QUERIES], BITS, oracle, y[QUERIES], y)
    database = in_blocks(BITS, rows)
    found = hamming_histogram(BITS[QUERIES], database, oracle, y[QUERIES], y)
    assert_same_table(found, expected)


def test_the_form_of_the_database_says_what_few_queries_hold():
    given = "auto", SEVERAL[:2], SEVERAL
    found = hamming_histogram(BITS[:2], in_blocks(BITS, (30, 30)), *given)
    assert_same_table(found, count_in_memory(BITS[:2], BITS, *given))


def test_queries_are_counted_in_blocks_if_their_table_is_large(monkeypatch):
    monkeypatch.setattr("sklearn_talr.dask._counting._BYTES_PER_TABLE", 8 * 5 * 6 * 2)
    # The last queries share fewer labels with any item than the first, or more.
    for y in (SEVERAL[::-1], SEVERAL):
        found = hamming_histogram(BITS, in_blocks(BITS, (30, 30)), "auto", y, y)
        assert_same_table(found, count_in_memory(BITS, BITS, "auto", y, y))


@pytest.mark.parametrize("form", ["bits", "packed", "big", "blocks", "codes", "list"])
def test_queries_of_all_forms(form):
    queries = BITS[QUERIES]
    given = {
        "bits": queries,
        "packed": pack_codes(queries),
        "big": pack_codes(queries, bitorder="big"),
        "blocks": da.from_array(queries, chunks=(3, 2)),
        "codes": packed_blocks(queries, (3, 4)),
        "list": queries.tolist(),
    }[form]
    database = in_blocks(BITS, (40, 20))
    y = LABELS[QUERIES]
    assert_same_lists(
        search(kneighbors, given, database, 3),
        HammingNeighbors().fit(BITS).kneighbors(queries, 3),
    )
    assert_same_table(
        hamming_histogram(given, database, "auto", da.from_array(y), LABELS),
        count_in_memory(queries, BITS, "auto", y, LABELS),
    )


class Counting(HammingNeighbors):
    """Counts how often it is fitted."""

    n_fits = 0

    def fit(self, X, y=None):
        Counting.n_fits += 1
        return super().fit(X, y)


def test_blocks_are_indexed_once():
    Counting.n_fits = 0
    database = index(Counting(), in_blocks(BITS, (40, 20)))
    for _ in range(2):
        kneighbors(BITS[QUERIES], database, 3)
        radius_neighbors(BITS[QUERIES], database, 1)
    with dask.config.set(scheduler="threads"):
        kneighbors(BITS[QUERIES], database, 3)
    assert Counting.n_fits == 2


def test_codes_are_encoded_once_for_a_table():
    """Although in-memory targets need to know how many codes each block has."""
    computed = []
    features = in_blocks(X, (30, 30))
    features = features.map_blocks(lambda each: computed.append(0) or each, meta=X[:0])
    hasher = ITQHasher(N_BITS, random_state=0).fit(X)
    hamming_histogram(BITS[QUERIES], encode(hasher, features), "auto", LABELS[:7], LABELS)
    assert len(computed) == 2


def test_features_may_be_split_by_columns_or_sparse():
    hasher = ITQHasher(N_BITS, random_state=0).fit(X)
    expected = hasher.encode(X).data
    split = da.from_array(X, chunks=(25, 4))
    assert_array_equal(joined(encode(hasher, split)).data, expected)
    sparse = in_blocks(X, (25, 35)).map_blocks(sp.csr_matrix)
    assert_array_equal(joined(encode(hasher, sparse)).data, expected)


def test_encoding_is_lazy_and_knows_the_hasher_of_its_time():
    computed = []
    features = da.from_array(X, chunks=(30, N_FEATURES)).map_blocks(
        lambda block: computed.append(0) or block, meta=X[:0]
    )
    hasher = ITQHasher(N_BITS, random_state=0).fit(X)
    expected = hasher.encode(X).data
    codes = encode(hasher, features)
    assert not computed
    hasher.fit(X[:, ::-1])
    assert_array_equal(joined(codes).data, expected)
    assert len(computed) == 2


class Recorder(ITQHasher):
    """Remembers what it was fitted to."""

    def fit(self, X, y=None):
        self.given = X, y
        return super().fit(X, y)


@given(chunks(), st.integers(2, N + 5))
@FEW
def test_the_sample_does_not_depend_on_blocks(rows, n_samples):
    drawn = [
        fit(Recorder(2), in_blocks(X, parts), y, n_samples=n_samples, random_state=3).given
        for parts, y in [
            ((N,), LABELS),
            (rows, in_blocks(LABELS, rows[::-1])),
            (rows, LABELS.tolist()),
        ]
    ]
    for found in drawn:
        assert len(found[0]) == min(n_samples, N)
        for part, expected in zip(found, drawn[0]):
            assert_array_equal(part, expected)
    where = [np.flatnonzero((row == X).all(axis=1)).item() for row in drawn[0][0]]
    assert len(set(where)) == len(where)
    assert_array_equal(LABELS[where], drawn[0][1])


def test_targets_of_all_forms_are_sampled():
    features = in_blocks(X, (30, 30))
    matrix = PrecomputedAffinity(SEVERAL @ SEVERAL.T)
    for y in (None, matrix, sp.csr_array(SEVERAL), sp.coo_array(SEVERAL)):
        given = fit(Recorder(2), features, y, n_samples=10, random_state=0).given[1]
        assert given is None if y is None else given.shape[0] == 10


def test_dask_frames_are_refused_by_name():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    features = in_blocks(X, (30, 30))
    labels = dd.from_pandas(pd.Series(LABELS), npartitions=2)
    message = r"y must be a dask array, got Series.*lengths=True"
    with pytest.raises(TypeError, match=message):
        fit(Recorder(2), features, labels)
    with pytest.raises(TypeError, match="X must be a dask array, got DataFrame"):
        fit(Recorder(2), dd.from_pandas(pd.DataFrame(X), npartitions=2), LABELS)
    with pytest.raises(ValueError, match="y has blocks of unknown length"):
        fit(Recorder(2), features, labels.to_dask_array())
    labels = labels.to_dask_array(lengths=True)
    found, expected = (
        fit(Recorder(2), features, y, n_samples=9, random_state=0).given[1]
        for y in (labels, LABELS)
    )
    assert_array_equal(found, expected)


def test_what_is_not_in_blocks_is_refused():
    hasher = ITQHasher(N_BITS).fit(X)
    for call in (
        lambda: encode(hasher, X),
        lambda: fit(hasher, X),
        lambda: kneighbors(BITS, BITS),
        lambda: kneighbors(BITS, HammingNeighbors().fit(BITS)),
        lambda: index(HammingNeighbors(), BITS),
        lambda: index(HammingNeighbors(), []),
        lambda: hamming_histogram(BITS, BITS, "auto", LABELS, LABELS),
        lambda: hamming_histogram(BITS, pack_codes(BITS), "auto", LABELS, LABELS),
    ):
        with pytest.raises(TypeError, match=r"must be .*a dask array.*from_array"):
            call()


def test_sides_that_do_not_fit_are_refused():
    bits, features = in_blocks(BITS, (30, 30)), in_blocks(X, (30, 30))
    database, weighted = index(HammingNeighbors(), bits), index(WEIGHTED, bits)
    empty = packed_blocks(BITS, (0, 60))[:1]
    hasher = ITQHasher(N_BITS).fit(X)
    for call, message in [
        (lambda: encode(hasher, features[:, 1:]), "X has 8 features.*fitted to 9"),
        (lambda: encode(hasher, features[0]), "X must be 2-D"),
        (lambda: fit(hasher, features, LABELS[1:]), "equal length, got 60 and 59"),
        (lambda: kneighbors(BITS[:, 1:], database), "4 features, but"),
        (lambda: kneighbors(WEIGHTS[:, 1:], weighted), "X has 4 columns"),
        (lambda: kneighbors(BITS, weighted), "X are codes, and weights are needed"),
        (lambda: kneighbors(BITS, database, N + 1), "more than the 60 items"),
        (lambda: kneighbors(BITS, database, 0), "'n_neighbors' parameter of kneighbors"),
        (lambda: kneighbors(BITS, index(WEIGHTED, empty)), "more than the 0 items"),
        (lambda: radius_neighbors(BITS, database, -1), "'radius' parameter of radius_ne"),
        (lambda: radius_neighbors(BITS, database, 1.5), "radius must be an integer"),
        (lambda: index(WEIGHTED, bits + 1), "codes must hold zeros and ones"),
        (lambda: index(3, bits), "'neighbors' parameter of index"),
        (lambda: encode(3, bits), "'hasher' parameter of encode"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_groups_are_left_out_of_every_block():
    groups, y = RNG.integers(5, size=N), np.where(LABELS == 3, -1, LABELS)
    affinity, rows = LabelAffinity(ignored=-1), (7, 0, 40, 13)
    both = {"groups_query": groups, "groups_database": groups}
    expected = count_in_memory(BITS, BITS, affinity, y, y, **both)
    assert 0 < expected.n_items.sum() < N * np.sum(y >= 0)
    for y_database in (y, in_blocks(y, rows)):
        for of_items in (groups, in_blocks(groups, rows)):
            options = both | {"groups_database": of_items}
            codes = in_blocks(BITS, rows)
            table = hamming_histogram(BITS, codes, affinity, y, y_database, **options)
            np.testing.assert_array_equal(table.counts, expected.counts)
    with pytest.raises(ValueError, match="groups_query is None"):
        hamming_histogram(BITS, codes, affinity, y, y, groups_database=groups)


def test_targets_that_do_not_fit_are_refused():
    bits, empty = in_blocks(BITS, (30, 30)), packed_blocks(BITS, (0, 60))[:1]
    in_three, too_few = in_blocks(LABELS, (20, 20, 20)), in_blocks(LABELS[1:], (30, 29))
    for codes, y_query, y_database, message in [
        (bits, None, LABELS, "y_query and y_database are needed"),
        (bits, LABELS, None, "y_query and y_database are needed"),
        (bits, LABELS[1:], LABELS, "query_codes and y_query"),
        (bits, LABELS, LABELS[1:], "database_codes and y_database.*got 60 and 59"),
        (bits, LABELS, too_few, "database_codes and y_database.*got 30 and 29"),
        (bits, LABELS, in_three, "must have the blocks of database_codes, got 3 and 2"),
        (empty, LABELS, LABELS[:0], "at least one code"),
        (empty, LABELS, in_blocks(LABELS[:0], (0,)), "at least one code"),
    ]:
        with pytest.raises(ValueError, match=message):
            hamming_histogram(BITS, codes, "auto", y_query, y_database)
    with pytest.raises(ValueError, match="codes must hold zeros and ones"):
        hamming_histogram(BITS + 1, bits, "auto", LABELS, LABELS)


def test_blocks_whose_rows_cannot_be_counted_are_refused():
    named = HammingNeighbors().fit(BITS, ids=[f"{i}" for i in range(N)])
    numbered = HammingNeighbors().fit(BITS, ids=range(100, 100 + N))
    for neighbors in (named, numbered, HammingNeighbors().fit(BITS).remove([0])):
        for ask in (kneighbors, radius_neighbors):
            with pytest.raises(ValueError, match="have ids, or from which items"):
                ask(BITS, [dask.delayed(neighbors)])
    for ask in (kneighbors, radius_neighbors):
        with pytest.raises(ValueError, match=r"queries is None.*Pass their codes"):
            ask(None, index(HammingNeighbors(), in_blocks(BITS, (30, 30))))


@pytest.mark.parametrize("kind", ["coo", "bsr", "dia", "dok", "lil", "csc"])
def test_sparse_blocks_of_all_formats_are_rows(kind):
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    blocks = in_blocks(rows, (30, 30)).map_blocks(getattr(sp, f"{kind}_matrix"))
    csr = in_blocks(rows, (30, 30)).map_blocks(sp.csr_matrix)
    hasher = fit(ITQHasher(N_BITS, random_state=0), blocks, n_samples=40, random_state=0)
    same = fit(ITQHasher(N_BITS, random_state=0), csr, n_samples=40, random_state=0)
    codes = concatenate_codes(dask.compute(*encode(hasher, blocks)))
    assert_array_equal(codes.data, same.encode(sp.csr_matrix(rows)).data)


def test_a_pipeline_is_fitted_and_encodes():
    pipeline = make_pipeline(
        StandardScaler(), make_pipeline(ITQHasher(N_BITS, random_state=0))
    )
    fitted = fit(pipeline, in_blocks(X, (30, 30)), n_samples=40, random_state=0)
    codes = encode(fitted, in_blocks(X, (7, 53)))
    scaled = fitted[0].transform(X)
    expected = fitted[1][0].encode(scaled)
    fitted.fit(-X[:20])  # later, which does not change the codes of that call
    found = concatenate_codes(dask.compute(*codes))
    assert_array_equal(found.data, expected.data)
