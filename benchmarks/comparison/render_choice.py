"""The tables of the page "Choose a method", from the results of the comparison.

    python render_choice.py

A few methods and facts out of ``results`` and of ``../results/scaling.csv``, as
reStructuredText that the page includes.
"""

import csv
from pathlib import Path

import numpy as np
from _results import Results
from compare_methods import RESULTS

PAGE = Path(__file__).parents[2] / "docs" / "user_guide" / "comparison"
SCALING = Path(__file__).parents[1] / "results" / "scaling.csv"
SETS = {
    "cifar10": "CIFAR-10",
    "coco17": "COCO",
    "tmc2007": "TMC2007",
    "fashion_mnist": "Fashion-MNIST",
    "digits": "Digits",
    "scenes": "Scenes, NDCG",
}
N_BITS = 32
# Name, method of the comparison, kind of queries, its column of the results
CHOICES = [
    (
        "two stages, ``AdditiveHasher`` second",
        "kernel + additive words",
        "weighted",
        "ap_float",
    ),
    ("two stages, ``TALRHasher`` second", "kernel + TALR-AP", "binary", "ap"),
    ('hidden layer, ``measure="nDCG"``', "TALR-NDCG, hidden layer", "binary", "ap"),
    ("linear, ``TALRHasher()``", "TALR-AP", "binary", "ap"),
    ("ITQ, no labels", "ITQ", "binary", "ap"),
]
# The same for the question whether a classifier is enough, with bytes of an item
CLASSIFIERS = [
    ("predicted class, a bit for each class", "kernel one-hot", "ap"),
    ("linear ``TALRHasher()``, 32 bits", "TALR-AP", "ap"),
    ("two stages, ``TALRHasher`` second, 32 bits", "kernel + TALR-AP", "ap"),
    (
        "two stages, ``AdditiveHasher`` second, 32 bits",
        "kernel + additive words",
        "ap_float",
    ),
    ("probabilities as floats on both sides", "kernel scores", "ap_float"),
]
SCALINGS = {
    "as they are": "as they are",
    "standardized": "``StandardScaler``",
    "unit length": "centered, unit length",
}
SCALED = {
    "linear": "linear",
    "hidden layer": "hidden layer",
    "teacher, TALR": "two stages",
    "teacher, additive": "two stages, weighted",
    "logistic, additive": "logistic, weighted",
}


def number(value):
    """A measure as the guide writes it."""
    return "" if value is None else f"{value:.3f}".lstrip("0")


def mean(results, method, column):
    """Mean over splits, or None."""
    values = [row[column] for row in results.select(method, N_BITS)]
    values = [value for value in values if value is not None]
    return float(np.mean(values)) if values else None


def list_table(head, rows):
    """A list table: a head and rows of cells."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (head, *rows):
        first, *others = row
        lines += [f"   * - {first}", *(f"     - {cell}".rstrip() for cell in others)]
    return "\n".join(lines) + "\n"


def choices(results):
    """What each choice reaches on each set, and what a row costs."""
    rows = []
    for title, method, queries, column in CHOICES:
        columns = [column.replace("ap", "ndcg") if s == "scenes" else column for s in SETS]
        cells = [number(mean(results[s], method, c)) for s, c in zip(SETS, columns)]
        microseconds = mean(results["cifar10"], method, "encode_seconds_per_million")
        rows.append([title, queries, *cells, f"{microseconds:.0f}"])
    return list_table(["method", "queries", *SETS.values(), "µs a row"], rows)


def classifiers(results):
    """AP and bytes of an item: predicted classes beside codes and floats."""
    names = [name for name in SETS if name != "scenes"]
    rows = []
    for title, method, column in CLASSIFIERS:
        cells = []
        for name in names:
            n_bytes = mean(results[name], method, "bytes")
            cells.append(f"{number(mean(results[name], method, column))} ({n_bytes:.0f})")
        rows.append([title, *cells])
    head = [f"{SETS[name]}, AP (bytes)" for name in names]
    return list_table(["codes", *head], rows)


def scaling(path=SCALING):
    """AP by the scale of features, means over splits."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    sets = list(dict.fromkeys(row["data"] for row in rows))
    cells = {}
    for row in rows:
        key = row["data"], row["scaling"], row["method"]
        cells.setdefault(key, []).append(float(row["ap"]))
    body = [
        [f"{SETS[name]}, {title}"]
        + [number(float(np.mean(cells[name, scale, method]))) for method in SCALED]
        for name in sets
        for scale, title in SCALINGS.items()
    ]
    return list_table(["features", *SCALED.values()], body)


def texts():
    """What the page includes, by the name of the file."""
    results = {name: Results(RESULTS / f"{name}-defaults.csv") for name in SETS}
    return {
        "choice": choices(results),
        "classifier": classifiers(results),
        "scaling": scaling(),
    }


def main():
    for name, text in texts().items():
        (PAGE / f"{name}.txt").write_text(text)


if __name__ == "__main__":
    main()
