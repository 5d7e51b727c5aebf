"""The command's second form: which of some runs are better, and how surely."""

import argparse
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path

from ..inference._door import TESTS
from ._comparison import compare_runs
from ._comparison_tables import comparison_csv
from ._html_report import html_report
from ._text_tables import printable

_EPILOG = """The table has the mean of each run, its confidence interval over queries, the
worst and the best mean that orders of tied documents can make, and letters: runs that share
one are not separated. Of two runs it has the difference. Tests are of expected values, over
all orders of tied documents. CSV has a row for each measure and pair of runs, JSON all
numbers."""


def add_inputs(parser):
    """Add arguments for what is evaluated."""
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
        "--missing-queries",
        choices=["zero", "skip"],
        default="zero",
        help="what judged queries do that a run lacks: count 0, or be left out",
    )


def compare_parser():
    """Parser of what follows the word "compare"."""
    parser = argparse.ArgumentParser(
        prog="sklearn-talr-runs compare",
        description="Test which of two or more runs are better.",
        epilog=_EPILOG,
    )
    add_inputs(parser)
    parser.add_argument("--test", choices=list(TESTS), default="randomization")
    parser.add_argument(
        "--adjust",
        choices=["holm", "tukey"],
        default="holm",
        help="adjustment of p-values for the number of pairs (default: holm)",
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="level (default: 0.05)")
    parser.add_argument(
        "--n-resamples",
        type=int,
        default=10_000,
        metavar="N",
        help="random patterns of signs or samples of queries (default: 10000)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of these (default: 0)")
    parser.add_argument("--format", choices=list(_FORMATS), default="table")
    parser.add_argument(
        "--html", metavar="FILE", help="write a page with tables and pictures, too"
    )
    return parser


def compare_results(args, results):
    """Text of a comparison of evaluations by name, after its page was written."""
    named = [replace(result, name=printable(name)) for name, result in results.items()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        comparison = compare_runs(
            *named,
            test=args.test,
            adjust=args.adjust,
            alpha=args.alpha,
            n_resamples=args.n_resamples,
            random_state=args.seed,
        )
    for warning in caught:
        print(f"sklearn-talr-runs: warning: {warning.message}", file=sys.stderr)
    if args.html is not None:
        Path(args.html).write_text(html_report(comparison), encoding="utf-8")
    return _FORMATS[args.format](comparison)


def _comparison_json(comparison):
    """JSON, in which NaN and infinity are null."""
    values = comparison.to_dict()
    for row in values["runs"] + values["pairs"]:
        for key, value in row.items():
            if isinstance(value, float) and value - value != 0:
                row[key] = None
    return json.dumps(values, indent=1)


_FORMATS = {
    "table": str,
    "json": _comparison_json,
    "csv": comparison_csv,
}
