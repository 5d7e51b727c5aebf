"""Names that other rooms take from this one, beyond the public ones."""

from ._families import adjust_holm, joint_p_values, null_ranges, tiers
from ._mean_interval import RESAMPLING, expanded_interval
from ._paired_test import TESTS
from ._replicates import ROUNDING
from ._strata import Strata, make_strata

__all__ = [
    "RESAMPLING",
    "ROUNDING",
    "TESTS",
    "Strata",
    "adjust_holm",
    "expanded_interval",
    "joint_p_values",
    "make_strata",
    "null_ranges",
    "tiers",
]
