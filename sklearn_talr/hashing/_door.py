"""Names that other rooms take from this one, beyond the public ones."""

from ._base import BaseHasher, Encoder, check_features
from ._projections import PROJECTIONS
from ._rows import all_rows_equal, mean_and_unit

__all__ = [
    "PROJECTIONS",
    "BaseHasher",
    "Encoder",
    "all_rows_equal",
    "check_features",
    "mean_and_unit",
]
