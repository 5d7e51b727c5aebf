"""Tables of scores: their forms, what is refused, and what is found in them."""

import io
import os
import re
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.metrics import RunDifferencesDisplay, TiersDisplay
from sklearn_talr.runs import RunEvaluation, compare_runs, compare_scores

pd = pytest.importorskip("pandas")
SYSTEMS = ["good", "base", "same", "weak"]


@pytest.fixture
def table():
    """Scores of four systems in 24 tasks; two are equal."""
    rng = np.random.default_rng(0)
    values = rng.uniform(size=(24, 1)) + rng.normal([0.4, 0.2, 0.2, 0], 0.1, size=(24, 4))
    values[:, 2] = values[:, 1]
    return pd.DataFrame(values, [f"t{number}" for number in range(24)], SYSTEMS)


def long_of(table, query="query_id", system="system", value="value", **columns):
    rows = [
        {query: task, system: name, value: table.loc[task, name], **columns}
        for task in table.index
        for name in table.columns
    ]
    return pd.DataFrame(rows)


def test_it_is_the_comparison_of_evaluations_with_these_values(table):
    queries = list(table.index)
    evaluations = [
        RunEvaluation(name, ["score"], queries, *[table[[name]].to_numpy()] * 4)
        for name in SYSTEMS
    ]
    for options in ({}, {"test": "bootstrap", "adjust": "bh"}, {"adjust": "max-t"}):
        wanted = compare_runs(*evaluations, **options).to_dict()
        assert compare_scores(table, **options).to_dict() == wanted
    assert wanted["n_queries"] == 24


@pytest.mark.parametrize(
    "form",
    [
        lambda table: {name: table[name].to_numpy() for name in table},
        lambda table: {name: table[name].sample(frac=1, random_state=0) for name in table},
        lambda table: table.rename_axis("topic").reset_index(),
        lambda table: table.rename_axis("what it is"),
        lambda table: table.set_axis(range(401, 425)).rename_axis("qid").reset_index(),
        long_of,
        lambda table: long_of(table, "task_name", "model_name", "main_score"),
        lambda table: long_of(table, "query-id", "run", "score", measure="score", k=1),
        lambda table: long_of(table).to_dict("records"),
        lambda table: long_of(table, "Task", "Model Name", "Score"),
        lambda table: table.rename_axis("topic").reset_index().rename(columns=str.title),
        lambda table: pd.read_csv(io.StringIO(table.to_csv()), index_col=0),
        lambda table: table.map(Decimal),
        lambda table: table.astype(object).assign(base=table["base"].tolist()),
        lambda table: table.convert_dtypes(),
        lambda table: table.astype(pd.SparseDtype(float)),
        lambda table: NoPandas(table.rename_axis("task").reset_index()),
        lambda table: HasPandas(table.rename_axis("task").reset_index()),
        lambda table: pd.concat({"score": table}, axis=1, names=["metric", None]),
        lambda table: pd.concat({"score": table.T}, names=["measure"]).swaplevel().T,
    ],
)
def test_forms_of_tables(form, table):
    wanted, found = compare_scores(table), compare_scores(form(table))
    assert list(map(str.lower, found.names)) == SYSTEMS
    assert found.measures == ["score"]
    assert_allclose(found.p_value, wanted.p_value, rtol=1e-9)
    assert_allclose(found.means, wanted.means)


class NoPandas:
    """What polars offers of a table."""

    def __init__(self, table):
        self.columns, self.to_numpy = list(table), table.to_numpy
        self.__class__.__getitem__ = lambda _, name: table[name]


class HasPandas(NoPandas):
    """What Arrow offers, whose columns have no names."""

    def __init__(self, table):
        self.columns, self.column_names = [None], list(table)
        self.to_pandas = lambda: table


def test_arrow_keeps_names(table):
    pa = pytest.importorskip("pyarrow")
    found = compare_scores(pa.table(table.rename_axis("task").reset_index()))
    assert found.to_dict() == compare_scores(table).to_dict()
    assert found.queries == list(table.index)


