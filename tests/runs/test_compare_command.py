"""The command's comparison of runs, as a function and as a process."""

import csv
import io
import json

import numpy as np
import pytest
import run_cases

from sklearn_talr.runs import compare_runs, compare_scores, evaluate_run, read_run
from sklearn_talr.runs.__main__ import main

MEASURES = ["AP", "nDCG@10"]


@pytest.fixture
def files(tmp_path):
    """Paths of judgments and three runs, the last of which is the best."""
    qrels, run = run_cases.random_run(0, n_queries=20, n_scores=60)
    _, other = run_cases.random_run(1, n_queries=20, n_scores=60)
    good = {
        q: {d: 100 * max(qrels[q].get(d, 0), 0) + place for place, d in enumerate(s)}
        for q, s in run.items()
    }
    run_cases.write_qrels(tmp_path / "qrels", qrels)
    for name, each in (("a", run), ("b", other), ("good_run", good)):
        run_cases.write_run(tmp_path / name, each, name)
    return [str(tmp_path / name) for name in ("qrels", "a", "b", "good_run")]


def compared(files, **options):
    qrels, *runs = files
    evaluations = (evaluate_run(qrels, read_run(run), MEASURES) for run in runs)
    return compare_runs(*evaluations, **options)


def test_it_prints_the_tables(files, capsys):
    assert main(["compare", *files, "-m", *MEASURES]) == 0
    assert capsys.readouterr().out.strip() == str(compared(files))
    options = "--test", "wilcoxon", "--alpha", "0.01"
    assert main(["compare", *files, "-m", *MEASURES, *options]) == 0
    wanted = compared(files, test="wilcoxon", alpha=0.01)
    assert capsys.readouterr().out.strip() == str(wanted)
    assert main(["compare", *files, "-m", *MEASURES, "--lower-is-better"]) == 0
    wanted = compared(files, greater_is_better=False)
    assert capsys.readouterr().out.strip() == str(wanted)
    assert wanted.best_first[0].tolist() != compared(files).best_first[0].tolist()
    options = "--adjust", "max-t", "--n-resamples", "500", "--seed", "3"
    assert main(["compare", *files, "-m", *MEASURES, *options]) == 0
    wanted = compared(files, adjust="max-t", n_resamples=500, random_state=3)
    assert capsys.readouterr().out.strip() == str(wanted)


