"""Judged texts: codes trained by judgments against codes that know none.

    python benchmarks/bench_view_texts.py             # SciFact, Cranfield, CISI
    python benchmarks/bench_view_texts.py --tables

Questions and documents are embeddings by one model, which ranks well untrained. Codes of
the documents are fitted to all of them. What is trained by judgments is trained five times,
on four fifths of the queries each, and ranks for the rest. Queries that share a relevant
document, directly or by way of others, are in one part; but in Cranfield and CISI nearly
all do, and parts are random, which favors what is trained. Scores are nDCG@10 and its
difference to *ITQ* where queries are bits, and to *additive bits* where they are weights,
with the standard error of its mean over queries.

Rows of the CSV file, ``--csv``, are cells that are not measured again. SKLEARN_TALR_DATA
names the folder of the collections.
"""

import argparse
import time
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _judged_texts import SETS, load
from _view_rivals import Ranked, cross_view_codes
from _view_sets import Side, Views
from bench_unseen import append, read
from bench_views import CONTENDERS, scores_of
from sklearn.model_selection import GroupKFold

from sklearn_talr.affinity import query_groups
from sklearn_talr.hashing import AdditiveHasher, ITQHasher
from sklearn_talr.measures import nDCG

N_FOLDS = 5
KEY = ["data", "contender", "n_bits", "seed"]
FIELDS = [*KEY, "queries", "ndcg", "difference", "error", "n_queries", "seconds"]
REFERENCE = {"bits": "ITQ", "weights": "additive bits", "floats": "floats"}


def floats(views, n_bits, seed):
    """The embeddings."""
    return Ranked(views.test_items.X, floats=views.test_queries.X)


def itq(views, n_bits, seed):
    """Codes of both sides by the axes of the documents."""
    X, Q = views.test_items.X, views.test_queries.X
    hasher = ITQHasher(n_bits, random_state=seed).fit(X)
    return Ranked(hasher.encode(X), hasher.encode(Q), hasher.query_weights(Q))


def additive(views, n_bits, seed):
    """Additive bits of the documents."""
    X, Q = views.test_items.X, views.test_queries.X
    hasher = AdditiveHasher(n_bits, random_state=seed).fit(X)
    return Ranked(hasher.encode(X), weights=hasher.query_weights(Q))


SHARED = {
    "CrossViewHasher, shared": partial(cross_view_codes, shared=True),
    "CrossViewHasher, shared, no teacher": partial(
        cross_view_codes, shared=True, teacher=None
    ),
}
UNTRAINED = {"floats": floats, "ITQ": itq, "additive bits": additive}
TRAINED = (
    "relevance-CCA + ITQ",
    "relevance-CCA + additive bits",
    "CrossViewHasher",
    "CrossViewHasher, weights",
    "CrossViewHasher, shared",
    "CrossViewHasher, shared, no teacher",
)


def folds(data, n_folds):
    """Views of each fold, and the rows of its queries; one fold trains on no query."""
    texts = load(data)
    judgments = sp.csr_matrix(texts.relevant.T.astype(np.int8))
    queries = np.arange(len(texts.queries))
    group = query_groups(judgments)
    if np.bincount(group).max() > len(queries) / n_folds:  # most share documents
        group = np.random.default_rng(0).permutation(queries)
    split = [(queries[:0], queries)]
    if n_folds > 1:
        split = GroupKFold(n_folds).split(queries, groups=group)
    items = Side(texts.documents, None)
    for train, test in split:
        known_by, asked = (Side(texts.queries[rows], None) for rows in (train, test))
        grades = texts.relevant[test].astype(np.int8)
        known = judgments[:, train]
        yield Views(items, known_by, known, None, items, asked, grades), test


@lru_cache(maxsize=16)
def values(data, contender, n_bits, seed):
    """nDCG@10 of each query for each way to ask."""
    way = (UNTRAINED | SHARED | CONTENDERS)[contender]
    found = {}
    for views, test in folds(data, 1 if contender in UNTRAINED else N_FOLDS):
        ranked = way(views, n_bits, seed)
        for queries, scores in scores_of(views, ranked, [nDCG @ 10]):
            found.setdefault(queries, {}).update(zip(test, scores[0]))
    return {
        queries: np.array(list(map(of.get, sorted(of)))) for queries, of in found.items()
    }


def measure(data, contender, n_bits, seed):
    """Rows of the CSV file."""
    start = time.process_time()
    found = values(data, contender, n_bits, seed)
    seconds = round(time.process_time() - start, 1)
    for queries, mine in found.items():
        gains = mine - values(data, REFERENCE[queries], n_bits, seed)[queries]
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        numbers = (round(float(number), 4) for number in (mine.mean(), gains.mean(), error))
        yield (data, contender, n_bits, seed, queries, *numbers, len(gains), seconds)


def print_table(rows):
    """A line for each contender and way to ask, and columns of the collections."""
    lines = dict.fromkeys((row["contender"], row["n_bits"], row["queries"]) for row in rows)
    print("| contender | bits | queries | " + " | ".join(SETS) + " |")
    print("|---" * (len(SETS) + 3) + "|")
    for line in lines:
        shown = []
        for data in SETS:
            mine = [
                row
                for row in rows
                if row["data"] == data
                and (row["contender"], row["n_bits"], row["queries"]) == line
            ]
            shown.append(as_text(mine) if mine else "")
        print(f"| {' | '.join(line)} | {' | '.join(shown)} |")


def as_text(rows):
    """Means over seeds."""
    numbers = [[float(row[key]) for key in ("ndcg", "difference", "error")] for row in rows]
    return "{:.3f} ({:+.3f} ±{:.3f})".format(*np.mean(numbers, axis=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    path = Path(__file__).parent / "results" / "view_texts.csv"
    parser.add_argument("--csv", type=Path, default=path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--contenders", nargs="+", default=(*UNTRAINED, *TRAINED))
    parser.add_argument("--bits", nargs="+", type=int, default=(128,))
    parser.add_argument("--seeds", nargs="+", type=int, default=(0,))
    parser.add_argument("--tables", action="store_true")
    args = parser.parse_args()
    asked = () if args.tables else (args.sets, args.contenders, args.bits, args.seeds)
    for cell in product(*asked) if asked else ():
        if list(map(str, cell)) not in [
            [row[key] for key in KEY] for row in read(args.csv)
        ]:
            append(args.csv, list(measure(*cell)), FIELDS)
    print_table(read(args.csv))


if __name__ == "__main__":
    main()