@pytest.mark.parametrize("name", ["model", "system", "Model"])
def test_rows_that_are_systems_are_turned_and_told_of(name, table):
    wanted = compare_scores(table, test="t").to_dict()
    for form in (table.T.rename_axis(name), table.T.rename_axis(name).reset_index()):
        message = "the table is transposed. Its tasks are t0"
        with pytest.warns(UserWarning, match=message) as told:
            found = compare_scores(form, test="t")
        assert told[0].filename == __file__
        assert found.to_dict() == wanted
        assert found.queries == list(table.index)
    with pytest.raises(ValueError, match="may name queries or systems, each once"):
        compare_scores(pd.concat([form, form]))
    message = r"transpose the table with scores\.set_index\('name'\)\.T"
    with pytest.raises(ValueError, match=message):
        compare_scores(form.rename(columns={name: "name"}))
    undeclared = table.T.rename_axis("name")
    with pytest.raises(
        ValueError, match="the index 'name' may name queries or systems"
    ) as told:
        compare_scores(undeclared)
    for line in ("scores.rename_axis('query_id')", "scores.T"):
        assert line in str(told.value)
    assert compare_scores(undeclared.T, test="t").to_dict() == wanted
    found = compare_scores(undeclared.rename_axis("query_id"), test="t")
    assert len(found.queries) == 4
    numbers = {"baseline": table["base"], "model": table["good"]}  # a system of this name
    assert compare_scores(numbers).names == ["baseline", "model"]


@pytest.mark.parametrize(
    ("columns", "message", "remedy"),
    [
        ({"is_open": True}, "the column 'is_open' holds truth values", ["is_open"]),
        ({"Rank": range(24)}, "the column 'Rank' holds ranks", ["Rank"]),
        (
            {"Rank (Borda)": 1.0, "Ranking": 2},
            "the columns 'Rank .Borda.', 'Ranking' hold ranks",
            ["Rank (Borda)", "Ranking"],
        ),
        (
            {"seed": 7},
            "the column 'seed' holds integers, which may be numbers of rep",
            ["seed"],
        ),
        ({"Unnamed: 0": range(24)}, "'Unnamed: 0' may be an index", "Unnamed: 0"),
        ({"index": range(24)}, "'index' may be an index that was saved", "index"),
        ({"id": range(24)}, "'id' may be an index that was saved", "id"),
        ({"license": "MIT"}, "'license' holds 'MIT' of type", ["license"]),
        (
            {"a": "x", "b": "y"},
            r"'a' holds 'x' of type \w+ in row 't0', and so do the column 'b'",
            ["a", "b"],
        ),
        ({"day": pd.Timestamp("2020-01-01")}, "'day' holds .*2020", ["day"]),
        ({"z": 1j}, "'z' holds 1j", ["z"]),
    ],
)
def test_what_is_no_score_is_refused_with_the_line_that_drops_it(
    columns, message, remedy, table
):
    wanted, more = compare_scores(table).to_dict(), table.assign(**columns)
    with pytest.raises(ValueError, match=message) as caught:
        compare_scores(more)
    line = f"scores.drop(columns={remedy!r})"
    assert line in str(caught.value)
    assert compare_scores(eval(line, {"scores": more})).to_dict() == wanted


def test_truth_values_alone_are_scores(table):
    hits = table > table.mean()
    assert_allclose(compare_scores(hits).means[:, 0], hits.mean())
    assert_allclose(compare_scores(hits.astype(object)).means[:, 0], hits.mean())


NUMBERS = {
    "numbers in text": lambda values: values.map("{:.4f}".format),
    "percentages": lambda values: values.map("{:.2%}".format),
    "categories": lambda values: values.astype("category"),
    "objects, of which one is text": lambda values: values.astype(object).where(
        values.index != "t5", "0.5"
    ),
    "text, of which one is not a number": lambda values: values.map("{:.4f}".format).where(
        values.index != "t5", "-"
    ),
}


@pytest.mark.parametrize("form", [pd.DataFrame, dict])
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_in_text_never_name_rows(kind, form, table):
    """They were names of the rows before, and the system was gone."""
    scores = pd.DataFrame({**table, "base": NUMBERS[kind](table["base"])})
    place = "row 't5'" if "of which one" in kind else "row 't0'"
    with pytest.raises(
        ValueError, match=f"the column 'base' holds .* in {place}"
    ) as caught:
        compare_scores(form(scores))
    readings = str(caught.value)
    assert "if they name the rows, pass scores.set_index('base')" in readings
    line = readings.split("set ")[1].split("; if")[0]
    assert line.startswith("scores['base'] = ")
    exec(line, {"scores": scores, "pd": pd})
    if kind == "text, of which one is not a number":
        with pytest.raises(ValueError, match=r"1 cell is missing.*'base' of 't5'"):
            compare_scores(scores)
        with pytest.warns(UserWarning, match="1 of 24 rows"):
            assert compare_scores(scores, missing="drop").names == SYSTEMS
    elif kind == "objects, of which one is text":
        assert_allclose(compare_scores(scores).means[1, 0], scores["base"].mean())
    else:
        found = compare_scores(scores).means
        assert_allclose(found, compare_scores(table).means, atol=1e-4)


def test_cells_of_none_are_missing_whatever_the_type_of_their_column(table):
    for missing in (None, np.nan, pd.NA):
        column = table["base"].astype(object)
        column["t3"] = missing
        with pytest.raises(ValueError, match=r"1 cell is missing.*'base' of 't3'"):
            compare_scores(table.assign(base=column))


