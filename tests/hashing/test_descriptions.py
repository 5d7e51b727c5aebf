"""Parameters are described with their defaults; shared ones are equal in all hashers."""

import inspect
import re

import pytest
from hashers import DISCRETE, name_of

from sklearn_talr import TALRHasher

DISCRETE_CLASSES = [type(hasher) for hasher in DISCRETE]
# Shared names that mean something else.
OTHER_THINGS = {"FastHasher": {"learning_rate"}, "BREHasher": {"max_iter"}}
OTHER_THINGS |= {"StructHasher": {"loss", "tol"}}


def entries(cls, section):
    """Type and description of each parameter or attribute, by name."""
    doc = inspect.getdoc(cls)  # on every Python without indentation
    text = re.split(r"\n\w[\w ]*\n-+\n", doc)
    titles = re.findall(r"\n(\w[\w ]*)\n-+\n", doc)
    body = dict(zip(titles, text[1:]))[section]
    parts = re.split(r"^(\w+(?:, \w+)*) : ", body, flags=re.MULTILINE)[1:]
    return {
        name: re.sub(r"\s+", " ", text.strip())
        for name, text in zip(parts[::2], parts[1::2])
    }


@pytest.mark.parametrize("cls", [TALRHasher, *DISCRETE_CLASSES], ids=name_of)
def test_every_parameter_is_described_with_its_default(cls):
    signature = inspect.signature(cls).parameters
    described = entries(cls, "Parameters")
    assert list(described) == list(signature)
    assert set(signature) == set(cls._parameter_constraints)
    for name, parameter in signature.items():
        default = re.search(r"default=(\([^)]*\)|\S+)", described[name])[1]
        assert eval(default) == parameter.default
    module = "sklearn_talr" if cls is TALRHasher else "sklearn_talr.baselines"
    assert f">>> from {module} import {cls.__name__}\n" in cls.__doc__


@pytest.mark.parametrize("cls", DISCRETE_CLASSES, ids=name_of)
def test_what_is_shared_with_talr_is_the_same(cls):
    """Defaults and constraints, but for what is stated above."""
    ours, theirs = (inspect.signature(c).parameters for c in (TALRHasher, cls))
    other = OTHER_THINGS.get(cls.__name__, set())
    names = [name for name in ours if name in theirs.keys() - other]
    expected = {name: ours[name].default for name in names}
    assert {name: theirs[name].default for name in names} == expected
    for name in names:
        found = list(map(str, cls._parameter_constraints[name]))
        assert found == list(map(str, TALRHasher._parameter_constraints[name]))
