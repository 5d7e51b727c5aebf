"""Checks for swapped judgments and runs, by the types and the values of their numbers."""

from collections.abc import Mapping
from itertools import chain
from numbers import Integral

import numpy as np

from .._core.progress import warn_caller

# Relevance grades of assessors are 0 to 4; a run with these scores alone may be judgments.
_N_GRADES_OF_ASSESSORS = 5


def refuse_swapped_types(qrels, run):
    """Raise ValueError if judgments are floats alone, and scores integers alone.

    Judgments are usually integers and scores floats, so these types suggest that the
    arguments are swapped. But gains may be real and scores integers. So there is no error
    if the data declare that they are judgments or a run: `Qrels`, `Run`, files, and tables
    with a column ``relevance``.

    Parameters
    ----------
    qrels, run : object
        The arguments of :func:`evaluate_run`.
    """
    if _number_type(qrels) is float and _number_type(run) is int:
        raise ValueError(
            "qrels has floats and run has integers, so they may be swapped. If they are, "
            "write evaluate_run(qrels, run) with the judgments first. If the gains are "
            "real and the scores integers, write evaluate_run(Qrels(qrels), Run(run))."
        )


def _number_type(data):
    """The type of all numbers of a dict of dicts or of a column ``score``, int or float.

    None if there are both, or data of another form.
    """
    if isinstance(data, Mapping):
        rankings = data.values()
        if not all(isinstance(ranking, Mapping) for ranking in rankings):
            return None
        values = chain.from_iterable(ranking.values() for ranking in rankings)
        types = set(map(type, values))
    elif _has_scores_alone(data):
        types = {np.asarray(data["score"]).dtype.type}
    else:
        return None
    if types and all(issubclass(kind, float | np.floating) for kind in types):
        return float
    if types and all(issubclass(kind, Integral | np.bool_) for kind in types):
        return int
    return None


def _has_scores_alone(data):
    """Whether a table has a column "score", and none that only judgments have."""
    if not (hasattr(data, "columns") and hasattr(data, "to_numpy")):
        return False
    return "score" in data.columns and not {"relevance", "label"} & {*data.columns}


def warn_if_swapped(qrels, run):
    """Warn if the judgments look like scores, and the scores like judgments.

    Parameters
    ----------
    qrels, run : DocumentTable
    """
    n_documents = np.diff(qrels.offsets).max(initial=0)
    if qrels.values.dtype.kind != "f" and n_documents <= _N_GRADES_OF_ASSESSORS:
        return
    grades_of_queries = np.stack([qrels.numbers, qrels.values], axis=1)
    all_differ = len(np.unique(grades_of_queries, axis=0)) == len(grades_of_queries)
    if all_differ and np.isin(run.values, np.arange(_N_GRADES_OF_ASSESSORS)).all():
        warn_caller(
            "qrels has a different relevance for every document of a query, and run has "
            f"only the scores {np.unique(run.values).tolist()}. Judgments are the first "
            "argument, and the run is the second. Are they swapped?",
        )
