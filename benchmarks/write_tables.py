"""Write the tables of the guide from the results: ``docs/user_guide/tables/*.csv``.

    python benchmarks/write_tables.py

Each function of `TABLES` returns the rows of one table, its head first. Tables of studies
that are not repeated have no function here; their files stay as they were measured.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "docs"))
from method_styles import SETS  # noqa: E402

RESULTS, COMPARISON = HERE / "results", HERE / "comparison" / "results"
PAGES = HERE.parent / "docs" / "user_guide" / "tables"
TABLES = {}


def table(function):
    TABLES[function.__name__] = function
    return function


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def mean(rows, figure, digits=3):
    """The mean of a figure; an empty cell if no row has it."""
    values = [float(row[figure]) for row in rows if row[figure]]
    return f"{np.mean(values):.{digits}f}" if values else ""


def pivot(rows, figure, lines, columns, head, digits=3):
    """A line for each value in `lines`, a cell for each in `columns`: pairs of title and
    of what a row must have."""
    body = []
    for title, of_line in lines:
        cells = []
        for _, of_column in columns:
            wanted = (of_line | of_column).items()
            some = [row for row in rows if all(row[name] == v for name, v in wanted)]
            cells.append(mean(some, figure, digits))
        if any(cells):
            body.append([title, *cells])
    return [[head, *(title for title, _ in columns)], *body]


METHODS = [
    "AdditiveHasher",
    "faiss ResidualQuantizer",
    "faiss ResidualQuantizer, beam 16",
    "faiss OPQ+PQ",
    "faiss LocalSearchQuantizer",
    "AdditiveHasher, single bits",
    "ITQHasher",
]


def of_embeddings(figure, metrics, digits=3, sizes=("8", "16", "32"), sets=SETS):
    rows = read(RESULTS / "embeddings.csv")
    lines = [
        (f"{SETS[name]}, {metric.replace('_', ' ')}, {size} bytes",
         {"data": name, "metric": metric, "n_bytes": size})
        for size in sizes
        for metric in metrics
        for name in sets
    ]  # fmt: skip
    first = [row for row in rows if row["seed"] == "0"]
    columns = [(method, {"method": method}) for method in METHODS]
    found = pivot(first, figure, lines, columns, "items", digits)
    kept = [i for i in range(len(found[0])) if any(row[i] for row in found[1:])]
    return [[row[i] for i in kept] for row in found]


@table
def embeddings_cosine():
    return of_embeddings("recall", ["cosine"])


@table
def embeddings_lengths():
    return of_embeddings("recall", ["inner_product", "euclidean"], sizes=["16"])


@table
def embeddings_splits():
    rows = read(RESULTS / "embeddings.csv")
    lines = [
        (f"{SETS[name]}, {size} bytes, split {seed}",
         {"data": name, "metric": "cosine", "n_bytes": size, "seed": seed})
        for size in ("8", "16")
        for name in SETS
        for seed in ("1", "2")
    ]  # fmt: skip
    columns = [(method, {"method": method}) for method in METHODS[:2]]
    return pivot(rows, "recall", lines, columns, "items")


@table
def embeddings_raw():
    rows = read(RESULTS / "embeddings.csv")
    lines = [
        (f"raw GIST of scenes, {size} bytes, split {seed}",
         {"data": "raw scenes", "metric": "cosine", "n_bytes": size, "seed": seed})
        for size, seeds in (("8", "012"), ("16", "012"), ("32", "0"))
        for seed in seeds
    ]  # fmt: skip
    columns = [(method, {"method": method}) for method in METHODS[:2]]
    return pivot(rows, "recall", lines, columns, "items")


@table
def embeddings_seconds():
    fit = of_embeddings("fit_seconds", ["cosine"], 1, sets=["text"])
    encode = of_embeddings("encode_seconds", ["cosine"], 1, sets=["text"])
    body = []
    for (title, *fits), (_, *encodes) in zip(fit[1:], encode[1:]):
        cells = [" / ".join(filter(None, pair)) for pair in zip(fits, encodes)]
        body.append([title.split(", ")[-1], *cells])
    return [["fit / encode, s", *fit[0][1:]], *body]


@table
def embeddings_axes():
    """Of RaBitQ and TurboQuant what finds most counts, of 1, 2 and 4 bits an axis."""
    families = {
        '`method="axes"`': "AdditiveHasher, axes",
        "RaBitQ": "faiss RaBitQ",
        "TurboQuant": "TurboQuant",
    }
    best = {}
    for row in read(RESULTS / "embeddings.csv"):
        for title, start in families.items():
            key = row["data"], row["metric"], row["n_bytes"], title
            is_of_table = row["seed"] == "0" and row["data"] in SETS
            if is_of_table and row["method"].startswith(start):
                best[key] = max(row["recall"], best.get(key, "0"))
    names = "data", "metric", "n_bytes", "title", "recall"
    rows = [dict(zip(names, [*key, recall])) for key, recall in best.items()]
    sizes = [(f"{n} bytes", {"n_bytes": str(n)}) for n in (8, 16, 32, 64, 128, 192)]
    lines = [
        (f"{SETS[data]}{', inner product' * (metric != 'cosine')}: {title}",
         {"data": data, "metric": metric, "title": title})
        for data, metric in dict.fromkeys(key[:2] for key in best)
        for title in families
    ]  # fmt: skip
    return pivot(rows, "recall", lines, sizes, "recall of ten")


@table
def embeddings_few_dims_splits():
    """Recall of ten with 32 bytes on other splits, beside the best rival."""
    rows = read(RESULTS / "embeddings.csv")
    methods = {
        "AdditiveHasher": "AdditiveHasher",
        '`method="axes"`': "AdditiveHasher, axes",
        "faiss RQ": "faiss ResidualQuantizer",
    }
    names = dict.fromkeys(
        (row["data"], row["metric"]) for row in rows if "dims" in row["data"]
    )
    lines = [
        (f"{data.replace('cifar10', 'CIFAR-10')}, {metric.replace('_', ' ')}, split {seed}",
         {"data": data, "metric": metric, "n_bytes": "32", "seed": seed})
        for data, metric in names
        for seed in ("1", "2")
    ]  # fmt: skip
    columns = [(title, {"method": method}) for title, method in methods.items()]
    return pivot(rows, "recall", lines, columns, "items, 32 bytes")


@table
def embeddings_few_dims():
    """Recall of ten, and CPU seconds of the fit, beside quantizers with all their bytes."""
    titles = {
        "AdditiveHasher": "AdditiveHasher",
        "AdditiveHasher, axes": '`method="axes"`',
        "faiss OPQ+PQ": "faiss OPQ+PQ",
        "faiss ResidualQuantizer": "faiss RQ",
    }
    rows = read(RESULTS / "embeddings.csv")
    figures = {}
    for row in rows:
        # Rivals were measured on the first split.
        if "dims" in row["data"] and row["seed"] == "0":
            figure = f"{mean([row], 'recall')} ({float(row['fit_seconds']):.1f} s)"
            figures[row["data"], row["metric"], row["n_bytes"], row["method"]] = figure
    names = dict.fromkeys(key[:2] for key in figures)
    found = [["items", *titles.values()]]
    for size in ("16", "32", "64"):
        for data, metric in names:
            cells = [figures.get((data, metric, size, method), "") for method in titles]
            if any(cells):
                name = data.replace("cifar10", "CIFAR-10")
                title = f"{name}, {metric.replace('_', ' ')}, {size} bytes"
                found.append([title, *cells])
    kept = [i for i in range(len(found[0])) if any(row[i] for row in found[1:])]
    return [[row[i] for i in kept] for row in found]


# Beginnings of names in the results, and what the tables call them
STAGES = {"kernel + ": "classifier, ", "logistic + ": "logistic regression, "}
SECOND = {"additive words": "`AdditiveHasher`", "additive": "`AdditiveHasher`, single bits"}


def title_of(method):
    for start, title in STAGES.items():
        if method.startswith(start):
            second = method.removeprefix(start)
            return title + SECOND.get(second, second)
    return SECOND.get(method, method)


def has_classifier(method):
    return method.startswith(tuple(STAGES))


def longest_codes(n_bytes):
    """Rows of the comparison, of the longest codes that an item stores in so many bytes.

    Additive codes store a scale factor beside the bits, so that their codes are shorter.
    """
    rows = []
    for name in ("cifar10", "coco17", "tmc2007", "fashion_mnist", "digits", "scenes"):
        measure = "ndcg" if name == "scenes" else "ap"
        for row in read(COMPARISON / f"{name}-defaults.csv"):
            if row["bytes"] and float(row["bytes"]) == n_bytes:
                queries = {"binary": row[measure], "weighted": row[f"{measure}_float"]}
                rows.append(row | queries)
    longest = {}
    for row in rows:
        key = row["data"], row["method"]
        longest[key] = max(longest.get(key, 0), int(row["n_bits"]))
    return [r for r in rows if int(r["n_bits"]) == longest[r["data"], r["method"]]]


def compared(n_bytes, is_shown):
    """Means with binary and with weighted queries, of the methods that are shown."""
    rows = [row for row in longest_codes(n_bytes) if is_shown(row["method"])]
    methods = sorted(dict.fromkeys(row["method"] for row in rows), key=has_classifier)
    columns = [
        (SETS[name] + ", NDCG" * (name == "scenes"), {"data": name})
        for name in dict.fromkeys(row["data"] for row in rows)
    ]
    lines = [(title_of(method), {"method": method}) for method in methods]
    cells = {}
    for queries in ("binary", "weighted"):
        head, *body = pivot(rows, queries, lines, columns, "method")
        cells[queries] = {title: values for title, *values in body}
    nothing = [""] * len(columns)
    found = [head]
    for title, weighted in cells["weighted"].items():
        pairs = zip(cells["binary"].get(title, nothing), weighted)
        found.append([title, *(f"{b or 'none'} / {w}" if w else "" for b, w in pairs)])
    return found


# Forms of additive codes that the library does not choose any more
FORMER = "additive bits, addend", "additive words, addend"


@table
def comparison_4_bytes():
    return compared(4, lambda name: not has_classifier(name) and name not in FORMER)


@table
def comparison_two_stages_4_bytes():
    return compared(4, has_classifier)


@table
def comparison_8_bytes():
    return compared(8, lambda name: name not in FORMER)


@table
def ties_width():
    """Best minus worst AP over all orders of ties, by the number of bits."""
    titles = {"TALR-AP": "linear `TALRHasher`", "ITQ": "`ITQHasher`"}
    rows = [
        row | {"width": float(row["ap_best"]) - float(row["ap_worst"])}
        for row in read(COMPARISON / "cifar10-defaults.csv")
        if row["method"] in titles
    ]
    lines = [(title, {"method": method}) for method, title in titles.items()]
    columns = [(f"{n} bits", {"n_bits": str(n)}) for n in (12, 24, 32, 48, 64)]
    return pivot(rows, "width", lines, columns, "best minus worst AP")


# One method of each kind: all linear functions of TALRHasher encode in the same time
COSTS = [
    "LSH",
    "ITQ",
    "MIHash",
    "TALR-AP",
    "TALR-NDCG, hidden layer",
    "BRE",
    "StructHash",
    "MACHash",
    "FastHash",
    "logistic + TALR-AP",
    "kernel + TALR-AP",
    "kernel + TALR-NDCG, hidden layer",
    "kernel + additive",
    "kernel + additive words",
]


@table
def comparison_costs():
    rows = [r for r in read(COMPARISON / "cifar10-defaults.csv") if r["bytes"] == "4"]
    figures = {
        "fit, s": ("fit_seconds", 1),
        "encode a million, s": ("encode_seconds_per_million", 1),
        "binary query, ms": ("hamming_ms", 2),
        "weighted query, ms": ("float_ms", 2),
    }
    body = []
    for method in COSTS:
        some = [row for row in rows if row["method"] == method]
        cells = [mean(some, name, digits) for name, digits in figures.values()]
        body.append([title_of(method), *cells])
    return [["method", *figures], *body]


@table
def new_rows():
    rows = read(RESULTS / "new_rows.csv")
    # Title: method and figure of the results; stored bytes per item; form of the query.
    # Floats are float32 probabilities of 10 classes (CIFAR-10) to 22 labels (TMC2007).
    asked = {
        "a classifier, then `AdditiveHasher`": (
            ("two stages, additive", "new_weighted"),
            "4",
            "real-valued",
        ),
        "a classifier, then `TALRHasher`": (("two stages", "new"), "4", "bits"),
        'hidden layer, `loss="nDCG"`': (("hidden layer", "new"), "4", "bits"),
        "linear, `TALRHasher()`": (("linear", "new"), "4", "bits"),
        "ITQ, no labels": (("ITQ", "new"), "4", "bits"),
        "LSH, random": (("LSH", "new"), "4", "bits"),
        "probabilities as floats": (
            ("floats", "new_weighted"),
            "40 to 88",
            "real-valued",
        ),
    }
    sets = [
        (SETS[n], {"data": n}) for n in ("cifar10", "coco17", "tmc2007", "fashion_mnist")
    ]
    body = []
    for title, ((method, figure), n_bytes, query) in asked.items():
        first, *cells = pivot(rows, figure, [(title, {"method": method})], sets, "")[1]
        body.append([first, n_bytes, query, *cells])
    return [["method", "bytes", "query", *(title for title, _ in sets)], *body]


RAW_SETS = {
    "scenes": "scenes, GIST",
    "fashion_gist": "Fashion-MNIST, GIST",
    "fashion_cnn": "Fashion-MNIST, rectified layer",
    "cifar10": "CIFAR-10, components",
    "coco17": "COCO, components",
    "words": "TMC2007, words",
    "tf-idf": "TMC2007, TF-IDF",
    "digits_units": "digits, unlike units",
    "cancer": "breast cancer, its units",
}
STATES = {"raw": "raw", "prepared": "centered, unit length"}


def whole_splits(task, n_bytes):
    """Rows of raw features, of splits that have all methods and sets."""
    wanted = {"task": task, "n_bytes": n_bytes}.items()
    splits = {}
    for row in read(RESULTS / "raw.csv"):
        if all(row[name] == value for name, value in wanted):
            splits.setdefault(row["seed"], []).append(row)
    most = max(map(len, splits.values()))
    return [row for some in splits.values() if len(some) == most for row in some]


def of_raw(task, figure, columns, n_bytes, states):
    """A line for each set and state, a column for each method."""
    rows = whole_splits(task, n_bytes)
    lines = [
        (f"{title}: {STATES[state]}", {"data": name, "state": state, "n_bytes": n_bytes})
        for name, title in RAW_SETS.items()
        for state in states
    ]
    return pivot(rows, figure, lines, columns, f"{n_bytes} bytes")


@table
def raw_labels():
    columns = [
        (title, {"method": method})
        for title, method in {
            "LSH": "LSH",
            "ITQ": "ITQ",
            "`AdditiveHasher`": "AdditiveHasher",
            "`TALRHasher`": "TALRHasher",
            "two stages": "two stages",
        }.items()
    ]
    states = "raw", "prepared"
    four = of_raw("labels", "ap", columns, "4", states)
    eight = of_raw("labels", "ap", columns[:-1], "8", states)
    head = ["AP", *(f"{title}, 4 bytes" for title in four[0][1:])]
    head += [f"{title}, 8 bytes" for title in eight[0][1:]]
    return [head, *([*row, *more[1:]] for row, more in zip(four[1:], eight[1:]))]


@table
def raw_neighbors():
    quick = {"LSH": "LSH", "ITQ": "ITQ", "`AdditiveHasher`": "AdditiveHasher"}
    trained = {"`TALRHasher`": "TALRHasher"}
    rows = [row for n_bytes in ("4", "8") for row in whole_splits("neighbors", n_bytes)]
    columns = [
        (f"{title}, {n_bytes} bytes", {"method": method, "n_bytes": n_bytes})
        for n_bytes, methods in (("4", quick | trained), ("8", quick))
        for title, method in methods.items()
    ]
    lines = [
        (f"{title}: {STATES[state]}", {"data": name, "state": state})
        for name, title in RAW_SETS.items()
        for state in ("raw", "prepared")
    ]
    return pivot(rows, "recall", lines, columns, "recall of ten")


@table
def choice_small():
    rows = read(RESULTS / "choice.csv")
    columns = [(m, {"method": m}) for m in dict.fromkeys(row["method"] for row in rows)]
    lines = [(name, {"data": name}) for name in dict.fromkeys(r["data"] for r in rows)]
    return pivot(rows, "ap", lines, columns, "AP, 16 bits")


@table
def judged_texts():
    """Percent of the floats' nDCG@10 on each collection, by stored bytes."""
    sets = {"scifact": "SciFact", "cran": "Cranfield", "cisi": "CISI"}
    rows = sorted(read(RESULTS / "judged.csv"), key=lambda row: int(row["n_bytes"]))
    methods = {row["method"]: row["n_bytes"] for row in rows}
    lines = [(method, {"method": method}) for method in methods]
    columns = [(title, {"data": name}) for name, title in sets.items()]
    table = pivot(rows, "percent", lines, columns, "method", 1)
    return [[title, methods.get(title, "bytes"), *cells] for title, *cells in table]


