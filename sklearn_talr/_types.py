"""The words that signatures are annotated with, which other modules take from here.

Libraries that are heavy or optional are imported by type checkers only.
"""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from numpy.random import RandomState
from numpy.typing import ArrayLike, DTypeLike, NDArray

if TYPE_CHECKING:
    from pandas import DataFrame
    from scipy.sparse import csr_array, sparray, spmatrix
    from torch import Tensor

    Matrix = ArrayLike | sparray | spmatrix
else:
    DataFrame = Matrix = Tensor = csr_array = Any

FilePath = str | PathLike[str]
Array = NDArray[Any]
Oracle = Callable[[Any, Any], Any]
Affinity = Oracle | Literal["auto"]
Seed = int | RandomState | None
Function = TypeVar("Function", bound=Callable[..., Any])
