"""How many times as fast as a plain alternative: a few ratios, of one commit, in a file.

    python benchmarks/record_speed.py              # this tree, about two minutes
    python benchmarks/record_speed.py --tree PATH  # a checkout of another commit

Both sides of each ratio run in one process with one thread, after a warm-up, and take
turns. A figure is the ratio of their median processor times, which other processes on the
machine disturb less than they do the time of day. Rivals are written here or in other
libraries, so that they stay what they are. Tasks are short, so ours run the loops of NumPy
and SciPy, before numba is worth its time to load.

The result is ``history/<day>-<commit>.json`` with the versions and the processor.
``write_tables.py`` makes a table of them.
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


def counts_of_pairs():
    """Counts of 200 queries by 50 000 items, against a loop of NumPy over the queries."""
    import numpy as np

    from sklearn_talr.affinity import LabelAffinity
    from sklearn_talr.codes import PackedCodes
    from sklearn_talr.histogram import hamming_histogram

    rng = np.random.default_rng(0)
    items = rng.integers(256, size=(50_000, 8), dtype=np.uint8)
    labels = rng.integers(10, size=50_000)
    queries, asked = items[:200] ^ 3, labels[:200]
    words = items.view(np.uint64)[:, 0]

    def ours():
        codes = PackedCodes(queries, 64), PackedCodes(items, 64)
        return hamming_histogram(*codes, LabelAffinity(), asked, labels)

    def plain():
        counts = np.empty((len(queries), 2, 65), dtype=np.int64)
        for row, query in enumerate(queries.view(np.uint64)[:, 0]):
            cells = np.bitwise_count(words ^ query) + np.int64(65) * (labels == asked[row])
            counts[row] = np.bincount(cells, minlength=130).reshape(2, 65)
        return counts

    return ours, plain


def nearest_codes():
    """The ten nearest of 100 000 codes for 500 queries, against the scan of faiss."""
    import faiss
    import numpy as np

    from sklearn_talr.codes import PackedCodes
    from sklearn_talr.neighbors import HammingNeighbors

    faiss.omp_set_num_threads(1)
    rng = np.random.default_rng(0)
    items = rng.integers(256, size=(100_000, 8), dtype=np.uint8)
    queries = rng.integers(256, size=(500, 8), dtype=np.uint8)
    index = HammingNeighbors(n_neighbors=10, algorithm="brute").fit(PackedCodes(items, 64))
    rival = faiss.IndexBinaryFlat(64)
    rival.add(items)
    packed = PackedCodes(queries, 64)
    return (lambda: index.kneighbors(packed)), (lambda: rival.search(queries, 10))


def training_step():
    """Soft AP of a batch of 256 and its gradient, against one tensor of pairs and bins."""
    import torch

    try:
        from sklearn_talr.losses import soft_average_precision, soft_counts
    except ImportError:  # commits before the first release
        from sklearn_talr.objectives import average_precision as soft_average_precision
        from sklearn_talr.objectives import soft_counts

    torch.set_num_threads(1)
    torch.manual_seed(0)
    labels = torch.randint(10, (256,))
    relaxed = torch.tanh(torch.randn(256, 32)).requires_grad_()
    similar = (labels[:, None] == labels).to(torch.uint8)
    levels, bins = torch.arange(2), torch.arange(33)
    members = (similar[:, None] == levels[:, None]).float()
    members.diagonal(dim1=0, dim2=2).zero_()

    def ours():
        counts = soft_counts(relaxed, relaxed, similar, 2, exclude_self=True)
        soft_average_precision(counts, levels).mean().backward()

    def plain():
        distance = (32 - relaxed @ relaxed.T) / 2
        kernel = torch.relu(1 - (distance[:, :, None] - bins).abs())
        counts = torch.einsum("qvi,qij->qvj", members, kernel)
        soft_average_precision(counts, levels).mean().backward()

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


def violating_ranking():
    """The most violating ranking of 300 positives, 100 000 negatives: ours, a scan."""
    import numpy as np

    from sklearn_talr.svm import loss_augmented_ranks

    rng = np.random.default_rng(0)
    scores = rng.normal(1.0, size=300), rng.normal(size=100_000)
    return lambda: loss_augmented_ranks(*scores), lambda: (scan_of_ranks(*scores),)


def paired_tests():
    """The randomization test of runs of 200 queries, against 10 000 patterns of SciPy."""
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
            n_resamples=10_000,
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
    """Median milliseconds of ours and the rival; None for what a commit does not have."""
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
    """Figures of all ratios that the package of a tree can be asked for."""
    sys.path.insert(0, str(tree))
    # An editable installation of another tree would lend what this one lacks
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
