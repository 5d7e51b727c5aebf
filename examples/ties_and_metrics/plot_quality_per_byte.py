"""
Quality per byte with BitBudget, and the effect of ties
=======================================================

BitBudget is a benchmark of compressed embeddings. It measures ``nDCG@10`` (NDCG of the
first ten documents) and the bytes per document. This example adds codes of
:class:`~sklearn_talr.hashing.AdditiveHasher` and :class:`~sklearn_talr.hashing.ITQHasher`
to the methods of BitBudget.

BitBudget takes documents with the same Hamming distance in an arbitrary order, so each row
also shows the values for the worst order, for the best order, and the mean over all orders.
:doc:`/user_guide/results_embeddings` has values for judged collections. ``pip install
bitbudget`` installs the benchmark; without it, only the methods of this library run.
"""

# %%
# A collection with judgments
# ---------------------------
# The collection consists of docstrings of scikit-learn. The first, third, fifth, ...
# sentences of a docstring are a query. The second, fourth, sixth, ... sentences are the
# relevant document. The embeddings are computed with latent semantic analysis.

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
    """Yield the sentences of a text in order, without code and tables."""
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in SENTENCE_END.split(" ".join(paragraph.split())):
            if 30 < len(sentence) < 300 and re.fullmatch(r"[A-Z][^>]*\.", sentence):
                yield sentence


# Maps the text of a query to the text of its relevant document
halves = {}
for file in sorted(Path(find_spec("sklearn").origin).parent.rglob("*.py")):
    if "tests" not in file.parts:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                prose = list(sentences(ast.get_docstring(node) or ""))
                if len(prose) >= 4:
                    halves[" ".join(prose[::2])] = " ".join(prose[1::2])

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
# BitBudget's decorator ``method`` registers a function in the dict ``METHODS``.

try:
    from bitbudget import METHODS, evaluate, method
except ImportError:
    print("BitBudget is not installed. Only the methods of this library are compared.")
    METHODS = {}
    evaluate = None

    def method(name, **properties):
        """Register a function, as BitBudget's decorator does."""
        return lambda function: METHODS.setdefault(name, function)


names = [name for name in ("binary", "rabitq", "pq", "float32") if name in METHODS]

# %%
# Register codes as methods of BitBudget
# --------------------------------------
# A method returns a score for each query and document, and the bytes per document. The
# hashers are fitted to the documents. The bytes of AdditiveHasher include four bytes for
# the factor that multiplies the scores of a code.

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
# Evaluate with all orders of ties
# --------------------------------
# :func:`~sklearn_talr.runs.evaluate_run` evaluates a run: scores of retrieved documents.
# For ``nDCG@10`` a run needs the ten best documents and all documents tied with the tenth.

from sklearn_talr.runs import evaluate_run

scores = {}
n_bytes = {}


def record(name, function):
    """Wrap a method so that its scores and bytes are recorded."""

    def recorded(X, X_query):
        scores[name], n_bytes[name] = function(X, X_query)
        return scores[name], n_bytes[name]

    return recorded


def as_run(scores):
    """Return the ten best documents of each query, and all tied with the tenth."""
    run = {}
    for query, row in zip(queries, scores):
        retrieved = np.flatnonzero(row >= np.partition(row, -10)[-10])
        run[query] = {documents[i]: float(row[i]) for i in retrieved}
    return run


METHODS |= {name: record(name, METHODS[name]) for name in names}
if evaluate is None:
    bitbudget_ndcg = {}
    for name in names:
        METHODS[name](X, X_query)
else:
    rows = evaluate(X, X_query, documents, queries, judgments, names)
    bitbudget_ndcg = {row["method"]: row["ndcg"] for row in rows}

names.sort(key=n_bytes.get)
results = {
    name: evaluate_run(judgments, as_run(scores[name]), "nDCG@10").to_dict()["nDCG@10"]
    for name in names
}

# %%
# The columns are the bytes per document, the value that BitBudget reports, the values for
# the worst order of ties, the mean over all orders (expected), and the best order, and the
# share of queries whose value depends on ties (affected).

columns = ["worst", "expected", "best"]
print(f"\n{'nDCG@10':18s}{'bytes':>6s}{'BitBudget':>11s}", end="")
print("".join(f"{column:>10s}" for column in (*columns, "affected")))
for name, values in results.items():
    print(f"{name:18s}{n_bytes[name]:6.0f}{bitbudget_ndcg.get(name, np.nan):11.3f}", end="")
    print("".join(f"{values[column]:10.3f}" for column in columns), end="")
    print(f"{values['affected']:10.0%}")

# %%
# Hamming distances have many ties, and real-valued scores have few. If the intervals of two
# methods overlap, the order of the documents can reverse their comparison.

import matplotlib.pyplot as plt

worst, expected, best = (
    np.array([values[column] for values in results.values()]) for column in columns
)
errors = [expected - worst, best - expected]
labels = [f"{name}, {n_bytes[name]:.0f} B" for name in names]
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.errorbar(expected, labels, xerr=errors, fmt="o", markersize=4, capsize=4)
ax.set(xlabel="nDCG@10: expected, and range over orders of ties")
ax.set_title("nDCG@10 by bytes per document")
ax.grid(axis="x", alpha=0.3)
figure.savefig("quality_per_byte.png", dpi=150)
print("Figure saved as quality_per_byte.png")
