"""Margins of learned tests: what passes, and that none is left over."""

from pathlib import Path

import learning
import pytest
from learning import Learned


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setattr(learning, "GAINS", {"test_it": {"test_a": 0.2}})
    monkeypatch.setattr(learning, "ERRORS", {"test_it": {"test_a: less": 0.2}})
    return {}


def test_half_of_a_gain_and_twice_an_error_are_the_bounds(asked):
    learned = Learned("test_it", "test_a", 0, asked.__setitem__)
    learned.gain(0.101)
    learned.error(0.399, "less")
    with pytest.raises(AssertionError):
        learned.gain(0.1)
    with pytest.raises(AssertionError):
        learned.error(0.4, "less")
    assert asked == {"test_it::test_a": 0.1, "test_it::test_a: less": 0.4}


@pytest.mark.parametrize("value", [float("nan"), -1.0])
def test_what_is_no_gain_fails(asked, value):
    with pytest.raises(AssertionError):
        Learned("test_it", "test_a", 0, asked.__setitem__).gain(value)


@pytest.mark.parametrize("measured", [learning.GAINS, learning.ERRORS])
def test_all_that_was_measured_is_asked_for(measured):
    for module, values in measured.items():
        (path,) = Path(__file__).parent.rglob(f"{module}.py")
        text = path.read_text(encoding="utf-8")
        for name, value in values.items():
            assert f"def {name.partition(':')[0]}(" in text
            assert value > 0


def test_the_fixture_marks_its_tests_and_holds_their_seed(request, learned):
    assert request.node.get_closest_marker("learned")
    assert learned.seed == request.config.getoption("--seed")
    assert (learned.module, learned.test) == (Path(__file__).stem, request.node.name)
