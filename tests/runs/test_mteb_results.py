"""Folders of results and objects of mteb, as a table of scores."""

import json
import warnings
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


def write(folder, model, revision, version=None, **tasks):
    """Write the files of a revision, and return its folder."""
    path = folder / model.replace("/", "__") / revision
    path.mkdir(parents=True)
    (path / "model_meta.json").write_text(json.dumps({"name": model}))
    for task, scores in tasks.items():
        content = {"task_name": task, "dataset_revision": version, "scores": scores}
        (path / f"{task}.v2.json").write_text(json.dumps(content))
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


def read(folder, **options):
    """Scores as a dict, and what was told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = read_mteb_results(folder, **options)
    assert all(each.filename == __file__ for each in caught)
    return scores.to_dict(), " ".join(str(each.message) for each in caught)


def test_splits_and_subsets_that_some_models_lack_do_not_count(tmp_path):
    """The two are equal where both have a score."""
    write(tmp_path, "a", "1", One={"test": entries(en=0.9)}, Two=DEV)
    both = {"test": entries(en=0.9, fr=0.1)}
    two = {"test": entries(default=0.9), "dev": entries(default=0.5)}
    write(tmp_path, "b", "1", One=both, Two=two)
    scores, told = read(tmp_path)
    assert scores["a"] == scores["b"] == {"One.v2": 0.9, "Two.v2": 0.5}
    assert "splits or subsets of One.v2, Two.v2 are left out" in told
    # In none of several subsets alike
    write(tmp_path, "c", "1", One={"test": entries(de=0.7)}, Two=two)
    scores, told = read(tmp_path)
    assert scores["c"] == {"Two.v2": 0.5}
    assert "1 of 2 tasks are left out" in told
    assert "One" not in read(tmp_path, subsets=["default"])[1]


def test_versions_of_data_are_not_mixed(tmp_path):
    for model, version in zip("abcd", ("x", "x", "y", None)):
        write(tmp_path, model, "1", version, One=ONE)
    for name in "ab":
        write(tmp_path, name, "2", "z", One=ONE, Two=DEV)
    for name in "cd":
        write(tmp_path, name, "2", None, Two=DEV, More=DEV)
    scores, told = read((tmp_path / name / "1" for name in "abcd"), tasks=["One.v2"])
    values = [scores[name]["One.v2"] for name in "abcd"]
    np.testing.assert_array_equal(values, [0.5, 0.5, np.nan, 0.5])
    assert "versions of the data of One.v2 are left out" in told
    scores, told = read(tmp_path, tasks=["Two.v2"])
    assert [scores[name]["Two.v2"] for name in "abcd"] == [0.375] * 4
    assert told == ""


def test_percentages_beside_fractions_are_refused(tmp_path):
    percent = {"test": entries(en=75.0, fr=0.25)}
    write(tmp_path, "a", "1", Languages=percent)
    assert read(tmp_path)[0] == {"a": {"Languages.v2": 37.625}}
    write(tmp_path, "b", "1", Languages=LANGUAGES)
    message = r"Languages.v2 are percentages for a and fractions for b"
    with pytest.raises(ValueError, match=message):
        read_mteb_results(tmp_path)


def test_files_of_other_tasks_are_not_opened(folder):
    (folder / "a__c" / "1" / "Broken.json").write_text("{")
    tasks = ["Dev.v2", "Languages.v2"]
    assert read_mteb_results(folder, tasks).loc["Dev.v2", "a/c"] == 0.375
    with pytest.raises(ValueError, match=r"Broken\.json does not have the scores"):
        read_mteb_results(folder)


def test_objects_of_one_model_are_put_together():
    """As evaluations of some tasks at a time return them; all of their splits count."""
    tasks = [SimpleNamespace(task_name=name, scores=ONE) for name in ("One", "Two")]
    model = {"model_name": "a/b", "model_revision": None}
    results = [SimpleNamespace(**model, task_results=[task]) for task in tasks]
    assert read_mteb_results(results[0]).to_dict() == {"a/b": {"One": 0.3}}
    both = read_mteb_results(iter(results))
    assert both.to_dict() == {"a/b": {"One": 0.3, "Two": 0.3}}


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
    with pytest.raises(ValueError, match=r"a file model_meta\.json"):
        read_mteb_results(tmp_path)
    write(tmp_path, "n", "1", One=ONE)
    path = write(tmp_path, "m", "1", Old=DEV)
    with pytest.raises(ValueError, match="no task is common to all models"):
        read_mteb_results(tmp_path)
    for text in ("{", "[]", "{}", '{"scores": {"test": [{"main_score": 1}, 2]}}'):
        (path / "Old.v2.json").write_text(text)
        with pytest.raises(
            ValueError, match=r"Old\.v2\.json does not have the scores of a task"
        ):
            read_mteb_results(tmp_path)


def test_the_command_compares_folders_of_results(tmp_path, capsys):
    rng, folders = np.random.default_rng(0), []
    for model, gain in (("ours", 0.1), ("theirs", 0.0)):
        scores = 0.5 + gain + rng.normal(0, 0.02, 12)
        tasks = {f"T{n}": {"test": entries(default=s)} for n, s in enumerate(scores)}
        folders.append(str(write(tmp_path, model, "1", **tasks)))
    for paths in (folders, [str(tmp_path)]):
        assert main(["compare", *paths, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        wanted = compare_scores(read_mteb_results(folders)).to_dict()
        assert found["n_queries"] == 12
        assert [row["rank_high"] for row in found["runs"]] == [1, 2]
        assert found["pairs"][0]["p_value"] == wanted["pairs"][0]["p_value"]
