"""What the tables of the guide show of time and memory, from a file of one machine.

``seconds.csv`` has what scripts note down if ``SKLEARN_TALR_SECONDS`` names it. The last
row of a key counts.
"""

import numpy as np
from guide_tables import Measured, NotMeasuredError, measured, pick

BENCH = "python benchmarks/bench_{}".format


def noted(script, table, line, quantity):
    """The last figure of this key."""
    key = {"script": script, "table": table, "line": line, "quantity": quantity}
    rows = pick(measured("seconds"), **key)
    if not rows:
        raise NotMeasuredError(key)
    return float(rows[-1]["value"])


def figures(value):
    """A time or a ratio: two decimals below 1, one below 100, and none above."""
    return f"{value:.{2 if value < 1 else 1 if value < 100 else 0}f}"


def of_training(label, batch):
    table = f"{batch.replace(' ', '')}/64/2"
    if label.startswith("extra peak memory"):
        return f"{noted('bench_training', table, 'ours', 'MiB'):.0f}"
    step = noted("bench_training", table, "ours", "ms, 1")
    return f"{step / noted('bench_training', table, 'GEMMs', 'ms, 1'):.1f}"


ITEMS = {"10:sup:`5`": 10**5, "10:sup:`6`": 10**6, "10:sup:`7`": 10**7}
OF_SERVE = {
    "Hamming": "Hamming",
    "weighted": "weighted",
    "1 000 by Hamming, then weighted": "1 000 by Hamming, then weighted",
    "the same for 100, then `rescore`": "1 000 by Hamming, 100 weighted, then floats",
    "to_faiss": "faiss BFlat",
    "to_faiss, weighted": "faiss weighted",
    "all by float32, faiss": "all by floats",
}
OF_FLOATS = "the same for 100, then `rescore`", "all by float32, faiss"


def of_serve(label, column):
    items, _, alone = column.partition(", ")
    if items == "10:sup:`7`" and label in OF_FLOATS:
        return ""
    quantity = "one, ms" if alone else "many, ms"
    table = f"{ITEMS[items]} codes"
    return figures(noted("bench_embeddings", table, OF_SERVE[label], quantity))


OF_CALLS = {
    "floats, NumPy": "floats, NumPy",
    "weighted": "weighted",
    "1 000 by Hamming, then weighted": "candidates",
    "Hamming": "Hamming",
    "`query_weights` of the hasher": "query_weights alone",
}


def of_calls(label, column):
    """Median and 99th percentile, or CPU time of a call where codes are repeated."""
    n_items = ITEMS.get(column) or int(column.replace(" ", ""))
    is_repeated = n_items >= 10**5
    if is_repeated and label == "floats, NumPy":
        return ""
    if n_items > 1_000 and label.startswith("`query_weights`"):
        return ""
    key = "bench_serving", f"{n_items} items", OF_CALLS[label]
    if is_repeated:
        return figures(noted(*key, "CPU, ms"))
    return " / ".join(figures(noted(*key, q)) for q in ("p50, ms", "p99, ms"))


OF_PEERS = {
    "HammingNeighbors": "ours",
    "faiss `IndexBinaryFlat`, called directly": "faiss Flat",
    "usearch, exact": "usearch exact",
    "scikit-learn, brute force": "scikit-learn brute Hamming",
}


def of_peers(label, column):
    """Times in multiples of ours."""
    items, n_bits = column.replace(" bits", "").split(" x ")
    items = items.replace(" ", "")
    table = f"k = 10, {items} random codes of {n_bits} bits"
    if label.startswith("scikit-learn") and items == "1000000":
        return ""
    if label.startswith("HammingNeighbors"):
        return "1"
    key = "bench_neighbors", table
    ours = noted(*key, "ours", "us a query")
    ratio = noted(*key, OF_PEERS[label], "us a query") / ours
    return f"{ratio:.0f}" if ratio >= 10 else figures(ratio)


OF_RUNS = {
    "pytrec_eval, dicts": "pytrec_eval",
    "ours, dicts": "ours, dicts",
    "ours, ``Qrels`` and ``Run``": "ours, arrays",
}


def of_runs(label, column):
    title = label.replace("100 a query", "100 judged").replace("all 1 000", "all judged")
    key = "bench_runs", f"1 000 x 1 000, {title}", OF_RUNS[column]
    return f"{noted(*key, 'seconds'):.2f} s"


# Steps of the script, and the numbers of rows in them: all, and with --small
OF_BUSY = {
    "AdditiveHasher.encode, 5 000 x 384 to 256 bits": (
        "AdditiveHasher.encode, {} x 384, 256 bits",
        (5_000, 1_000),
    ),
    "the same, 11 000 rows": ("AdditiveHasher.encode, {} x 384, 256 bits", (11_000, 2_200)),
    "AdditiveHasher.fit, 5 000 rows, 128 bits": (
        "AdditiveHasher.fit, {} x 384, 128 bits, 3 rounds",
        (5_000, 1_000),
    ),
    "ITQHasher.fit, 5 000 rows, 256 bits": (
        "ITQHasher.fit, {} x 384, 256 bits",
        (5_000, 1_000),
    ),
    "ITQHasher.encode, 20 times 11 000 rows": (
        "ITQHasher.encode, 20 x {} rows",
        (11_000, 2_200),
    ),
    "hidden units, the same": (
        "TALRHasher.encode, 256 hidden units, 20 x {} rows",
        (11_000, 2_200),
    ),
    "one row to weights, 500 times": (
        "ITQHasher.query_weights, one row, 500 times",
        (0, 0),
    ),
    "weighted_scores, 20 times 500 by 11 000": (
        "weighted_scores, 500 x {}, 20 times",
        (11_000, 2_200),
    ),
    "weighted search, 10 times 500 among 11 000": (
        "weighted search, 500 among {}, 10 times",
        (11_000, 2_200),
    ),
    "RankingSVC.fit, 6 000 x 200": ("RankingSVC.fit, {} x 200", (6_000, 1_200)),
}


