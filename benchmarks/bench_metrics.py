"""Tie-aware AP and NDCG of Hamming rankings, side by side with other libraries.

    python benchmarks/bench_metrics.py            # all tables, about three minutes
    python benchmarks/bench_metrics.py peers      # one of: peers threads repeats scaling
                                                  #         multilabel million

Contenders get the same codes in one process and take turns; figures are medians of wall
time, ratios are against ours. Those that take a second or more per ten queries run on
fewer queries, and their time is scaled up (marked ~). Peers that are not installed are
left out: ``pip install ".[bench]"``.
"""

import argparse
import tracemalloc
from functools import partial
from importlib.util import find_spec

import numpy as np
import torch
from _timing import medians
from sklearn.metrics import average_precision_score, ndcg_score

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.codes import PackedCodes, hamming_distances
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP, nDCG

N_QUERIES, N_DATABASE, N_CLASSES = 1_000, 60_000, 10


def draw(rng, n, n_bits=64, n_distinct=None):
    """Random codes that lean to the class of their label, so that AP means something."""
    y = rng.integers(N_CLASSES, size=max(n, n_distinct or n))
    centers = np.random.default_rng(0).integers(2, size=(N_CLASSES, n_bits))
    flips = rng.random((len(y), n_bits)) < 0.4
    bits = (centers[y] ^ flips).astype(np.uint8)
    if n_distinct:
        rows = (n_distinct * rng.random(n) ** 3).astype(int)
        bits, y = bits[rows], y[rows]
    packed = np.packbits(bits, axis=1, bitorder="little")
    return PackedCodes(packed, n_bits), y


def ours(query, y_query, database, y_database, n_jobs=None):
    """AP and NDCG from codes: distances, counts and both metrics."""
    histogram = hamming_histogram(
        query, database, LabelAffinity(), y_query, y_database, n_jobs=n_jobs
    )
    return AP.of(histogram), nDCG.of(histogram)


# Each peer takes distances and relevance of some queries and returns its AP or NDCG.


def sklearn_ap(distances, relevant):
    return [average_precision_score(r, -d) for r, d in zip(relevant, distances)]


def sklearn_ndcg(distances, relevant):
    return [ndcg_score(r[None], -d[None]) for r, d in zip(relevant, distances)]


def argsort_ap(distances, relevant):
    """The loop of many hashing papers: ties go by database order."""
    values = []
    for r, d in zip(relevant, distances):
        hits = np.flatnonzero(r[np.argsort(d)]) + 1
        values.append(np.mean(np.arange(1, len(hits) + 1) / hits))
    return values


def torchmetrics_ap(distances, relevant):
    from torchmetrics.functional.retrieval import retrieval_average_precision

    n_bits = distances.max() + 1  # it drops targets whose score is not positive
    return [
        retrieval_average_precision(
            torch.from_numpy(n_bits - d).float(), torch.from_numpy(r)
        )
        for r, d in zip(relevant, distances)
    ]


def torchmetrics_ndcg(distances, relevant):
    from torchmetrics.functional.retrieval import retrieval_normalized_dcg

    return [
        retrieval_normalized_dcg(-torch.from_numpy(d).float(), torch.from_numpy(r))
        for r, d in zip(relevant, distances)
    ]


def _runs(distances, relevant):
    names = [f"d{i}" for i in range(distances.shape[1])]
    run = {f"q{i}": dict(zip(names, -d.astype(float))) for i, d in enumerate(distances)}
    judged = {
        f"q{i}": {names[j]: 1 for j in np.flatnonzero(r)} for i, r in enumerate(relevant)
    }
    return run, judged


def pytrec_ap(distances, relevant):
    import pytrec_eval

    run, judged = _runs(distances, relevant)
    found = pytrec_eval.RelevanceEvaluator(judged, {"map"}).evaluate(run)
    return [found[f"q{i}"]["map"] for i in range(len(distances))]


def ranx_ap(distances, relevant):
    import ranx

    run, judged = _runs(distances, relevant)
    return ranx.evaluate(
        ranx.Qrels(judged), ranx.Run(run), "map", return_mean=False, make_comparable=True
    )


