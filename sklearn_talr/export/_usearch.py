"""Codes as an index of usearch."""

from numbers import Integral

from .._core.compat import Interval
from .._core.types import Any, Column
from ._engine import read_items, refuse_text_ids, validate_export, warn_of_repeats


@validate_export(connectivity=[Interval(Integral, 1, None, closed="left")])
def to_usearch(codes: Any, *, ids: Column = None, connectivity: int = 16) -> Any:
    """Build an index of usearch, which is a graph but can also compare all codes.

    ``index.search(pack_codes(queries).data, k)`` searches the graph and may miss some
    neighbors. With ``exact=True`` it compares all codes.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. They become little-endian bytes and
        are padded with zeros to whole bytes.

    ids : array-like of shape (n_samples,) of int, default=None
        Keys of the codes, not negative. None means the ids of an index, or 0, 1, and so on.

    connectivity : int, default=16
        Number of links of a node of the graph, at least 1.

    Returns
    -------
    index : usearch.index.Index
        The index, with all codes in it.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends, or if `ids` are not distinct
        integers from 0 to 2**63 - 1, one for each code.

    Warns
    -----
    UserWarning
        If more items share a code than a node has links.

    Notes
    -----
    usearch does not document its order of ties. If a search of several queries finds fewer
    items than asked for, then the places beyond ``matches.counts`` hold key 0 and distance
    NaN. An index that usearch has saved and restored loses its setting
    ``expansion_search``, which raises the recall of a graph: set it again.

    Examples
    --------
    >>> from sklearn_talr.codes import pack_codes
    >>> from sklearn_talr.export import to_usearch
    >>> index = to_usearch([[0, 0, 1], [1, 1, 1]])  # doctest: +SKIP
    >>> query = pack_codes([[1, 1, 0]]).data
    >>> index.search(query, 1, exact=True).keys  # doctest: +SKIP
    array([1], dtype=uint64)
    """
    from usearch.index import Index

    items = read_items(codes, ids)
    refuse_text_ids(items, "usearch")
    if items.ids.min() < 0:
        raise ValueError(
            f"ids must not be negative for usearch, got {items.ids.min()}. Number the "
            "codes with ids=range(n), and keep your own ids beside them."
        )
    warn_of_repeats(items.codes, n_links=connectivity)
    n_bits = 8 * items.codes.data.shape[1]
    index = Index(ndim=n_bits, metric="hamming", dtype="b1", connectivity=connectivity)
    index.add(items.ids, items.codes.data)
    return index
