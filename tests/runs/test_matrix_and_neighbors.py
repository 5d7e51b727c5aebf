"""Judgments as a matrix, and runs of what an index finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.affinity import JudgmentAffinity, query_groups
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP, RR, nDCG
from sklearn_talr.neighbors import HammingNeighbors
from sklearn_talr.runs import Qrels, Run, evaluate_run

JUDGED = {"q2": {"d3": 2, "d1": 0}, "q1": {"d1": 1, "d4": -1}, "q0": {}}
DOCUMENTS = ["d1", "d2", "d3", "d4"]
RNG = np.random.default_rng(0)


def test_judgments_become_a_matrix_of_documents_and_queries():
    matrix = Qrels(JUDGED).to_matrix(DOCUMENTS)
    assert type(matrix) is sp.csr_array
    assert matrix.dtype == np.int64
    assert_array_equal(matrix.toarray(), [[0, 1, 0], [0, 0, 0], [2, 0, 0], [0, 0, 0]])
    stored = sorted(zip(*map(np.ndarray.tolist, matrix.tocoo().coords)))
    assert stored == [(0, 0), (0, 1), (2, 0), (3, 1)]
    assert_array_equal(query_groups(matrix), [0, 1, 2])
    assert_array_equal(JudgmentAffinity().fit(matrix).levels_, [0, 1, 2])


def test_random_judgments_come_back():
    grades = {
        f"q{i}": {f"d{j}": int(RNG.integers(0, 4)) for j in RNG.permutation(30)[:i]}
        for i in RNG.permutation(20)
    }
    documents = [f"d{j}" for j in RNG.permutation(30)]
    matrix = Qrels(grades).to_matrix(documents).tocoo()
    again = {query: {} for query in grades}
    for row, column, grade in zip(matrix.row, matrix.col, matrix.data.tolist()):
        again[list(grades)[column]][documents[row]] = grade
    assert again == grades


@pytest.mark.parametrize(
    ("documents", "queries", "message"),
    [
        (["d1", "d1", "d2"], None, "1 of the documents come more than once: 'd1'"),
        ([1, "1"], None, "1 of the documents come more than once: '1'"),
        (DOCUMENTS, ["q1", "q1"], "1 of the queries come more than once: 'q1'"),
        (DOCUMENTS, ["q1", "z", "y"], "2 of the queries have no .*; leave .*: 'y', 'z'"),
        (["d2"], None, "3 of the judged documents are not among .*; add .*: 'd1', 'd3'"),
        ("d1", None, "documents must be a sequence of identifiers, got 'd1'"),
        (DOCUMENTS, "q1", "queries must be a sequence of identifiers, got 'q1'"),
        ([0.5], None, "documents and queries must be strings or integers, got 0.5"),
    ],
)
def test_identifiers_that_fit_no_matrix_are_refused(documents, queries, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Qrels(JUDGED).to_matrix(documents, queries)


# Runs of neighbors


def found_by(index, queries):
    ranking = index.rank(queries)
    return ranking.distances, ranking.indices


CODES, QUERIES = RNG.integers(0, 2, (12, 4)), RNG.integers(0, 2, (5, 4))
WEIGHTS = RNG.normal(size=(5, 4)).astype(np.float32)
ITEM_IDS, QUERY_IDS = [f"i{i}" for i in range(12)], [f"q{i}" for i in range(5)]
GRADES = RNG.integers(0, 3, (5, 12))
GRADED = {q: dict(zip(ITEM_IDS, row)) for q, row in zip(QUERY_IDS, GRADES.tolist())}


def test_a_run_of_a_ranking_is_evaluated_as_its_codes_are():
    found = found_by(HammingNeighbors().fit(CODES), QUERIES)
    run = Run.from_neighbors(*found, QUERY_IDS, ITEM_IDS, "ours")
    assert run.name == "ours"
    result = evaluate_run(GRADED, run, ["AP", "RR", 'nDCG(dcg="exp-log2")@5'])
    histogram = hamming_histogram(QUERIES, CODES, JudgmentAffinity(), GRADES, np.arange(12))
    measures = AP, RR, nDCG @ 5
    expected = np.nan_to_num([measure.of(histogram) for measure in measures])
    assert_allclose(result.expected, expected.T)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0]], [[0]], ["a", "b"], ["d"]), "there are 2 queries, 1 rows of distances"),
        (([[0, 1]], [[0]], ["a"], ["d"]), "rows of equal length"),
        (([[0], [0]], [[0], [0]], ["a", "a"], ["d"]), "queries come more than once: 'a'"),
        (([[0]], [[0]], ["a"], ["d", "d"]), "documents come more than once: 'd'"),
        (([[0]], [[1]], ["a"], ["d"]), "indices must be from 0 to 0, as there are 1"),
        (([[0]], [[-1]], ["a"], ["d"]), "indices must be from 0 to 0.*got -1 to -1"),
        (
            ([[0]], [[0.0]], ["a"], ["d"]),
            "indices must be integers, got float64. If the index returns ids",
        ),
        (([[np.nan]], [[0]], ["a"], ["d"]), "scores must be finite numbers"),
        (([[1, 2]], [[0, 0]], ["a"], ["d"]), "query 'a' has document 'd' twice"),
        (([[1]], [[0]], "a", ["d"]), "queries must be a sequence"),
        (([[1]], np.ma.masked_array([[0]], [[1]]), ["a"], ["d"]), "indices has masked"),
    ],
)
def test_what_is_no_list_of_neighbors_is_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Run.from_neighbors(*arguments)