def test_text_in_a_long_table_is_refused_where_scores_are_declared(table):
    for scores in (long_of(table), long_of(table, "task", "run", "ap")):
        name = scores.columns[-1]
        scores[name] = scores[name].map(str)
        with pytest.raises(ValueError, match=f"the column {name!r} holds ") as caught:
            compare_scores(scores)
        exec(
            str(caught.value).split("set ")[1].split("; if")[0].rstrip("."),
            {
                "scores": scores,
                "pd": pd,
            },
        )
        assert_allclose(compare_scores(scores).means, compare_scores(table).means)
        two = pd.concat({"AP": table.astype(str)}, axis=1)
    with pytest.raises(ValueError, match=r"the column \('AP', 'good'\) holds"):
        compare_scores(two)


def test_a_column_of_names_is_declared_by_its_name_or_is_the_index(table):
    named = table.rename_axis("language").reset_index()
    with pytest.raises(ValueError, match="'language' holds 't0'") as caught:
        compare_scores(named)
    for line in ("scores.set_index('language')", "scores.drop(columns=['language'])"):
        assert line in str(caught.value)
        found = compare_scores(eval(line, {"scores": named}))
        assert_allclose(found.means, compare_scores(table).means)
    both = named.rename(columns={"language": "task"}).assign(query_id=range(24))
    with pytest.raises(ValueError, match="'task' and 'query_id' both name rows") as caught:
        compare_scores(both)
    assert "groups='task' or groups='query_id'" in str(caught.value)
    compare_scores(both.drop(columns="query_id"))
    with pytest.raises(ValueError, match="the index and a column are called 'task'"):
        compare_scores(both.drop(columns="query_id").set_index("task", drop=False))
    with pytest.raises(ValueError, match="columns 'task' and 'Task' both name rows"):
        compare_scores(both.drop(columns="query_id").assign(Task="x"))


def test_rows_of_one_name_are_refused_until_somebody_averages_them(table):
    seeds = pd.concat([table, table + 0.01])
    wanted = compare_scores(table)
    for scores in (
        seeds,
        seeds.rename_axis("task"),
        seeds.rename_axis("task").reset_index(),
    ):
        with pytest.raises(ValueError, match="several rows have the name 't0'") as caught:
            compare_scores(scores)
        line = str(caught.value).split("average them with ")[1].split("; if")[0]
        found = compare_scores(eval(line, {"scores": scores}))
        assert_allclose(found.difference, wanted.difference, atol=1e-12)
        assert_allclose(found.p_value, wanted.p_value)
        assert len(found.queries) == 24
    found = compare_scores(seeds.rename_axis("task"), groups="task")
    assert_allclose(found.p_value, wanted.p_value)


def test_several_seeds_are_refused_with_the_lines_that_choose(table):
    long = pd.concat([long_of(table, seed=0), long_of(table + 0.01, seed=1)])
    for scores in (long, long.set_index(["query_id", "system", "seed"])):
        with pytest.raises(ValueError, match="differ in 'seed': 0 and 1") as caught:
            compare_scores(scores)
        flat = scores if scores is long else scores.reset_index()
        for start in ("pass scores[scores['seed']", "pass scores.groupby"):
            line = start[5:] + str(caught.value).split(start)[1].split(". To av")[0]
            found = compare_scores(eval(line.rstrip("."), {"scores": flat}))
            assert_allclose(found.difference, compare_scores(table).difference)
    numbers = long.rename(columns={"value": "ap"})
    with pytest.raises(ValueError, match="'seed' holds integers, which may be numbers"):
        compare_scores(numbers)
    with pytest.raises(ValueError, match="two values or more of") as caught:
        compare_scores(numbers.drop(columns="seed"))
    line = "scores.groupby" + str(caught.value).split("scores.groupby")[1].rstrip(".")
    found = compare_scores(eval(line, {"scores": numbers}))
    assert found.measures == ["ap"]
    assert_allclose(found.difference, compare_scores(table).difference)


