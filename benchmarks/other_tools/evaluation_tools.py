"""What other tools of evaluation compute: the cells of one, printed as JSON.

    python evaluation_tools.py TOOL RUNS

`run_tools.py` calls this in an environment that has the tool and not this package. A tool
is a function that returns ``mean(measure, qrels, run)``; everything else is asked of that.
RUNS is a JSON file of random tied runs, whose values are printed, too.
"""

import contextlib
import json
import math
import os
import sys
import tempfile
import warnings

TOOLS = {}
REFUSED = "refused"


def tool(name, *packages, ties, asked, kind="runs", grades_below_0=True, **here):
    """Declare a tool, pinned, and the line here for each measure that is asked of it.

    `ties` is its order of ties in these lines; `here` has measures that are another here,
    or tied otherwise; `kind` tells whether it sees ids, or an array without them.
    """

    def declare(function):
        function.packages = [name, *packages, "numpy==2.4.6"]
        function.kind, function.grades_below_0 = kind, grades_below_0
        function.lines, function.hides = {}, lambda mean: {}
        for measure in asked.split():
            own, order, judged = here.get(measure[:2].rstrip("@"), (None, None, None))
            judged = judged or ("qrels" if kind == "runs" else "seen")
            line = LINES[order or ties].format(judged, (own or "{}").format(measure))
            function.lines[measure] = line
        TOOLS[name.split("==")[0]] = function
        return function

    return declare


LINES = {
    "trec_eval": "evaluate_run({}, run, '{}').trec_eval",
    "mean": "evaluate_run({}, run, '{}').expected",
    "worst": "evaluate_run({}, run, '{}').worst",
    "interval": "evaluate_run({}, run, '{}')",
} | {
    order: f"evaluate_run({{}}, in_order(run, {order}), '{{}}').expected"
    for order in ("sorted", "list", "reversed")
}
TORCH = "torch==2.13.0"
MIN, RETRIEVED = (f'AP(denominator="{d}")@10' for d in ("min", "retrieved"))


def mean_of(values):
    values = list(values)
    return float(sum(values) / len(values)) if values else math.nan


def of_queries(value):
    """A tool that knows one query only: the mean of its values."""

    def mean(measure, qrels, run):
        return mean_of(value(measure, *lists(qrels[q], run[q])) for q in qrels)

    return mean


def lists(judged, scores):
    return [judged.get(d, 0) for d in scores], list(scores.values())


@tool(
    "pytrec_eval-terrier==0.5.11",
    ties="trec_eval",
    asked="AP AP@10 nDCG@10 P@10 RR",
    grades_below_0=False,
)
def trec_eval():
    import pytrec_eval

    names = {"AP": "map", "AP@": "map_cut", "nDCG@": "ndcg_cut", "P@": "P"}
    names |= {"nDCG": "ndcg", "RR": "recip_rank"}

    def mean(measure, qrels, run):
        name, at, k = measure.partition("@")
        name = names[name + at]
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"{name}.{k}" if k else name})
        values = evaluator.evaluate(run).values()
        return mean_of(value[f"{name}_{k}" if k else name] for value in values)

    return mean


@tool(
    "ir-measures==0.4.3",
    "pytrec_eval-terrier==0.5.11",
    ties="trec_eval",
    asked="AP AP@10 nDCG@10 P@10 RR@10",
    grades_below_0=False,
    RR=(None, "sorted", None),
)
def ir_measures():
    import ir_measures

    def mean(measure, qrels, run):
        measure = ir_measures.parse_measure(measure)
        return ir_measures.calc_aggregate([measure], qrels, run)[measure]

    return mean


@tool("ranx==0.3.21", ties="interval", asked="AP AP@10 nDCG@10 P@10 RR")
def ranx():
    import ranx

    names = {"AP": "map", "nDCG": "ndcg", "P": "precision", "RR": "mrr"}

    def mean(measure, qrels, run):
        name, at, k = measure.partition("@")
        return ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names[name] + at + k)

    return mean


