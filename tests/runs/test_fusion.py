"""Fusion of runs: against the mean over all orders of ties, and ranx; by properties."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
import run_cases
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_talr.runs import Run, evaluate_run, fuse_runs

METHODS = ["rrf", "borda", "combsum", "combmnz"]
BY_RANK = METHODS[:2]


def mean_over_orders(scores, worth):
    """Mean worth of each document over all orders of ties; `worth` is of a rank."""
    orders = list(run_cases.tie_orders(scores))
    ranks = [{d: rank for rank, d in enumerate(order, 1)} for order in orders]
    return {d: sum(worth(of[d]) for of in ranks) / len(orders) for d in scores}


def min_max(scores):
    exact = {document: Fraction(score) for document, score in scores.items()}
    least, greatest = min(exact.values()), max(exact.values())
    width = greatest - least or 1
    return {document: (score - least) / width for document, score in exact.items()}


def worth_of_query(runs, method, rank_constant):
    """What each run gives the documents of a query: a list of dicts of fractions."""
    every = {document for scores in runs for document in scores}
    if method == "rrf":
        return [
            mean_over_orders(s, lambda rank: 1 / (Fraction(rank_constant) + rank))
            for s in runs
        ]
    if method != "borda":
        return [min_max(scores) if scores else {} for scores in runs]
    worth = []
    for scores in runs:
        # A run ranks what it lacks last, in any order.
        behind = min(scores.values(), default=0) - 1
        completed = {document: scores.get(document, behind) for document in every}
        worth.append(mean_over_orders(completed, lambda r: Fraction(len(every) + 1 - r)))
    return worth


def oracle(runs, method, rank_constant=60):
    fused = {}
    for query in dict.fromkeys(query for run in runs for query in run):
        worth = worth_of_query([run.get(query, {}) for run in runs], method, rank_constant)
        every = {document for scores in worth for document in scores}
        fused[query] = {}
        for document in every:
            given = [scores[document] for scores in worth if document in scores]
            n_times = len(given) if method == "combmnz" else 1
            fused[query][document] = float(sum(given) * n_times)
    return fused


SCORES = st.integers(-3, 3).map(lambda number: number / 2)
RUNS = st.lists(
    st.dictionaries(
        st.sampled_from(["q1", "q2"]),
        st.dictionaries(st.sampled_from("abcde"), SCORES, max_size=5),
    ),
    min_size=1,
    max_size=4,
)
EACH_METHOD = pytest.mark.parametrize("method", METHODS)
some_examples = settings(max_examples=60, deadline=None)


@EACH_METHOD
@some_examples
@given(RUNS)
def test_scores_are_the_mean_over_all_orders_of_ties(method, runs):
    """To the last digit, as ties of the fused run rest on it."""
    assert fuse_runs(runs, method).to_dict() == oracle(runs, method)


@pytest.mark.parametrize("rank_constant", [0, 0.1, 1, 60.0, 1e9, 1e-300])
def test_the_rank_constant(rank_constant):
    runs = [{"q": {"a": 2, "b": 2, "c": 1}}, {"q": {"c": 3, "a": 2}}]
    fused = fuse_runs(runs, rank_constant=rank_constant).to_dict()
    assert fused == oracle(runs, "rrf", rank_constant)


def test_worked_examples():
    runs = [
        {"q": {"a": 9.0, "b": 5.0, "c": 5.0, "d": 1.0}},
        {"q": {"c": 0.5, "e": 0.25, "a": 0.0}},
    ]
    both = (1 / 62 + 1 / 63) / 2
    expected = {
        "rrf": {"a": 1 / 61 + 1 / 63, "b": both, "c": both + 1 / 61, "d": 1 / 64}
        | {"e": 1 / 62},
        # 5 documents; the last ranks are 5 for the first run, and 4 and 5 for the second
        "borda": {"a": 5 + 3, "b": 3.5 + 1.5, "c": 3.5 + 5, "d": 2 + 1.5, "e": 1 + 4},
        "combsum": {"a": 1 + 0, "b": 0.5, "c": 0.5 + 1, "d": 0, "e": 0.5},
        "combmnz": {"a": 2 * 1, "b": 0.5, "c": 2 * 1.5, "d": 0, "e": 0.5},
    }
    for method, scores in expected.items():
        assert fuse_runs(runs, method).to_dict()["q"] == pytest.approx(scores, rel=1e-14)
    as_they_are = {"a": 9.0, "b": 5.0, "c": 5.5, "d": 1.0, "e": 0.25}
    assert fuse_runs(runs, "combsum", norm=None).to_dict()["q"] == as_they_are
    doubled = as_they_are | {"a": 18.0, "c": 11.0}
    assert fuse_runs(runs, "combmnz", norm=None).to_dict()["q"] == doubled


def ranking(*documents):
    return {document: -float(place) for place, document in enumerate(documents)}


def test_equal_fractions_are_ties_by_reciprocal_ranks():
    """1/63 + 1/84 = 1/72 + 1/72, which sums of floats may miss."""
    others = [f"x{number}" for number in range(30)]
    runs = [
        {"q": ranking(*others[:2], "a", *others[2:10], "b", *others[10:])},
        {"q": ranking(*others[:11], "b", *others[11:22], "a", *others[22:])},
    ]
    fused = fuse_runs(runs).to_dict()["q"]
    assert fused["a"] == fused["b"] == 1 / 36


@EACH_METHOD
def test_equal_sums_of_many_runs_are_ties_whatever_their_order(method):
    """Plain sums of floats depend on the order of the terms."""
    names = "abc"
    runs = [{"q": ranking(*order)} for order in permutations(names)]
    for some in permutations(runs[:3] + runs[4:], 5):
        fused = fuse_runs([*some, runs[3]], method).to_dict()["q"]
        assert len(set(fused.values())) == 1


def test_equal_sums_of_normalized_grades_are_ties():
    """1/7 + 6/7 = 3/7 + 4/7 and so on, and likewise if the grades of a run are scaled."""
    names = [f"d{grade}" for grade in range(8)]
    rising = {"q": {name: grade for grade, name in enumerate(names)}}
    for scale in (1.0, 3.0, 2.0**-1000, 2.0**1000):
        falling = {"q": {name: -scale * grade for grade, name in enumerate(names)}}
        for method, value in (("combsum", 1.0), ("combmnz", 2.0)):
            fused = fuse_runs([rising, falling], method).to_dict()["q"]
            assert fused == dict.fromkeys(names, value)
    thirds = {"q": {"a": 1, "b": 3, "c": 0}}
    fused = fuse_runs([thirds, {"q": {"d": 1, "e": 3, "f": 0}}] * 3, "combmnz").to_dict()
    assert fused["q"]["a"] == 3.0  # three times three thirds


@EACH_METHOD
@some_examples
@given(RUNS, st.randoms())
def test_the_order_of_runs_queries_and_documents_does_not_matter(method, runs, random):
    def shuffled(items):
        items = list(items)
        random.shuffle(items)
        return items

    moved = [
        {query: dict(shuffled(run[query].items())) for query in shuffled(run)}
        for run in shuffled(runs)
    ]
    expected = fuse_runs(runs, method).to_dict()
    actual = fuse_runs(moved, method).to_dict()
    assert actual == expected
    for query, scores in expected.items():
        assert list(actual[query].items()) == list(scores.items())


@EACH_METHOD
@some_examples
@given(RUNS)
def test_names_do_not_matter(method, runs):
    def renamed(run):
        return {f"{q}*": {f"{9 - ord(d)}": s for d, s in run[q].items()} for q in run}

    expected = renamed(fuse_runs(runs, method).to_dict())
    assert fuse_runs([renamed(run) for run in runs], method).to_dict() == expected


@EACH_METHOD
@some_examples
@given(RUNS, st.integers(1, 3))
def test_copies_of_a_run_keep_its_ranking_and_its_ties(method, runs, n_copies):
    fused = fuse_runs(runs[:1] * n_copies, method).to_dict()
    for query, scores in runs[0].items():
        for one, other in product(scores, scores):
            before, after = scores[one] - scores[other], fused[query][one]
            assert np.sign(before) == np.sign(after - fused[query][other])


@EACH_METHOD
@some_examples
@given(RUNS)
def test_one_run_fused_twice_is_as_fused_once(method, runs):
    once = fuse_runs(runs[:1], method)
    assert fuse_runs([once], method).to_dict() == once.to_dict()


@pytest.mark.parametrize("method", BY_RANK)
@some_examples
@given(RUNS)
def test_scores_matter_by_their_order_alone(method, runs):
    cubed = [
        {q: {d: 7 + s**3 for d, s in scores.items()} for q, scores in run.items()}
        for run in runs
    ]
    assert fuse_runs(cubed, method).to_dict() == fuse_runs(runs, method).to_dict()


@pytest.mark.parametrize("method", METHODS[2:])
@some_examples
@given(RUNS)
def test_normalized_scores_have_no_unit_and_no_zero(method, runs):
    moved = [
        {q: {d: 3 * s - 10 for d, s in scores.items()} for q, scores in run.items()}
        for run in runs
    ]
    assert fuse_runs(moved, method).to_dict() == fuse_runs(runs, method).to_dict()


@EACH_METHOD
def test_one_run_no_documents_no_queries(method):
    run = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {}}
    fused = fuse_runs([run], method)
    assert fused.queries == ["q1", "q2"]
    assert list(fused.to_dict()["q1"]) == ["d1", "d2"]
    assert fused.to_dict()["q2"] == {}
    assert fuse_runs([{}, {}], method).to_dict() == {}
    assert fuse_runs([{"q": {}}, {}], method).to_dict() == {"q": {}}


@EACH_METHOD
def test_a_query_that_a_run_lacks_is_ranked_by_the_others(method):
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0, "b": 5.0, "c": 2.0}}
    fused = fuse_runs([{"q1": run["q1"]}, run], method)
    assert fused.queries == ["q1", "q2"]
    assert list(fused.to_dict()["q2"]) == ["b", "c", "a"]


def test_runs_in_all_forms_and_their_name(tmp_path):
    run, other = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0}}
    path = tmp_path / "run.txt"
    run_cases.write_run(path, run)
    fused = fuse_runs((path, Run(other, "other")))
    assert fused.to_dict() == fuse_runs([str(path), other]).to_dict()
    assert fused.to_dict() == fuse_runs([run, other]).to_dict()
    assert isinstance(fused, Run)
    assert (fused.name, fuse_runs([run], name="both").name) == ("rrf", "both")


def test_fusion_makes_ties_that_the_evaluation_sees():
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 0.1, "b": 0.3}}]
    result = evaluate_run({"q": {"a": 1}}, fuse_runs(runs), "RR")
    assert result.means["RR"]["worst"] == 0.5
    assert result.means["RR"]["expected"] == 0.75
    assert result.means["RR"]["best"] == 1


@pytest.mark.parametrize("method", METHODS[2:])
def test_the_widest_and_the_narrowest_scores_are_normalized(method):
    most = np.finfo(float).max
    run = {"q": {"a": most, "b": 0.0, "c": -most}}
    assert fuse_runs([run], method).to_dict()["q"] == {"a": 1.0, "b": 0.5, "c": 0.0}
    near = {"q": {"a": 1.0, "b": 1.0 - 2.0**-53}}
    assert fuse_runs([near], method).to_dict()["q"] == {"a": 1.0, "b": 0.0}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), ValueError, "needs one run at least, got none"),
        (({"q": {"a": 1.0}},), ValueError, "'runs' parameter of fuse_runs must be"),
        (("run.txt",), ValueError, "'runs' parameter of fuse_runs must be"),
        ((Run({"q": {"a": 1.0}}),), ValueError, "'runs' parameter of fuse_runs must be"),
        (([3],), TypeError, "Run takes a dict of dicts"),
        (([{}], "sum"), ValueError, "'method' parameter of fuse_runs must be"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        fuse_runs(*arguments)


@pytest.mark.parametrize("rank_constant", [-1, np.nan, np.inf, "60"])
def test_bad_rank_constants(rank_constant):
    with pytest.raises(ValueError, match="'rank_constant' parameter"):
        fuse_runs([{}], rank_constant=rank_constant)


@pytest.mark.parametrize("method", METHODS[2:])
def test_scores_that_cannot_be_added_as_they_are(method):
    negative, other = {"q": {"a": -1.0, "b": 2.0}}, {"q": {"c": 1.0}, "r": {"c": 1.0}}
    with pytest.raises(ValueError, match=r"negative scores for query 'q'.*norm='min-max'"):
        fuse_runs([negative, other], method, norm=None)
    # No document is better for being unknown to a run that knows all, or none.
    both = fuse_runs([negative, {"r": {"c": -1.0}}], method, norm=None).to_dict()
    assert both == {"q": {"a": -1.0, "b": 2.0}, "r": {"c": -1.0}}
    most = {"q": {"a": np.finfo(float).max}}
    with pytest.raises(ValueError, match=r"query 'q' are too large.*norm='min-max'"):
        fuse_runs([most, most], method, norm=None)


@pytest.mark.slow  # numba compiles ranx for half a minute
@EACH_METHOD
@pytest.mark.parametrize("norm", ["min-max", None])
@pytest.mark.filterwarnings("ignore:unsafe cast")  # in what numba compiles of ranx
def test_without_ties_scores_are_those_of_ranx(method, norm):
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    name = {"borda": "bordafuse", "combsum": "sum", "combmnz": "mnz"}.get(method, method)
    runs = [run_cases.random_run(seed, n_queries=8)[1] for seed in range(3)]
    theirs = ranx.fuse([ranx.Run(run) for run in runs], norm, name).to_dict()
    ours = fuse_runs(runs, method, norm=norm).to_dict()
    assert ours.keys() == theirs.keys()
    for query, scores in ours.items():
        assert len(scores) > 1
        assert scores == pytest.approx(dict(theirs[query]), rel=1e-12, abs=1e-12)