@table
def copies():
    sets = {
        "sounds": "sounds",
        "fashion_copies": "Fashion-MNIST, GIST",
        "scenes": "scenes, GIST",
        "cifar10": "CIFAR-10, components",
        "text": "text, MiniLM",
    }
    methods = (
        "floats, raw",
        "floats, prepared",
        "floats, whitening",
        "LSH, prepared",
        "ITQ, raw",
        "ITQ, prepared",
        "AdditiveHasher, raw",
        "AdditiveHasher, prepared",
        "TALRHasher, raw",
        "TALRHasher, prepared",
        "TALRHasher of pairs",
        "whitening, ITQ",
        "whitening, AdditiveHasher",
    )
    rows = read(RESULTS / "copies.csv")
    lines = [(method, {"method": method}) for method in methods]
    columns = [(title, {"data": name}) for name, title in sets.items()]
    return pivot(rows, "first", lines, columns, "original found first")


def unseen_rows():
    """Rows of splits that all methods have, and of what held-out classes choose there."""
    rows, cells = read(RESULTS / "unseen.csv"), {}
    for row in rows:
        cells.setdefault((row["data"], row["n_trained"], row["seed"]), []).append(row)
    most = max(map(len, cells.values()))
    whole = [some for some in cells.values() if len(some) == most]
    chosen = []
    for some in whole:
        judged = [row for row in some if row["ap_held_out"]]
        best = max(judged, key=lambda row: float(row["ap_held_out"]))
        chosen.append(best | {"method": "chosen"})
    return [row for some in whole for row in some] + chosen