@tool(
    "torchmetrics==1.9.0",
    TORCH,
    ties="interval",
    asked="AP@10 nDCG nDCG@10 P@10 RR",
    kind="arrays",
    AP=(RETRIEVED, None, None),
    nD=(None, "mean", None),
)
def torchmetrics():
    import torch
    from torchmetrics import retrieval

    names = {"AP": "MAP", "nDCG": "NormalizedDCG", "P": "Precision", "RR": "MRR"}

    def mean(measure, qrels, run):
        name, _, k = measure.partition("@")
        metric = getattr(retrieval, "Retrieval" + names[name])(top_k=int(k) if k else None)
        for number, query in enumerate(qrels):
            grades, scores = lists(qrels[query], run[query])
            grades = torch.tensor(grades if name == "nDCG" else [g > 0 for g in grades])
            places = torch.full((len(scores),), number)
            metric.update(torch.tensor(scores, dtype=torch.float64), grades, places)
        return float(metric.compute())

    return mean


@tool("torcheval==0.0.7", TORCH, ties="interval", asked="P@10", kind="arrays")
def torcheval():
    import torch
    from torcheval.metrics import functional

    def value(measure, grades, scores):
        name, _, k = measure.partition("@")
        relevant = torch.tensor([int(grade > 0) for grade in grades])
        scores = torch.tensor(scores, dtype=torch.float64)
        if name == "P":
            return float(functional.retrieval_precision(scores, relevant, int(k)))
        place = relevant.argmax()[None]  # the one target that these take
        if name == "RR":
            return float(functional.reciprocal_rank(scores[None], place))
        raise KeyError(measure)

    return of_queries(value)


@tool("scikit-learn==1.9.1", ties="mean", asked="nDCG nDCG@10", kind="arrays")
def scikit_learn():
    from sklearn import metrics

    def value(measure, grades, scores):
        name, _, k = measure.partition("@")
        if name == "nDCG":
            return metrics.ndcg_score([grades], [scores], k=int(k) if k else None)
        if measure == "AP":
            return metrics.average_precision_score([g > 0 for g in grades], scores)
        raise KeyError(measure)

    return of_queries(value)


@tool(
    "trectools==0.0.50",
    "setuptools==80.9.0",
    ties="trec_eval",
    asked="AP AP@10 nDCG@10 P@10 RR",
    nD=(None, "sorted", None),
)
def trectools():
    import trectools

    names = {"AP": "get_map", "nDCG": "get_ndcg", "P": "get_precision"}
    names |= {"RR": "get_reciprocal_rank"}

    def mean(measure, qrels, run):
        name, _, k = measure.partition("@")
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("run", "qrels")]
            write(paths[0], run, "{} Q0 {} 1 {!r} tag\n")
            write(paths[1], qrels, "{} 0 {} {}\n")
            judged = trectools.TrecQrel(paths[1])
            evaluation = trectools.TrecEval(trectools.TrecRun(paths[0]), judged)
        return getattr(evaluation, names[name])(depth=int(k) if k else 1000)

    return mean


def write(path, nested, line):
    with open(path, "w") as file:
        for query, inner in nested.items():
            file.writelines(line.format(query, d, value) for d, value in inner.items())


@tool(
    "implicit==0.7.3",
    ties="interval",
    asked="AP@10 nDCG@10",
    kind="arrays",
    AP=(MIN, None, None),
    nD=(None, None, "ones(seen)"),
)
def implicit():
    import numpy as np
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.evaluation import ranking_metrics_at_k
    from scipy.sparse import csr_matrix

    names = {"AP": "map", "nDCG": "ndcg", "P": "precision"}

    def mean(measure, qrels, run):
        name, _, k = measure.partition("@")
        grades, scores = zip(*(lists(qrels[q], run.get(q, {})) for q in qrels))
        n = max(map(len, scores))
        liked = csr_matrix([[int(x > 0) for x in g] + [0] * (n - len(g)) for g in grades])
        model = AlternatingLeastSquares(factors=len(scores))
        model.user_factors = np.eye(len(scores), dtype=np.float32)
        padded = [list(s) + [-9e9] * (n - len(s)) for s in scores]
        model.item_factors = np.array(padded, dtype=np.float32).T.copy()
        seen = csr_matrix(liked.shape)
        found = ranking_metrics_at_k(
            model, seen, liked, K=min(int(k or n), n), show_progress=False, num_threads=1
        )
        return found[names[name]]

    return mean


