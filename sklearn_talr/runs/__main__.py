"""The command: evaluate files of runs against a file of judgments, and compare them."""

import argparse
import csv
import io
import json
import os
import sys
from dataclasses import replace

from ._compare_command import add_inputs, compare_parser, compare_results
from ._evaluate import evaluate_run
from ._files import read_qrels, read_run
from ._text_tables import aligned, neutral, printable

_EPILOG = """"sklearn-talr-runs compare" tests which of several runs are better; it has its
own --help. A file of judgments that is called compare is ./compare. Measures are written as
ir_measures writes them: AP, AP(rel=2)@100, nDCG@10, nDCG(dcg='exp-log2')@10, P@5, R@1000,
F1@10, RR@10, Success@1, Rprec, RBP(p=0.9), ERR@20, Judged@10. Each has its mean over all
orders of tied documents, the worst and the best value, that of trec_eval's order, and the
share of queries whose value ties could move. The exit code is 0, or 1 for files or measures
that cannot be used, or 2 for wrong usage, or 141 if the reader of a pipe left early, as
head does."""
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
    argv = sys.argv[1:] if argv is None else argv
    compares = argv[:1] == ["compare"]
    args = compare_parser().parse_args(argv[1:]) if compares else _parser().parse_args(argv)
    try:
        results = _evaluated(args)
        _write(
            compare_results(args, results) if compares else _evaluation_text(args, results)
        )
    except BrokenPipeError:
        return _READER_LEFT
    except (OSError, ValueError) as error:
        print(f"sklearn-talr-runs: {error}", file=sys.stderr)
        return 1
    return 0


def _evaluated(args):
    """Evaluations of the files, by name."""
    qrels = read_qrels(args.qrels)
    runs = [read_run(path) for path in args.runs]
    results = [
        evaluate_run(qrels, run, args.measures, missing_queries=args.missing_queries)
        for run in runs
    ]
    names = _names(results, args.runs)
    return {name: replace(result, name=name) for name, result in zip(names, results)}


def _evaluation_text(args, results):
    return _FORMATS[args.format](results, args.per_query)


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
    add_inputs(parser)
    parser.add_argument(
        "--per-query", action="store_true", help="values of queries, not their means"
    )
    parser.add_argument("--format", choices=list(_FORMATS), default="table")
    return parser


def _as_json(results, per_query):
    values = {name: result.to_dict(per_query=per_query) for name, result in results.items()}
    return json.dumps(values, indent=1)


def _as_csv(results, per_query):
    text = io.StringIO()
    rows = ([neutral(cell) for cell in row] for row in _rows(results, per_query))
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().removesuffix("\n")


def _as_table(results, per_query):
    head, *rows = _rows(results, per_query)
    n_names = head.index("expected")
    shown = ["{:.0%}" if name == "moved" else "{:.4f}" for name in head[n_names:]]
    cells = [
        [*map(printable, row[:n_names])]
        + [form.format(value) for form, value in zip(shown, row[n_names:])]
        for row in rows
    ]
    return aligned([head, *cells], n_left=n_names)


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
