"""Record the speed of a commit: time of a plain alternative over time of this package.

    python benchmarks/record_speed.py              # this tree, about two minutes
    python benchmarks/record_speed.py --tree PATH  # a checkout of another commit

Both sides of a ratio run in one process with one thread, after a warm-up, and take turns.
The ratio is that of their median processor times, which other processes on the machine
disturb less than the time of day. Rivals are written here or are other libraries, so that
they do not change with this package.

The result is ``history/<day>-<commit>.json`` with the versions and the processor.
``write_tables.py`` makes a table of these files.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from _store import describe_processor

ROOT = Path(__file__).resolve().parents[1]
HISTORY = ROOT / "benchmarks" / "history"
ONE_THREAD = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
PACKAGES = "numpy", "scipy", "scikit-learn", "torch", "numba", "faiss-cpu"
REPEATS = 7


def counts_of_pairs(n_items=50_000):
    """Counts of 200 queries against many items, and a loop of NumPy over the queries."""
    import numpy as np

    from sklearn_talr.affinity import LabelAffinity
    from sklearn_talr.codes import PackedCodes
    from sklearn_talr.histogram import hamming_histogram

    rng = np.random.default_rng(0)
    items = rng.integers(256, size=(n_items, 8), dtype=np.uint8)
    labels = rng.integers(10, size=n_items)
    queries = items[:200] ^ 3
    query_labels = labels[:200]
    words = items.view(np.uint64)[:, 0]

    def ours():
        codes = PackedCodes(queries, 64), PackedCodes(items, 64)
        return hamming_histogram(*codes, LabelAffinity(), query_labels, labels)

    def plain():
        counts = np.empty((len(queries), 2, 65), dtype=np.int64)
        for row, query in enumerate(queries.view(np.uint64)[:, 0]):
            is_similar = labels == query_labels[row]
            cells = np.bitwise_count(words ^ query) + np.int64(65) * is_similar
            counts[row] = np.bincount(cells, minlength=130).reshape(2, 65)
        return counts

    return ours, plain


def nearest_codes(n_items=100_000, n_queries=500):
    """The ten nearest codes of each query, and the scan of faiss."""
    import faiss
    import numpy as np

    from sklearn_talr.codes import PackedCodes
    from sklearn_talr.neighbors import HammingNeighbors

    faiss.omp_set_num_threads(1)
    rng = np.random.default_rng(0)
    items = rng.integers(256, size=(n_items, 8), dtype=np.uint8)
    queries = rng.integers(256, size=(n_queries, 8), dtype=np.uint8)
    index = HammingNeighbors(n_neighbors=10).fit(PackedCodes(items, 64))
    rival = faiss.IndexBinaryFlat(64)
    rival.add(items)
    packed = PackedCodes(queries, 64)
    return (lambda: index.kneighbors(packed)), (lambda: rival.search(queries, 10))


def training_step(n_rows=256):
    """Gradient of the soft AP of a batch, and of one tensor of pairs and bins.

    Each side returns the gradient, of shape (n_rows, 32).
    """
    import torch

    from sklearn_talr.losses import soft_average_precision, soft_counts

    torch.set_num_threads(1)
    torch.manual_seed(0)
    labels = torch.randint(10, (n_rows,))
    relaxed = torch.tanh(torch.randn(n_rows, 32)).requires_grad_()
    similar = (labels[:, None] == labels).to(torch.uint8)
    levels = torch.arange(2)
    bins = torch.arange(33)
    members = (similar[:, None] == levels[:, None]).float()
    members.diagonal(dim1=0, dim2=2).zero_()

    def mean_of(counts):
        return soft_average_precision(counts, levels).mean()

    def ours():
        counts = soft_counts(relaxed, relaxed, similar, 2, exclude_self=True)
        (gradient,) = torch.autograd.grad(mean_of(counts), relaxed)
        return gradient

    def plain():
        distance = (32 - relaxed @ relaxed.T) / 2
        kernel = torch.relu(1 - (distance[:, :, None] - bins).abs())
        counts = torch.einsum("qvi,qij->qvj", members, kernel)
        (gradient,) = torch.autograd.grad(mean_of(counts), relaxed)
        return gradient

    return ours, plain


def scan_of_ranks(positive, negative, loss="AP"):
    """Most violating interleaving ranks: sort the negatives, try every rank for each."""
    import numpy as np

    n_positive = len(positive)
    k = np.arange(1, n_positive + 1)
    lead = np.sort(positive)[::-1]
    ideal = np.sum(1 / np.log2(k + 1))
    order = np.argsort(-negative, kind="stable")
    ranks = np.empty(len(negative), dtype=int)
    n_rows = max(1, 2**18 // n_positive)  # pairs that stay in the cache
    for start in range(0, len(order), n_rows):
        rows = order[start : start + n_rows]
        rank = k + np.arange(start + 1, start + 1 + len(rows))[:, None]
        if loss == "AP":
            terms = k / (rank * (rank - 1)) / n_positive
        else:
            terms = (1 / np.log2(rank) - 1 / np.log2(rank + 1)) / ideal
        terms -= 2 * (lead - negative[rows, None]) / (n_positive * len(negative))
        lost = np.zeros((len(rows), n_positive + 1))
        np.cumsum(terms, axis=1, out=lost[:, 1:])
        ranks[rows] = n_positive + 1 - lost[:, ::-1].argmin(axis=1)
    return ranks


def violating_ranking(n_negative=100_000):
    """The most violating ranking of 300 positives and many negatives, and a scan."""
    import numpy as np

    from sklearn_talr.svm import loss_augmented_ranks

    rng = np.random.default_rng(0)
    scores = rng.normal(1.0, size=300), rng.normal(size=n_negative)
    return lambda: loss_augmented_ranks(*scores), lambda: (scan_of_ranks(*scores),)


def paired_tests(n_patterns=10_000):
    """The randomization test of runs of 200 queries, and SciPy with random patterns."""
    import numpy as np
    from scipy.stats import permutation_test

    from sklearn_talr.inference import paired_test

    rng = np.random.default_rng(0)
    first = rng.random(200)
    second = first + rng.normal(0.01, 0.1, 200)

    def scipy():
        return permutation_test(
            (first, second),
            lambda a, b, axis: (a - b).mean(axis=axis),
            permutation_type="samples",
            n_resamples=n_patterns,
            rng=np.random.default_rng(0),
        )

    return (lambda: paired_test(first, second)), scipy


RATIOS = {
    "counts of pairs / NumPy": counts_of_pairs,
    "nearest codes / faiss": nearest_codes,
    "training step / plain torch": training_step,
    "violating ranking / scan": violating_ranking,
    "randomization test / SciPy": paired_tests,
}


def measure(make):
    """Median milliseconds of both sides, or None if a commit lacks a function."""
    try:
        contenders = make()
    except (ImportError, AttributeError):
        return None
    for run in contenders:
        run()
    seconds = [[], []]
    for _ in range(REPEATS):
        for run, taken in zip(contenders, seconds):
            start = time.process_time()
            run()
            taken.append(time.process_time() - start)
    ours, rival = (sorted(taken)[REPEATS // 2] for taken in seconds)
    return {"ours_ms": round(1e3 * ours, 4), "rival_ms": round(1e3 * rival, 4)}


def measure_tree(tree):
    """Milliseconds of all tasks whose functions the package of a tree has."""
    sys.path.insert(0, str(tree))
    # An editable installation of another tree would supply functions that this tree lacks.
    sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in f.__module__]
    figures = {name: measure(make) for name, make in RATIOS.items()}
    ours = [m for name, m in sys.modules.items() if name.split(".")[0] == "sklearn_talr"]
    foreign = {m.__file__ for m in ours if not m.__file__.startswith(f"{tree}{os.sep}")}
    if foreign:
        raise ImportError(f"Not of {tree}, but measured: {sorted(foreign)}.")
    return {name: figure for name, figure in figures.items() if figure is not None}


def describe(tree):
    """Commit and day of a tree, versions of the libraries, and the machine."""
    command = "git", "-C", str(tree), "log", "-1", "--format=%h %cI"
    commit, when = subprocess.check_output(command, text=True).split()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "commit": commit,
        "committed": when,
        "processor": describe_processor(),
        "processors": os.cpu_count(),
        "load": load and round(load, 1),
        "versions": {"python": sys.version.split()[0]}
        | {name: version(name) for name in PACKAGES},
    }


def read_history():
    return [json.loads(path.read_text()) for path in HISTORY.glob("*.json")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to measure")
    tree = parser.parse_args().tree.resolve()
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    record = describe(tree) | {"ratios": measure_tree(tree)}
    HISTORY.mkdir(exist_ok=True)
    path = HISTORY / f"{record['committed'][:10]}-{record['commit']}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    for name, figure in record["ratios"].items():
        print(f"{figure['rival_ms'] / figure['ours_ms']:8.2f}  {name}")


if __name__ == "__main__":
    main()
