"""Intervals and paired tests of means over queries."""

from ._mean_interval import mean_interval
from ._paired_test import PairedTest, paired_test
from ._power import n_queries_to_separate

__all__ = ["PairedTest", "mean_interval", "n_queries_to_separate", "paired_test"]
