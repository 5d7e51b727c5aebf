"""Tell which codes suit the embeddings of a file: ``sklearn-talr-codes FILE``."""

import argparse
import sys
import time
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from itertools import product

import numpy as np
from sklearn.preprocessing import normalize

from .._core.compat import optional
from .._core.paths import local_path
from ..codes import weighted_scores
from ..hashing import AdditiveHasher, ITQHasher, TALRHasher
from ..metrics import make_retrieval_scorer, tie_aware_average_precision_score

N_QUERIES, MOST_ITEMS, MOST_TRAIN, N_NEIGHBORS = 1_000, 10_000, 20_000, 10
LEAST_ROWS, LEAST_TRAIN = 100, 256  # at all, and that quantizers of faiss can be fitted to
SIZES = 8, 16, 32, 64  # bytes
SLOWER = 2.5  # so many times as long is a code of twice the bytes expected to take
_VECTORS = {".fvecs": np.float32, ".bvecs": np.uint8}  # an int32 before each row


def read_arrays(path):
    """Arrays of a file by name; those of HDF5 are not yet in memory."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return {"": np.load(path, mmap_mode="r")}
    if suffix == ".npz":
        with np.load(path) as file:
            return dict(file)
    if suffix == ".parquet":
        pandas = optional("pandas", f"Reading {path} needs pandas and pyarrow.")
        table = pandas.read_parquet(path)
        arrays = {name: np.array(table[name].tolist()) for name in table}
        if any(array.ndim == 2 for array in arrays.values()):  # a column of lists
            return arrays
        floats = table.select_dtypes("floating")  # beside which integers are ids or labels
        numbers = table.select_dtypes("number") if floats.empty else floats
        return arrays | {"": numbers.to_numpy()}
    if suffix in _VECTORS:
        octets, dtype = np.memmap(path, np.uint8, mode="r"), np.dtype(_VECTORS[suffix])
        size = 4 + dtype.itemsize * int(octets[:4].view("<i4")[0])
        if len(octets) % size or np.any(octets.reshape(-1, size)[:, :4] != octets[:4]):
            raise ValueError(f"{path} does not hold rows of one length, as {suffix} does.")
        return {"": octets.reshape(-1, size)[:, 4:].view(dtype)}
    if suffix == ".mat":
        from scipy.io import loadmat

        # SciPy does not read files of MATLAB 7.3. They are HDF5, which is read below.
        with suppress(NotImplementedError):
            return {name: a for name, a in loadmat(path).items() if name[:2] != "__"}
    if suffix not in (".mat", ".h5", ".hdf5"):
        known = ".npy, .npz, .parquet, .fvecs, .bvecs, .mat, .h5 or .hdf5"
        raise ValueError(f"{path} must be a file of features: {known}.")
    h5py, arrays = optional("h5py", f"Reading {path} needs h5py."), {}

    def found(name, item):
        if isinstance(item, h5py.Dataset):  # MATLAB writes columns first
            arrays[name] = item[()].T if "MATLAB_class" in item.attrs else item

    h5py.File(path).visititems(found)
    return arrays


def read_features(path, name=None, labels=None):
    """Rows of a file in an order at random, as many as are used, and their labels or None.

    Parameters
    ----------
    path : Path
        The file.

    name : str, default=None
        Which of its arrays. None: the only table of numbers that it has.

    labels : str, default=None
        An array or column of the file, or a file with a label a line.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,), or None
    """
    arrays = read_arrays(path)
    tables = [n for n, a in arrays.items() if a.ndim == 2 and a.dtype.kind in "fiub"]
    tables = [n for n in tables if min(arrays[n].shape) > 1 and name in (None, n)]
    if len(tables) != 1:
        shapes = ", ".join(f"{n or 'an array'} {a.shape}" for n, a in arrays.items())
        raise ValueError(f"{path} holds {shapes}. Name a table of numbers by --array.")
    X, y = arrays[tables[0]], None
    if labels is not None:
        y = arrays.get(labels)
        if y is None:
            lines = local_path(labels, "--labels").read_text().splitlines()
            y = np.array(lines)
        y = np.ravel(y)
        if len(y) != len(X):
            raise ValueError(f"--labels has {len(y)} rows, and {path} {len(X)}.")
        if tables == [""] and labels in arrays and X.dtype.kind in "iu":
            X = X[:, [n != labels for n in arrays if n and arrays[n].dtype.kind in "iu"]]
    n_most = N_QUERIES + MOST_ITEMS + MOST_TRAIN
    order = np.random.default_rng(0).permutation(len(X))[:n_most]
    kept = np.sort(order)  # as HDF5 wants it
    X = np.asarray(X[kept], dtype=np.float32)[np.searchsorted(kept, order)]
    if len(X) < LEAST_ROWS or not np.isfinite(X).all():
        raise ValueError(f"{path} must hold at least {LEAST_ROWS} rows of finite numbers.")
    return X, None if y is None else y[order]


def split(X, metric):
    """Queries, rows to fit and items; labels where there is no metric."""
    n_queries, n_items = (min(most, len(X) // 3) for most in (N_QUERIES, MOST_ITEMS))
    query, items, train = np.split(X, [n_queries, n_queries + n_items])
    parts = query, train[:MOST_TRAIN], items
    if metric == "cosine":
        mean = parts[1].mean(axis=0)
        return [normalize(part - mean) for part in parts]
    return parts


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
        """Code rows; return the bytes of each."""
        self.codes = self.hasher.encode(X)
        return self.codes.nbytes / len(X)

    def found(self, query, metric):
        """Items found for each query, once for each way of asking."""
        yield highest(weighted_scores(self.hasher.query_weights(query), self.codes))


class Quantizer:
    """A quantizer of faiss, of centered rows."""

    def __init__(self, factory, n_features, n_bytes, metric, seed):
        import faiss

        faiss.omp_set_num_threads(1)
        factory = factory.format(n_bytes)
        self.line = f'faiss.index_factory({n_features}, "{factory}")'
        self.index = faiss.index_factory(n_features, factory, faiss.METRIC_INNER_PRODUCT)

    def fit(self, X):
        """Fit to rows."""
        self.mean = X.mean(axis=0)
        self.index.train(X - self.mean)

    def encode(self, X):
        """Code rows; return the bytes of each."""
        self.codes = self.index.sa_encode(X - self.mean)
        return self.codes.shape[1]

    def decoded(self):
        """What the codes stand for."""
        return self.index.sa_decode(self.codes) + self.mean

    def found(self, query, metric):
        """Items found for each query, once for each way of asking."""
        decoded = self.decoded()
        yield highest(scores_of(query, decoded, metric))
        if metric == "cosine":
            yield highest(scores_of(query, normalize(decoded), metric))


def additive(n_features, n_bytes, metric, seed, **params):
    """`metric="cosine"` keeps a factor of a byte, the others a length beside it."""
    n_bits = 8 * (n_bytes - (1 if metric == "cosine" else 2))
    return Ours(AdditiveHasher(n_bits, metric=metric, random_state=seed, **params))


def itq(n_features, n_bytes, metric, seed):
    """Iterative quantization, which stores nothing but bits."""
    return Ours(ITQHasher(8 * n_bytes, random_state=seed))


METHODS = {
    "AdditiveHasher, axes": partial(additive, method="axes"),
    "ITQHasher": itq,
    "AdditiveHasher": additive,
    "faiss OPQ+PQ": partial(Quantizer, "OPQ{0},PQ{0}"),
    "faiss ResidualQuantizer": partial(Quantizer, "RQ{0}x8"),
}


def measure(parts, model, n_bytes, metric):
    """Recall of ten, CPU seconds to fit and to encode, and the number of rows fitted."""
    query, train, items = parts
    seconds = [time.process_time()]
    model.fit(train)
    seconds.append(time.process_time())
    stored = model.encode(items)
    seconds.append(time.process_time())
    if stored > n_bytes:
        raise ValueError(f"{type(model)} stores {stored} bytes of {n_bytes}.")
    true = highest(scores_of(query, items, metric))
    answers = model.found(query, metric)
    hits = ([np.isin(*rows) for rows in zip(true, found)] for found in answers)
    return float(max(map(np.mean, hits))), *np.diff(seconds).tolist(), len(train)


def main(argv=None):
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser("sklearn-talr-codes", description=__doc__)
    add = parser.add_argument
    add("file", help=".npy, .npz, .parquet, .fvecs, .bvecs, .mat, .h5 or .hdf5")
    add("--array", help="which array of the file")
    add("--labels", help="an array or column of the file, or a file of a label a line")
    add("--metric", choices=["cosine", "inner_product", "euclidean"], default="cosine")
    add("--minutes", type=float, default=10, help="at most (default: 10)")
    args = parser.parse_args(argv)
    try:
        compare(args)
    except (ImportError, OSError, ValueError) as error:
        print(f"sklearn-talr-codes: {error}", file=sys.stderr)
        return 1
    return 0


def compare(args):
    """Print and draw what methods reach, and what makes the best."""
    end = time.monotonic() + 60 * args.minutes
    path = local_path(args.file, "file")
    X, y = read_features(path, args.array, args.labels)
    # Powers of two change no digit, and keep squares from overflow and from vanishing.
    X = np.ldexp(X, -np.frexp(np.abs(X).max())[1])
    query, train, items = parts = split(X, args.metric)
    end_of_codes = end if y is None else end - 12 * args.minutes
    methods, rows, expected = dict(METHODS), [], {}
    if len(train) < LEAST_TRAIN or find_spec("faiss") is None:
        methods = {name: make for name, make in METHODS.items() if "faiss" not in name}
    print(f"{len(query)} queries, {len(items)} items, {len(train)} rows to fit")
    for (method, make), n_bytes in product(methods.items(), SIZES):
        start = time.monotonic()
        if start + expected.get(method, 0) > end_of_codes:
            print(f"{method}, {n_bytes} bytes: left out, since --minutes are over")
            continue
        model = make(X.shape[1], n_bytes, args.metric, 0)
        recall, fit, encode, _ = measure(parts, model, n_bytes, args.metric)
        expected[method] = SLOWER * (time.monotonic() - start)
        rows.append((n_bytes, recall, fit, 1e6 * encode / len(items), method, model.line))
        print(f"{method}, {n_bytes} bytes: recall {recall:.3f}", flush=True)
    rows.sort()
    print(f"\nRecall of ten among {len(items)} items of {X.shape[1]} float32 numbers:\n")
    print(f"{'bytes':>5} {'recall':>7} {'fit, s':>7} {'encode, us':>11}  method")
    for n_bytes, recall, fit, encode, method, _ in rows:
        print(f"{n_bytes:5} {recall:7.3f} {fit:7.1f} {encode:11.1f}  {method}")
    print("\nThe best of each size:")
    for n_bytes, *_, line in {row[0]: row for row in rows}.values():
        print(f"{line}  # {n_bytes} bytes")
    if find_spec("matplotlib"):
        from matplotlib.figure import Figure

        axes = Figure(layout="constrained").subplots()
        for method in methods:
            points = [row[:2] for row in rows if row[4] == method]
            axes.plot(*np.reshape(points, (-1, 2)).T, marker="o", label=method)
        axes.set(xlabel="stored bytes", ylabel="recall of the ten nearest")
        axes.legend()
        picture = path.with_name(f"{path.stem}_recall.png")
        axes.figure.savefig(picture)
        print(f"\nA figure: {picture}")
    if y is None:
        return
    # How codes fitted to labels rank, and floats
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
        print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
