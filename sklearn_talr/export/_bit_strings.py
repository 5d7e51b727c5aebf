"""Codes as strings of "0" and "1", the literals of bits in SQL."""

from .._core.compat import validated
from .._core.types import ArrayLike
from ..codes import pack_codes, unpack_codes
from ..codes._packed import refuse_terms


@validated(codes=["array-like"])
def to_bit_strings(codes: ArrayLike) -> list[str]:
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
    return write_bits(refuse_terms(codes, "codes"))


def write_bits(codes):
    """Write codes as `to_bit_strings` does, without their factors and addends if any."""
    bits = unpack_codes(pack_codes(codes))
    characters = (bits + ord("0")).view(f"S{bits.shape[1]}")[:, 0]
    return characters.astype(str).tolist()
