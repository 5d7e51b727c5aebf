"""Rivals that no library at hand has, from their definitions.

All round coordinates of a row to a few bits each. Where a budget has fewer bits than the
method would take for all coordinates, the first principal components are kept. OSQ is given
axes that are turned at random, by which it finds more. Rows are centered already, so that
there is one center, also for ASH. What is stored of an item besides its codes:

=========================  ======================================================
ASH                        nothing: its scale is the length of the centered row by
                           the length of the code, its offset a product with the
                           center. Rows have unit length, and the center is zero,
                           so that both are known
RaBitQ, ASH with a factor  one factor, float16
TurboQuant                 the length of the row, float16
OSQ                        both ends of the interval, float16. Lucene stores these
                           as floats, and two more corrections that follow from
                           codes, ends and center
principal components       nothing
=========================  ======================================================
"""

import numpy as np
from _rate_distortion import allocated_bits, principal_axes, test_channel
from _scalar_codes import (
    half_integer_codes,
    half_integers,
    interval_codes,
    interval_values,
    lloyd_max,
    nearest_levels,
    pack,
    unpack,
)
from _searches import by_cosine, by_product

N_PROCRUSTES = 20


class ScalarCodes:
    """Codes of some axes: coordinates are rounded to `width` bits each."""

    n_factors = 0
    searches = ("cosine", "product")

    def __init__(self, n_features, n_bytes, seed, width=None):
        self.n_bits = 8 * (n_bytes - 2 * self.n_factors)
        self.width, self.rng = width, np.random.default_rng(seed)
        if width is not None:
            self.widths = [width] * min(self.n_bits // width, n_features)

    def fit(self, X):
        axes = principal_axes(X)[1][:, : len(self.widths)]
        self.axes = axes @ random_rotation(len(self.widths), self.rng)

    def add(self, X):
        codes, factors = self.encode(X @ self.axes)
        self.codes, self.factors = pack(codes, self.widths), factors.astype(np.float16)

    @property
    def n_bytes(self):
        """What is stored of an item, factors included."""
        return self.codes.shape[1] + self.factors.nbytes // len(self.codes)

    def search(self, queries, n_neighbors):
        """Yield the names of searches, and what they found."""
        queries = queries @ self.axes
        decoded = self.decode(unpack(self.codes, self.widths))
        if "product" in self.searches:
            yield "product", by_product(queries, decoded, n_neighbors)
        yield "cosine", by_cosine(queries, decoded, n_neighbors)


class ASH(ScalarCodes):
    """Half-integers in the directions of rows, by axes that are turned for them."""

    searches = ("cosine",)

    def fit(self, X):
        axes = principal_axes(X)[1][:, : len(self.widths)]
        Z = X @ axes
        turn = random_rotation(len(self.widths), self.rng)
        for _ in range(N_PROCRUSTES):
            codes = half_integers(half_integer_codes(Z @ turn, self.width), self.width)
            codes /= np.linalg.norm(codes, axis=1, keepdims=True)
            left, _, right = np.linalg.svd(Z.T @ codes)
            turn = left @ right
        self.axes = axes @ turn

    def encode(self, Z):
        return half_integer_codes(Z, self.width), np.empty((len(Z), 0))

    def decode(self, codes):
        return half_integers(codes, self.width)


class RaBitQ(ScalarCodes):
    """The same codes by axes turned at random, and a factor for unbiased products."""

    n_factors = 1

    def encode(self, Z):
        codes = half_integer_codes(Z, self.width)
        products = (Z * half_integers(codes, self.width)).sum(axis=1, keepdims=True)
        return codes, (Z**2).sum(axis=1, keepdims=True) / products

    def decode(self, codes):
        return half_integers(codes, self.width) * self.factors.astype(np.float32)


class UnbiasedASH(ASH):
    """The axes of ASH, and the factor of RaBitQ: no engine has it, yet it is strong."""

    n_factors = 1
    searches = ("cosine", "product")
    encode, decode = RaBitQ.encode, RaBitQ.decode


class TurboQuant(ScalarCodes):
    """Levels that are best for normal numbers, by axes turned at random."""

    n_factors = 1

    def encode(self, Z):
        lengths = np.linalg.norm(Z, axis=1, keepdims=True)
        Z = Z / np.maximum(lengths, 1e-12) * np.sqrt(Z.shape[1])
        return nearest_levels(Z, lloyd_max(self.width)), lengths

    def decode(self, codes):
        return lloyd_max(self.width).astype(np.float32)[codes] * self.factors


class OSQ(ScalarCodes):
    """Equal steps of an interval that is found for each row, by axes turned at random."""

    n_factors = 2

    def encode(self, Z):
        return interval_codes(Z, self.width)

    def decode(self, codes):
        return interval_values(codes, self.factors, self.width)


class AllocatedComponents(ScalarCodes):
    """Principal components: each has bits by its variance, and the levels for these."""

    def fit(self, X):
        variances, axes = principal_axes(X)
        widths = allocated_bits(variances, self.n_bits)
        used = widths > 0
        self.widths, self.axes = widths[used], axes[:, used]
        deviations = np.sqrt(variances[used]).astype(np.float32)
        self.levels = [
            lloyd_max(int(width)).astype(np.float32) * deviation
            for width, deviation in zip(self.widths, deviations)
        ]

    def encode(self, Z):
        codes = [nearest_levels(z, levels) for z, levels in zip(Z.T, self.levels)]
        return np.stack(codes, axis=1), np.empty((len(Z), 0))

    def decode(self, codes):
        values = [levels[column] for column, levels in zip(codes.T, self.levels)]
        return np.stack(values, axis=1)


class GaussianReference:
    """No code: rows with the noise of the best code of normal rows with these variances."""

    def __init__(self, n_features, n_bytes, seed):
        self.n_bytes, self.rng = n_bytes, np.random.default_rng(seed)

    def fit(self, X):
        self.variances, self.axes = principal_axes(X)

    def add(self, X):
        Z = X @ self.axes
        self.decoded = test_channel(Z, self.variances, 8 * self.n_bytes, self.rng)

    def search(self, queries, n_neighbors):
        """Yield the name of the search, and what it found."""
        yield "cosine", by_cosine(queries @ self.axes, self.decoded, n_neighbors)


def random_rotation(n, rng):
    """Orthogonal matrix, drawn uniformly."""
    turn, triangle = np.linalg.qr(rng.normal(size=(n, n)))
    return (turn * np.sign(np.diag(triangle))).astype(np.float32)
