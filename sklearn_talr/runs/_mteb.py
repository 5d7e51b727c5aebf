"""Tables of scores from mteb's results."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from os import PathLike
from typing import NamedTuple

import numpy as np

from .._core.compat import validated
from .._core.progress import warn_caller
from .._core.types import Any, Column, DataFrame
from ._result import import_pandas
from ._sources import Source, local_path

# Warnings name the first tasks.
_N_TASKS_NAMED = 3


@validated(tasks=["array-like", None], subsets=["array-like", None])
def read_mteb_results(
    results: Any, tasks: Column = None, *, subsets: Column = None
) -> DataFrame:
    """Read main scores of models from folders of mteb's results.

    It needs pandas, but not mteb.

    Parameters
    ----------
    results : str, path-like, results of mteb, or iterable of them
        Folders of mteb's results repository or cache, with ``model/revision/Task.json``
        beside ``model_meta.json``: a folder of models, of one model or of one revision. Or
        mteb's objects `ModelResult` and `BenchmarkResults`, in which all splits count.

    tasks : list of str, default=None
        Names of the tasks; files of other tasks are not opened. None takes the tasks that
        all models have.

    subsets : list of str, default=None
        Names of the subsets that count, such as languages. None takes all subsets of a
        task. Leaderboards may take fewer: MTEB(eng, v2) takes ``["default", "en",
        "en-en"]``.

    Returns
    -------
    scores : DataFrame of shape (n_tasks, n_models)
        Main scores, which :func:`compare_scores` takes. The score of a task is the mean
        over its subsets, as in mteb: the subsets of the split "test", or of all splits if
        there is no such split. Only splits and subsets count that all models with the task
        have, in the version of the data (``dataset_revision``) that most models have; a
        file without a version counts with every version. NaN if a model lacks one of the
        `tasks`.

    Raises
    ------
    ValueError
        If a folder has no results, a file is not in mteb's format, no model has one of the
        `tasks`, no task is common to all models, some scores of a task are percentages and
        others fractions, or two revisions of a model tie for the most tasks. If a model has
        several revisions, the one with the most tasks is read.

    ImportError
        If pandas is not installed.

    Warns
    -----
    UserWarning
        If scores are left out because some models lack them: tasks (if `tasks` is None),
        splits, subsets, or other versions of the data.

    See Also
    --------
    compare_scores : Tests which models are better.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_talr.runs import read_mteb_results
    >>> with TemporaryDirectory() as folder:
    ...     for model, score in (("ours", 0.75), ("theirs", 0.5)):
    ...         revision = Path(folder, model, "1")
    ...         revision.mkdir(parents=True)
    ...         _ = (revision / "model_meta.json").write_text(json.dumps({"name": model}))
    ...         scores = {"test": [{"hf_subset": "default", "main_score": score}]}
    ...         _ = (revision / "STS12.json").write_text(json.dumps({"scores": scores}))
    ...     scores = read_mteb_results(folder)
    >>> scores
           ours  theirs
    task
    STS12  0.75     0.5
    """
    is_single = isinstance(results, str | PathLike) or hasattr(results, "task_results")
    results = [results] if is_single else list(results)
    revisions = _read_revisions(results, tasks, subsets)
    names = _names_of_tasks(revisions, tasks)
    models = [
        _revision_with_most_tasks(model, revisions, names)
        for model in dict.fromkeys(revision.model for revision in revisions)
    ]
    # All splits of mteb's objects count.
    prefers_test = not all(hasattr(result, "task_results") for result in results)
    by_task = {name: _compared_task(name, models, prefers_test) for name in names}
    frame = import_pandas().DataFrame(
        {name: task.means for name, task in by_task.items()},
        index=[revision.model for revision in models],
        dtype=float,
    )
    frame = frame.T.rename_axis("task")
    _warn_of_parts(
        [name for name, task in by_task.items() if task.lacks_cells], "splits or subsets"
    )
    _warn_of_parts(
        [name for name, task in by_task.items() if task.lacks_versions],
        "versions of the data",
    )
    return _tasks_of_all_models(frame) if tasks is None else frame


class _TaskScores(NamedTuple):
    """Main scores of a model in a task.

    Parameters
    ----------
    version : str or None
        Revision of the data.

    scores : dict of (str, str) to float64
        By split and subset.
    """

    version: str | None
    scores: dict


@dataclass(frozen=True)
class _Revision:
    """Scores of a revision of a model.

    Parameters
    ----------
    model, revision : str

    tasks : dict of str to _TaskScores
    """

    model: str
    revision: str
    tasks: dict

    @property
    def key(self):
        """Model and revision, which identify the revision."""
        return self.model, self.revision

    def n_scored(self, names):
        """How many of the named tasks have scores."""
        return sum(bool(self.tasks[name].scores) for name in names if name in self.tasks)


def _read_revisions(results, tasks, subsets):
    """Revisions of folders and of mteb's objects, each once.

    If two objects have the same revision, later scores of a task replace earlier ones. A
    repeated folder counts once.
    """
    revisions = {}
    for result in results:
        if hasattr(result, "task_results"):
            revision = _revision_of_object(result, subsets)
            previous = revisions.get(revision.key)
            if previous is not None:
                revision = replace(revision, tasks=previous.tasks | revision.tasks)
            revisions[revision.key] = revision
        else:
            for revision in _revisions_of_folder(result, tasks, subsets):
                revisions[revision.key] = revision
    return list(revisions.values())


def _revision_of_object(result, subsets):
    """Scores of mteb's object `ModelResult`."""
    scores = {
        task.task_name: _TaskScores(
            getattr(task, "dataset_revision", None), _scores_by_subset(task.scores, subsets)
        )
        for task in result.task_results
    }
    return _Revision(result.model_name, result.model_revision, scores)


