"""Codes as indexes of other libraries."""

import re
from numbers import Integral

import numpy as np

from .._core.compat import Interval, StrOptions
from .._core.types import Any, Column, Literal
from ._databases import check_codes, validate_export, warn_of_repeats

_BINARY = "BFlat"
_BITS_AT_ONCE = 4  # the fast scan of faiss has 16 centroids in a sub-quantizer
# The weight that lifts all scores. A table of a query of length 1 ranges over 4 at most, in
# 255 steps. The lift is at least one step, and never so much that it makes steps wider.
_LIFT = 1 / 64


@validate_export(
    description=[str],
    weighted=["boolean"],
    method=[StrOptions({"axes", "bits", "codebooks"})],
)
def to_faiss(
    codes: Any,
    description: str = _BINARY,
    *,
    ids: Column = None,
    weighted: bool = False,
    method: Literal["axes", "bits", "codebooks"] = "bits",
) -> Any:
    """Build an index of faiss, for queries that are codes or for weighted queries.

    Search the first kind with ``index.search(pack_codes(queries).data, k)``, and the second
    with ``index.search(hasher.query_weights(X), k)``.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. They become little-endian bytes, as
        faiss expects. Codes whose length is no multiple of 8 are padded with zeros, which
        changes no distance.

    description : str, default="BFlat"
        Kind of index, as ``faiss.index_binary_factory`` takes it: "BFlat" compares with all
        codes, "BHash16" and "BHash4x16" are hash tables, "BIVF256" has 256 partitions, and
        "BHNSW32" is a graph with 32 links to a node.

    ids : array-like of shape (n_samples,) of int, default=None
        What the index returns for each code. None means the ids of an index, or 0, 1, and
        so on.

    weighted : bool, default=False
        Whether to build an index for weighted queries. It compares with all codes and
        returns the highest scores: the weighted sums of
        :func:`~sklearn_talr.codes.weighted_scores`, over the length (the Euclidean norm)
        of the weights, to within the rounding of its tables. With
        ``method="codebooks"`` it returns the sums themselves.

    method : {"axes", "bits", "codebooks"}, default="bits"
        What has made the codes, as `method_` of
        :class:`~sklearn_talr.hashing.AdditiveHasher` tells it. Queries have a weight for
        each bit, or for each of the 256 values of a byte if there are codebooks.

    Returns
    -------
    index : faiss.IndexBinary or faiss.Index
        The index, with all codes in it.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends, `ids` are not different integers
        less than 2**63 and other than -1, one for each code, a `description` is given
        together with ``weighted=True``, or codebooks without it or for codes whose length
        is no multiple of 8.

    Warns
    -----
    UserWarning
        If a graph is asked for and more items share a code than a node has links.

    Notes
    -----
    faiss does not say how it orders ties. Its ``range_search(queries, r)`` finds distances
    *below* r.

    An index for weighted queries is an ``IndexPQFastScan`` whose 16 centroids per four bits
    are the corners of a cube, so that it is not trained and holds codes without any error.
    It finds as many items as it is asked for, if it has them, also where all weights are 0.
    It brings weights to length 1 in 32 bits, where lengths below 1e-18 or above 1e18
    become 0. faiss rounds its tables of the weights to 8 bits: fetch more than are wanted,
    and order these by exact scores.

    For codebooks the index is an ``IndexPQ`` whose 256 centroids of a word have
    one 1 each. Its scores are not rounded. It takes 256 KiB a word beside the codes.

    faiss adds up what words contribute, and multiplies no sum by a factor, which codes of
    :class:`~sklearn_talr.hashing.AdditiveHasher` have. For these a second stage is needed,
    so that the bits alone are indexed by intent::

        bits = PackedCodes(codes.data, codes.n_bits)
        index = to_faiss(bits, weighted=True, method=hasher.method_)
        _, found = index.search(weights, 100)
        for row, places in zip(weights, found):  # ids are places unless you gave others
            scores = weighted_scores([row], codes[places])[0]
            best = places[np.argsort(-scores, kind="stable")[:10]]

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.codes import pack_codes
    >>> from sklearn_talr.export import to_faiss
    >>> index = to_faiss([[0, 0, 1], [1, 1, 1]])  # doctest: +SKIP
    >>> index.search(pack_codes([[1, 1, 0]]).data, 1)  # doctest: +SKIP
    (array([[1]], dtype=int32), array([[1]]))

    Two codes that differ from the signs of a query in one bit each are tied by Hamming
    distance. The second differs where the query is less sure:

    >>> index = to_faiss([[0, 1, 1], [1, 0, 1]], weighted=True)  # doctest: +SKIP
    >>> index.search(np.array([[2, 0.5, 1]], np.float32), 1)[1]  # doctest: +SKIP
    array([[1]])
    """
    import faiss

    packed, names = check_codes(codes, ids, engine="faiss")
    if ids is None and np.array_equal(names, np.arange(len(names))):
        names = None  # they are those of faiss
    elif -1 in names:
        raise ValueError(
            "ids must not have -1 for faiss, which answers so where it finds nothing. Give "
            "that item another id."
        )
    if method == "codebooks" and (not weighted or packed.n_bits % 8):
        raise ValueError(
            f'method="codebooks" takes weighted=True, got {weighted}, and codes whose '
            f"length is a multiple of 8, got {packed.n_bits} bits."
        )
    if weighted:
        if description != _BINARY:
            raise ValueError(
                f"description={description!r} is a kind of binary index; leave it out with "
                "weighted=True, which makes one kind only."
            )
        make = _words_of_eight if method == "codebooks" else _fast_scan
        index = make(faiss, packed)
        named = faiss.IndexIDMap2(faiss.IndexFlatIP(index.d))
    else:
        n_links = re.match(r"BHNSW(\d+)", description)
        if n_links:
            warn_of_repeats(packed, int(n_links[1]))
        index = faiss.index_binary_factory(8 * packed.data.shape[1], description)
        if not index.is_trained:
            index.train(packed.data)
        index.add(packed.data)
        named = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(index.d))
    if names is None:
        return index
    named.index, named.ntotal = index, index.ntotal
    named.referenced_objects = [index]  # keeps it alive, as faiss's constructor does
    faiss.copy_array_to_vector(names, named.id_map)
    named.construct_rev_map()
    return named


