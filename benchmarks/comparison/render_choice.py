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
NEW_ROWS = SCALING.with_name("new_rows.csv")
SMALL = SCALING.with_name("choice.csv")
SETS = {
    "cifar10": "CIFAR-10",
    "coco17": "COCO",
    "tmc2007": "TMC2007",
    "fashion_mnist": "Fashion-MNIST",
    "digits": "Digits",
    "scenes": "Scenes, NDCG",
}
N_BITS = 32
SMALL_METHODS = "two stages", "hidden layer", "linear"
# Title; method among new rows, and its column; method of the comparison, for the rest
CHOICES = [
    (
        "two stages, ``AdditiveHasher`` second",
        ("two stages, additive", "new_weighted"),
        "kernel + additive words",
    ),
    ("two stages, ``TALRHasher`` second", ("two stages", "new"), "kernel + TALR-AP"),
    (
        'hidden layer, ``loss="nDCG"``',
        ("hidden layer", "new"),
        "TALR-NDCG, hidden layer",
    ),
    ("linear, ``TALRHasher()``", ("linear", "new"), "TALR-AP"),
    ("ITQ, no labels", ("ITQ", "new"), "ITQ"),
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
    names = [name for name in SETS if name not in ("digits", "scenes")]
    rows = []
    for title, (method, column), compared in CHOICES:
        cells = [number(of_new_rows(name, method, column)) for name in names]
        cells.append(number(mean(results["scenes"], compared, "ndcg")))
        microseconds = mean(results["cifar10"], compared, "encode_seconds_per_million")
        queries = "weighted" if "weighted" in column else "binary"
        rows.append([title, queries, *cells, f"{microseconds:.0f}"])
    head = [SETS[name] for name in (*names, "scenes")]
    return list_table(["method", "queries", *head, "µs a row"], rows)


def of_new_rows(name, method, column):
    """Mean AP over splits, among items that nothing was trained on."""
    values = [
        float(row[column])
        for row in read(NEW_ROWS)
        if (row["data"], row["method"]) == (name, method)
    ]
    return float(np.mean(values))


def small_sets():
    """AP of three hashers on small sets, and what a search by cross-validation takes."""
    cells = {}
    for row in read(SMALL):
        cells.setdefault((row["data"], row["method"]), []).append(row)
    body = []
    for name in dict.fromkeys(name for name, _ in cells):
        ap = {
            method: np.array([float(row["ap"]) for row in cells[name, method]])
            for method in SMALL_METHODS
        }
        chosen = list(dict.fromkeys(row["chosen"] for row in cells[name, "search"]))
        spread = max((ap[m] - ap["two stages"]).std(ddof=1) for m in SMALL_METHODS[1:])
        means = [number(ap[m].mean()) for m in SMALL_METHODS]
        error = number(spread / np.sqrt(len(ap["two stages"])))
        body.append([name, *means, error, ", ".join(chosen)])
    return list_table(["set", *SMALL_METHODS, "± of a difference", "searches took"], body)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


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
    rows = read(path)
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
        "small": small_sets(),
    }


def main():
    for name, text in texts().items():
        (PAGE / f"{name}.txt").write_text(text)


if __name__ == "__main__":
    main()