@tool("lenskit==2025.8.1", TORCH, ties="interval", asked="P@10 RR")
def lenskit():
    from lenskit.data import ItemList
    from lenskit.metrics import NDCG, Precision, RecipRank

    names = {"nDCG": NDCG, "P": Precision, "RR": RecipRank}

    def value(measure, judged, scores):
        name, _, k = measure.partition("@")
        found = ItemList(list(scores), scores=list(scores.values())).top_n()
        liked = ItemList([d for d, grade in judged.items() if grade > 0])
        return names[name](int(k) if k else None).measure_list(found, liked)

    return lambda m, qrels, run: mean_of(value(m, qrels[q], run.get(q, {})) for q in qrels)


@tool(
    "sentence-transformers==6.2.0",
    TORCH,
    ties="sorted",
    asked="AP@10 nDCG@10 P@10 RR@10",
    AP=(MIN, None, None),
    nD=(None, None, "ones(qrels)"),
)
def sentence_transformers():
    from sentence_transformers.evaluation import InformationRetrievalEvaluator

    names = {"AP": "map", "nDCG": "ndcg", "P": "precision", "RR": "mrr"}
    options = [
        "map_at_k",
        "ndcg_at_k",
        "mrr_at_k",
        "precision_recall_at_k",
        "accuracy_at_k",
    ]

    def mean(measure, qrels, run):
        name, _, k = measure.partition("@")
        liked = {q: {d for d in qrels[q] if qrels[q][d] > 0} for q in qrels}
        documents = {d: d for q in run for d in run[q]}
        ks = {option: [int(k)] for option in options}
        evaluator = InformationRetrievalEvaluator(
            {q: q for q in qrels}, documents, liked, **ks
        )
        found = [
            [{"corpus_id": d, "score": s} for d, s in run.get(q, {}).items()]
            for q in evaluator.queries_ids
        ]
        return float(evaluator.compute_metrics(found)[f"{names[name]}@k"][int(k)])

    return mean


@tool(
    "mteb==2.26.0",
    TORCH,
    ties="trec_eval",
    asked="AP@10 nDCG@10 P@10 RR@10",
    grades_below_0=False,
)
def mteb():
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    names = {"AP": "map", "nDCG": "ndcg", "P": "precision", "RR": "mrr"}
    heads = {"AP": "MAP", "nDCG": "NDCG", "P": "P", "RR": "MRR"}

    def mean(measure, qrels, run):
        name, _, k = measure.partition("@")
        result = calculate_retrieval_scores(run, qrels, [int(k)])
        return float(getattr(result, names[name])[f"{heads[name]}@{k}"])

    return mean


@tool(
    "beir==2.2.0",
    TORCH,
    ties="trec_eval",
    asked="AP@10 nDCG@10 P@10",
    grades_below_0=False,
)
def beir():
    from beir.retrieval.evaluation import EvaluateRetrieval

    places = {"nDCG": 0, "AP": 1, "P": 3}

    def mean(measure, qrels, run):
        name, _, k = measure.partition("@")
        found = EvaluateRetrieval.evaluate(qrels, run, [int(k)])[places[name]]
        return next(iter(found.values()))

    return mean


