"""The table of counts[query, level, distance], which every metric reads.

For each query it says how many database items of each level of affinity lie at each Hamming
distance. Counts are exact integers. They are made block by block, so that memory stays
bounded whatever the number of queries times the number of database items is.
"""

from ._hamming import hamming_histogram
from ._histograms import HammingHistogram, RankingHistogram

__all__ = ["HammingHistogram", "RankingHistogram", "hamming_histogram"]
