"""Tables of scores: their forms, what is refused, and what is found in them."""

import io
import os
import warnings
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
        lambda table: table.rename_axis("what it is").reset_index(),
        lambda table: table.set_axis(range(401, 425)).rename_axis("qid").reset_index(),
        long_of,
        lambda table: long_of(table, "task_name", "model_name", "main_score"),
        lambda table: long_of(table, "query-id", "run", "score", measure="score", k=1),
        lambda table: long_of(table).to_dict("records"),
        lambda table: long_of(table, "Task", "Model Name", "Score"),
        lambda table: table.rename_axis("topic").reset_index().rename(columns=str.title),
        lambda table: pd.read_csv(io.StringIO(table.to_csv())),  # "Unnamed: 0"
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
        message = "the table is turned. Its tasks are t0"
        with pytest.warns(UserWarning, match=message) as told:
            found = compare_scores(form, test="t")
        assert told[0].filename == __file__
        assert found.to_dict() == wanted
        assert found.queries == list(table.index)
    with pytest.raises(ValueError, match="may name queries or systems, each once"):
        compare_scores(pd.concat([form, form]))
    message = r"turn the table by scores\.set_index\('name'\)\.T"
    with pytest.raises(ValueError, match=message):
        compare_scores(form.rename(columns={name: "name"}))
    numbers = {"baseline": table["base"], "model": table["good"]}  # a system of this name
    assert compare_scores(numbers).names == ["baseline", "model"]


def test_what_is_no_score_is_left_out_and_told(table):
    wanted = compare_scores(table).to_dict()
    more = table.assign(is_open=True, Rank=range(24), **{"Rank (Borda)": 1.0})
    with pytest.warns(UserWarning, match="left out: 'is_open', 'Rank', 'Rank .Borda.'"):
        assert compare_scores(more).to_dict() == wanted
    numbered = table.reset_index(drop=True).to_csv()  # with "Unnamed: 0", 0 to 23
    found = compare_scores(pd.read_csv(io.StringIO(numbered)))
    assert found.to_dict() == wanted
    hits = table > table.mean()
    found = compare_scores(hits)  # of bool alone these are the scores
    assert_allclose(found.means[:, 0], hits.mean())


def test_a_long_table_whose_values_have_the_names_of_measures(table):
    long = long_of(table, value="ap").assign(rr=lambda rows: 1 - rows["ap"])
    found = compare_scores(long, test="t")
    assert found.measures == ["ap", "rr"]
    assert found.names == SYSTEMS
    assert_allclose(found.means, np.stack([table.mean(), 1 - table.mean()], axis=1))
    numbered = long.assign(system=long["system"].map(SYSTEMS.index)).drop(columns="rr")
    assert compare_scores(numbered, test="t").names == list("0123")
    by_index = numbered.set_index(["query_id", "system"])["ap"]
    assert_allclose(compare_scores(by_index, test="t").means[:, 0], table.mean())
    with pytest.raises(ValueError, match="has a column 'value', 'score' or 'main_score'"):
        compare_scores(long.assign(metric="AP"))
    with pytest.raises(ValueError, match="'score' and 'main_score' one counts"):
        compare_scores(long.assign(score=0.5, main_score=1.0))
    # A query comes once: these are two systems, the second of which is called run
    wide = pd.DataFrame({"query": range(24), "ap": table["base"], "run": table["good"]})
    assert compare_scores(wide).names == ["ap", "run"]


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
    assert "the least mean is the best" in found.method_sentence()
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


def test_equal_systems_are_not_separated(table):
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
    with pytest.raises(ValueError, match="no row without a missing cell: leave out"):
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
    with pytest.raises(ValueError, match="rows of one group must have one label"):
        compare_scores(table, groups=groups, stratify=np.arange(24))
    with pytest.raises(ValueError, match="groups must have one label for each of the 24"):
        compare_scores(table, groups=[1, 2])


def test_what_is_no_table_of_scores_is_refused(table):
    with pytest.raises(ValueError, match="1 cell is infinite: 'base' of 't2'"):
        compare_scores(table.replace(table.iloc[2, 1], np.inf).drop(columns="same"))
    with pytest.raises(ValueError, match="two systems or more"):
        compare_scores(table[["good"]])
    with pytest.raises(ValueError, match="scores must be numbers"):
        compare_scores(table.assign(base="high", weak="low"))
    twice = pd.concat([table["good"], table], axis=1)
    with pytest.raises(ValueError, match=r"of one name: \['good', 'good'\]"):
        compare_scores(twice)
    repeated = pd.concat([long_of(table), long_of(table)[-1:]])
    with pytest.raises(ValueError, match=r"two values or more of .*'t23'.*'weak'"):
        compare_scores(repeated)


def test_ranks_count_what_is_separated(table):
    found = compare_scores(table)
    mean, separated = table.mean(), dict(zip(found.pairs, found.separated[:, 0]))
    frame = found.to_frame(per_run=True).loc["score"]
    for place, name in enumerate(SYSTEMS):
        others = [
            other
            for number, other in enumerate(SYSTEMS)
            if number != place and separated[tuple(sorted([place, number]))]
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
    assert f"The first by score may have any of the ranks 1 to {last}." in lines
    assert str(compare_scores(table)).splitlines()[2].endswith("A")
    assert "The first" not in str(compare_scores(table))


def test_many_systems_of_a_file_raise_no_warning_of_pandas():
    values = np.random.default_rng(0).normal(size=(12, 105))
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
def test_published_tables_of_many_systems_are_separated(
    name, n_pairs, by_t, by_randomization
):
    folder = os.environ.get("SKLEARN_TALR_DATA")
    if not folder:
        pytest.skip("SKLEARN_TALR_DATA names no folder of data")
    table = pd.read_csv(Path(folder, f"{name}.csv"))
    found = compare_scores(table, adjust="holm")
    assert len(found.pairs) == n_pairs
    assert found.separated.mean() == pytest.approx(by_randomization, abs=0.002)
    assert compare_scores(table, test="t").separated.mean() == pytest.approx(by_t, abs=1e-3)
    assert compare_scores(table).separated.mean() > by_t + 0.02  # by max-t
    assert not np.isnan(found.adjusted_p_value).any()
    worst = found.means[:, 0].argmin()
    assert found.rank_low[worst] > len(table.columns) / 2  # far from the first
