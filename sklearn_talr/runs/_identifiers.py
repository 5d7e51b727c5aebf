"""Identifiers of queries and documents: text that stands for bytes of any encoding.

Python hashes text by a secret of the process, so nobody can make many identifiers that
share a place in a dict.
"""

from numbers import Integral

BYTES_OF_ID = 1024  # the longest identifier of a document
_ENCODING = "utf-8", "surrogateescape"  # so that bytes of any encoding survive


def query_identifier(query):
    """Return the text of a query's identifier, or raise an error for a wrong one."""
    text = _text_of(query)
    encoded(text)
    return text


def _text_of(identifier):
    if isinstance(identifier, str):
        return identifier
    if isinstance(identifier, Integral) and not isinstance(identifier, bool):
        return str(identifier)
    raise TypeError(
        f"documents and queries must be strings or integers, got {identifier!r}."
    )


def encoded(text):
    """Return the bytes of a text: its UTF-8, or the bytes of a file that were not UTF-8."""
    try:
        return text.encode(*_ENCODING)
    except UnicodeEncodeError as error:
        wrong = text[error.start]
        raise ValueError(f"identifiers must be text, but {wrong!r} is none.") from error


def decoded(identifier):
    """Return the text of bytes, also of bytes that are not UTF-8."""
    return identifier.decode(*_ENCODING)


def decoded_all(identifiers):
    """Return the texts of a list of bytes without NUL."""
    return decoded(b"\0".join(identifiers)).split("\0")


def document_identifiers(documents):
    """Return the text of each document's identifier, or raise an error for a wrong one.

    Parameters
    ----------
    documents : iterable of str or int

    Returns
    -------
    identifiers : list of str
        Equal where the bytes are equal.
    """
    texts = list(documents)
    if not texts:
        return []
    try:
        joined = "\0".join(texts)
    except TypeError:
        texts = list(map(_text_of, texts))
        joined = "\0".join(texts)
    as_bytes = encoded(joined)
    if as_bytes.count(b"\0") >= len(texts):
        raise ValueError("identifiers must not hold the character NUL.")
    if b"\0\0" in b"\0%b\0" % as_bytes:
        raise ValueError("identifiers must not be empty.")
    # Surrogates may stand for the bytes of a character, and numpy's strings are no str.
    if not joined.isascii() or set(map(type, texts)) != {str}:
        texts = decoded(as_bytes).split("\0")
    longest = max(map(len, texts if joined.isascii() else as_bytes.split(b"\0")))
    if longest > BYTES_OF_ID:
        raise ValueError(
            f"identifiers must have {BYTES_OF_ID} bytes at most, got one of {longest}."
        )
    return texts
