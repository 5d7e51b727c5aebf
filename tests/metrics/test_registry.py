"""The registry of metrics: one description, from which all public forms follow."""

import inspect
import re

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr import codes, histogram, metrics
from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.metrics._metric import Metric
from sklearn_talr.metrics._registry import METRICS

BY_NAME = [
    metrics.tie_breaking_range,
    metrics.make_ranking_scorer,
    metrics.make_retrieval_scorer,
]
TABLES = (histogram.RankingHistogram, histogram.HammingHistogram)  # check their own fields


def public_callables():
    """Functions, constructors and methods that users call, by their names."""
    for room in (codes, histogram, metrics):
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isfunction(thing):
                yield name, thing
            elif thing not in (metrics.TieBreakingRange, *TABLES):
                for method, function in inspect.getmembers(thing, inspect.isroutine):
                    is_ours = method in vars(thing) and not method.startswith("_")
                    if is_ours or method == "__init__":
                        yield f"{name}.{method}", function


def test_each_metric_has_its_public_functions_and_an_oracle():
    assert set(METRICS) == set(reference.METRICS)
    functions = {name for name in metrics.__all__ if name.startswith("tie_aware_")}
    forms = {f"tie_aware_{name}{form}" for name in METRICS for form in ("", "_score")}
    assert functions == forms
    assert all(metric.name == name for name, metric in METRICS.items())


@pytest.mark.parametrize("function", BY_NAME)
def test_docstrings_list_the_metrics(function):
    listed = re.search(r"metric : \{(.*?)\}", inspect.getdoc(function), re.DOTALL)[1]
    assert set(re.findall(r'"(\w+)"', listed)) == set(METRICS)


def test_signatures_tell_what_a_metric_takes():
    for name, metric in METRICS.items():
        of_histogram, of_scores = (
            inspect.signature(getattr(metrics, f"tie_aware_{name}{form}")).parameters
            for form in ("", "_score")
        )
        assert list(of_histogram) == ["histogram", "k", *metric.params, "zero_division"]
        shared = ["y_true", "y_score", "groups", "k"]
        shared += ["sample_weight", "average", "zero_division"]
        assert sorted(of_scores) == sorted([*shared, *metric.params])
        for key in metric.params:
            default = inspect.signature(metric.kernel).parameters[key].default
            assert of_histogram[key].default == of_scores[key].default == default


def test_every_public_parameter_has_its_constraint():
    for name, function in public_callables():
        parameters = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            and parameter.name != "self"
        ]
        constraints = function._skl_parameter_constraints
        assert sorted(constraints) == sorted(parameters), name


def test_a_new_metric_needs_a_kernel_and_nothing_else():
    """Whether the first rank is relevant, times a factor: all forms follow."""

    def first_rank(ties, factor=1):
        n, p, t, take = ties.first_relevant
        return np.where((t == 0) & (take > 0), factor * p / np.maximum(n, 1), 0)

    metric = Metric("first_rank", first_rank, label="first rank")
    y_true, y_score = [[1, 0, 0], [0, 0, 0]], [[2.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
    table = RankingHistogram.from_scores(y_true, y_score)
    assert_array_equal(metric(table), [0.5, np.nan])
    assert_array_equal(metric(table, [1, 2], 0.0, factor=2), [[1, 1], [0, 0]])
    assert_array_equal(np.transpose(metric.range(table))[0], [0, 0.5, 1])
    assert_allclose(metric.of_scores(y_true, y_score, None, 1, None, True, 0.0), 0.25)
