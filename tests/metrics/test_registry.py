"""Public functions of codes, tables and metrics check each of their parameters."""

import inspect

import reference

from sklearn_talr import codes, histogram, metrics

TABLES = (histogram.RankingHistogram, histogram.HammingHistogram)  # check their own fields


def public_callables():
    """Functions, constructors and methods that users call, by their names."""
    for room in (codes, histogram, metrics):
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isfunction(thing):
                yield name, thing
            elif thing not in TABLES:
                for method, function in inspect.getmembers(thing, inspect.isroutine):
                    is_ours = method in vars(thing) and not method.startswith("_")
                    if is_ours or method == "__init__":
                        yield f"{name}.{method}", function


def test_each_oracle_has_its_score_function():
    functions = {name for name in metrics.__all__ if name.startswith("tie_aware_")}
    assert functions == {f"tie_aware_{name}_score" for name in reference.METRICS}


def test_every_public_parameter_has_its_constraint():
    for name, function in public_callables():
        if function is object.__init__:  # of codes that only hashers make
            continue
        parameters = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            and parameter.name != "self"
        ]
        constraints = function._skl_parameter_constraints
        assert sorted(constraints) == sorted(parameters), name
