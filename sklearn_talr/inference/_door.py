"""Names that other rooms take from this one, beyond the public ones."""

from ._families import adjust_holm, joint_p_values, null_ranges, tiers
from ._intervals import bca_interval
from ._paired_test import TESTS
from ._replicates import ROUNDING
from ._strata import make_strata

__all__ = [
    "ROUNDING",
    "TESTS",
    "adjust_holm",
    "joint_p_values",
    "make_strata",
    "null_ranges",
    "bca_interval",
    "tiers",
]
