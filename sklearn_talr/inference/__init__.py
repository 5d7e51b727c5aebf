"""Intervals and paired tests of means over queries."""

from ._intervals import mean_interval
from ._paired import PairedTest, n_queries_needed, paired_test

__all__ = ["PairedTest", "mean_interval", "n_queries_needed", "paired_test"]
