"""Intervals and paired tests of means over queries."""

from ._means import mean_interval
from ._tests import PairedTest, n_queries_to_separate, paired_test

__all__ = ["PairedTest", "mean_interval", "n_queries_to_separate", "paired_test"]