@tool(
    "cornac==3.0.1",
    ties="interval",
    asked="nDCG P@10 RR",
    kind="arrays",
    nD=(None, None, "ones(seen)"),
)
def cornac():
    import numpy as np
    from cornac import metrics
    from cornac.models import Recommender

    def value(measure, grades, scores):
        name, _, k = measure.partition("@")
        names = {"AP": metrics.MAP, "nDCG": metrics.NDCG, "P": metrics.Precision}
        names |= {"RR": metrics.MRR, "AUC": metrics.AUC}
        metric = names[name + "@" * bool(k and name in ("AP", "RR"))]
        metric = metric(k=int(k)) if k else metric()
        model = Recommender("given")
        model.score = lambda user, **_: np.array(scores)
        model.num_users, model.num_items = 1, len(scores)
        items = np.arange(len(scores))
        ranked, found = model.rank(0, items, k=min(metric.k, len(scores)))
        liked = np.flatnonzero(np.array(grades) > 0)
        known = {"pd_rank": ranked, "pd_scores": found, "item_indices": items}
        return float(metric.compute(gt_pos=liked, gt_neg=None, **known))

    return of_queries(value)


@tool(
    "pytorch-metric-learning==2.9.0", TORCH, ties="interval", asked="AP RR", kind="arrays"
)
def pytorch_metric_learning():
    import torch
    from pytorch_metric_learning.distances import LpDistance
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import CustomKNN

    names = {"AP": "mean_average_precision", "RR": "mean_reciprocal_rank"}
    search = CustomKNN(LpDistance(normalize_embeddings=False))

    def value(measure, grades, scores):
        name = names[measure]
        # the second alone raises a TypeError
        asker = AccuracyCalculator((*names.values(),), k=len(scores), knn_func=search)
        places = max(scores) - torch.tensor(scores, dtype=torch.float64)[:, None]
        labels = torch.tensor([int(grade > 0) for grade in grades])
        query = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, dtype=int)
        return asker.get_accuracy(*query, places, labels, False)[name]

    return of_queries(value)


@tool(
    "xgboost==3.2.0",
    ties="list",
    asked="AP@10 nDCG@10 P@10",
    kind="arrays",
    AP=(MIN, None, None),
    nD=('nDCG(dcg="exp-log2")@10', None, None),
)
def xgboost():
    import numpy as np
    import xgboost

    names = {"AP": "map", "nDCG": "ndcg", "P": "pre"}

    def mean(measure, qrels, run):
        name, at, k = measure.partition("@")
        grades, scores = zip(*(lists(qrels[q], run[q]) for q in qrels))
        grades, scores = (np.concatenate(each).astype(float) for each in (grades, scores))
        queries = np.repeat(range(len(qrels)), [len(run[q]) for q in qrels])
        told = grades if name == "nDCG" else np.minimum(grades, 1)
        empty = np.zeros((len(grades), 1))
        data = xgboost.DMatrix(empty, told, base_margin=scores, qid=queries)
        settings = {"objective": "rank:ndcg", "eval_metric": names[name] + at + k}
        return float(xgboost.train(settings, data, 0).eval(data).rpartition(":")[2])

    return mean


@tool(
    "lightgbm==4.7.0",
    ties="list",
    asked="AP@10 nDCG@10",
    kind="arrays",
    AP=(MIN, None, None),
    nD=('nDCG(dcg="exp-log2")@10', None, None),
)
def lightgbm():
    import lightgbm
    import numpy as np

    names = {"AP": "map", "nDCG": "ndcg"}

    def mean(measure, qrels, run):
        name, _, k = measure.partition("@")
        grades, scores = zip(*(lists(qrels[q], run[q]) for q in qrels))
        grades, scores = (np.concatenate(each).astype(float) for each in (grades, scores))
        settings = {"objective": "lambdarank", "metric": names[name], "verbose": -1}
        settings |= {"eval_at": int(k or 1000), "min_data_in_bin": 1}
        data = lightgbm.Dataset(
            np.arange(len(grades))[:, None],
            grades,
            group=[len(run[q]) for q in qrels],
            init_score=scores,
            params=settings,
        )
        return lightgbm.Booster(settings, data).eval_train()[0][2]

    return mean


