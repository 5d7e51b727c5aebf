"""What a GPU does: its tests, steps of both engines on equal batches, a fit of 10^6 rows.

    python benchmarks/bench_gpu.py                        # with CUDA, eight minutes at most
    python benchmarks/bench_gpu.py --device cpu --quick   # anywhere, half a minute

* *tests*: the outcome of ``pytest -m gpu``, which skips them all where there is no CUDA.
* *steps*: milliseconds of a step of 32 bits, 512 features and AP, by wall time. A fit of
  several epochs less one of a single epoch leaves the steps alone. The host engine computes
  in NumPy and compiled loops, the torch engine on the device. Both get the same minibatches
  in the same order, and the AP of their codes must agree.
* *fit*: seconds of fits of 10^6 rows of 128 features and 100 classes, and AP of new rows.

Results are kept in ``results/gpu.csv`` or what ``--csv`` names; what is there of this
device is not measured again. No part begins after seven minutes.
"""

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from _store import RESULTS, Store
from bench_many_rows import SETS
from sklearn.exceptions import ConvergenceWarning

from sklearn_talr import TALRHasher
from sklearn_talr.losses import AveragePrecisionLoss
from sklearn_talr.metrics import retrieval_report

ROOT = Path(__file__).parents[1]
SECONDS, SECONDS_OF_TESTS = 420, 150
N_BITS, N_CLASSES = 32, 10


class Sizes(NamedTuple):
    """How much is measured."""

    batches: tuple[int, ...]
    n_features: int
    n_batches: int
    n_epochs: int
    n_rows: int
    tests: str


WHOLE = Sizes(
    batches=(256, 1024, 4096),
    n_features=512,
    n_batches=4,
    n_epochs=11,
    n_rows=1_000_000,
    tests="tests",
)
QUICK = Sizes(
    batches=(64, 128),
    n_features=32,
    n_batches=2,
    n_epochs=3,
    n_rows=1000,
    tests="tests/svm/test_hinge.py",
)


class PrecisionInTorch(AveragePrecisionLoss):
    """The same loss, which the host engine does not take: it is minimized in torch."""


class Session:
    """One run of the script: a store, a device and the time that is left."""

    def __init__(self, path, device, sizes):
        self.device, self.sizes = device, sizes
        self.device_name = "CPU"
        if device == "cuda":
            self.device_name = torch.cuda.get_device_name()
        key = ["device", "part", "line", "quantity"]
        self.store = Store(path, key, ["value"])
        self.end = time.monotonic() + SECONDS

    def needs(self, part, line, quantity):
        """Whether a figure is lacking and there is time to begin."""
        key = {"part": part, "line": line, "quantity": quantity}
        return time.monotonic() < self.end and not self.store.has(
            device=self.device_name, **key
        )

    def keep(self, part, line, quantity, value):
        """Print a figure and write it down."""
        print(f"{part:8s}{line:44s}{quantity:12s}{value}", flush=True)
        key = {"part": part, "line": line, "quantity": quantity}
        self.store.add(device=self.device_name, **key, value=value)


def run_tests(session):
    """The last line of ``pytest -m gpu``."""
    if not session.needs("tests", "pytest -m gpu", "outcome"):
        return
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", session.sizes.tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_OF_TESTS
        )
        outcome = (done.stdout.splitlines() or ["no output"])[-1]
    except subprocess.TimeoutExpired:
        outcome = f"not done after {SECONDS_OF_TESTS} s"
    session.keep("tests", "pytest -m gpu", "outcome", outcome.strip("= "))


def draw(n_rows, n_features):
    """Rows about ten centers, and their classes."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((N_CLASSES, n_features), dtype=np.float32)
    y = rng.integers(N_CLASSES, size=n_rows)
    noise = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    return centers[y] + 3 * noise, y


def seconds_of_fit(hasher, X, y):
    start = time.perf_counter()
    hasher.fit(X, y)
    return time.perf_counter() - start


def measure_steps(session):
    """Milliseconds of a step of both engines, and AP of the codes that they end with."""
    sizes = session.sizes
    for batch in sizes.batches:
        X, y = draw(batch * sizes.n_batches, sizes.n_features)
        for engine, loss, device in (
            ("host", "AP", "cpu"),
            ("torch", PrecisionInTorch(), session.device),
        ):
            line = f"{engine} engine, batch of {batch}"
            if not session.needs("steps", line, "ms"):
                continue
            hasher = TALRHasher(
                N_BITS, loss=loss, batch_size=batch, device=device, random_state=0
            )
            hasher.set_params(max_iter=1)
            hasher.fit(X, y)  # loads and compiles
            of_one = seconds_of_fit(hasher, X, y)
            of_all = seconds_of_fit(hasher.set_params(max_iter=sizes.n_epochs), X, y)
            n_steps = (sizes.n_epochs - 1) * sizes.n_batches
            session.keep("steps", line, "ms", 1000 * (of_all - of_one) / n_steps)
            session.keep("steps", line, "AP", hasher.score(X[:1000], y[:1000]))


def measure_fits(session):
    """Seconds of fits of a million rows, and AP of new rows among new rows."""
    rows = SETS["100 classes"].draw(session.sizes.n_rows)
    (X, y), (X_query, y_query), (X_items, y_items) = rows.train, rows.queries, rows.items
    fits = {
        "default, host engine": TALRHasher(N_BITS, device="cpu"),
        "batch of 1024": TALRHasher(N_BITS, batch_size=1024, device=session.device),
        "nDCG, 256 hidden units, batch of 1024": TALRHasher(
            N_BITS,
            loss="nDCG",
            hidden_layer_sizes=256,
            batch_size=1024,
            device=session.device,
        ),
    }
    for line, hasher in fits.items():
        if not session.needs("fit", line, "s"):
            continue
        hasher.set_params(random_state=0)
        if session.sizes is QUICK:
            hasher.set_params(max_iter=1)
        session.keep("fit", line, "s", seconds_of_fit(hasher, X, y))
        codes = hasher.transform(X_query), hasher.transform(X_items)
        report = retrieval_report(*codes, "auto", y_query, y_items, measures=["AP"])
        session.keep("fit", line, "AP", float(report["expected"]["AP"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--quick", action="store_true", help="few rows, to try the script")
    parser.add_argument("--csv", type=Path, default=RESULTS / "gpu.csv")
    parsed = parser.parse_args()
    if parsed.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch finds no CUDA device; pass --device cpu --quick to try it")
    sizes = QUICK if parsed.quick else WHOLE
    session = Session(parsed.csv, parsed.device, sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of few rows or epochs
        run_tests(session)
        measure_steps(session)
        measure_fits(session)


if __name__ == "__main__":
    main()