def trm_ap(distances, relevant):
    import trm

    n_items = distances.shape[1]
    found = trm.evaluate(
        (-distances).tolist(), relevant.astype(bool).tolist(), ["map"], [n_items]
    )
    return [value.expected for value in found.per_query["map"][n_items]]


PEERS = [
    # name, module, function, metric, queries it is given, what it makes of ties
    ("argsort loop, AP", "numpy", argsort_ap, "AP", N_QUERIES, "database order"),
    ("sklearn AP", "sklearn", sklearn_ap, "AP", 200, "one step per tie"),
    ("sklearn NDCG", "sklearn", sklearn_ndcg, "NDCG", 200, "expectation"),
    ("torchmetrics AP", "torchmetrics", torchmetrics_ap, "AP", 200, "database order"),
    ("torchmetrics NDCG", "torchmetrics", torchmetrics_ndcg, "NDCG", 200, "expectation"),
    ("ranx AP", "ranx", ranx_ap, "AP", 5, "database order"),
    ("pytrec_eval AP", "pytrec_eval", pytrec_ap, "AP", 5, "document name"),
    ("trm AP", "trm", trm_ap, "AP", 2, "expectation"),
]


def bench_peers(rng):
    """Everything from codes to AP and NDCG, against peers given ready distances."""
    for n_bits in (32, 64):
        query, y_query = draw(rng, N_QUERIES, n_bits)
        database, y_database = draw(rng, N_DATABASE, n_bits)
        distances = hamming_distances(query, database)
        relevant = (y_query[:, None] == y_database).astype(np.int64)
        peers = [peer for peer in PEERS if find_spec(peer[1])]
        contenders = {
            name: partial(function, distances[:n], relevant[:n])
            for name, _, function, _, n, _ in peers
        }
        arguments = query, y_query, database, y_database
        kernels = {"ours, AP and NDCG": partial(ours, *arguments)}
        seconds = medians(kernels | contenders, repeats=5)
        unit = seconds["ours, AP and NDCG"]
        truth = dict(zip(("AP", "NDCG"), ours(*arguments)))
        print(f"\n{N_QUERIES} queries x {N_DATABASE} items, {n_bits} bits, 10 classes")
        print(f"{'':22s}{'ms':>11s}{'ratio':>9s}  {'off by':>8s}  ties")
        for name in kernels:
            print(row(name, seconds[name], seconds[name] / unit, 0.0, "expectation"))
        for name, _, function, metric, n, ties in peers:
            time = seconds[name] * N_QUERIES / n
            values = np.asarray(function(distances[:2], relevant[:2]), dtype=float)
            off = np.abs(values - truth[metric][:2]).max()
            print(row(name, time, time / unit, off, ties, scaled=n < N_QUERIES))


def row(name, seconds, ratio, off, ties, scaled=False):
    mark = "~" if scaled else " "
    return f"{name:22s}{mark}{seconds * 1e3:10.1f}{ratio:9.1f}  {off:8.1e}  {ties}"


def bench_threads(rng):
    """One thread and two."""
    arguments = *draw(rng, 2 * N_QUERIES), *draw(rng, N_DATABASE)
    calls = {n: partial(ours, *arguments, n_jobs=n) for n in (1, 2)}
    seconds = medians(calls, repeats=9)
    print(
        f"\n1 thread {seconds[1] * 1e3:.1f} ms, 2 threads {seconds[2] * 1e3:.1f} ms, "
        f"speed-up {seconds[1] / seconds[2]:.2f}"
    )


