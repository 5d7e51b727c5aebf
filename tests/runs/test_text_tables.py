"""Tables as text."""

from dataclasses import replace

import numpy as np
import pytest

from sklearn_talr.runs import RunEvaluation, compare_runs, evaluate_run


def test_names_stand_to_the_left_and_numbers_to_the_right():
    values = np.array([[0.5, 0.25]])
    evaluation = RunEvaluation("run", ["AP", "nDCG@10"], ["q1"], *[values] * 4)
    assert str(evaluation).splitlines() == [
        "run: 1 query",
        "         expected   worst    best  trec_eval  affected",
        "AP         0.5000  0.5000  0.5000     0.5000        0%",
        "nDCG@10    0.2500  0.2500  0.2500     0.2500        0%",
    ]


@pytest.fixture(scope="module")
def pair():
    """A comparison by one measure, in which the runs differ by one amount."""
    qrels = {f"q{number}": {"d1": 1} for number in range(4)}
    first = evaluate_run(qrels, {query: {"d1": 1.0} for query in qrels}, "RR")
    behind = {"d1": 1.0, "d2": 2.0}
    second = evaluate_run(qrels, dict.fromkeys(qrels, behind), "RR")
    return compare_runs(first, second, test="t")


@pytest.mark.parametrize(
    ("p_value", "text"),
    [
        (0.0, "<0.0001"),
        (1e-300, "<0.0001"),
        (9.99e-5, "<0.0001"),  # which four decimals would round to 0.0001
        (1e-4, "0.0001"),
        (0.049999, "0.0500"),
        (1.0, "1.0000"),
        (float("nan"), "nan"),
    ],
)
def test_no_p_value_is_written_as_0(p_value, text, pair):
    printed = str(replace(pair, p_value=np.array([[p_value]])))
    head, row = printed.splitlines()[1:3]
    assert head.endswith("p-value")
    assert row.split()[-1] == text


def test_a_comparison_prints_no_p_value_of_0(pair):
    assert "<0.0001" in str(pair)
    assert "0.0000" not in str(pair)
