"""Parameters of estimators as fields: name, type and default are written once."""

import inspect
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
    bases = tuple(base._init_fields for base in cls.__bases__ if hasattr(base, "_init_fields"))
    # Since Python 3.14 annotations are evaluated on request and are not in the class's dict
    annotations = inspect.get_annotations(cls)
    namespace = {name: vars(cls)[name] for name in annotations if name in vars(cls)}
    namespace |= {"__annotations__": annotations, "__module__": cls.__module__}
    cls._init_fields = dataclass(type(cls.__name__, bases, namespace))
    cls.__init__ = _init_of(cls)
    return cls


def _init_of(cls):
    """The ``__init__`` of the fields, under the name of the class that users call."""
    init = cls._init_fields.__init__
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init
