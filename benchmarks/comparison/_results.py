"""Results of the comparison: a CSV that grows row by row."""

import copy
import csv
import json
import os
from pathlib import Path

COLUMNS = (
    "data",
    "setting",
    "method",
    "n_bits",
    "seed",
    "ap_worst",
    "ap",
    "ap_best",
    "ndcg",
    "ap_float",
    "ndcg_float",
    "radius_precision",
    "ramap",
    "empty",
    "lookup_ms",
    "tune_seconds",
    "fit_seconds",
    "encode_seconds_per_million",
    "hamming_ms",
    "float_ms",
    "bytes",
    "params",
    "versions",
)
_NUMBERS = set(COLUMNS[5:11]) | set(COLUMNS[15:21])
_CURVES = ("radius_precision", "ramap", "empty", "lookup_ms")
_DIGITS = 6  # that are written


class Results:
    """Rows on disk, so that an interrupted run goes on where it stopped.

    A method without a length to choose has 0 bits.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.rows = self._read()

    def add(self, row):
        """Append a row, and have it written."""
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        row = {name: _as_text(row.get(name)) for name in COLUMNS}
        with open(self.path, "a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            os.fsync(file.fileno())
        self.rows.append(_parsed(row))

    def has(self, method, n_bits, seed):
        """Whether this is done."""
        return any(_key(row) == (method, n_bits, seed) for row in self.rows)

    def params(self, method, seed):
        """Tuned parameters of an earlier row, or None."""
        for row in self.rows:
            if (row["method"], row["seed"]) == (method, seed):
                return row["params"]
        return None

    def select(self, method, n_bits):
        """Rows of all seeds; those of any length if the method has none."""
        lengths = (n_bits, 0)
        return [r for r in self.rows if r["method"] == method and r["n_bits"] in lengths]

    def of_bytes(self, method, n_bytes):
        """Rows of the longest codes of a method whose items take so many bytes.

        All that is stored counts: bits, what other numbers there are, or floats.
        """
        return self._longest(method, lambda stored: stored == n_bytes)

    def within_bytes(self, method, n_bytes):
        """Rows of the longest codes of a method that take no more bytes; maybe none."""
        return self._longest(method, lambda stored: stored <= n_bytes)

    def _longest(self, method, fits):
        rows = [r for r in self.rows if r["method"] == method and fits(r["bytes"] or 0)]
        most = max((row["n_bits"] for row in rows), default=None)
        return [row for row in rows if row["n_bits"] == most]

    def sizes(self, methods=None):
        """Numbers of bytes of items of these methods, or all, ascending."""
        rows = [r for r in self.rows if methods is None or r["method"] in methods]
        return sorted({int(row["bytes"]) for row in rows if row["bytes"]})

    def only(self, methods):
        """The results of some methods."""
        some = copy.copy(self)
        some.rows = [row for row in self.rows if row["method"] in methods]
        return some

    def on_splits_of(self, methods):
        """The results on splits where all of these methods have some."""
        splits = {m: {r["seed"] for r in self.rows if r["method"] == m} for m in methods}
        return self.on_splits(set.intersection(*splits.values()))

    def on_splits(self, seeds):
        """The results on some splits."""
        some = copy.copy(self)
        some.rows = [row for row in self.rows if row["seed"] in seeds]
        return some

    def splits(self):
        """Seeds of the splits, ascending."""
        return sorted({row["seed"] for row in self.rows})

    def methods(self):
        """Names, in the order of their first rows."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    def lengths(self):
        """Numbers of bits, ascending."""
        return sorted({row["n_bits"] for row in self.rows} - {0})

    def _read(self):
        if not self.path.exists():
            return []
        with open(self.path, newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise SystemExit(
                    f"{self.path} has other columns than this version writes. Move it "
                    "away, or choose another --out."
                )
            return [_parsed(row) for row in reader]


def _as_text(value):
    if value is None:
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def _key(row):
    return row["method"], row["n_bits"], row["seed"]


def _parsed(row):
    parsed = dict(row, n_bits=int(row["n_bits"]), seed=int(row["seed"]))
    parsed |= {name: float(row[name]) if row[name] else None for name in _NUMBERS}
    parsed |= {name: json.loads(row[name]) if row[name] else None for name in _CURVES}
    return parsed | {"params": json.loads(row["params"])}
