"""The command, as a function and as a process."""

import csv
import io
import json
import runpy
import subprocess
import sys

import pytest
import run_cases

from sklearn_talr.runs import evaluate_run
from sklearn_talr.runs.__main__ import main


@pytest.fixture
def files(tmp_path):
    """Paths of judgments and two runs, of which the second lacks a query."""
    qrels, run = run_cases.random_run(0, n_scores=4)
    _, other = run_cases.random_run(1, n_scores=4)
    del other["q1"]
    run_cases.write_qrels(tmp_path / "qrels", qrels)
    run_cases.write_run(tmp_path / "a", run, "first")
    run_cases.write_run(tmp_path / "b", other, "second")
    return [str(tmp_path / name) for name in ("qrels", "a", "b")]


def test_json_holds_what_an_evaluation_tells(files, capsys):
    qrels, first, second = files
    assert main([*files, "-m", "AP", "nDCG@10", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    for name, path in (("first", first), ("second", second)):
        assert printed[name] == evaluate_run(qrels, path, ["AP", "nDCG@10"]).to_dict()
    assert main([qrels, first, "--per-query", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["first"] == evaluate_run(qrels, first).to_dict(per_query=True)


def test_csv_has_a_row_for_each_run_query_and_measure(files, capsys):
    assert main([*files, "-m", "RR", "--per-query", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["run"], row["query"]) for row in rows] == [
        (run, query) for run in ("first", "second") for query in ("q0", "q1", "q2")
    ]
    values = evaluate_run(*files[:2], "RR").expected[:, 0]
    assert [float(row["expected"]) for row in rows[:3]] == values.tolist()


def test_runs_of_the_same_name_are_told_apart_by_their_paths(files, capsys):
    qrels, first, _ = files
    other = first.replace("/a", "/./a")
    assert main([qrels, first, other, "--format", "json", "-m", "AP"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == [first, other]
    assert main(["compare", qrels, first, other, "-m", "AP"]) == 0
    assert f"{first} minus {other}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{qrels}", "nowhere"], "No such file or directory: 'nowhere'"),
        (["{a}", "{a}"], "line 1 has 6 fields instead of 4"),
        (["{qrels}", "{qrels}"], "line 1 has 4 fields instead of 6"),
        (["{qrels}", "{a}", "-m", "infAP"], "infAP is refused"),
    ],
)
def test_what_cannot_be_used_has_exit_code_1_and_a_message(
    arguments, message, files, capsys
):
    paths = dict(zip(("qrels", "a", "b"), files))
    assert main([argument.format(**paths) for argument in arguments]) == 1
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("sklearn-talr-runs: ")
    assert printed.out == ""


def test_as_a_module(files, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["sklearn-talr-runs", *files, "-m", "AP"])
    # It would warn of the module, which other tests have imported.
    monkeypatch.delitem(sys.modules, "sklearn_talr.runs.__main__")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("sklearn_talr.runs", run_name="__main__")
    assert ended.value.code == 0
    printed = capsys.readouterr()
    assert "expected" in printed.out
    assert printed.err == ""


def test_a_reader_that_leaves_is_no_error(files):
    """As head does, which has seen enough."""
    command = [sys.executable, "-m", "sklearn_talr.runs", *files, "--per-query"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