def test_a_long_table_whose_values_have_the_names_of_measures(table):
    long = long_of(table, value="ap").assign(rr=lambda rows: 1 - rows["ap"])
    found = compare_scores(long, test="t")
    assert found.measures == ["ap", "rr"]
    assert found.names == SYSTEMS
    assert_allclose(found.means, np.stack([table.mean(), 1 - table.mean()], axis=1))
    numbered = long.assign(system=long["system"].map(SYSTEMS.index)).drop(columns="rr")
    with pytest.raises(
        ValueError, match="'system' holds integers, which may be names"
    ) as told:
        compare_scores(numbered)
    line = "scores.astype({'system': str})"
    assert line in str(told.value)
    assert compare_scores(eval(line, {"scores": numbered})).names == list("0123")
    by_index = numbered.set_index(["query_id", "system"])["ap"]
    assert_allclose(compare_scores(by_index, test="t").means[:, 0], table.mean())
    with pytest.raises(ValueError, match="has a column 'value', 'score' or 'main_score'"):
        compare_scores(long.assign(metric="AP"))
    with pytest.raises(ValueError, match="'score' and 'main_score' could both be"):
        compare_scores(long.assign(score=0.5, main_score=1.0))
    with pytest.raises(ValueError, match="'metric' names measures, and no column names sy"):
        compare_scores(table.assign(metric="AP"))
    # Numbers with a point name nothing: these are two systems, one of them called run
    wide = pd.DataFrame(
        {"query": range(24), "ap": table["base"].tolist(), "run": table["good"].tolist()}
    )
    assert compare_scores(wide).names == ["ap", "run"]


@pytest.mark.parametrize("place", ["query_id", "system", "measure"])
def test_names_that_are_missing_are_refused(place, table):
    long = long_of(table, measure="AP")
    long.loc[5, place] = None
    with pytest.raises(ValueError, match=f"1 rows have no name in {place!r}") as caught:
        compare_scores(long)
    line = "scores.dropna" + str(caught.value).split("scores.dropna")[1].rstrip(".")
    with pytest.raises(ValueError, match="1 cell is missing"):
        compare_scores(eval(line, {"scores": long}))
    table.index = [None, *table.index[1:]]
    with pytest.raises(ValueError, match="no name in the index") as caught:
        compare_scores(table)
    assert len(compare_scores(table[table.index.notna()]).queries) == 23


ROW_NAMES = "Average", "AVG.", "Mean (Task)", "mean", "Overall", "all", "All", "macro avg"
ROW_NAMES += "Average (24 tasks)", "Overall average", "Median", "total", "MEAN SCORE"
ROW_NAMES += "BEIR average", "Retrieval Avg.", "STS mean", "Average of 7 tasks"


@pytest.mark.parametrize("name", ROW_NAMES)
def test_rows_and_systems_with_names_of_aggregates_are_refused(name, table):
    """Whatever their scores are: a mean over kinds of tasks is not that of all tasks."""
    row = pd.DataFrame([[0.1, 0.2, 0.4, 0.3]], [name], SYSTEMS)
    by_kind = {"row": pd.concat([table, row]), "system": table.assign(**{name: 0.5})}
    for kind, scores in by_kind.items():
        message = f"the {kind} {re.escape(repr(name))} may be an aggregate"
        with pytest.raises(ValueError, match=message):
            compare_scores(scores)


@pytest.mark.parametrize("name", ["Average", "Mean (Task)"])
def test_aggregates_are_dropped_by_the_line_or_kept_in_each_form(name, table):
    wanted = compare_scores(table, test="t").to_dict()
    more = pd.concat([table, pd.DataFrame([[0.1, 0.2, 0.4, 0.3]], [name], SYSTEMS)])
    forms = {
        "wide": more,
        "named": more.rename_axis("task"),
        "column": more.rename_axis("task").reset_index(),
        "long": long_of(more, "task", "model", "score"),
        "levels": long_of(more, "task", "model", "score").set_index(["task", "model"]),
        "two levels": pd.concat({"score": more}, axis=1, names=["measure", None]),
        "systems": table.assign(**{name: 0.5}),
        "long systems": long_of(table.assign(**{name: 0.5}), "task", "model", "score"),
        "two levels of systems": pd.concat({"AP": table.assign(**{name: 0.5})}, axis=1)
        .rename(columns={"AP": "score"})
        .rename_axis(columns=["measure", None]),
    }
    for form, scores in forms.items():
        kind = "system" if "systems" in form else "row"
        message = f"the {kind} {re.escape(repr(name))} may be an aggregate"
        with pytest.raises(ValueError, match=message) as caught:
            compare_scores(scores)
        line = str(caught.value).split("Leave it out with ")[1].split("; if")[0]
        found = compare_scores(eval(line, {"scores": scores}), test="t").to_dict()
        assert_json_equal(found, wanted)
        kept = compare_scores(scores, aggregates="keep", test="t")
        counts = (len(kept.queries), len(kept.names))
        assert counts == ((24, 5) if kind == "system" else (25, 4))


def assert_json_equal(found, wanted):
    assert found["n_queries"] == wanted["n_queries"]
    assert found["runs"] == wanted["runs"]


