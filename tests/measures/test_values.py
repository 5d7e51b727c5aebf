"""Measures as values: equality, parameters, and what they are of tables and arrays."""

import copy
import pickle
import re

import numpy as np
import pytest
import reference
import run_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_talr import measures
from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.measures import (
    AP,
    AUC,
    BEDROC,
    DCG,
    EF,
    ERR,
    F1,
    RBP,
    RIE,
    RR,
    Bpref,
    Judged,
    Measure,
    P,
    R,
    Rprec,
    Success,
    nDCG,
    parse_measure,
)
from sklearn_talr.metrics import make_ranking_scorer, tie_breaking_range
from sklearn_talr.neighbors import HammingNeighbors
from sklearn_talr.runs import evaluate_run

ALL = [AP, AUC, BEDROC, Bpref, DCG, EF, ERR, F1, Judged]
ALL += [P, R, RBP, RIE, RR, Rprec, Success, nDCG]
WITH_PARAMS = [
    AP(denominator="min") @ 10,
    DCG(dcg="log2", log_base=10) @ 3,
    BEDROC(alpha=80.5),
    EF @ "0.5%",
    ERR(max_rel=3) @ 20,
    RBP(p=0.5, rel=2),
    Rprec(rel=2),
    nDCG(dcg="exp-log2") @ 5,
]
# Measures of runs that have an oracle, of which tables and arrays had none before
ORACLES = {
    ERR(max_rel=3): lambda r, j: run_cases.err(r, j, max_rel=3),
    ERR(max_rel=3) @ 2: lambda r, j: run_cases.err(r, j, 2, max_rel=3),
    RBP(max_rel=3): lambda r, j: run_cases.rbp(r, j, max_rel=3),
    RBP(p=0.5, rel=2) @ 3: lambda r, j: run_cases.rbp(r, j, 3, p=0.5, rel=2),
    Rprec: run_cases.r_precision,
    Rprec(rel=2): lambda r, j: run_cases.r_precision(r, j, rel=2),
    AP(rel=2) @ 3: lambda r, j: run_cases.average_precision(r, j, 3, 2),
    P(rel=3) @ 2: lambda r, j: run_cases.precision(r, j, 2, 3),
    RR(rel=2): lambda r, j: run_cases.reciprocal_rank(r, j, rel=2),
}
NAMED = ["EF@25%", "EF(rel=2)@3", "P@20%", "AUC", "AUC(rel=2)", "RIE", "BEDROC"]
ORACLES |= {parse_measure(name): run_cases.MEASURES[name] for name in NAMED}


