"""Parameters of estimators as fields: name, type and default are written once."""

from dataclasses import KW_ONLY as KW_ONLY
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type[Any])


@dataclass_transform(eq_default=False)
def parameters(cls: Class) -> Class:
    """Decorate an estimator: its annotated attributes become parameters of ``__init__``.

    It is no dataclass to others: Ray, under dask, makes these anew of their fields, and
    dask tells them apart by their fields, where fitted attributes are what matters.
    """
    above = (each._init_fields for each in cls.__bases__ if hasattr(each, "_init_fields"))
    names = vars(cls).get("__annotations__", {})
    own = {name: vars(cls)[name] for name in names if name in vars(cls)}
    own |= {"__annotations__": names, "__module__": cls.__module__}
    cls._init_fields = dataclass(type(cls.__name__, tuple(above), own))
    cls.__init__ = cls._init_fields.__init__
    return cls