@pytest.mark.parametrize(
    "name",
    [
        "Averages of stars",
        "meanwhile",
        "t-all",
        "all-MiniLM",
        "bert_mean",
        "mean pooling",
        1,
    ],
)
def test_other_names_are_those_of_data(name, table):
    renamed = table.rename(index={"t3": name}, columns={"weak": name})
    assert compare_scores(renamed).queries[3] == str(name)


@pytest.mark.parametrize("n_decimals", [None, 4, 3])
@pytest.mark.parametrize("function", ["mean", "median", "sum"])
def test_aggregates_of_any_name_are_found_by_their_scores(function, n_decimals, table):
    table["same"] += np.random.default_rng(4).normal(0, 0.05, 24)
    table = table if n_decimals is None else table.round(n_decimals)

    def rounded(values):
        return values if n_decimals is None else values.round(n_decimals)

    rows = table.copy()
    rows.loc["x"] = rounded(getattr(table, function)())
    systems = table.assign(x=rounded(getattr(table, function)(axis=1)))
    turned = systems.T.rename_axis("model")
    for scores in (rows, systems, long_of(rows), long_of(systems)):
        with pytest.raises(ValueError, match=f"'x' .* is the {function} of all others"):
            compare_scores(scores)
        compare_scores(scores, aggregates="keep")
    with (
        pytest.warns(UserWarning, match="the table is transposed"),
        pytest.raises(ValueError, match=f"the system 'x' .* the {function} of all") as told,
    ):
        compare_scores(turned)
    assert "scores.drop(index='x')" in str(told.value)
    assert len(compare_scores(table).names) == 4
    # Of two systems, too, which have two numbers in a row
    if n_decimals != 3:
        with pytest.raises(ValueError, match=f"'x' .* is the {function} of all others"):
            compare_scores(rows[["good", "weak"]])


def test_margins_of_pivot_tables_are_refused_with_all_their_lines(table):
    long = long_of(table, "task", "model", "score")
    pivot = long.pivot_table(index="task", columns="model", values="score", margins=True)
    with pytest.raises(ValueError, match="the row 'All' may be") as caught:
        compare_scores(pivot)
    assert "scores.drop(index='All')" in str(caught.value)
    with pytest.raises(
        ValueError, match=r"the system 'All' .* scores.drop\(columns='All'\)"
    ):
        compare_scores(pivot.drop(index="All"))
    found = compare_scores(pivot.drop(index="All", columns="All"))
    assert found.queries == sorted(table.index)
    kinds = long.assign(kind="a").pivot_table(
        index=["kind", "task"], columns="model", values="score", margins=True
    )
    with pytest.raises(ValueError, match=r"scores.drop\(index=\('All', ''\)\)"):
        compare_scores(kinds.drop(columns="All").rename_axis(["one", "two"]))


def test_means_among_groups_are_refused(table):
    kinds = np.repeat(list("abcdefgh"), 3)
    long = long_of(table.assign(kind=kinds).drop(columns="kind"), task="x")
    long["task"] = long["query_id"].map(dict(zip(table.index, kinds)))
    means = long.groupby("system", as_index=False)["value"].mean()
    means = means.assign(task="Average", query_id="t")
    with pytest.raises(ValueError, match="the group 'Average' may be an aggregate") as told:
        compare_scores(pd.concat([long, means]), groups="task")
    assert "scores[scores['task'] != 'Average']" in str(told.value)


@pytest.mark.parametrize("seed", range(20))
def test_scores_of_few_decimals_or_of_equal_systems_raise_no_false_alarm(seed):
    rng = np.random.default_rng(seed)
    hits = pd.DataFrame(rng.integers(0, 2, (6, 3)))
    ranks = pd.DataFrame(1 / rng.integers(1, 4, (5, 3)))
    coarse = pd.DataFrame(rng.uniform(size=(4, 2)).round(1))
    percent = pd.DataFrame((50 + 20 * rng.normal(size=(9, 3))).round(1))
    spaced = pd.DataFrame(rng.uniform(size=(7, 1)) + np.array([0, 0.1, 0.2, 0.05]))
    constant = pd.DataFrame(np.full((6, 4), 0.7))
    for scores in (hits, ranks, coarse, percent, spaced, constant):
        compare_scores(scores, n_resamples=100, test="t")
    twice = pd.concat([percent, percent[[1]].set_axis(["again"], axis=1)], axis=1)
    compare_scores(twice, n_resamples=100, test="t")


