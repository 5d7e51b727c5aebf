"""Packed codes in blocks, and the blocks indexed for search where they are."""

from numbers import Integral

import numpy as np

from .._compat import Interval, StrOptions, validate_params
from ..codes import PackedCodes, pack_codes
from ..codes._packed import as_packed
from ..neighbors import HammingNeighbors
from ..neighbors._columns import Columns
from ..neighbors._fitted import Fitted
from ..neighbors._index import CodeIndex
from ..neighbors._store import CodeStore
from ..neighbors._targets import Targets
from ._blocks import checked_rows, import_dask, is_dask, row_blocks, row_bounds

__all__ = ["DaskCodes"]


class DaskCodes:
    """Packed codes whose bytes are a dask array, with their length and bit order.

    :func:`encode` and :meth:`pack` make them. Make one yourself from bytes in files, such
    as a ``.npy`` file that is memory-mapped, or Zarr.

    The first search indexes every block, on the worker that holds it, and later searches of
    the same object find the blocks indexed. The index is kept as long as this object is.

    Parameters
    ----------
    data : dask array of shape (n_samples, ceil(n_bits / 8)), dtype uint8
        The bytes, see :class:`~sklearn_talr.codes.PackedCodes`.

    n_bits : int
        Number of bits of a code, at least 1.

    bitorder : {"little", "big"}, default="little"
        Whether bit 0 of a code is the least or the most significant bit of byte 0.

    terms : dask array of shape (n_samples, 1) or (n_samples, 2), default=None
        What belongs to the codes of some hashers beside their bits. In the same blocks.

    Attributes
    ----------
    shape : tuple of int
        ``(n_samples, n_bits)``, the shape of the unpacked codes.

    Raises
    ------
    TypeError
        If `data` or `terms` is not a dask array.

    ValueError
        If `data` are not bytes, or not as many a row as `n_bits` take.

    Examples
    --------
    Four codes of three bits in two blocks:

    >>> import dask.array as da
    >>> from sklearn_talr.dask import DaskCodes
    >>> bits = da.from_array([[1, 0, 1], [0, 0, 1], [0, 1, 0], [1, 1, 1]], chunks=(2, 3))
    >>> codes = DaskCodes.pack(bits)
    >>> codes
    DaskCodes(n_samples=4, n_bits=3, bitorder='little', n_blocks=2)
    >>> codes.compute().data.ravel()
    array([5, 4, 2, 7], dtype=uint8)
    """

    @validate_params(
        {
            "data": "no_validation",
            "n_bits": [Interval(Integral, 1, None, closed="left")],
            "bitorder": [StrOptions({"little", "big"})],
            "terms": "no_validation",
        },
        prefer_skip_nested_validation=True,
    )
    def __init__(self, data, n_bits, bitorder="little", terms=None):
        self.data = checked_rows(data, "data")
        self.n_bits = int(n_bits)
        self.bitorder = bitorder
        self.terms = None if terms is None else checked_rows(terms, "terms")
        self._indexed = None
        n_bytes = -(-self.n_bits // 8)
        if self.data.dtype != np.uint8 or self.data.shape[1] != n_bytes:
            raise ValueError(
                f"data must hold the {n_bytes} bytes of {n_bits} bits in each row, "
                f"got {self.data.dtype} of shape {self.data.shape}. Pack bits by "
                "DaskCodes.pack."
            )

    @classmethod
    def pack(cls, bits):
        """Pack codes of zeros and ones, lazily.

        Parameters
        ----------
        bits : dask array of shape (n_samples, n_bits) of 0/1
            The codes.

        Returns
        -------
        codes : DaskCodes
            Codes in little bit order. Other entries than 0 and 1 raise an error when a
            block is computed.
        """
        bits = checked_rows(bits, "bits")
        n_bits = bits.shape[1]
        chunks = bits.chunks[0], (-(-n_bits // 8),)
        data = bits.map_blocks(_pack_block, dtype=np.uint8, chunks=chunks, meta=_NO_BYTES)
        return cls(data, n_bits)

    @property
    def shape(self):
        """Numbers of codes and bits; NaN codes where dask does not know the length."""
        return self.data.shape[0], self.n_bits

    def __len__(self):
        return len(self.data)

    def __repr__(self):
        return (
            f"DaskCodes(n_samples={self.shape[0]}, n_bits={self.n_bits}, "
            f"bitorder={self.bitorder!r}, n_blocks={self.data.numblocks[0]})"
        )

    def compute(self):
        """Gather the codes in memory, as :class:`~sklearn_talr.codes.PackedCodes`."""
        data, terms = import_dask().compute(self.data, self.terms)
        return PackedCodes(data, self.n_bits, self.bitorder, terms)

    def persist(self):
        """Compute the codes where they are, and keep them there.

        Returns
        -------
        codes : DaskCodes
            The same codes, computed or being computed.
        """
        data, terms = import_dask().persist(self.data, self.terms)
        return DaskCodes(data, self.n_bits, self.bitorder, terms)


_NO_BYTES = np.empty((0, 0), dtype=np.uint8)


def both_sides(query_codes, database_codes):
    """Packed queries in memory, and the database in blocks, of codes of one length.

    Parameters
    ----------
    query_codes : array-like of 0/1, PackedCodes, dask array of 0/1 or DaskCodes

    database_codes : dask array of 0/1, or DaskCodes

    Returns
    -------
    queries : PackedCodes
        In little bit order.

    database : DaskCodes
        With blocks of known length.
    """
    database = _in_blocks(database_codes, "database_codes")
    if row_bounds(database.data, "database_codes")[-1] == 0:
        raise ValueError(f"database_codes must hold at least one code, got {database}.")
    if isinstance(query_codes, DaskCodes) or is_dask(query_codes):
        query_codes = _in_blocks(query_codes, "query_codes").compute()
    queries = as_packed(query_codes, input_name="query_codes")
    if queries.n_bits != database.n_bits:
        raise ValueError(
            f"query_codes have {queries.n_bits} bits and database_codes {database.n_bits}; "
            "both must come from the same hash function."
        )
    return queries, database


def _in_blocks(codes, name):
    return (
        codes if isinstance(codes, DaskCodes) else DaskCodes.pack(checked_rows(codes, name))
    )


def code_blocks(codes):
    """Blocks that hold any codes, and where they begin and end.

    Returns
    -------
    blocks : list of Delayed
        Each a PackedCodes in little bit order, without terms.

    bounds : list of (int, int)
        First and last index of each, the last excluded.
    """
    make = import_dask().delayed(_little_codes)
    bounds = row_bounds(codes.data, "codes").tolist()
    pairs = [
        (make(block, codes.n_bits, codes.bitorder), (start, stop))
        for block, start, stop in zip(row_blocks(codes.data), bounds, bounds[1:])
        if stop > start
    ]
    return tuple(map(list, zip(*pairs)))


def indexed_blocks(codes):
    """Blocks indexed for search, kept on the workers: HammingNeighbors, delayed.

    The index belongs to the scheduler that made it. Under another one, or where the cluster
    has forgotten it, it is made again.
    """
    dask = import_dask()
    scheduler = dask.base.get_scheduler()
    if codes._indexed is None or not _is_alive(*codes._indexed, scheduler):
        blocks, bounds = code_blocks(codes)
        index = dask.delayed(_index_block)
        made = [index(block, start) for block, (start, _) in zip(blocks, bounds)]
        codes._indexed = dask.persist(*made), scheduler
    return codes._indexed[0]


def _pack_block(bits):
    if not len(bits):
        return np.empty((0, -(-bits.shape[1] // 8)), dtype=np.uint8)
    return pack_codes(bits).data


def _little_codes(data, n_bits, bitorder):
    return pack_codes(PackedCodes(data, n_bits, bitorder))


def _index_block(packed, first_index):
    """Neighbors that know a block by its global indices."""
    neighbors = HammingNeighbors()
    index = CodeIndex(CodeStore.from_codes(packed, first_index))
    neighbors._fitted = Fitted(index, Targets(), Columns(packed.n_bits))
    return neighbors


def _is_alive(indexed, scheduler, current):
    """Whether an index is at hand: by this scheduler, and not canceled with its cluster."""
    if scheduler != current:
        return False
    held = [future for block in indexed for future in dict(block.dask).values()]
    return not any(
        getattr(future, "status", None) in ("cancelled", "lost") for future in held
    )
