"""Compare codes for the embeddings of a file: ``sklearn-talr-codes FILE``."""

import argparse
import sys
import time
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import normalize

from .._core.compat import optional
from .._core.paths import local_path
from ..codes import weighted_scores
from ..hashing import AdditiveHasher, ITQHasher, TALRHasher
from ..metrics import make_retrieval_scorer, tie_aware_average_precision_score

N_QUERIES = 1_000
MOST_ITEMS = 10_000
MOST_TRAIN = 20_000
N_NEIGHBORS = 10
# With fewer rows recall says little.
LEAST_ROWS = 100
# The quantizers of faiss, with words of eight bits, need this many rows to be fitted to.
LEAST_TRAIN = 256
# Bytes per row of the codes that are compared
SIZES = 8, 16, 32, 64
# A code of twice the bytes is expected to take this many times as long.
SLOWER = 2.5
# Types of the numbers in files of vectors, which have an int32 before each row
_VECTORS = {".fvecs": np.float32, ".bvecs": np.uint8}
_FORMATS = ".npy, .npz, .parquet, .fvecs, .bvecs, .mat, .h5 or .hdf5"


def read_arrays(path):
    """Arrays of a file by name; arrays of HDF5 are not yet in memory."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return {"": np.load(path, mmap_mode="r")}
    if suffix == ".npz":
        with np.load(path) as file:
            return dict(file)
    if suffix == ".parquet":
        return _read_parquet(path)
    if suffix in _VECTORS:
        return {"": _read_vectors(path, np.dtype(_VECTORS[suffix]))}
    if suffix == ".mat":
        # SciPy does not read files of MATLAB 7.3, which are HDF5.
        with suppress(NotImplementedError):
            return _read_matlab(path)
    if suffix in (".mat", ".h5", ".hdf5"):
        return _read_hdf5(path)
    raise ValueError(f"{path} must be a file of features: {_FORMATS}.")


def _read_parquet(path):
    """Columns of a table, and all its numbers as one array if none is a column of lists."""
    pandas = optional("pandas", f"Reading {path} needs pandas and pyarrow.")
    table = pandas.read_parquet(path)
    arrays = {name: np.array(table[name].tolist()) for name in table}
    if any(array.ndim == 2 for array in arrays.values()):
        return arrays
    # Beside floats, integers are ids or labels.
    numbers = table.select_dtypes("floating")
    if numbers.empty:
        numbers = table.select_dtypes("number")
    return arrays | {"": numbers.to_numpy()}


def _read_vectors(path, dtype):
    """Rows of numbers, each of which has its length before it."""
    octets = np.memmap(path, np.uint8, mode="r")
    n_columns = int(octets[:4].view("<i4")[0])
    n_bytes_per_row = 4 + dtype.itemsize * n_columns
    is_whole = len(octets) % n_bytes_per_row == 0
    if not is_whole or np.any(octets.reshape(-1, n_bytes_per_row)[:, :4] != octets[:4]):
        raise ValueError(
            f"{path} does not have rows of equal length, which {path.suffix} needs."
        )
    return octets.reshape(-1, n_bytes_per_row)[:, 4:].view(dtype)


def _read_matlab(path):
    from scipy.io import loadmat

    return {name: array for name, array in loadmat(path).items() if name[:2] != "__"}


def _read_hdf5(path):
    h5py = optional("h5py", f"Reading {path} needs h5py.")
    arrays = {}

    def add_array(name, item):
        if isinstance(item, h5py.Dataset):
            # MATLAB writes columns first.
            arrays[name] = item[()].T if "MATLAB_class" in item.attrs else item

    h5py.File(path).visititems(add_array)
    return arrays


def read_features(path, name=None, labels=None):
    """Read the rows of a file in random order, as many as are used, and their labels.

    Parameters
    ----------
    path : Path
        The file.

    name : str, default=None
        Name of the array with the features. None: the only table of numbers of the file.

    labels : str, default=None
        Name of an array or column of the file, or a file with a label per line.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,), or None
    """
    arrays = read_arrays(path)
    name_of_table = _name_of_table(path, arrays, name)
    X = arrays[name_of_table]
    y = None
    if labels is not None:
        y = _read_labels(path, arrays, labels, n_rows=len(X))
        if name_of_table == "" and labels in arrays and X.dtype.kind in "iu":
            # A table of integers holds the labels, too.
            columns = [n for n in arrays if n and arrays[n].dtype.kind in "iu"]
            X = X[:, [column != labels for column in columns]]
    n_most = N_QUERIES + MOST_ITEMS + MOST_TRAIN
    order = np.random.default_rng(0).permutation(len(X))[:n_most]
    # HDF5 reads rows in ascending order only.
    rows = np.sort(order)
    X = np.asarray(X[rows], dtype=np.float32)[np.searchsorted(rows, order)]
    if len(X) < LEAST_ROWS or not np.isfinite(X).all():
        raise ValueError(f"{path} must have at least {LEAST_ROWS} rows of finite numbers.")
    return X, None if y is None else y[order]


def _name_of_table(path, arrays, name):
    """Name of the only table of numbers, or ValueError if there are several or none."""
    names = [
        candidate
        for candidate, array in arrays.items()
        if array.ndim == 2
        and array.dtype.kind in "fiub"
        and min(array.shape) > 1
        and name in (None, candidate)
    ]
    if len(names) == 1:
        return names[0]
    shapes = ", ".join(f"{n or 'an array'} {array.shape}" for n, array in arrays.items())
    raise ValueError(f"{path} has {shapes}. Choose a table of numbers with --array.")


def _read_labels(path, arrays, labels, *, n_rows):
    """Labels of all rows: an array of the file, or the lines of another file."""
    y = arrays.get(labels)
    if y is None:
        y = np.array(local_path(labels, "--labels").read_text().splitlines())
    y = np.ravel(y)
    if len(y) != n_rows:
        raise ValueError(
            f"--labels has {len(y)} labels, but {path} has {n_rows} rows. Pass one label "
            "for each row."
        )
    return y


def split(X, metric):
    """Split rows, or labels, into queries, rows to fit and items.

    Under ``"cosine"`` all rows are centered at the mean of the rows to fit, and get unit
    length. The metric is None for labels.
    """
    n_queries = min(N_QUERIES, len(X) // 3)
    n_items = min(MOST_ITEMS, len(X) // 3)
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
    """Scores that rank items by inner products, or by Euclidean distances."""
    scores = query @ items.T
    if metric == "euclidean":
        return scores - (items**2).sum(axis=1) / 2
    return scores


class Ours:
    """A hasher of this library with weighted queries; factors and lengths count as bytes.

    Parameters
    ----------
    hasher : BaseHasher
        The hasher.

    Attributes
    ----------
    line : str
        The line that makes the hasher.
    """

    def __init__(self, hasher):
        self.hasher = hasher
        self.line = repr(hasher)

    def fit(self, X):
        """Fit to rows."""
        self.hasher.fit(X)

    def encode(self, X):
        """Code rows; return the bytes per row."""
        self.codes = self.hasher.encode(X)
        return self.codes.nbytes / len(X)

    def rankings(self, query, metric):
        """Generate nearest items of all queries, for each way to compare with codes."""
        yield highest(weighted_scores(self.hasher.query_weights(query), self.codes))


class Quantizer:
    """A quantizer of faiss, of centered rows.

    Parameters
    ----------
    factory : str
        Name for ``faiss.index_factory``, with {0} for the number of bytes.

    n_features, n_bytes : int
        Number of columns, and of bytes per code.

    metric, seed : object
        Ignored; other methods take them.
    """

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
        """Code rows; return the bytes per row."""
        self.codes = self.index.sa_encode(X - self.mean)
        return self.codes.shape[1]

    def decoded(self):
        """Rows that the codes stand for."""
        return self.index.sa_decode(self.codes) + self.mean

    def rankings(self, query, metric):
        """Generate nearest items of all queries, for each way to compare with codes."""
        decoded = self.decoded()
        yield highest(scores_of(query, decoded, metric))
        if metric == "cosine":
            yield highest(scores_of(query, normalize(decoded), metric))


def additive(n_features, n_bytes, metric, seed, **params):
    """An additive quantizer, whose codes take `n_bytes` with their factors and lengths.

    Under ``"cosine"`` a factor takes a byte. Other metrics keep a length in one byte more.
    """
    n_bytes_of_terms = 1 if metric == "cosine" else 2
    n_bits = 8 * (n_bytes - n_bytes_of_terms)
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


class Figures(NamedTuple):
    """Figures of one method."""

    recall: float  # share of the N_NEIGHBORS nearest items that are found
    fit_seconds: float  # CPU seconds
    encode_seconds: float  # CPU seconds, for all items
    n_train: int


def measure(parts, model, n_bytes, metric):
    """Fit a model, encode the items, and measure recall and CPU seconds."""
    query, train, items = parts
    start = time.process_time()
    model.fit(train)
    end_of_fit = time.process_time()
    n_bytes_stored = model.encode(items)
    end_of_encoding = time.process_time()
    if n_bytes_stored > n_bytes:
        raise ValueError(f"{type(model)} stores {n_bytes_stored} bytes of {n_bytes}.")
    nearest = highest(scores_of(query, items, metric))
    recalls = []
    for ranking in model.rankings(query, metric):
        hits = [np.isin(*rows) for rows in zip(nearest, ranking)]
        recalls.append(np.mean(hits))
    return Figures(
        recall=float(max(recalls)),
        fit_seconds=end_of_fit - start,
        encode_seconds=end_of_encoding - end_of_fit,
        n_train=len(train),
    )


def main(argv=None):
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        "sklearn-talr-codes",
        description="Compare codes for the embeddings of a file, at 8 to 64 bytes per row: "
        "recall of the ten nearest, and CPU time. Print the line that makes the best codes "
        "of each size.",
    )
    add = parser.add_argument
    add("file", help=f"file of embeddings, one row per item: {_FORMATS}")
    add("--array", help="name of the array with the embeddings")
    add(
        "--labels",
        help="name of an array or column with labels, or a file with one label per line",
    )
    add(
        "--metric",
        choices=["cosine", "inner_product", "euclidean"],
        default="cosine",
        help="similarity of rows (default: cosine)",
    )
    add("--minutes", type=float, default=10, help="time limit (default: 10)")
    args = parser.parse_args(argv)
    try:
        compare(args)
    except (ImportError, OSError, ValueError) as error:
        print(f"sklearn-talr-codes: {error}", file=sys.stderr)
        return 1
    return 0


class Result(NamedTuple):
    """A line of the table that the command prints; results are sorted by their fields."""

    n_bytes: int
    recall: float
    fit_seconds: float
    microseconds_per_row: float  # CPU time to encode
    method: str
    line: str  # line that makes the model


def compare(args):
    """Print and draw the recall of all methods, and print the line of the best ones."""
    end = time.monotonic() + 60 * args.minutes
    path = local_path(args.file, "file")
    X, y = read_features(path, args.array, args.labels)
    # Powers of two change no digit, and keep squares from overflow and from vanishing.
    X = np.ldexp(X, -np.frexp(np.abs(X).max())[1])
    parts = split(X, args.metric)
    query, train, items = parts
    print(f"{len(query)} queries, {len(items)} items, {len(train)} rows to fit")
    methods = METHODS
    if len(train) < LEAST_TRAIN or find_spec("faiss") is None:
        methods = {name: make for name, make in METHODS.items() if "faiss" not in name}
    # Labels get a fifth of the time.
    end_of_codes = end if y is None else end - 12 * args.minutes
    results = _measure_methods(methods, parts, args.metric, end=end_of_codes)
    _print_results(results, n_items=len(items), n_features=X.shape[1])
    if find_spec("matplotlib"):
        picture = path.with_name(f"{path.stem}_recall.png")
        _draw_results(results, methods, picture)
        print(f"\nFigure saved as {picture}")
    if y is not None:
        _print_scores_by_labels(parts, split(y, None), end=end)


def _measure_methods(methods, parts, metric, *, end):
    """Sorted results of all methods and sizes, without those that would end too late."""
    n_features = parts[0].shape[1]
    n_items = len(parts[2])
    results = []
    for method, make in methods.items():
        expected_seconds = 0.0
        for n_bytes in SIZES:
            start = time.monotonic()
            if start + expected_seconds > end:
                print(f"{method}, {n_bytes} bytes: skipped, time limit (--minutes) reached")
                continue
            model = make(n_features, n_bytes, metric, 0)
            figures = measure(parts, model, n_bytes, metric)
            expected_seconds = SLOWER * (time.monotonic() - start)
            result = Result(
                n_bytes,
                figures.recall,
                figures.fit_seconds,
                microseconds_per_row=1e6 * figures.encode_seconds / n_items,
                method=method,
                line=model.line,
            )
            results.append(result)
            print(f"{method}, {n_bytes} bytes: recall {figures.recall:.3f}", flush=True)
    return sorted(results)


def _print_results(results, *, n_items, n_features):
    """Print a table of results, and the line of the best method of each size."""
    print(f"\nRecall of the ten nearest of {n_items} items with {n_features} features\n")
    print(f"{'bytes':>5} {'recall':>7} {'fit, s':>7} {'encode, us':>11}  method")
    for result in results:
        print(
            f"{result.n_bytes:5} {result.recall:7.3f} {result.fit_seconds:7.1f} "
            f"{result.microseconds_per_row:11.1f}  {result.method}"
        )
    print("\nBest codes of each size:")
    # Results ascend, so the last one of a size has the highest recall.
    best = {result.n_bytes: result for result in results}
    for result in best.values():
        print(f"{result.line}  # {result.n_bytes} bytes")


def _draw_results(results, methods, picture):
    """Draw recall by bytes, a line for each method."""
    from matplotlib.figure import Figure

    axes = Figure(layout="constrained").subplots()
    for method in methods:
        method_results = [result for result in results if result.method == method]
        sizes = [result.n_bytes for result in method_results]
        recalls = [result.recall for result in method_results]
        axes.plot(sizes, recalls, marker="o", label=method)
    axes.set(xlabel="stored bytes", ylabel="recall of the ten nearest")
    axes.legend()
    axes.figure.savefig(picture)


def _print_scores_by_labels(parts, labels, *, end):
    """Print average precision by labels, of floats and of codes fitted to the labels."""
    query, train, items = parts
    y_query, y_train, y_items = labels
    is_relevant = y_query[:, None] == y_items
    ap = tie_aware_average_precision_score(is_relevant, query @ items.T)
    print(f"\nAverage precision with labels as relevance: floats {ap:.3f}")
    for n_bytes in SIZES:
        if time.monotonic() > end:
            break
        hasher = TALRHasher(8 * n_bytes, random_state=0).fit(train, y_train)
        print(f"{hasher}  # {n_bytes} bytes: ", end="")
        for query_form in ("bits", "weights"):
            scorer = make_retrieval_scorer(
                "AP", database=(items, y_items), query=query_form
            )
            print(f"{query_form} {scorer(hasher, query, y_query):.3f}", end=" ")
        print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
