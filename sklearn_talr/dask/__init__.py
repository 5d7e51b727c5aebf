"""Codes of databases that do not fit on one machine, block by block with dask.

Features are encoded, and codes are counted and searched, block by block, where the blocks
are: in threads, on the workers of a ``distributed.Client``, or under Ray with
``ray.util.dask``. Tables of counts are added and lists of neighbors are merged in a tree,
so the results are the same as on one machine. dask's current scheduler does the work.

Codes in blocks are a list of delayed :class:`~sklearn_talr.codes.PackedCodes`, one for each
block of rows, in order. :func:`encode` returns such a list. You can also make one from
files in a few lines. ``codes = dask.persist(*codes)`` keeps the blocks on the workers, and
``concatenate_codes(dask.compute(*codes))`` gathers them.

Needs dask (extra ``dask``), which is imported on first use.
"""

from ._blocks import encode, fit
from ._counting import hamming_histogram
from ._neighbors import index, kneighbors, radius_neighbors

__all__ = ["encode", "fit", "hamming_histogram", "index", "kneighbors", "radius_neighbors"]
