"""What is written out for each baseline is what is written for TALRHasher."""

import inspect
import re

import pytest
from hashers import DISCRETE, PAIR_HASHERS, TRAINED_BASELINES, name_of

from sklearn_talr import TALRHasher
from sklearn_talr.baselines import HashNetHasher, MIHasher
from sklearn_talr.hashing.gradient._hasher import GradientHasher

DISCRETE_CLASSES = [type(hasher) for hasher in DISCRETE]
BASELINES = [*TRAINED_BASELINES, *DISCRETE_CLASSES]

OTHER_DEFAULTS = {
    "DPSHHasher": {"weight_decay": 0.1},
    "DSHHasher": {"bit_dropout": 0.0},
    "DTSHHasher": {"weight_decay": 0.1},
    "HashNetHasher": {"tanh_scale": (1.0, 8.0)},
    "MIHasher": {"tanh_scale": (1.0, 8.0)},
    "OrthoHasher": {"weight_decay": 2.0},
}
# What a baseline says of a parameter or attribute in other words than TALRHasher.
OF_ANY_LOSS = frozenset({"loss_curve_", "validation_scores_"})
OF_STEEPER_TANH = frozenset({"tanh_scale", "warm_start"})
# One layer, other losses, and not by gradients.
DISCRETE_WORDS = frozenset(
    {"coefs_", "intercepts_", "loss_curve_", "n_iter_", "random_state"}
)
OTHER_WORDS = {
    **dict.fromkeys(TRAINED_BASELINES, OF_ANY_LOSS),
    **dict.fromkeys([HashNetHasher, MIHasher], OF_ANY_LOSS | OF_STEEPER_TANH),
    **dict.fromkeys(DISCRETE_CLASSES, DISCRETE_WORDS),
}
# Shared names that mean something else.
OTHER_THINGS = {"FastHasher": {"learning_rate"}, "BREHasher": {"max_iter"}}
OTHER_THINGS |= {"StructHasher": {"tol"}}


def entries(cls, section):
    """Type and description of each parameter or attribute, by name."""
    text = re.split(r"\n    \w[\w ]*\n    -+\n", cls.__doc__)
    titles = re.findall(r"\n    (\w[\w ]*)\n    -+\n", cls.__doc__)
    body = dict(zip(titles, text[1:]))[section]
    parts = re.split(r"^    (\w+(?:, \w+)*) : ", body, flags=re.MULTILINE)[1:]
    return {
        name: re.sub(r"\s+", " ", text.strip())
        for name, text in zip(parts[::2], parts[1::2])
    }


def without_default(entry):
    return re.sub(r", default=(\([^)]*\)|\S+)", "", entry)


def shared(cls, section):
    ours, theirs = entries(TALRHasher, section), entries(cls, section)
    other = OTHER_WORDS[cls] | OTHER_THINGS.get(cls.__name__, set())
    return [
        (name, ours[name], theirs[name]) for name in ours if name in theirs.keys() - other
    ]


@pytest.mark.parametrize("cls", [TALRHasher, *BASELINES], ids=name_of)
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


def test_what_baselines_say_in_other_words_they_say_in_the_same():
    for name in OF_ANY_LOSS:
        assert len({entries(cls, "Attributes")[name] for cls in TRAINED_BASELINES}) == 1
    for name in OF_STEEPER_TANH:
        both = {entries(cls, "Parameters")[name] for cls in (HashNetHasher, MIHasher)}
        assert len(both) == 1


@pytest.mark.parametrize("cls", BASELINES, ids=name_of)
def test_what_is_shared_with_talr_is_the_same(cls):
    """Words, defaults and constraints, but for what is stated above."""
    check_words(cls)
    check_defaults_and_constraints(cls)


def check_defaults_and_constraints(cls):
    ours, theirs = (inspect.signature(c).parameters for c in (TALRHasher, cls))
    other = OTHER_THINGS.get(cls.__name__, set())
    names = [name for name in ours if name in theirs.keys() - other]
    expected = {name: ours[name].default for name in names}
    expected |= OTHER_DEFAULTS.get(cls.__name__, {})
    assert {name: theirs[name].default for name in names} == expected
    for name in names:
        found = list(map(str, cls._parameter_constraints[name]))
        wanted = list(map(str, TALRHasher._parameter_constraints[name]))
        if name == "tanh_scale" and cls in (HashNetHasher, MIHasher):
            wanted[-1] = "array-like"  # in place of "auto"
        assert found == wanted


def test_trained_baselines_have_all_parameters_of_a_fit_by_gradients():
    for cls in TRAINED_BASELINES:
        theirs = cls._parameter_constraints.keys()
        assert GradientHasher._parameter_constraints.keys() <= theirs
        own = theirs - TALRHasher._parameter_constraints.keys()
        assert own <= {"margin", "quantization_weight", "cosine_scale"}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_methods_of_pair_hashers_take_and_raise_the_same(method):
    texts = {
        inspect.getdoc(getattr(cls, method)).partition("Parameters\n")[2]
        for cls in PAIR_HASHERS
    }
    assert len(texts) == 1
    assert len({str(inspect.signature(getattr(cls, method))) for cls in PAIR_HASHERS}) == 1
