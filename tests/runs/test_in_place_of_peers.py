"""The plugin that puts our values into ir_measures and pytrec_eval, for their own tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import run_cases

pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
pytest.importorskip("ir_measures", reason="ir_measures is not installed")
import in_place_of_peers

from sklearn_talr.runs import evaluate_run

TESTS = Path(__file__).parents[1]
RUN = "{'q': {'a': 1.0, 'b': 1.0}}"  # a and b share both places
TIED = f"""
import ir_measures
import pytrec_eval

def test_a_tie():
    evaluator = pytrec_eval.RelevanceEvaluator({{'q': {{'a': 1}}}}, ['recip_rank', 'bpref'])
    values = evaluator.evaluate({RUN})['q']
    assert values == {{'recip_rank': VALUE, 'bpref': 1.0}}
    for provider in (ir_measures.pytrec_eval, ir_measures.msmarco):
        measure = ir_measures.RR @ 10 if provider is ir_measures.msmarco else ir_measures.RR
        found = provider.calc_aggregate([measure], {{'q': {{'a': 1}}}}, {RUN})
        assert found == {{measure: VALUE}}
"""


@pytest.mark.parametrize("order", ["trec_eval", "expected"])
def test_values_are_ours_and_measures_are_theirs(order):
    qrels, run = run_cases.random_run(3, n_queries=8, n_scores=4, prefix="document-")
    qrels = run_cases.without_negatives(qrels)
    asked = {"map", "bpref", "ndcg_cut.5", "success.1", "num_rel", "recall.30"}
    theirs = in_place_of_peers.pytrec_eval.RelevanceEvaluator(qrels, asked, 2)
    ours = in_place_of_peers.evaluator_of(order)(qrels, asked, 2)
    expected, found = theirs.evaluate(run), ours.evaluate(run)
    names = ["AP(rel=2)", "nDCG@5", "Success(rel=2)@1", "R(rel=2)@30"]
    result = evaluate_run(qrels, run, names)
    values = dict(zip(result.queries, getattr(result, order).tolist()))
    assert found.keys() == expected.keys() == values.keys()
    for query, of_query in found.items():
        assert of_query.keys() == expected[query].keys()
        kept = {name: of_query[name] for name in ("bpref", "num_rel")}
        assert kept == {name: expected[query][name] for name in kept}
        shown = [of_query[name] for name in ("map", "ndcg_cut_5", "success_1", "recall_30")]
        assert shown == pytest.approx(values[query], rel=1e-11)
    moved = [of != pytest.approx(expected[query]) for query, of in found.items()]
    assert any(moved) == (order == "expected")


@pytest.mark.parametrize(("order", "value"), [("trec_eval", 0.5), ("expected", 0.75)])
def test_other_tests_run_with_our_values(order, value, tmp_path):
    """trec_eval puts b before a; in the mean a is first half of the time."""
    path = tmp_path / "test_tie.py"
    path.write_text(TIED.replace("VALUE", str(value)))
    command = "-m", "pytest", "-p", "in_place_of_peers", "--orders", order, str(path)
    paths = str(TESTS), os.environ.get("PYTHONPATH", "")
    result = subprocess.run(
        [sys.executable, *command, "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "values are ours" in result.stdout
