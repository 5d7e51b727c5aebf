"""The inner loop of counting: XOR, popcount, and one cell more, for a block of pairs.

Three kernels do it, all with the same parameters and the same result. `KERNELS` tells which
of them counts on which device.
"""

from functools import cache, partial
from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import gen_batches

# Pairs that SciPy counts in about the time numba takes to load and compile. Once so many
# have been counted in a process, it pays to assume that as many will follow.
_PAIRS_BEFORE_NUMBA = 1_000_000_000

# Pairs of one pass: its arrays stay in cache, and are small enough for the allocator to
# keep them, where larger ones would be fetched from the system for every block.
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
    """All three steps in one compiled loop, pair by pair."""
    counts = np.zeros((len(queries), n_cells), dtype=np.int64)
    _fused_loop()(queries, items, offsets, weights, counts)
    return counts


def count_with_scipy(queries, items, offsets, n_cells, weights):
    """Cells of a few queries by NumPy, then counted by SciPy.

    A sparse matrix may name a cell many times, and adds up what it has for it when it is
    made dense. That takes indices of 32 bits as they are, where `np.bincount` first makes
    64 bits of them and looks for the largest.
    """
    counts = np.empty((len(queries), n_cells), dtype=np.int64)
    # Arrays of a pass are made once: fresh ones would cost as much as the work in them.
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
    """All steps by torch on one of its devices."""
    import torch

    def tensor(array):  # the bits of words survive, a 64th becomes the sign
        return torch.from_numpy(array.astype(np.int64)).to(device)

    keys = tensor(offsets) + n_cells * torch.arange(len(queries), device=device)[:, None]
    for query_word, item_word in zip(tensor(queries).T, tensor(items).T):
        keys += _popcount(query_word[:, None] ^ item_word)
    if weights is not None:
        weights = tensor(weights).double().expand(len(queries), -1).ravel()
    counts = torch.bincount(keys.ravel(), weights, minlength=len(queries) * n_cells)
    return counts.long().cpu().numpy().reshape(len(queries), n_cells)


def _any_task():
    return True


def _numba_pays():
    return _counted_pairs > _PAIRS_BEFORE_NUMBA and numba_is_installed()


# Device by device, (condition, kernel): the first kernel whose condition holds counts.
# numba takes about a second to load, so it is used only where that has been paid for.
KERNELS = {
    "cpu": (
        (_numba_pays, count_with_numba),
        (_any_task, count_with_scipy),
    ),
    "cuda": ((_any_task, partial(count_on_device, device="cuda")),),
}


def _cuda_is_there():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def _matrix_of_pass(shape, n_cells, weights):
    """A sparse matrix with a row for each query, and an entry for each item in it."""
    n_queries, n_items = shape
    values = np.ones(n_items, dtype=np.int64) if weights is None else weights
    entries = (
        np.tile(values, n_queries),
        np.zeros(n_queries * n_items, dtype=np.int32),
        n_items * np.arange(n_queries + 1, dtype=np.int32),
    )
    return csr_array(entries, shape=(n_queries, n_cells))


def _popcount(words):
    """Bits set in 64-bit integers, summed in ever wider fields; torch has no popcount.

    The masks clear what an arithmetic shift copies from the sign.
    """
    pairs = words - ((words >> 1) & 0x5555555555555555)
    nibbles = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
    octets = (nibbles + (nibbles >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (octets * 0x0101010101010101) >> 56


@cache
def numba_is_installed():
    return find_spec("numba") is not None


@cache
def _fused_loop():
    """Compile the fused loop."""
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
