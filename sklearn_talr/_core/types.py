"""Types of signatures, which other modules take from here.

Only type checkers import libraries that are heavy or optional.
"""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NewType, Self, TypeVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame
    from scipy.sparse import csr_array, sparray, spmatrix
    from torch import Tensor

    Rows = ArrayLike | sparray | spmatrix
else:
    DataFrame = Rows = Tensor = csr_array = Any
    # help() prints this name; numpy's own is a long union.
    ArrayLike = NewType("ArrayLike", object)
    ArrayLike.__module__ = "numpy.typing"

Array = NDArray[Any]
Floats = NDArray[np.float64]
Column = ArrayLike | None  # mostly one value per row
Count = int | None
Seed = int | RandomState | None
FilePath = str | PathLike[str]
Oracle = Callable[[Any, Any], Any]
Affinity = Oracle | Literal["auto"]
Function = TypeVar("Function", bound=Callable[..., Any])
