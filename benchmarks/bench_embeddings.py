"""Recall of short codes of embeddings, beside quantizers, at exactly equal stored bytes.

    python benchmarks/bench_embeddings.py --only text  # or all cells: hours, goes on
    python benchmarks/bench_embeddings.py --only "text, 64 dims"

Of embeddings of your own the command ``sklearn-talr-codes`` tells the same in minutes.

Sets are read from the folder that SKLEARN_TALR_DATA names; their labels are not used.
For each seed 1 000 rows are queries, at most 10 000 others the items, and at most 20 000 of
the rest are fitted to. Under "cosine" the mean of the rows to fit is subtracted and rows
have unit length; "raw scenes" are GIST features above 0, whose mean is left. Under "inner
product" and "euclidean" rows are as they are, but those of text, which have unit length,
are multiplied by exp(.7 N), N normal; "recommender" is made up: 64 columns of uneven scale,
50 clusters, uneven lengths. Sets of "dims" have so many leading principal components of the
rows to fit, and those rows are at most 10 000; "recommender, 80 dims" has 80 columns.

*Bytes* are all that is stored of an item, factors and lengths included, for all methods.
Decodings of quantizers are scored as they are and, under the cosine, also at unit length;
the better of the two counts. RaBitQ is searched by faiss; it and TurboQuant round as many
principal axes as fit, rotated at random. Recall is the share of the ten nearest by floats
that are among the first ten found. Seconds are CPU time of one thread.
"""

import argparse
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from benchmark_sets import BENCHMARKS, folder_of_sets
from scipy.linalg import eigh, qr
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from sklearn_talr.commands.codes import (
    LEAST_TRAIN,
    N_NEIGHBORS,
    Quantizer,
    additive,
    measure,
    split,
)
from sklearn_talr.commands.codes import METHODS as OF_COMMAND

try:
    import faiss
except ImportError:
    faiss = None

FILES = {name: BENCHMARKS[name][0] for name in ("cifar10", "coco17", "scenes")}
FILES["text"] = "text_minilm384.npz"
# Positive levels of the best quantizers of a normal variable, by bits (Max, 1960)
NORMAL = {
    1: np.array([0.7979]),
    2: np.array([0.4528, 1.510]),
    4: np.array([0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733]),
}
# Sets cut to few dimensions, as SIFT (128) and DEEP (96) have them
FEW_DIMS = {
    **{f"cifar10, {n} dims": ("cifar10", n) for n in (64, 96, 128)},
    **{f"text, {n} dims": ("text", n) for n in (64, 96)},
}
FEW_DIMS_TRAIN = 10_000
KEY = ["data", "metric", "n_bytes", "seed", "method"]
FIGURES = ["recall", "fit_seconds", "encode_seconds", "n_train"]
STORE = Store(RESULTS / "embeddings.csv", KEY, FIGURES)


def load(name, metric, seed):
    """Queries, rows to fit and items of a set."""
    rng = np.random.default_rng(seed)
    if name in FEW_DIMS:
        return leading_components(*FEW_DIMS[name], seed)
    if name == "raw scenes":
        with np.load(folder_of_sets() / FILES["scenes"]) as arrays:
            X = arrays["X"].astype(np.float32)
        # Only under the cosine the mean would be subtracted.
        return split(normalize(X[rng.permutation(len(X))]), "inner_product")
    if name.startswith("recommender"):
        n_columns = 80 if "80" in name else 64
        n_rows = 21_000 if "80" in name else 31_000
        centers = rng.standard_normal((50, n_columns))
        X = centers[rng.integers(50, size=n_rows)] + rng.standard_normal(
            (n_rows, n_columns)
        )
        X = X * np.exp(-np.arange(n_columns) / 16)
        X = X * np.exp(0.5 * rng.standard_normal((n_rows, 1)))
    else:
        with np.load(folder_of_sets() / FILES[name]) as arrays:
            X = arrays["X"].astype(np.float32)
        X = X[rng.permutation(len(X))]
        if name == "text" and metric != "cosine":
            X = X * np.exp(0.7 * rng.standard_normal((len(X), 1)))
    return split(X.astype(np.float32), metric)


def leading_components(name, n_dims, seed):
    """Queries, rows to fit and items of a set, along its leading principal components."""
    query, train, items = load(name, "cosine", seed)
    train = train[:FEW_DIMS_TRAIN]
    axes = PCA(n_dims, random_state=0).fit(train)
    return [normalize(axes.transform(part)) for part in (query, train, items)]


def opq(n_features, n_bytes, *others):
    """Optimized product quantization, of as many dimensions as bytes divide."""
    n_dims = -(-n_features // n_bytes) * n_bytes
    return Quantizer(f"OPQ{{0}}_{n_dims},PQ{{0}}", n_features, n_bytes, *others)


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

    def rankings(self, query, metric):
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
        self.codes = np.searchsorted(ends, normalize(rows)).astype(np.uint8)
        return self.n_axes * self.n_bits / 8 + self.n_bytes_of_lengths

    def decoded(self):
        rows = normalize(self.levels[self.codes]) @ self.axes.T
        return rows * self.lengths if self.n_bytes_of_lengths else rows


METHODS = {
    **OF_COMMAND,
    "AdditiveHasher, single bits": partial(additive, method="bits"),
    "faiss OPQ+PQ": opq,
    "faiss ResidualQuantizer, beam 16": wide_beam,
    "faiss LocalSearchQuantizer": partial(Quantizer, "LSQ{0}x8"),
    **{f"faiss RaBitQ, {b} bits": partial(RaBitQ, b) for b in (1, 2, 4)},
    **{f"TurboQuant, {b} bits": partial(TurboQuant, b) for b in (1, 2, 4)},
}
WORDS = ["AdditiveHasher", "faiss ResidualQuantizer", "faiss OPQ+PQ"]
AXES = ["AdditiveHasher, axes", *(name for name in METHODS if "TurboQ" in name)]
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
    (["raw scenes"], ["cosine"], [8, 16], [0, 1, 2], WORDS[:2]),
    (["raw scenes"], ["cosine"], [32], [0], WORDS[:2]),
]
OF_FEW_DIMS = [
    (FEW_DIMS, ["cosine"]),
    (["recommender, 80 dims"], ["inner_product", "euclidean"]),
]
PLAN += [
    (names, metrics, [n_bytes], [seed], [AXES[0], *WORDS])
    for seed in (0, 1, 2)
    for n_bytes in (32, 16, 64)
    for names, metrics in OF_FEW_DIMS
]
DATA = list(dict.fromkeys(name for names, *_ in PLAN for name in names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", type=Path, default=STORE.path)
    parser.add_argument("--only", nargs="+", default=DATA)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    STORE.path = args.csv
    for cell in (cell for part in PLAN for cell in product(*part)):
        data, metric, n_bytes, seed, method = cell
        key = dict(zip(KEY, cell))
        if data not in args.only or seed not in args.seeds or STORE.has(**key):
            continue
        parts = load(data, metric, seed)
        if "faiss" not in method or (faiss and len(parts[1]) >= LEAST_TRAIN):
            model = METHODS[method](parts[0].shape[1], n_bytes, metric, seed)
            figures = measure(parts, model, n_bytes, metric)
            STORE.add(**key, **dict(zip(FIGURES, figures)))


if __name__ == "__main__":
    main()