@table
def unseen_features():
    n_classes = {"scenes": 6}
    rows = unseen_rows()
    sets = RAW_SETS | {"digits": "digits"}
    lines = [
        (f"{sets[name]}: {n} of {n_classes.get(name, 10)} classes trained on",
         {"data": name, "n_trained": n})
        for name, n in dict.fromkeys((row["data"], row["n_trained"]) for row in rows)
    ]  # fmt: skip
    columns = {
        "ITQ": "ITQ",
        "ITQ of features and scores": "ITQ of features and scores",
        "DPSH, 20 epochs": "DPSH, 20 epochs",
        "TALR, recipe": "TALR, recipe",
        "chosen by held-out classes": "chosen",
        "TALR, defaults": "TALR",
        "additive, weighted": "additive, weighted",
        "additive of features and scores, weighted": (
            "additive of features and scores, weighted"
        ),
        "features, floats": "features, floats",
    }
    of_columns = [(title, {"method": method}) for title, method in columns.items()]
    return pivot(rows, "ap", lines, of_columns, "AP of new classes")


def of_classes(sets, **seconds):
    rows = read(RESULTS / "many_classes.csv")
    columns = {
        "floats": "floats",
        "`ITQHasher`": "ITQ",
        "`TALRHasher`": "TALR",
        "DPSH": "DPSH",
        "HashNet": "HashNet",
        "contrastive": "contrastive",
        "two stages": "two stages",
    }
    lines = [(title, {"data": name}) for name, title in sets.items()]
    ap = pivot(rows, "ap", lines, [(t, {"method": m}) for t, m in columns.items()], "data")
    of = [(title, {"method": method}) for title, method in seconds.items()]
    spent = pivot(rows, "fit_seconds", lines, of, "data", 1) if of else [[""]] * len(ap)
    return [[*one, *other[1:]] for one, other in zip(ap, spent)]


