"""Judgments and runs in memory, in the forms of other libraries."""

from collections import namedtuple

import numpy as np
import pandas as pd
import pytest

from sklearn_talr.runs import Qrels, Run, compare_scores

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": -1}}
RUN = {"q1": {"d2": 1.5, "d1": 1.5, "d3": -2.0}, "q2": {"d1": 0.25}}


class HasPandas:
    """What data sets of Hugging Face and tables of Arrow offer."""

    def __init__(self, data):
        self.column_names, self.to_pandas = list(data), lambda: data


def triples(data):
    return [(q, d, value) for q, inner in data.items() for d, value in inner.items()]


def frame(data, *columns, **kwargs):
    return pd.DataFrame(triples(data), columns=list(columns), **kwargs)


def records(data, *columns):
    return [dict(zip(columns, triple)) for triple in triples(data)]


class Doc(namedtuple("Doc", "query_id doc_id score")):
    """A row as ir_measures has it."""


def test_dicts_of_dicts():
    assert Qrels(QRELS).to_dict() == QRELS
    run = Run(RUN)
    assert run.to_dict() == RUN
    assert run.queries == ["q1", "q2"]
    assert run.name == "run"
    assert repr(run) == "Run 'run' of 2 queries, 4 documents"
    assert repr(Qrels({1: {"d": 1}})) == "Qrels of 1 query, 1 document"


@pytest.mark.parametrize(
    "columns", ["query_id doc_id", "query-id corpus-id", "qid docno", "q_id corpus_id"]
)
def test_frames_and_records_by_the_names_of_their_columns(columns):
    columns = columns.split()
    for value in ("relevance", "score", "label"):
        assert Qrels(frame(QRELS, *columns, value)).to_dict() == QRELS
        assert Qrels(records(QRELS, *columns, value)).to_dict() == QRELS
        assert Qrels(HasPandas(frame(QRELS, *columns, value))).to_dict() == QRELS
    assert Run(frame(RUN, *columns, "score")).to_dict() == RUN
    assert Run(records(RUN, *columns, "score")).to_dict() == RUN


def test_named_tuples_and_iterators_of_them():
    rows = [Doc(*triple) for triple in triples(RUN)]
    assert Run(rows).to_dict() == RUN
    assert Run(iter(rows)).to_dict() == RUN


class LikeRanx:
    """What Qrels and Run of ranx offer."""

    def __init__(self, data, name=None):
        self.data, self.name = data, name

    def to_dict(self):
        return self.data


def ranx_classes():
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    return ranx.Qrels, ranx.Run


@pytest.mark.parametrize(
    "classes",
    [
        lambda: (LikeRanx, LikeRanx),
        pytest.param(ranx_classes, marks=pytest.mark.slow),  # which compiles for a minute
    ],
)
def test_ranx(classes):
    theirs_qrels, theirs_run = classes()
    qrels = {"q1": {"d1": 2, "d2": 1}}
    assert Qrels(theirs_qrels(qrels)).to_dict() == qrels
    run = Run(theirs_run(RUN, name="theirs"))
    assert run.to_dict() == RUN
    assert run.name == "theirs"


def test_repeated_documents_are_found_wherever_they_are():
    """Also among so many that rows of other documents share their slots."""
    n = 140_000
    rows = pd.DataFrame({"query_id": "q", "doc_id": np.arange(n).astype(str), "score": 0.0})
    assert len(Run(rows).to_dict()["q"]) == n
    for first, second in [(0, n - 1), (70_000, 70_001), (7, 131_079)]:
        repeated = rows.copy()
        repeated.loc[second, "doc_id"] = str(first)
        with pytest.raises(ValueError, match=f"query 'q' has document '{first}' twice"):
            Run(repeated)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({"q": {"d": np.nan}}, ValueError, "scores must be finite numbers, got nan"),
        ({"q": {"d": np.inf}}, ValueError, "scores must be finite numbers, got inf"),
        ({"q": {"d": "high"}}, ValueError, "must be numbers: .* not str. Convert them"),
        ({"q": {"d": 1.0, "e": "1_0"}}, ValueError, "must be numbers: .* not str"),
        ({"q": {"d": b"3"}}, ValueError, "must be numbers: .* not bytes"),
        ({"q": {"d": np.datetime64("2020")}}, ValueError, "must be numbers: float"),
        ({"q": {"d": 10**400}}, ValueError, "must be numbers: int too large"),
        ({"q": {"d": 1j}}, ValueError, "must be numbers: .* not complex"),
        ({"q": {"d": None}}, ValueError, "must be numbers: .* not NoneType"),
        ({"q": {"\ud800": 1.0}}, ValueError, r"must be text, got '\\ud800'"),
        ({"\ud800": {"d": 1.0}}, ValueError, r"must be text, got '\\ud800'"),
        ({False: {"d": 1.0}}, TypeError, "strings or integers, got False"),
        ([Doc("q", "d", 1), None], ValueError, "all records must be like the first"),
        ([Doc("q", "d", 1), {"query_id": 1}], ValueError, "all records must be like"),
        (
            [{"qid": "q", "docno": "d", "score": 1}, {"qid": "q"}],
            ValueError,
            "must be like the first, with qid, docno, score: 'docno'",
        ),
        (
            pd.DataFrame({"qid": ["q", pd.NA], "docno": ["d", "e"], "score": [1, 2]}),
            TypeError,
            "queries must be strings or integers",
        ),
        (
            pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": ["2"]}),
            ValueError,
            "must be numbers: .* not str",
        ),
        (Qrels(QRELS), TypeError, "Run takes no Qrels. Judgments come first"),
        ({"q": {"d": [1.0]}}, ValueError, "must be numbers"),
        ({"q": {"d" * 1_025: 1.0}}, ValueError, "1024 bytes at most, got one of 1025"),
        ({"q": {"d\0": 1.0}}, ValueError, "must not contain the character NUL"),
        ({"q": {"": 1.0}}, ValueError, "must not be empty"),
        ({"q": {1.5: 1.0}}, TypeError, r"strings or integers, got 1\.5"),
        ({(1, 2): {"d": 1.0}}, TypeError, r"strings or integers, got \(1, 2\)"),
        ({"q": ["d"]}, TypeError, "Run takes a dict of dicts"),
        ({"q": "d"}, TypeError, r"data\[query\]\[document\] is a number, got 'd'\.$"),
        ({"q": 3}, TypeError, r"data\[query\]\[document\] is a number, got 3\.$"),
        (
            frame(RUN, "qid", "docno", "distance"),
            ValueError,
            r"'score' is needed.* pass data\.assign\(score=-data\['distance'\]\)",
        ),
        (3, TypeError, "Run takes a dict of dicts, a DataFrame, or records"),
        (["q d 1.0"], TypeError, "records that are dicts or named tuples, got 'q d 1.0'"),
        ([{"query_id": "q"}], ValueError, "a column 'doc_id' or .* is needed"),
        (pd.DataFrame({"query_id": ["q"]}), ValueError, "a column 'doc_id' or"),
    ],
)
def test_bad_runs_are_refused(data, error, message):
    with pytest.raises(error, match=message):
        Run(data)


