"""Judged texts: what codes keep of the ranking that the floats give.

Documents and queries are embeddings of unit length. Codes are fitted to the documents, all
of which are the database: that is how a collection is indexed. Judgments are not used but
to score: a document is relevant if it was judged, with any grade. Rivals are given rows
from which the documents' mean is taken off; AdditiveHasher takes it off by itself. Queries
are as they are, so that scores of floats stay the same but for a constant.
"""

from typing import NamedTuple

import numpy as np
from _embedding_figures import append, read
from _quantizers import CONTENDERS, Hasher
from _searches import N_NEIGHBORS, highest
from benchmark_sets import folder_of_sets

from sklearn_talr.neighbors import rescore

SETS, BUDGETS = ("scifact", "cran", "cisi"), (8, 16, 32)
N_RESCORED = 100
SEARCHES = "weighted queries", "cosine", "product"  # those by all of a code
NAMES = (
    "AdditiveHasher, single bits",
    *(f"ASH, {bits}" for bits in ("1 bit", "2 bits", "4 bits")),
    "components, allocated bits",
    *(f"OSQ, {bits}" for bits in ("1 bit", "2 bits", "4 bits")),
    "faiss ResidualQuantizer",
    "faiss OPQ+PQ",
)


class Texts(NamedTuple):
    """Documents, queries that have a relevant document, and which ones are relevant."""

    documents: np.ndarray
    queries: np.ndarray
    relevant: np.ndarray


class JudgedFigure(NamedTuple):
    """nDCG@10 of one search by one code, and of the best hundred ordered by floats."""

    data: str
    seed: int
    budget: int
    contender: str
    search: str
    ndcg: float
    ndcg_rescored: float
    ndcg_floats: float
    n_bytes: int


def load(name):
    """Embeddings and judgments of a collection."""
    with np.load(folder_of_sets() / f"{name}.npz") as arrays:
        X, Q = arrays["X"].astype(np.float32), arrays["Q"].astype(np.float32)
        query, document, _ = arrays["judged"].T
    relevant = np.zeros((len(Q), len(X)), bool)
    relevant[query, document] = True
    judged = relevant.any(axis=1)
    return Texts(X, Q[judged], relevant[judged])


def ndcg(relevant, found):
    """Mean nDCG of the documents found, the best first; every query has a relevant one."""
    discounts = 1 / np.log2(np.arange(2, 2 + found.shape[1]))
    gains = np.take_along_axis(relevant, found, axis=1) @ discounts
    n_ideal = np.minimum(relevant.sum(axis=1), len(discounts))
    return float(np.mean(gains / np.cumsum(discounts)[n_ideal - 1]))


def measure(data, seed, budget, contender):
    """Fit to the documents, search them; yield a figure for each way of searching."""
    X, Q, relevant = load(data)
    by_floats = round(ndcg(relevant, highest(Q @ X.T, N_NEIGHBORS)), 4)
    model = CONTENDERS[contender].make(X.shape[1], budget, seed)
    rows = X if isinstance(model, Hasher) else X - X.mean(axis=0)
    model.fit(rows)
    model.add(rows)
    for search, found in model.search(Q, N_RESCORED):
        if search in SEARCHES:
            order = rescore(Q, X, found, metric="inner_product", n_neighbors=N_NEIGHBORS)[1]
            figures = ndcg(relevant, found[:, :N_NEIGHBORS]), ndcg(relevant, order)
            scores = *(round(figure, 4) for figure in figures), by_floats
            yield JudgedFigure(
                data, seed, budget, contender, search, *scores, model.n_bytes
            )


def measure_all(path, n_seeds, contenders):
    """Append what the file lacks."""
    known = {figure[:4] for figure in read(path, JudgedFigure)}
    for seed in range(n_seeds):
        for contender in (name for name in contenders if name in NAMES):
            for data in SETS:
                for budget in BUDGETS:
                    cell = data, seed, budget, contender
                    if cell not in known and seed < CONTENDERS[contender].n_seeds:
                        append(path, list(measure(*cell)))
