"""
Search text embeddings with 256-bit codes, then rerank
======================================================

Text embeddings are large: here 256 numbers of 4 bytes per sentence. This example stores one
bit per number, searches these codes, and reranks the best candidates by the embeddings. It
compares the recall of four kinds of codes: signs of the embeddings, ITQ,
:class:`~sklearn_talr.hashing.TALRHasher`, and
:class:`~sklearn_talr.hashing.AdditiveHasher` with real-valued queries.

The embedding model comes with the package ``wordllama``: ``pip install ".[embeddings]"``.
:doc:`/user_guide/embeddings` leads from embeddings to a served index.
"""

# %%
# A corpus and its embeddings
# ---------------------------
# The corpus consists of the sentences in the docstrings of scikit-learn and SciPy. 1 000
# sentences are queries, and the others are the database. The codes are learned from the
# database without labels. No hasher is trained on a query.

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill

import numpy as np
import wordllama

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def definitions(node):
    """Yield a module, class or function, and all definitions in its body."""
    yield node
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from definitions(child)


def sentences_of(package):
    """Yield the sentences in the docstrings of an installed package."""
    for file in sorted(Path(find_spec(package).origin).parent.rglob("*.py")):
        if "tests" in file.parts:
            continue
        for node in definitions(ast.parse(file.read_text(encoding="utf-8"))):
            for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                yield from SENTENCE_END.split(" ".join(paragraph.split()))


def is_prose(sentence):
    return 30 < len(sentence) < 300 and re.fullmatch(r"[A-Z][^>]*\.", sentence)


corpus = set(filter(is_prose, [*sentences_of("sklearn"), *sentences_of("scipy")]))
corpus = np.array(sorted(corpus))
model = wordllama.WordLlama.load(
    cache_dir=Path(wordllama.__file__).parent, disable_download=True
)
X = model.embed(corpus.tolist(), norm=True)

order = np.random.default_rng(0).permutation(len(X))
query, database = order[:1_000], order[1_000:]
X_query, X_database = X[query], X[database]
print(f"{len(database)} sentences, embeddings of shape {X_database.shape}")

# %%
# Exact neighbors
# ---------------
# The exact neighbors of a query are the ten sentences whose embeddings have the largest
# inner products with the embedding of the query.

exact = np.argpartition(-(X_query @ X_database.T), 10, axis=1)[:, :10]


def recall(neighbors):
    """Return the mean share of the exact neighbors among these neighbors."""
    return np.mean([np.isin(ids, row).mean() for ids, row in zip(exact, neighbors)])


# %%
# Four kinds of codes
# -------------------
# :class:`~sklearn_talr.neighbors.HammingNeighbors` reads positive entries as ones, so it
# stores the signs of the embeddings. ITQ and AdditiveHasher are fitted to 10 000 sentences.
# TALR is fitted to 3 000 sentences. Without labels it treats near sentences as similar.
# :class:`~sklearn_talr.neighbors.HashedNeighbors` holds a hasher together with its index,
# and uses real-valued queries for AdditiveHasher.

from sklearn.frozen import FrozenEstimator

from sklearn_talr import HammingNeighbors, HashedNeighbors, ITQHasher, TALRHasher
from sklearn_talr.hashing import AdditiveHasher

n_bits = X.shape[1]
itq = ITQHasher(n_bits, random_state=0).fit(X_database[:10_000])
talr = TALRHasher(n_bits, loss="nDCG", max_iter=8, batch_size=1_000, random_state=0).fit(
    X_database[:3_000]
)
additive = AdditiveHasher(n_bits, random_state=0).fit(X_database[:10_000])
indexes = {"signs": HammingNeighbors().fit(X_database)} | {
    name: HashedNeighbors(FrozenEstimator(hasher)).fit(X_database)
    for name, hasher in {"ITQ": itq, "TALR": talr, "additive": additive}.items()
}

# %%
# Search the codes, rerank by the embeddings
# ------------------------------------------
# The embeddings are a memory-mapped file. :func:`~sklearn_talr.neighbors.rescore` reads
# only the rows of the candidates.

from tempfile import TemporaryDirectory

from sklearn_talr.neighbors import rescore

folder = TemporaryDirectory()
np.save(Path(folder.name) / "embeddings.npy", X_database)
on_disk = np.load(Path(folder.name) / "embeddings.npy", mmap_mode="r")

n_candidates = [10, 20, 50, 100, 200]
recalls = {}
print(f"\n{'recall of 10':14s}{'codes only':>12s}", end="")
print("".join(f"{f'{n} reranked':>14s}" for n in n_candidates[1:]))
for name, index in indexes.items():
    candidates = index.kneighbors(X_query, max(n_candidates), return_distance=False)
    recalls[name] = []
    for n in n_candidates:
        _, reranked = rescore(X_query, on_disk, candidates[:, :n], metric="inner_product")
        recalls[name].append(recall(reranked[:, :10]))
    print(f"{name:14s}{recalls[name][0]:12.3f}", end="")
    print("".join(f"{value:14.3f}" for value in recalls[name][1:]))

print(f"\nembeddings: {X_database.nbytes / 2**20:.1f} MiB")
print(f"codes: {len(X_database) * n_bits / 8 / 2**20:.1f} MiB")

# %%
# The left end of each line is the recall of the codes alone, because reranking ten
# candidates does not change which ten are found.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
styles = {
    "signs": ("0.3", "x"),
    "ITQ": ("#E69F00", "s"),
    "TALR": ("black", "^"),
    "additive": ("#009E73", "v"),
}
for name, values in recalls.items():
    color, marker = styles[name]
    ax.plot(n_candidates, values, color=color, marker=marker, markersize=5, label=name)
ax.set(xscale="log", xticks=n_candidates, xticklabels=n_candidates)
ax.minorticks_off()
ax.set(xlabel="reranked candidates", ylabel="recall of the 10 nearest")
ax.set_title("Text embeddings, codes of 256 bits")
ax.legend()
figure.savefig("text_embeddings.png", dpi=150)
print("Figure saved as text_embeddings.png")

# %%
# Comparison of the codes
# -----------------------
# AdditiveHasher has by far the highest recall: with 20 candidates it finds more than the
# other codes with 50. Of the codes that are compared by Hamming distance, ITQ has the
# highest recall. TALR starts from ITQ and gains nothing, because there are no labels or
# grades to learn from.

# %%
# One query and its nearest sentences
# -----------------------------------

candidates = indexes["additive"].kneighbors(X_query[:1], 100, return_distance=False)
_, best = rescore(X_query[:1], on_disk, candidates, metric="inner_product")
print()
for sentence in (corpus[query[0]], *("-> " + corpus[database[best[0, :3]]])):
    print(fill(sentence, 80, subsequent_indent="   "))

folder.cleanup()
