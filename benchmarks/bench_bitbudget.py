"""Our codes in the protocol of BitBudget: nDCG@10 kept per stored byte, and what ties do.

    python benchmarks/bench_bitbudget.py                # SciFact, Cranfield, CISI: minutes
    python benchmarks/bench_bitbudget.py --tables       # what is measured, as Markdown
    python benchmarks/bench_bitbudget.py --compare      # which differences are sure

BitBudget (``pip install bitbudget``) gives a method the embeddings of documents and
queries, and gets the scores of all pairs and the bytes that a document takes. Its protocol
reports nDCG@10 against the judgments, percent of what floats have, and recall of the ten
nearest. It breaks ties by `argpartition`. Beside its number stand the worst and the best
order of tied documents and the mean over all orders, the least and the greatest of its own
numbers under 20 orders of the documents, and the difference of the mean to that of floats
with its standard error over queries.

All that is stored of a document counts. A code with a factor takes 4 bytes more, as in
memory; a file holds no factors. To order anew by floats takes these, which BitBudget does
not count for its own ``binary+rerank``; the CSV file does. *shared_bytes* is what all
documents share and queries need: axes, scales, centroids. BitBudget counts it for nobody. A
rotation that is drawn from a seed takes nothing.

Codes are fitted to the documents, which are the database: no query and no judgment is seen.
Every method is a row of a CSV file, ``--csv``, and is not measured again. ``--compare``
writes another one, of the pairs of the methods of about 48 bytes and less: differences of
nDCG@10 in the mean over orders of ties, with p-values that Holm's method adjusts.
SKLEARN_TALR_DATA names the folder of the collections.
"""

import argparse
import time
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
from _judged_tables import TITLES
from _judged_texts import SETS, load
from bench_unseen import append, read
from bitbudget import METHODS, evaluate, method
from bitbudget.metrics import ndcg_at_k

from sklearn_talr.codes import hamming_distances, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher
from sklearn_talr.runs import Run, compare_runs, evaluate_run

K, N_SHUFFLES, FACTOR = 10, 20, 4
KEY = ["data", "method", "seed"]
OF_TIES = ["worst", "expected", "best", "moved", "shuffled_low", "shuffled_high"]
MEASURED = ["bytes", "shared_bytes", "ndcg", "pct_float", "recall", *OF_TIES]
FIELDS = [*KEY, *MEASURED, "difference", "error", "seconds"]
SINGLE = partial(AdditiveHasher, word_size=1)
PAIR_FIELDS = ["data", "first", "second", "difference", "low", "high", "lowest", "highest"]
PAIR_FIELDS += ["adjusted_p_value", "adverse_p_value"]
THEIRS = list(METHODS)
COMPARED = [f"additive bits, {n_bits}" for n_bits in (192, 256, 352)]
COMPARED += ["ITQ, Hamming, 384", "binary", "binary-mean", "rabitq", "pq"]


def by_weights(make, n_bits, demb, qemb):
    """Scores of codes for queries that are not rounded."""
    hasher = make(n_bits).fit(demb)
    codes = hasher.encode(demb)
    n_bytes = n_bits / 8 + FACTOR * (codes.terms is not None)
    return weighted_scores(hasher.query_weights(qemb), codes), n_bytes, hasher


def by_bits(make, n_bits, demb, qemb):
    """Scores of codes for codes, which are integers."""
    hasher = make(n_bits).fit(demb)
    distances = hamming_distances(hasher.encode(qemb), hasher.encode(demb))
    return -distances, n_bits / 8, hasher


def rescored(n_bits, depth, make, demb, qemb):
    """The best by additive bits, ordered by floats, which are stored, too."""
    scores, n_bytes, hasher = by_weights(make, n_bits, demb, qemb)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    floats = np.take_along_axis(qemb @ demb.T, best, axis=1)
    scores = np.full(scores.shape, -1e9, dtype=np.float32)  # as they have it
    np.put_along_axis(scores, best, floats, axis=1)
    return scores, n_bytes + 4 * demb.shape[1], hasher


def of_leading(score, n_coordinates, demb, qemb):
    """A method of theirs on the leading coordinates."""
    return score(demb[:, :n_coordinates], qemb[:, :n_coordinates])


