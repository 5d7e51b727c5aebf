"""What the tables of the guide show of training, teachers, and ways to ask.

Cells that are None were tried once, by code that is not kept.
"""

import numpy as np
from guide_tables import Measured, NotMeasuredError, gains, measured, pick, short, signed

STUDY = "python benchmarks/study_training.py {}".format
WITH_LABELS = "--data cifar10 coco17 tmc2007"
TEACHER = "python benchmarks/bench_teacher.py"
SETS = {
    "CIFAR-10": "cifar10",
    "COCO": "coco17",
    "TMC2007": "tmc2007",
    "Fashion-MNIST": "fashion_mnist",
    "digits": "digits",
    "scenes": "scenes",
    "scenes (NDCG)": "scenes",
}


def average(rows, column, n_splits=1):
    """Mean over splits, of which there must be so many."""
    if len(rows) < n_splits:
        raise NotMeasuredError
    return float(np.mean([float(row[column]) for row in rows]))


# Training


def of_training(data, change, seeds=(0, 1, 2)):
    rows = pick(measured("training"), data=data, change=change, seed=list(seeds))
    if len(rows) < len(seeds):
        raise NotMeasuredError
    return rows


OF_CHOICES = {
    "tanh scale that rises from 1 to 8": "tanh scale from 1 to 8",
    "random first weights in place of those of ITQ": "random start",
    "``simplified=True``": "simplified measure",
    "``nested=True``, codes of all 32 bits": "nested, all 32 bits",
}


def of_choices(change, column):
    """The score of the defaults, and differences to it."""
    if change.startswith("each query of a batch ranks"):
        return None
    change = OF_CHOICES.get(change, change)
    data = SETS[column]
    rows = of_training(data, change)
    if change == "default":
        return short(average(rows, "score"))
    return signed(np.mean(gains(rows, of_training(data, "default"), "score")))


def of_code_lengths(n_bits, column):
    """Means of three splits; the scenes are of the first."""
    change = "default" if n_bits == "32" else f"{n_bits} bits"
    seeds = (0,) if column.startswith("scenes") else (0, 1, 2)
    return short(average(of_training(SETS[column], change, seeds), "score"))


def of_training_rows(label, column):
    change = {"5 000": "default", "whole database": label}.get(
        label, f"{label.replace(' ', '')} rows"
    )
    return short(average(of_training(SETS[column], change, (0,)), "score"))


def of_layers(column):
    data = SETS[column]
    rows = of_training(data, "512 hidden units")
    return signed(np.mean(gains(rows, of_training(data, "default"), "score")))


def of_descent(label, column):
    """The first split."""
    data, _, units = label.partition(", ")
    plain_name = units or "default"
    name = f"early descent, {units}" if units else "early descent"
    ours, theirs = (of_training(SETS[data], change, (0,)) for change in (name, plain_name))
    if column == "epochs":
        return ours[0]["n_epochs"]
    if column == "time":
        seconds = (f"{float(row['seconds']):.1f}" for row in (ours[0], theirs[0]))
        return " of ".join(seconds) + " s"
    if column == "difference":
        return signed(gains(ours, theirs, "score")[0], 4)
    return short(average(theirs if column == "all epochs" else ours, "score"))


def of_depths(label, column):
    seed = ["first split", "second split", "third split"].index(column)
    return short(average(of_training("digits", f"layers of {label}", (seed,)), "score"), 2)


TRAINING_TABLES = [
    Measured(
        ("change", "no bit dropout"),
        STUDY(f"choices {WITH_LABELS}"),
        "training",
        of_choices,
    ),
    Measured(
        ("bits", "48", "scenes (NDCG)"),
        (STUDY(f"bits {WITH_LABELS}"), STUDY("bits --data scenes --seeds 0")),
        "training",
        of_code_lengths,
    ),
    Measured(
        ("training rows", "1 000"),
        STUDY(f"rows {WITH_LABELS} --seeds 0"),
        "training",
        of_training_rows,
    ),
    Measured(
        ("first cell: CIFAR-10", "scenes (NDCG)"),
        STUDY("layers"),
        "training",
        of_layers,
        n_labels=0,
    ),
    Measured(
        ("all epochs", "early descent"),
        (
            STUDY("descent --seeds 0"),
            STUDY("hidden_descent --data cifar10 coco17 --seeds 0"),
        ),
        "training",
        of_descent,
    ),
    Measured(("512, 512, 256",), STUDY("depth --data digits"), "training", of_depths),
]


