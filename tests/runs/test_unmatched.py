"""Identifiers that never match: of documents and of queries."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from sklearn_talr.runs import evaluate_run

NUMBERS = np.arange(40)


def tables(write_judged, write_found, write_query=str):
    """Judgments and a run of eight queries of five documents each."""
    queries = [f"q{number // 5}" for number in NUMBERS]
    qrels = pd.DataFrame({"query_id": queries, "doc_id": list(map(write_judged, NUMBERS))})
    run = qrels.assign(doc_id=list(map(write_found, NUMBERS)), score=NUMBERS % 5 * -1.0)
    run["query_id"] = list(map(write_query, run["query_id"]))
    return qrels.assign(relevance=1), run


WAYS = {
    "zeros": ("{:03d}".format, str),
    "zeros of the run": (str, "{:05d}".format),
    "floats": ("{}.0".format, str),
    "blanks and capitals": ("Doc{}".format, " doc{}".format),
}


@pytest.mark.parametrize("way", WAYS)
def test_documents_that_are_written_in_two_ways_are_told_of(way):
    qrels, run = tables(*WAYS[way])
    with pytest.warns(UserWarning, match="none of the 40 relevant documents") as caught:
        result = evaluate_run(qrels, run, "AP")
    assert result.means["AP"]["expected"] == 0
    message = str(caught[0].message)
    assert "40 would be with the same spelling" in message
    assert caught[0].filename == __file__
    if way != "blanks and capitals":
        line = re.search(r"write ((qrels|run)\[.*)\.$", message)[1]
        exec(line, {"qrels": qrels, "run": run})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert evaluate_run(qrels, run, "AP").means["AP"]["expected"] == 1
    assert message.count("str.strip().str.lower()") == (way == "blanks and capitals")


def test_a_run_without_any_relevant_document_is_told_of():
    qrels, run = tables("a{}".format, "b{}".format)
    with pytest.warns(UserWarning, match="none of the 40 relevant.*'a0', 'a1', 'a2'.*'b0'"):
        evaluate_run(qrels, run, "AP")


def test_queries_that_are_written_in_two_ways_are_told_of():
    qrels, run = tables(str, str)
    qrels["query_id"] = qrels["query_id"].str.replace("q", "00")
    run["query_id"] = run["query_id"].str.replace("q", "")
    line = r"run\['query_id'\] = run\['query_id'\]\.astype\(str\)\.str\.zfill\(3\)"
    with pytest.raises(
        ValueError, match=f"no query of the run is judged.* 8 would.*{line}"
    ):
        evaluate_run(qrels, run)
    some = pd.concat([run, run[run["query_id"] == "3"].assign(query_id="003")])
    some = pd.concat([some, *(run[:1].assign(query_id=f"x{i}") for i in range(20))])
    with pytest.warns(
        UserWarning, match=f"1 of the 29 queries of the run are judged.*{line}"
    ):
        evaluate_run(qrels, some)


def test_a_few_that_do_not_match_are_no_matter():
    qrels, run = tables(str, lambda number: f"{number:03d}" if number % 5 else str(number))
    few = {"q1": {"a": 1, "b": 1}}
    missed, judged = {f"q{i}": {f"d{i}": 1, "e": 0} for i in range(9)}, {"e": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate_run(qrels, run, "AP")
        # A system may miss all that is relevant: its documents are judged
        evaluate_run(missed, dict.fromkeys(missed, judged), "AP")
        evaluate_run(few, {"q1": {"c": 1.0}}, "AP")
        # 7 and 007 are two documents of one collection
        both = {"q1": {str(n): 1 for n in range(9)} | {f"00{n}": 1 for n in range(9)}}
        evaluate_run(both, {"q1": {str(n): 1.0 for n in range(9)}}, "AP")
        half = {f"q{i}": {"d": 1} for i in range(6)}
        evaluate_run(half, {"q0": {"d": 1.0}, "x": {"d": 1.0}}, "AP")
