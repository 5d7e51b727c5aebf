"""The command: evaluate files of runs against a file of judgments, and compare them."""

import argparse
import json
import os
import sys
import warnings
from dataclasses import replace
from io import BytesIO
from math import isfinite
from pathlib import Path

from ..inference._paired import TESTS
from ._comparison import compare_runs
from ._evaluate import DEFAULT_MEASURES, evaluate_run
from ._files import read_qrels, read_run
from ._mteb import read_mteb_results
from ._result import import_pandas
from ._scores import evaluations_of_scores
from ._sources import START_OF_PARQUET, Source, local_path, plain_name
from ._text import NAMES_OF_ADJUSTMENTS, aligned, exported, printable, shown

_EPILOG = """"sklearn-talr-runs compare" tests which of several runs are better; it has its
own --help. Write ./compare for a file of judgments with the name compare. Measures are
written as in ir_measures: AP, AP(rel=2)@100, nDCG@10, nDCG(dcg='exp-log2')@10, P@5, R@1000,
F1@10, RR@10, Success@1, Rprec, RBP(p=0.9), ERR@20, EF@1%, AUC, Bpref, Judged@10. The table
shows the mean over all orders of tied documents, the worst and the best value, the value of
trec_eval's order, and the share of queries whose value depends on ties. The exit code is 0;
1 for a file or measure that cannot be used; 2 for wrong arguments; 141 if the reader of a
pipe closes it early."""
_COMPARE_EPILOG = """The table shows the mean of each run, its confidence interval over
queries, the worst and the best mean over all orders of tied documents, and letters. Runs
that share a letter are not significantly different (compact letter display). With more than
15 runs the table shows a range of ranks instead of letters, and with two runs their
difference. The tests compare expected values, the means over all orders of tied documents.
A table of scores has a row for each query or task and a column for each run, or a row for
each score. CSV and LaTeX have a row for each measure and pair of runs. JSON has all
numbers."""
_HELP_OF_QRELS = (
    "judgments in TREC's format, .json, .jsonl, .parquet, or a table with column names"
)
_OPTIONS_OF_RUNS = "measures", "missing_queries", "judged_only", "ignore_identical_ids"
_OPTIONS_OF_TABLES = "missing", "groups", "aggregates"

_EXIT_CODE_OF_SIGPIPE = 141  # Shells report it if a reader has left.


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments. None takes the arguments of the process.

    Returns
    -------
    code : int
        0, or 1 after a message about files or measures, or 141 if the reader closes the
        pipe early.
    """
    argv = sys.argv[1:] if argv is None else argv
    compares = argv[:1] == ["compare"]
    if compares:
        parser = _comparing_parser()
        args = parser.parse_args(argv[1:])
        _refuse_unused(parser, args)
    else:
        args = _evaluating_parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _print_warning
            text = _text(args, compares)
        _print(text)
    except BrokenPipeError:
        return _EXIT_CODE_OF_SIGPIPE
    except (ImportError, OSError, ValueError) as error:
        print(f"sklearn-talr-runs: {error}", file=sys.stderr)
        return 1
    return 0


def _print_warning(message, *_):
    print(f"sklearn-talr-runs: warning: {message}", file=sys.stderr)


def _print(text):
    """Print a text; characters that the encoding of the output lacks are escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        print(text, flush=True)
    except OSError:
        # Python flushes once more at its end; to the null device it does no harm.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _refuse_unused(parser, args):
    """Exit with an error for options that nothing would look at."""
    has_table = not args.runs or Path(args.qrels).is_dir()
    kind = "judgments and runs" if has_table else "tables of scores"
    for name in _OPTIONS_OF_RUNS if has_table else _OPTIONS_OF_TABLES:
        if getattr(args, name) != parser.get_default(name):
            parser.error(f"--{name.replace('_', '-')} is an option for {kind} only.")


