"""Public functions of codes, tables and metrics check each of their parameters."""

import inspect

import reference

from sklearn_talr import codes, histogram, metrics


def public_functions():
    """Functions that users call, by their names."""
    for room in (codes, histogram, metrics):
        for name in room.__all__:
            if inspect.isfunction(getattr(room, name)):
                yield name, getattr(room, name)


def test_each_oracle_has_its_score_function():
    functions = {name for name in metrics.__all__ if name.startswith("tie_aware_")}
    assert functions == {f"tie_aware_{name}_score" for name in reference.METRICS}


def test_every_public_parameter_has_its_constraint():
    for name, function in public_functions():
        parameters = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            and parameter.name != "self"
        ]
        constraints = function._skl_parameter_constraints
        assert sorted(constraints) == sorted(parameters), name
