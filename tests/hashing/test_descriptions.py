"""What hashers say of shared parameters and attributes is the same in all of them."""

import inspect
import re

import pytest
from hashers import DISCRETE, name_of

from sklearn_talr import TALRHasher

DISCRETE_CLASSES = [type(hasher) for hasher in DISCRETE]
# What a baseline says of a parameter or attribute in other words: one layer, other losses,
# and not by gradients.
OTHER_WORDS = {"coefs_", "intercepts_", "loss_curve_", "n_iter_", "random_state"}
# Shared names that mean something else.
OTHER_THINGS = {"FastHasher": {"learning_rate"}, "BREHasher": {"max_iter"}}
OTHER_THINGS |= {"StructHasher": {"tol"}}


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


def without_default(entry):
    return re.sub(r", default=(\([^)]*\)|\S+)", "", entry)


def shared(cls, section):
    ours, theirs = entries(TALRHasher, section), entries(cls, section)
    other = OTHER_WORDS | OTHER_THINGS.get(cls.__name__, set())
    return [
        (name, ours[name], theirs[name]) for name in ours if name in theirs.keys() - other
    ]


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


def check_words(cls):
    pairs = shared(cls, "Parameters")
    assert {"n_bits"} < {name for name, *_ in pairs}
    for name, ours, theirs in pairs:
        assert without_default(theirs) == without_default(ours), name
    pairs = shared(cls, "Attributes")
    assert {"n_features_in_", "feature_names_in_"} < {name for name, *_ in pairs}
    for name, ours, theirs in pairs:
        assert theirs == ours, name


@pytest.mark.parametrize("cls", DISCRETE_CLASSES, ids=name_of)
def test_what_is_shared_with_talr_is_the_same(cls):
    """Words, defaults and constraints, but for what is stated above."""
    check_words(cls)
    check_defaults_and_constraints(cls)


def check_defaults_and_constraints(cls):
    ours, theirs = (inspect.signature(c).parameters for c in (TALRHasher, cls))
    other = OTHER_THINGS.get(cls.__name__, set())
    names = [name for name in ours if name in theirs.keys() - other]
    expected = {name: ours[name].default for name in names}
    assert {name: theirs[name].default for name in names} == expected
    for name in names:
        found = list(map(str, cls._parameter_constraints[name]))
        assert found == list(map(str, TALRHasher._parameter_constraints[name]))


OWN_WORDS = {"tanh_scale", "bit_dropout", "weight_decay", "loss_curve_"}


@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
def test_descriptions_are_inherited(section):
    ours, theirs = (entries(cls, section) for cls in (TALRHasher, TALRHasher))
    assert ours.keys() - theirs.keys() <= {"measure", "simplified"}
    assert theirs.keys() - ours.keys() <= {"loss"}
    for name in ours.keys() & theirs.keys():
        assert (ours[name] == theirs[name]) == (name not in OWN_WORDS), name