def test_labels_with_an_index_are_those_of_the_rows_in_their_order(table):
    groups = pd.Series(np.repeat(list("hgfedcba"), 3), table.index)
    moved = groups.sample(frac=1, random_state=0)
    forms = {
        "scores.index": table,
        "scores.index ": table.rename_axis("task"),
        "scores['task'].unique()": table.rename_axis("task").reset_index(),
        "scores['query_id'].unique()": long_of(table),
        "scores.columns": table.T.rename_axis("model"),
    }
    wanted = compare_scores(table, groups=groups.to_numpy(), test="t").p_value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line, scores in forms.items():
            for name in ("groups", "stratify"):
                with pytest.raises(
                    ValueError, match=f"^{name} has the same labels"
                ) as told:
                    compare_scores(scores, test="t", **{name: moved})
                code = str(told.value).split("Pass ")[1].split(", or ")[0]
                assert code == f"{name}.reindex({line.strip()})"
                ordered = eval(code, {name: moved, "scores": scores})
                found = compare_scores(scores, test="t", **{name: ordered})
                same = compare_scores(scores, test="t", **{name: ordered.to_numpy()})
                assert_array_equal(found.p_value, same.p_value)
            found = compare_scores(scores, test="t", groups=groups)
            assert_allclose(found.p_value, wanted)
    with pytest.raises(ValueError, match="groups has other labels than"):
        compare_scores(table, groups=groups.rename({"t0": "t99"}))
    with pytest.raises(
        ValueError, match=r"got a dict: pass .groups.row. for row in scores"
    ):
        compare_scores(table, groups=groups.to_dict())
    # A column of the table itself, and labels that pandas has counted
    some = table.rename_axis("task").reset_index().assign(kind=groups.tolist())[::2]
    rest = some.drop(columns="kind")
    found = compare_scores(rest, groups=some["kind"], test="t")
    assert_array_equal(found.p_value, compare_scores(some, groups="kind", test="t").p_value)
    compare_scores(table, groups=groups.reset_index(drop=True))


def test_two_levels_of_columns_are_measure_and_system(table):
    both = {"AP": table, "nDCG@10": 1 - table}
    for form in (pd.concat(both, axis=1), pd.concat(both, axis=1).swaplevel(axis=1)):
        found = compare_scores(form)
        assert (found.names, found.measures) == (SYSTEMS, list(both))
        assert_allclose(found.means[:, 0], 1 - found.means[:, 1])
        with pytest.raises(ValueError, match="1 cell is missing"):
            compare_scores(form.drop(columns=form.columns[3]).iloc[:1])
    unknown = pd.concat({"x": table, "y": table}, axis=1)
    with pytest.raises(ValueError, match=r"columns\.names = \['measure', 'system'\]"):
        compare_scores(unknown)
    unknown.columns.names = ["model", None]
    assert compare_scores(unknown).names == ["x", "y"]


def test_less_may_be_better(table):
    """As if all scores had the other sign, but for the means themselves."""
    found = compare_scores(table, greater_is_better=False)
    wanted = compare_scores(-table)
    assert found.tiers == wanted.tiers
    assert found.tiers["score"][0] == ["weak"]
    columns = ["rank_low", "rank_high", "behind", "behind_low", "behind_high"]
    columns += ["behind_p_value", "tiers"]
    frames = [each.to_frame(per_run=True)[columns] for each in (found, wanted)]
    pd.testing.assert_frame_equal(*frames)
    assert_array_equal(found.means, -wanted.means)
    assert_array_equal(found.best_first, wanted.best_first)
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[2:6]] == ["weak", "base", "same", "good"]
    assert "the lowest mean is the best" in found.method_sentence()
    assert found.to_dict()["greater_is_better"] is False
    pytest.importorskip("matplotlib")
    page = found.to_html()
    assert page.index(">weak<") < page.index(">good<")


def test_several_measures_of_a_long_table(table):
    both = pd.concat([long_of(table, metric="nDCG@10"), long_of(1 - table, metric="mine")])
    found = compare_scores(both)
    assert found.measures == ["nDCG@10", "mine"]
    assert_allclose(found.means[:, 0], 1 - found.means[:, 1])
    assert found.queries == list(table.index)


def test_equal_systems_do_not_differ_significantly(table):
    found = compare_scores(table)
    pair = found.pairs.index((1, 2))
    assert found.difference[pair] == 0
    assert found.p_value[pair] == found.adjusted_p_value[pair] == 1
    for options in ({"test": "t"}, {"test": "wilcoxon"}, {"adjust": "max-t"}):
        assert compare_scores(table, **options).adjusted_p_value[pair] == 1


