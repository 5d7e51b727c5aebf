"""What the measured tables of the guide show, cell by cell.

Each is found by words of its own, wherever it stands, and says which rows of which CSV file
its cells are, and which command measured them.
"""

import io
import sys
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module

import numpy as np
from guide_tables import (
    RESULTS,
    ROOT,
    Measured,
    gains,
    mean,
    measured,
    pick,
    plain,
    short,
    tables_of,
)
from measured_models import MODELS_TABLES
from measured_quality import QUALITY_TABLES
from measured_seconds import SECONDS_TABLES

BENCH = "python benchmarks/bench_{}.py".format


def with_difference(rows, reference, column="ap"):
    """A mean over splits, and the difference to others on the splits that both have."""
    text = short(mean(rows, column))
    found = gains(rows, reference, column) if reference else []
    if len(found) < 2:
        return text
    return f"{text} ({sign(found)} ±{short(np.std(found, ddof=1) / len(found) ** 0.5)})"


def sign(found):
    """A mean difference with its sign, also where it is rounded to 0."""
    return short_plus(np.mean(found))


def short_plus(value):
    text = short(value)
    return text if text[0] == "-" else "+" + text


# Classes that were not trained on

UNSEEN = "unseen in unseen"


def contender_of(label):
    """Name in the CSV file, number of bits or None, and the way to ask or None."""
    label, _, ending = label.partition(", 64 bits")
    n_bits = 64 if ending is not None and "64" in _ else None
    queries = "floats" if label.endswith((", weighted", "cosine", "of floats")) else None
    for ending in (", weighted", ", cosine of floats", ", cosine"):
        if label.endswith(ending):
            label = label.removesuffix(ending)
            n_bits = 0 if "cosine" in ending else n_bits
    names = {
        "TALR, recipe, chosen rate": "TALR, chosen",
        "TALR, recipe, rate ``0.025``": "TALR, recipe, rate 0.025",
        "DPSH, 10 epochs, rate ``0.01``": "DPSH, short",
        "DTSH, 10 epochs, rate ``0.01``": "DTSH, short",
        "DTSH, 10 epochs, rate ``0.025``": "DTSH, short, rate 0.025",
    }
    names |= {f"{m}, 10 epochs, chosen rate": f"{m}, chosen" for m in ("DPSH", "DTSH")}
    names |= {f"{m}, defaults": m for m in ("TALR", "DPSH", "MIHash")}
    return names.get(label, label), n_bits, queries


def of_first_splits(label, bits, queries, protocol):
    """Means over the first five splits, whose new classes are harder."""
    name, n_bits, _ = contender_of(label)
    n_bits = 0 if n_bits == 0 else int(bits)
    is_hamming = queries == "Hamming"
    return cell_of_unseen(
        data="cifar10",
        contender=name,
        n_bits=n_bits,
        queries="bits" if is_hamming else "floats",
        protocol=protocol,
        seed=range(5),
    )


def cell_of_unseen(**key):
    rows = pick(measured("unseen"), **(key | {"seed": list(key.get("seed", range(10)))}))
    return short(mean(rows, "ap")) if rows else ""


def of_ten_splits(n_bits):
    def cell(label, column):
        name, bits, _ = contender_of(label)
        key = {"data": "cifar10", "contender": name, "protocol": UNSEEN}
        key["n_bits"] = n_bits if bits is None else bits
        if column == "splits":
            return str(len({row["seed"] for row in pick(measured("unseen"), **key)}))
        queries = "bits" if column == "Hamming" else "floats"
        rows = pick(measured("unseen"), **key, queries=queries)
        if not rows:
            return ""
        recipe = {"contender": "TALR, recipe", "n_bits": n_bits, "queries": queries}
        is_recipe = name == "TALR, recipe"
        reference = pick(measured("unseen"), **(key | recipe))
        return with_difference(rows, None if is_recipe else reference)

    return cell


