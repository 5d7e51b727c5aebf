"""Codes of one small integer per coordinate: how rivals of 2024 to 2026 round a row.

Rows are arrays of coordinates, of any axes. Codes are integers from 0 to 2^b - 1.
"""

from functools import cache

import numpy as np
from scipy.special import ndtr, ndtri

# Halves of the interval that is best for so many bits of a normal distribution, in
# standard deviations: where the search for the interval of a row begins
_BEST_INTERVALS = {1: 0.798, 2: 1.493, 4: 2.514}
_ROWS_AT_ONCE = 2_000


@cache
def lloyd_max(n_bits, n_iter=3_000):
    """Levels that round a standard normal number with the least squared error.

    Lloyd's steps: boundaries halfway between levels, levels at the means between
    boundaries. They start from the levels that are best when there are many.
    """
    n_levels = 2**n_bits
    levels = np.sqrt(3) * ndtri((np.arange(n_levels) + 0.5) / n_levels)
    for _ in range(n_iter if n_bits else 0):
        edges = np.r_[-np.inf, (levels[1:] + levels[:-1]) / 2, np.inf]
        density = np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
        levels = -np.diff(density) / np.diff(ndtr(edges))
    return levels


@cache
def lloyd_max_error(n_bits):
    """Mean squared error of `lloyd_max`, in variances: that of the levels' own spread."""
    levels = lloyd_max(n_bits)
    edges = np.r_[-np.inf, (levels[1:] + levels[:-1]) / 2, np.inf]
    return 1 - np.diff(ndtr(edges)) @ levels**2


def nearest_levels(Z, levels):
    """Number of the level that is nearest to each number."""
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, Z).astype(np.uint8)


def half_integers(codes, n_bits):
    """Numbers that codes stand for: ..., -1/2, 1/2, 3/2, ..."""
    return codes.astype(np.float32) - (2**n_bits - 1) / 2


def half_integer_codes(Z, n_bits):
    """Codes of half-integers c with the highest <z, c> / |c|: exact, not a greedy search.

    A code that is best has the magnitudes of a scaled row, rounded down: a coordinate
    reaches its m-th step at the scale m / |z|. All scales are tried, in their order.
    """
    codes = [_of_part(part, n_bits) for part in _parts(Z)]
    return np.concatenate(codes)


def _parts(Z):
    return np.split(Z, range(_ROWS_AT_ONCE, len(Z), _ROWS_AT_ONCE))


def _of_part(Z, n_bits):
    half = 2 ** (n_bits - 1)
    size = np.abs(Z)
    magnitude = np.zeros(Z.shape, np.int64)
    if half > 1:
        steps = np.arange(1, half, dtype=Z.dtype)
        with np.errstate(divide="ignore"):
            scales = steps / size[:, :, None]
        best = _best_scales(size, steps, scales)
        magnitude = (scales <= best[:, None, None]).sum(axis=2)
    return np.where(Z > 0, half + magnitude, half - 1 - magnitude).astype(np.uint8)


def _best_scales(size, steps, scales):
    """Scale of each row after which <z, c> / |c| is highest; 0 for no step at all."""
    n, d = size.shape
    scales = scales.reshape(n, -1)
    order = np.argsort(scales, axis=1)
    sizes, steps = np.repeat(size, len(steps), axis=1), np.tile(steps, d)
    start = size.sum(axis=1, keepdims=True) / 2
    products = start + np.cumsum(np.take_along_axis(sizes, order, axis=1), axis=1)
    norms = np.sqrt(d / 4 + np.cumsum(2 * steps[order], axis=1))
    ratios = np.hstack([start / np.sqrt(d / 4), products / norms])
    ordered = np.take_along_axis(scales, order, axis=1)
    ordered = np.hstack([np.zeros((n, 1), size.dtype), ordered])
    return ordered[np.arange(n), ratios.argmax(axis=1)]


def interval_codes(Z, n_bits, anisotropy=0.1, n_iter=5):
    """Round each row to equal steps of an interval of its own, and return that interval.

    The loss is that of Lucene: (1 - t) (z . e)^2 / |z|^2 + t |e|^2 with the errors e of a
    row and t = 0.1, so that errors along the row count more. Codes and ends of the interval
    take turns, and a row keeps its interval when a turn does not lower its loss.
    """
    mean, deviation = Z.mean(axis=1), Z.std(axis=1)
    reach = _BEST_INTERVALS[n_bits] * deviation
    ends = np.stack([mean - reach, mean + reach], axis=1)
    ends = np.clip(ends, Z.min(axis=1, keepdims=True), Z.max(axis=1, keepdims=True))
    loss = _interval_loss(Z, ends, n_bits, anisotropy)
    for _ in range(n_iter):
        proposed = _better_ends(Z, ends, n_bits, anisotropy)
        new_loss = _interval_loss(Z, proposed, n_bits, anisotropy)
        better = new_loss < loss
        ends[better], loss[better] = proposed[better], new_loss[better]
    ends = ends.astype(np.float16)  # codes are rounded by what is stored
    return _steps_of(Z, ends.astype(Z.dtype), n_bits), ends


def interval_values(codes, ends, n_bits):
    """Numbers that codes stand for in the intervals of their rows."""
    low, high = ends.astype(np.float32).T[:, :, None]
    return low + (high - low) * codes / (2**n_bits - 1)


def _steps_of(Z, ends, n_bits):
    low, high = ends.T[:, :, None]
    width = np.maximum(high - low, np.finfo(Z.dtype).tiny)
    share = (np.clip(Z, low, high) - low) / width
    return np.rint(share * (2**n_bits - 1)).astype(np.uint8)


def _interval_loss(Z, ends, n_bits, anisotropy):
    error = Z - interval_values(_steps_of(Z, ends, n_bits), ends, n_bits)
    along = (Z * error).sum(axis=1) ** 2 / _squared_lengths(Z)
    return (1 - anisotropy) * along + anisotropy * (error**2).sum(axis=1)


def _better_ends(Z, ends, n_bits, anisotropy):
    """Ends with the least loss for the codes of the present ends: two linear equations."""
    high = _steps_of(Z, ends, n_bits) / np.float32(2**n_bits - 1)
    shares = np.stack([1 - high, high], axis=1)
    products = shares @ Z[:, :, None]
    along = products @ products.transpose(0, 2, 1) / _squared_lengths(Z)[:, None, None]
    moments = shares @ shares.transpose(0, 2, 1)
    ridge = 1e-6 * np.eye(2, dtype=Z.dtype)  # all codes may be the same
    matrix = (1 - anisotropy) * along + anisotropy * moments + ridge
    return np.linalg.solve(matrix, products)[:, :, 0]


def _squared_lengths(Z):
    return np.maximum((Z**2).sum(axis=1), np.finfo(Z.dtype).tiny)


def pack(codes, widths):
    """Codes of so many bits per column, without gaps: as many bytes as are stored."""
    bits = [codes[:, j, None] >> np.arange(width) & 1 for j, width in enumerate(widths)]
    return np.packbits(np.hstack(bits), axis=1)


def unpack(packed, widths):
    """Codes from the bytes of `pack`."""
    bits = np.unpackbits(packed, axis=1, count=sum(widths))
    columns = np.split(bits, np.cumsum(widths)[:-1], axis=1)
    codes = [part @ (1 << np.arange(part.shape[1])) for part in columns]
    return np.stack(codes, axis=1).astype(np.uint8)