def _revisions_of_folder(folder, tasks, subsets):
    """Revisions of all models in a folder, whose names are their paths."""
    metas = sorted(local_path(folder).rglob("model_meta.json"))
    if not metas:
        raise ValueError(
            f"{folder} has no results of mteb, which have a file model_meta.json."
        )
    for meta in metas:
        files = sorted(set(meta.parent.glob("*.json")) - {meta})
        if tasks is not None:
            files = [file for file in files if file.stem in set(tasks)]
        scores = {file.stem: _task_of_file(file, subsets) for file in files}
        yield _Revision(_read_json(meta)["name"], str(meta.parent), scores)


def _names_of_tasks(revisions, tasks):
    """Names of the tasks that count, or an error if no model has one of them."""
    with_scores = {
        name
        for revision in revisions
        for name, task in revision.tasks.items()
        if task.scores
    }
    if tasks is None:
        return sorted(with_scores)
    names = list(dict.fromkeys(tasks))
    missing = [name for name in names if name not in with_scores]
    if missing:
        raise ValueError(f"no model has {', '.join(map(str, missing[:3]))}.")
    return names


def _revision_with_most_tasks(model, revisions, names):
    """The revision of a model with the most tasks; an error if several have as many."""
    n_scored = {
        revision.revision: revision.n_scored(names)
        for revision in revisions
        if revision.model == model
    }
    most = max(n_scored.values())
    with_most = [revision for revision, n_tasks in n_scored.items() if n_tasks == most]
    if len(with_most) > 1:
        raise ValueError(
            f"{len(with_most)} revisions of {model} have {most} of the tasks: "
            f"{', '.join(map(str, with_most))}. Pass one of them."
        )
    return next(
        revision
        for revision in revisions
        if revision.model == model and revision.revision == with_most[0]
    )


class _ComparedTask(NamedTuple):
    """Scores of one task that are common to all models that have it.

    Parameters
    ----------
    means : dict of str to float
        Mean score, by model.

    lacks_cells : bool
        Whether some model has splits or subsets that others lack.

    lacks_versions : bool
        Whether some models have another version of the data.
    """

    means: dict
    lacks_cells: bool
    lacks_versions: bool


def _compared_task(name, models, prefers_test):
    """Average the splits and subsets of a task that are common to all its models."""
    with_scores = {
        revision.model: revision.tasks[name]
        for revision in models
        if name in revision.tasks and revision.tasks[name].scores
    }
    n_models = Counter(task.version for task in with_scores.values() if task.version)
    # A file that names no version counts with all.
    versions = {None, *dict(n_models.most_common(1))}
    scores = {
        model: task.scores
        for model, task in with_scores.items()
        if task.version in versions
    }
    cells = [set(by_cell) for by_cell in scores.values()]
    test_cells = [
        {(split, subset) for split, subset in model_cells if split == "test"}
        for model_cells in cells
    ]
    if prefers_test and all(test_cells):
        cells = test_cells
    common = sorted(set.intersection(*cells)) if cells else []
    table = np.array([[by_cell[cell] for cell in common] for by_cell in scores.values()])
    _refuse_mixed_units(name, list(scores), table)
    return _ComparedTask(
        means=dict(zip(scores, table.mean(axis=1))) if common else {},
        lacks_cells=any(len(model_cells) > len(common) for model_cells in cells),
        lacks_versions=len(n_models) > 1,
    )


def _refuse_mixed_units(name, models, table):
    """Raise an error if some models have percentages, and others fractions.

    Parameters
    ----------
    name : str
        Name of the task.

    models : list of str

    table : ndarray of shape (n_models, n_cells)
    """
    are_percentages = [np.abs(row).max(initial=0) > 1 for row in table]
    if any(are_percentages) and not all(are_percentages):
        raise ValueError(
            f"the scores of {name} are percentages for "
            f"{models[np.argmax(are_percentages)]} and fractions for "
            f"{models[np.argmin(are_percentages)]}: divide the percentages by 100."
        )


def _warn_of_parts(tasks, parts):
    """Warn of parts of some tasks that are left out."""
    if tasks:
        named = ", ".join(tasks[:_N_TASKS_NAMED])
        if len(tasks) > _N_TASKS_NAMED:
            named += " and others"
        warn_caller(f"{parts} of {named} are left out, because some models lack them.")


def _tasks_of_all_models(frame):
    """The tasks that all models have; a warning if there are others."""
    common = frame.dropna()
    if common.empty:
        raise ValueError("no task is common to all models; pass tasks.")
    if len(common) < len(frame):
        warn_caller(
            f"{len(frame) - len(common)} of {len(frame)} tasks are left out, because "
            "some models have no score for them.",
        )
    return common


def _task_of_file(path, subsets):
    """Scores of a task, or an error that names the file."""
    try:
        content = _read_json(path)
        version = content.get("dataset_revision")
        return _TaskScores(version, _scores_by_subset(content["scores"], subsets))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} does not have the scores of a task: {error!r}."
        ) from error


def _read_json(path):
    with Source(path) as source:
        return json.loads(source.content())


def _scores_by_subset(splits, subsets):
    """Main scores of the subsets that count, by split and subset; none that is NaN."""
    scores = {}
    for split, entries in splits.items():
        for entry in entries:
            subset = entry["hf_subset"]
            score = np.float64(entry["main_score"])
            if not np.isnan(score) and (subsets is None or subset in subsets):
                scores[split, subset] = score
    return scores