def _text(args, compares):
    """Read the files, and return the text that the command prints."""
    is_folder = compares and local_path(args.qrels).is_dir()
    if args.runs and not is_folder:
        evaluations = _evaluations_of_files(args)
        paths = args.runs
    else:
        # The columns of a table of scores are the runs.
        if is_folder:
            scores = read_mteb_results([args.qrels, *args.runs])
        else:
            scores = _read_scores(args.qrels)
        evaluations, _ = evaluations_of_scores(
            scores, args.missing, groups=args.groups, aggregates=args.aggregates
        )
        paths = [evaluation.name for evaluation in evaluations]
    evaluations = _with_different_names(evaluations, paths)
    return _compared(args, evaluations) if compares else _evaluated(args, evaluations)


def _evaluations_of_files(args):
    """Evaluate each file of a run against the file of judgments."""
    qrels = read_qrels(args.qrels)
    return [
        evaluate_run(
            qrels,
            read_run(path),
            args.measures,
            missing_queries=args.missing_queries,
            judged_only=args.judged_only,
            ignore_identical_ids=args.ignore_identical_ids,
        )
        for path in args.runs
    ]


def _with_different_names(evaluations, paths):
    """Evaluations with names, paths, or numbered paths: the first that all differ."""
    names = [evaluation.name for evaluation in evaluations]
    if len(set(names)) < len(names):
        names = paths
    if len(set(names)) < len(names):
        names = [f"{number}: {path}" for number, path in enumerate(paths, 1)]
    return [replace(evaluation, name=name) for evaluation, name in zip(evaluations, names)]


def _read_scores(path):
    """A table of scores from CSV, values between tabs or Parquet."""
    pd = import_pandas()
    path = local_path(path)
    suffix = Path(plain_name(path)).suffix.lower()
    with Source(path) as source:
        if suffix == ".parquet" or source.start.startswith(START_OF_PARQUET):
            return pd.read_parquet(BytesIO(source.content()))
        separator = "\t" if suffix == ".tsv" else ","
        return pd.read_csv(BytesIO(source.content()), sep=separator)


def _evaluated(args, evaluations):
    """Text of evaluations."""
    values = {
        evaluation.name: evaluation.to_dict(per_query=args.per_query)
        for evaluation in evaluations
    }
    if args.format == "json":
        return json.dumps(values, indent=1)
    rows = _rows_of_queries(values) if args.per_query else _rows_of_means(values)
    if args.format != "table":
        return exported(import_pandas().DataFrame(rows), args.format)
    cells = [[shown(*cell) for cell in row.items()] for row in rows]
    return aligned([list(rows[0]), *cells], n_left=3 if args.per_query else 2)


def _rows_of_means(values):
    """A dict for each run and measure."""
    return [
        {"run": run, "measure": measure, **columns}
        for run, by_measure in values.items()
        for measure, columns in by_measure.items()
    ]


def _rows_of_queries(values):
    """A dict for each run, query and measure."""
    return [
        {"run": run, "query": query, "measure": measure, **columns}
        for run, by_query in values.items()
        for query, by_measure in by_query.items()
        for measure, columns in by_measure.items()
    ]


def _compared(args, evaluations):
    """Text of a comparison of evaluations, after its page was written."""
    comparison = compare_runs(
        *(
            replace(evaluation, name=printable(evaluation.name))
            for evaluation in evaluations
        ),
        test=args.test,
        adjust=args.adjust,
        alpha=args.alpha,
        greater_is_better=args.greater_is_better,
        n_resamples=args.n_resamples,
        random_state=args.random_state,
    )
    if args.html is not None:
        Path(args.html).write_text(comparison.to_html(), encoding="utf-8")
    if args.format == "table":
        return str(comparison)
    if args.format != "json":
        return exported(comparison.to_frame().reset_index(), args.format)
    values = comparison.to_dict()
    for row in values["runs"] + values["pairs"]:
        for key, value in row.items():
            if isinstance(value, float) and not isfinite(value):
                row[key] = None  # JSON has neither NaN nor infinity.
    return json.dumps(values, indent=1)


