"""How often an index says that rows have drifted: fresh rows, and rows of another kind.

    python benchmarks/bench_drift.py            # some minutes
    python benchmarks/bench_drift.py --tables   # what is measured, as a table

Hashers of 64 bits are fitted to 5 000 rows, and 1 000 others calibrate the index. Each look
takes 500 rows that were seen neither here nor there, at a level of 1 %: 20 calibrations,
and 100 looks after each. *Calibrated by training rows* has 1 000 of these in place of the
held-out ones, as must not be done. Hashers of CIFAR-10 know eight of its classes;
*other classes* are the other two. *Noise* is normal and as long as a part of a row.
SKLEARN_TALR_DATA names the folder of the benchmark sets. Rows go to a CSV file, ``--csv``.
"""

import argparse
import csv
import os
from pathlib import Path

import numpy as np

from sklearn_talr import ITQHasher
from sklearn_talr._hashers import FittedHasher
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors._drift import Calibration, errors_of

CSV = Path(__file__).parent / "results" / "drift.csv"
SETS = {"text": "text_minilm384", "cifar10": "cifar10_cnn512"}
HASHERS = {
    "ITQ": ITQHasher(64, random_state=0),
    "additive": AdditiveHasher(64, max_iter=4, random_state=0),
}
N_TRAIN, N_HELD_OUT, N_POOL, N_LOOK = 5_000, 1_000, 6_000, 500
N_CALIBRATIONS, N_LOOKS, ALPHA = 20, 100, 0.01
FIELDS = "data", "hasher", "calibrated_by", "incoming", "alarms"


def load(name):
    """Training rows, other rows of the same kind, and rows of other classes or None."""
    folder = Path(os.environ["SKLEARN_TALR_DATA"])
    arrays = np.load(folder / f"{SETS[name]}.npz")
    X, rng = arrays["X"].astype(np.float32), np.random.default_rng(0)
    order, others = rng.permutation(len(X)), None
    if name == "cifar10":
        X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if name == "cifar10":
        known = arrays["y"][order] < 8
        order, others = order[known], X[order[~known][:N_POOL]]
    rows = X[order[: N_TRAIN + N_HELD_OUT + N_POOL]]
    return rows[:N_TRAIN], rows[N_TRAIN:], others


def kinds_of(fresh, others, rng):
    """Rows of several kinds, from fresh ones."""
    noise = rng.standard_normal(fresh.shape, dtype=np.float32) / np.sqrt(fresh.shape[1])
    kinds = {"fresh": fresh, "noise of 0.3": fresh + 0.3 * noise, "noise": noise}
    return kinds | ({} if others is None else {"other classes": others})


def looks(errors, fresh, rng):
    """Errors of rows of looks: all of a kind, or a tenth among fresh ones."""
    whole = rng.choice(errors, N_LOOK, replace=False)
    tenth = rng.choice(fresh, N_LOOK, replace=False)
    tenth[: N_LOOK // 10] = whole[: N_LOOK // 10]
    return {"": whole, ", one in ten": tenth}


def measure(name, hasher):
    """Share of looks that alarm, by kind of calibration and of rows."""
    train, rest, others = load(name)
    hasher, rng = FittedHasher.of(hasher.fit(train)), np.random.default_rng(0)
    alarms = {}
    for _ in range(N_CALIBRATIONS):
        rest = rest[rng.permutation(len(rest))]
        kinds = kinds_of(rest[N_HELD_OUT:], others, rng)
        for way, rows in (
            ("held-out rows", rest[:N_HELD_OUT]),
            ("training rows", train[rng.permutation(N_TRAIN)[:N_HELD_OUT]]),
        ):
            calibration = Calibration.of(hasher, rows)
            errors = {
                kind: errors_of(hasher, X, calibration.decoder) for kind, X in kinds.items()
            }
            for kind, each in errors.items():
                for _ in range(N_LOOKS):
                    for suffix, of_look in looks(each, errors["fresh"], rng).items():
                        if not (kind == "fresh" and suffix):
                            drift = calibration.judge(of_look, ALPHA)
                            found = alarms.setdefault((way, kind + suffix), [])
                            found.append(drift.drifted)
    return {key: np.mean(found) for key, found in alarms.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=Path, default=CSV)
    parser.add_argument("--tables", action="store_true", help="print only")
    args = parser.parse_args()
    if not args.tables:
        with open(args.csv, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            for name in SETS:
                for hasher, estimator in HASHERS.items():
                    for key, rate in measure(name, estimator).items():
                        writer.writerow([name, hasher, *key, f"{rate:.4f}"])
                    file.flush()
    with open(args.csv, newline="") as file:
        for row in csv.DictReader(file):
            print(",".join(row.values()))


if __name__ == "__main__":
    main()
