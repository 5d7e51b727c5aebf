"""What an evaluation holds, and how it is shown."""

import sys

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import run_cases
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.metrics import TieBreakingDisplay
from sklearn_talr.runs import Run, evaluate_run

COLUMNS = ["expected", "worst", "best", "trec_eval"]
MEASURES = ["AP", "nDCG@10", "RR"]


@pytest.fixture(scope="module")
def evaluated():
    """Three systems: two that tie much, and one that does not tie."""
    qrels, run = run_cases.random_run(0, n_queries=30, n_scores=5)
    _, other = run_cases.random_run(1, n_queries=30, n_scores=5)
    _, untied = run_cases.random_run(2, n_queries=30)
    runs = {"first": run, "second": other, "untied": untied}
    return {name: evaluate_run(qrels, Run(r, name), MEASURES) for name, r in runs.items()}


def test_means_shares_and_tables_tell_the_same(evaluated):
    result = evaluated["first"]
    moved = (result.best - result.worst > 1e-9).mean(axis=0)
    assert 0 < moved[0] <= 1
    assert list(result.moved.values()) == moved.tolist()
    for place, measure in enumerate(MEASURES):
        row = {column: getattr(result, column)[:, place].mean() for column in COLUMNS}
        assert result.means[measure] == pytest.approx(row, rel=1e-12)
        assert result.to_dict()[measure] == result.means[measure] | {"moved": moved[place]}
    frame = result.to_frame()
    assert list(frame.index) == MEASURES
    assert frame.to_dict(orient="index") == result.to_dict()
    assert set(evaluated["untied"].moved.values()) == {0}


def test_values_of_queries(evaluated):
    result = evaluated["first"]
    frame = result.to_frame(per_query=True)
    assert frame.index.names == ["query", "measure"]
    nested = result.to_dict(per_query=True)
    for place, measure in enumerate(MEASURES):
        for row, query in enumerate(result.queries):
            values = [getattr(result, column)[row, place] for column in COLUMNS]
            assert list(nested[query][measure].values()) == values
            assert_array_equal(frame.loc[query, measure], values)
    assert isinstance(frame, pd.DataFrame)


def test_without_pandas_a_frame_is_refused(evaluated, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="call to_dict instead"):
        evaluated["first"].to_frame()


def test_it_prints_as_a_table(evaluated):
    title, head, *rows = str(evaluated["first"]).splitlines()
    assert title == "first: 30 queries"
    assert head.split() == [*COLUMNS, "moved"]
    assert [row.split()[0] for row in rows] == MEASURES
    assert {len(row) for row in (head, *rows)} == {len(head)}
    assert rows[0].split()[1] == f"{evaluated['first'].means['AP']['expected']:.4f}"
    assert repr(evaluated["first"]) == str(evaluated["first"])


def test_pictures_of_several_systems(evaluated):
    results = list(evaluated.values())
    display = TieBreakingDisplay.from_runs(results, measure="nDCG@10")
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == list(evaluated)
    assert display.ax_.get_xlabel() == "nDCG@10: worst, expected, best"
    assert display.ax_.get_legend() is None
    for result, dots, bars in zip(results, display.dots_, display.intervals_):
        mean = result.means["nDCG@10"]
        assert_allclose(dots.get_xdata(), [mean["expected"]])
        (bar,) = bars
        assert_allclose(
            [bar.get_x(), bar.get_width()], [mean["worst"], mean["best"] - mean["worst"]]
        )
    plt.close("all")


def test_pictures_by_names_and_of_one_system(evaluated):
    first = evaluated["first"]
    display = TieBreakingDisplay.from_runs({"a": first, "b": first})
    assert display.names == ["a", "b"]
    assert str(display.measure) == "AP"
    assert TieBreakingDisplay.from_runs(first).names == ["first"]
    with pytest.raises(ValueError, match="must have different names"):
        TieBreakingDisplay.from_runs([first, first])
    with pytest.raises(ValueError, match="nothing to draw"):
        TieBreakingDisplay.from_runs([])
    with pytest.raises(ValueError, match="measure must be one of"):
        TieBreakingDisplay.from_runs(first, measure="P@5")
    with pytest.raises(TypeError, match="what evaluate_run returns, got 3"):
        TieBreakingDisplay.from_runs([3])
    plt.close("all")
