"""The inner loop of counting: XOR, popcount, and one cell more, for a block of pairs.

Four kernels do it, all with the same parameters and the same result. `KERNELS` tells which
of them counts on which device.
"""

import sys
from functools import cache, partial
from importlib.util import find_spec

import numpy as np

# Pairs that NumPy counts in about the time numba takes to load and compile. Once so many
# have been counted in a process, it pays to assume that as many will follow.
_PAIRS_BEFORE_NUMBA = 1_000_000_000

# Queries of one pass: few enough for 16-bit keys and for cells that stay in cache.
_QUERIES_PER_PASS = 32
_CELLS_PER_PASS = 16_384

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


def count_with_torch(queries, items, offsets, n_cells, weights):
    """Keys made by NumPy and counted by torch, in the 16 bits they have."""
    import torch

    def bincount(keys, weights, minlength):
        weights = None if weights is None else torch.from_numpy(weights)
        return torch.bincount(torch.from_numpy(keys), weights, minlength).numpy()

    return _count_keys(queries, items, offsets, n_cells, weights, bincount)


def count_with_numpy(queries, items, offsets, n_cells, weights):
    """Keys made and counted by NumPy, which first makes 64-bit ones of them."""
    return _count_keys(queries, items, offsets, n_cells, weights, np.bincount)


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


def _always():
    return True


def _torch_is_loaded():
    return sys.modules.get("torch") is not None


def _numba_pays():
    return _counted_pairs > _PAIRS_BEFORE_NUMBA and _numba_is_installed()


# Device by device, (condition, kernel): the first kernel whose condition holds counts.
# numba takes about a second to load, and importing torch takes longer than counting, so
# each is used on the CPU only where that has been paid for.
KERNELS = {
    "cpu": (
        (_numba_pays, count_with_numba),
        (_torch_is_loaded, count_with_torch),
        (_always, count_with_numpy),
    ),
    "cuda": ((_always, partial(count_on_device, device="cuda")),),
}


def _cuda_is_there():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def _count_keys(queries, items, offsets, n_cells, weights, bincount):
    """Make keys ``query * n_cells + offset + distance``, and count them pass by pass."""
    step = _queries_per_pass(n_cells)
    key_type = _key_type(step * n_cells)
    counts = np.empty((len(queries), n_cells), dtype=np.int64)
    # Arrays of a pass are made once: fresh ones would cost as much as the work in them.
    xor = np.empty((step, len(items)), dtype=items.dtype)
    popcount = np.empty(xor.shape, dtype=np.uint8)
    first_cell = np.arange(step, dtype=key_type)[:, None] * key_type(n_cells)
    shared = first_cell + offsets.astype(key_type) if len(offsets) == 1 else None
    keys = np.empty(xor.shape, dtype=key_type)
    if weights is not None:
        weights = np.tile(weights.astype(np.float64), step)  # exact up to 2 ** 53
    for start in range(0, len(queries), step):
        rows = slice(start, min(start + step, len(queries)))
        n = rows.stop - start
        if shared is None:
            np.add(first_cell[:n], offsets[rows], out=keys[:n], casting="unsafe")
        else:
            keys[:n] = shared[:n]
        for query_word, item_word in zip(queries[rows].T, items.T):
            np.bitwise_xor(query_word[:, None], item_word, out=xor[:n])
            np.bitwise_count(xor[:n], out=popcount[:n])
            keys[:n] += popcount[:n]
        of_pass = None if weights is None else weights[: n * len(items)]
        found = bincount(keys[:n].ravel(), of_pass, n * n_cells)
        counts[rows] = found.reshape(n, n_cells)
    return counts


def _popcount(words):
    """Bits set in 64-bit integers, summed in ever wider fields; torch has no popcount.

    The masks clear what an arithmetic shift copies from the sign.
    """
    pairs = words - ((words >> 1) & 0x5555555555555555)
    nibbles = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
    octets = (nibbles + (nibbles >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (octets * 0x0101010101010101) >> 56


def _queries_per_pass(n_cells):
    return min(max(_CELLS_PER_PASS // n_cells, 4), _QUERIES_PER_PASS)


def _key_type(n_keys):
    for key_type in (np.int16, np.int32):
        if n_keys <= np.iinfo(key_type).max:
            return key_type
    return np.int64


@cache
def _numba_is_installed():
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
