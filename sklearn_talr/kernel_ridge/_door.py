"""Names that other rooms take from this one, beyond the public ones."""

from ._model import LeftOutRegression

__all__ = ["LeftOutRegression"]
