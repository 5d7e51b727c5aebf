"""Paths that users give to files and folders."""

import os
import re
from pathlib import Path

# The scheme of a URL, which is longer than the letter of a drive
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]+:/")


def local_path(path, name="path"):
    """The path of a file or folder on this machine.

    Parameters
    ----------
    path : str or path-like
        A path, in which ``~`` at the start is the home folder.

    name : str, default="path"
        What errors call the argument.

    Returns
    -------
    path : Path
        The path.

    Raises
    ------
    TypeError
        If it is no path.

    ValueError
        If it is a URL, or nobody has the home folder that it names.
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(
            f"{name} must be a str or path-like, got {type(path).__name__}."
        ) from None
    if _SCHEME.match(text):
        raise ValueError(
            f"{name} is {text!r}, which is a URL and no path on this machine. Save to a "
            "local folder and upload that folder, or download to a local folder and load "
            "it from there, with the storage's own tool, or with put and get of "
            "fsspec.filesystem(scheme) and recursive=True."
        )
    expanded = os.path.expanduser(text)
    if text.startswith("~") and expanded == text:
        raise ValueError(
            f"{name} is {text!r}, and no home folder of that name is known. A folder whose "
            f"own name begins with ~ is './{text}'."
        )
    return Path(expanded)