def test_json_and_csv_hold_all_numbers(files, capsys):
    wanted = compared(files).to_dict()
    assert main(["compare", *files, "-m", *MEASURES, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == wanted
    assert main(["compare", *files, "-m", *MEASURES, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    pairs = [{key: str(value) for key, value in row.items()} for row in wanted["pairs"]]
    assert pairs == rows


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_of_scores_needs_no_judgments(form, tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    if form == "parquet":
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    values = rng.uniform(size=(20, 1)) + rng.normal([0, 0.1, 3], 0.1, size=(20, 3))
    table = pd.DataFrame(values, columns=["a", "b\x1b", "good"])
    table.insert(0, "task", [f"t{number}" for number in range(20)])
    path = str(tmp_path / f"scores.{form}")
    getattr(table, f"to_{form}")(path, index=False)
    assert main(["compare", path, "--format", "json", "--adjust", "bh"]) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = compare_scores(table, adjust="bh").to_dict()
    assert found["pairs"][0]["second"] == r"b\x1b"
    assert [row["p_value"] for row in found["pairs"]] == pytest.approx(
        [row["p_value"] for row in wanted["pairs"]], rel=1e-9
    )
    table.loc[3, "a"] = np.nan
    getattr(table, f"to_{form}")(path, index=False)
    assert main(["compare", path]) == 1
    assert "1 cell is missing" in capsys.readouterr().err
    assert main(["compare", path, "--missing", "drop"]) == 0
    printed = capsys.readouterr()
    assert "19 tasks" in printed.out
    assert printed.err.startswith("sklearn-talr-runs: warning: 1 of 20 rows have")
    getattr(table.fillna(0).assign(kind=table.index // 2), f"to_{form}")(path, index=False)
    assert main(["compare", path, "--groups", "kind"]) == 0
    assert "10 groups" in capsys.readouterr().out


def test_latex_has_a_row_for_each_pair(files, capsys):
    for command, n_rows in ((["compare"], 2 * 3), ([], 2 * 3)):
        assert main([*command, *files, "-m", *MEASURES, "--format", "latex"]) == 0
        table = capsys.readouterr().out
        assert table.startswith("\\begin{tabular}")
        assert table.count(r" \\") == 1 + n_rows
        assert r"good\_run" in table


def test_a_page_is_written_beside_the_table(files, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(["compare", *files, "-m", "AP", "--html", str(page)]) == 0
    assert "AP, 20 queries" in capsys.readouterr().out
    assert "good_run" in page.read_text(encoding="utf-8")
    nowhere = str(tmp_path / "nowhere" / "report.html")
    assert main(["compare", *files, "-m", "AP", "--html", nowhere]) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_what_depends_on_ties_is_told_on_the_error_stream(tmp_path, capsys):
    queries = [f"q{number}" for number in range(12)]
    tied = dict.fromkeys(["d1", "d2", "d3"], 1.0)
    behind = {"d2": 4.0, "d3": 3.0, "d1": 2.0}
    run_cases.write_qrels(tmp_path / "qrels", {query: {"d1": 1} for query in queries})
    run_cases.write_run(tmp_path / "a", dict.fromkeys(queries, tied), "tied")
    run_cases.write_run(tmp_path / "b", dict.fromkeys(queries, behind), "behind")
    command = ["compare", *(str(tmp_path / name) for name in ("qrels", "a", "b"))]
    assert main([*command, "-m", "RR", "--format", "csv"]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith(
        "sklearn-talr-runs: warning: by RR 'tied' is significantly better"
    )
    (row,) = csv.DictReader(io.StringIO(printed.out))
    assert row["depends_on_ties"] == "True"


@pytest.fixture
def scores(tmp_path):
    """A table of two systems in twelve tasks, and a function that writes it."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    values = rng.uniform(size=(12, 1)) + rng.normal([0, 0.1], 0.1, size=(12, 2))
    table = pd.DataFrame(values, [f"t{i}" for i in range(12)], ["a", "b"]).rename_axis(
        "task"
    )

    def write(frame, name="scores.csv", **options):
        frame.to_csv(tmp_path / name, **options)
        return str(tmp_path / name)

    return table, write


@pytest.mark.parametrize("name", ["all", "Average"])
def test_rows_that_are_means_end_the_command_with_the_line_to_drop(name, scores, capsys):
    table, write = scores
    table.loc[name] = table.mean()
    path = write(table.rename_axis("query_id"))
    assert main(["compare", path]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"the row {name!r} may be an aggregate" in printed.err
    assert f"scores[scores['query_id'] != {name!r}]" in printed.err
    assert main(["compare", path, "--aggregates", "keep"]) == 0
    assert "13 queries" in capsys.readouterr().out


def test_tables_that_say_too_little_end_the_command(scores, capsys):
    table, write = scores
    for frame, message in [
        (table.rename_axis(None), "'Unnamed: 0' may be an index"),
        (table.rename_axis("language"), "the column 'language' holds 't0'"),
        (table.assign(b=["-", *table["b"][1:]]), "the column 'b' holds '-'"),
        (table.assign(Rank=1), "the column 'Rank' holds ranks"),
    ]:
        assert main(["compare", write(frame)]) == 1
        assert message in capsys.readouterr().err
    assert main(["compare", write(table, "scores.TSV", sep="\t")]) == 0
    assert "12 tasks" in capsys.readouterr().out
    assert main(["compare", write(table, "scores.csv.gz")]) == 0
    for content, message in [
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        ("task,a\n".encode("utf-16"), "text in UTF-16"),
    ]:
        path = write(table)
        with open(path, "wb") as file:
            file.write(content)
        assert main(["compare", path]) == 1
        assert message in capsys.readouterr().err
    assert main(["compare", "https://example.org/scores.csv"]) == 1
    assert "is a URL" in capsys.readouterr().err


def test_options_that_nothing_looks_at_are_wrong_usage(files, scores, capsys):
    table, write = scores
    path = write(table)
    for arguments, option in [
        ([*files, "--groups", "kind"], "--groups is an option for tables of scores"),
        ([*files, "--missing", "drop"], "--missing is an option for tables"),
        ([*files, "--aggregates", "keep"], "--aggregates is an option for tables"),
        ([path, "-m", "AP"], "--measures is an option for judgments and runs"),
        ([path, "--judged-only"], "--judged-only is an option for judgments and runs"),
    ]:
        with pytest.raises(SystemExit) as caught:
            main(["compare", *arguments])
        assert caught.value.code == 2
        assert option in capsys.readouterr().err
