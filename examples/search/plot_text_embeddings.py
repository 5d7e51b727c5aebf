"""
Searching text embeddings by 256 bits, and rescoring
====================================================

Text embeddings are large: 256 numbers of 4 bytes for every sentence here, 1 536 or more
elsewhere. A common remedy keeps one bit of each number, searches these codes, and orders
the best hundred candidates by the embeddings, which may stay on disk. This example
measures what that costs on the sentences of a real corpus, with four kinds of codes: the
plain signs, ITQ's rotation, codes learned by :class:`~sklearn_talr.hashing.TALRHasher`, and
codes of :class:`~sklearn_talr.hashing.AdditiveHasher`, whose queries are weighted.

The embedding model comes with the package ``wordllama``: ``pip install
".[embeddings]"``. Nothing is downloaded. :doc:`/user_guide/search` is the chapter
on search, and :doc:`/user_guide/embeddings` leads from embeddings to a served index.
"""

# %%
# A corpus and its embeddings
# ---------------------------
# The documentation strings of scikit-learn and SciPy, cut into sentences: text that is
# there wherever this package is. A thousand sentences are queries, the rest the database.
# There are no labels, so the codes are learned from the database itself, as an index over
# embeddings would be: what must not be seen in training are the queries.

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill

import numpy as np
import wordllama

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def definitions(node):
    """A module, class or function, and those in its body."""
    yield node
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from definitions(child)


def sentences_of(package):
    """Sentences in the documentation strings of an installed package."""
    for file in sorted(Path(find_spec(package).origin).parent.rglob("*.py")):
        if "tests" in file.parts:
            continue
        for node in definitions(ast.parse(file.read_text(encoding="utf-8"))):
            for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                yield from SENTENCE_END.split(" ".join(paragraph.split()))


def reads_well(sentence):
    return 30 < len(sentence) < 300 and re.fullmatch(r"[A-Z][^>]*\.", sentence)


corpus = set(filter(reads_well, [*sentences_of("sklearn"), *sentences_of("scipy")]))
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
# What full precision finds
# -------------------------
# The ten sentences whose embeddings have the largest inner product with the query's.

exact = np.argpartition(-(X_query @ X_database.T), 10, axis=1)[:, :10]


def recall(found):
    """Fraction of the ten exact neighbors among those found."""
    return np.mean([np.isin(truth, row).mean() for truth, row in zip(exact, found)])


# %%
# Four kinds of codes
# -------------------
# :class:`~sklearn_talr.neighbors.HammingNeighbors` takes positive entries for ones, so the
# embeddings themselves stand for their signs. The hashers are fitted without labels: TALR,
# to which near sentences are then similar ones, on 3 000 sentences, and the others, which
# take little time, on 10 000.
# :class:`~sklearn_talr.neighbors.HashedNeighbors` holds a hasher together with its index,
# and asks by bits or by weights as the hasher wants it.

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
# Search by codes, order by embeddings
# ------------------------------------
# :func:`~sklearn_talr.neighbors.rescore` reads the rows of the candidates only. The
# embeddings are a file that is mapped into memory, as a larger collection would be.

from tempfile import TemporaryDirectory

from sklearn_talr.neighbors import rescore

folder = TemporaryDirectory()
np.save(Path(folder.name) / "embeddings.npy", X_database)
on_disk = np.load(Path(folder.name) / "embeddings.npy", mmap_mode="r")

n_candidates = [10, 20, 50, 100, 200]
recalls = {}
print(f"\n{'recall of 10':14s}{'by codes':>10s}", end="")
print("".join(f"{f'{n} rescored':>14s}" for n in n_candidates[1:]))
for name, index in indexes.items():
    found = index.kneighbors(X_query, max(n_candidates), return_distance=False)
    recalls[name] = [
        recall(rescore(X_query, on_disk, found[:, :n], metric="inner_product")[1][:, :10])
        for n in n_candidates
    ]
    print(f"{name:14s}{recalls[name][0]:10.3f}", end="")
    print("".join(f"{value:14.3f}" for value in recalls[name][1:]))

sizes = {"embeddings": X_database.nbytes, "codes": len(X_database) * n_bits // 8}
print("\n" + ", ".join(f"{name} {size / 2**20:.1f} MiB" for name, size in sizes.items()))

# %%
# At the left end of each line ten candidates are ordered, which changes nothing in recall:
# it is the search by codes alone.

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
ax.set(xlabel="candidates rescored", ylabel="recall of the 10 nearest")
ax.set_title("Text embeddings by codes of 256 bits")
ax.legend()
figure.savefig("text_embeddings.png", dpi=150)
print("Figure saved as text_embeddings.png")

# %%
# Comparison of the codes
# -----------------------
# Codes of AdditiveHasher win by far. Alone they find three quarters of the ten nearest, and
# with 20 candidates more than the others with 50. Their queries are not rounded to bits,
# and each code is chosen so that the vectors of its bits add up to the direction of its
# sentence.
#
# Of the codes that are searched by Hamming distance, those of ITQ are best. Its rotation
# loses less by rounding than plain signs do, which take the axes as they come. TALR starts
# from ITQ, with fewer sentences, and gains nothing here: it is made for labels and grades,
# of which there are none. The more candidates are rescored, the less it matters which
# codes they come from.

# %%
# One query
# ---------

candidates = indexes["additive"].kneighbors(X_query[:1], 100, return_distance=False)
_, best = rescore(X_query[:1], on_disk, candidates, metric="inner_product")
print()
for sentence in (corpus[query[0]], *("-> " + corpus[database[best[0, :3]]])):
    print(fill(sentence, 80, subsequent_indent="   "))

folder.cleanup()