def _words_of_eight(faiss, packed):
    """Product quantizer whose 256 centroids of a word have one 1 each, where its value is.

    So the product of a query with a centroid is one of its weights.
    """
    n_words = packed.data.shape[1]
    index = faiss.IndexPQ(256 * n_words, n_words, 8, faiss.METRIC_INNER_PRODUCT)
    centroids = np.tile(np.eye(256, dtype=np.float32), (n_words, 1))
    faiss.copy_array_to_vector(centroids.ravel(), index.pq.centroids)
    index.is_trained = True
    index.add_sa_codes(packed.data)
    return index


def _fast_scan(faiss, packed):
    """Product quantizer whose centroids are the corners of a cube, the signs of four bits.

    The bytes of codes are then the bytes of the quantizer, and nothing is encoded. One more
    word, of zeros, lifts all scores: faiss drops items whose rounded score is the lowest
    that its tables allow, and makes no table for a query whose weights are all 0.
    """
    n_words = -(-packed.n_bits // _BITS_AT_ONCE)
    values = np.arange(2**_BITS_AT_ONCE, dtype=np.uint8)[:, None]
    bits = np.unpackbits(values, axis=1, count=_BITS_AT_ONCE, bitorder="little")
    signs = 2 * bits.astype(np.float32) - 1
    n_weights, n_dims = packed.n_bits, (n_words + 1) * _BITS_AT_ONCE
    plain = faiss.IndexPQ(n_dims, n_words + 1, _BITS_AT_ONCE, faiss.METRIC_INNER_PRODUCT)
    lifting = np.zeros_like(signs)
    lifting[1:, 0] = -1  # lower than centroid 0, which all items have
    centroids = np.vstack((np.tile(signs, (n_words, 1)), lifting))
    faiss.copy_array_to_vector(centroids.ravel(), plain.pq.centroids)
    plain.is_trained = True
    codes = np.zeros((len(packed), plain.pq.code_size), dtype=np.uint8)
    codes[:, : packed.data.shape[1]] = packed.data
    plain.add_sa_codes(codes)
    index = faiss.IndexPQFastScan(plain)
    # What faiss does to a query: length 1, zeros where there is no weight, the lift.
    mean = np.zeros(n_dims, dtype=np.float32)
    mean[-_BITS_AT_ONCE] = -_LIFT  # faiss subtracts the mean
    lift = faiss.CenteringTransform(n_dims)
    faiss.copy_array_to_vector(mean, lift.mean)
    lift.is_trained = True
    places = np.where(np.arange(n_dims) < n_weights, np.arange(n_dims), -1).astype(np.int32)
    remap = faiss.RemapDimensionsTransform(n_weights, n_dims, faiss.swig_ptr(places))
    for transform in (lift, remap, faiss.NormalizationTransform(n_weights)):
        index = faiss.IndexPreTransform(transform, index)
    return index


@validate_export(connectivity=[Interval(Integral, 1, None, closed="left")])
def to_usearch(codes: Any, *, ids: Column = None, connectivity: int = 16) -> Any:
    """Build an index of usearch, which is a graph but can also be searched exactly.

    ``index.search(pack_codes(queries).data, k)`` searches by the graph and may miss some
    neighbors; with ``exact=True`` it compares with all codes.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. They become little-endian bytes and
        are padded with zeros to whole bytes.

    ids : array-like of shape (n_samples,) of int, default=None
        Keys of the codes, not negative. None means those of an index, or 0, 1, and so on.

    connectivity : int, default=16
        Number of links of a node of the graph, at least 1.

    Returns
    -------
    index : usearch.index.Index
        The index, with all codes in it.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends, or `ids` are not different
        integers from 0 to 2**63 - 1, one for each code.

    Warns
    -----
    UserWarning
        If more items share a code than a node has links.

    Notes
    -----
    Of a search of several queries, places beyond ``matches.counts`` hold key 0 and distance
    NaN. An index that usearch has saved and restored forgets ``expansion_search``, by which
    a graph finds more: set it again.

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

    packed, names = check_codes(codes, ids, engine="usearch")
    if names.min() < 0:
        raise ValueError(f"ids must not be negative for usearch, got {names.min()}.")
    warn_of_repeats(packed, connectivity)
    n_bits = 8 * packed.data.shape[1]
    index = Index(ndim=n_bits, metric="hamming", dtype="b1", connectivity=connectivity)
    index.add(names, packed.data)
    return index
