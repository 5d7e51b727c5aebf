"""compare_runs of judgments and runs by name, and of evaluations."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import run_cases
from numpy.testing import assert_array_equal

from sklearn_talr.runs import Qrels, Run, compare_runs, evaluate_run

MEASURES = ["AP", "nDCG@10"]
FAST = {"test": "t", "n_resamples": 100}
QRELS, RUN = run_cases.random_run(0, n_queries=12, n_scores=20)
OTHER = run_cases.random_run(1, n_queries=12, n_scores=20)[1]
RUNS = {"ours": RUN, "theirs": OTHER}


def written(tmp_path):
    path = tmp_path / "qrels.txt"
    lines = [f"{q} 0 {d} {g}\n" for q, judged in QRELS.items() for d, g in judged.items()]
    path.write_text("".join(lines))
    return path


def of_evaluations(measures, **options):
    named = RUNS.items()
    evaluations = [evaluate_run(QRELS, run, measures, name=name) for name, run in named]
    return compare_runs(*evaluations, **FAST, **options)


def assert_equal(comparison, wanted):
    assert comparison.to_dict() == wanted.to_dict()
    assert comparison.queries == wanted.queries
    assert comparison.tiers == wanted.tiers
    for evaluation, other in zip(comparison.evaluations, wanted.evaluations, strict=True):
        assert evaluation.name == other.name
        assert_array_equal(evaluation.expected, other.expected)
        assert_array_equal(evaluation.trec_eval, other.trec_eval)


@pytest.mark.parametrize("form", ["dict", "Qrels", "path", "text"])
def test_judgments_with_runs_by_name_are_evaluated_and_compared(form, tmp_path):
    forms = {"dict": QRELS, "Qrels": Qrels(QRELS), "path": written(tmp_path)}
    qrels = forms[form] if form in forms else str(forms["path"])
    assert_equal(compare_runs(qrels, RUNS, MEASURES, **FAST), of_evaluations(MEASURES))


def test_measures_are_passed_by_position_by_keyword_or_not_at_all():
    by_keyword = compare_runs(QRELS, RUNS, measures=MEASURES, **FAST)
    assert_equal(by_keyword, of_evaluations(MEASURES))
    assert_equal(compare_runs(QRELS, RUNS, "RR", **FAST), of_evaluations("RR"))
    by_default = compare_runs(QRELS, RUNS, **FAST)
    assert by_default.measures == ["AP", "nDCG@10", "RR@10"]
    assert_equal(by_default, of_evaluations(by_default.measures))
    with pytest.raises(TypeError, match="measures were passed twice"):
        compare_runs(QRELS, RUNS, "AP", measures="AP")


def test_runs_of_a_list_are_compared_if_each_has_its_name():
    wanted = of_evaluations(MEASURES)
    runs = [Run(run, name) for name, run in RUNS.items()]
    assert_equal(compare_runs(QRELS, runs, MEASURES, **FAST), wanted)
    # A run of ranx has a name and to_dict.
    like_ranx = [SimpleNamespace(name=r.name, to_dict=r.to_dict) for r in runs]
    assert_equal(compare_runs(QRELS, tuple(like_ranx), MEASURES, **FAST), wanted)
    by_number = compare_runs(QRELS, {8: RUN, 16: pd.DataFrame(records(OTHER))}, **FAST)
    assert by_number.names == ["8", "16"]


def records(run):
    return [
        {"query_id": query, "doc_id": document, "score": score}
        for query, scores in run.items()
        for document, score in scores.items()
    ]


@pytest.mark.parametrize(
    "runs",
    [[RUN, OTHER], [Run(RUN), Run(OTHER)], [records(RUN), records(OTHER)], ["a", "b"]],
    ids=["dicts", "one name", "records", "paths"],
)
def test_runs_without_names_are_refused_with_the_line_that_names_them(runs):
    with pytest.raises(TypeError, match=r"need names that differ\. Write") as e:
        compare_runs(QRELS, runs, MEASURES)
    line = str(e.value).split("Write ")[1].removesuffix(".")
    if runs == ["a", "b"]:
        return
    call = line.removesuffix(")") + ", test='t')"
    scope = {"compare_runs": compare_runs, "qrels": QRELS, "runs": runs}
    named = eval(call, scope | {"measures": MEASURES})
    assert named.names == ["A", "B"]
    assert_array_equal(named.means, of_evaluations(MEASURES).means)


def test_what_may_be_read_in_two_ways_is_refused():
    form = r"Write compare_runs\(qrels, {'A': run_a, 'B': run_b}, measures\)"
    with pytest.raises(TypeError, match=f"by position, got 4 arguments. {form}"):
        compare_runs(QRELS, RUN, OTHER, MEASURES)
    for runs in (RUN, RUNS | {"q": {"d1": 1.0}}):
        with pytest.raises(TypeError, match=r"has the scores of one query.*compare_runs"):
            compare_runs(QRELS, runs, MEASURES)
    with pytest.raises(TypeError, match="has the scores of one query"):
        compare_runs(RUNS, QRELS)  # swapped
    for run in (Run(RUN), pd.DataFrame(records(RUN)), "run.txt"):
        with pytest.raises(TypeError, match="runs as a dict by name, got"):
            compare_runs(QRELS, run, OTHER)
    with pytest.raises(TypeError, match=f"got dict.*{form.removeprefix('Write ')}"):
        compare_runs(RUNS)
    evaluations = {name: evaluate_run(QRELS, run) for name, run in RUNS.items()}
    with pytest.raises(TypeError, match=r"compare_runs\(\*evaluations.values\(\)\)"):
        compare_runs(QRELS, evaluations)
    with pytest.raises(TypeError, match=r"compare_runs\(\*evaluations\)"):
        compare_runs(QRELS, list(evaluations.values()))
    with pytest.raises(ValueError, match="two systems or more are needed, got 1"):
        compare_runs(QRELS, {"ours": RUN})
    with pytest.raises(ValueError, match="two systems or more are needed, got 0"):
        compare_runs()


def test_an_error_names_the_run_that_it_is_in():
    with pytest.raises(ValueError, match="scores must be finite") as caught:
        compare_runs(QRELS, {"good": RUN, "bad": {"q0": {"d0": np.nan}}})
    assert caught.value.__notes__ == ["The error is in the run 'bad'."]


@pytest.mark.parametrize("qrels", [QRELS, Qrels(QRELS)], ids=["dict", "Qrels"])
def test_labels_in_another_order_are_refused_with_the_line_that_sorts_them(qrels):
    labels = pd.Series(np.arange(12) // 2, index=Qrels(QRELS).queries)
    wanted = of_evaluations(MEASURES, groups=labels)
    assert_equal(compare_runs(qrels, RUNS, MEASURES, groups=labels, **FAST), wanted)
    with pytest.raises(ValueError, match="groups has the same labels in another") as caught:
        compare_runs(qrels, RUNS, MEASURES, groups=labels[::-1], **FAST)
    line = str(caught.value).split("Pass ")[1].split(", or")[0]
    groups = eval(line, {"Qrels": Qrels, "qrels": qrels, "groups": labels[::-1]})
    assert_equal(compare_runs(qrels, RUNS, MEASURES, groups=groups, **FAST), wanted)
