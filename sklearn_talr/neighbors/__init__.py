"""Search by codes: a hasher with its index, the index alone, and rescoring by features."""

from ._bits_for_recall import BitsForRecall, n_bits_for_recall
from ._database import Ranking
from ._hamming_neighbors import HammingNeighbors, WeightedHammingNeighbors
from ._hashed_neighbors import HashedNeighbors
from ._item_ranker import ItemRanker
from ._maxsim_neighbors import MaxSimNeighbors
from ._rescoring import rescore
from ._search_backend import HashedSearchBackend

__all__ = [
    "BitsForRecall",
    "HammingNeighbors",
    "HashedNeighbors",
    "HashedSearchBackend",
    "ItemRanker",
    "MaxSimNeighbors",
    "Ranking",
    "WeightedHammingNeighbors",
    "n_bits_for_recall",
    "rescore",
]
