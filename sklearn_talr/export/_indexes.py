"""Indexes of other libraries, filled with codes."""

import re

from ._checks import check_codes, warn_of_repeats

__all__ = ["to_faiss", "to_usearch"]


def to_faiss(codes, description="BFlat", *, ids=None):
    """Build a binary index of faiss.

    Search it with ``index.search(to_bytes(queries), k)``.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes, packed little-endian, as faiss packs. Codes whose length is no multiple
        of 8 are padded with zeros, which changes no distance.

    description : str, default="BFlat"
        What ``faiss.index_binary_factory`` takes: "BFlat" compares with all codes,
        "BHash16" and "BHash4x16" are hash tables, "BIVF256" partitions, "BHNSW32" is a
        graph.

    ids : array-like of shape (n_samples,) of int, default=None
        What the index calls the codes, such as ``neighbors.indices_``. None means 0, 1,
        and so on.

    Returns
    -------
    index : faiss.IndexBinary
        The filled index.

    Warns
    -----
    UserWarning
        If a graph is asked for and more items share a code than a node has links.

    Notes
    -----
    faiss orders ties as it likes. Its ``range_search(queries, r)`` finds distances
    *below* r.

    Examples
    --------
    >>> from sklearn_talr.export import to_bytes, to_faiss
    >>> index = to_faiss([[0, 0, 1], [1, 1, 1]])  # doctest: +SKIP
    >>> index.search(to_bytes([[1, 1, 0]]), 1)  # doctest: +SKIP
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


def to_usearch(codes, *, ids=None, connectivity=16):
    """Build an index of usearch: a graph, which can also be searched exactly.

    Search it with ``index.search(to_bytes(queries), k, exact=True)``, or without
    ``exact=True`` by the graph.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes, packed little-endian and padded with zeros to whole bytes.

    ids : array-like of shape (n_samples,) of int, default=None
        Keys of the codes, not negative. None means 0, 1, and so on.

    connectivity : int, default=16
        Links of a node of the graph.

    Returns
    -------
    index : usearch.index.Index
        The filled index.

    Warns
    -----
    UserWarning
        If more items share a code than a node has links.

    Examples
    --------
    >>> from sklearn_talr.export import to_bytes, to_usearch
    >>> index = to_usearch([[0, 0, 1], [1, 1, 1]])  # doctest: +SKIP
    >>> index.search(to_bytes([[1, 1, 0]]), 1, exact=True).keys  # doctest: +SKIP
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
