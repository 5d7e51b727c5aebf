"""
Quality per byte, and what ties do to it
========================================

BitBudget is a benchmark of compressed embeddings. It measures the share of their
``nDCG@10`` (NDCG of the first ten documents) that is kept, and the bytes per document. A
decorator registers a method, which returns a score for each query and document, and the
bytes per document. This example adds codes of
:class:`~sklearn_talr.hashing.AdditiveHasher` and :class:`~sklearn_talr.hashing.ITQHasher`
to BitBudget's own methods.

Hamming distances are small integers, so many documents have the same distance. BitBudget
takes tied documents in the arbitrary order that `argpartition` returns. Therefore each row
also shows three other values: for the worst order, for the best order, and the mean over
all orders. :doc:`/user_guide/results_embeddings` has values for judged collections.

``pip install bitbudget`` installs the benchmark. Without it, the example runs only the
methods of this library, and leaves out BitBudget's column.
"""

# %%
# A collection with judgments
# ---------------------------
# The collection is made from the documentation strings of scikit-learn. The first, third,
# fifth ... sentences of a string are a query. The second, fourth, sixth ... sentences are
# the relevant document. Embeddings are computed by latent semantic analysis, which takes a
# few seconds on any machine.

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def sentences(text):
    """Those of prose, in the order of the text."""
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in SENTENCE_END.split(" ".join(paragraph.split())):
            if 30 < len(sentence) < 300 and re.fullmatch(r"[A-Z][^>]*\.", sentence):
                yield sentence


halves = {}  # text of the document by text of the query
for file in sorted(Path(find_spec("sklearn").origin).parent.rglob("*.py")):
    if "tests" not in file.parts:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found = list(sentences(ast.get_docstring(node) or ""))
                if len(found) >= 4:
                    halves[" ".join(found[::2])] = " ".join(found[1::2])

texts = sorted(set(halves.values()))
documents = [f"d{i}" for i in range(len(texts))]
queries = [f"q{i}" for i in range(len(halves))]
name_of = dict(zip(texts, documents))
judgments = {query: {name_of[text]: 1} for query, text in zip(queries, halves.values())}

embed = make_pipeline(
    TfidfVectorizer(sublinear_tf=True), TruncatedSVD(128, random_state=0), Normalizer()
)
X = embed.fit_transform(texts).astype(np.float32)
X_query = embed.transform(list(halves)).astype(np.float32)
print(f"{len(documents)} documents, {len(queries)} queries, {X.shape[1]} numbers each")

# %%
# The benchmark
# -------------
# `METHODS` is the table that the decorator writes to. Of BitBudget's methods four are
# compared.

try:
    from bitbudget import METHODS, evaluate, method
except ImportError:
    print("BitBudget is not installed: our own methods alone are compared.")
    METHODS, evaluate = {}, None

    def method(name, **properties):
        """Enter a function, as BitBudget's decorator does."""
        return lambda function: METHODS.setdefault(name, function)


names = [name for name in ("binary", "rabitq", "pq", "float32") if name in METHODS]

# %%
# Our codes as its methods
# ------------------------
# The hasher is fitted to the documents. A code of AdditiveHasher has a factor, a number
# that multiplies its scores. It follows from the bits, so it need not be stored with them.
# Its four bytes are counted all the same, as an index keeps them in memory.

from sklearn_talr.codes import hamming_distances, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher


@method("floats", bits=32)
def floats(X, X_query):
    return X_query @ X.T, X.itemsize * X.shape[1]


for n_bits in (32, 64, 128):

    @method(f"additive {n_bits}", bits=1)
    def by_weights(X, X_query, n_bits=n_bits):
        hasher = AdditiveHasher(n_bits, method="bits", random_state=0).fit(X)
        codes = hasher.encode(X)
        return weighted_scores(hasher.query_weights(X_query), codes), n_bits / 8 + 4

    @method(f"ITQ, Hamming {n_bits}", bits=1)
    def by_bits(X, X_query, n_bits=n_bits):
        hasher = ITQHasher(n_bits, random_state=0).fit(X)
        distances = hamming_distances(hasher.encode(X_query), hasher.encode(X))
        return -distances, n_bits / 8

    names += [f"additive {n_bits}", f"ITQ, Hamming {n_bits}"]

names += [] if "float32" in names else ["floats"]

# %%
# The protocol, and the order of ties
# -----------------------------------
# :func:`~sklearn_talr.runs.evaluate_run` takes a run: the scores of the documents found. It
# must hold all that is tied with the tenth document. What is behind them cannot reach the
# first ten places, and is left out.

from sklearn_talr.runs import evaluate_run

scored = {}


def keep(name, function):
    """The same method, whose scores can be looked at afterwards."""

    def keeping(X, X_query):
        scored[name] = function(X, X_query)
        return scored[name]

    return keeping


def run_of(scores):
    """The ten best documents of each query, and all that are tied with the tenth."""
    run = {}
    for query, row in zip(queries, scores):
        found = np.flatnonzero(row >= np.partition(row, -10)[-10])
        run[query] = {documents[i]: float(row[i]) for i in found}
    return run


METHODS |= {name: keep(name, METHODS[name]) for name in names}
if evaluate is None:
    of_bitbudget = {}
    for name in names:
        METHODS[name](X, X_query)
else:
    rows = evaluate(X, X_query, documents, queries, judgments, names)
    of_bitbudget = {row["method"]: row["ndcg"] for row in rows}

results = {
    name: evaluate_run(judgments, run_of(scores), "nDCG@10")
    for name, (scores, _) in scored.items()
}

# %%
# The columns are the bytes of a document, the number of BitBudget, and ours: the worst
# order of ties, the mean over all orders, the best order, and the share of queries that
# ties affect.

order = sorted(results, key=lambda name: scored[name][1])
tables = {name: results[name].to_dict()["nDCG@10"] for name in order}

columns = "worst", "expected", "best"
print(f"\n{'':18s}{'bytes':>6s}{'BitBudget':>11s}", end="")
print("".join(f"{column:>10s}" for column in (*columns, "affected")))
for name, values in tables.items():
    theirs = of_bitbudget.get(name, np.nan)
    print(f"{name:18s}{scored[name][1]:6.0f}{theirs:11.3f}", end="")
    print("".join(f"{values[column]:10.3f}" for column in columns), end="")
    print(f"{values['affected']:10.0%}")

# %%
# Hamming distances have many ties, and the shorter the code, the wider is the interval.
# Real-valued scores have few ties: only documents with equal codes or equal embeddings are
# tied. If the intervals of two methods overlap, the order of the documents can reverse
# their comparison.

import matplotlib.pyplot as plt

worst, expected, best = ([row[column] for row in tables.values()] for column in columns)
errors = np.subtract(expected, worst), np.subtract(best, expected)
labels = [f"{name}, {scored[name][1]:.0f} B" for name in order]
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.errorbar(expected, labels, xerr=errors, fmt="o", markersize=4, capsize=4)
ax.set(xlabel="nDCG@10, from the worst to the best order of ties")
ax.set_title("Quality, bytes of a document, and ties")
ax.grid(axis="x", alpha=0.3)
figure.savefig("quality_per_byte.png", dpi=150)
print("Figure saved as quality_per_byte.png")
