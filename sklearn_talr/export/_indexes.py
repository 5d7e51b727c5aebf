"""Codes as indexes of other libraries."""

import re
from numbers import Integral

from sklearn.utils._param_validation import Interval, validate_params

from ._checks import CODES_AND_IDS, check_codes, warn_of_repeats

__all__ = ["to_faiss", "to_usearch"]


@validate_params(
    {**CODES_AND_IDS, "description": [str]}, prefer_skip_nested_validation=True
)
def to_faiss(codes, description="BFlat", *, ids=None):
    """Build a binary index of faiss.

    Search it with ``index.search(pack_codes(queries).data, k)``.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes. They become little-endian bytes, as faiss expects. Codes whose length is
        no multiple of 8 are padded with zeros, which changes no distance.

    description : str, default="BFlat"
        Kind of index, as ``faiss.index_binary_factory`` takes it: "BFlat" compares with all
        codes, "BHash16" and "BHash4x16" are hash tables, "BIVF256" has 256 partitions, and
        "BHNSW32" is a graph with 32 links to a node.

    ids : array-like of shape (n_samples,) of int, default=None
        What the index returns for each code, such as ``neighbors.indices_``. None means 0,
        1, and so on.

    Returns
    -------
    index : faiss.IndexBinary
        The index, with all codes in it.

    Raises
    ------
    ValueError
        If `codes` are no codes, or `ids` are not different integers less than 2**63, one
        for each code.

    Warns
    -----
    UserWarning
        If a graph is asked for and more items share a code than a node has links.

    Notes
    -----
    faiss does not say how it orders ties. Its ``range_search(queries, r)`` finds distances
    *below* r.

    Examples
    --------
    >>> from sklearn_talr.codes import pack_codes
    >>> from sklearn_talr.export import to_faiss
    >>> index = to_faiss([[0, 0, 1], [1, 1, 1]])  # doctest: +SKIP
    >>> index.search(pack_codes([[1, 1, 0]]).data, 1)  # doctest: +SKIP
    (array([[1]], dtype=int32), array([[1]]))
    """
    import faiss

    packed, names = check_codes(codes, ids)
    n_links = re.match(r"BHNSW(\d+)", description)
    if n_links:
        warn_of_repeats(packed, int(n_links[1]))
    index = faiss.index_binary_factory(8 * packed.data.shape[1], description)
    if not index.is_trained:
        index.train(packed.data)
    if ids is None:
        index.add(packed.data)
        return index
    named = faiss.IndexBinaryIDMap2(index)
    named.add_with_ids(packed.data, names)
    return named


@validate_params(
    {**CODES_AND_IDS, "connectivity": [Interval(Integral, 1, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
def to_usearch(codes, *, ids=None, connectivity=16):
    """Build an index of usearch, which is a graph but can also be searched exactly.

    ``index.search(pack_codes(queries).data, k)`` searches by the graph and may miss some
    neighbors; with ``exact=True`` it compares with all codes.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes. They become little-endian bytes and are padded with zeros to whole bytes.

    ids : array-like of shape (n_samples,) of int, default=None
        Keys of the codes, not negative. None means 0, 1, and so on.

    connectivity : int, default=16
        Number of links of a node of the graph, at least 1.

    Returns
    -------
    index : usearch.index.Index
        The index, with all codes in it.

    Raises
    ------
    ValueError
        If `codes` are no codes, or `ids` are not different integers from 0 to 2**63 - 1,
        one for each code.

    Warns
    -----
    UserWarning
        If more items share a code than a node has links.

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

    packed, names = check_codes(codes, ids)
    if names.min() < 0:
        raise ValueError(f"ids must not be negative for usearch, got {names.min()}.")
    warn_of_repeats(packed, connectivity)
    n_bits = 8 * packed.data.shape[1]
    index = Index(ndim=n_bits, metric="hamming", dtype="b1", connectivity=connectivity)
    index.add(names, packed.data)
    return index
