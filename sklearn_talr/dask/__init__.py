"""Codes of databases that no single machine holds, block by block over dask.

Features are encoded, codes counted and searched in blocks, wherever the blocks are: in
threads, on the workers of a ``distributed.Client``, or under Ray by ``ray.util.dask``.
Tables of counts are added and lists of neighbors merged in a tree, so the results are those
of one machine. There is no scheduler here; the one that dask is set to use does the work.

Codes in blocks are a list of delayed :class:`~sklearn_talr.codes.PackedCodes`, one for each
block of rows, in order. :func:`encode` returns such a list, and so do a few lines of your
own that read files. dask keeps the blocks on the workers, ``codes = dask.persist(*codes)``,
and gathers them, ``concatenate_codes(dask.compute(*codes))``.

Needs dask (extra ``dask``), which is imported on first use.
"""

from ._blocks import encode, fit
from ._counting import hamming_histogram
from ._neighbors import index, kneighbors, radius_neighbors

__all__ = ["encode", "fit", "hamming_histogram", "index", "kneighbors", "radius_neighbors"]
