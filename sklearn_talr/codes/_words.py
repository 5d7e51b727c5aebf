"""Words of codes, and the weights that a query has for them.

A word is a run of consecutive bits: one, four or eight. The score of a word is a sum over
the products of its signs, 1 for a one and -1 for a zero: of each sign alone, of each pair,
and so on. A word of four bits has 15 products, which tell its 16 values apart, so that a
query may give each value any score. Where the number of bits is no multiple of the size,
the last word has the bits that are left.

A query has one weight for each product. The weights of single bits come first, in the
order of the bits. Those of two or more bits follow word by word. A product has a number,
whose ones are its bits, bit 0 of the word being worth 1. Within a word these numbers
ascend. For two words of four bits:

=================  =========================================================
weights            products
=================  =========================================================
0 to 7             bit 0, bit 1, ..., bit 7
8 to 18            bits 0 and 1 (number 3), 0 and 2 (5), 1 and 2 (6),
                   0, 1 and 2 (7), 0 and 3 (9), ..., all four (15)
19 to 29           the same of the second word, bits 4 to 7
=================  =========================================================

The number of weights tells the size of the words, so that codes need not know it.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

_SIZES = 1, 4, 8


class Words(NamedTuple):
    """The words of codes, and what a query has a weight for.

    Parameters
    ----------
    n_bits : int
        Length of the codes.

    size : {1, 4, 8}
        Bits of a word.
    """

    n_bits: int
    size: int

    @classmethod
    def of_weights(cls, n_bits, n_weights, input_name="query_weights"):
        """The words that queries with so many weights have of codes of so many bits.

        Raises ValueError, which calls the weights by `input_name`, where there are none.
        """
        for size in _SIZES:
            if cls(n_bits, size).n_weights == n_weights:
                return cls(n_bits, size)
        raise ValueError(
            f"{input_name} has {n_weights} columns. {cls.describe_weights(n_bits)} Both "
            "must come from the same hash function."
        )

    @classmethod
    def describe_weights(cls, n_bits):
        """Say how many weights codes of so many bits may be asked by."""
        single, *longer = sorted({cls(n_bits, size).n_weights for size in _SIZES})
        longer = " or ".join(map(str, longer))
        longer = longer and f", or by {longer} where these are for words of several bits"
        return f"Codes of {n_bits} bits are asked by {single} weights{longer}."

    @property
    def n_weights(self):
        """Number of weights of a query, one for each product."""
        n_whole, n_left = divmod(self.n_bits, self.size)
        return n_whole * (2**self.size - 1) + 2**n_left - 1

    def places(self):
        """Where the weights of each word are, by ascending numbers of their products.

        Returns
        -------
        places : list of ndarray of shape (2 ** n_bits_of_word - 1,)
            Entry m - 1 is for the product of the bits that are ones in m.
        """
        first, places = self.n_bits, []
        for start in range(0, self.n_bits, self.size):
            n_bits = min(self.size, self.n_bits - start)
            of_word, longer = np.empty(2**n_bits - 1, dtype=np.intp), _longer(n_bits)
            of_word[2 ** np.arange(n_bits) - 1] = start + np.arange(n_bits)
            of_word[longer - 1] = first + np.arange(len(longer))
            places.append(of_word)
            first += len(longer)
        return places

    def products(self, data):
        """Products of packed codes in little bit order, in the order of the weights.

        Returns
        -------
        products : ndarray of shape (n_codes, n_weights), dtype float32
            Each 1 or -1.
        """
        products = _products_of_a_byte(self.size)[data].reshape(len(data), -1)
        return products.take(_weight_columns(self), axis=1)

    def spread(self, weights, n_bytes):
        """Weights laid out for scores: words have as many columns as they have values.

        Parameters
        ----------
        weights : ndarray of shape (n_queries, n_weights)

        n_bytes : int
            Bytes of a code, among them any that fill a machine's word.

        Returns
        -------
        spread : ndarray of shape (n_queries, n_bytes * columns_of_a_byte)
            A byte has 8 columns for its bits; 32 for its two words of four bits, or 256 for
            its word of eight, those of the numbers of the products, of which number 0 has
            none. Columns without a weight are 0.
        """
        n_columns = n_bytes * columns_of_a_byte(self.size)
        spread = np.zeros((len(weights), n_columns), dtype=weights.dtype)
        spread[:, _weight_columns(self)] = weights
        return spread


def columns_of_a_byte(size):
    """Columns of spread weights for a byte with words of `size` bits."""
    return 8 if size == 1 else 8 // size * 2**size


def size_of_words(spread, n_bytes):
    """Size of the words that spread weights are for."""
    n_columns = spread.shape[1] // n_bytes
    return next(size for size in _SIZES if columns_of_a_byte(size) == n_columns)


def signs_of_bits(spread, n_bytes):
    """Bits that a query would rather see, shape (n_queries, 8 * n_bytes), bool."""
    size = size_of_words(spread, n_bytes)
    if size > 1:
        of_words = spread.reshape(len(spread), -1, 2**size)
        spread = of_words[:, :, 2 ** np.arange(size)].reshape(len(spread), -1)
    return spread > 0


def signs_of(data):
    """Signs of the bits of packed codes, shape (n_codes, 8 * n_bytes), float32."""
    return _products_of_a_byte(1)[data].reshape(len(data), -1)


@lru_cache
def _products_of_a_byte(size):
    """Products of each value of a byte in the columns of spread weights, float32."""
    values = np.arange(256, dtype=np.uint8)[:, None]
    bits = np.unpackbits(values, axis=1, bitorder="little")
    signs = np.where(bits, np.float32(1), np.float32(-1))
    if size > 1:
        numbers = np.arange(2**size, dtype=np.uint8)[:, None]
        chosen = np.unpackbits(numbers, axis=1, bitorder="little", count=size)
        of_words = signs.reshape(256, -1, 1, size)
        signs = np.where(chosen, of_words, 1).prod(axis=3).reshape(256, -1)
    signs.flags.writeable = False  # all callers share it
    return signs


@lru_cache
def _weight_columns(words):
    """The column of each weight among spread weights."""
    columns = np.arange(words.n_weights)
    if words.size > 1:
        for word, places in enumerate(words.places()):
            columns[places] = word * 2**words.size + 1 + np.arange(len(places))
    columns.flags.writeable = False
    return columns


@lru_cache
def _longer(n_bits):
    """Ascending numbers of so many bits with two or more ones."""
    numbers = np.arange(2**n_bits)
    return numbers[np.bitwise_count(numbers) > 1]