@table
def many_classes():
    made = "200x50", "1000x10", "2000x5", "5000x4", "10000x2"
    sets = {f"made_{n}": "made up, " + n.replace("x", " x ") for n in made}
    real = {"coco_sets": "COCO, sets of labels", "cranfield": "Cranfield", "cisi": "CISI"}
    return of_classes(
        sets | real, **{"`TALRHasher`, s": "TALR", "two stages, s": "two stages"}
    )


@table
def batches_many_classes():
    rows = read(RESULTS / "batches.csv")
    sets = {
        "words": "words, 40 uneven classes, 1 066 rows",
        "clip_art": "clip art, 42 folders, 1 555 rows",
        "made_42x37": "made up, 42 x 37",
        "made_400x12": "made up, 400 x 12",
        "made_100x200": "made up, 100 x 200",
        "two_100x60": "two means, 100 x 60",
        "two_100x200": "two means, 100 x 200",
    }
    lines = [(title, {"data": name}) for name, title in sets.items()]
    sizes = {"64": "hidden, 64", "256": "hidden, 256", "1 024": "hidden, 1024"}
    methods = {"linear": "linear"} | sizes | {"default": "hidden"}
    columns = [(title, {"method": method}) for title, method in methods.items()]
    ap = pivot(rows, "ap", lines, columns, "classes x rows")
    ends = [columns[2], columns[4]]
    of_ends = {
        "ndcg": [(f"NDCG, {title}", method) for title, method in ends],
        "fit_seconds": [(f"{title}, s", method) for title, method in ends],
    }
    ndcg = pivot(rows, "ndcg", lines, of_ends["ndcg"], "")
    seconds = pivot(rows, "fit_seconds", lines, of_ends["fit_seconds"], "", 1)
    return [
        [*of_ap, *of_ndcg[1:], *of_seconds[1:]]
        for of_ap, of_ndcg, of_seconds in zip(ap, ndcg, seconds, strict=True)
    ]


