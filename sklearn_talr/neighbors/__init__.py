"""Search by Hamming distance: ranking, hash lookup, votes, and rescoring by features."""

from ._hamming_neighbors import HammingNeighbors

__all__ = ["HammingNeighbors"]
