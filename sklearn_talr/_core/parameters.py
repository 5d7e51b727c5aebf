"""Parameters of estimators as fields: name, type and default are written once."""

import inspect
from dataclasses import KW_ONLY as KW_ONLY
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type[Any])


@dataclass_transform(eq_default=False)
def parameters(cls: Class) -> Class:
    """Decorate an estimator: its annotated attributes become parameters of ``__init__``.

    The class itself is no dataclass. Ray, under dask, would make dataclasses anew from
    their fields, and dask would compare them by their fields, without fitted attributes.
    """
    # From Python 3.14 on annotations are evaluated on request, and not in the class's dict.
    _add_fields(cls, inspect.get_annotations(cls))
    if not hasattr(cls, "_names_subclasses"):
        cls._names_subclasses = True
        cls.__init_subclass__ = classmethod(partial(_name_subclass, cls))
    return cls


def values_of_parameters(estimator: Any) -> dict[str, Any]:
    """Values of the parameters of an instance of a class that `parameters` has decorated.

    `get_params` lists the parameters of ``__init__``, of which a subclass may have fewer.
    Here are all that the decorated classes declare.
    """
    names = type(estimator)._init_fields.__dataclass_fields__
    return {name: getattr(estimator, name) for name in names}


def _add_fields(cls, annotations):
    """Give a class fields, its own and those of its bases, and an ``__init__`` of all."""
    bases = tuple(
        base._init_fields for base in cls.__bases__ if hasattr(base, "_init_fields")
    )
    namespace = {name: vars(cls)[name] for name in annotations if name in vars(cls)}
    namespace |= {"__annotations__": annotations, "__module__": cls.__module__}
    cls._init_fields = dataclass(type(cls.__name__, bases, namespace))
    cls.__init__ = cls._init_fields.__init__
    # Python's errors then name the class that the user has called.
    cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"


def _name_subclass(decorated, cls, **options):
    """Give a subclass that inherits ``__init__`` one of its own, which errors name."""
    super(decorated, cls).__init_subclass__(**options)
    if "__init__" not in vars(cls) and cls.__init__ is cls._init_fields.__init__:
        _add_fields(cls, {})
