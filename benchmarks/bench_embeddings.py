"""Recall of short codes of embeddings, beside quantizers, at exactly equal stored bytes.

    python benchmarks/bench_embeddings.py --features my.npy  # your own: ten minutes at most
    python benchmarks/bench_embeddings.py                    # all cells: hours, goes on
    python benchmarks/bench_embeddings.py --only text --seeds 0

``--features`` takes ``.npy``, ``.npz`` with an array X, or ``.parquet`` of numeric columns.
It prints what each method finds and takes, and the line that makes the best one, and draws
a figure beside the file. With ``--labels`` (an array or column of the file, or a file of
its own, ``.npy`` or a line each) it also ranks by codes that were fitted to labels.

Sets are read from the folder that SKLEARN_TALR_DATA names; their labels are not used.
For each seed 1 000 rows are queries, at most 10 000 others the items, and at most 20 000 of
the rest are fitted to. Under "cosine" the mean of the rows to fit is subtracted and rows
have unit length. Under "inner product" and "euclidean" rows are as they are, but those of
text, which have unit length, are multiplied by exp(.7 N), N normal; "recommender" is made
up: 64 columns of uneven scale, 50 clusters, uneven lengths.

*Bytes* are all that is stored of an item, factors and lengths included, for all methods.
Decodings of faiss's quantizers are scored as they are and, under the cosine, also at unit
length; the better of the two counts. RaBitQ is searched by faiss. RaBitQ and TurboQuant
round as many principal axes as fit, rotated at random. Recall is the share of the ten
nearest by floats that are among the first ten found. Seconds are CPU time of one thread.
"""

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from benchmark_sets import BENCHMARKS, folder_of_sets
from scipy.linalg import eigh, qr
from scipy.stats import norm

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, TALRHasher
from sklearn_talr.metrics import make_retrieval_scorer, tie_aware_average_precision_score

try:
    import faiss
except ImportError:
    faiss = None

N_QUERIES, MOST_ITEMS, MOST_TRAIN, N_NEIGHBORS = 1_000, 10_000, 20_000, 10
FILES = {name: BENCHMARKS[name][0] for name in ("cifar10", "coco17", "scenes")}
FILES["text"] = "text_minilm384.npz"
SIZES = [8, 16, 32, 64]  # bytes of codes of one's own features
SLOWER = 3  # so many times as long is a code of twice the bytes expected to take
COLUMNS = (
    ["data", "metric", "n_bytes", "seed", "method"],
    ["recall", "fit_seconds", "encode_seconds", "n_train"],
)
STORE = Store(RESULTS / "embeddings.csv", *COLUMNS)


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
    return prepared(split(X), metric)


def read_features(path, labels):
    """Rows of a file in an order at random, and their labels, or None."""
    path, y = Path(path), None
    if path.suffix == ".parquet":
        import pandas as pd

        table = pd.read_parquet(path)
        y = table.pop(labels).to_numpy() if labels in table else None
        X = table.select_dtypes("number").to_numpy()
    else:
        X = np.load(path, mmap_mode="r")
        if path.suffix == ".npz":
            y, X = X.get(labels), X["X"]
    if labels and y is None:
        is_array = labels.endswith(".npy")
        y = np.load(labels) if is_array else np.array(Path(labels).read_text().splitlines())
    if y is not None and len(y) != len(X):
        raise SystemExit(f"--labels has {len(y)} rows, and --features {len(X)}.")
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], None if y is None else y[order]