# Teachers


def of_teacher(column="ap", **key):
    (first, *rest) = pick(measured("teacher"), **key) or [None]
    if first is None:
        raise NotMeasuredError
    assert not rest
    return short(float(first[column]))


def of_widths(width, column):
    first = f"kernel, width 0{width}"
    return of_teacher(part="widths", data=SETS[column], first=first, items="all")


OF_TEXT = {
    "the teacher, Gaussian kernel": "kernel",
    'the teacher, ``kernel="linear"``': "kernel, linear",
    "logistic regression, ``C=3``, ``cv=5``": "logistic, C=3, cv=5",
    "the features themselves": "features",
}


def of_kernels(label, column):
    key = {"data": "tmc2007", "second": "TALR", "n_bits": 32, "temperature": 1}
    items = column.removesuffix(" rows")
    return of_teacher(
        part=["left out", "kernels"], first=OF_TEXT[label], items=items, **key
    )


def of_components(_, column):
    n_components = column.removesuffix(" components").replace(" ", "")
    first = "kernel" if "all" in column else f"kernel, {n_components} components"
    key = {"data": "cifar10", "second": "floats", "items": "all", "temperature": 1}
    return of_teacher(part=["left out", "components"], first=first, **key)


def of_roots(label, column):
    second = {"probabilities": "TALR", "square roots": "TALR of roots"}[label]
    key = {"part": "roots", "data": SETS[column], "second": second, "items": "all"}
    return ", ".join(of_teacher(n_bits=n_bits, **key) for n_bits in (12, 32))


OF_CLASSIFIERS = {
    "logistic regression, ``C=1``": "logistic, C=1",
    "logistic regression, ``C=3``": "logistic, C=3",
    "logistic regression, ``C=10``": "logistic, C=10",
    "``MLPClassifier((256,), alpha=0.3)``": "MLP",
    "``Nystroem(gamma=1, n_components=1000)``, then logistic regression": "Nystroem",
    "linear discriminant analysis with shrinkage": "discriminant",
}


def of_classifiers(label, column):
    """AP of single additive bits by weighted queries."""
    if label.startswith("the default"):
        return of_comparison(SETS[column], "kernel + additive", 32, "ap_float")
    key = {"second": "additive", "queries": "weighted", "items": "all"}
    data = SETS[column]
    first = OF_CLASSIFIERS[label]
    return of_teacher(part="classifiers", data=data, first=first, **key)


OF_STAGES = {
    "TALR of the features": ("features", "TALR", "Hamming"),
    "logistic, then TALR": ("logistic, C=3, cv=5", "TALR", "Hamming"),
    "teacher, then TALR": ("kernel", "TALR", "Hamming"),
    "teacher, then TALR, *not left out*": ("kernel, not left out", "TALR", "Hamming"),
    "teacher, then additive bits, weighted": ("kernel", "additive", "weighted"),
    "teacher, floats": ("kernel", "floats", "floats"),
}


def of_new_rows(label, column):
    """AP among all rows of the database, and among those that were not trained on."""
    if label == "training rows / database":
        return None
    first, second, queries = OF_STAGES[label]
    key = {"part": "left out", "data": SETS[column], "first": first, "second": second}
    return ", ".join(
        of_teacher(queries=queries, items=items, **key) for items in ("all", "new")
    )


TEACHER_TABLES = [
    Measured(
        ("teacher, then TALR, *not left out*",),
        f'{TEACHER} "left out"',
        "teacher",
        of_new_rows,
    ),
    Measured(("width / median distance",), f"{TEACHER} widths", "teacher", of_widths),
    Measured(
        ("features of TALR", "new rows"),
        f'{TEACHER} kernels "left out"',
        "teacher",
        of_kernels,
    ),
    Measured(
        ("1 000 components",), f'{TEACHER} components "left out"', "teacher", of_components
    ),
    Measured(("square roots",), f"{TEACHER} roots", "teacher", of_roots),
    Measured(
        ("linear discriminant analysis with shrinkage",),
        f"{TEACHER} classifiers",
        ("teacher", "cifar10-defaults", "coco17-defaults"),
        of_classifiers,
    ),
]


# Codes for weighted queries, of the comparison


def of_comparison(data, method, n_bits, column):
    """A figure of the first split."""
    rows = pick(measured(f"{data}-defaults"), method=method, n_bits=n_bits, seed=0)
    return short(average(rows, column))


