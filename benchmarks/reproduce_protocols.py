"""Real features, all protocols.

Fits random hyperplanes, ITQ and `TALRHasher` with its defaults on the benchmark sets in
the folder ``$SKLEARN_TALR_DATA`` and prints the mean over seeds of tie-aware AP and NDCG
of held-out queries against the whole database, with the time of a fit::

    SKLEARN_TALR_DATA=/path/to/data python benchmarks/reproduce_protocols.py
    python benchmarks/reproduce_protocols.py --data cifar10 --bits 16 32 --seeds 0

The page "Data and reproducing the papers" of the user guide has what it prints.
"""

import argparse
import os
import sys
import time

import numpy as np
from benchmark_sets import load_benchmark
from sklearn.base import clone

from sklearn_talr.hashing import ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP, nDCG

SETS = ["cifar10", "coco17", "scenes", "tmc2007"]
METHODS = {
    "LSH": LSHHasher(),
    "ITQ": ITQHasher(),
    "TALR-AP": TALRHasher(loss="AP"),
    "TALR-NDCG": TALRHasher(loss="nDCG"),
}


def evaluate(method, n_bits, seed, data):
    """Return (AP, NDCG, seconds of the fit)."""
    hasher = clone(METHODS[method]).set_params(n_bits=n_bits, random_state=seed)
    if isinstance(hasher, TALRHasher):
        hasher.set_params(affinity=data.affinity)
    start = time.perf_counter()
    hasher.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - start
    histogram = hamming_histogram(
        hasher.transform(data.X_query),
        hasher.transform(data.X_database),
        data.affinity,
        data.y_query,
        data.y_database,
    )
    ap = np.nanmean(AP.of(histogram))
    ndcg = np.nanmean(nDCG.of(histogram))
    return ap, ndcg, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--bits", nargs="+", type=int, default=[32])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    arguments = parser.parse_args()
    if not os.environ.get("SKLEARN_TALR_DATA"):
        sys.exit("Set SKLEARN_TALR_DATA to the folder of the benchmark files.")
    print(f"{'data':10s}{'bits':>5s}  {'method':10s}{'AP':>15s}{'NDCG':>15s}{'fit':>9s}")
    for name in arguments.data:
        splits = {seed: load_benchmark(name, seed) for seed in arguments.seeds}
        for n_bits in arguments.bits:
            for method in METHODS:
                runs = [
                    evaluate(method, n_bits, seed, data) for seed, data in splits.items()
                ]
                ap, ndcg, seconds = np.mean(runs, axis=0)
                ap_std, ndcg_std, _ = np.std(runs, axis=0)
                print(
                    f"{name:10s}{n_bits:5d}  {method:10s}{ap:8.4f} ±{ap_std:.4f}"
                    f"{ndcg:8.4f} ±{ndcg_std:.4f}{seconds:7.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
