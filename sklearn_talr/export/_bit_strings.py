"""Codes as strings of bits."""

from .._compat import validate_params
from ..codes import unpack_codes
from ._codes_and_ids import packed_bits

__all__ = ["bit_strings", "to_bit_strings"]


@validate_params({"codes": ["array-like"]}, prefer_skip_nested_validation=True)
def to_bit_strings(codes):
    """Write codes as strings of "0" and "1", bit 0 first.

    This is the literal form of ``bit(n)`` in PostgreSQL and of ``BIT`` in DuckDB.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes.

    Returns
    -------
    strings : list of str
        One string of n_bits characters for each sample.

    Raises
    ------
    ValueError
        If `codes` holds anything but zeros and ones, is empty or not 2-D, or has factors
        or addends, which strings of bits cannot hold.

    Examples
    --------
    >>> from sklearn_talr.export import to_bit_strings
    >>> to_bit_strings([[1, 0, 1], [0, 0, 1]])
    ['101', '001']
    """
    return bit_strings(packed_bits(codes))


def bit_strings(packed):
    """Write packed codes as strings of "0" and "1", bit 0 first."""
    bits = unpack_codes(packed)
    characters = (bits + ord("0")).view(f"S{bits.shape[1]}")[:, 0]
    return characters.astype(str).tolist()
