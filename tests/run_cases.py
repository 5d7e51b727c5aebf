"""Slow oracles of the measures of runs, from their definitions, and random runs.

A ranking is a list of documents, best first; judgments are a dict of grades.
"""

from itertools import groupby, permutations, product
from math import exp, fsum, log2

import numpy as np


def relevant(judged, rel=1):
    return {document for document, grade in judged.items() if grade >= rel}


def precision(ranking, judged, k, rel=1):
    return len(relevant(judged, rel) & set(ranking[:k])) / k


def recall(ranking, judged, k, rel=1):
    wanted = relevant(judged, rel)
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def f1(ranking, judged, k, rel=1):
    p, r = precision(ranking, judged, k, rel), recall(ranking, judged, k, rel)
    return 2 * p * r / (p + r) if p + r else 0.0


def average_precision(ranking, judged, k=None, rel=1):
    wanted = relevant(judged, rel)
    ranks = [r for r, document in enumerate(ranking[:k], 1) if document in wanted]
    return fsum(precision(ranking, judged, r, rel) for r in ranks) / max(len(wanted), 1)


def reciprocal_rank(ranking, judged, k=None, rel=1):
    ranks = [r for r, d in enumerate(ranking[:k], 1) if d in relevant(judged, rel)]
    return 1 / ranks[0] if ranks else 0.0


def success(ranking, judged, k, rel=1):
    return float(precision(ranking, judged, k, rel) > 0)


def r_precision(ranking, judged, k=None, rel=1):
    n_relevant = len(relevant(judged, rel))
    return precision(ranking, judged, n_relevant, rel) if n_relevant else 0.0


def dcg(grades, dcg):
    gains = [max(g, 0) if dcg == "log2" else 2 ** max(g, 0) - 1 for g in grades]
    return fsum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def ndcg(ranking, judged, k=None, dcg="log2", dcg_of=dcg):
    ideal = dcg_of(sorted(judged.values(), reverse=True)[:k], dcg)
    return dcg_of([judged.get(d, 0) for d in ranking[:k]], dcg) / ideal if ideal else 0.0


def rbp(ranking, judged, k=None, p=0.8, rel=None, max_rel=None):
    def gain(grade):
        return float(grade >= rel) if rel else max(grade, 0) / max_rel

    gains = [gain(judged.get(document, 0)) for document in ranking[:k]]
    return (1 - p) * fsum(g * p**place for place, g in enumerate(gains))


def err(ranking, judged, k=None, max_rel=4):
    total, reached = 0.0, 1.0
    for rank, document in enumerate(ranking[:k], 1):
        stop = (2 ** max(judged.get(document, 0), 0) - 1) / 2**max_rel
        total += reached * stop / rank
        reached *= 1 - stop
    return total


def judged_share(ranking, judged, k=None):
    return sum(d in judged for d in ranking[:k]) / max(len(ranking[:k]), 1)


def bpref(ranking, judged, rel=1):
    """By comparing each relevant document with every irrelevant one before it."""
    wanted = relevant(judged, rel)
    others = {document for document, grade in judged.items() if 0 <= grade < rel}
    total = 0.0
    for place, document in enumerate(ranking):
        n_before = len(others & set(ranking[:place]))
        if document in wanted:
            most = max(min(len(others), len(wanted)), 1)
            total += (1 - min(n_before, len(wanted)) / most) / len(wanted)
    return total


def whole_list(ranking, judged, rel=1):
    """Ranks of the relevant documents, those not retrieved last, and the list's length."""
    wanted = relevant(judged, rel)
    documents = [*ranking, *sorted(wanted - set(ranking))]
    return [r for r, d in enumerate(documents, 1) if d in wanted], len(documents)


def enrichment(ranking, judged, k, rel=1):
    """`k` maps the length of the list to a number of ranks."""
    ranks, n_listed = whole_list(ranking, judged, rel)
    k = min(k(n_listed), n_listed)
    within = sum(rank <= min(k, len(ranking)) for rank in ranks)
    return within / k * n_listed / len(ranks) if ranks else 0.0


def retrieved(ranking, judged, rel=1):
    wanted = relevant(judged, rel)
    return len(wanted & set(ranking)) / max(len(wanted), 1)


def auc(ranking, judged, rel=1):
    """By comparing each relevant document with each other one."""
    ranks, n_listed = whole_list(ranking, judged, rel)
    others = set(range(1, n_listed + 1)) - set(ranks)
    right = sum(rank < other for rank in ranks for other in others)
    n_pairs = len(ranks) * len(others)
    return right / n_pairs if n_pairs else retrieved(ranking, judged, rel)


def rie(ranking, judged, alpha=20, rel=1):
    """As Truchon and Bayly (2007) write it, eq. 18."""
    ranks, n_listed = whole_list(ranking, judged, rel)
    if len(ranks) in (0, n_listed):
        return retrieved(ranking, judged, rel)
    total = fsum(exp(-alpha * rank / n_listed) for rank in ranks)
    mean = (1 - exp(-alpha)) / (exp(alpha / n_listed) - 1) / n_listed
    return total / len(ranks) / mean