def of_busy(label, column):
    """Seconds beside the neighbor over quiet ones, and the quiet ones."""
    pattern, n_rows = OF_BUSY[label]
    free, _, of = column.rpartition(": ")
    key = "bench_busy", "free" if free else "held", pattern.format(n_rows[bool(free)])
    if column == "quiet, s":
        return figures(noted(*key, "quiet, CPU, s"))
    return f"{noted(*key, f'busy, {of}, s') / noted(*key, f'quiet, {of}, s'):.1f}"


def seconds(name, find, cell, n_labels=1):
    return Measured(find, BENCH(name), "seconds", cell, n_labels)


OF_HASHERS = {
    "LSHHasher, 32 bits": "LSH",
    "ITQHasher, 32 bits": "ITQ",
    "TALRHasher, 32 bits": "TALR",
    "TALRHasher, 64 bits": "TALR, 64 bits",
    "TALRHasher, 32 bits, ``early_descent=True``": "TALR, early descent",
    "TALRHasher, 32 bits, ``hidden_layer_sizes=(256,)``": "TALR, hidden layer",
    "logistic regression, then additive bits of its probabilities, 32 bits "
    "(:doc:`weighted_queries`)": "logistic, additive bits",
    "TALR of the features, linear": "TALR",
    'teacher, ``kernel="linear"``, then TALR': "linear kernel, TALR",
    "teacher, ``n_components=1000`` (`More than 5 000 rows`_), then TALR": (
        "1 000 components, TALR"
    ),
    "teacher, then TALR": "teacher, TALR",
}
N_ENCODED = 59_000


def two_figures(value, unit=""):
    """A quantity with two figures, without an exponent."""
    digits = np.format_float_positional(value, 2, unique=False, fractional=False, trim="k")
    return f"{digits.rstrip('.')} {unit}".rstrip()


def of_hashers(label, column):
    key = "bench_steps", "hashers", OF_HASHERS[label]
    if column == "fit":
        return two_figures(noted(*key, "fit, s"), "s")
    if column == "encode":
        return two_figures(noted(*key, "encode, s"), "s")
    if column == "model":
        n_bytes = noted(*key, "model, bytes")
        unit, name = (1e6, "MB") if n_bytes >= 1e6 else (1e3, "kB")
        return two_figures(n_bytes / unit, name)
    return two_figures(1e6 * noted(*key, "encode, s") / N_ENCODED, "s")


OF_STEPS = {
    "fit :class:`~sklearn_talr.hashing.TALRHasher`, 100 epochs": ("TALR", "fit, s"),
    "fit :class:`~sklearn_talr.hashing.ITQHasher`": ("ITQ", "fit, s"),
    "encode 59 000 rows": ("TALR", "encode, s"),
    "put 59 000 codes into :class:`~sklearn_talr.neighbors.HammingNeighbors`": "index",
    "ten nearest for 1 000 queries, Hamming distance": "ten nearest",
    "ten nearest for 1 000 queries, weighted": "ten nearest, weighted",
    "tables of counts (:doc:`counts`) of 1 000 queries against 59 000 items": "counts",
    "average precision (AP) of 1 000 queries from their tables": "AP",
}


def of_steps(label, column):
    step = OF_STEPS[label]
    if isinstance(step, tuple):
        return two_figures(noted("bench_steps", "hashers", *step), "s")
    return two_figures(noted("bench_steps", "learned, 32 bits", step, "s"), "s")


OF_METRICS = {
    "tables of counts": "counts",
    "AP": "AP",
    "NDCG": "NDCG",
    "worst, expected and best AP": "range of AP",
}


def of_metrics(label, codes):
    """Milliseconds; random codes have the time of counting alone."""
    if codes.startswith("random") and label != "tables of counts":
        return ""
    return two_figures(
        1e3 * noted("bench_steps", codes, OF_METRICS[label], "s"), ""
    ).strip()


SECONDS_TABLES = [
    seconds("steps.py search", ("CPU time of one thread", "step"), of_steps),
    seconds("steps.py search", ("CPU time, ms",), of_metrics),
    seconds("steps.py", ("hasher", "fit", "encode"), of_hashers),
    seconds("steps.py", ("codes", "encode 10⁶ rows", "model"), of_hashers),
    seconds(
        "training.py",
        ("One step forward and backward, 64 bits, two levels, float32, one thread",),
        of_training,
    ),
    seconds("embeddings.py serve", ("Ten nearest of codes of 256 bits",), of_serve),
    seconds("serving.py", ("One call for one query",), of_calls),
    seconds("neighbors.py knn", ("60 000 x 32 bits",), of_peers),
    seconds("runs.py", ("judged documents and scores",), of_runs),
    seconds("busy.py", ("Beside a busy neighbor",), of_busy),
]
