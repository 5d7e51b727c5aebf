"""CPU seconds of the first call of a loop, with nothing compiled and in a later process.

    python benchmarks/bench_first_call.py

Each call runs twice, each time in a process of its own, with a folder of compiled loops
that is empty at first. Imports do not count. Inputs are so small that nearly all of the
time is compiling or loading.
"""

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from _store import record

TITLE = "CPU seconds of the first call"
DIGITS = "from sklearn.datasets import load_digits; X, y = load_digits(return_X_y=True)"
CALLS = {
    "HammingNeighbors: fit, kneighbors": (
        "from sklearn_talr import HammingNeighbors",
        "HammingNeighbors().fit(X > 8).kneighbors(X[:5] > 8)",
    ),
    "HashedNeighbors(AdditiveHasher(64)): fit, kneighbors": (
        "from sklearn_talr import AdditiveHasher, HashedNeighbors",
        "HashedNeighbors(AdditiveHasher(64)).fit(X[:300]).kneighbors(X[:5])",
    ),
    "hamming_histogram": (
        "from sklearn_talr.histogram import hamming_histogram",
        "hamming_histogram(X[:9] > 8, X > 8, 'auto', y[:9], y)",
    ),
    "TALRHasher: fit": (
        "from sklearn_talr import TALRHasher",
        "TALRHasher(16, max_iter=1).fit(X[:300], y[:300])",
    ),
    "RankingSVC: fit": (
        "from sklearn_talr import RankingSVC",
        "RankingSVC().fit(X[:300], y[:300] == 0)",
    ),
    "warm_up: all of them": ("from sklearn_talr import warm_up", "warm_up()"),
}


def seconds_of_call(imports, call, cache):
    """CPU seconds of a call in a new process that keeps compiled loops in `cache`."""
    script = (
        f"import time; {DIGITS}; {imports}\n"
        f"start = time.process_time(); {call}\n"
        "print(time.process_time() - start)"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main():
    for name, (imports, call) in CALLS.items():
        with TemporaryDirectory() as cache:
            for when in ("nothing compiled", "later process"):
                value = seconds_of_call(imports, call, cache)
                record("bench_first_call", TITLE, name, when, value)
                print(f"{name:54s} {when:17s} {value:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