def of_ways_to_rank(label, protocol):
    name, bits, queries = contender_of(label)
    return cell_of_unseen(
        data="cifar10",
        contender=name,
        n_bits=32 if bits is None else bits,
        queries=queries or "bits",
        protocol=protocol,
    )


SETS_OF_UNSEEN = {
    "digits": "digits",
    "Fashion-MNIST": "fashion_mnist",
    "COCO": "coco17",
    "TMC2007": "tmc2007",
    "CIFAR-10": "cifar10",
}


def of_other_sets(label, column):
    """Differences to the recipe by Hamming distance in 32 bits."""
    name, bits, queries = contender_of(label)
    key = {"data": SETS_OF_UNSEEN[column], "protocol": UNSEEN}
    mine = {"contender": name, "n_bits": 32 if bits is None else bits}
    rows = pick(measured("unseen"), **key, **mine, queries=queries or "bits")
    recipe = {"contender": "TALR, recipe", "n_bits": 32, "queries": "bits"}
    is_compared = name != "TALR, recipe" and bits is None and queries is None
    reference = pick(measured("unseen"), **key, **recipe) if is_compared else None
    return with_difference(rows, reference)


OF_UNLABELED = {
    "two stages": "labeled only, two stages",
    "two stages, kernel": "labeled only, two stages, kernel",
    "all labels are known": "all labels",
}


def of_unlabeled_rows(label, column):
    if label == "labeled + unlabeled rows":
        return None
    rows = pick(measured("unlabeled"), data=SETS_OF_UNSEEN[column])
    reference = pick(rows, contender="labeled only")
    if label == "splits":
        return str(len(reference))
    mine = pick(rows, contender=OF_UNLABELED.get(label, label))
    if not mine:
        return ""
    if len(mine) < len(reference):
        seeds = sorted(row["seed"] for row in mine)
        splits = f"splits {seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else f"split {seeds[0]}"
        return f"({sign(gains(mine, reference, 'ap'))}, {splits})"
    return with_difference(mine, None if label == "labeled only" else reference)


def against_recipe(codes, queries, n_bits, of_recipe, column):
    """Differences to the recipe in so many bits, on the splits that both have."""
    key = {"data": "cifar10", "protocol": UNSEEN}
    key["queries"] = "bits" if queries == "Hamming" else "floats"
    name = codes.removesuffix(" alone")
    rows = pick(measured("unseen"), **key, contender=name, n_bits=n_bits)
    recipe = pick(measured("unseen"), **key, contender="TALR, recipe", n_bits=of_recipe)
    found = gains(rows, recipe, "ap")
    if column == "splits":
        return str(len(found))
    return f"{sign(found)} ±{short(np.std(found, ddof=1) / len(found) ** 0.5)}"


UNSEEN_TABLES = [
    Measured(("bits of the recipe",), BENCH("unseen"), "unseen", against_recipe, 4),
    Measured(("first five splits",), BENCH("unseen"), "unseen", of_first_splits, 3),
    Measured(("32 bits", "splits"), BENCH("unseen"), "unseen", of_ten_splits(32)),
    Measured(("128 bits", "splits"), BENCH("unseen"), "unseen", of_ten_splits(128)),
    Measured(
        ("32 bits", "seen in seen", "TALR, tuned"),
        BENCH("unseen"),
        "unseen",
        of_ways_to_rank,
    ),
    Measured(
        ("32 bits, Hamming", "TALR, recipe"), BENCH("unseen"), "unseen", of_other_sets
    ),
    Measured(
        ("32 bits, Hamming", "all labels are known"),
        BENCH("unlabeled"),
        "unlabeled",
        of_unlabeled_rows,
    ),
]


# Two views

