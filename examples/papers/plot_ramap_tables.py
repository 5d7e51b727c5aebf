"""
RAMAP: a measure of the cost of hash lookup
===========================================

Hash lookup takes time for every bucket within its radius, and mean average precision (MAP)
does not measure this cost. Jiang, Li and Li ("On the Evaluation Metric for Hashing") append
bits without information to codes. MAP stays the same, and their radius-aware MAP (RAMAP)
falls. This example prints Tables 2 and 3 of the paper for scikit-learn's digits.
:doc:`/user_guide/hash_lookup` defines RAMAP.
"""

# %%
# Data and codes
# --------------
# Random hyperplanes (LSH) give 8 bits. LSHSE appends the same bits to queries and database,
# so all distances stay equal. LSHDE appends different bits, so all distances grow by the
# number of appended bits, and the query's own bucket is empty.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_talr.hashing import LSHHasher
from sklearn_talr.histogram import hamming_histogram

X, y = load_digits(return_X_y=True)
X_database, X_query, y_database, y_query = train_test_split(
    X, y, test_size=300, stratify=y, random_state=0
)

n_bits = 8
hasher = LSHHasher(n_bits=n_bits, random_state=0).fit(X_database)
queries, database = hasher.transform(X_query), hasher.transform(X_database)


def append_bits(codes, n_extra, bit):
    """Append `n_extra` bits that are all equal to `bit`."""
    return np.pad(codes, ((0, 0), (0, n_extra)), constant_values=bit)


def count(n_extra, same=True):
    """Count the distances of codes with `n_extra` same or different bits appended."""
    return hamming_histogram(
        append_bits(queries, n_extra, bit=0 if same else 1),
        append_bits(database, n_extra, bit=0),
        "auto",
        y_query,
        y_database,
    )


# %%
# Table 2: MAP and RAMAP with one appended bit
# --------------------------------------------
# A column has a number of returned items (for MAP) and a radius (for RAMAP). MAP is the
# same for all three codes. RAMAP is lower for longer codes, and much lower for codes with
# larger distances. AP of the first k items is divided by the relevant items among them, as
# in the paper.

from sklearn_talr.measures import AP
from sklearn_talr.metrics import radius_aware_map

# Radii of the columns of both tables
radii = [0, 1, 2, 3, 4, 8, 9]
returned = [len(y_database) * (radius + 1) // 10 for radius in radii]


def at_radii(values):
    """Return the values at `radii`, and NaN for radii above the code length."""
    return [values[radius] if radius < len(values) else np.nan for radius in radii]


def print_row(measure, method, values, digits=4):
    cells = ["N/A" if np.isnan(value) else f"{value:.{digits}f}" for value in values]
    print(f"{measure:10s}{method:12s}" + "".join(f"{cell:>9s}" for cell in cells))


def print_head(title, columns):
    print(f"\n{title}\n{'measure':10s}{'method':12s}", *(f"{c:>8s}" for c in columns))


methods = {"LSH": count(0), "LSHSE": count(1), "LSHDE": count(1, same=False)}
print_head("Table 2", [f"{k}/{radius}" for k, radius in zip(returned, radii)])
for name, histogram in methods.items():
    measures = [AP(denominator="retrieved") @ k for k in returned]
    print_row("MAP", name, [np.nanmean(measure.of(histogram)) for measure in measures])
for name, histogram in methods.items():
    print_row("RAMAP", name, at_radii(radius_aware_map(histogram)))

# %%
# Table 3: precision, recall and RAMAP with same bits appended
# ------------------------------------------------------------
# With 1 or 8 appended bits, precision and recall within a radius stay the same. The number
# of buckets grows, and RAMAP falls.

from sklearn_talr.metrics import lookup_cost, radius_precision, radius_recall

methods = {"LSH": count(0), "LSHSE s=1": count(1), "LSHSE s=8": count(8)}
print_head("Table 3", [f"R={radius}" for radius in radii])
for name, histogram in methods.items():
    precision = np.nanmean(radius_precision(histogram), axis=0)
    print_row("precision", name, at_radii(precision))
for name, histogram in methods.items():
    print_row("recall", name, at_radii(np.nanmean(radius_recall(histogram), axis=0)))
for name, histogram in methods.items():
    print_row("RAMAP", name, at_radii(radius_aware_map(histogram)))
for name, n_extra in zip(methods, (0, 1, 8)):
    print_row("buckets", name, at_radii(lookup_cost(n_bits + n_extra)), digits=0)

# %%
# Precision and RAMAP by radius
# -----------------------------
# With 3 appended bits, LSH and LSHSE have the same precision, and LSHDE has this precision
# at radii larger by 3. RAMAP falls by a few percent for LSHSE, and by a factor of hundreds
# for LSHDE.

from sklearn_talr.metrics import RadiusDisplay

methods = {
    "LSH": count(0),
    "LSHSE s=3": count(3),
    "LSHDE s=3": count(3, same=False),
}
axes = None
for name, histogram in methods.items():
    display = RadiusDisplay.from_histogram(
        histogram, panels=["precision", "radius_aware_map"], name=name, ax=axes
    )
    axes = display.ax_
axes[1].set_ylim(1e-4, 1)
axes[1].set_yscale("log", nonpositive="mask")
display.figure_.suptitle("Precision and RAMAP with three appended bits")
display.figure_.savefig("ramap_tables.png", dpi=150)
print("\nFigure saved as ramap_tables.png")