def _evaluating_parser():
    """Parser of the command."""
    parser = argparse.ArgumentParser(
        prog="sklearn-talr-runs",
        description="Evaluate runs against judgments, exactly under ties.",
        epilog=_EPILOG,
    )
    parser.add_argument("qrels", help=_HELP_OF_QRELS)
    parser.add_argument("runs", nargs="+", metavar="run", help="runs, in the same formats")
    _add_options_of_runs(parser)
    parser.add_argument(
        "--per-query", action="store_true", help="values of each query instead of the means"
    )
    return parser


def _comparing_parser():
    """Parser of the arguments after the word "compare"."""
    parser = argparse.ArgumentParser(
        prog="sklearn-talr-runs compare",
        description="Test which of two or more runs are better.",
        epilog=_COMPARE_EPILOG,
    )
    parser.add_argument(
        "qrels",
        help=f"{_HELP_OF_QRELS}; or, without runs, a table of scores as .csv, .tsv or "
        ".parquet; or a folder of mteb's results, alone or with other folders",
    )
    parser.add_argument("runs", nargs="*", metavar="run", help="runs, in the same formats")
    _add_options_of_runs(parser)
    _add_options_of_tables(parser)
    _add_options_of_tests(parser)
    parser.add_argument(
        "--html", metavar="FILE", help="also write an HTML page with tables and figures"
    )
    return parser


def _add_options_of_runs(parser):
    parser.add_argument(
        "-m",
        "--measures",
        nargs="+",
        default=list(DEFAULT_MEASURES),
        metavar="MEASURE",
        help=f"measures to compute (default: {' '.join(DEFAULT_MEASURES)})",
    )
    parser.add_argument(
        "--missing-queries",
        choices=["zero", "skip"],
        default="zero",
        help="count judged queries that a run lacks as 0, or skip them (default: zero)",
    )
    parser.add_argument(
        "--judged-only", action="store_true", help="rank only judged documents"
    )
    parser.add_argument(
        "--ignore-identical-ids",
        action="store_true",
        help="ignore the document with the id of the query",
    )
    parser.add_argument(
        "--format",
        choices=["table", "json", "csv", "latex"],
        default="table",
        help="output format (default: table)",
    )


def _add_options_of_tables(parser):
    parser.add_argument(
        "--missing",
        choices=["raise", "drop"],
        default="raise",
        help="refuse a table with missing cells, or drop their rows (default: raise)",
    )
    parser.add_argument(
        "--aggregates",
        choices=["raise", "keep"],
        default="raise",
        help="refuse a table with rows or columns that are means of others, or keep them "
        "(default: raise)",
    )
    parser.add_argument(
        "--groups",
        metavar="COLUMN",
        help="column with the group of each row; rows of a group are averaged",
    )


def _add_options_of_tests(parser):
    parser.add_argument(
        "--test",
        choices=list(TESTS),
        default="randomization",
        help="paired test (default: randomization)",
    )
    parser.add_argument(
        "--adjust",
        choices=["auto", *NAMES_OF_ADJUSTMENTS],
        default="auto",
        help="adjustment of p-values for the number of pairs (default: max-t, or holm "
        "with a --test that is not the default)",
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, help="significance level (default: 0.05)"
    )
    parser.add_argument(
        "--lower-is-better",
        dest="greater_is_better",
        action="store_false",
        help="the lowest mean is the best, for example of times and errors",
    )
    parser.add_argument(
        "--n-resamples",
        type=int,
        default=10_000,
        metavar="N",
        help="samples of queries (default: 10000)",
    )
    parser.add_argument(
        "--seed",
        dest="random_state",
        metavar="SEED",
        type=int,
        default=0,
        help="seed of the samples (default: 0)",
    )


if __name__ == "__main__":
    sys.exit(main())
