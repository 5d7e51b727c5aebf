"""Arguments of displays: one method, several code lengths, several methods."""

from collections.abc import Mapping

import numpy as np

from ..._compat import HasMethods
from ...histogram import RankingHistogram
from ...histogram._door import check_hamming
from ...measures import parse_measure

# Constraints of the displays. Parameters without validation are checked, with advice, by
# the functions that a display calls.
OF_ESTIMATOR = {
    "estimator": [HasMethods("transform")],
    "X_query": "no_validation",
    "y_query": "no_validation",
    "X_database": "no_validation",
    "y_database": "no_validation",
    "affinity": "no_validation",
}
OF_CODES = {
    "query_codes": ["array-like"],
    "database_codes": ["array-like"],
    "affinity": "no_validation",
    "y_query": "no_validation",
    "y_database": "no_validation",
}
OF_ESTIMATORS = OF_ESTIMATOR | {"estimator": "no_validation"}
OF_METHODS = OF_CODES | {
    "query_codes": ["array-like", Mapping],
    "database_codes": ["array-like", Mapping],
}
DRAWN = {"panels": "no_validation", "name": [str, None], "ax": "no_validation"}


def check_distances(histogram, display):
    """Return the histogram if it is one of distances, of which there are means."""
    check_hamming(histogram, display)
    check_any(np.any(histogram.n_relevant))
    return histogram


def check_any(is_relevant):
    """Raise ValueError unless some query has a relevant item, so that there are means."""
    if not is_relevant:
        raise ValueError("No query has a relevant item, so there is nothing to draw.")


def by_method(value, is_one):
    """Bring one thing, a list of them, or a dict of either into {name: list}.

    `is_one` tells a thing from a list of things; the name of a single method is None.
    """
    methods = value if isinstance(value, Mapping) else {None: value}
    lists = {name: [v] if is_one(v) else list(v) for name, v in methods.items()}
    if not any(lists.values()):
        raise ValueError("There is nothing to draw: no method is given.")
    return lists


def by_system(evaluations):
    """Bring evaluations of runs into names and a list."""
    if isinstance(evaluations, Mapping):
        names, results = list(evaluations), list(evaluations.values())
    else:
        one = hasattr(evaluations, "means")
        results = [evaluations] if one else list(evaluations)
        names = [getattr(result, "name", None) for result in results]
    if not results:
        raise ValueError("There is nothing to draw: no evaluation is given.")
    for result in results:
        if not hasattr(result, "means"):
            raise TypeError(f"from_runs takes what evaluate_run returns, got {result!r}.")
    if len(set(names)) < len(names):
        raise ValueError(f"systems must have different names, got {names}. Pass a dict.")
    return names, results


def means_of_measure(evaluation, measure):
    """Return the means of a measure, or raise ValueError if it was not evaluated."""
    measure = str(measure)
    if measure not in evaluation.means:
        raise ValueError(
            f"measure must be one of {evaluation.measures}, which {evaluation.name} has, "
            f"got {measure!r}."
        )
    return evaluation.means[measure]


def check_comparison(comparison):
    """Raise TypeError unless it is what compare_runs returns."""
    if not hasattr(comparison, "tiers") or not hasattr(comparison, "evaluations"):
        raise TypeError(
            "from_comparison takes what compare_runs returns, got "
            f"{type(comparison).__name__}."
        )


def place_of_measure(comparison, measure):
    """Return the column and the name of a measure of a comparison, by default the first."""
    name = comparison.measures[0] if measure is None else str(parse_measure(measure))
    if name not in comparison.measures:
        raise ValueError(
            f"measure must be one of {comparison.measures}, which were compared, got "
            f"{name!r}."
        )
    return comparison.measures.index(name), name


def check_same_methods(queries, database):
    """Raise ValueError unless both sides have the same methods, of as many lengths."""
    sizes = [
        {name: len(codes) for name, codes in side.items()} for side in (queries, database)
    ]
    if sizes[0] != sizes[1]:
        raise ValueError(
            "query_codes and database_codes must have the same methods and lengths, got "
            f"{sizes[0]} and {sizes[1]}."
        )


def is_codes(value):
    """Tell one set of codes, also as nested lists, from a list of such sets."""
    return not isinstance(value, list | tuple) or not value or _ndim(value[0]) < 2


def is_estimator(value):
    return hasattr(value, "transform")


def is_histogram(value):
    return isinstance(value, RankingHistogram)


def _ndim(value):
    return len(value.shape) if hasattr(value, "shape") else np.ndim(value)
