"""Descriptions of parameters and attributes that a class takes over from its parent."""

import inspect
import re

_ENTRY = re.compile(r"^(?=\w+ : )", re.MULTILINE)


def describe_inherited(cls):
    """Class decorator: describe inherited parameters and attributes as the parent does.

    The docstring of the class describes its own parameters and attributes, and those that
    differ from its parent's. All others are added, parameters in the order of the
    signature. So ``help`` and Sphinx show every parameter, and none is written twice.
    """
    if cls.__doc__ is not None:  # python -OO
        # Python 3.13 takes the indentation off docstrings, and others leave it
        cls.__doc__ = inspect.cleandoc(cls.__doc__)
        names = list(inspect.signature(cls).parameters)
        cls.__doc__ = _completed(cls, "Parameters", names)
        cls.__doc__ = _completed(cls, "Attributes", None)
    return cls


def _completed(cls, title, names):
    """The docstring of a class with all entries of a section, of these names or of all."""
    inherited = inspect.cleandoc(cls.__bases__[0].__doc__)
    entries = _described(inherited, title) | _described(cls.__doc__, title)
    text = "\n\n".join(entries[name] for name in names or entries)
    start, end = _section(cls.__doc__, title)
    return f"{cls.__doc__[:start]}{text}{cls.__doc__[end:]}"


def _described(doc, title):
    """Entries of a section, a dict from the name of each parameter or attribute."""
    start, end = _section(doc, title)
    entries = _ENTRY.split(doc[start:end])[1:]
    return {entry.split(" : ")[0]: entry.rstrip() for entry in entries}


def _section(doc, title):
    """Where the text of a section starts, and where it ends."""
    head = f"{title}\n{'-' * len(title)}\n"
    start = doc.index(head) + len(head)
    return start, re.compile(r"\n\n[A-Z].*\n-+\n").search(doc, start).start()