def ours(seed):
    """Our methods by name: scores, bytes of a document, and the hasher."""
    kinds = {
        "additive": (by_weights, AdditiveHasher, (128, 192, 256, 320, 352)),
        "additive bits": (by_weights, SINGLE, (128, 192, 256, 320, 352)),
        "ITQ, weights": (by_weights, ITQHasher, (128, 256, 384)),
        "ITQ, Hamming": (by_bits, ITQHasher, (128, 256, 384)),
    }
    methods = {
        f"{kind}, {n_bits}": partial(score, partial(make, random_state=seed), n_bits)
        for kind, (score, make, lengths) in kinds.items()
        for n_bits in lengths
    }
    make = partial(SINGLE, random_state=seed)
    return methods | {"additive bits, 256, rescored": partial(rescored, 256, 100, make)}


def theirs(seed):
    """BitBudget's methods by name, and some with other parameters."""
    methods = {name: METHODS[name] for name in THEIRS}
    methods["rabitq"] = partial(METHODS["rabitq"], seed=seed)
    for m in (16, 24, 32):
        methods[f"pq, {m}"] = partial(METHODS["pq"], m=m)
    for name in ("binary", "binary-mean", "rabitq"):
        methods[f"{name}, 128"] = partial(of_leading, methods[name], 128)
    return methods


@lru_cache(maxsize=1)
def problem(data):
    """Arguments of BitBudget's `evaluate`."""
    texts = load(data)
    documents = [f"d{i}" for i in range(len(texts.documents))]
    queries = [f"q{i}" for i in range(len(texts.queries))]
    qrels = {
        query: {documents[i]: 1 for i in np.flatnonzero(row)}
        for query, row in zip(queries, texts.relevant)
    }
    return texts.documents, texts.queries, documents, queries, qrels


def values_with_ties(scores, documents, queries, qrels, name=None):
    """nDCG@10 of each query by the best ten and what is tied with them: a RunEvaluation."""
    last = np.partition(scores, -K, axis=1)[:, -K]
    run = {}
    for query, row, least in zip(queries, scores, last):
        some = np.flatnonzero(row >= least)
        run[query] = dict(zip((documents[i] for i in some), row[some].tolist()))
    return evaluate_run(qrels, Run(run, name), ['nDCG(dcg="exp-log2")@10'])


@lru_cache(maxsize=1)
def of_floats(data):
    """nDCG@10 of each query by floats."""
    demb, qemb, *judged = problem(data)
    return values_with_ties(qemb @ demb.T, *judged).expected[:, 0]


def shuffled(scores, documents, queries, qrels):
    """Least and greatest of BitBudget's numbers with the documents in other orders."""
    rng = np.random.default_rng(0)
    values = []
    for _ in range(N_SHUFFLES):
        order = rng.permutation(len(documents))
        names = [documents[i] for i in order]
        values.append(ndcg_at_k(scores[:, order], queries, names, qrels, K))
    return min(values), max(values)


def measure(data, name, seed):
    """A row of the CSV file."""
    demb, qemb, *judged = arguments = problem(data)
    start = time.process_time()
    scores, n_bytes, *hasher = (ours(seed) | theirs(seed))[name](demb, qemb)
    seconds = round(time.process_time() - start, 2)
    method("measured")(lambda demb, qemb: (scores, n_bytes))
    (row,) = evaluate(*arguments, ["measured"], K, K)
    result = values_with_ties(np.asarray(scores), *judged)
    (ties,) = result.to_dict().values()
    ties["shuffled_low"] = ties["shuffled_high"] = row["ndcg"]
    if ties["moved"]:
        low_high = shuffled(scores, *judged)
        ties["shuffled_low"], ties["shuffled_high"] = low_high
    if name == "binary+rerank":
        row["bytes"] += 4 * demb.shape[1]
    row["shared_bytes"] = shared_bytes(name, demb.shape[1], *hasher)
    row |= {key: round(float(ties[key]), 4) for key in OF_TIES}
    differences = result.expected[:, 0] - of_floats(data)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    found = (round(float(value), 4) for value in (differences.mean(), error))
    return (data, name, seed, *(row[key] for key in MEASURED), *found, seconds)


