"""Names that other rooms take from this one, beyond the public ones."""

from ._byte_tables import add_entries, tables_of, tables_of_words
from ._distances import code_words, word_distances
from ._factors import CodeFactors, OneFactors, WordFactors, decode_words, terms_of
from ._groups import read_groups
from ._maxsim import QueryTables, TokenSets, maxima_by_entries, query_blocks
from ._packed import as_packed, as_words, refuse_terms
from ._weighted import refuse_codes, saturate, score_codes
from ._words import Words, signs_of, signs_of_bits, size_of_words

__all__ = [
    "CodeFactors",
    "OneFactors",
    "QueryTables",
    "TokenSets",
    "WordFactors",
    "Words",
    "add_entries",
    "as_packed",
    "as_words",
    "code_words",
    "decode_words",
    "maxima_by_entries",
    "query_blocks",
    "read_groups",
    "refuse_codes",
    "refuse_terms",
    "saturate",
    "score_codes",
    "signs_of",
    "signs_of_bits",
    "size_of_words",
    "tables_of",
    "tables_of_words",
    "terms_of",
    "word_distances",
]
