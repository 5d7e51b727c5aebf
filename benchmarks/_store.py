"""A CSV file of measurements that goes on where it stopped.

Every row has the *key*, which says what was measured, the *figures*, and in a last column
``machine`` the versions and the processor. A key that is there is not measured again.
``results/README.md`` says what the columns of each file are.
"""

import csv
import os
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
MACHINE = "machine"
DIGITS = 4  # after the point, of floats


class Store:
    """Rows on disk, each a dict of texts."""

    def __init__(self, path, key, figures):
        self.path, self.key, self.columns = Path(path), key, [*key, *figures, MACHINE]

    def rows(self):
        if not self.path.exists():
            return []
        with open(self.path, newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != self.columns:
                raise SystemExit(f"{self.path} has other columns: name another --csv.")
            return list(reader)

    def has(self, **key):
        """Whether this is measured."""
        wanted = [str(key[name]) for name in self.key]
        return any([row[name] for name in self.key] == wanted for row in self.rows())

    def add(self, **row):
        """Append a row, and have it written."""
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        row = {name: _as_text(row.get(name, "")) for name in self.columns}
        with open(self.path, "a", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row | {MACHINE: machine()})
            file.flush()
            os.fsync(file.fileno())


def record(script, table, line, quantity, value):
    """Keep a figure of time or memory, if ``SKLEARN_TALR_SECONDS`` names a file.

    Times are worth keeping from a quiet machine only, so that nothing is kept unasked. The
    last row of a key counts.
    """
    path = os.environ.get("SKLEARN_TALR_SECONDS")
    if path:
        key = {"script": script, "table": table, "line": line, "quantity": quantity}
        Store(path, [*key], ["value"]).add(**key, value=f"{value:.5g}")


def describe_processor():
    """The processor's name, as far as the system tells."""
    name = ""
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        names = [line.split(":")[1].strip() for line in lines if line[:10] == "model name"]
        name = next(iter(names), "")
    return name or platform.processor() or platform.machine()


@cache
def machine():
    """Versions of what computes, and the processor."""
    names = "numpy", "scikit-learn", "torch"
    found = [f"{name} {version(name)}" for name in names]
    parts = [f"Python {platform.python_version()}", *found, describe_processor()]
    return ", ".join(parts)


def _as_text(value):
    if not isinstance(value, float):
        return str(value)
    return f"{round(value, DIGITS):.{DIGITS}f}"
