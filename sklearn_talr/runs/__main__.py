"""The command: evaluate files of runs against a file of judgments."""

import argparse
import csv
import json
import sys

from ._evaluate import evaluate_run
from ._files import read_qrels, read_run
from ._result import aligned, compare_runs

_EPILOG = """Measures are written as ir_measures writes them: AP, AP(rel=2)@100, nDCG@10,
nDCG(dcg='exp-log2')@10, P@5, R@1000, F1@10, RR@10, Success@1, Rprec, RBP(p=0.9), ERR@20,
Judged@10. Each has its mean over all orders of tied documents, the worst and the best
value, that of trec_eval's order, and the share of queries whose value ties could move. The
exit code is 0, or 1 for files or measures that cannot be used, or 2 for wrong usage."""


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    code : int
        0, or 1 after a message about files or measures.
    """
    args = _parser().parse_args(argv)
    try:
        qrels = read_qrels(args.qrels)
        runs = [read_run(path) for path in args.runs]
        results = [
            evaluate_run(qrels, run, args.measures, missing_queries=args.missing_queries)
            for run in runs
        ]
    except (OSError, ValueError) as error:
        print(f"sklearn-talr-runs: {error}", file=sys.stderr)
        return 1
    names = [result.name for result in results]
    if len(set(names)) < len(names):
        names = args.runs
    _PRINTERS[args.format](dict(zip(names, results)), args.per_query)
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="sklearn-talr-runs",
        description="Evaluate runs against judgments, exactly under ties.",
        epilog=_EPILOG,
    )
    parser.add_argument("qrels", help="judgments in TREC's format, or gzip of it")
    parser.add_argument("runs", nargs="+", metavar="run", help="runs, likewise")
    parser.add_argument(
        "-m",
        "--measures",
        nargs="+",
        default=["AP", "nDCG@10", "RR@10"],
        metavar="MEASURE",
        help="what to measure (default: AP nDCG@10 RR@10)",
    )
    parser.add_argument(
        "--per-query", action="store_true", help="values of queries, not their means"
    )
    parser.add_argument("--format", choices=list(_PRINTERS), default="table")
    parser.add_argument(
        "--missing-queries",
        choices=["zero", "skip"],
        default="zero",
        help="what judged queries do that a run lacks: count 0, or be left out",
    )
    return parser


def _print_json(results, per_query):
    values = {name: result.to_dict(per_query=per_query) for name, result in results.items()}
    json.dump(values, sys.stdout, indent=1)
    print()


def _print_csv(results, per_query):
    csv.writer(sys.stdout, lineterminator="\n").writerows(_rows(results, per_query))


def _print_table(results, per_query):
    head, *rows = _rows(results, per_query)
    n_names = head.index("expected")
    cells = [row[:n_names] + [f"{value:.4f}" for value in row[n_names:]] for row in rows]
    print(aligned([head, *cells], n_left=n_names))
    if len(results) == 2 and not per_query:
        first, second = results.values()
        if first.queries == second.queries:
            print(f"\n{compare_runs(first, second)}")


_PRINTERS = {"table": _print_table, "json": _print_json, "csv": _print_csv}


def _rows(results, per_query):
    """A head, and a row for each run, query and measure."""
    if not per_query:
        table = {(name,): result.to_dict() for name, result in results.items()}
        head = ["run", "measure"]
    else:
        table = {
            (name, query): values
            for name, result in results.items()
            for query, values in result.to_dict(per_query=True).items()
        }
        head = ["run", "query", "measure"]
    first = next(iter(next(iter(table.values())).values()))
    return [head + list(first)] + [
        [*names, measure, *row.values()]
        for names, values in table.items()
        for measure, row in values.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