@table
def networks_warm_up():
    rows = read(RESULTS / "warm_up.csv")
    sets = "digits", "words"
    networks = {
        "perceptron": "two layers",
        "perceptron, normalized": "two layers, normalized",
        "convolutions": "two convolutions and a linear layer, normalized",
    }
    lines = [
        (f"{name}, {title}", {"data": name, "network": network})
        for network, title in networks.items()
        for name in sets
    ]
    starts = "random", "warm-up"
    columns = [(start, {"start": start}) for start in starts]
    seconds = [(f"{start}, s", {"start": start}) for start in starts]
    ap = pivot(rows, "ap", lines, columns, "set, network")
    spent = pivot(rows, "fit_seconds", lines, seconds, "", 1)
    return [[*one, *other[1:]] for one, other in zip(ap, spent, strict=True)]


@table
def any_scale():
    sets = {"digits": "digits", "digits_noise": "digits, a column of noise"}
    return of_classes(sets | {"wine": "wine", "cancer": "breast cancer"})


def of_tests(methods, cell, is_pair):
    """Lines of data, systems and rows; a cell of each method.

    The results also have 50 rows, and P@10 with several systems.
    """
    found = {}
    for row in read(RESULTS / "tests.csv"):
        is_left_out = row["rows"] == "50" or ("P@10" in row["data"] and not is_pair)
        if (row["systems"] == "2") == is_pair and not is_left_out:
            key = row["data"], int(row["systems"]), int(row["rows"])
            found.setdefault(key, {})[row["method"]] = cell(row)
    # What has all methods: tables in their order, then by numbers of systems and rows
    found = {key: cells for key, cells in found.items() if len(cells) > 2}
    names = list(dict.fromkeys(key[0] for key in found))
    body = []
    for key in sorted(found, key=lambda key: (names.index(key[0]), *key[1:])):
        title = f"{key[0]}, {key[2]} rows" if is_pair else f"{key[0]}, {key[1]} x {key[2]}"
        body.append([title, *(found[key].get(method, "") for method in methods.values())])
    head = "scores, rows" if is_pair else "scores, systems x rows"
    return [[head, *methods], *body]


