"""Recall of short codes of embeddings, beside quantizers, at exactly equal stored bytes.

    python benchmarks/bench_embeddings.py --features my.npy  # your own: ten minutes at most
    python benchmarks/bench_embeddings.py --only text        # or all cells: hours, goes on

``--features`` takes ``.npy``, ``.npz`` with an array X, or ``.parquet`` of numeric columns.
It prints what each method finds and takes, and the line that makes the best one, and draws
a figure beside the file. With ``--labels`` (an array or column of the file, or a file with
one a line) it also tells how codes that were fitted to labels rank.

Sets are read from the folder that SKLEARN_TALR_DATA names; their labels are not used.
For each seed 1 000 rows are queries, at most 10 000 others the items, and at most 20 000 of
the rest are fitted to. Under "cosine" the mean of the rows to fit is subtracted and rows
have unit length. Under "inner product" and "euclidean" rows are as they are, but those of
text, which have unit length, are multiplied by exp(.7 N), N normal; "recommender" is made
up: 64 columns of uneven scale, 50 clusters, uneven lengths.

*Bytes* are all that is stored of an item, factors and lengths included, for all methods.
Decodings of quantizers are scored as they are and, under the cosine, also at unit length;
the better of the two counts. RaBitQ is searched by faiss; it and TurboQuant round as many
principal axes as fit, rotated at random. Recall is the share of the ten nearest by floats
that are among the first ten found. Seconds are CPU time of one thread.
"""

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from _store import RESULTS, Store
from benchmark_sets import BENCHMARKS, folder_of_sets
from scipy.linalg import eigh, qr

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, TALRHasher
from sklearn_talr.metrics import make_retrieval_scorer, tie_aware_average_precision_score

try:
    import faiss
except ImportError:
    faiss = None

N_QUERIES, MOST_ITEMS, MOST_TRAIN, N_NEIGHBORS = 1_000, 10_000, 20_000, 10
LEAST_TRAIN = 256  # that quantizers of faiss can be fitted to
FILES = {name: BENCHMARKS[name][0] for name in ("cifar10", "coco17", "scenes")}
FILES["text"] = "text_minilm384.npz"
# Positive levels of the best quantizers of a normal variable, by bits (Max, 1960)
NORMAL = {
    1: np.array([0.7979]),
    2: np.array([0.4528, 1.510]),
    4: np.array([0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733]),
}
SIZES = [8, 16, 32, 64]  # bytes of codes of one's own features
SLOWER = 2.5  # so many times as long is a code of twice the bytes expected to take
KEY = ["data", "metric", "n_bytes", "seed", "method"]
FIGURES = ["recall", "fit_seconds", "encode_seconds", "n_train"]
STORE = Store(RESULTS / "embeddings.csv", KEY, FIGURES)


def load(name, metric, seed):
    """Queries, rows to fit and items of a set."""
    rng = np.random.default_rng(seed)
    if name == "recommender":
        centers = rng.standard_normal((50, 64))
        X = centers[rng.integers(50, size=31_000)] + rng.standard_normal((31_000, 64))
        X = X * np.exp(-np.arange(64) / 16) * np.exp(0.5 * rng.standard_normal((31_000, 1)))
    else:
        with np.load(folder_of_sets() / FILES[name]) as arrays:
            X = arrays["X"].astype(np.float32)
        X = X[rng.permutation(len(X))]
        if name == "text" and metric != "cosine":
            X = X * np.exp(0.7 * rng.standard_normal((len(X), 1)))
    return split(X.astype(np.float32), metric)


def read_features(path, labels):
    """Rows of a file in an order at random, and their labels, or None."""
    y = None
    if path.suffix == ".parquet":
        table = pd.read_parquet(path)
        y = table.pop(labels).to_numpy() if labels in table else None
        X = table.select_dtypes("number").to_numpy()
    else:
        X = np.load(path, mmap_mode="r")
        if path.suffix == ".npz":
            y, X = X.get(labels), X["X"]
    if labels and y is None:
        y = pd.read_csv(labels, header=None)[0].to_numpy()
    if y is not None and len(y) != len(X):
        raise SystemExit(f"--labels has {len(y)} rows, and --features {len(X)}.")
    n_most = N_QUERIES + MOST_ITEMS + MOST_TRAIN
    order = np.random.default_rng(0).permutation(len(X))[:n_most]
    return X[order].astype(np.float32), None if y is None else y[order]