@tool(
    "catboost==1.2.10",
    ties="worst",
    asked="AP@10 nDCG@10 P@10 RR@10",
    kind="arrays",
    AP=(MIN, None, None),
)
def catboost():
    from catboost.utils import eval_metric

    names = {"AP": "MAP", "nDCG": "NDCG", "P": "PrecisionAt", "RR": "MRR"}

    def mean(measure, qrels, run):
        name, _, k = measure.partition("@")
        grades, scores = zip(*(lists(qrels[q], run[q]) for q in qrels))
        places = [i for i, some in enumerate(grades) for _ in some]
        grades = [float(g if name == "nDCG" else g > 0) for some in grades for g in some]
        scores = [score for some in scores for score in some]
        asked = names[name] + (f":top={k}" if k else "")
        return eval_metric(grades, scores, asked, group_id=places)[0]

    return mean


@tool("scipy==1.17.1", ties=None, asked="")
def scipy():
    return None  # it tests differences, and has no measure


# What the same name hides: sentences that must hold of the tool that is run


def hides(function):
    def declare(of_mean):
        function.hides = of_mean
        return of_mean

    return declare


@hides(trec_eval)
def _(mean):
    import numpy as np

    try:
        mean("AP", {"q": {"a": 1}}, {"q": {"a": np.float32(1)}})
    except TypeError:
        return {"scores of type np.float32 raise an error": True}


@hides(ir_measures)
def _(mean):
    tied = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    values = mean("RR", *tied), mean("RR@10", *tied)
    return {"of two tied documents RR is 1/2 and RR@10 is 1": values == (0.5, 1)}


@hides(ranx)
def _(mean):
    import ranx

    graded = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    burges = ranx.evaluate(
        *map(lambda kind, d: kind(d), (ranx.Qrels, ranx.Run), graded), "ndcg_burges"
    )
    return {
        "ndcg has linear gains, ndcg_burges exponential ones": abs(burges - 0.7967) < 1e-4
    }


@hides(torchmetrics)
def _(mean):
    import torch
    from torchmetrics.retrieval import RetrievalHitRate

    below = torch.tensor([-1.0, -2.0]), torch.tensor([True, False]), torch.tensor([0, 0])
    hit, ap = RetrievalHitRate()(*below), mean("AP", {"q": {"a": 1}}, {"q": {"a": -1.0}})
    return {"a relevant item with score -1 is a hit but has AP 0": (hit, ap) == (1, 0)}