def test_missing_cells_are_named_or_left_out_with_their_rows(table):
    table.iloc[3, 1] = table.iloc[3, 2] = table.iloc[7, 0] = np.nan
    with pytest.raises(ValueError, match=r"3 cells are missing.*'base' of 't3'.*'same' of"):
        compare_scores(table)
    with pytest.warns(UserWarning, match="2 of 24 rows have missing cells") as caught:
        found = compare_scores(table, missing="drop", stratify=np.arange(24) // 12)
    assert caught[0].filename == __file__
    whole = table.dropna()
    assert found.queries == list(whole.index)
    assert_array_equal(found.p_value, compare_scores(whole).p_value)
    with pytest.raises(ValueError, match=r"1 cell is missing.*'good' of 't7'"):
        compare_scores(long_of(table[["good", "weak"]]).dropna())
    table.iloc[:, 0] = np.nan
    with pytest.raises(
        ValueError, match="every row of scores has a missing cell: leave out"
    ):
        compare_scores(table, missing="drop")


def test_groups_are_averaged_and_then_are_rows(table):
    groups = np.repeat(list("hgfedcba"), 3)
    by_hand = table.groupby(groups, sort=False).mean()
    strata = np.repeat([1, 0], 4)
    wanted = compare_scores(by_hand, test="t", stratify=strata)
    options = {"test": "t", "groups": groups, "stratify": np.repeat(strata, 3)}
    for form in (table, long_of(table)):
        found = compare_scores(form, **options)
        assert found.queries == list("hgfedcba")
        assert_allclose(found.p_value, wanted.p_value)
    with pytest.raises(ValueError, match="groups has missing labels: give each row"):
        compare_scores(table, groups=[*groups[:-1], None])
    named = table.assign(task=groups)
    by_task = long_of(table).merge(named["task"], left_on="query_id", right_index=True)
    by_task["query_id"] = by_task.groupby(["task", "system"]).cumcount()  # as in each task
    for form in (named, by_task):
        found = compare_scores(form, groups="task", test="t")
        assert found.queries == list("hgfedcba")
        assert_allclose(found.means, compare_scores(by_hand).means)
    for name in ("groups", "stratify"):
        with pytest.raises(ValueError, match=f"{name} has masked entries"):
            compare_scores(by_hand, **{name: np.ma.array(strata, mask=strata)})
    with pytest.raises(ValueError, match="groups must name a column of scores, got 'kind'"):
        compare_scores(table, groups="kind")
    with pytest.raises(ValueError, match="several labels in one group"):
        compare_scores(table, groups=groups, stratify=np.arange(24) % 2)
    with pytest.raises(ValueError, match="stratify has missing labels"):
        compare_scores(table, groups=groups, stratify=[*np.repeat(strata, 3)[:-1], None])
    with pytest.raises(ValueError, match="groups must have one label per row, 24 in all"):
        compare_scores(table, groups=[1, 2])


def test_what_is_no_table_of_scores_is_refused(table):
    with pytest.raises(ValueError, match="1 cell is infinite: 'base' of 't2'"):
        compare_scores(table.replace(table.iloc[2, 1], np.inf).drop(columns="same"))
    with pytest.raises(ValueError, match="two systems or more"):
        compare_scores(table[["good"]])
    with pytest.raises(ValueError, match="scores must be numbers"):
        compare_scores(table.assign(base="high", weak="low"))
    twice = pd.concat([table["good"], table], axis=1)
    with pytest.raises(ValueError, match=r"the same name: \['good', 'good'\]"):
        compare_scores(twice)
    repeated = pd.concat([long_of(table), long_of(table)[-1:]])
    with pytest.raises(ValueError, match=r"two values or more of .*'t23'.*'weak'"):
        compare_scores(repeated)


@pytest.mark.parametrize("scores", ["scores.csv", Path("a.csv"), None, 3, {1, 2}, iter([])])
def test_what_is_no_table_at_all_is_a_wrong_type(scores):
    with pytest.raises(
        TypeError, match=r"compare_scores takes a (table, not a path|DataFrame)"
    ):
        compare_scores(scores)


def test_lines_for_other_forms_say_how_to_make_a_table(table):
    data = {**table, "Average": table.mean(axis=1)}
    message = (
        r"scores\.drop\(columns='Average'\).* a DataFrame: scores = pd\.DataFrame\(scores\)"
    )
    with pytest.raises(ValueError, match=message):
        compare_scores(data)
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"DataFrame: scores = scores\.to_pandas\(\)"):
        compare_scores(pa.table(pd.DataFrame(data).rename_axis("task").reset_index()))


def test_a_long_table_of_groups_without_rows_names_both_readings(table):
    long = pd.concat([long_of(table, "task"), long_of(table + 0.1, "task")])
    of_rows = table.assign(task=list("ab") * 12, model=0.5)
    assert len(compare_scores(of_rows, groups="task", test="t").queries) == 2
    with pytest.raises(ValueError, match="groups='task' is the only column that") as caught:
        compare_scores(long, groups="task")
    line = (
        "scores.groupby" + str(caught.value).split("scores.groupby")[1].split(" without")[0]
    )
    found = compare_scores(eval(line, {"scores": long}))
    assert_allclose(found.difference, compare_scores(table).difference)