def shared_bytes(name, n_features, hasher=None):
    """Bytes that queries need beside the codes."""
    if hasattr(hasher, "query_coef_"):
        return hasher.query_coef_.nbytes
    if hasher is not None:
        return sum(array.nbytes for array in (*hasher.coefs_, *hasher.intercepts_))
    if name.startswith("pq"):
        return 4 * 256 * n_features
    n_numbers = {
        **dict.fromkeys(("int8", "int4", "binary-mean"), n_features),
        "binary-mean, 128": 128,
        "pca": n_features * (n_features // 4 + 1),
    }
    return 4 * n_numbers.get(name, 0)


def means(rows):
    """Means over seeds by method and set, each a dict by column."""
    groups = {}
    for row in rows:
        groups.setdefault((row["method"], row["data"]), []).append(row)
    return {
        key: {
            column: np.mean([float(row[column]) for row in some]) for column in FIELDS[3:]
        }
        for key, some in groups.items()
    }


def kept_table(rows):
    """Percent of the floats' nDCG@10, methods by their bytes."""
    found = means(rows)
    largest = {name: found[key]["bytes"] for key in found for name in key[:1]}
    for name in sorted(largest, key=largest.get):
        of_sets = [found.get((name, data)) for data in SETS]
        shared = max(of["shared_bytes"] for of in of_sets if of) / 1024
        kept = ["" if of is None else f"{of['pct_float']:.1f}" for of in of_sets]
        yield name, f"{largest[name]:.0f}", f"{shared:.0f}", *kept


def ties_table(rows):
    """What the order of documents does, where it does something."""
    for (name, data), of in means(rows).items():
        if of["best"] - of["worst"] > 0.005:
            numbers = [f"{of[key]:.3f}" for key in ("ndcg", *OF_TIES[:3])]
            spread = " to ".join(f"{of[key]:.3f}" for key in OF_TIES[-2:])
            yield name, TITLES[data], *numbers, spread, f"{of['moved']:.0%}"


def print_tables(rows):
    """Both tables, as Markdown."""
    tables = {
        ("method", "bytes", "shared KiB", *TITLES.values()): kept_table(rows),
        ("method", "set", "reported", *OF_TIES[:3], "20 orders", "moved"): ties_table(rows),
    }
    for header, lines in tables.items():
        print(f"\n| {' | '.join(header)} |\n" + "|---" * len(header) + "|")
        for line in lines:
            print(f"| {' | '.join(line)} |")


def compare(data):
    """Rows of the CSV file of pairs, of seed 0; the tiers are printed."""
    demb, qemb, *judged = problem(data)
    evaluations = []
    for name in COMPARED:
        scores = (ours(0) | theirs(0))[name](demb, qemb)[0]
        evaluations.append(values_with_ties(scores, *judged, name))
    found = compare_runs(*evaluations, random_state=0)
    for tier in next(iter(found.tiers.values())):
        print(TITLES[data], *tier, sep=" | ", flush=True)
    for pair, (first, second) in enumerate(found.pairs):
        numbers = (getattr(found, field)[pair, 0] for field in PAIR_FIELDS[3:])
        names = found.names[first], found.names[second]
        yield data, *names, *(round(float(number), 4) for number in numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    path = Path(__file__).parent / "results" / "bitbudget.csv"
    parser.add_argument("--csv", type=Path, default=path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=[*theirs(0), *ours(0)])
    parser.add_argument("--seeds", nargs="+", type=int, default=(0, 1, 2))
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--compare", action="store_true")
    args = parser.parse_args()
    if args.compare:
        path = args.csv.with_name("bitbudget_pairs.csv")
        path.unlink(missing_ok=True)
        return append(
            path, [row for data in args.sets for row in compare(data)], PAIR_FIELDS
        )
    asked = () if args.tables else product(args.seeds, args.sets, args.methods)
    for seed, data, name in asked:
        known = [[row[key] for key in KEY] for row in read(args.csv)]
        is_drawn = name in ours(seed) or name.startswith("rabitq")
        if (is_drawn or seed == 0) and [data, name, str(seed)] not in known:
            append(args.csv, [measure(data, name, seed)], FIELDS)
    print_tables(read(args.csv))


if __name__ == "__main__":
    main()