def split(X):
    """Queries, rows to fit and items."""
    n_queries, n_items = (min(most, len(X) // 3) for most in (N_QUERIES, MOST_ITEMS))
    query, items, train = np.split(X, [n_queries, n_queries + n_items])
    return query, train[:MOST_TRAIN], items


def prepared(parts, metric):
    parts = [part.astype(np.float32) for part in parts]
    if metric != "cosine":
        return parts
    mean = parts[1].mean(axis=0)
    return [unit(part - mean) for part in parts]


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
        self.hasher = hasher

    def __repr__(self):
        return repr(self.hasher)

    def fit(self, X):
        self.hasher.fit(X)

    def encode(self, X):
        self.codes = self.hasher.encode(X)
        return self.codes.nbytes / len(X)

    def found(self, query, metric):
        yield highest(weighted_scores(self.hasher.query_weights(query), self.codes))


class Quantizer:
    """A quantizer of faiss, of centered rows."""

    def __init__(self, n_features, factory):
        self.line = f'faiss.index_factory({n_features}, "{factory}")'
        self.index = faiss.index_factory(n_features, factory, faiss.METRIC_INNER_PRODUCT)

    def __repr__(self):
        return self.line

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


class RaBitQ(Quantizer):
    def encode(self, X):
        self.index.add(X - self.mean)
        return self.index.sa_code_size()

    def found(self, query, metric):
        yield self.index.search(query, N_NEIGHBORS)[1]


class TurboQuant(Quantizer):
    """Coordinates after a random rotation, each rounded as suits a normal variable best.

    Zandieh et al., "TurboQuant: Online Vector Quantization with Near-optimal Distortion
    Rate", 2025. Lengths are kept as float16, but not under the cosine.
    """

    def __init__(self, n_axes, n_bits, metric, seed):
        self.n_axes, self.n_bits, self.metric, self.seed = n_axes, n_bits, metric, seed

    def fit(self, X):
        self.mean = X.mean(axis=0)
        axes = eigh(np.cov(X.T))[1][:, -self.n_axes :]
        rng = np.random.default_rng(self.seed)
        rotation = qr(rng.standard_normal((self.n_axes, self.n_axes)))[0]
        self.axes = (axes @ rotation).astype(np.float32)
        n_levels = 2**self.n_bits
        self.levels = norm.ppf((np.arange(n_levels) + 0.5) / n_levels)
        for _ in range(500):  # Lloyd's algorithm
            self.ends = (self.levels[1:] + self.levels[:-1]) / 2
            ends = np.concatenate([[-np.inf], self.ends, [np.inf]])
            self.levels = -np.diff(norm.pdf(ends)) / np.diff(norm.cdf(ends))

    def encode(self, X):
        rows = (X - self.mean) @ self.axes
        self.lengths = np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float16)
        scale = np.sqrt(self.n_axes) / np.maximum(self.lengths, 1e-6)
        self.codes = np.searchsorted(self.ends, rows * scale).astype(np.uint8)
        return self.n_axes * self.n_bits / 8 + (0 if self.metric == "cosine" else 2)

    def decoded(self):
        rows = unit(self.levels[self.codes])
        return (rows if self.metric == "cosine" else rows * self.lengths) @ self.axes.T


def additive(n_features, n_bytes, metric, seed, **params):
    """`metric="cosine"` keeps a factor of a byte, the others a length beside it."""
    n_bits = 8 * (n_bytes - (1 if metric == "cosine" else 2))
    return Ours(AdditiveHasher(n_bits, metric=metric, random_state=seed, **params))


def itq(n_features, n_bytes, metric, seed):
    return Ours(ITQHasher(8 * n_bytes, random_state=seed))


def of_faiss(factory, n_features, n_bytes, metric, seed):
    return Quantizer(n_features, factory.format(n_bytes))


def rabitq(n_bits, n_features, n_bytes, metric, seed):
    """Beside the bits faiss keeps two numbers, or five."""
    n_axes = min(n_features, 8 * (n_bytes - (8 if n_bits == 1 else 20)) // n_bits) // 8 * 8
    return RaBitQ(n_features, f"PCAR{n_axes},RaBitQ{n_bits}") if n_axes > 0 else None


def turboquant(n_bits, n_features, n_bytes, metric, seed):
    n_axes = min(n_features, 8 * (n_bytes - (metric != "cosine") * 2) // n_bits)
    return TurboQuant(n_axes, n_bits, metric, seed)


METHODS = {
    "AdditiveHasher, max_iter=0": partial(additive, max_iter=0),
    "ITQHasher": itq,
    "AdditiveHasher": additive,
    "faiss OPQ+PQ": partial(of_faiss, "OPQ{0},PQ{0}"),
    "faiss ResidualQuantizer": partial(of_faiss, "RQ{0}x8"),
    "AdditiveHasher, single bits": partial(additive, word_size=1),
    "faiss LocalSearchQuantizer": partial(of_faiss, "LSQ{0}x8"),
    **{f"faiss RaBitQ, {b} bits": partial(rabitq, b) for b in (1, 2, 4)},
    **{f"TurboQuant, {b} bits": partial(turboquant, b) for b in (1, 2, 4)},
}
OURS = list(METHODS)[:5]  # for one's own features
WORDS = ["AdditiveHasher", "faiss ResidualQuantizer", "faiss OPQ+PQ"]
FAST = [*WORDS, "AdditiveHasher, single bits", "ITQHasher"]
SCALARS = [
    name for name in METHODS if name.endswith((" bits", "=0")) and "single" not in name
]
# Sets, metrics, bytes, seeds and methods; what decides most comes first
PLAN = [
    (FILES, ["cosine"], [16, 8], [0], FAST),
    ([*FILES, "recommender"], ["inner_product", "euclidean"], [16], [0], WORDS),
    (FILES, ["cosine"], [16], [1], WORDS[:2]),
    (FILES, ["cosine"], [32], [0], WORDS[:2]),
    (FILES, ["cosine"], [8], [1], WORDS[:2]),
    (FILES, ["cosine"], [16, 8], [2], WORDS[:2]),
    (["text", "coco17"], ["cosine"], [8], [0], ["faiss LocalSearchQuantizer"]),
    (FILES, ["cosine"], [8, 16, 32, 64, 128, 192], [0], SCALARS),
    (["text"], ["inner_product"], [8, 16, 32, 64, 128, 192], [0], SCALARS),
    ([*FILES, "recommender"], ["inner_product", "euclidean"], [32], [0], WORDS),
]


def measure(parts, model, n_bytes, metric):
    """Figures of a model that is fitted to rows of a split, and encodes its items."""
    query, train, items = parts
    seconds = [time.process_time()]
    model.fit(train)
    seconds.append(time.process_time())
    stored = model.encode(items)
    seconds.append(time.process_time())
    assert stored <= n_bytes, f"{model} stores {stored} bytes of {n_bytes}"
    true = highest(scores_of(query, items, metric))
    recall = max(
        np.mean([np.isin(*rows) for rows in zip(true, found)])
        for found in model.found(query, metric)
    )
    return dict(zip(COLUMNS[1], [float(recall), *np.diff(seconds).tolist(), len(train)]))


def run(cells, store, load, minutes=np.inf):
    """Measure cells that are not in the store, but what would not end in time."""
    end, expected = time.monotonic() + 60 * minutes, {}
    for cell in cells:
        data, metric, n_bytes, seed, method = cell
        key = dict(zip(store.key, cell))
        if store.has(**key) or (faiss is None and "faiss" in method):
            continue
        parts = load(data, metric, seed)
        model = METHODS[method](parts[0].shape[1], n_bytes, metric, seed)
        start = time.monotonic()
        if model is None or start + expected.get(method, 0) > end:
            print(f"{method}, {n_bytes} bytes: left out")
            continue
        store.add(**key, **measure(parts, model, n_bytes, metric))
        expected[method] = SLOWER * (time.monotonic() - start)


def compare(features, labels, minutes):
    """Print and draw what methods reach on one's own features."""
    start = time.monotonic()
    X, y = read_features(features, labels)
    parts = prepared(split(X), "cosine")
    n_features, file = X.shape[1], Path(features)
    store = Store(file.with_name(f"{file.stem}_recall.csv"), *COLUMNS)
    cells = product([file.name], ["cosine"], SIZES, [0], OURS)
    share = 1 if y is None else 0.7
    run(cells, store, lambda *_: parts, share * minutes)
    rows = [row for row in store.rows() if row["data"] == file.name]
    n_items = len(parts[2])
    print(f"{n_items} items of {4 * n_features} bytes as float32. Recall of ten:\n")
    print(f"{'bytes':>5}  {'recall':6}  {'fit, s':>7}  {'encode, us a row':>16}  method")
    for row in sorted(rows, key=lambda row: (int(row["n_bytes"]), -float(row["recall"]))):
        micro = 1e6 * float(row["encode_seconds"]) / n_items
        figures = f"{float(row['recall']):.3f}   {float(row['fit_seconds']):7.1f}"
        print(f"{row['n_bytes']:>5}  {figures}  {micro:16.1f}  {row['method']}")
    print("\nThe best of each size:")
    for size in SIZES:
        of_size = [row for row in rows if row["n_bytes"] == str(size)]
        if of_size:
            best = max(of_size, key=lambda row: float(row["recall"]))["method"]
            print(f"{METHODS[best](n_features, size, 'cosine', 0)}  # {size} bytes")
    draw(rows, file.with_name(f"{file.stem}_recall.png"))
    if y is None:
        return
    # By labels, which codes fitted to them rank, and floats.
    y_query, y_train, y_items = split(y)
    query, train, items = parts
    true = y_query[:, None] == y_items
    ap = tie_aware_average_precision_score(true, query @ items.T)
    print(f"\nAP by labels: floats {ap:.3f}")
    spent = 0.0
    for size in SIZES:
        begun = time.monotonic()
        if begun + spent > start + 60 * minutes:
            break
        hasher = TALRHasher(8 * size, random_state=0).fit(train, y_train)
        found = (
            make_retrieval_scorer("AP", database=(items, y_items), query=kind)
            for kind in ("bits", "weights")
        )
        bits, weights = (scorer(hasher, query, y_query) for scorer in found)
        print(f"{hasher}  # {size} bytes: bits {bits:.3f}, weights {weights:.3f}")
        spent = SLOWER * (time.monotonic() - begun)


def draw(rows, path):
    """Recall against bytes, a line for each method."""
    from matplotlib.figure import Figure

    axes = Figure(layout="constrained").subplots()
    for method in OURS:
        of_method = [r for r in rows if r["method"] == method]
        places = [(int(r["n_bytes"]), float(r["recall"])) for r in of_method]
        if places:
            axes.plot(*zip(*places), marker="o", label=method)
    axes.set_xscale("log", base=2)
    axes.set_xticks(SIZES, SIZES)
    axes.set(xlabel="stored bytes", ylabel="recall of the ten nearest")
    axes.legend()
    axes.figure.savefig(path)
    print(f"\nFigure: {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--features")
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
