"""Names that other rooms take from this one, beyond the public ones."""

from ._distances import code_words, word_distances
from ._factors import CodeFactors, OneFactors, terms_of
from ._packed import as_packed, as_words
from ._weighted import pad_weights, refuse_codes, saturate, score_codes, signs_of, tables_of

__all__ = [
    "CodeFactors",
    "OneFactors",
    "as_packed",
    "as_words",
    "code_words",
    "pad_weights",
    "refuse_codes",
    "saturate",
    "score_codes",
    "signs_of",
    "tables_of",
    "terms_of",
    "word_distances",
]
