"""Fields of text in one array of bytes: identifiers as words, and decimal numbers.

An identifier is a row of 64-bit words that hold its bytes, the first in the highest place,
and then zeros. Words compare like the bytes, so that no identifier has to become an object.
Numbers are read eight digits at a time, by three multiplications.
"""

from numbers import Integral

import numpy as np

ENCODING = "utf-8", "surrogateescape"  # so that bytes of any encoding survive
BYTES_OF_ID = 1024  # at most: all identifiers of a table are as wide as its longest
MARGIN = 24  # zeros around the fields, for loads that begin or end outside
_ROWS_PER_PASS = 2**14  # whose arrays stay in cache
_EXACT = 2**53
_POWERS = 10.0 ** np.arange(23)  # exact, up to the last
_WHOLE_POWERS = 10 ** np.arange(19)

# The highest bytes of a word: the last in the text, or the first after a swap of bytes
_HIGHEST = np.array([2**64 - 2 ** (64 - 8 * n) for n in range(9)], dtype=np.uint64)
_ZERO_DIGITS = np.uint64(0x3030303030303030) & _HIGHEST
_DOTS = np.uint64(0x2E2E2E2E2E2E2E2E)
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_UP_TO_NINE = np.uint64(0x7676767676767676)  # whose sum with a digit has no high bit


def with_margins(text):
    """Copy bytes into an array with zeros around them, as the functions here need it."""
    buffer = np.zeros(len(text) + 2 * MARGIN, dtype=np.uint8)
    buffer[MARGIN:-MARGIN] = np.frombuffer(text, dtype=np.uint8)
    return buffer


def words_at(buffer, start, end):
    """Identifiers from `start` up to `end`, as words.

    Parameters
    ----------
    buffer : ndarray of uint8
        What :func:`with_margins` returns.

    start, end : ndarray of shape (n,) of int

    Returns
    -------
    words : ndarray of shape (n, n_words) of uint64
        With n_words at least 1.
    """
    length = end - start
    n_words = max(1, -(-int(length.max(initial=0)) // 8))
    loads = _loads(buffer)
    words = np.empty((len(start), n_words), dtype=np.uint64)
    for first in range(0, len(start), _ROWS_PER_PASS):
        rows = slice(first, first + _ROWS_PER_PASS)
        for i in range(n_words):
            place = start[rows] + 8 * i
            if i > 1:
                np.minimum(place, len(loads) - 1, out=place)
            word = loads[place].byteswap(
                inplace=True
            )  # the first byte in the highest place
            word &= _HIGHEST[np.clip(length[rows] - 8 * i, 0, 8)]
            words[rows, i] = word
    return words


def words_of(texts):
    """Identifiers in a sequence of strings or integers, as words."""
    texts = list(texts)
    try:
        joined = "\0".join(texts)
    except TypeError:
        joined = "\0".join(map(_as_text, texts))
    buffer = with_margins(encoded(joined))
    edges = np.flatnonzero(buffer[MARGIN - 1 : len(buffer) - MARGIN + 1] == 0) + MARGIN
    if len(edges) != len(texts) + 1 and texts:
        raise ValueError("identifiers must not hold the character NUL.")
    start, end = edges[:-1], edges[1:] - 1
    if np.any(start == end) and texts:
        raise ValueError("identifiers must not be empty.")
    longest = (end - start).max(initial=0)
    if longest > BYTES_OF_ID:
        raise ValueError(
            f"identifiers must have {BYTES_OF_ID} bytes at most, got one of {longest}."
        )
    return words_at(buffer, start[: len(texts)], end[: len(texts)])


def encoded(text):
    """Bytes of text that files can hold, in UTF-8 or what was kept of another encoding."""
    try:
        return text.encode(*ENCODING)
    except UnicodeEncodeError as error:
        wrong = text[error.start]
        raise ValueError(f"identifiers must be text, but {wrong!r} is none.") from error


def _as_text(identifier):
    if isinstance(identifier, str):
        return identifier
    if isinstance(identifier, Integral) and not isinstance(identifier, bool):
        return str(identifier)
    raise TypeError(f"identifiers must be strings or integers, got {identifier!r}.")


def texts_of(words):
    """Identifiers as a list of strings."""
    as_bytes = np.ascontiguousarray(words).astype(">u8").view(f"S{8 * words.shape[1]}")
    return [text.decode(*ENCODING) for text in as_bytes.ravel().tolist()]


def numbers_at(buffer, start, end):
    """Decimal numbers from `start` up to `end`, each as float would read it.

    Returns
    -------
    numbers : ndarray of shape (n,) of float64
        NaN where there is no number.
    """
    loads = _loads(buffer)
    negative = buffer[start] == ord("-")
    first = start + (negative | (buffer[start] == ord("+")))
    dot = _first_dot(loads, first, end)
    n_decimals = end - dot - 1
    np.maximum(n_decimals, 0, out=n_decimals)  # without a dot it is the end
    n_digits = dot - first + n_decimals
    simple = (n_digits > 0) & (n_digits <= 18)
    whole = _integers(loads, first, dot, simple)
    decimals = _integers(loads, end - n_decimals, end, simple)
    digits = whole * _WHOLE_POWERS[np.minimum(n_decimals, 18)] + decimals
    simple &= digits < _EXACT  # then one division, rounded once, gives the nearest float
    numbers = digits / _POWERS[np.minimum(n_decimals, 22)]
    np.negative(numbers, out=numbers, where=negative)
    for i in np.flatnonzero(~simple):
        numbers[i] = _slowly(buffer[start[i] : end[i]].tobytes())
    return numbers


def _slowly(text):
    try:
        return float(text) if b"_" not in text else np.nan
    except ValueError:
        return np.nan


def _loads(buffer):
    """The eight bytes from each place on as one word, the first in the lowest place."""
    loads = np.ndarray((len(buffer) - 7,), "<u8", buffer=buffer, strides=(1,))
    return loads if loads.dtype.isnative else loads.astype(np.uint64)


def _first_dot(loads, start, end):
    """Place of the first dot, or the end; a field has 18 bytes before it at most."""
    dot = start
    for _ in range(3):
        differs = loads[dot] ^ _DOTS
        is_dot = (differs - _LOW_BITS) & ~differs & _HIGH_BITS  # the lowest bit is exact
        below = np.bitwise_count(is_dot ^ (is_dot - np.uint64(1))) >> 3
        passed = (is_dot == 0) & (dot + 8 < end)
        dot = np.minimum(dot + below - (is_dot != 0), end)
        if not passed.any():
            break
    return dot


def _integers(loads, start, end, are_digits):
    """Integers of up to 18 digits; clears `are_digits` where there are other bytes."""
    length = np.minimum(end - start, 18)
    total = np.zeros(len(start), dtype=np.int64)
    for i in range(-(-int(length.max(initial=0)) // 8)):
        here = np.clip(length - 8 * i, 0, 8) if i else np.minimum(length, 8)
        digits = loads[end - 8 * (i + 1)]
        digits &= _HIGHEST[here]
        digits ^= _ZERO_DIGITS[here]
        are_digits &= (((digits + _UP_TO_NINE) | digits) & _HIGH_BITS) == 0
        digits *= np.uint64(2561)
        digits >>= np.uint64(8)
        digits &= np.uint64(0x00FF00FF00FF00FF)
        digits *= np.uint64(6553601)
        digits >>= np.uint64(16)
        digits &= np.uint64(0x0000FFFF0000FFFF)
        digits *= np.uint64(42949672960001)
        digits >>= np.uint64(32)
        total += digits.view(np.int64) * 10 ** (8 * i)
    return total