def split(X, metric):
    """Queries, rows to fit and items; labels where there is no metric."""
    n_queries, n_items = (min(most, len(X) // 3) for most in (N_QUERIES, MOST_ITEMS))
    query, items, train = np.split(X, [n_queries, n_queries + n_items])
    parts = query, train[:MOST_TRAIN], items
    if metric == "cosine":
        mean = parts[1].mean(axis=0)
        return [unit(part - mean) for part in parts]
    return parts


def unit(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def highest(scores):
    """Columns of the highest scores of each row."""
    return np.argpartition(-scores, N_NEIGHBORS - 1, axis=1)[:, :N_NEIGHBORS]


def scores_of(query, items, metric):
    """Inner products, or minus half of squared distances but for a term of the query."""
    scores = query @ items.T
    return scores - (items**2).sum(axis=1) / 2 if metric == "euclidean" else scores


class Ours:
    """A hasher, asked by weights; its factors and lengths take of the bytes."""

    def __init__(self, hasher):
        self.hasher, self.line, self.fit = hasher, repr(hasher), hasher.fit

    def encode(self, X):
        self.codes = self.hasher.encode(X)
        return self.codes.nbytes / len(X)

    def found(self, query, metric):
        yield highest(weighted_scores(self.hasher.query_weights(query), self.codes))


class Quantizer:
    """A quantizer of faiss, of centered rows."""

    def __init__(self, factory, n_features, n_bytes, metric, seed):
        factory = factory.format(n_bytes)
        self.line = f'faiss.index_factory({n_features}, "{factory}")'
        self.index = faiss.index_factory(n_features, factory, faiss.METRIC_INNER_PRODUCT)

    def fit(self, X):
        self.mean = X.mean(axis=0)
        self.index.train(X - self.mean)

    def encode(self, X):
        self.codes = self.index.sa_encode(X - self.mean)
        return self.codes.shape[1]

    def decoded(self):
        return self.index.sa_decode(self.codes) + self.mean

    def found(self, query, metric):
        decoded = self.decoded()
        yield highest(scores_of(query, decoded, metric))
        if metric == "cosine":
            yield highest(scores_of(query, unit(decoded), metric))


def wide_beam(*how):
    """A residual quantizer that keeps 16 codes of a row where 5 are the default."""
    model = Quantizer("RQ{0}x8", *how)
    model.index.rq.max_beam_size = 16
    return model


class RaBitQ(Quantizer):
    """Of principal axes. Beside the bits faiss keeps two numbers, or five.

    Queries are not rounded, where four bits of each number are the default.
    """

    def __init__(self, n_bits, n_features, n_bytes, *others):
        n_axes = 8 * (n_bytes - (8 if n_bits == 1 else 20)) // n_bits // 8 * 8
        n_axes = min(n_axes, n_features // 8 * 8)
        super().__init__(f"PCAR{n_axes},RaBitQ{n_bits}", n_features, n_bytes, *others)
        faiss.downcast_index(self.index.index).qb = 0

    def encode(self, X):
        self.index.add(X - self.mean)
        return self.index.sa_code_size()

    def found(self, query, metric):
        yield self.index.search(query, N_NEIGHBORS)[1]


class TurboQuant(Quantizer):
    """Zandieh et al., 2025, with lengths as float16, but under the cosine without them."""

    def __init__(self, n_bits, n_features, n_bytes, metric, seed):
        self.n_bytes_of_lengths, self.seed = 2 * (metric != "cosine"), seed
        n_axes = 8 * (n_bytes - self.n_bytes_of_lengths) // n_bits
        self.n_axes, self.n_bits = min(n_features, n_axes), n_bits
        self.levels = np.concatenate([-NORMAL[n_bits][::-1], NORMAL[n_bits]])

    def fit(self, X):
        self.mean = X.mean(axis=0)
        rng = np.random.default_rng(self.seed)
        rotation = qr(rng.standard_normal((self.n_axes, self.n_axes)))[0]
        self.axes = (eigh(np.cov(X.T))[1][:, -self.n_axes :] @ rotation).astype(np.float32)

    def encode(self, X):
        rows = (X - self.mean) @ self.axes
        self.lengths = np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float16)
        ends = (self.levels[1:] + self.levels[:-1]) / 2 / np.sqrt(self.n_axes)
        self.codes = np.searchsorted(ends, unit(rows)).astype(np.uint8)
        return self.n_axes * self.n_bits / 8 + self.n_bytes_of_lengths

    def decoded(self):
        rows = unit(self.levels[self.codes]) @ self.axes.T
        return rows * self.lengths if self.n_bytes_of_lengths else rows


def additive(n_features, n_bytes, metric, seed, **params):
    """`metric="cosine"` keeps a factor of a byte, the others a length beside it."""
    n_bits = 8 * (n_bytes - (1 if metric == "cosine" else 2))
    return Ours(AdditiveHasher(n_bits, metric=metric, random_state=seed, **params))


METHODS = {
    "AdditiveHasher, max_iter=0": partial(additive, max_iter=0),
    "ITQHasher": lambda d, n, _, seed: Ours(ITQHasher(8 * n, random_state=seed)),
    "AdditiveHasher": additive,
    "faiss OPQ+PQ": partial(Quantizer, "OPQ{0},PQ{0}"),
    "faiss ResidualQuantizer": partial(Quantizer, "RQ{0}x8"),
    "AdditiveHasher, single bits": partial(additive, word_size=1),
    "faiss ResidualQuantizer, beam 16": wide_beam,
    "faiss LocalSearchQuantizer": partial(Quantizer, "LSQ{0}x8"),
    **{f"faiss RaBitQ, {b} bits": partial(RaBitQ, b) for b in (1, 2, 4)},
    **{f"TurboQuant, {b} bits": partial(TurboQuant, b) for b in (1, 2, 4)},
}
OURS = list(METHODS)[:5]  # for one's own features
WORDS = ["AdditiveHasher", "faiss ResidualQuantizer", "faiss OPQ+PQ"]
AXES = ["AdditiveHasher, max_iter=0", *(name for name in METHODS if "TurboQ" in name)]
RABITQ = [name for name in METHODS if "RaBitQ" in name]  # whose factors take up to 20 bytes
# Sets, metrics, bytes, seeds and methods
PLAN = [
    (FILES, ["cosine"], [16, 8], [0], [*WORDS, "AdditiveHasher, single bits", "ITQHasher"]),
    (FILES, ["cosine"], [16, 8], [1, 2], WORDS[:2]),
    (FILES, ["cosine"], [32], [0], WORDS[:2]),
    (FILES, ["cosine"], [8], [0], ["faiss ResidualQuantizer, beam 16"]),
    (["text", "coco17"], ["cosine"], [8], [0], ["faiss LocalSearchQuantizer"]),
    (FILES, ["cosine"], [8, 16, 32, 64, 128, 192], [0], AXES),
    (FILES, ["cosine"], [32, 64, 128, 192], [0], RABITQ),
    (["text"], ["inner_product"], [8, 16, 32, 64, 128, 192], [0], AXES),
    (["text"], ["inner_product"], [32, 64, 128, 192], [0], RABITQ),
    ([*FILES, "recommender"], ["inner_product", "euclidean"], [16, 32], [0], WORDS),
]


def measure(parts, model, n_bytes, metric):
    """Figures of a model that is fitted to rows of a split, and encodes its items."""
    query, train, items = parts
    seconds = [time.process_time()]
    model.fit(train)
    seconds.append(time.process_time())
    stored = model.encode(items)
    seconds.append(time.process_time())
    assert stored <= n_bytes, f"{type(model)} stores {stored} bytes of {n_bytes}"
    true = highest(scores_of(query, items, metric))
    recall = max(
        np.mean([np.isin(*rows) for rows in zip(true, found)])
        for found in model.found(query, metric)
    )
    return dict(zip(FIGURES, [float(recall), *np.diff(seconds).tolist(), len(train)]))


def run(cells, store, load, end=np.inf):
    """Measure cells that are not in the store, but what would not end in time."""
    expected = {}
    for cell in cells:
        data, metric, n_bytes, seed, method = cell
        key = dict(zip(store.key, cell))
        if store.has(**key):
            continue
        parts = load(data, metric, seed)
        if "faiss" in method and (faiss is None or len(parts[1]) < LEAST_TRAIN):
            continue
        model = METHODS[method](parts[0].shape[1], n_bytes, metric, seed)
        start = time.monotonic()
        if start + expected.get(method, 0) > end:
            print(f"{method}, {n_bytes} bytes: left out")
            continue
        store.add(**key, **measure(parts, model, n_bytes, metric))
        expected[method] = SLOWER * (time.monotonic() - start)


def compare(path, labels, minutes):
    """Print and draw what methods reach on one's own features."""
    end = time.monotonic() + 60 * minutes
    X, y = read_features(path, labels)
    query, train, items = parts = split(X, "cosine")
    store = Store(path.with_name(f"{path.stem}_recall.csv"), KEY, FIGURES)
    cells = [(path.name, "cosine", n, 0, method) for method in OURS for n in SIZES]
    run(cells, store, lambda *_: parts, end if y is None else end - 12 * minutes)
    table = pd.read_csv(store.path).sort_values(["n_bytes", "recall"])
    table["encode_us_a_row"] = 1e6 * table["encode_seconds"] / len(items)
    print(f"Recall of ten among {len(items)} items of {X.shape[1]} float32 numbers:\n")
    columns = ["n_bytes", "recall", "fit_seconds", "encode_us_a_row", "method"]
    print(table[columns].to_string(index=False), "\n\nThe best of each size:")
    for n_bytes, best in table.groupby("n_bytes")["method"].last().items():
        print(f"{METHODS[best](X.shape[1], n_bytes, 'cosine', 0).line}  # {n_bytes} bytes")
    axes = table.pivot(index="n_bytes", columns="method", values="recall").plot(marker="o")
    axes.set(xlabel="stored bytes", ylabel="recall of the ten nearest")
    axes.figure.savefig(path.with_name(f"{path.stem}_recall.png"))
    if y is None:
        return
    # How codes fitted to labels rank, and floats.
    y_query, y_train, y_items = split(y, None)
    true = y_query[:, None] == y_items
    ap = tie_aware_average_precision_score(true, query @ items.T)
    print(f"\nAverage precision by labels: floats {ap:.3f}")
    for n_bytes in SIZES:
        if time.monotonic() > end:
            break
        hasher = TALRHasher(8 * n_bytes, random_state=0).fit(train, y_train)
        print(f"{hasher}  # {n_bytes} bytes: ", end="")
        for kind in ("bits", "weights"):
            scorer = make_retrieval_scorer("AP", database=(items, y_items), query=kind)
            print(f"{kind} {scorer(hasher, query, y_query):.3f}", end=" ")
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--features", type=Path)
    parser.add_argument("--labels")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--csv", type=Path, default=STORE.path)
    parser.add_argument("--only", nargs="+", default=[*FILES, "recommender"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    if faiss:
        faiss.omp_set_num_threads(1)
    if args.features:
        return compare(args.features, args.labels, args.minutes)
    STORE.path = args.csv
    cells = (cell for part in PLAN for cell in product(*part))
    run([c for c in cells if c[0] in args.only and c[3] in args.seeds], STORE, load)


if __name__ == "__main__":
    main()
