"""Ranks and distances as scores: in all forms of a run they are refused or told of."""

import itertools
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from sklearn_talr.runs import Run, evaluate_run, read_run

QRELS = {f"q{i}": {f"d{i}_0": 1, f"d{i}_3": 1} for i in range(10)}
RANKS = {q: {f"d{q[1:]}_{j}": float(j + 1) for j in range(10)} for q in QRELS}
DISTANCES = {
    q: dict(zip(documents, np.linspace(0.1, 0.9, 10).tolist()))
    for q, documents in RANKS.items()
}


def rows_of(run):
    return [
        (q, d, rank, score) for q in run for rank, (d, score) in enumerate(run[q].items())
    ]


def table_of(run):
    columns = ["query_id", "doc_id", "rank", "score"]
    return pd.DataFrame(rows_of(run), columns=columns).assign(
        rank=lambda rows: rows["rank"] + 1
    )


def written(path, run, form):
    table = table_of(run)
    if form == "trec":
        lines = [f"{q} Q0 {d} {r} {s} t\n" for q, d, r, s in table.to_numpy().tolist()]
        path.write_text("".join(lines))
    elif form == "tsv":
        table.to_csv(path, sep="\t", index=False)
    elif form == "json":
        path.write_text(json.dumps(run))
    elif form == "jsonl":
        table.drop(columns="rank").to_json(path, orient="records", lines=True)
    else:
        table.to_parquet(path)
    return path


DECLARED = {
    "table": lambda run, path: table_of(run),
    "records": lambda run, path: table_of(run).to_dict("records"),
    "named tuples": lambda run, path: list(table_of(run).itertuples(index=False)),
    "shuffled table": lambda run, path: table_of(run).sample(frac=1, random_state=0),
    "sorted by score": lambda run, path: table_of(run).sort_values(
        "score", ascending=False
    ),
    "trec": lambda run, path: written(path / "run.txt", run, "trec"),
    "tsv": lambda run, path: written(path / "run.tsv", run, "tsv"),
    "parquet": lambda run, path: written(path / "run.parquet", run, "parquet"),
}
STORED = {
    "dict": lambda run, path: run,
    "table": lambda run, path: table_of(run).drop(columns="rank"),
    "table of unlike ranks": lambda run, path: table_of(run).assign(rank=0),
    "records": lambda run, path: table_of(run).drop(columns="rank").to_dict("records"),
    "json": lambda run, path: written(path / "run.json", run, "json"),
    "jsonl": lambda run, path: written(path / "run.jsonl", run, "jsonl"),
}


@pytest.mark.parametrize("run", [RANKS, DISTANCES], ids=["ranks", "distances"])
@pytest.mark.parametrize("form", DECLARED)
def test_scores_that_rise_with_the_declared_rank_are_refused(form, run, tmp_path):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    data = DECLARED[form](run, tmp_path)
    with pytest.raises(ValueError, match=r"scores (rise with|are the ranks|count)"):
        evaluate_run(QRELS, data, "AP")
    turned = {q: {d: -score for d, score in found.items()} for q, found in run.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = DECLARED[form](turned, tmp_path)
        found = evaluate_run(QRELS, data, "AP").means["AP"]["expected"]
    assert found == pytest.approx(0.75)


@pytest.mark.parametrize("run", [RANKS, DISTANCES], ids=["ranks", "distances"])
@pytest.mark.parametrize("form", STORED)
def test_scores_that_rise_as_stored_are_told_of(form, run, tmp_path):
    data = STORED[form](run, tmp_path)
    with pytest.warns(UserWarning, match="stored by rising scores.* -distances") as caught:
        evaluate_run(QRELS, data, "AP")
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_rank_alone_is_read_and_the_remedies_run():
    table = table_of(DISTANCES)
    ranked = Run(table.drop(columns="score")).to_dict()
    assert ranked["q0"] == {f"d0_{j}": -(j + 1.0) for j in range(10)}
    assert list(ranked["q0"]) == list(RANKS["q0"])
    run = table
    want = evaluate_run(QRELS, run.assign(score=-run["score"]), "AP").means
    assert want == evaluate_run(QRELS, ranked, "AP").means
    with pytest.warns(UserWarning, match="stored by rising scores"):
        Run(run.drop(columns="rank"))


def test_similarities_as_distances_are_told_of():
    documents = [f"d{i}" for i in range(6)]
    similar = np.sort(np.random.default_rng(0).random((4, 6)))[:, ::-1]
    indices = np.tile(np.arange(6), (4, 1))
    with pytest.warns(UserWarning, match="stored by rising scores.*-distances"):
        Run.from_neighbors(similar, indices, list("abcd"), documents)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = Run.from_neighbors(-similar, indices, list("abcd"), documents)
    tables = [pd.DataFrame(each, index=list("abcd")) for each in (-similar, indices)]
    assert Run.from_neighbors(*tables, list("abcd"), documents).to_dict() == run.to_dict()
    for name, pair in (("distances", (tables[0][::-1], tables[1])),):
        with pytest.raises(
            ValueError, match=f"{name} has the same labels in another order"
        ):
            Run.from_neighbors(*pair, list("abcd"), documents)


@pytest.mark.parametrize("seed", range(30))
def test_runs_of_any_order_raise_no_false_alarm(seed):
    """A share of 2**-10 of all orders of rows may, and no order of best first."""
    rng = np.random.default_rng(seed)
    runs = {
        "one document each": {f"q{i}": {"d": float(i)} for i in range(40)},
        "equal scores": {f"q{i}": dict.fromkeys(map(str, range(9)), 1.0) for i in range(9)},
        "any order": {
            f"q{i}": dict(zip(map(str, range(5)), rng.random(5).tolist())) for i in range(9)
        },
        "two of one query": {"q": {"a": 1.0, "b": 2.0}},
        "best first": {q: dict(reversed(found.items())) for q, found in RANKS.items()},
        "one query falls": {**RANKS, "q": {"a": 2.0, "b": 1.0}},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for run in runs.values():
            Run(run)
        worst_last = table_of(runs["best first"])
        Run(worst_last)
        # Stored worst first, and its ranks say so
        Run(worst_last[::-1])
        Run(worst_last.assign(rank=None))
    assert worst_last["rank"].iloc[0] == 1


def test_the_share_of_orders_that_are_told_of_is_that_of_chance():
    """Of two queries of four documents 1 of 576 orders rises, which is no surprise."""
    n_told = 0
    for order in itertools.permutations(range(4)):
        for other in itertools.permutations(range(4)):
            run = {"a": dict(zip("wxyz", order)), "b": dict(zip("wxyz", other))}
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                Run(run)
            n_told += len(caught)
    assert n_told == 0  # one in 576 is no surprise
    with pytest.warns(UserWarning, match="stored by rising scores"):
        Run({q: dict(zip("wxyz", range(4))) for q in "abc"})


def test_a_run_that_was_told_of_is_pickled_and_read_in_silence(tmp_path):
    import pickle

    with pytest.warns(UserWarning, match="stored by rising scores"):
        run = Run(RANKS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(run)).to_dict() == run.to_dict()
        assert Run(run.to_dict()).to_dict() == run.to_dict()
        assert evaluate_run(QRELS, run, "AP", judged_only=True).queries == list(QRELS)
    with pytest.raises(FileNotFoundError):
        read_run(tmp_path / "nowhere")
