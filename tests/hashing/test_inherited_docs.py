"""Descriptions that hashers take over from their parent, on every Python."""

import inspect

import pytest

from sklearn_talr.hashing._docs import describe_inherited

PARENT = """The parent.

    Parameters
    ----------
    first : int
        The first.

    second : int
        The second.

    Attributes
    ----------
    fitted_ : int
        What was fitted.

    See Also
    --------
    other : Another.
    """
CHILD = """The child.

    Parameters
    ----------
    second : float
        Its own second.

    Attributes
    ----------
    own_ : int
        Its own.

    Notes
    -----
    Text.
    """
WHOLE = """The child.

Parameters
----------
first : int
    The first.

second : float
    Its own second.

Attributes
----------
fitted_ : int
    What was fitted.

own_ : int
    Its own.

Notes
-----
Text."""


@pytest.mark.parametrize("dedent", [lambda doc: doc, inspect.cleandoc])
def test_docstrings_may_be_indented_or_not(dedent):
    """Python 3.13 stores them without indentation, and versions before with it."""

    class Parent:
        def __init__(self, first, second):
            """Set nothing."""

    class Child(Parent):
        pass

    Parent.__doc__, Child.__doc__ = dedent(PARENT), dedent(CHILD)
    assert inspect.getdoc(describe_inherited(Child)) == WHOLE