OF_CODES = {
    "TALR": "TALR-AP",
    "TALR, hidden layer": "TALR-AP, hidden layer",
    "logistic, then TALR": "logistic + TALR-AP",
    "logistic, then additive bits": "logistic + additive",
    "teacher, then TALR": "kernel + TALR-AP",
    "teacher, then additive bits": "kernel + additive",
}
OF_FLOATS = {
    "floats: probabilities of the teacher": "kernel scores",
    "floats: probabilities, logistic": "logistic scores",
}


def of_weighted_queries(measure):
    def cell(codes, queries, column):
        name = measure if queries == "binary" else f"{measure}_float"
        data = SETS[column]
        if codes in OF_FLOATS:
            return of_comparison(data, OF_FLOATS[codes], 0, name)
        method = OF_CODES[codes]
        return ", ".join(of_comparison(data, method, n, name) for n in (12, 32))

    return cell


def of_ties(codes, n_bits, column):
    """AP of CIFAR-10 by the worst, mean and best order of ties, on the first split."""
    key = {"ITQ": "ITQ", "TALR, linear": "TALR-AP"}[codes], n_bits
    rows = pick(measured("cifar10-defaults"), method=key[0], n_bits=key[1], seed=0)
    low, mean, high = (average(rows, name) for name in ("ap_worst", "ap", "ap_best"))
    values = {"worst": low, "expected": mean, "best": high, "width": high - low}
    return short(values[column])


def of_two_ways_to_ask(label, column):
    """AP at 32 bits on CIFAR-10 among new rows, mean of three splits."""
    method = {
        "linear TALR of the features, no teacher": "linear",
        "linear TALR of the features, no classifier": "linear",
        "teacher, then TALR": "two stages",
        "teacher, then additive words": "two stages, additive",
    }[label]
    name = "new" if column.startswith("binary") else "new_weighted"
    return short(
        average(pick(measured("new_rows"), data="cifar10", method=method), name, 3)
    )


COMPARE = "python benchmarks/comparison/compare_methods.py --no-tuning --data {}".format
OF_COMPARISON = [f"{name}-defaults" for name in ("cifar10", "coco17", "tmc2007", "digits")]
COMPARED_TABLES = [
    Measured(
        ("codes", "binary queries", "weighted queries"),
        "python benchmarks/bench_new_rows.py --sets cifar10",
        "new_rows",
        of_two_ways_to_ask,
    ),
    Measured(
        ("codes", "queries", "CIFAR-10", "digits"),
        tuple(COMPARE(name.removesuffix("-defaults")) for name in OF_COMPARISON),
        tuple(OF_COMPARISON),
        of_weighted_queries("ap"),
        n_labels=2,
    ),
    Measured(
        ("codes", "queries", "first cells: codes, queries, COCO"),
        (COMPARE("coco17"), COMPARE("tmc2007")),
        tuple(OF_COMPARISON[1:3]),
        of_weighted_queries("ndcg"),
        n_labels=2,
    ),
    Measured(
        ("worst", "expected", "width"),
        COMPARE("cifar10"),
        OF_COMPARISON[0],
        of_ties,
        n_labels=2,
    ),
]


# Ways to ask


def of_asked(**key):
    rows = pick(measured("asked"), **key)
    if not rows:
        raise NotMeasuredError
    (row,) = rows
    return short(float(row["score"]))


def of_ways_to_ask(label, metric, column):
    contender, data, bits = label.rsplit(", ", 2)
    part = "labels" if metric == "AP" else "distances"
    key = {"part": part, "data": SETS[data], "contender": contender.replace(",", "")}
    return of_asked(n_bits=bits.split()[0], asked=column, **key)


OF_SEARCHES = {
    "random hyperplanes, Hamming": ("LSH", "Hamming"),
    "AdditiveHasher, single bits, Hamming": ("additive", "Hamming"),
    "ITQHasher, Hamming": ("ITQ", "Hamming"),
    "ITQHasher, weighted": ("ITQ", "weighted"),
    "AdditiveHasher, single bits, weighted": ("additive", "weighted"),
    "ITQ, Hamming": ("ITQ", "Hamming"),
}


def of_recall(label, column):
    if label not in OF_SEARCHES:
        return "" if label.startswith("signs of the 512") else f"unknown row {label}"
    contender, asked = OF_SEARCHES[label]
    key = {"part": "recall", "contender": contender, "asked": asked, "n_candidates": 10}
    return of_asked(n_bits=column.split()[0], **key)