def bench_repeats(rng):
    """Counts alone: merging equal codes, against counting every item.

    Learned codes are used unevenly: a few by many items, most by few. So they are here.
    """
    from sklearn_talr.histogram import _hamming

    def plainly(*arguments):
        before = _hamming._QUERIES_TO_MERGE
        _hamming._QUERIES_TO_MERGE = float("inf")
        try:
            return hamming_histogram(*arguments)
        finally:
            _hamming._QUERIES_TO_MERGE = before

    print(f"\n{'distinct codes':>15s}{'every item':>12s}{'as chosen':>12s}{'ratio':>8s}")
    for fraction in (0.01, 0.05, 0.12, 0.25, 0.6, 1.5, 5.0, None):
        n_distinct = None if fraction is None else int(fraction * N_DATABASE)
        database, y_database = draw(rng, N_DATABASE, 64, n_distinct)
        rows = rng.integers(N_DATABASE, size=N_QUERIES)
        arguments = database[rows], database, LabelAffinity(), y_database[rows], y_database
        seconds = medians(
            {
                name: partial(function, *arguments)
                for name, function in (("plain", plainly), ("chosen", hamming_histogram))
            },
            repeats=7,
        )
        found = len(np.unique(database.data, axis=0)) / N_DATABASE
        print(
            f"{found:15.2f}{seconds['plain'] * 1e3:9.1f} ms"
            f"{seconds['chosen'] * 1e3:9.1f} ms{seconds['plain'] / seconds['chosen']:8.1f}"
        )


def bench_scaling(rng):
    """Time per pair, against the sizes and the number of levels."""
    print(f"\n{'queries':>8s}{'items':>9s}{'levels':>8s}{'ms':>9s}{'ns per pair':>13s}")
    for n_queries, n_items, n_labels in (
        (500, 30_000, 1),
        (1_000, 30_000, 1),
        (1_000, 60_000, 1),
        (1_000, 120_000, 1),
        (2_000, 120_000, 1),
        (1_000, 60_000, 2),
        (1_000, 60_000, 4),
        (1_000, 60_000, 8),
        (1_000, 60_000, 15),
    ):
        query, _ = draw(rng, n_queries)
        database, _ = draw(rng, n_items)
        y_query, y_database = (
            (rng.random((n, n_labels)) < 0.5).astype(np.uint8) for n in (n_queries, n_items)
        )
        arguments = query, database, SharedLabelAffinity(), y_query, y_database
        run = partial(hamming_histogram, *arguments)
        seconds = medians({"ours": run}, repeats=5)["ours"]
        print(
            f"{n_queries:8d}{n_items:9d}{n_labels + 1:8d}{seconds * 1e3:9.1f}"
            f"{seconds / n_queries / n_items * 1e9:13.2f}"
        )


def bench_multilabel(rng):
    """The size of NUS-WIDE: 2 000 queries, 196 000 items, 21 labels."""
    query, _ = draw(rng, 2_000)
    database, _ = draw(rng, 196_000)
    y_query, y_database = ((rng.random((n, 21)) < 0.12) * 1 for n in (2_000, 196_000))
    arguments = query, database, SharedLabelAffinity(), y_query, y_database
    run = partial(hamming_histogram, *arguments)
    seconds = medians({"ours": run}, repeats=3)["ours"]
    print(f"\n2 000 x 196 000, 64 bits, 21 labels: {seconds:.2f} s")


def bench_million(rng):
    """10 000 queries, a million items: time, and memory beside codes and result."""
    query, y_query = draw(rng, 10_000)
    database, y_database = draw(rng, 1_000_000)
    arguments = query, database, LabelAffinity(), y_query, y_database
    seconds = medians({"ours": lambda: hamming_histogram(*arguments)}, repeats=1)["ours"]
    tracemalloc.start()
    histogram = hamming_histogram(*arguments)
    peak = tracemalloc.get_traced_memory()[1] - histogram.counts.nbytes
    tracemalloc.stop()
    print(
        f"\n10 000 x 1 000 000, 64 bits: {seconds:.1f} s, working memory beside codes and "
        f"result {peak / 2**20:.0f} MiB"
    )


TABLES = {
    "peers": bench_peers,
    "threads": bench_threads,
    "repeats": bench_repeats,
    "scaling": bench_scaling,
    "multilabel": bench_multilabel,
    "million": bench_million,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], default=[])
    chosen = parser.parse_args().tables or list(TABLES)
    torch.set_num_threads(1)
    print(f"NumPy {np.__version__}, torch {torch.__version__}, one thread unless stated")
    for table in chosen:
        TABLES[table](np.random.default_rng(0))


if __name__ == "__main__":
    main()