def test_ranks_count_significantly_better_and_worse_systems(table):
    found = compare_scores(table)
    mean, significant = table.mean(), dict(zip(found.pairs, found.significant[:, 0]))
    frame = found.to_frame(per_run=True).loc["score"]
    for place, name in enumerate(SYSTEMS):
        others = [
            other
            for number, other in enumerate(SYSTEMS)
            if number != place and significant[tuple(sorted([place, number]))]
        ]
        n_above = sum(mean[other] > mean[name] for other in others)
        n_below = sum(mean[other] < mean[name] for other in others)
        assert frame.loc[name, "rank_low"] == 1 + n_above
        assert frame.loc[name, "rank_high"] == 4 - n_below
    assert frame["rank_low"].tolist() == [1, 2, 2, 4]
    assert frame["rank_high"].tolist() == [1, 3, 3, 4]


def test_many_systems_print_ranks_and_few_print_tiers(table):
    many = table[["good"]].to_numpy() + np.linspace(0, 0.5, 16)
    many += np.random.default_rng(1).normal(0, 0.1, size=many.shape)
    lines = str(compare_scores(pd.DataFrame(many))).splitlines()
    assert "ranks" in lines[1]
    assert " to " in lines[2][-8:]
    found = compare_scores(pd.DataFrame(many))
    last = found.rank_high[found.best_first[0, 0], 0]
    assert f"The first system by score may have any rank from 1 to {last}." in lines
    assert str(compare_scores(table)).splitlines()[2].endswith("A")
    assert "The first" not in str(compare_scores(table))


def test_many_systems_of_a_file_raise_no_warning_of_pandas():
    values = np.random.default_rng(0).normal(size=(12, 101))
    table = pd.DataFrame(values).add_prefix("m").rename_axis("task")
    read = pd.read_csv(io.StringIO(table.to_csv()), index_col="task")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare_scores(read, n_resamples=100).queries == list(map(str, range(12)))


@pytest.mark.parametrize(
    ("form", "options", "called"),
    [
        (lambda table: table, {}, "24 rows"),
        (lambda table: table.rename_axis("Task"), {}, "24 tasks"),
        (lambda table: table.rename_axis("dataset").reset_index(), {}, "24 datasets"),
        (lambda table: long_of(table, "topic", "run"), {}, "24 topics"),
        (long_of, {}, "24 queries"),
        (lambda table: table.T.rename_axis("model").reset_index(), {}, "24 tasks"),
        (lambda table: table.assign(task=list("ab") * 12), {"groups": "task"}, "2 tasks"),
        (lambda table: table, {"groups": [1, 2, 3] * 8}, "3 groups"),
        (lambda table: table.rename_axis("task")[:1], {}, "1 task,"),
    ],
)
@pytest.mark.filterwarnings("ignore:rows are systems", "ignore:by score no pair")
def test_rows_are_called_what_the_table_calls_them(form, options, called, table):
    found = compare_scores(form(table), test="t", **options)
    assert called in str(found).splitlines()[0] + ","
    assert called.strip(",") in found.method_sentence()
    pytest.importorskip("matplotlib")
    row = called.split()[1].strip(",").replace("queries", "query").removesuffix("s")
    assert f"<h2>{row.capitalize()} by {row}</h2>" in found.to_html()


def test_pictures_and_the_page_take_measures_of_any_name(table):
    pytest.importorskip("matplotlib")
    found = compare_scores(table)
    assert TiersDisplay.from_comparison(found).names[0] == "good"
    display = RunDifferencesDisplay.from_comparison(found, measure="score")
    assert "score" in display.ax_.get_ylabel()
    assert "good" in found.to_html()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_pairs", "by_t", "by_randomization"),
    [("trec_scores/adhoc8_ap", 8256, 0.374, 0.412), ("mteb_eng_v2", 5253, 0.666, 0.704)],
)
def test_published_systems_differ_significantly_as_often_as_before(
    name, n_pairs, by_t, by_randomization
):
    folder = os.environ.get("SKLEARN_TALR_DATA")
    if not folder:
        pytest.skip("SKLEARN_TALR_DATA names no folder of data")
    table = pd.read_csv(Path(folder, f"{name}.csv"))
    found = compare_scores(table, adjust="holm")
    assert len(found.pairs) == n_pairs
    assert found.significant.mean() == pytest.approx(by_randomization, abs=0.002)
    assert compare_scores(table, test="t").significant.mean() == pytest.approx(
        by_t, abs=1e-3
    )
    assert compare_scores(table).significant.mean() > by_t + 0.02  # by max-t
    assert not np.isnan(found.adjusted_p_value).any()
    worst = found.means[:, 0].argmin()
    assert found.rank_low[worst] > len(table.columns) / 2  # far from the first