def of_candidates(label, column):
    search, _, bits = label.rpartition(", ")
    contender, asked = OF_SEARCHES[search]
    key = {"part": "recall", "contender": contender, "asked": asked}
    n_candidates = column.replace(" ", "")
    return of_asked(n_bits=bits.split()[0], n_candidates=n_candidates, **key)


ASK = "python benchmarks/bench_asked.py"
ASKED_TABLES = [
    Measured(
        ("Hamming", "activations", "saturated"),
        f"{ASK} labels distances",
        "asked",
        of_ways_to_ask,
        n_labels=2,
    ),
    Measured(
        ("codes, searched by", "random hyperplanes, Hamming"),
        f"{ASK} recall",
        "asked",
        of_recall,
    ),
    Measured(("candidates", "1 000"), f"{ASK} recall", "asked", of_candidates),
]


# What flatters


def honest(protocol, n_bits=16):
    rows = pick(measured("honest"), protocol=protocol, n_bits=n_bits)
    return average(rows, "ap", 10 if n_bits != 16 or "file" not in protocol else 5)


OF_PROTOCOLS = {
    "unseen queries, unseen database, mean over orders of ties": ("honest", None),
    "queries rank the 600 training rows in place of 600 unseen ones": (
        "training rows as items",
        "600 unseen items",
    ),
    "training rows as queries, unseen database": ("training rows as queries", "honest"),
    "training rows rank each other": ("training rows rank each other", "honest"),
    "the best order of tied items": ("best order of ties", "honest"),
    "the worst order of tied items": ("worst order of ties", "honest"),
    "the 300 queries rank each other, and each finds itself": (
        "queries find themselves",
        "queries rank each other",
    ),
    '"AP@100" that divides by the relevant items retrieved': (
        "AP@100, retrieved",
        "honest",
    ),
}


def of_honesty(label, column):
    """Mean over ten splits, and by how much it exceeds what is honest."""
    if label == "AP@100 that divides by all relevant items":
        return short(honest("AP@100, relevant")) if column == "AP" else None
    if label.startswith("the best of 12 random states"):
        if column == "AP":
            return short(honest("chosen by the queries"))
        luck = honest("gain of the choice, same queries")
        return f"{short(luck - honest('gain of the choice, others'))}, see below"
    protocol, reference = OF_PROTOCOLS[label]
    if column == "AP":
        return short(honest(protocol))
    return "" if reference is None else short(honest(protocol) - honest(reference))


HONEST_TABLES = [
    Measured(
        ("what is reported", "flatters by"),
        "python benchmarks/bench_honest.py",
        "honest",
        of_honesty,
    ),
]


# Additive bits of probabilities and of features


def similarity(column, **key):
    rows = pick(measured("similarity"), **key)
    n_splits = 3 if key["data"] == "scenes" else 1
    return short(average(rows, column, n_splits))


OF_SEARCH = {
    "weighted queries: AP": ("weighted", "ap"),
    "*decoded* queries": ("decoded", "ap"),
    "Hamming distance: AP": ("binary", "ap"),
    "weighted queries: share": ("weighted", "precision"),
    "the same": ("shortlist", "precision"),
}


def of_search(label, column):
    (found,) = [v for k, v in OF_SEARCH.items() if label.startswith(k)]
    key = {"data": "cifar10", "seed": 0, "contender": "additive bits of probabilities"}
    return similarity(found[1], queries=found[0], n_bits=column.split()[0], **key)


def of_scenes(codes, queries, _):
    key = {"data": "scenes", "contender": codes, "queries": queries}
    return ", ".join(similarity("ndcg", n_bits=n_bits, **key) for n_bits in (12, 32))


SIMILARITY = "python benchmarks/bench_similarity.py"
SIMILARITY_TABLES = [
    Measured(
        ("search by", "weighted queries: AP"),
        f'{SIMILARITY} --sets cifar10 --seeds 0 --bits 12 32 --contenders "additive bits '
        'of probabilities"',
        "similarity",
        of_search,
    ),
    Measured(
        ("codes", "queries", "scenes"),
        f'{SIMILARITY} --sets scenes --bits 12 32 --contenders "additive bits, cosine"',
        "similarity",
        of_scenes,
        n_labels=2,
    ),
]

QUALITY_TABLES = [
    *TRAINING_TABLES,
    *TEACHER_TABLES,
    *COMPARED_TABLES,
    *ASKED_TABLES,
    *HONEST_TABLES,
    *SIMILARITY_TABLES,
]