@pytest.mark.parametrize("grade", [-0.5, np.nan, np.inf, 2.0**60])
def test_bad_judgments_are_refused(grade):
    with pytest.raises(ValueError, match=r"must be integers, or real .*got .*swapped\?"):
        Qrels({"q": {"c": 1, "d": grade}})
    with pytest.raises(ValueError, match=r"real gains from 0 on, got -2\.0"):
        Qrels({"q": {"c": 0.5, "d": -2}})


def test_of_two_columns_nobody_knows_which_counts():
    rows = pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": [0.5], "label": [2]})
    message = "'score' and 'label' could both be meant: rename one to 're"
    with pytest.raises(ValueError, match=message):
        Qrels(rows)
    assert Qrels(rows.rename(columns={"label": "relevance"})).to_dict() == {"q": {"d": 2}}
    assert Run(rows).to_dict() == {"q": {"d": 0.5}}


@pytest.mark.parametrize("form", [set, frozenset, lambda some: dict.fromkeys(some).keys()])
def test_sets_have_the_relevant_documents_of_each_query(form):
    """The evaluator of sentence-transformers takes judgments in this form."""
    relevant = {"q1": form(["d2", "d1"]), 2: form([7]), "q3": form([])}
    qrels = Qrels(relevant)
    assert qrels.to_dict() == {"q1": {"d1": 1, "d2": 1}, "2": {"7": 1}, "q3": {}}


HITS = [[{"corpus_id": 3, "score": 0.9}, {"corpus_id": 1, "score": 0.7}], []]
LINES = {
    "lists": (Qrels, {"q": ["d1", "d2"]}, {"q": {"d1": 1, "d2": 1}}),
    "arrays": (Qrels, {"q": np.array(["d1"])}, {"q": {"d1": 1}}),
    "rankings": (Run, {"q": ("d1", "d2")}, {"q": {"d1": 0.0, "d2": -1.0}}),
    "Series": (Run, {"q": pd.Series({"d1": 2.0})}, {"q": {"d1": 2.0}}),
    "hits by query": (Run, {"q": HITS[0]}, {"q": {"3": 0.9, "1": 0.7}}),
    "hits": (Run, HITS, {"q": {"3": 0.9, "1": 0.7}}),
    "triples": (Run, [("q", "d", 1.0)], {"q": {"d": 1.0}}),
    "lists of triples": (Qrels, [["q", "d", 1]], {"q": {"d": 1}}),
}


@pytest.mark.parametrize("name", LINES)
def test_forms_that_do_not_say_what_they_are_name_the_line_that_does(name):
    form, data, wanted = LINES[name]
    with pytest.raises(TypeError, match=f"{form.__name__} takes ") as caught:
        form(data)
    message = str(caught.value)
    start = min(
        place for word in ("{query:", "pd.DataFrame(") if (place := message.find(word)) > 0
    )
    names = {"data": data, "pd": pd, "queries": ["q", "p"]}
    assert form(eval(message[start:].rstrip("."), names)).to_dict() == wanted


def test_a_series_names_the_line_that_makes_a_table():
    for form, data in ((Run, RUN), (Qrels, QRELS)):
        table = frame(data, "query_id", "doc_id", "x")
        values = table.set_index(["query_id", "doc_id"])["x"]
        with pytest.raises(TypeError, match="takes no Series") as caught:
            form(values)
        line = str(caught.value).split("pass ")[1].rstrip(".")
        assert form(eval(line, {"data": values})).to_dict() == data
    with pytest.raises(TypeError, match="Run takes a dict of dicts"):
        Run({"q": {"d1", "d2"}})


def test_of_a_data_set_one_split_is_taken():
    splits = type("DatasetDict", (dict,), {"column_names": {"train": [], "test": []}})
    for form in (Qrels, Run, compare_scores):
        message = r"one split .* train, test: pass data\['train'\]"
        with pytest.raises(TypeError, match=message):
            form(splits())