@pytest.mark.parametrize("measure", ALL + WITH_PARAMS, ids=str)
def test_a_value_is_its_name(measure):
    again = parse_measure(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    for other in (pickle.loads(pickle.dumps(measure)), copy.deepcopy(measure)):
        assert other == measure
        assert hash(other) == hash(measure)
    assert measure.label.endswith(str(measure).removeprefix(measure.name))
    assert sum(measure == other for other in ALL + WITH_PARAMS) == 1
    low, high = measure.range
    assert low == 0 < high


def test_every_measure_is_public_and_known_by_its_name():
    public = {name: getattr(measures, name) for name in measures.__all__}
    values = {name: thing for name, thing in public.items() if isinstance(thing, Measure)}
    assert set(values.values()) == set(ALL)
    assert all(value.name == name for name, value in values.items())
    assert all(type(value).__doc__ for value in ALL)


def test_values_are_made_of_values_and_never_changed():
    measure = AP(denominator="min") @ 10
    assert parse_measure("AP") == AP  # what was made of it has not changed it
    assert measure(denominator="relevant") == AP @ 10
    assert measure @ np.int64(5) == AP(denominator="min") @ 5
    assert AP(rel=np.int32(1)) == AP
    with pytest.raises(AttributeError):
        measure.cutoff = 3
    with pytest.raises(AttributeError):
        del measure.rel
    assert len({AP, AP(rel=1), AP @ 5, parse_measure("MAP@5"), nDCG, DCG}) == 4


CUTOFFS = [0, -1, 2.5, "3", True, [1], 2**63, None, "0%", "101%", "100.1%", "1 %", "-1%"]


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_a_cutoff_is_a_positive_integer_or_a_share(cutoff):
    for measure in (AP, nDCG, P):
        with pytest.raises(ValueError, match=f"{measure}.* cutoff|cutoff of {measure}"):
            measure @ cutoff
    with pytest.raises(ValueError, match="Rprec"):
        Rprec @ cutoff


def test_wrong_parameters_are_named():
    with pytest.raises(TypeError, match="takes no parameter denominator; it takes dcg"):
        nDCG(denominator="min")
    with pytest.raises(TypeError, match="Judged takes no parameter rel; it takes none"):
        Judged(rel=2)
    with pytest.raises(ValueError, match="AP: rel must be a positive integer"):
        AP(rel=1.5)
    table = RankingHistogram([[[1], [1]]], [0, 1])
    with pytest.raises(TypeError, match="AP takes no parameter zero_division"):
        AP(zero_division=0)
    with pytest.raises(TypeError, match=r"must be an instance of .*RankingHistogram"):
        AP.of(np.zeros((1, 2, 3), int))
    for value in ("skip", None, True):
        with pytest.raises(ValueError, match=r"zero_division.* must be"):
            AP.of(table, zero_division=value)


def test_shares_of_a_list_are_rounded_up_exactly():
    """Of 100 items 7 % are 7, though .07 * 100 is a little more in floating point."""
    affinity = np.eye(100, dtype=int)
    for share, k in {"7%": 7, "29%": 29, "0.1%": 1, "7.01%": 8, "100%": 100}.items():
        found = (R @ share).score(affinity, [np.arange(100.0, 0, -1)] * 100, average=False)
        assert found.sum() == k
    assert (EF @ "1.0%").score([[1, 0]], [[2.0, 1.0]]) == 2
    assert (EF @ 99).score([[1, 0]], [[2.0, 1.0]]) == 1  # no rank is beyond the list


def test_long_lists_have_no_rounding_of_their_own():
    n = 10**6
    table = RankingHistogram([[[300_000, 699_000], [500, 500]]], levels=[0, 1])
    assert_allclose(AUC.of(table), [(849_000 + 349_500) / 2 / 999_000], rtol=1e-14)
    for measure in (RIE, RIE(alpha=0.01), EF @ "1%"):
        tied = RankingHistogram([[[n - 1000], [1000]]], levels=[0, 1])
        assert_allclose(measure.of(tied), [1], rtol=1e-9)


@st.composite
def ranked(draw):
    """Scores with many ties, and grades, of a few items in each of five queries.

    One item in each of several queries would be refused.
    """
    n_items = draw(st.integers(1, 5))
    n_queries = 5 if n_items > 1 else 1
    row = st.tuples(*[st.integers(-1, 2)] * n_items)
    grades = st.tuples(*[st.integers(0, 3)] * n_items)
    queries = st.lists(st.tuples(row, grades), min_size=n_queries, max_size=n_queries)
    return zip(*draw(queries))


@settings(deadline=None, max_examples=12)
@given(queries=ranked())
def test_tables_arrays_and_runs_equal_enumeration(queries):
    """Tables have the mean, the worst and the best order, and arrays the mean."""
    scores, grades = queries
    names = [f"d{i}" for i in range(len(scores[0]))]
    run = {f"q{i}": dict(zip(names, row)) for i, row in enumerate(scores)}
    judged = {f"q{i}": dict(zip(names, row)) for i, row in enumerate(grades)}
    orders = {query: list(run_cases.tie_orders(row)) for query, row in run.items()}
    table = RankingHistogram.from_scores(grades, scores)
    result = evaluate_run(judged, run, list(ORACLES))
    assert result.queries == list(run)
    for place, (measure, oracle) in enumerate(ORACLES.items()):
        values = [
            [oracle(order, judged[query]) for order in orders[query]] for query in run
        ]
        mean = [np.mean(of_query) for of_query in values]
        expected = list(map(min, values)), mean, list(map(max, values))
        measured = tie_breaking_range(table, measure, zero_division=0.0)
        assert_allclose(measured, expected, rtol=1e-12, atol=1e-14)
        of_arrays = measure.score(grades, scores, average=False, zero_division=0.0)
        assert_allclose(of_arrays, mean, rtol=1e-12, atol=1e-14)
        assert_allclose(result.expected[:, place], mean, rtol=1e-12, atol=1e-14)


def test_queries_without_what_is_relevant_to_one_measure_count_in_others():
    y_true, y_score = [[0, 1], [2, 0]], [[2.0, 1.0], [2.0, 1.0]]
    both = [measure.score(y_true, y_score) for measure in (RR, RR(rel=2))]
    assert both == [0.75, 1.0]
    table = RankingHistogram.from_scores(y_true, y_score)
    assert_array_equal(RR(rel=2).of(table), [np.nan, 1.0])
    scorer = make_ranking_scorer([RR, RR(rel=2)])

    class Ranker:
        def predict(self, X):
            return X

    scores = scorer(Ranker(), np.ravel(y_score), np.ravel(y_true), groups=[0, 0, 1, 1])
    assert scores == {"RR": 0.75, "RR(rel=2)": 1.0}


def test_the_scale_of_graded_gains():
    y_true, y_score = [[0, 2], [1, 0]], [[1.0, 2.0], [2.0, 1.0]]
    assert_allclose(RBP.score(y_true, y_score, average=False), [0.2, 0.1])
    table = RankingHistogram.from_scores(y_true, y_score)
    with pytest.raises(ValueError, match=re.escape("Pass RBP(max_rel=2), or rel for")):
        RBP.of(table)
    assert_allclose(RBP(max_rel=2).of(table), [0.2, 0.1])
    with pytest.raises(ValueError, match="RBP has max_rel=1, but a relevance is 2"):
        RBP(max_rel=1).of(table)
    with pytest.raises(ValueError, match=re.escape("Pass 'ERR(max_rel=5)'")):
        ERR.score([[5, 0]], [[1.0, 2.0]])
    assert_allclose(RBP.of(RankingHistogram([[[1], [1]]], [0, 1])), [0.5 * (0.2 + 0.16)])


def test_judged_is_of_runs_only():
    for evaluate in (
        lambda: Judged.of(RankingHistogram([[[1], [1]]], [0, 1])),
        lambda: (Judged @ 5).score([[1, 0]], [[1.0, 2.0]]),
        lambda: Bpref.score([[1, 0]], [[1.0, 2.0]]),
    ):
        with pytest.raises(ValueError, match=r"is a measure of runs: .*evaluate_run"):
            evaluate()


def test_the_gain_of_tables_and_arrays_is_exponential_unless_told():
    y_true, y_score = [[1, 2, 0]], [[3.0, 2.0, 2.0]]
    table = RankingHistogram.from_scores(y_true, y_score)
    for measure, dcg in [
        (nDCG, "exp-log2"),
        (nDCG(dcg="exp-log2"), "exp-log2"),
        (nDCG(dcg="log2"), "log2"),
    ]:
        expected = reference.over_tie_orders("ndcg", y_true[0], y_score[0], dcg=dcg)[1]
        assert_allclose(measure.of(table), [expected], rtol=1e-13)
        assert_allclose(measure.score(y_true, y_score), expected, rtol=1e-13)


class FirstRank(Measure):
    """The chance that the first rank is relevant: a measure of somebody else."""

    name, title = "First", "first rank"

    def kernel(self, ties):
        """Share of relevant items in the first tie, if it is the first of all."""
        n, p, t, take = ties.first_relevant
        return (t == 0) * (take > 0) * p / np.maximum(n, 1)


def test_a_measure_of_ones_own_is_known_wherever_a_measure_is_named():
    y_true, y_score = [[1, 0, 0], [0, 0, 0]], [[2.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
    table = RankingHistogram.from_scores(y_true, y_score)
    first = parse_measure("First@3")
    assert first == FirstRank() @ 3
    assert_array_equal(first.of(table), [0.5, np.nan])
    assert_array_equal(np.transpose(tie_breaking_range(table, "First"))[0], [0, 0.5, 1])
    assert first.score(y_true, y_score, zero_division=0.0) == 0.25
    run = {"q": {"d1": 1.0, "d2": 1.0}}
    assert evaluate_run({"q": {"d1": 1}}, run, "First").expected == [[0.5]]
    neighbors = clone(HammingNeighbors(scoring="First@1")).fit([[0, 0], [0, 1]], [0, 1])
    assert neighbors.score([[0, 0]], [0]) == 1
    with pytest.raises(ValueError, match="'First' is the name of FirstRank already"):

        class Other(FirstRank):
            pass
