"""What the calculator of the guide knows of times: constants fitted to measured ones."""

import csv

import numpy as np
from scipy.optimize import nnls

UNITS = {"Hamming": 64, "weighted": 8, "floats": 1}  # of bits, or of features


def constants(path):
    """Milliseconds of a call, of a million items and of a million units, by way."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for way, size in UNITS.items():
        of_way = [row for row in rows if row["way"] == way]
        ms = np.array([float(row["ms"]) for row in of_way])
        items = np.array([int(row["n_items"]) / 1e6 for row in of_way])
        units = items * [-(-int(row["width"]) // size) for row in of_way]
        matrix = np.column_stack((np.ones(len(ms)), items, units))
        fitted, _ = nnls(matrix / ms[:, None], np.ones(len(ms)))
        names = "call_ms", "ms_per_million_items", "ms_per_million_units"
        found[way] = {k: float(f"{v:.2g}") for k, v in zip(names, fitted)}
    return found
