"""Results that mteb has kept, as a table of scores."""

import json
from collections import Counter
from os import PathLike

import numpy as np

from .._compat import validated
from .._progress import warn_caller
from .._types import Any, Column, DataFrame
from ._result import import_pandas
from ._sources import Source, local_path


@validated(tasks=["array-like", None], subsets=["array-like", None])
def read_mteb_results(
    results: Any, tasks: Column = None, *, subsets: Column = None
) -> DataFrame:
    """Read main scores of models from folders of mteb's results.

    mteb is not needed; pandas is.

    Parameters
    ----------
    results : str, path-like, results of mteb, or iterable of them
        Folders as mteb's results repository and its cache have them:
        ``model/revision/Task.json`` beside ``model_meta.json``. A folder of models, of one
        model or of one revision. Or mteb's objects `ModelResult` and `BenchmarkResults`,
        of which all splits count.

    tasks : list of str, default=None
        Names of the tasks; files of others are not opened. None takes those that all
        models have.

    subsets : list of str, default=None
        Names of the subsets that count, such as languages. None takes all of a task.
        Leaderboards may take fewer: ``["default", "en", "en-en"]`` are those of
        MTEB(eng, v2).

    Returns
    -------
    scores : DataFrame of shape (n_tasks, n_models)
        Main scores, which :func:`compare_scores` takes. The score of a task is the mean
        over its subsets, as in mteb: those of the split "test", or of all splits where a
        task has no such split. Splits and subsets count that all models have that have the
        task, of that version of its data (``dataset_revision``) which most of them have;
        a file that names none counts with all. NaN where a model lacks one of the `tasks`.

    Raises
    ------
    ValueError
        If a folder has no results, a file is none of mteb's, no model has one of the
        `tasks`, no task is common to all models, some scores of a task are percentages and
        others fractions, or two revisions of a model have as many of the tasks. Of several
        revisions the one that has most of them is read.

    ImportError
        If pandas is not installed.

    Warns
    -----
    UserWarning
        If scores are left out that some models lack: tasks, if `tasks` is None, splits,
        subsets, or other versions of the data.

    See Also
    --------
    compare_scores : Which models are better.

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
    is_one = isinstance(results, str | PathLike) or hasattr(results, "task_results")
    results = [results] if is_one else list(results)
    scores = {}  # by model and revision, then by task
    for each in results:
        if hasattr(each, "task_results"):
            column = scores.setdefault((each.model_name, each.model_revision), {})
            for result in each.task_results:
                version = getattr(result, "dataset_revision", None)
                column[result.task_name] = version, _by_subset(result.scores, subsets)
            continue
        folder = local_path(each)
        metas = sorted(folder.rglob("model_meta.json"))
        if not metas:
            raise ValueError(f"{each} has no results of mteb: no model_meta.json is there.")
        for meta in metas:
            files = sorted(set(meta.parent.glob("*.json")) - {meta})
            files = [f for f in files if tasks is None or f.stem in set(tasks)]
            column = {file.stem: _of_file(file, subsets) for file in files}
            scores[_read(meta)["name"], str(meta.parent)] = column

    known = {task for column in scores.values() for task, of in column.items() if of[1]}
    names = sorted(known) if tasks is None else list(dict.fromkeys(tasks))
    unknown = [task for task in names if task not in known]
    if unknown:
        raise ValueError(f"no model has {', '.join(map(str, unknown[:3]))}.")

    # Of each model the revision that has most tasks
    n_tasks = {
        key: sum(bool(column[task][1]) for task in names if task in column)
        for key, column in scores.items()
    }
    chosen = {}
    for model in dict.fromkeys(model for model, _ in scores):
        of_model = {key[1]: n for key, n in n_tasks.items() if key[0] == model}
        most = [revision for revision, n in of_model.items() if n == max(of_model.values())]
        if len(most) > 1:
            raise ValueError(
                f"{len(most)} revisions of {model} have {of_model[most[0]]} of the tasks: "
                f"{', '.join(map(str, most))}. Pass one of them."
            )
        chosen[model] = scores[model, most[0]]

    # Of each task what is common to all models that have it
    only_test = not all(hasattr(each, "task_results") for each in results)
    rows, in_part, versions = {}, [], []
    for task in names:
        found = {m: column[task] for m, column in chosen.items() if task in column}
        counts = Counter(version for version, of in found.values() if of and version)
        usual = {None, *dict(counts.most_common(1))}
        found = {m: of for m, (version, of) in found.items() if of and version in usual}
        cells = list(map(set, found.values()))
        tests = [{cell for cell in of if cell[0] == "test"} for of in cells]
        cells = tests if only_test and all(tests) else cells
        common = sorted(set.intersection(*cells)) if cells else []
        versions += [task] * (len(counts) > 1)
        in_part += [task] * any(len(of) > len(common) for of in cells)
        table = np.array([[of[cell] for cell in common] for of in found.values()])
        are_large = [np.abs(row).max(initial=0) > 1 for row in table]
        if any(are_large) and not all(are_large):
            raise ValueError(
                f"of {task} {list(found)[np.argmax(are_large)]} has percentages, and "
                f"{list(found)[np.argmin(are_large)]} fractions: divide by 100."
            )
        rows[task] = dict(zip(found, table.mean(axis=1))) if common else {}
    frame = import_pandas().DataFrame(rows, index=list(chosen), dtype=float).T
    frame = frame.rename_axis("task")
    for some, what in ((in_part, "splits or subsets"), (versions, "versions of the data")):
        if some:
            warn_caller(
                f"of {', '.join(some[:3])}{' and others' * (len(some) > 3)} {what} are "
                "left out that some models lack.",
            )
    if tasks is not None:
        return frame

    # Tasks that all models have
    common = frame.dropna()
    if common.empty:
        raise ValueError("no task is common to all models; pass tasks.")
    if len(common) < len(frame):
        warn_caller(
            f"{len(frame) - len(common)} of {len(frame)} tasks are left out, as some "
            "models have no score of them.",
        )
    return common


def _of_file(path, subsets):
    """Version of the data and scores of a task, or an error that names the file."""
    try:
        content = _read(path)
        return content.get("dataset_revision"), _by_subset(content["scores"], subsets)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no file of a task's scores: {error!r}.") from error


def _read(path):
    with Source(path) as source:
        return json.loads(source.content())


def _by_subset(splits, subsets):
    """Main scores of the subsets that count, by split and subset; none that is NaN."""
    found = {}
    for split, entries in splits.items():
        for entry in entries:
            subset, score = entry["hf_subset"], np.float64(entry["main_score"])
            if score == score and (subsets is None or subset in subsets):
                found[split, subset] = score
    return found
