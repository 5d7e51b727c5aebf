"""Parameters that hashers have in common: declared and described once."""

import functools
import inspect
import re

# One parameter of a numpydoc section: "name : type", then lines indented deeper.
_PARAMETER = re.compile(r"^(\w+) : (.*)\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
_ATTRIBUTES = "\nAttributes\n----------\n"
_EXAMPLE = """
>>> from sklearn.datasets import load_digits
>>> from sklearn_talr.baselines import {name}
>>> X, y = load_digits(return_X_y=True)
>>> hasher = {name}(n_bits=16, max_iter=10, random_state=0).fit(X[:900], y[:900])
>>> hasher.score(X[900:], y[900:]) > 0.6
True
"""


def inherits_parameters(source, names, **defaults):
    """Class decorator: add parameters of another estimator to those of `__init__`.

    Their constraints and descriptions are those of `source`; the latter go where the
    class's docstring says ``{inherited parameters}``, and the descriptions of its
    attributes where it says ``{inherited attributes}``. For ``{example}`` stands one that
    trains the class on digits.

    Parameters
    ----------
    source : estimator class
        Where they are declared.

    names : sequence of str
        Which parameters, in the order of the new signature.

    **defaults : dict
        Default values other than those of `source`.
    """

    def decorate(cls):
        params = inspect.signature(source).parameters
        inherited = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, params[name].default),
            )
            for name in names
        ]
        cls.__init__ = _extended_init(cls.__init__, inherited)
        cls._parameter_constraints = cls._parameter_constraints | {
            name: source._parameter_constraints[name] for name in names
        }
        if cls.__doc__:  # python -OO strips it
            # Cleaned, as Python 3.13 does by itself: indentation would differ.
            docs = map(inspect.cleandoc, (cls.__doc__, source.__doc__))
            example = _EXAMPLE.format(name=cls.__name__).strip()
            cls.__doc__ = _completed(*docs, inherited).replace("{example}", example)
        return cls

    return decorate


def _extended_init(own_init, inherited):
    own = inspect.signature(own_init)
    signature = own.replace(parameters=[*own.parameters.values(), *inherited])
    names = [parameter.name for parameter in inherited]

    @functools.wraps(own_init)
    def __init__(self, *args, **kwargs):  # noqa: N807
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        for name in names:
            setattr(self, name, given.arguments.pop(name))
        own_init(*given.args, **given.kwargs)

    __init__.__signature__ = signature
    return __init__


def _completed(doc, source_doc, inherited):
    params, attributes = source_doc.split(_ATTRIBUTES)
    attributes = attributes[: attributes.index("See Also\n")]
    doc = doc.replace("{inherited parameters}\n", _described(params, inherited))
    return doc.replace("{inherited attributes}\n\n", attributes)


def _described(section, inherited):
    """The entries of a section, with these default values."""
    entries = {name: entry for name, *entry in _PARAMETER.findall(section)}
    lines = []
    for parameter in inherited:
        kind, text = entries[parameter.name]
        kind = kind[: kind.rindex("default=")] + f"default={_shown(parameter.default)}"
        lines.append(f"{parameter.name} : {kind}\n{text.rstrip()}\n")
    return "\n".join(lines)


def _shown(default):
    return f'"{default}"' if isinstance(default, str) else repr(default)
