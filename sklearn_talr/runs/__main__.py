"""The command: evaluate files of runs against a file of judgments, and compare them."""

import argparse
import json
import os
import sys
import warnings
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from ..inference._paired import TESTS
from ._comparison import compare_runs
from ._evaluate import evaluate_run
from ._files import read_qrels, read_run
from ._mteb import read_mteb_results
from ._result import import_pandas
from ._scores import evaluations_of_scores
from ._sources import START_OF_PARQUET, Source, local_path, plain_name
from ._text import NAMES_OF_ADJUSTMENTS, aligned, exported, printable, shown

_EPILOG = """"sklearn-talr-runs compare" tests which of several runs are better; it has its
own --help. A file of judgments that is called compare is ./compare. Measures are written as
ir_measures writes them: AP, AP(rel=2)@100, nDCG@10, nDCG(dcg='exp-log2')@10, P@5, R@1000,
F1@10, RR@10, Success@1, Rprec, RBP(p=0.9), ERR@20, EF@1%, AUC, Bpref, Judged@10. Each has
its mean over all orders of tied documents, the worst and the best value, that of
trec_eval's order, and the share of queries whose value ties could move. The exit code is 0,
or 1 for files or measures that cannot be used, or 2 for wrong usage, or 141 if the reader
of a pipe left early, as head does."""
_COMPARE_EPILOG = """The table has the mean of each run, its confidence interval over
queries, the worst and the best mean that orders of tied documents can make, and letters:
runs that share one are not separated. More than 15 runs have the range of ranks that the
tests leave instead. Of two runs it has the difference. Tests are of expected values, over
all orders of tied documents. A table of scores has a row for each query or task and a
column for each run, or a row for each score. CSV and LaTeX have a row for each
measure and pair of runs, JSON all numbers."""
_OF_RUNS = "measures", "missing_queries", "judged_only", "ignore_identical_ids"
_OF_TABLES = "missing", "groups", "aggregates"
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
    parser = _parser(compares)
    args = parser.parse_args(argv[1:] if compares else argv)
    if compares:
        _refuse_unused(parser, args)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _tell
            text = _text(args, compares)
        # All that the encoding of the standard output holds, and the rest escaped
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        text = text.encode(encoding, "backslashreplace").decode(encoding)
        try:
            print(text, flush=True)
        except OSError:  # Python flushes once more at its end, to where it does no harm
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
    except BrokenPipeError:
        return _READER_LEFT
    except (ImportError, OSError, ValueError) as error:
        print(f"sklearn-talr-runs: {error}", file=sys.stderr)
        return 1
    return 0


def _tell(message, *_):
    print(f"sklearn-talr-runs: warning: {message}", file=sys.stderr)


def _refuse_unused(parser, args):
    """Exit with an error for options that nothing would look at."""
    has_table = not args.runs or Path(args.qrels).is_dir()
    kind = "judgments and runs" if has_table else "tables of scores"
    for name in _OF_RUNS if has_table else _OF_TABLES:
        if getattr(args, name) != parser.get_default(name):
            parser.error(f"--{name.replace('_', '-')} is an option of {kind}.")


def _text(args, compares):
    """What the command prints, after its files were read."""
    is_folder = compares and local_path(args.qrels).is_dir()
    if args.runs and not is_folder:
        qrels = read_qrels(args.qrels)
        names = "missing_queries", "judged_only", "ignore_identical_ids"
        options = {name: getattr(args, name) for name in names}
        runs = map(read_run, args.runs)
        results = [evaluate_run(qrels, run, args.measures, **options) for run in runs]
    else:  # tables of scores, whose columns are the runs
        if is_folder:
            scores = read_mteb_results([args.qrels, *args.runs])
        else:
            scores = _read_scores(args.qrels)
        results, _ = evaluations_of_scores(
            scores, args.missing, groups=args.groups, aggregates=args.aggregates
        )
        args.runs = [result.name for result in results]
    # Names of the runs, or their paths, or these with numbers: the first that differ
    names = [result.name for result in results]
    numbered = [f"{number}: {path}" for number, path in enumerate(args.runs, 1)]
    names = next(n for n in (names, args.runs, numbered) if len(set(n)) == len(n))
    results = {name: replace(each, name=name) for name, each in zip(names, results)}
    return _compared(args, results) if compares else _evaluated(args, results)


def _read_scores(path):
    """A table of scores from CSV, values between tabs or Parquet."""
    pd, path = import_pandas(), local_path(path)
    suffix = Path(plain_name(path)).suffix.lower()
    with Source(path) as source:
        if suffix == ".parquet" or source.start.startswith(START_OF_PARQUET):
            return pd.read_parquet(BytesIO(source.content()))
        separator = "\t" if suffix == ".tsv" else ","
        return pd.read_csv(BytesIO(source.content()), sep=separator)