@hides(torcheval)
def _(mean):
    query = {"q": {"a": 0, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}
    return {
        "a query has one relevant item; if all items are tied, RR is 1": mean("RR", *query)
        == 1
    }


@hides(scikit_learn)
def _(mean):
    from sklearn.metrics import label_ranking_average_precision_score

    tied = {"q": {"a": 0, "b": 1, "c": 1}}, {"q": {"a": 2.0, "b": 1.0, "c": 1.0}}
    nothing = label_ranking_average_precision_score([[0, 0]], [[2.0, 1.0]])
    return {
        "AP treats a tie as one step and can exceed the best order": abs(
            mean("AP", *tied) - 2 / 3
        )
        < 1e-9,
        "label ranking AP without relevant labels is 1": nothing == 1,
    }


@hides(trectools)
def _(mean):
    tied = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    return {
        "AP and nDCG order the same tie differently": mean("AP", *tied) == 0.5
        and mean("nDCG", *tied) == 1
    }


@hides(implicit)
def _(mean):
    few = {"q": {"a": 1, "b": 0, "c": 0}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    return {
        "P@3 divides by the liked items if they are fewer than three": mean("P@3", *few)
        == 1
    }


@hides(lenskit)
def _(mean):
    second = {"q": {"b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    return {"nDCG has the same discount at ranks 1 and 2": mean("nDCG", *second) == 1}


@hides(sentence_transformers)
def _(mean):
    graded = {"q": {"a": 1, "b": 9}}, {"q": {"a": 2.0, "b": 1.0}}
    return {
        "nDCG ignores grades: a document is relevant or not": mean("nDCG@10", *graded) == 1
    }


@hides(mteb)
def _(mean):
    near = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1 + 1e-9, "b": 1.0}}
    return {
        "scores that are equal in float32 are tied in nDCG, not in RR": mean("RR@10", *near)
        == 1
        and mean("nDCG@10", *near) < 1
    }


@hides(beir)
def _(mean):
    run = {"q": {"q": 2.0, "a": 1.0}}
    mean("AP@10", {"q": {"a": 1}}, run)
    return {
        "a document with the query's id is deleted from the caller's run": "q"
        not in run["q"]
    }


@hides(cornac)
def _(mean):
    tied = {"q": {"a": 0, "b": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    return {
        "a tied pair counts 0 in AUC, and RR ranks the last tied item first": mean(
            "AUC", *tied
        )
        == 0
        and mean("RR", *tied) == 1
    }


@hides(scipy)
def _(mean):
    from scipy.stats import wilcoxon

    differences = [0, 1, 1, 2, -1, 3, 2, 0, 1, -2, 4, 1]
    p = [
        wilcoxon(differences, method=how).pvalue for how in ("auto", "exact", "asymptotic")
    ]
    return {
        "the p-value of wilcoxon with zeros and ties is neither exact nor asymptotic": len(
            {*p}
        )
        == 3
    }


# What is asked of every tool

ASKED = ["AP", "AP@10", "nDCG", "nDCG@10", "P@1", "RR", "RR@10"]


def named(value, names, digits=3):
    """The name of a value that was found, or the value."""
    if not isinstance(value, float):
        return value
    for name, known in names.items():
        if math.isclose(value, known, abs_tol=2e-5) or value != value != known:
            return name
    return f"{value:.{digits}f}"


def first(mean, measures, qrels, run, names):
    """What the first of the measures that the tool has tells."""
    for measure in measures:
        try:
            return named(float(mean(measure, qrels, dict(run))), names)
        except KeyError as error:
            if str(error.args[0]).rstrip("@") in (measure, measure.partition("@")[0]):
                continue
            return REFUSED
        except Exception:
            if measure == measures[-1]:
                return REFUSED
    return "none"


def order_of_ties(mean, measure, n, kind):
    """The rank of each of n tied documents, from the value that it has when relevant."""
    names = [f"d{i:02}" for i in (*range(1, n - 1, 2), 0, n - 1, *range(2, n - 1, 2))]
    others = {"q": dict.fromkeys(names, 0)}
    ranked = {"q": {d: float(n - i) for i, d in enumerate(names)}}
    tied = {"q": dict.fromkeys(names, 1.0)}
    at_rank, found = [], []
    for d in names:
        qrels = {"q": others["q"] | {d: 1}}
        at_rank.append(float(mean(measure, qrels, ranked)))
        found.append(float(mean(measure, qrels, tied)))
    orders = {"as given": names, "reversed": names[::-1]}
    if kind == "runs":
        orders |= {"id ascending": sorted(names), "id descending": sorted(names)[::-1]}
    ranks = {
        name: [at_rank[order.index(d)] for d in names] for name, order in orders.items()
    }
    ranks |= {
        "all first": [at_rank[0]] * n,
        "all last": [at_rank[-1]] * n,
        "mean": [sum(at_rank) / n] * n,
    }
    for name, expected in ranks.items():
        if all(math.isclose(a, b, abs_tol=2e-5) for a, b in zip(found, expected)):
            return name
    return "its own"


def orders(mean, n, kind):
    """Measures by the order of ties that they take."""
    by_order = {}
    for measure in ASKED:
        with contextlib.suppress(Exception):
            by_order.setdefault(order_of_ties(mean, measure, n, kind), []).append(measure)
    if len(by_order) == 1:
        return next(iter(by_order))
    return "; ".join(f"{', '.join(names)}: {order}" for order, names in by_order.items())


def cells(mean, kind, grades_below_0):
    some = ["AP", "AP@10", "RR", "RR@10", "nDCG", "nDCG@10"]
    ndcg = ["nDCG", "nDCG@10"]
    found = {f"order of {n} tied": orders(mean, n, kind) for n in (4, 20)}

    # Two scores that only float64 tells apart, in all orders of ids and rows
    apart = []
    for high, low in ("ab", "ba"):
        for names in ((high, low), (low, high)):
            scores = {d: 1 + 1e-9 * (d == high) for d in names}
            qrels = {"q": {high: 1, low: 0}}
            apart.append(first(mean, some, qrels, {"q": scores}, {"1": 1.0}))
    found["scores"] = "float64" if set(apart) == {"1"} else "float32"

    graded = {"q": {"a": 1, "b": 2, "c": 0}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    gains = {"linear": 0.8597186, "exponential": 0.7967075, "relevant or not": 1.0}
    found["gain"] = first(mean, ndcg, *graded, gains)
    second = {"q": {"a": 0, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    discounts = {"log2(rank + 1)": 1 / math.log2(3), "none at rank 2": 1.0}
    found["discount"] = first(mean, ndcg, *second, discounts)

    names = "abcde"
    grades = dict(zip(names, [1, 0, 1, 1, 1]))
    falling = {"q": {d: 9.0 - i for i, d in enumerate(names)}}
    divisors = {"relevant": 5 / 12, "min(k, relevant)": 5 / 9, "retrieved": 5 / 6}
    found["AP@k divides by"] = first(mean, ["AP@3"], {"q": grades}, falling, divisors)
    three = {"q": {"a": 1, "b": 0, "c": 0, "d": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    divisors = {"10": 0.1, "retrieved": 1 / 3, "relevant": 0.5 if kind == "runs" else 1.0}
    found["P@10 of 3 divides by"] = first(mean, ["P@10"], *three, divisors)

    # Beside a query of one half for AP and RR
    half, ranked = {"a": 0, "b": 1}, {"a": 2.0, "b": 1.0}
    counts = {"0": 0.25, "left out": 0.5, "1": 0.75, "NaN": math.nan}
    queries = {"q": half, "r": {"c": 0}}, {"q": ranked, "r": {"c": 1.0, "d": 0.5}}
    found["nothing relevant"] = first(mean, some[:4], *queries, counts)
    queries = {"q": half, "r": {"c": 1}}, {"q": ranked}
    found["nothing retrieved"] = "none"
    if kind == "runs":
        found["nothing retrieved"] = first(mean, some[:4], *queries, counts)

    below = {"q": {"a": 1, "b": 0}}, {"q": {"a": -1.0, "b": -2.0}}
    counts = {"as others": 1.0, "not counted": 0.0}
    found["scores below 0"] = first(mean, some, *below, counts)
    found["grades below 0"] = "not tried"
    if grades_below_0:
        below = {"q": {"a": -1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
        counts = {"as 0": 1 / math.log2(3)}
        found["grades below 0"] = first(mean, ndcg, *below, counts)
    return found


def main(name, runs):
    function = TOOLS[name]
    warnings.simplefilter("ignore")
    mean = function()
    with open(runs) as file:
        qrels, run = json.load(file)
    values = {
        measure: [float(mean(measure, {q: qrels[q]}, {q: run[q]})) for q in run]
        for measure in function.lines
    }
    found = cells(mean, function.kind, function.grades_below_0) if mean else {}
    told = function.hides(mean)
    wrong = [sentence for sentence, is_true in told.items() if not is_true]
    if wrong:
        raise AssertionError(f"{name} has changed: {wrong}")
    found["behavior behind the name"] = "; ".join(told) or "none"
    print(json.dumps({"cells": found, "values": values}))


if __name__ == "__main__":
    main(*sys.argv[1:])
