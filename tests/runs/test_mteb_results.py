"""Folders of results and objects of mteb, as a table of scores."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sklearn_talr.runs import compare_scores, read_mteb_results
from sklearn_talr.runs.__main__ import main

pd = pytest.importorskip("pandas")


def entries(**scores):
    return [{"hf_subset": name, "main_score": score} for name, score in scores.items()]


ONE = {"validation": entries(default=0.1), "test": entries(default=0.5)}
LANGUAGES = {"test": entries(en=0.75, fr=0.25)}
DEV = {"dev": entries(default=0.5), "train": entries(default=0.25)}


def write(folder, model, revision, **tasks):
    """Write the files of a revision, and return its folder."""
    path = folder / model.replace("/", "__") / revision
    path.mkdir(parents=True)
    (path / "model_meta.json").write_text(json.dumps({"name": model}))
    for task, scores in tasks.items():
        text = json.dumps({"task_name": task, "scores": scores})
        (path / f"{task}.v2.json").write_text(text)
    return path


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "a/b", "1", One=ONE, Languages=LANGUAGES, Dev=DEV)
    write(tmp_path, "a/b", "2", One={"test": entries(default=0.9)}, Dev=DEV)
    write(tmp_path, "a/c", "1", Languages=LANGUAGES, Dev=DEV)
    return tmp_path


def test_means_of_the_test_split_of_the_revision_with_most_tasks(folder):
    with pytest.warns(UserWarning, match="1 of 3 tasks are left out"):
        scores = read_mteb_results(folder)
    wanted = pd.DataFrame({name: [0.375, 0.5] for name in ("a/b", "a/c")})
    wanted.index = pd.Index(["Dev.v2", "Languages.v2"], name="task")
    pd.testing.assert_frame_equal(scores, wanted)
    assert compare_scores(scores).queries == list(wanted.index)
    tasks = ["One.v2", "Languages.v2"]
    scores = read_mteb_results(str(folder), tasks, subsets=["default", "en"])
    np.testing.assert_array_equal(scores, [[0.5, np.nan], [0.75, 0.75]])
    both = [folder / "a__b" / "2", folder / "a__c"]
    assert read_mteb_results(both, ["One.v2"]).loc["One.v2", "a/b"] == 0.9


def test_objects_of_mteb():
    """All of their splits count."""
    task = SimpleNamespace(task_name="One", scores=ONE)
    model = SimpleNamespace(model_name="a/b", model_revision=None, task_results=[task])
    for results in (model, iter([model])):
        assert read_mteb_results(results).to_dict() == {"a/b": {"One": 0.3}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": ["STS"]}, "no model has STS"),
        ({"subsets": ["fr"], "tasks": ["Dev.v2"]}, r"no model has Dev\.v2"),
        ({"tasks": ["One.v2"]}, r"2 revisions of a/b have 1 .*Pass one of them"),
        ({"tasks": "STS"}, "'tasks' parameter"),
    ],
)
def test_what_is_asked_for_must_be_there(folder, options, message):
    with pytest.raises(ValueError, match=message):
        read_mteb_results(folder, **options)


def test_other_folders_and_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no model_meta\.json is there"):
        read_mteb_results(tmp_path)
    write(tmp_path, "n", "1", One=ONE)
    path = write(tmp_path, "m", "1", Old=DEV)
    with pytest.raises(ValueError, match="no task is common to all models"):
        read_mteb_results(tmp_path)
    for text in ("{", "[]", "{}", '{"scores": {"test": [{"main_score": 1}, 2]}}'):
        (path / "Old.v2.json").write_text(text)
        with pytest.raises(ValueError, match=r"Old\.v2\.json is no file of a task's"):
            read_mteb_results(tmp_path)


def test_the_command_compares_folders_of_results(tmp_path, capsys):
    rng, folders = np.random.default_rng(0), []
    for model, gain in (("ours", 0.1), ("theirs", 0.0)):
        scores = 0.5 + gain + rng.normal(0, 0.02, 12)
        tasks = {
            f"T{n}": {"test": entries(default=score)} for n, score in enumerate(scores)
        }
        folders.append(str(write(tmp_path, model, "1", **tasks)))
    for paths in (folders, [str(tmp_path)]):
        assert main(["compare", *paths, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        wanted = compare_scores(read_mteb_results(folders)).to_dict()
        assert found["n_queries"] == 12
        assert [row["rank_high"] for row in found["runs"]] == [1, 2]
        assert found["pairs"][0]["p_value"] == wanted["pairs"][0]["p_value"]
