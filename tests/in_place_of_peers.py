"""A pytest plugin: tests of ir_measures and pytrec_eval, with our values for theirs.

    PYTHONPATH=tests python -m pytest -p in_place_of_peers IR_MEASURES/tests
    python tests/in_place_of_peers.py PYTREC_EVAL/tests/pytrec_eval_tests.py

The paths are those of checkouts, that of pytrec_eval with its submodule. Where we have a
measure, our value takes the place of the one that the library has computed, by whichever of
its providers. The last lines say how many values are ours, and how many are of measures
that we lack. A value of ours that agrees to twelve digits is written as the library wrote
it, as some tests compare all digits. ``--orders expected`` takes the mean over all orders
of ties. By default ties are in trec_eval's order, which the tests were written for.
"""

import argparse
import re
import runpy
import sys
from collections import Counter
from math import isclose

import pytrec_eval
from ir_measures import providers
from ir_measures.util import QrelsConverter, RunConverter

from sklearn_talr.measures import parse_measure
from sklearn_talr.runs import evaluate_run
from sklearn_talr.runs.ir_measures import TieAwareProvider

# Names of measures in trec_eval, as expressions, and ours
NAMES = {
    "map": "AP{rel}",
    r"map_cut_(\d+)": "AP{rel}@{cutoff}",
    "ndcg": "nDCG",
    r"ndcg_cut_(\d+)": "nDCG@{cutoff}",
    r"P_(\d+)": "P{rel}@{cutoff}",
    r"recall_(\d+)": "R{rel}@{cutoff}",
    "recip_rank": "RR{rel}",
    "Rprec": "Rprec{rel}",
    r"success_(\d+)": "Success{rel}@{cutoff}",
}
ORDERS = "trec_eval", "expected"
OURS = TieAwareProvider()
PRINTED_DIGITS = {"gdeval": 5}  # its tests compare what the program prints
counted = Counter()


def pytest_addoption(parser):
    help_ = "where our values come from: trec_eval or expected"
    parser.addoption("--orders", choices=ORDERS, default=ORDERS[0], help=help_)


def pytest_configure(config):
    replace_functions(config.getoption("--orders"))


def pytest_terminal_summary(terminalreporter):
    print_counts(terminalreporter.write_line)


def replace_functions(order):
    """Put our values into both libraries, for this process."""
    pytrec_eval.RelevanceEvaluator = evaluator_of(order)
    for provider in providers.registry.values():
        if provider.NAME not in ("tie_aware", "runtime"):
            substitute(type(provider), order)


def print_counts(write=print):
    for peer, whose in sorted(counted):
        write(f"{peer}: {counted[peer, whose]} values are {whose}")


def our_name(name, rel=1):
    """Our name of a measure of trec_eval, or None."""
    for pattern, ours in NAMES.items():
        if re.fullmatch(pattern, name):
            level = f"(rel={rel})" if rel > 1 else ""
            return ours.format(rel=level, cutoff=name.rpartition("_")[2])
    return None


def values_of(qrels, run, measures, order):
    """Our values by query and measure; queries that the run lacks are left out."""
    if not measures or not any(run.get(query) for query in qrels):
        return {}
    result = evaluate_run(qrels, run, measures, missing_queries="skip")
    rows = getattr(result, order).tolist()
    return {query: dict(zip(measures, row)) for query, row in zip(result.queries, rows)}


def counting(peer, is_ours):
    counted[peer, "ours" if is_ours else "theirs"] += 1
    return is_ours


def unless_equal(theirs, ours):
    """Our value, but for digits that rounding decides."""
    return theirs if isclose(theirs, ours, rel_tol=1e-12, abs_tol=1e-15) else ours


def evaluator_of(order):
    """Class in place of that of pytrec_eval: it asks that one for what we lack."""

    class RelevanceEvaluator(pytrec_eval.RelevanceEvaluator):
        def __init__(self, query_relevance, measures, relevance_level=1, **kwargs):
            super().__init__(query_relevance, measures, relevance_level, **kwargs)
            self._qrels, self._rel = dict(query_relevance), relevance_level
            self._judged_only = kwargs.get("judged_docs_only_flag", False)

        def evaluate(self, scores):
            found = super().evaluate(scores)
            names = dict.fromkeys(name for values in found.values() for name in values)
            known = {} if self._judged_only else names
            ours = {name: our_name(name, self._rel) for name in known}
            ours = {name: our for name, our in ours.items() if our is not None}
            values = values_of(self._qrels, scores, list(ours.values()), order)
            for query, theirs in found.items():
                for name in theirs:
                    if counting("pytrec_eval", name in ours):
                        value = values.get(query, {}).get(ours[name], 0.0)
                        theirs[name] = unless_equal(theirs[name], value)
            return found

    return RelevanceEvaluator


def substitute(provider, order):
    """Let a provider of ir_measures return our values where we have the measure."""
    make = provider._evaluator

    def make_with_our_values(self, measures, qrels):
        measures = list(measures)
        qrels = list(QrelsConverter(qrels).as_namedtuple_iter())
        evaluator = make(self, measures, qrels)
        calculate = evaluator._iter_calc
        ours = {
            measure: parse_measure(measure)
            for measure in measures
            if is_supported(self, measure) and is_supported(OURS, measure)
        }

        def calculate_with_our_values(run):
            run = list(RunConverter(run).as_namedtuple_iter())
            tables = nested(qrels), nested(run)
            wanted = list(dict.fromkeys(ours.values()))
            values = values_of(*tables, wanted, order)
            for metric in calculate(run):
                if counting(self.NAME, metric.measure in ours):
                    of_query = values.get(metric.query_id, {})
                    value = of_query.get(ours[metric.measure], 0.0)
                    value = round(value, PRINTED_DIGITS.get(self.NAME, 17))
                    metric = metric._replace(value=unless_equal(metric.value, value))
                yield metric

        evaluator._iter_calc = calculate_with_our_values
        return evaluator

    provider._evaluator = make_with_our_values


def is_supported(provider, measure):
    """Whether a provider says so; it refuses parameters that the measure does not have."""
    try:
        return provider.supports(measure)
    except AssertionError:
        return False


def nested(rows):
    """Tuples of query, document and number as a dict of dicts."""
    table = {}
    for query, document, value, *_ in rows:
        table.setdefault(query, {})[document] = value
    return table


def main():
    """Run a script of tests."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("script")
    parser.add_argument("--orders", choices=ORDERS, default=ORDERS[0])
    args = parser.parse_args()
    replace_functions(args.orders)
    sys.argv = [args.script]
    try:
        runpy.run_path(args.script, run_name="__main__")
    finally:
        print_counts()


if __name__ == "__main__":
    main()