ROWS_OF_VIEWS = {
    "CCA of partners, ITQ": ("CCA + ITQ", "bits"),
    "CCA of what is relevant, ITQ": ("relevance-CCA + ITQ", "bits"),
    "TALR of items, ridge regression of queries on mean bits": (
        "ridge to mean bits",
        "bits",
    ),
    "the same behind a teacher of items": ("ridge to mean bits, teacher", "bits"),
    "``teacher=None``": ("CrossViewHasher, no teacher", "bits"),
    "``DCMHLoss()``": ("CrossViewHasher, DCMH", "bits"),
    "``ContrastiveLoss()``": ("CrossViewHasher, contrastive", "bits"),
    "CrossViewHasher": ("CrossViewHasher", "bits"),
    "ridge regression, weights": ("ridge to mean bits", "weights"),
    "ridge regression behind a teacher, weights": (
        "ridge to mean bits, teacher",
        "weights",
    ),
    "CCA of what is relevant, additive bits": ("relevance-CCA + additive bits", "weights"),
    "CrossViewHasher, its weights": ("CrossViewHasher", "weights"),
    '``query="weights"``': ("CrossViewHasher, weights", "weights"),
    "floats on both sides: probabilities": ("class probabilities, floats", "floats"),
    "floats on both sides: CCA of what is relevant": ("relevance-CCA, floats", "floats"),
}
SETS_OF_VIEWS = {
    "digits": "digits, paired",
    "digits, unpaired": "digits, unpaired",
    "Fashion-MNIST": "fashion_mnist, paired",
    "Fashion-MNIST, unpaired": "fashion_mnist, unpaired",
    "CIFAR-10": "cifar10, paired",
    "CIFAR-10, unpaired": "cifar10, unpaired",
    "COCO": "coco17",
    "COCO, rare tags": "coco17 rare",
    "text": "text",
    "scenes": "scenes",
}


def of_views(label, column):
    """Mean AP with 32 bits; the number of splits in brackets if it is not three."""
    if label not in ROWS_OF_VIEWS:
        return None if label.startswith("*") else f"unknown row {label}"
    contender, queries = ROWS_OF_VIEWS[label]
    key = {"contender": contender, "queries": queries, "data": SETS_OF_VIEWS[column]}
    n_bits = 0 if queries == "floats" else 32
    rows = pick(measured("views"), **key, n_bits=n_bits)
    if not rows:
        return ""
    return short(mean(rows, "ap")) + (f" ({len(rows)})" if len(rows) != 3 else "")


OF_VIEW_TEXTS = {
    "ITQ, no judgments": ("ITQ", "bits"),
    "CrossViewHasher": ("CrossViewHasher", "bits"),
    "``shared=True, teacher=None``": (
        "CrossViewHasher, shared, no teacher",
        "bits",
    ),
    "CCA of what is relevant, ITQ": ("relevance-CCA + ITQ", "bits"),
    "AdditiveHasher, no judgments, weighted queries": ("additive bits", "weights"),
    "CCA of what is relevant, additive bits, weighted queries": (
        "relevance-CCA + additive bits",
        "weights",
    ),
    "floats": ("floats", "floats"),
}
TITLES = {"SciFact": "scifact", "Cranfield": "cran", "CISI": "cisi"}


def of_view_texts(label, column):
    contender, queries = OF_VIEW_TEXTS[label]
    key = {"contender": contender, "queries": queries, "data": TITLES[column]}
    rows = pick(measured("view_texts"), **key)
    if not rows:
        return ""
    (row,) = rows
    text = short(float(row["ndcg"]))
    if contender in ("ITQ", "floats", "additive bits"):
        return text
    difference, error = (float(row[name]) for name in ("difference", "error"))
    return f"{text} ({short_plus(difference)} ±{short(error)})"


VIEW_TABLES = [
    Measured(("digits, unpaired",), BENCH("views"), "views", of_views),
    Measured(("COCO, rare tags", "scenes"), BENCH("views"), "views", of_views),
    Measured(("ITQ, no judgments",), BENCH("view_texts"), "view_texts", of_view_texts),
]


# Planning, late interaction, ties

