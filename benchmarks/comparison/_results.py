"""Results of the comparison: a CSV that grows row by row, and tables of it."""

import csv
import json
from pathlib import Path

import numpy as np

COLUMNS = (
    "data",
    "method",
    "n_bits",
    "seed",
    "ap_worst",
    "ap",
    "ap_best",
    "ndcg",
    "radius_precision",
    "ramap",
    "empty",
    "lookup_ms",
    "tune_seconds",
    "fit_seconds",
    "encode_seconds",
    "params",
)
_NUMBERS = set(COLUMNS[4:8]) | {name for name in COLUMNS if "seconds" in name}
_CURVES = ("radius_precision", "ramap", "empty", "lookup_ms")


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
        with open(self.path, "a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if is_new:
                writer.writeheader()
            writer.writerow(row)
        self.rows.append(_parsed({name: str(row.get(name, "")) for name in COLUMNS}))

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


def table(results, read, digits=3):
    """Header and rows of text: methods by numbers of bits, mean and spread over seeds.

    ``read(row)`` is the number to show, None where there is none.
    """
    lengths = results.lengths()
    body = []
    for method in results.methods():
        cells = [_cell(results.select(method, n_bits), read, digits) for n_bits in lengths]
        if any(cells):
            body.append([method, *cells])
    return [["method", *(f"{n_bits} bits" for n_bits in lengths)], *body]


def at_radius(name, radius):
    """A reader of one point of a curve over radii."""

    def read(row):
        curve = row[name]
        return curve[radius] if curve and len(curve) > radius else None

    return read


def as_markdown(rows):
    """A table in Markdown."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def as_rst(rows):
    """A table in reStructuredText."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def _cell(rows, read, digits):
    values = [value for value in map(read, rows) if value is not None]
    if not values:
        return ""
    spread = f" ±{np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def _key(row):
    return row["method"], row["n_bits"], row["seed"]


def _parsed(row):
    parsed = dict(row, n_bits=int(row["n_bits"]), seed=int(row["seed"]))
    parsed |= {name: float(row[name]) if row[name] else None for name in _NUMBERS}
    parsed |= {name: json.loads(row[name]) if row[name] else None for name in _CURVES}
    return parsed | {"params": json.loads(row["params"])}
