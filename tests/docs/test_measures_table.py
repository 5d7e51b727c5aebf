"""The table of measures in the guide against the package, and against trec_eval."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from sklearn_talr import measures, metrics
from sklearn_talr.measures import Measure
from sklearn_talr.metrics import make_ranking_scorer, make_retrieval_scorer

TABLE = Path(__file__).parents[2] / "docs" / "user_guide" / "tables" / "measures.csv"
with TABLE.open(newline="", encoding="utf-8") as file:
    ROWS = {row["measure"].strip("`"): row for row in csv.DictReader(file)}
DEFINITIONS = {name: row["definition and function"] for name, row in ROWS.items()}
FUNCTIONS = {
    name: function
    for name, text in DEFINITIONS.items()
    for function in re.findall(r"metrics\.(\w+)`", text)
}
K = 2
# Two queries whose grades repeat, and whose scores are tied in one of them.
Y_TRUE = np.array([[1, 0, 2, 0], [0, 2, 0, 1]])
Y_SCORE = np.array([[3.0, 2.0, 2.0, 1.0], [4.0, 3.0, 2.0, 1.0]])


def test_every_measure_has_a_row():
    values = {name: getattr(measures, name) for name in measures.__all__}
    assert set(ROWS) == {
        name for name, value in values.items() if isinstance(value, Measure)
    }


@pytest.mark.parametrize("name", ROWS)
def test_parameters_have_these_defaults(name):
    defaults = {
        parameter: field.default
        for parameter, field in getattr(measures, name).parameters().items()
    }
    shown = re.findall(r"``(\w+)=(.*?)``", ROWS[name]["parameters"])
    assert {parameter: default.strip('"') for parameter, default in shown} == {
        parameter: str(default) for parameter, default in defaults.items()
    }


def test_every_function_is_in_the_table():
    functions = {name for name in metrics.__all__ if name.startswith("tie_aware_")}
    assert set(FUNCTIONS.values()) == functions


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_computes_the_measure(name):
    of_function = getattr(metrics, FUNCTIONS[name])(Y_TRUE, Y_SCORE, k=K)
    assert of_function == pytest.approx(
        (getattr(measures, name) @ K).score(Y_TRUE, Y_SCORE)
    )


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("make_scorer", [make_retrieval_scorer, make_ranking_scorer])
def test_scorers_take_the_name_unless_it_is_of_runs_only(name, make_scorer):
    if "(runs only)" not in DEFINITIONS[name]:
        assert name in repr(make_scorer(name))
        return
    with pytest.raises(ValueError, match="run"):
        make_scorer(name)


def test_names_of_trec_eval_are_those_of_equal_values():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    from sklearn_talr.runs import evaluate_run

    qrels = {"q": {"d1": 0, "d2": 2, "d3": 0, "d4": 1}}
    run = {"q": {"d1": 4.0, "d2": 3.0, "d3": 2.0, "d4": 1.0}}
    pairs = {}
    for name, row in ROWS.items():
        names = re.search("^trec_eval: (.*)$", row["elsewhere"], re.MULTILINE)
        for elsewhere in re.findall("``(.*?)``", names[1] if names else ""):
            has_cutoff = elsewhere.endswith("_k")
            key = f"{elsewhere.removesuffix('_k')}_{K}" if has_cutoff else elsewhere
            pairs[key] = f"{name}@{K}" if has_cutoff else name
    assert len(pairs) == 10
    asked = {re.sub(rf"_{K}$", f".{K}", key) for key in pairs}
    true = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)["q"]
    means = evaluate_run(qrels, run, list(pairs.values())).means
    for key, measure in pairs.items():
        assert means[measure]["expected"] == pytest.approx(true[key]), key
