"""What an evaluation holds, and how it is shown."""

import pandas as pd
import pytest
import run_cases
from numpy.testing import assert_array_equal

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
    affected = (result.best - result.worst > 1e-9).mean(axis=0)
    assert 0 < affected[0] <= 1
    assert list(result.affected.values()) == affected.tolist()
    for place, measure in enumerate(MEASURES):
        row = {column: getattr(result, column)[:, place].mean() for column in COLUMNS}
        assert result.means[measure] == pytest.approx(row, rel=1e-12)
        assert result.to_dict()[measure] == result.means[measure] | {
            "affected": affected[place]
        }
    frame = result.to_frame()
    assert list(frame.index) == MEASURES
    assert frame.to_dict(orient="index") == result.to_dict()
    assert set(evaluated["untied"].affected.values()) == {0}


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


def test_it_prints_as_a_table(evaluated):
    title, head, *rows = str(evaluated["first"]).splitlines()
    assert title == "first: 30 queries"
    assert head.split() == [*COLUMNS, "affected"]
    assert [row.split()[0] for row in rows] == MEASURES
    assert {len(row) for row in (head, *rows)} == {len(head)}
    assert rows[0].split()[1] == f"{evaluated['first'].means['AP']['expected']:.4f}"
    assert repr(evaluated["first"]) == str(evaluated["first"])
