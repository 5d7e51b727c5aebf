"""Tables as text."""

import pytest

from sklearn_talr.runs import compare_runs, evaluate_run
from sklearn_talr.runs._text import aligned, p_value_text


def test_names_stand_to_the_left_and_numbers_to_the_right():
    rows = [["", "a", "bcd"], ["name", "1.5", "2"]]
    assert aligned(rows) == "        a  bcd\nname  1.5    2"
    assert aligned(rows, n_left=2) == "      a    bcd\nname  1.5    2"


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
def test_no_p_value_is_written_as_0(p_value, text):
    assert p_value_text(p_value) == text


def test_a_comparison_prints_no_p_value_of_0():
    qrels = {f"q{number}": {"d1": 1} for number in range(4)}
    first = evaluate_run(qrels, {query: {"d1": 1.0} for query in qrels}, "RR")
    behind = {"d1": 1.0, "d2": 2.0}
    second = evaluate_run(qrels, dict.fromkeys(qrels, behind), "RR")
    printed = str(compare_runs(first, second, test="t"))
    assert "<0.0001" in printed
    assert "0.0000" not in printed
