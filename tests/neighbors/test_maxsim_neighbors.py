"""The index of documents that are sets of tokens, against all scores by a slow loop."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr import ITQHasher, LSHHasher
from sklearn_talr.codes import _scores, weighted_scores
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import MaxSimNeighbors

RNG = np.random.default_rng(0)
X, QUERIES = RNG.normal(size=(400, 8)), RNG.normal(size=(30, 8))
GROUPS, QUERY_GROUPS = RNG.integers(0, 60, 400), RNG.integers(0, 7, 30)
LSH = LSHHasher(16, random_state=0)
ADDITIVE = AdditiveHasher(16, max_iter=3, random_state=0)
OF_WORDS = clone(ADDITIVE).set_params(method="bits", metric="euclidean")
OF_BYTES = clone(ADDITIVE).set_params(method="codebooks")


@parametrize_with_checks(
    [
        MaxSimNeighbors(ITQHasher(8, random_state=0)),
        MaxSimNeighbors(make_pipeline(StandardScaler(), LSHHasher(8, random_state=0))),
    ]
)
def test_scikit_learn_finds_no_fault_in_maxsim(estimator, check):
    check(estimator)


def first_of(labels):
    return list(dict.fromkeys(labels.tolist()))


def slow_neighbors(hasher, tokens, groups, queries, query_groups, n_neighbors):
    """For each query (distance, place) of the nearest documents, by sorting all."""
    scores = weighted_scores(hasher.query_weights(queries), hasher.encode(tokens))
    found = []
    for query in first_of(query_groups):
        of_query = scores[query_groups == query].astype(float)
        distances = [
            -of_query[:, groups == label].max(axis=1).sum() for label in first_of(groups)
        ]
        order = np.argsort(distances, kind="stable")[:n_neighbors]
        found.append([(distances[place], place) for place in order])
    return found


def check_found(index, tokens, groups, n_neighbors=7):
    distances, indices = index.kneighbors(QUERIES, n_neighbors, groups=QUERY_GROUPS)
    expected = slow_neighbors(
        index.hasher_, tokens, groups, QUERIES, QUERY_GROUPS, n_neighbors
    )
    assert_allclose(distances, [[d for d, _ in row] for row in expected], rtol=1e-4)
    assert indices.tolist() == [[place for _, place in row] for row in expected]


@pytest.mark.parametrize("hasher", [LSH, ADDITIVE, OF_WORDS, OF_BYTES], ids=str)
def test_the_nearest_documents_are_found(hasher):
    index = MaxSimNeighbors(hasher).fit(X, groups=GROUPS)
    assert_array_equal(index.groups_, first_of(GROUPS))
    assert index.n_groups_ == len(set(GROUPS))
    assert index.n_items_ == 400
    check_found(index, X, GROUPS)


@pytest.mark.parametrize("hasher", [ITQHasher(16, random_state=0), OF_WORDS], ids=str)
def test_queries_of_bits_count_bits_in_which_tokens_agree(hasher):
    index = MaxSimNeighbors(hasher, query="bits", n_neighbors=7)
    index.fit(X[:300], groups=GROUPS[:300]).add(X[300:], groups=GROUPS[300:])
    distances, indices = index.kneighbors(QUERIES, groups=QUERY_GROUPS)
    bits, of_queries = index.hasher_.transform(X), index.hasher_.transform(QUERIES)
    agree = 16 - 2 * (of_queries[:, None] != bits).sum(axis=2)
    for row, query in enumerate(first_of(QUERY_GROUPS)):
        of_query = agree[query == QUERY_GROUPS]
        every = [-of_query[:, g == GROUPS].max(axis=1).sum() for g in first_of(GROUPS)]
        assert_array_equal(indices[row], np.argsort(every, kind="stable")[:7])
        assert_array_equal(distances[row], np.sort(every)[:7])
    assert index.nbytes < MaxSimNeighbors(OF_WORDS).fit(X, groups=GROUPS).nbytes


def test_documents_of_the_same_tokens_are_tied():
    """In whatever order these come, and however often."""
    tokens = np.concatenate((X[:5], X[4::-1], X[:5], X[:5], X[5:50]))
    groups = np.concatenate((np.repeat([9, 8, 7, 7], 5), np.arange(100, 145)))
    index = MaxSimNeighbors(OF_WORDS, n_neighbors=2).fit(tokens, groups=groups)
    distances, indices, tied = index.kneighbors(X[:5], return_tied=True, groups=np.zeros(5))
    assert distances[0, 0] == distances[0, 1]
    assert indices.tolist() == [[0, 1]]
    assert tied[0].tolist() == [0, 1, 2]


def test_queries_alone_are_answered_as_together(monkeypatch):
    index = MaxSimNeighbors(ADDITIVE).fit(X, groups=GROUPS)
    together = index.kneighbors(QUERIES, groups=QUERY_GROUPS)
    monkeypatch.setattr(_scores, "_TOKENS_PER_BLOCK", 5)
    monkeypatch.setattr(_scores, "_DOCUMENTS_PER_PART", 8)
    for found in (
        index.kneighbors(QUERIES, groups=QUERY_GROUPS),
        clone(index)
        .set_params(n_jobs=2)
        .fit(X, groups=GROUPS)
        .kneighbors(QUERIES, groups=QUERY_GROUPS),
    ):
        assert_array_equal(found, together)
    for row, query in enumerate(first_of(QUERY_GROUPS)):
        alone = QUERIES[query == QUERY_GROUPS]
        distances, indices = index.kneighbors(alone, groups=np.full(len(alone), "x"))
        assert_array_equal(distances[0], together[0][row])
        assert_array_equal(indices[0], together[1][row])


def test_documents_may_come_in_parts():
    frozen = FrozenEstimator(clone(OF_WORDS).fit(X))
    whole = MaxSimNeighbors(frozen).fit(X, groups=GROUPS)
    parts = MaxSimNeighbors(frozen)
    for rows in (slice(0, 150), slice(150, 160), slice(160, 400)):
        parts.add(X[rows], groups=GROUPS[rows])
    assert_array_equal(parts.groups_, whole.groups_)
    assert parts.n_bytes_per_item_ == whole.n_bytes_per_item_
    found = parts.kneighbors(QUERIES, groups=QUERY_GROUPS)
    assert_array_equal(found, whole.kneighbors(QUERIES, groups=QUERY_GROUPS))


def test_removed_documents_leave_their_places():
    index = MaxSimNeighbors(LSH).fit(X, groups=GROUPS)
    labels, gone = index.groups_, index.groups_[[3, 0, 11]]
    index.remove(set(gone.tolist())).remove([])
    assert_array_equal(index.groups_, labels)
    assert index.n_groups_ == len(labels) - 3
    assert not np.isin([3, 0, 11], index.indices_).any()
    n_left = index.n_groups_
    found = index.kneighbors(QUERIES, n_left, groups=QUERY_GROUPS)[1]
    assert_array_equal(np.sort(found), np.tile(index.indices_, (len(found), 1)))
    stays = ~np.isin(GROUPS, gone)
    frozen = FrozenEstimator(index.hasher_)
    expected = MaxSimNeighbors(frozen).fit(X[stays], groups=GROUPS[stays])
    places = expected.kneighbors(QUERIES, n_left, groups=QUERY_GROUPS)[1]
    assert_array_equal(labels[found], expected.groups_[places])
    back = gone[0] == GROUPS
    index.add(X[back], groups=GROUPS[back])
    assert 3 in index.indices_
    assert len(index.groups_) == len(labels)


def test_a_pickle_finds_the_same():
    index = MaxSimNeighbors(ADDITIVE).fit(X, groups=GROUPS)
    again = pickle.loads(pickle.dumps(index))
    found = again.kneighbors(QUERIES, groups=QUERY_GROUPS)
    assert_array_equal(found, index.kneighbors(QUERIES, groups=QUERY_GROUPS))


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda index: index.kneighbors(QUERIES, groups=[1, 2]), "groups must name"),
        (lambda index: index.kneighbors(QUERIES, 61), "n_neighbors=61 is more than"),
        (lambda index: index.kneighbors(QUERIES, 0), "n_neighbors must be"),
        (lambda index: index.kneighbors(QUERIES[:, :3]), "features"),
        (lambda index: index.kneighbors(QUERIES[:0]), "0 sample"),
        (lambda index: index.kneighbors(QUERIES * np.nan), "NaN"),
        (lambda index: index.remove([1000]), r"groups contains \[1000\]"),
        (lambda index: index.remove(index.groups_), "would leave no document"),
        (lambda index: index.remove(index.groups_ < 3), "got a mask. Write groups_"),
        (lambda index: index.remove([True]), "got a mask"),
        (lambda index: index.remove({3: True}), "got a dict"),
        (lambda index: index.remove([["3"]]), "labels of one dimension"),
        (lambda index: index.remove(["3"]), "such as '3', and .* none can be equal"),
        (lambda index: index.add(X), "fit was given groups and add none"),
        (lambda index: index.add(X, groups=["a"] * 400), "one type"),
        (lambda index: index.add(X, groups=[1]), "groups must name"),
        (lambda index: index.add(X[:, :2], groups=GROUPS), "features"),
        (lambda index: index.fit(X, groups=GROUPS[1:]), "groups must name"),
        (lambda index: index.set_params(n_neighbors=0).fit(X), "n_neighbors"),
    ],
)
def test_wrong_calls_change_nothing(call, problem):
    index = MaxSimNeighbors(LSH).fit(X, groups=GROUPS)
    before = index.kneighbors(QUERIES, 3, groups=QUERY_GROUPS)
    with pytest.raises(ValueError, match=problem):
        call(index)
    after = index.kneighbors(QUERIES, 3, groups=QUERY_GROUPS)
    assert_array_equal(before[1], after[1])


SIZES = np.random.default_rng(0).integers(1, 6, 30)
LABELS = np.repeat(np.arange(30), SIZES)
SETS = np.split(X[: SIZES.sum()], np.cumsum(SIZES)[:-1])


def in_array(sets):
    array = np.empty(len(sets), dtype=object)
    array[:] = sets
    return array


def arrow(sets):
    return pytest.importorskip("pyarrow").array([rows.tolist() for rows in sets])


def tensors(sets):
    return [pytest.importorskip("torch").tensor(rows, requires_grad=True) for rows in sets]


FORMS_OF_SETS = {
    "list of arrays": list,
    "tuple of arrays": tuple,
    "list of lists of lists": lambda sets: [rows.tolist() for rows in sets],
    "list of lists of arrays": lambda sets: [list(rows) for rows in sets],
    "array of arrays": in_array,
    "Series of arrays": lambda sets: pd.Series(sets, index=range(len(sets), 0, -1)),
    "Series of lists of lists": lambda sets: pd.Series([rows.tolist() for rows in sets]),
    "Arrow lists of lists": arrow,
    "list of tensors": tensors,
    "list of sparse matrices": lambda sets: list(map(sp.coo_array, sets)),
}


@pytest.mark.parametrize("form", FORMS_OF_SETS.values(), ids=FORMS_OF_SETS)
class TestSetsOfTokens:
    """An array for each document says which tokens are its own."""

    def test_documents_and_queries(self, form):
        rows = X[: len(LABELS)]
        expected = MaxSimNeighbors(ADDITIVE).fit(rows, groups=LABELS)
        index = MaxSimNeighbors(ADDITIVE).fit(form(SETS))
        assert_array_equal(index.groups_, np.arange(30))
        queries = form(SETS[3:9])
        found = index.kneighbors(queries, 5)
        of_rows = np.isin(LABELS, range(3, 9))
        wanted = expected.kneighbors(rows[of_rows], 5, groups=LABELS[of_rows])
        assert_array_equal(found[1], wanted[1])
        assert_allclose(found[0], wanted[0], rtol=1e-5)

    def test_labels_of_documents(self, form):
        names = np.array([f"page {i}" for i in range(30)])
        index = MaxSimNeighbors(ADDITIVE).fit(form(SETS[:20]), groups=names[:20])
        with pytest.raises(ValueError, match=r"groups=np\.arange\(len\(X\)\) \+ 20"):
            index.add(form(SETS[20:]))
        index.add(form(SETS[20:]), groups=names[20:])
        assert_array_equal(index.groups_, names)
        assert_array_equal(index.kneighbors(form(SETS), 1)[1][:, 0], np.arange(30))
        # A document that is there gets more tokens.
        index.add(form(SETS[:1]), groups=names[:1])
        assert index.n_groups_ == 30
        assert index.n_items_ == len(LABELS) + SIZES[0]


def test_sets_that_are_none():
    index = MaxSimNeighbors(ADDITIVE).fit(SETS)
    before = index.kneighbors(SETS[:3])
    for sets, groups, message in (
        ([*SETS, np.empty((0, 8))], None, r"\(0, 8\).*Leave out documents without tokens"),
        ([*SETS, np.zeros((2, 3))], None, r"as many features.*\(2, 3\)"),
        (SETS, LABELS, r"30 sets of tokens and groups has.*np\.concatenate\(X\)"),
        ([SETS, SETS], None, "X"),
        (pd.Series([*SETS, None]), None, r"X is a column of lists"),
        ([SETS[0], "text"], None, "."),
    ):
        with pytest.raises(ValueError, match=message):
            index.fit(sets, groups=groups)
    check = index.kneighbors(SETS[:3])
    assert_array_equal(check[1], before[1])


def test_an_array_of_three_dimensions():
    """As models return tokens of texts that are equally long."""
    rows = X[:120].reshape(20, 6, 8)
    index = MaxSimNeighbors(ADDITIVE).fit(rows)
    expected = MaxSimNeighbors(ADDITIVE).fit(X[:120], groups=np.repeat(np.arange(20), 6))
    found = index.kneighbors(rows[:4])[1]
    groups = np.repeat(np.arange(4), 6)
    assert_array_equal(found, expected.kneighbors(X[:24], groups=groups)[1])
    one_query = expected.kneighbors([X[:6]])[1]
    assert_array_equal(one_query, found[:1])
