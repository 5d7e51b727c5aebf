"""The command: evaluate files of runs against a file of judgments."""

import argparse
import csv
import io
import json
import os
import sys
from dataclasses import replace

from ._comparison import compare_runs
from ._evaluate import evaluate_run
from ._files import read_qrels, read_run
from ._text_tables import aligned

_EPILOG = """Measures are written as ir_measures writes them: AP, AP(rel=2)@100, nDCG@10,
nDCG(dcg='exp-log2')@10, P@5, R@1000, F1@10, RR@10, Success@1, Rprec, RBP(p=0.9), ERR@20,
Judged@10. Each has its mean over all orders of tied documents, the worst and the best
value, that of trec_eval's order, and the share of queries whose value ties could move. The
exit code is 0, or 1 for files or measures that cannot be used, or 2 for wrong usage, or
141 if the reader of a pipe left early, as head does."""
_READER_LEFT = 141  # what shells report of a program that SIGPIPE ended


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    code : int
        0, or 1 after a message about files or measures, or 141 if nobody reads on.
    """
    args = _parser().parse_args(argv)
    try:
        qrels = read_qrels(args.qrels)
        runs = [read_run(path) for path in args.runs]
        results = [
            evaluate_run(qrels, run, args.measures, missing_queries=args.missing_queries)
            for run in runs
        ]
        names = _names(results, args.runs)
        named = {name: replace(result, name=name) for name, result in zip(names, results)}
        _write(_FORMATS[args.format](named, args.per_query))
    except BrokenPipeError:
        return _READER_LEFT
    except (OSError, ValueError) as error:
        print(f"sklearn-talr-runs: {error}", file=sys.stderr)
        return 1
    return 0


def _names(results, paths):
    """Names of the runs, or their paths, or these with numbers: the first that differ."""
    names = [result.name for result in results]
    numbered = [f"{number}: {path}" for number, path in enumerate(paths, 1)]
    return next(each for each in (names, paths, numbered) if len(set(each)) == len(each))


def _write(text):
    """Write to the standard output all that its encoding holds, and the rest escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError:  # Python flushes once more at its end, to where it does no harm
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


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
    parser.add_argument("--format", choices=list(_FORMATS), default="table")
    parser.add_argument(
        "--missing-queries",
        choices=["zero", "skip"],
        default="zero",
        help="what judged queries do that a run lacks: count 0, or be left out",
    )
    return parser


def _as_json(results, per_query):
    values = {name: result.to_dict(per_query=per_query) for name, result in results.items()}
    return json.dumps(values, indent=1)


def _as_csv(results, per_query):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_rows(results, per_query))
    return text.getvalue().removesuffix("\n")


def _as_table(results, per_query):
    head, *rows = _rows(results, per_query)
    n_names = head.index("expected")
    cells = [
        [*map(_printable, row[:n_names]), *(f"{value:.4f}" for value in row[n_names:])]
        for row in rows
    ]
    table = aligned([head, *cells], n_left=n_names)
    if len(results) == 2 and not per_query:
        first, second = (
            replace(result, name=_printable(name)) for name, result in results.items()
        )
        if first.queries == second.queries:
            return f"{table}\n\n{compare_runs(first, second)}"
    return table


def _printable(name):
    """What a terminal shows and does not obey: files may name runs and queries anyhow."""
    return name if name.isprintable() else ascii(name)[1:-1]


_FORMATS = {"table": _as_table, "json": _as_json, "csv": _as_csv}


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