def share(row, figure):
    return mean([row], figure)


@table
def tests_pairs():
    methods = "randomization", "bootstrap", "t", "wilcoxon"
    return of_tests(
        {name.capitalize() if name[0] == "w" else name: name for name in methods},
        lambda row: share(row, "false"),
        is_pair=True,
    )


@table
def tests_levels():
    methods = {
        "max-t": "max-t",
        "randomization, Holm": "randomization, holm",
        "t, Holm": "t, holm",
        "Johnson's t, Holm": "Johnson, holm",
        "Wilcoxon, Holm": "wilcoxon, holm",
    }
    figures = "false", "right"
    table = of_tests(methods, lambda row: " / ".join(share(row, f) for f in figures), False)
    bh = {"randomization, Benjamini-Hochberg: wrong / right": "randomization, bh"}
    figures = "wrong", "right"
    more = of_tests(bh, lambda row: " / ".join(share(row, f) for f in figures), False)
    return [[*one, other[1]] for one, other in zip(table, more)]


def of_rows(figure):
    """A line of each table and number of systems; max-t and t with Holm by rows."""
    found, all_rows = {}, ("6", "9", "12", "25", "50", "200")
    methods = "max-t", "t, holm"
    for row in read(RESULTS / "tests.csv"):
        is_shown = row["method"] in methods and row["systems"] != "60"
        if is_shown and row[figure]:
            cells = found.setdefault((row["data"], int(row["systems"])), {})
            cells[row["rows"], row["method"]] = share(row, figure)
    # Published tables first, in the order of the others
    names = list(dict.fromkeys(row["data"] for row in read(RESULTS / "tests.csv")))
    body = []
    for key in sorted(found, key=lambda key: (names.index(key[0]), key[1])):
        pairs = [[found[key].get((n, method)) for method in methods] for n in all_rows]
        cells = [" / ".join(pair) if all(pair) else "" for pair in pairs]
        body.append([f"{key[0]}, {key[1]}", *cells])
    return [["scores, systems", *(f"{n} rows" for n in all_rows)], *body]


