"""Names that other rooms take from this one, beyond the public ones."""

from ._factors import (
    CodeFactors,
    ScoreRule,
    Terms,
    WordFactors,
    bounds_of_lengths,
    decode_words,
)
from ._packed import as_packed, as_words, code_words, refuse_terms
from ._scores import (
    TokenSets,
    arrays_of_terms,
    columns_of,
    fixed,
    read_groups,
    refuse_codes,
    saturate,
    signs_of_bits,
    tables_of,
    token_blocks,
    word_size,
)

__all__ = [
    "CodeFactors",
    "ScoreRule",
    "Terms",
    "TokenSets",
    "WordFactors",
    "arrays_of_terms",
    "as_packed",
    "as_words",
    "bounds_of_lengths",
    "code_words",
    "columns_of",
    "decode_words",
    "fixed",
    "read_groups",
    "refuse_codes",
    "refuse_terms",
    "saturate",
    "signs_of_bits",
    "tables_of",
    "token_blocks",
    "word_size",
]
