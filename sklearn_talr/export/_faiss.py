"""Codes as an index of faiss, for queries that are codes or for weighted queries."""

import re

import numpy as np

from .._core.compat import StrOptions
from .._core.types import Any, Column, Literal
from ._engine import read_items, refuse_text_ids, validate_export, warn_of_repeats

_BINARY = "BFlat"  # index of faiss that compares all codes
_N_VALUES = 256  # values of an 8-bit codeword
# The fast scan of faiss has 16 centroids in a sub-quantizer, one for each value of 4 bits.
_BITS_PER_QUANTIZER = 4
# The last dimension adds this weight to all scores. The table of a query of length 1 ranges
# over at most 4, in 255 steps. The weight is at least one step, and small enough not to
# make steps wider.
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

    Search an index for codes with ``index.search(pack_codes(queries).data, k)``, and an
    index for weighted queries with ``index.search(hasher.query_weights(X), k)``.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or an index such as HashedNeighbors. They become little-endian bytes, as
        faiss expects. Codes whose length is no multiple of 8 are padded with zeros, which
        changes no distance.

    description : str, default="BFlat"
        Kind of index, in the form that ``faiss.index_binary_factory`` takes: "BFlat"
        compares all codes, "BHash16" and "BHash4x16" are hash tables, "BIVF256" has 256
        partitions, and "BHNSW32" is a graph with 32 links per node.

    ids : array-like of shape (n_samples,) of int, default=None
        Numbers that the index returns for the codes. None means the ids of an index, or 0,
        1, and so on.

    weighted : bool, default=False
        Whether to build an index for weighted queries. It compares all codes and returns
        the highest scores. A score is the weighted sum of
        :func:`~sklearn_talr.codes.weighted_scores`, divided by the length (the Euclidean
        norm) of the weights, and rounded as Notes say. With ``method="codebooks"`` a score
        is the weighted sum itself.

    method : {"axes", "bits", "codebooks"}, default="bits"
        The method that made the codes, which is `method_` of
        :class:`~sklearn_talr.hashing.AdditiveHasher`. With codebooks a query has a weight
        for each of the 256 values of a byte, otherwise for each bit.

    Returns
    -------
    index : faiss.IndexBinary or faiss.Index
        The index, with all codes in it.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends; if `ids` are not distinct
        integers less than 2**63 and other than -1, one for each code; if a `description` is
        given together with ``weighted=True``; or if ``method="codebooks"`` is given without
        ``weighted=True`` or for codes whose length is no multiple of 8.

    Warns
    -----
    UserWarning
        If `description` names a graph and more items share a code than a node has links.

    Notes
    -----
    faiss does not document its order of ties. Its ``range_search(queries, r)`` returns the
    items at distances *below* r.

    An index for weighted queries is an ``IndexPQFastScan``. Its 16 centroids per four bits
    are the corners of a cube, so that it needs no training and holds codes without error.
    It returns as many items as asked for, if it has them, also if all weights are 0. faiss
    scales weights to length 1 in float32, and lengths below 1e-18 or above 1e18 become 0.
    It rounds the tables of a query to 8 bits: ask for more items than you need, and order
    them by exact scores.

    The index for codebooks is an ``IndexPQ`` whose 256 centroids per codeword are unit
    vectors. Its scores are not rounded. It takes 256 KiB per codeword beside the codes.

    faiss does not multiply scores by the factors of codes, which codes of
    :class:`~sklearn_talr.hashing.AdditiveHasher` have. Index the bits alone, and apply the
    factors in a second stage::

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

    Each of two codes differs in one bit from the signs of a query, so that their Hamming
    distances tie. The second code differs in the bit of the smaller weight:

    >>> index = to_faiss([[0, 1, 1], [1, 0, 1]], weighted=True)  # doctest: +SKIP
    >>> index.search(np.array([[2, 0.5, 1]], np.float32), 1)[1]  # doctest: +SKIP
    array([[1]])
    """
    import faiss

    items = read_items(codes, ids)
    refuse_text_ids(items, "faiss")
    packed = items.codes
    # Items that are numbered from 0 on have the ids that faiss gives them itself.
    has_own_ids = ids is not None or np.any(items.ids != np.arange(len(packed)))
    if has_own_ids and -1 in items.ids:
        raise ValueError(
            "ids must not have -1 for faiss, which returns -1 if it finds nothing. Give "
            "that item another id."
        )
    if method == "codebooks" and (not weighted or packed.n_bits % 8):
        raise ValueError(
            'method="codebooks" needs weighted=True and codes whose length is a multiple '
            f"of 8, got weighted={weighted} and {packed.n_bits} bits."
        )
    if weighted and description != _BINARY:
        raise ValueError(
            f"description={description!r} is a kind of binary index; leave it out with "
            "weighted=True, which makes one kind only."
        )
    if not weighted:
        index = _binary_index(faiss, packed, description)
        mapped = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(index.d))
    else:
        if method == "codebooks":
            index = _codebook_index(faiss, packed)
        else:
            index = _fast_scan_index(faiss, packed)
        mapped = faiss.IndexIDMap2(faiss.IndexFlatIP(index.d))
    if has_own_ids:
        return _with_ids(faiss, mapped, index, items.ids)
    return index


def _binary_index(faiss, packed, description):
    """An index for queries that are codes."""
    graph = re.match(r"BHNSW(\d+)", description)
    if graph:
        warn_of_repeats(packed, n_links=int(graph[1]))
    index = faiss.index_binary_factory(8 * packed.data.shape[1], description)
    if not index.is_trained:
        index.train(packed.data)
    index.add(packed.data)
    return index


def _with_ids(faiss, mapped, index, ids):
    """Put an index that holds its items into an empty index that maps places to ids.

    The constructor of faiss takes empty indexes only.
    """
    mapped.index = index
    mapped.ntotal = index.ntotal
    # The constructor of faiss keeps the inner index alive in the same way.
    mapped.referenced_objects = [index]
    faiss.copy_array_to_vector(ids, mapped.id_map)
    mapped.construct_rev_map()
    return mapped


def _codebook_index(faiss, packed):
    """A product quantizer whose 256 centroids per codeword are unit vectors.

    So the inner product of a query and a centroid is one of the query's weights.
    """
    n_words = packed.data.shape[1]
    n_dims = _N_VALUES * n_words
    index = faiss.IndexPQ(n_dims, n_words, 8, faiss.METRIC_INNER_PRODUCT)
    centroids = np.tile(np.eye(_N_VALUES, dtype=np.float32), (n_words, 1))
    faiss.copy_array_to_vector(centroids.ravel(), index.pq.centroids)
    index.is_trained = True
    index.add_sa_codes(packed.data)
    return index


def _fast_scan_index(faiss, packed):
    """A product quantizer whose centroids are the signs of four bits, with a fast scan.

    The bytes of codes are the bytes of the quantizer, so that nothing is encoded. One more
    sub-quantizer raises all scores by the same amount, because faiss drops items whose
    rounded score is the lowest that its tables allow, and makes no table for a query whose
    weights are all 0.
    """
    n_quantizers = -(-packed.n_bits // _BITS_PER_QUANTIZER) + 1
    n_dims = n_quantizers * _BITS_PER_QUANTIZER
    quantizer = faiss.IndexPQ(
        n_dims, n_quantizers, _BITS_PER_QUANTIZER, faiss.METRIC_INNER_PRODUCT
    )
    centroids = _sign_centroids(n_quantizers)
    faiss.copy_array_to_vector(centroids.ravel(), quantizer.pq.centroids)
    quantizer.is_trained = True
    codes = np.zeros((len(packed), quantizer.pq.code_size), dtype=np.uint8)
    codes[:, : packed.data.shape[1]] = packed.data
    quantizer.add_sa_codes(codes)
    index = faiss.IndexPQFastScan(quantizer)
    # faiss applies the last of these transformations to a query first.
    for transform in (
        _lift(faiss, n_dims),
        _padding(faiss, packed.n_bits, n_dims),
        faiss.NormalizationTransform(packed.n_bits),
    ):
        index = faiss.IndexPreTransform(transform, index)
    return index


def _sign_centroids(n_quantizers):
    """Centroids of four bits each, shape (16 * n_quantizers, 4), dtype float32.

    Items have 0 in the last sub-quantizer. Its other centroids are lower in the first
    dimension, so that the lift makes centroid 0 the best.
    """
    values = np.arange(2**_BITS_PER_QUANTIZER, dtype=np.uint8)[:, None]
    bits = np.unpackbits(values, axis=1, count=_BITS_PER_QUANTIZER, bitorder="little")
    signs = 2 * bits.astype(np.float32) - 1
    last = np.zeros_like(signs)
    last[1:, 0] = -1
    return np.vstack((np.tile(signs, (n_quantizers - 1, 1)), last))


def _lift(faiss, n_dims):
    """The transformation that sets the weight of the last sub-quantizer of a query."""
    mean = np.zeros(n_dims, dtype=np.float32)
    mean[-_BITS_PER_QUANTIZER] = -_LIFT  # faiss subtracts the mean
    transform = faiss.CenteringTransform(n_dims)
    faiss.copy_array_to_vector(mean, transform.mean)
    transform.is_trained = True
    return transform


def _padding(faiss, n_weights, n_dims):
    """The transformation that appends zeros to the weights of a query."""
    dims = np.arange(n_dims)
    sources = np.where(dims < n_weights, dims, -1).astype(np.int32)  # -1 stands for a zero
    return faiss.RemapDimensionsTransform(n_weights, n_dims, faiss.swig_ptr(sources))