@table
def tests_rows_false():
    return of_rows("false")


@table
def tests_rows_right():
    return of_rows("right")


@table
def many_rows():
    """AP, seconds and megabytes of each method, beside each other for each set."""
    rows = read(RESULTS / "many_rows.csv")
    figures = {"AP": ("ap", 3), "fit, s": ("fit_seconds", 0), "MB": ("fit_megabytes", 0)}
    names = list(dict.fromkeys(row["data"] for row in rows))
    head = ["a million rows", *(f"{n}, {figure}" for n in names for figure in figures)]
    body = []
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [method]
        for name in names:
            some = [row for row in rows if (row["data"], row["method"]) == (name, method)]
            cells += [mean(some, figure, digits) for figure, digits in figures.values()]
        body.append(cells)
    return [head, *body]


@table
def svm_grades():
    rows = read(RESULTS / "svm.csv")
    lines = [(m, {"model": m}) for m in dict.fromkeys(row["model"] for row in rows)]
    figures = {"NDCG": ("ndcg", 3), "nDCG@10": ("ndcg_at_10", 3), "fit, s": ("seconds", 1)}
    parts = [pivot(rows, *[n], lines, [("", {})], "", d) for n, d in figures.values()]
    cells = [[row[1] for row in part[1:]] for part in parts]
    return [["model", *figures], *([m, *c] for (m, _), c in zip(lines, zip(*cells)))]