def _evaluated(args, results):
    """Text of evaluations by name."""
    options = {"per_query": args.per_query}
    results = {name: result.to_dict(**options) for name, result in results.items()}
    if args.format == "json":
        return json.dumps(results, indent=1)
    # A row for each run, query and measure
    rows = []
    for run, values in results.items():
        for query, of_query in values.items() if args.per_query else [(None, values)]:
            owner = {"run": run} if query is None else {"run": run, "query": query}
            rows += [{**owner, "measure": name, **row} for name, row in of_query.items()]
    if args.format != "table":
        return exported(import_pandas().DataFrame(rows), args.format)
    cells = [[shown(*cell) for cell in row.items()] for row in rows]
    return aligned([list(rows[0]), *cells], n_left=3 if args.per_query else 2)


def _compared(args, results):
    """Text of a comparison of evaluations by name, after its page was written."""
    named = [replace(result, name=printable(name)) for name, result in results.items()]
    names = "test", "adjust", "alpha", "greater_is_better", "n_resamples", "random_state"
    comparison = compare_runs(*named, **{name: getattr(args, name) for name in names})
    if args.html is not None:
        Path(args.html).write_text(comparison.to_html(), encoding="utf-8")
    if args.format == "table":
        return str(comparison)
    if args.format != "json":
        return exported(comparison.to_frame().reset_index(), args.format)
    values = comparison.to_dict()
    for row in values["runs"] + values["pairs"]:
        for key, value in row.items():
            if isinstance(value, float) and value - value != 0:
                row[key] = None  # JSON has neither NaN nor infinity
    return json.dumps(values, indent=1)


def _parser(compares):
    """Parser of the command, or of what follows its word "compare"."""
    if compares:
        prog, epilog = "sklearn-talr-runs compare", _COMPARE_EPILOG
        description = "Test which of two or more runs are better."
    else:
        prog, epilog = "sklearn-talr-runs", _EPILOG
        description = "Evaluate runs against judgments, exactly under ties."
    parser = argparse.ArgumentParser(prog=prog, description=description, epilog=epilog)
    add = parser.add_argument
    text = "judgments in TREC's format, .json, .jsonl, .parquet, or a table with a head"
    if compares:
        text += "; or, without runs, a table of scores as .csv, .tsv or .parquet; or a "
        text += "folder of mteb's results, alone or with others"
    add("qrels", help=text)
    add("runs", nargs="*" if compares else "+", metavar="run", help="runs, likewise")
    default = ["AP", "nDCG@10", "RR@10"]
    text = f"what to measure (default: {' '.join(default)})"
    add("-m", "--measures", nargs="+", default=default, metavar="MEASURE", help=text)
    text = "what judged queries do that a run lacks: count 0, or be left out"
    add("--missing-queries", choices=["zero", "skip"], default="zero", help=text)
    add("--judged-only", action="store_true", help="rank judged documents alone")
    add("--ignore-identical-ids", action="store_true", help="no query finds its own id")
    add("--format", choices=["table", "json", "csv", "latex"], default="table")
    if not compares:
        add("--per-query", action="store_true", help="values of queries, not their means")
        return parser
    text = "what to do with missing cells of a table (default: raise)"
    add("--missing", choices=["raise", "drop"], default="raise", help=text)
    text = (
        "what to do with rows and columns of a table that are means of others, by name or"
    )
    text += " by value (default: raise)"
    add("--aggregates", choices=["raise", "keep"], default="raise", help=text)
    text = "column of a table whose rows are averaged where it is the same"
    add("--groups", metavar="COLUMN", help=text)
    add("--test", choices=list(TESTS), default="randomization")
    text = "adjustment of p-values for the number of pairs (default: max-t, or holm if a"
    text += " test is named that is not the default)"
    add("--adjust", choices=["auto", *NAMES_OF_ADJUSTMENTS], default="auto", help=text)
    add("--alpha", type=float, default=0.05, help="level (default: 0.05)")
    text = "the least mean is the best, as of seconds and errors"
    add("--lower-is-better", dest="greater_is_better", action="store_false", help=text)
    text = "samples of queries (default: 10000)"
    add("--n-resamples", type=int, default=10_000, metavar="N", help=text)
    text = "of these (default: 0)"
    add("--seed", dest="random_state", metavar="SEED", type=int, default=0, help=text)
    add("--html", metavar="FILE", help="write a page with tables and pictures, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