def bedroc(ranking, judged, alpha=20, rel=1):
    """Between their least and greatest RIE, eq. 33 to 35."""
    ranks, n_listed = whole_list(ranking, judged, rel)
    share = len(ranks) / max(n_listed, 1)
    if share in (0, 1):
        return retrieved(ranking, judged, rel)
    most = (1 - exp(-alpha * share)) / (share * (1 - exp(-alpha)))
    least = (1 - exp(alpha * share)) / (share * (1 - exp(alpha)))
    return (rie(ranking, judged, alpha, rel) - least) / (most - least)


# Measures as users write them, with the oracle of each
MEASURES = {
    "AP": average_precision,
    "AP@3": lambda r, j: average_precision(r, j, 3),
    "AP(rel=2)@4": lambda r, j: average_precision(r, j, 4, 2),
    "nDCG": ndcg,
    "nDCG@3": lambda r, j: ndcg(r, j, 3),
    "nDCG(dcg='exp-log2')@4": lambda r, j: ndcg(r, j, 4, "exp-log2"),
    "P@1": lambda r, j: precision(r, j, 1),
    "P@5": lambda r, j: precision(r, j, 5),
    "P(rel=3)@2": lambda r, j: precision(r, j, 2, 3),
    "R@2": lambda r, j: recall(r, j, 2),
    "R(rel=2)@20": lambda r, j: recall(r, j, 20, 2),
    "F1@3": lambda r, j: f1(r, j, 3),
    "RR": reciprocal_rank,
    "RR(rel=2)@2": lambda r, j: reciprocal_rank(r, j, 2, 2),
    "Success@2": lambda r, j: success(r, j, 2),
    "Rprec": r_precision,
    "Rprec(rel=2)": lambda r, j: r_precision(r, j, rel=2),
    "RBP(max_rel=3)": lambda r, j: rbp(r, j, max_rel=3),
    "RBP(p=0.5,rel=2)": lambda r, j: rbp(r, j, p=0.5, rel=2),
    "RBP(rel=1)@3": lambda r, j: rbp(r, j, 3, rel=1),
    "Bpref": bpref,
    "Bpref(rel=2)": lambda r, j: bpref(r, j, 2),
    "Judged@2": lambda r, j: judged_share(r, j, 2),
    "Judged": judged_share,
    "EF@25%": lambda r, j: enrichment(r, j, lambda n: -(-n // 4)),
    "EF(rel=2)@3": lambda r, j: enrichment(r, j, lambda n: 3, 2),
    "P@20%": lambda r, j: precision(r, j, max(1, -(-whole_list(r, j)[1] // 5))),
    "AUC": auc,
    "AUC(rel=2)": lambda r, j: auc(r, j, 2),
    "RIE": rie,
    "BEDROC": bedroc,
    "BEDROC(alpha=3,rel=2)": lambda r, j: bedroc(r, j, 3, 2),
    "ERR": err,
    "ERR(max_rel=3)@3": lambda r, j: err(r, j, 3, 3),
}


def trec_order(scores):
    """Documents by descending score of 32 bits, and ties by descending identifier."""
    with np.errstate(over="ignore"):
        rounded = {d: float(np.float32(score)) for d, score in scores.items()}
    return sorted(sorted(scores, reverse=True), key=lambda d: -rounded[d])


def tie_orders(scores):
    """Every ranking by descending score."""
    ties = groupby(sorted(scores, key=lambda d: -scores[d]), key=lambda d: scores[d])
    for orders in product(*(permutations(list(tie)) for _, tie in ties)):
        yield [document for order in orders for document in order]


def random_run(seed, n_queries=3, n_documents=60, n_scores=None, prefix="d"):
    """Judgments and a run: graded, negative, not judged, not retrieved documents.

    `n_scores` distinct scores make ties; None makes none.
    """
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for query in range(n_queries):
        names = np.array([f"{prefix}{i}" for i in range(n_documents * 3 // 2)])
        retrieved = rng.permutation(names)[: rng.integers(1, n_documents)]
        n = len(retrieved)
        scores = rng.permutation(n) if n_scores is None else rng.integers(0, n_scores, n)
        run[f"q{query}"] = dict(zip(retrieved.tolist(), (scores / 4).tolist()))
        judged = rng.permutation(names)[: rng.integers(1, n_documents)]
        grades = rng.integers(-2, 4, len(judged))
        qrels[f"q{query}"] = dict(zip(judged.tolist(), grades.tolist()))
    return qrels, run


def without_negatives(qrels):
    """Judgments for pytrec_eval, which crashes or hangs on some negative grades."""
    return {q: {d: max(g, 0) for d, g in judged.items()} for q, judged in qrels.items()}


def write_run(path, run, name="mine"):
    lines = [
        f"{query} Q0 {document} {rank} {score!r} {name}\n"
        for query, scores in run.items()
        for rank, (document, score) in enumerate(scores.items(), 1)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return lines


def write_qrels(path, qrels):
    lines = [
        f"{query} 0 {document} {grade}\n"
        for query, judged in qrels.items()
        for document, grade in judged.items()
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return lines
