"""Runs against judgments: ours beside pytrec_eval, ir_measures, ranx and others.

Six measures: of each the expected, worst and best value and that of trec_eval's order from
us, one value from the others. Medians of alternating runs after a warm-up of all, one
thread. Ratios carry over to other machines; seconds do not.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import ir_measures
import numpy as np
import pytrec_eval
from _store import record
from _timing import medians

from sklearn_talr import metrics
from sklearn_talr.runs import Qrels, Run, evaluate_run

MEASURES = ["AP", "nDCG@10", "RR", "P@10", "R@100", "nDCG"]
OF_TREC_EVAL = {"map", "ndcg_cut.10", "recip_rank", "P.10", "recall.100", "ndcg"}
OF_RANX = ["map", "ndcg@10", "mrr", "precision@10", "recall@100", "ndcg"]


def draw(rng, n_queries, n_documents, n_judged, decimals=None):
    """Judgments of every so many documents, half of them relevant, and a run, as dicts."""
    names = [str(name) for name in rng.permutation(9_000_000)[: n_queries * n_documents]]
    scores = rng.gamma(3, 3, (n_queries, n_documents))
    scores = scores if decimals is None else np.round(scores, decimals)
    qrels, run = {}, {}
    for query in range(n_queries):
        documents = names[query * n_documents : (query + 1) * n_documents]
        run[f"q{query}"] = dict(zip(documents, scores[query].tolist()))
        judged = documents[:: n_documents // n_judged]
        grades = np.maximum(rng.integers(-2, 4, len(judged)), 0).tolist()
        qrels[f"q{query}"] = dict(zip(judged, grades))
    return qrels, run


def write(folder, qrels, run):
    """Files of TREC's formats."""
    with open(folder / "qrels", "w") as file:
        for query, judged in qrels.items():
            file.writelines(f"{query} 0 {d} {grade}\n" for d, grade in judged.items())
    with open(folder / "run", "w") as file:
        for query, scores in run.items():
            ranked = sorted(scores.items(), key=lambda item: -item[1])
            file.writelines(
                f"{query} Q0 {d} {rank} {score:.6f} tag\n"
                for rank, (d, score) in enumerate(ranked, 1)
            )


def with_pytrec_eval(qrels, run):
    return pytrec_eval.RelevanceEvaluator(qrels, OF_TREC_EVAL).evaluate(run)


def with_pytrec_eval_from_files(folder):
    with open(folder / "qrels") as qrels, open(folder / "run") as run:
        return with_pytrec_eval(pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run))


def show(title, seconds, reference):
    print(f"\n{title}")
    for name, value in seconds.items():
        ratio = seconds[reference] / value
        record("bench_runs", title, name, "seconds", value)
        print(f"  {name:38s} {value:9.4f} s   {reference} / this = {ratio:.3g}")


def bench_forms(rng):
    """1 000 queries of 1 000 documents, from dicts, arrays and files."""
    for title, n_judged, decimals in [
        ("100 judged, no ties", 100, None),
        ("100 judged, scores of two decimals", 100, 2),
        ("100 judged, scores of no decimals", 100, 0),
        ("all judged, no ties", 1_000, None),
        ("all judged, scores of no decimals", 1_000, 0),
    ]:
        qrels, run = draw(rng, 1_000, 1_000, n_judged, decimals)
        judged, found = Qrels(qrels), Run(run)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, OF_TREC_EVAL)
        contenders = {
            "pytrec_eval": lambda q=qrels, r=run: with_pytrec_eval(q, r),
            "pytrec_eval, judgments ready": lambda e=evaluator, r=run: e.evaluate(r),
            "ours, dicts": lambda q=qrels, r=run: evaluate_run(q, r, MEASURES),
            "ours, arrays": lambda j=judged, f=found: evaluate_run(j, f, MEASURES),
        }
        show(f"1 000 x 1 000, {title}", medians(contenders, repeats=5), "pytrec_eval")


