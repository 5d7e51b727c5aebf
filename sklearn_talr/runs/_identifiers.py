"""Identifiers of queries and documents: text for users, bytes inside.

Bytes compare as trec_eval compares identifiers. Python hashes them by a secret of the
process, so nobody can make many identifiers that share a place in a dict.
"""

from numbers import Integral

BYTES_OF_ID = 1024  # the longest identifier of a document
_ENCODING = "utf-8", "surrogateescape"  # so that bytes of any encoding survive


def query_identifier(query):
    """Return the text of a query's identifier, or raise an error for a wrong one."""
    text = _text_of(query)
    _encoded(text)
    return text


def _text_of(identifier):
    if isinstance(identifier, str):
        return identifier
    if isinstance(identifier, Integral) and not isinstance(identifier, bool):
        return str(identifier)
    raise TypeError(
        f"documents and queries must be strings or integers, got {identifier!r}."
    )


def _encoded(text):
    """Return the bytes of a text: its UTF-8, or the bytes of a file that were not UTF-8."""
    try:
        return text.encode(*_ENCODING)
    except UnicodeEncodeError as error:
        wrong = text[error.start]
        raise ValueError(f"identifiers must be text, but {wrong!r} is none.") from error


def decoded(identifier):
    """Return the text of bytes, also of bytes that are not UTF-8."""
    return identifier.decode(*_ENCODING)


def document_identifiers(documents):
    """Return the bytes of each document's identifier, or raise an error for a wrong one.

    Parameters
    ----------
    documents : iterable of str or int

    Returns
    -------
    identifiers : list of bytes
    """
    texts = list(documents)
    if not texts:
        return []
    try:
        joined = "\0".join(texts)
    except TypeError:
        joined = "\0".join(map(_text_of, texts))
    identifiers = _encoded(joined).split(b"\0")
    if len(identifiers) > len(texts):
        raise ValueError("identifiers must not hold the character NUL.")
    if b"" in identifiers:
        raise ValueError("identifiers must not be empty.")
    longest = max(map(len, identifiers))
    if longest > BYTES_OF_ID:
        raise ValueError(
            f"identifiers must have {BYTES_OF_ID} bytes at most, got one of {longest}."
        )
    return identifiers