def seconds(script, tables, quantity, scale=1.0, digits=2, head=""):
    """A line for each thing measured, a column for each table of `seconds.csv`."""
    rows = [r for r in read(RESULTS / "seconds.csv") if r["script"] == script]
    last = {(r["table"], r["line"], r["quantity"]): float(r["value"]) for r in rows}
    lines = dict.fromkeys(r["line"] for r in rows if r["table"] in tables)
    body = []
    for line in lines:
        values = [last.get((name, line, quantity)) for name in tables]
        body.append(
            [line, *("" if v is None else f"{v * scale:.{digits}f}" for v in values)]
        )
    return [[head, *tables.values()], *(row for row in body if any(row[1:]))]


@table
def speed_fits():
    fits = seconds("bench_steps", {"hashers": "fit, s"}, "fit, s", head="hasher")
    encoded = dict(seconds("bench_steps", {"hashers": ""}, "encode, s", digits=3)[1:])
    rows = [
        [name.replace("teacher, TALR", "classifier, TALR"), seconds, encoded[name]]
        for name, seconds in fits[1:]
    ]
    return [[*fits[0], "encode 59 000 rows, s"], *rows]


@table
def speed_steps():
    sets = {
        name: name for name in ("learned, 32 bits", "learned, 64 bits", "random, 64 bits")
    }
    return seconds("bench_steps", sets, "s", 1e3, 1, "1 000 queries, 59 000 items, ms")


@table
def speed_neighbors():
    sizes = "60000 random codes of 64 bits", "1000000 random codes of 64 bits"
    tables = {f"k = 10, {size}": size.replace(" random", "") for size in sizes}
    return seconds(
        "bench_neighbors", tables, "us a query", 1e-3, 3, "ms a query, ten nearest"
    )


@table
def speed_one_query():
    tables = {f"one query, {n} codes": f"{n} codes" for n in (12_000, 100_000, 1_000_000)}
    return seconds("bench_neighbors", tables, "ms", 1, 2, "one query, 256 bits, ms")


@table
def speed_training_step():
    tables = {f"{n}/64/2": f"batch of {n}" for n in (256, 1024, 4096)}
    return seconds("bench_training", tables, "ms, 1", head="a step, one thread, ms")


@table
def speed_runs():
    tables = {
        f"1 000 x 1 000, {of}": of
        for of in (
            "100 judged, no ties",
            "100 judged, scores of no decimals",
            "all judged, no ties",
            "all judged, scores of no decimals",
        )
    }
    return seconds("bench_runs", tables, "seconds", head="six measures, 1 000 queries, s")


@table
def speed_first_call():
    """CPU seconds with nothing compiled, and in a later process."""
    title, head = "CPU seconds of the first call", ("nothing compiled", "later process")
    first, later = (
        seconds("bench_first_call", {title: when}, when, digits=1, head="CPU seconds")
        for when in head
    )
    return [[*row, other[1]] for row, other in zip(first, later)]


@table
def speed_history():
    """Time of the rival over ours, by commit."""
    records = [json.loads(path.read_text()) for path in (HERE / "history").glob("*.json")]
    records.sort(key=lambda record: record["committed"])
    tasks = list(records[-1]["ratios"])
    body = []
    for record in records:
        found = [record["ratios"].get(task) for task in tasks]
        ratios = [f"{r['rival_ms'] / r['ours_ms']:.2g}" if r else "" for r in found]
        body.append([record["commit"], record["committed"][:10], *ratios])
    return [["commit", "day", *tasks], *body]


def as_text(rows):
    return "\n".join(",".join(map(_quoted, row)) for row in rows) + "\n"


def _quoted(cell):
    cell = cell.replace("@", r"\@")  # or nDCG@10 becomes a link to a mail address
    return f'"{cell.replace(chr(34), chr(34) * 2)}"' if set(cell) & set(',"') else cell


if __name__ == "__main__":
    for name, make in TABLES.items():
        (PAGES / f"{name}.csv").write_text(as_text(make()))
