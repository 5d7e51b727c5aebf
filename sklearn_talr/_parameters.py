"""Parameters of estimators as fields: name, type and default are written once."""

from dataclasses import KW_ONLY as KW_ONLY
from dataclasses import dataclass
from typing import dataclass_transform

from ._types import Any


@dataclass_transform(eq_default=False)
def parameters(cls: Any) -> Any:
    """Decorate an estimator: its annotated attributes become parameters of ``__init__``.

    It is no dataclass to others: Ray, under dask, makes these anew of their fields, and
    dask tells them apart by their fields, where fitted attributes are what matters.
    """
    above = [vars(each)["_fields"] for each in cls.__mro__ if "_fields" in vars(each)]
    names = vars(cls).get("__annotations__", {})
    own = {name: vars(cls)[name] for name in names if name in vars(cls)}
    own |= {"__annotations__": names, "__module__": cls.__module__}
    cls._fields = dataclass(type(cls.__name__, tuple(above[:1]), own))
    cls.__init__ = cls._fields.__init__
    return cls
