"""Who is best for a number of bytes, and which methods the figures name."""

from typing import NamedTuple

import numpy as np
from _methods import SCORES, TAUGHT_RIVALS
from _tables import as_figure

# What the figures draw in color, as the other pictures of the guide do; all else is gray.
NAMED = (
    "kernel + additive words",
    "additive words",  # where there are no labels to teach
    "kernel + TALR-AP",
    "TALR-NDCG, hidden layer",
    "TALR-AP",
    "ITQ",
)
FLOATS = "kernel scores"


class Score(NamedTuple):
    """A figure of a method: the mean over splits, its standard error, and their number."""

    method: str
    mean: float
    error: float
    n_splits: int


def score(method, rows, column):
    """The score of rows, or None if they have no such figure."""
    values = [row[column] for row in rows if row[column] is not None]
    if not values:
        return None
    n = len(values)
    error = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    return Score(method, float(np.mean(values)), error, n)


def standings(results, column, n_bytes):
    """Scores of all methods that take so many bytes or fewer, the best first.

    Of each method its longest code that fits counts, on the splits where all named methods
    ran. What did not run on all of them is left out, and so are losses that were only
    compared behind the teacher.
    """
    fitting = {}
    for method in results.methods():
        rows = [r for r in results.within_bytes(method, n_bytes) if r[column] is not None]
        if rows and method not in (*TAUGHT_RIVALS, *SCORES):
            fitting[method] = rows
    splits = {method: {row["seed"] for row in rows} for method, rows in fitting.items()}
    named = [seeds for method, seeds in splits.items() if method in NAMED]
    shared = (
        set.intersection(*named) if named else max(splits.values(), default=set(), key=len)
    )
    scores = [
        score(method, [row for row in rows if row["seed"] in shared], column)
        for method, rows in fitting.items()
        if shared <= splits[method]
    ]
    return sorted(scores, key=lambda each: -each.mean)


def leaders(results, column, n_bytes):
    """The best score and all within its standard error, the best first."""
    scores = standings(results, column, n_bytes)
    return [each for each in scores if each.mean >= scores[0].mean - scores[0].error]


def standings_table(sets, metrics, budgets, kinds):
    """A row for each kind of query and number of bytes, a column for each set.

    Cells are lists of lines: the best mean, its method, and the methods within one standard
    error of it.
    """
    heads = [[title, metric.upper()] for (title, _), metric in zip(sets, metrics)]
    rows = [[[], *heads]]
    for kind, end in kinds.items():
        for n_bytes in budgets:
            cells = [
                _cell(leaders(results, metric + end, n_bytes))
                for (_, results), metric in zip(sets, metrics)
            ]
            rows.append([[f"{kind}", "query,", f"{n_bytes} bytes"], *cells])
    return rows


def _cell(scores):
    if not scores:
        return []
    first, *others = scores
    lines = [f"**{as_figure(first.mean)}**", first.method]
    return lines + [f"*{each.method}*" for each in others]


def describe(title, metric, results, budgets, kinds):
    """The words of a chart: the figures of its named methods."""
    sentences = []
    for kind, end in kinds.items():
        for n_bytes in budgets:
            found = [
                score(m, results.of_bytes(m, n_bytes), metric + end)
                for m in results.methods()
                if m in NAMED
            ]
            found = sorted(filter(None, found), key=lambda each: -each.mean)
            figures = "; ".join(f"{each.method} {as_figure(each.mean)}" for each in found)
            if figures:
                kind_and_size = f"By {kind} queries at {n_bytes} bytes, best first"
                sentences.append(f"{kind_and_size}: {figures}.")
    floats = score(FLOATS, results.select(FLOATS, 0), f"{metric}_float")
    if floats:
        sentences.append(f"Floats of the teacher: {as_figure(floats.mean)}.")
    return f"{title}, {metric.upper()}. {' '.join(sentences)}"
