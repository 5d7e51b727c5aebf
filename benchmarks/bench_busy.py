"""What a busy neighbor costs: CPU and wall seconds beside it, relative to a quiet machine.

    python benchmarks/bench_busy.py            # all steps, about five minutes
    python benchmarks/bench_busy.py --small    # the same with fewer rows, a minute
    python benchmarks/bench_busy.py --free     # numbers of BLAS threads are not held

The neighbor is one process for each processor, which multiplies matrices with one thread.
Each step runs in turn without it and beside it; figures are medians of CPU seconds of this
process and of wall seconds. A program of one thread that gets half of its processor beside
the neighbor takes 1.0 times of CPU and 2.0 times of wall; what is above is lost.

``--free`` shows what happens where nothing is held: it makes `one_thread` do nothing.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
from _store import record

NEIGHBOR = """
import numpy as np
a = np.random.default_rng(0).standard_normal((700, 700))
while True:
    a @ a
"""
REPEATS = 5


@contextmanager
def busy_neighbor():
    """One process for each processor, each with one thread of BLAS."""
    alone = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, "-c", NEIGHBOR]
    processes = [subprocess.Popen(command, env=alone) for _ in range(os.cpu_count())]
    try:
        time.sleep(1)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def seconds(run):
    """CPU seconds of this process and wall seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall


def measure(run, repeats):
    """Median CPU and wall seconds without and beside a neighbor, in turn, warmed up."""
    seconds(run)
    found = {"quiet": [], "busy": []}
    for _ in range(repeats):
        found["quiet"].append(seconds(run))
        with busy_neighbor():
            found["busy"].append(seconds(run))
    return [np.median(values, axis=0) for values in found.values()]


def steps(n_rows):
    """Names and calls of what is measured."""
    from sklearn_talr.codes import weighted_scores
    from sklearn_talr.hashing import AdditiveHasher, ITQHasher, TALRHasher
    from sklearn_talr.neighbors import WeightedHammingNeighbors
    from sklearn_talr.svm import RankingSVC

    rng = np.random.default_rng(0)
    centers = rng.standard_normal((20, 384))
    y = rng.integers(20, size=11 * n_rows // 5)
    X = (centers[y] + 2 * rng.standard_normal((len(y), 384))).astype(np.float32)
    some, y_some = X[:n_rows], y[:n_rows]
    additive = AdditiveHasher(256, word_size=1, max_iter=2, random_state=0).fit(
        some[:2_000]
    )
    itq = ITQHasher(256, random_state=0).fit(some)
    talr = TALRHasher(32, hidden_layer_sizes=256, max_iter=1, random_state=0)
    talr.fit(some, y_some)
    codes, weights = itq.encode(X), itq.query_weights(some[:500])
    index = WeightedHammingNeighbors().fit(codes)
    ranked = X[: n_rows * 6 // 5, :200], y[: n_rows * 6 // 5] < 2
    return {
        f"AdditiveHasher.encode, {n_rows} x 384, 256 bits": partial(additive.encode, some),
        f"AdditiveHasher.encode, {len(X)} x 384, 256 bits": partial(additive.encode, X),
        "the same, n_jobs=2": partial(with_jobs, additive, X),
        f"AdditiveHasher.fit, {n_rows} x 384, 128 bits, 3 rounds": partial(
            AdditiveHasher(128, word_size=1, max_iter=3, random_state=0).fit, some
        ),
        f"ITQHasher.fit, {n_rows} x 384, 256 bits": partial(
            ITQHasher(256, random_state=0).fit, some
        ),
        f"ITQHasher.encode, 20 x {len(X)} rows": partial(again, 20, itq.encode, X),
        f"TALRHasher.encode, 256 hidden units, 20 x {len(X)} rows": partial(
            again, 20, talr.encode, X
        ),
        "ITQHasher.query_weights, one row, 500 times": partial(one_by_one, itq, some[:500]),
        f"weighted_scores, 500 x {len(X)}, 20 times": partial(
            again, 20, weighted_scores, weights, codes
        ),
        f"weighted search, 500 among {len(X)}, 10 times": partial(
            again, 10, index.kneighbors, weights
        ),
        f"RankingSVC.fit, {len(ranked[0])} x 200": partial(
            RankingSVC(C=0.01, tol=0.01).fit, *ranked
        ),
    }


def again(n_times, function, *arguments):
    for _ in range(n_times):
        function(*arguments)


def one_by_one(hasher, X):
    for row in X:
        hasher.query_weights(row[None])


def with_jobs(hasher, X):
    hasher.set_params(n_jobs=2).encode(X)
    hasher.set_params(n_jobs=None)


def hold_nothing():
    """Let BLAS have all threads, whoever holds it to one."""
    from sklearn_talr import _threads

    _threads._thread_pools = lambda n_modules: ([], [], set())


QUANTITIES = [f"{when}, {of}, s" for when in ("quiet", "busy") for of in ("CPU", "wall")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="fewer rows")
    parser.add_argument("--free", action="store_true", help="hold nothing")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which ends the neighbor, too
    if options.free:
        hold_nothing()
    print(f"NumPy {np.__version__}, {os.cpu_count()} processors")
    print(f"{'':58s}{'quiet':>16s}{'busy':>16s}{'ratio':>14s}")
    print(f"{'':58s}" + "     CPU    wall" * 2 + "    CPU   wall")
    for name, run in steps(1_000 if options.small else 5_000).items():
        quiet, busy = measure(run, options.repeats)
        held = "free" if options.free else "held"
        for quantity, value in zip(QUANTITIES, (*quiet, *busy)):
            record("bench_busy", held, name, quantity, value)
        figures = "".join(f"{value:8.3f}" for value in (*quiet, *busy))
        ratios = "".join(f"{value:7.2f}" for value in busy / quiet)
        print(f"{name:58s}{figures}{ratios}", flush=True)


if __name__ == "__main__":
    main()
