"""Arguments of `compare_runs`: evaluations, or judgments, runs by name and measures."""

from collections.abc import Mapping
from os import PathLike
from typing import NamedTuple

from ._data import Qrels, Run
from ._evaluate import DEFAULT_MEASURES, evaluate_run
from ._files import read_qrels
from ._result import RunEvaluation
from ._swapped import refuse_swapped_types

_FORM_WITH_NAMES = "compare_runs(qrels, {'A': run_a, 'B': run_b}, measures)"


class ComparedEvaluations(NamedTuple):
    """Evaluations to compare.

    Parameters
    ----------
    evaluations : tuple of RunEvaluation
        Of the same queries and measures.

    line_of_queries : str
        Code that lists the queries, for errors.
    """

    evaluations: tuple
    line_of_queries: str

    @classmethod
    def from_arguments(cls, arguments, measures):
        """Read the arguments of `compare_runs` by their types.

        Parameters
        ----------
        arguments : tuple
            Evaluations; or judgments, runs by name, and measures if there are any.

        measures : Measures or None
            Measures that were passed by keyword.
        """
        is_evaluation = [isinstance(argument, RunEvaluation) for argument in arguments]
        if not any(is_evaluation) and len(arguments) > 1:
            return cls._from_runs(*_judgments_runs_and_measures(arguments, measures))
        if measures is not None:
            raise TypeError(
                "evaluations have their measures already: pass measures to evaluate_run, "
                f"or write {_FORM_WITH_NAMES}."
            )
        _check_evaluations(arguments)
        return cls(arguments, "evaluations[0].queries")

    @classmethod
    def _from_runs(cls, qrels, runs, measures):
        """Evaluate runs by name."""
        runs_by_name = _runs_by_name(runs)
        if isinstance(qrels, str | PathLike):
            judgments = read_qrels(qrels)
            line_of_queries = "read_qrels(qrels).queries"
        else:
            judgments = Qrels(qrels)
            is_read = isinstance(qrels, Qrels)
            line_of_queries = "qrels.queries" if is_read else "Qrels(qrels).queries"
        evaluations = []
        for name, run in runs_by_name.items():
            try:
                refuse_swapped_types(qrels, run)
                evaluation = evaluate_run(judgments, run, measures, name=str(name))
            except (TypeError, ValueError) as error:
                error.add_note(f"The error is in the run {name!r}.")
                raise
            evaluations.append(evaluation)
        return cls(tuple(evaluations), line_of_queries)


def _judgments_runs_and_measures(arguments, measures):
    """The three arguments of the form with judgments, measures by position or keyword."""
    qrels, runs, *rest = arguments
    if len(rest) > 1:
        raise TypeError(
            "compare_runs takes judgments, runs and measures by position, got "
            f"{len(arguments)} arguments. Write {_FORM_WITH_NAMES}."
        )
    if rest and measures is not None:
        raise TypeError("measures were passed twice, by position and by keyword.")
    if rest:
        measures = rest[0]
    return qrels, runs, DEFAULT_MEASURES if measures is None else measures


def _runs_by_name(runs):
    """Runs as a dict by name; an error for runs without names, or for one run alone."""
    if isinstance(runs, list | tuple):
        return _runs_with_own_names(runs)
    if not isinstance(runs, Mapping):
        raise TypeError(
            f"compare_runs takes runs as a dict by name, got {type(runs).__name__}. "
            f"Judgments come first, then the runs: write {_FORM_WITH_NAMES}."
        )
    for name, run in runs.items():
        if isinstance(run, RunEvaluation):
            raise TypeError(
                "evaluations need no judgments: write compare_runs(*evaluations.values())."
            )
        if _is_ranking_of_one_query(run):
            raise TypeError(
                f"compare_runs takes a dict of runs, but {name!r} has the scores of one "
                "query. Judgments come first, then the runs by name: write "
                f"{_FORM_WITH_NAMES}."
            )
    return runs


def _runs_with_own_names(runs):
    """Runs of a list by their names, or an error if some have none or share one."""
    if any(isinstance(run, RunEvaluation) for run in runs):
        raise TypeError("evaluations need no judgments: write compare_runs(*evaluations).")
    if all(map(_has_name, runs)):
        by_name = {run.name: run for run in runs}
        if len(by_name) == len(runs):
            return by_name
    names = ["'A'", "'B'", "'C'"][: len(runs)]
    items = [f"{name}: runs[{number}]" for number, name in enumerate(names)]
    if len(runs) > len(names):
        items.append("...")
    raise TypeError(
        "runs in a list need names that differ. Write compare_runs(qrels, "
        f"{{{', '.join(items)}}}, measures)."
    )


def _has_name(run):
    """Whether a run declares its name, as a `Run` and a run of ranx do."""
    if isinstance(run, Run):
        return True
    return not isinstance(run, PathLike) and isinstance(getattr(run, "name", None), str)


def _is_ranking_of_one_query(run):
    """Whether a dict has documents and their numbers, and not queries."""
    if not isinstance(run, Mapping):
        return False
    return any(not isinstance(documents, Mapping) for documents in run.values())


def _check_evaluations(evaluations):
    """Raise an error unless all are evaluations of the same queries and measures."""
    for evaluation in evaluations:
        if not isinstance(evaluation, RunEvaluation):
            _refuse_argument(evaluation)
        first = evaluations[0]
        has_queries_of_first = evaluation.queries == first.queries
        if not has_queries_of_first or evaluation.measures != first.measures:
            raise ValueError(
                "compare_runs needs evaluations of the same queries and measures: evaluate "
                "all runs with the same judgments and missing_queries='zero'."
            )


def _refuse_argument(argument):
    """Raise TypeError for an argument that is not an evaluation."""
    remedy = f"Write compare_runs(*evaluations) or {_FORM_WITH_NAMES}"
    if isinstance(argument, dict):
        remedy = f"Write compare_runs(*evaluations.values()) or {_FORM_WITH_NAMES}"
    raise TypeError(
        "compare_runs takes evaluations, which evaluate_run returns, or judgments and "
        f"runs by name, got {type(argument).__name__}. {remedy}."
    )
