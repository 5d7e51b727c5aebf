"""Results that mteb has kept, as a table of scores."""

import json
from os import PathLike
from pathlib import Path

import numpy as np

from .._compat import validated
from .._progress import warn_caller
from .._types import Any, Column, DataFrame
from ._result import import_pandas


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
        Names of the tasks. None takes those that all models have.

    subsets : list of str, default=None
        Names of the subsets that count, such as languages. None takes all of a task.
        Leaderboards may take fewer: ``["default", "en", "en-en"]`` are those of
        MTEB(eng, v2).

    Returns
    -------
    scores : DataFrame of shape (n_tasks, n_models)
        Main scores, which :func:`compare_scores` takes. The score of a task is the mean
        over its subsets, as in mteb: those of the split "test", or of all splits where a
        task has no such split. NaN where a model lacks one of the `tasks`.

    Raises
    ------
    ValueError
        If a folder has no results, a file is none of mteb's, no model has one of the
        `tasks`, no task is common to all models, or two revisions of a model have as many
        of the tasks. Of several revisions the one that has most of them is read.

    ImportError
        If pandas is not installed.

    Warns
    -----
    UserWarning
        If `tasks` is None and tasks are left out that some models lack.

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
    scores = {}  # by model and revision, then by task
    for each in [results] if is_one else results:
        if hasattr(each, "task_results"):
            column = {r.task_name: _mean(r.scores, subsets) for r in each.task_results}
            scores[each.model_name, each.model_revision] = column
            continue
        metas = sorted(Path(each).rglob("model_meta.json"))
        if not metas:
            raise ValueError(f"{each} has no results of mteb: no model_meta.json is there.")
        for meta in metas:
            files = sorted(set(meta.parent.glob("*.json")) - {meta})
            column = {file.stem: _score(file, subsets) for file in files}
            scores[_read(meta)["name"], str(meta.parent)] = column
    frame = import_pandas().DataFrame(scores).sort_index().rename_axis("task")
    if tasks is not None:
        frame = frame.reindex(dict.fromkeys(tasks))
        unknown = frame.index[frame.isna().all(axis=1)]
        if len(unknown):
            raise ValueError(f"no model has {', '.join(map(str, unknown[:3]))}.")

    # Of each model the revision that has most tasks
    chosen = []
    for model, n_tasks in frame.notna().sum().groupby(level=0, sort=False):
        most = n_tasks.index[n_tasks == n_tasks.max()].tolist()
        if len(most) > 1:
            raise ValueError(
                f"{len(most)} revisions of {model} have {n_tasks.max()} of the tasks: "
                f"{', '.join(str(revision) for _, revision in most)}. Pass one of them."
            )
        chosen += most
    frame = frame[chosen].set_axis([model for model, _ in chosen], axis=1)
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


def _score(path, subsets):
    """Score of a file of a task, or an error that names the file."""
    try:
        scores = _read(path)["scores"]
        return _mean({"test": scores["test"]} if "test" in scores else scores, subsets)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no file of a task's scores: {error!r}.") from error


def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _mean(splits, subsets):
    """Mean main score over the subsets that count; NaN without one."""
    entries = [entry for split in splits.values() for entry in split]
    counted = [e for e in entries if subsets is None or e["hf_subset"] in subsets]
    values = np.array([entry["main_score"] for entry in counted], dtype=float)
    return values.mean() if len(values) else np.nan
