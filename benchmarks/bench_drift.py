"""How often an index says that rows have drifted: fresh rows, and rows of another kind.

    python benchmarks/bench_drift.py            # some minutes
    python benchmarks/bench_drift.py --tables   # what is measured, as a table

Hashers of 64 bits are fitted to 5 000 rows. Then 1 000 others, drawn anew 6 000 times, or
10 000 times for additive codes, calibrate the index, and each time it looks at 500 fresh
rows that were seen neither here nor there, at a level of 1 %. The first 200 times it also
looks at rows of each other kind, and at fresh rows of which a tenth is of that kind, and
does all of it once more, calibrated by 1 000 training rows, as must not be done. Hashers of
CIFAR-10 know eight of its classes; *other classes* are the other two. *Noise* is normal and
as long as a row, or as 0.3 of it. SKLEARN_TALR_DATA names the folder of the benchmark sets.
Rows go to a CSV file, ``--csv``.
"""

import argparse
import csv
import os
from pathlib import Path

import numpy as np

from sklearn_talr import ITQHasher
from sklearn_talr._hashers import FittedHasher
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors._drift import (
    Calibration,
    _fit_decoder,
    _signs_and_features,
    errors_of,
)

CSV = Path(__file__).parent / "results" / "drift.csv"
SETS = {"text": "text_minilm384", "cifar10": "cifar10_cnn512"}
HASHERS = {
    "ITQ": ITQHasher(64, random_state=0),
    "additive": AdditiveHasher(64, max_iter=4, random_state=0),
}
N_TRAIN, N_HELD_OUT, N_POOL, N_LOOK = 5_000, 1_000, 6_000, 500
N_CALIBRATIONS = {"ITQ": 6_000, "additive": 10_000}  # whose rows decode once for all
N_OF_OTHERS, ALPHA = 200, 0.01
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


class Encoded:
    """Rows as a hasher encodes them, and their errors once an index is calibrated.

    Rows are encoded once, since they come again with each calibration.
    """

    def __init__(self, hasher, rows):
        if hasattr(hasher.hasher, "inverse_transform"):
            self._errors, self._signs = errors_of(hasher, rows, None), None
        else:
            self._signs, self._features = _signs_and_features(hasher, rows)

    def __len__(self):
        return len(self._errors if self._signs is None else self._signs)

    def calibration(self, rows):
        """The calibration by some of the rows."""
        if self._signs is None:
            return Calibration(np.sort(self._errors[rows]), None)
        fitted, rest = rows[::2], rows[1::2]
        _, decoder = _fit_decoder(self._signs[fitted], self._features[fitted])
        calibration = Calibration(None, decoder)
        return calibration._replace(errors=np.sort(self.errors(rest, calibration)))

    def errors(self, rows, calibration):
        """Errors of some of the rows."""
        if self._signs is None:
            return self._errors[rows]
        decoded = self._signs[rows] @ calibration.decoder
        return ((self._features[rows] - decoded) ** 2).sum(axis=1)


def look(encoded, calibration, order, rng):
    """Yield (kind of rows, whether a look at them alarms)."""
    fresh = encoded["fresh"].errors(order[:N_LOOK], calibration)
    yield "fresh", calibration.judge(fresh, ALPHA).drifted
    for kind, rows in encoded.items():
        if kind != "fresh":
            drawn = rng.choice(len(rows), N_LOOK, replace=False)
            errors = rows.errors(drawn, calibration)
            yield kind, calibration.judge(errors, ALPHA).drifted
            errors[N_LOOK // 10 :] = fresh[N_LOOK // 10 :]
            yield f"{kind}, one in ten", calibration.judge(errors, ALPHA).drifted


def measure(name, hasher, n_calibrations):
    """Share of looks that alarm, by kind of calibration and of rows."""
    train, rest, others = load(name)
    hasher, rng = FittedHasher.of(hasher.fit(train)), np.random.default_rng(0)
    kinds = kinds_of(rest, others, rng)
    encoded = {kind: Encoded(hasher, rows) for kind, rows in kinds.items()}
    trained, alarms = Encoded(hasher, train), {}
    for number in range(n_calibrations):
        if number == N_OF_OTHERS:
            encoded = {"fresh": encoded["fresh"]}
        order = rng.permutation(len(rest))
        ways = {"held-out": encoded["fresh"].calibration(order[:N_HELD_OUT])}
        if number < N_OF_OTHERS:
            drawn = rng.permutation(N_TRAIN)[:N_HELD_OUT]
            ways["training"] = trained.calibration(drawn)
        for way, calibration in ways.items():
            for kind, found in look(encoded, calibration, order[N_HELD_OUT:], rng):
                alarms.setdefault((way, kind), []).append(found)
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
                    rates = measure(name, estimator, N_CALIBRATIONS[hasher])
                    for key, rate in rates.items():
                        writer.writerow([name, hasher, *key, f"{rate:.4f}"])
                    file.flush()
    with open(args.csv, newline="") as file:
        for row in csv.DictReader(file):
            print(",".join(row.values()))


if __name__ == "__main__":
    main()