def bench_files(rng):
    """The same from files, beside a reader in Python."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, *draw(rng, 1_000, 1_000, 100))
        files = folder / "qrels", folder / "run"
        contenders = {
            "Python, pytrec_eval": lambda: with_pytrec_eval_from_files(folder),
            "ours": lambda: evaluate_run(*files, MEASURES),
        }
        title = "1 000 x 1 000 from files, 100 judged"
        show(title, medians(contenders, repeats=3), "Python, pytrec_eval")


def bench_peers(rng):
    """Other tools on dicts."""
    from ranx import Qrels as RanxQrels
    from ranx import Run as RanxRun
    from ranx import evaluate

    qrels, run = draw(rng, 1_000, 1_000, 100, decimals=2)
    measures = [ir_measures.parse_measure(measure) for measure in MEASURES]
    theirs = ir_measures.providers.registry["pytrec_eval"]
    ready = RanxQrels(qrels), RanxRun(run)
    contenders = {
        "pytrec_eval": lambda: with_pytrec_eval(qrels, run),
        "ir_measures": lambda: theirs.calc_aggregate(measures, qrels, run),
        "ranx": lambda: evaluate(RanxQrels(qrels), RanxRun(run), OF_RANX),
        "ranx, its objects ready": lambda: evaluate(*ready, OF_RANX),
        "ours": lambda: evaluate_run(qrels, run, MEASURES),
    }
    show("1 000 x 1 000, peers on dicts", medians(contenders, repeats=3), "pytrec_eval")


def bench_trm(rng):
    """tie-aware-retrieval-metrics, which knows two kinds of relevance; few queries."""
    import trm

    n_queries, n_documents = 20, 1_000
    relevant = rng.random((n_queries, n_documents)) < 0.05
    scores = np.round(rng.gamma(3, 3, relevant.shape), 2)
    names = [str(i) for i in range(n_documents)]
    qrels = {
        str(q): {names[d]: 1 for d in np.flatnonzero(row)} for q, row in enumerate(relevant)
    }
    run = {str(q): dict(zip(names, row)) for q, row in enumerate(scores.tolist())}
    lists = scores.tolist(), relevant.tolist()
    many = draw(rng, 1_000, n_documents, 50, decimals=2)
    ready = Qrels(many[0]), Run(many[1])
    wanted = ["map", "ndcg", "mrr", "precision", "recall"]
    seconds = medians(
        {
            "trm": lambda: trm.evaluate(*lists, wanted, [10, n_documents]),
            "ours": lambda: evaluate_run(qrels, run, MEASURES),
            "ours, 1 000 queries": lambda: evaluate_run(*many, MEASURES),
            "ours, 1 000 queries in arrays": lambda: evaluate_run(*ready, MEASURES),
        },
        repeats=3,
    )
    per_query = {
        "tie-aware-retrieval-metrics": seconds["trm"] / n_queries,
        "ours, 20 queries": seconds["ours"] / n_queries,
        "ours, 1 000 queries": seconds["ours, 1 000 queries"] / 1_000,
        "ours, 1 000 queries in arrays": seconds["ours, 1 000 queries in arrays"] / 1_000,
    }
    show("Per query of 1 000 documents", per_query, "tie-aware-retrieval-metrics")


def bench_msmarco(rng):
    """6 980 queries of 1 000 documents from a file: time, and memory of a process."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, *draw(rng, 6_980, 1_000, 1))
        files = folder / "qrels", folder / "run"
        seconds = medians({"ours": lambda: evaluate_run(*files, MEASURES)}, repeats=3)
        command = [sys.executable, __file__, "--memory", *map(str, files)]
        peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    print(f"\n6 980 x 1 000 from a file: {seconds['ours']:.2f} s, {peak.strip()}")


def peak_memory():
    """MiB that this process has held at most; Linux tells it of a process itself."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(peak) / 2**10


def bench_groups(rng):
    """Ragged groups beside a table of the same number of items, all metrics."""
    sizes = rng.integers(10, 2_001, 10_000)
    n_items = sizes.sum()
    affinity = rng.integers(0, 5, n_items) * (rng.random(n_items) < 0.4)
    scores = np.round(rng.random(n_items), 3)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    width = n_items // len(sizes)
    table = [part[: width * len(sizes)].reshape(-1, width) for part in (affinity, scores)]
    names = [name for name in metrics.__all__ if name.endswith("_score")]
    scorers = [getattr(metrics, name) for name in names]
    seconds = medians(
        {
            "table": lambda: [score(*table, k=10) for score in scorers],
            "groups": lambda: [
                score(affinity, scores, groups=groups, k=10) for score in scorers
            ],
        },
        repeats=3,
    )
    show(f"10 000 queries, {n_items:,} items, {len(names)} metrics", seconds, "table")


TABLES = {
    "forms": bench_forms,
    "files": bench_files,
    "peers": bench_peers,
    "trm": bench_trm,
    "groups": bench_groups,
    "msmarco": bench_msmarco,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], default=[])
    parser.add_argument(
        "--memory", nargs=2, metavar=("QRELS", "RUN"), help="evaluate files, tell the peak"
    )
    args = parser.parse_args()
    if args.memory:
        evaluate_run(*args.memory, MEASURES)
        print(f"peak {peak_memory():.0f} MiB")
        return
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, one thread")
    for table in args.tables or list(TABLES):
        TABLES[table](np.random.default_rng(0))


if __name__ == "__main__":
    main()
