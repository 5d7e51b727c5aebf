"""Codes of databases that no single machine holds, over the blocks of dask arrays.

Features are encoded, codes counted and searched block by block, wherever the blocks are:
in threads, on the workers of a ``distributed.Client``, or under Ray by ``ray.util.dask``.
Tables of counts are added and lists of neighbors merged in a tree, so the results are those
of one machine. There is no scheduler here; the one that dask is set to use does the work.

Needs dask (extra ``dask``), which is imported on first use.
"""

from ._codes import DaskCodes
from ._counting import hamming_histogram
from ._encoding import encode
from ._sampling import fit
from ._search import kneighbors, radius_neighbors

__all__ = [
    "DaskCodes",
    "encode",
    "fit",
    "hamming_histogram",
    "kneighbors",
    "radius_neighbors",
]