OF_BITS = {
    "8 000": "measured",
    "promised": "recall",
    "found": "actual_hasher_of_sample",
    "index fitted to all": "actual",
}


def of_lengths(data, hasher, n_bits, column):
    key = {"data": {"CIFAR-10": "cifar10"}.get(data, data), "hasher": hasher}
    (row,) = pick(measured("bits"), **key, n_bits=n_bits)
    if column == "bounds":
        return " to ".join(short(float(row[name])) for name in ("low", "high"))
    return short(float(row[OF_BITS[column]]))


def percent(share):
    """Two figures, and three above 99."""
    value = 100 * share
    digits = 2 if value < 1 else 1 if value < 10 or 99 <= value < 100 else 0
    return f"{value:.{digits}f} %"


OF_MAXSIM = {
    "``MaxSimNeighbors.kneighbors``": "index",
    "``maxsim_scores``": "function",
    "a loop over documents that decodes their tokens": "decoding loop",
    "a loop over documents whose tokens were decoded before": "float loop",
    "products of 4 000 such tokens at once, by BLAS": "float blocks",
}


def of_maxsim(label, column):
    """Times in multiples of that of the index, and bytes."""
    name = OF_MAXSIM[label]
    codes = "single bits" if column == "bytes" else column
    (row,) = pick(measured("maxsim"), codes=codes, contender=name)
    if column == "bytes":
        return row["bytes_per_token"]
    (fast,) = pick(measured("maxsim"), codes=codes, contender="index")
    ratio = float(row["ms"]) / float(fast["ms"])
    if name == "index":
        return "1"
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


OTHER_TABLES = [
    Measured(("Recall of the ten nearest",), BENCH("bits"), "bits", of_lengths, 3),
    Measured(("contender", "single bits", "bytes"), BENCH("maxsim"), "maxsim", of_maxsim),
]


# Embeddings: the tables that the script prints


def printed_tables(module, figures):
    """Tables that a module of the benchmark prints for the page, by title."""
    sys.path.append(str(ROOT / "benchmarks"))
    try:
        kind, read = figures(import_module("_embedding_figures"))
        printed = io.StringIO()
        with redirect_stdout(printed):
            import_module(module).print_rst(read(kind))
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    lines = printed.getvalue().split("\n")
    return {table.title: table.rows for table in tables_of(module, lines)}


@cache
def recall_tables():
    return printed_tables(
        "_embedding_tables",
        lambda figures: (RESULTS / "embeddings.csv", figures.read),
    )


@cache
def judged_tables():
    def figures(module):
        kind = import_module("_judged_texts").JudgedFigure
        return RESULTS / "judged.csv", lambda path: module.read(path, kind)

    return printed_tables("_judged_tables", figures)


def as_printed(tables, title):
    def cell(label, column):
        header, *rows = tables()[title]
        (row,) = [row for row in rows if plain(row[0]) == label] or [[]]
        place = header.index(column)
        return row[place] if place < len(row) else f"no row {label}"

    return cell


EMBEDDING_TABLES = [
    Measured(
        (f"{8 * n} bits, {n} bytes", word),
        BENCH("embeddings") + mode,
        name,
        as_printed(tables, f"{8 * n} bits, {n} bytes"),
    )
    for word, name, mode, tables in (
        ("COCO+", "embeddings", "", recall_tables),
        ("CISI", "judged", " judged", judged_tables),
    )
    for n in (8, 16, 32)
] + [
    Measured(
        (f"Seconds, {n} bytes",),
        BENCH("embeddings"),
        "embeddings",
        as_printed(recall_tables, f"Seconds, {n} bytes"),
    )
    for n in (8, 16, 32)
]

TABLES = [
    *UNSEEN_TABLES,
    *VIEW_TABLES,
    *OTHER_TABLES,
    *EMBEDDING_TABLES,
    *QUALITY_TABLES,
    *MODELS_TABLES,
    *SECONDS_TABLES,
]
