"""Training, counting and encoding on a device, against what the device itself can do.

    python benchmarks/bench_device.py                        # CUDA where there is any
    python benchmarks/bench_device.py --device cpu step count encode
    SKLEARN_TALR_DATA=... python benchmarks/bench_device.py fit

* ``step``: soft counts of 64 bits and two levels, AP, forward and backward, for a batch
  that ranks itself; times the three matrix products that any such step needs.
* ``count``: pairs counted per second. The bound is the memory bandwidth of a copy on the
  same device, if every pair had to read the packed code of its item.
* ``encode``: `transform` of 512 features at 64 bits, times one matrix product.
* ``fit``: the whole fit of 50 000 rows of CIFAR-10 (setting 2 of the paper), from NumPy and
  from tensors on the device, and the score of 10 000 queries against these rows.

All in one process, one thread on the CPU. Figures are medians, contenders take turns.
"""

import argparse
import time
from functools import partial

import numpy as np
import torch
from _timing import medians
from bench_training import draw, gemms, ours
from benchmark_sets import folder_of_sets, split_rows
from sklearn import config_context

from sklearn_talr import ITQHasher, TALRHasher
from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP

N_BITS = 64
BATCHES = 1024, 4096, 16384
BYTES_OF_COPY = 2**28


def timed(contenders, device, repeats):
    """Medians of contenders that leave nothing to do on the device behind them."""

    def to_its_end(run):
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return medians(
        {name: lambda run=run: to_its_end(run) for name, run in contenders.items()}, repeats
    )


def bench_step(device):
    print(f"\nTraining step, {N_BITS} bits, two levels; ms, and times its matrix products")
    print(f"{'batch':>8s}{'products':>12s}{'step':>12s}{'ratio':>8s}")
    for batch in BATCHES:
        relaxed, labels, index = draw(batch, N_BITS, 2)
        relaxed = relaxed.detach().to(device).requires_grad_()
        data = relaxed, labels, index.to(device), 2
        runs = {"products": partial(gemms, *data), "step": partial(ours, *data)}
        repeats = {1024: 25, 4096: 9}.get(batch, 5)
        found = timed(runs, device, repeats)
        ratio = found["step"] / found["products"]
        cells = (f"{1e3 * seconds:12.2f}" for seconds in found.values())
        print(f"{batch:8d}", *cells, f"{ratio:7.2f}", sep="", flush=True)


def bench_count(device, n_pairs):
    n_items = 100_000
    n_queries = n_pairs // n_items
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (n_queries + n_items, N_BITS), dtype=np.uint8)
    labels = rng.integers(0, 10, len(codes))
    sides = codes[:n_queries], codes[n_queries:]
    targets = labels[:n_queries], labels[n_queries:]

    def count():
        hamming_histogram(*sides, LabelAffinity(), *targets, device=device.type)

    block = torch.ones(BYTES_OF_COPY // 8, dtype=torch.int64, device=device)
    copy = torch.empty_like(block)
    found = timed({"count": count, "copy": lambda: copy.copy_(block)}, device, 5)
    bandwidth = 2 * BYTES_OF_COPY / found["copy"]  # read and written
    rate = n_queries * n_items / found["count"]
    print(f"\nCounting {n_queries:,} x {n_items:,} pairs of {N_BITS} bits, 10 classes")
    print(f"  {rate:.3g} pairs a second, {found['count']:.3g} s in all")
    print(f"  bandwidth {bandwidth / 1e9:.3g} GB/s: {bandwidth / 8:.3g} codes a second")
    print(f"  {bandwidth / 8 / rate:.2f} times what reading the codes would take")


def bench_encode(device):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 512), dtype=np.float32)
    hasher = ITQHasher(N_BITS, random_state=0).fit(X[:2000])
    tensor, coef = torch.from_numpy(X).to(device), torch.from_numpy(hasher.coefs_[0])
    coef = coef.float().to(device)
    runs = {
        "product": lambda: tensor @ coef,
        "NumPy": lambda: hasher.transform(X),
        "tensor": lambda: hasher.transform(tensor),
        "codes to the host": lambda: hasher.encode(tensor),
    }
    with config_context(array_api_dispatch=True):
        found = timed(runs, device, 9)
    print(f"\nEncoding {len(X):,} rows of 512 features; ms, and times the product")
    for name, seconds in found.items():
        print(f"  {name:20s}{1e3 * seconds:10.2f}{seconds / found['product']:8.2f}")


def bench_fit(device):
    with np.load(folder_of_sets() / "cifar10_cnn512.npz") as arrays:
        X, y = arrays["X"].astype(np.float32), arrays["y"]
    order = np.random.default_rng(0).permutation(len(X))
    rows = {"query": order[:10_000], "train": order[10_000:]}
    data = split_rows(X, y, rows, LabelAffinity())
    given = {"NumPy": (data.X_train, data.y_train)}
    if device.type == "cuda":
        tensors = torch.from_numpy(data.X_train), torch.from_numpy(data.y_train)
        given["tensors"] = tuple(tensor.to(device) for tensor in tensors)
    print(f"\nFit of {len(data.X_train):,} rows of CIFAR-10 at 32 bits")
    for name, (X_train, y_train) in given.items():
        hasher = TALRHasher(32, random_state=0, device=device.type)
        start = time.perf_counter()
        with config_context(array_api_dispatch=name == "tensors"):
            hasher.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        codes = hasher.transform(data.X_query), hasher.transform(data.X_train)
        histogram = hamming_histogram(*codes, LabelAffinity(), data.y_query, data.y_train)
        score = np.nanmean(AP.of(histogram))
        print(f"  from {name:8s}{seconds:10.1f} s, AP {score:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ["step", "count", "encode", "fit"]
    parser.add_argument("parts", nargs="*", default=parts[:3], help="of " + " ".join(parts))
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--pairs", type=int, help="to count; 10^10 on CUDA, else 10^9")
    chosen = parser.parse_args()
    name = chosen.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    torch.set_num_threads(1)
    where = torch.cuda.get_device_name(device) if name == "cuda" else "CPU, one thread"
    print(f"torch {torch.__version__}, {where}")
    if "step" in chosen.parts:
        bench_step(device)
    if "count" in chosen.parts:
        bench_count(device, chosen.pairs or (10**10 if name == "cuda" else 10**9))
    if "encode" in chosen.parts:
        bench_encode(device)
    if "fit" in chosen.parts:
        bench_fit(device)


if __name__ == "__main__":
    main()
