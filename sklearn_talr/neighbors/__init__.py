"""Search by Hamming distance: ranking, hash lookup, votes, and rescoring by features."""

from ._hamming_neighbors import HammingNeighbors
from ._rescoring import rescore
from ._results import Lookup, Ranking

__all__ = ["HammingNeighbors", "Lookup", "Ranking", "rescore"]
