"""Hard counts[query, level, distance]: the table that every metric reads.

Counts are exact integers. They are made block by block, so that memory stays bounded
whatever the number of queries times the number of database items is.
"""

from ._hamming import hamming_histogram
from ._histograms import HammingHistogram, RankingHistogram

__all__ = ["HammingHistogram", "RankingHistogram", "hamming_histogram"]
