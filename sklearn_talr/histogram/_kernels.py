"""Count the pairs of a block of queries and items by their Hamming distance.

A kernel computes the distance of each pair (XOR of code words, popcount), and adds the pair
to the cell of that distance. Three kernels have the same parameters and the same result;
`KERNELS` tells which of them counts on which device.
"""

from functools import cache, partial
from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import gen_batches

# SciPy counts so many pairs in about the time that numba takes to load and compile. A
# process that has counted them is assumed to count as many again.
_PAIRS_BEFORE_NUMBA = 1_000_000_000

# Pairs of one pass of SciPy. The arrays of a pass stay in the processor's cache, and the
# allocator keeps them for the next block; it returns larger arrays to the system.
_PAIRS_PER_PASS = 2**15

_counted_pairs = 0


def count_block(queries, items, offsets, n_cells, weights=None, device="cpu"):
    """Count the pairs of a block by ``offset + distance``.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_words), unsigned
        Code words of the queries.

    items : ndarray of shape (n_items, n_words), same dtype
        Code words of the database items; a block that fits into cache.

    offsets : ndarray of shape (1, n_items) or (n_queries, n_items), unsigned
        First cell of each item, or of each pair.

    n_cells : int
        Number of cells of a query.

    weights : ndarray of shape (n_items,) of int64, default=None
        How often each item counts. None means once.

    device : {"cpu", "cuda"}, default="cpu"
        Where to count.

    Returns
    -------
    counts : ndarray of shape (n_queries, n_cells), int64
        ``counts[q, offsets[q, i] + distance(q, i)]`` sums ``weights[i]``.
    """
    global _counted_pairs
    _counted_pairs += len(queries) * len(items)
    count = next(kernel for condition, kernel in KERNELS[device] if condition())
    return count(queries, items, offsets, n_cells, weights)


def check_device(device):
    """Raise ValueError for a device that is not there."""
    if device == "cuda" and not _cuda_is_there():
        raise ValueError(
            "device='cuda' needs an installed PyTorch that finds a CUDA device, and there "
            "is none. Pass device='cpu'."
        )


def count_with_numba(queries, items, offsets, n_cells, weights):
    """Count the pairs of a block by a compiled loop over queries and items."""
    counts = np.zeros((len(queries), n_cells), dtype=np.int64)
    _fused_loop()(queries, items, offsets, weights, counts)
    return counts


def count_with_scipy(queries, items, offsets, n_cells, weights):
    """Count the pairs of a block by a sparse matrix of SciPy, a few queries at a time.

    NumPy computes the cell of each pair. A sparse matrix may have many entries in one cell,
    and adds them when it is made dense. It takes indices of 32 bits as they are, whereas
    `np.bincount` converts indices to 64 bits and searches for the largest.
    """
    counts = np.empty((len(queries), n_cells), dtype=np.int64)
    # The arrays are made once: new arrays in each pass would double its time.
    step = max(1, min(len(queries), _PAIRS_PER_PASS // max(1, len(items))))
    xor = np.empty((step, len(items)), dtype=items.dtype)
    popcount = np.empty(xor.shape, dtype=np.uint8)
    narrow = np.empty(xor.shape, dtype=np.min_scalar_type(max(n_cells, 2**8)))
    matrix = _matrix_of_pass(xor.shape, n_cells, weights)
    cells = matrix.indices.reshape(xor.shape)
    for rows in gen_batches(len(queries), step):
        n = rows.stop - rows.start
        cell = offsets if len(offsets) == 1 else offsets[rows]
        cell = cell.astype(narrow.dtype, copy=False)
        for query_word, item_word in zip(queries[rows].T, items.T):
            np.bitwise_xor(query_word[:, None], item_word, out=xor[:n])
            np.bitwise_count(xor[:n], out=popcount[:n])
            cell = np.add(cell, popcount[:n], out=narrow[:n])
        cells[:n] = cell
        counts[rows] = matrix.toarray()[:n]  # the last pass may have rows of the one before
    return counts


def count_on_device(queries, items, offsets, n_cells, weights, device):
    """Count the pairs of a block by torch on one of its devices."""
    import torch

    def tensor(array):  # keeps the bits of words; the 64th bit becomes the sign
        return torch.from_numpy(array.astype(np.int64)).to(device)

    keys = tensor(offsets) + n_cells * torch.arange(len(queries), device=device)[:, None]
    for query_word, item_word in zip(tensor(queries).T, tensor(items).T):
        keys += _popcount(query_word[:, None] ^ item_word)
    if weights is not None:
        weights = tensor(weights).double().expand(len(queries), -1).ravel()
    counts = torch.bincount(keys.ravel(), weights, minlength=len(queries) * n_cells)
    return counts.long().cpu().numpy().reshape(len(queries), n_cells)


def _any_task():
    """Whether the kernel suits: always."""
    return True


def _numba_pays():
    """Whether so many pairs have been counted that loading numba is worth its time."""
    return _counted_pairs > _PAIRS_BEFORE_NUMBA and numba_is_installed()


# Conditions and kernels of each device; the first kernel whose condition holds counts.
KERNELS = {
    "cpu": (
        (_numba_pays, count_with_numba),
        (_any_task, count_with_scipy),
    ),
    "cuda": ((_any_task, partial(count_on_device, device="cuda")),),
}


def _cuda_is_there():
    """Whether torch is installed and finds a CUDA device."""
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def _matrix_of_pass(shape, n_cells, weights):
    """Return a sparse matrix of a pass: a row for each query, an entry for each item."""
    n_queries, n_items = shape
    values = np.ones(n_items, dtype=np.int64) if weights is None else weights
    entries = (
        np.tile(values, n_queries),
        np.zeros(n_queries * n_items, dtype=np.int32),
        n_items * np.arange(n_queries + 1, dtype=np.int32),
    )
    return csr_array(entries, shape=(n_queries, n_cells))


def _popcount(words):
    """Count the bits that are set in 64-bit integers, for which torch has no function.

    Counts are summed in fields of 2, 4, 8 and 64 bits. The masks clear the copies of the
    sign that an arithmetic shift makes.
    """
    pairs = words - ((words >> 1) & 0x5555555555555555)
    nibbles = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
    octets = (nibbles + (nibbles >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (octets * 0x0101010101010101) >> 56


@cache
def numba_is_installed():
    """Whether numba can be imported."""
    return find_spec("numba") is not None


@cache
def _fused_loop():
    """Compile the loop that computes distances and counts them."""
    from numba import njit
    from numba.extending import intrinsic

    @intrinsic
    def popcount(context, word):
        return word(word), lambda _, builder, __, words: builder.ctpop(words[0])

    @njit(nogil=True)
    def count(queries, items, offsets, weights, counts):
        n_items, n_words = items.shape
        for q in range(len(queries)):
            first = offsets[0] if len(offsets) == 1 else offsets[q]
            row = counts[q]
            if n_words == 1:
                word = queries[q, 0]
                for i in range(n_items):
                    cell = first[i] + popcount(word ^ items[i, 0])
                    row[cell] += 1 if weights is None else weights[i]
            else:
                for i in range(n_items):
                    cell = np.uint64(first[i])
                    for w in range(n_words):
                        cell += np.uint64(popcount(queries[q, w] ^ items[i, w]))
                    row[cell] += 1 if weights is None else weights[i]

    return count
